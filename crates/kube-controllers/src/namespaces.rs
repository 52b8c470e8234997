// SPDX-License-Identifier: Apache-2.0
//! Deletes the content of namespaces that are being deleted, then the namespaces.
//!
//! Source: k8s.io/kubernetes pkg/controller/namespace/deletion/{namespaced_resources_deleter,status_condition_utils}.go.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::kubernetes::core::{Namespace, NamespaceCondition};
use apimachinery::meta::{DeleteOptions, Time};
use controller::discovery::{self, ServedResource};
use controller::{Api, ApiResource, Controller, Error, ListOptions, ObjectKey, PartialObject, Requeue, Store};
use process::Context;

use crate::graph::Graph;

const CONCURRENCY: usize = 10;
/// Finalizer of every namespace, in `spec.finalizers`.
const KUBERNETES: &str = "kubernetes";

/// Runs the namespace controller until the component stops.
pub(crate) async fn run(context: &Context, graph: Arc<Graph>) {
    let mut controller = Controller::new("namespace", context);
    let api = Api::<Namespace>::all(context, "*");
    let namespaces = controller.watch(api.clone(), ListOptions::default(), |change| {
        let is_terminating = change.new.as_ref().is_some_and(|namespace| namespace.metadata.is_being_deleted());
        if is_terminating { vec![change.key.clone()] } else { Vec::new() }
    });
    // The object that was removed may have been the last one that kept its namespace.
    let (queue, known) = (controller.queue(), namespaces.clone());
    graph.subscribe(move |_, change| {
        if change.new.is_none() && !change.key.namespace.is_empty() {
            let key = ObjectKey::new(&change.key.cluster, "", &change.key.namespace);
            if known.get(&key).is_some_and(|namespace| namespace.metadata.is_being_deleted()) {
                queue.add(key);
            }
        }
    });
    let namespaces = Arc::new(Namespaces { context: context.clone(), api, store: namespaces });
    controller
        .run(CONCURRENCY, move |key| {
            let namespaces = namespaces.clone();
            async move { namespaces.reconcile(&key).await }
        })
        .await;
}

struct Namespaces {
    context: Context,
    api: Api<Namespace>,
    store: Store<Namespace>,
}

/// Remaining content of a namespace.
#[derive(Debug, Default)]
struct Remaining {
    /// Number of objects by qualified resource name.
    objects: BTreeMap<String, usize>,
    /// Number of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
    /// Error messages of failed deletions.
    failures: Vec<String>,
}

impl Namespaces {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(namespace) = self.store.get(key).filter(|namespace| namespace.metadata.is_being_deleted()) else {
            return Ok(Requeue::OnChange);
        };
        if !namespace.spec.finalizers.iter().any(|finalizer| finalizer == KUBERNETES) {
            return Ok(Requeue::OnChange);
        }
        let (resources, complete) = match discovery::preferred_resources(&self.context, &key.cluster).await {
            // The cluster was deleted, and its namespaces with it.
            Err(error) if error.is_not_found() => return Ok(Requeue::OnChange),
            result => result?,
        };
        let mut remaining = Remaining::default();
        for served in resources.iter().filter(|it| it.resource.namespaced && it.offers(&["list", "delete"])) {
            if let Err(error) = self.delete_content(key, served, &mut remaining).await {
                remaining.failures.push(error.to_string());
            }
        }
        let mut new = Namespace::clone(&namespace);
        self.set_conditions(&mut new, &remaining, complete);
        let written = self.api.update_status(&namespace, &new).await?;
        if !complete || !remaining.failures.is_empty() {
            return Err(Error::Decode(format!("failed to delete all resource types of {key}")));
        }
        if remaining.objects.is_empty() {
            let mut last = written;
            last.spec.finalizers.retain(|finalizer| finalizer != KUBERNETES);
            let api = self.api.within(&key.cluster, "");
            match api.replace_subresource("finalize", &last).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(Requeue::OnChange)
    }

    /// Deletes the objects of one resource, and counts those that remain because of their finalizers.
    async fn delete_content(
        &self,
        key: &ObjectKey,
        served: &ServedResource,
        remaining: &mut Remaining,
    ) -> Result<(), Error> {
        let api = Api::<PartialObject>::of(&self.context, &key.cluster, ApiResource::clone(&served.resource))
            .within(&key.cluster, &key.name);
        let all = ListOptions::default();
        if api.is_empty(&all).await? {
            return Ok(());
        }
        // Objects that are already being deleted need no second request.
        let (objects, _) = api.list(&all).await?;
        if objects.iter().any(|object| !object.metadata.is_being_deleted()) {
            let options =
                DeleteOptions { propagation_policy: Some("Background".to_owned()), ..DeleteOptions::default() };
            if served.offers(&["deletecollection"]) {
                api.delete_collection(&all, &options).await?;
            } else {
                for object in &objects {
                    api.delete_object(object, false, Some("Background")).await?;
                }
            }
        }
        let (left, _) = api.list(&all).await?;
        if !left.is_empty() {
            remaining.objects.insert(served.qualified_name(), left.len());
        }
        for finalizer in left.iter().flat_map(|object| &object.metadata.finalizers) {
            *remaining.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        Ok(())
    }

    fn set_conditions(&self, namespace: &mut Namespace, remaining: &Remaining, complete: bool) {
        let now = Time::from(self.context.clock.now());
        let conditions = conditions(remaining, complete).into_iter().map(|(type_, status, reason, message)| {
            let status = if status { "True" } else { "False" };
            let old = namespace.status.conditions.iter().find(|condition| condition.r#type == type_);
            let since = old.filter(|old| old.status == status).map_or(now, |old| old.last_transition_time);
            NamespaceCondition {
                r#type: type_.to_owned(),
                status: status.to_owned(),
                last_transition_time: since,
                reason: reason.to_owned(),
                message,
            }
        });
        namespace.status.conditions = conditions.collect();
    }
}

type Row = (&'static str, bool, &'static str, String);

/// Returns the conditions of a namespace that is being deleted, with upstream's texts and order.
fn conditions(remaining: &Remaining, complete: bool) -> [Row; 5] {
    let failed = !remaining.failures.is_empty();
    let counts = |counts: &BTreeMap<String, usize>, between: &str| {
        let texts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name}{between} {count} resource instances")).collect();
        texts.join(", ")
    };
    [
        if complete {
            let message = "All resources successfully discovered".to_owned();
            ("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", message)
        } else {
            let message = "Discovery failed for some groups".to_owned();
            ("NamespaceDeletionDiscoveryFailure", true, "DiscoveryFailed", message)
        },
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        if failed {
            let message = format!("Failed to delete all resource types, {} remaining: {}", remaining.failures.len(), {
                remaining.failures.join(", ")
            });
            ("NamespaceDeletionContentFailure", true, "ContentDeletionFailed", message)
        } else {
            let message = "All content successfully deleted, may be waiting on finalization".to_owned();
            ("NamespaceDeletionContentFailure", false, "ContentDeleted", message)
        },
        if remaining.objects.is_empty() {
            let message = "All content successfully removed".to_owned();
            ("NamespaceContentRemaining", false, "ContentRemoved", message)
        } else {
            let message = format!("Some resources are remaining: {}", counts(&remaining.objects, " has"));
            ("NamespaceContentRemaining", true, "SomeResourcesRemain", message)
        },
        if remaining.finalizers.is_empty() {
            let message = "All content-preserving finalizers finished".to_owned();
            ("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers", message)
        } else {
            let list = counts(&remaining.finalizers, " in");
            let message = format!("Some content in the namespace has finalizers remaining: {list}");
            ("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", message)
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(remaining: &Remaining, complete: bool, expected: [&str; 5]) {
        let found = conditions(remaining, complete)
            .map(|(type_, status, reason, message)| format!("{type_} {status} {reason}: {message}"));
        assert_eq!(found, expected);
    }

    #[test]
    fn conditions_name_the_remaining_objects_in_upstreams_words() {
        check(
            &Remaining::default(),
            true,
            [
                "NamespaceDeletionDiscoveryFailure false ResourcesDiscovered: All resources successfully discovered",
                "NamespaceDeletionGroupVersionParsingFailure false ParsedGroupVersions: All legacy kube types successfully parsed",
                "NamespaceDeletionContentFailure false ContentDeleted: All content successfully deleted, may be waiting on finalization",
                "NamespaceContentRemaining false ContentRemoved: All content successfully removed",
                "NamespaceFinalizersRemaining false ContentHasNoFinalizers: All content-preserving finalizers finished",
            ],
        );
        let remaining = Remaining {
            objects: [("secrets".to_owned(), 1), ("workers.extensions.example.org".to_owned(), 2)].into(),
            finalizers: [("a/b".to_owned(), 2)].into(),
            failures: vec!["x".to_owned()],
        };
        let found = conditions(&remaining, true);
        assert_eq!(
            found[3].3,
            "Some resources are remaining: secrets has 1 resource instances, workers.extensions.example.org has 2 resource instances"
        );
        assert_eq!(found[4].3, "Some content in the namespace has finalizers remaining: a/b in 2 resource instances");
    }
}
