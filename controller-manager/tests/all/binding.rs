// SPDX-License-Identifier: Apache-2.0
//! Cases of pkg/controllermanager/controller/{secretbinding,credentialsbinding} @ v1.120.0.

use api::core::{Quota, SecretBinding, Shoot};
use api::kubernetes::core::Secret;
use api::security::{CredentialsBinding, WorkloadIdentity};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{only, world};

fn secret() -> Secret {
    object(json!({"metadata": {"name": "credentials", "namespace": "garden-dev"}}))
}

fn quota() -> Quota {
    object(json!({"metadata": {"name": "q", "namespace": "garden-dev"}}))
}

fn binding(name: &str, is_leaving: bool) -> SecretBinding {
    let mut binding: SecretBinding = object(json!({
        "metadata": {"name": name, "namespace": "garden-dev"},
        "secretRef": {"name": "credentials", "namespace": "garden-dev"},
        "provider": {"type": "local"},
        "quotas": [{"name": "q", "namespace": "garden-dev"}],
    }));
    if is_leaving {
        binding.metadata.finalizers.push("gardener".to_owned());
        binding.metadata.deletion_timestamp = Some(testkit::instant("2025-06-02T12:00:00Z").into());
    }
    binding
}

/// Returns the metadata of an object that bindings name.
fn marks(labels: &Value) -> Value {
    json!({"name": "credentials", "namespace": "garden-dev", "labels": labels, "finalizers": ["gardener.cloud/gardener"]})
}

fn shoot() -> Shoot {
    object(json!({
        "metadata": {"name": "s", "namespace": "garden-dev"},
        "spec": {"secretBindingName": "a"},
    }))
}

fn at_noon() -> World {
    world("2025-06-02T12:00:00Z")
}

#[test]
fn a_binding_marks_its_secret_and_its_quotas() {
    let mut world = at_noon().with(secret()).with(quota()).with(binding("a", false));
    world.start(only("secretbinding"));
    let secret: Secret = world.get("garden-dev", "credentials").expect("there");
    assert_eq!(secret.metadata.finalizers, ["gardener.cloud/gardener"]);
    assert_eq!(secret.metadata.label("provider.shoot.gardener.cloud/local"), Some("true"));
    assert_eq!(secret.metadata.label("reference.gardener.cloud/secretbinding"), Some("true"));
    let quota: Quota = world.get("garden-dev", "q").expect("there");
    assert_eq!(quota.metadata.label("reference.gardener.cloud/secretbinding"), Some("true"));
    let binding: SecretBinding = world.get("garden-dev", "a").expect("there");
    assert_eq!(binding.metadata.finalizers, ["gardener"]);
}

#[test]
fn a_secret_that_is_created_later_is_marked() {
    let mut world = at_noon().with(binding("a", false));
    world.start(only("secretbinding"));
    world.put(&secret());
    world.pass();
    let secret: Secret = world.get("garden-dev", "credentials").expect("there");
    assert_eq!(secret.metadata.finalizers, ["gardener.cloud/gardener"]);
}

#[test]
fn a_deleted_binding_removes_its_labels_and_finalizers() {
    let labels =
        json!({"reference.gardener.cloud/secretbinding": "true", "provider.shoot.gardener.cloud/local": "true"});
    let marked: Secret = object(json!({"metadata": marks(&labels)}));
    let mut world = at_noon().with(marked).with(quota()).with(binding("a", true));
    world.start(only("secretbinding"));
    assert_eq!(world.get::<SecretBinding>("garden-dev", "a"), None);
    let secret: Secret = world.get("garden-dev", "credentials").expect("it stays");
    assert!(secret.metadata.labels.is_empty() && secret.metadata.finalizers.is_empty(), "{:?}", secret.metadata);
}

#[test]
fn marks_that_another_binding_needs_stay() {
    let labels =
        json!({"reference.gardener.cloud/secretbinding": "true", "provider.shoot.gardener.cloud/local": "true"});
    let marked: Secret = object(json!({"metadata": marks(&labels)}));
    let mut world = at_noon().with(marked).with(quota()).with(binding("a", true)).with(binding("b", false));
    world.start(only("secretbinding"));
    let secret: Secret = world.get("garden-dev", "credentials").expect("it stays");
    assert_eq!((secret.metadata.labels.len(), secret.metadata.finalizers.len()), (2, 1));
}

#[test]
fn marks_of_the_other_kind_of_binding_keep_the_finalizer() {
    let labels = json!({
        "reference.gardener.cloud/secretbinding": "true",
        "reference.gardener.cloud/credentialsbinding": "true",
        "provider.shoot.gardener.cloud/local": "true",
    });
    let marked: Secret = object(json!({"metadata": marks(&labels)}));
    let mut world = at_noon().with(marked).with(quota()).with(binding("a", true));
    world.start(only("secretbinding"));
    let secret: Secret = world.get("garden-dev", "credentials").expect("it stays");
    assert_eq!(secret.metadata.finalizers, ["gardener.cloud/gardener"]);
    assert_eq!(secret.metadata.label("reference.gardener.cloud/secretbinding"), None);
    assert_eq!(secret.metadata.label("provider.shoot.gardener.cloud/local"), Some("true"));
}

#[test]
fn a_binding_stays_while_shoots_use_it() {
    let mut world = at_noon().with(secret()).with(quota()).with(binding("a", true)).with(shoot());
    let pass = world.start(only("secretbinding"));
    let text = "Warning ResourceReferenced Cannot delete SecretBinding, because the following Shoots are still referencing it: [garden-dev/s]";
    assert_eq!((pass.events, pass.writes), (vec![text.to_owned()], vec![]));
    world.remove::<Shoot>("garden-dev", "s");
    world.pass();
    assert_eq!(world.get::<SecretBinding>("garden-dev", "a"), None);
}

#[test]
fn a_credentials_binding_marks_a_workload_identity() {
    let identity: WorkloadIdentity = object(json!({"metadata": {"name": "wi", "namespace": "garden-dev"}}));
    let binding: CredentialsBinding = object(json!({
        "metadata": {"name": "a", "namespace": "garden-dev"},
        "provider": {"type": "local"},
        "credentialsRef": {"apiVersion": "security.gardener.cloud/v1alpha1", "kind": "WorkloadIdentity", "name": "wi",
            "namespace": "garden-dev"},
    }));
    let mut world = at_noon().with(identity).with(binding);
    world.start(only("credentialsbinding"));
    let identity: WorkloadIdentity = world.get("garden-dev", "wi").expect("there");
    assert_eq!(identity.metadata.label("reference.gardener.cloud/credentialsbinding"), Some("true"));
    assert_eq!(identity.metadata.finalizers, ["gardener.cloud/gardener"]);
}

#[test]
fn a_binding_without_its_secret_can_be_deleted() {
    let mut world = at_noon().with(binding("a", true));
    world.start(only("secretbinding"));
    assert_eq!(world.get::<SecretBinding>("garden-dev", "a"), None);
}
