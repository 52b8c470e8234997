// SPDX-License-Identifier: Apache-2.0
//! What is asked of the clock over HTTP, and what it answers.

use std::collections::BTreeMap;
use std::fmt;

use chrono::SecondsFormat;
use clock::Instant;
use http::StatusCode;
use process::transport::full;
use process::{Request, Response, User};
use serde::{Deserialize, Serialize};

use crate::timekeeper::{Absence, Mode, WaitsFor};

#[derive(Deserialize)]
pub(super) struct Leave {
    pub(super) participant: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Advance {
    pub(super) to: Instant,
    #[serde(default)]
    pub(super) settle_milliseconds: u32,
    #[serde(default)]
    pub(super) or_now: bool,
    #[serde(default)]
    pub(super) by: String,
    #[serde(default)]
    pub(super) participant: Option<String>,
    #[serde(default)]
    pub(super) ignore_absence: bool,
}

/// Who gives a command.
#[derive(Default)]
pub(super) struct By {
    pub(super) who: String,
    /// Their name as a participant in landscape time.
    pub(super) participant: Option<String>,
    /// True if the command continues when a component is dropped.
    pub(super) ignore_absence: bool,
}

/// A command that advances the clock. It ends with the connection of its participant; without one it outlives its client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Advanced {
    /// Who gave it.
    pub by: String,
    /// The name of its client as a participant in landscape time, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// Wall time at which it was given.
    pub since: Instant,
    /// Landscape time at which it was given.
    pub from: Instant,
}

impl fmt::Display for Advanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.by.is_empty() { "the landscape itself" } else { self.by.as_str() };
        write!(f, "{by}, since {} of wall time", self.since.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

/// Who sends a request, as far as it says so.
pub(super) fn named(request: &Request) -> String {
    let user = request.extensions().get::<User>().map(|user| user.name.to_string()).unwrap_or_default();
    match request.headers().get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok()) {
        Some(agent) => format!("{user} ({agent})"),
        None => user,
    }
}

/// The clock as an administrator sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockState {
    /// Landscape time.
    pub now: Instant,
    /// How landscape time goes when no command moves it.
    #[serde(flatten)]
    pub mode: Mode,
    /// Whether it is paused.
    pub paused: bool,
    /// Where the command at work goes to.
    pub target: Option<Instant>,
    /// Who gave it, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance: Option<Advanced>,
    /// Instant of the next timer.
    pub next: Option<Instant>,
    /// Whether everything that can be done now has been done, as far as was reported.
    pub settled: bool,
    /// What time waits for.
    pub waits_for: WaitsFor,
    /// Participants and their next timers.
    pub participants: BTreeMap<String, Option<Instant>>,
    /// Participants that were dropped because they reported nothing.
    pub dropped: Vec<String>,
    /// Latest absences of components, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absences: Vec<Absence>,
    /// What time was stopped for: writers that answer one another without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_lock: Option<String>,
    /// What went wrong last with components of the host, which go on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<String, String>,
}

pub(super) fn plain(code: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(full(text));
    *response.status_mut() = code;
    response
}

pub(super) fn json(answer: &impl Serialize) -> Response {
    Response::new(full(serde_json::json!(answer).to_string()))
}
