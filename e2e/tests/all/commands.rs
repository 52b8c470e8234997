// SPDX-License-Identifier: Apache-2.0
//! Output of commands and kubectl about a landscape whose time advances by itself.

use serde_json::{Value, json};
use terrarium_e2e::sandbox::Kubectl;

use crate::support::{in_order, manifest, sandbox};

/// Returns the arguments of kubectl with a user's token.
fn with_token<'a>(token: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [words, &["--token", token.trim()]].concat()
}

#[test]
fn tokens_of_service_accounts_work_with_kubectl() {
    let sandbox = sandbox("tokens");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27", "--clock", "stepped"]);
    for (number, kubectl) in [Kubectl::Oldest, Kubectl::Newest].into_iter().enumerate() {
        let garden = |words: &[&str]| sandbox.kubectl(kubectl, "garden", words);
        let name = format!("robot-{number}");
        garden(&["create", "serviceaccount", &name]);
        let token = garden(&["create", "token", &name, "--duration", "20m"]);
        let whoami = garden(&with_token(&token, &["auth", "whoami"]));
        in_order(&whoami, &[&format!("system:serviceaccount:default:{name}"), "system:serviceaccounts:default"]);
        in_order(&garden(&with_token(&token, &["get", "seeds"])), &["local"]);
        let refused = |context: &str, words: &[&str]| sandbox.kubectl_refused(kubectl, context, words);
        in_order(&refused("runtime", &with_token(&token, &["get", "namespaces"])), &["You must be logged in"]);
        sandbox.terrarium(&["clock", "advance", "20m"]);
        in_order(&refused("garden", &with_token(&token, &["get", "seeds"])), &["You must be logged in"]);
        let short = refused("garden", &["create", "token", &name, "--duration", "5m"]);
        in_order(&short, &["may not specify a duration less than 10 minutes"]);
    }
}

#[test]
fn status_shows_components_and_objects() {
    let sandbox = sandbox("status");
    let up = sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    in_order(
        &up,
        &[
            "contexts terrarium-default, -runtime, -seed-local added to ",
            "(current context is terrarium-default)",
            "Look around:  kubectl --context terrarium-default get ",
            "Move time:    terrarium clock advance 24h    (clock eager)",
        ],
    );
    let status = sandbox.terrarium(&["status", "--rollouts"]);
    in_order(
        &status,
        &[
            "clock 2023-07-27T20:0",
            "log revision ",
            " objects: ",
            "gardener-apiserver-",
            "v1.120.0",
            "Running",
            "nothing is",
        ],
    );
    assert!(!status.contains("held for"), "ready is ready:\n{status}");
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    let of = |words: &[&str]| -> Value {
        let text = sandbox.terrarium(&[&["status", "-o", "json"], words].concat());
        serde_json::from_str(&text).expect("one object")
    };
    let status = of(&["--rollouts"]);
    assert_eq!((&status["objects"]["cloudprofiles.core.gardener.cloud"], &status["rollouts"]), (&json!(1), &json!([])));
    assert_eq!((&status["warnings"], &status["clock"]["mode"]), (&json!([]), &json!("eager")));
    assert!(status["head"].as_u64() > Some(100) && status["bytes"].as_u64() > Some(10_000), "{status}");
    in_order(
        &sandbox.terrarium(&["--landscape", "default", "status", "-o", "yaml"]),
        &["\nclock:\n", "\nprocesses:\n- "],
    );
    let processes = status["processes"].as_array().expect("a list");
    let ready = processes.iter().filter(|process| process["ready"] == true && process["version"] == "v1.120.0");
    assert_eq!((processes.len(), ready.count()), (8, 8), "{status}");
    assert_eq!(of(&[])["rollouts"], Value::Null);

    // A roll-out that cannot complete: the new process refuses its flag.
    let container = json!([{ "name": "gardener-scheduler", "args": ["--no-such-flag"] }]);
    let patch = json!({ "spec": { "template": { "spec": { "containers": container } } } }).to_string();
    let patch = ["-n", "garden", "patch", "deployment", "gardener-scheduler", "-p", &patch];
    sandbox.kubectl(Kubectl::Newest, "runtime", &patch);
    let rollout = loop {
        let status = sandbox.terrarium(&["status", "--rollouts"]);
        if let Some(line) = status.lines().find(|line| line.starts_with("rollout ")) {
            break line.to_owned();
        }
        std::thread::yield_now();
    };
    in_order(
        &rollout,
        &["runtime garden deployment/gardener-scheduler: ", " of 1 updated, ", " available, ", " in all"],
    );
}

/// Time advances between a command's read and its order.
#[test]
fn a_state_is_waited_for_while_time_runs_by_itself() {
    let sandbox = sandbox("until");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
    garden(&["apply", "-f", &manifest("shoot")]);
    let until = |words: &[&str]| sandbox.terrarium(&[&["clock", "until"], words].concat());
    until(&["shoot/demo/local=Succeeded"]);
    for _ in 0..5 {
        garden(&["-n", "garden-demo", "annotate", "shoot", "local", "gardener.cloud/operation=reconcile"]);
        until(&["shoot/demo/local=Succeeded"]);
    }
    sandbox.terrarium(&["clock", "advance", "1s"]);
    in_order(&until(&["window", "shoot/demo/local"]), &["2023-07-28T09:00:0", " · eager"]);
    let (code, error) = sandbox.terrarium_refused(&["clock", "until", "2023-07-27"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["the clock does not go back: it is at 2023-07-28T09:0"]);
}
