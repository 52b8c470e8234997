// SPDX-License-Identifier: Apache-2.0
//! Injected faults: their kinds, their activity, and the objects that they hit.
//!
//! A fault is an object; the component that it hits calls [`is_active`] and the function of its kind, and counts the
//! hit with [`hit`] before the fault takes effect.

mod machines;

pub use self::machines::{
    CONDITION, CREATE_ERROR, CRITICAL_COMPONENTS_STUCK, DRAIN_BLOCKED_BY_PDB, IN_PLACE_DURATION, JOINS_NOT_READY,
    KUBELET_UNHEALTHY_AFTER_UPDATE, MAX, MISCONFIGURED, MachineFacts, NEVER_JOINS, NODE_AGENT_SILENT,
    NODE_OBJECT_DELETED, NODE_UNHEALTHY, OS_UPDATE_FAILS, POD_TERMINATION_HANGS, PROVIDER_OUTAGE, QUOTA_EXCEEDED,
    SECONDS, STATUS, VM_DELETE_ERROR, hit_machine, hits_machine, in_place_duration, provider_error,
    unhealthy_condition, update_failure,
};

use api::cluster;
use api::core::Shoot;
use api::terrarium::{Fault, FaultStatus};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use crate::error_codes;
use crate::garden::components::Program;
use crate::last_operation::{CODES, TaskFailure};

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name of the kind: `task-fails`.
    pub name: &'static str,
    /// Effect of the fault, a sentence without its full stop.
    pub effect: &'static str,
    /// Type of object that the fault hits.
    pub target: Target,
    /// True if the fault lasts until it is cleared or over, and has no count.
    pub lasts: bool,
    /// Settings of the kind.
    pub settings: &'static [Setting],
}

/// Type of object that a kind of fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Shoot; without a name, any Shoot.
    Shoot,
    /// A component, or one pod of it.
    Component,
    /// The cluster of a Seed.
    Seed,
    /// Machines and their Nodes: of a Shoot, a pool, a zone, or a single one.
    Machine,
}

/// A process of a component.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// Name of the component's Deployment.
    pub component: &'a str,
    /// Name of its pod.
    pub pod: &'a str,
    /// The seed that it belongs to.
    pub seed: Option<&'a str>,
}

/// A setting of a kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the setting: `task`.
    pub name: &'static str,
    /// True if the setting is required.
    pub is_required: bool,
    /// Meaning of the setting.
    pub meaning: &'static str,
    /// Allowed values; empty: any.
    pub values: &'static [&'static str],
}

/// A process of a component ends.
pub const COMPONENT_CRASH: &str = "component-crash";
/// The requests of a component reach no server.
pub const COMPONENT_PARTITION: &str = "component-partition";
/// The cluster of a seed cannot be reached.
pub const SEED_UNREACHABLE: &str = "seed-unreachable";
/// A task of a Shoot's flow ends with an error.
pub const TASK_FAILS: &str = "task-fails";

/// Components that need a seed that cannot be reached.
const GARDENLET: &str = Program::Gardenlet.name();
const CONTROLLER_MANAGER: &str = Program::ControllerManager.name();

/// Setting of [`TASK_FAILS`]: name of the task.
pub const TASK: &str = "task";
/// Setting of [`TASK_FAILS`]: error code.
pub const CODE: &str = "code";
/// Setting of [`TASK_FAILS`]: text of the error.
pub const MESSAGE: &str = "message";

/// All kinds.
pub const KINDS: [Kind; 19] = [
    Kind {
        name: TASK_FAILS,
        effect: "the task of a Shoot's flow ends with an error: the Shoot's operation is in state Error and tried again, \
                 or Failed at once with a code that is not retried",
        target: Target::Shoot,
        lasts: false,
        settings: &[
            Setting {
                name: TASK,
                is_required: true,
                meaning: "name of the task, as in lastOperation.description",
                values: &[],
            },
            Setting {
                name: CODE,
                is_required: false,
                meaning: "error code, as in ERR_INFRA_QUOTA_EXCEEDED",
                values: &CODES,
            },
            Setting {
                name: MESSAGE,
                is_required: false,
                meaning: "text of the error; codes are found in it, too",
                values: &[],
            },
        ],
    },
    Kind {
        name: COMPONENT_CRASH,
        effect: "a process of the component ends with exit code 1; with --always each one, at every start, so that its pod \
                 is in CrashLoopBackOff",
        target: Target::Component,
        lasts: false,
        settings: &[],
    },
    Kind {
        name: COMPONENT_PARTITION,
        effect: "requests of the component get no answer until the fault is cleared; its pod runs, and it goes on where it was",
        target: Target::Component,
        lasts: true,
        settings: &[],
    },
    Kind {
        name: SEED_UNREACHABLE,
        effect: "requests of the seed's gardenlet and of gardener-controller-manager to the seed's cluster fail, and the \
                 seed's heartbeat is not renewed: GardenletReady becomes Unknown",
        target: Target::Seed,
        lasts: true,
        settings: &[],
    },
    machines::KINDS[0],
    machines::KINDS[1],
    machines::KINDS[2],
    machines::KINDS[3],
    machines::KINDS[4],
    machines::KINDS[5],
    machines::KINDS[6],
    machines::KINDS[7],
    machines::KINDS[8],
    machines::KINDS[9],
    machines::KINDS[10],
    machines::KINDS[11],
    machines::KINDS[12],
    machines::KINDS[13],
    machines::KINDS[14],
];

/// The kind with a name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Fills in the defaults of a fault: it hits once, unless it lasts.
pub fn default(fault: &mut Fault) {
    let spec = &mut fault.spec;
    if spec.times.is_none() && !spec.always {
        match kind(&spec.kind) {
            Some(kind) if kind.lasts => spec.always = true,
            _ => spec.times = Some(1),
        }
    }
}

/// Returns all violations of a fault, in the order of its fields.
pub fn validate(fault: &Fault) -> Vec<FieldError> {
    let (spec, path) = (&fault.spec, Path::new("spec"));
    let mut errors = Vec::new();
    let kind = kind(&spec.kind);
    if kind.is_none() {
        errors.push(FieldError::not_supported(&path.child("kind"), spec.kind.as_str(), &KINDS.map(|kind| kind.name)));
    }
    if let Some(shoot) = &spec.shoot {
        for (name, value) in [("namespace", &shoot.namespace), ("name", &shoot.name)] {
            if value.is_empty() {
                errors.push(FieldError::required(&path.child("shoot").child(name), "a Shoot has both"));
            }
        }
    }
    let target = kind.map(|kind| kind.target);
    let forbidden = |name: &str| FieldError::forbidden(&path.child(name), "this kind of fault does not hit that");
    let required = |name: &str, detail: &str| FieldError::required(&path.child(name), detail);
    match target {
        Some(Target::Component) if spec.component.is_empty() => {
            errors.push(required("component", "the component that it is for"));
        }
        Some(Target::Seed) if spec.seed_name.is_empty() => errors.push(required("seedName", "whose cluster it hits")),
        _ => {}
    }
    if let Some(target) = target {
        let given = [
            ("shoot", &[Target::Shoot, Target::Machine][..], spec.shoot.is_some()),
            ("component", &[Target::Component], !spec.component.is_empty()),
            ("instance", &[Target::Component], !spec.instance.is_empty()),
            ("seedName", &[Target::Seed], !spec.seed_name.is_empty()),
            ("pool", &[Target::Machine], !spec.pool.is_empty()),
            ("zone", &[Target::Machine], spec.zone.is_some()),
            ("machine", &[Target::Machine], spec.machine.is_some()),
            ("node", &[Target::Machine], !spec.node.is_empty()),
        ];
        let stray = given.iter().filter(|(_, own, is_given)| *is_given && !own.contains(&target));
        errors.extend(stray.map(|it| forbidden(it.0)));
    }
    for (name, number) in [("zone", spec.zone), ("machine", spec.machine)] {
        if let Some(number) = number.filter(|number| *number < 1) {
            errors.push(FieldError::invalid(&path.child(name), number, "must be at least 1"));
        }
    }
    match spec.times {
        Some(_) if kind.is_some_and(|kind| kind.lasts) => {
            errors.push(FieldError::forbidden(&path.child("times"), "it lasts until it is cleared"));
        }
        Some(_) if spec.always => {
            errors.push(FieldError::forbidden(&path.child("times"), "must not be set together with `always`"));
        }
        Some(times) if times < 1 => {
            errors.push(FieldError::invalid(&path.child("times"), times, "must be at least 1"));
        }
        _ => {}
    }
    let Some(kind) = kind else { return errors };
    let settings = path.child("settings");
    let names: Vec<&str> = kind.settings.iter().map(|setting| setting.name).collect();
    for (name, value) in &spec.settings {
        let Some(setting) = kind.settings.iter().find(|setting| setting.name == name) else {
            errors.push(FieldError::not_supported(&settings, name.as_str(), &names));
            continue;
        };
        if !setting.values.is_empty() && !setting.values.contains(&value.as_str()) {
            errors.push(FieldError::not_supported(&settings.key(name), value.as_str(), setting.values));
        } else if (name == MAX || name == SECONDS) && value.parse::<u32>().is_err() {
            errors.push(FieldError::invalid(&settings.key(name), value.as_str(), "must be a number from 0 on"));
        }
    }
    for setting in kind.settings.iter().filter(|setting| setting.is_required) {
        if spec.settings.get(setting.name).is_none_or(String::is_empty) {
            errors.push(FieldError::required(&settings.key(setting.name), setting.meaning));
        }
    }
    errors
}

/// Activity of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The fault takes effect.
    Active,
    /// The fault has reached its number of hits.
    Spent,
    /// The fault's time is over.
    Over,
}

impl State {
    /// Name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Spent => "spent",
            Self::Over => "over",
        }
    }
}

/// Returns the state of a fault at an instant; from `until` on it is over.
pub fn state(fault: &Fault, now: DateTime<Utc>) -> State {
    let spec = &fault.spec;
    if !spec.always && fault.status.times >= spec.times.unwrap_or(1) {
        State::Spent
    } else if spec.until.is_some_and(|until| now >= until.0) || fault.metadata.is_being_deleted() {
        State::Over
    } else {
        State::Active
    }
}

/// Returns true if a fault hits a task of a Shoot's flow, which may have several names.
pub fn fails_task(fault: &Fault, shoot: &Shoot, names: &[&str], now: DateTime<Utc>) -> bool {
    let spec = &fault.spec;
    let is_meant = spec
        .shoot
        .as_ref()
        .is_none_or(|meant| meant.namespace == shoot.metadata.namespace && meant.name == shoot.metadata.name);
    spec.kind == TASK_FAILS
        && is_meant
        && spec.settings.get(TASK).is_some_and(|task| names.contains(&task.as_str()))
        && state(fault, now) == State::Active
}

/// Returns true if a kind of fault hits processes of any component.
pub fn acts_on_processes(fault: &Fault) -> bool {
    kind(&fault.spec.kind).is_some_and(|kind| matches!(kind.target, Target::Component | Target::Seed))
}

/// Returns true if an active fault of a kind names a process.
fn names(fault: &Fault, kind: &str, process: Process<'_>, now: DateTime<Utc>) -> bool {
    let spec = &fault.spec;
    spec.kind == kind
        && spec.component == process.component
        && (spec.instance.is_empty() || spec.instance == process.pod)
        && state(fault, now) == State::Active
}

/// Returns true if a fault ends a process.
pub fn crashes(fault: &Fault, process: Process<'_>, now: DateTime<Utc>) -> bool {
    names(fault, COMPONENT_CRASH, process, now)
}

/// Returns true if a request of a process to a cluster fails; `cluster` `None`: the request is not to a cluster.
pub fn cuts_off(fault: &Fault, process: Process<'_>, cluster: Option<&str>, now: DateTime<Utc>) -> bool {
    let seed = fault.spec.seed_name.as_str();
    let to_seed = || cluster.and_then(cluster::seed) == Some(seed);
    let needs_seed = || match process.component {
        GARDENLET => process.seed == Some(seed),
        component => component == CONTROLLER_MANAGER,
    };
    names(fault, COMPONENT_PARTITION, process, now)
        || (fault.spec.kind == SEED_UNREACHABLE && state(fault, now) == State::Active && to_seed() && needs_seed())
}

/// Returns true if a gardenlet does not renew the heartbeat of its seed.
pub fn stops_heartbeats(fault: &Fault, gardenlet: Process<'_>, now: DateTime<Utc>) -> bool {
    names(fault, COMPONENT_PARTITION, gardenlet, now)
        || (fault.spec.kind == SEED_UNREACHABLE
            && state(fault, now) == State::Active
            && gardenlet.seed == Some(fault.spec.seed_name.as_str()))
}

/// Failure of a Shoot's task: the fault's code, then the codes that the provider's extension finds in the text.
pub fn task_failure(fault: &Fault, task: &str, provider: &str) -> TaskFailure {
    let settings = &fault.spec.settings;
    let given = settings.get(MESSAGE).filter(|message| !message.is_empty()).cloned();
    let message = given.unwrap_or_else(|| format!("fault {}", fault.metadata.name));
    let mut codes: Vec<String> = settings.get(CODE).cloned().into_iter().collect();
    let found = error_codes::of_text(provider, &message)
        .into_iter()
        .filter(|code| Some(*code) != codes.first().map(String::as_str));
    let found: Vec<String> = found.map(str::to_owned).collect();
    codes.extend(found);
    TaskFailure { task: task.to_owned(), message, codes }
}

/// The status of a fault that hits a Shoot.
pub fn hit(fault: &Fault, shoot: &Shoot, now: Time) -> FaultStatus {
    hit_target(fault, format!("Shoot {}/{}", shoot.metadata.namespace, shoot.metadata.name), now)
}

/// The status of a fault that hits a process.
pub fn hit_process(fault: &Fault, process: Process<'_>, now: Time) -> FaultStatus {
    hit_target(fault, format!("Pod {}", process.pod), now)
}

/// Landscape time after which a lasting fault that acts is noted again.
pub const NOTED_AGAIN: TimeDelta = TimeDelta::minutes(1);

/// Status of a lasting fault that acts on a process at an instant; None: it was noted shortly before.
pub fn note_process(fault: &Fault, pod: &str, now: DateTime<Utc>) -> Option<FaultStatus> {
    note_target(fault, format!("Pod {pod}"), now)
}

/// Status of a lasting fault that acts on a Machine at an instant; None: it was noted shortly before.
pub fn note_machine(fault: &Fault, machine: &str, now: DateTime<Utc>) -> Option<FaultStatus> {
    note_target(fault, format!("Machine {machine}"), now)
}

/// True if a fault that was noted at an instant need not be noted again yet.
pub fn is_noted(last: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now - last < NOTED_AGAIN
}

/// Notes the last target only; a lasting fault is not counted: each request and each attempt would be a write.
fn note_target(fault: &Fault, last_target: String, now: DateTime<Utc>) -> Option<FaultStatus> {
    let status = &fault.status;
    let is_recent = status.last_time.is_some_and(|last| is_noted(last.0, now));
    (!is_recent).then(|| FaultStatus { last_time: Some(Time::from_instant(now)), last_target, ..status.clone() })
}

fn hit_target(fault: &Fault, last_target: String, now: Time) -> FaultStatus {
    FaultStatus { times: fault.status.times.saturating_add(1), last_time: Some(now), last_target }
}

#[cfg(test)]
mod tests {
    use api::terrarium::FaultShoot;
    use apimachinery::meta::ObjectMeta;

    use super::*;

    fn fault(settings: &[(&str, &str)]) -> Fault {
        let mut fault = Fault { metadata: ObjectMeta::named("", "f"), ..Fault::default() };
        TASK_FAILS.clone_into(&mut fault.spec.kind);
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        fault.spec.settings = settings.collect();
        default(&mut fault);
        fault
    }

    fn at(minute: u32) -> DateTime<Utc> {
        format!("2025-06-01T10:{minute:02}:00Z").parse().expect("RFC 3339")
    }

    #[test]
    fn a_lasting_fault_records_its_last_effect_within_a_minute() {
        let mut fault = fault(&[]);
        COMPONENT_PARTITION.clone_into(&mut fault.spec.kind);
        let first = note_process(&fault, "a", at(0)).expect("never noted");
        assert_eq!((first.times, first.last_target.as_str()), (0, "Pod a"));
        fault.status = first;
        for (seconds, expected) in [(0, None), (59, None), (60, Some("Machine m"))] {
            let noted = note_machine(&fault, "m", at(0) + TimeDelta::seconds(seconds));
            assert_eq!(noted.as_ref().map(|it| it.last_target.as_str()), expected, "after {seconds} s");
        }
    }

    #[test]
    fn all_errors_are_reported() {
        #[track_caller]
        fn check(change: impl FnOnce(&mut Fault), expected: &[&str]) {
            let mut fault = fault(&[("task", "t")]);
            change(&mut fault);
            let texts: Vec<String> = validate(&fault).iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected);
        }
        check(|_| {}, &[]);
        check(
            |fault| fault.spec.kind = "task".into(),
            &["spec.kind: Unsupported value: \"task\": supported values: \"task-fails\", \
               \"component-crash\", \"component-partition\", \"seed-unreachable\", \"create-error\", \"never-joins\", \
               \"joins-not-ready\", \"critical-components-stuck\", \"node-unhealthy\", \"node-object-deleted\", \
               \"drain-blocked-by-pdb\", \"pod-termination-hangs\", \"vm-delete-error\", \"quota-exceeded\", \
               \"provider-outage\", \"os-update-fails\", \"kubelet-unhealthy-after-update\", \
               \"node-agent-silent\", \"in-place-duration\""],
        );
        check(|fault| fault.spec.times = Some(0), &["spec.times: Invalid value: 0: must be at least 1"]);
        check(|fault| fault.spec.always = true, &["spec.times: Forbidden: must not be set together with `always`"]);
        check(
            |fault| fault.spec.shoot = Some(FaultShoot { namespace: "garden-dev".into(), name: String::new() }),
            &["spec.shoot.name: Required value: a Shoot has both"],
        );
        check(
            |fault| {
                fault.spec.settings =
                    [("code".to_owned(), "ERR".to_owned()), ("tusk".to_owned(), "t".to_owned())].into();
            },
            &[
                "spec.settings[code]: Unsupported value: \"ERR\": supported values: \"ERR_CLEANUP_CLUSTER_RESOURCES\", \
                 \"ERR_CONFIGURATION_PROBLEM\", \"ERR_INFRA_DEPENDENCIES\", \"ERR_INFRA_QUOTA_EXCEEDED\", \
                 \"ERR_INFRA_RATE_LIMITS_EXCEEDED\", \"ERR_INFRA_RESOURCES_DEPLETED\", \"ERR_INFRA_UNAUTHENTICATED\", \
                 \"ERR_INFRA_UNAUTHORIZED\", \"ERR_PROBLEMATIC_WEBHOOK\", \"ERR_RETRYABLE_CONFIGURATION_PROBLEM\", \
                 \"ERR_RETRYABLE_INFRA_DEPENDENCIES\"",
                "spec.settings: Unsupported value: \"tusk\": supported values: \"task\", \"code\", \"message\"",
                "spec.settings[task]: Required value: name of the task, as in lastOperation.description",
            ],
        );
    }

    #[test]
    fn selectors_fit_the_kind_of_fault() {
        #[track_caller]
        fn check(kind: &str, change: impl FnOnce(&mut Fault), expected: &[&str]) {
            let mut fault = Fault { metadata: ObjectMeta::named("", "f"), ..Fault::default() };
            kind.clone_into(&mut fault.spec.kind);
            change(&mut fault);
            default(&mut fault);
            let texts: Vec<String> = validate(&fault).iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected);
        }
        check("component-crash", |fault| fault.spec.component = "gardenlet".into(), &[]);
        check("component-crash", |_| {}, &["spec.component: Required value: the component that it is for"]);
        check("seed-unreachable", |fault| fault.spec.seed_name = "local".into(), &[]);
        check(
            "seed-unreachable",
            |fault| fault.spec.component = "gardenlet".into(),
            &[
                "spec.seedName: Required value: whose cluster it hits",
                "spec.component: Forbidden: this kind of fault does not hit that",
            ],
        );
        check(
            "component-partition",
            |fault| (fault.spec.component, fault.spec.times) = ("gardenlet".into(), Some(2)),
            &["spec.times: Forbidden: it lasts until it is cleared"],
        );
    }

    /// Kind and selectors of the fault; requesting process, cluster, and the expected answer.
    #[test]
    fn cut_off_processes_are_named_or_need_the_seed() {
        let process = |component, pod, seed| Process { component, pod, seed };
        let gardenlet = process("gardenlet", "g-1", Some("local"));
        let manager = process("gardener-controller-manager", "m-1", None);
        for (kind, component, instance, seed, who, cluster, expected) in [
            ("component-partition", "gardenlet", "", "", gardenlet, Some("garden"), true),
            ("component-partition", "gardenlet", "g-1", "", gardenlet, None, true),
            ("component-partition", "gardenlet", "g-2", "", gardenlet, Some("garden"), false),
            ("component-partition", "gardenlet", "", "", manager, Some("garden"), false),
            ("component-crash", "gardenlet", "", "", gardenlet, Some("garden"), false),
            ("seed-unreachable", "", "", "local", gardenlet, Some("seed--local"), true),
            ("seed-unreachable", "", "", "local", gardenlet, Some("garden"), false),
            ("seed-unreachable", "", "", "local", manager, Some("seed--local"), true),
            ("seed-unreachable", "", "", "other", gardenlet, Some("seed--other"), false),
            ("seed-unreachable", "", "", "local", process("gardener-scheduler", "s", None), Some("seed--local"), false),
        ] {
            let mut fault = Fault { metadata: ObjectMeta::named("", "f"), ..Fault::default() };
            (fault.spec.kind, fault.spec.component) = (kind.into(), component.into());
            (fault.spec.instance, fault.spec.seed_name) = (instance.into(), seed.into());
            default(&mut fault);
            assert_eq!(cuts_off(&fault, who, cluster, at(0)), expected, "{fault:?} {who:?} {cluster:?}");
            assert_eq!(crashes(&fault, gardenlet, at(0)), kind == "component-crash", "{fault:?}");
            fault.spec.until = Some(Time(at(5)));
            assert!(!cuts_off(&fault, who, cluster, at(5)), "its time is over");
        }
    }

    #[test]
    fn a_fault_has_a_number_of_hits_and_an_end() {
        let mut once = fault(&[("task", "t")]);
        assert_eq!(state(&once, at(0)), State::Active);
        once.spec.until = Some(Time(at(5)));
        assert_eq!((state(&once, at(4)), state(&once, at(5))), (State::Active, State::Over));
        once.status = hit(&once, &Shoot::default(), Time(at(1)));
        assert_eq!(state(&once, at(2)), State::Spent);
        once.spec.times = Some(2);
        assert_eq!(state(&once, at(2)), State::Active);
        let mut always = fault(&[("task", "t")]);
        (always.spec.times, always.spec.always) = (None, true);
        always.status.times = 1000;
        assert_eq!(state(&always, at(0)), State::Active);
    }

    #[test]
    fn a_fault_affects_the_named_task_and_shoot() {
        let shoot = Shoot { metadata: ObjectMeta::named("garden-dev", "s"), ..Shoot::default() };
        let hits = |fault: &Fault| fails_task(fault, &shoot, &["t", "t while hibernating"], at(0));
        let mut any = fault(&[("task", "t while hibernating")]);
        assert!(hits(&any) && !hits(&fault(&[("task", "u")])));
        any.spec.shoot = Some(FaultShoot { namespace: "garden-dev".into(), name: "s".into() });
        assert!(hits(&any));
        any.spec.shoot = Some(FaultShoot { namespace: "garden-prod".into(), name: "s".into() });
        assert!(!hits(&any));
    }

    #[test]
    fn the_task_ends_with_text_and_codes() {
        #[track_caller]
        fn check(settings: &[(&str, &str)], message: &str, codes: &[&str]) {
            let failure = task_failure(&fault(settings), "t", "local");
            assert_eq!((failure.task.as_str(), failure.message.as_str()), ("t", message));
            assert_eq!(failure.codes, codes);
        }
        check(&[], "fault f", &[]);
        check(&[("message", "Throttling")], "Throttling", &["ERR_INFRA_RATE_LIMITS_EXCEEDED"]);
        check(
            &[("message", "Throttling"), ("code", "ERR_INFRA_DEPENDENCIES")],
            "Throttling",
            &["ERR_INFRA_DEPENDENCIES", "ERR_INFRA_RATE_LIMITS_EXCEEDED"],
        );
        check(&[("code", "ERR_INFRA_DEPENDENCIES")], "fault f", &["ERR_INFRA_DEPENDENCIES"]);
    }
}
