// SPDX-License-Identifier: Apache-2.0
//! Reasons for which maintenance chooses or keeps a version of a Shoot, as lines.
//!
//! **Tour.** [`lines`] text with references to fields and objects; [`outlook`] severity of what follows for each version;
//! [`words`] terms and their explanations.

pub mod lines;
pub mod outlook;
pub mod words;

use api::constants::annotation;
use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::forecast::choice::{self, Choice};
use domain::maintenance::upcoming;
use domain::versions::Moment;
use domain::window::Window;

use crate::explain::lines::Line;
use crate::show;
use crate::spelling::plural;

/// Path of a Shoot's maintenance window.
pub(crate) const TIME_WINDOW: &str = "spec.maintenance.timeWindow";

/// Returns the lines about a Shoot at an instant: its window, then each of its versions. `pool`: the only worker pool to
/// report.
pub fn lines(
    shoot: &Shoot,
    profile_name: &str,
    offered: &CloudProfileSpec,
    at: Moment,
    pool: Option<&str>,
) -> Vec<Line> {
    let now = at.now;
    let counts = upcoming::time_window(shoot, now);
    let window = upcoming::effective_window(shoot, now);
    let nominal = match counts.filter(|window| Window::parse(&window.begin, &window.end).is_ok()) {
        Some(written) => format!(" {} to {}", written.begin, written.end),
        None => " is missing or malformed: always open".to_owned(),
    };
    let begins = format!("; new maintenance begins from {} to {} UTC", window.begin, window.end);
    let mut lines = Vec::new();
    match upcoming::upcoming(shoot, now) {
        None => lines.push(Line::of_field(TIME_WINDOW).text(nominal + &begins)),
        Some(kept) => {
            lines.push(Line::of_annotation(annotation::UPCOMING_TIME_WINDOW).text(format!(": {kept}{begins}")));
            lines.push(waiting(shoot));
        }
    }
    for choice in choice::choices(shoot, profile_name, offered, at) {
        if pool.is_none() || choice.pool.is_none() || choice.pool.as_deref() == pool {
            lines.extend(of_choice(&choice, now));
        }
    }
    lines
}

/// Returns the line about a window that is not in effect yet.
pub(crate) fn waiting(shoot: &Shoot) -> Line {
    let written = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.clone());
    let written = written.unwrap_or_default();
    Line::of_field(TIME_WINDOW).text(format!(
        " {} to {} counts after that: it was changed while roll-outs are confined",
        written.begin, written.end
    ))
}

/// Formats a duration in whole days.
fn days(length: TimeDelta) -> String {
    match usize::try_from(length.num_days()) {
        Ok(days) if days > 0 => plural(days, "day"),
        _ => "less than a day".to_owned(),
    }
}

fn of_choice(choice: &Choice, now: DateTime<Utc>) -> Vec<Line> {
    let subject = choice.image.as_ref().map_or_else(|| "Kubernetes".to_owned(), |image| format!("image {image}"));
    let pool = choice.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
    let state = match choice.state {
        None => "not offered (any more)".to_owned(),
        Some(state) => state.to_string(),
    };
    let expires = match choice.expires {
        Some(date) if date > now => format!(", expires {} ({})", show(date), days(date - now)),
        Some(date) => format!(", expired {} ({} ago)", show(date), days(now - date)),
        None => String::new(),
    };
    let field = if choice.image.is_some() { "machineImageVersion" } else { "kubernetesVersion" };
    let field = format!("spec.maintenance.autoUpdate.{field}");
    let auto = if choice.auto_update { " is on" } else { " is off" };
    let first = Line::of(format!("{subject}{pool}: "))
        .field(&choice.field, &choice.field)
        .text(format!(" {} is {state}{expires}; ", choice.current))
        .field(&field, &field)
        .text(auto);
    let outcome = match &choice.outcome {
        None => format!("stays: {}", stays(choice)),
        Some(outcome) => match outcome.version() {
            Some(version) => format!("goes to {version}: {}", outcome.reason),
            None => format!("fails: {}. {}", outcome.reason, outcome.description),
        },
    };
    let others = choice.others.iter().map(|(version, reason)| format!("not {version}: it {reason}"));
    let below = std::iter::once(outcome).chain(others).map(|text| Line::of(text).deeper());
    std::iter::once(first).chain(below).collect()
}

/// Reason for which a version stays that maintenance neither changes nor fails on.
pub(crate) fn stays(choice: &Choice) -> String {
    match &choice.trouble {
        Some(trouble) => trouble.clone(),
        None if choice.auto_update => "there is nothing higher that automatic updates may take".to_owned(),
        None => "automatic updates are off, and the version is neither expired nor missing".to_owned(),
    }
}
