// SPDX-License-Identifier: Apache-2.0
//! What the timekeeper is told, and what it answers.

use chrono::SecondsFormat;
use clock::Instant;
use eventlog::Revision;
use process::participant::Grant;
use serde::{Deserialize, Serialize};

/// How landscape time goes without a command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", content = "rate", rename_all = "camelCase")]
pub enum Mode {
    /// Jumps to work timers that are less than an hour away, calendar timers on the way included; else runs at rate 1.
    Eager,
    /// At this rate of wall time.
    Rate(f64),
    /// Not at all.
    Stepped,
    /// Always to the next timer.
    Auto,
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Ask the API servers how many lines they have given to each watch of a participant, with everything in the log up to
    /// the revision or behind it; then [`super::Timekeeper::barrier_stands`].
    Barrier {
        /// Number of the barrier; each is greater than the one before.
        number: u64,
        /// Head of the log.
        at: Revision,
    },
    /// Time has moved: send the grant to these.
    Grant {
        /// The grant.
        grant: Grant,
        /// Names of participants; may be nobody.
        to: Vec<String>,
    },
    /// The command is done: time stands where it asked for, and all has settled there.
    Done,
    /// Nothing, until something is reported or the wall clock reaches an instant.
    Wait {
        /// In wall time.
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

/// What becomes of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is what is known of the participant now.
    Taken,
    /// A later one has come before it.
    Overtaken,
    /// Nobody of this name has joined.
    NotJoined,
}

/// Why time stands although it should move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsFor {
    /// Participants that work, or have not yet seen the barrier.
    pub participants: Vec<String>,
    /// Names of the holds that keep time where it is.
    pub holds: Vec<String>,
}

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Another one is at work.
    #[error("the clock is already being advanced to {}", .0.to_rfc3339_opts(SecondsFormat::Secs, true))]
    Busy(Instant),
    /// The instant has passed.
    #[error("the clock does not go back: it is at {}", .0.to_rfc3339_opts(SecondsFormat::Secs, true))]
    Backwards(Instant),
}
