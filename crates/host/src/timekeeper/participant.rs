// SPDX-License-Identifier: Apache-2.0
//! What a participant owes, and whether it has seen the barrier.

use clock::Instant;
use eventlog::Revision;
use process::participant::{Idle, Told};

/// What is known of a participant.
#[derive(Debug, Default)]
pub(super) struct Participant {
    /// Grant that it was sent last.
    pub(super) granted: u64,
    /// It needs no grants of instants at which it has no timer.
    pub(super) reads_dial: bool,
    /// Its last report.
    pub(super) idle: Option<Idle>,
    /// True for a command, which ends with its connection.
    pub(super) is_command: bool,
    /// True for a thread of the host's process.
    pub(super) is_own: bool,
    /// Since when it owes an answer, by [`super::patience`].
    pub(super) owes_since: Option<Instant>,
}

/// The barrier that was asked for last.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    pub(super) number: u64,
    pub(super) at: Option<Revision>,
    /// What the API servers say of their watches; `None`: they have not answered.
    pub(super) told: Option<Told>,
}

impl Barrier {
    /// Whether the barrier stands and nothing before it is on the way to a participant.
    pub(super) fn is_seen_by(&self, participant: &Participant) -> bool {
        let (Some(told), Some(idle)) = (&self.told, &participant.idle) else { return false };
        told.is_read(&idle.watching)
    }
}

impl Participant {
    /// It has done everything that its last grant brought.
    pub(super) fn has_carried_out(&self) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.grant >= self.granted)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.idle.as_ref()?.next
    }
}
