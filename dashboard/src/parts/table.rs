// SPDX-License-Identifier: Apache-2.0
//! Tables: a caption, headers that sort, rows.

use maud::{Markup, html};

/// What a cell shows that has nothing to show.
pub const NONE: &str = "–";

/// A header of a table.
#[derive(Clone, Debug)]
pub struct Header {
    /// What it is called.
    pub name: String,
    /// Where it leads: to the same rows in another order.
    pub sorts: Option<String>,
    /// `ascending` or `descending`, if rows are in its order.
    pub sorted: Option<&'static str>,
}

impl Header {
    /// A header that does not sort.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), sorts: None, sorted: None }
    }
}

/// A table; `rows` are whole `tr` elements. It can be scrolled sideways where it is wider than the page.
pub fn table(caption: &str, headers: &[Header], rows: &[Markup]) -> Markup {
    html! {
        div.scrolled tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for header in headers {
                            th scope="col" aria-sort=[header.sorted] {
                                @match &header.sorts {
                                    Some(link) => {
                                        a href=(link) { (header.name) }
                                        @match header.sorted {
                                            Some("ascending") => { span.order aria-hidden="true" { "▲" } }
                                            Some(_) => { span.order aria-hidden="true" { "▼" } }
                                            None => {}
                                        }
                                    }
                                    None => { (header.name) }
                                }
                            }
                        }
                    }
                }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

/// A table of texts with a header for each column.
pub fn plain(caption: &str, headers: &[&str], rows: &[Vec<Markup>]) -> Markup {
    let headers: Vec<Header> = headers.iter().map(|name| Header::plain(*name)).collect();
    let rows: Vec<Markup> = rows
        .iter()
        .map(|cells| {
            html! { tr { @for (index, cell) in cells.iter().enumerate() {
                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
            } } }
        })
        .collect();
    table(caption, &headers, &rows)
}

/// Names and values below one another.
pub fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! { dl { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } } }
}
