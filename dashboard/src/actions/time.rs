// SPDX-License-Identifier: Apache-2.0
//! Moves landscape time to the instant of a form, and sets the clock's mode.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use domain::maintenance::upcoming;
use ops::instant::goal::{self, DELETED, FAR, Until};
use ops::instant::{self, When, duration};
use ops::names::shoots::ShootName;
use serde_json::json;

use super::clock::OBJECT;
use crate::input::Fields;
use crate::message::{Message, Severity};
use crate::page::Outcome;
use crate::parts::time;
use crate::refusal::Refusal;
use crate::steps::{self, Goal, LONGEST, Walk};
use crate::view::View;

/// Advances by a length of time.
pub(super) async fn advance(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let by = match duration(form.text("by")) {
        Ok(by) => by,
        Err(why) => return Ok(said(&why)),
    };
    match instant::after(view.dashboard.now(), by) {
        Some(to) => go(view, to).await,
        None => Ok(said("that is further than time goes")),
    }
}

/// Advances until an instant, a window, or a Shoot's state: as `terrarium clock until`.
pub(super) async fn until(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let (text, now) = (form.text("until"), view.dashboard.now());
    let (first, shoot) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let until = match (goal::until(first), shoot.trim()) {
        (Err(why), _) => return Ok(said(&why)),
        (Ok(until), "") => until,
        (Ok(Until::Window), shoot) => {
            let begin = match shoot.parse::<ShootName>() {
                Ok(name) => name.find(&view.context()).await.map(|shoot| upcoming::next_begin(&shoot, now)),
                Err(why) => return Ok(said(&why)),
            };
            return match begin {
                Ok(Some(begin)) => go(view, begin + TimeDelta::seconds(1)).await,
                Ok(None) => Ok(said(&format!("{shoot} has no maintenance window"))),
                Err(error) => Ok(said(&error.to_string())),
            };
        }
        (Ok(_), _) => return Ok(said("a Shoot is named behind `window` only")),
    };
    match until {
        Until::Time(when) if when.behind(now) < now => Ok(said(&format!("{} is past", time::text(when.behind(now))))),
        Until::Time(when) => go(view, when.behind(now)).await,
        Until::Window => super::clock::until_window(view).await,
        Until::State(shoot, state) => {
            let found = async {
                if state != DELETED {
                    shoot.find(&view.context()).await?;
                }
                shoot.namespace(&view.context()).await
            };
            let namespace = match found.await {
                Ok(namespace) => namespace,
                Err(error) => return Ok(said(&error.to_string())),
            };
            let goal = Goal { namespace, name: shoot.name.clone(), state };
            let walk = Walk {
                to: When::Off(FAR).behind(now),
                pause: TimeDelta::zero(),
                stop_on: BTreeSet::new(),
                goal: Some(goal),
            };
            steps::begin(view, walk);
            Ok(Outcome::Back(Vec::new()))
        }
    }
}

/// Advances step by step, with a pause of wall time between two, to an instant or by a length of time.
pub(super) fn steps(view: &View, form: &Fields) -> Outcome {
    let pause = match form.text("pause").parse::<i64>() {
        Ok(milliseconds) if (0..=LONGEST.num_milliseconds()).contains(&milliseconds) => {
            TimeDelta::milliseconds(milliseconds)
        }
        _ => return said("pause: milliseconds, a whole number from 0 to 5000"),
    };
    let now = view.dashboard.now();
    let to = match form.text("goal").parse::<When>() {
        Ok(when) => when.behind(now),
        Err(why) => return said(&why),
    };
    if to <= now {
        return said(&format!("{} is past", time::text(to)));
    }
    let stop_on = form.text("stop-on").split([',', ' ']).filter(|reason| !reason.is_empty());
    let stop_on: BTreeSet<String> = stop_on.map(str::to_owned).collect();
    steps::begin(view, Walk { to, pause, stop_on, goal: None });
    Outcome::Back(Vec::new())
}

async fn go(view: &View, to: DateTime<Utc>) -> Result<Outcome, Refusal> {
    Ok(Outcome::Back(match steps::advance(view, to).await {
        Ok(()) => vec![Message::new(Severity::Done, format!("time goes to {}", time::text(to)))],
        Err(error) => vec![Message::of_error("advance", &error)],
    }))
}

/// Sets the clock's mode.
pub(super) async fn mode(view: &View, form: &Fields) -> Result<Outcome, Refusal> {
    let rate = match form.text("rate") {
        "" => None,
        text => match text.parse::<f64>() {
            Ok(rate) => Some(rate),
            Err(_) => return Ok(said(&format!("rate: `{text}` is not a number"))),
        },
    };
    let answer = view.patch(OBJECT, &json!({ "spec": { "mode": form.text("mode"), "rate": rate } })).await;
    Ok(Outcome::Back(match answer {
        Ok(_) => Vec::new(),
        Err(error) => vec![Message::of_error("how time goes", &error)],
    }))
}

fn said(text: &str) -> Outcome {
    Outcome::Back(vec![Message::new(Severity::Error, text)])
}
