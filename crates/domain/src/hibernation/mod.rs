// SPDX-License-Identifier: Apache-2.0
//! Schedules by which Shoots are hibernated and woken up.
//!
//! [`decide`] returns the switch that the schedules request at an instant, and the instant of the next one. The
//! switch itself is a change of the spec like any other; it is not confined to the maintenance time window.
//!
//! Source: pkg/controllermanager/controller/shoot/hibernation @ v1.120.0.

pub mod cron;

use api::core::{HibernationSchedule, Shoot};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;

use self::cron::Schedule;
use crate::reconcile::is_failed_and_observed;

/// Maximum delay after which an activation still counts (`controllers.shootHibernation.triggerDeadlineDuration`).
pub const TRIGGER_DEADLINE: TimeDelta = TimeDelta::hours(2);

/// Maximum time back in which activations are searched.
pub const LOOK_BACK: TimeDelta = TimeDelta::days(7);

/// Delay between an activation and the next evaluation of the schedules.
const PADDING: TimeDelta = TimeDelta::milliseconds(100);

/// Change that a schedule requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Hibernate the Shoot.
    Hibernate,
    /// Wake up.
    WakeUp,
}

impl Switch {
    /// The new value of `spec.hibernation.enabled`.
    pub const fn enabled(self) -> bool {
        matches!(self, Self::Hibernate)
    }

    /// Reason and message of the Event.
    pub const fn event(self) -> (&'static str, &'static str) {
        match self {
            Self::Hibernate => ("Hibernated", "Hibernating cluster due to schedule"),
            Self::WakeUp => ("WokenUp", "Waking up cluster due to schedule"),
        }
    }
}

/// Result of a Shoot's schedules at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Change to make now; `None`: no activation has passed since the last trigger.
    pub switch: Option<Switch>,
    /// Instant of the next evaluation; `None` if no activation ever comes.
    pub next: Option<DateTime<Utc>>,
}

/// Returns the time zone of a name, as Go reads it; `None` for an unknown one.
///
/// Unlike upstream: `Local` is UTC, since a landscape has no location.
pub fn location(name: &str) -> Option<Tz> {
    match name {
        "" | "Local" => Some(Tz::UTC),
        name => name.parse().ok(),
    }
}

/// Returns the change to make now; `None` for a Shoot without schedules, in deletion, or with a schedule that does
/// not parse.
///
/// `gardener_version` is the version of the calling component: a Shoot that failed for good with it is not switched.
/// The latest of several activations counts; of equal ones the first in the list, start before end.
pub fn decide(shoot: &Shoot, gardener_version: &str, deadline: TimeDelta, now: DateTime<Utc>) -> Option<Decision> {
    let schedules = shoot.spec.hibernation.as_ref().map_or(&[][..], |hibernation| &hibernation.schedules);
    if shoot.metadata.is_being_deleted() || schedules.is_empty() {
        return None;
    }
    let parsed = parse(schedules)?;
    let next = parsed.iter().filter_map(|(schedule, zone, _)| schedule.next(now, *zone)).min();
    let next = next.map(|next| next + PADDING);
    if is_failed_and_observed(shoot, gardener_version) {
        return Some(Decision { switch: None, next });
    }
    let created = shoot.metadata.creation_timestamp.0;
    let seen = shoot.status.last_hibernation_trigger_time.map_or(created, |time| time.0);
    let from = seen.max(now - deadline).max(now - LOOK_BACK);
    let mut latest: Option<(DateTime<Utc>, Switch)> = None;
    for (schedule, zone, switch) in &parsed {
        if let Some(activation) = schedule.last_within(from, now, *zone)
            && latest.is_none_or(|(known, _)| activation > known)
        {
            latest = Some((activation, *switch));
        }
    }
    Some(Decision { switch: latest.map(|(_, switch)| switch), next })
}

/// Returns the next activations that hibernate and that wake up a Shoot, in this order; `None` if a schedule does not
/// parse.
pub fn next_activations(shoot: &Shoot, now: DateTime<Utc>) -> Option<[Option<DateTime<Utc>>; 2]> {
    let schedules = shoot.spec.hibernation.as_ref().map_or(&[][..], |hibernation| &hibernation.schedules);
    let parsed = parse(schedules)?;
    let next = |wanted| {
        let own = parsed.iter().filter(|(_, _, switch)| *switch == wanted);
        own.filter_map(|(schedule, zone, _)| schedule.next(now, *zone)).min()
    };
    Some([next(Switch::Hibernate), next(Switch::WakeUp)])
}

fn parse(schedules: &[HibernationSchedule]) -> Option<Vec<(Schedule, Tz, Switch)>> {
    let mut parsed = Vec::new();
    for schedule in schedules {
        let zone = location(schedule.location.as_deref().unwrap_or_default())?;
        for (text, switch) in [(&schedule.start, Switch::Hibernate), (&schedule.end, Switch::WakeUp)] {
            if let Some(text) = text {
                parsed.push((Schedule::parse(text).ok()?, zone, switch));
            }
        }
    }
    Some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core::{Hibernation, LastOperation};
    use apimachinery::meta::Time;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2025-06-{text}Z").parse().expect("RFC 3339")
    }

    /// A Shoot of June 1st that sleeps from 20:00 to 6:00.
    fn shoot() -> Shoot {
        let schedule = HibernationSchedule {
            start: Some("0 20 * * *".to_owned()),
            end: Some("0 6 * * *".to_owned()),
            location: None,
        };
        let mut shoot = Shoot::default();
        shoot.metadata.creation_timestamp = Time(at("01T00:00:00"));
        shoot.spec.hibernation = Some(Hibernation { enabled: None, schedules: vec![schedule] });
        shoot
    }

    /// Last trigger, now, requested switch, next evaluation.
    const DECISIONS: &str = "
-            15T19:59:59 => nothing   15T20:00:00.100
-            15T20:00:00 => Hibernate 16T06:00:00.100
15T20:00:00  15T20:00:00 => nothing   16T06:00:00.100
15T20:00:00  16T06:00:00 => WakeUp    16T20:00:00.100
-            15T21:59:59 => Hibernate 16T06:00:00.100
-            15T22:00:00 => nothing   16T06:00:00.100
10T06:00:00  16T07:00:00 => WakeUp    16T20:00:00.100
";

    #[test]
    fn schedules_trigger_once_and_not_too_late() {
        for row in DECISIONS.lines().filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let mut shoot = shoot();
            shoot.status.last_hibernation_trigger_time = (words[0] != "-").then(|| Time(at(words[0])));
            let decision = decide(&shoot, "v1.120.0", TRIGGER_DEADLINE, at(words[1])).expect("a decision");
            let switch = decision.switch.map_or_else(|| "nothing".to_owned(), |switch| format!("{switch:?}"));
            assert_eq!((switch.as_str(), decision.next), (words[3], Some(at(words[4]))), "row: {row}");
        }
    }

    #[test]
    fn the_configuration_limits_the_delay_of_an_activation() {
        let switch =
            |deadline, now| decide(&shoot(), "v1.120.0", deadline, at(now)).and_then(|decision| decision.switch);
        for (minutes, now, expected) in [
            (10, "15T20:09:59", Some(Switch::Hibernate)),
            (10, "15T20:10:00", None),
            (1440, "16T05:59:59", Some(Switch::Hibernate)),
            (0, "15T20:00:00", None),
        ] {
            assert_eq!(switch(TimeDelta::minutes(minutes), now), expected, "{minutes} {now}");
        }
    }

    #[test]
    fn of_equal_activations_the_first_in_the_list_counts() {
        let mut given = shoot();
        given.spec.hibernation.as_mut().expect("set").schedules[0].end = Some("0 20 * * *".to_owned());
        let decision = decide(&given, "v1.120.0", TRIGGER_DEADLINE, at("15T20:00:00")).expect("a decision");
        assert_eq!(decision.switch, Some(Switch::Hibernate));
    }

    #[test]
    fn failed_deleted_and_malformed_shoots_are_left_alone() {
        let mut failed = shoot();
        failed.status.last_operation = Some(LastOperation { state: "Failed".to_owned(), ..LastOperation::default() });
        "v1.120.0".clone_into(&mut failed.status.gardener.version);
        let decision = |shoot: &Shoot| decide(shoot, "v1.120.0", TRIGGER_DEADLINE, at("15T20:00:00"));
        assert_eq!(decision(&failed), Some(Decision { switch: None, next: Some(at("16T06:00:00.100")) }));
        "v1.119.0".clone_into(&mut failed.status.gardener.version);
        assert_eq!(decision(&failed).and_then(|decision| decision.switch), Some(Switch::Hibernate));
        let mut deleted = shoot();
        deleted.metadata.deletion_timestamp = Some(Time::default());
        assert_eq!(decision(&deleted), None);
        for (start, location) in [("sometimes", None), ("0 20 * * *", Some("Mars/Base".to_owned()))] {
            let mut malformed = shoot();
            let schedule = &mut malformed.spec.hibernation.as_mut().expect("set").schedules[0];
            (schedule.start, schedule.location) = (Some(start.to_owned()), location);
            assert_eq!(decision(&malformed), None, "{start}");
        }
    }
}
