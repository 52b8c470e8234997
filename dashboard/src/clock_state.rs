// SPDX-License-Identifier: Apache-2.0
//! How landscape time stands, as the clock service says.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

/// Landscape time and what it waits for. Shape: what `GET /terrarium/clock/` answers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClockState {
    /// Landscape time.
    pub now: DateTime<Utc>,
    /// How it goes by itself, as `terrarium clock` names it: `eager`, `realtime`, `scaled=60`, `stepped`, `auto`.
    #[serde(skip)]
    pub mode: String,
    /// Whether it is paused.
    pub paused: bool,
    /// Where a command takes it to, if one is at work.
    pub target: Option<DateTime<Utc>>,
    /// Who gave that command, and since when.
    #[serde(skip)]
    pub by: String,
    /// The next timer.
    pub next: Option<DateTime<Utc>>,
    /// Whether all that can be done now has been done.
    pub settled: bool,
    /// Whom time waits for.
    pub waits_for: WaitsFor,
    /// Participants that time goes on without.
    pub dropped: Vec<String>,
    /// Why time was stopped: writers that answer one another without end.
    pub live_lock: Option<String>,
    /// What went wrong last with components of the host.
    pub troubles: BTreeMap<String, String>,
}

/// Whom time waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitsFor {
    /// Participants that have not reported.
    pub participants: Vec<String>,
    /// Why it is held.
    pub holds: Vec<String>,
}

impl ClockState {
    /// What it waits for, and what is wrong with it: the lines of `terrarium clock`.
    pub fn waits(&self) -> Vec<String> {
        let participants = self.waits_for.participants.iter().map(|name| format!("waits for {name}"));
        let holds = self.waits_for.holds.iter().map(|hold| format!("held for {hold}"));
        participants.chain(holds).collect()
    }

    /// What somebody has to look at: lines of `terrarium clock` and `terrarium status`.
    pub fn warnings(&self) -> Vec<String> {
        let stopped = self.live_lock.iter().map(|lock| format!("stopped: {lock}; resume goes on"));
        let dropped = self.dropped.iter().map(|name| format!("dropped {name}: it does not answer"));
        let troubles = self.troubles.iter().map(|(name, trouble)| format!("{name}, of the host: {trouble}"));
        stopped.chain(dropped).chain(troubles).collect()
    }
}
