// SPDX-License-Identifier: Apache-2.0
//! Moves landscape time: requests to the clock service, and to the object that holds the clock's mode.

use api::cluster::GARDEN;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};
use controller::Error;
use domain::maintenance::upcoming;
use http::{Method, StatusCode};
use serde_json::json;

use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::steps;
use crate::view::View;

/// Object that holds the clock's mode.
pub(super) const OBJECT: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clocks/landscape";
/// Path at which the clock service ends a command.
const CANCEL: &str = "/terrarium/clock/cancel";

pub(super) async fn act(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let state = (view.dashboard.options().clock)();
    let command = form.text("command");
    let by = match command {
        "pause" | "resume" => {
            let answer = view.patch(OBJECT, &json!({ "spec": { "paused": command == "pause" } })).await;
            return Ok(said(command, answer.map(drop)));
        }
        "stop" => {
            view.dashboard.walks().end();
            return Ok(said("stop", view.send(Method::POST, CANCEL, None).await.map(drop)));
        }
        "step" => match state.next {
            Some(next) => next - state.now,
            None => return Ok(note("nothing waits for a timer, so there is none to go to")),
        },
        "1h" => TimeDelta::hours(1),
        "1d" => TimeDelta::days(1),
        "window" => return until_window(view).await,
        _ => {
            let sentence = "The clock has no such command.";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "Not a command of the clock", sentence));
        }
    };
    let Some(to) = ops::instant::after(state.now, by) else { return Ok(note("that is further than time goes")) };
    go(view, to).await
}

/// Advances into the next window of any Shoot, as `terrarium clock until window`.
pub(super) async fn until_window(view: &View) -> Result<Outcome, Refusal> {
    let now = view.dashboard.now();
    let shoots = view.list::<Shoot>(GARDEN, None, "").await?;
    let living = shoots.iter().filter(|shoot| shoot.metadata.deletion_timestamp.is_none());
    match living.filter_map(|shoot| upcoming::next_begin(shoot, now)).min() {
        Some(begin) => go(view, begin + TimeDelta::seconds(1)).await,
        None => Ok(note("no Shoot has a maintenance window")),
    }
}

async fn go(view: &View, to: DateTime<Utc>) -> Result<Outcome, Refusal> {
    let answer = steps::advance(view, to).await;
    Ok(said(&format!("advance to {}", time::text(to)), answer))
}

/// Reports a failure as a message; success is visible in the clock itself.
fn said(what: &str, answer: Result<(), Error>) -> Outcome {
    Outcome::Back(answer.err().map(|error| Message::of_error(what, &error)).into_iter().collect())
}

fn note(text: &str) -> Outcome {
    Outcome::Back(vec![Message::new(Severity::Info, text)])
}
