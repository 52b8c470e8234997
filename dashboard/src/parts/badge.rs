// SPDX-License-Identifier: Apache-2.0
//! Badges: the state of a version, the status of a condition. Each has a word; its colour repeats the meaning.

use chrono::{DateTime, Utc};
use domain::versions::{Expirable, Moment, State};
use maud::{Markup, html};

use super::time;

/// Number of days before an expiration date from which on a badge warns of it.
pub const WARNED_DAYS: i64 = 30;

/// Returns the badge of a version's state.
pub fn of_state(state: State) -> Markup {
    let name = state.to_string();
    html! { span class={"badge v-" (name)} { (name) } }
}

/// Returns an offered version, with the badge of its state, and its date if that is near or past.
pub fn of_version(entry: &impl Expirable, at: Moment) -> Markup {
    html! { (of_state(at.state(entry))) @if let Some(date) = at.expiration(entry) { " " (expiry(date, at.now)) } }
}

/// Formats `expires in 12 d`, `expired 3 d ago`.
pub fn expiry(date: DateTime<Utc>, now: DateTime<Utc>) -> Markup {
    let is_near = time::days_until(date, now) < WARNED_DAYS;
    let verb = if date <= now { "expired" } else { "expires" };
    html! {
        span.expiry.near[is_near] { (verb) " " (time::distance(date, now)) }
    }
}

/// Returns the badge of a version that a CloudProfile does not offer.
pub fn not_offered() -> Markup {
    html! { span.badge.v-unknown { "not offered" } }
}
