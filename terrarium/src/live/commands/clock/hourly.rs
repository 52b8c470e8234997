// SPDX-License-Identifier: Apache-2.0
//! Counts the reconciliations of Shoots that gardenlets start every hour, and suggests to confine them to maintenance time
//! windows.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::simulate::{Line, What};

/// Maximum landscape time between two reconciliations of a Shoot for which the later one counts as hourly.
const HOURLY: TimeDelta = TimeDelta::minutes(90);
/// Number of hourly reconciliations from which on there is advice.
const ENOUGH: usize = 24;

/// Completed operations of Shoots.
#[derive(Clone, Debug, Default)]
pub(super) struct Hourly {
    /// Instant of the last reconciliation of each Shoot.
    last: BTreeMap<String, DateTime<Utc>>,
    /// Number of hourly reconciliations, and of all operations.
    count: usize,
    operations: usize,
    is_told: bool,
}

impl Hourly {
    /// Counts the lines of one instant.
    pub(super) fn add(&mut self, happened: &[Line]) {
        for Line { time, object, what, .. } in happened {
            match what {
                What::Gone => drop(self.last.remove(object)),
                What::Operation { kind, state } if state == "Succeeded" => {
                    self.operations += 1;
                    if kind == "Reconcile" {
                        let last = self.last.insert(object.clone(), *time);
                        self.count += usize::from(last.is_some_and(|last| *time - last <= HOURLY));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the advice, once, if most operations are hourly reconciliations; `command`: the command that changes this.
    pub(super) fn advice(&mut self, command: &str) -> Option<String> {
        let Self { count, operations, .. } = *self;
        if self.is_told || count < ENOUGH || count * 2 <= operations {
            return None;
        }
        self.is_told = true;
        Some(format!(
            "hint: hourly reconciliations are most of the work ({count} of {operations} operations so far); `{command}` \
             confines them to maintenance time windows"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(minutes: i64, shoot: &str, what: What) -> Line {
        let time = DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let object = format!("Shoot p/{shoot}");
        Line { time, object, subject: "s".to_owned(), text: String::new(), is_quote: false, what }
    }

    fn operation(kind: &str, state: &str) -> What {
        What::Operation { kind: kind.to_owned(), state: state.to_owned() }
    }

    #[test]
    fn advice_needs_many_hourly_reconciliations() {
        let reconciled = || operation("Reconcile", "Succeeded");
        let every = |minutes: i64, count: i64, shoots: &[&str]| {
            let lines = (0..count).flat_map(|turn| shoots.iter().map(move |shoot| (turn, *shoot)));
            lines.map(|(turn, shoot)| line(turn * minutes, shoot, reconciled())).collect::<Vec<_>>()
        };
        let repeated =
            |what: What, count: i64| (0..count).map(|turn| line(turn, "x", what.clone())).collect::<Vec<_>>();
        for (lines, expected, why) in [
            (every(60, 24, &["a"]), None, "the first one has none before it"),
            (every(60, 25, &["a"]), Some("24 of 25 operations"), "a day of one Shoot"),
            (every(60, 9, &["a", "b", "c"]), Some("24 of 27 operations"), "each Shoot has its own rhythm"),
            (every(91, 100, &["a"]), None, "another period"),
            (every(24 * 60, 100, &["a"]), None, "windows"),
            (
                [every(60, 25, &["a"]), repeated(operation("Create", "Succeeded"), 23)].concat(),
                None,
                "half of the work",
            ),
            (repeated(operation("Reconcile", "Error"), 100), None, "retries"),
            (repeated(What::NothingToDo, 100), None, "no operations"),
        ] {
            let mut counted = Hourly::default();
            counted.add(&lines);
            let advice = counted.advice("terrarium config");
            match expected {
                None => assert_eq!(advice, None, "{why}"),
                Some(expected) => {
                    assert!(advice.is_some_and(|advice| advice.contains(expected)), "{why}");
                    assert_eq!(counted.advice("terrarium config"), None, "once");
                }
            }
        }
    }

    #[test]
    fn a_deleted_shoot_is_forgotten() {
        let mut counted = Hourly::default();
        counted.add(&[line(0, "a", operation("Reconcile", "Succeeded")), line(1, "a", What::Gone)]);
        assert!(counted.last.is_empty());
    }
}
