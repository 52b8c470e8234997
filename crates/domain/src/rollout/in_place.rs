// SPDX-License-Identifier: Apache-2.0
//! Updates of nodes in place: what a Node says of its own, and what it is to run.
//!
//! ```text
//! candidate ─► selected ─► drained ─► ready ─► gardener-node-agent updates ─► successful ─► handed over to the new MachineSet
//!              (user or                                                    └► failed: stays selected and cordoned
//!               machine-controller-manager)
//! ```
//!
//! Three labels and a condition of the Node are the only memory: labels say what is wanted and what the result is, the
//! condition says how far it is. machine-controller-manager writes the condition ([`super::machine`]), its
//! MachineDeployment the labels
//! ([`super::deployment`]), gardener-node-agent the result.
//!
//! Source: docs/proposals/31-inplace-node-update.md and pkg/nodeagent/controller/operatingsystemconfig @ v1.120.0;
//! machine-controller-manager v0.62.

use std::collections::BTreeMap;
use std::fmt;

use api::constants::{annotation, label};
use api::kubernetes::core::{Node, NodeCondition};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use super::timing::Parameter;
use crate::worker_pool::{Field, HashInputs};

/// Type of the condition that says how far the update of a Node is. Its status is always `True`.
pub const CONDITION: &str = "InPlaceUpdate";
/// Value of labels that say yes.
pub const TRUE: &str = "true";
/// Value of the label for the result: the update is done.
pub const SUCCESSFUL: &str = "successful";
/// Value of the label for the result: the update did not succeed.
pub const FAILED: &str = "failed";

/// How far the update of a Node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its MachineSet is an old one.
    CandidateForUpdate,
    /// It is its turn: it is drained.
    SelectedForUpdate,
    /// Its pods are gone.
    DrainSuccessful,
    /// gardener-node-agent may update it.
    ReadyForUpdate,
    /// The update is done.
    UpdateSuccessful,
    /// The update did not succeed.
    UpdateFailed,
}

impl Reason {
    const ALL: [Self; 6] = [
        Self::CandidateForUpdate,
        Self::SelectedForUpdate,
        Self::DrainSuccessful,
        Self::ReadyForUpdate,
        Self::UpdateSuccessful,
        Self::UpdateFailed,
    ];

    /// The Node was selected, and there is no result yet.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::SelectedForUpdate | Self::DrainSuccessful | Self::ReadyForUpdate)
    }

    /// The reason of the condition's field.
    pub fn of(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == value)
    }

    /// The field's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CandidateForUpdate => "CandidateForUpdate",
            Self::SelectedForUpdate => "SelectedForUpdate",
            Self::DrainSuccessful => "DrainSuccessful",
            Self::ReadyForUpdate => "ReadyForUpdate",
            Self::UpdateSuccessful => "UpdateSuccessful",
            Self::UpdateFailed => "UpdateFailed",
        }
    }

    /// The condition's message; `failure` is the reason that the Node gives.
    fn message(self, failure: &str) -> String {
        match self {
            Self::CandidateForUpdate => "Node is a candidate for in-place update".to_owned(),
            Self::SelectedForUpdate => "Node is selected for in-place update".to_owned(),
            Self::DrainSuccessful => "Node draining successful".to_owned(),
            Self::ReadyForUpdate => "Node is ready for in-place update".to_owned(),
            Self::UpdateSuccessful => "Node in-place update successful".to_owned(),
            Self::UpdateFailed => format!("Node in-place update failed: {failure}"),
        }
    }
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The Node runs what it should.
    Successful,
    /// It does not.
    Failed,
}

/// What a Node says of its update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Label: its MachineSet is an old one.
    pub candidate: bool,
    /// Label: it is its turn. Only that there is one counts.
    pub selected: bool,
    /// Label: the result.
    pub outcome: Option<Outcome>,
    /// Reason of the condition.
    pub reason: Option<Reason>,
    /// Since when the condition has it.
    pub since: Option<DateTime<Utc>>,
    /// Annotation: why it failed.
    pub failure: String,
}

impl Update {
    /// What a Node says.
    pub fn of(node: &Node) -> Self {
        let metadata = &node.metadata;
        let condition = node.status.conditions.iter().find(|condition| condition.r#type == CONDITION);
        Self {
            candidate: metadata.labels.contains_key(label::CANDIDATE_FOR_UPDATE),
            selected: metadata.labels.contains_key(label::SELECTED_FOR_UPDATE),
            outcome: match metadata.label(label::UPDATE_RESULT) {
                Some(SUCCESSFUL) => Some(Outcome::Successful),
                Some(FAILED) => Some(Outcome::Failed),
                _ => None,
            },
            reason: condition.and_then(|condition| Reason::of(&condition.reason)),
            since: condition.map(|condition| condition.last_transition_time.0),
            failure: metadata.annotation(annotation::UPDATE_FAILED_REASON).unwrap_or_default().to_owned(),
        }
    }

    /// gardener-node-agent may update the Node, and has not yet.
    pub fn is_awaited(&self) -> bool {
        self.reason == Some(Reason::ReadyForUpdate) && self.outcome.is_none()
    }

    /// The Node was updated, and its Machine can be handed over to the new MachineSet.
    pub fn is_done(&self) -> bool {
        self.reason == Some(Reason::UpdateSuccessful) && self.outcome == Some(Outcome::Successful)
    }
}

/// Writes the condition.
pub fn set_condition(conditions: &mut Vec<NodeCondition>, reason: Reason, failure: &str, now: Time) {
    let new = NodeCondition {
        r#type: CONDITION.to_owned(),
        status: "True".to_owned(),
        last_heartbeat_time: now,
        last_transition_time: now,
        reason: reason.as_str().to_owned(),
        message: reason.message(failure),
    };
    match conditions.iter_mut().find(|condition| condition.r#type == CONDITION) {
        Some(present) => *present = new,
        None => conditions.push(new),
    }
}

/// A Machine was handed over: nothing of the update is left on its Node but the condition.
pub fn clear(node: &mut Node) {
    for label in [label::CANDIDATE_FOR_UPDATE, label::SELECTED_FOR_UPDATE, label::UPDATE_RESULT] {
        node.metadata.labels.remove(label);
    }
    node.metadata.annotations.remove(annotation::UPDATE_FAILED_REASON);
}

/// What a node of an in-place pool applies only when it is ready for an update: the fields that the pool's in-place hash is
/// made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration(BTreeMap<String, String>);

const OPERATING_SYSTEM: &str = "operatingSystem";
const AUTHORITIES: &str = "certificateAuthorities";
const SERVICE_ACCOUNT_KEY: &str = "serviceAccountKey";

/// The name of a field in a [`Configuration`].
const fn name(field: Field) -> &'static str {
    match field {
        Field::MachineImageVersion => OPERATING_SYSTEM,
        Field::CaRotation => AUTHORITIES,
        Field::ServiceAccountKeyRotation => SERVICE_ACCOUNT_KEY,
        Field::KubeletReserved => "kubeletReserved",
        Field::KubeletEvictionHard => "kubeletEvictionHard",
        Field::KubeletCpuManagerPolicy => "kubeletCPUManagerPolicy",
        _ => "kubelet",
    }
}

impl Configuration {
    /// What the nodes of a pool are to run.
    pub fn wanted(pool: &HashInputs) -> Self {
        Self(pool.in_place_inputs().into_iter().map(|(field, value)| (name(field).to_owned(), value)).collect())
    }

    /// From an annotation; nothing of a text that is none.
    pub fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Version of the operating system.
    pub fn operating_system(&self) -> &str {
        self.0.get(OPERATING_SYSTEM).map_or("", String::as_str)
    }

    /// What has to be done on a node that runs `applied`.
    pub fn work(&self, applied: &Self) -> Work {
        let mut work = Work::default();
        let names = self.0.keys().chain(applied.0.keys());
        for name in names.filter(|name| self.0.get(*name) != applied.0.get(*name)) {
            match name.as_str() {
                OPERATING_SYSTEM => work.operating_system = true,
                AUTHORITIES | SERVICE_ACCOUNT_KEY => work.credentials = true,
                _ => work.kubelet = true,
            }
        }
        work
    }
}

/// As the value of an annotation: JSON, sorted by name.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).unwrap_or_default())
    }
}

/// The parts of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Another operating system: the node restarts.
    pub operating_system: bool,
    /// Another minor version of the kubelet, or other settings: the kubelet restarts.
    pub kubelet: bool,
    /// Other authorities, or another service account key.
    pub credentials: bool,
}

impl Work {
    /// Whether there is anything to do.
    pub fn is_any(self) -> bool {
        self.operating_system || self.kubelet || self.credentials
    }

    /// How long it takes: the sum of the parts, of which `duration` tells one.
    pub fn duration(self, duration: impl Fn(Parameter) -> TimeDelta) -> TimeDelta {
        let parts = [
            (self.operating_system, Parameter::InPlaceOperatingSystem),
            (self.kubelet, Parameter::InPlaceKubelet),
            (self.credentials, Parameter::InPlaceCredentials),
        ];
        parts.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, part)| duration(part)).sum()
    }

    /// For how long the Node is not Ready at the end: the restart of the machine, or of the kubelet.
    pub fn outage(self) -> TimeDelta {
        TimeDelta::seconds(match self {
            Self { operating_system: true, .. } => 40,
            Self { kubelet: true, .. } => 5,
            _ => 0,
        })
    }
}

/// A way in which gardener-node-agent fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The command that updates the operating system ends with an error.
    Command,
    /// The same, after it has been repeated because of network problems.
    NetworkProblems,
    /// The machine comes back with the operating system of before.
    RolledBack {
        /// Version that it was to have.
        desired: String,
        /// Version that it has.
        current: String,
    },
    /// The kubelet is not healthy after it restarted.
    Kubelet,
}

impl Failure {
    /// How much longer an attempt takes that fails so: a command that meets network problems is repeated, and a kubelet is
    /// asked, for 5 minutes.
    pub const fn delay(&self) -> TimeDelta {
        match self {
            Self::NetworkProblems | Self::Kubelet => TimeDelta::minutes(5),
            Self::Command | Self::RolledBack { .. } => TimeDelta::zero(),
        }
    }

    /// The same version is not tried again.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::RolledBack { .. })
    }
}

/// The reason that the Node gives.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("failed to execute OS update command: exit status 1"),
            Self::NetworkProblems => f.write_str("failed to execute OS update command: network problems"),
            Self::RolledBack { desired, current } => write!(
                f,
                "OS update might have failed and rolled back to the previous version. Desired version: {desired:?}, Current \
                 version: {current:?}"
            ),
            Self::Kubelet => f.write_str("kubelet is not healthy after in-place update: context deadline exceeded"),
        }
    }
}

/// Whether gardener-node-agent works on a node, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It does not.
    Waits,
    /// It does, since the node became ready for its update.
    Since(DateTime<Utc>),
    /// The last attempt failed: it tries again after its usual delay.
    Again,
}

/// Whether gardener-node-agent works on a node. `tried` and `current` are the versions of the operating system that it tried
/// last and that the node runs, `desired` the one that it is to run.
pub fn turn(update: &Update, work: Work, tried: Option<&str>, (desired, current): (&str, &str)) -> Turn {
    match (update.outcome, update.since) {
        (None, Some(since)) if update.is_awaited() => Turn::Since(since),
        (Some(Outcome::Failed), _) => {
            let rolled_back = Failure::RolledBack { desired: desired.to_owned(), current: current.to_owned() };
            let is_given_up =
                work.operating_system && tried == Some(desired) && update.failure == rolled_back.to_string();
            if is_given_up { Turn::Waits } else { Turn::Again }
        }
        _ => Turn::Waits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(fields: &[(&str, &str)]) -> Configuration {
        Configuration(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// "An in-place update lasts the sum of the applicable parts": node-rollout 7.1.
    #[test]
    fn an_update_does_what_differs() {
        let old = configuration(&[("kubelet", "1.31"), ("operatingSystem", "1.0.0")]);
        for (fields, expected) in [
            (&[("kubelet", "1.31"), ("operatingSystem", "1.0.0")][..], (false, false, false)),
            (&[("kubelet", "1.31"), ("operatingSystem", "2.0.0")], (true, false, false)),
            (&[("kubelet", "1.32"), ("operatingSystem", "1.0.0")], (false, true, false)),
            (
                &[("kubelet", "1.31"), ("operatingSystem", "1.0.0"), ("certificateAuthorities", "t")],
                (false, false, true),
            ),
            (&[("kubelet", "1.31"), ("operatingSystem", "1.0.0"), ("kubeletReserved", "80m")], (false, true, false)),
            (&[("kubelet", "1.32"), ("operatingSystem", "2.0.0"), ("serviceAccountKey", "t")], (true, true, true)),
        ] {
            let work = configuration(fields).work(&old);
            assert_eq!((work.operating_system, work.kubelet, work.credentials), expected, "{fields:?}");
            assert_eq!(work.is_any(), expected != (false, false, false));
        }
        let all = Work { operating_system: true, kubelet: true, credentials: true };
        assert_eq!(all.duration(Parameter::default_base), TimeDelta::seconds(180 + 20 + 15));
        assert_eq!(Work { operating_system: false, ..all }.duration(Parameter::default_base), TimeDelta::seconds(35));
        assert_eq!(Work::default().outage(), TimeDelta::zero());
    }

    #[test]
    fn a_configuration_survives_its_annotation() {
        let written = configuration(&[("kubelet", "1.31"), ("operatingSystem", "1.0.0")]);
        assert_eq!(written.to_string(), r#"{"kubelet":"1.31","operatingSystem":"1.0.0"}"#);
        assert_eq!(Configuration::parse(&written.to_string()), written);
        assert_eq!(Configuration::parse("no JSON"), Configuration::default());
    }

    #[test]
    fn the_condition_is_written_once_and_changed() {
        let [first, second] = [0, 60].map(|seconds| Time::from(DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)));
        let mut node = Node::default();
        set_condition(&mut node.status.conditions, Reason::CandidateForUpdate, "", first);
        set_condition(&mut node.status.conditions, Reason::UpdateFailed, "no room", second);
        let [condition] = &node.status.conditions[..] else { panic!("one condition") };
        assert_eq!(condition.message, "Node in-place update failed: no room");
        node.metadata.labels.insert(label::UPDATE_RESULT.to_owned(), FAILED.to_owned());
        let update = Update::of(&node);
        assert_eq!((update.reason, update.since), (Some(Reason::UpdateFailed), Some(second.0)));
        assert_eq!(update.outcome, Some(Outcome::Failed));
        clear(&mut node);
        assert_eq!(Update::of(&node).outcome, None);
    }

    /// A version that a machine came back from is tried again when the user removes the annotation, or wants another one.
    #[test]
    fn an_agent_works_on_nodes_that_are_ready_and_on_those_that_failed() {
        let both = ("2.0", "1.0");
        let at = DateTime::UNIX_EPOCH;
        let update = |reason, outcome, failure: &str| Update {
            reason: Some(reason),
            outcome,
            since: Some(at),
            failure: failure.to_owned(),
            ..Update::default()
        };
        let system = Work { operating_system: true, ..Work::default() };
        let ready = update(Reason::ReadyForUpdate, None, "");
        assert_eq!(turn(&ready, system, None, both), Turn::Since(at));
        assert_eq!(turn(&ready, system, Some("2.0"), both), Turn::Since(at), "the attempt has begun");
        for reason in [Reason::CandidateForUpdate, Reason::SelectedForUpdate, Reason::DrainSuccessful] {
            assert_eq!(turn(&update(reason, None, ""), system, None, both), Turn::Waits);
        }
        let done = update(Reason::UpdateSuccessful, Some(Outcome::Successful), "");
        assert_eq!(turn(&done, system, None, both), Turn::Waits);
        let text = Failure::RolledBack { desired: "2.0".into(), current: "1.0".into() }.to_string();
        let rolled_back = update(Reason::UpdateFailed, Some(Outcome::Failed), &text);
        assert_eq!(turn(&rolled_back, system, Some("2.0"), both), Turn::Waits);
        assert_eq!(turn(&rolled_back, system, None, both), Turn::Again);
        assert_eq!(turn(&rolled_back, system, Some("3.0"), ("3.0", "1.0")), Turn::Again);
        let command = update(Reason::UpdateFailed, Some(Outcome::Failed), &Failure::Command.to_string());
        assert_eq!(turn(&command, system, Some("2.0"), both), Turn::Again);
    }

    #[test]
    fn failures_are_told_as_upstream_does() {
        let rolled_back = Failure::RolledBack { desired: "2.0".into(), current: "1.0".into() }.to_string();
        let expected = "OS update might have failed and rolled back to the previous version. Desired version: \"2.0\", \
                        Current version: \"1.0\"";
        assert_eq!(rolled_back, expected);
        assert_eq!(Failure::Command.to_string(), "failed to execute OS update command: exit status 1");
    }

    #[test]
    fn a_node_is_updated_when_label_and_condition_say_so() {
        let update = |reason, outcome| Update { outcome, reason, ..Update::default() };
        for (reason, outcome, is_done) in [
            (Some(Reason::UpdateSuccessful), Some(Outcome::Successful), true),
            (Some(Reason::UpdateSuccessful), None, false),
            (Some(Reason::UpdateFailed), Some(Outcome::Successful), false),
            (Some(Reason::UpdateFailed), Some(Outcome::Failed), false),
            (None, None, false),
        ] {
            assert_eq!(update(reason, outcome).is_done(), is_done, "{reason:?} {outcome:?}");
        }
    }
}
