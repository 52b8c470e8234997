// SPDX-License-Identifier: Apache-2.0
//! A run's writes to the Shoot itself: identity, addresses, networks, finished tasks.

use api::constants::annotation;
use api::core::{NetworkingStatus, ShootAdvertisedAddress};
use controller::Patch;
use serde_json::{Value, json};

use super::{Botanist, Failure};

impl Botanist {
    /// Patches the Shoot's status without a precondition: these fields have no other writer.
    pub(crate) async fn patch_status(&self, status: Value) -> Result<(), Failure> {
        let api = self.gardenlet.shoots(&self.shoot.metadata.namespace);
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_subresource(&self.shoot.metadata.name, "status", &patch).await?;
        Ok(())
    }

    pub(crate) async fn ensure_cluster_identity(&self) -> Result<(), Failure> {
        if self.shoot.status.cluster_identity.is_some() {
            return Ok(());
        }
        self.patch_status(json!({ "clusterIdentity": self.cluster_identity() })).await
    }

    /// Returns the identity of the cluster, `<technical ID>-<uid>-<identity of the garden>`.
    pub(crate) fn cluster_identity(&self) -> String {
        let written = self.shoot.status.cluster_identity.clone();
        written.unwrap_or_else(|| format!("{}-{}-{}", self.technical_id, self.shoot.status.uid, self.garden_identity))
    }

    pub(crate) async fn ensure_advertised_addresses(&self) -> Result<(), Failure> {
        let addresses = self.advertised_addresses();
        if self.shoot.status.advertised_addresses == addresses {
            return Ok(());
        }
        self.patch_status(json!({ "advertisedAddresses": addresses })).await
    }

    /// Returns the addresses that apply, in upstream's order.
    fn advertised_addresses(&self) -> Vec<ShootAdvertisedAddress> {
        let of_url = |name: &str, url: String| ShootAdvertisedAddress {
            name: name.to_owned(),
            url,
            ..ShootAdvertisedAddress::default()
        };
        let address = |name: &str, host: String| of_url(name, format!("https://{host}"));
        let mut addresses = Vec::new();
        if let Some(domain) = self.shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_deref()) {
            addresses.push(address("external", format!("api.{domain}")));
        }
        let internal = self.internal_api_host();
        if let Some(host) = &internal {
            addresses.push(address("internal", host.clone()));
        }
        if addresses.is_empty() {
            addresses.push(address("unmanaged", self.load_balancer_address()));
        }
        let issuer = self
            .shoot
            .spec
            .kubernetes
            .kube_api_server
            .as_ref()
            .and_then(|server| server.service_account_config.as_ref())
            .and_then(|config| config.issuer.clone());
        if let Some(url) = issuer {
            addresses.push(of_url("service-account-issuer", url));
        } else if let Some(host) = internal {
            addresses.push(address("service-account-issuer", host));
        }
        addresses
    }

    /// Writes `status.networking`, as the infrastructure reports it, or else from the spec.
    pub(crate) async fn update_networking(
        &self,
        infrastructure: &api::extensions::InfrastructureStatus,
    ) -> Result<(), Failure> {
        let spec = self.shoot.spec.networking.clone().unwrap_or_default();
        let reported = infrastructure.networking.clone().unwrap_or_default();
        let list = |reported: Vec<String>, spec: Option<String>| {
            if reported.is_empty() { spec.into_iter().collect() } else { reported }
        };
        let networking = NetworkingStatus {
            pods: list(reported.pods, spec.pods),
            nodes: list(reported.nodes, infrastructure.nodes_cidr.clone().or(spec.nodes)),
            services: list(reported.services, spec.services),
            egress_cid_rs: infrastructure.egress_cid_rs.clone(),
        };
        if self.shoot.status.networking.as_ref() == Some(&networking) {
            return Ok(());
        }
        self.patch_status(json!({ "networking": networking })).await
    }

    /// Writes the encrypted resources, in the fields of the gardenlet's release.
    pub(crate) async fn update_encrypted_resources(&self) -> Result<(), Failure> {
        match domain::encryption::status_patch(&self.shoot, self.gardenlet.release()) {
            Some(patch) => self.patch_status(patch).await,
            None => Ok(()),
        }
    }

    /// Records that a task of `shoot.gardener.cloud/tasks` is done; [`Botanist::write_finished_tasks`] removes it.
    pub(crate) fn finish_task(&self, task: &'static str) {
        if self.has_task(task) {
            self.run().finished_tasks.push(task);
        }
    }

    /// Removes the finished tasks from `shoot.gardener.cloud/tasks`, those of one instant in one write, unless the
    /// Shoot was changed since the run began.
    pub(crate) async fn write_finished_tasks(&self) -> Result<(), controller::Error> {
        let key = super::super::shared::garden_key(&self.shoot.metadata.namespace, &self.shoot.metadata.name);
        let present = self.gardenlet.stores.shoots.get(&key);
        // Tasks that were added in the meantime remain for the next run.
        let mut annotations = present.as_ref().unwrap_or(&self.shoot).metadata.annotations.clone();
        let count = {
            let run = self.run();
            if run.finished_tasks.len() == run.finished_tasks_written {
                return Ok(());
            }
            domain::annotations::remove_tasks(&mut annotations, &run.finished_tasks);
            run.finished_tasks.len()
        };
        if present.is_none_or(|present| present.metadata.generation == self.shoot.metadata.generation) {
            let value = annotations.remove(annotation::SHOOT_TASKS).map_or(Value::Null, Value::String);
            let patch = Patch::Merge(json!({ "metadata": { "annotations": { annotation::SHOOT_TASKS: value } } }));
            self.gardenlet.shoots(&self.shoot.metadata.namespace).patch(&self.shoot.metadata.name, &patch).await?;
        }
        self.run().finished_tasks_written = count;
        Ok(())
    }
}
