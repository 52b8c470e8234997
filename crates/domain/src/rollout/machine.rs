// SPDX-License-Identifier: Apache-2.0
//! The life of a Machine, its VM and its Node, step by step.
//!
//! ```text
//! ""──vmCreate──►Pending──boot──►Node registered──join──►Ready──criticalComponents──►Running
//! Terminating──drain──►VM deletion──vmDelete──►Node deletion──nodeDelete──►gone
//! ```
//!
//! A step is taken when its instant has come; each instant is that of a recorded transition plus a duration, so a
//! restarted controller goes on where the last one stopped.
//! Source: pkg/util/provider/machinecontroller/machine.go, machine_util.go of machine-controller-manager v0.58.0.

use std::fmt::Write as _;

use chrono::{DateTime, TimeDelta, Utc};

use super::timing::Parameter;
use super::{WaitingOn, node};

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
}

impl Operation {
    /// An operation.
    pub fn new(type_: &str, state: &str, description: impl Into<String>) -> Self {
        Self { type_: type_.to_owned(), state: state.to_owned(), description: description.into() }
    }
}

/// What a step knows of the Machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name, also of its Node.
    pub name: String,
    /// Phase.
    pub phase: Phase,
    /// Creation.
    pub created: DateTime<Utc>,
    /// `status.currentStatus.lastUpdateTime`
    pub phase_since: DateTime<Utc>,
    /// Deletion was requested.
    pub deleting: bool,
    /// The VM exists: `spec.providerID` is set and its deletion was not successful.
    pub has_vm: bool,
    /// `status.lastOperation`
    pub operation: Operation,
    /// `status.lastOperation.lastUpdateTime`
    pub operation_since: DateTime<Utc>,
}

/// What a step knows of the Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Registration.
    pub created: DateTime<Utc>,
    /// Since when it is Ready; `None` if it is not.
    pub ready_since: Option<DateTime<Utc>>,
    /// It carries the taint for missing critical components.
    pub critical_components_missing: bool,
    /// `spec.unschedulable`
    pub unschedulable: bool,
    /// Pods that a drain still has to remove.
    pub pods_left: u32,
}

/// Something that a step changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
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
    /// Mark the Node as terminating and cordon it.
    Cordon,
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
    /// Something changes at this instant.
    Wait {
        /// When.
        until: DateTime<Utc>,
        /// What for.
        waiting_on: WaitingOn,
    },
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

/// Operation that a MachineSet writes when it deletes a Machine.
pub fn deletion_requested() -> Operation {
    Operation::new("Delete", "Processing", "Deleting machine from cloud provider")
}

/// The next step of a Machine.
///
/// `duration` gives the length of a stage of this Machine. Failures and time-outs are further arms of the same match:
/// each phase has one function.
pub fn step(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    if machine.deleting {
        return deletion(machine, node, duration, now);
    }
    match machine.phase {
        Phase::New | Phase::CrashLoopBackOff => creation(machine, duration, now),
        Phase::Pending => joining(machine, node, duration, now),
        _ => Step::Rest,
    }
}

fn at(since: DateTime<Utc>, duration: TimeDelta, now: DateTime<Utc>, waiting_on: WaitingOn, then: Vec<Action>) -> Step {
    let until = since + duration;
    if now < until { Step::Wait { until, waiting_on } } else { Step::Act(then) }
}

const ONE_MISSING: WaitingOn = WaitingOn::MachineCreation { missing: 1 };
const ONE_TERMINATING: WaitingOn = WaitingOn::MachineDeletion { terminating: 1 };

fn creation(machine: &Machine, duration: impl Fn(Parameter) -> TimeDelta, now: DateTime<Utc>) -> Step {
    let actions = vec![
        Action::CreateBootstrapToken,
        Action::RecordVm,
        Action::SetStatus {
            phase: Phase::Pending,
            operation: Operation::new("Create", "Processing", "Creating machine on cloud provider"),
            timeout_active: true,
        },
    ];
    at(machine.created, duration(Parameter::VmCreate), now, ONE_MISSING, actions)
}

fn joining(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let Some(node) = node else {
        return at(machine.phase_since, duration(Parameter::Boot), now, ONE_MISSING, vec![Action::RegisterNode]);
    };
    let Some(ready_since) = node.ready_since else {
        return at(node.created, duration(Parameter::Join), now, ONE_MISSING, vec![Action::MarkNodeReady]);
    };
    let mut actions = Vec::new();
    if node.critical_components_missing {
        actions.push(Action::RemoveCriticalTaint);
    }
    actions.push(Action::SetStatus { phase: Phase::Running, operation: joined(machine), timeout_active: false });
    actions.push(Action::DeleteBootstrapToken);
    let wait =
        if node.critical_components_missing { duration(Parameter::CriticalComponents) } else { TimeDelta::zero() };
    at(ready_since, wait, now, ONE_MISSING, actions)
}

/// The operation of a Machine that became Running.
fn joined(machine: &Machine) -> Operation {
    let name = &machine.name;
    if machine.operation.type_ == "Create" && machine.operation.state != "Successful" {
        Operation::new("Create", "Successful", format!("Machine {name} successfully joined the cluster"))
    } else {
        Operation::new("HealthCheck", "Successful", format!("Machine {name} successfully re-joined the cluster"))
    }
}

const INITIATE_DRAIN: &str = "Initiate node drain";
const INITIATE_VM_DELETION: &str = "Initiate VM deletion";
const INITIATE_NODE_DELETION: &str = "Initiate node object deletion";
const INITIATE_FINALIZER_REMOVAL: &str = "Initiate machine object finalizer removal";

/// Deletion: the description of the last operation says how far it is.
fn deletion(
    machine: &Machine,
    node: Option<&Node>,
    duration: impl Fn(Parameter) -> TimeDelta,
    now: DateTime<Utc>,
) -> Step {
    let operation = |description: String| Operation::new("Delete", "Processing", description);
    let status = |description: String| Action::SetStatus {
        phase: Phase::Terminating,
        operation: operation(description),
        timeout_active: false,
    };
    let description = machine.operation.description.as_str();
    let is_deletion = machine.operation.type_ == "Delete" && machine.phase == Phase::Terminating;
    if !is_deletion || description == deletion_requested().description {
        let started = "Set machine status to termination. Now, getting VM Status".to_owned();
        return Step::Act(vec![status(started)]);
    }
    if description.contains("getting VM Status") {
        if node.is_none() {
            let text = "Skipping drain as nodeName is not a valid one for machine. Initiate VM deletion";
            return Step::Act(vec![Action::SetOperation(operation(text.to_owned()))]);
        }
        return Step::Act(vec![Action::SetOperation(operation(INITIATE_DRAIN.to_owned()))]);
    }
    if description.contains(INITIATE_DRAIN) {
        return drain(machine, node);
    }
    if description.contains(INITIATE_VM_DELETION) {
        let wait = if machine.has_vm { duration(Parameter::VmDelete) } else { TimeDelta::zero() };
        let text = format!("VM deletion was successful. {INITIATE_NODE_DELETION}");
        return at(machine.operation_since, wait, now, ONE_TERMINATING, vec![Action::SetOperation(operation(text))]);
    }
    if description.contains(INITIATE_NODE_DELETION) {
        let Some(_) = node else {
            return Step::Act(vec![
                Action::SetOperation(operation(node_deleted(&machine.name))),
                Action::RemoveFinalizer,
            ]);
        };
        let actions = vec![
            Action::DeleteNode,
            Action::SetOperation(operation(node_deleted(&machine.name))),
            Action::RemoveFinalizer,
        ];
        return at(machine.operation_since, duration(Parameter::NodeDelete), now, ONE_TERMINATING, actions);
    }
    Step::Act(vec![Action::RemoveFinalizer])
}

fn node_deleted(node: &str) -> String {
    format!("Deletion of Node Object \"{node}\" is successful. {INITIATE_FINALIZER_REMOVAL}")
}

/// Cordons, then waits for the pods to go. Whoever adds evictions counts them in [`Node::pods_left`].
fn drain(machine: &Machine, node: Option<&Node>) -> Step {
    match node {
        Some(node) if !node.unschedulable => Step::Act(vec![Action::Cordon]),
        Some(node) if node.pods_left > 0 => Step::Rest,
        _ => {
            let text = format!("Drain successful. {INITIATE_VM_DELETION}");
            let operation = Operation::new("Delete", "Processing", text);
            debug_assert!(machine.deleting, "only machines that go are drained");
            Step::Act(vec![Action::SetOperation(operation)])
        }
    }
}

/// Whether a Node is healthy: Ready is not missed, and none of the configured conditions is other than `False`.
pub fn is_healthy(conditions: &[(&str, &str)], unhealthy_if: &[&str]) -> bool {
    !conditions.is_empty()
        && conditions.iter().all(|(type_, status)| match *type_ {
            node::READY => *status == "True",
            other => !unhealthy_if.contains(&other) || *status == "False",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(phase: Phase) -> Machine {
        let start = DateTime::UNIX_EPOCH;
        Machine {
            name: "m".into(),
            phase,
            created: start,
            phase_since: start,
            deleting: false,
            has_vm: phase != Phase::New,
            operation: Operation::default(),
            operation_since: start,
        }
    }

    fn seconds(at: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(at)
    }

    #[track_caller]
    fn check(machine: &Machine, node: Option<Node>, now: i64, expected: &Step) {
        assert_eq!(&step(machine, node.as_ref(), Parameter::default_base, seconds(now)), expected);
    }

    const NOT_READY: Node = Node {
        created: DateTime::UNIX_EPOCH,
        ready_since: None,
        critical_components_missing: true,
        unschedulable: false,
        pods_left: 0,
    };

    #[test]
    fn a_machine_boots_joins_and_runs() {
        check(&machine(Phase::New), None, 29, &Step::Wait { until: seconds(30), waiting_on: ONE_MISSING });
        let Step::Act(created) = step(&machine(Phase::New), None, Parameter::default_base, seconds(30)) else {
            panic!("the VM exists after 30 s");
        };
        assert_eq!(created[..2], [Action::CreateBootstrapToken, Action::RecordVm]);
        check(&machine(Phase::Pending), None, 60, &Step::Act(vec![Action::RegisterNode]));
        check(&machine(Phase::Pending), Some(NOT_READY), 15, &Step::Act(vec![Action::MarkNodeReady]));
        let ready = Node { ready_since: Some(seconds(10)), ..NOT_READY };
        check(&machine(Phase::Pending), Some(ready), 24, &Step::Wait { until: seconds(25), waiting_on: ONE_MISSING });
        let mut pending = machine(Phase::Pending);
        pending.operation = Operation::new("Create", "Processing", "Creating machine on cloud provider");
        check(
            &pending,
            Some(ready),
            25,
            &Step::Act(vec![
                Action::RemoveCriticalTaint,
                Action::SetStatus {
                    phase: Phase::Running,
                    operation: Operation::new("Create", "Successful", "Machine m successfully joined the cluster"),
                    timeout_active: false,
                },
                Action::DeleteBootstrapToken,
            ]),
        );
        check(&machine(Phase::Running), Some(ready), 99, &Step::Rest);
    }

    /// Deletion walks through the documented descriptions, in order.
    #[test]
    fn a_machine_is_cordoned_drained_and_deleted() {
        let mut machine = Machine { deleting: true, ..machine(Phase::Running) };
        let mut node = Some(Node { ready_since: Some(seconds(1)), critical_components_missing: false, ..NOT_READY });
        let mut now = seconds(100);
        let mut story = Vec::new();
        loop {
            match step(&machine, node.as_ref(), Parameter::default_base, now) {
                Step::Rest => panic!("a deletion never rests without pods"),
                Step::Wait { until, .. } => {
                    story.push(format!("wait {}", (until - now).num_seconds()));
                    now = until;
                }
                Step::Act(actions) => {
                    for action in actions {
                        match action {
                            Action::SetStatus { phase, operation, .. } => {
                                machine.phase = phase;
                                machine.operation = operation;
                                machine.operation_since = now;
                                story.push(machine.operation.description.clone());
                            }
                            Action::SetOperation(operation) => {
                                machine.operation = operation;
                                machine.operation_since = now;
                                story.push(machine.operation.description.clone());
                            }
                            Action::Cordon => {
                                node = node.map(|node| Node { unschedulable: true, ..node });
                                story.push("cordon".into());
                            }
                            Action::DeleteNode => {
                                node = None;
                                story.push("delete node".into());
                            }
                            Action::RemoveFinalizer => {
                                assert_eq!(
                                    story,
                                    [
                                        "Set machine status to termination. Now, getting VM Status",
                                        "Initiate node drain",
                                        "cordon",
                                        "Drain successful. Initiate VM deletion",
                                        "wait 30",
                                        "VM deletion was successful. Initiate node object deletion",
                                        "wait 2",
                                        "delete node",
                                        "Deletion of Node Object \"m\" is successful. \
                                     Initiate machine object finalizer removal",
                                    ]
                                );
                                return;
                            }
                            other => panic!("no {other:?} in a deletion"),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_token_is_named_by_the_end_of_the_machine() {
        assert_eq!(bootstrap_token_id("shoot--p--s-w-z1-7kqzw-mlh5k"), "6d6c68");
        assert_eq!(bootstrap_token_id("a"), "61");
    }

    #[test]
    fn health_tolerates_a_missing_ready_condition_and_no_unknown_one() {
        let unhealthy_if = ["KernelDeadlock", "DiskPressure"];
        assert!(is_healthy(&[("Ready", "True"), ("DiskPressure", "False")], &unhealthy_if));
        assert!(is_healthy(&[("DiskPressure", "False"), ("PIDPressure", "True")], &unhealthy_if));
        assert!(!is_healthy(&[("Ready", "Unknown")], &unhealthy_if));
        assert!(!is_healthy(&[("Ready", "True"), ("KernelDeadlock", "Unknown")], &unhealthy_if));
        assert!(!is_healthy(&[], &unhealthy_if));
    }
}
