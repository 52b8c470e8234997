// SPDX-License-Identifier: Apache-2.0
//! OperatingSystemConfigs of the pools, two each, and the Secrets that node agents read.

use std::collections::BTreeMap;

use api::constants::{annotation, label, role};
use api::core::Worker as Pool;
use api::extensions::{
    CARotation, CRIConfig, CredentialsRotation, File, FileContent, FileContentInline, InPlaceUpdates,
    OperatingSystemConfig, OperatingSystemConfigSpec, ServiceAccountKeyRotation, Unit,
};
use api::kubernetes::core::Secret;
use apimachinery::meta::{ByteString, ObjectMeta};
use domain::rollout::in_place::Configuration;
use domain::worker_pool::hash::{FIRST_FORM, digest};
use domain::worker_pool::kubelet::{self, kubelet_file};
use domain::worker_pool::{self, HashInputs, HashVersion, OscKeys, StoredKeys, UpdateStrategy};

use super::super::configuration::NEW_WORKER_POOL_HASH;
use super::{Botanist, Failure, delete};

/// Purposes of a pool's two configurations, with the suffixes of their names.
const PURPOSES: [(&str, &str); 2] = [("provision", "init"), ("reconcile", "original")];

impl Botanist {
    fn latest_hash_version(&self) -> HashVersion {
        let version = &self.gardenlet.context.identity.version;
        let is_new = self.gardenlet.options.config.gate(NEW_WORKER_POOL_HASH, version);
        if is_new { HashVersion::V2 } else { HashVersion::V1 }
    }

    /// Returns the version of a pool's key that this run uses.
    pub(crate) fn hash_version(&self, pool: &str) -> HashVersion {
        self.run().osc_keys.get(pool).map_or_else(|| self.latest_hash_version(), |keys| keys.current)
    }

    /// Reads the stored key versions, updates those of changed keys, and stores them.
    async fn settle_hash_versions(&self) -> Result<(), Failure> {
        let api = self.gardenlet.seed::<Secret>(&self.technical_id);
        let stored =
            self.gardenlet.known::<Secret>(&self.gardenlet.seed_cluster, &self.technical_id, StoredKeys::SECRET);
        let remembered: Vec<StoredKeys> = stored
            .as_ref()
            .and_then(|secret| secret.data.get(StoredKeys::DATA))
            .and_then(|data| yaml::from_slice(&data.0).ok())
            .unwrap_or_default();
        let release = self.gardenlet.release();
        let mut keys = BTreeMap::new();
        let mut next = Vec::new();
        for pool in &self.shoot.spec.provider.workers {
            let before = remembered.iter().find(|entry| entry.name == pool.name).map(StoredKeys::keys);
            let inputs = HashInputs::of_shoot(&self.shoot, pool);
            let now = OscKeys::next(before.as_ref(), &inputs, self.latest_hash_version(), release);
            if !UpdateStrategy::of(pool.update_strategy.as_deref()).is_in_place() {
                next.push(StoredKeys::new(&pool.name, &now));
            }
            keys.insert(pool.name.clone(), now);
        }
        self.run().osc_keys = keys;
        if !FIRST_FORM.contain(release) {
            // Unlike upstream, where gardenlet deletes the Secrets of all Shoots when it starts.
            if stored.is_some() {
                delete(&api, StoredKeys::SECRET).await?;
            }
            return Ok(());
        }
        let text = yaml::to_string(&next).map_err(|error| Failure::text(error.to_string()))?;
        let secret = Secret {
            metadata: ObjectMeta::named(&self.technical_id, StoredKeys::SECRET),
            data: BTreeMap::from([(StoredKeys::DATA.to_owned(), ByteString(text.into_bytes()))]),
            r#type: "Opaque".to_owned(),
            ..Secret::default()
        };
        match &stored {
            Some(stored) if stored.data == secret.data => {}
            _ => {
                self.apply(&api, &secret).await?;
            }
        }
        Ok(())
    }

    fn configuration_name(&self, pool: &Pool, suffix: &str) -> String {
        HashInputs::of_shoot(&self.shoot, pool).osc_name(
            self.hash_version(&pool.name),
            suffix,
            self.gardenlet.release(),
        )
    }

    /// Returns the names of the configurations that the spec requires.
    pub(crate) fn wanted_operating_system_configs(&self) -> Vec<String> {
        let pools = &self.shoot.spec.provider.workers;
        pools.iter().flat_map(|pool| PURPOSES.map(|(_, suffix)| self.configuration_name(pool, suffix))).collect()
    }

    pub(crate) async fn deploy_operating_system_configs(&self) -> Result<(), Failure> {
        self.settle_hash_versions().await?;
        for pool in &self.shoot.spec.provider.workers {
            for (purpose, suffix) in PURPOSES {
                let wanted = self.configuration(pool, purpose, suffix);
                let store = &self.gardenlet.stores.operating_system_configs;
                self.write_extension(&wanted, store, false, false).await?;
            }
        }
        Ok(())
    }

    fn configuration(&self, pool: &Pool, purpose: &str, suffix: &str) -> OperatingSystemConfig {
        let image = pool.machine.image.clone().unwrap_or_default();
        let kubernetes = worker_pool::kubernetes_version(&self.shoot, pool);
        let mut metadata = ObjectMeta::named(&self.technical_id, &self.configuration_name(pool, suffix));
        metadata.labels.insert(label::WORKER_POOL.to_owned(), pool.name.clone());
        let mut spec = OperatingSystemConfigSpec {
            r#type: image.name,
            provider_config: image.provider_config,
            purpose: purpose.to_owned(),
            cri_config: pool.cri.as_ref().map(|cri| CRIConfig {
                name: cri.name.clone(),
                cgroup_driver: Some("systemd".to_owned()),
                ..CRIConfig::default()
            }),
            ..OperatingSystemConfigSpec::default()
        };
        if purpose == "provision" {
            spec.units.push(Unit {
                name: "gardener-node-init.service".to_owned(),
                command: Some("start".to_owned()),
                enable: Some(true),
                ..Unit::default()
            });
        } else {
            spec.units.push(Unit {
                name: "kubelet.service".to_owned(),
                command: Some("start".to_owned()),
                enable: Some(true),
                file_paths: vec![kubelet::PATH.to_owned(), "/var/lib/kubelet/config/kubelet".to_owned()],
                ..Unit::default()
            });
            spec.files.push(kubelet_file(kubernetes));
            let settings = worker_pool::kubelet_config(&self.shoot, pool);
            let settings = serde_json::to_string(&settings).unwrap_or_default();
            spec.files.push(File {
                path: "/var/lib/kubelet/config/kubelet".to_owned(),
                permissions: Some(0o644),
                content: FileContent {
                    inline: Some(FileContentInline { encoding: String::new(), data: settings }),
                    ..FileContent::default()
                },
                ..File::default()
            });
            if !pool.sysctls.is_empty() {
                let data: Vec<String> = pool.sysctls.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                spec.files.push(File {
                    path: "/etc/sysctl.d/99-k8s-general.conf".to_owned(),
                    permissions: Some(0o644),
                    content: FileContent {
                        inline: Some(FileContentInline { encoding: String::new(), data: data.join("\n") }),
                        ..FileContent::default()
                    },
                    ..File::default()
                });
            }
        }
        if purpose == "reconcile" && UpdateStrategy::of(pool.update_strategy.as_deref()).is_in_place() {
            spec.in_place_updates = Some(self.in_place_updates(pool));
        }
        OperatingSystemConfig { metadata, spec, ..OperatingSystemConfig::default() }
    }

    /// Returns the state to which nodes of a pool are updated in place.
    fn in_place_updates(&self, pool: &Pool) -> InPlaceUpdates {
        let inputs = HashInputs::of_shoot(&self.shoot, pool);
        let (authorities, key) = (inputs.ca_rotation, inputs.service_account_key_rotation);
        InPlaceUpdates {
            operating_system_version: inputs.image_version.clone(),
            kubelet: inputs.kubernetes_version.clone(),
            credentials_rotation: (authorities.is_some() || key.is_some()).then_some(CredentialsRotation {
                certificate_authorities: Some(CARotation { last_initiation_time: authorities }),
                service_account_key: Some(ServiceAccountKeyRotation { last_initiation_time: key }),
            }),
        }
    }

    /// Returns the name of the Secret with the user data of new machines: as the extension reports it, or as it will
    /// name it.
    pub(crate) fn user_data_secret(&self, inputs: &HashInputs, version: HashVersion) -> String {
        let name = inputs.osc_name(version, "init", self.gardenlet.release());
        let key = self.gardenlet.seed_key(&self.technical_id, &name);
        let configuration = self.gardenlet.stores.operating_system_configs.get(&key);
        configuration
            .and_then(|configuration| Some(configuration.status.cloud_config.as_ref()?.secret_ref.name.clone()))
            .unwrap_or_else(|| format!("osc-result-{name}"))
    }

    /// Deploys the configurations that node agents apply: for each pool a Secret in the cluster, with its checksum in
    /// an annotation.
    pub(crate) async fn deploy_node_agent_secrets(&self) -> Result<(), Failure> {
        let api = self.gardenlet.shoot::<Secret>(&self.technical_id, "kube-system");
        let mut names = Vec::new();
        for pool in &self.shoot.spec.provider.workers {
            let inputs = HashInputs::of_shoot(&self.shoot, pool);
            let name = inputs.osc_key(self.hash_version(&pool.name), self.gardenlet.release());
            let configuration = self.configuration(pool, "reconcile", "original");
            let text = yaml::to_string(&configuration.spec).map_err(|error| Failure::text(error.to_string()))?;
            let mut metadata = ObjectMeta::named("kube-system", &name);
            metadata.labels.insert(label::ROLE.to_owned(), role::OPERATING_SYSTEM_CONFIG.to_owned());
            metadata.labels.insert(label::WORKER_POOL.to_owned(), pool.name.clone());
            metadata.annotations.insert(annotation::NODE_AGENT_SECRET_CHECKSUM.to_owned(), digest(&[&text]));
            if UpdateStrategy::of(pool.update_strategy.as_deref()).is_in_place() {
                let wanted = Configuration::wanted(&inputs).to_string();
                metadata.annotations.insert(annotation::IN_PLACE_CONFIGURATION.to_owned(), wanted);
            }
            let secret = Secret {
                metadata,
                data: BTreeMap::from([(kubelet::CONFIGURATION.to_owned(), ByteString(text.into_bytes()))]),
                r#type: "Opaque".to_owned(),
                ..Secret::default()
            };
            self.apply(&api, &secret).await?;
            names.push(name);
        }
        for secret in self.gardenlet.stores.secrets.list_in(&self.technical_id, "kube-system") {
            let is_configuration = secret.metadata.label(label::ROLE) == Some(role::OPERATING_SYSTEM_CONFIG);
            if is_configuration && !names.contains(&secret.metadata.name) {
                delete(&api, &secret.metadata.name).await?;
            }
        }
        Ok(())
    }
}
