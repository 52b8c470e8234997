// SPDX-License-Identifier: Apache-2.0
//! Waits of `up -f` for the status of an object.
//!
//! While landscape time passes by itself, nothing else is needed. While it stands (mode `stepped`, or a pause), it first
//! settles at the present instant, which is sufficient for Projects and most Seeds, and then moves from timer to timer, by
//! at most an hour.

use std::cell::RefCell;

use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, TimerClass};
use controller::{Api, Readable};
use host::time::timekeeper::Mode;
use ops::show;

use crate::failure::Failure;
use crate::live::client::{Advance, Client};

/// Wall time between two reads.
const LOOK: TimeDelta = TimeDelta::milliseconds(20);
/// Maximum landscape time by which a wait moves a clock that stands.
const LONGEST: TimeDelta = TimeDelta::hours(1);

/// A wait.
pub(super) struct Waiting<'a> {
    pub(super) client: &'a Client,
    /// Maximum wall time.
    pub(super) wait: TimeDelta,
}

/// State of a clock that stands.
#[derive(Debug, Default)]
struct Standing {
    /// Landscape time at the first move.
    since: Option<DateTime<Utc>>,
    /// Destination of the last move.
    last: Option<DateTime<Utc>>,
}

impl Waiting<'_> {
    /// Waits until an object lacks nothing; `subject`: the object in messages, `lacks`: what it lacks. Returns landscape
    /// time if the wait has moved it.
    ///
    /// # Errors
    /// The time limit, with what is missing.
    pub(super) async fn for_object<K: Readable>(
        &self,
        api: &Api<K>,
        (subject, name): (&str, &str),
        lacks: impl Fn(Option<&K>) -> Option<String>,
    ) -> Result<Option<DateTime<Utc>>, Failure> {
        let wall = Clock::wall();
        let last = RefCell::new("the landscape does not answer".to_owned());
        let ready = async {
            let mut standing = Standing::default();
            loop {
                // gardener-apiservers restart: the error may be temporary.
                let found = api.get_opt(name).await;
                let missing = match &found {
                    Ok(object) => lacks(object.as_ref()),
                    Err(error) => Some(error.to_string()),
                };
                let Some(missing) = missing else { return Ok::<_, Failure>(standing.moved()) };
                last.replace(missing.clone());
                if found.is_ok() {
                    self.move_standing(&mut standing, &missing, subject).await?;
                }
                wall.sleep(LOOK, TimerClass::Work).await;
            }
        };
        tokio::select! {
            biased;
            result = ready => result,
            () = wall.sleep(self.wait, TimerClass::Work) => {
                let (seconds, missing) = (self.wait.num_seconds(), last.borrow());
                Err(Failure::Failed(format!("{subject} is not ready after {seconds} s: {missing}")))
            }
        }
    }

    /// Moves landscape time to the next timer if it stands and everything is done at the present instant.
    async fn move_standing(&self, standing: &mut Standing, missing: &str, subject: &str) -> Result<(), Failure> {
        let state = self.client.clock().await?;
        let stands = state.paused || state.mode == Mode::Stepped;
        if !stands || state.target.is_some() {
            return Ok(());
        }
        let to = match (standing.since, state.next) {
            // Settles at the present instant.
            (None, _) => state.now,
            (Some(since), Some(next)) if next <= since + LONGEST => next,
            (Some(_), _) => {
                let now = show(state.now);
                return Err(Failure::Failed(format!(
                    "{subject} is not ready, and landscape time stands at {now} with nothing to do within an hour: \
                     {missing}"
                )));
            }
        };
        standing.since.get_or_insert(to);
        standing.last = Some(to);
        let advance = Advance { to, settle: TimeDelta::zero(), participant: None, ignore_absence: false };
        self.client.advance(&advance).await.map(drop)
    }
}

impl Standing {
    /// Landscape time if it was moved.
    fn moved(&self) -> Option<DateTime<Utc>> {
        self.last.filter(|last| Some(*last) != self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settling_moves_no_time() {
        let at = |seconds: i64| Some(DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds));
        for (since, last, expected) in [(None, None, None), (at(1), at(1), None), (at(1), at(3), at(3))] {
            assert_eq!(Standing { since, last }.moved(), expected);
        }
    }
}
