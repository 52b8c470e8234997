// SPDX-License-Identifier: Apache-2.0
//! The life of a Machine, its VM and its Node, step by step.
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
//! A step is taken when its instant has come; each instant is that of a recorded transition plus a duration, so a
//! restarted controller goes on where the last one stopped.
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
    /// To be replaced.
    Failed,
    /// Being deleted.
    Terminating,
    /// The provider refuses to create the VM.
    CrashLoopBackOff,
    /// The node is updated in place.
    InPlaceUpdating,
    /// The update in place succeeded.
    InPlaceUpdateSuccessful,
    /// The update in place failed.
    InPlaceUpdateFailed,
    /// A phase of another version.
    Other,
}

impl Phase {
    /// The phase of the field's value.
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

    /// The field's value.
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

/// What the Machine did last, `status.lastOperation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// `Create`, `Update`, `HealthCheck`, `Delete`, …
    pub type_: String,
    /// `Processing`, `Failed`, `Successful`.
    pub state: String,
    /// The text that also drives deletion.
    pub description: String,
    /// Code of the provider's error.
    pub code: String,
}

impl Operation {
    /// An operation.
    pub fn new(type_: &str, state: &str, description: impl Into<String>) -> Self {
        Self { type_: type_.to_owned(), state: state.to_owned(), description: description.into(), code: String::new() }
    }
}

/// How a Machine is looked after: what its MachineDeployment says, else machine-controller-manager's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// From `Pending` to `Running`.
    pub creation_timeout: TimeDelta,
    /// How long it may be `Unknown`.
    pub health_timeout: TimeDelta,
    /// From its deletion until the drain is forced.
    pub drain_timeout: TimeDelta,
    /// How often a pod is asked to go.
    pub max_evict_retries: i32,
    /// It stays `Unknown` for ever.
    pub disable_health_timeout: bool,
    /// How long an update in place may take.
    pub in_place_update_timeout: TimeDelta,
    /// Duration of a preservation.
    pub preserve_timeout: TimeDelta,
}

impl Default for Settings {
    fn default() -> Self {
        Arguments::of(Profile::Upstream).settings(&MachineSpec::default())
    }
}

/// An answer of the provider that is none to be glad of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// Code, `ResourceExhausted`.
    pub code: String,
    /// What the provider says, for `status.lastOperation.description`.
    pub message: String,
}

/// Something that goes wrong on purpose, as a step meets it.
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

/// What would go wrong with a Machine now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Creating its VM.
    pub create_error: Option<ProviderError>,
    /// Registering its Node.
    pub never_joins: bool,
    /// Its Node's readiness.
    pub joins_not_ready: bool,
    /// Its critical components.
    pub critical_components_stuck: bool,
    /// Deleting its VM.
    pub vm_delete_error: Option<ProviderError>,
    /// Its Node is kept from being Ready.
    pub unhealthy: bool,
    /// What has gone wrong for good.
    pub lasting: Vec<Fault>,
}

/// What a step knows of the Machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Name, also of its Node.
    pub name: String,
    /// `status.currentStatus.phase`.
    pub phase: Phase,
    /// `creationTimestamp` of the Machine.
    pub created: DateTime<Utc>,
    /// `status.currentStatus.lastUpdateTime`
    pub phase_since: DateTime<Utc>,
    /// When its deletion was requested.
    pub deleting: Option<DateTime<Utc>>,
    /// It carries the label that forces its drain.
    pub force_deletion: bool,
    /// It carries the label that forces the drain before an update in place.
    pub force_drain: bool,
    /// Since when its Node is selected for an update in place.
    pub selected: Option<DateTime<Utc>>,
    /// The VM exists: `spec.providerID` is set and its deletion was not successful.
    pub has_vm: bool,
    /// Its Node was there once.
    pub has_joined: bool,
    /// `status.conditions`
    pub conditions: Vec<NodeCondition>,
    /// `status.lastOperation`
    pub operation: Operation,
    /// `status.lastOperation.errorCode`
    pub error_code: String,
    /// `status.lastOperation.lastUpdateTime`
    pub operation_since: DateTime<Utc>,
    /// How it is looked after.
    pub settings: Settings,
    /// Another Machine of the MachineDeployment is being replaced.
    pub others_are_replaced: bool,
    /// What would go wrong.
    pub trouble: Trouble,
    /// Preservation; `None` for a machine-controller-manager without it.
    pub preservation: Option<Preservation>,
}

impl Machine {
    /// A Machine that was just created.
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

    /// End of its preservation, if that is still to come.
    pub fn preserved_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.preservation.as_ref()?.expiry.filter(|expiry| *expiry > now)
    }
}

/// What a step knows of the Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// When the Node was registered.
    pub created: DateTime<Utc>,
    /// Since when it is Ready; `None` if it is not.
    pub ready_since: Option<DateTime<Utc>>,
    /// None of its conditions speaks against it.
    pub is_healthy: bool,
    /// Since when it is not Ready, or can write no file.
    pub lost_since: Option<DateTime<Utc>>,
    /// It carries the taint for missing critical components.
    pub critical_components_missing: bool,
    /// `spec.unschedulable`
    pub unschedulable: bool,
    /// True if the Node has condition `Terminating`.
    pub is_terminating: bool,
    /// Its update in place.
    pub update: Update,
}

/// Something that a step changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A fault hits: count it, and remember it if it lasts. If it hits no more, the step is asked for anew.
    Hit(Fault),
    /// Create the bootstrap token with which the kubelet of a new VM joins.
    CreateBootstrapToken,
    /// Delete it again.
    DeleteBootstrapToken,
    /// Record the VM: provider ID, label of the Node, rank.
    RecordVm,
    /// Write phase and last operation.
    SetStatus {
        /// New phase.
        phase: Phase,
        /// New operation.
        operation: Operation,
        /// A time-out of the phase is running.
        timeout_active: bool,
    },
    /// Write the last operation alone.
    SetOperation(Operation),
    /// The kubelet registers the Node, not ready and tainted.
    RegisterNode,
    /// The Node becomes Ready.
    MarkNodeReady,
    /// The critical components run: their taint goes.
    RemoveCriticalTaint,
    /// Say on the Node that it is going.
    MarkTerminating,
    /// Keep new pods from the Node.
    Cordon,
    /// Say on the Node how far its update in place is.
    SetUpdate(Reason),
    /// Change of the preservation of Machine and Node.
    Preserve(Change),
    /// Delete the Node object.
    DeleteNode,
    /// Let the Machine go.
    RemoveFinalizer,
}

/// What a step decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Do this now, then ask again.
    Act(Vec<Action>),
    /// Drain the Node: begin an attempt, or go on with it; [`after_drain`] says what follows.
    Drain {
        /// Pods are deleted without asking.
        forced: bool,
    },
    /// Something changes at this instant.
    Wait {
        /// When the wait ends.
        until: DateTime<Utc>,
        /// What for.
        waiting_on: WaitingOn,
    },
    /// Nothing changes before another Machine of the MachineDeployment does.
    Held,
    /// Nothing changes unless the world does.
    Rest,
}

/// The id of a Machine's bootstrap token: the first 6 hexadecimal digits of the last 5 bytes of its name.
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

/// The next step of a Machine.
///
/// `duration` gives the length of a stage of this Machine. Time-outs have passed when their end is reached, where
/// upstream waits for the next look. The end of a preservation is no wait of a step: see [`Machine::preserved_until`].
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

/// Of two steps the one that comes first; of two that are due, the first.
fn earliest(first: Step, second: Step) -> Step {
    match (&first, &second) {
        (Step::Act(_), _) | (_, Step::Rest) => first,
        (Step::Wait { until, .. }, Step::Wait { until: other, .. }) if until <= other => first,
        _ => second,
    }
}

const ONE_MISSING: WaitingOn = WaitingOn::MachineCreation { missing: 1 };
const ONE_TERMINATING: WaitingOn = WaitingOn::MachineDeletion { terminating: 1 };

/// A duration of whole seconds as Go prints it: `20m0s`.
fn go_duration(duration: TimeDelta) -> String {
    apimachinery::meta::Duration::from_seconds(duration.num_seconds()).to_string()
}

#[cfg(test)]
mod tests;
