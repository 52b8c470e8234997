// SPDX-License-Identifier: Apache-2.0
//! Destination of `clock advance` and `clock until`.

use std::sync::Arc;

use api::cluster;
use api::core::Shoot;
use chrono::{DateTime, TimeDelta, Utc};
use controller::{Api, ListOptions};
use domain::maintenance::upcoming;
use process::Context;

use super::expectation_goal::ExpectationGoal;
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
    /// Expectations hold; within this duration.
    Expectations(Arc<ExpectationGoal>, TimeDelta),
}

/// Condition that ends an advance before its last instant.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// Namespace, name and state of a Shoot.
    State(String, String, &'static str),
    /// Expectations.
    Expectations(Arc<ExpectationGoal>),
}

/// Resolved goal.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// Latest instant at which the advance ends.
    pub(super) to: DateTime<Utc>,
    /// Condition that ends it earlier.
    pub(super) condition: Option<Condition>,
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
        let to = match self {
            Self::Time(When::Off(by)) => after(*by)?,
            Self::Time(When::At(instant)) => *instant,
            Self::Window(shoot) => {
                let shoot = match shoot {
                    Some(shoot) => Some(client.shoot(shoot).await?),
                    None => None,
                };
                let begin = window_of(context, shoot.as_ref(), now).await?;
                instant::reach(begin, TimeDelta::seconds(1))?
            }
            Self::State(shoot, state) => {
                let shoot = &client.shoot(shoot).await?;
                let namespace = shoot.namespace(context).await?;
                if *state != DELETED {
                    shoot.find(context).await?;
                }
                let to = max.map_or_else(|| Ok(When::Off(FAR).behind(now)), after)?;
                let condition = Some(Condition::State(namespace, shoot.name.clone(), state));
                return Ok(Destination { to, condition, is_limit: true });
            }
            Self::Expectations(awaited, within) => {
                let condition = Some(Condition::Expectations(awaited.clone()));
                return Ok(Destination { to: after(*within)?, condition, is_limit: true });
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
        Ok(Destination { to: limit.unwrap_or(to), condition: None, is_limit: limit.is_some() })
    }
}

impl Destination {
    /// Goal for the progress display.
    pub(super) fn goal(&self) -> progress::Goal {
        let text = match &self.condition {
            None => return progress::Goal::Time(self.to),
            Some(Condition::State(namespace, name, state)) => format!("Shoot {namespace}/{name} is {state}"),
            Some(Condition::Expectations(awaited)) => awaited.goal(),
        };
        progress::Goal::State { text, limit: self.to }
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
