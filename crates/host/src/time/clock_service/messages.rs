// SPDX-License-Identifier: Apache-2.0
//! Requests to the clock over HTTP, and its responses.

use std::collections::BTreeMap;
use std::fmt;

use chrono::SecondsFormat;
use clock::Instant;
use http::StatusCode;
use process::transport::full;
use process::{Request, Response, User};
use serde::{Deserialize, Serialize};

use crate::time::timekeeper::{Absence, Mode, WaitsFor};

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

/// Originator of a command.
#[derive(Default)]
pub(super) struct By {
    pub(super) who: String,
    /// The user's name as a participant in landscape time.
    pub(super) participant: Option<String>,
    /// True if the command continues when a component is dropped.
    pub(super) ignore_absence: bool,
}

/// A command that advances the clock. It ends with the connection of its participant; without one it outlives its client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Advanced {
    /// User that issued the command.
    pub by: String,
    /// Name of the issuing client as a participant in landscape time; `None`: it is no participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// Wall time at which the command was issued.
    pub since: Instant,
    /// Landscape time at which the command was issued.
    pub from: Instant,
}

impl fmt::Display for Advanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.by.is_empty() { "the landscape itself" } else { self.by.as_str() };
        write!(f, "{by}, since {} of wall time", self.since.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

/// Returns the user of a request and the user agent, as far as the request has them.
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
    /// Mode of landscape time while no command moves it.
    #[serde(flatten)]
    pub mode: Mode,
    /// True if landscape time is paused.
    pub paused: bool,
    /// Instant up to which the running command advances time.
    pub target: Option<Instant>,
    /// The running command: its issuer and the time of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance: Option<Advanced>,
    /// Instant of the next timer.
    pub next: Option<Instant>,
    /// True if all work of the present instant is done, according to the last reports.
    pub settled: bool,
    /// Obstacles that keep landscape time from moving.
    pub waits_for: WaitsFor,
    /// Participants and their next timers.
    pub participants: BTreeMap<String, Option<Instant>>,
    /// Participants that were dropped because they reported nothing.
    pub dropped: Vec<String>,
    /// Latest absences of components, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absences: Vec<Absence>,
    /// Reason for which time was stopped: writers that react to one another in an endless cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_lock: Option<String>,
    /// Latest error of components of the host that continued after it, by participant.
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
