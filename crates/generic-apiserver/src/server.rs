// SPDX-License-Identifier: Apache-2.0
//! The server and its builder.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::Object;
use apimachinery::catalogue::ResourceInfo;
use bytes::Bytes;
use clock::{Clock, Random};
use eventlog::{Actor, EventLog, Revision};
use http::Method;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use process::transport::{Body, ResponseFuture};
use process::{Request, Response, Tasks, Transport, User};

use crate::admission::{Plugin, Reads};
use crate::authorization::{AllowAll, Authorizer, Question};
use crate::clusters::{Cluster, Clusters, FixedClusters};
use crate::discovery;
use crate::handlers;
use crate::kind::{Kind, Typed};
use crate::openapi::{self, Documents};
use crate::protobuf;
use crate::registry::{Generic, Strategy};
use crate::request::{Call, Query, ResourcePath, Route, Target};
use crate::snapshot::View;
use crate::status::{BODY_LIMIT, Failure, Result, plain};
use crate::storage::{CollectionId, Store};

/// What a server stands on.
#[derive(Clone, Debug)]
pub struct Foundation {
    /// The log that is the state.
    pub log: Arc<dyn EventLog>,
    /// Landscape time.
    pub clock: Clock,
    /// Wall time, for time-outs of watches.
    pub wall: Clock,
    /// Keyed randomness, for uids and generated names.
    pub random: Random,
    /// Id of the writer; two servers on one log have different ones.
    pub writer: u64,
}

/// A server under construction.
pub struct Builder {
    foundation: Foundation,
    kinds: Vec<(Arc<dyn Kind>, bool)>,
    described: Vec<ResourceInfo>,
    plugins: Vec<Arc<dyn Plugin>>,
    authorizer: Arc<dyn Authorizer>,
    clusters: Arc<dyn Clusters>,
    cluster_annotation: &'static str,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("foundation", &self.foundation).finish_non_exhaustive()
    }
}

impl Builder {
    /// A server without resources and clusters, which allows everything.
    pub fn new(foundation: Foundation) -> Self {
        Self {
            foundation,
            kinds: Vec::new(),
            described: Vec::new(),
            plugins: Vec::new(),
            authorizer: Arc::new(AllowAll),
            clusters: Arc::new(FixedClusters::default()),
            cluster_annotation: "",
        }
    }

    /// Serves a resource: `O` is a typed kind or [`apimachinery::DynamicObject`]. A second call for one resource
    /// replaces the first.
    pub fn resource<O: Object>(mut self, info: &ResourceInfo, strategy: impl Strategy<O>) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(info, strategy)), true));
        self
    }

    /// Folds a resource that somebody else serves, so that admission and namespace checks can read it.
    pub fn known<O: Object>(mut self, info: &ResourceInfo) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(info, Generic)), false));
        self
    }

    /// Describes a resource that somebody else serves behind this server in the OpenAPI documents of the clusters that
    /// serve it.
    pub fn described(mut self, info: &ResourceInfo) -> Self {
        self.described.push(info.clone());
        self
    }

    /// Adds a plugin at the end of the admission chain.
    pub fn admission(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Adds plugins at the end of the admission chain.
    pub fn admission_chain(mut self, plugins: Vec<Arc<dyn Plugin>>) -> Self {
        self.plugins.extend(plugins);
        self
    }

    /// Decides about requests; without this everybody may do everything.
    pub fn authorizer(mut self, authorizer: impl Authorizer) -> Self {
        self.authorizer = Arc::new(authorizer);
        self
    }

    /// Which clusters exist; without this there are none.
    pub fn clusters(mut self, clusters: impl Clusters) -> Self {
        self.clusters = Arc::new(clusters);
        self
    }

    /// Key of the annotation in which objects listed through cluster `*` carry their cluster.
    pub fn cluster_annotation(mut self, key: &'static str) -> Self {
        self.cluster_annotation = key;
        self
    }

    /// The server. It follows the log whenever it is called, and between calls once [`Server::start`] was called.
    pub fn build(self) -> Server {
        let mut by_resource: BTreeMap<Arc<str>, (Arc<dyn Kind>, bool)> = BTreeMap::new();
        for (kind, served) in self.kinds {
            let resource = kind.names().log_resource.clone();
            // A resource that is served is not replaced by the mere knowledge of it.
            if served || !by_resource.contains_key(&resource) {
                by_resource.insert(resource, (kind, served));
            }
        }
        let mut rows = BTreeMap::new();
        let mut kinds = Vec::new();
        for (index, (kind, served)) in by_resource.into_values().enumerate() {
            let info = &kind.names().info;
            if served {
                let row = Row { id: CollectionId(index), kind: kind.clone() };
                rows.insert((info.group, info.version, info.plural), row);
            }
            kinds.push(kind);
        }
        let store = Store::new(self.foundation.log.clone(), self.foundation.writer, kinds);
        let namespaces = store.collection("", "namespaces");
        let served = rows.values().map(|row: &Row| row.kind.names().info.clone());
        let documents = Documents::new(served.chain(self.described), []);
        Server(Arc::new(Inner {
            store: Arc::new(store),
            namespaces,
            foundation: self.foundation,
            rows,
            documents,
            plugins: self.plugins,
            authorizer: self.authorizer,
            clusters: self.clusters,
            cluster_annotation: self.cluster_annotation,
        }))
    }
}

/// A served resource.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) id: CollectionId,
    pub(crate) kind: Arc<dyn Kind>,
}

pub(crate) struct Inner {
    pub(crate) foundation: Foundation,
    pub(crate) store: Arc<Store>,
    pub(crate) rows: BTreeMap<(&'static str, &'static str, &'static str), Row>,
    pub(crate) documents: Documents,
    pub(crate) namespaces: Option<CollectionId>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) clusters: Arc<dyn Clusters>,
    pub(crate) cluster_annotation: &'static str,
}

/// An API server. Cheap to clone; clones are one server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("position", &self.position()).finish_non_exhaustive()
    }
}

impl Server {
    /// Follows the log between requests, so that watchers learn of other writers' changes without delay.
    pub fn start(&self, tasks: &Tasks) {
        tasks.spawn(self.0.store.clone().follow());
    }

    /// Answers a request: its path starts with `/clusters/NAME`; its user is the extension [`User`]
    /// (`system:anonymous` without one).
    pub fn call(&self, request: Request) -> ResponseFuture {
        let inner = self.0.clone();
        Box::pin(async move { Ok(inner.answer(request).await) })
    }

    /// The server as a transport that puts `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let server = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            server.call(request)
        })
    }

    /// Up to which revision the server has followed the log.
    pub fn position(&self) -> Revision {
        self.0.store.position()
    }

    /// Sends every watcher that asked for bookmarks one at the present position, behind everything up to it; answers
    /// the position.
    pub fn barrier(&self) -> Revision {
        self.0.store.barrier()
    }

    /// Removes, finalizers or not, every object of a cluster that does not exist any more.
    pub async fn clear_vanished_cluster(&self, name: &str) {
        if self.0.store.fresh().await.is_err() || self.0.cluster(name).is_ok() {
            return;
        }
        let actor = Arc::new(Actor { user: "system:apiserver".into(), ..Actor::default() });
        let time = self.0.foundation.clock.now();
        self.0.store.clear(&format!("{name}/"), &actor, time).await;
    }

    /// Whether the server serves a group in a version of it.
    pub fn serves_group(&self, group: &str) -> bool {
        self.0.rows.keys().any(|(known, _, _)| *known == group)
    }
}

fn anonymous() -> User {
    User { name: "system:anonymous".into(), groups: vec!["system:unauthenticated".into()], component: None }
}

impl Inner {
    async fn answer(self: &Arc<Self>, request: Request) -> Response {
        match self.serve(request).await {
            Ok(response) => response,
            Err(failure) => failure.response(),
        }
    }

    async fn serve(self: &Arc<Self>, request: Request) -> Result<Response> {
        let (mut parts, body) = request.into_parts();
        let route = Route::parse(parts.uri.path()).ok_or(Failure::NoSuchPath)?;
        let user = parts.extensions.remove::<User>().unwrap_or_else(anonymous);
        let mut call =
            Call { method: parts.method, query: Query::parse(parts.uri.query()), route, headers: parts.headers, user };
        self.store.fresh().await?;
        let cluster = self.cluster(&call.route.cluster)?;
        match call.route.target.clone() {
            Target::Other => {
                self.authorize(&call, None)?;
                if let Some(response) = openapi::answer(self, &call)? {
                    return Ok(response);
                }
                match discovery::answer(self, &call, cluster.as_ref()) {
                    Some(response) => Ok(response),
                    None => Err(Failure::NoSuchPath),
                }
            }
            Target::Resource(path) => {
                let row = self.row(&call.route.cluster, &path).ok_or(Failure::NoSuchPath)?;
                self.authorize(&call, Some(&path))?;
                let body =
                    if matches!(call.method, Method::GET | Method::HEAD) { Bytes::new() } else { read(body).await? };
                let body = protobuf::body::read(&mut call, || (&row.kind.names().info).into(), body)?;
                handlers::handle(self, call, path, row, body).await
            }
        }
    }

    /// The cluster of a request; `None` for all of them.
    fn cluster(&self, name: &str) -> Result<Option<Cluster>> {
        if name == "*" {
            return Ok(None);
        }
        let mut view = View::new(&self.store, self.clusters.home());
        match self.clusters.get(name, &Reads(&mut view)) {
            Some(cluster) => Ok(Some(cluster)),
            None => Err(Failure::NoSuchCluster(name.to_owned())),
        }
    }

    fn row(&self, cluster: &str, path: &ResourcePath) -> Option<Row> {
        let key = (path.group.as_str(), path.version.as_str(), path.plural.as_str());
        let row = self.rows.get(&key)?;
        self.clusters.serves(cluster, &row.kind.names().info).then(|| row.clone())
    }

    fn authorize(&self, call: &Call, path: Option<&ResourcePath>) -> Result<()> {
        let nothing = ResourcePath::default();
        let resource = path.unwrap_or(&nothing);
        let method = call.method.as_str().to_ascii_lowercase();
        let question = Question {
            user: &call.user,
            cluster: &call.route.cluster,
            verb: path.map_or(method.as_str(), |path| call.verb(path)),
            group: &resource.group,
            resource: &resource.plural,
            subresource: &resource.subresource,
            namespace: &resource.namespace,
            name: &resource.name,
            path: if path.is_some() { "" } else { &call.route.path },
        };
        self.authorizer.authorize(&question).map_err(|reason| Failure::denied(&question, &reason))
    }
}

async fn read(body: Body) -> Result<Bytes> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::TooLarge),
        Err(error) => Err(Failure::BadRequest(error.to_string())),
    }
}

/// `ok` for the health paths.
pub(crate) fn healthy() -> Response {
    plain(200, "ok")
}
