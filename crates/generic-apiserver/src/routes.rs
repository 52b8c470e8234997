// SPDX-License-Identifier: Apache-2.0
//! What a server serves: stored resources, other versions of them, reviews, and hooks of subresources.
//!
//! Which of them a cluster serves, the server asks [`Clusters`](crate::Clusters); who answers for a request is decided
//! here, by group, version and plural name.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use parking_lot::Mutex;

use crate::kind::Kind;
use crate::openapi::{Described, Documents};
use crate::request::ResourcePath;
use crate::reviews::Review;
use crate::storage::CollectionId;
use crate::subresource::Subresource;
use crate::views::View;

/// Group, version and plural name.
type Key = (&'static str, &'static str, &'static str);

fn key(info: &ResourceInfo) -> Key {
    (info.group, info.version, info.plural)
}

/// A stored resource that is served.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) id: CollectionId,
    pub(crate) kind: Arc<dyn Kind>,
    /// The views of it that name fields in another way.
    pub(crate) views: Arc<[Arc<View>]>,
    /// The view through which a request comes.
    pub(crate) via: Option<Arc<View>>,
}

/// What answers for a path.
pub(crate) enum Served {
    Row(Row),
    /// A resource that is stored as another.
    View(Arc<View>, Row),
    Review(Arc<Review>),
}

impl Served {
    /// The kind that clients speak of.
    pub(crate) fn info(&self) -> ResourceInfo {
        match self {
            Self::Row(row) => row.kind.names().info.clone(),
            Self::View(view, _) => view.info.clone(),
            Self::Review(review) => review.info.clone(),
        }
    }
}

/// Everything that a server serves.
pub(crate) struct Routes {
    rows: BTreeMap<Key, Row>,
    views: BTreeMap<Key, Arc<View>>,
    reviews: BTreeMap<Key, Arc<Review>>,
    /// By group, plural name and name of the subresource.
    subresources: BTreeMap<Key, Arc<dyn Subresource>>,
    /// Kinds of rows in the form of another release than the row's.
    released: Mutex<BTreeMap<(Key, Release), Arc<dyn Kind>>>,
}

impl Routes {
    /// Of several for one place the last one counts.
    pub(crate) fn new(
        rows: Vec<Row>,
        views: Vec<View>,
        reviews: Vec<ResourceInfo>,
        subresources: Vec<(ResourceInfo, &'static str, Arc<dyn Subresource>)>,
    ) -> Self {
        let subresources = subresources.into_iter();
        let views: BTreeMap<Key, Arc<View>> = views.into_iter().map(|view| (key(&view.info), Arc::new(view))).collect();
        let with_views = |mut row: Row| {
            let own = key(&row.kind.names().info);
            let others = views.values().filter(|view| key(&view.target) == own && !view.is_alike());
            row.views = others.cloned().collect();
            (own, row)
        };
        Self {
            rows: rows.into_iter().map(with_views).collect(),
            views,
            reviews: reviews.into_iter().map(|info| (key(&info), Arc::new(Review { info }))).collect(),
            subresources: subresources.map(|(info, name, hook)| ((info.group, info.plural, name), hook)).collect(),
            released: Mutex::default(),
        }
    }

    /// OpenAPI documents of everything that is served, and of `others`, which somebody else serves behind this server.
    pub(crate) fn documents(&self, others: Vec<ResourceInfo>) -> Documents {
        let rows = self.rows.values().map(|row| {
            let names = row.kind.names();
            Described::new(names.info.clone(), names.described.clone())
        });
        let views = self.views.values().map(|view| Described::new(view.info.clone(), view.described.clone()));
        let others = others.into_iter().map(Described::elsewhere);
        Documents::new(rows.chain(views).chain(others), self.reviews.values().map(|review| review.info.clone()))
    }

    /// Returns the server of a path among the resources that `serves` lets through, each in its release.
    pub(crate) fn find(
        &self,
        path: &ResourcePath,
        serves: impl Fn(&ResourceInfo) -> bool,
        release: impl Fn(&ResourceInfo) -> Release,
    ) -> Option<Served> {
        let key = (path.group.as_str(), path.version.as_str(), path.plural.as_str());
        if let Some(row) = self.rows.get(&key) {
            let info = &row.kind.names().info;
            return serves(info).then(|| Served::Row(self.at(row, release(info))));
        }
        if let Some(view) = self.views.get(&key) {
            let row = self.rows.get(&self::key(&view.target))?;
            let row = Row { via: Some(view.clone()), ..row.clone() };
            return serves(&view.info).then(|| Served::View(view.clone(), row));
        }
        let review = self.reviews.get(&key)?;
        serves(&review.info).then(|| Served::Review(review.clone()))
    }

    /// The row in the form of a release.
    fn at(&self, row: &Row, release: Release) -> Row {
        let info = &row.kind.names().info;
        if release == info.release {
            return row.clone();
        }
        // Each release that a landscape has had stays: a kind's form is small, and there are few releases.
        let mut released = self.released.lock();
        let kind = released.entry((key(info), release)).or_insert_with(|| row.kind.at(release)).clone();
        Row { kind, ..row.clone() }
    }

    /// The hook of a subresource.
    pub(crate) fn subresource(&self, info: &ResourceInfo, name: &str) -> Option<Arc<dyn Subresource>> {
        self.subresources.get(&(info.group, info.plural, name)).filter(|_| info.serves(name)).cloned()
    }

    /// The resources with objects: those that are stored, and other versions of them.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &ResourceInfo> {
        let rows = self.rows.values().map(|row| &row.kind.names().info);
        rows.chain(self.views.values().map(|view| &view.info))
    }

    /// The resources that can only be created.
    pub(crate) fn reviews(&self) -> impl Iterator<Item = &ResourceInfo> {
        self.reviews.values().map(|review| &review.info)
    }
}
