// SPDX-License-Identifier: Apache-2.0
//! The status of a simulated pod, as a kubelet and a container runtime would report it.
//!
//! Three annotations of a pod (usually set in its template) control its simulation:
//!
//! | annotation | value |
//! | --- | --- |
//! | `terrarium.dev/pod-start` | a duration such as `30s`: time until it is ready |
//! | `terrarium.dev/pod-end` | a duration: time from the deletion request until it has ended, at most its grace period; `never`: it does not end by itself |
//! | `terrarium.dev/pod-fault` | `Pending`: it never starts; `NotReady`: it runs and is not ready; any other text: the reason why its containers wait, such as `CrashLoopBackOff` or `ImagePullBackOff` |

use api::constants::annotation;
use api::kubernetes::core::{
    Container, ContainerState, ContainerStateRunning, ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodIP,
    PodSpec, PodStatus,
};
use apimachinery::fnv::fnv64;
use apimachinery::meta::{Duration, ObjectMeta, Time};
use chrono::{DateTime, TimeDelta, Utc};
use domain::validation::network::Network;

/// Settings from a pod's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodSettings {
    /// Duration until it is ready.
    pub(crate) start: Option<TimeDelta>,
    /// Duration until it has ended.
    pub(crate) end: Option<TimeDelta>,
    /// True if it does not end by itself.
    pub(crate) never_ends: bool,
    /// Fault, as in the annotation.
    pub(crate) fault: Option<String>,
}

/// Reads the annotations; an invalid duration counts as absent.
pub(crate) fn annotations(metadata: &ObjectMeta) -> PodSettings {
    let duration = |name| metadata.annotation(name)?.parse::<Duration>().ok().map(Duration::to_chrono);
    PodSettings {
        start: duration(annotation::POD_START),
        end: duration(annotation::POD_END),
        never_ends: metadata.annotation(annotation::POD_END) == Some("never"),
        fault: metadata.annotation(annotation::POD_FAULT).filter(|fault| !fault.is_empty()).map(str::to_owned),
    }
}

/// Returns the images of a pod.
pub(crate) fn images(spec: &PodSpec) -> impl Iterator<Item = &str> {
    spec.init_containers.iter().chain(&spec.containers).map(|container| container.image.as_str())
}

/// Returns an IPv4 address below a prefix of two bytes, derived from a text. Equal texts have equal addresses;
/// different texts rarely share one.
pub(crate) fn address(prefix: &str, text: &str) -> String {
    let hash = fnv64(text.bytes());
    format!("{prefix}.{}.{}", (hash >> 8) & 0xff, hash % 254 + 1)
}

/// Location of a pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    /// Address of the node.
    pub(crate) host: &'a str,
    /// Network of the cluster's pods, in CIDR form; `None`: the default network of Shoots.
    pub(crate) network: Option<&'a str>,
}

/// Returns 64 hexadecimal digits derived from a text.
fn digest(text: &str) -> String {
    let [a, b, c, d] = [0, 1, 2, 3].map(|part| fnv64(format!("{part}/{text}").bytes()));
    format!("{a:016x}{b:016x}{c:016x}{d:016x}")
}

/// Returns the quality of service class.
///
/// Source: pkg/apis/core/v1/helper/qos/qos.go.
fn qos_class(spec: &PodSpec) -> &'static str {
    let containers = || spec.init_containers.iter().chain(&spec.containers);
    let names = ["cpu", "memory"];
    let is_bound = |container: &Container| {
        names.iter().all(|name| {
            let (limit, request) = (container.resources.limits.get(*name), container.resources.requests.get(*name));
            limit.is_some() && request.is_none_or(|request| Some(request) == limit)
        })
    };
    let is_free = |container: &Container| {
        let resources = &container.resources;
        names.iter().all(|name| !resources.limits.contains_key(*name) && !resources.requests.contains_key(*name))
    };
    if containers().all(is_free) {
        "BestEffort"
    } else if containers().all(is_bound) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Returns the status of a pod whose containers have started at `now`, or are in the state that the fault prescribes.
/// `seed` distinguishes pods: addresses and container ids are derived from it.
pub(crate) fn running(spec: &PodSpec, at: At<'_>, seed: &str, fault: Option<&str>, now: DateTime<Utc>) -> PodStatus {
    let now = Time::from_instant(now);
    let is_ready = fault.is_none();
    let waiting = fault.filter(|fault| *fault != "NotReady");
    // Without its image, a container has never run.
    let has_run = !waiting.is_some_and(|reason| reason.contains("Image"));
    let ip = if spec.host_network {
        at.host.to_owned()
    } else {
        let default = || address(&format!("100.{}", 96 + fnv64(seed.bytes()) % 32), seed);
        let network = at.network.and_then(|network| Network::parse(network.trim()));
        network.and_then(|network| network.address(seed)).map_or_else(default, |address| address.to_string())
    };
    let containers = spec.containers.iter().map(|container| {
        let state = match waiting {
            Some(reason) => ContainerState {
                waiting: Some(ContainerStateWaiting { reason: reason.to_owned(), message: String::new() }),
                ..ContainerState::default()
            },
            None => {
                let running = Some(ContainerStateRunning { started_at: now });
                ContainerState { running, ..ContainerState::default() }
            }
        };
        let id = digest(&format!("{seed}/{}", container.name));
        ContainerStatus {
            name: container.name.clone(),
            state,
            ready: is_ready,
            restart_count: i32::from(waiting.is_some() && has_run),
            image: container.image.clone(),
            image_id: if has_run {
                format!("{}@sha256:{}", container.image, digest(&container.image))
            } else {
                String::new()
            },
            container_id: if has_run { format!("containerd://{id}") } else { String::new() },
            started: Some(waiting.is_none()),
            ..ContainerStatus::default()
        }
    });
    let container_statuses: Vec<ContainerStatus> = containers.collect();
    let names: Vec<&str> = spec.containers.iter().map(|container| container.name.as_str()).collect();
    let condition = |type_: &str, holds: bool| PodCondition {
        r#type: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        last_transition_time: now,
        reason: if holds { "" } else { "ContainersNotReady" }.to_owned(),
        message: if holds { String::new() } else { format!("containers with unready status: [{}]", names.join(" ")) },
        ..PodCondition::default()
    };
    PodStatus {
        phase: if has_run { "Running" } else { "Pending" }.to_owned(),
        conditions: vec![
            condition("PodReadyToStartContainers", true),
            condition("Initialized", true),
            condition("Ready", is_ready),
            condition("ContainersReady", is_ready),
            condition("PodScheduled", true),
        ],
        host_ip: at.host.to_owned(),
        pod_i_ps: vec![PodIP { ip: ip.clone() }],
        pod_ip: ip,
        start_time: Some(now),
        container_statuses,
        qos_class: qos_class(spec).to_owned(),
        ..PodStatus::default()
    }
}

/// Returns the status after a change of the pod's fault: unchanged parts keep their times and counts.
pub(crate) fn changed(pod: &Pod, at: At<'_>, seed: &str, fault: Option<&str>, now: DateTime<Utc>) -> PodStatus {
    let mut new = running(&pod.spec, at, seed, fault, now);
    let old = &pod.status;
    for condition in &mut new.conditions {
        let same = |known: &&PodCondition| known.r#type == condition.r#type && known.status == condition.status;
        if let Some(known) = old.conditions.iter().find(same) {
            condition.last_transition_time = known.last_transition_time;
        }
    }
    for container in &mut new.container_statuses {
        let Some(known) = old.container_statuses.iter().find(|known| known.name == container.name) else { continue };
        let crashed = container.state.waiting.is_some() && known.state.running.is_some();
        container.restart_count = known.restart_count + i32::from(crashed && container.restart_count > 0);
        if let (Some(running), Some(before)) = (&mut container.state.running, &known.state.running) {
            running.started_at = before.started_at;
        }
    }
    new.start_time = old.start_time.or(new.start_time);
    if !old.pod_ip.is_empty() {
        new.pod_ip.clone_from(&old.pod_ip);
        new.pod_i_ps.clone_from(&old.pod_i_ps);
    }
    if !old.host_ip.is_empty() {
        new.host_ip.clone_from(&old.host_ip);
    }
    new
}

/// True if the stored status equals the result of [`changed`], times aside.
pub(crate) fn says(pod: &Pod, fault: Option<&str>) -> bool {
    let ready = pod.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True");
    let waiting = fault.filter(|fault| *fault != "NotReady");
    let reason =
        pod.status.container_statuses.first().and_then(|it| it.state.waiting.as_ref()).map(|it| it.reason.as_str());
    !pod.status.container_statuses.is_empty() && ready == fault.is_none() && reason == waiting
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::Quantity;

    use super::*;

    fn spec() -> PodSpec {
        let container =
            |name: &str| Container { name: name.into(), image: format!("{name}:1"), ..Container::default() };
        PodSpec { containers: vec![container("a"), container("b")], ..PodSpec::default() }
    }

    /// Returns a node of a cluster whose pods are in the default network.
    fn on(host: &str) -> At<'_> {
        At { host, network: None }
    }

    fn instant(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("a valid instant")
    }

    #[test]
    fn a_running_pod_has_the_fields_that_kubectl_prints() {
        let status = running(&spec(), on("10.250.0.1"), "x", None, instant(0));
        assert_eq!((status.phase.as_str(), status.host_ip.as_str()), ("Running", "10.250.0.1"));
        assert_eq!(status.pod_i_ps[0].ip, status.pod_ip);
        assert!(status.conditions.iter().all(|condition| condition.status == "True"));
        let container = &status.container_statuses[1];
        assert_eq!((container.name.as_str(), container.image.as_str(), container.ready), ("b", "b:1", true));
        assert_eq!(container.container_id.len(), "containerd://".len() + 64);
        assert!(container.state.running.is_some());
        assert_eq!(status.qos_class, "BestEffort");
        let host = PodSpec { host_network: true, ..spec() };
        assert_eq!(running(&host, on("10.250.0.1"), "x", None, instant(0)).pod_ip, "10.250.0.1");
    }

    #[test]
    fn faults_are_visible_in_the_status() {
        for (fault, phase, restarts, is_waiting) in [
            ("NotReady", "Running", 0, false),
            ("CrashLoopBackOff", "Running", 1, true),
            ("ImagePullBackOff", "Pending", 0, true),
        ] {
            let status = running(&spec(), on("h"), "x", Some(fault), instant(0));
            let container = &status.container_statuses[0];
            let found = (status.phase.as_str(), container.restart_count, container.state.waiting.is_some());
            assert_eq!(found, (phase, restarts, is_waiting), "{fault}");
            assert!(!container.ready);
            let ready = status.conditions.iter().find(|it| it.r#type == "Ready").expect("set");
            assert_eq!(ready.message, "containers with unready status: [a b]");
        }
    }

    #[test]
    fn the_end_of_a_fault_keeps_unchanged_parts() {
        let mut pod = Pod { spec: spec(), ..Pod::default() };
        assert!(!says(&pod, None));
        pod.status = running(&pod.spec, on("h"), "x", None, instant(0));
        assert!(says(&pod, None) && !says(&pod, Some("NotReady")));
        pod.status = changed(&pod, on("h"), "x", Some("CrashLoopBackOff"), instant(5));
        assert!(says(&pod, Some("CrashLoopBackOff")));
        pod.status = changed(&pod, on("h"), "x", None, instant(9));
        assert_eq!(pod.status.container_statuses[0].restart_count, 1);
        let since = |type_: &str| {
            let condition = pod.status.conditions.iter().find(|it| it.r#type == type_).expect("set");
            condition.last_transition_time.0
        };
        assert_eq!((since("Ready"), since("PodScheduled")), (instant(9), instant(0)));
        assert_eq!(pod.status.start_time.map(|time| time.0), Some(instant(0)));
    }

    #[test]
    fn quality_of_service_follows_requests_and_limits() {
        let quantity = |text: &str| text.parse::<Quantity>().expect("a quantity");
        let mut spec = spec();
        assert_eq!(qos_class(&spec), "BestEffort");
        spec.containers[0].resources.requests.insert("cpu".into(), quantity("1"));
        assert_eq!(qos_class(&spec), "Burstable");
        for container in &mut spec.containers {
            container.resources.limits = [("cpu".into(), quantity("1")), ("memory".into(), quantity("1Gi"))].into();
        }
        assert_eq!(qos_class(&spec), "Guaranteed");
        spec.containers[0].resources.requests.insert("cpu".into(), quantity("500m"));
        assert_eq!(qos_class(&spec), "Burstable");
    }

    #[test]
    fn annotations_are_read_or_left_alone() {
        let mut metadata = ObjectMeta::default();
        assert_eq!(annotations(&metadata), PodSettings::default());
        metadata.annotations.insert("terrarium.dev/pod-start".to_owned(), "1m30s".to_owned());
        metadata.annotations.insert("terrarium.dev/pod-fault".to_owned(), "NotReady".to_owned());
        metadata.annotations.insert("terrarium.dev/pod-end".to_owned(), "7s".to_owned());
        let wanted = PodSettings {
            start: Some(TimeDelta::seconds(90)),
            end: Some(TimeDelta::seconds(7)),
            never_ends: false,
            fault: Some("NotReady".to_owned()),
        };
        assert_eq!(annotations(&metadata), wanted);
        metadata.annotations.insert("terrarium.dev/pod-end".to_owned(), "never".to_owned());
        assert!(annotations(&metadata).never_ends);
        metadata.annotations.insert("terrarium.dev/pod-start".to_owned(), "soon".to_owned());
        assert_eq!(annotations(&metadata).start, None);
    }
}
