// SPDX-License-Identifier: Apache-2.0
//! Resources of a server: stored resources, other versions of them, reviews, and hooks of subresources.
//!
//! [`Clusters`] decides which of them a cluster serves; this module finds the one that answers a request, by group,
//! version and plural name.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use parking_lot::Mutex;

use crate::clusters::Clusters;
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
    /// Views of the row, which name fields in another way.
    pub(crate) views: Arc<[Arc<View>]>,
    /// View through which a request is made.
    pub(crate) via: Option<Arc<View>>,
}

/// Resource that answers for a path.
pub(crate) enum Served {
    Row(Row),
    /// A resource that is stored as another.
    View(Arc<View>, Row),
    Review(Arc<Review>),
}

impl Served {
    /// Returns the kind by the names that clients use.
    pub(crate) fn info(&self) -> ResourceInfo {
        match self {
            Self::Row(row) => row.kind.names().info.clone(),
            Self::View(view, _) => view.info.clone(),
            Self::Review(review) => review.info.clone(),
        }
    }
}

/// All resources of a server.
pub(crate) struct Routes {
    /// The logical clusters, and the resources that each serves.
    pub(crate) clusters: Arc<dyn Clusters>,
    rows: BTreeMap<Key, Row>,
    views: BTreeMap<Key, Arc<View>>,
    reviews: BTreeMap<Key, Arc<Review>>,
    /// Subresources by group, plural name and name of the subresource.
    subresources: BTreeMap<Key, Arc<dyn Subresource>>,
    /// Kinds of rows in the form of another release than the row's.
    released: Mutex<BTreeMap<(Key, Release), Arc<dyn Kind>>>,
}

impl Routes {
    /// Creates the routes; of several for one place the last one counts.
    pub(crate) fn new(
        clusters: Arc<dyn Clusters>,
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
            clusters,
            rows: rows.into_iter().map(with_views).collect(),
            views,
            reviews: reviews.into_iter().map(|info| (key(&info), Arc::new(Review { info }))).collect(),
            subresources: subresources.map(|(info, name, hook)| ((info.group, info.plural, name), hook)).collect(),
            released: Mutex::default(),
        }
    }

    /// Returns OpenAPI documents of all served resources, and of `others`, which another server behind this one serves.
    pub(crate) fn documents(&self, others: Vec<ResourceInfo>) -> Documents {
        let rows = self.rows.values().map(|row| {
            let names = row.kind.names();
            Described::new(names.info.clone(), names.described.clone())
        });
        let views = self.views.values().map(|view| Described::new(view.info.clone(), view.described.clone()));
        let others = others.into_iter().map(Described::elsewhere);
        Documents::new(rows.chain(views).chain(others), self.reviews.values().map(|review| review.info.clone()))
    }

    /// Returns the resource that answers for a path in a cluster, in its release; `all`: as for [`Routes::shows`].
    pub(crate) fn find(&self, cluster: &str, path: &ResourcePath, all: bool) -> Option<Served> {
        let key = (path.group.as_str(), path.version.as_str(), path.plural.as_str());
        let serves = |info: &ResourceInfo| self.shows(cluster, info, all);
        if let Some(row) = self.rows.get(&key) {
            let info = &row.kind.names().info;
            return serves(info).then(|| Served::Row(self.at(row, self.release_of(cluster, info))));
        }
        if let Some(view) = self.views.get(&key) {
            let row = self.rows.get(&self::key(&view.target))?;
            let row = Row { via: Some(view.clone()), ..row.clone() };
            return serves(&view.info).then(|| Served::View(view.clone(), row));
        }
        let review = self.reviews.get(&key)?;
        serves(&review.info).then(|| Served::Review(review.clone()))
    }

    /// True if a cluster serves a resource; `all`: also if its release lacks the resource.
    pub(crate) fn shows(&self, cluster: &str, info: &ResourceInfo, all: bool) -> bool {
        let is_served = all || info.life.releases.contain(self.release_of(cluster, info));
        is_served && self.clusters.serves(cluster, info)
    }

    /// Returns the release in which a cluster serves a resource.
    fn release_of(&self, cluster: &str, info: &ResourceInfo) -> Release {
        let definitions = || self.clusters.definitions(cluster).filter(|_| info.custom && info.differs_by_release());
        definitions().unwrap_or(info.release)
    }

    /// Returns the row in the form of a release.
    fn at(&self, row: &Row, release: Release) -> Row {
        let info = &row.kind.names().info;
        if release == info.release {
            return row.clone();
        }
        // Forms are kept for every release that a landscape has used: a kind's form is small, and there are few releases.
        let mut released = self.released.lock();
        let kind = released.entry((key(info), release)).or_insert_with(|| row.kind.at(release)).clone();
        Row { kind, ..row.clone() }
    }

    /// Returns the hook of a subresource.
    pub(crate) fn subresource(&self, info: &ResourceInfo, name: &str) -> Option<Arc<dyn Subresource>> {
        self.subresources.get(&(info.group, info.plural, name)).filter(|_| info.serves(name)).cloned()
    }

    /// Returns the resources with objects: stored ones and other versions of them.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &ResourceInfo> {
        let rows = self.rows.values().map(|row| &row.kind.names().info);
        rows.chain(self.views.values().map(|view| &view.info))
    }

    /// Returns the resources that can only be created.
    pub(crate) fn reviews(&self) -> impl Iterator<Item = &ResourceInfo> {
        self.reviews.values().map(|review| &review.info)
    }
}
