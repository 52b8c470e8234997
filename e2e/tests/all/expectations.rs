// SPDX-License-Identifier: Apache-2.0
//! Expectations about a landscape: `terrarium assert` judges them, `terrarium wait` moves time until they hold.

use crate::support::{in_order, sandbox};
use crate::time::landscape;

const SHOOT: &str = "object: {kind: Shoot, name: s0, namespace: garden-demo}";

#[test]
fn expectations_are_judged_and_awaited() {
    let sandbox = landscape("expectations", 1);
    let run = |words: &[&str]| sandbox.start_terrarium(words).wait();
    let of_state = |state: &str| format!("{SHOOT}, matches: {{status: {{lastOperation: {{state: {state}}}}}}}");

    let holds = sandbox.terrarium(&["assert", &of_state("Succeeded")]);
    assert!(holds.starts_with("the expectation holds at 2023-07-27T21:"), "{holds}");
    let (code, output) = run(&["assert", &of_state("Failed")]);
    assert_eq!(code, Some(1), "{output}");
    in_order(
        &output,
        &["status.lastOperation.state: expected Failed, is Succeeded\n", "does not hold at 2023-07-27T21:"],
    );

    let file = sandbox.file(
        "expectations.yaml",
        "- objects: {kind: Node, cluster: shoot/demo/s0}\n  count: 3\n  cel: ['objects.all(n, has(n.status.nodeInfo))']\n\
         - absent: {kind: Shoot, name: other, namespace: garden-demo}\n\
         - condition: {of: Shoot/garden-demo/s0, type: APIServerAvailable, status: True}\n\
         - event: {of: Shoot/garden-demo/s0, reason: SchedulingSuccessful}\n\
         - component: {name: gardener-apiserver, ready: '>=1', versions: [v1.120.0]}\n\
         - log: {object: Shoot/garden-demo/s0, verb: create, actor: '!component'}\n  count: 1\n",
    );
    let all = sandbox.terrarium(&["assert", "-f", &file]);
    assert!(all.starts_with("6 expectations hold at "), "{all}");
    let (code, output) = run(&["assert", "-f", &file, "absent: {kind: Shoot, name: s0, namespace: garden-demo}"]);
    assert_eq!(code, Some(1), "{output}");
    in_order(&output, &["expectation: Shoot garden-demo/s0: expected none, is there\n", "1 of 7 expectations"]);

    // The window begins at 9; automatic updates of Kubernetes are off, and the version expires at midnight.
    let maintained =
        "event: {of: Shoot/garden-demo/s0, reason: KubernetesVersionMaintenance, message: force update required}";
    let awaited = sandbox.terrarium(&["wait", maintained]);
    assert!(awaited.lines().last().is_some_and(|line| line.starts_with("2023-07-28T09:")), "{awaited}");
    sandbox.terrarium(&["wait", &of_state("Succeeded")]);
    let (code, output) = run(&["wait", &of_state("Failed"), "--within", "10m"]);
    assert_eq!(code, Some(1), "{output}");
    in_order(
        &output,
        &["status.lastOperation.state: expected Failed, is ", "the expectation does not hold by 2023-07-28T"],
    );
}

#[test]
fn unreadable_expectations_are_refused_before_a_landscape_is_read() {
    let sandbox = sandbox("unreadable-expectations");
    for verb in ["assert", "wait"] {
        let (code, error) = sandbox.terrarium_refused(&[verb, "object: {kind: Shot, name: a}"]);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &["expectation, column 10: no cluster serves a kind `Shot`", "hint: the nearest is `Shoot`"]);
        let file = sandbox.file("typo.yaml", "object: {kind: Shoot, name: a}\nmatches:\n  spec: {kubernets: {}}\n");
        let (code, error) = sandbox.terrarium_refused(&[verb, "-f", &file]);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &["typo.yaml:3:10: ShootSpec has no field `spec.kubernets`", "`kubernetes`"]);
        let (code, error) = sandbox.terrarium_refused(&[verb, "object: {kind: Shoot, name: a}"]);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &["there is no landscape in"]);
    }
    let (code, error) = sandbox.terrarium_refused(&["wait", "log: {}, count: 1"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["expectation: an expectation about the log cannot be awaited"]);
}
