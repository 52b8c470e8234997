// SPDX-License-Identifier: Apache-2.0
//! State of landscape time, as the clock service reports it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

/// Landscape time and what it waits for. Shape: answer of `GET /terrarium/clock/`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClockState {
    /// Landscape time.
    pub now: DateTime<Utc>,
    /// Mode of the clock, as `terrarium clock` names it: `eager`, `realtime`, `scaled=60`, `stepped`, `auto`.
    #[serde(skip)]
    pub mode: String,
    /// True if it is paused.
    pub paused: bool,
    /// Target of the running command; `None`: no command runs.
    pub target: Option<DateTime<Utc>>,
    /// User and start of that command.
    #[serde(skip)]
    pub by: String,
    /// Instant of the next timer.
    pub next: Option<DateTime<Utc>>,
    /// True if all work that can be done now is done.
    pub settled: bool,
    /// Participants and holds that time waits for.
    pub waits_for: WaitsFor,
    /// Participants that were dropped: time advances without them.
    pub dropped: Vec<String>,
    /// Cause of a stop: writers that react to one another without end.
    pub live_lock: Option<String>,
    /// Last problem of each component of the host, by its name.
    pub troubles: BTreeMap<String, String>,
}

/// Participants and holds that time waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitsFor {
    /// Participants that have not reported.
    pub participants: Vec<String>,
    /// Reasons of the holds.
    pub holds: Vec<String>,
}

impl ClockState {
    /// Returns what time waits for, and its problems: the lines of `terrarium clock`.
    pub fn waits(&self) -> Vec<String> {
        let participants = self.waits_for.participants.iter().map(|name| format!("waits for {name}"));
        let holds = self.waits_for.holds.iter().map(|hold| format!("held for {hold}"));
        participants.chain(holds).collect()
    }

    /// Returns problems that need a user's attention: lines of `terrarium clock` and `terrarium status`.
    pub fn warnings(&self) -> Vec<String> {
        let stopped = self.live_lock.iter().map(|lock| format!("stopped: {lock}; resume goes on"));
        let dropped = self.dropped.iter().map(|name| format!("dropped {name}: it does not answer"));
        let troubles = self.troubles.iter().map(|(name, trouble)| format!("{name}, of the host: {trouble}"));
        stopped.chain(dropped).chain(troubles).collect()
    }
}
