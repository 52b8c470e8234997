// SPDX-License-Identifier: Apache-2.0
//! The log of a landscape of real processes in the commands of a user: history, the past, replay.

use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, manifest, sandbox};

const SHOOT: &str = "Shoot/garden-demo/local";

#[test]
fn history_and_past_states_are_readable() {
    let sandbox = sandbox("history");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    create_a_shoot(&sandbox, Kubectl::Newest);
    sandbox.terrarium(&["clock", "until", "2023-07-28T10:00:00Z"]);
    sandbox.terrarium(&["clock", "pause"]);
    reads_as_a_history(&sandbox);
    let asked = the_past_is_the_same_by_every_road(&sandbox);
    let replayed = sandbox.terrarium(&["replay", "--verify"]);
    in_order(&replayed, &["from revision 0 to", "the same as the API lists"]);

    sandbox.kill_all();
    // Revisions that writers had reserved for heartbeats are skipped after a crash; entries, objects and hash are the same.
    let same = |output: &str| {
        let line = output.lines().next().unwrap_or_default().to_owned();
        let (entries, rest) = line.split_once(", from").expect("entries first");
        (entries.to_owned(), rest.split_once(':').expect("then objects").1.to_owned())
    };
    let stopped = sandbox.terrarium(&["replay", "--verify"]);
    in_order(&stopped, &["the same as the API lists"]);
    assert_eq!(same(&stopped), same(&replayed));
    reads_as_a_history(&sandbox);
    let (revision, shoot) = &asked;
    assert_eq!(at(&sandbox, revision), *shoot, "a stopped landscape has the same past");

    sandbox.terrarium(&["up"]);
    in_order(&sandbox.terrarium(&["replay", "--verify"]), &["from revision 0 to", "the same as the API lists"]);
    assert_eq!(at(&sandbox, revision), *shoot);
}

/// Applies the manifests of a CloudProfile, a Project and a Shoot, and waits until the Shoot exists.
fn create_a_shoot(sandbox: &Sandbox, kubectl: Kubectl) {
    let garden = |words: &[&str]| sandbox.kubectl(kubectl, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    let succeeded = "--for=jsonpath={.status.lastOperation.state}=Succeeded";
    garden(&["-n", "garden-demo", "wait", succeeded, "shoot/local", "--timeout=300s"]);
}

/// Returns the Shoot at a revision or instant.
fn at(sandbox: &Sandbox, place: &str) -> Value {
    let text = sandbox.terrarium(&["at", place, "get", "shoot", "local", "-n", "garden-demo", "-o", "json"]);
    serde_json::from_str(&text).expect("an object")
}

fn reads_as_a_history(sandbox: &Sandbox) {
    // Ages are those of the past moment, not of the present one.
    let table = sandbox.terrarium(&["at", "2023-07-27T22:00:30Z", "get", "shoot", "local", "-n", "garden-demo"]);
    assert!(table.lines().nth(1).is_some_and(|row| row.ends_with(" 120m")), "{table}");
    let history = sandbox.terrarium(&["log", "--object", SHOOT]);
    in_order(
        &history,
        &[
            "2023-07-27T20:00:0",
            "Z  admin (kubectl",
            "create  Shoot garden-demo/local  ",
            "K8S Version 1.26.4",
            "gardener-scheduler ",
            "scheduled to Seed local",
            "gardenlet ",
            "Create Processing (0%): Reconciliation of Shoot cluster initialized.",
            "APIServerAvailable Progressing → True (HealthzRequestSucceeded)",
            "Create Succeeded (100%): Shoot cluster has been successfully reconciled.",
            "2023-07-28T09:17:09Z  gardener-controller-manager ",
            "spec.kubernetes.version 1.26.4 → 1.27.1; spec.provider.workers[local].machine.image.version 934.8.0 → 1096.1.0",
            "maintained: All maintenance operations successful.",
            "Reconcile Processing (0%)",
            "Reconcile Succeeded (100%)",
        ],
    );
    assert!(history.lines().all(|line| line.contains("  Shoot garden-demo/local")), "{history}");
    let by_scheduler = sandbox.terrarium(&["log", "--object", SHOOT, "--actor", "scheduler", "--diff"]);
    in_order(&by_scheduler, &["gardener-scheduler", "- metadata.generation: 1", "+ spec.seedName: local"]);
    let since = ["log", "--object", "shoots", "--since", "2023-07-28T09:00:00Z", "-o", "json"];
    let entries = sandbox.terrarium(&since);
    let mut entries = entries.lines().map(|line| serde_json::from_str::<Value>(line).expect("an entry"));
    let says_why = |entry: &Value| {
        let mut changes = entry["changes"].as_array().into_iter().flatten();
        changes.any(|change| change["path"] == ".status.lastMaintenance.description")
    };
    let maintenance = entries.find(says_why).expect("the plan is in the history");
    assert_eq!(maintenance["component"], "gardener-controller-manager");
    let secrets = sandbox.terrarium(&["log", "--object", "secrets", "--diff"]);
    assert!(secrets.contains("Secret garden-demo/local"), "{secrets}");
    let mut values = secrets.lines().filter(|line| line.contains(" data."));
    assert!(values.all(|line| line.ends_with("(not shown)")), "values of Secrets are in the history\n{secrets}");
}

/// Returns revision and Shoot of a moment in the middle of its creation.
fn the_past_is_the_same_by_every_road(sandbox: &Sandbox) -> (String, Value) {
    let entries = sandbox.terrarium(&["log", "--object", SHOOT, "--until", "2023-07-27T20:00:30Z", "-o", "json"]);
    let entry: Value = entries.lines().last().and_then(|line| serde_json::from_str(line).ok()).expect("an entry");
    let revision = entry["revision"].to_string();
    let by_revision = at(sandbox, &revision);
    assert_eq!(by_revision, at(sandbox, "2023-07-27T20:00:30Z"), "the instant's last revision is found");
    assert_eq!(by_revision["metadata"]["resourceVersion"], revision.as_str());
    assert_eq!(by_revision["spec"]["kubernetes"]["version"], "1.26.4");
    let path = format!(
        "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots\
         ?resourceVersion={revision}&resourceVersionMatch=Exact"
    );
    let raw = sandbox.kubectl(Kubectl::Newest, "garden", &["get", "--raw", &path]);
    let raw: Value = serde_json::from_str(&raw).expect("a list");
    assert_eq!(raw["metadata"]["resourceVersion"], revision.as_str());
    let mut listed = raw["items"][0].clone();
    listed["apiVersion"] = by_revision["apiVersion"].clone();
    listed["kind"] = by_revision["kind"].clone();
    assert_eq!(listed, by_revision);
    let now = sandbox.terrarium(&["get", "shoot/local", "-n", "garden-demo", "-o", "json"]);
    assert_ne!(serde_json::from_str::<Value>(&now).expect("an object"), by_revision);

    let (code, error) = sandbox.terrarium_refused(&["at", "999999", "get", "shoots"]);
    assert_eq!(code, 2);
    in_order(&error, &["that revision is still to come", "hint: the last one is"]);
    let (code, error) = sandbox.terrarium_refused(&["at", "2099-01-01T00:00:00Z", "get", "shoots"]);
    assert_eq!(code, 2);
    in_order(&error, &["is still to come", "hint: the clock is at 2023-07-28T"]);
    let (code, error) = sandbox.terrarium_refused(&["at", "1", "get", "shoot/local", "-n", "garden-demo"]);
    assert_eq!(code, 1);
    in_order(&error, &["at revision 1 there is no shoot.core.gardener.cloud local"]);
    (revision, by_revision)
}
