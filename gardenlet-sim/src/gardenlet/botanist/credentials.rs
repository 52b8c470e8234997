// SPDX-License-Identifier: Apache-2.0
//! Credentials for a Shoot's cluster and its nodes: certificate authorities and the SSH key pair.
//!
//! | object in the project namespace | holds | read by |
//! | --- | --- | --- |
//! | InternalSecret `NAME.ca-client` | `ca.crt`, `ca.key` | `shoots/adminkubeconfig`, which signs with it |
//! | ConfigMap and Secret `NAME.ca-cluster` | `ca.crt`, the bundle | kubeconfigs |
//! | ConfigMap `NAME.ca-kubelet` | `ca.crt`, the bundle | users |
//! | Secret `NAME.ssh-keypair`, after a rotation `NAME.ssh-keypair.old`, too | `id_rsa`, `id_rsa.pub` | users |
//!
//! The bundle of the client authorities is copied to the Cluster object, by which its API server verifies certificates.
//!
//! Every key is derived from the landscape's seed, the object and the start of its last rotation, and every certificate
//! is valid from that start or from the Shoot's creation: so all can be regenerated, byte for byte, and need no store
//! of their own. During a rotation a bundle holds the new authority before the old one.
//!
//! Unlike upstream: keys are Ed25519 instead of RSA, including those in SSH files named `id_rsa`; authorities that are
//! used only within the control plane (etcd, front proxy, VPN) do not exist.
//!
//! Source: pkg/gardenlet/operation/botanist/secrets.go @ v1.120.0.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::label;
use api::core::{InternalSecret, ShootCredentialsRotation};
use api::kubernetes::core::{ConfigMap, Secret};
use apimachinery::meta::{ByteString, ObjectMeta, Time};
use chrono::TimeDelta;
use process::pki::{Authority, Key, Pair, PkiError, SshKeyPair, Validity};

use super::{Botanist, Failure, delete};

/// Validity of a certificate authority.
const LIFETIME: TimeDelta = TimeDelta::days(3650);
/// Time by which validity begins earlier, since clocks differ.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);
const OPAQUE: &str = "Opaque";

/// Credentials of one Shoot between two rotations.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// Uid of the Shoot, and starts of the rotations of authorities and SSH key pair.
    of: (String, u64, u64),
    client: Pair,
    cluster: String,
    kubelet: String,
    ssh: SshKeyPair,
}

impl Botanist {
    fn rotation(&self) -> Option<&ShootCredentialsRotation> {
        self.shoot.status.credentials.as_ref()?.rotation.as_ref()
    }

    /// Returns the start of the last rotation of the certificate authorities.
    fn rotated(&self) -> Option<Time> {
        self.rotation()?.certificate_authorities.as_ref()?.last_initiation_time
    }

    /// True if the last rotation has reached the phase in which the old authority is no longer trusted.
    fn old_is_dropped(&self) -> bool {
        let phase = self.rotation().and_then(|rotation| Some(&rotation.certificate_authorities.as_ref()?.phase));
        phase.is_some_and(|phase| phase.starts_with("Complet"))
    }

    /// Returns the start of the last rotation of the SSH key pair.
    fn ssh_rotated(&self) -> Option<Time> {
        self.rotation()?.ssh_keypair.as_ref()?.last_initiation_time
    }

    /// Returns the credentials; generated once per process, as signing takes more time than all other tasks.
    fn credentials(&self) -> Result<Arc<Credentials>, Failure> {
        let rotated = self.rotated();
        let of = (self.shoot.metadata.uid.clone(), ordinal(rotated), ordinal(self.ssh_rotated()));
        if let Some(known) = self.gardenlet.credentials.get(&self.technical_id).filter(|known| known.of == of) {
            return Ok(known);
        }
        let since = rotated.map_or(self.shoot.metadata.creation_timestamp, |time| time).0;
        let validity = Validity { not_before: since - CLOCK_SKEW, not_after: since + LIFETIME };
        let random = &self.gardenlet.context.random;
        let object = format!("garden/{}/{}/{}", self.shoot.metadata.namespace, self.shoot.metadata.name, of.0);
        let ca_ordinal = of.1;
        let make = |name: &str| {
            let key = Key::landscape(random, name, &object, ca_ordinal);
            let common_name = if ca_ordinal == 0 { name.to_owned() } else { format!("{name}-{ca_ordinal:x}") };
            Ok::<_, PkiError>(Authority::new(&common_name, key, validity)?.pair().clone())
        };
        let ssh = SshKeyPair::landscape(random, "ssh-keypair", &object, of.2);
        let made = || {
            let (client, cluster, kubelet) = (make("ca-client")?, make("ca")?, make("ca-kubelet")?);
            Ok::<_, PkiError>(Credentials {
                of: of.clone(),
                client,
                cluster: cluster.certificate,
                kubelet: kubelet.certificate,
                ssh,
            })
        };
        let made = made().map_err(|error| Failure::text(error.to_string()))?;
        Ok(self.gardenlet.credentials.insert(&self.technical_id, made))
    }

    pub(super) async fn deploy_certificate_authorities(&self) -> Result<(), Failure> {
        let credentials = self.credentials()?;
        let namespace = &self.shoot.metadata.namespace;
        let maps = self.gardenlet.garden::<ConfigMap>(namespace);
        let mut bundles = [("ca-cluster", &credentials.cluster), ("ca-kubelet", &credentials.kubelet)]
            .map(|(suffix, certificate)| (suffix, certificate.clone()));
        if self.facts.workerless {
            bundles[1].1.clear();
        }
        for (suffix, certificate) in &mut bundles {
            if certificate.is_empty() {
                continue;
            }
            if self.rotated().is_some() {
                let stored = self.read::<ConfigMap>(namespace, &self.project_name(suffix)).await?;
                let stored = stored.and_then(|map| map.data.get("ca.crt").cloned()).unwrap_or_default();
                *certificate = bundle(&stored, certificate, self.old_is_dropped());
            }
            let mut metadata = self.project_metadata(suffix);
            let labels = [
                (label::SHOOT_NAME, self.shoot.metadata.name.as_str()),
                (label::SHOOT_UID, self.shoot.metadata.uid.as_str()),
                (label::UPDATE_RESTRICTION, "true"),
            ];
            metadata.labels.extend(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
            if *suffix == "ca-cluster" {
                metadata.labels.insert(label::DISCOVERY_PUBLIC.to_owned(), "shoot-ca".to_owned());
            }
            let data = [("ca.crt".to_owned(), certificate.clone())].into();
            self.apply(&maps, &ConfigMap { metadata, data, ..ConfigMap::default() }).await?;
        }
        let [(suffix, cluster), _] = &bundles;
        let metadata = self.project_metadata(suffix);
        let secret = Secret { metadata, data: data([("ca.crt", cluster)]), r#type: OPAQUE.into(), ..Secret::default() };
        self.apply(&self.gardenlet.garden(namespace), &secret).await?;

        let secret = InternalSecret {
            metadata: self.project_metadata("ca-client"),
            data: data([("ca.crt", &credentials.client.certificate), ("ca.key", &credentials.client.key)]),
            r#type: OPAQUE.into(),
            ..InternalSecret::default()
        };
        self.apply(&self.gardenlet.garden(namespace), &secret).await?;
        Ok(())
    }

    /// Returns the client authorities, given the bundle that the API server has now.
    pub(super) fn client_bundle(&self, stored: &str) -> Result<String, Failure> {
        let credentials = self.credentials()?;
        if self.rotated().is_none() {
            return Ok(credentials.client.certificate.clone());
        }
        Ok(bundle(stored, &credentials.client.certificate, self.old_is_dropped()))
    }

    pub(super) async fn deploy_ssh_key_pair(&self) -> Result<(), Failure> {
        let api = self.gardenlet.garden::<Secret>(&self.shoot.metadata.namespace);
        let settings = self.shoot.spec.provider.workers_settings.as_ref();
        let is_off = settings.and_then(|settings| settings.ssh_access.as_ref()).is_some_and(|access| !access.enabled);
        if self.facts.workerless || is_off {
            for suffix in ["ssh-keypair", "ssh-keypair.old"] {
                delete(&api, &self.project_name(suffix)).await?;
            }
            return Ok(());
        }
        let credentials = self.credentials()?;
        let data = data([("id_rsa", &credentials.ssh.private), ("id_rsa.pub", &credentials.ssh.public)]);
        if self.ssh_rotated().is_some() {
            let stored = self.read::<Secret>(&self.shoot.metadata.namespace, &self.project_name("ssh-keypair")).await?;
            if let Some(stored) = stored.filter(|stored| stored.data != data) {
                self.write_ssh_key_pair("ssh-keypair.old", stored.data.clone()).await?;
            }
        }
        self.write_ssh_key_pair("ssh-keypair", data).await
    }

    async fn write_ssh_key_pair(&self, suffix: &str, data: BTreeMap<String, ByteString>) -> Result<(), Failure> {
        let metadata = self.project_metadata(suffix);
        let secret = Secret { metadata, data, r#type: OPAQUE.into(), ..Secret::default() };
        self.apply(&self.gardenlet.garden(&self.shoot.metadata.namespace), &secret).await?;
        Ok(())
    }

    /// Deletes the credentials, when the Shoot is deleted.
    pub(super) async fn destroy_credentials(&self) -> Result<(), Failure> {
        self.gardenlet.credentials.forget(&self.technical_id);
        let namespace = &self.shoot.metadata.namespace;
        for suffix in ["ca-cluster", "ssh-keypair", "ssh-keypair.old"] {
            delete(&self.gardenlet.garden::<Secret>(namespace), &self.project_name(suffix)).await?;
        }
        for suffix in ["ca-cluster", "ca-kubelet"] {
            delete(&self.gardenlet.garden::<ConfigMap>(namespace), &self.project_name(suffix)).await?;
        }
        delete(&self.gardenlet.garden::<InternalSecret>(namespace), &self.project_name("ca-client")).await
    }

    /// Returns a name in the project namespace.
    fn project_name(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.shoot.metadata.name)
    }

    fn project_metadata(&self, suffix: &str) -> ObjectMeta {
        let mut metadata = ObjectMeta::named(&self.shoot.metadata.namespace, &self.project_name(suffix));
        let role = suffix.trim_end_matches(".old").to_owned();
        metadata.labels.insert(label::ROLE.to_owned(), role);
        metadata.owner_references = vec![self.owner()];
        metadata
    }
}

/// Returns a number that distinguishes keys before and after a rotation.
fn ordinal(rotated: Option<Time>) -> u64 {
    rotated.map_or(0, |time| u64::try_from(time.0.timestamp()).unwrap_or_default())
}

fn data<const N: usize>(entries: [(&str, &String); N]) -> BTreeMap<String, ByteString> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), ByteString(value.as_bytes().to_vec()))).collect()
}

/// Returns the bundle after a rotation: the new authority, and until the rotation is completed the previous one.
fn bundle(stored: &str, new: &str, drop_old: bool) -> String {
    const END: &str = "-----END CERTIFICATE-----\n";
    if drop_old {
        return new.to_owned();
    }
    if stored.starts_with(new) {
        return stored.to_owned();
    }
    let old = stored.find(END).map_or("", |end| &stored[..end + END.len()]);
    format!("{new}{old}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns: stored bundle, new authority, whether the old one is dropped, expected bundle.
    #[test]
    fn a_bundle_holds_two_authorities_while_they_are_rotated() {
        let pem = |letters: &str| -> String {
            let one = |letter| format!("-----BEGIN CERTIFICATE-----\n{letter}\n-----END CERTIFICATE-----\n");
            letters.chars().map(one).collect()
        };
        for (stored, new, drop_old, expected) in [
            ("", "b", false, "b"),
            ("a", "b", false, "ba"),
            ("ba", "b", false, "ba"),
            ("ba", "b", true, "b"),
            ("b", "b", true, "b"),
            ("b", "b", false, "b"),
            ("ba", "c", false, "cb"),
        ] {
            assert_eq!(bundle(&pem(stored), &pem(new), drop_old), pem(expected), "{stored} {new} {drop_old}");
        }
    }
}
