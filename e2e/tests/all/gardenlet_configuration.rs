// SPDX-License-Identifier: Apache-2.0
//! Instants of gardenlet's reconciliations: its configuration, annotations of a Shoot, its restart.

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{manifest, sandbox};

/// The only Shoot of a landscape.
struct Local<'a>(&'a Sandbox);

impl Local<'_> {
    fn kubectl(&self, words: &[&str]) -> String {
        self.0.kubectl(Kubectl::Newest, "garden", &[&["-n", "garden-demo"], words].concat())
    }

    fn get(&self, path: &str) -> String {
        self.kubectl(&["get", "shoot", "local", "-o", &format!("jsonpath={{{path}}}")])
    }

    fn annotate(&self, annotations: &[&str]) {
        self.kubectl(&[&["annotate", "--overwrite", "shoot", "local"], annotations].concat());
    }

    /// Advances time, and returns the instant of the last operation's last update, to the minute.
    fn last_operation_at(&self, instant: &str) -> String {
        self.0.terrarium(&["clock", "until", &format!("2023-07-{instant}Z")]);
        assert_eq!(self.get(".status.lastOperation.state"), "Succeeded");
        self.get(".status.lastOperation.lastUpdateTime")["2023-07-".len()..][.."28T01:30".len()].to_owned()
    }

    fn configure(&self, settings: &[&str]) {
        self.0.terrarium(&[&["config", "set", "gardenlet"], settings].concat());
    }
}

#[test]
fn gardenlet_reconciles_at_the_configured_interval() {
    let sandbox = sandbox("gardenlet-configuration");
    // Its ConfigMap belongs to its operator if no Gardenlet defines its content.
    let up = ["up", "--start-time", "2023-07-27T20:00:00Z", "--clock", "stepped", "--operator=false"];
    sandbox.terrarium(&up);
    sandbox.kubectl(Kubectl::Newest, "garden", &["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "until", "2023-07-27T20:05:00Z"]);
    let shoot = std::fs::read_to_string(manifest("shoot")).expect("the manifest is there");
    // Maintenance has nothing to update, and its window is far away.
    let shoot = shoot.replace("1.26.4", "1.27.1").replace("934.8.0", "1096.1.0");
    let shoot = shoot.replace("begin: 090000+0000, end: 100000+0000", "begin: 180000+0000, end: 190000+0000");
    let local = Local(&sandbox);
    local.kubectl(&["apply", "-f", &sandbox.file("shoot.yaml", &shoot)]);
    sandbox.terrarium(&["clock", "until", "shoot/demo/local=Succeeded"]);

    // Default: every hour.
    let seed = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "seed-local", &[&["-n", "garden"], words].concat());
    let file = seed(&["get", "configmap", "gardenlet-config", "-o", r"jsonpath={.data.config\.yaml}"]);
    assert!(!file.contains("controllers"), "{file}");
    for hour in ["27T22", "27T23", "28T00"] {
        let last = local.last_operation_at(&format!("{hour}:30:00"));
        assert_eq!(&last[..5], hour);
    }

    // An operator edits the ConfigMap and restarts the Deployment. A gardenlet that starts reconciles at once.
    let file = format!("{file}controllers:\n  shoot:\n    syncPeriod: 3h\n");
    let patch = serde_json::json!({ "data": { "config.yaml": file } }).to_string();
    seed(&["patch", "configmap", "gardenlet-config", "--type", "merge", "-p", &patch]);
    seed(&["rollout", "restart", "deployment", "gardenlet"]);
    seed(&["rollout", "status", "deployment", "gardenlet", "--timeout", "60s"]);
    assert_eq!(local.last_operation_at("28T03:00:00"), "28T00:30");
    // The owner's period has no effect until the operator enables it.
    local.annotate(&["shoot.gardener.cloud/sync-period=6h", "shoot.gardener.cloud/ignore=true"]);
    assert_eq!(local.last_operation_at("28T03:45:00"), "28T03:30");
    assert_eq!(local.last_operation_at("28T06:45:00"), "28T06:30");
    local.annotate(&["shoot.gardener.cloud/ignore-"]);

    local.configure(&["controllers.shoot.respectSyncPeriodOverwrite=true"]);
    assert_eq!(local.last_operation_at("28T12:30:00"), "28T06:45");
    assert_eq!(local.last_operation_at("28T13:00:00"), "28T12:45");

    // A Shoot to be ignored is not reconciled after any change; removing the annotation alone causes no reconciliation.
    local.annotate(&["shoot.gardener.cloud/ignore=true"]);
    let generation = || local.get(".metadata.generation");
    let observed = || local.get(".status.observedGeneration");
    local.kubectl(&["patch", "shoot", "local", "--type", "merge", "-p", r#"{"spec": {"purpose": "testing"}}"#]);
    assert_eq!(local.last_operation_at("28T13:10:00"), "28T12:45");
    assert_ne!(observed(), generation());
    local.annotate(&["shoot.gardener.cloud/ignore-"]);
    assert_eq!(local.last_operation_at("28T13:20:00"), "28T12:45");
    local.annotate(&["gardener.cloud/operation=reconcile"]);
    assert_eq!(local.last_operation_at("28T13:25:00"), "28T13:20");
    assert_eq!(observed(), generation());

    // In the window only: neither the start of gardenlet nor its period matter any more, but a change does.
    local.configure(&["controllers.shoot.reconcileInMaintenanceOnly=true"]);
    assert_eq!(local.last_operation_at("28T16:00:00"), "28T13:20");
    local.kubectl(&["patch", "shoot", "local", "--type", "merge", "-p", r#"{"spec": {"purpose": "evaluation"}}"#]);
    assert_eq!(local.last_operation_at("28T17:59:59"), "28T16:00");
    let last = local.last_operation_at("28T18:50:00");
    assert!(("28T18:00".."28T18:50").contains(&last.as_str()), "{last}");
    // A gardenlet that starts outside of the window waits for the next one.
    seed(&["rollout", "restart", "deployment", "gardenlet"]);
    seed(&["rollout", "status", "deployment", "gardenlet", "--timeout", "60s"]);
    assert_eq!(local.last_operation_at("29T17:59:59"), last);
    assert!(local.last_operation_at("29T18:50:00").as_str() > "29T18:00");
}
