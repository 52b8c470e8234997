// SPDX-License-Identifier: Apache-2.0
//! Deletes objects whose owners are all deleted; an owner deleted in the foreground waits for its blocking dependents.
//!
//! Source: k8s.io/kubernetes pkg/controller/garbagecollector/garbagecollector.go.

use std::sync::Arc;

use apimachinery::meta::OwnerReference;
use controller::{Change, Controller, Error, ObjectKey, Patch, Requeue};
use process::Context;
use serde_json::{Value, json};

use crate::graph::{Graph, GraphObject, Node};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const CONCURRENCY: usize = 20;

/// Runs the garbage collector until the component stops.
pub(crate) async fn run(context: &Context, graph: Arc<Graph>) {
    let mut controller = Controller::new("garbage-collector", context);
    for resource in graph.all() {
        controller.watch_store(&resource.store, |_| Vec::new());
    }
    let (queue, known) = (controller.queue(), graph.clone());
    graph.subscribe(move |resource, change| queue.add_all(affected(&known, resource, change)));
    controller
        .run(CONCURRENCY, move |key| {
            let graph = graph.clone();
            async move {
                match unpack(&graph, &key) {
                    Some(found) => reconcile(&graph, &found).await,
                    None => Ok(Requeue::OnChange),
                }
            }
        })
        .await;
}

/// Encodes a resource and a key as one key: the resource's index precedes the name, which contains no slash itself.
fn pack(resource: usize, key: &ObjectKey) -> ObjectKey {
    key.sibling(&format!("{resource}/{}", key.name))
}

fn unpack(graph: &Graph, packed: &ObjectKey) -> Option<GraphObject> {
    let (resource, name) = packed.name.split_once('/')?;
    let resource: usize = resource.parse().ok()?;
    let key = packed.sibling(name);
    let node = graph.resource(resource)?.store.get(&key)?;
    Some(GraphObject { resource, key, node })
}

fn waits_for_dependents(node: &Node) -> bool {
    node.is_being_deleted() && node.has_finalizer(FOREGROUND)
}

/// Returns the keys of the objects that have to be reconciled after a change.
fn affected(graph: &Graph, resource: usize, change: &Change<Node>) -> Vec<ObjectKey> {
    let mut keys = Vec::new();
    match (&change.old, &change.new) {
        (Some(old), None) => {
            if graph.has_dependents(&old.uid) {
                let dependents = graph.dependents(&change.key.cluster, &old.uid);
                keys.extend(dependents.iter().map(|dependent| pack(dependent.resource, &dependent.key)));
            }
            keys.extend(waiting_owners(graph, &change.key, &old.owner_references));
        }
        (old, Some(new)) => {
            let is_held =
                |node: &Node| node.is_being_deleted() && (node.has_finalizer(ORPHAN) || node.has_finalizer(FOREGROUND));
            let before: &[OwnerReference] = old.as_ref().map(|old| old.owner_references.as_slice()).unwrap_or_default();
            let is_owned_anew = new.owner_references != before && has_doubtful_owner(graph, &change.key, new);
            if is_owned_anew || (is_held(new) && !old.as_deref().is_some_and(is_held)) {
                keys.push(pack(resource, &change.key));
            }
            if new.owner_references != before {
                keys.extend(waiting_owners(graph, &change.key, before));
            }
        }
        (None, None) => {}
    }
    keys
}

/// Returns the owners that are deleted in the foreground and may have waited for a deleted dependent.
fn waiting_owners(graph: &Graph, dependent: &ObjectKey, owners: &[OwnerReference]) -> Vec<ObjectKey> {
    let waiting = owners.iter().filter_map(|owner| {
        let (resource, key) = graph.key_of_owner(dependent, owner)?;
        let node = graph.resource(resource)?.store.get(&key)?;
        (node.uid == owner.uid && waits_for_dependents(&node)).then(|| pack(resource, &key))
    });
    waiting.collect()
}

/// True if an owner is not in the store, has another uid, or waits for its dependents.
fn has_doubtful_owner(graph: &Graph, key: &ObjectKey, node: &Node) -> bool {
    node.owner_references.iter().any(|owner| {
        let found =
            graph.key_of_owner(key, owner).and_then(|(resource, key)| graph.resource(resource)?.store.get(&key));
        found.is_none_or(|found| found.uid != owner.uid || waits_for_dependents(&found))
    })
}

async fn reconcile(graph: &Graph, found: &GraphObject) -> Result<Requeue, Error> {
    let node = &found.node;
    if node.is_being_deleted() {
        if node.has_finalizer(ORPHAN) {
            orphan_dependents(graph, found).await?;
        } else if node.has_finalizer(FOREGROUND) {
            delete_dependents(graph, found).await?;
        }
        return Ok(Requeue::OnChange);
    }
    if !node.owner_references.is_empty() {
        delete_without_owners(graph, found).await?;
    }
    Ok(Requeue::OnChange)
}

/// Removes the owner from its dependents' references, then the finalizer from the owner.
async fn orphan_dependents(graph: &Graph, owner: &GraphObject) -> Result<(), Error> {
    for dependent in graph.dependents(&owner.key.cluster, &owner.node.uid) {
        keep_owners(graph, &dependent, |reference| reference.uid != owner.node.uid).await?;
    }
    remove_finalizer(graph, owner, ORPHAN).await
}

/// Deletes the dependents that block the owner; once none is left, removes the owner's finalizer.
async fn delete_dependents(graph: &Graph, owner: &GraphObject) -> Result<(), Error> {
    let dependents = graph.dependents(&owner.key.cluster, &owner.node.uid);
    let blocks = |dependent: &&GraphObject| {
        let references = &dependent.node.owner_references;
        references.iter().any(|it| it.uid == owner.node.uid && it.block_owner_deletion == Some(true))
    };
    if !dependents.iter().any(|dependent| blocks(&dependent)) {
        return remove_finalizer(graph, owner, FOREGROUND).await;
    }
    for dependent in dependents.iter().filter(|dependent| !dependent.node.is_being_deleted()) {
        delete_without_owners(graph, dependent).await?;
    }
    Ok(())
}

/// State of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Solid,
    Waiting,
    Gone,
}

/// Deletes an object none of whose owners keeps it; if one does, the other references are removed.
async fn delete_without_owners(graph: &Graph, found: &GraphObject) -> Result<(), Error> {
    let mut owners = Vec::new();
    for reference in &found.node.owner_references {
        owners.push((classify(graph, &found.key, reference).await?, &reference.uid));
    }
    if owners.iter().any(|(owner, _)| *owner == Owner::Solid) {
        let solid = |reference: &OwnerReference| {
            owners.iter().any(|(owner, uid)| *owner == Owner::Solid && **uid == reference.uid)
        };
        return keep_owners(graph, found, solid).await;
    }
    let Some(resource) = graph.resource(found.resource) else { return Ok(()) };
    let waited_for = owners.iter().any(|(owner, _)| *owner == Owner::Waiting);
    let policy = if waited_for && graph.has_dependents(&found.node.uid) {
        // A dependent that is itself deleted in the foreground must not block, or cycles would wait for each other
        // indefinitely.
        for dependent in graph.dependents(&found.key.cluster, &found.node.uid) {
            if waits_for_dependents(&dependent.node) {
                unblock(graph, &dependent, &found.node.uid).await?;
            }
        }
        "Foreground"
    } else if found.node.has_finalizer(ORPHAN) {
        "Orphan"
    } else if found.node.has_finalizer(FOREGROUND) {
        "Foreground"
    } else {
        "Background"
    };
    resource.within(&found.key).delete_object(&found.node, true, Some(policy)).await
}

async fn classify(graph: &Graph, dependent: &ObjectKey, reference: &OwnerReference) -> Result<Owner, Error> {
    // An owner of an unknown kind counts as present.
    let of_owner = graph.key_of_owner(dependent, reference);
    let of_owner = of_owner.and_then(|(resource, key)| Some((graph.resource(resource)?, key)));
    let Some((resource, key)) = of_owner else { return Ok(Owner::Solid) };
    if resource.served.resource.namespaced && key.namespace.is_empty() {
        // A cluster-scoped object cannot have a namespaced owner: the reference does not name a namespace.
        return Ok(Owner::Solid);
    }
    let known = resource.store.get(&key).filter(|node| node.uid == reference.uid && !resource.is_gone());
    let owner = match known {
        Some(node) => Some(node),
        // The local store may lag behind: a missing owner is confirmed by a request.
        None => resource.within(&key).get_opt(&key.name).await?.filter(|node| node.uid == reference.uid).map(Arc::new),
    };
    Ok(match owner {
        None => Owner::Gone,
        Some(owner) if waits_for_dependents(&owner) => Owner::Waiting,
        Some(_) => Owner::Solid,
    })
}

/// Writes the owner references that `keep` accepts, if that drops any.
async fn keep_owners(graph: &Graph, found: &GraphObject, keep: impl Fn(&OwnerReference) -> bool) -> Result<(), Error> {
    let kept: Vec<&OwnerReference> = found.node.owner_references.iter().filter(|reference| keep(reference)).collect();
    if kept.len() == found.node.owner_references.len() {
        return Ok(());
    }
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    patch_metadata(graph, found, "ownerReferences", kept).await
}

async fn unblock(graph: &Graph, found: &GraphObject, uid: &str) -> Result<(), Error> {
    let mut references = found.node.owner_references.clone();
    for reference in references.iter_mut().filter(|reference| reference.uid == uid) {
        reference.block_owner_deletion = Some(false);
    }
    if references == found.node.owner_references {
        return Ok(());
    }
    patch_metadata(graph, found, "ownerReferences", json!(references)).await
}

async fn remove_finalizer(graph: &Graph, found: &GraphObject, finalizer: &str) -> Result<(), Error> {
    let left: Vec<&String> = found.node.finalizers.iter().filter(|present| *present != finalizer).collect();
    let left = if left.is_empty() { Value::Null } else { json!(left) };
    patch_metadata(graph, found, "finalizers", left).await
}

async fn patch_metadata(graph: &Graph, found: &GraphObject, field: &str, value: Value) -> Result<(), Error> {
    let mut metadata = json!({"resourceVersion": found.node.resource_version});
    metadata[field] = value;
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let Some(resource) = graph.resource(found.resource) else { return Ok(()) };
    match resource.within(&found.key).patch(&found.key.name, &patch).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
