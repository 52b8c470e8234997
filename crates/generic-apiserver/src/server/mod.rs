// SPDX-License-Identifier: Apache-2.0
//! The server: handles requests from path to response, and offers operations to its owner.

pub(crate) mod delegates;

use std::fmt;
use std::sync::Arc;

use apimachinery::Resource;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::ObjectMeta;
use apimachinery::release::Release;
use bytes::Bytes;
use eventlog::{Actor, Revision};
use futures::future::BoxFuture;
use http::Method;
use http::header::USER_AGENT;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use process::offload::TooManyWaiting;
use process::participant::LineCounts;
use process::transport::{Body, ResponseFuture};
use process::{Offload, Request, Response, Tasks, Transport, User, Work};

use self::delegates::Delegates;
use crate::admission::Reads;
use crate::authentication::front_proxy::Stamp;
use crate::authentication::{Authenticator, UserDetails, anonymous};
use crate::authorization::{Authorizer, Question, is_known};
use crate::backend::Backend;
use crate::bodies::{self, yaml};
use crate::clusters::Cluster;
use crate::discovery;
use crate::handlers;
use crate::http::{Health, Metrics};
use crate::openapi::{self, Documents};
use crate::request::{Call, DescribedRelease, Query, ResourcePath, Route, Target, verb};
use crate::reviews;
use crate::routes::{Routes, Served};
use crate::snapshot::View as Snapshot;
use crate::status::{BODY_LIMIT, Failure, Result};
use crate::storage::stored;
use crate::webhooks::services::Services;
use crate::webhooks::{Endpoint, NoEndpoint, ServiceReference};

/// Size of a body in bytes above which it is read, and its request answered, on threads other than the serving ones:
/// this takes some milliseconds.
const LONG: usize = 64 << 10;
/// Size of a YAML body in bytes above which it is read on other threads, like [`LONG`].
const LONG_YAML: usize = 4 << 10;
/// Number of objects of a kind above which its lists are built on threads other than the serving ones.
const LONG_LIST: usize = 500;

pub(crate) struct Inner {
    /// State and configuration for the handlers of resources.
    pub(crate) backend: Arc<Backend>,
    pub(crate) routes: Routes,
    pub(crate) documents: Documents,
    /// Served release.
    pub(crate) release: Release,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) health: Health,
    pub(crate) metrics: Option<Metrics>,
    /// Delegates: servers behind this one.
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
    /// Follows the log between requests, so that watches show changes of other writers without delay.
    pub fn start(&self, tasks: &Tasks) {
        tasks.spawn(self.0.backend.store.clone().follow());
    }

    /// Returns the number of decoded objects, and the size in bytes of the objects in recent changes, where shared ones
    /// are counted each time.
    pub fn account(&self) -> (usize, usize) {
        let behind = self.0.delegates.all().into_iter().map(|delegate| delegate.backend.store.account());
        behind.fold(self.0.backend.store.account(), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Answers a request: its path starts with `/clusters/NAME`; its user is the extension [`User`]
    /// (`system:anonymous` without one).
    pub fn call(&self, request: Request) -> ResponseFuture {
        let inner = self.0.clone();
        Box::pin(async move { Ok(inner.answer(request).await) })
    }

    /// Returns a transport to the server that sets `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let server = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            server.call(request)
        })
    }

    /// Checks whether a request that another server answers is allowed; if not, the error is the response to it.
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
            let allowed = match inner.backend.store.fresh().await {
                Ok(()) => inner.authorize(&method, &route, &query, &user),
                Err(error) => Err(error.into()),
            };
            allowed.map_err(|failure| failure.response())
        })
    }

    /// Returns the served release.
    pub fn release(&self) -> Release {
        self.0.release
    }

    /// Returns the revision up to which the server has followed the log.
    pub fn position(&self) -> Revision {
        self.0.backend.store.position()
    }

    /// Resolves when the server has followed the log up to a revision; false: the log is closed.
    pub fn reach(&self, revision: Revision) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.0.backend.store.reach(revision).await.is_ok() })
    }

    /// Follows the log to its head; returns the revision reached, and the number of lines that were delivered to the
    /// watches of participants (see [`process::participant`]). `None`: the log cannot be reached, or a watch that starts before
    /// the ring is not registered yet.
    pub fn line_counts(&self) -> BoxFuture<'_, Option<(Revision, LineCounts)>> {
        Box::pin(async move {
            self.0.backend.store.fresh().await.ok()?;
            let (revision, mut line_counts) = self.0.backend.store.line_counts()?;
            for delegate in self.0.delegates.all() {
                delegate.backend.store.fresh().await.ok()?;
                line_counts = line_counts.and(delegate.backend.store.line_counts()?.1);
            }
            Some((revision, line_counts))
        })
    }

    /// Returns true if a change was delivered to a watch of a client that does not participate in landscape time, since
    /// the last call.
    pub fn take_reached_others(&self) -> bool {
        let behind =
            self.0.delegates.all().into_iter().filter(|delegate| delegate.backend.store.take_reached_others()).count();
        self.0.backend.store.take_reached_others() || behind > 0
    }

    /// Returns an object of a kind that this server folds, as of now; `None`: there is none, or the log cannot be reached.
    pub async fn object<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.backend.store.fresh().await.ok()?;
        Reads(&mut Snapshot::new(&self.0.backend.store, cluster)).get(namespace, name)
    }

    /// Returns metadata of an object of any kind that this server folds, as of now; `None`: there is none, or the log
    /// cannot be reached.
    pub fn metadata<'a>(
        &'a self,
        cluster: &'a str,
        group: &'a str,
        plural: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<ObjectMeta>> {
        Box::pin(async move {
            let store = &self.0.backend.store;
            store.fresh().await.ok()?;
            let id = store.collection(group, plural)?;
            let kind = store.kind(id);
            let stored = store.get(id, &stored::path(cluster, namespace, name))?;
            store.decoded(&stored, &*kind).map(|object| kind.metadata(&*object).clone())
        })
    }

    /// Returns all objects of a kind that this server folds, as of now, in key order; none if the log cannot be reached.
    pub async fn objects<K: Resource>(&self, cluster: &str) -> Vec<Arc<K>> {
        if self.0.backend.store.fresh().await.is_err() {
            return Vec::new();
        }
        Reads(&mut Snapshot::new(&self.0.backend.store, cluster)).list(None)
    }

    /// Finds an endpoint of a Service of a cluster, as of now.
    ///
    /// # Errors
    /// The reason for which there is no endpoint; the Service counts as missing if the log cannot be reached.
    pub fn endpoint<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a ServiceReference,
    ) -> BoxFuture<'a, std::result::Result<Endpoint, NoEndpoint>> {
        Box::pin(async move {
            let store = &self.0.backend.store;
            store.fresh().await.map_err(|_| NoEndpoint::NoService(service.name.clone()))?;
            Services::new(store).find(store, cluster, service)
        })
    }

    /// Returns the objects, as [`Server::objects`], from the state that this server has folded so far.
    pub fn folded<K: Resource>(&self, cluster: &str) -> Vec<Arc<K>> {
        Reads(&mut Snapshot::new(&self.0.backend.store, cluster)).list(None)
    }

    /// Returns the object, as [`Server::object`], from the state that this server has folded so far.
    pub fn folded_object<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Arc<K>> {
        Reads(&mut Snapshot::new(&self.0.backend.store, cluster)).get(namespace, name)
    }

    /// Deletes every object of a cluster that does not exist any more, with or without finalizers.
    pub async fn clear_vanished_cluster(&self, name: &str) {
        if self.0.backend.store.fresh().await.is_err() || self.0.cluster(name).is_ok() {
            return;
        }
        let actor = Arc::new(Actor { user: "system:apiserver".into(), ..Actor::default() });
        let time = self.0.backend.foundation.clock.now();
        self.0.backend.store.clear(&format!("{name}/"), &actor, time).await;
        if let Some(delegate) = self.0.delegates.of(name) {
            delegate.backend.store.clear(&format!("{name}/"), &actor, time).await;
            self.delegate(name, None);
        }
    }

    /// True if the server serves any version of a group.
    pub fn serves_group(&self, group: &str) -> bool {
        let routes = &self.0.routes;
        routes.resources().chain(routes.reviews()).any(|known| known.group == group)
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
        let user = parts.extensions.remove::<User>().unwrap_or_else(anonymous);
        let Some(route) = Route::parse(parts.uri.path()) else {
            let route = Route::outside(parts.uri.path());
            self.authorize(&parts.method, &route, &Query::default(), &user)?;
            return Err(Failure::NoSuchPath);
        };
        let stamp = parts.extensions.remove::<Stamp>().unwrap_or_default();
        let offload = parts.extensions.remove::<Offload>().unwrap_or_default();
        let call = Call {
            method: parts.method,
            query: Query::parse(parts.uri.query()),
            route,
            headers: parts.headers,
            user,
            details: parts.extensions.remove::<UserDetails>().unwrap_or_default(),
            now: stamp.now.unwrap_or_else(|| self.backend.foundation.clock.now()),
            duplicates: Vec::new(),
            described: parts.extensions.remove::<DescribedRelease>().unwrap_or_default(),
        };
        match stamp.head {
            Some(head) => self.backend.store.reach(head).await?,
            None => self.backend.store.fresh().await?,
        }
        // A client without permission learns neither which clusters exist nor which resources they serve.
        match call.route.target.clone() {
            Target::Other => {
                self.authorize(&call.method, &call.route, &call.query, &call.user)?;
                let cluster = match self.cluster(&call.route.cluster) {
                    Ok(cluster) => cluster,
                    // Health is the server's own, and every client may request it.
                    Err(_) if !is_known(&call.user) && is_health(&call.route.path) => None,
                    Err(failure) => return Err(failure),
                };
                match self.other(&call, cluster.as_ref())? {
                    Some(_) if !reads(&call.method) && is_routed(&call.route.path) => Err(Failure::NoSuchMethod),
                    Some(response) => Ok(response),
                    None => Err(self.missing(&call.route)),
                }
            }
            Target::Resource(path) => {
                self.authorize(&call.method, &call.route, &call.query, &call.user)?;
                self.cluster(&call.route.cluster)?;
                // Upstream supports HEAD for non-resource paths only.
                if call.method == Method::HEAD {
                    return Err(Failure::NoSuchMethod);
                }
                let all = self.is_asked_by_own(&call);
                let (server, served) =
                    self.serving(&call.route.cluster, &path, all).ok_or_else(|| self.missing(&call.route))?;
                if !Arc::ptr_eq(&server, self) {
                    server.backend.store.fresh().await?;
                }
                let body = if reads(&call.method) { Bytes::new() } else { read(body).await? };
                let work = server.work(&call, &path, &served, body.len());
                let cluster = call.route.cluster.clone();
                let answer = server.resource(call, path, served, body);
                match work {
                    Some(work) => match offload.run(work, &cluster, answer).await {
                        Ok(answer) => answer,
                        Err(TooManyWaiting) => Err(Failure::too_many_requests()),
                    },
                    None => answer.await,
                }
            }
        }
    }

    /// Answers a request for a path of no resource; `None`: the path is not served.
    fn other(&self, call: &Call, cluster: Option<&Cluster>) -> Result<Option<Response>> {
        let delegate = self.delegates.of(&call.route.cluster);
        let delegate = delegate.as_deref();
        let documents = delegate.map(|delegate| &delegate.documents);
        let wall = &self.backend.foundation.wall;
        if let Some(response) = openapi::answer(&self.documents, documents, &*self.routes.clusters, wall, call)? {
            return Ok(Some(response));
        }
        let segments: Vec<&str> = call.route.path.split('/').skip(1).collect();
        Ok(match segments.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => self.health.answer(&segments, &call.query),
            ["metrics"] => self.metrics.as_ref().map(Metrics::answer),
            _ => {
                let all = self.is_asked_by_own(call);
                discovery::answer(&self.routes, delegate.map(|delegate| &delegate.routes), call, cluster, all)
            }
        })
    }

    /// Returns the kind of work of a request that takes long, or `None`; `body`: length of its body in bytes.
    fn work(&self, call: &Call, path: &ResourcePath, served: &Served, body: usize) -> Option<Work> {
        let (Served::Row(row) | Served::View(_, row)) = served else { return (body > LONG).then_some(Work::Body) };
        if reads(&call.method) {
            let is_list = call.verb(path) == "list";
            return (is_list && self.backend.store.root(row.id).0.size() > LONG_LIST).then_some(Work::List);
        }
        if row.kind.validates_long() {
            return Some(Work::Rules);
        }
        (body > if yaml::is_sent(call) { LONG_YAML } else { LONG }).then_some(Work::Body)
    }

    /// Answers a request for a resource, after its body was read.
    async fn resource(
        self: Arc<Self>,
        mut call: Call,
        mut path: ResourcePath,
        served: Served,
        body: Bytes,
    ) -> Result<Response> {
        let watch = call.verb(&path) == "watch";
        let info = served.info();
        let yaml = yaml::wanted(&mut call, watch, !info.custom)?;
        // The body of a subresource may be of another kind than its object.
        let hook = self.routes.subresource(&info, &path.subresource);
        let expected = || hook.as_ref().map_or_else(|| (&info).into(), |hook| hook.facts().into());
        let body = bodies::to_json(&mut call, expected, body)?;
        let backend = &self.backend;
        let answered = match served {
            Served::Row(row) => handlers::handle(backend, call, path, row, hook, body).await,
            Served::Review(review) => {
                let (authorizer, authenticator) = (&*self.authorizer, self.authenticator.as_deref());
                let wall = &backend.foundation.wall;
                reviews::answer(authorizer, authenticator, wall, &call, &path, &review, &body).await
            }
            Served::View(view, row) => {
                let body = view.enter(&mut call, &mut path, body)?;
                let hook = self.routes.subresource(&row.kind.names().info, &path.subresource);
                let answered = handlers::handle(backend, call, path, row, hook, body).await;
                Ok(view.leave(answered.unwrap_or_else(|failure| failure.response()), watch).await)
            }
        };
        if !yaml {
            return answered;
        }
        Ok(yaml::write(answered.unwrap_or_else(|failure| failure.response())).await)
    }

    /// Returns the cluster of a request; `None`: all clusters.
    fn cluster(&self, name: &str) -> Result<Option<Cluster>> {
        if name == "*" {
            return Ok(None);
        }
        let mut view = Snapshot::new(&self.backend.store, self.routes.clusters.home());
        match self.routes.clusters.get(name, &Reads(&mut view)) {
            Some(cluster) => Ok(Some(cluster)),
            None => Err(Failure::NoSuchCluster(name.to_owned())),
        }
    }

    /// Returns the server that answers for a path in a cluster, and its resource.
    fn serving(self: &Arc<Self>, cluster: &str, path: &ResourcePath, all: bool) -> Option<(Arc<Self>, Served)> {
        if let Some(served) = self.routes.find(cluster, path, all) {
            return Some((self.clone(), served));
        }
        let delegate = self.delegates.of(cluster)?;
        let served = delegate.routes.find(cluster, path, all)?;
        Some((delegate, served))
    }

    /// Returns the failure for an unknown resource: below a group of typed kinds their router answers.
    fn missing(&self, route: &Route) -> Failure {
        let mut segments = route.path.split('/').skip(1);
        let group = match segments.next() {
            Some("api") => Some(""),
            Some("apis") => segments.next().filter(|group| !group.is_empty()),
            _ => None,
        };
        let mut known = self.routes.resources().chain(self.routes.reviews());
        let is_typed = |row: &ResourceInfo| {
            group == Some(row.group) && !row.custom && self.routes.shows(&route.cluster, row, false)
        };
        if known.any(is_typed) { Failure::NoSuchResource } else { Failure::NoSuchPath }
    }

    /// True if the client is a component or a command of the landscape itself. These are written for the newest release and
    /// use its resources regardless of the served release.
    fn is_asked_by_own(&self, call: &Call) -> bool {
        let agent = call.header(USER_AGENT).split('/').next().unwrap_or_default();
        call.user.component.is_some()
            || &*call.user.name == "system:apiserver"
            || self.backend.own_agents.contains(&agent)
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
        // A list with one selected name is allowed to users that may list that object.
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
        // The version of a cluster reveals that the cluster exists.
        let shows = path.is_none() && route.path.trim_end_matches('/') == "/version";
        if shows && !is_known(user) && !self.routes.clusters.is_public(&route.cluster) {
            return Err(Failure::denied(&question, ""));
        }
        allowed
    }
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// True if a non-resource path supports certain methods only; others, such as health, ignore the method.
fn is_routed(path: &str) -> bool {
    matches!(path.split('/').nth(1), Some("api" | "apis" | "version"))
}

/// True if a path below a cluster requests the server's health.
fn is_health(path: &str) -> bool {
    matches!(path.split('/').nth(1), Some("healthz" | "livez" | "readyz"))
}

async fn read(body: Body) -> Result<Bytes> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::TooLarge),
        Err(error) => Err(Failure::BadRequest(error.to_string())),
    }
}
