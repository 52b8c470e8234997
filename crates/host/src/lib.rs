// SPDX-License-Identifier: Apache-2.0
//! Logical clusters and aggregation: one front door for everything that a landscape serves.
//!
//! The host serves the core kinds and the kinds of CustomResourceDefinitions of every logical cluster itself, and hands
//! the groups of an aggregated API of one cluster to that API's server.
//!
//! A cluster exists as long as its Cluster object exists in cluster `runtime`. It begins with the namespaces that
//! every Kubernetes cluster has, and what is left in it goes with it.
//!
//! **Invariants.** No rules of Gardener. An aggregated group is never served from the host's own fold: while nobody
//! serves it, requests for it are answered with 503.
//!
//! **Tour.** [`Host`] the front door; [`live`] a host that lives; [`aggregation`] who serves the aggregated groups; [`clock_service`] landscape time, [`timekeeper`] when it
//! moves, [`clock_object`] how clients see it; `fault_object` what goes wrong on purpose, [`faults`] to processes; `timing_object` how long things take; `garden_object` what a Garden may say; [`kubelet`] pods as processes, `joined` processes that it did not start; `first_roles` roles that a cluster begins with, `aggregated_roles` roles made of others; [`registry`] which components run; [`identity`] who asks, [`tokens`] as which ServiceAccount; `evictions` when a pod may go; `log_service` who may read the log; [`catalogue::AGGREGATED_GROUPS`] what is handed on.

mod aggregated_roles;
pub mod aggregation;
pub mod clock_object;
pub mod clock_service;
mod clusters;
mod core_kinds;
mod custom_resources;
mod default_storage_class;
mod evictions;
mod fault_object;
pub mod faults;
mod first_roles;
mod garden_object;
pub mod heartbeats;
pub mod identity;
mod joined;
pub mod kubelet;
pub mod live;
mod log_service;
mod namespaces;
mod rbac_kinds;
pub mod registry;
mod rows;
mod service_addresses;
mod services;
mod storage_defaults;
pub mod timekeeper;
mod timing_object;
pub mod tokens;
mod webhook_kinds;
mod workload_defaults;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::aggregation::{Backend, Barrier, Instances};
use crate::clock_service::ClockService;
use crate::custom_resources::{CustomResources, Look};
use crate::evictions::Evictions;
use crate::faults::{Asking, Faults};
use crate::first_roles::FirstRoles;
use crate::joined::Joined;
use crate::kubelet::Logs;
use crate::timekeeper::Timekeeper;
use crate::tokens::Tokens;
use api::catalogue;
use api::cluster;
use api::constants::{annotation, user};
use api::terrarium::Clock;
use apimachinery::catalogue::ResourceInfo;
use authorizer::{Defaults, Mode, Rbac};
use bytes::Bytes;
use domain::profile::Profile;
use domain::validation::garden;
use eventlog::EventLog;
use futures::future::BoxFuture;
use generic_apiserver::http::Metrics;
use generic_apiserver::webhooks::WebhookCaller;
use generic_apiserver::{Authenticated, Builder, Foundation, Server};
use http::Method;
use http_body_util::BodyExt;
use process::https::is_watch;
use process::participant::{CLOCK_PATH, PARTICIPANT_HEADER, Vouched, WATCH_HEADER};
use process::transport::{ResponseFuture, full};
use process::{Request, Response, Tasks, Transport, TransportError, User};

/// Namespaces that every cluster begins with.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Version that cluster `runtime` reports.
const RUNTIME_VERSION: &str = "1.32.0";
/// Path of the Cluster objects.
const CLUSTERS_PATH: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";

/// Where pages for browsers are, and what opens them.
pub const PAGES: [&str; 2] = ["/dashboard", "/terrarium/dashboard/"];

/// Answers requests for paths below [`PAGES`]; who asks is on the request.
pub type Pages = Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>;

/// Pages, once they are served.
#[derive(Default)]
struct PagesOnce(OnceLock<Pages>);

impl std::fmt::Debug for PagesOnce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pages").field(&self.0.get().is_some()).finish()
    }
}

/// What a host may have beside the catalogue's rows.
#[derive(Clone, Debug, Default)]
pub struct Parts<'a> {
    /// Rows beside those of the catalogue.
    pub rows: &'a [ResourceInfo],
    /// What processes print, for `pods/log`.
    pub logs: Option<Logs>,
    /// How webhooks are reached; without it nobody is asked.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
    /// By whose rules instances of components are registered; `None`: by none.
    pub profile: Option<Profile>,
    /// The emulated version at the beginning; empty: unknown.
    pub version: String,
    /// What `/metrics` of every cluster shows; without it that path does not exist.
    pub metrics: Option<Metrics>,
    /// Issues and judges tokens of ServiceAccounts; without it there are none.
    pub tokens: Option<Tokens>,
    /// Who may do what.
    pub authorization: Mode,
}

/// The front door. Cheap to clone; clones are one host.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    server: Server,
    aggregated: Mutex<Option<Backend>>,
    clock: OnceLock<ClockService>,
    log: OnceLock<eventlog_remote::Server>,
    faults: Faults,
    joined: OnceLock<Joined>,
    pages: PagesOnce,
    /// Landscape time.
    time: clock::Clock,
    heartbeats: heartbeats::Heartbeats,
    /// Whether cluster `runtime` has its namespaces.
    has_runtime: AtomicBool,
    tokens: Option<Tokens>,
    /// Who may do what, where roles say so.
    rbac: Option<Rbac>,
    first_roles: Option<FirstRoles>,
    custom_resources: CustomResources,
}

impl Host {
    /// A host over a log, which follows it on a task of `tasks` and serves the rows of the catalogue that are not
    /// Gardener's. [`Host::aggregate`] puts gardener-apiserver behind it.
    pub fn new(foundation: Foundation, tasks: &Tasks) -> Self {
        Self::with(foundation, tasks, Parts::default())
    }

    /// As [`Host::new`], with more.
    pub fn with(foundation: Foundation, tasks: &Tasks, parts: Parts<'_>) -> Self {
        let own = catalogue::all().iter().filter(|row| !catalogue::is_aggregated(row));
        let time = foundation.clock.clone();
        let custom_resources = CustomResources::new(foundation.clone(), tasks.clone(), parts.webhooks.clone());
        let builder = Builder::new(foundation)
            .clusters(clusters::ByObject::new(RUNTIME_VERSION))
            .cluster_annotation(annotation::CLUSTER)
            .own_agents(user::OWN_AGENTS)
            .authorizer(Authenticated);
        let rbac = (parts.authorization == Mode::Rbac).then(|| Rbac::new(Defaults::Assumed));
        let builder = match &rbac {
            Some(rbac) => rbac.attach(builder),
            None => builder,
        };
        let builder = builder
            .admission(namespaces::PermanentNamespaces)
            .admission(clock_object::PermanentClock)
            .admission(garden_object::GardenAdmission)
            .admission(default_storage_class::DefaultStorageClass)
            .admission(service_addresses::ServiceAddresses);
        let builder = match parts.profile {
            Some(profile) => builder.admission(registry::Gate::new(profile, parts.metrics.as_ref())),
            None => builder,
        };
        // Who asks for OpenAPI hears of all kinds, whether or not somebody serves the aggregated ones just now.
        let aggregated = catalogue::all().iter().chain([catalogue::controller_deployments_view()]);
        let aggregated = aggregated.filter(|row| catalogue::is_aggregated(row));
        let builder = aggregated.fold(builder, Builder::described);
        let gardens = garden::Rules { profile: parts.profile.unwrap_or_default(), version: parts.version };
        let server = rows::unstored(rows::register(builder, own.chain(parts.rows), &gardens));
        let server = rows::logs(server, parts.logs);
        let server = match parts.webhooks {
            Some(caller) => server.webhooks(caller),
            None => server,
        };
        let server = match parts.metrics {
            Some(metrics) => server.metrics(metrics),
            None => server,
        };
        let evictions = Evictions::default();
        let server = rows::evictions(rows::tokens(server, parts.tokens.as_ref()), &evictions).build();
        evictions.look_at(server.clone());
        if let Some(tokens) = &parts.tokens {
            tokens.look_at(server.clone());
        }
        server.start(tasks);
        Self {
            inner: Arc::new(Inner {
                server,
                aggregated: Mutex::new(None),
                clock: OnceLock::new(),
                log: OnceLock::new(),
                faults: Faults::default(),
                joined: OnceLock::new(),
                pages: PagesOnce::default(),
                time,
                heartbeats: heartbeats::Heartbeats::default(),
                has_runtime: AtomicBool::new(false),
                tokens: parts.tokens,
                first_roles: rbac.clone().map(FirstRoles::new),
                rbac,
                custom_resources,
            }),
        }
    }

    /// As [`Server::account`], of its own server and of one of this process for the aggregated groups.
    pub fn account(&self) -> (usize, usize) {
        let own = self.inner.server.account();
        match self.aggregated() {
            Some(Backend::Server(server)) => {
                let (decoded, recent) = server.account();
                (own.0 + decoded, own.1 + recent)
            }
            _ => own,
        }
    }

    /// Hands [`catalogue::AGGREGATED_GROUPS`] of cluster `garden` to a server of this process from now on (requests go on
    /// with the user that they came with); `None`: nobody serves them.
    pub fn aggregate(&self, server: Option<Server>) {
        self.set_aggregated(server.map(Backend::Server));
    }

    /// As [`Host::aggregate`], to processes, of which none may be alive.
    pub fn aggregate_instances(&self, instances: Instances) {
        self.set_aggregated(Some(Backend::Instances(instances)));
    }

    fn set_aggregated(&self, backend: Option<Backend>) {
        *self.inner.aggregated.lock().unwrap_or_else(PoisonError::into_inner) = backend;
    }

    /// Asks every API server behind this door for a barrier (see [`Server::barrier`]); `None`: one cannot reach the log.
    pub fn barrier(&self, number: u64, confirmed: u64) -> BoxFuture<'_, Option<Vouched>> {
        Box::pin(async move {
            let aggregated = self.aggregated();
            let own = self.inner.server.barrier(number, confirmed);
            let theirs = async {
                match &aggregated {
                    Some(backend) => backend.barrier(number, confirmed).await,
                    None => Barrier { vouched: Some(Vouched::default()), told_others: false },
                }
            };
            let (own, theirs) = futures::future::join(own, theirs).await;
            let told_others = self.inner.server.take_told_others() || theirs.told_others;
            if let Some(clock) = self.inner.clock.get().filter(|_| told_others) {
                clock.with(Timekeeper::reached_others);
            }
            let (_, own) = own?;
            Some(own.and(theirs.vouched?))
        })
    }

    /// Makes the object that says how long things take, unless it is there.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn tell_timing(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.create(timing_object::PATH, serde_json::json!({ "metadata": { "name": domain::rollout::timing::NAME } }))
    }

    /// Creates an object; that it is there already is no error.
    fn create(&self, path: &'static str, body: serde_json::Value) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let failed = |error: http::Error| TransportError::Broken(error.to_string());
            let request = http::Request::post(path).body(full(body.to_string())).map_err(failed)?;
            self.own_transport().send(request).await?;
            Ok(())
        })
    }

    /// Makes the clock go as its object says; without an object it goes in `mode`, and gets one that says so.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn set_clock<'a>(
        &'a self,
        clock: &'a ClockService,
        mode: timekeeper::Mode,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            let spec = clock_object::spec(mode, false);
            let body = serde_json::json!({ "metadata": { "name": clock_object::NAME }, "spec": spec });
            self.create(clock_object::PATH, body).await?;
            self.obey(clock).await;
            Ok(())
        })
    }

    /// Makes the clock go as its object says, if there is one.
    async fn obey(&self, clock: &ClockService) {
        if let Some(object) = self.inner.server.object::<Clock>(cluster::RUNTIME, "", clock_object::NAME).await {
            clock_object::obey(clock, &object.spec);
        }
    }

    /// `owner` runs, and renews the Lease `lease` of [`SEED_LEASE`](api::constants::namespace::SEED_LEASE) all the
    /// time.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn start_renewing<'a>(&'a self, lease: &'a str, owner: &'a str) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            self.inner.heartbeats.begin(lease, owner);
            heartbeats::fix(&self.own_transport(), Some(lease), None).await
        })
    }

    /// `owner` has gone: what it renewed last is stored, unless another owner runs.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn stop_renewing<'a>(&'a self, lease: &'a str, owner: &'a str) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            if !self.inner.heartbeats.end(lease, owner) {
                return Ok(());
            }
            heartbeats::fix(&self.own_transport(), Some(lease), Some(self.inner.time.now())).await
        })
    }

    /// No process runs yet: what an earlier start of the host left behind was renewed until now.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn stop_all_renewals(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move { heartbeats::fix(&self.own_transport(), None, Some(self.inner.time.now())).await })
    }

    /// The faults that its door obeys.
    pub(crate) fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// Serves landscape time from now on; once.
    pub fn serve_clock(&self, clock: ClockService) {
        let _ = self.inner.clock.set(clock);
    }

    /// Serves the log below [`eventlog_remote::PREFIX`] from now on; once.
    pub fn serve_log(&self, log: Arc<dyn EventLog>) {
        let _ = self.inner.log.set(log_service::server(log));
    }

    /// Lets processes join that it did not start, from now on; once.
    pub(crate) fn serve_joining(&self, joined: Joined) {
        let _ = self.inner.joined.set(joined);
    }

    /// Serves pages for browsers below [`PAGES`] from now on; once.
    pub fn serve_pages(&self, pages: Pages) {
        let _ = self.inner.pages.0.set(pages);
    }

    fn aggregated(&self) -> Option<Backend> {
        self.inner.aggregated.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers a request; see [`Server::call`].
    pub fn call(&self, request: Request) -> ResponseFuture {
        let host = self.clone();
        Box::pin(async move { host.answer(request).await })
    }

    /// The host as a transport that puts `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let host = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            host.call(request)
        })
    }

    /// Who may do what, where roles say so.
    pub(crate) fn rbac(&self) -> Option<&Rbac> {
        self.inner.rbac.as_ref()
    }

    /// The host's own server.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    async fn answer(&self, mut request: Request) -> Result<Response, TransportError> {
        // To look at a page is no act of the landscape; what its forms do comes by this door as any other request.
        if let Some(pages) = self.inner.pages.0.get().filter(|_| is_page(request.uri().path())) {
            return pages(request).await;
        }
        if !self.inner.has_runtime.swap(true, Ordering::Relaxed) {
            self.furnish(cluster::RUNTIME).await?;
        }
        if let Some(roles) = &self.inner.first_roles {
            roles.store(request.uri().path(), &self.inner.server, &self.own_transport()).await?;
        }
        let is_participant = request.headers().contains_key(PARTICIPANT_HEADER);
        if !is_participant {
            request.headers_mut().remove(WATCH_HEADER);
        }
        // The clock is no part of the network.
        let asking = Asking::of(&request).filter(|_| !request.uri().path().starts_with(CLOCK_PATH));
        let Some(asking) = asking else { return self.admit(request, is_participant).await };
        let (path, time) = (request.uri().path().to_owned(), self.inner.time.clone());
        if let Some(unreachable) = self.inner.faults.answer(&asking, &path, time.now()) {
            return Ok(unreachable);
        }
        let watches = is_watch(request.uri().query()) || path.starts_with(eventlog_remote::PREFIX);
        let response = self.admit(request, is_participant).await?;
        Ok(if watches {
            let cut = self.inner.faults.cut(asking, &path, time);
            response.map(|body| aggregation::until(body, cut))
        } else {
            response
        })
    }

    /// Answers a request that has reached the host.
    async fn admit(&self, request: Request, is_participant: bool) -> Result<Response, TransportError> {
        let path = request.uri().path();
        if let Some(log) = self.inner.log.get().filter(|_| path.starts_with(eventlog_remote::PREFIX)) {
            return Ok(log_service::answer(log, request).await);
        }
        if let Some(joined) = self.inner.joined.get().filter(|_| path == process::child::JOIN_PATH) {
            return Ok(joined.answer(request).await);
        }
        let Some(clock) = self.inner.clock.get() else { return self.serve(request).await };
        if path.starts_with(CLOCK_PATH) {
            return Ok(clock.answer(request).await);
        }
        let watches = is_watch(request.uri().query());
        let is_component = request.extensions().get::<User>().is_some_and(|user| user.component.is_some());
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let others_write = !reads && !is_participant && !is_component;
        // Before, lest time moves behind the write; and behind it, where the time to act begins.
        if others_write {
            clock.with(Timekeeper::reached_others);
        }
        let response = if is_clock(path) {
            let response = self.serve(request).await?;
            if !reads && response.status().is_success() {
                self.obey(clock).await;
            }
            Ok(clock_object::show(clock.clone(), response, watches).await)
        } else {
            self.serve(request).await
        };
        if others_write {
            clock.with(Timekeeper::reached_others);
        }
        // A watch that was just opened may have something on the way that no barrier stands behind.
        if is_participant && watches && response.as_ref().is_ok_and(|response| response.status().is_success()) {
            clock.with(|keeper, _| keeper.disturb());
        }
        response
    }

    async fn serve(&self, request: Request) -> Result<Response, TransportError> {
        let path = request.uri().path();
        self.look_at_definitions(path, Look::Before).await?;
        match aggregation::place(path) {
            aggregation::Place::Aggregated => {
                // As a kube-apiserver does before it hands a request on.
                if self.inner.rbac.is_some()
                    && let Err(refused) = self.inner.server.allow(&request).await
                {
                    return Ok(refused);
                }
                match self.aggregated() {
                    Some(server) => server.call(request).await,
                    None => Ok(aggregation::unavailable()),
                }
            }
            aggregation::Place::Groups => {
                let server = self.aggregated();
                aggregation::groups(&self.inner.server, server.as_ref(), request).await
            }
            aggregation::Place::Own if is_openid(path) => self.publish(request).await,
            aggregation::Place::Own if path.starts_with(CLUSTERS_PATH) => self.change_clusters(request).await,
            aggregation::Place::Own if heartbeats::is_shown_at(path) => self.show_heartbeats(request).await,
            aggregation::Place::Own => self.serve_own(request).await,
        }
    }

    /// Answers a request that the host's own server answers, or one behind it.
    async fn serve_own(&self, request: Request) -> Result<Response, TransportError> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if reads {
            return self.inner.server.call(request).await;
        }
        let path = request.uri().path().to_owned();
        let response = self.inner.server.call(request).await?;
        if let Some(look) = custom_resources::after(&path).filter(|_| response.status().is_success()) {
            self.look_at_definitions(&path, look).await?;
        }
        Ok(response)
    }

    async fn look_at_definitions(&self, path: &str, look: Look) -> Result<(), TransportError> {
        let (custom, server) = (&self.inner.custom_resources, &self.inner.server);
        custom.look(path, look, server, &self.own_transport()).await
    }

    /// Answers a request for what verifies tokens of ServiceAccounts.
    async fn publish(&self, request: Request) -> Result<Response, TransportError> {
        if let Err(refused) = self.inner.server.allow(&request).await {
            return Ok(refused);
        }
        let path = request.uri().path();
        let cluster = path.split('/').nth(2).unwrap_or_default();
        let rest = path.strip_prefix("/clusters/").and_then(|rest| rest.strip_prefix(cluster)).unwrap_or_default();
        let host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        let place = format!("https://{host}/clusters/{cluster}");
        let is_read = *request.method() == Method::GET;
        let exists = cluster == cluster::RUNTIME
            || self.inner.server.object::<api::terrarium::Cluster>(cluster::RUNTIME, "", cluster).await.is_some();
        let published = self.inner.tokens.as_ref().filter(|_| is_read && exists);
        match published.and_then(|tokens| tokens.published(rest, &place)) {
            Some(response) => Ok(response),
            None => self.inner.server.call(request).await,
        }
    }

    /// Answers a request about Leases; who reads one, and is no component, sees it as its owner renews it.
    async fn show_heartbeats(&self, request: Request) -> Result<Response, TransportError> {
        let is_component = request.extensions().get::<User>().is_some_and(|user| user.component.is_some());
        let query = request.uri().query().unwrap_or_default();
        let of_the_past = query.contains("resourceVersionMatch=Exact");
        let reads = *request.method() == Method::GET && !is_component && !of_the_past && !is_watch(Some(query));
        let response = self.inner.server.call(request).await?;
        Ok(if reads { heartbeats::show(response, self.inner.time.now()).await } else { response })
    }

    /// Answers a request about Cluster objects, and does to the cluster what was done to its object.
    async fn change_clusters(&self, request: Request) -> Result<Response, TransportError> {
        let method = request.method().clone();
        let name = request.uri().path()[CLUSTERS_PATH.len()..].trim_matches('/').to_owned();
        let response = self.inner.server.call(request).await?;
        match method {
            Method::POST if response.status() == http::StatusCode::CREATED => {
                let (parts, body) = response.into_parts();
                let body = body.collect().await.map_err(|error| TransportError::Broken(error.to_string()))?.to_bytes();
                if let Some(name) = name_of(&body) {
                    self.furnish(&name).await?;
                }
                Ok(Response::from_parts(parts, full(body)))
            }
            Method::DELETE | Method::PUT | Method::PATCH if response.status().is_success() && !name.is_empty() => {
                self.inner.server.clear_vanished_cluster(&name).await;
                if method == Method::DELETE {
                    self.inner.custom_resources.forget(&name).await;
                    if let Some(roles) = &self.inner.first_roles {
                        roles.forget(&name);
                    }
                }
                Ok(response)
            }
            _ => Ok(response),
        }
    }

    /// The host's own server, asked by itself.
    fn own_transport(&self) -> Transport {
        let user = User { name: "system:apiserver".into(), groups: vec!["system:masters".into()], component: None };
        self.inner.server.transport(user)
    }

    /// Creates the namespaces that every cluster has.
    async fn furnish(&self, cluster: &str) -> Result<(), TransportError> {
        let transport = self.own_transport();
        for namespace in NAMESPACES {
            let body = serde_json::json!({ "metadata": { "name": namespace } }).to_string();
            let request = http::Request::post(format!("/clusters/{cluster}/api/v1/namespaces"))
                .body(full(body))
                .map_err(|error| TransportError::Broken(error.to_string()))?;
            transport.send(request).await?;
        }
        Ok(())
    }
}

/// Whether a path, below a cluster, is one at which is published what verifies tokens.
fn is_openid(path: &str) -> bool {
    path.ends_with(tokens::KEYS_PATH) || path.ends_with(tokens::CONFIGURATION_PATH)
}

/// Whether a path is below [`PAGES`].
fn is_page(path: &str) -> bool {
    PAGES.iter().any(|pages| path.strip_prefix(pages).is_some_and(|rest| pages.ends_with('/') || rest.is_empty() || rest.starts_with('/')))
}

/// Whether a path is of Clock objects.
fn is_clock(path: &str) -> bool {
    let rest = path.strip_prefix(clock_object::PATH).or_else(|| {
        let everywhere = path.strip_prefix("/clusters/*/")?;
        everywhere.strip_prefix(clock_object::PATH.strip_prefix("/clusters/runtime/")?)
    });
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn name_of(body: &Bytes) -> Option<String> {
    let tree: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(tree["metadata"]["name"].as_str()?.to_owned())
}
