// SPDX-License-Identifier: Apache-2.0
//! Faults of machines and their Nodes.

use api::terrarium::{Fault, FaultStatus};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::{CODE, Kind, MESSAGE, Setting, State, Target, hit_target, state};
use crate::rollout::in_place::Failure;
use crate::rollout::machine::ProviderError;

/// The provider refuses to create a VM.
pub const CREATE_ERROR: &str = "create-error";
/// A Node never registers.
pub const NEVER_JOINS: &str = "never-joins";
/// A Node registers and does not become Ready.
pub const JOINS_NOT_READY: &str = "joins-not-ready";
/// The taint for missing critical components stays on a Node.
pub const CRITICAL_COMPONENTS_STUCK: &str = "critical-components-stuck";
/// A condition of a Node reports a problem.
pub const NODE_UNHEALTHY: &str = "node-unhealthy";
/// A Node object is deleted.
pub const NODE_OBJECT_DELETED: &str = "node-object-deleted";
/// Evictions from a Node are refused.
pub const DRAIN_BLOCKED_BY_PDB: &str = "drain-blocked-by-pdb";
/// Pods that a drain evicts never end.
pub const POD_TERMINATION_HANGS: &str = "pod-termination-hangs";
/// The provider refuses to delete a VM.
pub const VM_DELETE_ERROR: &str = "vm-delete-error";
/// The provider refuses to create a VM while a maximum number exists.
pub const QUOTA_EXCEEDED: &str = "quota-exceeded";
/// The provider refuses all requests.
pub const PROVIDER_OUTAGE: &str = "provider-outage";
/// The update in place of a node's operating system fails.
pub const OS_UPDATE_FAILS: &str = "os-update-fails";
/// The kubelet of a node that was updated in place is not healthy.
pub const KUBELET_UNHEALTHY_AFTER_UPDATE: &str = "kubelet-unhealthy-after-update";
/// gardener-node-agent reports no result of an update in place.
pub const NODE_AGENT_SILENT: &str = "node-agent-silent";
/// The update in place of a node has a fixed duration.
pub const IN_PLACE_DURATION: &str = "in-place-duration";

/// Setting of [`NODE_UNHEALTHY`]: type of the condition.
pub const CONDITION: &str = "condition";
/// Setting of [`NODE_UNHEALTHY`]: its status.
pub const STATUS: &str = "status";
/// Setting of [`DRAIN_BLOCKED_BY_PDB`]: true if the budget never allows an eviction.
pub const MISCONFIGURED: &str = "misconfigured";
/// Setting of [`OS_UPDATE_FAILS`]: type of the failure.
const UPDATE_FAILURE: &str = "kind";
/// Value of [`UPDATE_FAILURE`]: the command that updates the operating system fails.
const COMMAND: &str = "command";
/// Value of [`UPDATE_FAILURE`]: the update meets network problems.
const NETWORK_PROBLEMS: &str = "network-problems";
/// Value of [`UPDATE_FAILURE`]: the machine restarts with the previous version.
const ROLLBACK: &str = "rollback";
/// Setting of [`IN_PLACE_DURATION`]: the duration, in seconds.
pub const SECONDS: &str = "seconds";
/// Setting of [`QUOTA_EXCEEDED`]: maximum number of VMs.
pub const MAX: &str = "max";

/// Codes of machine-controller-manager's providers.
const PROVIDER_CODES: [&str; 16] = [
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

const PROVIDER_SETTINGS: &[Setting] = &[
    Setting {
        name: CODE,
        is_required: false,
        meaning: "code of the provider's error, which determines the next attempt [default: Internal]",
        values: &PROVIDER_CODES,
    },
    Setting { name: MESSAGE, is_required: false, meaning: "text of the error", values: &[] },
];

const fn counted(name: &'static str, effect: &'static str, settings: &'static [Setting]) -> Kind {
    Kind { name, effect, target: Target::Machine, lasts: false, settings }
}

const fn lasting(name: &'static str, effect: &'static str, settings: &'static [Setting]) -> Kind {
    Kind { name, effect, target: Target::Machine, lasts: true, settings }
}

/// The kinds.
pub(super) const KINDS: [Kind; 15] = [
    counted(
        CREATE_ERROR,
        "the provider refuses to create a VM: the Machine is in CrashLoopBackOff, is tried again, and Failed after its \
         creation time-out",
        PROVIDER_SETTINGS,
    ),
    counted(
        NEVER_JOINS,
        "a VM boots and its Node never registers: the Machine is Failed after its creation time-out, and replaced",
        &[],
    ),
    counted(JOINS_NOT_READY, "a Node registers and never becomes Ready, as above", &[]),
    counted(CRITICAL_COMPONENTS_STUCK, "the critical components of a new Node never run, as above", &[]),
    lasting(
        NODE_UNHEALTHY,
        "a condition of Nodes says that something is wrong: their Machines are Unknown, Failed after the health time-out, \
         and replaced, one at a time",
        &[
            Setting {
                name: CONDITION,
                is_required: false,
                meaning: "type of the condition, as in KernelDeadlock [default: Ready]",
                values: &[],
            },
            Setting {
                name: STATUS,
                is_required: false,
                meaning: "its status [default: False for Ready, else True]; Ready=Unknown: the kubelet does not report",
                values: &["True", "False", "Unknown"],
            },
        ],
    ),
    counted(NODE_OBJECT_DELETED, "a Node object vanishes: its Machine is Unknown, as above", &[]),
    lasting(
        DRAIN_BLOCKED_BY_PDB,
        "evictions from Nodes that are drained are refused, as by a PodDisruptionBudget that allows nothing",
        &[Setting {
            name: MISCONFIGURED,
            is_required: false,
            meaning: "true: the drain fails at once, and is repeated until its time-out [default: false]",
            values: &["true", "false"],
        }],
    ),
    lasting(
        POD_TERMINATION_HANGS,
        "pods that are evicted from Nodes that are drained never end by themselves: the drain is repeated until its \
         time-out",
        &[],
    ),
    counted(VM_DELETE_ERROR, "the provider refuses to delete a VM, and is asked again", PROVIDER_SETTINGS),
    lasting(
        QUOTA_EXCEEDED,
        "the provider refuses to create a VM (ResourceExhausted) while there are so many",
        &[Setting { name: MAX, is_required: true, meaning: "maximum number of VMs", values: &[] }],
    ),
    lasting(PROVIDER_OUTAGE, "the provider neither creates nor deletes VMs (Unavailable)", &[]),
    counted(
        OS_UPDATE_FAILS,
        "the update in place of a node's operating system fails: its Machine is InPlaceUpdateFailed, and no further node is \
         selected",
        &[Setting {
            name: UPDATE_FAILURE,
            is_required: false,
            meaning: "command or network-problems: it is tried again by itself; rollback: only when another version is \
                      wanted [default: rollback]",
            values: &[COMMAND, NETWORK_PROBLEMS, ROLLBACK],
        }],
    ),
    counted(
        KUBELET_UNHEALTHY_AFTER_UPDATE,
        "the kubelet of a node that was updated in place is not healthy: as above, and tried again by itself",
        &[],
    ),
    lasting(
        NODE_AGENT_SILENT,
        "gardener-node-agent does nothing on nodes that are ready for an update in place: their Machines are \
         InPlaceUpdateFailed after inPlaceUpdateTimeout",
        &[],
    ),
    lasting(
        IN_PLACE_DURATION,
        "an update in place takes this long",
        &[Setting { name: SECONDS, is_required: true, meaning: "how many seconds", values: &[] }],
    ),
];

/// Properties of a Machine that a fault can select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts<'a> {
    /// Namespace and name of its Shoot.
    pub shoot: Option<(&'a str, &'a str)>,
    /// Worker pool of the Machine.
    pub pool: &'a str,
    /// Number of its zone in the pool, from 1 on, as in the MachineDeployment's name.
    pub zone: Option<i32>,
    /// Number of the Machine in its MachineDeployment, from 1 on.
    pub ordinal: Option<i32>,
    /// Name of the Machine, which is also the name of its Node.
    pub name: &'a str,
}

/// Returns true if an active fault of a kind selects a Machine.
pub fn hits_machine(fault: &Fault, kind: &str, machine: MachineFacts<'_>, now: DateTime<Utc>) -> bool {
    let spec = &fault.spec;
    let names = |shoot: &api::terrarium::FaultShoot| {
        machine.shoot.is_some_and(|(namespace, name)| shoot.namespace == namespace && shoot.name == name)
    };
    spec.kind == kind
        && spec.shoot.as_ref().is_none_or(names)
        && (spec.pool.is_empty() || spec.pool == machine.pool)
        && (spec.zone.is_none() || spec.zone == machine.zone)
        && (spec.machine.is_none() || spec.machine == machine.ordinal)
        && (spec.node.is_empty() || spec.node == machine.name)
        && state(fault, now) == State::Active
}

/// Returns the error with which the provider answers.
pub fn provider_error(fault: &Fault) -> ProviderError {
    let setting = |name: &str| fault.spec.settings.get(name).filter(|value| !value.is_empty()).cloned();
    let code = match fault.spec.kind.as_str() {
        QUOTA_EXCEEDED => "ResourceExhausted".to_owned(),
        PROVIDER_OUTAGE => "Unavailable".to_owned(),
        _ => setting(CODE).unwrap_or_else(|| "Internal".to_owned()),
    };
    let message = match fault.spec.kind.as_str() {
        QUOTA_EXCEEDED => "quota exceeded".to_owned(),
        PROVIDER_OUTAGE => "the provider cannot be reached".to_owned(),
        _ => setting(MESSAGE).unwrap_or_else(|| format!("fault {}", fault.metadata.name)),
    };
    ProviderError { code, message }
}

/// Type and status of the condition that a [`NODE_UNHEALTHY`] sets.
pub fn unhealthy_condition(fault: &Fault) -> (&str, &str) {
    let setting = |name: &str| fault.spec.settings.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let type_ = setting(CONDITION).unwrap_or("Ready");
    (type_, setting(STATUS).unwrap_or(if type_ == "Ready" { "False" } else { "True" }))
}

/// Returns the failure of an update in place that an [`OS_UPDATE_FAILS`] or [`KUBELET_UNHEALTHY_AFTER_UPDATE`] hits.
/// `desired` and `current` are versions of the operating system.
pub fn update_failure(fault: &Fault, desired: &str, current: &str) -> Failure {
    if fault.spec.kind == KUBELET_UNHEALTHY_AFTER_UPDATE {
        return Failure::Kubelet;
    }
    match fault.spec.settings.get(UPDATE_FAILURE).map(String::as_str) {
        Some(COMMAND) => Failure::Command,
        Some(NETWORK_PROBLEMS) => Failure::NetworkProblems,
        _ => Failure::RolledBack { desired: desired.to_owned(), current: current.to_owned() },
    }
}

/// Returns the duration of an update that an [`IN_PLACE_DURATION`] hits.
pub fn in_place_duration(fault: &Fault) -> Option<TimeDelta> {
    let seconds: u32 = fault.spec.settings.get(SECONDS)?.parse().ok()?;
    Some(TimeDelta::seconds(seconds.into()))
}

/// The status of a fault that hits a Machine.
pub fn hit_machine(fault: &Fault, machine: &str, now: Time) -> FaultStatus {
    hit_target(fault, format!("Machine {machine}"), now)
}

#[cfg(test)]
mod tests {
    use api::terrarium::FaultShoot;
    use apimachinery::meta::ObjectMeta;

    use super::super::{default, validate};
    use super::*;

    fn fault(kind: &str, change: impl FnOnce(&mut Fault)) -> Fault {
        let mut fault = Fault { metadata: ObjectMeta::named("", "f"), ..Fault::default() };
        kind.clone_into(&mut fault.spec.kind);
        change(&mut fault);
        default(&mut fault);
        fault
    }

    #[test]
    fn a_fault_hits_the_machines_that_its_selectors_name() {
        let machine = MachineFacts {
            shoot: Some(("garden-dev", "s")),
            pool: "w",
            zone: Some(2),
            ordinal: Some(4),
            name: "shoot--dev--s-w-z2-abcde-fghij",
        };
        #[track_caller]
        fn check(machine: MachineFacts<'_>, expected: bool, change: impl FnOnce(&mut Fault)) {
            let fault = fault(NEVER_JOINS, change);
            assert_eq!(validate(&fault), []);
            assert_eq!(hits_machine(&fault, NEVER_JOINS, machine, DateTime::UNIX_EPOCH), expected, "{fault:?}");
            assert!(!hits_machine(&fault, JOINS_NOT_READY, machine, DateTime::UNIX_EPOCH));
        }
        let shoot = |name: &str| Some(FaultShoot { namespace: "garden-dev".into(), name: name.into() });
        check(machine, true, |_| ());
        check(machine, true, |fault| fault.spec.shoot = shoot("s"));
        check(machine, false, |fault| fault.spec.shoot = shoot("t"));
        check(machine, true, |fault| {
            (fault.spec.pool, fault.spec.zone, fault.spec.machine) = ("w".into(), Some(2), Some(4));
        });
        check(machine, false, |fault| fault.spec.pool = "x".into());
        check(machine, false, |fault| fault.spec.zone = Some(1));
        check(machine, false, |fault| fault.spec.machine = Some(3));
        check(machine, true, |fault| fault.spec.node = machine.name.into());
        check(machine, false, |fault| fault.spec.node = "other".into());
        check(MachineFacts { zone: None, ..machine }, false, |fault| fault.spec.zone = Some(1));
    }

    #[test]
    fn settings_determine_the_failure() {
        #[track_caller]
        fn check(kind: &str, settings: &[(&str, &str)], expected: &[&str]) {
            let fault = fault(kind, |fault| {
                let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                fault.spec.settings = settings.collect();
                fault.spec.machine = (kind == NEVER_JOINS).then_some(0);
            });
            let texts: Vec<String> = validate(&fault).iter().map(ToString::to_string).collect();
            assert_eq!(texts.len(), expected.len(), "{texts:?}");
            for (text, expected) in texts.iter().zip(expected) {
                assert!(text.starts_with(expected), "{text}");
            }
        }
        check(CREATE_ERROR, &[("code", "ResourceExhausted"), ("message", "no quota")], &[]);
        check(CREATE_ERROR, &[("code", "Nope")], &["spec.settings[code]: Unsupported value: \"Nope\""]);
        check(QUOTA_EXCEEDED, &[("max", "3")], &[]);
        check(QUOTA_EXCEEDED, &[], &["spec.settings[max]: Required value"]);
        check(QUOTA_EXCEEDED, &[("max", "-1")], &["spec.settings[max]: Invalid value"]);
        check(NODE_UNHEALTHY, &[("condition", "KernelDeadlock"), ("status", "True")], &[]);
        check(NODE_UNHEALTHY, &[("status", "maybe")], &["spec.settings[status]: Unsupported value"]);
        check(NEVER_JOINS, &[], &["spec.machine: Invalid value: 0: must be at least 1"]);
        let of = |kind: &str| provider_error(&fault(kind, |_| ()));
        assert_eq!((of(CREATE_ERROR).code.as_str(), of(CREATE_ERROR).message.as_str()), ("Internal", "fault f"));
        assert_eq!(of(QUOTA_EXCEEDED).code, "ResourceExhausted");
        assert_eq!(unhealthy_condition(&fault(NODE_UNHEALTHY, |_| ())), ("Ready", "False"));
    }
}
