// SPDX-License-Identifier: Apache-2.0
//! Record of the Shoots for which `clock until window` has ended at the clock's current instant.
//!
//! Windows of several Shoots may begin together. The clock then stands a second after the begin of each of them. For a Shoot
//! that is not in the record the goal is reached already: its next window would skip the current one.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use domain::maintenance::upcoming;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::Directory;
use ops::names::name_of;
use ops::names::shoots::ShootName;

/// File of the record in the landscape's directory.
const FILE: &str = "windows";

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Landscape time for which the record is valid.
    at: DateTime<Utc>,
    /// `NAMESPACE/NAME` of the Shoots.
    shoots: BTreeSet<String>,
}

impl Record {
    /// True if the clock stands at the goal of a Shoot whose last window began at `begin`, and the Shoot is not in the record.
    fn is_at_goal(&self, shoot: &str, begin: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
        begin.is_some_and(|begin| begin + TimeDelta::seconds(1) == now)
            && !(self.at == now && self.shoots.contains(shoot))
    }

    /// Adds a Shoot at an instant; drops the Shoots of another instant.
    fn add(&mut self, shoot: String, now: DateTime<Utc>) {
        if self.at != now {
            *self = Self { at: now, shoots: BTreeSet::new() };
        }
        self.shoots.insert(shoot);
    }
}

/// True if the clock is at the goal of `until window` for a Shoot.
pub(super) async fn is_there(directory: &Directory, client: &Client, shoot: &ShootName) -> Result<bool, Failure> {
    let now = client.clock().await?.now;
    let shoot = shoot.usual(&client.transport()).await?.find(&client.context()).await?;
    let begin = upcoming::next_begin(&shoot, now - TimeDelta::seconds(1));
    let record: Record = directory.read(FILE).ok().flatten().unwrap_or_default();
    Ok(record.is_at_goal(&name_of(&shoot), begin, now))
}

/// Adds a Shoot to the record at the current instant, unless it can no longer be read.
pub(super) async fn note(directory: &Directory, client: &Client, shoot: &ShootName) -> Result<(), Failure> {
    let now = client.clock().await?.now;
    let Ok(shoot) = shoot.usual(&client.transport()).await else { return Ok(()) };
    let Ok(shoot) = shoot.find(&client.context()).await else { return Ok(()) };
    let mut record: Record = directory.read(FILE).ok().flatten().unwrap_or_default();
    record.add(name_of(&shoot), now);
    directory.write_json(FILE, &record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_second_request_skips_the_current_window() {
        let begin: DateTime<Utc> = "2023-07-28T09:00:00Z".parse().expect("an instant");
        let now = begin + TimeDelta::seconds(1);
        let mut record = Record::default();
        assert!(record.is_at_goal("p/a", Some(begin), now));
        record.add("p/a".to_owned(), now);
        assert!(!record.is_at_goal("p/a", Some(begin), now), "the next window is meant");
        assert!(record.is_at_goal("p/b", Some(begin), now));
        for other in [None, Some(begin - TimeDelta::seconds(1)), Some(begin + TimeDelta::days(1))] {
            assert!(!record.is_at_goal("p/b", other, now), "{other:?}");
        }
        let day = TimeDelta::days(1);
        record.add("p/b".to_owned(), now + day);
        assert!(record.is_at_goal("p/a", Some(begin + day), now + day), "the record of another instant is ignored");
    }
}
