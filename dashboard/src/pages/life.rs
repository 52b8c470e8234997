// SPDX-License-Identifier: Apache-2.0
//! Objects that do not exist at the moment that a page shows, but at others.

use api::cluster::GARDEN;
use apimachinery::Resource;
use chrono::{DateTime, Utc};
use eventlog::Key;
use http::StatusCode;
use maud::{Markup, html};
use ops::past::Life;

use crate::may::May;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::view::View;

/// Returns the reason why there is no page of an object of cluster `garden` that exists at other moments and that the user may
/// see: the times of its existence; `None`: nothing is known of it. `what` begins the sentence: `Cluster demo/local`.
///
/// # Errors
/// The API's error.
pub(super) async fn elsewhen<K: Resource>(view: &View, key: &Key, what: &str) -> Result<Option<Refusal>, Refusal> {
    if !May::new(view).list(key).await {
        return Ok(None);
    }
    let timeline = view.dashboard.timeline();
    // A log that does not answer contributes nothing.
    let mut lives = match timeline.refresh().await {
        Ok(_) => timeline.lives(key),
        Err(_) => Vec::new(),
    };
    // The creation time of an object that is older than the history is in the object.
    let mut created = None;
    if view.at.is_some() && lives.iter().all(|life| life.end.is_some()) {
        let present = View { at: None, ..view.clone() };
        if let Some(object) = present.get::<K>(GARDEN, &key.namespace, &key.name).await? {
            created = Some(object.metadata().creation_timestamp.0);
            lives.push(Life::default());
        }
    }
    if lives.is_empty() {
        return Ok(None);
    }
    let title = match view.at {
        Some(_) => format!("{what} did not exist then"),
        None => format!("{what} does not exist any more"),
    };
    let body = html! {
        @for life in &lives { p { (begin(view, life, created)) (end(view, life)) "." } }
        @if view.at.is_some() { p { a href=(view.here_with(&[("at", "")])) { "Show the present" } } }
    };
    Ok(Some(Refusal { code: StatusCode::NOT_FOUND, title, body }))
}

fn at(view: &View, place: &str, time: DateTime<Utc>) -> Markup {
    html! { a href=(view.here_with(&[("at", place)])) { (time::instant(time)) } }
}

fn begin(view: &View, life: &Life, created: Option<DateTime<Utc>>) -> Markup {
    match (life.begin, created) {
        (Some(begin), _) => html! { "It was created at " (at(view, &begin.revision.to_string(), begin.time)) },
        (None, Some(time)) if life.end.is_none() => {
            html! { "It was created at " (at(view, &time::machine(time), time)) }
        }
        (None, _) => html! { "It was there when history begins" },
    }
}

/// The object no longer exists at its deletion: the link shows its last state.
fn end(view: &View, life: &Life) -> Markup {
    match life.end {
        Some(end) => {
            html! { ", and deleted at " (at(view, &end.revision.0.saturating_sub(1).to_string(), end.time)) }
        }
        None => html! {},
    }
}
