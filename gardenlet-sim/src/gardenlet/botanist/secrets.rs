// SPDX-License-Identifier: Apache-2.0
//! Credentials of the provider, of monitoring and of referenced resources; and backups.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::{annotation, label, operation_state, role};
use api::core::{BackupEntry, BackupEntrySpec, SecretBinding, Shoot, ShootState};
use api::kubernetes::core::{ConfigMap, Secret};
use api::security::CredentialsBinding;
use apimachinery::Resource as _;
use apimachinery::meta::{ByteString, ObjectMeta, OwnerReference};
use controller::Patch;
use domain::last_operation::{OperationType, last_operation};
use serde_json::json;

use super::super::shared::{GARDEN, Local};
use super::{Botanist, Failure, delete};

impl Botanist {
    /// Deploys Secret `cloudprovider`: a copy of the credentials that the Shoot is bound to.
    pub(crate) async fn deploy_cloud_provider_secret(&self) -> Result<(), Failure> {
        let spec = &self.shoot.spec;
        let own = &self.shoot.metadata.namespace;
        let place = if let Some(name) = &spec.secret_binding_name {
            let binding = self.read::<SecretBinding>(own, name).await?;
            binding.map(|binding| (binding.secret_ref.namespace.clone(), binding.secret_ref.name.clone()))
        } else if let Some(name) = &spec.credentials_binding_name {
            let binding = self.read::<CredentialsBinding>(own, name).await?;
            binding
                .filter(|binding| binding.credentials_ref.kind == "Secret")
                .map(|binding| (binding.credentials_ref.namespace.clone(), binding.credentials_ref.name.clone()))
        } else {
            None
        };
        let mut data = BTreeMap::new();
        if let Some((namespace, name)) = place {
            let namespace = if namespace.is_empty() { own } else { &namespace };
            if let Some(secret) = self.read::<Secret>(namespace, &name).await? {
                data.clone_from(&secret.data);
            }
        }
        let mut metadata = ObjectMeta::named(&self.technical_id, "cloudprovider");
        metadata.labels.insert(label::PURPOSE.to_owned(), "cloudprovider".to_owned());
        let secret = Secret { metadata, data, r#type: "Opaque".to_owned(), ..Secret::default() };
        self.apply(&self.gardenlet.seed(&self.technical_id), &secret).await?;
        Ok(())
    }

    pub(super) fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: Shoot::api_version(),
            kind: "Shoot".to_owned(),
            name: self.shoot.metadata.name.clone(),
            uid: self.shoot.metadata.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Deploys the users' objects in the project namespace: the cluster's certificate authorities, the nodes' SSH key
    /// pair, `<shoot>.monitoring`.
    pub(crate) async fn deploy_project_secrets(&self) -> Result<(), Failure> {
        self.deploy_certificate_authorities().await?;
        self.deploy_ssh_key_pair().await?;
        self.deploy_observability_password().await
    }

    async fn deploy_observability_password(&self) -> Result<(), Failure> {
        let namespace = &self.shoot.metadata.namespace;
        let mut metadata = ObjectMeta::named(namespace, &format!("{}.monitoring", self.shoot.metadata.name));
        let label = (label::ROLE.to_owned(), role::MONITORING.to_owned());
        metadata.labels.extend([label, (label::SHOOT_NAME.to_owned(), self.shoot.metadata.name.clone())]);
        metadata.owner_references = vec![self.owner()];
        let key = format!("garden/{namespace}/{}", self.shoot.metadata.name);
        let started = self
            .shoot
            .status
            .credentials
            .as_ref()
            .and_then(|credentials| credentials.rotation.as_ref()?.observability.as_ref()?.last_initiation_time)
            .map_or(0, |time| u64::try_from(time.0.timestamp()).unwrap_or_default());
        let password = self.gardenlet.context.random.suffix(32, "observability-password", &key, started);
        let data = [("username", "admin".to_owned()), ("password", password)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())))
            .collect();
        let secret = Secret { metadata, data, r#type: "Opaque".to_owned(), ..Secret::default() };
        self.apply(&self.gardenlet.garden(namespace), &secret).await?;
        Ok(())
    }

    /// Deploys copies of the Secrets and ConfigMaps that `spec.resources` names, as `ref-<name>`.
    pub(crate) async fn deploy_referenced_resources(&self) -> Result<(), Failure> {
        for resource in &self.shoot.spec.resources {
            let reference = &resource.resource_ref;
            let metadata = ObjectMeta::named(&self.technical_id, &format!("ref-{}", reference.name));
            match reference.kind.as_str() {
                "Secret" => {
                    let source = self.referenced::<Secret>(&reference.name).await?;
                    let (data, r#type) = (source.data.clone(), source.r#type.clone());
                    let copy = Secret { metadata, data, r#type, ..Secret::default() };
                    self.apply(&self.gardenlet.seed(&self.technical_id), &copy).await?;
                }
                "ConfigMap" => {
                    let source = self.referenced::<ConfigMap>(&reference.name).await?;
                    let (data, binary_data) = (source.data.clone(), source.binary_data.clone());
                    let copy = ConfigMap { metadata, data, binary_data, ..ConfigMap::default() };
                    self.apply(&self.gardenlet.seed(&self.technical_id), &copy).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns an object that `spec.resources` names.
    async fn referenced<K: Local>(&self, name: &str) -> Result<Arc<K>, Failure> {
        let namespace = &self.shoot.metadata.namespace;
        match self.read(namespace, name).await? {
            Some(object) => Ok(object),
            // Requests the object, for the server's error that it is missing.
            None => Ok(Arc::new(self.gardenlet.garden::<K>(namespace).get(name).await?)),
        }
    }

    pub(crate) async fn destroy_referenced_resources(&self) -> Result<(), Failure> {
        for resource in &self.shoot.spec.resources {
            let name = format!("ref-{}", resource.resource_ref.name);
            match resource.resource_ref.kind.as_str() {
                "Secret" => delete(&self.gardenlet.seed::<Secret>(&self.technical_id), &name).await?,
                "ConfigMap" => delete(&self.gardenlet.seed::<ConfigMap>(&self.technical_id), &name).await?,
                _ => {}
            }
        }
        Ok(())
    }

    fn backup_entry_name(&self) -> String {
        format!("{}--{}", self.technical_id, self.shoot.status.uid)
    }

    pub(crate) async fn deploy_backup_entry(&self) -> Result<(), Failure> {
        let namespace = &self.shoot.metadata.namespace;
        let api = self.gardenlet.garden::<BackupEntry>(namespace);
        let mut metadata = ObjectMeta::named(namespace, &self.backup_entry_name());
        metadata.owner_references = vec![self.owner()];
        let entry = BackupEntry {
            metadata,
            spec: BackupEntrySpec {
                bucket_name: self.seed.metadata.uid.clone(),
                seed_name: Some(self.seed.metadata.name.clone()),
                ..BackupEntrySpec::default()
            },
            ..BackupEntry::default()
        };
        let stored = self.apply(&api, &entry).await?;
        if !is_reconciled(&stored) {
            let text = "Backup entry has been successfully reconciled.";
            let operation = last_operation(OperationType::Create, operation_state::SUCCEEDED, 100, text, self.started);
            let status = json!({ "status": {
                "lastOperation": operation,
                "observedGeneration": stored.metadata.generation,
                "seedName": self.seed.metadata.name,
            } });
            let api = api.with_store(&self.gardenlet.stores.backup_entries);
            api.patch_subresource(&stored.metadata.name, "status", &Patch::Merge(status)).await?;
        }
        Ok(())
    }

    pub(crate) fn await_backup_entry(&self) -> Result<(), Failure> {
        let (namespace, name) = (&self.shoot.metadata.namespace, self.backup_entry_name());
        let entry = self.gardenlet.known::<BackupEntry>(GARDEN, namespace, &name);
        let is_ready = entry.is_some_and(|entry| is_reconciled(&entry));
        if is_ready { Ok(()) } else { Err(Failure::text("backup entry is not yet reconciled")) }
    }

    pub(crate) async fn destroy_shoot_state(&self) -> Result<(), Failure> {
        let api = self.gardenlet.garden::<ShootState>(&self.shoot.metadata.namespace);
        let name = &self.shoot.metadata.name;
        if api.get_opt(name).await?.is_none() {
            return Ok(());
        }
        let confirm = json!({ "metadata": { "annotations": { annotation::CONFIRMATION_DELETION: "true" } } });
        api.patch(name, &Patch::Merge(confirm)).await?;
        delete(&api, name).await
    }

    /// Deletes gardenlet's objects in the project namespace, when the Shoot is deleted.
    pub(crate) async fn destroy_project_secrets(&self) -> Result<(), Failure> {
        let namespace = &self.shoot.metadata.namespace;
        let name = &self.shoot.metadata.name;
        delete(&self.gardenlet.garden::<Secret>(namespace), &format!("{name}.monitoring")).await?;
        self.destroy_credentials().await?;
        delete(&self.gardenlet.garden::<BackupEntry>(namespace), &self.backup_entry_name()).await
    }
}

fn is_reconciled(entry: &BackupEntry) -> bool {
    entry.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::SUCCEEDED)
}
