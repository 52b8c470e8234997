// SPDX-License-Identifier: Apache-2.0
//! Time: the clock and its controls, and the log as a timeline.
//!
//! | parameter | is |
//! | --- | --- |
//! | `object` | `KIND/NAMESPACE/NAME`, `KIND/NAME` or `KIND` |
//! | `actor` | a component, a controller or a user |
//! | `cluster` | `garden`, `runtime`, `seed/NAME`, `shoot/PROJECT/NAME` |
//! | `field` | a path like `spec.kubernetes`: entries that changed the field or one below it |
//! | `before` | entries up to this revision |
//! | `diff` | the revision whose difference is shown |
//! | `from`, `to` | two revisions that are compared |

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlog::{Entry, Key, Revision, Sections, Verb};
use http::StatusCode;
use maud::{Markup, html};
use ops::history::changes::{self, Change};
use ops::history::entry::{ReadEntry, differences, tree};
use ops::history::writers;
use ops::names::NamedCluster;

use crate::may::May;
use crate::message::{Message, Severity};
use crate::page::{Page, Section};
use crate::parts::{form, table, time};
use crate::refusal::Refusal;
use crate::view::View;

/// Maximum number of entries of a window.
const WINDOW: usize = 100;
/// Maximum number of revisions that are read at once.
const PIECE: u64 = 512;
/// Maximum number of revisions that are searched for the entries of one page.
const FARTHEST: u64 = 20_000;
/// Maximum distance of two revisions that are compared.
const COMPARED: u64 = 20_000;
/// Number of intervals of time in the picture.
const PARTS: usize = 100;
/// Modes of the clock.
const MODES: [(&str, &str); 5] = [
    ("Eager", "eager: jumps while work is due within an hour, else as on the wall"),
    ("Realtime", "realtime: as on the wall"),
    ("Scaled", "scaled: at a rate"),
    ("Stepped", "stepped: advances only on request"),
    ("Auto", "auto: jumps from timer to timer"),
];

/// Draws the page.
///
/// # Errors
/// The log does not answer, or two revisions to compare are not revisions.
pub async fn draw(view: &View) -> Result<Page, Refusal> {
    let mut page = Page::new(Section::Time, "Time");
    if view.at.is_none() {
        page = page.region("move", "Move time", moves(view));
    }
    let page = page
        .region("density", "How much was written", density(view).await?)
        .region("log", "Log", log(view).await?)
        .region("compare", "Two revisions compared", compare(view).await?);
    Ok(page.command(command(view)))
}

fn closed() -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "The log does not answer", "The landscape is being stopped.")
}

/// Returns `terrarium log` with the filters of the page.
fn command(view: &View) -> String {
    let mut command = "terrarium log".to_owned();
    for name in ["object", "actor", "cluster"] {
        let value = view.query.text(name);
        if !value.is_empty() {
            command.extend([" --", name, " ", value]);
        }
    }
    if !view.query.text("field").is_empty() {
        command.push_str(" --diff");
    }
    if let Some(moment) = view.at {
        command.extend([" --until ", &moment.revision.to_string()]);
    }
    command
}

fn moves(view: &View) -> Markup {
    let choices =
        MODES.iter().map(|(mode, label)| form::Choice { value: (*mode).to_owned(), label: (*label).to_owned() });
    let mode = (view.dashboard.options().clock)().mode;
    let chosen = MODES
        .iter()
        .find(|(name, _)| mode.to_lowercase().starts_with(&name.to_lowercase()))
        .map_or("", |(name, _)| *name);
    html! {
        div.fields {
            form method="post" action="/dashboard/do/time-advance" {
                (form::hidden(view, "time-advance"))
                (form::text("by", "Advance by", "", "90s, 1h30m, 3d or 2w of landscape time", &[]))
                button type="submit" { "Advance" }
            }
            form method="post" action="/dashboard/do/time-until" {
                (form::hidden(view, "time-until"))
                (form::text("until", "Advance until", "", "2023-07-28T09:20:00Z, window, window shoot/demo/local, or shoot/demo/local=Succeeded", &[]))
                button type="submit" { "Advance until" }
            }
            form method="post" action="/dashboard/do/time-steps" {
                (form::hidden(view, "time-steps"))
                (form::text("goal", "Step by step to", "", "2h, or 2023-07-28T09:20:00Z", &[]))
                (form::text("pause", "Pause between two steps", "200", "milliseconds of wall time, 0 to 5000: for watching", &[]))
                (form::text("stop-on", "Stop at Events", "", "reasons, as KubernetesVersionMaintenance; empty: none", &[]))
                button type="submit" { "Go step by step" }
            }
            form method="post" action="/dashboard/do/time-mode" {
                (form::hidden(view, "time-mode"))
                (form::select("mode", "How time goes by itself", chosen, &[("", choices.collect())], "", &[]))
                (form::text("rate", "Rate", "", "landscape seconds in a second, for scaled", &[]))
                button type="submit" { "Set" }
            }
        }
    }
}

/// Returns the most active writers: `gardenlet 12, kubelet 3 and 4 more`.
fn most_active(actors: &BTreeMap<Arc<str>, u64>) -> String {
    let mut all: Vec<(&Arc<str>, &u64)> = actors.iter().collect();
    all.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    let texts: Vec<String> = all.into_iter().map(|(actor, count)| format!("{actor} {count}")).collect();
    ops::spelling::first_of(texts.iter().map(String::as_str), 3)
}

/// Shows the number of entries in intervals of time, by writer.
async fn density(view: &View) -> Result<Markup, Refusal> {
    let timeline = view.dashboard.timeline();
    let span = timeline.refresh().await.map_err(|_| closed())?;
    let now = view.dashboard.now();
    let Some(begin) = span.begin else { return Ok(html! { p { "Nothing has been written." } }) };
    let buckets = timeline.density(begin, now, PARTS);
    let most = buckets.iter().map(|bucket| bucket.entries).max().unwrap_or_default().max(1);
    let mut actors: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for bucket in &buckets {
        for (actor, count) in &bucket.actors {
            *actors.entry(actor.clone()).or_default() += count;
        }
    }
    let mut actors: Vec<(Arc<str>, u64)> = actors.into_iter().collect();
    actors.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let length = (now - begin) / i32::try_from(PARTS).unwrap_or(1);
    let begin_of = |index: usize| begin + length * i32::try_from(index).unwrap_or_default();
    let rows: Vec<Vec<Markup>> = actors
        .iter()
        .map(|(actor, count)| {
            let link = view.here_with(&[("actor", actor), ("before", "")]);
            vec![html! { a href=(link) { (actor) } }, html! { (count) }]
        })
        .collect();
    let written = buckets.iter().enumerate().filter(|(_, bucket)| bucket.entries > 0);
    let parts: Vec<Vec<Markup>> = written
        .map(|(index, bucket)| {
            let end = time::machine(begin_of(index + 1).min(now));
            let link = view.here_with(&[("at", &end)]);
            let label = format!("Show {end}");
            vec![
                time::instant(begin_of(index)),
                html! { (bucket.entries) },
                html! { (most_active(&bucket.actors)) },
                html! { a href=(link) aria-label=(label) { "Show" } },
            ]
        })
        .collect();
    Ok(html! {
        @if span.base.0 > 0 {
            p { "History begins at revision " (span.base) ": the entries up to it were removed. The first that is kept was written at "
                (time::instant(begin)) "." }
        }
        div.picture tabindex="0" role="region" aria-label="Picture of how much was written" {
            svg viewBox="0 0 1000 84" role="img" aria-label={"Entries from " (time::text(begin)) " to " (time::text(now)) ", at most " (most) " in one of " (PARTS) " parts"} {
                line.line x1="0" x2="1000" y1="70" y2="70" {}
                @for (index, bucket) in buckets.iter().enumerate().filter(|(_, bucket)| bucket.entries > 0) {
                    @let height = (bucket.entries as f64 / most as f64 * 62.0).max(2.0);
                    rect.density x=(index * 10) y=(format!("{:.1}", 70.0 - height)) width="9" height=(format!("{height:.1}"))
                        data-at=(view.here_with(&[("at", &time::machine(begin_of(index + 1).min(now)))])) {
                        title { (time::text(begin_of(index))) ": " (bucket.entries) " entries: " (most_active(&bucket.actors)) }
                    }
                }
                text.faint x="0" y="82" { (time::text(begin)) }
                text.faint x="1000" y="82" text-anchor="end" { (time::text(now)) }
            }
        }
        details { summary { "As a table" } (table::plain("Entries by time", &["From", "Entries", "Writers", "Show"], &parts)) }
        details { summary { "By writer, as a table" }
            (table::plain("Entries by writer", &["Writer", "Entries"], &rows)) }
    })
}

/// Filters of the shown entries.
struct EntryFilter<'a> {
    resources: Vec<String>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    actor: &'a str,
    cluster: Option<String>,
    field: &'a str,
}

impl<'a> EntryFilter<'a> {
    fn read(view: &'a View) -> Result<Self, String> {
        let cluster = match view.query.text("cluster") {
            "" => None,
            text => Some(text.parse::<NamedCluster>()?.logical()),
        };
        let parts: Vec<&str> = view.query.text("object").split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind] => (kind, None, None),
            [kind, name] => (kind, None, Some(name)),
            [kind, namespace, name] => (kind, Some(namespace), Some(name)),
            _ => return Err("use KIND/NAMESPACE/NAME, KIND/NAME or KIND".to_owned()),
        };
        let wanted = kind.to_lowercase();
        let is_it = |row: &&apimachinery::catalogue::ResourceInfo| {
            row.plural == wanted || row.singular == wanted || row.short_names.contains(&&*wanted)
        };
        let resources: Vec<String> = match kind {
            "" => Vec::new(),
            _ => api::catalogue::all()
                .iter()
                .filter(is_it)
                .map(apimachinery::catalogue::ResourceInfo::log_resource)
                .collect(),
        };
        if !kind.is_empty() && resources.is_empty() {
            let known = api::catalogue::all().iter().map(|row| row.singular);
            return Err(format!("there is no kind `{kind}`; {}", ops::spelling::nearest(kind, known)));
        }
        let name = name.filter(|name| !name.is_empty());
        let (actor, field) = (view.query.text("actor"), view.query.text("field").trim_start_matches('.'));
        Ok(Self { resources, namespace, name, actor, cluster, field })
    }

    fn is(&self, entry: &Entry) -> bool {
        let key = &entry.key;
        !entry.volatile
            && (self.resources.is_empty() || self.resources.iter().any(|resource| **resource == *key.resource))
            && self.namespace.is_none_or(|namespace| *namespace == *key.namespace)
            && self.name.is_none_or(|name| *name == *key.name)
    }

    /// True if the entry changed the field.
    fn changes(&self, told: &ReadEntry<'_>) -> bool {
        self.field.is_empty()
            || told.changes.iter().any(|change| is_at(change.path.trim_start_matches('.'), self.field))
    }

    fn is_by(&self, entry: &Entry, told: &ReadEntry<'_>) -> bool {
        let is_meant = |name: &str| writers::is_meant(self.actor, name);
        self.actor.is_empty()
            || is_meant(&entry.actor.component)
            || is_meant(&entry.actor.user)
            || told.controller().is_some_and(is_meant)
    }
}

/// True if a path is a field, or is below it.
fn is_at(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

async fn log(view: &View) -> Result<Markup, Refusal> {
    let log = &view.dashboard.options().log;
    let span = view.dashboard.timeline().refresh().await.map_err(|_| closed())?;
    let head = view.at.map_or(span.head, |moment| Revision(moment.revision));
    let before = view.query.text("before").parse().map_or(head, |before: u64| Revision(before.min(head.0)));
    let (wanted, complaint) = match EntryFilter::read(view) {
        Ok(wanted) => (Some(wanted), None),
        Err(complaint) => (None, Some(complaint)),
    };
    let mut rows = Vec::new();
    let (mut at, mut may) = (before, May::new(view));
    if let Some(wanted) = &wanted {
        'pieces: while at > span.base && before.0 - at.0 < FARTHEST {
            let from = Revision(at.0.saturating_sub(PIECE).max(span.base.0));
            let entries = log.read(from, at, wanted.cluster.as_deref()).await.map_err(|_| closed())?;
            for entry in entries.iter().rev().filter(|entry| wanted.is(entry)) {
                let told = ReadEntry::of(entry);
                if !wanted.is_by(entry, &told) || !wanted.changes(&told) || !may.list(&entry.key).await {
                    continue;
                }
                rows.push(row(view, entry, &told));
                if rows.len() == WINDOW {
                    at = Revision(entry.revision.0 - 1);
                    break 'pieces;
                }
            }
            at = from;
        }
    }
    let older =
        (at > span.base && wanted.is_some()).then(|| view.here_with(&[("before", &at.to_string()), ("diff", "")]));
    let headers = ["Revision", "Landscape time", "Who", "What", "Object", "What of it changed"];
    Ok(html! {
        (filter(view))
        @if let Some(complaint) = complaint { (Message::new(Severity::Warning, complaint).markup()) }
        @if rows.is_empty() { p { "No entry is like that between revision " (at) " and " (before) "." } }
        @else { (table::table("Entries, the newest first", &headers.map(table::Header::plain), &rows)) }
        div.actions {
            @if before < head { a.button href=(view.here_with(&[("before", ""), ("diff", "")])) { "Newest" } }
            @if let Some(older) = older { a.button rel="next" href=(older) { "Older entries" } }
        }
    })
}

fn filter(view: &View) -> Markup {
    let field = |name: &str, label: &str, example: &str| {
        html! {
            div.field {
                label for={"log-" (name)} { (label) }
                input type="text" id={"log-" (name)} name=(name) value=(view.query.text(name)) placeholder=(example) autocomplete="off";
            }
        }
    };
    html! {
        form.filter method="get" action="/dashboard/time" {
            @if !view.query.text("at").is_empty() { input type="hidden" name="at" value=(view.query.text("at")); }
            (field("object", "Object", "shoot/garden-local/local"))
            (field("actor", "Who", "shoot-maintenance"))
            (field("cluster", "Cluster", "garden"))
            (field("field", "Field", "spec.kubernetes"))
            button type="submit" { "Filter" }
        }
    }
}

fn row(view: &View, entry: &Entry, told: &ReadEntry<'_>) -> Markup {
    let revision = entry.revision.to_string();
    let is_shown = view.query.text("diff") == revision;
    let diff = if is_shown { String::new() } else { revision.clone() };
    html! {
        tr {
            th scope="row" { a href=(view.here_with(&[("at", &revision), ("before", ""), ("diff", "")])) title="Show everything at this revision" { (revision) } }
            td { (time::instant(entry.time)) }
            td { (told.actor()) }
            td { (told.verb()) }
            td { (told.object()) }
            td {
                (told.summary())
                @if !told.changes.is_empty() {
                    " " a href=(view.here_with(&[("diff", &diff)])) { @if is_shown { "hide difference" } @else { "difference" } }
                }
                @if is_shown { (difference(&told.changes)) }
            }
        }
    }
}

pub(super) fn difference(changes: &[Change]) -> Markup {
    let short = |value: &serde_json::Value| changes::short(value, 2000);
    html! {
        ul.difference {
            @for change in changes {
                li {
                    code { (change.path.trim_start_matches('.')) } ": "
                    @if let Some(before) = &change.before { del { (short(before)) } " " }
                    @if let Some(after) = &change.after { ins { (short(after)) } }
                }
            }
        }
    }
}

/// Returns the revision in a field of the query; `None`: the text is not a revision.
fn revision(view: &View, name: &str) -> Option<Revision> {
    view.query.text(name).parse().ok().map(Revision)
}

async fn compare(view: &View) -> Result<Markup, Refusal> {
    let form = html! {
        form.filter method="get" action="/dashboard/time#compare" {
            @if !view.query.text("at").is_empty() { input type="hidden" name="at" value=(view.query.text("at")); }
            div.field { label for="compare-from" { "From revision" } input #compare-from type="text" name="from" value=(view.query.text("from")) inputmode="numeric" autocomplete="off"; }
            div.field { label for="compare-to" { "To revision" } input #compare-to type="text" name="to" value=(view.query.text("to")) inputmode="numeric" autocomplete="off"; }
            button type="submit" { "Compare" }
        }
    };
    if view.query.text("from").is_empty() && view.query.text("to").is_empty() {
        return Ok(form);
    }
    let problem = |text: String| html! { (form) (Message::new(Severity::Warning, text).markup()) };
    let (Some(from), Some(to)) = (revision(view, "from"), revision(view, "to")) else {
        return Ok(problem("both are revisions: whole numbers, as the log shows them".to_owned()));
    };
    let last = view.at.map_or(u64::MAX, |moment| moment.revision);
    if from > to || to.0 > last {
        return Ok(problem(format!(
            "the first revision is to be at or before the second, and both in what the page shows, which is up to {}",
            last.min(view.dashboard.options().log.head().0)
        )));
    }
    if to.0 - from.0 > COMPARED {
        return Ok(problem(format!("they are more than {COMPARED} revisions apart")));
    }
    let log = &view.dashboard.options().log;
    let mut objects: BTreeMap<Key, (Option<Sections>, Option<Sections>)> = BTreeMap::new();
    let mut at = from;
    while at < to {
        let end = Revision(to.0.min(at.0 + PIECE));
        let entries = match log.read(at, end, None).await {
            Ok(entries) => entries,
            Err(error) => return Ok(problem(error.to_string())),
        };
        for entry in entries.iter().filter(|entry| !entry.volatile) {
            let before = entry.previous.as_ref().map(|(_, sections)| sections.clone());
            let after = (entry.verb != Verb::Delete).then(|| entry.object.clone());
            objects.entry(entry.key.clone()).or_insert((before, None)).1 = after;
        }
        at = end;
    }
    let (mut rows, mut may, mut hidden) = (Vec::new(), May::new(view), 0);
    for (key, (before, after)) in objects {
        if !may.list(&key).await {
            continue;
        }
        if rows.len() == WINDOW {
            hidden += 1;
            continue;
        }
        let what = match (&before, &after) {
            (None, None) => continue,
            (None, Some(_)) => html! { "is new" },
            (Some(_), None) => html! { "is gone" },
            (Some(before), Some(after)) => {
                let after = tree(after, 0);
                let mut changes = differences(&key, tree(before, 0), &after);
                changes.retain(|change| !change.path.contains("managedFields"));
                if changes.is_empty() {
                    continue;
                }
                difference(&changes)
            }
        };
        rows.push(vec![html! { (key) }, what]);
    }
    Ok(html! {
        (form)
        @if rows.is_empty() { p { "Nothing differs." } }
        @else { (table::plain(&format!("What differs between revision {from} and {to}"), &["Object", "What"], &rows)) }
        @if hidden > 0 { p.hint { (hidden) " more objects differ." } }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_path_and_what_is_below_it() {
        for (path, field, expected) in [
            ("spec.kubernetes.version", "spec.kubernetes", true),
            ("spec.kubernetes", "spec.kubernetes", true),
            ("spec.provider.workers[0].name", "spec.provider.workers", true),
            ("spec.kubernetesX", "spec.kubernetes", false),
            ("spec", "spec.kubernetes", false),
        ] {
            assert_eq!(is_at(path, field), expected, "{path} {field}");
        }
    }
}
