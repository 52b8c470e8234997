// SPDX-License-Identifier: Apache-2.0
//! Destination of `clock advance` and `clock until`.

use api::cluster;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, ListOptions};
use domain::maintenance::upcoming;
use process::Context;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::progress;
pub(super) use ops::instant::goal::{DELETED, FAR, Until, until};
use ops::instant::{self, When};
use ops::names::shoots::ShootName;

/// Goal as given on the command line, before it is resolved in a landscape.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Time(When),
    Window(Option<ShootName>),
    State(ShootName, &'static str),
}

/// Resolved goal.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// Latest instant at which the advance ends.
    pub(super) to: DateTime<Utc>,
    /// Namespace, name and state of the awaited Shoot.
    pub(super) state: Option<(String, String, &'static str)>,
    /// True if `to` is a limit rather than the goal.
    pub(super) is_limit: bool,
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

    /// Resolves the goal in a landscape at the current instant.
    pub(super) async fn resolve(
        &self,
        client: &Client,
        now: DateTime<Utc>,
        max: Option<TimeDelta>,
    ) -> Result<Destination, Failure> {
        let after = |by: TimeDelta| instant::reach(now, by).map_err(Failure::from);
        let context = &client.context();
        let (to, state) = match self {
            Self::Time(When::Off(by)) => (after(*by)?, None),
            Self::Time(When::At(instant)) => (*instant, None),
            Self::Window(shoot) => {
                let shoot = match shoot {
                    Some(shoot) => Some(client.shoot(shoot).await?),
                    None => None,
                };
                let begin = window_of(context, shoot.as_ref(), now).await?;
                (instant::reach(begin, TimeDelta::seconds(1))?, None)
            }
            Self::State(shoot, state) => {
                let shoot = &client.shoot(shoot).await?;
                let namespace = shoot.namespace(context).await?;
                if *state != DELETED {
                    shoot.find(context).await?;
                }
                let to = max.map_or_else(|| Ok(When::Off(FAR).behind(now)), after)?;
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

impl Destination {
    /// Goal for the progress display.
    pub(super) fn goal(&self) -> progress::Goal {
        match &self.state {
            None => progress::Goal::Time(self.to),
            Some((namespace, name, state)) => {
                progress::Goal::State { text: format!("Shoot {namespace}/{name} is {state}"), limit: self.to }
            }
        }
    }
}

fn failed(error: controller::Error) -> Failure {
    Failure::Failed(error.to_string())
}

/// Begin of the next window: that of the Shoot, or the earliest of all Shoots.
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
