// SPDX-License-Identifier: Apache-2.0
//! Logical clusters and the resources that each one serves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;

use crate::admission::Reads;

/// A logical cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Version that `/version` reports, without the leading `v`.
    pub kubernetes_version: Arc<str>,
}

/// Source of the logical clusters.
pub trait Clusters: Send + Sync + fmt::Debug + 'static {
    /// Name of the cluster whose objects define the existing clusters: [`Clusters::get`] reads in it.
    fn home(&self) -> &'static str {
        ""
    }

    /// Returns a cluster, if it exists.
    fn get(&self, name: &str, reads: &Reads<'_>) -> Option<Cluster>;

    /// True if unauthenticated clients may learn that a cluster exists; for other clusters their requests are refused
    /// in the same way whether the cluster exists or not.
    fn is_public(&self, _name: &str) -> bool {
        true
    }

    /// Release of the CustomResourceDefinitions that a cluster's software has installed, which is also the release of
    /// the corresponding kinds ([`ResourceInfo::custom`]); `None`: that of the server.
    fn definitions(&self, _cluster: &str) -> Option<Release> {
        None
    }

    /// True if a cluster serves a resource.
    fn serves(&self, _cluster: &str, _resource: &ResourceInfo) -> bool {
        true
    }
}

/// A fixed set of clusters: name and Kubernetes version.
#[derive(Clone, Debug, Default)]
pub struct FixedClusters(pub BTreeMap<String, Arc<str>>);

impl FixedClusters {
    /// Creates clusters that all have the same version.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, kubernetes_version: &str) -> Self {
        Self(names.into_iter().map(|name| (name.to_owned(), kubernetes_version.into())).collect())
    }
}

impl Clusters for FixedClusters {
    fn get(&self, name: &str, _: &Reads<'_>) -> Option<Cluster> {
        let version = self.0.get(name)?;
        Some(Cluster { kubernetes_version: version.clone() })
    }
}
