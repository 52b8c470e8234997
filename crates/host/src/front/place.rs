// SPDX-License-Identifier: Apache-2.0
//! Classification of request paths of the host.

use process::child::JOIN_PATH;
use process::participant::CLOCK_PATH;

use crate::PAGES;
use crate::aggregation::{self, Handed};
use crate::identity::tokens::{CONFIGURATION_PATH, KEYS_PATH};
use crate::kinds::clock_object;
use crate::time::heartbeats;

/// Path of the Cluster objects.
const CLUSTERS_PATH: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";

/// Class of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Pages for browsers.
    Pages,
    /// The log, for processes of the landscape that follow it.
    Log,
    /// Endpoint for joining processes that the kubelet did not start.
    Join,
    /// Landscape time, for participants.
    ClockService,
    /// Resources of clusters, and all unknown paths, for which the host's server returns 404.
    InCluster(Part),
}

/// Part of the resources of clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Groups that are forwarded.
    Aggregated,
    /// The list of groups of a cluster, to which several servers contribute.
    Groups { cluster: String },
    /// Keys that verify tokens of ServiceAccounts of a cluster; the path is the one below the cluster.
    TokenKeys { cluster: String, path: String },
    /// Cluster objects; the name is empty for all of them.
    Clusters { name: String },
    /// Clock objects.
    Clocks,
    /// Leases that the host renews for their owners.
    Leases,
    /// All other resources of the host's own server, or of one behind it.
    Own,
}

impl Place {
    /// Classifies a path.
    pub(crate) fn of(path: &str) -> Self {
        if PAGES.iter().any(|pages| path.strip_prefix(pages).is_some_and(|rest| pages.ends_with('/') || ends(rest))) {
            return Self::Pages;
        }
        if path.starts_with(eventlog_remote::PREFIX) {
            return Self::Log;
        }
        if path == JOIN_PATH {
            return Self::Join;
        }
        if path.starts_with(CLOCK_PATH) {
            return Self::ClockService;
        }
        Self::InCluster(Part::of(path))
    }
}

impl Part {
    fn of(path: &str) -> Self {
        match aggregation::handed(path) {
            Handed::All => return Self::Aggregated,
            Handed::Groups => {
                let cluster = path.split('/').filter(|segment| !segment.is_empty()).nth(1).unwrap_or_default();
                return Self::Groups { cluster: cluster.to_owned() };
            }
            Handed::Nothing => {}
        }
        for below in [KEYS_PATH, CONFIGURATION_PATH] {
            let cluster = path.strip_suffix(below).and_then(|rest| rest.strip_prefix("/clusters/"));
            if let Some(cluster) = cluster.filter(|cluster| !cluster.contains('/')) {
                return Self::TokenKeys { cluster: cluster.to_owned(), path: below.to_owned() };
            }
        }
        if let Some(rest) = path.strip_prefix(CLUSTERS_PATH).filter(|rest| ends(rest)) {
            return Self::Clusters { name: rest.trim_matches('/').to_owned() };
        }
        let everywhere = || {
            let below = clock_object::PATH.strip_prefix("/clusters/runtime/")?;
            path.strip_prefix("/clusters/*/")?.strip_prefix(below)
        };
        if path.strip_prefix(clock_object::PATH).or_else(everywhere).is_some_and(ends) {
            return Self::Clocks;
        }
        if heartbeats::is_shown_at(path) { Self::Leases } else { Self::Own }
    }
}

/// True if a path segment ends before `rest`.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths, and their classes.
    const PATHS: &[(&str, &str)] = &[
        ("/dashboard", "Pages"),
        ("/dashboard/clusters", "Pages"),
        ("/dashboards", "InCluster(Own)"),
        ("/terrarium/dashboard/", "Pages"),
        ("/terrarium/dashboard", "InCluster(Own)"),
        ("/log/v1/watch", "Log"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters", "InCluster(Clusters { name: \"\" })"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters/garden", "InCluster(Clusters { name: \"garden\" })"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clustersets", "InCluster(Own)"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clocks", "InCluster(Clocks)"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clocks/landscape", "InCluster(Clocks)"),
        ("/clusters/*/apis/terrarium.dev/v1alpha1/clocks", "InCluster(Clocks)"),
        ("/clusters/runtime/apis/terrarium.dev/v1alpha1/clockwork", "InCluster(Own)"),
        ("/clusters/garden/apis", "InCluster(Groups { cluster: \"garden\" })"),
        ("/clusters/*/apis", "InCluster(Groups { cluster: \"*\" })"),
        ("/clusters/runtime/apis", "InCluster(Groups { cluster: \"runtime\" })"),
        ("/clusters/garden/apis/core.gardener.cloud/v1beta1/shoots", "InCluster(Aggregated)"),
        ("/clusters/runtime/apis/core.gardener.cloud/v1beta1/shoots", "InCluster(Own)"),
        ("/clusters/garden/apis/coordination.k8s.io/v1/leases", "InCluster(Leases)"),
        ("/clusters/runtime/apis/coordination.k8s.io/v1/leases", "InCluster(Own)"),
        ("/clusters/garden/openid/v1/jwks", "InCluster(TokenKeys { cluster: \"garden\", path: \"/openid/v1/jwks\" })"),
        (
            "/clusters/seed--a/.well-known/openid-configuration",
            "InCluster(TokenKeys { cluster: \"seed--a\", path: \"/.well-known/openid-configuration\" })",
        ),
        ("/clusters/garden/api/v1/openid/v1/jwks", "InCluster(Own)"),
        ("/clusters/garden/api/v1/pods", "InCluster(Own)"),
        ("/version", "InCluster(Own)"),
        ("", "InCluster(Own)"),
    ];

    #[test]
    fn a_path_has_one_target() {
        for (path, expected) in PATHS {
            assert_eq!(format!("{:?}", Place::of(path)), *expected, "{path}");
        }
        assert_eq!(Place::of(JOIN_PATH), Place::Join);
        assert_eq!(Place::of(&format!("{CLOCK_PATH}/anything")), Place::ClockService);
    }
}
