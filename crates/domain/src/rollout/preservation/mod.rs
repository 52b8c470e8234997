// SPDX-License-Identifier: Apache-2.0
//! Preservation of Machines: a failed Machine is drained and kept until its expiry instead of being deleted and replaced;
//! a running one is protected from removal by the cluster-autoscaler.
//!
//! ```text
//! annotation     Running                    Failed                     expired, or the annotation is removed
//! now            preserved                  stays preserved            released; if expired, without its annotations
//! when-failed    not preserved              preserved, drained         the same
//! auto-preserved released                   preserved, drained         the same
//! false, none    not preserved              deleted and replaced       -
//! ```
//!
//! The Node's annotation takes precedence if the Node has one, or had one that was applied; otherwise the Machine's
//! applies. A preserved Machine has an expiry (`status.currentStatus.preserveExpiryTime`), and its Node a condition.
//!
//! Source: pkg/util/provider/machinecontroller/{machine,machine_util,node}.go (`manageMachinePreservation`),
//! pkg/controller/machineset.go (`shouldFailedMachineBeTerminated`) of machine-controller-manager v0.62.1.

use api::constants::{annotation, label, taint};
use api::kubernetes::core::{Node, NodeCondition};
use api::machine::Machine;
use apimachinery::meta::{ObjectMeta, Time};
use chrono::{DateTime, Utc};

use super::machine::Phase;
use super::node;
use crate::release::Releases;

/// Releases whose machine-controller-manager preserves Machines.
pub const PRESERVED: Releases = Releases::since(147);

/// Type of the condition of a Node whose Machine is preserved, or was.
pub const CONDITION: &str = "Preserved";
/// Value of the annotation: the Machine is preserved in every phase.
pub const NOW: &str = "now";
/// Value of the annotation: the Machine is preserved while it is in phase `Failed`.
pub const WHEN_FAILED: &str = "when-failed";
/// Value of the annotation that machine-controller-manager sets on a Machine that failed.
pub const AUTO_PRESERVED: &str = "auto-preserved";
/// Value of the annotation: the Machine is not preserved.
pub const NEVER: &str = "false";

const DRAINED: &str = "Preserved node drained successfully.";
const NOT_DRAINED: &str = "Preserved node could not be drained.";
const BY_CONTROLLER: &str = "Preserved by MCM.";
const BY_USER: &str = "Preserved by user.";
const STOPPED: &str = "Preservation stopped.";

/// True for the defined values of the annotation.
fn is_known(value: &str) -> bool {
    [NOW, WHEN_FAILED, AUTO_PRESERVED, NEVER].contains(&value)
}

/// State of a Machine's preservation as recorded on its objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preservation {
    /// Annotation of the Machine.
    pub machine: Option<String>,
    /// Annotation of its Node.
    pub node: Option<String>,
    /// The Node's annotation that was applied last; empty: none.
    pub applied: String,
    /// Value of `status.currentStatus.preserveExpiryTime`.
    pub expiry: Option<DateTime<Utc>>,
    /// Condition of the Node.
    pub told: Option<PreservedCondition>,
    /// True if the cluster-autoscaler may not remove the Node.
    pub scale_down_disabled: bool,
    /// True if the Machine names a Node that does not exist.
    pub lacks_node: bool,
}

/// Condition of a Node whose Machine is preserved, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreservedCondition {
    /// True for status `True`.
    pub holds: bool,
    /// Reason of the condition.
    pub reason: String,
    /// Message of the condition.
    pub message: String,
    /// Instant of its last transition.
    pub since: DateTime<Utc>,
}

impl PreservedCondition {
    fn of(condition: &NodeCondition) -> Self {
        Self {
            holds: condition.status == "True",
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: condition.last_transition_time.0,
        }
    }

    fn to_condition(&self) -> NodeCondition {
        NodeCondition {
            r#type: CONDITION.to_owned(),
            status: if self.holds { "True" } else { "False" }.to_owned(),
            last_transition_time: Time::from(self.since),
            reason: self.reason.clone(),
            message: self.message.clone(),
            ..NodeCondition::default()
        }
    }
}

/// State of a Machine's preservation for the rules of its MachineSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// True if the Machine is kept although it failed.
    pub is_kept: bool,
    /// Expiry of the preservation.
    pub expiry: Option<Time>,
    /// True if the Machine is preserved without a user's request (`auto-preserved`).
    pub is_automatic: bool,
    /// True if the Machine failed and has no annotation.
    pub is_candidate: bool,
}

/// The annotation that requests a preservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause<'a> {
    /// Value of the annotation: [`NOW`], [`WHEN_FAILED`] or [`AUTO_PRESERVED`].
    pub value: &'a str,
    /// True for the Node's annotation, false for the Machine's.
    pub is_of_node: bool,
}

impl Preservation {
    /// Reads the state from the objects.
    pub fn of(machine: &Machine, node: Option<&Node>) -> Self {
        let value = |metadata: &ObjectMeta, key: &str| metadata.annotation(key).map(str::to_owned);
        let metadata = &machine.metadata;
        Self {
            machine: value(metadata, annotation::NODE_PRESERVE),
            node: node.and_then(|node| value(&node.metadata, annotation::NODE_PRESERVE)),
            applied: value(metadata, annotation::LAST_APPLIED_NODE_PRESERVE).unwrap_or_default(),
            expiry: machine.status.current_status.preserve_expiry_time.map(|expiry| expiry.0),
            told: node.and_then(|node| condition(&node.status.conditions)).map(PreservedCondition::of),
            scale_down_disabled: node
                .is_some_and(|node| node.metadata.annotation(annotation::SCALE_DOWN_DISABLED) == Some("true")),
            lacks_node: node.is_none() && metadata.label(label::MACHINE_NODE).is_some_and(|name| !name.is_empty()),
        }
    }

    /// Returns the Machine's annotation if it has a defined value.
    fn known_machine(&self) -> Option<&str> {
        self.machine.as_deref().filter(|value| is_known(value))
    }

    /// True if the Node's annotation has an undefined value, such as an empty one: then nothing changes.
    pub fn is_unclear(&self) -> bool {
        self.node.as_deref().is_some_and(|value| !is_known(value))
    }

    /// True if neither annotations nor expiry concern preservation.
    fn is_absent(&self) -> bool {
        self.node.is_none() && self.known_machine().is_none() && self.applied.is_empty() && self.expiry.is_none()
    }

    /// True if the Node's annotation applies, false if the Machine's does.
    fn counts_node(&self) -> bool {
        !self.lacks_node && (!self.node.as_deref().unwrap_or_default().is_empty() || !self.applied.is_empty())
    }

    /// Returns the value that applies; empty: none.
    fn value(&self) -> &str {
        let value = if self.counts_node() { self.node.as_deref() } else { self.known_machine() };
        value.unwrap_or_default()
    }

    /// Returns the annotation that applies, if it requests preservation.
    pub fn cause(&self) -> Option<Cause<'_>> {
        let value = Some(self.value()).filter(|value| [NOW, WHEN_FAILED, AUTO_PRESERVED].contains(value))?;
        Some(Cause { value, is_of_node: self.counts_node() })
    }

    /// Returns the standing of a Machine in a phase. A Machine whose expiry has passed is kept until its preservation is
    /// stopped.
    pub fn standing(&self, phase: Phase, now: DateTime<Utc>) -> Standing {
        let is_asked = !self.lacks_node && self.cause().is_some();
        Standing {
            is_kept: self.expiry.map_or(is_asked, |expiry| expiry > now || !self.is_unclear()),
            expiry: self.expiry.map(Time::from),
            is_automatic: self.machine.as_deref() == Some(AUTO_PRESERVED),
            is_candidate: phase == Phase::Failed && self.known_machine().is_none(),
        }
    }

    /// Returns the condition after an attempt to drain the Node of a failed Machine, or without an attempt if the Machine
    /// did not fail; `None` if the present condition already reports it.
    pub fn told_after(&self, drained: Option<bool>, now: DateTime<Utc>) -> Option<PreservedCondition> {
        let is_said = self.told.as_ref().is_some_and(|told| match drained {
            Some(true) => told.message.contains(DRAINED),
            Some(false) => told.message.contains(NOT_DRAINED),
            None => told.holds,
        });
        if is_said {
            return None;
        }
        let expiry = self.expiry.map(|expiry| expiry.format("%Y-%m-%d %H:%M:%S +0000 UTC").to_string());
        let until = format!("Machine preserved until {}.", expiry.unwrap_or_default());
        Some(PreservedCondition {
            holds: drained != Some(false),
            reason: if self.value() == AUTO_PRESERVED { BY_CONTROLLER } else { BY_USER }.to_owned(),
            message: match drained {
                Some(true) => format!("{DRAINED} {until}"),
                Some(false) => format!("{NOT_DRAINED} {until}"),
                None => until,
            },
            // An existing condition keeps its transition time, whatever its status.
            since: self.told.as_ref().map_or(now, |told| told.since),
        })
    }

    /// Returns the next step for a Machine in a phase.
    pub fn due(&self, phase: Phase, is_cordoned: bool, now: DateTime<Utc>) -> Due {
        if self.is_unclear() || self.is_absent() {
            return Due::Nothing;
        }
        let is_expired = self.expiry.is_some_and(|expiry| expiry <= now);
        let has_failed = phase == Phase::Failed;
        let (is_wanted, is_forgotten) = match self.value() {
            NOW => (!is_expired, is_expired),
            WHEN_FAILED => (has_failed && !is_expired, is_expired),
            AUTO_PRESERVED => (has_failed && !is_expired, is_expired || !has_failed),
            _ => (false, false),
        };
        if !is_wanted && self.expiry.is_some() {
            return Due::Change(Change::Stop { forget: is_forgotten });
        }
        if is_wanted && let Some(due) = self.due_while_wanted(has_failed, now) {
            return due;
        }
        if self.expiry.is_some() && phase == Phase::Running && is_cordoned {
            return Due::Change(Change::Uncordon);
        }
        if is_forgotten || !self.is_to_follow() {
            return Due::Nothing;
        }
        Due::Change(Change::FollowNode(self.node.clone().unwrap_or_default()))
    }

    fn due_while_wanted(&self, has_failed: bool, now: DateTime<Utc>) -> Option<Due> {
        if self.expiry.is_none() {
            return Some(Due::Change(Change::Begin));
        }
        let is_complete = self.told.as_ref().is_some_and(|told| told.holds);
        if self.lacks_node || is_complete {
            return None;
        }
        if !self.scale_down_disabled {
            return Some(Due::Change(Change::DisableScaleDown));
        }
        if has_failed {
            return Some(Due::Drain);
        }
        self.told_after(None, now).map(|told| Due::Change(Change::Tell(told)))
    }

    /// True if the Node's annotation is to be recorded on the Machine, in place of the Machine's own.
    fn is_to_follow(&self) -> bool {
        let node = self.node.as_deref().unwrap_or_default();
        let is_led = self.node.is_some() || (!self.applied.is_empty() && !self.lacks_node);
        is_led && (node != self.applied || self.known_machine().is_some())
    }
}

/// Next step of a preservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// No change until the expiry, if there is one.
    Nothing,
    /// Change of Machine and Node.
    Change(Change),
    /// Drain of the Node.
    Drain,
}

/// A change of a Machine and its Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Set the Machine's expiry.
    Begin,
    /// Protect the Node from removal by the cluster-autoscaler.
    DisableScaleDown,
    /// Set the condition on the Node.
    Tell(PreservedCondition),
    /// End the preservation of the Machine.
    Stop {
        /// True if its annotations are removed, so that it is not preserved again.
        forget: bool,
    },
    /// Allow new pods on the Node.
    Uncordon,
    /// Record the Node's annotation on the Machine, and remove the Machine's own.
    FollowNode(String),
}

fn condition(conditions: &[NodeCondition]) -> Option<&NodeCondition> {
    conditions.iter().find(|condition| condition.r#type == CONDITION)
}

/// Sets the condition, at the end of the list; unchanged status and reason keep their time.
fn set_condition(conditions: &mut Vec<NodeCondition>, told: &PreservedCondition) {
    let mut new = told.to_condition();
    if let Some(present) = condition(conditions)
        && (&present.status, &present.reason) == (&new.status, &new.reason)
    {
        new.last_transition_time = present.last_transition_time;
    }
    conditions.retain(|condition| condition.r#type != CONDITION);
    conditions.push(new);
}

/// Applies a change to a Machine. `expiry`: expiry of a preservation that begins now.
///
/// Unlike upstream, a Machine that has not run yet keeps the time of its phase, as the boot of its VM counts from it.
pub fn change_machine(change: &Change, machine: &mut Machine, expiry: DateTime<Utc>, now: DateTime<Utc>) {
    let status = &mut machine.status.current_status;
    let annotations = &mut machine.metadata.annotations;
    match change {
        Change::Begin => {
            status.preserve_expiry_time = Some(Time::from(expiry));
            if !matches!(Phase::of(&status.phase), Phase::New | Phase::Pending | Phase::CrashLoopBackOff) {
                status.last_update_time = Time::from(now);
            }
        }
        Change::Stop { forget } => {
            status.preserve_expiry_time = None;
            status.last_update_time = Time::from(now);
            if *forget {
                annotations.remove(annotation::NODE_PRESERVE);
                annotations.remove(annotation::LAST_APPLIED_NODE_PRESERVE);
            }
        }
        Change::FollowNode(value) => {
            annotations.remove(annotation::NODE_PRESERVE);
            annotations.insert(annotation::LAST_APPLIED_NODE_PRESERVE.to_owned(), value.clone());
        }
        Change::DisableScaleDown | Change::Tell(_) | Change::Uncordon => {}
    }
}

/// Applies a change to the Node of a Machine in a phase.
pub fn change_node(change: &Change, node: &mut Node, phase: Phase, now: DateTime<Utc>) {
    let annotations = &mut node.metadata.annotations;
    match change {
        Change::DisableScaleDown => {
            annotations.insert(annotation::SCALE_DOWN_DISABLED.to_owned(), "true".to_owned());
            annotations.insert(annotation::SCALE_DOWN_DISABLED_BY_MCM.to_owned(), "true".to_owned());
        }
        Change::Tell(told) => set_condition(&mut node.status.conditions, told),
        Change::Stop { forget } => {
            // Values that others have set are kept.
            if annotations.get(annotation::SCALE_DOWN_DISABLED_BY_MCM).is_some_and(|value| value == "true") {
                annotations.remove(annotation::SCALE_DOWN_DISABLED);
                annotations.remove(annotation::SCALE_DOWN_DISABLED_BY_MCM);
            }
            if *forget {
                annotations.remove(annotation::NODE_PRESERVE);
            }
            let stopped =
                PreservedCondition { holds: false, reason: STOPPED.to_owned(), message: String::new(), since: now };
            set_condition(&mut node.status.conditions, &stopped);
            if phase == Phase::Running {
                uncordon(node);
            }
        }
        Change::Uncordon => uncordon(node),
        Change::Begin | Change::FollowNode(_) => {}
    }
}

fn uncordon(node: &mut Node) {
    node.spec.unschedulable = false;
    node.spec.taints.retain(|present| present.key != taint::UNSCHEDULABLE);
}

/// True if a Node belongs to a Machine that is preserved although its Node is not ready.
///
/// Source: pkg/utils/kubernetes/health/node.go (`IsNodePreservedAndUnhealthy`) @ v1.149.0.
pub fn is_preserved_and_unhealthy<'a>(conditions: impl IntoIterator<Item = (&'a str, &'a str)>) -> bool {
    let (mut is_preserved, mut is_unready) = (false, false);
    for (type_, status) in conditions {
        is_preserved |= type_ == CONDITION && status == "True";
        is_unready |= type_ == node::READY && matches!(status, "False" | "Unknown");
    }
    is_preserved && is_unready
}

#[cfg(test)]
mod tests;
