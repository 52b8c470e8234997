// SPDX-License-Identifier: Apache-2.0
//! Injected faults in a landscape of real processes, and the output and actions of a user.

use clock::Clock;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{LIMIT, in_order, manifest, sandbox};

const TASK: &str = "task=Deploying Shoot infrastructure";
const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";

/// A failed task is retried; with a code that is not retried the Shoot has Failed. Maintenance then skips the operation that
/// waits for it and keeps it, until a retry succeeds and the next window performs it.
#[test]
fn a_failed_shoot_is_seen_maintained_and_retried() {
    let sandbox = sandbox("faults");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let demo = |words: &[&str]| garden(&[&["-n", "garden-demo"], words].concat());
    let get = |path: &str| demo(&["get", "shoot", "local", "-o", &format!("jsonpath={{{path}}}")]);
    let annotate = |text: &str| demo(&["annotate", "--overwrite", "shoot", "local", text]);
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "until", "2023-07-27T20:05:00Z"]);
    // Maintenance has nothing to update.
    let shoot = std::fs::read_to_string(manifest("shoot")).expect("the manifest is there");
    let shoot = shoot.replace("1.26.4", "1.27.1").replace("934.8.0", "1096.1.0");
    demo(&["apply", "-f", &sandbox.file("shoot.yaml", &shoot)]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);

    for (words, what, hint) in [
        (&["task-fail", "--set", TASK][..], "there is no fault `task-fail`", "the nearest is `task-fails`"),
        (
            &["task-fails", "--set", "task=Deploying Shoot infrastucture"],
            "no flow has a task `Deploying Shoot infrastucture`",
            "the nearest is `Deploying Shoot infrastructure`",
        ),
        (
            &["task-fails", "--set", TASK, "--shoot", "demo/locl"],
            "there is no Shoot locl in Project demo",
            "the nearest is `local`",
        ),
        (&["task-fails", "--set", TASK, "--shoot", "dem/local"], "there is no Project dem", "the nearest is `demo`"),
    ] {
        let (code, error) = sandbox.terrarium_refused(&[&["fault", "inject"], words].concat());
        assert_eq!(code, 2, "{error}");
        in_order(&error, &[what, hint]);
    }

    let id = sandbox.terrarium(&["fault", "inject", "task-fails", "--shoot", "demo/local", "--set", TASK]);
    annotate("gardener.cloud/operation=reconcile");
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Error"]);
    let flow = "Flow \"Shoot cluster reconciliation\" encountered task errors: ";
    let failed = format!("[task \"Deploying Shoot infrastructure\" failed: fault {}]", id.trim());
    assert_eq!(get(".status.lastOperation.description"), format!("{flow}{failed} Operation will be retried."));
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);
    in_order(&sandbox.terrarium(&["fault", "list"]), &["DONE", id.trim(), "Shoot garden-demo/local", "1/1", "spent"]);
    assert_eq!(sandbox.terrarium(&["fault", "list", "-o", "name"]), id);
    let rows: Value = serde_json::from_str(&sandbox.terrarium(&["fault", "list", "-o", "json"])).expect("an object");
    let fault = &rows["faults"][0];
    assert_eq!(
        (&fault["id"], &fault["state"], &fault["status"]["times"]),
        (&json!(id.trim()), &json!("spent"), &json!(1))
    );
    in_order(&demo(&["get", "events"]), &["ReconcileError"]);
    assert_eq!(sandbox.terrarium(&["fault", "clear", id.trim()]), format!("{} cleared\n", id.trim()));

    let code = ["--set", "code=ERR_INFRA_QUOTA_EXCEEDED", "--set", "message=no room"];
    let words = ["fault", "inject", "task-fails", "--shoot", "demo/local", "--always", "--set", TASK];
    sandbox.terrarium(&[&words[..], &code].concat());
    annotate("gardener.cloud/operation=reconcile");
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Failed"]);
    in_order(&demo(&["get", "shoots"]), &["Reconcile Failed (", "unhealthy"]);
    assert_eq!(get(".status.lastErrors[0].codes[0]"), "ERR_INFRA_QUOTA_EXCEEDED");
    let generation = get(".metadata.generation");

    annotate(&format!("{MAINTENANCE_OPERATION}=reconcile"));
    sandbox.terrarium(&["clock", "until", "2023-07-28T10:00:00Z"]);
    in_order(&get(".metadata.annotations"), &["\"maintenance.gardener.cloud/operation\":\"reconcile\""]);
    assert_eq!((get(".metadata.generation"), get(".status.lastOperation.state")), (generation, "Failed".to_owned()));

    in_order(&sandbox.terrarium(&["fault", "clear", "--all"]), &["task-fails-", " cleared"]);
    annotate("gardener.cloud/operation=retry");
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);
    let retried: u64 = get(".metadata.generation").parse().expect("a number");
    in_order(&get(".metadata.annotations"), &["\"maintenance.gardener.cloud/operation\":\"reconcile\""]);
    sandbox.terrarium(&["clock", "until", "2023-07-29T10:00:00Z"]);
    let annotations = get(".metadata.annotations");
    assert!(!annotations.contains(MAINTENANCE_OPERATION), "the next window has performed it: {annotations}");
    assert_eq!(get(".metadata.generation"), (retried + 1).to_string());
    assert_eq!(get(".status.lastOperation.state"), "Succeeded");
}

/// Repeats a question until its answer is right; returns the answer.
#[track_caller]
fn until(ask: impl Fn() -> String, is_right: impl Fn(&str) -> bool) -> String {
    let begun = Clock::wall().now();
    loop {
        let text = ask();
        if is_right(&text) {
            return text;
        }
        assert!(Clock::wall().now() - begun < LIMIT, "{text}");
    }
}

fn runtime(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat())
}

/// Returns a field of the pod of a component.
fn of_pod(sandbox: &Sandbox, component: &str, path: &str) -> String {
    let (labels, path) =
        (format!("role={component}"), format!("jsonpath={{.items[*].status.containerStatuses[0]{path}}}"));
    runtime(sandbox, &["get", "pods", "-l", &labels, "-o", &path])
}

#[test]
fn a_fault_crashes_a_component_as_often_as_configured() {
    let sandbox = sandbox("fault-crash");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"]);
    for (words, what, hint) in [
        (&["component-crash"][..], "component-crash needs a target", "add --component NAME"),
        (
            &["component-crash", "--component", "gardener-schedule"],
            "there is no component gardener-schedule",
            "`gardener-scheduler`",
        ),
        (
            &["component-crash", "--component", "gardener-scheduler/7"],
            "gardener-scheduler has no pod 7",
            "there are gardener-scheduler-",
        ),
        (&["seed-unreachable", "--seed-cluster", "locl"], "there is no Seed locl", "`local`"),
        (
            &["component-partition", "--component", "gardenlet", "--times", "2"],
            "component-partition lasts until it is cleared",
            "--for",
        ),
    ] {
        let (code, error) = sandbox.terrarium_refused(&[&["fault", "inject"], words].concat());
        assert_eq!(code, 2, "{error}");
        in_order(&error, &[what, hint]);
    }
    let scheduler = "gardener-scheduler";
    let id = sandbox.terrarium(&["fault", "inject", "component-crash", "--component", "gardener-scheduler/0"]);
    until(|| of_pod(&sandbox, scheduler, ".restartCount"), |count| count == "1");
    assert_eq!(of_pod(&sandbox, scheduler, ".lastState.terminated.exitCode"), "1");
    let words = format!("fault {}: this instance ends", id.trim());
    in_order(&of_pod(&sandbox, scheduler, ".lastState.terminated.message"), &[&words]);
    until(|| of_pod(&sandbox, scheduler, ".ready"), |ready| ready == "true");
    in_order(&sandbox.terrarium(&["fault", "list"]), &[id.trim(), "Pod gardener-scheduler-", "1/1", "spent"]);

    let id = sandbox.terrarium(&["fault", "inject", "component-crash", "--component", scheduler, "--always"]);
    until(|| of_pod(&sandbox, scheduler, ".state.waiting.reason"), |reason| reason == "CrashLoopBackOff");
    sandbox.terrarium(&["fault", "clear", id.trim()]);
    sandbox.terrarium(&["clock", "advance", "10m", "--quiet"]);
    until(|| of_pod(&sandbox, scheduler, ".ready"), |ready| ready == "true");
}

#[test]
fn an_isolated_component_continues_after_the_fault() {
    let sandbox = sandbox("fault-partition").with_components("processes");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let manager = "gardener-controller-manager";
    let id = sandbox.terrarium(&["fault", "inject", "component-partition", "--component", manager]);
    garden(&["apply", "-f", &manifest("garden")]);
    // Time advances without it.
    sandbox.terrarium(&["clock", "advance", "2h", "--quiet"]);
    let phase = || garden(&["get", "project", "demo", "-o", "jsonpath={.status.phase}"]);
    assert_ne!(phase(), "Ready", "it is not reconciled");
    assert_eq!(
        (of_pod(&sandbox, manager, ".ready"), of_pod(&sandbox, manager, ".restartCount")),
        ("true".into(), "0".into())
    );
    let list = sandbox.terrarium(&["fault", "list"]);
    in_order(&list, &[id.trim(), manager, "lasting", "2023-07-27", "Pod gardener-controller-manager-", "active"]);
    sandbox.terrarium(&["fault", "clear", id.trim()]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    assert_eq!(of_pod(&sandbox, manager, ".restartCount"), "0");

    // One of two gardener-apiservers: the other one answers all requests without delay.
    let id = sandbox.terrarium(&["fault", "inject", "component-partition", "--component", "gardener-apiserver/0"]);
    for number in 0..6 {
        garden(&["label", "project", "demo", "--overwrite", &format!("number={number}")]);
    }
    sandbox.terrarium(&["clock", "advance", "2h", "--quiet"]);
    sandbox.terrarium(&["fault", "clear", id.trim()]);
    sandbox.terrarium(&["clock", "advance", "1h", "--quiet"]);
    for _ in 0..4 {
        in_order(&garden(&["get", "project", "demo", "--show-labels"]), &["number=5"]);
    }
}

/// The end of a fault and the restart of a process wait for time, which advances without a gardener-apiserver, too.
#[test]
fn time_moves_without_a_gardener_apiserver() {
    let sandbox = crate::time::landscape("fault-apiserver", 1);
    let apiserver = "gardener-apiserver";
    let partition = ["fault", "inject", "component-partition", "--component", apiserver, "--for", "10m"];
    let id = sandbox.terrarium(&partition);
    let silent = format!(
        "gardener-apiserver does not answer: fault {} (component-partition) acts since 2023-07-27T21:01:00Z, until \
         2023-07-27T21:11:00Z",
        id.trim()
    );
    for goal in [&["until", "window"][..], &["until", "window", "demo/s0"], &["until", "demo/s0=Failed"]] {
        for detach in [&[][..], &["--detach"]] {
            let (code, error) = sandbox.terrarium_refused(&[&["clock"], goal, detach].concat());
            assert_eq!(code, 1, "{error}");
            in_order(
                &error,
                &[&silent, "`terrarium clock until 2023-07-27T21:11:00Z` moves time to the end of the fault"],
            );
        }
    }
    let (_, error) = sandbox.terrarium_refused(&["why", "demo/s0"]);
    in_order(&error, &[&silent]);
    in_order(&sandbox.terrarium(&["status"]), &["clock 2023-07-27T21:01:00Z", &silent]);
    in_order(&sandbox.terrarium(&["log", "--object", "shoot/demo/s0"]), &["create", "garden-demo/s0"]);
    in_order(&sandbox.terrarium(&["fault", "list"]), &[id.trim(), "active"]);

    let not_followed = format!("note: {silent}; Shoots are not followed until it answers");
    for words in [&["advance", "1m"][..], &["advance", "1m", "--quiet"], &["until", "2023-07-27T21:05:00Z"]] {
        let (_, notes) = sandbox.terrarium_with_notes(&[&["clock"], words].concat());
        in_order(&notes, &[&not_followed]);
    }
    let (records, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "1m", "-o", "json"]);
    in_order(&records, &["\"now\":\"2023-07-27T21:06:00Z\""]);
    in_order(&notes, &[&not_followed]);
    let (lines, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "1d"]);
    in_order(&notes, &[&not_followed, "note: gardener-apiserver answers: Shoots are followed from 2023-07-27T21:1"]);
    in_order(&lines, &["07-28 09:", "lastMaintenance Succeeded", "2023-07-28T21:06:00Z"]);
    assert!(!lines.contains("07-27 21:"), "the Shoot was there before: {lines}");

    let id = sandbox.terrarium(&["fault", "inject", "component-crash", "--component", apiserver, "--always"]);
    until(|| of_pod(&sandbox, apiserver, ".state.waiting.reason"), |reason| reason.matches("CrashLoop").count() == 2);
    let (_, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "10m", "--quiet"]);
    in_order(
        &notes,
        &["(component-crash) acts since 2023-07-28T21:06:00Z, until it is cleared; Shoots are not followed"],
    );
    let (_, error) = sandbox.terrarium_refused(&["clock", "until", "demo/s0=Succeeded"]);
    in_order(&error, &[&format!("`terrarium fault clear {}` ends the fault", id.trim())]);
    sandbox.terrarium(&["fault", "clear", "--all"]);
    let (_, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "10m", "--quiet"]);
    in_order(
        &notes,
        &["gardener-apiserver does not answer: gardener-apiserver v", "does not start", "Shoots are followed from"],
    );
    in_order(&sandbox.terrarium(&["get", "shoots", "-A"]), &["s0"]);
}

#[test]
fn a_seed_that_cannot_be_reached_is_not_ready() {
    let sandbox = sandbox("fault-seed");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    let ready = || {
        let path = "jsonpath={.status.conditions[?(@.type==\"GardenletReady\")].status}";
        garden(&["get", "seed", "local", "-o", path])
    };
    assert_eq!(ready(), "True");
    let id = sandbox.terrarium(&["fault", "inject", "seed-unreachable", "--seed-cluster", "local"]);
    let renewed = || {
        let path = "jsonpath={.items[*].spec.renewTime}";
        garden(&["-n", "gardener-system-seed-lease", "get", "leases", "-o", path])
    };
    until(renewed, |renewed| renewed.starts_with("2023-07-27T20:0"));
    sandbox.terrarium(&["clock", "advance", "5m", "--quiet"]);
    until(ready, |status| status == "Unknown");
    in_order(&sandbox.terrarium(&["fault", "list"]), &[id.trim(), "Seed local", "lasting", " Pod garden", "active"]);
    sandbox.terrarium(&["fault", "clear", id.trim()]);
    sandbox.terrarium(&["clock", "advance", "5m", "--quiet"]);
    until(ready, |status| status == "True");
}
