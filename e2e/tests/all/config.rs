// SPDX-License-Identifier: Apache-2.0
//! `terrarium config`: reading, changing and rolling out configuration, and refusals.

use terrarium_e2e::sandbox::Kubectl;

use crate::support::{in_order, sandbox};

#[test]
fn configuration_is_read_changed_and_edited() {
    let sandbox = sandbox("config");
    sandbox.terrarium(&["up"]);
    let get = |component: &str, key: &str| sandbox.terrarium(&["config", "get", component, key]).trim().to_owned();
    let pods = |cluster: &str, role: &str| {
        let label = format!("role={role}");
        sandbox.kubectl(Kubectl::Newest, cluster, &["-n", "garden", "get", "pods", "-l", &label, "-o", "name"])
    };
    let whole = sandbox.terrarium(&["config", "get", "gardenlet"]);
    in_order(&whole, &["apiVersion: gardenlet.config.gardener.cloud/v1alpha1", "kind: GardenletConfiguration"]);
    // Defaults are shown, and marked.
    in_order(&whole, &["syncPeriod: 1h0m0s  # default"]);
    assert_eq!(get("gardenlet", "controllers.shoot.syncPeriod"), "1h0m0s  # default");
    assert_eq!(get("gardenlet", "controllers.bastion.concurrentSyncs"), "null", "nothing here depends on it");

    let before = pods("seed-local", "gardenlet");
    let set = sandbox.terrarium(&[
        "config",
        "set",
        "gardenlet",
        "controllers.shoot.syncPeriod=30m",
        "featureGates.NewWorkerPoolHash=true",
    ]);
    in_order(&set, &["gardenlet runs with the new configuration"]);
    // gardener-apiserver stores a Gardenlet's configuration in this form.
    assert_eq!(get("gardenlet", "controllers.shoot.syncPeriod"), "30m0s");
    in_order(&get("gardenlet", "featureGates"), &["NewWorkerPoolHash: true\n"]);
    assert_ne!(pods("seed-local", "gardenlet"), before, "it was restarted");
    let again = sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.syncPeriod=30m"]);
    in_order(&again, &["gardenlet has this configuration already"]);
    sandbox.terrarium(&["config", "set", "gardenlet", "controllers.shoot.syncPeriod="]);
    assert_eq!(get("gardenlet", "controllers.shoot.syncPeriod"), "1h0m0s  # default");

    // gardener-apiserver has flags.
    sandbox.terrarium(&["config", "set", "gardener-apiserver", "featureGates.InPlaceNodeUpdates=true"]);
    in_order(&get("gardener-apiserver", "featureGates"), &["InPlaceNodeUpdates: true\n"]);
    let words = ["-n", "garden", "get", "deployment", "gardener-apiserver", "-o", "yaml"];
    in_order(&sandbox.kubectl(Kubectl::Newest, "runtime", &words), &["--feature-gates=InPlaceNodeUpdates=true"]);

    for (words, expected) in [
        (
            &["set", "gardenlet", "controllers.shoot.syncPeriods=30m"][..],
            &["controllers.shoot has no key `syncPeriods`", "the nearest is `syncPeriod`"][..],
        ),
        (
            &["set", "gardenlet", "featureGates.NewWorkerPoolHashes=true"],
            &["gardenlet v1.120.0 has no feature gate `NewWorkerPoolHashes`", "the nearest is `NewWorkerPoolHash`"],
        ),
        (&["set", "gardener-apiserver", "profil=upstream"], &["has no flag `profil`", "the nearest is `profile`"]),
        (&["set", "gardenlet", "controllers.shoot.concurrentSyncs=many"], &["nothing was changed"]),
        (&["set", "gardenlet", "nonsense"], &["`nonsense` sets nothing", "write KEY=VALUE"]),
        (&["get", "gardenlett"], &["there is no component `gardenlett`", "the nearest is `gardenlet`"]),
        (&["get", "gardenlet", "--cluster", "seed/none"], &["none"]),
        (&["edit", "gardenlet", "--editor", "/no/such/editor"], &["cannot run /no/such/editor"]),
    ] {
        let (code, text) = sandbox.terrarium_refused(&[&["config"], words].concat());
        assert_eq!(code, 2, "{words:?}: {text}");
        in_order(&text, expected);
    }

    // An editor is any program that changes the file.
    let editor = |name: &str, command: &str| {
        let path = sandbox.file(name, &format!("#!/bin/sh\n{command}\n"));
        let path = sandbox.folder().join(path).display().to_string();
        let made = std::process::Command::new("chmod").args(["+x", &path]).status().expect("every system has chmod");
        assert!(made.success());
        path
    };
    let idle = editor("idle.sh", "exit 0");
    let edit = |editor: &str| sandbox.terrarium(&["config", "edit", "gardener-scheduler", "--editor", editor]);
    in_order(&edit(&idle), &["nothing was changed"]);
    let more = editor("more.sh", "printf 'schedulers:\\n  shoot:\\n    concurrentSyncs: 7\\n' >> \"$1\"");
    in_order(&edit(&more), &["gardener-scheduler runs with the new configuration"]);
    assert_eq!(get("gardener-scheduler", "schedulers.shoot.concurrentSyncs"), "7");
    let wrong = editor("wrong.sh", "printf 'nonsense: 1\\n' >> \"$1\"");
    let (code, text) = sandbox.terrarium_refused(&["config", "edit", "gardener-scheduler", "--editor", &wrong]);
    assert_eq!(code, 2);
    in_order(&text, &["unknown field \"nonsense\"", "nothing was changed"]);
    assert_eq!(get("gardener-scheduler", "schedulers.shoot.concurrentSyncs"), "7");
}
