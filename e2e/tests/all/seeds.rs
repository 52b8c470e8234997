// SPDX-License-Identifier: Apache-2.0
//! Seeds that are added while a landscape runs: one whose Gardenlet the operator deploys, one that is a Shoot; and leader
//! election among several processes of a component.

use clock::Clock;
use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{LIMIT, in_order, manifest, sandbox};

fn garden(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.kubectl(Kubectl::Newest, "garden", &[&["-n", "garden"], words].concat())
}

#[track_caller]
fn until(expected: &str, look: impl Fn() -> String) {
    let begun = Clock::wall().now();
    loop {
        let seen = look();
        if seen == expected {
            return;
        }
        assert!(Clock::wall().now() - begun < LIMIT, "`{expected}` is expected, `{seen}` is there");
    }
}

/// Returns the version of gardenlet in a Seed's status.
fn version(sandbox: &Sandbox, seed: &str) -> String {
    garden(sandbox, &["get", "seed", seed, "--ignore-not-found", "-o", "jsonpath={.status.gardener.version}"])
}

#[test]
fn seeds_are_added_by_gardenlets_or_managed_seeds() {
    let sandbox = sandbox("seeds");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| garden(&sandbox, words);
    garden(&["apply", "-f", &manifest("garden")]);
    garden(&["label", "namespace", "garden", "gardener.cloud/role=project", "project.gardener.cloud/name=garden"]);
    garden(&["apply", "-f", &manifest("seeds")]);

    // gardener-operator deploys a gardenlet that has no Seed yet, into a cluster of its own.
    until("v1.120.0", || version(&sandbox, "other"));
    garden(&["wait", "--for=condition=SeedRegistered", "gardenlet/other", "--timeout=300s"]);
    garden(&["wait", "--for=condition=GardenletReconciled", "gardenlet/other", "--timeout=300s"]);
    let registered = "jsonpath={.status.conditions[?(@.type==\"SeedRegistered\")].message}";
    assert_eq!(
        garden(&["get", "gardenlet", "other", "-o", registered]),
        "Gardenlet deployed and Seed \"other\" registered"
    );

    // gardenlet waits for the Shoot, and makes it a Seed.
    let waits = "jsonpath={.status.conditions[?(@.type==\"ShootReconciled\")].message}";
    sandbox.terrarium(&["clock", "until", "shoot/garden/host=Succeeded"]);
    until("v1.120.0", || version(&sandbox, "child"));
    until("Shoot \"garden/host\" has been reconciled", || garden(&["get", "ms", "child", "-o", waits]));
    in_order(&garden(&["get", "ms"]), &["NAME", "STATUS", "SHOOT", "child", "Registered", "host"]);
    in_order(
        &garden(&["get", "events", "--field-selector", "involvedObject.name=child"]),
        &["Ensuring garden namespace", "Reconciling seed secrets", "Deploying gardenlet into"],
    );
    let spec = "jsonpath={.spec.networks.nodes} {.spec.provider.zones} {.spec.ingress.domain}";
    in_order(&garden(&["get", "seed", "child", "-o", spec]), &["10.10.0.0/16 [\"local-a\"] ingress.host.garden."]);

    // Two gardenlets of it run, and one is the leader; the Lease names it.
    let holder = "jsonpath={.spec.holderIdentity}";
    let child = |words: &[&str]| {
        sandbox.terrarium(&[&["kubectl", "--cluster", "seed/child", "--", "-n", "garden"], words].concat())
    };
    let leader = child(&["get", "lease", "gardenlet-leader-election", "-o", holder]);
    let pods = child(&["get", "pods", "-o", "name"]);
    assert!(pods.contains(leader.trim()), "{leader}: {pods}");
    assert_eq!(pods.matches("pod/gardenlet-").count(), 2, "{pods}");

    // A Shoot that is a Seed cannot be deleted.
    garden(&["annotate", "shoot", "host", "confirmation.gardener.cloud/deletion=true"]);
    let refused = sandbox.kubectl_refused(Kubectl::Newest, "garden", &["-n", "garden", "delete", "shoot", "host"]);
    assert!(
        refused.contains("cannot delete shoot garden/host since it is still referenced by a managed seed"),
        "{refused}"
    );

    // An update replaces one gardenlet after the other.
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    runtime(&["set", "image", "deployment/gardener-operator", "*=gardener/operator:v1.121.0"]);
    for seed in ["local", "other", "child"] {
        until("v1.121.0", || version(&sandbox, seed));
    }

    // The deletion of a ManagedSeed deletes its Seed.
    garden(&["delete", "managedseed", "child", "--wait=false"]);
    until("", || garden(&["get", "managedseed", "child", "--ignore-not-found", "-o", "name"]));
    until("", || garden(&["get", "seed", "child", "--ignore-not-found", "-o", "name"]));
    until("", || runtime(&["get", "clusters.terrarium.dev", "seed--child", "--ignore-not-found", "-o", "name"]));
    sandbox.terrarium(&["replay", "--verify"]);
}

#[test]
fn one_of_several_processes_works() {
    let sandbox = sandbox("leaders");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z", "--operator=false"]);
    let name = "gardener-controller-manager";
    let holder = || {
        let lease = format!("{name}-leader-election");
        garden(&sandbox, &["get", "lease", &lease, "-o", "jsonpath={.spec.holderIdentity}"])
    };
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    let first = holder();
    runtime(&["scale", "deployment", name, "--replicas=2"]);
    runtime(&["rollout", "status", &format!("deployment/{name}"), "--timeout=300s"]);
    assert_eq!(holder(), first, "the second one waits");
    runtime(&["delete", "pod", &first, "--wait=false"]);
    let begun = Clock::wall().now();
    while holder() == first {
        assert!(Clock::wall().now() - begun < LIMIT, "no instance has taken over from {first}");
    }
    // It reconciles: a Project becomes ready.
    garden(&sandbox, &["apply", "-f", &manifest("garden")]);
    garden(&sandbox, &["wait", "--for=jsonpath={.status.phase}=Ready", "project/demo", "--timeout=300s"]);
}
