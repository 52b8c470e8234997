// SPDX-License-Identifier: Apache-2.0
//! Reports of a run to users: `status.lastMaintenance` and Events.

use api::constants::operation_state;
use api::core::{LastMaintenance, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};

use super::{Outcome, Plan, RotationOutcome};
use crate::release::Releases;

/// Operations are parts of the description like the others, and trailing blanks are trimmed.
const OPERATIONS_ARE_PIECES: Releases = Releases::since(147);

/// Type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Event of type `Normal`.
    Normal,
    /// Event of type `Warning`.
    Warning,
}

/// An Event about the Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Type of the Event.
    pub severity: Severity,
    /// Reason in one word.
    pub reason: &'static str,
    /// Message of the Event, as upstream's.
    pub message: String,
}

/// Reason of Events about Kubernetes versions.
pub const KUBERNETES_VERSION_MAINTENANCE: &str = "KubernetesVersionMaintenance";
/// Reason of Events about machine images.
pub const MACHINE_IMAGE_VERSION_MAINTENANCE: &str = "MachineImageVersionMaintenance";
/// Description of a run whose spec was refused.
pub const REFUSED: &str = "Maintenance failed";
/// Reason of the Event about a Shoot that could not be written.
pub const MAINTENANCE_FAILED: &str = "MaintenanceFailed";

impl Plan {
    /// True if the run has results to report to users.
    pub fn has_findings(&self) -> bool {
        self.control_plane.is_some()
            || !self.pool_versions.is_empty()
            || !self.pool_images.is_empty()
            || !self.rotations.is_empty()
            || !self.operations.is_empty()
    }

    /// Returns `status.lastMaintenance` after a dry run that was accepted.
    pub fn processing(&self, now: DateTime<Utc>) -> LastMaintenance {
        let failure_reason = self.failure_reason();
        LastMaintenance {
            description: self.description(),
            triggered_time: Time::from_instant(now),
            state: if failure_reason.is_some() { operation_state::FAILED } else { operation_state::PROCESSING }
                .to_owned(),
            failure_reason,
        }
    }

    /// Returns `status.lastMaintenance` after a dry run that was refused with a message.
    pub fn refused(&self, message: &str, now: DateTime<Utc>) -> LastMaintenance {
        LastMaintenance {
            description: REFUSED.to_owned(),
            triggered_time: Time::from_instant(now),
            state: operation_state::FAILED.to_owned(),
            failure_reason: Some(refused_reason(message)),
        }
    }

    /// Returns each outcome with its subject, in the order of the texts: control plane, versions of pools, their images.
    fn outcomes(&self) -> impl Iterator<Item = (Subject<'_>, &Outcome)> {
        self.control_plane
            .iter()
            .map(|outcome| (Subject::ControlPlane, outcome))
            .chain(self.pool_versions.iter().map(|entry| (Subject::PoolVersion(&entry.pool), &entry.outcome)))
            .chain(self.pool_images.iter().map(|entry| (Subject::PoolImage(&entry.pool), &entry.outcome)))
    }

    fn description(&self) -> String {
        let rotations = self.rotations.iter().map(describe_rotation);
        let mut pieces: Vec<String> =
            self.outcomes().map(|(subject, outcome)| subject.describe(outcome)).chain(rotations).collect();
        let failed = self.outcomes().filter(|(_, outcome)| outcome.result.is_err()).count()
            + self.rotations.iter().filter(|rotation| !rotation.is_started).count();
        let prefix =
            if failed == 0 { "All".to_owned() } else { format!("({}/{})", pieces.len() - failed, pieces.len()) };
        let told = |pieces: &[String]| format!("{prefix} maintenance operations successful. {}", pieces.join(", "));
        if OPERATIONS_ARE_PIECES.contain(self.release) {
            pieces.extend(self.operations.iter().cloned());
            return told(&pieces).trim_end_matches(' ').to_owned();
        }
        let mut description = told(&pieces);
        // With operations only, this leaves ". , ", as these releases do.
        for operation in &self.operations {
            description.push_str(", ");
            description.push_str(operation);
        }
        description
    }

    fn failure_reason(&self) -> Option<String> {
        let pieces: Vec<String> = self
            .outcomes()
            .filter(|(_, outcome)| outcome.result.is_err())
            .map(|(subject, outcome)| subject.explain_failure(outcome))
            .chain(self.rotations.iter().filter(|rotation| !rotation.is_started).map(|rotation| {
                format!(
                    "Credentials {:?}: Automatic rotation failure due to: {}",
                    rotation.operation, rotation.description
                )
            }))
            .collect();
        (!pieces.is_empty()).then(|| pieces.join(", "))
    }

    /// Returns the Events of a run whose object was written, in order. There are none about credentials.
    pub fn events(&self) -> Vec<Event> {
        self.outcomes().map(|(subject, outcome)| subject.event(outcome)).collect()
    }
}

fn describe_rotation(rotation: &RotationOutcome) -> String {
    let RotationOutcome { operation, is_started, description, reason } = rotation;
    if *is_started {
        format!("Credentials {operation:?}: {description}. Reason: {reason}")
    } else {
        format!("Credentials {operation:?}: Automatic rotation failed. Reason for update: {reason}")
    }
}

/// Returns the failure reason of a run whose spec was refused with a message.
pub fn refused_reason(message: &str) -> String {
    format!("Updates to the Shoot failed to be applied: {message}")
}

/// Returns `status.lastMaintenance` after the object was written, if it changes then.
///
/// A run in processing has succeeded. A run without findings removes an earlier failure; a failure of this run is kept.
pub fn finished(shoot: &Shoot, has_findings: bool) -> Option<LastMaintenance> {
    let last = shoot.status.last_maintenance.as_ref()?;
    let succeeded = LastMaintenance { state: operation_state::SUCCEEDED.to_owned(), ..last.clone() };
    match last.state.as_str() {
        operation_state::FAILED if !has_findings => {
            Some(LastMaintenance { description: "Maintenance succeeded".to_owned(), failure_reason: None, ..succeeded })
        }
        operation_state::PROCESSING => Some(succeeded),
        _ => None,
    }
}

/// Subject of an outcome.
#[derive(Clone, Copy)]
enum Subject<'a> {
    ControlPlane,
    PoolVersion(&'a str),
    PoolImage(&'a str),
}

impl Subject<'_> {
    fn name(self) -> String {
        match self {
            Self::ControlPlane => "Control Plane".to_owned(),
            Self::PoolVersion(pool) | Self::PoolImage(pool) => format!("Worker pool {pool:?}"),
        }
    }

    fn describe(self, outcome: &Outcome) -> String {
        let (name, reason) = (self.name(), &outcome.reason);
        if outcome.result.is_ok() {
            return format!("{name}: {}. Reason: {reason}", outcome.description);
        }
        let what = match self {
            Self::ControlPlane => "Kubernetes version update",
            Self::PoolVersion(_) => "Kubernetes version maintenance",
            Self::PoolImage(_) => "machine image version maintenance",
        };
        format!("{name}: {what} failed. Reason for update: {reason}")
    }

    fn explain_failure(self, outcome: &Outcome) -> String {
        let (name, description) = (self.name(), &outcome.description);
        match self {
            Self::ControlPlane | Self::PoolVersion(_) => {
                format!("{name}: Kubernetes maintenance failure due to: {description}")
            }
            Self::PoolImage(_) => format!("{name}: {description}"),
        }
    }

    fn event(self, outcome: &Outcome) -> Event {
        let (name, Outcome { reason, description, .. }) = (self.name(), outcome);
        let (event_reason, what) = match self {
            Self::ControlPlane | Self::PoolVersion(_) => (KUBERNETES_VERSION_MAINTENANCE, "Kubernetes"),
            Self::PoolImage(_) => (MACHINE_IMAGE_VERSION_MAINTENANCE, "Machine image"),
        };
        let (severity, message) = if outcome.result.is_ok() {
            (Severity::Normal, format!("{name}: {description}. Reason: {reason}."))
        } else {
            let text =
                format!("{name}: {what} version maintenance failed. Reason for update: {reason}. Error: {description}");
            (Severity::Warning, text)
        };
        Event { severity, reason: event_reason, message }
    }
}
