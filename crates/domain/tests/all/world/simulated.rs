// SPDX-License-Identifier: Apache-2.0
//! One machine of the simulated world: its steps, its node, its pod, and its faults.

use chrono::{DateTime, TimeDelta, Utc};
use domain::rollout::Parameter;
use domain::rollout::drain::{Answer, Attempt, Outcome, Pod, Request, SHORT_RETRY, Terms};
use domain::rollout::in_place::{Reason, Update};
use domain::rollout::machine::{self, Action, Fault, Machine, Node, Phase, ProviderError, Settings, Trouble};

use super::{WorldFault, WorldFaultKind, agent, instant};

pub(super) struct SimulatedMachine {
    pub(super) set: String,
    pub(super) ordinal: i64,
    pub(super) machine: Machine,
    pub(super) node: Option<Node>,
    /// The only pod of its node.
    pub(super) pod: SimulatedPod,
    pub(super) drain: Option<Attempt>,
    /// Instant at which the drain failed.
    pub(super) drain_failed: Option<DateTime<Utc>>,
    /// True if it was just handed over.
    pub(super) arrived: bool,
    pub(super) agent: agent::Agent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SimulatedPod {
    /// No pod existed, or it was deleted.
    Gone,
    Runs,
    /// Pod that was evicted, and is deleted at this instant.
    EndsAt(i64),
}

/// Durations and faults for machines of a MachineDeployment.
pub(super) struct Physics<'a> {
    pub(super) now: i64,
    pub(super) join: i64,
    pub(super) drain: i64,
    pub(super) delete: i64,
    pub(super) in_place: i64,
    pub(super) uneven: i64,
    pub(super) is_drain_forced: bool,
    pub(super) settings: &'a Settings,
    pub(super) faults: &'a mut Vec<WorldFault>,
    pub(super) forced: &'a mut Vec<(String, i64)>,
    pub(super) md: &'a str,
}

impl Physics<'_> {
    pub(super) fn hit(&self, ordinal: i64, is: impl Fn(&WorldFaultKind) -> bool) -> Option<usize> {
        self.faults.iter().position(|fault| {
            fault.md == self.md
                && fault.machine.is_none_or(|machine| machine == ordinal)
                && fault.times != Some(0)
                && is(&fault.kind)
        })
    }

    pub(super) fn let_hit(&mut self, ordinal: i64, is: impl Fn(&WorldFaultKind) -> bool) {
        let found = self.hit(ordinal, is).expect("a step meets what it was told of");
        if let Some(times) = &mut self.faults[found].times {
            *times -= 1;
        }
    }

    pub(super) fn trouble(&self, ordinal: i64, lasting: &[Fault]) -> Trouble {
        let has = |kind: WorldFaultKind| self.hit(ordinal, |known| *known == kind).is_some();
        let error = |found: Option<usize>| {
            let code = match &self.faults[found?].kind {
                WorldFaultKind::CreateError(code) | WorldFaultKind::VmDeleteError(code) => code.clone(),
                _ => return None,
            };
            Some(ProviderError { code, message: String::new() })
        };
        let met = |fault, kind| lasting.contains(&fault) || has(kind);
        Trouble {
            create_error: error(self.hit(ordinal, |kind| matches!(kind, WorldFaultKind::CreateError(_)))),
            never_joins: met(Fault::NeverJoins, WorldFaultKind::NeverJoins),
            joins_not_ready: met(Fault::JoinsNotReady, WorldFaultKind::JoinsNotReady),
            critical_components_stuck: met(Fault::CriticalComponentsStuck, WorldFaultKind::CriticalComponentsStuck),
            vm_delete_error: error(self.hit(ordinal, |kind| matches!(kind, WorldFaultKind::VmDeleteError(_)))),
            unhealthy: has(WorldFaultKind::Unhealthy),
            lasting: lasting.to_vec(),
        }
    }

    /// Returns the API server's answer to a request to remove a pod.
    pub(super) fn answer(&self, ordinal: i64, request: Request) -> Answer {
        let found = self.hit(ordinal, |kind| matches!(kind, WorldFaultKind::Budget { .. }));
        match found.map(|found| &self.faults[found].kind) {
            Some(WorldFaultKind::Budget { misconfigured, until })
                if request == Request::Evict && until.is_none_or(|until| self.now < until) =>
            {
                if *misconfigured {
                    Answer::Misconfigured("n/b".into())
                } else {
                    Answer::Refused
                }
            }
            _ => Answer::Accepted,
        }
    }
}

pub(super) fn node(created: i64, ready: bool) -> Node {
    Node {
        created: instant(created),
        ready_since: ready.then(|| instant(created)),
        is_healthy: ready,
        lost_since: None,
        critical_components_missing: !ready,
        unschedulable: false,
        is_terminating: false,
        update: Update::default(),
    }
}

impl SimulatedMachine {
    /// Applies faults that do not depend on a step.
    pub(super) fn let_hit_now(&mut self, physics: &mut Physics<'_>) -> bool {
        if self.machine.phase != Phase::Running {
            return false;
        }
        let now = instant(physics.now);
        if self.node.is_some() && physics.hit(self.ordinal, |kind| *kind == WorldFaultKind::NodeDeleted).is_some() {
            physics.let_hit(self.ordinal, |kind| *kind == WorldFaultKind::NodeDeleted);
            self.node = None;
            self.pod = SimulatedPod::Gone;
            return true;
        }
        let is_unhealthy = physics.hit(self.ordinal, |kind| *kind == WorldFaultKind::Unhealthy).is_some();
        match &mut self.node {
            Some(node) if is_unhealthy && node.is_healthy => {
                (node.ready_since, node.is_healthy, node.lost_since) = (None, false, Some(now));
                true
            }
            _ => false,
        }
    }

    pub(super) fn step(&mut self, physics: &mut Physics<'_>) -> machine::Step {
        let now = instant(physics.now);
        let slower = if self.ordinal % 2 == 0 { physics.uneven } else { 0 };
        let stretched = |seconds: i64| seconds + seconds * slower / 2;
        let duration = |parameter: Parameter| {
            TimeDelta::seconds(match parameter {
                Parameter::Boot => stretched(physics.join),
                Parameter::VmDelete => stretched(physics.delete),
                _ => 0,
            })
        };
        let step = machine::step(&self.machine, self.node.as_ref(), duration, now);
        let machine::Step::Drain { forced } = step else { return step };
        let begun =
            self.machine.deleting.or(self.machine.selected).expect("machines that go or are selected are drained");
        if matches!(self.pod, SimulatedPod::EndsAt(end) if end <= physics.now) {
            self.pod = SimulatedPod::Gone;
        }
        let is_over = self.drain_failed.is_some_and(|failed| now >= failed + SHORT_RETRY);
        let known = self.drain.take().filter(|attempt| attempt.is_forced() == forced && !is_over);
        let mut attempt = known.unwrap_or_else(|| {
            self.drain_failed = None;
            let settings = &self.machine.settings;
            let terms = Terms::new(forced, settings.max_evict_retries, settings.drain_timeout, TimeDelta::zero());
            let pod = Pod { name: "p".into(), grace: TimeDelta::seconds(30), ..Pod::default() };
            let pods = if self.pod == SimulatedPod::Gone { vec![] } else { vec![pod] };
            Attempt::begin(&self.machine.name, terms, pods, now)
        });
        for _ in 0..2 {
            for (index, request) in attempt.requests(|_| self.pod != SimulatedPod::Gone, now) {
                let answer = physics.answer(self.ordinal, request);
                if answer == Answer::Accepted {
                    let hangs = physics.hit(self.ordinal, |kind| *kind == WorldFaultKind::Hangs).is_some();
                    if request == Request::Delete {
                        physics.forced.push((self.machine.name.clone(), physics.now - begun.timestamp()));
                    }
                    self.pod = match request {
                        Request::Delete => SimulatedPod::Gone,
                        Request::Evict if hangs => SimulatedPod::EndsAt(i64::from(i32::MAX)),
                        Request::Evict => SimulatedPod::EndsAt(physics.now + stretched(physics.drain)),
                    };
                }
                attempt.answer(index, request, answer, now);
            }
        }
        let outcome = attempt.outcome();
        if matches!(outcome, Outcome::Failed(_)) && self.drain_failed.is_none() {
            self.drain_failed = Some(now);
        }
        self.drain = Some(attempt);
        machine::after_drain(&self.machine, forced, &outcome, self.drain_failed, now)
    }

    pub(super) fn apply(&mut self, action: Action, physics: &mut Physics<'_>) {
        let now = physics.now;
        let machine = &mut self.machine;
        match action {
            Action::Hit(fault) => {
                physics.let_hit(self.ordinal, |kind| match fault {
                    Fault::CreateError => matches!(kind, WorldFaultKind::CreateError(_)),
                    Fault::VmDeleteError => matches!(kind, WorldFaultKind::VmDeleteError(_)),
                    Fault::NeverJoins => *kind == WorldFaultKind::NeverJoins,
                    Fault::JoinsNotReady => *kind == WorldFaultKind::JoinsNotReady,
                    Fault::CriticalComponentsStuck => *kind == WorldFaultKind::CriticalComponentsStuck,
                });
                machine.trouble.lasting.push(fault);
            }
            Action::CreateBootstrapToken | Action::DeleteBootstrapToken => {}
            Action::RecordVm => machine.has_vm = true,
            Action::SetStatus { phase, operation, .. } => {
                if machine.phase != phase {
                    machine.phase_since = instant(now);
                }
                machine.phase = phase;
                machine.error_code.clone_from(&operation.code);
                machine.operation = operation;
                machine.operation_since = instant(now);
            }
            Action::SetOperation(operation) => {
                machine.operation = operation;
                machine.operation_since = instant(now);
            }
            Action::RegisterNode => {
                self.node = Some(node(now, false));
                machine.has_joined = true;
                self.pod = SimulatedPod::Runs;
            }
            Action::MarkNodeReady => {
                let node = self.node.as_mut().expect("a node");
                (node.ready_since, node.is_healthy) = (Some(instant(now)), true);
            }
            Action::RemoveCriticalTaint => self.node.as_mut().expect("a node").critical_components_missing = false,
            Action::MarkTerminating => self.node.as_mut().expect("a node").is_terminating = true,
            Action::Cordon => self.node.as_mut().expect("a node").unschedulable = true,
            Action::SetUpdate(reason) => {
                let update = &mut self.node.as_mut().expect("a node").update;
                (update.reason, update.since) = (Some(reason), Some(instant(now)));
                if reason == Reason::DrainSuccessful {
                    (self.drain, self.drain_failed) = (None, None);
                }
            }
            // No Machine of these worlds is preserved.
            Action::Preserve(_) => {}
            Action::DeleteNode => self.node = None,
            // The world drops machines without a set.
            Action::RemoveFinalizer => self.set.clear(),
        }
    }
}
