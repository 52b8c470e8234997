// SPDX-License-Identifier: Apache-2.0
//! What is known of all objects of all clusters: who owns whom, who is going away.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::meta::{ObjectMeta, OwnerReference, Time};
use apimachinery::resource::{group_version, read_into};
use apimachinery::wire::api_type;
use controller::discovery::ServedResource;
use controller::{Api, Change, Error, Index, ListOptions, ObjectKey, Readable, Reflector, Store, decode};
use process::Context;

/// An object as far as its life and death go. Everything else is skipped when it is read, since every object of every
/// cluster is kept here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    metadata: ObjectMeta,
}

/// The part of an object that is read.
#[api_type(no_schema)]
struct Part {
    metadata: PartOfMetadata,
}

#[api_type(no_schema)]
struct PartOfMetadata {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    deletion_timestamp: Option<Time>,
    annotations: PartOfAnnotations,
    owner_references: Vec<OwnerReference>,
    finalizers: Vec<String>,
}

#[api_type(no_schema)]
struct PartOfAnnotations {
    #[schema(rename = "terrarium.dev/cluster")]
    cluster: Option<String>,
}

impl From<PartOfMetadata> for Node {
    fn from(part: PartOfMetadata) -> Self {
        let mut metadata = ObjectMeta {
            name: part.name,
            namespace: part.namespace,
            uid: part.uid,
            resource_version: part.resource_version,
            deletion_timestamp: part.deletion_timestamp,
            owner_references: part.owner_references,
            finalizers: part.finalizers,
            ..ObjectMeta::default()
        };
        if let Some(cluster) = part.annotations.cluster {
            metadata.annotations.insert(annotation::CLUSTER.to_owned(), cluster);
        }
        Self { metadata }
    }
}

impl Readable for Node {
    fn object_meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut part = Part::default();
        match decode::metadata(bytes) {
            Some(metadata) => read_into(&mut part.metadata, &metadata),
            None => read_into(&mut part, bytes),
        }
        .map_err(|error| Error::Decode(error.to_string()))?;
        Ok(part.metadata.into())
    }
}

impl std::ops::Deref for Node {
    type Target = ObjectMeta;

    fn deref(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// One resource: its objects in all clusters.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) served: ServedResource,
    pub(crate) api: Api<Node>,
    pub(crate) store: Store<Node>,
    by_owner: Index<Node>,
}

impl Resource {
    /// Requests for the resource in one cluster and namespace.
    pub(crate) fn within(&self, key: &ObjectKey) -> Api<Node> {
        self.api.within(&key.cluster, &key.namespace)
    }
}

/// All resources.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) resources: Vec<Resource>,
    by_kind: BTreeMap<(String, String), usize>,
}

/// An object and its place in the graph.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) resource: usize,
    pub(crate) key: ObjectKey,
    pub(crate) node: Arc<Node>,
}

impl Graph {
    /// Watches every resource that can be watched and deleted, across all clusters. Events are left out, as upstream
    /// does: they own nothing and are owned by nobody.
    pub(crate) fn start(context: &Context, served: Vec<ServedResource>) -> Self {
        let (mut resources, mut by_kind) = (Vec::new(), BTreeMap::new());
        for served in served.into_iter().filter(|served| served.offers(&["list", "watch", "delete"])) {
            if served.resource.plural == "events" && matches!(&*served.resource.group, "" | "events.k8s.io") {
                continue;
            }
            let api = Api::<Node>::of(context, "*", served.resource.clone());
            let reflector = Reflector::new(api.clone(), ListOptions::default());
            let store = reflector.store();
            let by_owner = store.index(|node| node.owner_references.iter().map(|owner| owner.uid.clone()).collect());
            reflector.start();
            let api_version = group_version(&served.resource.group, &served.resource.version);
            by_kind.insert((api_version, served.kind.clone()), resources.len());
            resources.push(Resource { served, api, store, by_owner });
        }
        Self { resources, by_kind }
    }

    /// The objects of a cluster that name `uid` as an owner, in order of resource and key.
    pub(crate) fn dependents(&self, cluster: &str, uid: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for (resource, entry) in self.resources.iter().enumerate() {
            for key in entry.by_owner.keys(uid) {
                if &*key.cluster == cluster
                    && let Some(node) = entry.store.get(&key)
                {
                    found.push(Found { resource, key, node });
                }
            }
        }
        found
    }

    /// Whether anything names `uid` as an owner.
    pub(crate) fn has_dependents(&self, uid: &str) -> bool {
        self.resources.iter().any(|resource| resource.by_owner.count(uid) > 0)
    }

    /// The resource of an owner. Another version of its group than the watched one counts, too.
    pub(crate) fn resource_of(&self, owner: &OwnerReference) -> Option<usize> {
        let exact = self.by_kind.get(&(owner.api_version.clone(), owner.kind.clone()));
        exact.copied().or_else(|| {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            self.resources.iter().position(|it| it.served.resource.group == group && it.served.kind == owner.kind)
        })
    }

    /// Where the owner of an object is, if its kind is known: beside the object, or outside of all namespaces.
    pub(crate) fn key_of_owner(&self, dependent: &ObjectKey, owner: &OwnerReference) -> Option<(usize, ObjectKey)> {
        let resource = self.resource_of(owner)?;
        let namespaced = self.resources[resource].served.resource.namespaced;
        let namespace = if namespaced { &*dependent.namespace } else { "" };
        Some((resource, ObjectKey::new(&dependent.cluster, namespace, &owner.name)))
    }

    /// Calls `handler` for every change of every resource.
    pub(crate) fn subscribe(&self, handler: impl Fn(usize, &Change<Node>) + Clone + Send + Sync + 'static) {
        for (index, resource) in self.resources.iter().enumerate() {
            let handler = handler.clone();
            resource.store.subscribe(move |change| handler(index, change));
        }
    }
}
