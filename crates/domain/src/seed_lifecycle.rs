// SPDX-License-Identifier: Apache-2.0
//! Consequences of a gardenlet that does not renew its Lease: for its Seed, and then for the Seed's Shoots.
//!
//! ```text
//! last renewal ──monitorPeriod──▶ GardenletReady Unknown ──shootMonitorPeriod──▶ its Shoots' conditions Unknown
//! ```
//!
//! An Unknown status stays until gardenlet itself reports another one.
//!
//! Source: pkg/controllermanager/controller/seed/lifecycle @ v1.120.0.

use api::constants::condition;
use api::core::{Condition, Seed, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use crate::care::conditions::condition_types;
use crate::conditions::{get, initial, merge, updated};

/// Constraints of a Shoot that only its gardenlet judges.
const CONSTRAINTS: [&str; 2] = [condition::HIBERNATION_POSSIBLE, condition::MAINTENANCE_PRECONDITIONS_SATISFIED];

/// Periods after which a silent gardenlet has consequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// `controllers.seed.monitorPeriod`: time since the last renewal of the Lease.
    pub monitor: TimeDelta,
    /// `controllers.seed.shootMonitorPeriod`: additional time before the Shoots' conditions change.
    pub shoot_monitor: TimeDelta,
}

impl Default for Periods {
    /// Defaults of a landscape; in upstream's code `shootMonitorPeriod` is five times the other, 200 s.
    fn default() -> Self {
        Self { monitor: TimeDelta::seconds(40), shoot_monitor: TimeDelta::seconds(300) }
    }
}

/// Consequences for a Seed.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Instant before which the result does not change.
    Wait(DateTime<Utc>),
    /// The Seed gets this condition, and nothing changes for its Shoots before an instant.
    SeedUnknown(Condition, DateTime<Utc>),
    /// The Seed gets this condition, and the health of its Shoots becomes unknown.
    ShootsUnknown(Condition),
}

/// Judges a Seed whose gardenlet renewed its Lease last at `renewed`; `None`: never. A Seed without conditions is not
/// judged: its gardenlet has not reported yet. A period has passed from its last instant on.
pub fn judge(seed: &Seed, renewed: Option<DateTime<Utc>>, periods: Periods, now: Time) -> Option<Verdict> {
    if seed.status.conditions.is_empty() {
        return None;
    }
    if let Some(ends) = renewed.map(|renewed| renewed + periods.monitor).filter(|ends| *ends > now.0) {
        return Some(Verdict::Wait(ends));
    }
    let known = get(&seed.status.conditions, condition::SEED_GARDENLET_READY).cloned();
    let condition = updated(
        &known.unwrap_or_else(|| initial(condition::SEED_GARDENLET_READY, now)),
        "Unknown",
        "SeedStatusUnknown",
        "Gardenlet stopped posting seed status.",
        &[],
        now,
    );
    let ends = condition.last_transition_time.0 + periods.shoot_monitor;
    Some(if ends > now.0 { Verdict::SeedUnknown(condition, ends) } else { Verdict::ShootsUnknown(condition) })
}

/// Sets the conditions and constraints of a Shoot to `Unknown`, since its gardenlet is silent.
pub fn forget_health(shoot: &mut Shoot, now: Time) {
    let is_workerless = shoot.spec.provider.workers.is_empty();
    let unknown = |known: &[Condition], type_: &str| {
        let known = get(known, type_).cloned().unwrap_or_else(|| initial(type_, now));
        updated(&known, "Unknown", "StatusUnknown", "Gardenlet stopped sending heartbeats.", &[], now)
    };
    let status = &mut shoot.status;
    let conditions: Vec<_> =
        condition_types(is_workerless).into_iter().map(|type_| unknown(&status.conditions, type_)).collect();
    let constraints = CONSTRAINTS.map(|type_| unknown(&status.constraints, type_));
    merge(&mut status.conditions, conditions);
    merge(&mut status.constraints, constraints);
}

#[cfg(test)]
mod tests {
    use api::core::{Provider, Worker};

    use super::*;

    fn at(seconds: i64) -> Time {
        Time(DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range"))
    }

    fn condition(status: &str, since: i64) -> Condition {
        updated(&initial("GardenletReady", at(since)), status, "Some", "Thing.", &[], at(since))
    }

    /// The condition and the time since which it holds, the last renewal, now (all in seconds), and the verdict.
    const ROWS: &str = "
    True 0     renewed 100   now 100   => wait until 140
    True 0     renewed 100   now 139   => wait until 140
    True 0     renewed 100   now 140   => seed since 140, shoots at 440
    True 0     never         now 140   => seed since 140, shoots at 440
    Unknown 140 renewed 100  now 439   => seed since 140, shoots at 440
    Unknown 140 renewed 100  now 440   => shoots, seed since 140
    Unknown 140 renewed 430  now 440   => wait until 470
    False 0    renewed 100   now 500   => seed since 500, shoots at 800
    none       never         now 500   => nothing
    ";

    #[test]
    fn an_unresponsive_gardenlet_makes_seed_and_shoots_unknown() {
        for row in ROWS.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("a row has an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let number = |word: &str| -> i64 {
                let place = words.iter().position(|it| *it == word).expect("a word");
                words[place + 1].parse().expect("a number")
            };
            let mut seed = Seed::default();
            if words[0] != "none" {
                seed.status.conditions.push(condition(words[0], number(words[0])));
            }
            let renewed = words.contains(&"renewed").then(|| at(number("renewed")).0);
            let seconds = |instant: DateTime<Utc>| (instant - at(0).0).num_seconds();
            let since = |condition: &Condition| {
                assert_eq!((&*condition.status, &*condition.reason), ("Unknown", "SeedStatusUnknown"));
                assert_eq!(condition.message, "Gardenlet stopped posting seed status.");
                seconds(condition.last_transition_time.0)
            };
            let said = match judge(&seed, renewed, Periods::default(), at(number("now"))) {
                None => "nothing".to_owned(),
                Some(Verdict::Wait(until)) => format!("wait until {}", seconds(until)),
                Some(Verdict::SeedUnknown(condition, until)) => {
                    format!("seed since {}, shoots at {}", since(&condition), seconds(until))
                }
                Some(Verdict::ShootsUnknown(condition)) => format!("shoots, seed since {}", since(&condition)),
            };
            assert_eq!(said, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn shoots_of_an_unresponsive_gardenlet_are_unknown() {
        for (workers, expected) in [
            (
                vec![Worker::default()],
                "APIServerAvailable ControlPlaneHealthy ObservabilityComponentsHealthy EveryNodeReady \
                 SystemComponentsHealthy",
            ),
            (
                Vec::new(),
                "APIServerAvailable ControlPlaneHealthy ObservabilityComponentsHealthy SystemComponentsHealthy",
            ),
        ] {
            let mut shoot = Shoot::default();
            shoot.spec.provider = Provider { workers, ..Provider::default() };
            forget_health(&mut shoot, at(0));
            let types = |all: &[Condition]| all.iter().map(|it| it.r#type.clone()).collect::<Vec<_>>().join(" ");
            assert_eq!(types(&shoot.status.conditions), expected);
            assert_eq!(types(&shoot.status.constraints), "HibernationPossible MaintenancePreconditionsSatisfied");
            for condition in shoot.status.conditions.iter().chain(&shoot.status.constraints) {
                assert_eq!((&*condition.status, &*condition.reason), ("Unknown", "StatusUnknown"));
                assert_eq!(condition.message, "Gardenlet stopped sending heartbeats.");
            }
            let once = shoot.clone();
            forget_health(&mut shoot, at(50));
            assert_eq!(shoot, once, "nothing is new");
        }
    }
}
