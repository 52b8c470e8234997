// SPDX-License-Identifier: Apache-2.0
//! Life cycle of a Machine, its VM and its Node, step by step.
//!
//! ```text
//! ""──vmCreate──►Pending──boot──►Node registered──join──►Ready──criticalComponents──►Running
//!  └refused─►CrashLoopBackOff      └──────────creationTimeout──────────►Failed          │ ▲
//!                                                                         ▲    unwell ▼ │ well
//!                                                                         └healthTimeout─Unknown
//! Running──selected, drain──►InPlaceUpdating──►InPlaceUpdateSuccessful──well──►Running
//!                              └failed, inPlaceUpdateTimeout─►InPlaceUpdateFailed
//! Failed──preserved, drain──►Failed──well──►Running     └expiry─►Terminating
//! Terminating──drain──►VM deletion──vmDelete──►Node deletion──nodeDelete──►gone
//! ```
//!
//! A step is taken when its instant is reached; each instant is that of a recorded transition plus a duration, so a
//! restarted controller continues from the recorded state.
//! Source: pkg/util/provider/machinecontroller/machine.go, machine_util.go of machine-controller-manager v0.58.0.

mod creation;
mod deletion;
mod health;
mod in_place;
mod preservation;

use std::fmt::Write as _;

use api::kubernetes::core::NodeCondition;
use api::machine::MachineSpec;
use chrono::{DateTime, TimeDelta, Utc};

pub use self::deletion::{after_drain, deletion_requested, is_after_drain};
pub use self::health::is_healthy;
use super::WaitingOn;
use super::arguments::Arguments;
use super::in_place::{Reason, Update};
use super::preservation::{Change, Preservation};
use super::timing::Parameter;
use crate::profile::Profile;

/// Phase of a Machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Just created.
    #[default]
    New,
    /// The VM exists, its Node has not joined.
    Pending,
    /// The VM exists, and there is no cluster to join.
    Available,
    /// The Node is healthy.
    Running,
    /// The Node is unhealthy or missing.
    Unknown,
    /// The Machine waits to be replaced by its MachineSet.
    Failed,
    /// The Machine is being deleted.
    Terminating,
    /// The provider refuses to create the VM.
    CrashLoopBackOff,
    /// The node is updated in place.
    InPlaceUpdating,
    /// The update in place succeeded.
    InPlaceUpdateSuccessful,
    /// The update in place failed.
    InPlaceUpdateFailed,
    /// A phase unknown to this version.
    Other,
}

impl Phase {
    /// Returns the phase for a value of the field.
    pub fn of(value: &str) -> Self {
        match value {
            "" => Self::New,
            "Pending" => Self::Pending,
            "Available" => Self::Available,
            "Running" => Self::Running,
            "Unknown" => Self::Unknown,
            "Failed" => Self::Failed,
            "Terminating" => Self::Terminating,
            "CrashLoopBackOff" => Self::CrashLoopBackOff,
            "InPlaceUpdating" => Self::InPlaceUpdating,
            "InPlaceUpdateSuccessful" => Self::InPlaceUpdateSuccessful,
            "InPlaceUpdateFailed" => Self::InPlaceUpdateFailed,
            _ => Self::Other,
        }
    }

    /// Returns the value of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New | Self::Other => "",
            Self::Pending => "Pending",
            Self::Available => "Available",
            Self::Running => "Running",
            Self::Unknown => "Unknown",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::InPlaceUpdating => "InPlaceUpdating",
            Self::InPlaceUpdateSuccessful => "InPlaceUpdateSuccessful",
            Self::InPlaceUpdateFailed => "InPlaceUpdateFailed",
        }
    }
}

/// Last operation of the Machine, `status.lastOperation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// `Create`, `Update`, `HealthCheck`, `Delete`, …
    pub type_: String,
    /// `Processing`, `Failed`, `Successful`.
    pub state: String,
    /// Description; it also records the progress of a deletion.
    pub description: String,
    /// Error code of the provider; empty: none.
    pub code: String,
}

impl Operation {
    /// Creates an operation without an error code.
    pub fn new(type_: &str, state: &str, description: impl Into<String>) -> Self {
        Self { type_: type_.to_owned(), state: state.to_owned(), description: description.into(), code: String::new() }
    }
}

/// Settings of a Machine: values of its MachineDeployment, with machine-controller-manager's arguments as defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Maximum duration from `Pending` to `Running`.
    pub creation_timeout: TimeDelta,
    /// Maximum duration of phase `Unknown`.
    pub health_timeout: TimeDelta,
    /// Duration from the deletion until the drain is forced.
    pub drain_timeout: TimeDelta,
    /// Maximum number of evictions of a pod.
    pub max_evict_retries: i32,
    /// True if the Machine stays `Unknown` without limit.
    pub disable_health_timeout: bool,
    /// Maximum duration of an update in place.
    pub in_place_update_timeout: TimeDelta,
    /// Duration of a preservation.
    pub preserve_timeout: TimeDelta,
}

impl Default for Settings {
    fn default() -> Self {
        Arguments::of(Profile::Upstream).settings(&MachineSpec::default())
    }
}

/// Error returned by the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// Error code, such as `ResourceExhausted`.
    pub code: String,
    /// Error message, for `status.lastOperation.description`.
    pub message: String,
}

/// An injected fault, as it affects a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The provider refuses to create the VM.
    CreateError,
    /// The Node never registers.
    NeverJoins,
    /// The Node registers and never becomes Ready.
    JoinsNotReady,
    /// The critical components never run.
    CriticalComponentsStuck,
    /// The provider refuses to delete the VM.
    VmDeleteError,
}

/// Faults that would affect a Machine now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Error for the creation of its VM.
    pub create_error: Option<ProviderError>,
    /// True if its Node does not register.
    pub never_joins: bool,
    /// True if its Node does not become Ready.
    pub joins_not_ready: bool,
    /// True if its critical components do not run.
    pub critical_components_stuck: bool,
    /// Error for the deletion of its VM.
    pub vm_delete_error: Option<ProviderError>,
    /// True if its Node is kept from being Ready.
    pub unhealthy: bool,
    /// Permanent faults recorded for the Machine.
    pub lasting: Vec<Fault>,
}

/// Inputs of a step: the Machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name, also that of its Node.
    pub name: String,
    /// Value of `status.currentStatus.phase`.
    pub phase: Phase,
    /// `creationTimestamp` of the Machine.
    pub created: DateTime<Utc>,
    /// Value of `status.currentStatus.lastUpdateTime`.
    pub phase_since: DateTime<Utc>,
    /// Instant at which its deletion was requested.
    pub deleting: Option<DateTime<Utc>>,
    /// True if it carries the label that forces its drain.
    pub force_deletion: bool,
    /// True if it carries the label that forces the drain before an update in place.
    pub force_drain: bool,
    /// Instant at which its Node was selected for an update in place.
    pub selected: Option<DateTime<Utc>>,
    /// True if the VM exists: `spec.providerID` is set and its deletion was not successful.
    pub has_vm: bool,
    /// True if its Node has existed.
    pub has_joined: bool,
    /// Value of `status.conditions`.
    pub conditions: Vec<NodeCondition>,
    /// Value of `status.lastOperation`.
    pub operation: Operation,
    /// Value of `status.lastOperation.errorCode`.
    pub error_code: String,
    /// Value of `status.lastOperation.lastUpdateTime`.
    pub operation_since: DateTime<Utc>,
    /// Settings of the Machine.
    pub settings: Settings,
    /// True if another Machine of the MachineDeployment is being replaced.
    pub others_are_replaced: bool,
    /// Faults that would affect the Machine.
    pub trouble: Trouble,
    /// Preservation; `None` for a machine-controller-manager without it.
    pub preservation: Option<Preservation>,
}

impl Machine {
    /// Creates a Machine without VM and Node.
    pub fn new(name: &str, created: DateTime<Utc>) -> Self {
        Self {
            name: name.to_owned(),
            phase: Phase::New,
            created,
            phase_since: created,
            deleting: None,
            force_deletion: false,
            force_drain: false,
            selected: None,
            has_vm: false,
            has_joined: false,
            conditions: Vec::new(),
            operation: Operation::default(),
            error_code: String::new(),
            operation_since: created,
            settings: Settings::default(),
            others_are_replaced: false,
            trouble: Trouble::default(),
            preservation: None,
        }
    }

    /// Returns the end of its preservation, if it is in the future.
    pub fn preserved_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.preservation.as_ref()?.expiry.filter(|expiry| *expiry > now)
    }
}

/// Inputs of a step: the Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Instant at which the Node was registered.
    pub created: DateTime<Utc>,
    /// Instant at which it became Ready; `None`: not Ready.
    pub ready_since: Option<DateTime<Utc>>,
    /// True if none of its conditions makes the Machine unhealthy.
    pub is_healthy: bool,
    /// Instant since which it is not Ready, or its file system is read-only.
    pub lost_since: Option<DateTime<Utc>>,
    /// True if it carries the taint for missing critical components.
    pub critical_components_missing: bool,
    /// Value of `spec.unschedulable`.
    pub unschedulable: bool,
    /// True if it has condition `Terminating`.
    pub is_terminating: bool,
    /// State of its update in place.
    pub update: Update,
}

/// A change made by a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Count a hit of a fault, and record it if it is permanent. If the fault is exhausted, the step is computed again.
    Hit(Fault),
    /// Create the bootstrap token with which the kubelet of a new VM joins.
    CreateBootstrapToken,
    /// Delete the bootstrap token.
    DeleteBootstrapToken,
    /// Record the VM: provider ID, label of the Node, priority.
    RecordVm,
    /// Write phase and last operation.
    SetStatus {
        /// New phase.
        phase: Phase,
        /// New operation.
        operation: Operation,
        /// True if a time-out of the phase is running.
        timeout_active: bool,
    },
    /// Write the last operation only.
    SetOperation(Operation),
    /// Register the Node for its kubelet, not ready and tainted.
    RegisterNode,
    /// Set the Node Ready.
    MarkNodeReady,
    /// Remove the taint for missing critical components.
    RemoveCriticalTaint,
    /// Set condition `Terminating` on the Node.
    MarkTerminating,
    /// Make the Node unschedulable.
    Cordon,
    /// Record the progress of the update in place on the Node.
    SetUpdate(Reason),
    /// Change the preservation of Machine and Node.
    Preserve(Change),
    /// Delete the Node object.
    DeleteNode,
    /// Remove the finalizer of the Machine.
    RemoveFinalizer,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Apply these changes now, then compute the next step.
    Act(Vec<Action>),
    /// Drain the Node: begin or continue an attempt; [`after_drain`] returns the following step.
    Drain {
        /// True if pods are deleted without eviction.
        forced: bool,
    },
    /// Wait for an instant.
    Wait {
        /// End of the wait.
        until: DateTime<Utc>,
        /// Reason of the wait.
        waiting_on: WaitingOn,
    },
    /// The Machine waits for a change of another Machine of the MachineDeployment.
    Held,
    /// The Machine waits for an external change.
    Rest,
}

/// Returns the id of a Machine's bootstrap token: the first 6 hexadecimal digits of the last 5 bytes of its name.
///
/// Its Secret is `bootstrap-token-<id>` in `kube-system` of the shoot.
pub fn bootstrap_token_id(machine: &str) -> String {
    let bytes = machine.as_bytes();
    let mut id = String::with_capacity(10);
    for byte in &bytes[bytes.len().saturating_sub(5)..] {
        let _ = write!(id, "{byte:02x}");
    }
    id.truncate(6);
    id
}

/// Returns the next step of a Machine.
///
/// `duration` returns the duration of a stage of this Machine. A time-out passes exactly at its end; upstream waits for
/// the next poll. The end of a preservation is not a wait of a step: see [`Machine::preserved_until`].
pub fn step(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    if machine.deleting.is_some() {
        return deletion::delete(machine, node, duration, now);
    }
    let step = match machine.phase {
        Phase::New | Phase::CrashLoopBackOff => creation::create(machine, duration, now),
        Phase::Pending => creation::join(machine, node, duration, now),
        Phase::Running => {
            in_place::prepare(machine, node, now).unwrap_or_else(|| health::running(machine, node, duration, now))
        }
        Phase::Unknown => in_place::prepare(machine, node, now).unwrap_or_else(|| health::unknown(machine, node, now)),
        Phase::InPlaceUpdating | Phase::InPlaceUpdateFailed => in_place::finish(machine, node, now),
        Phase::InPlaceUpdateSuccessful => in_place::rejoin(machine, node),
        Phase::Failed => health::failed(machine, node),
        _ => Step::Rest,
    };
    match step {
        Step::Act(_) | Step::Drain { .. } => step,
        step => preservation::step(machine, node, now).unwrap_or(step),
    }
}

fn at(until: DateTime<Utc>, now: DateTime<Utc>, waiting_on: WaitingOn, then: Vec<Action>) -> Step {
    if now < until { Step::Wait { until, waiting_on } } else { Step::Act(then) }
}

/// Returns the earlier of two steps; of two steps that are due, the first.
fn earliest(first: Step, second: Step) -> Step {
    match (&first, &second) {
        (Step::Act(_), _) | (_, Step::Rest) => first,
        (Step::Wait { until, .. }, Step::Wait { until: other, .. }) if until <= other => first,
        _ => second,
    }
}

const ONE_MISSING: WaitingOn = WaitingOn::MachineCreation { missing: 1 };
const ONE_TERMINATING: WaitingOn = WaitingOn::MachineDeletion { terminating: 1 };

/// Formats a duration of whole seconds as Go prints it: `20m0s`.
fn go_duration(duration: TimeDelta) -> String {
    apimachinery::meta::Duration::from_seconds(duration.num_seconds()).to_string()
}

#[cfg(test)]
mod tests;
