// SPDX-License-Identifier: Apache-2.0
//! Inputs and outputs of the timekeeper.

use chrono::SecondsFormat;
use clock::{END, Instant};
use eventlog::Revision;
use process::participant::Grant;
use serde::{Deserialize, Serialize};

/// Mode of landscape time while no command moves it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", content = "rate", rename_all = "camelCase")]
pub enum Mode {
    /// Jumps to work timers that are less than an hour away, calendar timers on the way included; else runs at rate 1.
    Eager,
    /// Runs at this multiple of wall time.
    Rate(f64),
    /// Stands.
    Stepped,
    /// Time jumps to the next timer, or to the end of time if the timer is later.
    Auto,
}

/// Next action of the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Request the line counts of participants' watches from the API servers, as of a log position at or after the
    /// revision; then call [`super::Timekeeper::barrier_stands`].
    Barrier {
        /// Number of the barrier; each is greater than the one before.
        number: u64,
        /// Head of the log.
        at: Revision,
    },
    /// Time has moved: send the grant to these participants.
    Grant {
        /// The grant.
        grant: Grant,
        /// Names of participants; may be empty.
        to: Vec<String>,
    },
    /// The command has reached its goal, and all participants are idle there.
    Done,
    /// Wait until a report arrives or the wall clock reaches an instant.
    Wait {
        /// Wall time; `None`: wait for a report only.
        until: Option<Instant>,
    },
}

/// Span of landscape time that passed without an unresponsive component, which missed its timers in that span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Name of the participant.
    pub name: String,
    /// Landscape time at which it was dropped.
    pub since: Instant,
    /// Landscape time at which it joined again or ended; `None` while it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
}

/// Result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The report is the participant's latest state.
    Taken,
    /// A later report arrived before this one.
    Overtaken,
    /// No participant of this name has joined.
    NotJoined,
}

/// Obstacles that keep time from moving.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsFor {
    /// Participants that work, or have not yet seen the barrier.
    pub participants: Vec<String>,
    /// Names of the active holds.
    pub holds: Vec<String>,
}

/// Reason for which a command is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The clock executes another command.
    #[error("the clock is already being advanced to {}", .0.to_rfc3339_opts(SecondsFormat::Secs, true))]
    Busy(Instant),
    /// The instant has passed.
    #[error("the clock does not go back: it is at {}", .0.to_rfc3339_opts(SecondsFormat::Secs, true))]
    Backwards(Instant),
    /// The instant is after the end of time.
    #[error("that is further than time goes: it ends at {}", END.to_rfc3339_opts(SecondsFormat::Secs, true))]
    Ended,
    /// No server answers; contains the name of an unresponsive one.
    #[error(
        "{0} does not answer, and what it is to do would be missing; with --ignore-absence time goes on without it"
    )]
    Absent(String),
}
