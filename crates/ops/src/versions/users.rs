// SPDX-License-Identifier: Apache-2.0
//! Effects of maintenance on the users of each offered version: Shoots and worker pools, version by version.
//!
//! Maintenance is not computed here: the changes are those of a [`Forecast`], and the reasons for which a version stays
//! come from [`crate::explain`].

use domain::versions::Moment;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use api::core::Shoot;
use chrono::{DateTime, Utc};
use domain::forecast::choice::{self, Choice};
use domain::forecast::{Change, Subject};
use domain::versions::Version;

use crate::explain;
use crate::forecast::Forecast;
use crate::inventory::Inventory;
use crate::names::{ProfileKey, name_of};
use crate::show;

/// Users of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// `kubernetes`, or the name of an image.
    pub subject: String,
    /// The version.
    pub version: String,
    /// Users ordered by name, control planes before pools.
    pub users: Vec<User>,
}

/// A user of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// `NAMESPACE/NAME` of the Shoot.
    pub shoot: String,
    /// The worker pool; `None`: the control plane, and the pools that follow it.
    pub pool: Option<String>,
    /// First change, or the reason for which there is none.
    pub fate: Fate,
}

/// Effect of maintenance on a user of a version.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Maintenance changes the version, or fails to do so.
    Changes(Change),
    /// The version does not change, with the reason.
    Stays(String),
}

/// Groups the users by version with a forecast from `now` on: Kubernetes first, the highest version first.
pub fn of(inventory: &Inventory, forecast: &Forecast, now: DateTime<Utc>) -> Vec<Group> {
    let offers = inventory.offers();
    let mut changes: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
    for row in &forecast.rows {
        changes.entry(&row.shoot).or_default().push(&row.change);
    }
    let mut groups: BTreeMap<(String, String), Vec<User>> = BTreeMap::new();
    for shoot in &inventory.shoots {
        let key = ProfileKey::of(shoot);
        let Some(offered) = offers.get(&key) else { continue };
        let name = name_of(shoot);
        let own = changes.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        for choice in choice::choices(shoot, &key.name, offered, Moment::new(now, inventory.release)) {
            let fate = fate(shoot, &choice, own, now);
            let subject = choice.image.unwrap_or_else(|| "kubernetes".to_owned());
            let user = User { shoot: name.clone(), pool: choice.pool, fate };
            groups.entry((subject, choice.current)).or_default().push(user);
        }
    }
    let group = |((subject, version), mut users): (_, Vec<User>)| {
        users.sort_by(|one, other| (&one.shoot, &one.pool).cmp(&(&other.shoot, &other.pool)));
        Group { subject, version, users }
    };
    let mut groups: Vec<Group> = groups.into_iter().map(group).collect();
    groups.sort_by_cached_key(|group| {
        (group.subject != "kubernetes", group.subject.clone(), Reverse(Version::parse(&group.version).ok()))
    });
    groups
}

fn fate(shoot: &Shoot, choice: &Choice, changes: &[&Change], now: DateTime<Utc>) -> Fate {
    let subject = if choice.image.is_some() { Subject::MachineImage } else { Subject::Kubernetes };
    let is_of_it = |change: &&&Change| {
        change.subject == subject && change.pool == choice.pool && change.from.as_deref() == Some(&*choice.current)
    };
    let is_blocked = |change: &&&Change| change.subject == Subject::Blocked && choice.outcome.is_some();
    match changes.iter().find(is_of_it).or_else(|| changes.iter().find(is_blocked)) {
        Some(change) => Fate::Changes((*change).clone()),
        None if shoot.metadata.is_being_deleted() => Fate::Stays("it is being deleted".to_owned()),
        None if choice.outcome.is_some() => Fate::Stays("it is not maintained until then".to_owned()),
        None => Fate::Stays(match choice.expires {
            Some(date) if date > now => format!("{}; it expires on {}", explain::stays(choice), show(date)),
            _ => explain::stays(choice),
        }),
    }
}
