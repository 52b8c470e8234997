// SPDX-License-Identifier: Apache-2.0
//! Validation of InternalSecret, ShootState, BackupBucket and BackupEntry.

use api::constants::api_version;
use api::core::*;
use api::kubernetes::core::{ObjectReference, SecretReference};
use apimachinery::field::{FieldError, Path};

use super::meta::{self, NameRule, immutable, object_meta, object_meta_update};
use super::{Errors, common};
use crate::release::{Release, Releases};

/// Releases in which a backup may belong to a self-hosted Shoot.
const SHOOT_REFERENCE: Releases = Releases::since(135);

/// Credentials of a backup cannot be a WorkloadIdentity.
const NO_IDENTITY_FOR_BACKUPS: Releases = Releases::until(128);

pub(super) const MAX_SECRET_BYTES: usize = 1024 * 1024;

/// Checks a new InternalSecret.
pub fn internal_secret(secret: &InternalSecret) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &secret.metadata, true, NameRule::Subdomain, &Path::new("metadata"));
    let data = Path::new("data");
    for key in secret.data.keys() {
        meta::invalid_each(&mut errors, &data.key(key), key, meta::config_map_key(key));
    }
    if secret.data.values().map(|value| value.0.len()).sum::<usize>() > MAX_SECRET_BYTES {
        errors.push(FieldError::too_long(&data, MAX_SECRET_BYTES));
    }
    let missing = |key: &&str| !secret.data.contains_key(*key);
    let required: Vec<&str> = match secret.r#type.as_str() {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if secret.metadata.annotation(key).is_none_or(str::is_empty) {
                let path = Path::new("metadata").child("annotations").key(key);
                errors.push(FieldError::required(&path, ""));
            }
            Vec::new()
        }
        "kubernetes.io/dockercfg" => vec![".dockercfg"],
        "kubernetes.io/dockerconfigjson" => vec![".dockerconfigjson"],
        "kubernetes.io/basic-auth" if missing(&"username") && missing(&"password") => vec!["username", "password"],
        "kubernetes.io/ssh-auth" => vec!["ssh-privatekey"],
        "kubernetes.io/tls" => vec!["tls.crt", "tls.key"],
        _ => Vec::new(),
    };
    for key in required.iter().filter(|key| missing(key)) {
        errors.push(FieldError::required(&data.key(key), ""));
    }
    errors
}

/// Checks a changed InternalSecret.
pub fn internal_secret_update(secret: &InternalSecret, old: &InternalSecret) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &secret.metadata, &old.metadata, &Path::new("metadata"));
    immutable(&mut errors, &secret.r#type, &old.r#type, &Path::new("type"));
    if old.immutable == Some(true) {
        let text = "field is immutable when `immutable` is set";
        if secret.immutable != Some(true) {
            errors.push(FieldError::forbidden(&Path::new("immutable"), text));
        }
        if secret.data != old.data {
            errors.push(FieldError::forbidden(&Path::new("data"), text));
        }
    }
    errors.extend(internal_secret(secret));
    errors
}

/// Checks a new ShootState.
pub fn shoot_state(state: &ShootState) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &state.metadata, true, NameRule::Label, &Path::new("metadata"));
    let path = Path::new("spec");
    for (index, data) in state.spec.gardener.iter().enumerate() {
        if data.name.is_empty() {
            let path = path.child("gardener").index(index).child("name");
            let text = "name of data required to generate resources cannot be empty";
            errors.push(FieldError::invalid(&path, &data.name, text));
        }
    }
    for (index, extension) in state.spec.extensions.iter().enumerate() {
        let item = path.child("extensions").index(index);
        if extension.kind.is_empty() {
            let text = "extension resource kind cannot be empty";
            errors.push(FieldError::invalid(&item.child("kind"), &extension.kind, text));
        }
        if extension.purpose.as_deref() == Some("") {
            let text = "extension resource purpose cannot be empty";
            errors.push(FieldError::invalid(&item.child("purpose"), "", text));
        }
        common::resources(&mut errors, &extension.resources, &path.child("resources"));
    }
    for (index, data) in state.spec.resources.iter().enumerate() {
        let path = path.child("resources").index(index);
        common::cross_version_reference(&mut errors, &data.api_version, &data.kind, &data.name, &path);
    }
    errors
}

/// Checks a changed ShootState.
pub fn shoot_state_update(state: &ShootState, old: &ShootState) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &state.metadata, &old.metadata, &Path::new("metadata"));
    errors.extend(shoot_state(state));
    errors
}

/// Checks a new BackupBucket by the rules of a release.
pub fn backup_bucket(bucket: &BackupBucket, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &bucket.metadata, false, NameRule::Label, &Path::new("metadata"));
    let (spec, path) = (&bucket.spec, Path::new("spec"));
    if spec.provider.r#type.is_empty() {
        errors.push(FieldError::invalid(&path.child("provider.type"), "", "type name must not be empty"));
    }
    if spec.provider.region.is_empty() {
        errors.push(FieldError::invalid(&path.child("provider.region"), "", "region must not be empty"));
    }
    if SHOOT_REFERENCE.contain(release) {
        seed_or_shoot(&mut errors, spec.seed_name.as_ref(), spec.shoot_ref.as_ref(), None, &path);
    } else if spec.seed_name.as_deref().is_none_or(str::is_empty) {
        errors.push(FieldError::invalid(&path.child("seedName"), &spec.seed_name, "seed must not be empty"));
    }
    if spec.credentials_ref.is_none() {
        let text = "must be set and refer a Secret or WorkloadIdentity";
        errors.push(FieldError::required(&path.child("credentialsRef"), text));
    }
    let name = "spec.credentialsRef";
    backup_references(&mut errors, &spec.secret_ref, spec.credentials_ref.as_ref(), name, release, &path);
    errors
}

/// Checks that a backup belongs to a Seed or to a self-hosted Shoot; `namespace`: the only one allowed for the Shoot.
fn seed_or_shoot(
    errors: &mut Errors,
    seed: Option<&String>,
    shoot: Option<&ObjectReference>,
    namespace: Option<&str>,
    path: &Path,
) {
    let mut invalid = |text: &str| errors.push(FieldError::invalid(&path.child("seedName"), seed, text));
    match (seed, shoot) {
        (None, None) => invalid("either .spec.seedName or .spec.shootRef must be set"),
        (Some(_), Some(_)) => invalid("not both .spec.seedName and .spec.shootRef can be set at the same time"),
        (Some(name), None) if name.is_empty() => invalid("seed must not be empty"),
        (Some(_), None) => {}
        (None, Some(shoot)) => shoot_reference(errors, shoot, namespace, &path.child("shootRef")),
    }
}

fn shoot_reference(errors: &mut Errors, shoot: &ObjectReference, namespace: Option<&str>, path: &Path) {
    let kind = [("apiVersion", &shoot.api_version, api_version::CORE), ("kind", &shoot.kind, "Shoot")];
    for (field, value, expected) in kind {
        if value != expected {
            errors.push(FieldError::forbidden(&path.child(field), &format!("must be {expected}")));
        }
    }
    for (field, value) in [("name", &shoot.name), ("namespace", &shoot.namespace)] {
        if value.is_empty() {
            errors.push(FieldError::invalid(&path.child(field), value, &format!("{field} must not be empty")));
        }
    }
    if !shoot.namespace.is_empty() && namespace.is_some_and(|namespace| namespace != shoot.namespace) {
        let text = "cannot reference a Shoot from another namespace";
        errors.push(FieldError::forbidden(&path.child("namespace"), text));
    }
}

/// Checks by the rules of a release that the two references of a backup to its credentials agree; `name`: full path of the
/// new one.
pub(super) fn backup_references(
    errors: &mut Errors,
    secret_ref: &SecretReference,
    credentials_ref: Option<&ObjectReference>,
    name: &str,
    release: Release,
    path: &Path,
) {
    let Some(reference) = credentials_ref else { return };
    common::credentials_reference(errors, reference, release, &path.child("credentialsRef"));
    if reference.api_version == "v1" && reference.kind == "Secret" {
        // A release that has both references has set the empty one.
        let is_empty = *secret_ref == SecretReference::default();
        if !is_empty && (secret_ref.namespace != reference.namespace || secret_ref.name != reference.name) {
            let text = format!("must refer to the same secret as `{name}`");
            errors.push(FieldError::forbidden(&path.child("secretRef"), &text));
        }
    } else if *secret_ref != SecretReference::default() {
        let text = format!("must not be set when `{name}` refer to resource other than secret");
        errors.push(FieldError::forbidden(&path.child("secretRef"), &text));
    }
    let is_identity = reference.api_version == api_version::SECURITY && reference.kind == "WorkloadIdentity";
    if is_identity && NO_IDENTITY_FOR_BACKUPS.contain(release) {
        let text = "support for WorkloadIdentity as backup credentials is not yet fully implemented";
        errors.push(FieldError::forbidden(&path.child("credentialsRef"), text));
    }
}

/// Checks a changed BackupBucket by the rules of a release.
pub fn backup_bucket_update(bucket: &BackupBucket, old: &BackupBucket, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &bucket.metadata, &old.metadata, &Path::new("metadata"));
    let path = Path::new("spec");
    immutable(&mut errors, &bucket.spec.provider, &old.spec.provider, &path.child("provider"));
    immutable(&mut errors, &bucket.spec.seed_name, &old.spec.seed_name, &path.child("seedName"));
    errors.extend(backup_bucket(bucket, release));
    errors
}

/// Checks a new BackupEntry by the rules of a release.
pub fn backup_entry(entry: &BackupEntry, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta(&mut errors, &entry.metadata, true, NameRule::Any, &Path::new("metadata"));
    let (spec, path) = (&entry.spec, Path::new("spec"));
    if spec.bucket_name.is_empty() {
        errors.push(FieldError::invalid(&path.child("bucketName"), "", "bucketName must not be empty"));
    }
    if SHOOT_REFERENCE.contain(release) {
        let namespace = Some(entry.metadata.namespace.as_str());
        seed_or_shoot(&mut errors, spec.seed_name.as_ref(), spec.shoot_ref.as_ref(), namespace, &path);
    }
    errors
}

/// Checks a changed BackupEntry by the rules of a release.
pub fn backup_entry_update(entry: &BackupEntry, old: &BackupEntry, release: Release) -> Errors {
    let mut errors = Errors::new();
    object_meta_update(&mut errors, &entry.metadata, &old.metadata, &Path::new("metadata"));
    errors.extend(backup_entry(entry, release));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backup_credentials_may_be_workload_identities_since_1_128() {
        let identity = ObjectReference {
            api_version: api_version::SECURITY.to_owned(),
            kind: "WorkloadIdentity".to_owned(),
            namespace: "garden".to_owned(),
            name: "backup".to_owned(),
            ..ObjectReference::default()
        };
        let found = |minor: u16| {
            let mut errors = Errors::new();
            let none = SecretReference::default();
            backup_references(&mut errors, &none, Some(&identity), "c", Release(minor), &Path::new("spec"));
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let text = "spec.credentialsRef: Forbidden: support for WorkloadIdentity as backup credentials is not yet fully \
                    implemented";
        assert_eq!(found(127), [text]);
        assert_eq!(found(128), [""; 0]);
    }

    #[test]
    fn backups_may_belong_to_a_shoot_since_1_135() {
        let shoot = |namespace: &str| ObjectReference {
            api_version: api_version::CORE.to_owned(),
            kind: "Shoot".to_owned(),
            namespace: namespace.to_owned(),
            name: "own".to_owned(),
            ..ObjectReference::default()
        };
        let secret = || ObjectReference { kind: "Secret".to_owned(), ..shoot("garden") };
        let bucket = |seed: Option<&str>, shoot| {
            let mut bucket = BackupBucket::default();
            bucket.metadata.name = "a".to_owned();
            bucket.spec.provider.r#type = "local".to_owned();
            bucket.spec.provider.region = "local".to_owned();
            bucket.spec.credentials_ref = Some(ObjectReference { api_version: "v1".to_owned(), ..secret() });
            (bucket.spec.seed_name, bucket.spec.shoot_ref) = (seed.map(str::to_owned), shoot);
            bucket
        };
        let entry = |seed: Option<&str>, shoot| {
            let mut entry = BackupEntry::default();
            (entry.metadata.name, entry.metadata.namespace) = ("a".to_owned(), "garden-demo".to_owned());
            entry.spec.bucket_name = "a".to_owned();
            (entry.spec.seed_name, entry.spec.shoot_ref) = (seed.map(str::to_owned), shoot);
            entry
        };
        let neither = "spec.seedName: Invalid value: null: either .spec.seedName or .spec.shootRef must be set";
        let both = "spec.seedName: Invalid value: \"a\": not both .spec.seedName and .spec.shootRef can be set at the same time";
        let empty = "spec.seedName: Invalid value: \"\": seed must not be empty";
        let missing = "spec.seedName: Invalid value: null: seed must not be empty";
        let elsewhere = "spec.shootRef.namespace: Forbidden: cannot reference a Shoot from another namespace";
        let other_kind = "spec.shootRef.kind: Forbidden: must be Shoot";
        let nameless = ObjectReference { namespace: String::new(), ..shoot("x") };
        let no_namespace = "spec.shootRef.namespace: Invalid value: \"\": namespace must not be empty";
        type Row<'a> = (u16, Option<&'a str>, Option<ObjectReference>, Option<&'a str>, Option<&'a str>);
        let rows: [Row<'_>; 12] = [
            (134, Some("a"), None, None, None),
            (134, Some(""), None, Some(empty), None),
            (134, None, None, Some(missing), None),
            (135, Some("a"), None, None, None),
            (135, Some(""), None, Some(empty), Some(empty)),
            (135, None, None, Some(neither), Some(neither)),
            (135, None, Some(shoot("garden-demo")), None, None),
            (149, None, Some(shoot("garden-demo")), None, None),
            (149, None, Some(shoot("garden-x")), None, Some(elsewhere)),
            (149, Some("a"), Some(shoot("garden-demo")), Some(both), Some(both)),
            (
                149,
                None,
                Some(ObjectReference { kind: "Seed".to_owned(), ..shoot("garden-demo") }),
                Some(other_kind),
                Some(other_kind),
            ),
            (149, None, Some(nameless), Some(no_namespace), Some(no_namespace)),
        ];
        for (minor, seed, shoot, of_bucket, of_entry) in rows {
            let release = Release(minor);
            let texts = |errors: Errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
            let expected = |text: Option<&str>| text.map(str::to_owned).into_iter().collect::<Vec<_>>();
            let row = format!("v1.{minor} {seed:?} {shoot:?}");
            assert_eq!(texts(backup_bucket(&bucket(seed, shoot.clone()), release)), expected(of_bucket), "{row}");
            assert_eq!(texts(backup_entry(&entry(seed, shoot), release)), expected(of_entry), "{row}");
        }
    }
}
