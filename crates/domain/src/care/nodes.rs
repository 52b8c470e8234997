// SPDX-License-Identifier: Apache-2.0
//! Checks of condition `EveryNodeReady`: the first that fails is reported.
//!
//! Source: pkg/gardenlet/controller/shoot/care/health.go, pkg/utils/kubernetes/health/checker/{checker,worker}.go @
//! v1.120.0, v1.146.0, v1.147.0.

use api::constants::condition;

use super::conditions::Finding;
use crate::release::{Release, Releases};
use crate::rollout::preservation::{PRESERVED, is_preserved_and_unhealthy};

/// Releases that distinguish scaling up from scaling down by the number of Nodes, not by the status of MachineDeployments.
const SCALING_IS_COUNTED: Releases = Releases::since(146);

/// Inputs of the checks: a worker pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Name of the pool.
    pub name: String,
    /// Minimum number of nodes.
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
    /// Message for users.
    pub message: String,
}

/// Inputs of the checks: a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name of the Node.
    pub name: String,
    /// Label `worker.gardener.cloud/pool`.
    pub pool: String,
    /// True if the Node is cordoned.
    pub is_cordoned: bool,
    /// `status.nodeInfo.kubeletVersion`, with `v`.
    pub kubelet_version: String,
    /// `status.conditions` of the Node.
    pub conditions: Vec<NodeCondition>,
}

impl Node {
    /// True if its Machine is preserved although it is not ready.
    pub fn is_preserved(&self) -> bool {
        let conditions = self.conditions.iter();
        is_preserved_and_unhealthy(conditions.map(|condition| (condition.type_.as_str(), condition.status.as_str())))
    }

    /// True if condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }
}

/// Inputs of the checks: a Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of the Machine.
    pub name: String,
    /// Name of its Node; empty until it is known.
    pub node: String,
    /// Value of `status.currentStatus.phase`.
    pub phase: String,
    /// True if a deletion timestamp is set.
    pub is_being_deleted: bool,
    /// True if the Machine is preserved.
    pub is_preserved: bool,
}

/// Inputs of the checks: a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineDeployment {
    /// Value of `spec.replicas`.
    pub replicas: usize,
    /// True if a deletion timestamp is set.
    pub is_being_deleted: bool,
    /// True if machines failed.
    pub has_failed_machines: bool,
    /// True if condition `Available` exists and is not `True`.
    pub is_unavailable: bool,
    /// True if condition `Progressing` is `True` for a reason other than `NewMachineSetAvailable`.
    pub is_rolling: bool,
}

/// Node conditions in the order of the checks, and their required status.
const EXPECTED: [(&str, &str); 5] = [
    ("Ready", "True"),
    ("DiskPressure", "False"),
    ("MemoryPressure", "False"),
    ("NetworkUnavailable", "False"),
    ("PIDPressure", "False"),
];

/// Reasons of a node condition that are caused by the cluster's own settings.
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

/// Formats `3 machines are`, `1 machine is`.
fn machines(count: usize) -> String {
    if count == 1 { "1 machine is".to_owned() } else { format!("{count} machines are") }
}

fn scaling_up(ready: usize, desired: usize, all: &[Machine], release: Release) -> Option<String> {
    if ready == desired || (ready > desired && SCALING_IS_COUNTED.contain(release)) {
        return None;
    }
    if all.len() < desired {
        return Some(format!("not enough machine objects created yet ({}/{desired})", all.len()));
    }
    let (mut pending, mut erroneous) = (0, 0);
    for machine in all.iter().filter(|machine| !machine.is_preserved) {
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

fn scaling_down(nodes: &[Node], desired: usize, all: &[Machine], release: Release) -> Option<String> {
    if nodes.len() == desired {
        return None;
    }
    let knows_preservation = PRESERVED.contain(release);
    let mut draining = 0;
    for node in nodes.iter().filter(|node| node.is_cordoned) {
        let Some(machine) = all.iter().find(|machine| machine.node == node.name || machine.name == node.name) else {
            return Some(format!("machine object for cordoned node \"{}\" not found", node.name));
        };
        if machine.is_preserved {
            continue;
        }
        if !machine.is_being_deleted {
            let which = if knows_preservation { "non-preserved " } else { "" };
            return Some(format!(
                "cordoned {which}node \"{}\" found but corresponding machine object does not have a deletion timestamp",
                node.name
            ));
        }
        draining += 1;
    }
    let left = nodes.len() - draining;
    if left > desired || (left != desired && !knows_preservation) {
        return Some(format!(
            "too many worker nodes are registered. Exceeding maximum desired machine count ({}/{desired})",
            nodes.len()
        ));
    }
    if draining == 0 && knows_preservation {
        return None;
    }
    Some(format!(
        "{} waiting to be completely drained from pods. If this persists, check your pod disruption budgets and pending \
         finalizers. Please note, that nodes that fail to be drained will be deleted automatically",
        machines(draining)
    ))
}

/// Returns the problem of a pool's Node itself.
fn problem(node: &Node, pool: &Pool) -> Option<Finding> {
    let suffix = if node.is_preserved() { " (node and backing machine preserved by MCM)" } else { "" };
    if let Some((why, is_configuration)) = unhealthy(node) {
        let message = format!("Node \"{}\" in worker group \"{}\" is unhealthy: {why}{suffix}", node.name, pool.name);
        let finding = Finding::failed("NodeUnhealthy", message);
        return Some(if is_configuration { finding.with_code("ERR_CONFIGURATION_PROBLEM") } else { finding });
    }
    let is_same_minor = minor(&node.kubelet_version) == minor(&pool.kubernetes_version);
    if !is_same_minor || node.kubelet_version.trim_start_matches('v') == pool.kubernetes_version {
        return None;
    }
    let message = format!(
        "The kubelet version for node \"{}\" ({}) does not match the desired Kubernetes version (v{}){suffix}",
        node.name, node.kubelet_version, pool.kubernetes_version
    );
    Some(Finding::failed("KubeletVersionMismatch", message))
}

/// Returns the problem of the number of Nodes.
fn scaling(
    nodes: &[Node],
    machine_deployments: &[MachineDeployment],
    machines: &[Machine],
    release: Release,
) -> Option<Finding> {
    let desired: usize =
        machine_deployments.iter().filter(|each| !each.is_being_deleted).map(|each| each.replicas).sum();
    let preserved = nodes.iter().filter(|node| node.is_preserved()).count();
    let ready = nodes.iter().filter(|node| node.is_ready() && !node.is_cordoned).count();
    let is_counted = SCALING_IS_COUNTED.contain(release);
    let of = if is_counted { desired } else { ready + preserved };
    if nodes.len() == of && ready + preserved == desired {
        return None;
    }
    let is_rolling = machine_deployments.iter().any(|each| each.is_rolling);
    let reason = if is_rolling {
        Some("NodesRollOutScalingUp")
    } else if is_counted {
        let is_unready = ready + preserved < desired;
        if nodes.len() < desired { Some("NodesScalingUp") } else { is_unready.then_some("NodesRollOutScalingUp") }
    } else {
        let is_unavailable = machine_deployments.iter().any(|each| each.is_unavailable && !each.has_failed_machines);
        is_unavailable.then_some("NodesScalingUp")
    };
    if let Some(reason) = reason
        && let Some(message) = scaling_up(ready, desired, machines, release)
    {
        return Some(Finding::failed(reason, message));
    }
    let is_too_many = nodes.len() > desired || !is_counted;
    let message = scaling_down(nodes, desired, machines, release).filter(|_| is_too_many)?;
    Some(Finding::failed("NodesScalingDown", message))
}

/// Checks `EveryNodeReady` by the rules of gardenlet's release. Pools in spec order, everything else in name order.
///
/// A problem of a Node whose Machine is preserved is reported only if there is no other one.
pub fn every_node_ready(
    pools: &[Pool],
    nodes: &[Node],
    machine_deployments: &[MachineDeployment],
    all_machines: &[Machine],
    release: Release,
) -> Finding {
    let mut of_preserved = None;
    for pool in pools {
        let of_pool: Vec<&Node> = nodes.iter().filter(|node| node.pool == pool.name).collect();
        for node in &of_pool {
            match problem(node, pool) {
                Some(_) if node.is_preserved() && of_preserved.is_some() => {}
                Some(finding) if node.is_preserved() => of_preserved = Some(finding),
                Some(finding) => return finding,
                None => {}
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
    scaling(nodes, machine_deployments, all_machines, release)
        .or(of_preserved)
        .unwrap_or_else(|| Finding::passed(condition::EVERY_NODE_READY, "All nodes are ready."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{DOCUMENTED, NEWEST};

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
        Machine { name: name.to_owned(), node: name.to_owned(), phase: phase.to_owned(), ..Machine::default() }
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
        let ready =
            |pool: Pool, nodes: &[Node]| every_node_ready(&[pool], nodes, &[deployment(2)], &machines, DOCUMENTED);
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
    fn roll_outs_are_distinguished_from_scaling() {
        let nodes = [node("a", "v1.27.1"), node("b", "v1.27.1")];
        let rolling = MachineDeployment { is_rolling: true, ..deployment(3) };
        let unavailable = MachineDeployment { is_unavailable: true, ..deployment(3) };
        let two = [machine("a", "Running"), machine("b", "Running")];
        let with_pending = [machine("a", "Running"), machine("b", "Running"), machine("c", "Pending")];
        let with_failed = [machine("a", "Running"), machine("b", "Running"), machine("c", "CrashLoopBackOff")];
        let ready = |deployment: &MachineDeployment, machines: &[Machine]| {
            every_node_ready(&[pool(2)], &nodes, std::slice::from_ref(deployment), machines, DOCUMENTED)
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
    fn nodes_to_be_removed_are_reported_as_draining() {
        let mut nodes = [node("a", "v1.27.1"), node("b", "v1.27.1"), node("c", "v1.27.1")];
        nodes[2].is_cordoned = true;
        let mut machines = [machine("a", "Running"), machine("b", "Running"), machine("c", "Terminating")];
        let ready = |machines: &[Machine]| every_node_ready(&[pool(2)], &nodes, &[deployment(2)], machines, DOCUMENTED);
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
            &every_node_ready(&[pool(1)], &nodes, &[deployment(1)], &machines, DOCUMENTED),
            "NodesScalingDown",
            "too many worker nodes are registered. Exceeding maximum desired machine count (3/1)",
        );
    }

    /// Returns a Node that is not ready and whose Machine is preserved.
    fn preserved(name: &str) -> Node {
        let condition = |type_: &str, status: &str| NodeCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            ..NodeCondition::default()
        };
        let conditions = vec![condition("Ready", "Unknown"), condition("Preserved", "True")];
        Node { conditions, is_cordoned: true, ..node(name, "v1.27.1") }
    }

    #[test]
    fn a_preserved_node_is_reported_if_nothing_else_is_wrong() {
        let kept = Machine { is_preserved: true, ..machine("b", "Failed") };
        let machines = [machine("a", "Running"), kept];
        let ready = |nodes: &[Node], replicas, machines: &[Machine]| {
            every_node_ready(&[pool(2)], nodes, &[deployment(replicas)], machines, NEWEST)
        };
        let text = "Node \"b\" in worker group \"local\" is unhealthy: condition \"Ready\" has invalid status Unknown (expected \
                    True) due to :  (node and backing machine preserved by MCM)";
        let both = [node("a", "v1.27.1"), preserved("b")];
        check(&ready(&both, 2, &machines), "NodeUnhealthy", text);
        // Failures of other objects come first.
        check(
            &ready(&[preserved("b"), node("c", "v1.27.0")], 2, &machines),
            "KubeletVersionMismatch",
            "The kubelet version for node \"c\" (v1.27.0) does not match the desired Kubernetes version (v1.27.1)",
        );
        let pending = [machines[0].clone(), machines[1].clone(), machine("c", "Pending")];
        check(
            &ready(&both, 3, &pending),
            "NodesScalingUp",
            "1 machine is provisioning and should join the cluster soon",
        );
        let mut cordoned = both.to_vec();
        cordoned.push(Node { is_cordoned: true, ..node("c", "v1.27.1") });
        let three = [machines[0].clone(), machines[1].clone(), machine("c", "Running")];
        check(
            &ready(&cordoned, 2, &three),
            "NodesScalingDown",
            "cordoned non-preserved node \"c\" found but corresponding machine object does not have a deletion timestamp",
        );
        let going = Machine { is_being_deleted: true, ..machine("c", "Terminating") };
        check(
            &ready(&cordoned, 2, &[machines[0].clone(), machines[1].clone(), going]),
            "NodesScalingDown",
            "1 machine is waiting to be completely drained from pods. If this persists, check your pod disruption budgets \
             and pending finalizers. Please note, that nodes that fail to be drained will be deleted automatically",
        );
    }

    /// Scaling is counted by the status of MachineDeployments until 1.145, and by the number of Nodes since 1.146.
    #[test]
    fn scaling_is_counted_since_146() {
        let nodes = [node("a", "v1.27.1"), Node { is_cordoned: true, ..node("b", "v1.27.1") }];
        let machines = [machine("a", "Running"), machine("b", "Running")];
        for (release, replicas, reason) in [
            (145, 3, "NodesScalingDown"),
            (146, 3, "NodesScalingUp"),
            (145, 2, "EveryNodeReady"),
            (146, 2, "NodesRollOutScalingUp"),
            (146, 1, "NodesScalingDown"),
        ] {
            let deployments = [deployment(replicas)];
            let finding = every_node_ready(&[pool(2)], &nodes, &deployments, &machines, Release(release));
            assert_eq!(finding.reason, reason, "{release} {replicas}: {}", finding.message);
        }
    }
}
