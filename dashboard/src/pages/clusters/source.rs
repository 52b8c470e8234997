// SPDX-License-Identifier: Apache-2.0
//! Where the rows of the list come from: of a small landscape from the API's list, of a large one from the index of the log,
//! so that only the Shoots on screen are read whole.
//!
//! **Invariant.** Who may not list a namespace sees no row of it, whichever way it comes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster::GARDEN;
use api::core::Shoot;
use eventlog::{Key, Revision};
use futures::future::try_join_all;
use ops::past::resource;
use ops::past::rows::{self, ShootRow};

use super::row::Light;
use crate::may::May;
use crate::pages::world::{Offers, Projects};
use crate::refusal::Refusal;
use crate::view::View;

/// Shoots from which on a landscape is large.
const LARGE: usize = 500;

/// All Shoots that the session's user may list.
pub(super) enum Source {
    /// Whole objects.
    Listed(Vec<Shoot>),
    /// Rows of the index.
    Indexed(Vec<Arc<ShootRow>>),
}

impl Source {
    /// Reads them; `whole` where rows are not enough.
    pub(super) async fn of(view: &View, whole: bool) -> Result<Self, Refusal> {
        if !whole && let Some(rows) = indexed(view).await {
            return Ok(Self::Indexed(rows));
        }
        Ok(Self::Listed(view.list(GARDEN, None, "").await?))
    }

    /// What is filtered and sorted.
    pub(super) fn rows<'a>(&'a self, view: &View, projects: &'a Projects, offers: &Offers) -> Vec<Light<'a>> {
        match self {
            Self::Listed(shoots) => shoots
                .iter()
                .map(|shoot| {
                    let row = Arc::new(ShootRow::of(shoot));
                    Light::of(view, row, Some(shoot), projects.of(&shoot.metadata.namespace), offers)
                })
                .collect(),
            Self::Indexed(rows) => {
                rows.iter().map(|row| Light::of(view, row.clone(), None, projects.of(&row.namespace), offers)).collect()
            }
        }
    }
}

/// The rows of the index; `None`: there are few, or the log does not have them.
async fn indexed(view: &View) -> Option<Vec<Arc<ShootRow>>> {
    let revision = view.at.map_or_else(|| view.dashboard.options().log.head(), |moment| Revision(moment.revision));
    let rows = view.dashboard.past().at(revision).await.ok()?;
    if rows.shoots.size() < LARGE {
        return None;
    }
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
    Some(seen)
}

/// The whole Shoots of rows, in their order. One that has gone meanwhile is left out.
///
/// # Errors
/// What the API answers.
pub(super) async fn on_screen<'a>(view: &View, rows: &[&Light<'a>]) -> Result<Vec<Cow<'a, Shoot>>, Refusal> {
    let read = rows.iter().map(|light| async move {
        if let Some(shoot) = light.shoot {
            return Ok(Some(Cow::Borrowed(shoot)));
        }
        let row = &light.row;
        // Exact lists of the past are long; its entries are not, where they are retained.
        let changed = if view.at.is_some() { changed(view, row).await } else { None };
        match changed {
            Some(shoot) => Ok(Some(Cow::Owned(shoot))),
            None => view.get::<Shoot>(GARDEN, &row.namespace, &row.name).await.map(|shoot| shoot.map(Cow::Owned)),
        }
    });
    let shoots: Vec<Option<Cow<'a, Shoot>>> = try_join_all(read).await?;
    Ok(shoots.into_iter().flatten().collect())
}

/// The Shoot as its last change left it.
async fn changed(view: &View, row: &ShootRow) -> Option<Shoot> {
    let revision = Revision(row.revision);
    let before = Revision(row.revision.checked_sub(1)?);
    let entries = view.dashboard.options().log.read(before, revision, Some(GARDEN)).await.ok()?;
    let entry = entries.iter().find(|entry| entry.revision == revision)?;
    let is_it = *entry.key.resource == *resource::SHOOTS && *entry.key.name == *row.name;
    is_it.then(|| rows::read((entry.revision, &entry.object))).flatten()
}
