// SPDX-License-Identifier: Apache-2.0
//! Rows of the kinds that the host serves, as long as the catalogue does not list them.

use api::{extensions, machine, operator};
use apimachinery::Resource;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::{Node, Schema};

const STATUS: &[&str] = &["status"];

/// Kubernetes' own kinds: group, version, kind, plural, namespaced, subresources.
type Core = (&'static str, &'static str, &'static str, &'static str, bool, &'static [&'static str]);

const CORE: &[Core] = &[
    ("", "v1", "ConfigMap", "configmaps", true, &[]),
    ("", "v1", "Event", "events", true, &[]),
    ("", "v1", "Namespace", "namespaces", false, &["finalize", "status"]),
    ("", "v1", "Node", "nodes", false, STATUS),
    ("", "v1", "Pod", "pods", true, STATUS),
    ("", "v1", "Secret", "secrets", true, &[]),
    ("", "v1", "Service", "services", true, STATUS),
    ("", "v1", "ServiceAccount", "serviceaccounts", true, &[]),
    ("apps", "v1", "DaemonSet", "daemonsets", true, STATUS),
    ("apps", "v1", "Deployment", "deployments", true, STATUS),
    ("apps", "v1", "ReplicaSet", "replicasets", true, STATUS),
    ("apps", "v1", "StatefulSet", "statefulsets", true, STATUS),
    ("coordination.k8s.io", "v1", "Lease", "leases", true, &[]),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true, STATUS),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false, &[]),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false, &[]),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", true, &[]),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true, &[]),
];

fn row(
    (group, version, kind, plural, namespaced, subresources): Core,
    custom: bool,
    schema: fn() -> Node,
) -> ResourceInfo {
    ResourceInfo {
        group,
        version,
        kind,
        plural,
        singular: "",
        short_names: &[],
        categories: &[],
        namespaced,
        subresources,
        columns: &[],
        field_selectors: &[],
        heartbeat_fields: &[],
        custom,
        schema,
    }
}

fn custom<K: Resource + Schema>(subresources: &'static [&'static str]) -> ResourceInfo {
    row((K::GROUP, K::VERSION, K::KIND, K::PLURAL, K::NAMESPACED, subresources), true, K::node)
}

/// The rows.
pub(crate) fn rows() -> Vec<ResourceInfo> {
    let mut rows: Vec<ResourceInfo> = CORE.iter().map(|core| row(*core, false, || Node::Raw)).collect();
    rows.extend([
        custom::<extensions::BackupBucket>(STATUS),
        custom::<extensions::BackupEntry>(STATUS),
        custom::<extensions::Bastion>(STATUS),
        custom::<extensions::Cluster>(STATUS),
        custom::<extensions::ContainerRuntime>(STATUS),
        custom::<extensions::ControlPlane>(STATUS),
        custom::<extensions::DNSRecord>(STATUS),
        custom::<extensions::Extension>(STATUS),
        custom::<extensions::Infrastructure>(STATUS),
        custom::<extensions::Network>(STATUS),
        custom::<extensions::OperatingSystemConfig>(STATUS),
        custom::<extensions::Worker>(STATUS),
        custom::<machine::Machine>(STATUS),
        custom::<machine::MachineClass>(&[]),
        custom::<machine::MachineDeployment>(&["scale", "status"]),
        custom::<machine::MachineSet>(&["scale", "status"]),
        custom::<operator::Extension>(STATUS),
        custom::<operator::Garden>(STATUS),
    ]);
    rows
}
