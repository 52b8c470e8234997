// SPDX-License-Identifier: Apache-2.0
//! All clusters: filtered, sorted, in windows of 50 rows.
//!
//! | parameter | is |
//! | --- | --- |
//! | `filter` | see [`filter`] |
//! | `sort` | a column, behind `-` in descending order |
//! | `page` | number of the first window, from 1 |
//! | `windows` | number of windows of 50 rows, 1 to 40: the script adds 200 rows when the user scrolls |
//! | `column` | a column that is usually hidden; several |
//!
//! **Tour.** [`source`] the source of rows; [`row`] rows, [`filter`] the filter of rows.

pub(crate) mod filter;
pub(crate) mod row;
pub(crate) mod source;

use std::cmp::Ordering;
use std::sync::Arc;

use api::core::Shoot;
use maud::{Markup, html};
use ops::past::resource;
use ops::past::rows::ShootRow;

use self::filter::Filter;
use self::row::{Light, Row};
use self::source::Source;
use super::inventory::{Projects, offers};
use super::maintenance;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::form;
use crate::parts::table::{Header, table};
use crate::refusal::Refusal;
use crate::view::View;

/// Operations that a user can request for selected Shoots.
pub(crate) const OPERATIONS: [&str; 3] = ["reconcile", "maintain", "retry"];
/// Rows of a window. A browser lays out the whole document before it paints: a screen or two is fast, 200 rows are not.
pub const WINDOW: usize = 50;
/// Windows that the script adds at a time.
const ADDED: usize = 4;
/// Maximum number of windows that are shown at once.
const WINDOWS: usize = 40;

/// Columns that are always shown.
const COLUMNS: [(&str, &str); 10] = [
    ("project", "Project"),
    ("name", "Name"),
    ("status", "Status"),
    ("kubernetes", "Kubernetes"),
    ("readiness", "Readiness"),
    ("maintenance", "Next maintenance"),
    ("seed", "Seed"),
    ("purpose", "Purpose"),
    ("nodes", "Nodes"),
    ("issue", "Issue since"),
];

/// Columns that can be chosen.
const HIDDEN: [(&str, &str); 5] = [
    ("technical", "Technical ID"),
    ("created", "Created"),
    ("provider", "Provider"),
    ("images", "Images"),
    ("gardener", "Gardener"),
];

/// Draws the page.
///
/// # Errors
/// The API's error.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let filter = Filter::read(view.query.text("filter"));
    let (column, descends) = sorting(view.query.text("sort"));
    let source = Source::of(view).await?;
    let offers = offers(view).await?;
    let projects = Projects::read(view).await;
    let now = view.now();
    let forced_until = filter.forced_within().and_then(|length| now.checked_add_signed(length));
    let mut rows: Vec<Light<'_>> = source.rows(view, &projects, &offers);
    let all = rows.len();
    // Most Shoots use no version that expires until then: their forecast is not calculated.
    let asked = match forced_until {
        Some(until) => {
            let unknown = rows.iter().filter(|row| !row.row.is_plain && row.expires(&offers, until));
            let unknown: Vec<Arc<ShootRow>> = unknown.map(|row| row.row.clone()).collect();
            source.ask(view, &unknown).await?
        }
        None => source::ReadShoots::new(),
    };
    rows.retain(|row| {
        let until = forced_until.filter(|until| row.expires(&offers, *until));
        let changes = until.and_then(|until| {
            let (offered, shoot) = (offers.get(&row.row.spec.profile)?, source.known(row, &asked)?);
            Some(maintenance::changes(view, &shoot, offered, until))
        });
        let forced = changes.iter().flatten().find(|change| change.is_forced).map(|change| change.time);
        row.passes(&filter, now, forced)
    });
    if column == "maintenance" {
        let mut scratch = Shoot::default();
        for row in &mut rows {
            row.plan(view, &mut scratch);
        }
    }
    rows.sort_by(|one, other| {
        let by = one.order(other, column);
        let by = if descends { by.reverse() } else { by };
        by.then_with(|| one.project.cmp(&other.project)).then_with(|| one.name().cmp(other.name()))
    });
    let pages = rows.len().div_ceil(WINDOW).max(1);
    let number = view.query.text("page").parse().unwrap_or(1_usize).clamp(1, pages);
    // Windows from the page on: more than one if the user has scrolled.
    let windows = view.query.text("windows").parse().unwrap_or(1_usize).clamp(1, WINDOWS).min(pages - number + 1);
    let shown: Vec<&Light<'_>> = rows.iter().skip((number - 1) * WINDOW).take(windows * WINDOW).collect();
    let shoots = source::on_screen(view, &source, &shown).await?;
    let project = |shoot: &Shoot| projects.project_of(&shoot.metadata.namespace);
    let window = shoots.iter().map(|shoot| Row::of(view, shoot, project(shoot), &offers, &source));
    let list = if all == 0 {
        html! {
            p { strong { "No clusters." } }
            p { "Create one with " code { (view.kubectl("create -f shoot.yaml")) } ", or " a href="/dashboard/create" { "on a form" } "." }
        }
    } else if rows.is_empty() {
        html! { p { strong { "No cluster is like that." } " There are " (all) "; " a href=(view.here_with(&[("filter", ""), ("page", ""), ("windows", "")])) { "show all" } "." } }
    } else {
        html! {
            form #selection method="post" action="/dashboard/do/shoots" {
                (form::hidden(view, "shoots"))
                (rows_of(view, window, (column, descends), rows.len(), all))
                @if view.at.is_none() {
                    div.actions role="group" aria-label="With the selected clusters" {
                        "Selected clusters: "
                        @for operation in OPERATIONS { button type="submit" name="operation" value=(operation) { (operation) } }
                    }
                }
            }
            @if pages > 1 { (pager(view, number, windows, pages)) }
        }
    };
    let of = match projects.iter().find(|(_, name)| view.query.text("filter") == format!("project:{name}")) {
        Some((namespace, _)) => format!("-n {namespace}"),
        None => "-A".to_owned(),
    };
    let command = match view.at {
        Some(moment) => format!("terrarium at {} get shoots {of} -o wide", moment.revision),
        None => format!("terrarium get shoots {of} -o wide"),
    };
    Ok(Page::new(Section::Clusters, "Clusters")
        .region("filter-box", "", filter_box(view, &filter))
        .region("list", "", list)
        .command(command)
        .follows(&[
            resource::SHOOTS,
            resource::CLOUD_PROFILES,
            resource::NAMESPACED_CLOUD_PROFILES,
            resource::PROJECTS,
            "/nodes",
        ]))
}

/// Returns the column to sort by; true: in descending order.
fn sorting(text: &str) -> (&str, bool) {
    let (name, descends) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let is_known = COLUMNS.iter().chain(&HIDDEN).any(|(column, _)| *column == name);
    if is_known { (name, descends) } else { ("project", false) }
}

fn chosen(view: &View) -> Vec<(&'static str, &'static str)> {
    let hidden = HIDDEN.into_iter().filter(|(id, _)| view.query.all("column").any(|wanted| wanted == *id));
    COLUMNS.into_iter().chain(hidden).collect()
}

fn filter_box(view: &View, filter: &Filter) -> Markup {
    html! {
        form.filter method="get" action="/dashboard/clusters" {
            @for (name, value) in view.query.iter().filter(|(name, _)| matches!(*name, "sort" | "at")) {
                input type="hidden" name=(name) value=(value);
            }
            div.field {
                label for="filter" { "Filter" }
                input #filter type="search" name="filter" value=(view.query.text("filter")) autocomplete="off" spellcheck="false"
                    aria-describedby="filter-hint" aria-invalid=[(!filter.complaints.is_empty()).then_some("true")];
            }
            button type="submit" { "Filter" }
            details {
                summary { "Columns" }
                @for (id, name) in HIDDEN {
                    label { input type="checkbox" name="column" value=(id) checked[view.query.all("column").any(|wanted| wanted == id)]; " " (name) } " "
                }
            }
        }
        p.hint #filter-hint { "Words, “some words”, -word, and key:value with one of the keys " (filter::KEYS.join(", ")) "; forced:30d finds what is forced within 30 days." }
        @for complaint in &filter.complaints { (Message::new(Severity::Warning, complaint.as_str()).markup()) }
    }
}

fn rows_of<'a>(
    view: &View,
    window: impl Iterator<Item = Row<'a>>,
    (sorted, descends): (&str, bool),
    found: usize,
    all: usize,
) -> Markup {
    let columns = chosen(view);
    let header = |(id, name): &(&'static str, &'static str)| {
        let is_sorted = *id == sorted;
        let next = if is_sorted && !descends { format!("-{id}") } else { (*id).to_owned() };
        Header {
            name: (*name).to_owned(),
            sorts: Some(view.here_with(&[("sort", &next), ("page", ""), ("windows", "")])),
            sorted: is_sorted.then_some(if descends { "descending" } else { "ascending" }),
        }
    };
    let is_live = view.at.is_none();
    let headers: Vec<Header> =
        is_live.then(|| Header::plain("Selected")).into_iter().chain(columns.iter().map(header)).collect();
    let rows: Vec<Markup> = window
        .map(|row| {
            let key = format!("{}/{}", row.shoot.metadata.namespace, row.name());
            html! {
                tr {
                    @if is_live { td { input type="checkbox" name="shoot" value=(key) aria-label={"Select " (key)}; } }
                    @for (id, _) in &columns {
                        @if *id == "name" { th scope="row" { (row.cell(view, id)) } } @else { td { (row.cell(view, id)) } }
                    }
                }
            }
        })
        .collect();
    let count = match found.cmp(&all) {
        Ordering::Equal => format!("{all} clusters"),
        _ => format!("{found} of {all} clusters"),
    };
    table(if all == 1 { "1 cluster" } else { &count }, &headers, &rows)
}

/// Returns links to the windows around those that are shown. The script follows `data-next` when the user scrolls there.
fn pager(view: &View, number: usize, windows: usize, pages: usize) -> Markup {
    let to = |page: usize| view.here_with(&[("page", &page.to_string()), ("windows", "")]);
    let last = number + windows - 1;
    let more = (windows + ADDED).min(WINDOWS);
    let next = (last < pages && windows < WINDOWS).then(|| view.here_with(&[("windows", &more.to_string())]));
    html! {
        nav.actions aria-label="Windows of the list" data-next=[next] {
            @if number > 1 { a.button href=(to(number - 1)) rel="prev" { "Previous " (WINDOW) } }
            span { @if last == number { "Page " (number) } @else { "Pages " (number) " to " (last) } " of " (pages) }
            @if last < pages { a.button href=(to(last + 1)) rel="next" { "Next " (WINDOW) } }
        }
    }
}
