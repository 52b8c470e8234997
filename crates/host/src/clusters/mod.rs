// SPDX-License-Identifier: Apache-2.0
//! Logical clusters: those with a Cluster object in cluster `runtime`.

pub(crate) mod aggregated_roles;
pub(crate) mod first_objects;
pub(crate) mod first_roles;
pub(crate) mod networks;

use std::sync::Arc;

use api::cluster;
use api::{catalogue, terrarium};
use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use generic_apiserver::admission::Reads;
use generic_apiserver::{Cluster, Clusters};

use crate::kinds::installed::Installed;

/// Clusters with a Cluster object.
#[derive(Debug)]
pub(crate) struct ByObject {
    runtime: Cluster,
    installed: Installed,
}

impl ByObject {
    pub(crate) fn new(runtime_version: &str, installed: Installed) -> Self {
        Self { runtime: Cluster { kubernetes_version: Arc::from(runtime_version) }, installed }
    }
}

impl Clusters for ByObject {
    fn home(&self) -> &'static str {
        cluster::RUNTIME
    }

    fn get(&self, name: &str, reads: &Reads<'_>) -> Option<Cluster> {
        if name == cluster::RUNTIME {
            return Some(self.runtime.clone());
        }
        let cluster = reads.get::<terrarium::Cluster>("", name)?;
        Some(Cluster { kubernetes_version: Arc::from(cluster.spec.kubernetes_version.trim_start_matches('v')) })
    }

    fn is_public(&self, name: &str) -> bool {
        // Every landscape has these clusters.
        name == cluster::RUNTIME || name == cluster::GARDEN
    }

    fn definitions(&self, cluster: &str) -> Option<Release> {
        // Across all clusters objects are shown as stored.
        if cluster == "*" { None } else { self.installed.release(cluster) }
    }

    fn serves(&self, cluster: &str, resource: &ResourceInfo) -> bool {
        catalogue::serves(cluster, resource)
    }
}
