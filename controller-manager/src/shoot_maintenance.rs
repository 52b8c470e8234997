// SPDX-License-Identifier: Apache-2.0
//! Maintains each Shoot once a day, in its time window.
//!
//! Source: pkg/controllermanager/controller/shoot/maintenance, v1.120.0 to v1.149.0.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::annotation;
use api::core::{CloudProfile, LastMaintenance, NamespacedCloudProfile, SecretBinding, Shoot};
use api::security::CredentialsBinding;
use chrono::{DateTime, Utc};
use controller::{
    Action, Api, Change, Controller, Error, EventType, ListOptions, ObjectKey, ObjectRef, Patch, Recorder, Requeue,
};
use domain::cloud_profile::{self, Resolved, Unresolved};
use domain::maintenance::binding::{self, Choice};
use domain::maintenance::{self, Plan, Restarters, Severity, agenda, report};
use parking_lot::{Mutex, MutexGuard};
use process::Context;
use serde_json::{Value, json};

use crate::recorder;
use crate::stores::Stores;
use crate::{GARDEN, Options, moment};

/// Name of the controller.
pub const NAME: &str = "shoot-maintenance";

struct Reconciler {
    context: Context,
    stores: Stores,
    shoots: Api<Shoot>,
    recorder: Recorder,
    restarters: Restarters,
    disable_nginx_ingress_in_shoot: bool,
    /// Planned maintenance of each Shoot; the only state that a restart loses.
    planned: Mutex<BTreeMap<ObjectKey, DateTime<Utc>>>,
}

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, options: Options) {
    let reconciler = Arc::new(Reconciler {
        shoots: Api::all(&context, GARDEN),
        recorder: recorder(&context, "shoot-maintenance-controller"),
        restarters: options.config.shoot_maintenance,
        disable_nginx_ingress_in_shoot: options.config.disable_nginx_ingress_in_shoot,
        planned: Mutex::default(),
        stores: stores.clone(),
        context: context.clone(),
    });
    let mut controller = Controller::new(NAME, &context);
    let watching = reconciler.clone();
    controller.watch_store(&stores.shoots, move |change| watching.keys(change));
    // Profiles are only read: changes of their offers take effect in the window.
    controller.watch_store(&stores.cloud_profiles, |_| Vec::new());
    controller.watch_store(&stores.namespaced_cloud_profiles, |_| Vec::new());
    controller
        .run(options.config.concurrent_syncs, move |key| {
            let reconciler = reconciler.clone();
            async move { reconciler.reconcile(&key).await }
        })
        .await;
}

impl Reconciler {
    fn planned(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, DateTime<Utc>>> {
        self.planned.lock()
    }

    /// Returns the key of a Shoot that is new, whose maintenance is requested, or whose window changed; also of a
    /// deleted one, whose plan is removed.
    fn keys(&self, change: &Change<Shoot>) -> Vec<ObjectKey> {
        let is_looked_at = match (&change.old, &change.new) {
            (None, Some(_)) | (_, None) => true,
            (Some(old), Some(new)) => {
                let (now, planned) = (self.context.clock.now(), self.planned().get(&change.key).copied());
                agenda::update_is_looked_at(old, new, now) || agenda::update_misses_upcoming(old, new, planned, now)
            }
        };
        if is_looked_at { vec![change.key.clone()] } else { Vec::new() }
    }

    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let living = self.stores.shoots.get(key).filter(|shoot| !shoot.metadata.is_being_deleted());
        let Some(shoot) = living else {
            self.planned().remove(key);
            return Ok(Requeue::OnChange);
        };
        let now = self.context.clock.now();
        let planned = self.planned().get(key).copied();
        let turn = agenda::turn(&shoot, planned, now, |span| {
            span.instant(self.context.random.draw(agenda::NEXT_RUN_DRAW, &key.to_string(), span.ordinal()))
        });
        if turn.is_due {
            self.maintain(&shoot, now).await?;
        }
        self.planned().insert(key.clone(), turn.next);
        Ok(Requeue::At(turn.next))
    }

    /// Maintains a Shoot once. Results for users are written to `status.lastMaintenance` and Events. Errors, after
    /// which the run is retried: a missing CloudProfile, a version that does not parse, a stale object, or an
    /// unavailable server.
    async fn maintain(&self, shoot: &Shoot, now: DateTime<Utc>) -> Result<(), Error> {
        let profile = self.cloud_profile(shoot).await?;
        let (name, offered) = profile.as_ref().map(|one| (one.name(), one.spec().clone())).unwrap_or_default();
        let plan = maintenance::plan(shoot, name, &offered, moment(&self.context).at(now));
        let mut plan = plan.map_err(|error| Error::Failed(error.to_string()))?;
        if let Some(secret_binding) = plan.migrated_secret_binding(shoot) {
            let bound = self.credentials_binding(&shoot.metadata.namespace, secret_binding).await;
            plan.bind(shoot, bound);
        }
        if self.disable_nginx_ingress_in_shoot {
            plan.disable_nginx_ingress();
        }
        let shoots = self.shoots.in_namespace_of(shoot);
        let mut stored = shoot.clone();
        if plan.has_findings() {
            if let Err(error) = shoots.replace_dry_run(&plan.shoot).await {
                let Some(message) = refusal(&error) else { return Err(error) };
                let drops_request = maintenance::is_requested(shoot);
                return write_result(&shoots, shoot, &plan.refused(&message, now), drops_request).await.map(drop);
            }
            stored = write_result(&shoots, shoot, &plan.processing(now), false).await?;
        }
        let written = match shoots.replace(&maintenance::apply(&stored, &plan, self.restarters)).await {
            Ok(written) => written,
            Err(error) => {
                let message = error.to_string();
                self.publish(&stored, EventType::Warning, report::MAINTENANCE_FAILED, &message).await?;
                return Err(error);
            }
        };
        if let Some(result) = report::finished(&written, plan.has_findings()) {
            write_result(&shoots, &written, &result, false).await?;
        }
        self.publish_all(&written, &plan).await
    }

    /// Returns the name of the CredentialsBinding that replaces a SecretBinding, or an error message for users. Creates
    /// the CredentialsBinding if there is none.
    async fn credentials_binding(&self, namespace: &str, secret_binding: &str) -> Result<String, String> {
        let secret_bindings = Api::<SecretBinding>::namespaced(&self.context, GARDEN, namespace);
        let secret_binding = secret_bindings
            .get(secret_binding)
            .await
            .map_err(|error| format!("failed to get SecretBinding {namespace}/{secret_binding}: {error}"))?;
        let bindings = Api::<CredentialsBinding>::namespaced(&self.context, GARDEN, namespace);
        let (present, _) = bindings
            .list(&ListOptions::default())
            .await
            .map_err(|error| format!("failed to list CredentialsBindings in namespace {namespace}: {error}"))?;
        match binding::choose(&secret_binding, &present)? {
            Choice::Existing(name) => Ok(name),
            Choice::New(new) => match bindings.create(&new).await {
                Ok(created) => Ok(created.metadata.name),
                Err(error) => {
                    let name = &new.metadata.name;
                    Err(format!("failed to create CredentialsBinding {namespace}/{name}: {error}"))
                }
            },
        }
    }

    /// Returns the profile of a Shoot; `None` for a Shoot without one. A profile that the stores do not contain yet is
    /// read from the server.
    async fn cloud_profile(&self, shoot: &Shoot) -> Result<Option<Resolved>, Error> {
        let missing = match cloud_profile::resolve(shoot, &mut &self.stores) {
            Ok(profile) => return Ok(Some(profile)),
            Err(Unresolved::NoReference) => return Ok(None),
            Err(Unresolved::NotFound(reference)) => reference,
            Err(error) => return Err(Error::Failed(error.to_string())),
        };
        Ok(Some(if missing.kind == cloud_profile::NAMESPACED_CLOUD_PROFILE {
            let profiles = Api::<NamespacedCloudProfile>::namespaced(&self.context, GARDEN, &shoot.metadata.namespace);
            Resolved::Namespaced(Arc::new(profiles.get(&missing.name).await?))
        } else {
            let profiles = Api::<CloudProfile>::all(&self.context, GARDEN);
            Resolved::Cluster(Arc::new(profiles.get(&missing.name).await?))
        }))
    }

    async fn publish_all(&self, shoot: &Shoot, plan: &Plan) -> Result<(), Error> {
        for event in plan.events() {
            let type_ = match event.severity {
                Severity::Normal => EventType::Normal,
                Severity::Warning => EventType::Warning,
            };
            self.publish(shoot, type_, event.reason, &event.message).await?;
        }
        Ok(())
    }

    async fn publish(&self, shoot: &Shoot, type_: EventType, reason: &str, message: &str) -> Result<(), Error> {
        self.recorder.publish_action(&ObjectRef::of(shoot), type_, reason, Action::Reconcile, message).await
    }
}

/// Returns the message of a server that rejected the object. Errors about a stale object or an unavailable server are
/// not rejections.
fn refusal(error: &Error) -> Option<String> {
    let status = error.status()?;
    let is_final = (400..500).contains(&status.code) && !matches!(status.code, 409 | 429);
    is_final.then(|| error.to_string())
}

/// Writes `status.lastMaintenance`; `drops_request`: also removes the request for maintenance, by the same write.
async fn write_result(
    shoots: &Api<Shoot>,
    shoot: &Shoot,
    result: &LastMaintenance,
    drops_request: bool,
) -> Result<Shoot, Error> {
    let mut patch = json!({
        "status": {
            "lastMaintenance": {
                "description": result.description,
                "triggeredTime": result.triggered_time,
                "state": result.state,
                "failureReason": result.failure_reason.as_ref().map_or(Value::Null, |reason| json!(reason)),
            },
        },
    });
    if drops_request {
        patch["metadata"] = json!({ "annotations": { annotation::OPERATION: Value::Null } });
    }
    shoots.patch_subresource(&shoot.metadata.name, "status", &Patch::Merge(patch)).await
}
