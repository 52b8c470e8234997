// SPDX-License-Identifier: Apache-2.0
//! ManagedSeeds: Shoots that become Seeds. The gardenlet of the Shoot's Seed deploys another gardenlet, in its own
//! version, so that an update of a gardenlet propagates to those that it has deployed.
//!
//! Source: pkg/gardenlet/controller/managedseed, pkg/utils/gardener/gardenlet @ v1.120.0.

use api::constants::{condition, operation_state};
use api::core::{Condition, Shoot};
use api::seedmanagement::{Gardenlet, GardenletSelfDeployment, ManagedSeed};
use apimachinery::meta::{RawExtension, Time};
use serde_json::Value;

use super::gardenlet::chart_reference;
use crate::conditions;

/// Delay before a gardenlet acts on a change of a ManagedSeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The change was already handled: gardenlet does nothing.
    Never,
    /// No delay.
    None,
    /// Random time below `controllers.managedSeed.syncJitterPeriod`.
    Jitter,
}

/// Returns the delay for a ManagedSeed that a gardenlet finds at its start, or that changes while it runs.
pub fn delay(seed: &ManagedSeed, is_start: bool, jitter_updates: bool) -> Delay {
    let is_new = seed.metadata.is_being_deleted() || seed.metadata.generation == 1;
    let is_observed = seed.metadata.generation == seed.status.observed_generation;
    match (is_start, is_observed, is_new) {
        (false, true, _) => Delay::Never,
        (_, _, true) => Delay::None,
        (true, true, false) => Delay::Jitter,
        _ if jitter_updates => Delay::Jitter,
        _ => Delay::None,
    }
}

/// Returns the reason why a ManagedSeed waits for its Shoot; `None`: the Shoot is reconciled.
pub fn waits_for(namespace: &str, name: &str, shoot: Option<&Shoot>) -> Option<String> {
    let is_reconciled = shoot.is_some_and(|shoot| {
        let operation = shoot.status.last_operation.as_ref();
        shoot.metadata.generation == shoot.status.observed_generation
            && operation.is_some_and(|operation| operation.state == operation_state::SUCCEEDED)
    });
    (!is_reconciled).then(|| format!("Waiting for shoot \"{namespace}/{name}\" to be reconciled"))
}

/// Returns condition `ShootReconciled`; `waits`: the reason why the Shoot is not reconciled.
pub fn shoot_reconciled(seed: &ManagedSeed, shoot: &str, waits: Option<&str>, now: Time) -> Condition {
    let old = conditions::get_or_initial(&seed.status.conditions, condition::SHOOT_RECONCILED, now);
    match waits {
        Some(text) => conditions::updated(&old, condition::FALSE, "Reconciling", text, &[], now),
        None => {
            let text = format!("Shoot \"{}/{shoot}\" has been reconciled", seed.metadata.namespace);
            conditions::updated(&old, condition::TRUE, "Reconciled", &text, &[], now)
        }
    }
}

/// Condition `SeedRegistered`, after gardenlet was deployed, or not, with this error.
pub fn seed_registered(seed: &ManagedSeed, error: Option<&str>, now: Time) -> Condition {
    let old = conditions::get_or_initial(&seed.status.conditions, condition::SEED_REGISTERED, now);
    match error {
        Some(error) => conditions::updated(&old, condition::FALSE, "ReconcileError", error, &[], now),
        None => {
            let text = format!("Seed {} has been registered", seed.metadata.name);
            conditions::updated(&old, condition::TRUE, "Reconciled", &text, &[], now)
        }
    }
}

/// Returns the Gardenlet for the gardenlet of a ManagedSeed. `parent` is the configuration of the gardenlet that
/// deploys it and `version` its version: both count where the ManagedSeed sets nothing else and does not forbid it.
pub fn gardenlet(seed: &ManagedSeed, parent: &Value, version: &str) -> Gardenlet {
    let wanted = &seed.spec.gardenlet;
    let merges = wanted.merge_with_parent.unwrap_or(true);
    let own = serde_json::to_value(&wanted.config).unwrap_or_default();
    let configuration = if merges { merged(parent, &own) } else { own };
    let deployment = wanted.deployment.clone().unwrap_or_default();
    let mut image = deployment.image.clone().unwrap_or_default();
    if merges {
        image.tag.get_or_insert_with(|| version.to_owned());
    }
    let mut gardenlet = Gardenlet::default();
    gardenlet.metadata.name.clone_from(&seed.metadata.name);
    gardenlet.metadata.namespace.clone_from(&seed.metadata.namespace);
    gardenlet.spec.config = serde_json::from_value::<RawExtension>(configuration).unwrap_or_default();
    gardenlet.spec.deployment = GardenletSelfDeployment {
        replica_count: deployment.replica_count,
        revision_history_limit: deployment.revision_history_limit,
        service_account_name: deployment.service_account_name,
        image: Some(image),
        resources: deployment.resources,
        pod_labels: deployment.pod_labels,
        pod_annotations: deployment.pod_annotations,
        additional_volumes: deployment.additional_volumes,
        additional_volume_mounts: deployment.additional_volume_mounts,
        env: deployment.env,
        ..GardenletSelfDeployment::default()
    };
    gardenlet.spec.deployment.helm.oci_repository.r#ref = Some(chart_reference(version));
    gardenlet
}

/// Merges the configuration of a ManagedSeed over that of its parent, without the parent's Seed and its connection to
/// the garden.
fn merged(parent: &Value, own: &Value) -> Value {
    let mut tree = parent.clone();
    if let Value::Object(fields) = &mut tree {
        fields.remove("seedConfig");
        fields.remove("gardenClientConnection");
    }
    overlay(&mut tree, own);
    tree
}

fn overlay(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                overlay(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (below, above) => below.clone_from(above),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::garden::gardenlet::{version, wanted};

    fn seed(config: Value) -> ManagedSeed {
        let tree = json!({
            "metadata": { "name": "child", "namespace": "garden", "generation": 1 },
            "spec": { "shoot": { "name": "s" }, "gardenlet": { "config": config } },
        });
        serde_json::from_value(tree).expect("a ManagedSeed")
    }

    /// Generation, observed generation; true if it is being deleted; true at the start of gardenlet; true if updates
    /// are jittered.
    #[test]
    fn a_change_is_acted_upon_at_once_later_or_never() {
        for (generation, observed, is_deleted, is_start, jitter, expected) in [
            (1, 0, false, true, true, Delay::None),
            // Its specification never changed: at a start it does not wait.
            (1, 1, false, true, false, Delay::None),
            (2, 2, false, true, false, Delay::Jitter),
            (2, 2, true, true, false, Delay::None),
            (3, 2, false, true, false, Delay::None),
            (3, 2, false, true, true, Delay::Jitter),
            (2, 2, false, false, true, Delay::Never),
            (2, 1, false, false, false, Delay::None),
            (2, 1, false, false, true, Delay::Jitter),
            (2, 1, true, false, true, Delay::None),
            (1, 0, false, false, true, Delay::None),
        ] {
            let mut seed = seed(json!({}));
            seed.metadata.generation = generation;
            seed.status.observed_generation = observed;
            seed.metadata.deletion_timestamp = is_deleted.then(Time::default);
            let is = delay(&seed, is_start, jitter);
            assert_eq!(is, expected, "{generation} {observed} {is_deleted} {is_start} {jitter}");
        }
    }

    #[test]
    fn a_shoot_must_be_reconciled_first() {
        let waits = "Waiting for shoot \"garden/s\" to be reconciled";
        assert_eq!(waits_for("garden", "s", None).as_deref(), Some(waits));
        let shoot = |observed: i64, state: &str| {
            let tree = json!({
                "metadata": { "name": "s", "generation": 2 },
                "status": { "observedGeneration": observed, "lastOperation": { "state": state } },
            });
            serde_json::from_value::<Shoot>(tree).expect("a Shoot")
        };
        for (observed, state, expected) in
            [(2, "Succeeded", None), (1, "Succeeded", Some(waits)), (2, "Processing", Some(waits))]
        {
            assert_eq!(waits_for("garden", "s", Some(&shoot(observed, state))).as_deref(), expected);
        }
        let seed = seed(json!({}));
        let condition = shoot_reconciled(&seed, "s", None, Time::default());
        assert_eq!(condition.message, "Shoot \"garden/s\" has been reconciled");
        assert_eq!(seed_registered(&seed, None, Time::default()).message, "Seed child has been registered");
    }

    #[test]
    fn a_child_inherits_settings_of_its_parent() {
        let parent = json!({
            "kind": "GardenletConfiguration",
            "controllers": { "shoot": { "concurrentSyncs": 7, "syncPeriod": "2h" } },
            "seedConfig": { "metadata": { "name": "local" }, "spec": { "parent": true } },
            "gardenClientConnection": { "kubeconfig": "k" },
        });
        let mut child = seed(json!({
            "controllers": { "shoot": { "syncPeriod": "3h" } },
            "seedConfig": { "spec": { "child": true } },
        }));
        let made = gardenlet(&child, &parent, "v1.121.0");
        let expected = json!({
            "kind": "GardenletConfiguration",
            "controllers": { "shoot": { "concurrentSyncs": 7, "syncPeriod": "3h" } },
            "seedConfig": { "metadata": { "name": "child" }, "spec": { "child": true } },
        });
        assert_eq!(wanted(&made, "documents").expect("it names a version").configuration, expected);
        assert_eq!(version(&made).as_deref(), Ok("v1.121.0"));

        child.spec.gardenlet.deployment = serde_json::from_value(json!({ "image": { "tag": "v1.120.0" } })).ok();
        let wanted = wanted(&gardenlet(&child, &parent, "v1.121.0"), "documents").expect("it names a version");
        assert_eq!(wanted.deployment.spec.template.spec.containers[0].image, "gardener/gardenlet:v1.120.0");

        child.spec.gardenlet.merge_with_parent = Some(false);
        let alone = gardenlet(&child, &parent, "v1.121.0");
        let alone = serde_json::to_value(&alone.spec.config).expect("JSON");
        assert_eq!(alone["controllers"], json!({ "shoot": { "syncPeriod": "3h" } }));
    }
}
