// SPDX-License-Identifier: Apache-2.0
//! Owner references and deletion state of all objects of all clusters.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::meta::{ObjectMeta, OwnerReference, Time};
use apimachinery::resource::{group_version, read_into};
use apimachinery::wire::api_type;
use controller::discovery::ServedResource;
use controller::{Api, Change, Error, Index, ListOptions, ObjectKey, Readable, Reflector, Store, decode};
use futures::channel::oneshot;
use futures::future;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use process::Context;

/// Metadata that garbage collection needs of an object. All other fields are skipped when an object is read, since
/// every object of every cluster is held in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    metadata: ObjectMeta,
}

/// The part of an object that is decoded.
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

    fn of_metadata(metadata: &ObjectMeta) -> Option<Self> {
        let part = PartOfMetadata {
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            deletion_timestamp: metadata.deletion_timestamp,
            annotations: PartOfAnnotations { cluster: metadata.annotation(annotation::CLUSTER).map(str::to_owned) },
            owner_references: metadata.owner_references.clone(),
            finalizers: metadata.finalizers.clone(),
        };
        Some(part.into())
    }
}

impl std::ops::Deref for Node {
    type Target = ObjectMeta;

    fn deref(&self) -> &ObjectMeta {
        &self.metadata
    }
}

/// One resource: its objects in all clusters, or in the one cluster that has defined it for itself.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) served: ServedResource,
    pub(crate) api: Api<Node>,
    pub(crate) store: Store<Node>,
    by_owner: Index<Node>,
    /// The cluster that defines this resource for itself; `None`: all clusters serve it.
    cluster: Option<Arc<str>>,
    /// Stops the reflector of a resource that a cluster defines for itself; `None`: stopped.
    end: Mutex<Option<oneshot::Sender<()>>>,
}

impl Resource {
    fn of(context: &Context, cluster: Option<&str>, served: ServedResource) -> (Self, Reflector<Node>) {
        let api = Api::<Node>::of(context, cluster.unwrap_or("*"), served.resource.clone());
        let reflector = Reflector::new(api.clone(), ListOptions::default());
        let store = reflector.store();
        let by_owner = store.index(|node| node.owner_references.iter().map(|owner| owner.uid.clone()).collect());
        let cluster = cluster.map(Arc::from);
        (Self { served, api, store, by_owner, cluster, end: Mutex::default() }, reflector)
    }

    pub(crate) fn is_of_all_clusters(&self) -> bool {
        self.cluster.is_none()
    }

    /// True if the resource is no longer defined: its store is out of date.
    pub(crate) fn is_gone(&self) -> bool {
        self.cluster.is_some() && self.end.lock().is_none()
    }

    pub(crate) fn is_own_of(&self, cluster: &str) -> bool {
        self.cluster.as_deref() == Some(cluster)
    }

    /// Requests for the resource in one cluster and namespace.
    pub(crate) fn within(&self, key: &ObjectKey) -> Api<Node> {
        self.api.within(&key.cluster, &key.namespace)
    }
}

/// All resources: first those that all clusters serve, which are permanent; then those that clusters define for
/// themselves.
pub(crate) struct Graph {
    context: Context,
    /// An index is never reused for another resource.
    resources: RwLock<Vec<Arc<Resource>>>,
    /// Indices of the resources that all clusters serve, by API version and kind.
    by_kind: BTreeMap<(String, String), usize>,
    handlers: Mutex<Vec<Handler>>,
}

type Handler = Arc<dyn Fn(usize, &Change<Node>) + Send + Sync>;

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("resources", &self.read().len()).finish_non_exhaustive()
    }
}

/// An object and the index of its resource in the graph.
#[derive(Clone, Debug)]
pub(crate) struct GraphObject {
    pub(crate) resource: usize,
    pub(crate) key: ObjectKey,
    pub(crate) node: Arc<Node>,
}

impl Graph {
    /// Watches every resource that can be watched and deleted, across all clusters. Events are left out, as upstream
    /// does: they neither own objects nor have owners.
    pub(crate) fn start(context: &Context, served: Vec<ServedResource>) -> Self {
        let (mut resources, mut by_kind) = (Vec::new(), BTreeMap::new());
        for served in served.into_iter().filter(|served| served.offers(&["list", "watch", "delete"])) {
            if served.resource.plural == "events" && matches!(&*served.resource.group, "" | "events.k8s.io") {
                continue;
            }
            let api_version = group_version(&served.resource.group, &served.resource.version);
            by_kind.insert((api_version, served.kind.clone()), resources.len());
            let (resource, reflector) = Resource::of(context, None, served);
            reflector.start();
            resources.push(Arc::new(resource));
        }
        let (context, resources) = (context.clone(), RwLock::new(resources));
        Self { context, resources, by_kind, handlers: Mutex::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Resource>>> {
        self.resources.read()
    }

    /// Returns all resources of the graph.
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        self.read().clone()
    }

    /// Returns a resource by its index.
    pub(crate) fn resource(&self, number: usize) -> Option<Arc<Resource>> {
        self.read().get(number).cloned()
    }

    /// Watches a resource that a cluster has defined for itself, unless it is watched already.
    pub(crate) fn follow(&self, cluster: &str, served: ServedResource) {
        if !served.offers(&["list", "watch", "delete"]) || self.own(cluster, &served.qualified_name()).is_some() {
            return;
        }
        let (resource, reflector) = Resource::of(&self.context, Some(cluster), served);
        let (end, ended) = oneshot::channel::<()>();
        *resource.end.lock() = Some(end);
        let resource = Arc::new(resource);
        let number = {
            let mut resources = self.resources.write();
            resources.push(resource.clone());
            resources.len() - 1
        };
        for handler in self.handlers.lock().iter().cloned() {
            resource.store.subscribe(move |change| handler(number, change));
        }
        let run = reflector.run();
        self.context.tasks.spawn(async move {
            future::select(run, ended).await;
        });
    }

    /// Stops watching a resource that is no longer defined and reports its objects as deleted.
    pub(crate) fn forget(&self, cluster: &str, name: &str) {
        let Some((number, resource)) = self.own(cluster, name) else { return };
        resource.end.lock().take();
        let handlers = self.handlers.lock().clone();
        for key in resource.store.keys() {
            let change = Change { old: resource.store.get(&key), key, new: None };
            for handler in &handlers {
                handler(number, &change);
            }
        }
    }

    /// Returns a resource that a cluster has defined for itself, by its qualified name.
    fn own(&self, cluster: &str, name: &str) -> Option<(usize, Arc<Resource>)> {
        let resources = self.read();
        let mut numbered = resources.iter().enumerate().skip(self.by_kind.len());
        let (number, resource) =
            numbered.find(|(_, it)| it.is_own_of(cluster) && !it.is_gone() && it.served.qualified_name() == name)?;
        Some((number, resource.clone()))
    }

    /// Returns the objects of a cluster that name `uid` as an owner, in order of resource and key.
    pub(crate) fn dependents(&self, cluster: &str, uid: &str) -> Vec<GraphObject> {
        let mut found = Vec::new();
        for (resource, entry) in self.read().iter().enumerate() {
            for key in entry.by_owner.keys(uid) {
                if &*key.cluster == cluster
                    && let Some(node) = entry.store.get(&key)
                {
                    found.push(GraphObject { resource, key, node });
                }
            }
        }
        found
    }

    /// True if any object names `uid` as an owner.
    pub(crate) fn has_dependents(&self, uid: &str) -> bool {
        self.read().iter().any(|resource| resource.by_owner.count(uid) > 0)
    }

    /// Returns the index of an owner's resource in a cluster. Another version of its group than the watched one
    /// matches, too.
    fn resource_of(&self, cluster: &str, owner: &OwnerReference) -> Option<usize> {
        let exact = self.by_kind.get(&(owner.api_version.clone(), owner.kind.clone()));
        exact.copied().or_else(|| {
            let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
            let is_kind = |it: &Resource| it.served.resource.group == group && it.served.kind == owner.kind;
            let is_meant = |it: &Resource| is_kind(it) && (it.is_of_all_clusters() || it.is_own_of(cluster));
            let resources = self.read();
            let there = resources.iter().position(|it| is_meant(it) && !it.is_gone());
            there.or_else(|| resources.iter().position(|it| is_meant(it)))
        })
    }

    /// Returns the resource and key of an owner, if its kind is known. A namespaced owner is in the dependent's
    /// namespace.
    pub(crate) fn key_of_owner(&self, dependent: &ObjectKey, owner: &OwnerReference) -> Option<(usize, ObjectKey)> {
        let resource = self.resource_of(&dependent.cluster, owner)?;
        let namespaced = self.resource(resource)?.served.resource.namespaced;
        let namespace = if namespaced { &*dependent.namespace } else { "" };
        Some((resource, ObjectKey::new(&dependent.cluster, namespace, &owner.name)))
    }

    /// Returns the context of the component that watches the objects.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Calls `handler` for every change of every resource.
    pub(crate) fn subscribe(&self, handler: impl Fn(usize, &Change<Node>) + Send + Sync + 'static) {
        let handler: Handler = Arc::new(handler);
        self.handlers.lock().push(handler.clone());
        for (number, resource) in self.all().into_iter().enumerate() {
            let handler = handler.clone();
            resource.store.subscribe(move |change| handler(number, change));
        }
    }
}
