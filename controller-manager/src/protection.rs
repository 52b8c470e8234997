// SPDX-License-Identifier: Apache-2.0
//! Kinds with a finalizer that is kept while they are referenced: Quotas, ExposureClasses, ControllerRegistrations,
//! ControllerDeployments and Seeds.
//!
//! Source: pkg/controllermanager/controller/{quota,exposureclass,controllerregistration,controllerdeployment}
//! @ v1.120.0.

use std::sync::Arc;

use api::constants;
use api::core::{ControllerInstallation, ControllerRegistration, ExposureClass, Quota, Seed};
use api::core_v1::ControllerDeployment;
use api::kubernetes::core::ObjectReference;
use apimachinery::Resource;
use controller::{Action, Api, Change, Controller, Error, EventType, ObjectKey, ObjectRef, Recorder, Requeue, Store};
use process::Context;

use crate::recorder;
use crate::stores::{Stores, list_names};
use crate::{Config, GARDEN, finalizer};

/// Name of the controller of Quotas.
pub const QUOTA: &str = "quota";
/// Name of the controller of ExposureClasses.
pub const EXPOSURE_CLASS: &str = "exposureclass";
/// Name of the controller of ControllerRegistrations.
pub const CONTROLLER_REGISTRATION: &str = "controllerregistration-controllerregistration-finalizer";
/// Name of the controller of ControllerDeployments.
pub const CONTROLLER_DEPLOYMENT: &str = "controllerdeployment";
/// Name of the controller that keeps Seeds while extensions are installed there.
pub const SEED: &str = "controllerregistration-seed-finalizer";

/// Reason of Events about objects that cannot be deleted yet.
pub(crate) const RESOURCE_REFERENCED: &str = "ResourceReferenced";

/// Severity and action of Events about most kinds of objects that cannot be deleted yet.
const EVENT: (EventType, Action) = (EventType::Normal, Action::Reconcile);

/// Returns the references that keep an object, as the Event lists them; `None` if there are none.
type ReferenceFinder<K> = Arc<dyn Fn(&K) -> Option<String> + Send + Sync>;

/// A kind with its check for references.
#[derive(Clone)]
pub(crate) struct Protection<K: Resource> {
    api: Api<K>,
    objects: Store<K>,
    finalizer: &'static str,
    kept: ReferenceFinder<K>,
    recorder: Recorder,
    /// Severity and action of the Event about an object that is kept.
    event: (EventType, Action),
}

impl<K: Resource> Protection<K> {
    pub(crate) fn new(
        context: &Context,
        objects: &Store<K>,
        finalizer: &'static str,
        source: &str,
        event: (EventType, Action),
        kept: impl Fn(&K) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            api: Api::all(context, GARDEN),
            objects: objects.clone(),
            finalizer,
            kept: Arc::new(kept),
            recorder: recorder(context, source),
            event,
        }
    }

    /// Adds the finalizer to an object, or removes it from one that is being deleted and no longer referenced.
    ///
    /// Returns the object with its finalizer; `None` if it is being deleted or does not exist.
    pub(crate) async fn pass(&self, key: &ObjectKey) -> Result<Option<K>, Error> {
        let Some(object) = self.objects.get(key) else { return Ok(None) };
        let api = self.api.in_namespace_of(&object);
        if !object.metadata().is_being_deleted() {
            return finalizer::add(&api, &object, self.finalizer).await.map(Some);
        }
        if !object.metadata().has_finalizer(self.finalizer) {
            return Ok(None);
        }
        match (self.kept)(&object) {
            None => finalizer::remove(&api, &object, self.finalizer).await?,
            Some(message) if !message.is_empty() => {
                let about = ObjectRef::of(&*object);
                let (severity, action) = self.event;
                self.recorder.publish_action(&about, severity, RESOURCE_REFERENCED, action, &message).await?;
            }
            Some(_) => {}
        }
        Ok(None)
    }

    /// Runs a controller that only protects objects.
    async fn run(self, controller: Controller, config: Config) {
        controller
            .run(config.concurrent_syncs, move |key| {
                let protection = self.clone();
                async move { protection.pass(&key).await.map(|_| Requeue::OnChange) }
            })
            .await;
    }
}

/// Returns the key of an object that is new, or whose deletion state or finalizers changed.
pub(crate) fn own_key<K: Resource>(change: &Change<K>) -> Vec<ObjectKey> {
    let is_relevant = change.new.is_some()
        && change.differs(|object| (object.metadata().is_being_deleted(), object.metadata().finalizers.clone()));
    if is_relevant { vec![change.key.clone()] } else { Vec::new() }
}

/// Returns the keys that a referring object named before and no longer names: these objects may be unreferenced.
pub(crate) fn released_keys<K>(change: &Change<K>, named: impl Fn(&K) -> Vec<ObjectKey>) -> Vec<ObjectKey> {
    let now = change.new.as_deref().map(&named).unwrap_or_default();
    let mut released = change.old.as_deref().map(&named).unwrap_or_default();
    released.retain(|key| !now.contains(key));
    released
}

/// Returns the key of an object of the garden.
pub(crate) fn garden_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GARDEN, namespace, name)
}

fn references_quota(references: &[ObjectReference], quota: &Quota) -> bool {
    references
        .iter()
        .any(|reference| reference.name == quota.metadata.name && reference.namespace == quota.metadata.namespace)
}

fn quota_keys(references: &[ObjectReference]) -> Vec<ObjectKey> {
    references.iter().map(|reference| garden_key(&reference.namespace, &reference.name)).collect()
}

/// Runs the controller of Quotas.
pub async fn run_quotas(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(QUOTA, &context);
    controller.watch_store(&stores.quotas, own_key);
    controller
        .watch_store(&stores.secret_bindings, |change| released_keys(change, |binding| quota_keys(&binding.quotas)));
    controller.watch_store(&stores.credentials_bindings, |change| {
        released_keys(change, |binding| quota_keys(&binding.quotas))
    });
    let quotas = stores.quotas.clone();
    let kept = move |quota: &Quota| {
        let secret_bindings = stores.secret_bindings.list();
        let by_secret = secret_bindings.iter().filter(|binding| references_quota(&binding.quotas, quota));
        let by_secret: Vec<_> = by_secret.map(|binding| &binding.metadata).collect();
        let credentials_bindings = stores.credentials_bindings.list();
        let by_credentials = credentials_bindings.iter().filter(|binding| references_quota(&binding.quotas, quota));
        let by_credentials: Vec<_> = by_credentials.map(|binding| &binding.metadata).collect();
        let is_kept = !by_secret.is_empty() || !by_credentials.is_empty();
        is_kept.then(|| {
            format!(
                "Cannot delete Quota, because the following resources are still referencing it: SecretBindings - {}, \
                 CredentialsBindings - {}",
                list_names(by_secret),
                list_names(by_credentials)
            )
        })
    };
    Protection::new(&context, &quotas, constants::finalizer::GARDENER, "quota-controller", EVENT, kept)
        .run(controller, config)
        .await;
}

/// Runs the controller of ExposureClasses.
pub async fn run_exposure_classes(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(EXPOSURE_CLASS, &context);
    controller.watch_store(&stores.exposure_classes, own_key);
    controller.watch_store(&stores.shoots, |change| {
        released_keys(change, |shoot| shoot.spec.exposure_class_name.iter().map(|name| garden_key("", name)).collect())
    });
    let classes = stores.exposure_classes.clone();
    let kept = move |class: &ExposureClass| {
        let shoots = stores.shoots.list();
        let users = shoots.iter().filter(|shoot| shoot.spec.exposure_class_name.as_ref() == Some(&class.metadata.name));
        let users: Vec<_> = users.map(|shoot| &shoot.metadata).collect();
        (!users.is_empty()).then(|| {
            format!(
                "Cannot delete ExposureClass, because it is still associated by the following Shoots: {}",
                list_names(users)
            )
        })
    };
    Protection::new(&context, &classes, constants::finalizer::GARDENER, "exposureclass-controller", EVENT, kept)
        .run(controller, config)
        .await;
}

fn registration_of(installation: &ControllerInstallation) -> Vec<ObjectKey> {
    vec![garden_key("", &installation.spec.registration_ref.name)]
}

fn seed_of(installation: &ControllerInstallation) -> Vec<ObjectKey> {
    installation.spec.seed_ref.iter().map(|seed| garden_key("", &seed.name)).collect()
}

/// Runs the controller of ControllerRegistrations: they remain while they are installed on a Seed.
pub async fn run_controller_registrations(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(CONTROLLER_REGISTRATION, &context);
    controller.watch_store(&stores.controller_registrations, own_key);
    controller.watch_store(&stores.controller_installations, |change| released_keys(change, registration_of));
    let registrations = stores.controller_registrations.clone();
    let kept = move |registration: &ControllerRegistration| {
        let installations = stores.controller_installations.list();
        installations
            .iter()
            .any(|installation| installation.spec.registration_ref.name == registration.metadata.name)
            .then(String::new)
    };
    Protection::new(
        &context,
        &registrations,
        constants::finalizer::CONTROLLER_REGISTRATION,
        "controllerregistration-controllerregistration-finalizer-controller",
        EVENT,
        kept,
    )
    .run(controller, config)
    .await;
}

/// Runs the controller that keeps Seeds while extensions are installed there.
pub async fn run_seeds(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(SEED, &context);
    controller.watch_store(&stores.seeds, own_key);
    controller.watch_store(&stores.controller_installations, |change| released_keys(change, seed_of));
    let seeds = stores.seeds.clone();
    let kept = move |seed: &Seed| {
        let installations = stores.controller_installations.list();
        let is_used = |installation: &Arc<ControllerInstallation>| {
            installation.spec.seed_ref.as_ref().is_some_and(|reference| reference.name == seed.metadata.name)
        };
        installations.iter().any(is_used).then(String::new)
    };
    Protection::new(
        &context,
        &seeds,
        constants::finalizer::CONTROLLER_REGISTRATION,
        "controllerregistration-seed-finalizer-controller",
        EVENT,
        kept,
    )
    .run(controller, config)
    .await;
}

fn deployments_of(registration: &ControllerRegistration) -> Vec<ObjectKey> {
    let deployment = registration.spec.deployment.iter();
    deployment
        .flat_map(|deployment| &deployment.deployment_refs)
        .map(|reference| garden_key("", &reference.name))
        .collect()
}

/// Runs the controller of ControllerDeployments: they remain while a ControllerRegistration names them.
pub async fn run_controller_deployments(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(CONTROLLER_DEPLOYMENT, &context);
    controller.watch_store(&stores.controller_deployments, own_key);
    controller.watch_store(&stores.controller_registrations, |change| released_keys(change, deployments_of));
    let deployments = stores.controller_deployments.clone();
    let kept = move |deployment: &ControllerDeployment| {
        let key = garden_key("", &deployment.metadata.name);
        let registrations = stores.controller_registrations.list();
        registrations.iter().any(|registration| deployments_of(registration).contains(&key)).then(String::new)
    };
    Protection::new(
        &context,
        &deployments,
        constants::finalizer::CONTROLLER_DEPLOYMENT,
        "controllerdeployment-controller",
        EVENT,
        kept,
    )
    .run(controller, config)
    .await;
}
