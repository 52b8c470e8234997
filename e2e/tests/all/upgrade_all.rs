// SPDX-License-Identifier: Apache-2.0
//! `terrarium upgrade apply` through every minor from 1.120 to 1.149 in one run, during writes: fields are added and removed at
//! their release, stored objects stay readable, Shoots are reconciled.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, sandbox};

const SHOOTS: [&str; 3] = ["plain", "encrypted", "written"];

fn shoots() -> String {
    let shoot = |name: &str| {
        format!(
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {{name: {name}, namespace: garden-demo}}\nspec:\n  \
             cloudProfile: {{name: local}}\n  secretBindingName: local\n  region: local\n  networking: {{type: calico, nodes: \
             10.10.0.0/16}}\n  kubernetes:\n    version: 1.27.1\n    kubeAPIServer: {{encryptionConfig: {{resources: \
             [configmaps]}}}}\n  maintenance:\n    autoUpdate: {{kubernetesVersion: false, machineImageVersion: false}}\n  \
             provider:\n    type: local\n    workers:\n    - {{name: pool, minimum: 1, maximum: 1, machine: {{type: local}}}}\n"
        )
    };
    SHOOTS.map(shoot).join("---\n")
}

/// Returns the value of a field of an object of the garden; empty if the object does not have it.
fn field(sandbox: &Sandbox, object: &[&str], path: &str) -> String {
    let path = format!("jsonpath={{{path}}}");
    sandbox.kubectl(Kubectl::Newest, "garden", &[&["-n", "garden-demo", "get"], object, &["-o", &path]].concat())
}

#[test]
fn an_upgrade_through_all_minors_keeps_shoots() {
    let sandbox = sandbox("upgrade-all");
    sandbox.terrarium(&["up", "--preset", "demo", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["create", "-f", &sandbox.file("shoots.yaml", &shoots())]);
    for name in SHOOTS {
        sandbox.terrarium(&["clock", "until", &format!("shoot/demo/{name}=Succeeded")]);
    }
    let (seed, shoot) = (["seed", "local"], ["shoot", "plain"]);
    assert_eq!(field(&sandbox, &seed, ".spec.dns.provider.secretRef.name"), "internal-domain");
    assert_eq!(field(&sandbox, &seed, ".spec.dns.internal.domain"), "", "1.127 adds it");
    assert_eq!(field(&sandbox, &shoot, ".status.encryptedResources"), r#"["configmaps"]"#);

    let (is_over, writes) = (AtomicBool::new(false), AtomicU32::new(0));
    let told = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let value = format!("number={}", writes.fetch_add(1, Ordering::Relaxed));
                let words = ["-n", "garden-demo", "annotate", "shoot", "written", "--overwrite", &value];
                let write = || sandbox.run_kubectl(Kubectl::Newest, "garden", &words).status.success();
                assert!((0..3).any(|_| write()), "{value}: a write fails again and again");
            }
        });
        let told = sandbox.try_terrarium(&["upgrade", "apply", "--to", "v1.149.3"]);
        is_over.store(true, Ordering::Relaxed);
        told.expect("it goes through")
    });
    in_order(
        &told,
        &[
            "gardener-operator v1.120.0 -> v1.121.0",
            "gardener-apiserver v1.145.0 -> v1.146.0 (2 instances)",
            "every component is at v1.149.3",
        ],
    );
    assert!(writes.load(Ordering::Relaxed) > 10, "the writer wrote all the time");
    assert_eq!(field(&sandbox, &seed, ".spec.dns.provider.secretRef.name"), "", "1.139 removes it");
    assert_eq!(field(&sandbox, &seed, ".spec.dns.provider.credentialsRef.name"), "internal-domain");
    assert_eq!(field(&sandbox, &seed, ".spec.dns.internal.domain"), "internal.sandbox.example.org");
    assert_eq!(field(&sandbox, &seed, ".spec.settings.persistentVolumeClaimAutoscaler.enabled"), "false");
    assert_eq!(field(&sandbox, &shoot, ".spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type"), "aescbc");

    sandbox.terrarium(&["clock", "advance", "24h", "--quiet"]);
    for name in SHOOTS {
        let shoot = ["shoot", name];
        assert_eq!(field(&sandbox, &shoot, ".status.gardener.version"), "v1.149.3", "{name}");
        assert_eq!(field(&sandbox, &shoot, ".status.lastOperation.state"), "Succeeded", "{name}");
        let at_rest = field(&sandbox, &shoot, ".status.credentials.encryptionAtRest");
        assert_eq!(at_rest, r#"{"provider":{"type":"aescbc"},"resources":["configmaps"]}"#, "{name}");
        assert_eq!(field(&sandbox, &shoot, ".status.encryptedResources"), "", "{name}");
    }
    sandbox.terrarium(&["replay", "--verify"]);
}
