// SPDX-License-Identifier: Apache-2.0
//! The host process: log, API, clock, kube-controllers and process kubelet of one landscape.
//!
//! ```text
//! main thread     a runtime of several threads: HTTPS, host, gardener-apiserver's groups, clock service
//! own threads     kube-controllers and kubelet, as participants in landscape time, over the router in process
//! processes       the other components, started by the kubelet
//! ```

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use chrono::TimeDelta;
use clock::{Clock, Random, TimerClass};
use controller::ObjectKey;
use eventlog::{EventLog, MemoryLog};
use generic_apiserver::Foundation;
use generic_apiserver::http::{self, Health};
use host::clock_service::{Barriers, ClockService};
use host::kubelet::{self, Launch, Logs};
use host::timekeeper::Mode;
use host::{Host, Parts};
use process::child::Assignment;
use process::live::{Setup, participate};
use process::participant::ReportsOver;
use process::{Context, Exit, Identity, Output, Tasks, Transport, User};
use tokio::sync::oneshot;

use super::authority::{Components, LandscapeAuthenticator, LandscapeAuthority};
use super::bootstrap;
use super::components::Program;
use super::directory::{Directory, Facts, HostFile};
use crate::failure::Failure;

/// Wall time between two looks at whether the landscape is to end.
const LAST_STEP: TimeDelta = TimeDelta::seconds(12);

/// Runs the landscape of a directory until a signal ends it.
pub(crate) fn run(directory: &Directory) -> ExitCode {
    match live(directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            process::child::say(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn live(directory: &Directory) -> Result<(), Failure> {
    let _held = directory.hold()?;
    let facts =
        directory.facts()?.ok_or_else(|| Failure::input("there is no landscape", "`terrarium up` makes one"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot make a runtime: {error}")))?;
    let running = runtime.block_on(Running::start(directory, facts))?;
    runtime.block_on(end_signal());
    runtime.block_on(running.stop());
    Ok(())
}

async fn end_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else { return std::future::pending().await };
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// A landscape that runs.
struct Running {
    tasks: Tasks,
    serving: http::Serving,
    threads: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Running {
    async fn start(directory: &Directory, mut facts: Facts) -> Result<Self, Failure> {
        let tasks = Tasks::new();
        let wall = Clock::wall();
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let authority = LandscapeAuthority::of(directory)?;
        let components = Components::default();
        let door: Arc<OnceLock<Host>> = Arc::default();
        let clock =
            ClockService::start(facts.start_time, Mode::Eager, wall.clone(), log.clone(), barriers(&door), &tasks);
        let random = Random::new(facts.seed);
        let foundation = |writer| Foundation {
            log: log.clone(),
            clock: clock.clock(),
            wall: wall.clone(),
            random: random.clone(),
            writer,
        };
        let logs = Logs::new(clock.clock());
        let host = Host::with(foundation(1), &tasks, Parts { logs: Some(logs.clone()), ..Parts::default() });
        host.serve_clock(clock.clone());
        let _ = door.set(host.clone());
        let apiserver = apiserver::service(foundation(2), &bootstrap::apiserver_options(&facts)?);
        apiserver.start(&tasks);
        host.aggregate(Some(apiserver));

        let authenticator = LandscapeAuthenticator::new(&authority, components.clone())?;
        let certificate = authority.server(&["localhost", "127.0.0.1", "::1"])?;
        let serving = http::serve(&tasks, handler(&host), {
            let mut options = http::Options::new(certificate, authenticator, clock.clock(), wall.clone());
            options.listen = SocketAddr::from(([127, 0, 0, 1], facts.port));
            options.random = random.clone();
            options.health = Health::default();
            options
        })
        .await
        .map_err(|error| Failure::Failed(format!("cannot listen on port {}: {error}", facts.port)))?;
        let address = serving.address();
        if facts.port == 0 {
            facts.port = address.port();
            directory.write_facts(&facts)?;
        }
        let mut running = Self { tasks, serving, threads: Vec::new() };
        let parts = Threads { host, random, facts: facts.clone(), wall };
        running.spawn(&parts, "kube-controller-manager", |context| {
            kube_controllers::run(context, kube_controllers::Options::default())
        })?;
        let launcher = launcher(&facts, &authority, &components, address);
        let holding = clock.clone();
        let options = kubelet::Options {
            launch: launcher,
            listener: Arc::new(|_: &ObjectKey, _, _| {}),
            hold: Arc::new(move |name, holds| {
                holding.with(|keeper, wall| if holds { keeper.hold(name, wall) } else { keeper.release(name) });
            }),
            logs,
        };
        running.spawn(&parts, "kubelet", |context| kubelet::run(context, options))?;
        bootstrap::run(&parts.context("terrarium", &running.tasks), &facts).await?;
        directory.write_host(&HostFile {
            pid: std::process::id(),
            address: address.to_string(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        Ok(running)
    }

    /// Runs a component of the host on a thread of its own.
    fn spawn<F>(
        &mut self,
        parts: &Threads,
        name: &'static str,
        component: impl FnOnce(Context) -> F + Send + 'static,
    ) -> Result<(), Failure>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let transport = parts.transport(name);
        let setup = Setup {
            identity: parts.identity(name),
            participant: name.to_owned(),
            random: parts.random.clone(),
            transport: transport.clone(),
            output: Output::new(process::child::say),
        };
        let reports = ReportsOver { transport, participant: ::http::HeaderValue::from_static(name) };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let stop = async {
                    let _ = stopped.await;
                };
                match participate(setup, reports, stop, |context| Ok(component(context))) {
                    Ok(Exit { code: 0, .. }) => {}
                    Ok(exit) => process::child::say(&format!("{name}: {}", exit.last_line)),
                    Err(error) => process::child::say(&format!("{name}: {error}")),
                }
            })
            .map_err(|error| Failure::Failed(format!("cannot start a thread: {error}")))?;
        self.threads.push((stop, thread));
        Ok(())
    }

    /// Ends everything: first the processes, then the rest of the host.
    async fn stop(self) {
        let Self { tasks, serving, threads } = self;
        // The kubelet came last and goes first: its processes still need everything else.
        for (stop, thread) in threads.into_iter().rev() {
            drop(stop);
            while !thread.is_finished() {
                Clock::wall().sleep(TimeDelta::milliseconds(5), TimerClass::Work).await;
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
    }
}

/// What the host's own components are made of.
struct Threads {
    host: Host,
    random: Random,
    facts: Facts,
    wall: Clock,
}

impl Threads {
    fn identity(&self, name: &str) -> Identity {
        Identity { component: name.into(), instance: name.into(), version: self.facts.gardener_version.as_str().into() }
    }

    fn transport(&self, name: &str) -> Transport {
        let user = User {
            name: format!("system:{name}").into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            component: Some((name.into(), self.facts.gardener_version.as_str().into())),
        };
        self.host.transport(user)
    }

    /// A context for requests of the host itself, which takes no part in landscape time.
    fn context(&self, name: &str, tasks: &Tasks) -> Context {
        Context {
            identity: self.identity(name),
            clock: self.wall.clone(),
            random: self.random.clone(),
            wall: self.wall.clone(),
            transport: self.transport(name),
            tasks: tasks.clone(),
            output: Output::new(process::child::say),
        }
    }
}

fn barriers(door: &Arc<OnceLock<Host>>) -> Barriers {
    let door = door.clone();
    Arc::new(move |number| {
        let host = door.get().cloned();
        Box::pin(async move {
            match host {
                Some(host) => host.barrier(number).await,
                None => false,
            }
        })
    })
}

fn handler(host: &Host) -> impl Fn(process::Request) -> process::transport::ResponseFuture + Send + Sync + 'static {
    let host = host.clone();
    move |request| host.call(request)
}

/// Says how a pod becomes a process: this program, as the component that its image names.
fn launcher(
    facts: &Facts,
    authority: &LandscapeAuthority,
    components: &Components,
    address: SocketAddr,
) -> kubelet::Launcher {
    let (seed, authority, components) = (facts.seed, authority.clone(), components.clone());
    Arc::new(move |cluster, pod| {
        let (program, version) = Program::of(pod)?;
        let launch = || -> Result<Launch, String> {
            let component = program.component(cluster);
            let user = component.user(&version);
            components.insert(&user.name, program.name(), &version);
            let groups: Vec<&str> =
                user.groups.iter().map(|group| &**group).filter(|group| *group != "system:authenticated").collect();
            let assignment = Assignment {
                component: program.name().to_owned(),
                version: version.clone(),
                seed,
                server: address.to_string(),
                authorities: authority.certificate().to_owned(),
                certificate: authority.client(&user.name, &groups)?,
                ..Assignment::default()
            };
            let this: PathBuf = std::env::current_exe().map_err(|error| error.to_string())?;
            Ok(Launch { program: this, args: vec!["component".to_owned(), program.name().to_owned()], assignment })
        };
        Some(launch())
    })
}
