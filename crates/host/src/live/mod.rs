// SPDX-License-Identifier: Apache-2.0
//! A running host: over a log, on a port, with its clock, and with its own components on threads.
//!
//! ```text
//! runtime         HTTPS, the host's server, requests to the aggregated servers, the clock service
//! own threads     kube-controllers and kubelet, as participants in landscape time, over the router in process
//! processes       everything else, started by the kubelet
//! or one thread   all of these as one participant, with the host's tasks and the handlers of writes ([`Options::inside`])
//! ```

mod base;
mod components;
mod door;
mod landscape_thread;
mod outside;
mod processes;
mod threads;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use apimachinery::release::Release;
use authorizer::Mode as Authorization;
use chrono::TimeDelta;
use clock::{Clock, Instant, Random, TimerClass};
use domain::profile::Profile;
use domain::skew::GardenerVersion;
use eventlog::EventLog;
use futures::future::BoxFuture;
use generic_apiserver::http;
use process::child;
use process::inside::Starter;
use process::pki::Pair;
use process::{Context, Identity, Output, Tasks, Transport, User};
use tokio::sync::oneshot;

use self::base::Core;
use self::landscape_thread::{LandscapeThread, WayIn};
use self::processes::WayTo;
use self::threads::Part;
use crate::aggregation::Instances;
use crate::aggregation::api_services::ApiServices;
use crate::identity::OwnAuthorities;
use crate::identity::signing_requests::OwnSigners;
use crate::pods::kubelet::{Before, Launcher};
use crate::time::clock_service::{self, ClockService};
use crate::time::timekeeper::Mode;
use crate::{Host, Pages, registry};

/// Wall time within which open connections must end at a stop.
const LAST_STEP: TimeDelta = TimeDelta::seconds(12);
const LOOK: TimeDelta = TimeDelta::milliseconds(5);

/// Parameters of a running host.
pub struct Options {
    /// Log with the landscape's state.
    pub log: Arc<dyn EventLog>,
    /// Number of the host's start; distinguishes writers of different starts.
    pub start: u64,
    /// Landscape time at the start.
    pub now: Instant,
    /// Mode of the clock in a landscape whose clock was never set.
    pub mode: Mode,
    /// True if another mode is set once the landscape is ready: see [`Timekeeper::await_mode`].
    ///
    /// [`Timekeeper::await_mode`]: crate::time::timekeeper::Timekeeper::await_mode
    pub awaits_mode: bool,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Emulated version of the host's own components.
    pub version: String,
    /// Kubernetes version that cluster `runtime` reports, without `v`.
    pub kubernetes_version: String,
    /// Lifetime of Events.
    pub event_ttl: TimeDelta,
    /// Address to listen on; port 0: any free port.
    pub listen: SocketAddr,
    /// The host's certificate.
    pub certificate: Pair,
    /// Authorities of users and components, as PEM.
    pub authorities: String,
    /// Profile that governs registration of component instances.
    pub profile: Profile,
    /// Enforcement of the profile's rules.
    pub skew: registry::Settings,
    /// Certificate that the host shows to the servers of the aggregated groups.
    pub front_proxy: Pair,
    /// Authority of that certificate as PEM, and the name in the certificate.
    pub front_proxies: (String, String),
    /// Authorities of users of the clusters whose objects name none.
    pub own_authorities: OwnAuthorities,
    /// Authorities of `own_authorities` with their keys.
    pub own_signers: OwnSigners,
    /// Authorization mode.
    pub authorization: Authorization,
    /// Private key of curve P-256 that signs tokens of ServiceAccounts, PKCS #8 as DER.
    pub token_key: Vec<u8>,
    /// Called with every granted instant of landscape time, for the dial that processes read.
    pub turn: Arc<dyn Fn(Instant) + Send + Sync>,
    /// Reason for which the earlier processes of pods have ended.
    pub before: Before,
    /// True if components run as tasks of this process.
    pub inside: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// Client for requests of the host itself. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    way_in: WayIn,
    clock: ClockService,
    random: Random,
    version: String,
    tasks: Tasks,
    instances: Instances,
    api_services: ApiServices,
}

impl Client {
    /// Waits until a server of the aggregated groups is ready.
    pub fn aggregated(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut count = self.instances.count();
            // An error would mean that `self` was dropped.
            let _ = count.wait_for(|count| *count > 0).await;
        })
    }

    /// Creates the missing APIServices of the aggregated groups.
    ///
    /// # Errors
    /// The error response of the host's own server.
    pub fn register(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let version = GardenerVersion::parse(&self.version).map(|version| version.served_release());
            self.api_services.create(version.unwrap_or(Release::UNION)).await
        })
    }

    /// Context for requests of the host itself, without part in landscape time.
    pub fn context(&self, name: &str) -> Context {
        Context {
            identity: self.identity(name),
            clock: self.clock.clock(),
            random: self.random.clone(),
            wall: Clock::wall(),
            transport: self.transport(name),
            tasks: self.tasks.clone(),
            output: Output::new(child::say),
        }
    }

    fn identity(&self, name: &str) -> Identity {
        Identity { component: name.into(), instance: name.into(), version: self.version.as_str().into() }
    }

    fn user(&self, name: &str) -> User {
        user(name, &self.version)
    }

    fn transport(&self, name: &str) -> Transport {
        self.way_in.transport(self.user(name))
    }
}

/// A running host.
#[derive(Debug)]
pub struct Live {
    client: Client,
    host: Host,
    /// Tasks of connections and pages.
    tasks: Tasks,
    /// Tasks that react to events of the landscape; the same as `tasks` if components are processes.
    following: Tasks,
    serving: http::Serving,
    /// Starter of components on the landscape's thread; `None`: there is no such thread.
    starter: Option<Starter>,
    /// The host's own components, in the order in which they were started.
    parts: Vec<Part>,
}

impl Live {
    /// Starts all parts of the host; `launcher` returns the launcher of pods, given the address of the host. The future
    /// must run on a runtime with drivers.
    ///
    /// # Errors
    /// The address is in use, a certificate cannot be used, or the system cannot create another thread.
    pub fn start(
        options: Options,
        launcher: impl FnOnce(SocketAddr) -> Launcher + Send + 'static,
    ) -> BoxFuture<'static, io::Result<Self>> {
        Box::pin(async move {
            // Nothing to report here: a panicking task prints a line of its own.
            let tasks = Tasks::catching(Clock::wall(), |_| {});
            let thread = if options.inside { Some(LandscapeThread::start()?) } else { None };
            let on_thread = thread.as_ref().map(|thread| (thread.tasks(), thread.quiescence().clone()));
            let following = on_thread.as_ref().map_or_else(|| tasks.clone(), |(tasks, _)| tasks.clone());
            let quiescence = thread.as_ref().map(|thread| thread.quiescence().clone());
            let core = Core::start(&options, quiescence, &following).await?;
            let way_in = WayIn::new(core.host.clone(), on_thread);
            let serving = door::open(&options, &core, way_in.clone(), &tasks).await?;
            let launch = launcher(serving.address());
            let apiserver = way_in.transport(user("apiserver", &options.version));
            let api_services = ApiServices::new(apiserver, core.clock.clock(), core.instances.clone());
            let client = Client {
                way_in,
                clock: core.clock,
                random: options.random,
                version: options.version,
                tasks: tasks.clone(),
                instances: core.instances,
                api_services,
            };
            let mut live =
                Self { client, host: core.host, tasks, following, serving, starter: None, parts: Vec::new() };
            let inside = thread.map(|thread| live.start_inside(thread, core.log, core.services.names()));
            live.follow_availability();
            live.start_controllers(&launch, &options.authorities, options.own_signers)?;
            live.begin_registry(options.skew).await?;
            let certificate = WayTo { authorities: options.authorities, certificate: options.front_proxy };
            let renewals = live.follow_renewals();
            live.let_processes_join(&launch, &certificate);
            live.follow_faults(&renewals);
            let listener = live.listener(&launch, certificate, renewals, core.services);
            live.start_kubelet(launch, listener, core.logs, options.before, inside)?;
            Ok(live)
        })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// Clock of the landscape.
    pub fn clock(&self) -> &ClockService {
        &self.client.clock
    }

    /// Client for requests of the host itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a task with the tasks that react to the landscape, on the landscape's thread if there is one, as soon as
    /// nothing else is runnable there; the result is `None` if the host ends before the task does.
    pub fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Option<T>> + 'static {
        let (sender, result) = oneshot::channel();
        let quiescence = self.client.way_in.quiescence();
        self.following.spawn(async move {
            if let Some(quiescence) = quiescence {
                quiescence.reached().await;
            }
            let _ = sender.send(task.await);
        });
        async move { result.await.ok() }
    }

    /// Serves pages for browsers from now on. Only the first call has an effect.
    pub fn serve_pages(&self, pages: Pages) {
        self.host.serve_pages(pages);
    }

    /// Returns a function that creates a transport to the host for a user outside of the landscape's components.
    pub fn door(&self) -> Arc<dyn Fn(User) -> Transport + Send + Sync> {
        let way_in = self.client.way_in.clone();
        Arc::new(move |user| way_in.transport(user))
    }

    /// Tasks that end with the host.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Lets landscape time run: the initial objects of the landscape exist.
    pub fn begin(&self) {
        self.client.clock.with(|keeper, wall| keeper.release(clock_service::START, wall));
    }

    /// Resolves when a task of the host panicked that cannot be restarted; returns a message.
    pub async fn panicked(&self) -> String {
        tokio::select! {
            biased;
            panic = self.tasks.panic() => panic,
            panic = self.following.panic() => panic,
        }
    }

    /// Stops everything: first the processes, then the rest of the host.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Self { tasks, following, serving, parts, .. } = self;
            // The kubelet was started last and is stopped first: its processes still need everything else.
            for part in parts.into_iter().rev() {
                part.stop().await;
            }
            serving.stop();
            let ended = async {
                serving.ended().await;
                for tasks in [tasks, following] {
                    tasks.stop();
                    tasks.ended().await;
                }
            };
            tokio::select! {
                biased;
                () = ended => {}
                () = Clock::wall().sleep(LAST_STEP, TimerClass::Work) => {}
            }
        })
    }
}

/// User of a component of the host in an emulated version.
fn user(name: &str, version: &str) -> User {
    let groups = vec!["system:masters".into(), "system:authenticated".into()];
    User { name: format!("system:{name}").into(), groups, component: Some((name.into(), version.into())) }
}

/// Returns the id of a writer to the log: distinct from those of all other processes, and of other starts of the host.
pub fn writer(start: u64, process: u64) -> u64 {
    start << 40 | process << 20
}

/// Number of the start of the host in the id of a [`writer`].
pub fn start_of(writer: u64) -> u64 {
    writer >> 40
}
