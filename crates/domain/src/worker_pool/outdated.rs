// SPDX-License-Identifier: Apache-2.0
//! Detection of nodes that have not applied the operating system configuration of their pool yet.
//!
//! Unlike upstream: a node's state is derived from the version of its kubelet; upstream compares the checksum of its
//! configuration in an annotation.
//!
//! Source: pkg/gardenlet/operation/botanist/operatingsystemconfig.go, pkg/utils/gardener/operatingsystemconfig
//! (`OperatingSystemConfigUpdatedForAllWorkerPools`) @ v1.120.0.

use std::fmt;

use api::constants::{label, taint};
use api::core::Shoot;
use api::kubernetes::core::Node;

use super::{HashInputs, HashVersion, kubernetes_version};
use crate::release::Release;

/// A node that does not run the Kubernetes version of its pool. Its text is upstream's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedNode {
    /// Name of the Node.
    pub node: String,
    /// Version of its kubelet, without `v`.
    pub current: String,
    /// Version of its pool, without `v`.
    pub desired: String,
}

impl fmt::Display for OutdatedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, current, desired } = self;
        write!(
            f,
            "the last successfully applied operating system config on node {node:?} is outdated (current: {current}, \
             desired: {desired})"
        )
    }
}

/// Returns the first outdated node, pool by pool; `nodes` are those of the Shoot's cluster, `form` returns the form
/// of a pool's hash for a gardenlet of a release.
///
/// A node that is about to be replaced does not count: it has another key than the pool's present one, or the taint that
/// a roll-out puts on the nodes of old machines.
pub fn outdated_node<'a>(
    shoot: &Shoot,
    form: impl Fn(&str) -> HashVersion,
    release: Release,
    nodes: impl Iterator<Item = &'a Node> + Clone,
) -> Option<OutdatedNode> {
    shoot.spec.provider.workers.iter().find_map(|pool| {
        let desired = kubernetes_version(shoot, pool);
        let key = HashInputs::of_shoot(shoot, pool).osc_key(form(&pool.name), release);
        let of_pool = nodes.clone().filter(|node| {
            node.metadata.label(label::WORKER_POOL) == Some(&pool.name)
                && node.metadata.label(label::NODE_AGENT_SECRET_NAME) == Some(&key)
                && !node.spec.taints.iter().any(|taint| taint.key == taint::PREFER_NO_SCHEDULE)
        });
        let mut versions = of_pool.map(|node| (node, node.status.node_info.kubelet_version.trim_start_matches('v')));
        let (node, current) = versions.find(|(_, current)| *current != desired)?;
        Some(OutdatedNode {
            node: node.metadata.name.clone(),
            current: current.to_owned(),
            desired: desired.to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use api::core::Worker;
    use api::kubernetes::core::Taint;

    use super::*;
    use crate::release::DOCUMENTED;

    /// A Shoot of 1.31.2 with pools `a`, and `b` of 1.30.9.
    fn shoot() -> Shoot {
        let mut shoot = Shoot::default();
        "1.31.2".clone_into(&mut shoot.spec.kubernetes.version);
        let pool = |name: &str| Worker { name: name.to_owned(), ..Worker::default() };
        let mut own = pool("b");
        own.kubernetes.get_or_insert_default().version = Some("1.30.9".to_owned());
        shoot.spec.provider.workers = vec![pool("a"), own];
        shoot
    }

    /// Pool of the node, true if it has the pool's present key, true if it has the taint of a roll-out, its kubelet;
    /// the error.
    const NODES: &[(&str, bool, bool, &str, Option<&str>)] = &[
        ("a", true, false, "v1.31.2", None),
        ("a", true, false, "1.31.2", None),
        ("a", true, false, "v1.31.1", Some("node \"n\" is outdated (current: 1.31.1, desired: 1.31.2)")),
        ("a", true, false, "v1.31.3", Some("node \"n\" is outdated (current: 1.31.3, desired: 1.31.2)")),
        ("a", false, false, "v1.31.1", None),
        ("a", true, true, "v1.31.1", None),
        ("b", true, false, "v1.30.9", None),
        ("b", true, false, "v1.31.2", Some("node \"n\" is outdated (current: 1.31.2, desired: 1.30.9)")),
        ("c", true, false, "v1.31.1", None),
    ];

    #[test]
    fn an_outdated_node_has_another_kubelet_than_its_pool() {
        let shoot = shoot();
        for (pool, has_key, leaves, kubelet, expected) in NODES {
            let worker = shoot.spec.provider.workers.iter().find(|worker| worker.name == *pool).cloned();
            let key = HashInputs::of_shoot(&shoot, &worker.unwrap_or_default()).osc_key(HashVersion::V2, DOCUMENTED);
            let mut node = Node::default();
            "n".clone_into(&mut node.metadata.name);
            node.metadata.labels.insert(label::WORKER_POOL.to_owned(), (*pool).to_owned());
            let key = if *has_key { key } else { "old".to_owned() };
            node.metadata.labels.insert(label::NODE_AGENT_SECRET_NAME.to_owned(), key);
            if *leaves {
                node.spec.taints.push(Taint { key: taint::PREFER_NO_SCHEDULE.to_owned(), ..Taint::default() });
            }
            (*kubelet).clone_into(&mut node.status.node_info.kubelet_version);
            let found = outdated_node(&shoot, |_| HashVersion::V2, DOCUMENTED, std::iter::once(&node))
                .map(|found| found.to_string());
            let expected =
                expected.map(|rest| format!("the last successfully applied operating system config on {rest}"));
            assert_eq!(found, expected, "{pool} {has_key} {leaves} {kubelet}");
        }
    }
}
