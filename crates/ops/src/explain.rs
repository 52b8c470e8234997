// SPDX-License-Identifier: Apache-2.0
//! Why maintenance chooses a version of a Shoot, or leaves it, in lines.

use api::constants::annotation;
use api::core::{CloudProfileSpec, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use domain::forecast::choice::{self, Choice};
use domain::maintenance::upcoming;
use domain::window::Window;

use crate::show;
use crate::spelling::plural;

/// The lines about a Shoot at an instant: its window, then each of its versions.
pub fn lines(shoot: &Shoot, profile_name: &str, offered: &CloudProfileSpec, now: DateTime<Utc>) -> Vec<String> {
    let counts = upcoming::time_window(shoot, now);
    let window = upcoming::effective_window(shoot, now);
    let nominal = match counts.filter(|window| Window::parse(&window.begin, &window.end).is_ok()) {
        Some(written) => format!("spec.maintenance.timeWindow {} to {}", written.begin, written.end),
        None => "spec.maintenance.timeWindow is missing or malformed: always open".to_owned(),
    };
    let mut lines = Vec::new();
    match upcoming::upcoming(shoot, now) {
        None => {
            lines.push(format!("{nominal}; new maintenance begins from {} to {} UTC", window.begin, window.end));
        }
        Some(kept) => {
            lines.push(format!(
                "annotation {}: {kept}; new maintenance begins from {} to {} UTC",
                annotation::UPCOMING_TIME_WINDOW,
                window.begin,
                window.end
            ));
            lines.push(waiting(shoot));
        }
    }
    for choice in choice::choices(shoot, profile_name, offered, now) {
        lines.extend(of_choice(&choice, now));
    }
    lines
}

/// The line about a window that does not count yet.
pub(crate) fn waiting(shoot: &Shoot) -> String {
    let written = shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.clone());
    let written = written.unwrap_or_default();
    format!(
        "spec.maintenance.timeWindow {} to {} counts after that: it was changed while roll-outs are confined",
        written.begin, written.end
    )
}

/// Whole days.
fn days(length: TimeDelta) -> String {
    match usize::try_from(length.num_days()) {
        Ok(days) if days > 0 => plural(days, "day"),
        _ => "less than a day".to_owned(),
    }
}

fn of_choice(choice: &Choice, now: DateTime<Utc>) -> Vec<String> {
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
    let auto = if choice.auto_update { "on" } else { "off" };
    let mut lines = vec![format!(
        "{subject}{pool}: {} {} is {state}{expires}; spec.maintenance.autoUpdate.{field} is {auto}",
        choice.field, choice.current
    )];
    lines.push(match &choice.outcome {
        None if choice.trouble.is_some() => format!("  stays: {}", choice.trouble.clone().unwrap_or_default()),
        None if choice.auto_update => "  stays: there is nothing higher that automatic updates may take".to_owned(),
        None => "  stays: automatic updates are off, and the version is neither expired nor missing".to_owned(),
        Some(outcome) => match outcome.version() {
            Some(version) => format!("  goes to {version}: {}", outcome.reason),
            None => format!("  fails: {}. {}", outcome.reason, outcome.description),
        },
    });
    lines.extend(choice.others.iter().map(|(version, reason)| format!("  not {version}: it {reason}")));
    lines
}
