// SPDX-License-Identifier: Apache-2.0
//! Landscape time that advances from timer to timer with a pause of wall time between, so that users can watch the changes.
//!
//! ```text
//! advance to the next timer ── settled there? ── pause ── advance to the next timer … until the end, Stop, or an Event
//! ```
//!
//! A walk runs in the host, not in the browser: it continues when its page is closed. There is one at a time; a new one ends the
//! one before.
//!
//! **Invariants.** Time is moved by requests of the user who began the walk. Nothing is stored: the walk ends with the host.

use std::collections::BTreeSet;

use api::cluster::GARDEN;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};
use clock::TimerClass;
use eventlog::{Entry, Message as Changed, Verb};
use futures::{FutureExt, StreamExt};
use http::Method;
use ops::history::entry::tree;
use ops::instant::goal::DELETED;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;

use crate::message::{Message, Severity};
use crate::parts::time;
use crate::view::View;

/// The longest pause, in wall time.
pub const LONGEST: TimeDelta = TimeDelta::seconds(5);
/// Wall time between two checks whether landscape time has reached the next timer.
const LOOK: TimeDelta = TimeDelta::milliseconds(20);
/// Path at which the clock service advances.
const ADVANCE: &str = "/terrarium/clock/advance";
/// Resource suffix of Events in keys of the log.
const EVENTS: &str = "/events";

/// A walk that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Instant at which it ends.
    pub to: DateTime<Utc>,
    /// Wall time between two steps.
    pub pause: TimeDelta,
    /// Reasons of Events at which it ends.
    pub stop_on: BTreeSet<String>,
    /// State of a Shoot at which it ends; `to` is the deadline for it.
    pub goal: Option<Goal>,
}

/// A state of a Shoot's last operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Namespace of the Shoot.
    pub namespace: String,
    /// Name of the Shoot.
    pub name: String,
    /// `Succeeded`, `Failed`, …; [`DELETED`]: the Shoot was deleted.
    pub state: &'static str,
}

impl Goal {
    /// True if the Shoot is in the state.
    ///
    /// # Errors
    /// The API's error.
    async fn is_reached(&self, view: &View) -> Result<bool, controller::Error> {
        let shoot = view.get::<Shoot>(GARDEN, &self.namespace, &self.name).await?;
        let operation = shoot.as_ref().and_then(|shoot| shoot.status.last_operation.as_ref());
        Ok(match self.state {
            DELETED => shoot.is_none(),
            state => operation.is_some_and(|operation| operation.state == state),
        })
    }
}

/// The landscape's running walk, if there is one, and the number of the last walk.
#[derive(Debug, Default)]
pub struct Walks(Mutex<(u64, Option<Walk>)>);

impl Walks {
    fn state(&self) -> MutexGuard<'_, (u64, Option<Walk>)> {
        self.0.lock()
    }

    /// Returns the running walk.
    pub fn current(&self) -> Option<Walk> {
        self.state().1.clone()
    }

    /// Ends the walk; a request to the clock that was already sent is not cancelled.
    pub fn end(&self) {
        self.state().1 = None;
    }

    fn begin(&self, walk: Walk) -> u64 {
        let mut state = self.state();
        *state = (state.0 + 1, Some(walk));
        state.0
    }

    fn goes_on(&self, number: u64) -> bool {
        let state = self.state();
        state.0 == number && state.1.is_some()
    }

    fn ended(&self, number: u64) {
        let mut state = self.state();
        if state.0 == number {
            state.1 = None;
        }
    }
}

/// Asks the clock service to advance to an instant, in the name of the view's user.
///
/// # Errors
/// The API's error.
pub(crate) async fn advance(view: &View, to: DateTime<Utc>) -> Result<(), controller::Error> {
    let by = format!("the dashboard of {}", view.session.user.name);
    let body = json!({ "to": to, "orNow": true, "by": by }).to_string().into_bytes();
    view.send(Method::POST, ADVANCE, Some(("application/json", body))).await.map(drop)
}

/// Begins a walk as the view's user.
pub(crate) fn begin(view: &View, walk: Walk) {
    let number = view.dashboard.walks().begin(walk.clone());
    let view = view.clone();
    view.dashboard.options().tasks.clone().spawn_apart(async move {
        let said = run(&view, &walk, number).await;
        view.dashboard.walks().ended(number);
        if let Some(message) = said {
            view.session.say(message);
        }
    });
}

/// Runs the walk; returns a message about its end, `None` if it ended as requested.
async fn run(view: &View, walk: &Walk, number: u64) -> Option<Message> {
    let options = view.dashboard.options();
    let mut changes = options.log.subscribe(options.log.head(), None).ok();
    loop {
        if let Some(goal) = &walk.goal {
            match goal.is_reached(view).await {
                Ok(true) => {
                    let now = time::text((options.clock)().now);
                    let text = format!("{}/{} is {} at {now}", goal.namespace, goal.name, goal.state);
                    return Some(Message::new(Severity::Done, text));
                }
                Ok(false) => {}
                Err(error) => return Some(Message::of_error("until a state", &error)),
            }
        }
        let state = (options.clock)();
        if let Some(goal) = walk.goal.as_ref().filter(|_| state.now >= walk.to) {
            let text = format!("{}/{} is not {} up to {}", goal.namespace, goal.name, goal.state, time::text(walk.to));
            return Some(Message::new(Severity::Warning, text));
        }
        if state.now >= walk.to || !view.dashboard.walks().goes_on(number) {
            return None;
        }
        let next = state.next.filter(|next| *next > state.now && *next < walk.to).unwrap_or(walk.to);
        if let Err(error) = advance(view, next).await {
            return Some(Message::of_error("step by step", &error));
        }
        loop {
            options.wall.sleep(LOOK, TimerClass::Work).await;
            if !view.dashboard.walks().goes_on(number) {
                return None;
            }
            let state = (options.clock)();
            if let Some(lock) = state.live_lock {
                return Some(Message::new(Severity::Warning, format!("stopped: {lock}")));
            }
            if state.target.is_none() {
                break;
            }
        }
        while let Some(Some(Some(message))) = changes.as_mut().map(|changes| changes.messages.next().now_or_never()) {
            if let Changed::Entry(entry) = message
                && let Some(what) = stops(&entry, &walk.stop_on)
            {
                let now = time::text((options.clock)().now);
                return Some(Message::new(Severity::Info, format!("stopped at {now}: {what}")));
            }
        }
        options.wall.sleep(walk.pause, TimerClass::Work).await;
    }
}

/// Returns a description of an entry's Event if its reason is one that ends the walk.
fn stops(entry: &Entry, reasons: &BTreeSet<String>) -> Option<String> {
    if reasons.is_empty() || *entry.key.resource != *EVENTS || entry.verb == Verb::Delete {
        return None;
    }
    let event = tree(&entry.object, entry.revision.0);
    let reason = event["reason"].as_str().filter(|reason| reasons.contains(*reason))?;
    let about = &event["involvedObject"];
    let text = |key: &str| about[key].as_str().unwrap_or_default();
    let name: Vec<&str> = [text("namespace"), text("name")].into_iter().filter(|part| !part.is_empty()).collect();
    Some(format!("{reason} of {} {}", text("kind"), name.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_walk_ends_the_one_before() {
        let walks = Walks::default();
        let walk = |hour: u32| Walk {
            to: format!("2023-07-28T{hour:02}:00:00Z").parse().expect("an instant"),
            pause: TimeDelta::milliseconds(200),
            stop_on: BTreeSet::new(),
            goal: None,
        };
        let first = walks.begin(walk(9));
        assert!(walks.goes_on(first));
        let second = walks.begin(walk(10));
        assert!(!walks.goes_on(first) && walks.goes_on(second));
        walks.ended(first);
        assert_eq!(walks.current(), Some(walk(10)), "the end of the first is not that of the second");
        walks.end();
        assert!(!walks.goes_on(second) && walks.current().is_none());
    }
}
