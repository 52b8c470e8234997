// SPDX-License-Identifier: Apache-2.0
//! Defaults of bindings and of the kinds that register extensions.

use api::core::*;
use api::kubernetes::core::ObjectReference;
use api::security::CredentialsBinding;
use apimachinery::meta::ByteString;

use super::{MINUTE, fill};

/// Sets the namespace of a SecretBinding's references without one to its own.
pub fn secret_binding(binding: &mut SecretBinding) {
    if binding.secret_ref.namespace.is_empty() {
        binding.secret_ref.namespace.clone_from(&binding.metadata.namespace);
    }
    quota_namespaces(&mut binding.quotas, &binding.metadata.namespace);
}

/// Sets the namespace of a CredentialsBinding's references without one to its own.
pub fn credentials_binding(binding: &mut CredentialsBinding) {
    if binding.credentials_ref.namespace.is_empty() {
        binding.credentials_ref.namespace.clone_from(&binding.metadata.namespace);
    }
    quota_namespaces(&mut binding.quotas, &binding.metadata.namespace);
}

/// Moves plain texts of an InternalSecret to its data.
pub fn internal_secret(secret: &mut InternalSecret) {
    for (key, value) in std::mem::take(&mut secret.string_data) {
        secret.data.insert(key, ByteString(value.into_bytes()));
    }
}

fn quota_namespaces(quotas: &mut [ObjectReference], namespace: &str) {
    for quota in quotas.iter_mut().filter(|quota| quota.namespace.is_empty()) {
        namespace.clone_into(&mut quota.namespace);
    }
}

/// Fills the defaults of a ControllerRegistration; only resources of kind `Extension` have a life cycle.
pub fn controller_registration(registration: &mut ControllerRegistration) {
    for resource in &mut registration.spec.resources {
        resource.primary.get_or_insert(true);
        if resource.kind == "Extension" {
            let enabled = resource.auto_enable.iter().any(|cluster| cluster == "shoot");
            if resource.globally_enabled == Some(true) && !enabled {
                resource.auto_enable.push("shoot".to_owned());
            }
            if resource.cluster_compatibility.is_empty() {
                resource.cluster_compatibility.push("shoot".to_owned());
            }
            fill(&mut resource.reconcile_timeout, 3 * MINUTE);
            resource.lifecycle.get_or_insert_default();
        }
        if let Some(lifecycle) = &mut resource.lifecycle {
            lifecycle.reconcile.get_or_insert_with(|| "AfterKubeAPIServer".to_owned());
            lifecycle.delete.get_or_insert_with(|| "BeforeKubeAPIServer".to_owned());
            lifecycle.migrate.get_or_insert_with(|| "BeforeKubeAPIServer".to_owned());
        }
    }
    if let Some(deployment) = &mut registration.spec.deployment {
        deployment.policy.get_or_insert_with(|| "OnDemand".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Kind, `globallyEnabled`, `autoEnable`; the resulting `autoEnable`.
    #[test]
    fn a_globally_enabled_extension_is_enabled_once() {
        for (kind, globally, automatically, expected) in [
            ("Extension", json!(true), &[][..], &["shoot"][..]),
            ("Extension", json!(true), &["seed"], &["seed", "shoot"]),
            ("Extension", json!(true), &["shoot", "seed"], &["shoot", "seed"]),
            ("Extension", json!(false), &["seed"], &["seed"]),
            ("Extension", json!(null), &[], &[]),
            ("Worker", json!(true), &[], &[]),
        ] {
            let resource = json!({"kind": kind, "type": "a", "globallyEnabled": globally, "autoEnable": automatically});
            let mut registration = ControllerRegistration::default();
            registration.spec.resources = vec![serde_json::from_value(resource).expect("a resource")];
            controller_registration(&mut registration);
            assert_eq!(registration.spec.resources[0].auto_enable, expected, "{kind} {globally} {automatically:?}");
        }
    }
}
