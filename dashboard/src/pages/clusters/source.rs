// SPDX-License-Identifier: Apache-2.0
//! Source of the rows of a list: the API's list for a small landscape, the index of the log for a large one. The index has the
//! fields that lists show and that maintenance reads, so only Shoots whose status contains more are read whole.
//!
//! **Invariant.** A user who may not list a namespace sees no row of it, from either source.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::Shoot;
use eventlog::{Key, Revision};
use futures::future::try_join_all;
use ops::past::resource;
use ops::past::rows::{self, Count, Rows, ShootRow};

use super::row::Light;
use crate::may::May;
use crate::pages::inventory::{Offers, Projects};
use crate::refusal::Refusal;
use crate::view::View;

/// Minimum number of Shoots of a large landscape.
const LARGE: usize = 500;

/// Shoots by `NAMESPACE/NAME`.
pub(super) type ReadShoots = BTreeMap<String, Shoot>;

/// All Shoots that the session's user may list.
pub(in crate::pages) enum Source {
    /// Whole objects, and the rows of the index, if the log has them.
    Listed(Vec<Shoot>, Option<Box<Rows>>),
    /// Rows of the index, and the positions of their specifications.
    Indexed(Vec<Arc<ShootRow>>, Box<Rows>),
}

impl Source {
    /// Reads the Shoots.
    pub(in crate::pages) async fn of(view: &View) -> Result<Self, Refusal> {
        let all = rows_at(view).await;
        match all {
            Some(all) if is_large(&all) => Ok(Self::Indexed(seen(view, &all).await, all)),
            all => Ok(Self::Listed(view.list(GARDEN, None, "").await?, all)),
        }
    }

    /// Returns the numbers of a Shoot's Nodes, by its technical ID; `None`: unknown.
    pub(super) fn nodes(&self, technical_id: &str) -> Option<Count> {
        let all = match self {
            Self::Listed(_, all) => all.as_ref()?,
            Self::Indexed(_, all) => all,
        };
        Some(all.nodes.get(technical_id).copied().unwrap_or_default())
    }

    /// Returns the rows to filter and sort.
    pub(super) fn rows<'a>(&'a self, view: &View, projects: &'a Projects, offers: &Offers) -> Vec<Light<'a>> {
        let light = |row: Arc<ShootRow>, shoot| {
            let project = projects.project_of(&row.namespace);
            let nodes = self.nodes(&row.technical_id);
            Light::of(view, row, shoot, project, offers, nodes)
        };
        match self {
            Self::Listed(shoots, _) => {
                shoots.iter().map(|shoot| light(Arc::new(ShootRow::of(shoot)), Some(shoot))).collect()
            }
            Self::Indexed(rows, _) => rows.iter().map(|row| light(row.clone(), None)).collect(),
        }
    }

    /// Returns a Shoot with the fields that maintenance reads; `asked`: Shoots that were read from the API.
    pub(super) fn known<'a>(&'a self, light: &Light<'a>, asked: &'a ReadShoots) -> Option<Cow<'a, Shoot>> {
        match (light.shoot, self) {
            (Some(shoot), _) => Some(Cow::Borrowed(shoot)),
            (None, Self::Indexed(_, all)) => {
                let asked = || asked.get(&light.row.key()).map(Cow::Borrowed);
                of_row(&light.row, all).map(Cow::Owned).or_else(asked)
            }
            (None, Self::Listed(..)) => None,
        }
    }

    /// Reads the Shoots of rows that do not contain enough.
    ///
    /// # Errors
    /// The API's error.
    pub(super) async fn ask(&self, view: &View, rows: &[Arc<ShootRow>]) -> Result<ReadShoots, Refusal> {
        let Self::Indexed(_, all) = self else { return Ok(ReadShoots::new()) };
        let shoots = whole(view, rows, all).await?;
        Ok(shoots.into_iter().map(|shoot| (ops::names::name_of(&shoot), shoot)).collect())
    }
}

/// Returns the Shoot of a row; `None`: its status has fields for maintenance that the row lacks.
fn of_row(row: &ShootRow, all: &Rows) -> Option<Shoot> {
    let spec = all.specs.get(row.key().as_str()).filter(|_| row.is_plain)?;
    row.shoot(spec)
}

/// Returns the rows of the index that the user may see, and all of it; `None`: there are few, or the log does not have them.
pub(in crate::pages) async fn indexed(view: &View) -> Option<(Vec<Arc<ShootRow>>, Box<Rows>)> {
    let all = rows_at(view).await.filter(|all| is_large(all))?;
    Some((seen(view, &all).await, all))
}

/// Returns the rows of the index at the moment of a view; `None`: the log does not have them.
async fn rows_at(view: &View) -> Option<Box<Rows>> {
    let revision = view.at.map_or_else(|| view.dashboard.options().log.head(), |moment| Revision(moment.revision));
    let rows = view.dashboard.past().at(revision).await.ok()?;
    view.dashboard.look_back();
    Some(Box::new(rows))
}

fn is_large(rows: &Rows) -> bool {
    rows.shoots.size() >= LARGE
}

/// Returns the present rows that the user may see, for any number of Shoots; empty: the log does not have them.
pub(crate) async fn known(view: &View) -> Vec<Arc<ShootRow>> {
    match view.dashboard.past().at(view.dashboard.options().log.head()).await {
        Ok(rows) => seen(view, &rows).await,
        Err(_) => Vec::new(),
    }
}

async fn seen(view: &View, rows: &Rows) -> Vec<Arc<ShootRow>> {
    let (mut may, mut known) = (May::new(view), BTreeMap::new());
    let mut seen = Vec::with_capacity(rows.shoots.size());
    for row in rows.shoots.values() {
        let is_seen = match known.get(&row.namespace) {
            Some(is_seen) => *is_seen,
            None => {
                let is_seen = may.list(&Key::new(GARDEN, resource::SHOOTS, &row.namespace, "")).await;
                known.insert(row.namespace.clone(), is_seen);
                is_seen
            }
        };
        if is_seen {
            seen.push(row.clone());
        }
    }
    seen
}

/// Returns the Shoots of rows, in their order, with all fields that lists and maintenance read. A Shoot that was deleted
/// meanwhile is left out.
///
/// # Errors
/// The API's error.
pub(in crate::pages) async fn whole(view: &View, rows: &[Arc<ShootRow>], all: &Rows) -> Result<Vec<Shoot>, Refusal> {
    let read = rows.iter().map(|row| async move {
        if let Some(shoot) = of_row(row, all) {
            return Ok(Some(shoot));
        }
        // Exact lists of the past are slow to read; its entries, if retained, are not.
        let changed = if view.at.is_some() { changed(view, row).await } else { None };
        match changed {
            Some(shoot) => Ok(Some(shoot)),
            None => view.get::<Shoot>(GARDEN, &row.namespace, &row.name).await,
        }
    });
    let shoots: Vec<Option<Shoot>> = try_join_all(read).await?;
    Ok(shoots.into_iter().flatten().collect())
}

/// Returns the Shoots on screen, read as by [`whole`].
///
/// # Errors
/// The API's error.
pub(super) async fn on_screen<'a>(
    view: &View,
    source: &'a Source,
    rows: &[&Light<'a>],
) -> Result<Vec<Cow<'a, Shoot>>, Refusal> {
    match source {
        Source::Listed(..) => Ok(rows.iter().filter_map(|light| light.shoot.map(Cow::Borrowed)).collect()),
        Source::Indexed(_, all) => {
            let rows: Vec<Arc<ShootRow>> = rows.iter().map(|light| light.row.clone()).collect();
            let shoots = whole(view, &rows, all).await?;
            Ok(shoots.into_iter().map(Cow::Owned).collect())
        }
    }
}

/// Returns the Shoot after its last change.
async fn changed(view: &View, row: &ShootRow) -> Option<Shoot> {
    let revision = Revision(row.revision);
    let before = Revision(row.revision.checked_sub(1)?);
    let entries = view.dashboard.options().log.read(before, revision, Some(GARDEN)).await.ok()?;
    let entry = entries.iter().find(|entry| entry.revision == revision)?;
    let is_it = *entry.key.resource == *resource::SHOOTS && *entry.key.name == *row.name;
    is_it.then(|| rows::read((entry.revision, &entry.object))).flatten()
}
