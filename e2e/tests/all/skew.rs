// SPDX-License-Identifier: Apache-2.0
//! Versions that the rules refuse: components that run already, and exceptions by an administrator.

use clock::Clock;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{LIMIT, in_order, manifest, sandbox};

/// Returns the Lease of a gardener-apiserver that does not exist.
fn lease(sandbox: &Sandbox, version: &str) -> String {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "gardener-apiserver-by-hand",
            "namespace": "gardener-system-instances",
            "labels": { "terrarium.dev/component": "gardener-apiserver" },
            "annotations": { "terrarium.dev/version": version },
        },
    });
    sandbox.file("lease.json", &lease.to_string())
}

fn instances(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.kubectl(Kubectl::Newest, "garden", &[&["-n", "gardener-system-instances"], words].concat())
}

fn runtime(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat())
}

/// Returns the pod of a component, once it has an expected state.
#[track_caller]
fn until(sandbox: &Sandbox, component: &str, is_right: impl Fn(&Value) -> bool) -> Value {
    let begun = Clock::wall().now();
    loop {
        let labels = format!("role={component}");
        let text = runtime(sandbox, &["get", "pods", "-l", &labels, "-o", "json"]);
        let mut list: Value = serde_json::from_str(&text).expect("JSON");
        let pods = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if let Some(pod) = pods.into_iter().find(&is_right) {
            return pod;
        }
        assert!(Clock::wall().now() - begun < LIMIT, "{component}: {text}");
    }
}

fn is_ready(pod: &Value) -> bool {
    pod["status"]["containerStatuses"][0]["ready"] == true
}

/// Leases are deleted and created by hand, so that components run with a version that the rules refuse.
#[test]
fn a_component_waits_while_its_version_is_illegal() {
    let sandbox = sandbox("skew-while-running").with_components("processes");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--allow-downgrade"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let older = lease(&sandbox, "v1.119.0");
    // Leases of registered instances are protected.
    let create = ["-n", "gardener-system-instances", "create", "-f", &older];
    let refused = sandbox.kubectl_refused(Kubectl::Newest, "garden", &create);
    in_order(&refused, &["forbidden: version skew: gardener-", "must not be newer than gardener-apiserver version"]);
    for component in ["controller-manager", "scheduler", "admission-controller"] {
        instances(&sandbox, &["delete", "leases", "-l", &format!("terrarium.dev/component=gardener-{component}")]);
    }
    instances(&sandbox, &["delete", "leases", "-l", "terrarium.dev/component=gardenlet"]);
    instances(&sandbox, &["create", "-f", &older]);

    let pod = until(&sandbox, "gardener-controller-manager", |pod| !is_ready(pod));
    let text = "gardener-controller-manager version must not be newer than gardener-apiserver version \
                (gardener-apiserver version: 1.119.0, gardener-controller-manager version: 1.120.0)";
    let conditions = pod["status"]["conditions"].as_array().expect("conditions");
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").expect("Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("VersionSkew")));
    assert_eq!(ready["message"], text);
    let container = &pod["status"]["containerStatuses"][0];
    assert!(container["state"]["running"].is_object() && container["restartCount"] == 0, "{container}");
    in_order(&runtime(&sandbox, &["get", "pods"]), &["gardener-controller-manager", "0/1", "Running"]);
    let logs = runtime(&sandbox, &["logs", "deployment/gardener-controller-manager"]);
    assert_eq!(logs.matches(text).count(), 1, "{logs}");
    until(&sandbox, "gardener-scheduler", |pod| !is_ready(pod));
    assert!(is_ready(&until(&sandbox, "gardener-apiserver", is_ready)), "it violates no rule itself");
    let events = || instances(&sandbox, &["get", "events"]);
    let begun = Clock::wall().now();
    while !events().contains(text) {
        assert!(Clock::wall().now() - begun < LIMIT, "{}", events());
    }
    in_order(&events(), &["Warning", "VersionSkewViolation", "lease/"]);

    // It starts no new work, and time advances.
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "advance", "2h", "--quiet"]);
    let phase = || garden(&["get", "project", "demo", "-o", "jsonpath={.status.phase}"]);
    assert_ne!(phase(), "Ready", "it is not reconciled");
    sandbox.terrarium(&["clock", "advance", "2h", "--quiet"]);

    instances(&sandbox, &["delete", "lease", "gardener-apiserver-by-hand"]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    let pod = until(&sandbox, "gardener-controller-manager", is_ready);
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "the same process goes on");
    let logs = runtime(&sandbox, &["logs", "deployment/gardener-controller-manager"]);
    assert_eq!(logs.matches("its version may run alongside the others again").count(), 1, "{logs}");
}

#[test]
fn every_component_starts_if_enforcement_only_warns() {
    let sandbox = sandbox("skew-warned");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--skew-enforcement=warn"]);
    let image = "*=gardener/scheduler:v1.122.0";
    runtime(&sandbox, &["set", "image", "deployment/gardener-scheduler", image]);
    runtime(&sandbox, &["rollout", "status", "deployment/gardener-scheduler", "--timeout=300s"]);
    let text = "skipping gardener-scheduler versions is unsupported (old version was 1.120.0, my version is v1.122.0)";
    let logs = runtime(&sandbox, &["logs", "deployment/gardener-scheduler"]);
    in_order(&logs, &["it starts all the same", text]);
    in_order(&instances(&sandbox, &["get", "events"]), &["Warning", "VersionSkewViolation", text]);
    let older = lease(&sandbox, "v1.118.0");
    let output = sandbox.run_kubectl(Kubectl::Newest, "garden", &["create", "-f", &older]);
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{warning}");
    in_order(&warning, &["Warning: version skew: downgrading gardener-apiserver is not supported"]);
    // Running components are warned, and continue.
    let begun = Clock::wall().now();
    let logs = || runtime(&sandbox, &["logs", "deployment/gardener-controller-manager"]);
    let told = "its version must not run alongside the others any more: gardener-controller-manager";
    while !logs().contains(told) {
        assert!(Clock::wall().now() - begun < LIMIT, "{}", logs());
    }
    assert!(is_ready(&until(&sandbox, "gardener-controller-manager", |_| true)));

    let (code, error) = sandbox.terrarium_refused(&["up", "--skew-enforcement=off"]);
    assert_eq!(code, 2);
    in_order(&error, &["--skew-enforcement cannot be changed while landscape default runs", "terrarium down"]);
    sandbox.terrarium(&["down"]);
    sandbox.terrarium(&["up"]);
    sandbox.terrarium(&["down"]);
    let (code, error) = sandbox.terrarium_refused(&["up", "--skew-enforcement=enforce"]);
    assert_eq!(code, 3);
    // Too new for gardener-apiserver, or older than a version that ran, if its operator has reverted it already.
    in_order(&error, &["gardener-scheduler did not start: failed verifying Gardener version", "[rule="]);
}

#[test]
fn an_older_version_starts_if_downgrades_are_allowed() {
    let sandbox = sandbox("skew-downgrade");
    // A restarted operator would revert the image, maybe before the older version has started.
    let words = ["up", "--start-time", "2023-07-27T20:00:00Z", "--allow-downgrade", "--operator=false"];
    sandbox.terrarium(&words);
    let image = "*=gardener/scheduler:v1.119.0";
    runtime(&sandbox, &["set", "image", "deployment/gardener-scheduler", image]);
    runtime(&sandbox, &["rollout", "status", "deployment/gardener-scheduler", "--timeout=300s"]);
    let text = "downgrading gardener-scheduler is not supported (old version was 1.120.0, my version is v1.119.0)";
    in_order(&instances(&sandbox, &["get", "events"]), &["Warning", "VersionSkewViolation", text]);
    in_order(&runtime(&sandbox, &["logs", "deployment/gardener-scheduler"]), &["it starts all the same", text]);
    sandbox.terrarium(&["down"]);
    let (code, error) = sandbox.terrarium_refused(&["up", "--allow-downgrade=false"]);
    assert_eq!(code, 3);
    in_order(
        &error,
        &["gardener-scheduler did not start", "downgrading gardener-scheduler is not supported", "rule=T1"],
    );
}
