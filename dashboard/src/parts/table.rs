// SPDX-License-Identifier: Apache-2.0
//! Tables: a caption, headers that sort, rows.

use maud::{Markup, html};

/// Content of an empty cell.
pub const NONE: &str = "–";

/// A header of a table.
#[derive(Clone, Debug)]
pub struct Header {
    /// Text of the header.
    pub name: String,
    /// Link to the same rows in another order.
    pub sorts: Option<String>,
    /// `ascending` or `descending`, if rows are in the order of this column.
    pub sorted: Option<&'static str>,
}

impl Header {
    /// Creates a header that does not sort.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), sorts: None, sorted: None }
    }
}

/// Returns a table; `rows` are whole `tr` elements. It scrolls sideways if it is wider than the page.
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

/// Returns a table of texts with a header for each column.
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

/// Returns a list of names and values, one below the other.
pub fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! { dl { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } } }
}
