// SPDX-License-Identifier: Apache-2.0
//! Quotas of the bindings that Shoots use.

use std::sync::Arc;

use api::core::{Quota, SecretBinding, Shoot};
use api::kubernetes::core::ObjectReference;
use api::security::CredentialsBinding;
use apimachinery::Resource;
use chrono::{DateTime, Utc};
use domain::admission::Refusal;
use domain::admission::quota::{Scope, Usage, check, check_lifetime, counts, scope};
use generic_apiserver::{Attributes, Plugin, Reads};

use super::{CloudProfileOf, Verdict, refused, stored, writes};

/// Checks that Shoots stay within the quotas of their bindings.
pub(super) struct ShootQuotaValidator;

impl Plugin for ShootQuotaValidator {
    fn name(&self) -> &'static str {
        "ShootQuotaValidator"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<Shoot>(attributes, &[""]) {
            return Ok(());
        }
        let old = stored::<Shoot>(attributes);
        let now = attributes.request.now;
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        if shoot.metadata.is_being_deleted() {
            return Ok(());
        }
        judge(shoot, old, now, reads).map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}

fn judge(shoot: &Shoot, old: Option<&Shoot>, now: DateTime<Utc>, reads: &mut Reads<'_>) -> Result<(), Refusal> {
    let mut quotas = Vec::new();
    for reference in references(shoot, reads)? {
        let missing = || Refusal::Internal(format!("quota.core.gardener.cloud {:?} not found", reference.name));
        quotas.push(reads.get::<Quota>(&reference.namespace, &reference.name).ok_or_else(missing)?);
    }
    if counts(shoot, old) {
        for quota in &quotas {
            let others = sharing(quota, shoot, reads)?;
            let mut needed = Usage::default();
            for shoot in others.iter().map(|other| &**other).chain([shoot]) {
                let profile = CloudProfileOf::find(shoot, false, reads)
                    .map_err(|why| Refusal::Internal(format!("could not find referenced cloud profile: {why}")))?;
                needed = needed.plus(Usage::of(&shoot.spec, profile.spec())?);
            }
            check(quota, &needed)?;
        }
    }
    check_lifetime(shoot, old, quotas.iter().map(|quota| &**quota), now)
}

/// Returns the quotas that a Shoot's binding names.
fn references(shoot: &Shoot, reads: &Reads<'_>) -> Result<Vec<ObjectReference>, Refusal> {
    let namespace = &shoot.metadata.namespace;
    let missing = |what: &str, name: &str| Refusal::Internal(format!("{what} {name:?} not found"));
    if let Some(name) = &shoot.spec.secret_binding_name {
        let binding = reads.get::<SecretBinding>(namespace, name);
        let binding = binding.ok_or_else(|| missing("secretbinding.core.gardener.cloud", name))?;
        return Ok(binding.quotas.clone());
    }
    if let Some(name) = &shoot.spec.credentials_binding_name {
        let binding = reads.get::<CredentialsBinding>(namespace, name);
        let binding = binding.ok_or_else(|| missing("credentialsbinding.security.gardener.cloud", name))?;
        return Ok(binding.quotas.clone());
    }
    Ok(Vec::new())
}

/// Returns the other Shoots that count against a quota.
fn sharing(quota: &Quota, shoot: &Shoot, reads: &mut Reads<'_>) -> Result<Vec<Arc<Shoot>>, Refusal> {
    let namespace = match scope(quota)? {
        Scope::Project => Some(&*shoot.metadata.namespace),
        Scope::Credentials => None,
    };
    let names = |quotas: &[ObjectReference]| {
        quotas.iter().any(|one| one.name == quota.metadata.name && one.namespace == quota.metadata.namespace)
    };
    let secret_bindings = bindings::<SecretBinding>(namespace, reads, |binding| names(&binding.quotas));
    let credentials_bindings = bindings::<CredentialsBinding>(namespace, reads, |binding| names(&binding.quotas));
    // Two concurrent Shoots must not both take the rest of the quota.
    let mut shoots = reads.list_decisive::<Shoot>();
    shoots.retain(|other| {
        let meta = &other.metadata;
        let uses = |bindings: &[(String, String)], name: Option<&String>| {
            name.is_some_and(|name| bindings.iter().any(|(space, one)| *space == meta.namespace && one == name))
        };
        (meta.name != shoot.metadata.name || meta.namespace != shoot.metadata.namespace)
            && (uses(&secret_bindings, other.spec.secret_binding_name.as_ref())
                || uses(&credentials_bindings, other.spec.credentials_binding_name.as_ref()))
    });
    Ok(shoots)
}

fn bindings<K: Resource>(
    namespace: Option<&str>,
    reads: &Reads<'_>,
    names: impl Fn(&K) -> bool,
) -> Vec<(String, String)> {
    let found = reads.list::<K>(namespace);
    let found = found.iter().filter(|binding| names(binding)).map(|binding| binding.metadata());
    found.map(|meta| (meta.namespace.clone(), meta.name.clone())).collect()
}
