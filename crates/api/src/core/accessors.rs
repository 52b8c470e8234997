// SPDX-License-Identifier: Apache-2.0
//! Accessors of frequently read fields.

use super::{CloudProfile, Condition, ControllerInstallation, LastOperation, Seed, Shoot, ShootStatus, Worker};
use crate::constants;

/// Returns the condition of a type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == type_)
}

impl Condition {
    /// True if the status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == constants::condition::TRUE
    }

    /// True if the status is `False`.
    pub fn is_false(&self) -> bool {
        self.status == constants::condition::FALSE
    }

    /// True if the status is `Progressing`.
    pub fn is_progressing(&self) -> bool {
        self.status == constants::condition::PROGRESSING
    }
}

impl LastOperation {
    /// True if the state is `Succeeded`.
    pub fn is_succeeded(&self) -> bool {
        self.state == constants::operation_state::SUCCEEDED
    }

    /// True if the state is `Failed`.
    pub fn is_failed(&self) -> bool {
        self.state == constants::operation_state::FAILED
    }

    /// True if the state is `Processing`.
    pub fn is_processing(&self) -> bool {
        self.state == constants::operation_state::PROCESSING
    }
}

impl Shoot {
    /// True if the Shoot has no worker pools, only a control plane.
    pub fn is_workerless(&self) -> bool {
        self.spec.provider.workers.is_empty()
    }

    /// Returns a worker pool.
    pub fn worker(&self, name: &str) -> Option<&Worker> {
        self.spec.provider.workers.iter().find(|worker| worker.name == name)
    }

    /// Returns a condition of the status.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.conditions, type_)
    }

    /// Returns a constraint of the status.
    pub fn constraint(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.constraints, type_)
    }

    /// Kubernetes version of a pool: its own, or the control plane's.
    pub fn kubernetes_version_of<'a>(&'a self, worker: &'a Worker) -> &'a str {
        worker.kubernetes_version().unwrap_or(&self.spec.kubernetes.version)
    }
}

impl ShootStatus {
    /// State of the last operation; empty before the first.
    pub fn last_operation_state(&self) -> &str {
        self.last_operation.as_ref().map_or("", |operation| &operation.state)
    }
}

impl Worker {
    /// Kubernetes version of the pool; `None`: the control plane's.
    pub fn kubernetes_version(&self) -> Option<&str> {
        self.kubernetes.as_ref()?.version.as_deref()
    }

    /// True if nodes of the pool are updated in place, automatically or manually.
    pub fn updates_in_place(&self) -> bool {
        matches!(
            self.update_strategy.as_deref(),
            Some(constants::update_strategy::AUTO_IN_PLACE | constants::update_strategy::MANUAL_IN_PLACE)
        )
    }
}

impl Seed {
    /// Returns a condition of the status.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.conditions, type_)
    }

    /// True if the Seed has a taint with the key.
    pub fn has_taint(&self, key: &str) -> bool {
        self.spec.taints.iter().any(|taint| taint.key == key)
    }
}

impl ControllerInstallation {
    /// Returns a condition of the status.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.conditions, type_)
    }
}

impl CloudProfile {
    /// Returns the machine image of a name.
    pub fn machine_image(&self, name: &str) -> Option<&super::MachineImage> {
        self.spec.machine_images.iter().find(|image| image.name == name)
    }
}
