// SPDX-License-Identifier: Apache-2.0
//! Where the rows of a list come from: of a small landscape from the API's list, of a large one from the index of the log, which
//! has what lists show and what maintenance looks at, so that no Shoot is read whole but those whose status says more.
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
use ops::past::rows::{self, Count, Rows, ShootRow};

use super::row::Light;
use crate::may::May;
use crate::pages::world::{Offers, Projects};
use crate::refusal::Refusal;
use crate::view::View;

/// Shoots from which on a landscape is large.
const LARGE: usize = 500;

/// Shoots by `NAMESPACE/NAME`.
pub(super) type Asked = BTreeMap<String, Shoot>;

/// All Shoots that the session's user may list.
pub(in crate::pages) enum Source {
    /// Whole objects, and the rows of the index, if the log has them.
    Listed(Vec<Shoot>, Option<Box<Rows>>),
    /// Rows of the index, and where their specifications are.
    Indexed(Vec<Arc<ShootRow>>, Box<Rows>),
}

impl Source {
    /// Reads them.
    pub(in crate::pages) async fn of(view: &View) -> Result<Self, Refusal> {
        let all = rows_at(view).await;
        match all {
            Some(all) if is_large(&all) => Ok(Self::Indexed(seen(view, &all).await, all)),
            all => Ok(Self::Listed(view.list(GARDEN, None, "").await?, all)),
        }
    }

    /// How many Nodes a Shoot has, by its technical ID; `None`: that is not known.
    pub(super) fn nodes(&self, technical_id: &str) -> Option<Count> {
        let all = match self {
            Self::Listed(_, all) => all.as_ref()?,
            Self::Indexed(_, all) => all,
        };
        Some(all.nodes.get(technical_id).copied().unwrap_or_default())
    }

    /// What is filtered and sorted.
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

    /// A Shoot as far as maintenance looks at it; `asked` has those that had to be asked for.
    pub(super) fn known<'a>(&'a self, light: &Light<'a>, asked: &'a Asked) -> Option<Cow<'a, Shoot>> {
        match (light.shoot, self) {
            (Some(shoot), _) => Some(Cow::Borrowed(shoot)),
            (None, Self::Indexed(_, all)) => {
                let asked = || asked.get(&light.row.key()).map(Cow::Borrowed);
                of_row(&light.row, all).map(Cow::Owned).or_else(asked)
            }
            (None, Self::Listed(..)) => None,
        }
    }

    /// Asks for the Shoots of rows that do not say enough.
    ///
    /// # Errors
    /// What the API answers.
    pub(super) async fn ask(&self, view: &View, rows: &[Arc<ShootRow>]) -> Result<Asked, Refusal> {
        let Self::Indexed(_, all) = self else { return Ok(Asked::new()) };
        let shoots = whole(view, rows, all).await?;
        Ok(shoots.into_iter().map(|shoot| (ops::world::name_of(&shoot), shoot)).collect())
    }
}

/// The Shoot of a row; `None`: its status has more to say to maintenance than the row has.
fn of_row(row: &ShootRow, all: &Rows) -> Option<Shoot> {
    let spec = all.specs.get(row.key().as_str()).filter(|_| row.is_plain)?;
    row.shoot(spec)
}

/// The rows of the index that the user may see, and all of it; `None`: there are few, or the log does not have them.
pub(in crate::pages) async fn indexed(view: &View) -> Option<(Vec<Arc<ShootRow>>, Box<Rows>)> {
    let all = rows_at(view).await.filter(|all| is_large(all))?;
    Some((seen(view, &all).await, all))
}

/// The rows of the index at the moment of a view; `None`: the log does not have them.
async fn rows_at(view: &View) -> Option<Box<Rows>> {
    let revision = view.at.map_or_else(|| view.dashboard.options().log.head(), |moment| Revision(moment.revision));
    let rows = view.dashboard.past().at(revision).await.ok()?;
    view.dashboard.look_back();
    Some(Box::new(rows))
}

fn is_large(rows: &Rows) -> bool {
    rows.shoots.size() >= LARGE
}

/// The rows of the present that the user may see, of however few; empty: the log does not have them.
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

/// The Shoots of rows, in their order, whole as far as lists and maintenance look. One that has gone meanwhile is left out.
///
/// # Errors
/// What the API answers.
pub(in crate::pages) async fn whole(view: &View, rows: &[Arc<ShootRow>], all: &Rows) -> Result<Vec<Shoot>, Refusal> {
    let read = rows.iter().map(|row| async move {
        if let Some(shoot) = of_row(row, all) {
            return Ok(Some(shoot));
        }
        // Exact lists of the past are long; its entries are not, where they are retained.
        let changed = if view.at.is_some() { changed(view, row).await } else { None };
        match changed {
            Some(shoot) => Ok(Some(shoot)),
            None => view.get::<Shoot>(GARDEN, &row.namespace, &row.name).await,
        }
    });
    let shoots: Vec<Option<Shoot>> = try_join_all(read).await?;
    Ok(shoots.into_iter().flatten().collect())
}

/// The Shoots on screen, as [`whole`] gives them.
///
/// # Errors
/// What the API answers.
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

/// The Shoot as its last change left it.
async fn changed(view: &View, row: &ShootRow) -> Option<Shoot> {
    let revision = Revision(row.revision);
    let before = Revision(row.revision.checked_sub(1)?);
    let entries = view.dashboard.options().log.read(before, revision, Some(GARDEN)).await.ok()?;
    let entry = entries.iter().find(|entry| entry.revision == revision)?;
    let is_it = *entry.key.resource == *resource::SHOOTS && *entry.key.name == *row.name;
    is_it.then(|| rows::read((entry.revision, &entry.object))).flatten()
}
