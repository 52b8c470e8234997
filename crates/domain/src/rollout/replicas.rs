// SPDX-License-Identifier: Apache-2.0
//! Number of machines of a MachineDeployment.

/// Inputs for the replicas of one MachineDeployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// True if the Shoot is to be hibernated.
    pub hibernated: bool,
    /// True if some pool of the Worker has a maximum above its minimum, so that the cluster-autoscaler owns the number.
    pub autoscaled: bool,
    /// Replicas of the existing MachineDeployment; `None`: it does not exist yet.
    pub existing: Option<i32>,
    /// Replicas in the state that is being restored.
    pub restored: Option<i32>,
    /// True if every existing MachineDeployment of the Worker has 0 replicas, as after hibernation.
    pub all_existing_are_zero: bool,
    /// Minimum number of machines.
    pub minimum: i32,
    /// Maximum number of machines.
    pub maximum: i32,
}

impl Situation {
    /// Returns the replicas; the first rule that applies decides.
    ///
    /// Source: extensions/pkg/controller/worker/genericactuator/actuator_reconcile.go @ v1.120.0.
    pub fn replicas(&self) -> i32 {
        let Self { minimum, maximum, .. } = *self;
        match self.existing {
            _ if self.hibernated => 0,
            _ if !self.autoscaled => minimum,
            None => self.restored.unwrap_or(minimum),
            Some(_) if self.all_existing_are_zero => minimum,
            Some(existing) if existing < minimum => minimum,
            Some(existing) if existing > maximum => maximum,
            Some(existing) => existing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_applies_decides() {
        let pool = Situation { autoscaled: true, existing: Some(4), minimum: 2, maximum: 5, ..Situation::default() };
        assert_eq!(Situation { hibernated: true, ..pool }.replicas(), 0);
        assert_eq!(Situation { autoscaled: false, ..pool }.replicas(), 2);
        assert_eq!(Situation { existing: None, ..pool }.replicas(), 2);
        assert_eq!(Situation { existing: None, restored: Some(4), ..pool }.replicas(), 4);
        assert_eq!(Situation { existing: Some(0), all_existing_are_zero: true, ..pool }.replicas(), 2);
        assert_eq!(Situation { existing: Some(1), ..pool }.replicas(), 2);
        assert_eq!(Situation { existing: Some(7), ..pool }.replicas(), 5);
        assert_eq!(pool.replicas(), 4, "the number belongs to the cluster-autoscaler");
    }
}
