// SPDX-License-Identifier: Apache-2.0
//! Schedule of the maintenance controller: the instants at which it checks a Shoot, and whether maintenance is due.
//!
//! No state records that a Shoot was maintained: it runs once a day because the next run is planned for the next window.
//! A request, or a change of the window while it is open, therefore causes a second run in the same window.
//!
//! Source: pkg/controllermanager/controller/shoot/maintenance/{add,reconciler}.go @ v1.120.0.

use api::constants::annotation;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};

use super::{is_requested, upcoming};
use crate::window::Span;

/// Purpose of the random number that selects the instant of a Shoot's next run.
pub const NEXT_RUN_DRAW: &str = "shoot-maintenance";

/// Returns the span of the next run of a Shoot, as seen from an instant.
///
/// It is the window after that instant: a run at exactly the begin of a window is followed by the next day's.
pub fn next_run(shoot: &Shoot, now: DateTime<Utc>) -> Span {
    upcoming::next(shoot, now + TimeDelta::nanoseconds(1))
}

/// True if an update of the Shoot triggers the maintenance controller: maintenance is requested, or another window is in
/// effect.
pub fn update_is_looked_at(old: &Shoot, new: &Shoot, now: DateTime<Utc>) -> bool {
    (is_requested(new) && !is_requested(old)) || upcoming::time_window(old, now) != upcoming::time_window(new, now)
}

/// True if an update places the upcoming maintenance in a window for which the controller has not planned a run: it
/// already ran in that window when it first saw the Shoot.
pub fn update_misses_upcoming(old: &Shoot, new: &Shoot, planned: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    let is_new = old.metadata.annotation(annotation::UPCOMING_TIME_WINDOW)
        != new.metadata.annotation(annotation::UPCOMING_TIME_WINDOW);
    let upcoming = upcoming::upcoming(new, now).filter(|_| is_new);
    upcoming.is_some_and(|upcoming| planned.is_some_and(|planned| planned > upcoming.until))
}

/// Action of the controller when it checks a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// True if the Shoot is maintained.
    pub is_due: bool,
    /// Instant of the next check.
    pub next: DateTime<Utc>,
}

/// Returns the action of the controller at an instant. `planned` is the timer that it set before, expired or not; `draw`
/// selects an instant of a span.
///
/// There is one timer: a new one replaces it only if it is earlier.
pub fn turn(
    shoot: &Shoot,
    planned: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    draw: impl FnOnce(Span) -> DateTime<Utc>,
) -> Turn {
    let is_due = is_requested(shoot) || upcoming::effective_window(shoot, now).contains(now);
    let anew = draw(next_run(shoot, now));
    Turn { is_due, next: planned.filter(|planned| *planned > now && *planned < anew).unwrap_or(anew) }
}

#[cfg(test)]
mod tests {
    use api::core::{Maintenance, MaintenanceTimeWindow};

    use super::*;

    fn instant(text: &str) -> DateTime<Utc> {
        format!("2025-06-{text}Z").parse().expect("RFC 3339")
    }

    /// Returns a Shoot with a window `22-23`; `-`: no window.
    fn shoot(hours: &str, is_requested: bool) -> Shoot {
        let mut shoot = Shoot::default();
        if let Some((begin, end)) = hours.split_once('-').filter(|(begin, _)| !begin.is_empty()) {
            let time_window =
                MaintenanceTimeWindow { begin: format!("{begin}0000+0000"), end: format!("{end}0000+0000") };
            shoot.spec.maintenance = Some(Maintenance { time_window: Some(time_window), ..Maintenance::default() });
        }
        if is_requested {
            shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "maintain".to_owned());
        }
        shoot
    }

    /// The Shoot's window, the timer, now; whether the Shoot is maintained, and the timer after that. A new timer expires
    /// in the middle of the next window. `until`: the window from 22 to 23 is in effect until then.
    /// Source: docs/usage/shoot/shoot_maintenance.md, "Time Window" and "Confine Specification Changes".
    const TURNS: &str = "
# Seen for the first time: before the window, in it, after it.
22-23 none        15T10:00:00 => waits 15T22:22:30
22-23 none        15T22:10:00 => runs  16T22:22:30
22-23 none        15T22:50:00 => waits 16T22:22:30
# Without a window it is always open.
-     none        15T10:00:00 => runs  16T11:59:59.5
# The timer rings: in the window, at its very begin, and far too late since the clock went over several windows.
22-23 15T22:17:00 15T22:17:00 => runs  16T22:22:30
22-23 15T22:00:00 15T22:00:00 => runs  16T22:22:30
22-23 15T22:17:00 19T12:00:00 => waits 19T22:22:30
22-23 15T22:17:00 19T22:30:00 => runs  20T22:22:30
# Maintenance is requested: the run that is planned takes place, too, also in the same window.
22-23 15T22:17:00 15T10:00:00 maintain => runs  15T22:17:00
22-23 15T22:17:00 15T22:05:00 maintain => runs  15T22:17:00
22-23 16T22:17:00 15T22:40:00 maintain => runs  16T22:17:00
# The window was changed: an earlier timer still rings and is then like any other; a later one is replaced.
02-03 15T22:17:00 15T10:00:00 => waits 15T22:17:00
02-03 15T22:17:00 15T22:17:00 => waits 16T02:22:30
21-23 15T22:17:00 15T10:00:00 => waits 15T21:52:30
# The window was changed while it was open: a second run.
21-23 16T22:17:00 15T22:40:00 => runs  16T21:52:30
# The window was changed while the roll-out was confined: the planned run keeps its time, and counts; so it does if the
# controller has just started.
02-03 15T22:17:00 15T10:00:00 until15T22:45:00 => waits 15T22:17:00
02-03 none        15T10:00:00 until15T22:45:00 => waits 15T22:22:30
02-03 none        15T02:30:00 until15T22:45:00 => waits 15T22:22:30
02-03 none        15T22:30:00 until15T22:45:00 => runs  16T02:22:30
02-03 15T22:17:00 15T22:17:00 until15T22:45:00 => runs  16T02:22:30
02-03 15T22:17:00 15T23:00:00 until15T22:45:00 => waits 16T02:22:30
02-03 15T22:17:00 16T02:30:00 until15T22:45:00 => runs  17T02:22:30
02-03 15T22:17:00 15T10:00:00 maintain until15T22:45:00 => runs  15T22:17:00
";

    #[test]
    fn a_shoot_is_maintained_once_a_day_without_requests() {
        for row in TURNS.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let mut shoot = shoot(words[0], words.contains(&"maintain"));
            let planned = (words[1] != "none").then(|| instant(words[1]));
            if let Some(until) = words.iter().find_map(|word| word.strip_prefix("until")) {
                let kept = format!(r#"{{"begin":"220000+0000","end":"230000+0000","until":"2025-06-{until}Z"}}"#);
                shoot.metadata.annotations.insert("maintenance.terrarium.dev/upcoming-time-window".to_owned(), kept);
                shoot.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = Some(true);
            }
            let middle = |span: Span| span.earliest + (span.end - span.earliest) / 2;
            let turn = turn(&shoot, planned, instant(words[2]), middle);
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!((turn.is_due, turn.next), (expected[0] == "runs", instant(expected[1])), "row: {row}");
        }
    }

    #[test]
    fn runs_after_the_upcoming_window_are_planned_again() {
        let kept = |shoot: &mut Shoot| {
            let text = r#"{"begin":"220000+0000","end":"230000+0000","until":"2025-06-15T22:45:00Z"}"#;
            shoot
                .metadata
                .annotations
                .insert("maintenance.terrarium.dev/upcoming-time-window".to_owned(), text.to_owned());
        };
        let mut old = shoot("22-23", false);
        old.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = Some(true);
        let mut new = old.clone();
        kept(&mut new);
        let misses = |old: &Shoot, new: &Shoot, planned: &str| {
            update_misses_upcoming(old, new, Some(instant(planned)), instant("15T22:10:00"))
        };
        assert!(misses(&old, &new, "16T22:17:00"));
        assert!(!misses(&old, &new, "15T22:17:00"));
        assert!(!misses(&new, &new, "16T22:17:00"));
        assert!(!misses(&new, &old, "16T22:17:00"));
    }
}
