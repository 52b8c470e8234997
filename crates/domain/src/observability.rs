// SPDX-License-Identifier: Apache-2.0
//! The credentials of observability that gardener-controller-manager makes for all Seeds.
//!
//! Unlike upstream: the Secret has no key `auth` with a hash of the password, since no ingress needs it.
//!
//! Source: pkg/controllermanager/bootstrappers/bootstrap.go, pkg/utils/secrets/manager @ v1.120.0.

use api::constants::{label, namespace, role};
use api::kubernetes::core::Secret;
use apimachinery::meta::{ByteString, ObjectMeta};
use chrono::{DateTime, Utc};

/// Name of the credentials; that of their Secret begins with it.
pub const NAME: &str = "observability-ingress";
/// Characters of the password.
pub const PASSWORD_LENGTH: usize = 32;

/// FNV-1 of the credentials' configuration (name, format `normal`, user `admin`, length of the password), as upstream's manager
/// of Secrets computes it: <https://github.com/mitchellh/hashstructure>, format 2.
const CHECKSUM_OF_CONFIGURATION: &str = "11858292764484506667";
/// First digits of the SHA-256 of [`CHECKSUM_OF_CONFIGURATION`].
const SUFFIX: &str = "0da36eb1";

const NAME_LABEL: &str = "name";
const MANAGED_BY: (&str, &str) = ("managed-by", "secrets-manager");
const IDENTITY: (&str, &str) = ("manager-identity", "controller-manager");
const ISSUED_AT: &str = "issued-at-time";

/// Changes to the Secrets of namespace `garden`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Desired state of the Secret; `None` if the landscape has credentials of its own.
    pub wanted: Option<Secret>,
    /// Names of Secrets of this manager that are no longer needed.
    pub stale: Vec<String>,
}

/// Decides about the credentials: those of an operator of the landscape remain the only ones, else there is one Secret.
/// A stored Secret keeps its password and the password's creation time.
pub fn decide<'a>(stored: impl Iterator<Item = &'a Secret> + Clone, password: &str, now: DateTime<Utc>) -> Decision {
    let is_ours = |secret: &Secret| {
        [MANAGED_BY, IDENTITY].into_iter().all(|(key, value)| secret.metadata.label(key) == Some(value))
    };
    let is_global = |secret: &&Secret| secret.metadata.label(label::ROLE) == Some(role::GLOBAL_MONITORING);
    let name = format!("{NAME}-{SUFFIX}");
    let is_wanted = stored.clone().filter(is_global).all(is_ours);
    let wanted = is_wanted.then(|| {
        let found = stored.clone().find(|secret| secret.metadata.name == name);
        let mut secret = found.cloned().unwrap_or_else(|| new_secret(&name, password));
        let labels = &mut secret.metadata.labels;
        for (key, value) in [
            (NAME_LABEL, NAME),
            MANAGED_BY,
            IDENTITY,
            ("checksum-of-config", CHECKSUM_OF_CONFIGURATION),
            ("last-rotation-initiation-time", ""),
            (label::ROLE, role::GLOBAL_MONITORING),
        ] {
            labels.insert(key.to_owned(), value.to_owned());
        }
        if !labels.contains_key(ISSUED_AT) {
            labels.insert(ISSUED_AT.to_owned(), now.timestamp().to_string());
        }
        secret
    });
    let needed = wanted.as_ref().map(|secret| secret.metadata.name.as_str());
    let ours = stored.filter(|secret| is_ours(secret)).map(|secret| &secret.metadata.name);
    let stale = ours.filter(|name| Some(name.as_str()) != needed).cloned().collect();
    Decision { wanted, stale }
}

fn new_secret(name: &str, password: &str) -> Secret {
    let data = [("username", "admin"), ("password", password)];
    Secret {
        metadata: ObjectMeta::named(namespace::GARDEN, name),
        immutable: Some(true),
        data: data.map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec()))).into(),
        r#type: "Opaque".to_owned(),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn the_suffix_follows_from_the_checksum() {
        let digest = Sha256::digest(CHECKSUM_OF_CONFIGURATION);
        assert_eq!(format!("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]), SUFFIX);
    }

    #[test]
    fn there_is_one_secret_and_it_keeps_its_password() {
        let made = decide([].iter(), "first", NOW).wanted.expect("a Secret");
        assert_eq!(made.metadata.name, "observability-ingress-0da36eb1");
        assert_eq!(made.metadata.label("gardener.cloud/role"), Some("global-monitoring"));
        assert_eq!(made.metadata.label("issued-at-time"), Some("0"));
        let later = NOW + chrono::TimeDelta::days(1);
        let again = decide([&made].into_iter(), "second", later);
        assert_eq!(again, Decision { wanted: Some(made), stale: Vec::new() });
    }

    #[test]
    fn credentials_of_an_operator_are_the_only_ones() {
        let mut own = Secret { metadata: ObjectMeta::named("garden", "own"), ..Secret::default() };
        let made = decide([&own].into_iter(), "first", NOW).wanted.expect("a Secret without the role does not count");
        own.metadata.labels.insert("gardener.cloud/role".to_owned(), "global-monitoring".to_owned());
        let decision = decide([&own, &made].into_iter(), "second", NOW);
        assert_eq!(decision, Decision { wanted: None, stale: vec![made.metadata.name] });
    }
}
