// SPDX-License-Identifier: Apache-2.0
//! A host that lives: over a log, on a port, with its clock, and with its own components on threads.
//!
//! ```text
//! runtime         HTTPS, the host's server, requests to the aggregated servers, the clock service
//! own threads     kube-controllers and kubelet, as participants in landscape time, over the router in process
//! processes       everything else, started by the kubelet
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use api::cluster;
use api::kubernetes::core::Pod;
use authorizer::Mode as Authorization;
use chrono::TimeDelta;
use clock::{Clock, Instant, Random, TimerClass};
use controller::ObjectKey;
use domain::profile::Profile;
use eventlog::EventLog;
use futures::future::BoxFuture;
use generic_apiserver::Foundation;
use generic_apiserver::http::{self, Health, Metrics};
use generic_apiserver::webhooks::HttpsCaller;
use kube_controllers::{namespace_objects, workload};
use process::child::{self, Ready};
use process::https;
use process::live::{Setup, participate};
use process::panics::{self, Panicked};
use process::participant::{CLOCK_PATH, ReportsOver};
use process::pki::Pair;
use process::{Context, Exit, Identity, Output, Tasks, Transport, User};
use tokio::sync::oneshot;

use crate::aggregation::{Instances, Patience, api_services};
use crate::clock_service::{Barriers, ClockService};
use crate::identity::{CertificateAuthenticator, ClusterAuthenticator, OwnAuthorities};
use crate::joined::Joined;
use crate::kubelet::{self, Before, Launcher, Logs};
use crate::services::Services;
use crate::signing_requests::OwnSigners;
use crate::timekeeper::Mode;
use crate::timing_object::PodEnd;
use crate::tokens::Tokens;
use crate::{Host, Pages, Parts, aggregated_roles, registry, signing_requests};

/// Wall time that connections have to end.
const LAST_STEP: TimeDelta = TimeDelta::seconds(12);
/// Where a page follows what it shows.
const PAGE_STREAM_PATH: &str = "/dashboard/stream";
/// Where the log is followed.
const LOG_WATCH_PATH: &str = "/log/v1/watch";
/// Why time stands while the landscape begins.
pub const START: &str = "start";
/// A component of the host that ran for so long in wall time starts with a clean record.
const CLEAN_RECORD: TimeDelta = TimeDelta::minutes(10);
/// Wall time after which a server of the aggregated groups is doubted, and that it then has to answer: both together
/// are less than participants have that wait for it.
const PATIENCE: TimeDelta = TimeDelta::seconds(5);
const LOOK: TimeDelta = TimeDelta::milliseconds(5);

/// What a host lives on.
pub struct Options {
    /// The state.
    pub log: Arc<dyn EventLog>,
    /// Number of the host's start: writers of different starts must not be taken for one.
    pub start: u64,
    /// Where landscape time stands.
    pub now: Instant,
    /// How it goes on in a landscape whose clock was never set.
    pub mode: Mode,
    /// Keyed randomness of the landscape.
    pub random: Random,
    /// Emulated version, of the host's own components.
    pub version: String,
    /// Where to listen; port 0: any that is free.
    pub listen: SocketAddr,
    /// The host's certificate.
    pub certificate: Pair,
    /// Authorities of users and components, as PEM.
    pub authorities: String,
    /// By whose rules instances of components are registered.
    pub profile: Profile,
    /// How those rules are kept.
    pub skew: registry::Told,
    /// Certificate that the host shows to the servers of the aggregated groups.
    pub front_proxy: Pair,
    /// Authorities of users of the clusters whose objects name none.
    pub own_authorities: OwnAuthorities,
    /// The same, to sign with.
    pub own_signers: OwnSigners,
    /// Who may do what.
    pub authorization: Authorization,
    /// What tokens of ServiceAccounts are signed with.
    pub token_secret: Vec<u8>,
    /// Shows every instant of landscape time that is granted, on the dial that processes read.
    pub turn: Box<dyn Fn(Instant) + Send + Sync>,
    /// Why the processes of pods are not there any more.
    pub before: Before,
    /// Given the address, says how pods become processes.
    pub launcher: Box<dyn FnOnce(SocketAddr) -> Launcher + Send>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A host that lives.
#[derive(Debug)]
pub struct Live {
    host: Host,
    clock: ClockService,
    random: Random,
    version: String,
    tasks: Tasks,
    serving: http::Serving,
    instances: Instances,
    threads: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Live {
    /// Starts everything. The future must run on a runtime with drivers.
    ///
    /// # Errors
    /// The address is in use, a certificate cannot be used, or the system has no thread left.
    pub fn start(options: Options) -> BoxFuture<'static, io::Result<Self>> {
        Box::pin(async move {
            let Options { log, start, now, mode, random, version, listen, certificate, authorities, .. } = options;
            let wall = Clock::wall();
            // What they say is a line of the panic's own.
            let tasks = Tasks::catching(wall.clone(), |_| {});
            let door: Arc<OnceLock<Host>> = Arc::default();
            // The log says how time goes, and whether it is paused: until it has been read, time stands.
            let clock = ClockService::start(now, Mode::Stepped, wall.clone(), log.clone(), barriers(&door), &tasks);
            let log = clock.counted_log();
            clock.show_on(options.turn);
            // Until the first server of the aggregated groups is there, who asks for them would only pass the time.
            clock.with(|keeper, wall| keeper.hold(START, wall));
            let foundation = Foundation {
                log: log.clone(),
                clock: clock.clock(),
                wall: wall.clone(),
                random: random.clone(),
                writer: writer(start, 0),
                recent_bytes: generic_apiserver::RECENT_BYTES,
            };
            let logs = Logs::new(clock.clock());
            let services = Services::default();
            let tokens = Tokens::new(&options.token_secret);
            // One count, whatever path it is read at.
            let metrics = Metrics::default();
            let webhooks = HttpsCaller::new("kube-apiserver-admission", services.names());
            let parts = Parts {
                logs: Some(logs.clone()),
                webhooks: Some(Arc::new(webhooks)),
                profile: Some(options.profile),
                version: version.clone(),
                metrics: Some(metrics.clone()),
                tokens: Some(tokens.clone()),
                authorization: options.authorization,
                ..Parts::default()
            };
            let host = Host::with(foundation, &tasks, parts);
            host.serve_clock(clock.clone());
            host.serve_log(log.clone());
            host.set_clock(&clock, mode).await.map_err(io::Error::other)?;
            host.tell_timing().await.map_err(io::Error::other)?;
            let _ = door.set(host.clone());
            let told = clock.clone();
            let patience = Patience {
                wall: wall.clone(),
                time: PATIENCE,
                told: Arc::new(move |name, answers| {
                    if answers {
                        tracing::info!(server = name, "a server of the aggregated groups answers again, or has ended");
                    } else {
                        tracing::warn!(
                            server = name,
                            "a server of the aggregated groups does not answer: others are asked"
                        );
                    }
                    told.with(
                        |keeper, wall| if answers { keeper.is_back(name) } else { keeper.do_without(name, wall) },
                    );
                }),
            };
            let instances = Instances::new(tasks.clone(), log.clone(), clock.clock(), patience);
            host.aggregate_instances(instances.clone());

            let landscape = CertificateAuthenticator::new(&authorities, start)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
            let authenticator = ClusterAuthenticator::new(landscape, host.server().clone(), options.own_authorities);
            let authenticator = authenticator.with_tokens(tokens);
            let mut serve = http::Options::new(certificate, authenticator, clock.clock(), wall.clone());
            serve.listen = listen;
            serve.random = random.clone();
            serve.health = Health::default();
            serve.metrics = metrics;
            if let Some(rbac) = host.rbac() {
                serve.authorizer = Arc::new(rbac.clone());
            }
            serve.lasting =
                Arc::new(|path| path.starts_with(CLOCK_PATH) || path == LOG_WATCH_PATH || path == PAGE_STREAM_PATH);
            let door = host.clone();
            let serving = http::serve(&tasks, move |request| door.call(request), serve).await?;
            let launch = (options.launcher)(serving.address());

            let mut live = Self {
                host,
                clock,
                random,
                version,
                tasks,
                serving,
                instances: instances.clone(),
                threads: Vec::new(),
            };
            let (transport, time, known) = (live.transport("apiserver"), live.clock.clock(), instances.clone());
            live.tasks.restarting("availability of APIServices", move || {
                tell_availability(transport.clone(), time.clone(), known.clone())
            });
            let (is_process, pod_end) = (launch.clone(), PodEnd::default());
            let ends = pod_end.clone();
            let workload = workload::Options {
                is_process: Arc::new(move |image| is_process.names(image)),
                node_of: Arc::new(|cluster| (!cluster::is_technical_id(cluster)).then(|| "terrarium".to_owned())),
                pod_end_of: Arc::new(move |cluster| ends.of(cluster)),
                ..workload::Options::default()
            };
            let namespace_objects = namespace_objects::Options { root_ca: authorities.clone() };
            let has_roles = live.host.rbac().is_some();
            let own_signers = options.own_signers;
            live.spawn("kube-controller-manager", move |context, _| {
                context.tasks.spawn(pod_end.clone().follow(context.clone()));
                if has_roles {
                    context.tasks.spawn(aggregated_roles::run(context.clone()));
                }
                let options = kube_controllers::Options {
                    workload: Some(workload.clone()),
                    namespace_objects: Some(namespace_objects.clone()),
                    certificates: Some(signing_requests::options(&context, own_signers.clone())),
                };
                kube_controllers::run(context, options)
            })?;
            let (holding, leaving) = (live.clock.clone(), live.clock.clone());
            let (serves, door) = (launch.clone(), live.transport("kubelet"));
            // Before the first process asks.
            registry::tell(&door, options.skew).await.map_err(io::Error::other)?;
            // Nobody of an earlier start is alive.
            registry::remove(&door, None).await.map_err(io::Error::other)?;
            live.host.stop_all_renewals().await.map_err(io::Error::other)?;
            let renewals: Renewals = Arc::default();
            let (of_hosts, time, known) = (live.host.clone(), live.clock.clone(), renewals.clone());
            live.tasks.restarting("heartbeats", move || {
                stop_renewals_of_silent(of_hosts.clone(), time.clone(), known.clone())
            });
            let (known, certificate) = (authorities.clone(), options.front_proxy.clone());
            let far = move |address: &str| {
                way_to(address, &known, &certificate, https::Reach::Network).map_err(|error| error.to_string())
            };
            let joined = Joined::new(launch.clone(), instances.clone(), Box::new(far), live.transport("apiserver"));
            live.host.serve_joining(joined.clone());
            let context = live.context("apiserver");
            live.tasks.restarting("processes that have joined", move || joined.clone().follow(context.clone()));
            let (host, asked, faults) = (live.host.clone(), instances.clone(), live.host.faults().clone());
            let (of_host, hit, known) = (live.host.clone(), instances.clone(), renewals.clone());
            live.tasks.restarting("faults", move || obey_faults(of_host.clone(), hit.clone(), known.clone()));
            let kubelet = kubelet::Options {
                launch,
                listener: Arc::new(
                    move |pod: &ObjectKey, object: &Pod, ready: Option<&Ready>| -> BoxFuture<'static, ()> {
                        let name = child::participant(&pod.cluster, &pod.name);
                        services.note(pod, object, ready);
                        let (host, heartbeat) = (host.clone(), serves.heartbeat(&pod.cluster, object));
                        let mut all = renewals.lock().unwrap_or_else(PoisonError::into_inner);
                        match heartbeat.as_ref().filter(|_| ready.is_some()) {
                            Some(heartbeat) => all.insert(name.clone(), heartbeat.clone()),
                            None => all.remove(&name),
                        };
                        drop(all);
                        let Some(ready) = ready else {
                            leaving.leave(&name);
                            instances.remove(&name);
                            let (transport, lease) = (door.clone(), serves.lease(&pod.cluster, object));
                            return Box::pin(async move {
                                if let Some(heartbeat) = heartbeat
                                    && let Err(error) = host.stop_renewing(&heartbeat, &name).await
                                {
                                    tracing::warn!(%error, heartbeat, "cannot store when a process renewed its Lease last");
                                }
                                if let Some(lease) = lease
                                    && let Err(error) = registry::remove(&transport, Some(&lease)).await
                                {
                                    tracing::warn!(%error, lease, "cannot remove the Lease of a process that has ended");
                                }
                            });
                        };
                        let image = object.spec.containers.first().map_or("", |container| container.image.as_str());
                        if serves.serves(image) {
                            match way_to(&ready.address, &authorities, &options.front_proxy, https::Reach::Machine) {
                                Ok(transport) => instances.insert(&name, transport),
                                Err(error) => child::say(&format!("pod {pod}: {error}")),
                            }
                        }
                        let faults = faults.clone();
                        Box::pin(async move {
                            if let Some(heartbeat) = heartbeat
                                && let Err(error) = host.start_renewing(&heartbeat, &name).await
                            {
                                tracing::warn!(%error, heartbeat, "cannot note that a process lives");
                            }
                            faults.touch();
                        })
                    },
                ),
                faults: live.host.faults().clone(),
                asked: Arc::new(move |pod: &ObjectKey, is_asked| {
                    asked.set_asked(&child::participant(&pod.cluster, &pod.name), is_asked);
                }),
                hold: Arc::new(move |name, holds| {
                    holding.with(|keeper, wall| if holds { keeper.hold(name, wall) } else { keeper.release(name) });
                }),
                logs,
                before: options.before,
            };
            live.spawn("kubelet", move |context, ended| {
                let mut options = kubelet.clone();
                if let Some(why) = ended {
                    options.before = Before::Lost(format!("the kubelet was started again: {why}"));
                }
                kubelet::run(context, options)
            })?;
            Ok(live)
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// The clock.
    pub fn clock(&self) -> &ClockService {
        &self.clock
    }

    /// Resolves when somebody serves the aggregated groups.
    pub fn aggregated(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut count = self.instances.count();
            // An error would mean that `self` is gone.
            let _ = count.wait_for(|count| *count > 0).await;
        })
    }

    /// Creates the APIServices of the aggregated groups, as far as they are missing.
    ///
    /// # Errors
    /// What the host's own server says.
    pub fn register(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let transport = self.transport("apiserver");
            api_services::create(&transport).await?;
            let is_available = *self.instances.count().borrow() > 0;
            api_services::set_available(&transport, &self.clock.clock(), is_available).await
        })
    }

    /// Serves pages for browsers from now on; once.
    pub fn serve_pages(&self, pages: Pages) {
        self.host.serve_pages(pages);
    }

    /// The way to everything that the host serves, as a user. Requests come from others than the landscape's components.
    pub fn door(&self) -> Arc<dyn Fn(User) -> Transport + Send + Sync> {
        let host = self.host.clone();
        Arc::new(move |user| {
            let transport = host.transport(user);
            Transport::new(http::guarded(move |request| transport.send(request)))
        })
    }

    /// Tasks that end with the host.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The landscape has what it begins with: time may go.
    pub fn begin(&self) {
        self.clock.with(|keeper, _| keeper.release(START));
    }

    /// A context for requests of the host itself, which takes no part in landscape time.
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

    /// Resolves when something of the host panicked that cannot be begun anew, with what is said of it.
    pub async fn panicked(&self) -> String {
        self.tasks.panic().await
    }

    /// Runs a component of the host on a thread of its own. One that fails or panics, or that the clock has dropped for its
    /// silence, is started again, as a process would be; it is told why its last run ended.
    fn spawn<F>(
        &mut self,
        name: &'static str,
        component: impl Fn(Context, Option<&str>) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let (identity, random, transport) = (self.identity(name), self.random.clone(), self.transport(name));
        let dial = self.clock.dial();
        let (noting, clock) = (self.clock.clone(), self.clock.clone());
        let told = Arc::new(move |panicked: Panicked| {
            let Panicked { name: task, times, message, .. } = panicked;
            noting.note_trouble(name, &format!("{task} panicked {times} times, and was begun anew: {message}"));
        });
        let setup = move || Setup {
            identity: identity.clone(),
            participant: name.to_owned(),
            random: random.clone(),
            transport: transport.clone(),
            dial: Some(dial.clone()),
            output: Output::new(child::say),
            panicked: Some(told.clone()),
        };
        let participant = ::http::HeaderValue::from_static(name);
        let reports = ReportsOver { transport: self.transport(name), participant };
        let (stop, mut stopped) = oneshot::channel();
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut ended: Option<String> = None;
            let (mut times, mut in_a_row) = (0_u32, 0_u32);
            loop {
                let stop = async {
                    let _ = (&mut stopped).await;
                };
                let began = Clock::wall().now();
                let run = AssertUnwindSafe(|| {
                    participate(setup(), reports.clone(), stop, |context| Ok(component(context, ended.as_deref())))
                });
                let why = match catch_unwind(run) {
                    Ok(Ok(Exit { code: 0, .. })) => break,
                    Ok(Ok(exit)) => exit.last_line,
                    Ok(Err(error)) => error,
                    Err(payload) => format!("it panicked: {}", panics::text(&*payload)),
                };
                times = times.saturating_add(1);
                in_a_row = if Clock::wall().now() - began >= CLEAN_RECORD { 1 } else { in_a_row.saturating_add(1) };
                let pause = panics::pause(in_a_row);
                child::say(&format!("{name} ended, and is started again in {} s: {why}", pause.num_seconds()));
                // Nobody waits for it meanwhile.
                clock.leave(name);
                clock.note_trouble(name, &format!("ended {times} times, and was started again: {why}"));
                ended = Some(why);
                let ends = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = &mut stopped => true,
                        () = Clock::wall().sleep(pause, TimerClass::Work) => false,
                    }
                });
                if ends {
                    break;
                }
            }
        })?;
        self.threads.push((stop, thread));
        Ok(())
    }

    fn identity(&self, name: &str) -> Identity {
        Identity { component: name.into(), instance: name.into(), version: self.version.as_str().into() }
    }

    fn transport(&self, name: &str) -> Transport {
        let groups = vec!["system:masters".into(), "system:authenticated".into()];
        let component = Some((name.into(), self.version.as_str().into()));
        let transport = self.host.transport(User { name: format!("system:{name}").into(), groups, component });
        // A request that panics must not take the thread along that asks.
        Transport::new(http::guarded(move |request| transport.send(request)))
    }

    /// Ends everything: first the processes, then the rest of the host.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Self { tasks, serving, threads, .. } = self;
            // The kubelet came last and goes first: its processes still need everything else.
            for (stop, thread) in threads.into_iter().rev() {
                drop(stop);
                while !thread.is_finished() {
                    Clock::wall().sleep(LOOK, TimerClass::Work).await;
                }
            }
            serving.stop();
            let ended = async {
                serving.ended().await;
                tasks.stop();
                tasks.ended().await;
            };
            tokio::select! {
                biased;
                () = ended => {}
                () = Clock::wall().sleep(LAST_STEP, TimerClass::Work) => {}
            }
        })
    }
}

/// The id of a writer to the log: unlike those of all other processes, and of other starts of the host.
pub fn writer(start: u64, process: u64) -> u64 {
    start << 40 | process << 20
}

/// Number of the start to which a [`writer`] belongs.
pub fn start_of(writer: u64) -> u64 {
    writer >> 40
}

/// The way to an instance.
fn way_to(
    address: &str,
    authorities: &str,
    certificate: &Pair,
    reach: https::Reach,
) -> Result<Transport, https::OptionsError> {
    https::transport(&https::Options {
        server: address.to_owned(),
        authorities: authorities.to_owned(),
        credentials: https::Credentials::Certificate(certificate.clone()),
        watches: https::Watches::Http1,
        reach,
        ..https::Options::default()
    })
}

/// Keeps the condition of the APIServices.
async fn tell_availability(transport: Transport, clock: Clock, instances: Instances) {
    let mut count = instances.count();
    let mut known = None;
    loop {
        let is_available = *count.borrow() > 0;
        if known != Some(is_available) {
            known = Some(is_available);
            if let Err(error) = api_services::set_available(&transport, &clock, is_available).await {
                tracing::warn!(%error, "cannot say whether the aggregated groups are available");
                known = None;
            }
        }
        if count.changed().await.is_err() {
            return;
        }
    }
}

/// Participants that renew a Lease, and its name.
type Renewals = Arc<Mutex<BTreeMap<String, String>>>;

/// Who was dropped because it did not report does not renew its Lease any more.
async fn stop_renewals_of_silent(host: Host, clock: ClockService, renewals: Renewals) {
    let mut known = BTreeSet::new();
    loop {
        known = clock.dropped_after(&known).await;
        let silent: Vec<(String, String)> = {
            let renewals = renewals.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(|name| Some((name.clone(), renewals.get(name)?.clone()))).collect()
        };
        for (name, heartbeat) in silent {
            if let Err(error) = host.stop_renewing(&heartbeat, &name).await {
                tracing::warn!(%error, heartbeat, "cannot store when a process renewed its Lease last");
            }
        }
    }
}

/// Who is cut off is sent nothing, and renews no heartbeat.
async fn obey_faults(host: Host, instances: Instances, renewals: Renewals) {
    let mut changes = host.faults().changes();
    let mut silent = BTreeSet::new();
    loop {
        let now = host.inner.time.now();
        instances.cut_off(|name| {
            let pod = name.rsplit('/').next().unwrap_or_default();
            host.faults().isolates("gardener-apiserver", pod, now)
        });
        let all = renewals.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, seed) in all {
            let pod = name.rsplit('/').next().unwrap_or_default();
            let done = if host.faults().silences(pod, &seed, now) {
                silent.insert(name.clone());
                host.stop_renewing(&seed, &name).await
            } else if silent.remove(&name) {
                host.start_renewing(&seed, &name).await
            } else {
                continue;
            };
            if let Err(error) = done {
                tracing::warn!(%error, seed, "cannot store whether a heartbeat is renewed");
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn barriers(door: &Arc<OnceLock<Host>>) -> Barriers {
    let door = door.clone();
    Arc::new(move |number, confirmed| {
        let host = door.get().cloned();
        Box::pin(async move { host?.barrier(number, confirmed).await })
    })
}
