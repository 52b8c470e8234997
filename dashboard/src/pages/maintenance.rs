// SPDX-License-Identifier: Apache-2.0
//! Forecast of a Shoot's maintenance: the functions of `domain::forecast`, called as `terrarium forecast` does.

use std::fmt::Write as _;

use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, Utc};
use clock::Random;
use domain::forecast::{self, Change, Course, Offer, Settings};
use domain::window::Span;
use ops::gates::{gates_for, pool_forms};

use crate::view::View;

/// Returns the instant of the next maintenance, with its effective window.
pub fn next_run(view: &View, shoot: &Shoot) -> (DateTime<Utc>, Span) {
    let random = Random::new(view.dashboard.options().seed);
    forecast::next_run(shoot, view.now(), &|purpose, key, ordinal| random.draw(purpose, key, ordinal))
}

/// Returns the changes by maintenance up to an instant, if the present offer stays as it is.
pub fn changes(view: &View, shoot: &Shoot, offered: &CloudProfileSpec, until: DateTime<Utc>) -> Vec<Change> {
    changes_with(view, shoot, &Offer { name: String::new(), first: offered.clone(), changes: Vec::new() }, until)
}

/// Returns [`changes`] for an offer that changes.
pub fn changes_with(view: &View, shoot: &Shoot, offer: &Offer, until: DateTime<Utc>) -> Vec<Change> {
    with_course(view, shoot, offer, until, |course, _| course.changes)
}

/// Returns changes by maintenance up to an instant; if there are none, a sentence about the first change after it.
pub fn changes_and_next(
    view: &View,
    shoot: &Shoot,
    offered: &CloudProfileSpec,
    until: DateTime<Utc>,
) -> (Vec<Change>, Option<String>) {
    let offer = Offer { name: String::new(), first: offered.clone(), changes: Vec::new() };
    with_course(view, shoot, &offer, until, |course, settings| {
        let is_quiet = course.changes.is_empty();
        let next = is_quiet.then(|| ops::forecast::unmoved::later(&course.next_change(&offer, settings))).flatten();
        (course.changes, next)
    })
}

fn with_course<T>(
    view: &View,
    shoot: &Shoot,
    offer: &Offer,
    until: DateTime<Utc>,
    of: impl FnOnce(Course, &Settings<'_>) -> T,
) -> T {
    let random = Random::new(view.dashboard.options().seed);
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let release = view.release();
    let forms = |_: &Shoot| pool_forms(release);
    let settings = Settings {
        from: view.now(),
        until,
        draw: &draw,
        gates: gates_for(release),
        disables_nginx_ingress: view.disables_nginx_ingress,
        forms: &forms,
    };
    of(forecast::course(shoot, offer, &settings), &settings)
}

/// Formats `kubernetes 1.26.4 → 1.27.1, forced`, `pool a: machineImage … FAILED: …`.
pub fn sentence(change: &Change) -> String {
    let mut text = String::new();
    if let Some(pool) = &change.pool {
        let _ = write!(text, "pool {pool}: ");
    }
    text.push_str(change.subject.as_str());
    if let Some(from) = &change.from {
        let _ = write!(text, " {from}");
    }
    match (&change.to, &change.failure) {
        (_, Some(failure)) => {
            let _ = write!(text, " fails: {failure}");
        }
        (Some(to), None) => {
            let _ = write!(text, " → {to}");
        }
        (None, None) => {}
    }
    if change.is_forced {
        text.push_str(if change.was_opted_out { ", forced although automatic updates are off" } else { ", forced" });
    }
    text
}
