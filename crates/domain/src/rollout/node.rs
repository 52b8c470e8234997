// SPDX-License-Identifier: Apache-2.0
//! Labels, taints and conditions of a Node, and the values that machine-controller-manager writes to it.

use apimachinery::meta::TextMap;

use api::constants::{annotation, label, taint};
use api::kubernetes::core::{NodeCondition, Taint};
use api::machine::NodeTemplateSpec;
use apimachinery::meta::{ObjectMeta, Time};
use serde_json::Value;

/// Type of the condition that reports the kubelet's readiness.
pub const READY: &str = "Ready";
/// Type of the condition of a Node whose Machine is being deleted.
pub const TERMINATING: &str = "Terminating";

/// True if condition Ready is `True`.
pub fn is_ready(conditions: &[NodeCondition]) -> bool {
    conditions.iter().any(|condition| condition.r#type == READY && condition.status == "True")
}

/// Creates a taint without a time.
pub fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned(), time_added: None }
}

/// Returns the taints of a Node at registration, those of its pool first.
pub fn registration_taints(pool: &[Taint]) -> Vec<Taint> {
    let mut taints = pool.to_vec();
    taints.push(taint(taint::CRITICAL_COMPONENTS_NOT_READY, "", "NoSchedule"));
    taints.push(taint(taint::UNINITIALIZED, "true", "NoSchedule"));
    taints.push(taint(taint::NOT_READY, "", "NoSchedule"));
    taints
}

/// Adds a taint, or replaces the one of the same key and effect. Returns true if anything changed.
pub fn add_taint(taints: &mut Vec<Taint>, taint: Taint) -> bool {
    let same = |other: &&mut Taint| other.key == taint.key && other.effect == taint.effect;
    match taints.iter_mut().find(same) {
        Some(present) if present.value == taint.value => false,
        Some(present) => {
            *present = taint;
            true
        }
        None => {
            taints.push(taint);
            true
        }
    }
}

/// Location and hardware of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name, also that of the Machine.
    pub name: String,
    /// Region of the Shoot: a label of the Node.
    pub region: String,
    /// Zone; empty without zones.
    pub zone: String,
    /// Machine type.
    pub machine_type: String,
    /// `amd64` or `arm64`.
    pub architecture: String,
    /// Kubernetes version without `v`.
    pub kubernetes_version: String,
}

impl Place {
    /// Returns the labels that kubelet and cloud provider set, without those of the pool.
    pub fn labels(&self) -> TextMap {
        let mut labels = TextMap::new();
        let mut set = |keys: &[&str], value: &str| {
            for key in keys.iter().filter(|_| !value.is_empty()) {
                labels.insert((*key).to_owned(), value.to_owned());
            }
        };
        set(&[label::HOSTNAME, label::NODE_MACHINE_NAME], &self.name);
        set(&[label::OPERATING_SYSTEM, label::OPERATING_SYSTEM_BETA], "linux");
        set(&[label::ARCHITECTURE, label::ARCHITECTURE_BETA], &self.architecture);
        set(&[label::INSTANCE_TYPE, label::INSTANCE_TYPE_BETA], &self.machine_type);
        set(&[label::TOPOLOGY_REGION, label::TOPOLOGY_REGION_BETA], &self.region);
        set(&[label::TOPOLOGY_ZONE, label::TOPOLOGY_ZONE_BETA], &self.zone);
        set(&[label::WORKER_KUBERNETES_VERSION], &self.kubernetes_version);
        labels
    }
}

/// Returns the conditions that the kubelet of a new Node sets.
pub fn registration_conditions(now: Time) -> Vec<NodeCondition> {
    let mut conditions: Vec<NodeCondition> =
        KUBELET_CONDITIONS.iter().map(|absent| absent_condition(absent, now)).collect();
    conditions.push(NodeCondition {
        r#type: READY.to_owned(),
        status: "False".to_owned(),
        last_heartbeat_time: now,
        last_transition_time: now,
        reason: "KubeletNotReady".to_owned(),
        message: NETWORK_NOT_READY.to_owned(),
    });
    conditions
}

/// Sets a Node Ready and adds the conditions of node-problem-detector; unchanged conditions keep their transition time.
pub fn become_ready(conditions: &mut Vec<NodeCondition>, now: Time) {
    if let Some(ready) = conditions.iter_mut().find(|condition| condition.r#type == READY) {
        "True".clone_into(&mut ready.status);
        "KubeletReady".clone_into(&mut ready.reason);
        "kubelet is posting ready status".clone_into(&mut ready.message);
        (ready.last_heartbeat_time, ready.last_transition_time) = (now, now);
    }
    for absent in DETECTOR_CONDITIONS {
        if !conditions.iter().any(|condition| condition.r#type == absent.0) {
            conditions.push(absent_condition(absent, now));
        }
    }
}

/// Sets a condition to a failure. A condition that already reports it keeps its times.
pub fn fail(conditions: &mut Vec<NodeCondition>, type_: &str, status: &str, now: Time) {
    let (reason, message) = match (type_, status) {
        (READY, "Unknown") => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        (READY, _) => ("KubeletNotReady", "container runtime is down"),
        _ => ("FaultInjected", "a fault was injected"),
    };
    set(conditions, (type_, status, reason, message), now);
}

/// Sets a condition back to healthy; one that exists only because of the failure is removed.
pub fn recover(conditions: &mut Vec<NodeCondition>, type_: &str, now: Time) {
    if type_ == READY {
        return set(conditions, (READY, "True", "KubeletReady", "kubelet is posting ready status"), now);
    }
    let mut known = KUBELET_CONDITIONS.iter().chain(DETECTOR_CONDITIONS);
    match known.find(|(known, ..)| *known == type_) {
        Some((_, reason, message)) => set(conditions, (type_, "False", reason, message), now),
        None => conditions.retain(|condition| condition.r#type != type_),
    }
}

fn set(conditions: &mut Vec<NodeCondition>, (type_, status, reason, message): (&str, &str, &str, &str), now: Time) {
    let new = NodeCondition {
        r#type: type_.to_owned(),
        status: status.to_owned(),
        last_heartbeat_time: now,
        last_transition_time: now,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    match conditions.iter_mut().find(|condition| condition.r#type == type_) {
        Some(present) if present.status == status => {}
        Some(present) => *present = new,
        None => conditions.push(new),
    }
}

/// Returns a condition that reports no problem, from its type, reason and message.
fn absent_condition((type_, reason, message): &(&str, &str, &str), now: Time) -> NodeCondition {
    NodeCondition {
        r#type: (*type_).to_owned(),
        status: "False".to_owned(),
        last_heartbeat_time: now,
        last_transition_time: now,
        reason: (*reason).to_owned(),
        message: (*message).to_owned(),
    }
}

const NETWORK_NOT_READY: &str = "container runtime network not ready: NetworkReady=false \
    reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";

const KUBELET_CONDITIONS: &[(&str, &str, &str)] = &[
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

const DETECTOR_CONDITIONS: &[(&str, &str, &str)] = &[
    ("NetworkUnavailable", "RouteCreated", "RouteController created a route"),
    ("KernelDeadlock", "KernelHasNoDeadlock", "kernel has no deadlock"),
    ("ReadonlyFilesystem", "FilesystemIsNotReadOnly", "Filesystem is not read-only"),
    ("CorruptDockerOverlay2", "NoCorruptDockerOverlay2", "docker overlay2 is functioning properly"),
    ("FrequentKubeletRestart", "NoFrequentKubeletRestart", "kubelet is functioning properly"),
    ("FrequentContainerdRestart", "NoFrequentContainerdRestart", "containerd is functioning properly"),
    ("FrequentDockerRestart", "NoFrequentDockerRestart", "docker is functioning properly"),
    ("FrequentUnregisterNetDevice", "NoFrequentUnregisterNetDevice", "node is functioning properly"),
];

/// Returns the condition that a drain sets first.
pub fn terminating_condition(failed: bool, now: Time) -> NodeCondition {
    let (reason, message) = if failed {
        ("Unhealthy", "Machine Controller is terminating failed machine")
    } else {
        ("ScaleDown", "Machine Controller is scaling down machine")
    };
    NodeCondition {
        r#type: TERMINATING.to_owned(),
        status: "True".to_owned(),
        last_heartbeat_time: now,
        last_transition_time: now,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// Updates annotations, labels and taints of a Node to its Machine's template, relative to what was applied last: keys of
/// others are untouched. Returns true if anything changed.
///
/// Source: pkg/util/provider/machinecontroller/machine_util.go (`SyncNodeTemplates`) v0.58.0.
pub fn synchronize(metadata: &mut ObjectMeta, taints: &mut Vec<Taint>, template: &NodeTemplateSpec) -> bool {
    let wanted_text = serde_json::to_string(template).unwrap_or_default();
    let applied_text = metadata.annotations.get(annotation::NODE_LAST_APPLIED).map_or("{}", String::as_str);
    let holds = |wanted: &TextMap, present: &TextMap| wanted.iter().all(|(key, value)| present.get(key) == Some(value));
    if applied_text == wanted_text
        && holds(&template.metadata.labels, &metadata.labels)
        && holds(&template.metadata.annotations, &metadata.annotations)
        && template.spec.taints.iter().all(|wanted| taints.contains(wanted))
    {
        return false;
    }
    let applied: NodeTemplateSpec =
        serde_json::from_str::<Value>(applied_text).and_then(serde_json::from_value).unwrap_or_default();
    apply(&mut metadata.labels, &applied.metadata.labels, &template.metadata.labels);
    apply(&mut metadata.annotations, &applied.metadata.annotations, &template.metadata.annotations);
    let is_same = |a: &Taint, b: &Taint| a.key == b.key && a.effect == b.effect;
    taints.retain(|present| {
        let was_ours = applied.spec.taints.iter().any(|taint| is_same(taint, present));
        !was_ours || template.spec.taints.iter().any(|taint| is_same(taint, present))
    });
    for wanted in &template.spec.taints {
        add_taint(taints, wanted.clone());
    }
    metadata.annotations.insert(annotation::NODE_LAST_APPLIED.to_owned(), wanted_text);
    true
}

fn apply(present: &mut TextMap, applied: &TextMap, wanted: &TextMap) {
    present.retain(|key, _| !applied.contains_key(key) || wanted.contains_key(key));
    present.extend(wanted.clone());
}

/// Returns the delay of a node agent before it applies a changed operating system configuration: the nodes of a cluster,
/// sorted by name, are spread evenly over `0..max_seconds`.
///
/// Source: pkg/resourcemanager/controller/node @ v1.120.0.
pub fn reconciliation_delay(index: usize, nodes: usize, max_seconds: i64) -> chrono::TimeDelta {
    let part = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    chrono::TimeDelta::milliseconds(part(index) * max_seconds * 1000 / part(nodes.max(1)))
}

/// Returns the maximum delay in seconds from a Shoot's annotations:
/// `shoot.gardener.cloud/cloud-config-execution-max-delay-seconds`, at most 1800; other values are ignored.
pub fn max_delay_seconds(annotations: &TextMap) -> i64 {
    annotations
        .get(annotation::SHOOT_CLOUD_CONFIG_MAX_DELAY)
        .and_then(|value| value.parse().ok())
        .filter(|seconds| (0..=1800).contains(seconds))
        .unwrap_or(300)
}

/// Returns gardenlet's time-out for the wait until all nodes have applied a changed operating system configuration: the
/// maximum delay plus two minutes.
///
/// Source: pkg/gardenlet/operation/botanist/operatingsystemconfig.go (`GetTimeoutWaitOperatingSystemConfigUpdated`)
/// @ v1.120.0.
pub fn update_timeout(annotations: &TextMap) -> chrono::TimeDelta {
    chrono::TimeDelta::seconds(max_delay_seconds(annotations)) + chrono::TimeDelta::minutes(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(labels: &[(&str, &str)], taints: &[Taint]) -> NodeTemplateSpec {
        let mut template = NodeTemplateSpec::default();
        template.metadata.labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        template.spec.taints = taints.to_vec();
        template
    }

    #[test]
    fn foreign_keys_are_kept_and_dropped_keys_removed() {
        let mut metadata = ObjectMeta::default();
        metadata.labels.insert("theirs".into(), "1".into());
        let mut taints = vec![taint("theirs", "", "NoExecute")];
        let first = template(&[("ours", "1"), ("old", "1")], &[taint("dedicated", "a", "NoSchedule")]);
        assert!(synchronize(&mut metadata, &mut taints, &first));
        assert!(!synchronize(&mut metadata, &mut taints, &first), "nothing to do the second time");
        let second = template(&[("ours", "2")], &[]);
        assert!(synchronize(&mut metadata, &mut taints, &second));
        let labels: Vec<_> = metadata.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(labels, [("ours", "2"), ("theirs", "1")]);
        assert_eq!(taints, [taint("theirs", "", "NoExecute")]);
    }

    #[test]
    fn becoming_ready_moves_the_transition_time_of_ready_alone() {
        let (first, second) = (Time::default(), Time::from_instant(chrono::DateTime::UNIX_EPOCH));
        let mut conditions = registration_conditions(first);
        become_ready(&mut conditions, second);
        let moved: Vec<_> =
            conditions[..4].iter().map(|condition| (&*condition.r#type, condition.last_transition_time)).collect();
        assert_eq!(
            moved,
            [("MemoryPressure", first), ("DiskPressure", first), ("PIDPressure", first), ("Ready", second),]
        );
        assert_eq!(conditions.len(), 12);
    }

    #[test]
    fn delays_are_spread_evenly() {
        let delays: Vec<i64> = (0..3).map(|index| reconciliation_delay(index, 3, 300).num_seconds()).collect();
        assert_eq!(delays, [0, 100, 200]);
        let annotated = |value: &str| {
            let key = "shoot.gardener.cloud/cloud-config-execution-max-delay-seconds".to_owned();
            max_delay_seconds(&TextMap::from([(key, value.to_owned())]))
        };
        assert_eq!((annotated("1800"), annotated("1801"), annotated("x")), (1800, 300, 300));
        assert_eq!(update_timeout(&TextMap::new()).num_seconds(), 420);
    }
}
