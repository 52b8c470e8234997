// SPDX-License-Identifier: Apache-2.0
//! Logical clusters: which exist, and which resources each one serves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;

use crate::admission::Reads;

/// A logical cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Version that `/version` answers, without the leading `v`.
    pub kubernetes_version: Arc<str>,
}

/// Which logical clusters exist.
pub trait Clusters: Send + Sync + fmt::Debug + 'static {
    /// The cluster whose objects say which clusters exist: [`Clusters::get`] reads in it.
    fn home(&self) -> &'static str {
        ""
    }

    /// A cluster, if it exists.
    fn get(&self, name: &str, reads: &Reads<'_>) -> Option<Cluster>;

    /// Whether anybody may know that a cluster exists; of others those who do not say who they are hear nothing, whether
    /// they exist or not.
    fn is_public(&self, _name: &str) -> bool {
        true
    }

    /// Release of the CustomResourceDefinitions that a cluster's software has installed, which is the release of the kinds
    /// that stand for them ([`ResourceInfo::custom`]); `None`: that of the server.
    fn definitions(&self, _cluster: &str) -> Option<Release> {
        None
    }

    /// Whether a cluster serves a resource.
    fn serves(&self, _cluster: &str, _resource: &ResourceInfo) -> bool {
        true
    }
}

/// A fixed set of clusters: name and Kubernetes version.
#[derive(Clone, Debug, Default)]
pub struct FixedClusters(pub BTreeMap<String, Arc<str>>);

impl FixedClusters {
    /// Clusters that all have one version.
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
