// SPDX-License-Identifier: Apache-2.0
//! Deletes Shoots whose lifetime under the Quotas of their binding is over.
//!
//! Unlike upstream, which checks every Shoot once an hour, a pass runs when the Shoot, its binding or a Quota changes,
//! and when the lifetime is over.
//!
//! Source: pkg/controllermanager/controller/shoot/quota @ v1.120.0.

use std::sync::Arc;

use api::constants::annotation;
use api::core::{Quota, Shoot};
use api::kubernetes::core::ObjectReference;
use apimachinery::meta::DeleteOptions;
use chrono::{SecondsFormat, TimeDelta};
use controller::{Api, Change, Controller, Error, ObjectKey, Patch, Requeue, Store};
use domain::lifetime::{Expiration, expiration};
use process::Context;
use serde_json::{Value, json};

use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "shoot-quota";

struct Reconciler {
    context: Context,
    stores: Stores,
    shoots: Api<Shoot>,
}

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let reconciler =
        Arc::new(Reconciler { shoots: Api::all(&context, GARDEN), stores: stores.clone(), context: context.clone() });
    let mut controller = Controller::new(NAME, &context);
    controller.watch_store(&stores.shoots, |change| {
        let is_relevant = change.differs(|shoot| {
            let annotation = shoot.metadata.annotation(annotation::SHOOT_EXPIRATION_TIMESTAMP).map(str::to_owned);
            (annotation, shoot.spec.secret_binding_name.clone(), shoot.spec.credentials_binding_name.clone())
        });
        if is_relevant && change.new.is_some() { vec![change.key.clone()] } else { Vec::new() }
    });
    let shoots = stores.shoots.clone();
    controller.watch_store(&stores.quotas, move |change| all_shoots(&shoots, change));
    let shoots = stores.shoots.clone();
    controller.watch_store(&stores.secret_bindings, move |change| {
        let is_of = |shoot: &Shoot| shoot.spec.secret_binding_name.as_deref() == Some(&change.key.name);
        in_namespace(&shoots, &change.key.namespace, is_of, change.differs(|binding| binding.quotas.clone()))
    });
    let shoots = stores.shoots.clone();
    controller.watch_store(&stores.credentials_bindings, move |change| {
        let is_of = |shoot: &Shoot| shoot.spec.credentials_binding_name.as_deref() == Some(&change.key.name);
        in_namespace(&shoots, &change.key.namespace, is_of, change.differs(|binding| binding.quotas.clone()))
    });
    controller
        .run(config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

fn key_of(shoot: &Shoot) -> ObjectKey {
    crate::protection::garden_key(&shoot.metadata.namespace, &shoot.metadata.name)
}

/// Returns all Shoots if a Quota's lifetime changed; the pass determines which of them refer to it.
fn all_shoots(shoots: &Store<Shoot>, change: &Change<Quota>) -> Vec<ObjectKey> {
    if !change.differs(|quota| quota.spec.cluster_lifetime_days) {
        return Vec::new();
    }
    shoots.list().iter().map(|shoot| key_of(shoot)).collect()
}

fn in_namespace(
    shoots: &Store<Shoot>,
    namespace: &str,
    is_concerned: impl Fn(&Shoot) -> bool,
    differs: bool,
) -> Vec<ObjectKey> {
    if !differs {
        return Vec::new();
    }
    let shoots = shoots.list();
    let concerned = shoots.iter().filter(|shoot| shoot.metadata.namespace == namespace && is_concerned(shoot));
    concerned.map(|shoot| key_of(shoot)).collect()
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(shoot) = self.stores.shoots.get(key) else { return Ok(Requeue::OnChange) };
        let quotas = self.quotas(&shoot);
        let now = self.context.clock.now();
        let shoots = self.shoots.in_namespace_of(&*shoot);
        let name = &shoot.metadata.name;
        let annotate = |annotations: Value| json!({ "metadata": { "annotations": annotations } });
        match expiration(&shoot, quotas.iter().map(Arc::as_ref), now) {
            Expiration::None => {
                if shoot.metadata.annotation(annotation::SHOOT_EXPIRATION_TIMESTAMP).is_some() {
                    let patch = annotate(json!({ annotation::SHOOT_EXPIRATION_TIMESTAMP: Value::Null }));
                    shoots.patch(name, &Patch::Merge(patch)).await?;
                }
                Ok(Requeue::OnChange)
            }
            Expiration::Malformed(text) => {
                tracing::warn!(
                    namespace = shoot.metadata.namespace,
                    name,
                    text,
                    "not a time: {}",
                    annotation::SHOOT_EXPIRATION_TIMESTAMP
                );
                Ok(Requeue::OnChange)
            }
            Expiration::Lives { until, annotation } => {
                if let Some(text) = annotation {
                    shoots
                        .patch(name, &Patch::Merge(annotate(json!({ annotation::SHOOT_EXPIRATION_TIMESTAMP: text }))))
                        .await?;
                }
                Ok(Requeue::At(until + TimeDelta::nanoseconds(1)))
            }
            Expiration::Expired { annotation } => {
                if shoot.metadata.is_being_deleted() {
                    return Ok(Requeue::OnChange);
                }
                let mut annotations = json!({
                    annotation::CONFIRMATION_DELETION: "true",
                    annotation::TIMESTAMP: now.to_rfc3339_opts(SecondsFormat::AutoSi, true),
                });
                if let Some(text) = annotation {
                    annotations[annotation::SHOOT_EXPIRATION_TIMESTAMP] = json!(text);
                }
                shoots.patch(name, &Patch::Merge(annotate(annotations))).await?;
                match shoots.delete(name, &DeleteOptions::default()).await {
                    Err(error) if !error.is_not_found() => Err(error),
                    _ => Ok(Requeue::OnChange),
                }
            }
        }
    }

    /// Returns the Quotas that the Shoot's binding refers to; missing ones are skipped.
    fn quotas(&self, shoot: &Shoot) -> Vec<Arc<Quota>> {
        let namespace = &shoot.metadata.namespace;
        let references: Vec<ObjectReference> = if let Some(name) = &shoot.spec.secret_binding_name {
            self.stores.secret_bindings.find(namespace, name).map(|binding| binding.quotas.clone())
        } else if let Some(name) = &shoot.spec.credentials_binding_name {
            self.stores.credentials_bindings.find(namespace, name).map(|binding| binding.quotas.clone())
        } else {
            None
        }
        .unwrap_or_default();
        references.iter().filter_map(|one| self.stores.quotas.find(&one.namespace, &one.name)).collect()
    }
}
