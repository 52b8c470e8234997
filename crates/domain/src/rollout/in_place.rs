// SPDX-License-Identifier: Apache-2.0
//! Updates of nodes in place: the state recorded on a Node, and the configuration that the Node is to run.
//!
//! ```text
//! candidate ─► selected ─► drained ─► ready ─► gardener-node-agent updates ─► successful ─► handed over to the new MachineSet
//!              (user or                                                    └► failed: stays selected and cordoned
//!               machine-controller-manager)
//! ```
//!
//! Three labels and a condition of the Node are the only memory: the labels record the request and the result, the
//! condition records the progress. machine-controller-manager writes the condition ([`super::machine`]) and, for its
//! MachineDeployment, the labels ([`super::deployment`]); gardener-node-agent writes the result.
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

/// Type of the condition that records the progress of a Node's update. Its status is always `True`.
pub const CONDITION: &str = "InPlaceUpdate";
/// Value of labels that are set.
pub const TRUE: &str = "true";
/// Value of the result label: the update succeeded.
pub const SUCCESSFUL: &str = "successful";
/// Value of the result label: the update failed.
pub const FAILED: &str = "failed";

/// Progress of a Node's update: the reason of condition `InPlaceUpdate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The Node's MachineSet is an old one.
    CandidateForUpdate,
    /// The Node was selected: it is drained.
    SelectedForUpdate,
    /// The Node's pods were deleted.
    DrainSuccessful,
    /// gardener-node-agent may update it.
    ReadyForUpdate,
    /// The update succeeded.
    UpdateSuccessful,
    /// The update failed.
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

    /// True if the Node was selected and there is no result yet.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::SelectedForUpdate | Self::DrainSuccessful | Self::ReadyForUpdate)
    }

    /// Returns the reason for the value of the condition's field; `None` for an unknown value.
    pub fn of(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == value)
    }

    /// Returns the value of the condition's field.
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

    /// Returns the condition's message; `failure` is the reason recorded on the Node.
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
    /// The Node runs the desired configuration.
    Successful,
    /// The Node does not run it.
    Failed,
}

/// State of an update as recorded on a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// True if the candidate label is set: its MachineSet is an old one.
    pub candidate: bool,
    /// True if the selection label is set, with any value.
    pub selected: bool,
    /// Result label.
    pub outcome: Option<Outcome>,
    /// Reason of the condition.
    pub reason: Option<Reason>,
    /// Transition time of the condition.
    pub since: Option<DateTime<Utc>>,
    /// Failure annotation: reason of the failure.
    pub failure: String,
}

impl Update {
    /// Reads the state from a Node.
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

    /// True if gardener-node-agent may update the Node and has not done so yet.
    pub fn is_awaited(&self) -> bool {
        self.reason == Some(Reason::ReadyForUpdate) && self.outcome.is_none()
    }

    /// True if the Node was updated and its Machine can be handed over to the new MachineSet.
    pub fn is_done(&self) -> bool {
        self.reason == Some(Reason::UpdateSuccessful) && self.outcome == Some(Outcome::Successful)
    }
}

/// Sets the condition.
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

/// Removes the labels and the annotation of an update once the Machine was handed over; keeps the condition.
pub fn clear(node: &mut Node) {
    for label in [label::CANDIDATE_FOR_UPDATE, label::SELECTED_FOR_UPDATE, label::UPDATE_RESULT] {
        node.metadata.labels.remove(label);
    }
    node.metadata.annotations.remove(annotation::UPDATE_FAILED_REASON);
}

/// Configuration that a node of an in-place pool applies only when it is ready for an update: the inputs of the pool's
/// in-place hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration(BTreeMap<String, String>);

const OPERATING_SYSTEM: &str = "operatingSystem";
const AUTHORITIES: &str = "certificateAuthorities";
const SERVICE_ACCOUNT_KEY: &str = "serviceAccountKey";

/// Returns the name of a field in a [`Configuration`].
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
    /// Returns the desired configuration of a pool's nodes.
    pub fn wanted(pool: &HashInputs) -> Self {
        Self(pool.in_place_inputs().into_iter().map(|(field, value)| (name(field).to_owned(), value)).collect())
    }

    /// Parses the value of an annotation; empty for invalid text.
    pub fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Returns the version of the operating system.
    pub fn operating_system(&self) -> &str {
        self.0.get(OPERATING_SYSTEM).map_or("", String::as_str)
    }

    /// Returns the work required on a node that runs `applied`.
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

/// Formats the value of an annotation: JSON, sorted by name.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).unwrap_or_default())
    }
}

/// The parts of an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// True if the operating system changes: the node restarts.
    pub operating_system: bool,
    /// True if the kubelet's minor version or settings change: the kubelet restarts.
    pub kubelet: bool,
    /// True if certificate authorities or the service account key change.
    pub credentials: bool,
}

impl Work {
    /// True if any work is required.
    pub fn is_any(self) -> bool {
        self.operating_system || self.kubelet || self.credentials
    }

    /// Returns the sum of the parts' durations; `duration` returns the duration of one part.
    pub fn duration(self, duration: impl Fn(Parameter) -> TimeDelta) -> TimeDelta {
        let parts = [
            (self.operating_system, Parameter::InPlaceOperatingSystem),
            (self.kubelet, Parameter::InPlaceKubelet),
            (self.credentials, Parameter::InPlaceCredentials),
        ];
        parts.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, part)| duration(part)).sum()
    }

    /// Returns the time for which the Node is not Ready at the end: restart of the machine, or of the kubelet.
    pub fn outage(self) -> TimeDelta {
        TimeDelta::seconds(match self {
            Self { operating_system: true, .. } => 40,
            Self { kubelet: true, .. } => 5,
            _ => 0,
        })
    }
}

/// A failure of gardener-node-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The command that updates the operating system ends with an error.
    Command,
    /// The command that updates the operating system ends with an error after repetitions because of network problems.
    NetworkProblems,
    /// The machine boots with its previous operating system.
    RolledBack {
        /// Desired version.
        desired: String,
        /// Actual version.
        current: String,
    },
    /// The kubelet is not healthy after it restarted.
    Kubelet,
}

impl Failure {
    /// Returns the additional duration of an attempt that fails in this way: 5 minutes for a command that is repeated
    /// because of network problems, and for the health check of a kubelet.
    pub const fn delay(&self) -> TimeDelta {
        match self {
            Self::NetworkProblems | Self::Kubelet => TimeDelta::minutes(5),
            Self::Command | Self::RolledBack { .. } => TimeDelta::zero(),
        }
    }

    /// True if the same version is not tried again.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::RolledBack { .. })
    }
}

/// Formats the reason that is recorded on the Node.
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

/// Activity of gardener-node-agent on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The agent does nothing.
    Waits,
    /// The agent has worked since the node became ready for its update.
    Since(DateTime<Utc>),
    /// The last attempt failed; the agent retries after its usual delay.
    Again,
}

/// Returns the activity of gardener-node-agent on a node. `tried` is the version of the operating system that the agent
/// tried last, `current` the node's version, `desired` the version it is to run.
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
    fn an_update_has_only_necessary_steps() {
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

    /// A version that was rolled back is tried again when the user removes the annotation or requests another version.
    #[test]
    fn an_agent_works_on_ready_and_failed_nodes() {
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
    fn failures_have_upstreams_texts() {
        let rolled_back = Failure::RolledBack { desired: "2.0".into(), current: "1.0".into() }.to_string();
        let expected = "OS update might have failed and rolled back to the previous version. Desired version: \"2.0\", \
                        Current version: \"1.0\"";
        assert_eq!(rolled_back, expected);
        assert_eq!(Failure::Command.to_string(), "failed to execute OS update command: exit status 1");
    }

    #[test]
    fn a_node_is_updated_by_label_and_condition() {
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
