// SPDX-License-Identifier: Apache-2.0
//! The server and its builder.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::catalogue::{NEWEST, ResourceInfo};
use apimachinery::meta::ObjectMeta;
use apimachinery::schema::Node;
use apimachinery::{DynamicObject, Object, Resource};
use bytes::Bytes;
use clock::{Clock, Random};
use eventlog::{Actor, EventLog, Revision};
use futures::future::BoxFuture;
use http::Method;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use process::participant::Vouched;
use process::transport::{Body, ResponseFuture};
use process::{Offload, Request, Response, Tasks, Transport, User};

use crate::admission::{Plugin, Reads};
use crate::authentication::front_proxy::Stamp;
use crate::authentication::{Authenticator, UserDetails, anonymous};
use crate::authorization::{AllowAll, Authorizer, Question, is_known};
use crate::clusters::{Cluster, Clusters, FixedClusters};
use crate::delegates::Delegates;
use crate::discovery;
use crate::handlers;
use crate::http::{Health, Metrics};
use crate::kind::{Kind, Typed};
use crate::observer::Observer;
use crate::openapi::{self, Described, Documents};
use crate::protobuf;
use crate::registry::{Generic, Shape, Strategy};
use crate::request::{Call, Query, ResourcePath, Route, Target, verb};
use crate::reviews::{self, Review};
use crate::snapshot::View as Snapshot;
use crate::status::{BODY_LIMIT, Failure, Result};
use crate::storage::{CollectionId, Observers, Store, partial, stored};
use crate::subresource::Subresource;
use crate::views::{self, Renamed, View};
use crate::webhooks::{WebhookCaller, Webhooks};
use crate::yaml;

/// Bytes of a body above which it is read, and its request answered, beside the threads that serve: some milliseconds.
const LONG: usize = 64 << 10;
/// As [`LONG`], for YAML.
const LONG_YAML: usize = 4 << 10;

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
    /// Bytes of objects in recent changes that each resource remembers: a list that is continued needs them, and a watch
    /// from a revision of the past is quicker with them. Usually [`RECENT_BYTES`].
    pub recent_bytes: usize,
}

/// Bytes of objects in recent changes that each resource of a server with many clients remembers.
pub const RECENT_BYTES: usize = 8 << 20;

/// A server under construction.
pub struct Builder {
    foundation: Foundation,
    kinds: Vec<(Arc<dyn Kind>, bool)>,
    described: Vec<ResourceInfo>,
    plugins: Vec<Arc<dyn Plugin>>,
    authorizer: Arc<dyn Authorizer>,
    clusters: Arc<dyn Clusters>,
    cluster_annotation: &'static str,
    own_agents: &'static [&'static str],
    folds: Option<&'static str>,
    observers: Observers,
    views: Vec<View>,
    reviews: Vec<ResourceInfo>,
    subresources: Vec<(ResourceInfo, &'static str, Arc<dyn Subresource>)>,
    webhooks: Option<Arc<dyn WebhookCaller>>,
    authenticator: Option<Arc<dyn Authenticator>>,
    health: Health,
    metrics: Option<Metrics>,
    release: u16,
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
            own_agents: &[],
            folds: None,
            observers: Observers::new(),
            views: Vec::new(),
            reviews: Vec::new(),
            subresources: Vec::new(),
            webhooks: None,
            authenticator: None,
            health: Health::default(),
            metrics: None,
            release: NEWEST,
        }
    }

    /// Serves the fields of a release only ([`ResourceInfo::later`]), of the resources that are added from here on. What
    /// objects have beyond them is not shown, and stays.
    pub fn release(mut self, minor: u16) -> Self {
        self.release = minor;
        self
    }

    /// Serves a resource: `O` is a typed kind or [`apimachinery::DynamicObject`]. A second call for one resource
    /// replaces the first.
    pub fn resource<O: Object>(mut self, info: &ResourceInfo, strategy: impl Strategy<O>) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(&info.at(self.release), strategy)), true));
        self
    }

    /// Folds a resource that somebody else serves, so that admission and namespace checks can read it.
    pub fn known<O: Object>(mut self, info: &ResourceInfo) -> Self {
        self.kinds.push((Arc::new(Typed::<O, _>::new(&info.at(self.release), Generic)), false));
        self
    }

    /// Serves a resource that is stored as another, which is served, too: [`views::EVENTS`](crate::views::EVENTS).
    pub fn view(mut self, info: &ResourceInfo, target: &ResourceInfo, renamed: Renamed) -> Self {
        self.views.push(View { info: info.clone(), target: target.clone(), renamed, described: None });
        self
    }

    /// Serves a resource that a cluster defines for itself: its row has no tree.
    pub fn custom(mut self, info: &ResourceInfo, shape: Shape, strategy: impl Strategy<DynamicObject>) -> Self {
        self.kinds.push((Arc::new(Typed::<DynamicObject, _>::shaped(info, shape, strategy)), true));
        self
    }

    /// Serves another version of a resource that a cluster defines for itself, which is stored as `target`.
    pub fn custom_version(mut self, info: &ResourceInfo, described: Node, target: &ResourceInfo) -> Self {
        let (info, target) = (info.clone(), target.clone());
        self.views.push(View { info, target, renamed: views::VERSION, described: Some(described) });
        self
    }

    /// Serves a review: SelfSubjectReview, TokenReview, SelfSubjectAccessReview, SelfSubjectRulesReview,
    /// SubjectAccessReview or LocalSubjectAccessReview, in any version.
    pub fn review(mut self, info: &ResourceInfo) -> Self {
        self.reviews.push(info.clone());
        self
    }

    /// Answers a subresource that the row of a resource names by a hook.
    pub fn subresource(mut self, info: &ResourceInfo, name: &'static str, hook: impl Subresource) -> Self {
        self.subresources.push((info.clone(), name, Arc::new(hook)));
        self
    }

    /// Who knows what a token of a TokenReview is worth; without this no token is worth anything.
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// Asks the webhooks that clusters configure, and how they are reached; without this nobody is asked.
    pub fn webhooks(mut self, caller: Arc<dyn WebhookCaller>) -> Self {
        self.webhooks = Some(caller);
        self
    }

    /// Checks behind `/livez` and `/readyz` of every cluster.
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// What `/metrics` of every cluster shows; without this it does not exist.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
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

    /// The `User-Agent`s of the landscape's own commands, up to the slash: what they create is not tracked until somebody
    /// applies to it, as what components create.
    pub fn own_agents(mut self, names: &'static [&'static str]) -> Self {
        self.own_agents = names;
        self
    }

    /// Follows one logical cluster only; of others nothing is known.
    pub fn folds(mut self, cluster: &'static str) -> Self {
        self.folds = Some(cluster);
        self
    }

    /// Tells an observer of a resource's changes, whether or not the server knows the resource otherwise.
    pub fn observer(mut self, group: &str, plural: &str, observer: Arc<dyn Observer>) -> Self {
        self.observers.entry(format!("{group}/{plural}").into()).or_default().push(observer);
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
                rows.insert(key(info), row);
            }
            kinds.push(kind);
        }
        let rows_of = kinds.iter().map(|kind: &Arc<dyn Kind>| &kind.names().info);
        let store = Store::new(
            partial::view(self.foundation.log.clone(), rows_of),
            self.foundation.writer,
            self.folds,
            kinds,
            self.observers,
            self.foundation.recent_bytes,
        );
        let namespaces = store.collection("", "namespaces");
        let served = rows.values().map(|row: &Row| {
            let names = row.kind.names();
            Described::new(names.info.clone(), names.described.clone())
        });
        let views = self.views.iter().map(|view| Described::new(view.info.clone(), view.described.clone()));
        let others = self.described.into_iter().map(|info| Described::new(info, None));
        let documents = Documents::new(served.chain(views).chain(others), self.reviews.iter().cloned());
        Server(Arc::new(Inner {
            webhooks: self.webhooks.map(|caller| Webhooks::new(caller, &store)),
            store: Arc::new(store),
            namespaces,
            foundation: self.foundation,
            rows,
            documents,
            plugins: self.plugins,
            authorizer: self.authorizer,
            clusters: self.clusters,
            cluster_annotation: self.cluster_annotation,
            own_agents: self.own_agents,
            views: self.views.into_iter().map(|view| (key(&view.info), Arc::new(view))).collect(),
            reviews: self.reviews.into_iter().map(|info| (key(&info), Arc::new(Review { info }))).collect(),
            subresources: self
                .subresources
                .into_iter()
                .map(|(info, name, hook)| ((info.group, info.plural, name), hook))
                .collect(),
            authenticator: self.authenticator,
            health: self.health,
            metrics: self.metrics,
            delegates: Delegates::default(),
        }))
    }
}

/// Group, version and plural name.
type RowKey = (&'static str, &'static str, &'static str);

fn key(info: &ResourceInfo) -> RowKey {
    (info.group, info.version, info.plural)
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
    pub(crate) rows: BTreeMap<RowKey, Row>,
    pub(crate) views: BTreeMap<RowKey, Arc<View>>,
    pub(crate) reviews: BTreeMap<RowKey, Arc<Review>>,
    /// By group, plural name and name of the subresource.
    subresources: BTreeMap<RowKey, Arc<dyn Subresource>>,
    pub(crate) webhooks: Option<Webhooks>,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) health: Health,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) documents: Documents,
    pub(crate) namespaces: Option<CollectionId>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) clusters: Arc<dyn Clusters>,
    pub(crate) own_agents: &'static [&'static str],
    pub(crate) cluster_annotation: &'static str,
    /// Servers behind this one.
    pub(crate) delegates: Delegates,
}

/// An API server. Cheap to clone; clones are one server.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

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

    /// How many objects are decoded, and how many bytes the objects of recent changes have, shared ones counted each time.
    pub fn account(&self) -> (usize, usize) {
        let behind = self.0.delegates.all().into_iter().map(|delegate| delegate.store.account());
        behind.fold(self.0.store.account(), |sum, one| (sum.0 + one.0, sum.1 + one.1))
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

    /// Whether a request that somebody else answers is allowed; if not, the answer to it.
    ///
    /// # Errors
    /// 403, and 503 if the log cannot be reached.
    pub fn allow(&self, request: &Request) -> BoxFuture<'static, std::result::Result<(), Response>> {
        let inner = self.0.clone();
        let route = Route::parse(request.uri().path());
        let user = request.extensions().get::<User>().cloned().unwrap_or_else(anonymous);
        let (method, query) = (request.method().clone(), Query::parse(request.uri().query()));
        Box::pin(async move {
            let Some(route) = route else { return Ok(()) };
            let allowed = match inner.store.fresh().await {
                Ok(()) => inner.authorize(&method, &route, &query, &user),
                Err(error) => Err(error.into()),
            };
            allowed.map_err(|failure| failure.response())
        })
    }

    /// Up to which revision the server has followed the log.
    pub fn position(&self) -> Revision {
        self.0.store.position()
    }

    /// Resolves when the server has followed the log up to a revision; false: the log is closed.
    pub fn reach(&self, revision: Revision) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.0.store.reach(revision).await.is_ok() })
    }

    /// Follows the log to its head and sends the watches of participants (see [`process::participant`]) a bookmark with
    /// the number of this barrier, behind everything up to there, except those that were sent nothing since the barrier
    /// `confirmed`, which everybody has seen; answers up to where, and what became of the watches. `None`: the log cannot
    /// be reached.
    pub fn barrier(&self, number: u64, confirmed: u64) -> BoxFuture<'_, Option<(Revision, Vouched)>> {
        Box::pin(async move {
            self.0.store.fresh().await.ok()?;
            let (revision, mut vouched) = self.0.store.barrier(number, confirmed);
            for delegate in self.0.delegates.all() {
                delegate.store.fresh().await.ok()?;
                vouched = vouched.and(delegate.store.barrier(number, confirmed).1);
            }
            Some((revision, vouched))
        })
    }

    /// Whether, since this was last asked, a watch of somebody who takes no part in landscape time was given a change.
    pub fn take_told_others(&self) -> bool {
        let behind = self.0.delegates.all().into_iter().filter(|delegate| delegate.store.take_told_others()).count();
        self.0.store.take_told_others() || behind > 0
    }

    /// An object of a kind that this server folds, as of now; `None`: there is none, or the log cannot be reached.
    pub async fn object<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.store.fresh().await.ok()?;
        Reads(&mut Snapshot::new(&self.0.store, cluster)).get(namespace, name)
    }

    /// Metadata of an object of any kind that this server folds, as of now; `None`: there is none, or the log cannot be
    /// reached.
    pub fn metadata<'a>(
        &'a self,
        cluster: &'a str,
        group: &'a str,
        plural: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<ObjectMeta>> {
        Box::pin(async move {
            let store = &self.0.store;
            store.fresh().await.ok()?;
            let id = store.collection(group, plural)?;
            let kind = store.kind(id);
            let stored = store.get(id, &stored::path(cluster, namespace, name))?;
            stored.decoded(&*kind).map(|object| kind.metadata(&*object).clone())
        })
    }

    /// All objects of a kind that this server folds, as of now, in key order; none if the log cannot be reached.
    pub async fn objects<K: Resource>(&self, cluster: &str) -> Vec<Arc<K>> {
        if self.0.store.fresh().await.is_err() {
            return Vec::new();
        }
        Reads(&mut Snapshot::new(&self.0.store, cluster)).list(None)
    }

    /// As [`Server::objects`], as far as this server has folded.
    pub fn folded<K: Resource>(&self, cluster: &str) -> Vec<Arc<K>> {
        Reads(&mut Snapshot::new(&self.0.store, cluster)).list(None)
    }

    /// Removes, finalizers or not, every object of a cluster that does not exist any more.
    pub async fn clear_vanished_cluster(&self, name: &str) {
        if self.0.store.fresh().await.is_err() || self.0.cluster(name).is_ok() {
            return;
        }
        let actor = Arc::new(Actor { user: "system:apiserver".into(), ..Actor::default() });
        let time = self.0.foundation.clock.now();
        self.0.store.clear(&format!("{name}/"), &actor, time).await;
        if let Some(delegate) = self.0.delegates.of(name) {
            delegate.store.clear(&format!("{name}/"), &actor, time).await;
            self.delegate(name, None);
        }
    }

    /// Whether the server serves a group in a version of it.
    pub fn serves_group(&self, group: &str) -> bool {
        let inner = &self.0;
        let mut keys = inner.rows.keys().chain(inner.views.keys()).chain(inner.reviews.keys());
        keys.any(|(known, _, _)| *known == group)
    }
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
        let stamp = parts.extensions.remove::<Stamp>().unwrap_or_default();
        let offload = parts.extensions.remove::<Offload>().unwrap_or_default();
        let call = Call {
            method: parts.method,
            query: Query::parse(parts.uri.query()),
            route,
            headers: parts.headers,
            user,
            details: parts.extensions.remove::<UserDetails>().unwrap_or_default(),
            now: stamp.now.unwrap_or_else(|| self.foundation.clock.now()),
        };
        match stamp.head {
            Some(head) => self.store.reach(head).await?,
            None => self.store.fresh().await?,
        }
        // Who may not ask learns neither which clusters exist nor what they serve.
        match call.route.target.clone() {
            Target::Other => {
                self.authorize(&call.method, &call.route, &call.query, &call.user)?;
                let cluster = match self.cluster(&call.route.cluster) {
                    Ok(cluster) => cluster,
                    // Health is the server's, and anybody may ask for it.
                    Err(_) if !is_known(&call.user) && discovery::is_health(&call.route.path) => None,
                    Err(failure) => return Err(failure),
                };
                if let Some(response) = openapi::answer(self, &call)? {
                    return Ok(response);
                }
                match discovery::answer(self, &call, cluster.as_ref()) {
                    Some(response) => Ok(response),
                    None => Err(Failure::NoSuchPath),
                }
            }
            Target::Resource(path) => {
                self.authorize(&call.method, &call.route, &call.query, &call.user)?;
                self.cluster(&call.route.cluster)?;
                let (server, served) = self.serving(&call.route.cluster, &path).ok_or(Failure::NoSuchPath)?;
                if !Arc::ptr_eq(&server, self) {
                    server.store.fresh().await?;
                }
                let reads = matches!(call.method, Method::GET | Method::HEAD);
                let body = if reads { Bytes::new() } else { read(body).await? };
                let is_long = body.len() > if yaml::is_sent(&call) { LONG_YAML } else { LONG };
                let answer = server.resource(call, path, served, body);
                if is_long { offload.run(answer).await } else { answer.await }
            }
        }
    }

    /// Answers a request for a resource, whose body is there.
    async fn resource(
        self: Arc<Self>,
        mut call: Call,
        mut path: ResourcePath,
        served: Served,
        body: Bytes,
    ) -> Result<Response> {
        let watch = call.verb(&path) == "watch";
        let yaml = yaml::wanted(&mut call, watch)?;
        let body = yaml::read(&mut call, body)?;
        // The body of a subresource may be of another kind than its object.
        let expected = || {
            let info = served.info();
            let hook = self.subresource(&info, &path.subresource);
            hook.map_or_else(|| (&info).into(), |hook| hook.facts().into())
        };
        let body = protobuf::body::read(&mut call, expected, body)?;
        let answered = match served {
            Served::Row(row) => handlers::handle(&self, call, path, row, body).await,
            Served::Review(review) => reviews::answer(&self, &call, &path, &review, &body).await,
            Served::View(view, row) => {
                let body = view.enter(&mut call, &mut path, body)?;
                let answered = handlers::handle(&self, call, path, row, body).await;
                Ok(view.leave(answered.unwrap_or_else(|failure| failure.response()), watch).await)
            }
        };
        if !yaml {
            return answered;
        }
        Ok(yaml::write(answered.unwrap_or_else(|failure| failure.response())).await)
    }

    /// The cluster of a request; `None` for all of them.
    fn cluster(&self, name: &str) -> Result<Option<Cluster>> {
        if name == "*" {
            return Ok(None);
        }
        let mut view = Snapshot::new(&self.store, self.clusters.home());
        match self.clusters.get(name, &Reads(&mut view)) {
            Some(cluster) => Ok(Some(cluster)),
            None => Err(Failure::NoSuchCluster(name.to_owned())),
        }
    }

    /// Who answers for a path in a cluster, and with what.
    fn serving(self: &Arc<Self>, cluster: &str, path: &ResourcePath) -> Option<(Arc<Self>, Served)> {
        if let Some(served) = self.served(cluster, path) {
            return Some((self.clone(), served));
        }
        let delegate = self.delegates.of(cluster)?;
        let served = delegate.served(cluster, path)?;
        Some((delegate, served))
    }

    /// What answers for a path in a cluster.
    fn served(&self, cluster: &str, path: &ResourcePath) -> Option<Served> {
        let key = (path.group.as_str(), path.version.as_str(), path.plural.as_str());
        let serves = |info| self.clusters.serves(cluster, info);
        if let Some(row) = self.rows.get(&key) {
            return serves(&row.kind.names().info).then(|| Served::Row(row.clone()));
        }
        if let Some(view) = self.views.get(&key) {
            let row = self.rows.get(&self::key(&view.target))?;
            return serves(&view.info).then(|| Served::View(view.clone(), row.clone()));
        }
        let review = self.reviews.get(&key)?;
        serves(&review.info).then(|| Served::Review(review.clone()))
    }

    /// The hook of a subresource.
    pub(crate) fn subresource(&self, info: &ResourceInfo, name: &str) -> Option<Arc<dyn Subresource>> {
        self.subresources.get(&(info.group, info.plural, name)).cloned()
    }

    fn authorize(&self, method: &Method, route: &Route, query: &Query, user: &User) -> Result<()> {
        let nothing = ResourcePath::default();
        let path = match &route.target {
            Target::Resource(path) => Some(path),
            Target::Other => None,
        };
        let resource = path.unwrap_or(&nothing);
        let small = method.as_str().to_ascii_lowercase();
        let verb = path.map_or(small.as_str(), |path| verb(method, path, query));
        // A list of one object is allowed to who may have that object.
        let selected = match verb {
            "list" | "watch" | "deletecollection" => query.selected_name(),
            _ => None,
        };
        let question = Question {
            user,
            cluster: &route.cluster,
            verb,
            group: &resource.group,
            resource: &resource.plural,
            subresource: &resource.subresource,
            namespace: &resource.namespace,
            name: selected.as_deref().unwrap_or(&resource.name),
            path: if path.is_some() { "" } else { &route.path },
        };
        let allowed = self.authorizer.authorize(&question).map_err(|reason| Failure::denied(&question, &reason));
        // That a cluster answers with its version shows that it exists.
        let shows = path.is_none() && route.path.trim_end_matches('/') == "/version";
        if shows && !is_known(user) && !self.clusters.is_public(&route.cluster) {
            return Err(Failure::denied(&question, ""));
        }
        allowed
    }
}

/// What answers for a path.
enum Served {
    Row(Row),
    View(Arc<View>, Row),
    Review(Arc<Review>),
}

impl Served {
    /// The kind that clients speak of.
    fn info(&self) -> ResourceInfo {
        match self {
            Self::Row(row) => row.kind.names().info.clone(),
            Self::View(view, _) => view.info.clone(),
            Self::Review(review) => review.info.clone(),
        }
    }
}

async fn read(body: Body) -> Result<Bytes> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::TooLarge),
        Err(error) => Err(Failure::BadRequest(error.to_string())),
    }
}
