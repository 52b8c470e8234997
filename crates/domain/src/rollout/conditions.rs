// SPDX-License-Identifier: Apache-2.0
//! Status of a MachineDeployment: counts and conditions.

use api::machine::{MachineDeploymentCondition, MachineDeploymentStatus};
use apimachinery::meta::Time;

use super::deployment::Set;
use crate::release::Releases;

/// Releases in which a MachineSet reports failed Machines until all its Machines are ready: machine-controller-manager
/// before v0.60.0.
pub const FAILURES_ARE_TOLD_ON: Releases = Releases::until(127);

/// Change of MachineSets since the status was last written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Only counts changed.
    #[default]
    Counts,
    /// A MachineSet was created.
    Created(String),
    /// An existing MachineSet became the new one again.
    Found(String),
}

/// Inputs of a MachineDeployment's status.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// Value of `metadata.generation`.
    pub generation: i64,
    /// Value of `spec.replicas`.
    pub replicas: i32,
    /// Number of machines that may be unavailable.
    pub max_unavailable: i32,
    /// MachineSet of the present template.
    pub new: Option<&'a Set>,
    /// All MachineSets, including `new`.
    pub sets: &'a [&'a Set],
    /// Number of Machines in phase `Running`, of all sets.
    pub ready: i32,
    /// Number of Machines that failed and are preserved, of all sets.
    pub preserved_failed: i32,
    /// True if all machines are new, available and as many as desired.
    pub is_complete: bool,
    /// Change of MachineSets.
    pub progress: Progress,
}

impl Observed<'_> {
    /// Returns the status that follows `old`. Failed machines and the collision count are kept: other controllers own them.
    ///
    /// Source: pkg/controller/deployment_sync.go, deployment_progress.go of machine-controller-manager v0.58.0.
    pub fn status(&self, old: &MachineDeploymentStatus, now: Time) -> MachineDeploymentStatus {
        let machines = self.sets.iter().map(|set| set.machines).sum();
        let available: i32 = self.sets.iter().map(|set| set.available).sum();
        let wanted: i32 = self.sets.iter().map(|set| set.replicas).sum();
        let mut status = MachineDeploymentStatus {
            observed_generation: self.generation,
            replicas: machines,
            updated_replicas: self.new.map_or(0, |set| set.machines),
            ready_replicas: self.ready,
            available_replicas: available,
            unavailable_replicas: (wanted - available).max(0),
            preserved_failed_replicas: self.preserved_failed,
            ..old.clone()
        };
        self.set_progressing(&mut status, old, now);
        let least = (self.replicas - self.max_unavailable - self.preserved_failed).max(0);
        let availability = if available >= least {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        let (state, reason, message) = availability;
        set(&mut status.conditions, "Available", state, reason, message.to_owned(), now, false);
        status
    }

    fn set_progressing(&self, status: &mut MachineDeploymentStatus, old: &MachineDeploymentStatus, now: Time) {
        let conditions = &mut status.conditions;
        match &self.progress {
            Progress::Created(name) => {
                let message = format!("Created new machine set \"{name}\"");
                set(conditions, "Progressing", "True", "NewMachineSetCreated", message, now, true);
            }
            Progress::Found(name) => {
                let message = format!("Found new machine set \"{name}\"");
                set(conditions, "Progressing", "True", "FoundNewMachineSet", message, now, true);
            }
            Progress::Counts => {}
        }
        let Some(new) = self.new else { return };
        if self.is_complete {
            let message = format!("MachineSet \"{}\" has successfully progressed.", new.name);
            set(conditions, "Progressing", "True", "NewMachineSetAvailable", message, now, false);
            return;
        }
        let old_machines = |status: &MachineDeploymentStatus| status.replicas - status.updated_replicas;
        let counts = (status.updated_replicas, status.ready_replicas, status.available_replicas);
        let has_progressed = counts.0 > old.updated_replicas
            || counts.1 > old.ready_replicas
            || counts.2 > old.available_replicas
            || status.replicas - status.updated_replicas < old_machines(old);
        if has_progressed && self.progress == Progress::Counts {
            let message = format!("MachineSet \"{}\" is progressing.", new.name);
            set(&mut status.conditions, "Progressing", "True", "MachineSetUpdated", message, now, true);
        }
    }
}

/// Sets a condition. `refresh` renews the update time even if status and reason are unchanged; the transition time
/// changes only with the status.
pub(super) fn set(
    conditions: &mut Vec<MachineDeploymentCondition>,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Time,
    refresh: bool,
) {
    let new = MachineDeploymentCondition {
        r#type: type_.to_owned(),
        status: status.to_owned(),
        last_update_time: now,
        last_transition_time: now,
        reason: reason.to_owned(),
        message,
    };
    match conditions.iter_mut().find(|condition| condition.r#type == type_) {
        None => conditions.push(new),
        Some(present) => {
            let is_same =
                present.status == new.status && present.reason == new.reason && present.message == new.message;
            if is_same && !refresh {
                return;
            }
            let since = if present.status == new.status { present.last_transition_time } else { now };
            *present = MachineDeploymentCondition { last_transition_time: since, ..new };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(
        new: &Set,
        replicas: i32,
        is_complete: bool,
        progress: Progress,
        old: &MachineDeploymentStatus,
    ) -> MachineDeploymentStatus {
        let sets = [new];
        let observed = Observed {
            generation: 2,
            replicas,
            max_unavailable: 0,
            new: Some(new),
            sets: &sets,
            ready: new.available,
            preserved_failed: 0,
            is_complete,
            progress,
        };
        let now =
            Time::from_instant(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(i64::from(new.available)));
        observed.status(old, now)
    }

    fn text(status: &MachineDeploymentStatus) -> Vec<String> {
        let text = |condition: &MachineDeploymentCondition| {
            format!("{} {} {}: {}", condition.r#type, condition.status, condition.reason, condition.message)
        };
        status.conditions.iter().map(text).collect()
    }

    #[test]
    fn conditions_follow_a_first_roll_out() {
        let mut set = Set { name: "md-abcde".into(), replicas: 2, machines: 2, ..Set::default() };
        let created =
            observe(&set, 2, false, Progress::Created("md-abcde".into()), &MachineDeploymentStatus::default());
        assert_eq!(
            text(&created),
            [
                "Progressing True NewMachineSetCreated: Created new machine set \"md-abcde\"",
                "Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.",
            ]
        );
        set.available = 1;
        let one = observe(&set, 2, false, Progress::Counts, &created);
        assert_eq!(text(&one)[0], "Progressing True MachineSetUpdated: MachineSet \"md-abcde\" is progressing.");
        assert_eq!((one.unavailable_replicas, one.available_replicas), (1, 1));
        set.available = 2;
        let complete = observe(&set, 2, true, Progress::Counts, &one);
        assert_eq!(
            text(&complete),
            [
                "Progressing True NewMachineSetAvailable: MachineSet \"md-abcde\" has successfully progressed.",
                "Available True MinimumReplicasAvailable: Deployment has minimum availability.",
            ]
        );
        assert_eq!(observe(&set, 2, true, Progress::Counts, &complete), complete, "nothing new is no change");
    }
}
