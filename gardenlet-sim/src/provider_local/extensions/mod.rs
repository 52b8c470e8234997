// SPDX-License-Identifier: Apache-2.0
//! Extension kinds without simulated objects of their own: an operation starts, takes some time, and succeeds in the
//! status.

mod actuate;

use std::future::Future;
use std::sync::Arc;

use api::constants::{annotation, finalizer, operation, operation_state, operation_type};
use api::core::{LastError, LastOperation};
use api::extensions::{
    BackupBucket, BackupEntry, ContainerRuntime, ControlPlane, DNSRecord, Extension as ExtensionResource,
    Infrastructure, Network, OperatingSystemConfig, Worker,
};
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, Time};
use chrono::{DateTime, Utc};
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::rollout::Parameter;

use super::provider::Provider;
use crate::draft::Draft;

/// Common interface of the extension kinds.
pub(super) trait Extension: Resource {
    /// Duration of an operation.
    const DURATION: Parameter = Parameter::ExtensionReconcile;
    /// Name of the kind in the description of operations.
    const NOUN: &'static str;

    /// Returns the finalizer of the kind's controller.
    fn finalizer(&self) -> String;
    /// Returns the last operation, `status.lastOperation`.
    fn last_operation(&self) -> Option<&LastOperation>;
    /// Returns the observed generation, `status.observedGeneration`.
    fn observed_generation(&self) -> i64;
    /// Starts an operation.
    fn start(&mut self, operation: LastOperation);
    /// Ends an operation.
    fn finish(&mut self, operation: LastOperation, error: Option<LastError>);

    /// Applies effects of the kind in addition to its last operation.
    fn actuate(&mut self, provider: &Provider) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = provider;
        async { Ok(()) }
    }
}

macro_rules! extension {
    ($kind:ty, $noun:literal, $finalizer:expr $(, $duration:ident)? ; $($actuate:tt)*) => {
        impl Extension for $kind {
            $(const DURATION: Parameter = Parameter::$duration;)?
            const NOUN: &'static str = $noun;

            fn finalizer(&self) -> String {
                let finalizer: fn(&Self) -> String = $finalizer;
                finalizer(self)
            }

            fn last_operation(&self) -> Option<&LastOperation> {
                self.status.last_operation.as_ref()
            }

            fn observed_generation(&self) -> i64 {
                self.status.observed_generation
            }

            fn start(&mut self, operation: LastOperation) {
                self.status.last_operation = Some(operation);
            }

            fn finish(&mut self, operation: LastOperation, error: Option<LastError>) {
                self.status.observed_generation = self.metadata.generation;
                self.status.last_operation = Some(operation);
                self.status.last_error = error;
            }

            $($actuate)*
        }
    };
}

macro_rules! actuated {
    ($actuate:path) => {
        async fn actuate(&mut self, provider: &Provider) -> Result<(), Error> {
            $actuate(self, provider).await
        }
    };
}

fn fixed(name: &str) -> String {
    format!("{}{name}", finalizer::EXTENSION_PREFIX)
}

extension!(Infrastructure, "Infrastructure", |_| fixed("infrastructure"), ExtensionInfrastructure;
    actuated! { actuate::infrastructure });
extension!(ControlPlane, "ControlPlane", |_| fixed("controlplane"); actuated! { actuate::control_plane });
extension!(OperatingSystemConfig, "OperatingSystemConfig", |_| fixed("operatingsystemconfigs");
    actuated! { actuate::operating_system_config });
extension!(Network, "Network", |_| fixed("network"); actuated! { actuate::network });
extension!(DNSRecord, "DNSRecord", |_| fixed("dnsrecord"); actuated! { actuate::dns_record });
extension!(ExtensionResource, "Extension resource", |extension| fixed(&extension.spec.r#type););
extension!(ContainerRuntime, "ContainerRuntime", |_| fixed("containerruntime"););
extension!(BackupBucket, "BackupBucket", |_| fixed("backupbucket"););
extension!(BackupEntry, "BackupEntry", |_| fixed("backupentry"););
extension!(Worker, "Worker", |_| fixed("worker"););

/// Starts a controller for each kind except Worker.
pub(super) fn start(provider: &Arc<Provider>) {
    start_kind::<Infrastructure>(provider, "infrastructure");
    start_kind::<ControlPlane>(provider, "controlplane");
    start_kind::<OperatingSystemConfig>(provider, "operatingsystemconfig");
    start_kind::<Network>(provider, "network");
    start_kind::<DNSRecord>(provider, "dnsrecord");
    start_kind::<ExtensionResource>(provider, "extension");
    start_kind::<ContainerRuntime>(provider, "containerruntime");
    start_kind::<BackupBucket>(provider, "backupbucket");
    start_kind::<BackupEntry>(provider, "backupentry");
}

fn start_kind<K: Extension>(provider: &Arc<Provider>, name: &'static str) {
    let mut controller = Controller::new(name, &provider.context);
    let needs_work = |change: &controller::Change<K>| {
        let object = change.new.as_ref().filter(|object| has_work(&***object));
        object.map(|_| change.key.clone()).into_iter().collect::<Vec<_>>()
    };
    let store = controller.watch(provider.seed_api::<K>(""), ListOptions::default(), needs_work);
    controller.watch_store(&provider.clusters, |_| Vec::new());
    // Watched so that durations are known before an operation begins.
    controller.watch_store(&provider.timing_store, |_| Vec::new());
    let provider = provider.clone();
    let tasks = provider.context.tasks.clone();
    tasks.spawn(controller.run(5, move |key| reconcile(provider.clone(), store.clone(), key)));
}

/// True if the controller has to act: an operation is requested or unfinished, or the object is being deleted.
pub(super) fn has_work<K: Extension>(object: &K) -> bool {
    let metadata = object.metadata();
    if metadata.is_being_deleted() {
        return metadata.has_finalizer(&object.finalizer());
    }
    match metadata.annotation(annotation::OPERATION) {
        Some(operation::RECONCILE | operation::RESTORE) => true,
        Some(_) => false,
        None => object.last_operation().is_none_or(|operation| operation.state != "Succeeded"),
    }
}

async fn reconcile<K: Extension>(provider: Arc<Provider>, store: Store<K>, key: ObjectKey) -> Result<Requeue, Error> {
    let Some(stored) = store.get(&key).filter(|object| has_work(&**object)) else { return Ok(Requeue::OnChange) };
    let api = provider.api_of(&store);
    let now = provider.context.clock.now();
    let is_deletion = stored.metadata().is_being_deleted();
    // A request without changes is answered without delay.
    let is_idle = !is_deletion
        && stored.observed_generation() == stored.metadata().generation
        && stored.last_operation().is_some_and(|operation| operation.state == "Succeeded");
    let mut draft = Draft::new(stored);
    begin(&mut draft, &api, now).await?;

    let object = draft.get();
    let started = object.last_operation().map_or(now, |operation| operation.last_update_time.0);
    if !is_idle {
        let attempt = started.timestamp().cast_unsigned();
        let until = started + provider.duration(K::DURATION, &object.metadata().uid, attempt);
        if now < until {
            return Ok(Requeue::WorkAt(until));
        }
    }
    if is_deletion {
        let finalizer = object.finalizer();
        draft.edit().metadata_mut().finalizers.retain(|present| *present != finalizer);
    } else {
        draft.edit().actuate(&provider).await?;
        succeed(&mut draft, now);
    }
    draft.save(&api).await?;
    Ok(Requeue::OnChange)
}

/// Accepts a request: starts the operation unless one is being continued, then removes the annotation and adds the
/// finalizer.
///
/// The two writes are in this order: without the annotation, an operation that has succeeded reads as an answer, and
/// within one second nothing else distinguishes the last operation from the requested one.
pub(super) async fn begin<K: Extension>(draft: &mut Draft<K>, api: &Api<K>, now: DateTime<Utc>) -> Result<(), Error> {
    let object = draft.get();
    let type_ = operation_type(object.metadata(), object.last_operation());
    let finalizer = object.finalizer();
    let is_ordered =
        !object.metadata().is_being_deleted() && object.metadata().annotations.contains_key(annotation::OPERATION);
    let needs_finalizer = !object.metadata().is_being_deleted() && !object.metadata().has_finalizer(&finalizer);
    let is_running = object.last_operation().is_some_and(|operation| {
        matches!(operation.state.as_str(), "Processing" | "Error") && operation.r#type == type_
    });
    if is_ordered || !is_running {
        let verb = if type_ == operation_type::DELETE { "Deleting" } else { "Reconciling" };
        let description = match K::NOUN {
            noun @ "Extension resource" => format!("{verb} {noun}"),
            noun => format!("{verb} the {noun}"),
        };
        draft.edit().start(operation(&type_, "Processing", 1, description, now));
        draft.save(api).await?;
    }
    if is_ordered {
        draft.edit().metadata_mut().annotations.remove(annotation::OPERATION);
    }
    if needs_finalizer {
        draft.edit().metadata_mut().finalizers.push(finalizer);
    }
    draft.save(api).await
}

/// Ends a reconciliation successfully.
pub(super) fn succeed<K: Extension>(draft: &mut Draft<K>, now: DateTime<Utc>) {
    let object = draft.edit();
    let type_ = object.last_operation().map_or("Reconcile", |operation| &operation.r#type).to_owned();
    let description = format!("Successfully reconciled {}", K::NOUN);
    object.finish(operation(&type_, "Succeeded", 100, description, now), None);
}

/// Ends a reconciliation with an error; it is retried when related objects change.
pub(super) fn fail<K: Extension>(draft: &mut Draft<K>, error: &str, now: DateTime<Utc>) {
    let type_ = draft.get().last_operation().map_or("Reconcile", |operation| &operation.r#type).to_owned();
    let description = format!("Error reconciling {}: {error}", K::NOUN);
    if draft.get().last_operation().is_some_and(|operation| operation.description == description) {
        return;
    }
    let error =
        LastError { description: description.clone(), last_update_time: Some(Time::from(now)), ..LastError::default() };
    draft.edit().finish(operation(&type_, "Error", 50, description, now), Some(error));
}

fn operation(type_: &str, state: &str, progress: i32, description: String, now: DateTime<Utc>) -> LastOperation {
    LastOperation {
        description,
        last_update_time: Time::from(now),
        progress,
        state: state.to_owned(),
        r#type: type_.to_owned(),
    }
}

/// Source: pkg/apis/core/v1beta1/helper (`ComputeOperationType`) @ v1.120.0.
fn operation_type(metadata: &ObjectMeta, last: Option<&LastOperation>) -> String {
    let type_ = match (metadata.annotation(annotation::OPERATION), last) {
        _ if metadata.is_being_deleted() => operation_type::DELETE,
        (Some(operation::RESTORE), _) => operation_type::RESTORE,
        (_, None) => operation_type::CREATE,
        (_, Some(last)) if last.r#type == operation_type::CREATE && last.state != operation_state::SUCCEEDED => {
            operation_type::CREATE
        }
        (_, Some(last)) if last.r#type == operation_type::RESTORE && last.state != operation_state::SUCCEEDED => {
            operation_type::RESTORE
        }
        _ => "Reconcile",
    };
    type_.to_owned()
}
