// SPDX-License-Identifier: Apache-2.0
//! Gardenlets: after a Garden was reconciled, those that follow the operator's version get its chart; a gardenlet whose
//! Seed does not exist yet is deployed for the first time.
//!
//! Unlike upstream: a gardenlet is always deployed into the cluster that is named for its Seed, and the operator
//! watches for the Seed instead of checking every 30 s.
//!
//! Source: pkg/operator/controller/{garden,gardenlet} @ v1.120.0.

use std::sync::Arc;

use api::constants::{annotation, condition, label, namespace};
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::{ConfigMap, Namespace, Secret};
use api::operator::Garden;
use api::seedmanagement::Gardenlet;
use api::terrarium::Cluster;
use apimachinery::meta::Time;
use controller::{
    Action, Api, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Patch, Recorder, Requeue, Store,
};
use domain::conditions;
use domain::events;
use domain::garden::control_plane::{Settings, deployment_lacks};
use domain::garden::gardenlet::{self, version};
use domain::garden::seed_cluster::{self, SeedCluster};
use domain::skew::{Landscape, library};
use process::{Context, watch};

use crate::{GARDEN, RUNTIME};

/// Sets the chart of all Gardenlets with automatic updates to a version.
pub(crate) async fn update(context: &Context, version: &str) -> Result<(), Error> {
    let api = Api::<Gardenlet>::all(context, GARDEN);
    let (gardenlets, _) = api.list(&ListOptions::labelled(&format!("{}=true", label::AUTO_UPDATE_GARDENLET))).await?;
    for old in gardenlets {
        let Some(new) = gardenlet::updated(&old, version) else { continue };
        tracing::info!(gardenlet = old.metadata.name, version, "Updating the chart reference of a Gardenlet");
        api.in_namespace_of(&old).update(&old, &new).await?;
    }
    Ok(())
}

/// Runs the deployer until the component stops. It begins when the Garden is reconciled for the first time: before, the
/// API of Gardenlets and Seeds may not be served.
pub(crate) async fn run(
    context: Context,
    settings: Settings,
    gardens: Store<Garden>,
    mut reconciled: watch::Receiver<bool>,
) {
    if reconciled.wait_for(|reconciled| *reconciled).await.is_err() {
        return;
    }
    let mut controller = Controller::new("gardenlet", &context);
    let api = Api::<Gardenlet>::namespaced(&context, GARDEN, namespace::GARDEN);
    let gardenlets = controller.watch(api, ListOptions::default(), |change| vec![change.key.clone()]);
    let seeds = controller.watch(Api::<Seed>::all(&context, GARDEN), ListOptions::default(), |change| {
        vec![ObjectKey { namespace: namespace::GARDEN.into(), ..change.key.clone() }]
    });
    let recorder = Recorder::named(&context, GARDEN, "gardenlet-controller")
        .with_actions(events::have_actions(&context.identity.version));
    let deployer = Arc::new(Deployer { context, settings, gardens, gardenlets, seeds, recorder });
    controller
        .run(1, move |key| {
            let deployer = deployer.clone();
            async move { deployer.pass(&key).await }
        })
        .await;
}

struct Deployer {
    context: Context,
    settings: Settings,
    gardens: Store<Garden>,
    gardenlets: Store<Gardenlet>,
    seeds: Store<Seed>,
    recorder: Recorder,
}

impl Deployer {
    async fn pass(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(stored) = self.gardenlets.get(key).filter(|stored| !stored.metadata.is_being_deleted()) else {
            return Ok(Requeue::OnChange);
        };
        let has_seed = self.seeds.find("", &key.name).is_some();
        let was_waiting = conditions::get(&stored.status.conditions, condition::SEED_REGISTERED)
            .is_some_and(|condition| condition.status != condition::TRUE);
        let is_due = seed_cluster::is_due(&stored, has_seed);
        if !is_due && !was_waiting {
            return Ok(Requeue::OnChange);
        }
        let deployed = if is_due { self.deploy(&stored).await? } else { Ok(()) };
        let now = Time::from_instant(self.context.clock.now());
        let mut new = Gardenlet::clone(&stored);
        let registered =
            seed_cluster::registered(&stored, deployed.as_ref().map(drop).map_err(|error| &**error), has_seed, now);
        conditions::merge(&mut new.status.conditions, [registered]);
        let api = Api::<Gardenlet>::namespaced(&self.context, GARDEN, namespace::GARDEN);
        let written = api.update_status(&stored, &new).await?;
        if let Err(error) = &deployed {
            let about = ObjectRef::of(&written);
            let (type_, reason) = (EventType::Warning, "ReconcileError");
            self.recorder.publish_action(&about, type_, reason, Action::Reconcile, error).await?;
        } else if has_seed && seed_cluster::is_asked_for(&stored) {
            self.settle(&api, written).await?;
        }
        Ok(Requeue::OnChange)
    }

    /// Deploys gardenlet with its cluster and configuration; the inner error is the Gardenlet's own.
    async fn deploy(&self, gardenlet: &Gardenlet) -> Result<Result<(), String>, Error> {
        let profile = &self.settings.profile;
        let made = version(gardenlet).and_then(|version| Ok((gardenlet::wanted(gardenlet, profile)?, version)));
        let (wanted, version) = match made {
            Ok(made) => made,
            Err(error) => return Ok(Err(error)),
        };
        let gardens = self.gardens.list();
        let kubernetes = gardens.first().map_or("", |garden| &garden.spec.virtual_cluster.kubernetes.version);
        let seeds = self.seeds.list();
        let gardenlets = library::gardenlets(&Landscape::default(), seeds.iter().map(AsRef::as_ref));
        let provider = library::followed(&version, &gardenlets);
        let made = seed_cluster::seed_cluster(&gardenlet.metadata.name, kubernetes, wanted, provider, profile);
        create(&self.context, &made).await?;
        let api = Api::<Deployment>::namespaced(&self.context, &made.cluster.metadata.name, namespace::GARDEN);
        let wanted = &made.deployments[0];
        let stored = api.get(gardenlet::NAME).await?;
        if let Some(patch) = deployment_lacks(&stored, wanted, false) {
            api.patch(gardenlet::NAME, &Patch::Merge(patch)).await?;
        }
        Ok(Ok(()))
    }

    /// Removes the request of a Gardenlet whose Seed is registered.
    async fn settle(&self, api: &Api<Gardenlet>, gardenlet: Gardenlet) -> Result<(), Error> {
        let mut new = gardenlet.clone();
        new.metadata.annotations.remove(annotation::OPERATION);
        if let Some(reference) = new.spec.kubeconfig_secret_ref.take() {
            let secrets = Api::<Secret>::namespaced(&self.context, GARDEN, namespace::GARDEN);
            secrets.delete_if_there(&reference.name).await?;
        }
        api.update(&gardenlet, &new).await.map(drop)
    }
}

/// Creates the missing objects of a Seed's cluster.
async fn create(context: &Context, made: &SeedCluster) -> Result<(), Error> {
    let name = &made.cluster.metadata.name;
    Api::<Cluster>::all(context, RUNTIME).create_unless_there(&made.cluster).await?;
    Api::<Namespace>::all(context, name).create_unless_there(&made.namespace).await?;
    for map in &made.config_maps {
        Api::<ConfigMap>::namespaced(context, name, namespace::GARDEN).create_unless_there(map).await?;
    }
    for deployment in &made.deployments {
        Api::<Deployment>::namespaced(context, name, namespace::GARDEN).create_unless_there(deployment).await?;
    }
    Ok(())
}
