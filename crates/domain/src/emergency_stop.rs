// SPDX-License-Identifier: Apache-2.0
//! Emergency stop of a Seed: an annotation that keeps gardenlet from reconciling the Shoots of the Seed.
//!
//! Source: pkg/gardenlet/controller/seed/care/health.go, pkg/gardenlet/controller/shoot/shoot/helper/infos.go @ v1.149.0,
//! docs/operations/seed_settings.md.

use api::constants::{annotation, condition};
use api::core::{Condition, Seed};
use apimachinery::meta::Time;

use crate::care::conditions::{initial, updated};
use crate::release::{Release, Releases};

/// Releases whose gardenlet obeys the annotation.
const OBEYED: Releases = Releases::since(126);
/// Releases whose condition is `True` while the Shoots are stopped; v1.126 sets it to `False`.
const CONDITION_IS_TRUE: Releases = Releases::since(127);

const MESSAGE: &str = "Reconciliations of Shoots managed by this Seed cluster are currently disabled by annotation.";

/// True if gardenlet of a release reconciles no Shoot of the Seed. Only the value `true` counts.
pub fn is_active(seed: &Seed, release: Release) -> bool {
    OBEYED.contain(release)
        && seed.metadata.annotation(annotation::SHOOT_EMERGENCY_STOP_RECONCILIATIONS) == Some("true")
}

/// Adds the condition to those of a Seed, or removes it. Releases that do not obey the annotation leave it as it is.
pub fn set_condition(conditions: &mut Vec<Condition>, is_active: bool, release: Release, now: Time) {
    const TYPE: &str = condition::SEED_EMERGENCY_STOP_SHOOT_RECONCILIATIONS;
    if !OBEYED.contain(release) {
        return;
    }
    let old = conditions.iter().position(|condition| condition.r#type == TYPE);
    if !is_active {
        old.map(|place| conditions.remove(place));
        return;
    }
    let status = if CONDITION_IS_TRUE.contain(release) { "True" } else { "False" };
    let set = |old: &Condition| updated(old, status, TYPE, MESSAGE, &[], now);
    match old.and_then(|place| conditions.get_mut(place)) {
        Some(condition) => *condition = set(condition),
        None => conditions.push(set(&initial(TYPE, now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Release, value of the annotation, and status of the condition (`-`: there is none).
    const STOPS: &str = "
125 true  -
126 true  False
127 true  True
149 true  True
149 false -
149 1     -
149 TRUE  -
149 -     -
";

    #[test]
    fn annotation_stops_shoots_since_its_release() {
        for row in STOPS.lines().filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let release = Release(words[0].parse().expect("a minor"));
            let mut seed = Seed::default();
            if words[1] != "-" {
                let key = "shoot.gardener.cloud/emergency-stop-reconciliations".to_owned();
                seed.metadata.annotations.insert(key, words[1].to_owned());
            }
            let is_stopped = is_active(&seed, release);
            set_condition(&mut seed.status.conditions, is_stopped, release, Time::default());
            let status = seed.status.conditions.first().map_or("-", |condition| &condition.status);
            assert_eq!((status, is_stopped), (words[2], words[2] != "-"), "row: {row}");
        }
    }

    #[test]
    fn condition_is_removed_with_the_annotation_and_others_stay() {
        let now = Time::default();
        let mut conditions = vec![initial("A", now)];
        set_condition(&mut conditions, true, Release(149), now);
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[1].reason, "EmergencyStopShootReconciliations");
        let since_before = conditions.clone();
        set_condition(&mut conditions, false, Release(125), now);
        assert_eq!(conditions, since_before, "an older gardenlet does not know the condition");
        set_condition(&mut conditions, false, Release(149), now);
        assert_eq!(conditions, [initial("A", now)]);
    }
}
