// SPDX-License-Identifier: Apache-2.0
//! Which logical clusters exist: those with a Cluster object in cluster `runtime`.

use std::sync::Arc;

use api::terrarium;
use apimachinery::catalogue::ResourceInfo;
use generic_apiserver::admission::Reads;
use generic_apiserver::{Cluster, Clusters};

use crate::RUNTIME_CLUSTER;

/// Groups that exist in `runtime` only.
const LANDSCAPE_GROUP: &str = "terrarium.dev";

/// Clusters by their objects.
#[derive(Debug)]
pub(crate) struct ByObject {
    runtime: Cluster,
}

impl ByObject {
    pub(crate) fn new(runtime_version: &str) -> Self {
        Self { runtime: Cluster { kubernetes_version: Arc::from(runtime_version) } }
    }
}

impl Clusters for ByObject {
    fn home(&self) -> &str {
        RUNTIME_CLUSTER
    }

    fn get(&self, name: &str, reads: &Reads<'_>) -> Option<Cluster> {
        if name == RUNTIME_CLUSTER {
            return Some(self.runtime.clone());
        }
        let cluster = reads.get::<terrarium::Cluster>("", name)?;
        Some(Cluster { kubernetes_version: Arc::from(cluster.spec.kubernetes_version.trim_start_matches('v')) })
    }

    /// What the landscape says of itself is in `runtime`; the kinds of extensions and machines are in `runtime` and in
    /// seeds; Kubernetes' own kinds are everywhere.
    fn serves(&self, cluster: &str, resource: &ResourceInfo) -> bool {
        if cluster == "*" || cluster == RUNTIME_CLUSTER {
            return true;
        }
        let group = resource.group;
        if group == LANDSCAPE_GROUP {
            return false;
        }
        let kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
        kubernetes || (cluster.starts_with("seed--") && group != "operator.gardener.cloud")
    }
}
