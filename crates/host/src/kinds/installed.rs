// SPDX-License-Identifier: Apache-2.0
//! Releases of the CustomResourceDefinitions that Gardener's components have installed in clusters.
//!
//! An index of the fold; the objects that determine the releases are defined in [`domain::definitions`].

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
use api::core::Seed;
use apimachinery::Resource;
use apimachinery::release::Release;
use domain::definitions;
use domain::skew::GardenerVersion;
use generic_apiserver::Builder;
use generic_apiserver::observer::{Observed, Observer};
use parking_lot::RwLock;

/// Releases by cluster. Clones share the index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installed(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Release of clusters in which no component has installed definitions yet; `None`: the union of all releases.
    first: Option<Release>,
    releases: RwLock<BTreeMap<String, Release>>,
}

impl Installed {
    /// Creates an index; `version`: initial version of clusters, may be empty.
    pub(crate) fn new(version: &str) -> Self {
        let first = GardenerVersion::parse(version).map(|version| version.served_release());
        Self(Arc::new(Inner { first, ..Inner::default() }))
    }

    /// Feeds the index from the fold of a server.
    pub(crate) fn attach(&self, builder: Builder) -> Builder {
        builder.observer("apps", "deployments", Arc::new(self.clone())).observer(
            Seed::GROUP,
            Seed::PLURAL,
            Arc::new(self.clone()),
        )
    }

    /// Returns the release of the definitions of a cluster.
    pub(crate) fn release(&self, cluster: &str) -> Option<Release> {
        self.0.releases.read().get(cluster).copied().or(self.0.first)
    }
}

impl Observer for Installed {
    fn reset(&self) {
        self.0.releases.write().clear();
    }

    fn changed(&self, object: &Observed<'_>) {
        let Observed { group, plural, cluster, namespace, name, .. } = *object;
        let Some(of) = definitions::cluster_of(group, plural, cluster, namespace, name) else { return };
        let mut releases = self.0.releases.write();
        if let Some(release) = object.tree().as_ref().and_then(definitions::release_of) {
            releases.insert(of, release);
        } else if object.parts.is_none() && of != cluster::RUNTIME {
            // The cluster of a deleted Seed is deleted. Definitions of `runtime` remain when gardener-operator is
            // deleted.
            releases.remove(&of);
        }
    }
}
