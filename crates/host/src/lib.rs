// SPDX-License-Identifier: Apache-2.0
//! Logical clusters and aggregation: the single API endpoint of a landscape.
//!
//! The host serves the core kinds and the kinds of CustomResourceDefinitions of every logical cluster itself, and
//! forwards the groups of an aggregated API of one cluster to that API's server.
//!
//! A cluster exists as long as its Cluster object exists in cluster `runtime`. It is created with the namespaces that
//! every Kubernetes cluster has, and its objects are deleted with it.
//!
//! **Invariants.** No rules of Gardener. An aggregated group is never served from the host's own fold: while no server
//! serves it, requests for it are answered with 503.
//!
//! **Tour.** [`Host`] the API endpoint, `front` its request handling; [`live`] a host on a port; [`aggregation`] the
//! servers of the aggregated groups ([`catalogue::AGGREGATED_GROUPS`]); `clusters` the logical clusters and their initial
//! objects; [`kinds`] the kinds of the host and their strategies, `admission` its plugins; [`identity`] users by their
//! certificates and tokens; [`registry`] running components; [`pods`] the processes behind pods; [`time`] landscape time.

mod admission;
pub mod aggregation;
mod clusters;
mod front;
pub mod identity;
pub mod kinds;
pub mod live;
pub mod pods;
pub mod registry;
pub mod time;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::aggregation::{Backend, Extensions, Instances, News, Watches};
use crate::clusters::first_objects::FirstObjects;
use crate::clusters::first_roles::FirstRoles;
use crate::clusters::networks::Networks;
use crate::identity::tokens::Tokens;
use crate::kinds::clock_object;
use crate::kinds::custom_resources::CustomResources;
use crate::kinds::evictions::Evictions;
use crate::kinds::installed::Installed;
use crate::pods::faults::Faults;
use crate::pods::joined::Joined;
use crate::pods::kubelet::Logs;
use crate::time::clock_service::ClockService;
use crate::time::event_expiry::EventExpiry;
use crate::time::heartbeats::{self, Heartbeats};
use crate::time::timekeeper::Timekeeper;
use api::catalogue;
use api::cluster;
use api::constants::{annotation, user};
use api::core::Seed;
use api::terrarium::Clock;
use apimachinery::catalogue::ResourceInfo;
use authorizer::{Defaults, Mode, Rbac};
use chrono::TimeDelta;
use domain::profile::Profile;
use domain::validation::garden;
use eventlog::EventLog;
use futures::future::BoxFuture;
use generic_apiserver::http::Metrics;
use generic_apiserver::webhooks::{Dialer, WebhookCaller};
use generic_apiserver::{Authenticated, Builder, Foundation, Server};
use process::participant::{CLOCK_NAME, LineCounts};
use process::transport::{ResponseFuture, full};
use process::{Request, Tasks, Transport, TransportError, User};

/// Initial namespaces of every cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Default of the Kubernetes version that cluster `runtime` reports.
const RUNTIME_VERSION: &str = "1.32.0";

/// Path prefix of the pages for browsers, and the path that opens them.
pub const PAGES: [&str; 2] = ["/dashboard", "/terrarium/dashboard/"];

pub use clusters::first_objects::Trust;

/// Answers requests for paths below [`PAGES`]; an extension of a request has its user.
pub type Pages = Arc<dyn Fn(Request) -> ResponseFuture + Send + Sync>;

/// Handler of the pages, once they are served.
#[derive(Default)]
struct PagesOnce(OnceLock<Pages>);

impl std::fmt::Debug for PagesOnce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pages").field(&self.0.get().is_some()).finish()
    }
}

/// Optional parts of a host.
#[derive(Clone, Debug, Default)]
pub struct Parts<'a> {
    /// Rows in addition to those of the catalogue.
    pub rows: &'a [ResourceInfo],
    /// Output of processes, for `pods/log`.
    pub logs: Option<Logs>,
    /// Client of webhooks; `None`: no webhook is called.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
    /// Client of extension API servers; `None`: their APIServices have no effect.
    pub extensions: Option<Arc<Dialer>>,
    /// Profile that governs registration of component instances; `None`: registrations are not checked.
    pub profile: Option<Profile>,
    /// Emulated version at the beginning; empty: unknown.
    pub version: String,
    /// Kubernetes version that cluster `runtime` reports, without `v`; `None`: 1.32.0.
    pub kubernetes_version: Option<String>,
    /// Metrics at `/metrics` of every cluster; `None`: that path does not exist.
    pub metrics: Option<Metrics>,
    /// Issuer and verifier of ServiceAccount tokens; `None`: there are no tokens.
    pub tokens: Option<Tokens>,
    /// Authorization mode.
    pub authorization: Mode,
    /// Lifetime of Events; `None`: unlimited.
    pub event_ttl: Option<TimeDelta>,
    /// Authorities whose certificates clusters accept; `None`: ConfigMap
    /// `kube-system/extension-apiserver-authentication` is not created.
    pub trust: Option<Trust>,
}

/// API endpoint of a landscape. Cheap to clone; clones share the host.
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
    wall: clock::Clock,
    heartbeats: Heartbeats,
    /// True once cluster `runtime` has its namespaces.
    has_runtime: AtomicBool,
    tokens: Option<Tokens>,
    /// Authorizer of mode RBAC; `None` in other modes.
    rbac: Option<Rbac>,
    first_roles: Option<FirstRoles>,
    first_objects: FirstObjects,
    event_expiry: EventExpiry,
    custom_resources: CustomResources,
    extensions: OnceLock<Extensions>,
    networks: Networks,
    news: News,
}

impl Host {
    /// Creates a host over a log, which it follows on a task of `tasks`. It serves the rows of the catalogue that are
    /// not Gardener's; [`Host::aggregate`] adds those.
    pub fn new(foundation: Foundation, tasks: &Tasks) -> Self {
        Self::with(foundation, tasks, Parts::default())
    }

    /// Creates a host as [`Host::new`], with optional parts.
    pub fn with(foundation: Foundation, tasks: &Tasks, parts: Parts<'_>) -> Self {
        let own = catalogue::all().iter().filter(|row| !catalogue::is_aggregated(row));
        let (time, wall) = (foundation.clock.clone(), foundation.wall.clone());
        let custom_resources = CustomResources::new(foundation.clone(), tasks.clone(), parts.webhooks.clone());
        let installed = Installed::new(&parts.version);
        let runtime_version = parts.kubernetes_version.as_deref().unwrap_or(RUNTIME_VERSION);
        let builder = Builder::new(foundation)
            .clusters(clusters::ByObject::new(runtime_version, installed.clone()))
            .cluster_annotation(annotation::CLUSTER)
            .own_agents(user::OWN_AGENTS)
            .authorizer(Authenticated);
        let news = News::default();
        let builder = news.attach(installed.attach(builder));
        let rbac = (parts.authorization == Mode::Rbac).then(|| Rbac::new(Defaults::Assumed));
        let builder = match &rbac {
            Some(rbac) => rbac.attach(builder),
            None => builder,
        };
        let (networks, heartbeats) = (Networks::default(), Heartbeats::default());
        let builder = builder
            .admission(kinds::namespaces::PermanentNamespaces)
            .admission(kinds::clock_object::PermanentClock)
            .admission(kinds::gardens::GardenAdmission(installed.clone()));
        let builder = admission::attach(builder, rbac.clone(), networks.clone(), heartbeats.clone());
        let builder = match parts.profile {
            Some(profile) => builder.admission(registry::Gate::new(profile, parts.metrics.as_ref())),
            None => builder,
        };
        // OpenAPI describes all kinds, even while no server of the aggregated ones runs.
        let aggregated = catalogue::all().iter().chain([catalogue::controller_deployments_view()]);
        let aggregated = aggregated.filter(|row| catalogue::is_aggregated(row));
        let builder = aggregated.fold(builder, Builder::described);
        let gardens = garden::Rules { profile: parts.profile.unwrap_or_default(), version: parts.version };
        // Seeds are decoded for the networks of their clusters.
        let builder = builder.known::<Seed>(catalogue::of::<Seed>());
        let server = kinds::unstored(kinds::register(builder, own.chain(parts.rows), &gardens));
        let server = pods::streams::register(kinds::logs(server, parts.logs));
        let server = match parts.webhooks {
            Some(caller) => server.webhooks(caller),
            None => server,
        };
        let server = match parts.metrics {
            Some(metrics) => server.metrics(metrics),
            None => server,
        };
        let evictions = Evictions::default();
        let server = kinds::evictions(kinds::tokens(server, parts.tokens.as_ref()), &evictions).build();
        evictions.look_at(server.clone());
        networks.look_at(server.clone());
        if let Some(tokens) = &parts.tokens {
            tokens.look_at(server.clone());
        }
        server.start(tasks);
        let (dialer, clocks) = (parts.extensions, (time.clone(), wall.clone()));
        let host = Self {
            inner: Arc::new(Inner {
                server,
                aggregated: Mutex::new(None),
                clock: OnceLock::new(),
                log: OnceLock::new(),
                faults: Faults::default(),
                joined: OnceLock::new(),
                pages: PagesOnce::default(),
                time,
                wall,
                heartbeats,
                has_runtime: AtomicBool::new(false),
                tokens: parts.tokens,
                first_roles: rbac.clone().map(FirstRoles::new),
                first_objects: FirstObjects::new(parts.trust),
                event_expiry: EventExpiry::new(parts.event_ttl),
                rbac,
                custom_resources,
                extensions: OnceLock::new(),
                networks,
                news,
            }),
        };
        if let Some(dialer) = dialer {
            let ways = (host.inner.server.clone(), host.own_transport());
            let _ = host.inner.extensions.set(Extensions::new(dialer, ways, tasks.clone(), clocks));
        }
        host
    }

    /// Sum of [`Server::account`] of its own server and of an aggregated server in this process.
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

    /// Forwards [`catalogue::AGGREGATED_GROUPS`] of cluster `garden` to a server of this process from now on, with the
    /// user of each request; `None`: no server serves them.
    pub fn aggregate(&self, server: Option<Server>) {
        self.set_aggregated(server.map(Backend::Server));
    }

    /// Registers processes as [`Host::aggregate`] does a server; the set may be empty at first.
    pub fn aggregate_instances(&self, instances: Instances) {
        self.set_aggregated(Some(Backend::Instances(instances)));
    }

    fn set_aggregated(&self, backend: Option<Backend>) {
        *self.inner.aggregated.lock() = backend;
    }

    /// Requests the line counts of watches from every API server of the landscape (see [`Server::line_counts`]); `None`: one
    /// cannot reach the log.
    pub fn line_counts(&self) -> BoxFuture<'_, Option<LineCounts>> {
        Box::pin(async move {
            let own = self.inner.server.line_counts().await;
            // The count is complete: the server has followed the log to its head.
            let entries = self.inner.news.entries();
            let theirs = match self.aggregated() {
                Some(backend) => backend.line_counts(entries).await,
                None => Watches { line_counts: Some(LineCounts::default()), reached_others: false },
            };
            let reached_others = self.inner.server.take_reached_others() || theirs.reached_others;
            if let Some(clock) = self.inner.clock.get().filter(|_| reached_others) {
                clock.with(Timekeeper::reached_others);
            }
            let (_, own) = own?;
            Some(own.and(theirs.line_counts?))
        })
    }

    /// Creates the object with the simulated durations, unless it exists.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn create_timing(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.create(kinds::timing::PATH, serde_json::json!({ "metadata": { "name": domain::rollout::timing::NAME } }))
    }

    /// Creates an object; returns no error if it exists.
    fn create(&self, path: &'static str, body: serde_json::Value) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let failed = |error: http::Error| TransportError::Broken(error.to_string());
            let request = http::Request::post(path).body(full(body.to_string())).map_err(failed)?;
            self.own_transport().send(request).await?;
            Ok(())
        })
    }

    /// Applies the clock object to the clock; if the object does not exist, sets `mode` and creates the object.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn set_clock<'a>(
        &'a self,
        clock: &'a ClockService,
        mode: time::timekeeper::Mode,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            let spec = clock_object::spec(mode, false);
            let body = serde_json::json!({ "metadata": { "name": CLOCK_NAME }, "spec": spec });
            self.create(clock_object::PATH, body).await?;
            self.apply_clock_object(clock).await;
            Ok(())
        })
    }

    /// Applies the clock object to the clock, if the object exists.
    async fn apply_clock_object(&self, clock: &ClockService) {
        if let Some(object) = self.inner.server.object::<Clock>(cluster::RUNTIME, "", CLOCK_NAME).await {
            clock_object::apply(clock, &object.spec);
        }
    }

    /// Records that `owner` runs and renews the Lease `lease` of [`SEED_LEASE`](api::constants::namespace::SEED_LEASE)
    /// from now on.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn start_renewing<'a>(&'a self, lease: &'a str, owner: &'a str) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            self.inner.heartbeats.begin(lease, owner);
            heartbeats::fix(&self.own_transport(), Some(lease), None).await
        })
    }

    /// Records that `owner` has ended: the time of its last renewal is stored, unless another owner runs.
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

    /// Stores the present time as last renewal of all Leases, at a start of the host: their owners have ended with the
    /// host's earlier start.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn stop_all_renewals(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move { heartbeats::fix(&self.own_transport(), None, Some(self.inner.time.now())).await })
    }

    /// Faults that the host applies to requests.
    pub(crate) fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// Serves landscape time from now on. Only the first call has an effect.
    pub fn serve_clock(&self, clock: ClockService) {
        let _ = self.inner.clock.set(clock);
    }

    /// Serves the log below [`eventlog_remote::PREFIX`] from now on. Only the first call has an effect.
    pub fn serve_log(&self, log: Arc<dyn EventLog>) {
        let _ = self.inner.log.set(front::log_service::server(log));
    }

    /// Accepts processes that the host did not start, from now on. Only the first call has an effect.
    pub(crate) fn serve_joining(&self, joined: Joined) {
        let _ = self.inner.joined.set(joined);
    }

    /// Serves pages for browsers below [`PAGES`] from now on. Only the first call has an effect.
    pub fn serve_pages(&self, pages: Pages) {
        let _ = self.inner.pages.0.set(pages);
    }

    fn aggregated(&self) -> Option<Backend> {
        self.inner.aggregated.lock().clone()
    }

    /// Answers a request; see [`Server::call`].
    pub fn call(&self, request: Request) -> ResponseFuture {
        let host = self.clone();
        Box::pin(async move { front::answers::answer(&host, request).await })
    }

    /// Returns a transport to the host that sets `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let host = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            host.call(request)
        })
    }

    /// Networks of clusters.
    pub(crate) fn networks(&self) -> &Networks {
        &self.inner.networks
    }

    /// Authorizer of mode RBAC; `None` in other modes.
    pub(crate) fn rbac(&self) -> Option<&Rbac> {
        self.inner.rbac.as_ref()
    }

    /// The host's own server.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// Transport to the host's own server, with the host as user.
    fn own_transport(&self) -> Transport {
        let user = User { name: "system:apiserver".into(), groups: vec!["system:masters".into()], component: None };
        self.inner.server.transport(user)
    }

    /// Creates the namespaces that every cluster has.
    async fn create_namespaces(&self, cluster: &str) -> Result<(), TransportError> {
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
