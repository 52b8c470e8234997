// SPDX-License-Identifier: Apache-2.0
//! Constraint `AutomaticCredentialsRotationPossible`: an overdue rotation of the key that encrypts etcd requires a
//! maintenance time window in which the Shoot is awake.
//!
//! Source: pkg/gardenlet/controller/shoot/care/{constraints,hibernation}.go @ v1.149.0.
//! Source: pkg/gardenlet/controller/shoot/care/{constraints,hibernation}.go @ v1.149.0.

use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};

use super::conditions::Finding;
use crate::hibernation;
use crate::maintenance::etcd_encryption_key_is_due_after;
use crate::release::Releases;
use crate::versions::Moment;
use crate::window::nominal_window;

/// gardenlet checks the constraint.
const JUDGED: Releases = Releases::since(149);

/// Returns the finding of the constraint, and the instant at which time alone may change it; `None` if the release does
/// not have it.
pub fn automatic_rotation(shoot: &Shoot, at: Moment) -> Option<(Finding, Option<DateTime<Utc>>)> {
    if !JUDGED.contain(at.release) {
        return None;
    }
    let not_required = |text: &str| Finding::passed("AutomaticCredentialsRotationNotRequired", text);
    let Some(due_after) = etcd_encryption_key_is_due_after(shoot) else {
        return Some((not_required("Automatic ETCD encryption key rotation is not enabled."), None));
    };
    if at.now <= due_after {
        let finding = not_required("The ETCD encryption key rotation period has not yet passed.");
        return Some((finding, Some(due_after + TimeDelta::nanoseconds(1))));
    }
    let finding = if is_hibernated_in_next_window(shoot, at.now) {
        let text = "The ETCD encryption key rotation is overdue, but the next maintenance window falls within a hibernation \
                    interval. The ETCD encryption key auto-rotation cannot be triggered automatically. Please adjust the \
                    maintenance window or the hibernation schedule so that maintenance can run while the cluster is awake.";
        Finding::failed("MaintenanceWindowDuringHibernation", text.to_owned())
    } else {
        let text = "The ETCD encryption key rotation is overdue but the next maintenance window is not within a hibernation interval.";
        Finding::passed("AutomaticCredentialsRotationPossible", text)
    };
    // From then on, another window or another activation is the next one.
    let [hibernation, wake_up] = hibernation::next_activations(shoot, at.now).unwrap_or_default();
    let window = nominal_window(shoot.spec.maintenance.as_ref()).map(|window| next_window(window, at.now).0);
    let next = [hibernation, wake_up, window].into_iter().flatten().min();
    Some((finding, next.map(|next| next + TimeDelta::nanoseconds(1))))
}

/// Returns begin and end of the window that begins after an instant.
fn next_window(window: crate::window::Window, now: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let day = TimeDelta::days(1);
    let (mut begin, mut end) = (window.begin_on_day_of(now), window.end_on_day_of(now));
    if begin <= now {
        begin += day;
    }
    if end <= begin {
        end += day;
    }
    (begin, end)
}

/// True if a Shoot may be hibernated in its next maintenance time window. Only the next activations count.
fn is_hibernated_in_next_window(shoot: &Shoot, now: DateTime<Utc>) -> bool {
    let has_window = shoot.spec.maintenance.as_ref().is_some_and(|maintenance| maintenance.time_window.is_some());
    let window = nominal_window(shoot.spec.maintenance.as_ref()).filter(|_| has_window);
    let (Some(window), Some([hibernation, wake_up])) = (window, hibernation::next_activations(shoot, now)) else {
        return false;
    };
    let (begin, end) = next_window(window, now);
    if shoot.status.hibernated {
        return match wake_up {
            Some(wake_up) if wake_up <= begin => {
                hibernation.is_some_and(|hibernation| hibernation > wake_up && hibernation < end)
            }
            _ => true,
        };
    }
    match hibernation {
        Some(hibernation) if hibernation <= end => {
            wake_up.is_none_or(|wake_up| wake_up < hibernation || wake_up > begin)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use api::core::{Hibernation, HibernationSchedule, MaintenanceTimeWindow};
    use apimachinery::meta::Time;

    use super::*;
    use crate::release::Release;

    fn instant(text: &str) -> DateTime<Utc> {
        format!("2026-06-{text}Z").parse().expect("RFC 3339")
    }

    /// Returns a Shoot of June 1st whose key is rotated every four weeks: window, hours of hibernation and wake-up, or
    /// `-`, and whether it is hibernated.
    fn shoot(window: (&str, &str), schedule: (&str, &str), is_hibernated: bool) -> Shoot {
        let mut shoot = Shoot::default();
        shoot.metadata.creation_timestamp = Time(instant("01T00:00:00"));
        let rotation = serde_json::json!({ "credentials": { "etcdEncryptionKey": { "rotationPeriod": "168h" } } });
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        maintenance.auto_rotation = serde_json::from_value(rotation).expect("a rotation");
        maintenance.time_window =
            Some(MaintenanceTimeWindow { begin: format!("{}+0000", window.0), end: format!("{}+0000", window.1) });
        let hour = |hour: &str| (hour != "-").then(|| format!("0 {hour} * * *"));
        let schedule = HibernationSchedule { start: hour(schedule.0), end: hour(schedule.1), location: None };
        if schedule.start.is_some() || schedule.end.is_some() {
            shoot.spec.hibernation = Some(Hibernation { enabled: None, schedules: vec![schedule] });
        }
        shoot.status.hibernated = is_hibernated;
        shoot
    }

    /// Window, hibernation and wake-up by hour, hibernated, time of June 20th, and whether the constraint holds.
    const ROWS: &str = "
220000 230000 | 20 6 | awake  | 12:00:00 | no
220000 230000 | 20 6 | asleep | 21:00:00 | no
220000 230000 | 20 6 | asleep | 03:00:00 | no
100000 110000 | 20 6 | asleep | 03:00:00 | yes
100000 110000 | 20 6 | awake  | 07:00:00 | yes
100000 110000 | 20 6 | awake  | 12:00:00 | yes
193000 203000 | 20 6 | awake  | 12:00:00 | no
190000 200000 | 20 6 | awake  | 12:00:00 | no
190000 195959 | 20 6 | awake  | 12:00:00 | yes
060000 070000 | 20 6 | asleep | 03:00:00 | yes
055959 070000 | 20 6 | asleep | 03:00:00 | no
220000 230000 | 20 - | awake  | 12:00:00 | no
220000 230000 | - 6  | asleep | 03:00:00 | yes
220000 230000 | - -  | asleep | 03:00:00 | no
220000 230000 | - -  | awake  | 03:00:00 | yes
233000 003000 | 20 6 | awake  | 12:00:00 | no
";

    #[test]
    fn an_overdue_rotation_needs_a_window_without_hibernation() {
        for row in ROWS.lines().filter(|row| !row.is_empty()) {
            let columns: Vec<&str> = row.split('|').map(str::trim).collect();
            let pair =
                |text: &'static str| text.split_once(' ').map(|(one, other)| (one, other.trim())).expect("two words");
            let columns: Vec<&'static str> = columns;
            let shoot = shoot(pair(columns[0]), pair(columns[1]), columns[2] == "asleep");
            let now = instant(&format!("20T{}", columns[3]));
            let (finding, changes_at) =
                automatic_rotation(&shoot, Moment::new(now, Release(149))).expect("it is judged");
            assert_eq!(finding.status == "True", columns[4] == "yes", "{row}: {}", finding.message);
            assert!(changes_at.is_some_and(|at| at > now), "{row}: {changes_at:?}");
        }
    }

    #[test]
    fn a_rotation_that_is_not_due_needs_nothing() {
        let given = shoot(("220000", "230000"), ("20", "6"), false);
        let judged = |shoot: &Shoot, time: &str, release| {
            automatic_rotation(shoot, Moment::new(instant(time), Release(release)))
                .map(|(finding, changes_at)| (finding.status, finding.reason, changes_at))
        };
        assert_eq!(judged(&given, "20T12:00:00", 148), None);
        let due = instant("08T00:00:00") + TimeDelta::nanoseconds(1);
        let not_required = |at| Some(("True", "AutomaticCredentialsRotationNotRequired".into(), at));
        assert_eq!(judged(&given, "08T00:00:00", 149), not_required(Some(due)));
        assert_eq!(judged(&given, "08T00:00:01", 149).map(|it| it.0), Some("False"));
        let mut unconfigured = given;
        unconfigured.spec.maintenance.get_or_insert_default().auto_rotation = None;
        assert_eq!(judged(&unconfigured, "20T12:00:00", 149), not_required(None));
    }
}
