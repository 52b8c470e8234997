// SPDX-License-Identifier: Apache-2.0
//! References between objects (ResourceReferenceManager): credentials that must exist, and objects that exclude each other.
//!
//! Source: plugin/pkg/global/resourcereferencemanager/admission.go @ v1.80.0 to v1.149.0.

use std::sync::Arc;

use api::constants::api_version;
use api::core::*;
use api::kubernetes::core::{ConfigMap, Secret};
use api::security::WorkloadIdentity;
use apimachinery::meta::ObjectMeta;
use apimachinery::{GroupResource, Resource as _};

use super::Refusal;
use crate::release::{Release, Releases};

/// Releases with an earlier text about Secrets of DNS providers.
const EARLIER_TEXT: Releases = Releases::until(107);
/// Releases that resolve the references of DNS providers to credentials; earlier ones resolve names of Secrets.
const DNS_REFERENCES: Releases = Releases::since(135);
/// Releases that resolve the reference of a BackupBucket to credentials; earlier ones resolve its `secretRef`.
const BUCKET_REFERENCE: Releases = Releases::since(120);
/// Releases that compare a binding with the Shoots that use it.
const BINDINGS_FIT_SHOOTS: Releases = Releases::since(119);

/// Releases whose messages name the kind of credentials; in earlier releases credentials are always Secrets.
pub const KINDS_OF_CREDENTIALS: Releases = Releases::since(102);
/// Releases that resolve the references of a Shoot's kube-apiserver.
pub const API_SERVER_REFERENCES: Releases = Releases::since(107);
/// Releases whose messages about `spec.resources` do not name the Shoot: Seeds have this field, too.
pub const RESOURCES_OF_ANY_KIND: Releases = Releases::since(116);

/// Returns the resource of a kind of referenced objects: WorkloadIdentity, InternalSecret, ConfigMap, otherwise Secret.
pub fn resource_of(kind: &str) -> GroupResource {
    let (group, plural) = match kind {
        WorkloadIdentity::KIND => (WorkloadIdentity::GROUP, WorkloadIdentity::PLURAL),
        InternalSecret::KIND => (InternalSecret::GROUP, InternalSecret::PLURAL),
        ConfigMap::KIND => (ConfigMap::GROUP, ConfigMap::PLURAL),
        _ => (Secret::GROUP, Secret::PLURAL),
    };
    GroupResource { group: group.to_owned(), resource: plural.to_owned() }
}

/// Returns the message about a missing Secret, InternalSecret, ConfigMap or WorkloadIdentity.
pub fn not_found(kind: &str, name: &str) -> String {
    format!("{} {name:?} not found", resource_of(kind))
}

/// True if a reference is to a Secret or a WorkloadIdentity.
fn is_to_credentials(version: &str, kind: &str) -> bool {
    matches!((version, kind), ("v1", Secret::KIND) | (api_version::SECURITY, WorkloadIdentity::KIND))
}

/// Checks that the credentials of DNS providers exist if the DNS settings of a Shoot have changed. `exists` is called with the
/// kind and the name of an object in the Shoot's namespace.
///
/// # Errors
/// 403 for the first missing object.
pub fn check_dns_credentials(
    new: &ShootSpec,
    old: &ShootSpec,
    release: Release,
    exists: impl Fn(&str, &str) -> bool,
) -> Result<(), Refusal> {
    if new.dns == old.dns {
        return Ok(());
    }
    for provider in new.dns.iter().flat_map(|dns| &dns.providers) {
        let (kind, name, text) = if DNS_REFERENCES.contain(release) {
            let Some(reference) = &provider.credentials_ref else { continue };
            if !is_to_credentials(&reference.api_version, &reference.kind) {
                continue;
            }
            let text = format!("failed to resolve credentials reference of type {}:", reference.kind);
            (reference.kind.as_str(), &reference.name, text)
        } else {
            let Some(name) = &provider.secret_name else { continue };
            let text = if EARLIER_TEXT.contain(release) {
                "failed to reference DNS provider secret"
            } else {
                "failed to resolve DNS provider secret reference:"
            };
            (Secret::KIND, name, text.to_owned())
        };
        if !exists(kind, name) {
            return Err(Refusal::Forbidden(format!("{text} {}", not_found(kind, name))));
        }
    }
    Ok(())
}

/// Checks that the credentials of a BackupBucket exist. `exists` is called with kind, namespace and name.
///
/// # Errors
/// 403.
pub fn check_bucket_credentials(
    spec: &BackupBucketSpec,
    release: Release,
    exists: impl Fn(&str, &str, &str) -> bool,
) -> Result<(), Refusal> {
    let (kind, namespace, name) = if BUCKET_REFERENCE.contain(release) {
        // Validation requires a reference.
        let Some(reference) = &spec.credentials_ref else { return Ok(()) };
        if !is_to_credentials(&reference.api_version, &reference.kind) {
            let text = "unknown credentials ref: BackupBucket is referencing neither a Secret nor a WorkloadIdentity";
            return Err(Refusal::Forbidden(text.to_owned()));
        }
        (reference.kind.as_str(), &reference.namespace, &reference.name)
    } else {
        (Secret::KIND, &spec.secret_ref.namespace, &spec.secret_ref.name)
    };
    if exists(kind, namespace, name) { Ok(()) } else { Err(Refusal::Forbidden(not_found(kind, name))) }
}

/// Checks that a BackupBucket that is to be deleted has no BackupEntries, which are reported in the given order.
///
/// # Errors
/// 403.
pub fn check_bucket_deletion(name: &str, entries: &[Arc<BackupEntry>]) -> Result<(), Refusal> {
    let names: Vec<String> = entries
        .iter()
        .filter(|entry| entry.spec.bucket_name == name)
        .map(|entry| format!("{}/{}", entry.metadata.namespace, entry.metadata.name))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!(
        "cannot delete BackupBucket because BackupEntries are still referencing it, backupEntryNames: {}",
        names.join(",")
    )))
}

/// Checks that a binding is for the provider of each Shoot that uses it. `kind`: kind of the binding; `types`: its provider
/// types.
///
/// # Errors
/// 403 for the first other Shoot.
pub fn check_binding_provider<'a>(
    kind: &str,
    types: &[&str],
    users: impl IntoIterator<Item = &'a Shoot>,
    release: Release,
) -> Result<(), Refusal> {
    let fits = |shoot: &Shoot| types.contains(&shoot.spec.provider.r#type.as_str());
    match users.into_iter().find(|shoot| !fits(shoot)) {
        Some(shoot) if BINDINGS_FIT_SHOOTS.contain(release) => Err(Refusal::Forbidden(format!(
            "{kind} is referenced by shoot {:?}, but provider types ([{}]) do not match with the shoot provider type {:?}",
            shoot.metadata.name,
            types.join(" "),
            shoot.spec.provider.r#type
        ))),
        _ => Ok(()),
    }
}

/// Returns the refusal of a Gardenlet that has the name of a ManagedSeed, or the other way round: 500 without a reason.
pub fn same_name(kind: &str, meta: &ObjectMeta, other: &str) -> Refusal {
    Refusal::Plain(format!(
        "cannot create {kind} {}/{} since there is already a {other} object with the same name",
        meta.namespace, meta.name
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn typed<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("an object of the type")
    }

    #[track_caller]
    fn check(result: Result<(), Refusal>, expected: &str, row: &str) {
        let expected = if expected.is_empty() { Ok(()) } else { Err(Refusal::Forbidden(expected.to_owned())) };
        assert_eq!(result, expected, "row: {row}");
    }

    /// Credentials of the first and of the second provider (`s:` name of a Secret, `S:` and `W:` references), release, and the
    /// refusal. Objects whose names begin with `a` exist.
    const DNS: &str = r#"
s:x     -     106 => failed to reference DNS provider secret secrets "x" not found
s:x     -     107 => failed to resolve DNS provider secret reference: secrets "x" not found
s:a     s:x   134 => failed to resolve DNS provider secret reference: secrets "x" not found
s:a     s:a   134 =>
S:x     W:x   134 =>
s:x     -     135 =>
S:a     W:a   135 =>
S:x     W:x   135 => failed to resolve credentials reference of type Secret: secrets "x" not found
S:a     W:x   135 => failed to resolve credentials reference of type WorkloadIdentity: workloadidentities.security.gardener.cloud "x" not found
-       S:x   149 => failed to resolve credentials reference of type Secret: secrets "x" not found
O:x     -     149 =>
"#;

    fn dns(first: &str, second: &str) -> ShootSpec {
        let provider = |text: &str| {
            let mut provider = json!({ "type": "local" });
            if let Some((kind, name)) = text.split_once(':') {
                let (version, kind) = match kind {
                    "S" => ("v1", "Secret"),
                    "W" => ("security.gardener.cloud/v1alpha1", "WorkloadIdentity"),
                    other => ("v1", other),
                };
                if kind == "s" {
                    provider["secretName"] = json!(name);
                } else {
                    provider["credentialsRef"] = json!({ "apiVersion": version, "kind": kind, "name": name });
                }
            }
            provider
        };
        typed(json!({ "dns": { "providers": [provider(first), provider(second)] } }))
    }

    #[test]
    fn credentials_of_dns_providers_must_exist_by_release() {
        for row in DNS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let words: Vec<&str> = given.split_whitespace().collect();
            let (spec, release) = (dns(words[0], words[1]), Release(words[2].parse().expect("a minor")));
            let exists = |_: &str, name: &str| name.starts_with('a');
            let result = check_dns_credentials(&spec, &ShootSpec::default(), release, exists);
            check(result, expected.trim(), row);
            check(check_dns_credentials(&spec, &spec, release, exists), "", row);
        }
    }

    #[test]
    fn credentials_of_a_bucket_must_exist_by_release() {
        let reference =
            |name: &str| json!({ "apiVersion": "v1", "kind": "Secret", "namespace": "garden", "name": name });
        let exists = |kind: &str, namespace: &str, name: &str| (kind, namespace, name) == ("Secret", "garden", "a");
        for (secret, reference, release, expected) in [
            ("a", reference("x"), 119, ""),
            ("x", reference("a"), 119, "secrets \"x\" not found"),
            ("a", reference("x"), 120, "secrets \"x\" not found"),
            ("x", reference("a"), 149, ""),
            ("x", Value::Null, 149, ""),
            (
                "",
                json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "name": "a" }),
                149,
                "unknown credentials ref: BackupBucket is referencing neither a Secret nor a WorkloadIdentity",
            ),
        ] {
            let secret = json!({ "namespace": "garden", "name": secret });
            let spec = typed(json!({ "secretRef": secret, "credentialsRef": reference }));
            let row = format!("{secret} {reference} {release}");
            check(check_bucket_credentials(&spec, Release(release), exists), expected, &row);
        }
    }

    #[test]
    fn a_bucket_with_entries_is_not_deleted() {
        let entry = |name: &str, bucket: &str| {
            let meta = json!({ "namespace": "garden-dev", "name": name });
            Arc::new(typed::<BackupEntry>(json!({ "metadata": meta, "spec": { "bucketName": bucket } })))
        };
        let entries = [entry("a", "own"), entry("b", "other"), entry("c", "own")];
        let text = "cannot delete BackupBucket because BackupEntries are still referencing it, backupEntryNames: \
                    garden-dev/a,garden-dev/c";
        check(check_bucket_deletion("own", &entries), text, "own");
        check(check_bucket_deletion("free", &entries), "", "free");
    }

    #[test]
    fn a_binding_has_the_provider_of_its_shoots() {
        let shoot: Shoot = typed(json!({ "metadata": { "name": "s" }, "spec": { "provider": { "type": "local" } } }));
        let text = "SecretBinding is referenced by shoot \"s\", but provider types ([aws gcp]) do not match with the shoot \
                    provider type \"local\"";
        for (types, release, expected) in
            [(["aws", "local"], 119, ""), (["aws", "gcp"], 118, ""), (["aws", "gcp"], 119, text)]
        {
            let result = check_binding_provider("SecretBinding", &types, [&shoot], Release(release));
            check(result, expected, &format!("{types:?} {release}"));
        }
    }

    #[test]
    fn a_gardenlet_and_a_managed_seed_have_different_names() {
        let meta = ObjectMeta { name: "a".to_owned(), namespace: "garden".to_owned(), ..ObjectMeta::default() };
        let text = "cannot create Gardenlet garden/a since there is already a ManagedSeed object with the same name";
        assert_eq!(same_name("Gardenlet", &meta, "ManagedSeed"), Refusal::Plain(text.to_owned()));
    }
}
