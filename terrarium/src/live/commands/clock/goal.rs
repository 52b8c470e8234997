// SPDX-License-Identifier: Apache-2.0
//! Where `clock until` goes.

use api::cluster;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, ListOptions};
use domain::maintenance::upcoming;
use process::Context;

use crate::failure::Failure;
use ops::instant::When;
use ops::names::shoots::ShootName;

/// States of a last operation.
const STATES: [&str; 6] = ["Aborted", "Error", "Failed", "Pending", "Processing", "Succeeded"];
/// What stands for a Shoot that is gone.
pub(super) const DELETED: &str = "Deleted";
/// How far a Shoot's state is looked for without `--max`.
const FAR: TimeDelta = TimeDelta::days(30);

/// What a person may wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Time(When),
    Window,
    State(ShootName, &'static str),
}

/// Where to, by what is known before the landscape was asked.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Time(When),
    Window(Option<ShootName>),
    State(ShootName, &'static str),
}

/// Where to.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// The instant at which the journey ends at the latest.
    pub(super) to: DateTime<Utc>,
    /// Namespace, name and state of the Shoot that is waited for.
    pub(super) state: Option<(String, String, &'static str)>,
    /// Whether `to` is a limit that was set, not the goal.
    pub(super) is_limit: bool,
}

/// Reads a time, `window`, or `shoot/PROJECT/NAME=STATE`.
pub(super) fn until(text: &str) -> Result<Until, String> {
    if text == "window" {
        return Ok(Until::Window);
    }
    if text.starts_with("shoot/") {
        let (name, state) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` names no state: use shoot/PROJECT/NAME=Succeeded, or `window {text}`"))?;
        let known = STATES.iter().chain([&DELETED]).find(|known| known.eq_ignore_ascii_case(state));
        let state = known
            .ok_or_else(|| format!("`{state}` is no state of a Shoot: use one of {}, {DELETED}", STATES.join(", ")))?;
        return Ok(Until::State(name.parse()?, state));
    }
    text.parse().map(Until::Time).map_err(|_| {
        format!("`{text}` is no time as 2027-01-31T00:00:00Z or 90d, nor `window`, nor shoot/PROJECT/NAME=STATE")
    })
}

impl Goal {
    pub(super) fn of_distance(by: TimeDelta) -> Self {
        Self::Time(When::Off(by))
    }

    pub(super) fn of(until: &Until, shoot: Option<&ShootName>) -> Result<Self, Failure> {
        Ok(match (until, shoot) {
            (Until::Window, shoot) => Self::Window(shoot.cloned()),
            (Until::Time(when), None) => Self::Time(*when),
            (Until::State(shoot, state), None) => Self::State(shoot.clone(), state),
            (_, Some(_)) => {
                return Err(Failure::input(
                    "a Shoot is named behind `window` only",
                    "use `until window shoot/PROJECT/NAME` or `until shoot/PROJECT/NAME=STATE`",
                ));
            }
        })
    }

    /// Looks up what the goal means in a landscape, now.
    pub(super) async fn resolve(
        &self,
        context: &Context,
        now: DateTime<Utc>,
        max: Option<TimeDelta>,
    ) -> Result<Destination, Failure> {
        let too_far = || Failure::input("that is further than time goes", "");
        let after = |by: TimeDelta| now.checked_add_signed(by).ok_or_else(too_far);
        let (to, state) = match self {
            Self::Time(When::Off(by)) => (after(*by)?, None),
            Self::Time(When::At(instant)) => (*instant, None),
            Self::Window(shoot) => (window_of(context, shoot.as_ref(), now).await? + TimeDelta::seconds(1), None),
            Self::State(shoot, state) => {
                let namespace = shoot.namespace(context).await?;
                if *state != DELETED {
                    shoot.find(context).await?;
                }
                let to = after(max.unwrap_or(FAR))?;
                return Ok(Destination { to, state: Some((namespace, shoot.name.clone(), state)), is_limit: true });
            }
        };
        if to < now {
            return Err(Failure::input(
                format!(
                    "the clock does not go back: it is at {}, and {} has passed",
                    super::time(now),
                    super::time(to)
                ),
                "",
            ));
        }
        let limit = max.map(after).transpose()?.filter(|limit| *limit < to);
        Ok(Destination { to: limit.unwrap_or(to), state, is_limit: limit.is_some() })
    }
}

fn failed(error: controller::Error) -> Failure {
    Failure::Failed(error.to_string())
}

/// When the next window begins: the Shoot's, or the first of any.
async fn window_of(context: &Context, shoot: Option<&ShootName>, now: DateTime<Utc>) -> Result<DateTime<Utc>, Failure> {
    if let Some(name) = shoot {
        let shoot = name.find(context).await?;
        return upcoming::next_begin(&shoot, now)
            .ok_or_else(|| Failure::input(format!("Shoot {} has no maintenance window", name.name), ""));
    }
    let (shoots, _) =
        Api::<Shoot>::all(context, cluster::GARDEN).list(&ListOptions::default()).await.map_err(failed)?;
    let living = shoots.iter().filter(|shoot| shoot.metadata.deletion_timestamp.is_none());
    living
        .filter_map(|shoot| upcoming::next_begin(shoot, now))
        .min()
        .ok_or_else(|| Failure::input("no Shoot has a maintenance window", "create a Shoot first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> ShootName {
        ShootName { project: "demo".to_owned(), name: "local".to_owned() }
    }

    #[test]
    fn goals_are_instants_windows_and_states() {
        let instant = |text: &str| Until::Time(When::At(text.parse().expect("an instant")));
        assert_eq!(until("2027-01-31T10:00:00Z"), Ok(instant("2027-01-31T10:00:00Z")));
        assert_eq!(until("2027-01-31"), Ok(instant("2027-01-31T00:00:00Z")));
        assert_eq!(until("90d"), Ok(Until::Time(When::Off(TimeDelta::days(90)))));
        assert_eq!(until("window"), Ok(Until::Window));
        assert_eq!(until("shoot/demo/local=succeeded"), Ok(Until::State(local(), "Succeeded")));
        assert_eq!(until("shoot/demo/local=Deleted"), Ok(Until::State(local(), DELETED)));
        for text in
            ["", "tomorrow", "shoot/demo/local", "shoot/demo/local=Happy", "shoot/demo=Failed", "shoot///=Failed"]
        {
            assert!(until(text).is_err(), "{text}");
        }
    }
}
