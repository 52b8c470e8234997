// SPDX-License-Identifier: Apache-2.0
//! The checks behind `EveryNodeReady`: the first that fails is reported.
//!
//! Source: pkg/gardenlet/controller/shoot/care/health.go, pkg/utils/kubernetes/health/checker/{checker,worker}.go @
//! v1.120.0.

use api::constants::condition;

use super::conditions::Finding;

/// What is read of a worker pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Name of the pool.
    pub name: String,
    /// Smallest number of nodes.
    pub minimum: usize,
    /// Effective Kubernetes version without `v`.
    pub kubernetes_version: String,
}

/// A condition of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCondition {
    /// Type of the condition: `Ready`.
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason in one word.
    pub reason: String,
    /// Message for a person.
    pub message: String,
}

/// What is read of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the Node.
    pub name: String,
    /// Label `worker.gardener.cloud/pool`.
    pub pool: String,
    /// Whether it is cordoned.
    pub is_cordoned: bool,
    /// `status.nodeInfo.kubeletVersion`, with `v`.
    pub kubelet_version: String,
    /// `status.conditions` of the Node.
    pub conditions: Vec<NodeCondition>,
}

impl Node {
    /// Whether condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }
}

/// What is read of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of the Machine.
    pub name: String,
    /// Name of its Node; empty before it is known.
    pub node: String,
    /// `status.currentStatus.phase`.
    pub phase: String,
    /// Whether a deletion timestamp is set.
    pub is_being_deleted: bool,
}

/// What is read of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineDeployment {
    /// `spec.replicas`.
    pub replicas: usize,
    /// Whether a deletion timestamp is set.
    pub is_being_deleted: bool,
    /// Whether machines failed.
    pub has_failed_machines: bool,
    /// Whether condition `Available` is there and not `True`.
    pub is_unavailable: bool,
    /// Whether condition `Progressing` is `True` for another reason than `NewMachineSetAvailable`.
    pub is_rolling: bool,
}

/// Node conditions in the order in which they are looked at, and what they must be.
const EXPECTED: [(&str, &str); 5] = [
    ("Ready", "True"),
    ("DiskPressure", "False"),
    ("MemoryPressure", "False"),
    ("NetworkUnavailable", "False"),
    ("PIDPressure", "False"),
];

/// Reasons of a node condition that blame the cluster's own settings.
const CONFIGURATION_REASONS: [&str; 3] =
    ["KubeletHasInsufficientMemory", "KubeletHasDiskPressure", "KubeletHasInsufficientPID"];

fn unhealthy(node: &Node) -> Option<(String, bool)> {
    for (type_, expected) in EXPECTED {
        let Some(condition) = node.conditions.iter().find(|condition| condition.type_ == type_) else {
            if type_ == "Ready" {
                return Some(("condition \"Ready\" is missing".to_owned(), false));
            }
            continue;
        };
        if condition.status != expected {
            let why = format!(
                "condition \"{type_}\" has invalid status {} (expected {expected}) due to {}: {}",
                condition.status, condition.reason, condition.message
            );
            return Some((why, CONFIGURATION_REASONS.contains(&condition.reason.as_str())));
        }
    }
    None
}

fn minor(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.trim_start_matches('v').split('.');
    Some((parts.next()?, parts.next()?))
}

/// `3 machines are`, `1 machine is`.
fn machines(count: usize) -> String {
    if count == 1 { "1 machine is".to_owned() } else { format!("{count} machines are") }
}

fn scaling_up(ready: usize, desired: usize, all: &[Machine]) -> Option<String> {
    if ready == desired {
        return None;
    }
    if all.len() < desired {
        return Some(format!("not enough machine objects created yet ({}/{desired})", all.len()));
    }
    let (mut pending, mut erroneous) = (0, 0);
    for machine in all {
        match machine.phase.as_str() {
            "Running" | "Available" => {}
            "" | "Pending" => pending += 1,
            _ => erroneous += 1,
        }
    }
    if erroneous > 0 {
        return Some(format!("{} erroneous", machines(erroneous)));
    }
    if pending > 0 {
        return Some(format!("{} provisioning and should join the cluster soon", machines(pending)));
    }
    Some(format!("not enough ready worker nodes registered in the cluster ({ready}/{desired})"))
}

fn scaling_down(nodes: &[Node], desired: usize, all: &[Machine]) -> Option<String> {
    if nodes.len() == desired {
        return None;
    }
    let mut cordoned = 0;
    for node in nodes.iter().filter(|node| node.is_cordoned) {
        let Some(machine) = all.iter().find(|machine| machine.node == node.name || machine.name == node.name) else {
            return Some(format!("machine object for cordoned node \"{}\" not found", node.name));
        };
        if !machine.is_being_deleted {
            return Some(format!(
                "cordoned node \"{}\" found but corresponding machine object does not have a deletion timestamp",
                node.name
            ));
        }
        cordoned += 1;
    }
    if nodes.len() - cordoned != desired {
        return Some(format!(
            "too many worker nodes are registered. Exceeding maximum desired machine count ({}/{desired})",
            nodes.len()
        ));
    }
    Some(format!(
        "{} waiting to be completely drained from pods. If this persists, check your pod disruption budgets and pending \
         finalizers. Please note, that nodes that fail to be drained will be deleted automatically",
        machines(cordoned)
    ))
}

/// `EveryNodeReady`. Pools in spec order, everything else in name order.
pub fn every_node_ready(
    pools: &[Pool],
    nodes: &[Node],
    machine_deployments: &[MachineDeployment],
    all_machines: &[Machine],
) -> Finding {
    for pool in pools {
        let of_pool: Vec<&Node> = nodes.iter().filter(|node| node.pool == pool.name).collect();
        for node in &of_pool {
            if let Some((why, is_configuration)) = unhealthy(node) {
                let message = format!("Node \"{}\" in worker group \"{}\" is unhealthy: {why}", node.name, pool.name);
                let finding = Finding::failed("NodeUnhealthy", message);
                return if is_configuration { finding.with_code("ERR_CONFIGURATION_PROBLEM") } else { finding };
            }
            let is_same_minor = minor(&node.kubelet_version) == minor(&pool.kubernetes_version);
            if is_same_minor && node.kubelet_version.trim_start_matches('v') != pool.kubernetes_version {
                return Finding::failed(
                    "KubeletVersionMismatch",
                    format!(
                        "The kubelet version for node \"{}\" ({}) does not match the desired Kubernetes version (v{})",
                        node.name, node.kubelet_version, pool.kubernetes_version
                    ),
                );
            }
        }
        if of_pool.len() < pool.minimum {
            return Finding::failed(
                "MissingNodes",
                format!(
                    "Not enough worker nodes registered in worker pool \"{}\" to meet minimum desired machine count. \
                     ({}/{}).",
                    pool.name,
                    of_pool.len(),
                    pool.minimum
                ),
            );
        }
    }
    let desired: usize =
        machine_deployments.iter().filter(|each| !each.is_being_deleted).map(|each| each.replicas).sum();
    let ready = nodes.iter().filter(|node| node.is_ready() && !node.is_cordoned).count();
    if nodes.len() != ready || ready != desired {
        let is_rolling = machine_deployments.iter().any(|each| each.is_rolling);
        let is_unavailable = machine_deployments.iter().any(|each| each.is_unavailable && !each.has_failed_machines);
        if (is_rolling || is_unavailable)
            && let Some(message) = scaling_up(ready, desired, all_machines)
        {
            let reason = if is_rolling { "NodesRollOutScalingUp" } else { "NodesScalingUp" };
            return Finding::failed(reason, message);
        }
        if let Some(message) = scaling_down(nodes, desired, all_machines) {
            return Finding::failed("NodesScalingDown", message);
        }
    }
    Finding::passed(condition::EVERY_NODE_READY, "All nodes are ready.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(minimum: usize) -> Pool {
        Pool { name: "local".to_owned(), minimum, kubernetes_version: "1.27.1".to_owned() }
    }

    fn node(name: &str, version: &str) -> Node {
        Node {
            name: name.to_owned(),
            pool: "local".to_owned(),
            kubelet_version: version.to_owned(),
            conditions: vec![NodeCondition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                ..NodeCondition::default()
            }],
            ..Node::default()
        }
    }

    fn machine(name: &str, phase: &str) -> Machine {
        Machine { name: name.to_owned(), node: name.to_owned(), phase: phase.to_owned(), is_being_deleted: false }
    }

    fn deployment(replicas: usize) -> MachineDeployment {
        MachineDeployment { replicas, ..MachineDeployment::default() }
    }

    #[track_caller]
    fn check(finding: &Finding, reason: &str, message: &str) {
        assert_eq!((finding.reason.as_str(), finding.message.as_str()), (reason, message));
        assert_eq!(finding.status == "True", reason == "EveryNodeReady");
    }

    #[test]
    fn nodes_are_healthy_current_and_enough() {
        let two = [node("a", "v1.27.1"), node("b", "v1.27.1")];
        let machines = [machine("a", "Running"), machine("b", "Running")];
        let ready = |pool: Pool, nodes: &[Node]| every_node_ready(&[pool], nodes, &[deployment(2)], &machines);
        check(&ready(pool(2), &two), "EveryNodeReady", "All nodes are ready.");
        check(
            &ready(pool(3), &two),
            "MissingNodes",
            "Not enough worker nodes registered in worker pool \"local\" to meet minimum desired machine count. (2/3).",
        );
        check(
            &ready(pool(2), &[node("a", "v1.27.0"), node("b", "v1.27.1")]),
            "KubeletVersionMismatch",
            "The kubelet version for node \"a\" (v1.27.0) does not match the desired Kubernetes version (v1.27.1)",
        );
        check(&ready(pool(2), &[node("a", "v1.26.4"), node("b", "v1.27.1")]), "EveryNodeReady", "All nodes are ready.");
        let mut sick = node("a", "v1.27.1");
        sick.conditions[0] = NodeCondition {
            type_: "Ready".to_owned(),
            status: "Unknown".to_owned(),
            reason: "NodeStatusUnknown".to_owned(),
            message: "Kubelet stopped posting node status.".to_owned(),
        };
        check(
            &ready(pool(2), &[sick.clone(), two[1].clone()]),
            "NodeUnhealthy",
            "Node \"a\" in worker group \"local\" is unhealthy: condition \"Ready\" has invalid status Unknown \
             (expected True) due to NodeStatusUnknown: Kubelet stopped posting node status.",
        );
        sick.conditions.clear();
        check(
            &ready(pool(2), &[sick, two[1].clone()]),
            "NodeUnhealthy",
            "Node \"a\" in worker group \"local\" is unhealthy: condition \"Ready\" is missing",
        );
    }

    #[test]
    fn roll_outs_are_told_from_scaling() {
        let nodes = [node("a", "v1.27.1"), node("b", "v1.27.1")];
        let rolling = MachineDeployment { is_rolling: true, ..deployment(3) };
        let unavailable = MachineDeployment { is_unavailable: true, ..deployment(3) };
        let two = [machine("a", "Running"), machine("b", "Running")];
        let with_pending = [machine("a", "Running"), machine("b", "Running"), machine("c", "Pending")];
        let with_failed = [machine("a", "Running"), machine("b", "Running"), machine("c", "CrashLoopBackOff")];
        let ready = |deployment: &MachineDeployment, machines: &[Machine]| {
            every_node_ready(&[pool(2)], &nodes, std::slice::from_ref(deployment), machines)
        };
        check(&ready(&rolling, &two), "NodesRollOutScalingUp", "not enough machine objects created yet (2/3)");
        check(
            &ready(&rolling, &with_pending),
            "NodesRollOutScalingUp",
            "1 machine is provisioning and should join the cluster soon",
        );
        check(&ready(&unavailable, &with_failed), "NodesScalingUp", "1 machine is erroneous");
    }

    #[test]
    fn nodes_that_go_are_said_to_drain() {
        let mut nodes = [node("a", "v1.27.1"), node("b", "v1.27.1"), node("c", "v1.27.1")];
        nodes[2].is_cordoned = true;
        let mut machines = [machine("a", "Running"), machine("b", "Running"), machine("c", "Terminating")];
        let ready = |machines: &[Machine]| every_node_ready(&[pool(2)], &nodes, &[deployment(2)], machines);
        check(
            &ready(&machines),
            "NodesScalingDown",
            "cordoned node \"c\" found but corresponding machine object does not have a deletion timestamp",
        );
        machines[2].is_being_deleted = true;
        check(
            &ready(&machines),
            "NodesScalingDown",
            "1 machine is waiting to be completely drained from pods. If this persists, check your pod disruption \
             budgets and pending finalizers. Please note, that nodes that fail to be drained will be deleted \
             automatically",
        );
        check(
            &every_node_ready(&[pool(1)], &nodes, &[deployment(1)], &machines),
            "NodesScalingDown",
            "too many worker nodes are registered. Exceeding maximum desired machine count (3/1)",
        );
    }
}
