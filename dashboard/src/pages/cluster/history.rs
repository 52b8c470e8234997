// SPDX-License-Identifier: Apache-2.0
//! The last changes of a cluster's Shoot, from the log.

use api::cluster::GARDEN;
use eventlog::{Key, Revision};
use maud::{Markup, html};
use ops::history::entry::ReadEntry;

use crate::input::encoded;
use crate::pages::time::difference;
use crate::parts::{table, time};
use crate::view::View;

/// Maximum number of changes that are shown.
const SHOWN: usize = 5;

pub(super) async fn draw(view: &View, key: &Key) -> Markup {
    let timeline = view.dashboard.timeline();
    let Ok(span) = timeline.refresh().await else { return html! { p { "The log does not answer." } } };
    let upto = view.at.map_or(span.head, |moment| Revision(moment.revision));
    let log = &view.dashboard.options().log;
    let mut rows = Vec::new();
    for revision in timeline.changes_of(key, upto, SHOWN) {
        let before = Revision(revision.0.saturating_sub(1));
        let Ok(entries) = log.read(before, revision, Some(GARDEN)).await else { continue };
        for entry in entries.iter().filter(|entry| entry.key == *key) {
            let told = ReadEntry::of(entry);
            rows.push(vec![
                html! { a href=(view.here_with(&[("at", &revision.to_string())])) title="Show everything at this revision" { (revision) } },
                time::instant(entry.time),
                html! { (told.actor()) },
                html! { (told.verb()) },
                html! { (told.summary()) @if !told.changes.is_empty() {
                    details { summary { "difference" } (difference(&told.changes)) }
                } },
            ]);
        }
    }
    let link = view.to("time");
    let sign = if link.contains('?') { '&' } else { '?' };
    let all = format!("{link}{sign}object={}", encoded(&format!("shoot/{}/{}", key.namespace, key.name)));
    html! {
        @if rows.is_empty() { p { "The log has no change of it up to here." } }
        @else { (table::plain("Its last changes", &["Revision", "Landscape time", "Who", "What", "What of it changed"], &rows)) }
        p { a href=(all) { "All of its changes" } " " code { "terrarium log --object shoot/" (key.namespace) "/" (key.name) " --diff" } }
    }
}
