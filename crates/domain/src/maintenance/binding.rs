// SPDX-License-Identifier: Apache-2.0
//! The CredentialsBinding that replaces the SecretBinding of a Shoot; Shoots of Kubernetes 1.34 and later have no
//! SecretBinding.
//!
//! | in the namespace | used |
//! | --- | --- |
//! | `force-migrated-NAME`, with the Secret and the Quotas of the SecretBinding | it |
//! | `force-migrated-NAME`, with others | none: a failure, which is reported |
//! | others with this Secret and these Quotas | the first by name |
//! | none of these | `force-migrated-NAME`, which is created |
//!
//! Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go @ v1.149.0.

use api::constants::label;
use api::core::{SecretBinding, Shoot};
use api::kubernetes::core::ObjectReference;
use api::security::{CredentialsBinding, CredentialsBindingProvider};
use apimachinery::meta::ObjectMeta;

use super::Plan;

/// Sentence about a CredentialsBinding that replaced a Shoot's SecretBinding.
pub(super) const BINDING_MIGRATED: &str = ".spec.secretBindingName was migrated to .spec.credentialsBindingName. Reason: \
    SecretBinding is deprecated and can no longer be used for Shoot clusters using Kubernetes version 1.34+";

/// Label of a CredentialsBinding that maintenance has created, and its value.
const FORCE_MIGRATED: (&str, &str) = (label::CREDENTIALS_BINDING_STATUS, "force-migrated");

/// CredentialsBinding selected for a Shoot.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Name of an existing one.
    Existing(String),
    /// One to be created.
    New(Box<CredentialsBinding>),
}

/// Returns the name of the CredentialsBinding that is created for a SecretBinding.
pub fn migrated_name(secret_binding: &str) -> String {
    format!("force-migrated-{secret_binding}")
}

/// Selects the CredentialsBinding for a SecretBinding; `present` are those of its namespace, in any order.
///
/// # Errors
/// The one that maintenance would create exists and does not match.
pub fn choose(secret_binding: &SecretBinding, present: &[CredentialsBinding]) -> Result<Choice, String> {
    let meta = &secret_binding.metadata;
    let name = migrated_name(&meta.name);
    if let Some(migrated) = present.iter().find(|binding| binding.metadata.name == name) {
        let differs = |words: &str| {
            let namespace = &meta.namespace;
            let of = format!("SecretBinding {namespace}/{}", meta.name);
            Err(format!("existing CredentialsBinding {namespace}/{name} does not {words} as {of}"))
        };
        if !has_secret_of(migrated, secret_binding) {
            return differs("reference the same Secret");
        }
        if !are_equal(&migrated.quotas, &secret_binding.quotas) {
            return differs("have the same Quotas");
        }
        return Ok(Choice::Existing(name));
    }
    let fitting = present
        .iter()
        .filter(|binding| has_secret_of(binding, secret_binding) && are_equal(&binding.quotas, &secret_binding.quotas));
    if let Some(first) = fitting.map(|binding| &binding.metadata.name).min() {
        return Ok(Choice::Existing(first.clone()));
    }
    let (label, value) = FORCE_MIGRATED;
    let provider_type = secret_binding.provider.as_ref().map(|provider| provider.r#type.clone()).unwrap_or_default();
    Ok(Choice::New(Box::new(CredentialsBinding {
        metadata: ObjectMeta {
            name,
            namespace: meta.namespace.clone(),
            labels: [(label.to_owned(), value.to_owned())].into(),
            ..ObjectMeta::default()
        },
        provider: CredentialsBindingProvider { r#type: provider_type },
        credentials_ref: ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            name: secret_binding.secret_ref.name.clone(),
            namespace: secret_binding.secret_ref.namespace.clone(),
            ..ObjectReference::default()
        },
        quotas: secret_binding.quotas.clone(),
    })))
}

fn has_secret_of(binding: &CredentialsBinding, secret_binding: &SecretBinding) -> bool {
    let (reference, secret) = (&binding.credentials_ref, &secret_binding.secret_ref);
    (&*reference.kind, &*reference.api_version) == ("Secret", "v1")
        && (&reference.name, &reference.namespace) == (&secret.name, &secret.namespace)
}

/// True if both lists name the same Quotas, in any order.
fn are_equal(left: &[ObjectReference], right: &[ObjectReference]) -> bool {
    let key = |quota: &ObjectReference| {
        (quota.api_version.clone(), quota.kind.clone(), quota.namespace.clone(), quota.name.clone())
    };
    let sorted = |quotas: &[ObjectReference]| {
        let mut keys: Vec<_> = quotas.iter().map(key).collect();
        keys.sort();
        keys
    };
    sorted(left) == sorted(right)
}

impl Plan {
    /// Returns the name of the SecretBinding that the plan removes from a Shoot; `None` if the Shoot keeps its binding.
    pub fn migrated_secret_binding<'a>(&self, stored: &'a Shoot) -> Option<&'a str> {
        stored.spec.secret_binding_name.as_deref().filter(|_| self.shoot.spec.secret_binding_name.is_none())
    }

    /// Sets the Shoot's CredentialsBinding; after a failure the Shoot keeps its SecretBinding, and the failure is
    /// reported in place of the migration.
    pub fn bind(&mut self, stored: &Shoot, bound: Result<String, String>) {
        match bound {
            Ok(name) => self.shoot.spec.credentials_binding_name = Some(name),
            Err(failure) => {
                self.shoot.spec.credentials_binding_name.clone_from(&stored.spec.credentials_binding_name);
                self.shoot.spec.secret_binding_name.clone_from(&stored.spec.secret_binding_name);
                for operation in self.operations.iter_mut().filter(|text| *text == BINDING_MIGRATED) {
                    *operation =
                        format!("Failed to migrate from secretBindingName to credentialsBindingName: {failure}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api::core::{CloudProfileSpec, ExpirableVersion, SecretBindingProvider};
    use api::kubernetes::core::SecretReference;

    use super::super::{Restarters, apply, plan};
    use super::*;
    use crate::release::Release;
    use crate::versions::Moment;

    fn quota(text: &str) -> ObjectReference {
        let (namespace, name) = text.split_once('/').expect("namespace and name");
        ObjectReference { namespace: namespace.to_owned(), name: name.to_owned(), ..ObjectReference::default() }
    }

    fn secret_binding() -> SecretBinding {
        SecretBinding {
            metadata: ObjectMeta {
                name: "mine".to_owned(),
                namespace: "garden-dev".to_owned(),
                ..ObjectMeta::default()
            },
            secret_ref: SecretReference { name: "s".to_owned(), namespace: "garden-dev".to_owned() },
            quotas: vec![quota("garden/q"), quota("garden-dev/r")],
            provider: Some(SecretBindingProvider { r#type: "local".to_owned() }),
        }
    }

    /// Parses `NAME KIND SECRET QUOTAS`.
    fn credentials_binding(text: &str) -> CredentialsBinding {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, kind, secret, quotas] = words[..] else { panic!("four words: {text}") };
        CredentialsBinding {
            metadata: ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() },
            credentials_ref: ObjectReference {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                ..quota(&format!("garden-dev/{secret}"))
            },
            quotas: quotas.split(',').map(quota).collect(),
            ..CredentialsBinding::default()
        }
    }

    /// CredentialsBindings of the namespace, and the one that is selected; `+` before one that is to be created.
    #[test]
    fn the_credentials_binding_has_the_same_secret_and_quotas() {
        for (present, expected) in [
            ("", "+force-migrated-mine"),
            ("b Secret s garden/q,garden-dev/r; a Secret s garden-dev/r,garden/q", "a"),
            (
                "force-migrated-mine Secret s garden/q,garden-dev/r; a Secret s garden/q,garden-dev/r",
                "force-migrated-mine",
            ),
            ("a Secret other garden/q,garden-dev/r", "+force-migrated-mine"),
            ("a WorkloadIdentity s garden/q,garden-dev/r", "+force-migrated-mine"),
            ("a Secret s garden/q", "+force-migrated-mine"),
            ("a Secret s garden/q,garden/r", "+force-migrated-mine"),
            (
                "force-migrated-mine Secret other garden/q,garden-dev/r; a Secret s garden/q,garden-dev/r",
                "existing CredentialsBinding garden-dev/force-migrated-mine does not reference the same Secret as \
                 SecretBinding garden-dev/mine",
            ),
            (
                "force-migrated-mine Secret s garden/q",
                "existing CredentialsBinding garden-dev/force-migrated-mine does not have the same Quotas as \
                 SecretBinding garden-dev/mine",
            ),
        ] {
            let present_there: Vec<_> =
                present.split(';').filter(|text| !text.is_empty()).map(credentials_binding).collect();
            let chosen = match choose(&secret_binding(), &present_there) {
                Ok(Choice::Existing(name)) => name,
                Ok(Choice::New(new)) => format!("+{}", new.metadata.name),
                Err(failure) => failure,
            };
            assert_eq!(chosen, expected, "{present}");
        }
    }

    #[test]
    fn a_new_credentials_binding_is_as_the_secret_binding() {
        let Ok(Choice::New(new)) = choose(&secret_binding(), &[]) else { panic!("there is none yet") };
        assert_eq!(
            serde_json::to_value(&*new).expect("JSON")["metadata"]["labels"],
            serde_json::json!({ "credentialsbinding.gardener.cloud/status": "force-migrated" })
        );
        assert_eq!(new.metadata.namespace, "garden-dev");
        assert_eq!(new.provider.r#type, "local");
        assert_eq!(new.quotas, secret_binding().quotas);
        assert_eq!(choose(&secret_binding(), &[*new]), Ok(Choice::Existing("force-migrated-mine".to_owned())));
    }

    /// Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go @ v1.149.0.
    #[test]
    fn a_shoot_without_credentials_binding_keeps_its_secret_binding() {
        let mut shoot = Shoot::default();
        "1.33.1".clone_into(&mut shoot.spec.kubernetes.version);
        shoot.spec.secret_binding_name = Some("mine".to_owned());
        let mut profile = CloudProfileSpec::default();
        // The CloudProfile does not offer the Shoot's version any more.
        profile.kubernetes.versions = vec![ExpirableVersion { version: "1.34.0".to_owned(), ..Default::default() }];
        let now = "2025-06-15T12:00:00Z".parse().expect("RFC 3339");
        let plan_of =
            |minor| plan(&shoot, "local", &profile, Moment::new(now, Release(minor))).expect("versions parse");
        assert_eq!(plan_of(126).migrated_secret_binding(&shoot), None);
        for (bound, expected, told) in [
            (
                Ok("own".to_owned()),
                (None, Some("own")),
                ".spec.secretBindingName was migrated to .spec.credentialsBindingName. Reason: SecretBinding is deprecated \
                 and can no longer be used for Shoot clusters using Kubernetes version 1.34+",
            ),
            (
                Err("no such thing".to_owned()),
                (Some("mine"), None),
                "Failed to migrate from secretBindingName to credentialsBindingName: no such thing",
            ),
        ] {
            let mut plan = plan_of(127);
            assert_eq!(plan.migrated_secret_binding(&shoot), Some("mine"));
            plan.bind(&shoot, bound);
            let spec = apply(&shoot, &plan, Restarters::default()).spec;
            assert_eq!((spec.secret_binding_name.as_deref(), spec.credentials_binding_name.as_deref()), expected);
            assert_eq!(plan.operations, [told]);
            assert_eq!(spec.kubernetes.version, "1.34.0");
        }
    }
}
