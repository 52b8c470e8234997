// SPDX-License-Identifier: Apache-2.0
//! Steps of a Machine that is or was preserved.

use chrono::{DateTime, Utc};

use super::deletion::{is_forced, wait_for_drain};
use super::{Action, Machine, Node, Step};
use crate::rollout::drain::{Outcome, SHORT_RETRY};
use crate::rollout::preservation::{Change, Due};

/// Returns the step that the preservation of a Machine requires; `None`: no step.
pub(super) fn step(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> Option<Step> {
    let is_cordoned = node.is_some_and(|node| node.unschedulable);
    match machine.preservation.as_ref()?.due(machine.phase, is_cordoned, now) {
        Due::Nothing => None,
        Due::Change(change) => Some(Step::Act(vec![Action::Preserve(change)])),
        Due::Drain if !is_cordoned => Some(Step::Act(vec![Action::Cordon])),
        Due::Drain => Some(Step::Drain { forced: is_forced(machine, node, now) }),
    }
}

/// Returns the step that follows an attempt to drain the Node of a failed Machine. The drain is forced in the end, but
/// never abandoned.
pub(super) fn after_drain(
    machine: &Machine,
    forced: bool,
    outcome: &Outcome,
    failed_since: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Step {
    let told = |is_drained| machine.preservation.as_ref()?.told_after(Some(is_drained), now);
    let tell = |told| Step::Act(vec![Action::Preserve(Change::Tell(told))]);
    match outcome {
        Outcome::Drained => told(true).map_or(Step::Rest, tell),
        Outcome::Failed(_) => match told(false) {
            Some(told) => tell(told),
            None => wait_for_drain(machine, forced, Some(failed_since.unwrap_or(now) + SHORT_RETRY), 0),
        },
        Outcome::Waiting { until, pods_left } => wait_for_drain(machine, forced, *until, *pods_left),
    }
}
