// SPDX-License-Identifier: Apache-2.0
//! Logical clusters and aggregation: one front door for everything that a landscape serves.
//!
//! The host serves the core kinds and the kinds of CustomResourceDefinitions of every logical cluster itself, and hands
//! the groups of an aggregated API of one cluster to that API's server.
//!
//! A cluster exists as long as its Cluster object exists in cluster `runtime`. It begins with the namespaces that
//! every Kubernetes cluster has, and what is left in it goes with it.
//!
//! **Invariants.** No rules of Gardener. An aggregated group is never served from the host's own fold: while no server
//! has it, requests for it are answered with 503.
//!
//! **Tour.** [`Host`] the front door, `front` how it answers a request, `place` what a path asks for; [`live`] a host
//! on a port; [`aggregation`] the servers of the aggregated groups; [`clock_service`] landscape time, [`timekeeper`]
//! when it moves, [`clock_object`] how clients see it; `fault_object` what goes wrong on purpose, [`faults`] to processes;
//! `timing_object` how long things take; `garden_object` what a Garden may say; [`kubelet`] pods as processes, `joined`
//! processes that it did not start; `first_roles` roles and `first_objects` other objects that a cluster begins with,
//! `aggregated_roles` roles made of others; [`registry`] which components run; [`identity`] users by their
//! certificates, [`tokens`] by those of ServiceAccounts; `evictions` when a pod may go, `event_expiry` when Events go;
//! `installed` the releases of CustomResourceDefinitions; `log_service` reading of the log;
//! [`catalogue::AGGREGATED_GROUPS`] what is handed on.

mod aggregated_roles;
pub mod aggregation;
mod answers;
pub mod clock_object;
pub mod clock_service;
mod clusters;
mod copies;
mod core_kinds;
mod custom_resources;
mod default_storage_class;
mod event_expiry;
mod evictions;
mod fault_object;
pub mod faults;
mod first_objects;
mod first_roles;
mod front;
mod garden_object;
#[cfg(test)]
mod gated_log;
pub mod heartbeats;
pub mod identity;
mod installed;
mod joined;
pub mod kubelet;
mod limits;
pub mod live;
mod log_service;
mod namespaces;
mod networks;
mod place;
mod pod_admission;
mod pod_streams;
mod rbac_kinds;
pub mod registry;
mod resource_quotas;
mod rows;
mod service_addresses;
mod services;
mod signer_rights;
mod signing_admission;
pub mod signing_requests;
mod storage_defaults;
pub mod timekeeper;
mod timing_object;
pub mod tokens;
mod webhook_kinds;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::aggregation::{Backend, Extensions, Instances, News, Watches};
use crate::clock_service::ClockService;
use crate::custom_resources::CustomResources;
use crate::event_expiry::EventExpiry;
use crate::evictions::Evictions;
use crate::faults::Faults;
use crate::first_objects::FirstObjects;
use crate::first_roles::FirstRoles;
use crate::installed::Installed;
use crate::joined::Joined;
use crate::kubelet::Logs;
use crate::networks::Networks;
use crate::timekeeper::Timekeeper;
use crate::tokens::Tokens;
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
use process::participant::{CLOCK_NAME, Told};
use process::transport::{ResponseFuture, full};
use process::{Request, Tasks, Transport, TransportError, User};

/// Namespaces that every cluster begins with.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Version that cluster `runtime` reports.
const RUNTIME_VERSION: &str = "1.32.0";

/// Where pages for browsers are, and what opens them.
pub const PAGES: [&str; 2] = ["/dashboard", "/terrarium/dashboard/"];

pub use first_objects::Trust;

/// Answers requests for paths below [`PAGES`]; a request carries its user.
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
    /// How webhooks are reached; without it none is called.
    pub webhooks: Option<Arc<dyn WebhookCaller>>,
    /// Reaches extension API servers; without it their APIServices have no effect.
    pub extensions: Option<Arc<Dialer>>,
    /// By whose rules instances of components are registered; `None`: by none.
    pub profile: Option<Profile>,
    /// The emulated version at the beginning; empty: unknown.
    pub version: String,
    /// Kubernetes version that cluster `runtime` reports, without `v`; `None`: 1.32.0.
    pub kubernetes_version: Option<String>,
    /// What `/metrics` of every cluster shows; without it that path does not exist.
    pub metrics: Option<Metrics>,
    /// Issues and judges tokens of ServiceAccounts; without it there are none.
    pub tokens: Option<Tokens>,
    /// Who may do what.
    pub authorization: Mode,
    /// How long Events are kept; `None`: for ever.
    pub event_ttl: Option<TimeDelta>,
    /// Authorities by whose certificates clusters know a user; without them ConfigMap
    /// `kube-system/extension-apiserver-authentication` is not made.
    pub trust: Option<Trust>,
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
    wall: clock::Clock,
    heartbeats: heartbeats::Heartbeats,
    /// Whether cluster `runtime` has its namespaces.
    has_runtime: AtomicBool,
    tokens: Option<Tokens>,
    /// Who may do what, where roles say so.
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
    /// A host over a log, which follows it on a task of `tasks` and serves the rows of the catalogue that are not
    /// Gardener's. [`Host::aggregate`] puts gardener-apiserver behind it.
    pub fn new(foundation: Foundation, tasks: &Tasks) -> Self {
        Self::with(foundation, tasks, Parts::default())
    }

    /// As [`Host::new`], with more.
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
        let networks = Networks::default();
        let builder = builder
            .admission(namespaces::PermanentNamespaces)
            .admission(clock_object::PermanentClock)
            .admission(garden_object::GardenAdmission)
            .admission(limits::LimitRanger)
            .admission(pod_admission::PodAdmission)
            .admission(signing_admission::SubjectRestriction)
            .admission(signer_rights::SignerRights(rbac.clone()))
            .admission(default_storage_class::DefaultStorageClass)
            .admission(service_addresses::ServiceAddresses(networks.clone()))
            .admission(resource_quotas::ResourceQuotas);
        let builder = match parts.profile {
            Some(profile) => builder.admission(registry::Gate::new(profile, parts.metrics.as_ref())),
            None => builder,
        };
        // OpenAPI describes all kinds, also while no server runs for the aggregated ones.
        let aggregated = catalogue::all().iter().chain([catalogue::controller_deployments_view()]);
        let aggregated = aggregated.filter(|row| catalogue::is_aggregated(row));
        let builder = aggregated.fold(builder, Builder::described);
        let gardens = garden::Rules { profile: parts.profile.unwrap_or_default(), version: parts.version };
        // Its networks are those of a seed.
        let builder = builder.known::<Seed>(catalogue::of::<Seed>());
        let server = rows::unstored(rows::register(builder, own.chain(parts.rows), &gardens));
        let server = pod_streams::register(rows::logs(server, parts.logs));
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
                heartbeats: heartbeats::Heartbeats::default(),
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
    /// with the user that they came with); `None`: no server has them.
    pub fn aggregate(&self, server: Option<Server>) {
        self.set_aggregated(server.map(Backend::Server));
    }

    /// As [`Host::aggregate`], to processes; there may be none at the time.
    pub fn aggregate_instances(&self, instances: Instances) {
        self.set_aggregated(Some(Backend::Instances(instances)));
    }

    fn set_aggregated(&self, backend: Option<Backend>) {
        *self.inner.aggregated.lock() = backend;
    }

    /// Asks every API server behind this door what its watches were told (see [`Server::told`]); `None`: one cannot reach the
    /// log.
    pub fn told(&self) -> BoxFuture<'_, Option<Told>> {
        Box::pin(async move {
            let own = self.inner.server.told().await;
            // Complete, since the server has followed the log to its head.
            let entries = self.inner.news.entries();
            let theirs = match self.aggregated() {
                Some(backend) => backend.told(entries).await,
                None => Watches { told: Some(Told::default()), told_others: false },
            };
            let told_others = self.inner.server.take_told_others() || theirs.told_others;
            if let Some(clock) = self.inner.clock.get().filter(|_| told_others) {
                clock.with(Timekeeper::reached_others);
            }
            let (_, own) = own?;
            Some(own.and(theirs.told?))
        })
    }

    /// Makes the object that says how long things take, unless it is there.
    ///
    /// # Errors
    /// The log cannot be reached.
    pub fn create_timing(&self) -> BoxFuture<'_, Result<(), TransportError>> {
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
            let body = serde_json::json!({ "metadata": { "name": CLOCK_NAME }, "spec": spec });
            self.create(clock_object::PATH, body).await?;
            self.apply_clock_object(clock).await;
            Ok(())
        })
    }

    /// Makes the clock go as its object says, if there is one.
    async fn apply_clock_object(&self, clock: &ClockService) {
        if let Some(object) = self.inner.server.object::<Clock>(cluster::RUNTIME, "", CLOCK_NAME).await {
            clock_object::apply(clock, &object.spec);
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

    /// The faults that it applies to requests.
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
        self.inner.aggregated.lock().clone()
    }

    /// Answers a request; see [`Server::call`].
    pub fn call(&self, request: Request) -> ResponseFuture {
        let host = self.clone();
        Box::pin(async move { answers::answer(&host, request).await })
    }

    /// The host as a transport that puts `user` on every request.
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

    /// Who may do what, where roles say so.
    pub(crate) fn rbac(&self) -> Option<&Rbac> {
        self.inner.rbac.as_ref()
    }

    /// The host's own server.
    pub fn server(&self) -> &Server {
        &self.inner.server
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
