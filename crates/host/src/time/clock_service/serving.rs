// SPDX-License-Identifier: Apache-2.0
//! Interface of the clock over HTTP.
//!
//! ```text
//! POST /terrarium/clock/join   Join     → Grant                        registers a participant
//! POST /terrarium/clock/reports Idle, … → Line, …                      lines, for as long as the connection lasts: a report is
//!                              answered when time has moved, or when the participant has lines to read first
//! GET  /terrarium/clock/               → ClockState
//! POST /terrarium/clock/advance {to, settleMilliseconds?, orNow?, by?, participant?, ignoreAbsence?} → ClockState; its
//!                              `target` is set until time has reached it; with `orNow` an instant that has passed is the
//!                              present one; `by`: name of the user; with `participant`, the user's name in landscape
//!                              time, the command ends with the participant's connection; with `ignoreAbsence` it
//!                              continues when a component does not answer
//! POST /terrarium/clock/halt           ends the command at the present instant, once all participants are idle there
//! POST /terrarium/clock/cancel         ends the command at once, from any user
//! POST /terrarium/clock/leave {participant} → ClockState
//! ```
//!
//! The first two are for components and administrators, and carry the participant's name in a header; the rest is for
//! administrators.

use chrono::TimeDelta;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::activity::PARTICIPANT_HEADER;
use process::participant::{CLOCK_PATH, Join};
use process::transport::full;
use process::{Request, Response, User};

use super::messages::{Advance, By, Leave, json, named, plain};
use super::{ClockService, reports};
use crate::time::timekeeper::CommandError;

impl ClockService {
    /// Answers a request below [`CLOCK_PATH`].
    pub fn answer(&self, request: Request) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            let place = request.uri().path().strip_prefix(CLOCK_PATH).unwrap_or_default().to_owned();
            let user = request.extensions().get::<User>().cloned().unwrap_or_default();
            let is_administrator = user.groups.iter().any(|group| **group == *"system:masters");
            if !matches!(place.as_str(), "join" | "reports") {
                if !is_administrator {
                    return plain(StatusCode::FORBIDDEN, "landscape time is for administrators");
                }
                return self.command(&place, request).await;
            }
            let name = request.headers().get(PARTICIPANT_HEADER).and_then(|name| name.to_str().ok());
            let Some(name) = name.map(str::to_owned).filter(|_| is_administrator || user.component.is_some()) else {
                return plain(StatusCode::FORBIDDEN, "only components and administrators take part in landscape time");
            };
            match (request.method(), place.as_str()) {
                (&Method::POST, "join") => {
                    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                    let join = body.ok().and_then(|body| serde_json::from_slice::<Join>(&body).ok());
                    let Some(join) = join else { return plain(StatusCode::BAD_REQUEST, "this joins nothing") };
                    json(&self.join(&name, join))
                }
                (&Method::POST, "reports") => reports::answer(self, name, request.into_body()),
                _ => plain(StatusCode::NOT_FOUND, "404 page not found"),
            }
        })
    }

    /// Returns the reason for which a command is refused, with the conflicting command and a hint.
    fn refusal(&self, error: &CommandError) -> String {
        let CommandError::Busy(_) = error else { return error.to_string() };
        match &self.0.state().advance {
            Some(advance) => format!("{error} by {advance}\nhint: `terrarium clock stop` ends it"),
            None => error.to_string(),
        }
    }

    /// Answers a request of an administrator.
    async fn command(&self, place: &str, request: Request) -> Response {
        let method = request.method().clone();
        let named = named(&request);
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        match (method, place) {
            (Method::GET, "") => {}
            (Method::GET, "work") => return json(&self.work()),
            (Method::POST, "advance") => {
                let Ok(Advance { to, settle_milliseconds, or_now, by, participant, ignore_absence }) =
                    serde_json::from_slice(&body)
                else {
                    let expected = "expected {\"to\": INSTANT, \"settleMilliseconds\": N, \"orNow\": BOOL}";
                    return plain(StatusCode::BAD_REQUEST, expected);
                };
                let settle = TimeDelta::milliseconds(i64::from(settle_milliseconds));
                let who = if by.is_empty() { named } else { by };
                if let Err(error) = self.begin(to, settle, or_now, By { who, participant, ignore_absence }) {
                    let mut response = Response::new(full(self.refusal(&error)));
                    *response.status_mut() = StatusCode::CONFLICT;
                    return response;
                }
            }
            (Method::POST, "leave") => {
                let Ok(Leave { participant }) = serde_json::from_slice(&body) else {
                    return plain(StatusCode::BAD_REQUEST, "expected {\"participant\": NAME}");
                };
                self.leave(&participant);
            }
            (Method::POST, "halt") => self.with(|keeper, _| keeper.halt()),
            (Method::POST, "cancel") => self.cancel(),
            _ => return plain(StatusCode::NOT_FOUND, "404 page not found"),
        }
        Response::new(full(serde_json::json!(self.state()).to_string()))
    }
}
