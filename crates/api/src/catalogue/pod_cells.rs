// SPDX-License-Identifier: Apache-2.0
//! Cells of Pods.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go (printPod) @ v1.32.

use serde_json::{Value, json};

use super::cells::{condition, items, number_at, str_at};

/// Phases in which no container of a Pod runs any more.
const ENDED: [&str; 2] = ["Succeeded", "Failed"];

/// Data of a Pod's row.
struct Summary {
    ready: usize,
    containers: usize,
    /// Reason for which a container waits or terminated, or else the phase.
    word: String,
    restarts: i64,
    /// Time of the last termination that was followed by a restart.
    last_restart: Option<String>,
}

/// `READY/CONTAINERS` of a Pod.
pub(super) fn ready(pod: &Value) -> Value {
    let summary = summary(pod);
    json!(format!("{}/{}", summary.ready, summary.containers))
}

/// Status of a Pod in one word.
pub(super) fn status(pod: &Value) -> Value {
    json!(summary(pod).word)
}

/// Number of container restarts, and the time of the last one.
pub(super) fn restarts(pod: &Value) -> (String, Option<String>) {
    let summary = summary(pod);
    let is_known = summary.restarts != 0;
    (summary.restarts.to_string(), summary.last_restart.filter(|_| is_known))
}

/// First IP address of a Pod.
pub(super) fn address(pod: &Value) -> Value {
    let first = str_at(pod, "/status/podIPs/0/ip");
    match if first.is_empty() { str_at(pod, "/status/podIP") } else { first } {
        "" => json!("<none>"),
        address => json!(address),
    }
}

/// Number of readiness gates of a Pod whose condition is true, and of all its gates: `1/2`.
pub(super) fn readiness_gates(pod: &Value) -> Value {
    let gates: Vec<&str> = items(&pod["spec"]["readinessGates"]).map(|gate| str_at(gate, "/conditionType")).collect();
    if gates.is_empty() {
        return json!("<none>");
    }
    let holding = gates.iter().filter(|gate| condition(pod, gate) == Some("True")).count();
    json!(format!("{holding}/{}", gates.len()))
}

fn summary(pod: &Value) -> Summary {
    let phase = str_at(pod, "/status/phase");
    let mut word = match str_at(pod, "/status/reason") {
        "" => phase.to_owned(),
        reason => reason.to_owned(),
    };
    let gated = |condition: &Value| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated";
    if items(&pod["status"]["conditions"]).any(gated) {
        "SchedulingGated".clone_into(&mut word);
    }
    let restartable: Vec<&str> = items(&pod["spec"]["initContainers"])
        .filter(|container| container["restartPolicy"] == "Always")
        .map(|container| str_at(container, "/name"))
        .collect();
    let containers = items(&pod["spec"]["containers"]).count() + restartable.len();
    let mut summary = Summary { ready: 0, containers, word, restarts: 0, last_restart: None };
    // Restarts of all init containers count while they run; afterwards only those of restartable ones (sidecars).
    let mut of_staying = Summary { ready: 0, containers, word: String::new(), restarts: 0, last_restart: None };
    let is_initializing = init(&mut summary, &mut of_staying, pod, &restartable);
    if !is_initializing || condition(pod, "Initialized") == Some("True") {
        (summary.restarts, summary.last_restart) = (of_staying.restarts, of_staying.last_restart);
        run(&mut summary, pod);
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        if str_at(pod, "/status/reason") == "NodeLost" {
            "Unknown".clone_into(&mut summary.word);
        } else if !ENDED.contains(&phase) {
            "Terminating".clone_into(&mut summary.word);
        }
    }
    summary
}

impl Summary {
    fn count_restarts(&mut self, status: &Value) {
        self.restarts += number_at(status, "/restartCount");
        let ended = str_at(status, "/lastState/terminated/finishedAt");
        if !ended.is_empty() && self.last_restart.as_deref().is_none_or(|last| last < ended) {
            self.last_restart = Some(ended.to_owned());
        }
    }
}

/// Adds the init containers up to the first one that has not finished; returns true if there is one.
fn init(summary: &mut Summary, of_staying: &mut Summary, pod: &Value, restartable: &[&str]) -> bool {
    let all = items(&pod["spec"]["initContainers"]).count();
    for (index, status) in items(&pod["status"]["initContainerStatuses"]).enumerate() {
        let stays = restartable.contains(&str_at(status, "/name"));
        summary.count_restarts(status);
        if stays {
            of_staying.count_restarts(status);
        }
        let (terminated, waiting) = (&status["state"]["terminated"], str_at(status, "/state/waiting/reason"));
        if terminated.is_object() && number_at(terminated, "/exitCode") == 0 {
            continue;
        }
        if stays && status["started"] == true {
            summary.ready += usize::from(status["ready"] == true);
            continue;
        }
        summary.word = if terminated.is_object() {
            format!("Init:{}", end(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{all}")
        };
        return true;
    }
    false
}

/// Adds the containers in reverse order: the state of the first one determines the status word.
fn run(summary: &mut Summary, pod: &Value) {
    let mut is_running = false;
    for status in items(&pod["status"]["containerStatuses"]).rev() {
        summary.count_restarts(status);
        let (waiting, terminated) = (str_at(status, "/state/waiting/reason"), &status["state"]["terminated"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.word);
        } else if terminated.is_object() {
            summary.word = end(terminated);
        } else if status["ready"] == true && status["state"]["running"].is_object() {
            is_running = true;
            summary.ready += 1;
        }
    }
    if summary.word == "Completed" && is_running {
        let is_ready = condition(pod, "Ready") == Some("True");
        (if is_ready { "Running" } else { "NotReady" }).clone_into(&mut summary.word);
    }
}

/// Reason of a termination, else its signal or exit code.
fn end(terminated: &Value) -> String {
    match (str_at(terminated, "/reason"), number_at(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number_at(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(containers: Value) -> Value {
        json!({
            "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
            "status": {"phase": "Running", "containerStatuses": containers},
        })
    }

    #[track_caller]
    fn check(pod: &Value, expected: &str) {
        let (restarts, last) = restarts(pod);
        let last = last.map(|last| format!(" ({last})")).unwrap_or_default();
        let shown = |cell: Value| cell.as_str().unwrap_or_default().to_owned();
        assert_eq!(format!("{} {} {restarts}{last}", shown(ready(pod)), shown(status(pod))), expected);
    }

    #[test]
    fn a_pod_shows_its_most_specific_status() {
        let running = json!({"ready": true, "state": {"running": {}}});
        check(&pod(json!([running, running])), "2/2 Running 0");
        check(&pod(json!([running, {"ready": true, "state": {}}])), "1/2 Running 0");
        check(&pod(json!([{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}])), "0/2 CrashLoopBackOff 0");
        check(&pod(json!([{"state": {"terminated": {"exitCode": 3}}}])), "0/2 ExitCode:3 0");
        check(&pod(json!([{"state": {"terminated": {"signal": 9}}}])), "0/2 Signal:9 0");
        let ended = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        check(&pod(json!([ended, running])), "1/2 NotReady 0");
        let mut ready = pod(json!([ended, running]));
        ready["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        check(&ready, "1/2 Running 0");
        let mut gated = pod(json!([]));
        gated["status"] = json!({
            "phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
        });
        check(&gated, "0/2 SchedulingGated 0");
    }

    #[test]
    fn a_deleted_pod_is_terminating_until_it_has_ended() {
        let mut pod = pod(json!([]));
        pod["metadata"] = json!({"deletionTimestamp": "x"});
        check(&pod, "0/2 Terminating 0");
        pod["status"]["phase"] = json!("Succeeded");
        check(&pod, "0/2 Succeeded 0");
        pod["status"]["reason"] = json!("NodeLost");
        check(&pod, "0/2 Unknown 0");
    }

    #[test]
    fn restarts_show_the_time_of_the_last_one() {
        let again = |count: i64, ended: &str| {
            json!({
                "restartCount": count, "ready": true, "state": {"running": {}}, "lastState": {"terminated": {"finishedAt": ended}},
            })
        };
        check(&pod(json!([again(2, "2026-01-02"), again(1, "2026-01-01")])), "2/2 Running 3 (2026-01-02)");
        check(&pod(json!([again(0, "2026-01-02")])), "1/2 Running 0");
    }

    #[test]
    fn init_containers_are_counted_first() {
        let with = |init: Value, policy: Value| {
            let mut pod = pod(json!([]));
            pod["spec"]["initContainers"] = json!([{"name": "i", "restartPolicy": policy}, {"name": "j"}]);
            pod["status"]["initContainerStatuses"] = init;
            pod
        };
        let state = |state: Value| json!([{"name": "i", "restartCount": 4, "state": state}]);
        check(&with(state(json!({"running": {}})), json!(null)), "0/2 Init:0/2 4");
        check(&with(state(json!({"waiting": {"reason": "PodInitializing"}})), json!(null)), "0/2 Init:0/2 4");
        check(&with(state(json!({"waiting": {"reason": "ErrImagePull"}})), json!(null)), "0/2 Init:ErrImagePull 4");
        check(&with(state(json!({"terminated": {"exitCode": 1}})), json!(null)), "0/2 Init:ExitCode:1 4");
        check(&with(state(json!({"terminated": {"exitCode": 0}})), json!(null)), "0/2 Running 0");
        let stays = json!([{"name": "i", "restartCount": 4, "started": true, "ready": true, "state": {"running": {}}}]);
        check(&with(stays, json!("Always")), "1/3 Running 4");
    }

    #[test]
    fn gates_and_addresses_are_shown() {
        let mut pod =
            json!({"status": {"conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]}});
        assert_eq!(readiness_gates(&pod), "<none>");
        pod["spec"] =
            json!({"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}]});
        assert_eq!(readiness_gates(&pod), "1/3");
        assert_eq!(address(&pod), "<none>");
        pod["status"]["podIP"] = json!("10.0.0.1");
        assert_eq!(address(&pod), "10.0.0.1");
    }
}
