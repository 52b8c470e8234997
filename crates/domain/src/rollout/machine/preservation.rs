// SPDX-License-Identifier: Apache-2.0
//! Steps of a Machine that is preserved, or was.

use chrono::{DateTime, Utc};

use super::deletion::{is_forced, wait_for_drain};
use super::{Action, Machine, Node, Step};
use crate::rollout::drain::{Outcome, SHORT_RETRY};
use crate::rollout::preservation::{Change, Due};

/// Step that the preservation of a Machine asks for; `None` for none.
pub(super) fn step(machine: &Machine, node: Option<&Node>, now: DateTime<Utc>) -> Option<Step> {
    let is_cordoned = node.is_some_and(|node| node.unschedulable);
    match machine.preservation.as_ref()?.due(machine.phase, is_cordoned, now) {
        Due::Nothing => None,
        Due::Change(change) => Some(Step::Act(vec![Action::Preserve(change)])),
        Due::Drain if !is_cordoned => Some(Step::Act(vec![Action::Cordon])),
        Due::Drain => Some(Step::Drain { forced: is_forced(machine, node, now) }),
    }
}

/// Step that follows from an attempt to drain the Node of a failed Machine. It is forced in the end, but never given up.
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
