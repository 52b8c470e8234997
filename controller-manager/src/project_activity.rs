// SPDX-License-Identifier: Apache-2.0
//! Records the time of the last activity in the status of each Project.
//!
//! Source: pkg/controllermanager/controller/project/activity @ v1.120.0.

use api::constants::label;
use api::core::Project;
use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, Time};
use chrono::TimeDelta;
use controller::{Api, Change, Controller, ObjectKey, Patch, Requeue, Store};
use process::Context;
use serde_json::json;

use crate::protection::garden_key;
use crate::stores::Stores;
use crate::{Config, GARDEN};

/// Name of the controller.
pub const NAME: &str = "project-activity";

/// Age up to which an object seen for the first time counts as new; older objects were created while the controller was
/// not running.
const NEWS: TimeDelta = TimeDelta::hours(1);

/// Runs the controller.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAME, &context);
    watch(&mut controller, &context, &stores, &stores.shoots, has_new_generation);
    watch(&mut controller, &context, &stores, &stores.backup_entries, has_new_generation);
    watch(&mut controller, &context, &stores, &stores.quotas, is_referenced);
    watch(&mut controller, &context, &stores, &stores.secrets, is_referenced);
    let projects = Api::<Project>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (projects, stores, now) = (projects.clone(), stores.clone(), context.clock.now());
            async move {
                if stores.projects.get(&key).is_none() {
                    return Ok(Requeue::OnChange);
                }
                let patch = Patch::Merge(json!({ "status": { "lastActivityTimestamp": Time::from(now) } }));
                match projects.patch_subresource(&key.name, "status", &patch).await {
                    Err(error) if !error.is_not_found() => Err(error),
                    _ => Ok(Requeue::OnChange),
                }
            }
        })
        .await;
}

/// Counts creations, deletions, and the updates that `counts` accepts as activity of the namespace's Project.
fn watch<K: Resource>(
    controller: &mut Controller,
    context: &Context,
    stores: &Stores,
    store: &Store<K>,
    counts: fn(&Change<K>) -> bool,
) {
    let (clock, projects) = (context.clock.clone(), stores.projects.clone());
    controller.watch_store(store, move |change| {
        let is_news = match (&change.old, &change.new) {
            (None, Some(new)) => clock.now() - new.metadata().creation_timestamp.0 <= NEWS,
            _ => true,
        };
        if is_news && counts(change) { key_of_namespace(&projects, &change.key.namespace) } else { Vec::new() }
    });
}

fn has_new_generation<K: Resource>(change: &Change<K>) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.metadata().generation != new.metadata().generation,
        _ => true,
    }
}

/// True if a binding refers to the object.
fn is_referenced<K: Resource>(change: &Change<K>) -> bool {
    let is_labelled = |meta: &ObjectMeta| {
        [label::REFERENCE_SECRET_BINDING, label::REFERENCE_CREDENTIALS_BINDING]
            .iter()
            .any(|label| meta.labels.contains_key(label))
    };
    [&change.old, &change.new].into_iter().flatten().any(|object| is_labelled(object.metadata()))
}

/// Returns the Project of a namespace.
fn key_of_namespace(projects: &Store<Project>, namespace: &str) -> Vec<ObjectKey> {
    let projects = projects.list();
    let mut owning = projects.iter().filter(|project| project.spec.namespace.as_deref() == Some(namespace));
    owning.next().map(|project| garden_key("", &project.metadata.name)).into_iter().collect()
}
