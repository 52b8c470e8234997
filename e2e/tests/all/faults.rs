// SPDX-License-Identifier: Apache-2.0
//! What goes wrong on purpose in a landscape of real processes, and what a user sees and does then.

use serde_json::{Value, json};
use terrarium_e2e::sandbox::Kubectl;

use crate::support::{in_order, manifest, sandbox};

const TASK: &str = "task=Deploying Shoot infrastructure";
const MAINTENANCE_OPERATION: &str = "maintenance.gardener.cloud/operation";

/// A task that fails is tried again; with a code that is not retried the Shoot has Failed. Maintenance then skips the
/// operation that waits for it and keeps it, until a retry succeeds and the next window performs it.
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
    // Nothing for maintenance to update.
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
