// SPDX-License-Identifier: Apache-2.0
//! Progress of a Deployment's roll-out, and the reason why it will not end.

use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ContainerStateTerminated, ContainerStatus, Pod};

/// Exit code of a process whose version must not run alongside the running ones.
const REFUSED: i32 = 3;
/// Reason of a termination that no kubelet observed, because the landscape's host was killed.
pub const UNOBSERVED: &str = "ContainerStatusUnknown";
/// Message of the termination of a process that was stopped with the landscape.
pub const STOPPED: &str = "the landscape was stopped";

/// True if a process ended with the landscape's host, which was stopped or killed: it has not failed.
pub fn is_end_of_landscape(ended: &ContainerStateTerminated) -> bool {
    ended.reason == UNOBSERVED || ended.message == STOPPED
}

/// Progress of a roll-out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// Every Pod is of the present template and available, and no other one is left.
    Done,
    /// Pods are being created or deleted.
    Progresses,
    /// The roll-out cannot end by itself; the reason.
    Failed(String),
}

/// Returns the progress of a Deployment's roll-out; `pods` are those that its selector selects, in the order of their
/// names, including those that are being deleted: the Deployment's status does not count them, but their processes
/// may still run (`pkg/utils/kubernetes/health: DeploymentHasExactNumberOfPods @ v1.120.0`).
pub fn of(deployment: &Deployment, pods: &[&Pod]) -> Rollout {
    let (wanted, status) = (deployment.spec.replicas.unwrap_or(1), &deployment.status);
    let is_done = status.observed_generation >= deployment.metadata.generation
        && status.updated_replicas == wanted
        && status.replicas == wanted
        && status.available_replicas == wanted
        && pods.iter().all(|pod| is_new(deployment, pod) && !pod.metadata.is_being_deleted());
    if is_done {
        return Rollout::Done;
    }
    match pods.iter().filter(|pod| is_new(deployment, pod)).find_map(|pod| trouble(pod)) {
        Some(trouble) => {
            let metadata = &deployment.metadata;
            Rollout::Failed(format!("Deployment \"{}/{}\" is unhealthy: {trouble}", metadata.namespace, metadata.name))
        }
        None => Rollout::Progresses,
    }
}

/// Returns true if a Pod is of the Deployment's present template, judged by its first container and its ConfigMaps.
fn is_new(deployment: &Deployment, pod: &Pod) -> bool {
    let (wanted, held) = (&deployment.spec.template.spec, &pod.spec);
    match (wanted.containers.first(), held.containers.first()) {
        (Some(wanted), Some(held)) => {
            let names = |pod: &[api::kubernetes::core::Volume]| -> Vec<String> {
                pod.iter().filter_map(|volume| Some(volume.config_map.as_ref()?.name.clone())).collect()
            };
            wanted.image == held.image
                && wanted.args == held.args
                && names(&deployment.spec.template.spec.volumes) == names(&pod.spec.volumes)
        }
        _ => false,
    }
}

/// Returns the reason why a Pod does not become ready by itself; `None`: it may.
fn trouble(pod: &Pod) -> Option<String> {
    if pod.metadata.is_being_deleted() {
        return None;
    }
    let container = pod.status.container_statuses.first().filter(|container| !container.ready)?;
    let name = &pod.metadata.name;
    let ended = last_end(container);
    let is_waiting_for_good = container.state.waiting.as_ref().is_some_and(|waiting| {
        matches!(waiting.reason.as_str(), "CrashLoopBackOff" | "CreateContainerConfigError" | "ImagePullBackOff")
    });
    match ended {
        Some((REFUSED, line)) => Some(format!("pod \"{name}\" did not start: {line}")),
        Some((_, line)) if is_waiting_for_good => Some(format!("pod \"{name}\" did not start: {line}")),
        _ if is_waiting_for_good => {
            let waiting = container.state.waiting.as_ref()?;
            Some(format!("pod \"{name}\" did not start: {}: {}", waiting.reason, waiting.message))
        }
        _ => None,
    }
}

/// Exit code and last line of the process that a container had before.
fn last_end(container: &ContainerStatus) -> Option<(i32, String)> {
    let ended = container.last_state.terminated.as_ref().filter(|ended| !is_end_of_landscape(ended))?;
    let line = last_words(ended);
    Some((ended.exit_code, line.trim_start_matches("Error: ").trim_start_matches("error: ").to_owned()))
}

/// Reason for the end of a process, never empty: its last line, without the hint that follows a panic.
pub fn last_words(ended: &ContainerStateTerminated) -> String {
    let lines = ended.message.lines().map(str::trim);
    let mut said = lines.rev().filter(|line| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"));
    said.next().map_or_else(|| format!("it ended with exit code {}, without a word", ended.exit_code), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::garden::control_plane::deployment;

    fn rolling(status: serde_json::Value) -> Deployment {
        let mut deployment = deployment("gardener-scheduler", "gardener/scheduler:v1.121.0", 1, &[], None);
        deployment.metadata.generation = 2;
        deployment.status = serde_json::from_value(status).expect("a status");
        deployment
    }

    fn pod(image: &str, container: serde_json::Value) -> Pod {
        let tree = json!({
            "metadata": { "name": "gardener-scheduler-1" },
            "spec": { "containers": [{ "name": "gardener-scheduler", "image": image }] },
            "status": { "containerStatuses": [container] },
        });
        serde_json::from_value(tree).expect("a Pod")
    }

    #[test]
    fn every_end_has_words() {
        for (message, expected) in [
            ("a\nerror: b\n", "error: b"),
            ("error: b\n\n   \n", "error: b"),
            (
                "panicked at x:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                "boom",
            ),
            ("\n", "it ended with exit code 2, without a word"),
        ] {
            let ended = ContainerStateTerminated {
                exit_code: 2,
                message: message.to_owned(),
                ..ContainerStateTerminated::default()
            };
            assert_eq!(last_words(&ended), expected, "{message:?}");
        }
    }

    #[test]
    fn a_roll_out_ends_with_the_last_old_pod() {
        let of = |observed: i64, replicas: i32, updated: i32, available: i32| {
            let deployment = rolling(json!({
                "observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
                "availableReplicas": available,
            }));
            let new = pod("gardener/scheduler:v1.121.0", json!({ "ready": true }));
            super::of(&deployment, &[&new])
        };
        assert_eq!(of(2, 1, 1, 1), Rollout::Done);
        assert_eq!(of(1, 1, 1, 1), Rollout::Progresses, "the new template is not observed yet");
        assert_eq!(of(2, 2, 1, 2), Rollout::Progresses, "an old pod is left");
        assert_eq!(of(2, 1, 1, 0), Rollout::Progresses);
        assert_eq!(of(2, 1, 0, 1), Rollout::Progresses);
    }

    #[test]
    fn a_pod_that_still_ends_is_waited_for() {
        let counts = json!({ "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 });
        let deployment = rolling(counts);
        let new = pod("gardener/scheduler:v1.121.0", json!({ "ready": true }));
        let mut old = pod("gardener/scheduler:v1.120.0", json!({ "ready": true }));
        old.metadata.deletion_timestamp = serde_json::from_value(json!("2023-07-28T00:00:00Z")).expect("an instant");
        assert_eq!(of(&deployment, &[&new, &old]), Rollout::Progresses, "the status counts no pod that ends");
        assert_eq!(of(&deployment, &[&new]), Rollout::Done);
        let mut same = new.clone();
        same.metadata.deletion_timestamp = old.metadata.deletion_timestamp;
        assert_eq!(of(&deployment, &[&new, &same]), Rollout::Progresses);
    }

    /// Image of the pod, its container, and the reason of the roll-out's failure.
    #[test]
    fn a_new_pod_that_does_not_start_fails_it() {
        let deployment = rolling(json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 1 }));
        let line = "a\nError: failed verifying Gardener version: no [rule=C1]";
        let ended = |code: i32| json!({ "terminated": { "exitCode": code, "message": line } });
        let (old, new) = ("gardener/scheduler:v1.120.0", "gardener/scheduler:v1.121.0");
        let back_off = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off" } });
        let creating = json!({ "waiting": { "reason": "ContainerCreating" } });
        let prefix =
            "Deployment \"garden/gardener-scheduler\" is unhealthy: pod \"gardener-scheduler-1\" did not start: ";
        let refused = "failed verifying Gardener version: no [rule=C1]";
        for (image, container, expected) in [
            (new, json!({ "lastState": ended(3), "state": creating }), Some(refused)),
            (new, json!({ "lastState": ended(1), "state": creating }), None),
            (new, json!({ "lastState": ended(1), "state": back_off }), Some(refused)),
            (new, json!({ "state": { "waiting": { "reason": "CreateContainerConfigError", "message": "m" } } }), {
                Some("CreateContainerConfigError: m")
            }),
            (
                new,
                json!({
                    "lastState": { "terminated": { "exitCode": 0, "message": STOPPED } },
                    "state": { "waiting": { "reason": "CreateContainerConfigError", "message": "m" } },
                }),
                Some("CreateContainerConfigError: m"),
            ),
            (new, json!({ "lastState": ended(3), "ready": true, "state": {} }), None),
            (old, json!({ "lastState": ended(3), "state": creating }), None),
        ] {
            let found = of(&deployment, &[&pod(image, container.clone())]);
            let expected = expected.map_or(Rollout::Progresses, |text| Rollout::Failed(format!("{prefix}{text}")));
            assert_eq!(found, expected, "{image} {container}");
        }
    }
}
