// SPDX-License-Identifier: Apache-2.0
//! The oldest gardenlet of the landscape, whose version provider-local follows on every Seed (rule E1).
//!
//! The registry of instances lists the running gardenlets; a Seed without one counts with the version that reconciled
//! it last.

use api::constants::{annotation, label, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::coordination::Lease;
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Patch, Reflector, Store};
use domain::garden::gardenlet::{self as rules, NAME};
use domain::skew::{lease, library};
use serde_json::json;

use super::shared::{GARDEN, Gardenlet};
use crate::provider_local;

/// Registered gardenlets.
#[derive(Clone, Debug)]
pub(crate) struct Oldest {
    leases: Store<Lease>,
}

impl Oldest {
    /// Reads the registry and watches it.
    pub(crate) fn new(gardenlet: &Gardenlet) -> Self {
        let api = Api::<Lease>::namespaced(&gardenlet.context, GARDEN, namespace::INSTANCES);
        let gardenlets = ListOptions::labelled(&format!("{}={NAME}", label::COMPONENT));
        Self { leases: Reflector::new(api, gardenlets).start() }
    }

    /// Enqueues objects when a gardenlet is registered, is removed, or changes its version.
    pub(crate) fn watch(&self, controller: &mut Controller, keys: impl Fn() -> Vec<ObjectKey> + Send + Sync + 'static) {
        controller.watch_store(&self.leases, move |change| {
            let is_news =
                change.differs(|lease| lease.metadata.annotation(annotation::COMPONENT_VERSION).map(str::to_owned));
            if is_news { keys() } else { Vec::new() }
        });
    }

    /// Returns the version of provider-local: that of the oldest gardenlet.
    pub(crate) async fn version(&self, gardenlet: &Gardenlet) -> Result<String, Error> {
        self.leases.synced().await;
        let leases = self.leases.list();
        let running = lease::landscape(leases.iter().map(|lease| &lease.metadata), "");
        let (seeds, _) = gardenlet.garden::<Seed>("").list(&ListOptions::default()).await?;
        let gardenlets = library::gardenlets(&running, &seeds);
        Ok(library::followed(&gardenlet.identity.version, &gardenlets).to_owned())
    }

    /// Sets the version of provider-local in a Seed's cluster unless it has a version of its own.
    pub(crate) async fn follow(&self, gardenlet: &Gardenlet, cluster: &str) -> Result<(), Error> {
        let deployments = Api::<Deployment>::namespaced(&gardenlet.context, cluster, namespace::GARDEN);
        let Some(held) = deployments.get_opt(provider_local::DEPLOYMENT).await? else { return Ok(()) };
        let Some(image) = rules::followed(&held, &self.version(gardenlet).await?) else { return Ok(()) };
        let mut containers = held.spec.template.spec.containers.clone();
        if let Some(container) = containers.first_mut() {
            container.image = image;
        }
        let patch = Patch::Merge(json!({ "spec": { "template": { "spec": { "containers": containers } } } }));
        deployments.patch(provider_local::DEPLOYMENT, &patch).await.map(drop)
    }
}
