// SPDX-License-Identifier: Apache-2.0
//! SecretBindings and CredentialsBindings: they remain while Shoots use them, and so do the credentials and the Quotas
//! that they name.
//!
//! Source: pkg/controllermanager/controller/{secretbinding,credentialsbinding} @ v1.120.0.

use std::sync::Arc;

use api::constants::{finalizer, label};
use api::core::{Quota, SecretBinding, Shoot};
use api::kubernetes::core::{ObjectReference, Secret};
use api::security::{CredentialsBinding, WorkloadIdentity};
use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use controller::{Action, Api, Controller, Error, EventType, ObjectKey, Requeue, Store};
use process::Context;

use crate::protection::{Protection, garden_key, own_key, released_keys};
use crate::stores::{Stores, list_names};
use crate::{Config, GARDEN};

/// Name of the controller of SecretBindings.
pub const SECRET_BINDING: &str = "secretbinding";
/// Name of the controller of CredentialsBindings.
pub const CREDENTIALS_BINDING: &str = "credentialsbinding";

/// Fields that both kinds of bindings have.
#[derive(Clone, Debug)]
struct Binding {
    metadata: ObjectMeta,
    label: &'static str,
    other_label: &'static str,
    credentials: Credentials,
    provider_types: Vec<String>,
    quotas: Vec<ObjectKey>,
}

/// The credentials that a binding names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Credentials {
    Secret(ObjectKey),
    WorkloadIdentity(ObjectKey),
}

fn keys(references: &[ObjectReference]) -> Vec<ObjectKey> {
    references.iter().map(|reference| garden_key(&reference.namespace, &reference.name)).collect()
}

impl From<&SecretBinding> for Binding {
    fn from(binding: &SecretBinding) -> Self {
        let types = binding.provider.as_ref().map(|provider| provider.r#type.as_str()).unwrap_or_default();
        Self {
            metadata: binding.metadata.clone(),
            label: label::REFERENCE_SECRET_BINDING,
            other_label: label::REFERENCE_CREDENTIALS_BINDING,
            credentials: Credentials::Secret(garden_key(&binding.secret_ref.namespace, &binding.secret_ref.name)),
            provider_types: types.split(',').filter(|type_| !type_.is_empty()).map(str::to_owned).collect(),
            quotas: keys(&binding.quotas),
        }
    }
}

impl From<&CredentialsBinding> for Binding {
    fn from(binding: &CredentialsBinding) -> Self {
        let reference = &binding.credentials_ref;
        let key = garden_key(&reference.namespace, &reference.name);
        let is_identity = reference.kind == WorkloadIdentity::KIND;
        Self {
            metadata: binding.metadata.clone(),
            label: label::REFERENCE_CREDENTIALS_BINDING,
            other_label: label::REFERENCE_SECRET_BINDING,
            credentials: if is_identity { Credentials::WorkloadIdentity(key) } else { Credentials::Secret(key) },
            provider_types: vec![binding.provider.r#type.clone()],
            quotas: keys(&binding.quotas),
        }
    }
}

/// A kind of binding.
trait Bind: Resource {
    const CONTROLLER: &'static str;
    const SOURCE: &'static str;
    /// Action of Events about a binding that cannot be deleted yet.
    const EVENT_ACTION: Action;

    fn binding(&self) -> Binding;
    fn store(stores: &Stores) -> &Store<Self>;
    /// Returns the name of the binding that a Shoot uses.
    fn used_by(shoot: &Shoot) -> Option<&String>;
}

impl Bind for SecretBinding {
    const CONTROLLER: &'static str = SECRET_BINDING;
    const SOURCE: &'static str = "secretbinding-controller";
    const EVENT_ACTION: Action = Action::Reconcile;

    fn binding(&self) -> Binding {
        self.into()
    }

    fn store(stores: &Stores) -> &Store<Self> {
        &stores.secret_bindings
    }

    fn used_by(shoot: &Shoot) -> Option<&String> {
        shoot.spec.secret_binding_name.as_ref()
    }
}

impl Bind for CredentialsBinding {
    const CONTROLLER: &'static str = CREDENTIALS_BINDING;
    const SOURCE: &'static str = "credentialsbinding-controller";
    const EVENT_ACTION: Action = Action::Delete;

    fn binding(&self) -> Binding {
        self.into()
    }

    fn store(stores: &Stores) -> &Store<Self> {
        &stores.credentials_bindings
    }

    fn used_by(shoot: &Shoot) -> Option<&String> {
        shoot.spec.credentials_binding_name.as_ref()
    }
}

/// Runs the controller of SecretBindings.
pub async fn run_secret_bindings(context: Context, stores: Stores, config: Config) {
    run::<SecretBinding>(context, stores, config).await;
}

/// Runs the controller of CredentialsBindings.
pub async fn run_credentials_bindings(context: Context, stores: Stores, config: Config) {
    run::<CredentialsBinding>(context, stores, config).await;
}

fn used<B: Bind>(shoot: &Shoot) -> Vec<ObjectKey> {
    B::used_by(shoot).map(|name| garden_key(&shoot.metadata.namespace, name)).into_iter().collect()
}

async fn run<B: Bind>(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(B::CONTROLLER, &context);
    controller.watch_store(B::store(&stores), own_key);
    controller.watch_store(&stores.shoots, |change| released_keys(change, used::<B>));
    let bindings = B::store(&stores).clone();
    controller.watch_store(&stores.secrets, move |change| {
        // A binding may wait for its Secret.
        if change.old.is_some() || change.new.is_none() {
            return Vec::new();
        }
        let bindings = bindings.list();
        let waiting =
            bindings.iter().filter(|binding| binding.binding().credentials == Credentials::Secret(change.key.clone()));
        waiting.map(|binding| garden_key(&binding.metadata().namespace, &binding.metadata().name)).collect()
    });
    let worker = Worker::new(&context, &stores);
    let shoots = stores.shoots.clone();
    let kept = move |binding: &B| users::<B>(&shoots.list(), binding.metadata());
    let protection = Protection::new(
        &context,
        B::store(&stores),
        finalizer::GARDENER,
        B::SOURCE,
        (EventType::Warning, B::EVENT_ACTION),
        kept,
    );
    controller
        .run(config.concurrent_syncs, move |key| {
            let (protection, worker) = (protection.clone(), worker.clone());
            async move {
                if let Some(leaving) = B::store(&worker.stores).get(&key)
                    && leaving.metadata().is_being_deleted()
                    && leaving.metadata().has_finalizer(finalizer::GARDENER)
                    && users::<B>(&worker.stores.shoots.list(), leaving.metadata()).is_none()
                {
                    worker.release(&leaving.binding()).await?;
                }
                if let Some(binding) = protection.pass(&key).await? {
                    worker.mark(&binding.binding()).await?;
                }
                Ok(Requeue::OnChange)
            }
        })
        .await;
}

/// Returns the Shoots that use a binding, as the Event lists them; `None` if there are none.
fn users<B: Bind>(shoots: &[Arc<Shoot>], binding: &ObjectMeta) -> Option<String> {
    let key = garden_key(&binding.namespace, &binding.name);
    let users = shoots.iter().filter(|shoot| used::<B>(shoot).contains(&key));
    let users: Vec<_> = users.map(|shoot| &shoot.metadata).collect();
    (!users.is_empty()).then(|| {
        let (kind, users) = (B::KIND, list_names(users));
        format!("Cannot delete {kind}, because the following Shoots are still referencing it: {users}")
    })
}

/// Sets and removes finalizers and labels on the objects that bindings name.
#[derive(Clone)]
struct Worker {
    stores: Stores,
    secrets: Api<Secret>,
    identities: Api<WorkloadIdentity>,
    quotas: Api<Quota>,
}

impl Worker {
    fn new(context: &Context, stores: &Stores) -> Self {
        Self {
            stores: stores.clone(),
            secrets: Api::all(context, GARDEN),
            identities: Api::all(context, GARDEN),
            quotas: Api::all(context, GARDEN),
        }
    }

    /// Adds the finalizer to the credentials, and labels to them and the Quotas.
    async fn mark(&self, binding: &Binding) -> Result<(), Error> {
        let marks = |metadata: &mut ObjectMeta| {
            if !metadata.has_finalizer(finalizer::EXTERNAL_GARDENER) {
                metadata.finalizers.push(finalizer::EXTERNAL_GARDENER.to_owned());
            }
            for type_ in &binding.provider_types {
                metadata.labels.insert(format!("{}{type_}", label::SHOOT_PROVIDER_PREFIX), "true".to_owned());
            }
            metadata.labels.insert(binding.label.to_owned(), "true".to_owned());
        };
        match &binding.credentials {
            Credentials::Secret(key) => change(&self.secrets, key, marks).await?,
            Credentials::WorkloadIdentity(key) => change(&self.identities, key, marks).await?,
        }
        for key in &binding.quotas {
            let label = |metadata: &mut ObjectMeta| {
                metadata.labels.insert(binding.label.to_owned(), "true".to_owned());
            };
            change(&self.quotas, key, label).await?;
        }
        Ok(())
    }

    /// Removes finalizers and labels that no other binding needs.
    async fn release(&self, binding: &Binding) -> Result<(), Error> {
        let others = self.others(binding);
        if !others.iter().any(|other| other.credentials == binding.credentials) {
            let unmark = |metadata: &mut ObjectMeta| {
                metadata.labels.remove(binding.label);
                if !metadata.labels.contains_key(binding.other_label) {
                    metadata.labels.retain(|key, _| !key.starts_with(label::SHOOT_PROVIDER_PREFIX));
                    metadata.finalizers.retain(|finalizer| finalizer != finalizer::EXTERNAL_GARDENER);
                }
            };
            match &binding.credentials {
                Credentials::Secret(key) => change(&self.secrets, key, unmark).await?,
                Credentials::WorkloadIdentity(key) => change(&self.identities, key, unmark).await?,
            }
        }
        for key in binding.quotas.iter().filter(|key| !others.iter().any(|other| other.quotas.contains(key))) {
            let unlabel = |metadata: &mut ObjectMeta| drop(metadata.labels.remove(binding.label));
            change(&self.quotas, key, unlabel).await?;
        }
        Ok(())
    }

    /// Returns the other bindings of the same kind.
    fn others(&self, binding: &Binding) -> Vec<Binding> {
        let mut others: Vec<Binding> = if binding.label == label::REFERENCE_SECRET_BINDING {
            self.stores.secret_bindings.list().iter().map(|other| Binding::from(&**other)).collect()
        } else {
            self.stores.credentials_bindings.list().iter().map(|other| Binding::from(&**other)).collect()
        };
        others.retain(|other| other.metadata.uid != binding.metadata.uid);
        others
    }
}

/// Changes the metadata of an object; does nothing if the object does not exist or nothing differs.
async fn change<K: Resource>(api: &Api<K>, key: &ObjectKey, change: impl Fn(&mut ObjectMeta)) -> Result<(), Error> {
    let api = api.within(GARDEN, &key.namespace);
    let Some(stored) = api.get_opt(&key.name).await? else { return Ok(()) };
    let mut new = stored.clone();
    change(new.metadata_mut());
    api.update(&stored, &new).await.map(drop)
}
