// SPDX-License-Identifier: Apache-2.0
//! Frozen MachineSets: a set with far more Machines than desired creates none until there are fewer.
//!
//! ```text
//! frozen      when Machines >= replicas + maxSurge + safetyUp
//! no longer   when Machines <= replicas + maxSurge + safetyUp - safetyDown, or with annotation unfreeze
//! ```
//!
//! Its MachineDeployment is frozen with it: it still rolls out and scales, but a Worker is not ready meanwhile. Machines
//! are counted whenever one is created, and once in every period.
//!
//! Source: pkg/controller/machine_safety.go of machine-controller-manager v0.58.0.

use api::constants::{annotation, label};
use api::machine::{MachineDeployment, MachineSet, MachineSetCondition};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::arguments::Arguments;
use super::conditions;
use super::limits::Limits;

/// Condition of MachineSets and MachineDeployments.
const FROZEN: &str = "Frozen";
const OVERSHOOTING: &str = "OverShootingReplicaCount";

/// Result of a count of Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The set stays as it is.
    Keep,
    /// Freeze the set: there are too many Machines. Contains the condition's message.
    Freeze(String),
    /// Unfreeze the set: there are few enough Machines, or the user requested it.
    Unfreeze,
}

/// Decides whether a MachineSet with the given number of Machines, in all phases, is frozen or unfrozen. `replicas` and
/// `limits` are those of its MachineDeployment.
/// `is_asked`: the MachineDeployment's annotation requests to unfreeze it.
pub fn judge(
    set: &MachineSet,
    machines: i32,
    replicas: i32,
    limits: &Limits,
    is_asked: bool,
    arguments: &Arguments,
) -> Verdict {
    let most = replicas.saturating_add(limits.surge(replicas)).saturating_add(arguments.safety_up);
    let is_frozen = is_frozen(set);
    if is_frozen && (is_asked || set.metadata.annotations.contains_key(annotation::UNFREEZE)) {
        return Verdict::Unfreeze;
    }
    match machines {
        _ if !is_frozen && machines >= most => Verdict::Freeze(format!(
            "The number of machines backing MachineSet: {} is {machines} >= {most} which is the Max-ScaleUp-Limit",
            set.metadata.name
        )),
        _ if is_frozen && machines <= most - arguments.safety_down => Verdict::Unfreeze,
        _ => Verdict::Keep,
    }
}

/// True if a MachineSet is frozen and creates no Machines.
pub fn is_frozen(set: &MachineSet) -> bool {
    set.metadata.label(label::FREEZE) == Some("True")
}

/// True if Machines are counted at this instant.
pub fn is_count_due(now: DateTime<Utc>, arguments: &Arguments) -> bool {
    next_count(now - TimeDelta::milliseconds(1), arguments) == now
}

/// Returns the next instant after `now` at which Machines are counted.
pub fn next_count(now: DateTime<Utc>, arguments: &Arguments) -> DateTime<Utc> {
    let period = arguments.overshooting_period.to_chrono().num_milliseconds().max(1);
    let past = now.timestamp_millis().rem_euclid(period);
    now + TimeDelta::milliseconds(period - past)
}

/// Freezes a MachineSet.
pub fn freeze_set(set: &mut MachineSet, message: &str, now: Time) {
    set.metadata.labels.insert(label::FREEZE.to_owned(), "True".to_owned());
    let conditions = &mut set.status.machine_set_condition;
    conditions.retain(|condition| condition.r#type != FROZEN);
    conditions.push(MachineSetCondition {
        r#type: FROZEN.to_owned(),
        status: "True".to_owned(),
        last_transition_time: now,
        reason: OVERSHOOTING.to_owned(),
        message: message.to_owned(),
    });
}

/// Unfreezes a MachineSet.
pub fn unfreeze_set(set: &mut MachineSet) {
    set.metadata.labels.remove(label::FREEZE);
    set.metadata.annotations.remove(annotation::UNFREEZE);
    set.status.machine_set_condition.retain(|condition| condition.r#type != FROZEN);
}

/// True if a MachineDeployment carries marks of a frozen MachineSet, or the annotation to unfreeze it.
pub fn is_deployment_marked(deployment: &MachineDeployment) -> bool {
    let metadata = &deployment.metadata;
    metadata.labels.contains_key(label::FREEZE)
        || metadata.annotations.contains_key(annotation::UNFREEZE)
        || deployment.status.conditions.iter().any(|condition| condition.r#type == FROZEN)
}

/// Marks the MachineDeployment of a frozen MachineSet.
pub fn freeze_deployment(deployment: &mut MachineDeployment, message: &str, now: Time) {
    deployment.metadata.labels.insert(label::FREEZE.to_owned(), "True".to_owned());
    let conditions = &mut deployment.status.conditions;
    conditions::set(conditions, FROZEN, "True", OVERSHOOTING, message.to_owned(), now, false);
}

/// Removes the marks from a MachineDeployment.
pub fn unfreeze_deployment(deployment: &mut MachineDeployment) {
    deployment.metadata.labels.remove(label::FREEZE);
    deployment.metadata.annotations.remove(annotation::UNFREEZE);
    deployment.status.conditions.retain(|condition| condition.r#type != FROZEN);
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::IntOrString;

    use super::*;
    use crate::profile::Profile;

    /// A MachineDeployment of 3 with surge 1: six Machines are too many, five are few enough.
    #[test]
    fn a_set_is_frozen_from_upper_to_lower_bound() {
        let arguments = Arguments::of(Profile::Upstream);
        let limits = Limits { max_surge: IntOrString::Int(1), max_unavailable: IntOrString::Int(0) };
        let judge = |set: &MachineSet, machines| super::judge(set, machines, 3, &limits, false, &arguments);
        let mut set = MachineSet::default();
        "md-1".clone_into(&mut set.metadata.name);
        for (machines, freezes) in [(0, false), (4, false), (5, false), (6, true), (9, true)] {
            assert_eq!(matches!(judge(&set, machines), Verdict::Freeze(_)), freezes, "{machines}");
        }
        let Verdict::Freeze(message) = judge(&set, 6) else { panic!("not frozen") };
        assert_eq!(message, "The number of machines backing MachineSet: md-1 is 6 >= 6 which is the Max-ScaleUp-Limit");
        freeze_set(&mut set, &message, Time::default());
        assert!(is_frozen(&set));
        for (machines, verdict) in
            [(6, Verdict::Keep), (7, Verdict::Keep), (5, Verdict::Unfreeze), (0, Verdict::Unfreeze)]
        {
            assert_eq!(judge(&set, machines), verdict, "{machines}");
        }
        set.metadata.annotations.insert(annotation::UNFREEZE.to_owned(), "True".to_owned());
        assert_eq!(judge(&set, 7), Verdict::Unfreeze, "the user asked for it");
        unfreeze_set(&mut set);
        assert_eq!((set.metadata.labels.len(), set.metadata.annotations.len()), (0, 0));
        assert!(set.status.machine_set_condition.is_empty());
    }

    #[test]
    fn machines_are_counted_at_full_minutes() {
        let arguments = Arguments::of(Profile::Documents);
        let at = |text: &str| -> DateTime<Utc> { text.parse().expect("a time") };
        let next = |now: &str| next_count(at(now), &arguments);
        assert_eq!(next("2025-06-01T10:00:00Z"), at("2025-06-01T10:01:00Z"));
        assert_eq!(next("2025-06-01T10:00:59.999Z"), at("2025-06-01T10:01:00Z"));
        assert!(is_count_due(at("2025-06-01T10:00:00Z"), &arguments));
        assert!(!is_count_due(at("2025-06-01T10:00:00.001Z"), &arguments));
    }

    #[test]
    fn a_machine_deployment_shows_that_a_set_is_frozen() {
        let mut deployment = MachineDeployment::default();
        assert!(!is_deployment_marked(&deployment));
        freeze_deployment(&mut deployment, "too many", Time::default());
        assert!(is_deployment_marked(&deployment));
        let condition = &deployment.status.conditions[0];
        assert_eq!((&*condition.r#type, &*condition.status, &*condition.reason), ("Frozen", "True", OVERSHOOTING));
        assert_eq!(deployment.metadata.label(label::FREEZE), Some("True"));
        unfreeze_deployment(&mut deployment);
        assert!(!is_deployment_marked(&deployment));
        assert!(deployment.status.conditions.is_empty() && deployment.metadata.labels.is_empty());
    }
}
