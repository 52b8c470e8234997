// SPDX-License-Identifier: Apache-2.0
//! State of a participant: its due answers, and the barrier that it has seen.

use clock::Instant;
use eventlog::Revision;
use process::participant::{Idle, LineCounts};

/// State of a participant.
#[derive(Debug, Default)]
pub(super) struct Participant {
    /// Number of its latest grant.
    pub(super) granted: u64,
    /// True if it reads the dial: it needs no grants of instants at which it has no timer.
    pub(super) reads_dial: bool,
    /// Latest report; `None`: it works.
    pub(super) idle: Option<Idle>,
    /// True for a command, which ends with its connection.
    pub(super) is_command: bool,
    /// True for a thread of the host's process.
    pub(super) is_own: bool,
    /// Instant since which an answer is due, by [`super::patience`]; `None`: none is due.
    pub(super) owes_since: Option<Instant>,
}

/// Latest barrier.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    pub(super) number: u64,
    pub(super) at: Option<Revision>,
    /// Line counts of the API servers; `None`: they have not all reported.
    pub(super) line_counts: Option<LineCounts>,
}

impl Barrier {
    /// True if the barrier is complete and the participant has read all lines before it.
    pub(super) fn is_seen_by(&self, participant: &Participant) -> bool {
        let (Some(line_counts), Some(idle)) = (&self.line_counts, &participant.idle) else { return false };
        line_counts.is_read(&idle.watching)
    }
}

impl Participant {
    /// True if the participant is idle and has carried out its latest grant.
    pub(super) fn has_carried_out(&self) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.grant >= self.granted)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.idle.as_ref()?.next
    }
}
