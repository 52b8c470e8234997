// SPDX-License-Identifier: Apache-2.0
//! The time window of a Shoot that is in effect at an instant, and the resulting maintenance runs.
//!
//! That is the window of the spec, with one exception: while roll-outs are confined, a changed window takes effect only
//! after the upcoming maintenance (profile `documents`). As the object then no longer contains the previous window,
//! gardener-apiserver keeps it in an annotation ([`annotation::UPCOMING_TIME_WINDOW`]) with the end of the window in
//! which the upcoming maintenance lies. Only gardener-apiserver writes it, and removes it with the first write after that
//! end. There is no other state: each reader of the object, even after a restart, derives the same instants.
//!
//! ```text
//! spec     22-23 ──────────┬ 14-15 ──────────────────────────────────────────►
//! effect   22-23 ──────────┴──────────── until 22:45 ┤ 14-15 ────────────────►
//! runs                  (14:11 has no effect)   22:12           14:04
//! ```
//!
//! Source: docs/usage/shoot/shoot_maintenance.md, "Confine Specification Changes/Updates Roll Out".

use api::constants::annotation;
use api::core::{Maintenance, MaintenanceTimeWindow, Shoot};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::NEXT_RUN_DRAW;
use crate::profile::Profile;
use crate::shoot_facts::is_confined;
use crate::window::{Span, Window, nominal_window};

/// Draws a random number for a purpose, a key and an ordinal.
pub type Draw<'a> = dyn Fn(&str, &str, u64) -> u64 + 'a;

/// Value of the annotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AnnotationValue {
    begin: String,
    end: String,
    until: DateTime<Utc>,
}

/// A window that is in effect although the spec has another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Upcoming {
    /// The window as it was configured.
    pub time_window: MaintenanceTimeWindow,
    /// The last second in which it is in effect: the end of the window of the upcoming maintenance.
    pub until: DateTime<Utc>,
    window: Window,
}

impl Upcoming {
    /// Parses a Shoot's annotation, regardless of the time; `None` if it is missing or invalid.
    fn of(shoot: &Shoot) -> Option<Self> {
        let kept: AnnotationValue =
            serde_json::from_str(shoot.metadata.annotation(annotation::UPCOMING_TIME_WINDOW)?).ok()?;
        let window = Window::parse(&kept.begin, &kept.end).ok()?;
        let time_window = MaintenanceTimeWindow { begin: kept.begin, end: kept.end };
        is_confined(&shoot.spec).then_some(Self { time_window, until: kept.until, window })
    }

    /// Returns the first instant at which the window of the spec is in effect.
    fn over(&self) -> DateTime<Utc> {
        self.until + TimeDelta::seconds(1)
    }
}

/// Returns the window that is in effect at an instant in place of the spec's; `None` if the spec's is.
pub fn upcoming(shoot: &Shoot, now: DateTime<Utc>) -> Option<Upcoming> {
    Upcoming::of(shoot).filter(|upcoming| now < upcoming.over())
}

/// Returns the time window that is in effect at an instant, as it was configured.
pub fn time_window(shoot: &Shoot, now: DateTime<Utc>) -> Option<MaintenanceTimeWindow> {
    let of_spec = || shoot.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.clone());
    upcoming(shoot, now).map(|upcoming| upcoming.time_window).or_else(of_spec)
}

/// Returns the part of the window in effect in which new maintenance may begin; always open if the window is missing or
/// invalid.
pub fn effective_window(shoot: &Shoot, now: DateTime<Utc>) -> Window {
    let of_spec = || nominal_window(shoot.spec.maintenance.as_ref());
    let nominal = upcoming(shoot, now).map(|upcoming| upcoming.window).or_else(of_spec);
    nominal.map_or(Window::ALWAYS, Window::effective)
}

/// Returns the next effective window after an instant, see [`Window::next`].
pub fn next(shoot: &Shoot, from: DateTime<Utc>) -> Span {
    next_of(shoot, from, |nominal| nominal.map_or(Window::ALWAYS, Window::effective))
}

/// Returns the begin of the next window; an instant that is exactly a begin is returned. `None`: the Shoot has no window,
/// or an invalid one.
pub fn next_begin(shoot: &Shoot, from: DateTime<Utc>) -> Option<DateTime<Utc>> {
    nominal_window(shoot.spec.maintenance.as_ref())?;
    Some(next_of(shoot, from, |nominal| nominal.unwrap_or(Window::ALWAYS)).earliest)
}

fn next_of(shoot: &Shoot, from: DateTime<Utc>, shown: impl Fn(Option<Window>) -> Window) -> Span {
    let of_spec = shown(nominal_window(shoot.spec.maintenance.as_ref()));
    let Some(upcoming) = upcoming(shoot, from) else { return of_spec.next(from) };
    let span = shown(Some(upcoming.window)).next(from);
    if span.earliest <= upcoming.until { span } else { of_spec.next(upcoming.over()) }
}

/// Returns the first instant at or after another for which the maintenance controller draws a run, with its effective window.
///
/// A window that is open at the instant is included with the run that was drawn for it.
pub fn run_at_or_after(shoot: &Shoot, instant: DateTime<Utc>, draw: &Draw<'_>) -> (DateTime<Utc>, Span) {
    let key = format!("garden/{}/{}", shoot.metadata.namespace, shoot.metadata.name);
    let first = |window: Window, instant: DateTime<Utc>| {
        // A window that crosses midnight may have begun on the previous day.
        let mut day = instant - TimeDelta::days(1);
        loop {
            let span = Span { earliest: window.begin_on_day_of(day), end: window.end_on_day_of(day) };
            let run = span.instant(draw(NEXT_RUN_DRAW, &key, span.ordinal()));
            if run >= instant {
                return (run, span);
            }
            day += TimeDelta::days(1);
        }
    };
    let of_spec = nominal_window(shoot.spec.maintenance.as_ref()).map_or(Window::ALWAYS, Window::effective);
    let Some(upcoming) = Upcoming::of(shoot) else { return first(of_spec, instant) };
    let (run, span) = first(upcoming.window.effective(), instant);
    if span.earliest <= upcoming.until {
        return (run, span);
    }
    // The run after the upcoming one is planned for the next window, not for one that is already open.
    first(of_spec, instant.max(of_spec.next(upcoming.over()).earliest))
}

/// Returns the value of the annotation after an update of a Shoot; `None`: no annotation.
///
/// `new` is the requested Shoot; its own annotation is ignored.
pub fn on_update(old: &Shoot, new: &Shoot, profile: Profile, now: DateTime<Utc>, draw: &Draw<'_>) -> Option<String> {
    if !profile.confined_window_change_waits() || !is_confined(&old.spec) || !is_confined(&new.spec) {
        return None;
    }
    let of_spec =
        |shoot: &Shoot| shoot.spec.maintenance.as_ref().and_then(|Maintenance { time_window, .. }| time_window.clone());
    let counts = time_window(old, now)?;
    if of_spec(new).as_ref() == Some(&counts) {
        return None;
    }
    if upcoming(old, now).is_some() {
        return old.metadata.annotation(annotation::UPCOMING_TIME_WINDOW).map(str::to_owned);
    }
    Window::parse(&counts.begin, &counts.end).ok()?;
    let (_, span) = run_at_or_after(old, now + TimeDelta::nanoseconds(1), draw);
    let kept = AnnotationValue { begin: counts.begin, end: counts.end, until: span.end };
    serde_json::to_string(&kept).ok()
}

/// Formats `220000+0000 to 230000+0000 until 2025-06-15T22:45:00Z` for users.
impl std::fmt::Display for Upcoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let until = self.until.to_rfc3339_opts(SecondsFormat::Secs, true);
        write!(f, "{} to {} until {until}", self.time_window.begin, self.time_window.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> DateTime<Utc> {
        format!("2025-06-{text}Z").parse().expect("RFC 3339")
    }

    /// Returns a Shoot with a window `22-23`; the suffix `c` confines roll-outs.
    fn with_window(hours: &str) -> Shoot {
        let mut shoot = Shoot::default();
        let (begin, end) = hours.trim_end_matches('c').split_once('-').expect("two hours");
        shoot.spec.maintenance = Some(Maintenance {
            time_window: Some(MaintenanceTimeWindow {
                begin: format!("{begin}0000+0000"),
                end: format!("{end}0000+0000"),
            }),
            confine_spec_update_rollout: Some(hours.ends_with('c')),
            ..Maintenance::default()
        });
        shoot
    }

    /// Draws the middle of each window: 22:22:30 of 22 to 23.
    fn middle(_: &str, _: &str, _: u64) -> u64 {
        45 * 60 * 1_000_000_000 / 2
    }

    /// Returns the Shoot after changes, each at its instant, as the API server processes them.
    fn changed(changes: &str, profile: Profile) -> Shoot {
        let mut stored: Option<Shoot> = None;
        for change in changes.split(',') {
            let (hours, at) = change.trim().split_once(" at ").expect("a window and an instant");
            let mut new = with_window(hours);
            if let Some(old) = &stored {
                let kept = on_update(old, &new, profile, instant(at), &middle);
                new.metadata
                    .annotations
                    .extend(kept.map(|kept| ("maintenance.terrarium.dev/upcoming-time-window".to_owned(), kept)));
            }
            stored = Some(new);
        }
        stored.expect("there is a change")
    }

    /// Windows, each with the instant at which it was written (`c`: roll-outs are confined); value of the annotation;
    /// runs after the last change.
    /// Source: docs/usage/shoot/shoot_maintenance.md, "Confine Specification Changes/Updates Roll Out".
    const CHANGES: &str = "
# A confined window that changes: the upcoming maintenance keeps its time.
22-23c at 01T00:00:00, 14-15c at 15T10:00:00 => 22 until 15T22:45 | 15T22:22:30 16T14:22:30 17T14:22:30
22-23c at 01T00:00:00, 02-03c at 15T10:00:00 => 22 until 15T22:45 | 15T22:22:30 16T02:22:30 17T02:22:30
# Not confined, or not before, or not any more: at once.
22-23 at 01T00:00:00, 14-15 at 15T10:00:00 => none | 15T14:22:30 16T14:22:30
22-23 at 01T00:00:00, 14-15c at 15T10:00:00 => none | 15T14:22:30 16T14:22:30
22-23c at 01T00:00:00, 14-15 at 15T10:00:00 => none | 15T14:22:30 16T14:22:30
# Two changes in a row: the first window still counts, then the last one; back to the first is no change.
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 16-17c at 15T12:00:00 => 22 until 15T22:45 | 15T22:22:30 16T16:22:30
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 22-23c at 15T12:00:00 => none | 15T22:22:30 16T22:22:30
# Unconfined while it waits: the new window counts at once.
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 14-15 at 15T12:00:00 => none | 15T14:22:30 16T14:22:30
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 14-15 at 15T12:00:00, 14-15c at 15T12:01:00 => none | 15T14:22:30
# Something else changes while it waits, and after it.
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 14-15c at 15T12:00:00 => 22 until 15T22:45 | 15T22:22:30 16T14:22:30
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 14-15c at 15T22:46:00 => none | 16T14:22:30 17T14:22:30
# A second change after the first has taken effect.
22-23c at 01T00:00:00, 14-15c at 15T10:00:00, 16-17c at 16T10:00:00 => 14 until 16T14:45 | 16T14:22:30 16T16:22:30
# While the window is open: before the run of today, and after it.
22-23c at 01T00:00:00, 14-15c at 15T22:10:00 => 22 until 15T22:45 | 15T22:22:30 16T14:22:30
22-23c at 01T00:00:00, 14-15c at 15T22:30:00 => 22 until 16T22:45 | 16T22:22:30 17T14:22:30
# Into a window that is open at the time of the change, or when the upcoming one ends: the next one counts.
22-23c at 01T00:00:00, 09-12c at 15T10:00:00 => 22 until 15T22:45 | 15T22:22:30 16T09:22:30
21-22c at 01T00:00:00, 20-23c at 15T10:00:00 => 21 until 15T21:45 | 15T21:22:30 16T20:22:30
# Across midnight.
23-01c at 01T00:00:00, 14-15c at 15T00:10:00 => 23 until 16T00:45 | 15T23:22:30 16T14:22:30
23-01c at 01T00:00:00, 14-15c at 15T10:00:00 => 23 until 16T00:45 | 15T23:22:30 16T14:22:30
";

    #[test]
    fn a_confined_window_that_changes_counts_after_the_upcoming_maintenance() {
        for row in CHANGES.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (changes, expected) = row.split_once("=>").expect("row has an arrow");
            let (said, runs) = expected.split_once('|').expect("row has runs");
            let shoot = changed(changes, Profile::Documents);
            let last = instant(changes.rsplit_once(" at ").expect("an instant").1.trim());
            let told = Upcoming::of(&shoot).map_or_else(
                || "none".to_owned(),
                |kept| format!("{} until {}", &kept.time_window.begin[..2], kept.until.format("%dT%H:%M")),
            );
            assert_eq!(told, said.trim(), "row: {row}");
            let mut now = last;
            for run in runs.split_whitespace().map(instant) {
                let (found, span) = run_at_or_after(&shoot, now, &middle);
                assert_eq!((found, span.earliest <= found && found <= span.end), (run, true), "row: {row}");
                assert!(effective_window(&shoot, run).contains(run), "row: {row}");
                // Outside of its window a Shoot is planned for the same span, even by a controller that has just started.
                if !effective_window(&shoot, now).contains(now) {
                    assert_eq!(next(&shoot, now + TimeDelta::nanoseconds(1)), span, "row: {row}, from {now}");
                    assert_eq!(next_begin(&shoot, now + TimeDelta::nanoseconds(1)), Some(span.earliest), "row: {row}");
                }
                now = found + TimeDelta::nanoseconds(1);
                assert_eq!(next(&shoot, now).earliest, run_at_or_after(&shoot, now, &middle).1.earliest, "row: {row}");
            }
        }
    }

    #[test]
    fn the_upstream_profile_has_no_upcoming_window() {
        let changes = "22-23c at 01T00:00:00, 14-15c at 15T10:00:00";
        assert_eq!(
            changed(changes, Profile::Upstream).metadata.annotation("maintenance.terrarium.dev/upcoming-time-window"),
            None
        );
    }

    #[test]
    fn invalid_annotations_are_ignored() {
        let mut shoot = with_window("14-15c");
        for text in ["", "{}", "22-23", r#"{"begin":"22","end":"23","until":"2025-06-15T22:45:00Z"}"#] {
            shoot
                .metadata
                .annotations
                .insert("maintenance.terrarium.dev/upcoming-time-window".to_owned(), text.to_owned());
            assert_eq!(upcoming(&shoot, instant("15T10:00:00")), None, "{text}");
            assert_eq!(run_at_or_after(&shoot, instant("15T10:00:00"), &middle).0, instant("15T14:22:30"), "{text}");
        }
    }

    #[test]
    fn the_next_begin_is_not_that_of_an_open_window() {
        let shoot = |begin: &str, end: &str| {
            let window = MaintenanceTimeWindow { begin: begin.to_owned(), end: end.to_owned() };
            let maintenance = Maintenance { time_window: Some(window), ..Maintenance::default() };
            let mut shoot = Shoot::default();
            shoot.spec.maintenance = Some(maintenance);
            shoot
        };
        for (begin, end, from, expected) in [
            ("220000+0000", "230000+0000", "01T21:59:59", Some("01T22:00:00")),
            ("220000+0000", "230000+0000", "01T22:00:00", Some("01T22:00:00")),
            ("220000+0000", "230000+0000", "01T22:00:01", Some("02T22:00:00")),
            ("220000+0000", "230000+0000", "01T23:30:00", Some("02T22:00:00")),
            ("230000+0000", "010000+0000", "02T00:30:00", Some("02T23:00:00")),
            ("230000+0100", "000000+0100", "01T21:00:00", Some("01T22:00:00")),
            ("late", "230000+0000", "01T21:00:00", None),
        ] {
            let actual = next_begin(&shoot(begin, end), instant(from));
            assert_eq!(actual, expected.map(instant), "{begin} to {end} from {from}");
        }
        assert_eq!(next_begin(&Shoot::default(), instant("01T21:00:00")), None);
    }
}
