// SPDX-License-Identifier: Apache-2.0
//! Forecast of maintenance: time, target version and reason of each update of a Shoot, and the Shoots without one.
//!
//! **Tour.** [`rows`] one change each, counted by [`summary`]; [`unmoved`] Shoots without a change; [`what_if`] other dates and
//! classifications.

pub mod rows;
pub mod summary;
pub mod unmoved;
pub mod what_if;

use domain::versions::Moment;
use std::collections::BTreeMap;

use api::core::Shoot;
use chrono::{DateTime, Utc};
use clock::Random;
use domain::forecast::{self, Change, Course, Offer, Settings, Subject};
use domain::shoot_facts::is_confined;
use domain::worker_pool::Effect;

use self::rows::Row;
use self::unmoved::{Prospect, Unmoved};
use crate::Error;
use crate::explain;
use crate::explain::lines::Line;
use crate::gates::gates_for;
use crate::inventory::Inventory;
use crate::names::{ProfileKey, name_of};
use crate::show;
use crate::spelling::{counted, first_of, nearest};

/// Filter of changes by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Changes that an expired version forces.
    Forced,
    /// Changes that will fail.
    Failed,
    /// Changes that replace nodes.
    Rolling,
    /// Changes of the Kubernetes version.
    Kubernetes,
    /// Changes of the image of a pool.
    MachineImage,
    /// Other changes that maintenance makes because of a new version.
    Migration,
    /// Operations that maintenance starts.
    Operation,
    /// Whole maintenance runs that the API server will refuse.
    Blocked,
}

impl Only {
    /// All filters.
    pub const ALL: [Self; 8] = [
        Self::Forced,
        Self::Failed,
        Self::Rolling,
        Self::Kubernetes,
        Self::MachineImage,
        Self::Migration,
        Self::Operation,
        Self::Blocked,
    ];

    /// Name of the filter on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Failed => "failed",
            Self::Rolling => "rolling",
            Self::Kubernetes => "kubernetes",
            Self::MachineImage => "machineImage",
            Self::Migration => "migration",
            Self::Operation => "operation",
            Self::Blocked => "blocked",
        }
    }

    /// Returns the filter of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|only| only.as_str() == name)
    }

    /// True if the filter includes a change.
    pub fn takes(self, change: &Change) -> bool {
        match self {
            Self::Forced => change.is_forced,
            Self::Failed => change.failure.is_some(),
            Self::Rolling => change.effect == Effect::Rolling,
            Self::Kubernetes => change.subject == Subject::Kubernetes,
            Self::MachineImage => change.subject == Subject::MachineImage,
            Self::Migration => change.subject == Subject::Migration,
            Self::Operation => change.subject == Subject::Operation,
            Self::Blocked => change.subject == Subject::Blocked,
        }
    }
}

/// Changes of all Shoots until an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Changes ordered by time, then by Shoot.
    pub rows: Vec<Row>,
    /// Shoots without a successful change until the end.
    pub unmoved: Vec<Unmoved>,
    /// Shoots (`NAMESPACE/NAME`) whose changes of the spec wait for a window (`spec.maintenance.confineSpecUpdateRollout`); in
    /// it, worker pools may roll without a change of a version. The objects do not tell if there is such a change.
    pub confined: Vec<String>,
    /// End of the forecast.
    pub until: DateTime<Utc>,
    /// Number of all Shoots.
    pub shoots: usize,
}

impl Forecast {
    /// Computes the forecast of all Shoots of an inventory, in parallel. The instants of maintenance runs equal those of a
    /// landscape with the same random source.
    pub fn of(inventory: &Inventory, from: DateTime<Utc>, until: DateTime<Utc>, random: &Random) -> Self {
        let offers: BTreeMap<ProfileKey, Offer> = inventory
            .offers()
            .into_iter()
            .map(|(key, first)| (key.clone(), Offer { name: key.name, first, changes: Vec::new() }))
            .collect();
        let mut forecast = Self::empty(inventory.shoots.len(), until);
        // Shoots are independent of each other, so the processors share them; the parts are joined in order.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = inventory.shoots.len().div_ceil(processors).max(1);
        let offers = &offers;
        std::thread::scope(|scope| {
            let parts = inventory.shoots.chunks(share);
            let parts: Vec<_> = parts
                .map(|shoots| scope.spawn(move || Self::of_shoots(inventory, shoots, offers, from, until, random)))
                .collect();
            for part in parts {
                let part = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                forecast.rows.extend(part.rows);
                forecast.unmoved.extend(part.unmoved);
                forecast.confined.extend(part.confined);
            }
        });
        forecast.rows.sort_by(|left, right| (left.change.time, &left.shoot).cmp(&(right.change.time, &right.shoot)));
        forecast
    }

    fn empty(shoots: usize, until: DateTime<Utc>) -> Self {
        Self { rows: Vec::new(), unmoved: Vec::new(), confined: Vec::new(), until, shoots }
    }

    fn of_shoots(
        inventory: &Inventory,
        shoots: &[Shoot],
        offers: &BTreeMap<ProfileKey, Offer>,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        random: &Random,
    ) -> Self {
        let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
        let mut forecast = Self::empty(shoots.len(), until);
        for shoot in shoots {
            let name = name_of(shoot);
            // A Shoot that is being created rolls nothing, and one that is being deleted has no window any more.
            let is_reconciled = shoot.status.last_operation.is_some() && !shoot.metadata.is_being_deleted();
            if is_reconciled && is_confined(&shoot.spec) {
                forecast.confined.push(name.clone());
            }
            let key = ProfileKey::of(shoot);
            let Some(offer) = offers.get(&key) else {
                let prospect = Prospect::Unknown(format!("since what {key} offers is not given"));
                forecast.unmoved.push(Unmoved { shoot: name, prospect });
                continue;
            };
            let settings = Settings {
                from,
                until,
                draw: &draw,
                gates: gates_for(inventory.release),
                disables_nginx_ingress: inventory.disables_nginx_ingress,
                forms: &|shoot| inventory.forms(shoot),
            };
            let course = forecast::course(shoot, offer, &settings);
            if !course.changes.iter().any(|change| change.failure.is_none()) {
                let next = course.next_change(offer, &settings);
                let prospect =
                    Prospect::of(next, standing(shoot, offer, &course, Moment::new(until, inventory.release)));
                forecast.unmoved.push(Unmoved { shoot: name.clone(), prospect });
            }
            forecast.rows.extend(course.changes.into_iter().map(|change| Row { shoot: name.clone(), change }));
        }
        forecast
    }

    /// Returns the summary: Shoots that change, that fail, and that stay unchanged, with the reason.
    pub fn closing(&self) -> Vec<String> {
        let mut lines = vec![summary::moved(&self.rows, self.shoots, !self.confined.is_empty())];
        lines.extend(unmoved::lines(&self.unmoved, self.until, 3).into_iter().map(|line| format!("  {line}")));
        if !self.confined.is_empty() {
            let shoots = counted(self.confined.len(), "Shoot confines", "Shoots confine");
            let names = first_of(self.confined.iter().map(String::as_str), 3);
            lines.push(format!(
                "  {shoots} changes of the spec to the window, where they may roll worker pools; `terrarium why` lists those \
                 that wait: {names}"
            ));
        }
        lines
    }

    /// Explains which versions of the Shoot `NAMESPACE/NAME` are chosen or kept, as seen from an instant, and what happens
    /// to it.
    ///
    /// # Errors
    /// There is no such Shoot.
    pub fn explained(&self, inventory: &Inventory, name: &str, from: DateTime<Utc>) -> Result<Vec<Line>, Error> {
        let Some(shoot) = inventory.shoots.iter().find(|shoot| name_of(shoot) == name) else {
            let names = inventory.shoots.iter().map(name_of);
            let names: Vec<String> = names.collect();
            let hint = nearest(name, names.iter().map(String::as_str));
            return Err(Error::input(format!("there is no Shoot {name} among the manifests"), hint));
        };
        let key = ProfileKey::of(shoot);
        let mut lines = vec![Line::of(format!("Shoot {name}, {key}, as seen from {}:", show(from)))];
        let mut add = |line: Line| lines.push(line.deeper());
        match inventory.offers().get(&key) {
            Some(offered) => {
                explain::lines(shoot, &key.name, offered, Moment::new(from, inventory.release), None)
                    .into_iter()
                    .for_each(&mut add);
            }
            None => add(Line::of(format!("what {key} offers is not among the manifests"))),
        }
        let own: Vec<&Row> = self.rows.iter().filter(|row| row.shoot == name).collect();
        if own.is_empty() {
            for unmoved in self.unmoved.iter().filter(|unmoved| unmoved.shoot == name) {
                add(Line::of(unmoved.prospect.sentence(self.until)));
            }
        }
        for row in own {
            let change = &row.change;
            let pool = change.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
            let what = match (&change.from, &change.to, &change.failure) {
                (_, _, Some(failure)) => format!("fails: {failure}"),
                (Some(from), Some(to), None) => format!("{from} to {to}: {}", rows::reason(change)),
                _ => rows::reason(change),
            };
            let (at, subject) = (show(change.time), change.subject.as_str());
            add(Line::of(format!("{at} {subject}{pool} {what}; nodes: {}", rows::nodes(change))));
        }
        Ok(lines)
    }
}

/// Reason for which a Shoot does not change until an instant.
fn standing(shoot: &Shoot, offer: &Offer, course: &Course, until: Moment) -> String {
    if shoot.metadata.is_being_deleted() {
        return "being deleted".to_owned();
    }
    if let Some(failure) = course.changes.iter().find_map(|change| change.failure.as_ref()) {
        let text: String = failure.chars().take(120).collect();
        return format!("since maintenance fails ({text}{})", if text.len() < failure.len() { "…" } else { "" });
    }
    if domain::versions::Version::parse(&shoot.spec.kubernetes.version).is_err() {
        return format!("since `{}` is no version", shoot.spec.kubernetes.version);
    }
    let choices = forecast::choice::choices(&course.last, &offer.name, offer.at(until.now), until);
    if choices.iter().all(|choice| !choice.auto_update) {
        "since automatic updates are off and nothing in use expires".to_owned()
    } else {
        "since no higher version may be taken".to_owned()
    }
}
