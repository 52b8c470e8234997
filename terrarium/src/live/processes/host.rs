// SPDX-License-Identifier: Apache-2.0
//! Host process of one landscape.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::cluster;
use api::constants::annotation;
use api::kubernetes::core::Pod;
use apimachinery::meta::TextMap;
use apimachinery::release::Release;
use apiserver::instance;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random, TimerClass};
use component::signals;
use domain::garden::components::{Program as Component, seed_of};
use domain::skew::GardenerVersion;
use eventlog::sled::{Durability, OpenError, Recovery, SledLog, Trouble};
use eventlog::{EventLog, MemoryLog};
use host::identity::OwnAuthorities;
use host::identity::signing_requests::OwnSigners;
use host::live::{Client, Live, Options};
use host::pods::kubelet::{Before, Form, Launch, Program, Refusal};
use host::registry::Registered;
use host::time::timekeeper::Mode;
use landscape::user_of;
use parking_lot::Mutex;
use process::User;
use process::attempts::Attempts;
use process::child::{Assignment, Joining, Serving};
use process::logging;
use process::panics::say_panics;
use process::pki::Badge;

use super::exposure;
use crate::failure::Failure;
use crate::live::authority::{ClusterAuthorities, LandscapeAuthority, Made, front_proxy};
use crate::live::binaries::{Binaries, ComponentForms};
use crate::live::bootstrap;
use crate::live::clock_file::{Turn, dial, doubt, time};
use crate::live::components::run_inside;
use crate::live::dashboard::mount::Mount;
use crate::live::directory::{Directory, Facts, HOST, HostFile};
use crate::live::start::Start;
use crate::live::{Which, executable, kubeconfig, owner, running, writes};
use ops::names::clusters::NamedCluster;
use ops::spelling::counted;

/// Maximum wall time until the started processes have ended after the directory was removed.
const LAST_STEP: TimeDelta = TimeDelta::seconds(5);
/// Maximum wall time until tasks have ended, after everything else.
const LAST_TASKS: Duration = Duration::from_secs(5);
/// Key of the creation parameters in the log, with the content of `landscape.json`.
pub(in crate::live) const FACTS: &str = "landscape";
/// Maximum wall time for which a host waits for its port.
const PORT_TIMEOUT: TimeDelta = TimeDelta::seconds(3);
/// Wall time between two checks of the port.
const LOOK: TimeDelta = TimeDelta::milliseconds(20);

/// Runs the landscape of a directory until a signal is received or its owner has ended.
pub(crate) fn run(which: &Which, start: Start) -> ExitCode {
    say_panics(process::child::say);
    let parent = which.parent();
    match which.directory().and_then(|directory| live(&directory, parent.as_deref(), start)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            process::child::say(&format!("error: {failure}"));
            if !failure.hint().is_empty() {
                process::child::say(&format!("hint: {}", failure.hint()));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

fn live(directory: &Directory, parent: Option<&Path>, arguments: Start) -> Result<(), Failure> {
    let Start { owner, awaits_clock, losses } = arguments;
    let held = directory.hold(HOST)?;
    let facts = directory.facts()?.ok_or_else(|| directory.missing())?;
    let before = match &held.left_by {
        None => Before::Stopped,
        Some(host) => {
            let what = format!("the host before, process {}, was killed", host.pid);
            process::child::say(&what);
            Before::Lost(what)
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("cannot make a runtime: {error}")))?;
    if losses.discard_damaged && facts.log != "memory" && directory.join("log").exists() {
        discard_damaged(directory)?;
    }
    let log = Log::open(directory, &facts, directory.has_run() && !losses.start_empty)?;
    let (name, ephemeral) = (facts.name.clone(), facts.ephemeral.clone());
    let ended = runtime.block_on(async {
        signals::fail_writes_beyond_limits();
        let authorities = make_keys(directory, &facts)?;
        free_port(&facts).await;
        let (live, facts, turn) = match start(directory, facts, &log, before, awaits_clock).await {
            Ok(started) => started,
            Err(failure) => {
                // Another host may have the directory next, and must find the log unused.
                let _ = log.close().await;
                return Err(failure);
            }
        };
        let pages = Mount::start(&live, directory, &facts, log.events()).await?;
        live.serve_pages(pages);
        let _registered = running::register(parent, directory);
        // The host answers while the objects are created, so that commands can examine a landscape that does not become
        // ready.
        let created = live.run(create_first_objects(live.client().clone(), facts, authorities));
        let begins = async {
            match created.await {
                Some(Err(failure)) => return failure,
                Some(Ok(())) => live.begin(),
                // The host ends.
                None => {}
            }
            std::future::pending().await
        };
        let mut ended = Ok(());
        tokio::select! {
            biased;
            signal = signals::end_signal() => process::child::say(&format!("the landscape stops: {signal}")),
            pid = owner::ended(owner) => {
                process::child::say(&format!("the landscape stops: process {pid}, its owner, has ended"));
            }
            failure = begins => ended = Err(failure),
            panic = live.panicked() => ended = Err(Failure::Failed(panic)),
            failure = writes::watched(&held, &log, live.clock()) => {
                let wall = Clock::wall();
                tokio::select! {
                    biased;
                    () = live.stop() => {}
                    () = wall.sleep(LAST_STEP, TimerClass::Work) => {}
                }
                return Err(failure);
            }
        }
        // Later commands wait for the next host.
        directory.remove_host();
        let now = live.clock().now();
        turn(now);
        live.stop().await;
        // Clusters of Seeds that joined since the start have authorities, too.
        if let Err(failure) = log.note_authorities(directory) {
            process::child::say(&format!("warning: {failure}"));
        }
        let closed = log.close().await;
        // Entries that were written meanwhile are later.
        turn(now.max(log.last_time()));
        log.healed().iter().for_each(|note| process::child::say(&format!("note: {note}")));
        closed.and(ended)
    });
    // Tasks that cannot complete are not waited for.
    runtime.shutdown_timeout(LAST_TASKS);
    ended?;
    match ephemeral {
        None => Ok(()),
        Some(ephemeral) => {
            let place = directory.real();
            directory.purge(&held)?;
            ephemeral.kubeconfig.map_or(Ok(()), |path| kubeconfig::unmerge(&path, &name, &place))
        }
    }
}

/// Creates the initial objects of a landscape, as far as they are missing.
async fn create_first_objects(client: Client, facts: Facts, authorities: String) -> Result<(), Failure> {
    let mut attempts = Attempts::on(Clock::wall());
    loop {
        match bootstrap::run(&client, &facts, &authorities).await {
            // Another client writes, or no server answers for Gardener's groups at present. Created objects stay.
            Err(Failure::Failed(failure)) if attempts.again().await => {
                process::child::say(&format!("the beginning is tried again: {failure}"));
            }
            created => return created,
        }
    }
}

/// Discards damaged parts of the log that cannot be recovered from other files.
fn discard_damaged(directory: &Directory) -> Result<(), Failure> {
    let done = SledLog::repair(directory.join("log"), true).map_err(|error| refused(&error))?;
    if let Some(damage) = done {
        let what = damage.what.join("; ");
        let kept = if damage.remedy.loses() { "; the damaged files are kept in log/damaged" } else { "" };
        process::child::say(&format!("note: {what}: {}{kept}", damage.remedy));
    }
    Ok(())
}

/// Creates the keys of a new landscape; returns the certificate of its authority. Only the process that holds the directory
/// creates keys for others, and does so before it listens.
fn make_keys(directory: &Directory, facts: &Facts) -> Result<String, Failure> {
    if let Some(note) = Made::of(directory)?.restore()? {
        process::child::say(&format!("note: {note}"));
    }
    // Without it, all kubeconfigs are refused.
    let has_own = directory.join("pki/ca.key").exists();
    let landscape = LandscapeAuthority::make(directory)?;
    let new = ClusterAuthorities::of(directory, facts.start_time).make(facts.seeds)?;
    if has_own && !new.is_empty() {
        let shown = |name: &String| NamedCluster::of_logical(name).map_or_else(|| name.clone(), |it| it.to_string());
        let names = new.iter().map(shown).collect::<Vec<_>>().join(", ");
        process::child::say(&format!(
            "note: the landscape has new keys for {names}: kubeconfigs that were written before are refused there"
        ));
    }
    Ok(landscape.certificate().to_owned())
}

/// Waits until no process listens on the landscape's port, with a short limit: the directory of a killed host is released
/// before its port.
async fn free_port(facts: &Facts) {
    let wall = Clock::wall();
    let limit = wall.now() + PORT_TIMEOUT;
    let is_taken = || {
        let bound = TcpListener::bind((facts.bind, facts.port));
        bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    };
    while facts.port != 0 && is_taken() && wall.now() < limit {
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

/// Event log of a landscape.
pub(in crate::live) enum Log {
    Memory(MemoryLog),
    Sled(SledLog),
}

impl Log {
    /// Opens the log; with `existing`, a missing log is not created.
    pub(in crate::live) fn open(directory: &Directory, facts: &Facts, existing: bool) -> Result<Self, Failure> {
        if facts.log == "memory" {
            let log = facts.history.memory_log().ok_or_else(|| {
                let what = "a log in memory keeps a number of entries, no size";
                Failure::input(what, "give --history a number, or keep the log with --log sled")
            })?;
            return Ok(Self::Memory(log));
        }
        let options = eventlog::sled::Options {
            history: facts.history.0,
            durability: if facts.durable { Durability::Durable } else { Durability::Fast },
            existing,
            ..eventlog::sled::Options::default()
        };
        match SledLog::open(directory.join("log"), options) {
            Ok(log) => {
                for note in recovered(log.recovery()) {
                    process::child::say(&format!("note: {note}"));
                }
                Ok(Self::Sled(log))
            }
            Err(error) => Err(refused(&error)),
        }
    }

    /// Opens the log for reading only.
    pub(in crate::live) fn open_read_only(directory: &Directory) -> Result<Self, Failure> {
        SledLog::open_read_only(directory.join("log")).map(Self::Sled).map_err(|error| refused(&error))
    }

    /// Messages about damage that was repaired when the log was closed.
    fn healed(&self) -> Vec<String> {
        match self {
            Self::Memory(_) => Vec::new(),
            Self::Sled(log) => log.healed(),
        }
    }

    pub(in crate::live) fn events(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Memory(log) => Arc::new(log.clone()),
            Self::Sled(log) => Arc::new(log.clone()),
        }
    }

    /// Counts the starts of the landscape; returns the number of this start. Records the creation parameters as well.
    fn start(&self, facts: &Facts) -> Result<u64, Failure> {
        let Self::Sled(log) = self else { return Ok(1) };
        let last = log.fact("starts").and_then(|text| String::from_utf8(text).ok()?.parse::<u64>().ok());
        // If the count is lost, it is derived from the last writer of the log: no number of a start is used twice.
        let start = last.unwrap_or(0).max(host::live::start_of(log.highest_writer())) + 1;
        let landscape = serde_json::to_vec(facts).map_err(|error| Failure::Failed(error.to_string()))?;
        log.set_facts([("starts".to_owned(), start.to_string().into_bytes()), (FACTS.to_owned(), landscape)])
            .map_err(|error| Failure::Failed(format!("cannot write to the log: {error}")))?;
        Ok(start)
    }

    /// Records the creation parameters, in case their own file is lost.
    fn note(&self, facts: &Facts) -> Result<(), Failure> {
        let Self::Sled(log) = self else { return Ok(()) };
        let landscape = serde_json::to_vec(facts).map_err(|error| Failure::Failed(error.to_string()))?;
        log.set_facts([(FACTS.to_owned(), landscape)])
            .map_err(|error| Failure::Failed(format!("cannot write to the log: {error}")))
    }

    /// Records the names of the landscape's authorities, in case their own file is lost.
    fn note_authorities(&self, directory: &Directory) -> Result<(), Failure> {
        let Self::Sled(log) = self else { return Ok(()) };
        let noted = log.set_facts([Made::of(directory)?.fact()]);
        noted.map_err(|error| Failure::Failed(format!("cannot write to the log: {error}")))
    }

    /// Landscape time of the last entry: time never goes back before it.
    pub(in crate::live) fn last_time(&self) -> DateTime<Utc> {
        match self {
            // The log is as old as its process.
            Self::Memory(_) => DateTime::<Utc>::MIN_UTC,
            Self::Sled(log) => log.time(),
        }
    }

    /// Reason for which the log accepts no writes at present.
    pub(in crate::live) fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Memory(_) => None,
            Self::Sled(log) => log.trouble(),
        }
    }

    /// Waits until the log accepts writes again, or stops accepting them.
    pub(in crate::live) async fn trouble_after(&self, known: Option<Trouble>) -> Option<Trouble> {
        match self {
            Self::Memory(_) => std::future::pending().await,
            Self::Sled(log) => log.trouble_after(known).await,
        }
    }

    /// Checks whether the log can be written.
    pub(in crate::live) async fn look(&self) {
        if let Self::Sled(log) = self {
            log.look().await;
        }
    }

    pub(in crate::live) async fn close(&self) -> Result<(), Failure> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Sled(log) => log.close().await.map_err(|error| Failure::Failed(format!("the event log: {error}"))),
        }
    }
}

/// Messages about the recovery of a log that was not closed cleanly.
pub(in crate::live) fn recovered(recovery: &Recovery) -> Vec<String> {
    let mut notes = Vec::new();
    let Recovery { ends, torn, end_is_unknown, put_back, from_store, .. } = recovery;
    if *torn > 0 {
        let meaning = if *end_is_unknown {
            "the file `REACHED`, which names the end of what was acknowledged, is missing or damaged, so acknowledged entries may be \
             lost"
        } else {
            "nothing in them was acknowledged"
        };
        notes.push(format!(
            "the journal can be read up to revision {ends}; the {torn} bytes behind it cannot, and were cut off: {meaning}"
        ));
    }
    if *from_store > 0 {
        notes.push(format!(
            "{} found in the store",
            counted(*from_store, "entry that the journal had lost was", "entries that the journal had lost were")
        ));
    }
    if *put_back > 0 {
        notes.push(format!(
            "the log was not left cleanly: {} put back",
            counted(*put_back, "entry was", "entries were")
        ));
    }
    notes.extend(recovery.healed.iter().cloned());
    if let Some(reason) = &recovery.rebuilt {
        notes.push(format!("the log's store was created again from its journal: {reason}"));
    }
    notes
}

/// Returns the failure for a log that cannot be opened, with a remedy.
fn refused(error: &OpenError) -> Failure {
    let what = error.to_string();
    match error {
        OpenError::Locked { .. } => Failure::Held(what),
        OpenError::Missing { .. } => Failure::input(
            format!("{what}, and the landscape had one"),
            "restore it from a copy; `terrarium up --start-empty` begins with an empty landscape",
        ),
        OpenError::Corrupt { .. } => {
            let hint = "restore the directory from a copy; `terrarium up --discard-damaged` gives up what is lost, and \
                        `terrarium doctor` says more";
            Failure::input(what, hint)
        }
        OpenError::Foreign { .. } | OpenError::Format { .. } => Failure::input(what, "see `terrarium doctor`"),
        OpenError::ReadOnly { .. } => {
            Failure::input(what, "`terrarium log`, `at` and `replay` read it where it is; `up` needs a copy")
        }
        OpenError::Io { .. } => Failure::Failed(what),
    }
}

async fn start(
    directory: &Directory,
    mut facts: Facts,
    log: &Log,
    before: Before,
    awaits_mode: bool,
) -> Result<(Live, Facts, Turn), Failure> {
    let authority = LandscapeAuthority::of(directory)?;
    let start = log.start(&facts)?;
    log.note_authorities(directory)?;
    let usual = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let names: Vec<String> = usual.into_iter().chain([facts.bind.to_string()]).chain(facts.san.clone()).collect();
    let (front_proxies, front_proxy) = front_proxy(instance::FRONT_PROXY)?;
    let now = time(directory)?.unwrap_or(facts.start_time).max(facts.start_time).max(log.last_time());
    if let Some(note) = doubt(directory, facts.start_time, log.last_time())? {
        process::child::say(&format!("note: {note}: time goes on from {now:?}"));
    }
    let (dial, turn) = dial(directory, now)?;
    let launched = AtomicU64::new(0);
    let binaries = if facts.is_inside() { None } else { Some(Binaries::find().await) };
    let components = binaries.as_ref().map_or_else(ComponentForms::inside, Binaries::form);
    for note in components.notes() {
        process::child::say(&format!("note: {note}"));
    }
    let apiserver_flags = bootstrap::flags_of_apiserver(&facts);
    let launcher = Launcher {
        seed: facts.seed,
        start,
        authority: authority.clone(),
        front_proxies: front_proxies.clone(),
        directory: dial.parent().unwrap_or(&dial).to_owned(),
        dial,
        binaries: binaries.clone(),
        launched,
        apiserver_flags,
        authorization: bootstrap::authorization(&facts),
    };
    let options = Options {
        log: log.events(),
        start,
        now,
        mode: Mode::Eager,
        awaits_mode,
        random: Random::new(facts.seed),
        version: facts.gardener_version.clone(),
        kubernetes_version: bootstrap::kubernetes_version(&facts),
        event_ttl: bootstrap::event_ttl(&facts),
        listen: SocketAddr::new(facts.bind, facts.port),
        certificate: authority.server(&names.iter().map(String::as_str).collect::<Vec<_>>())?,
        authorities: authority.certificate().to_owned(),
        front_proxy,
        front_proxies: (front_proxies, instance::FRONT_PROXY.to_owned()),
        own_authorities: own_authorities(directory, &facts),
        own_signers: own_signers(directory, &facts),
        authorization: bootstrap::authorization(&facts),
        token_key: authority.token_key()?,
        profile: bootstrap::profile(&facts)?,
        skew: bootstrap::skew_settings(&facts),
        turn: turn.clone(),
        inside: facts.is_inside(),
        before,
    };
    let launching = move |address| -> ::host::pods::kubelet::Launcher {
        Arc::new(HostLaunch { launcher, address: within(address) })
    };
    let live = Live::start(options, launching).await.map_err(|error| {
        let what = if error.kind() == ErrorKind::AddrInUse { "; another process listens there" } else { "" };
        Failure::Failed(format!("cannot serve on {}: {error}{what}", SocketAddr::new(facts.bind, facts.port)))
    })?;
    logging::start_process(live.clock().clock(), logging::Format::default(), tracing::Level::INFO);
    let address = within(live.address());
    if let Some(warning) = exposure::warning(live.address()) {
        process::child::say(&warning);
    }
    if facts.port == 0 {
        facts.port = address.port();
        directory.write_facts(&facts)?;
        log.note(&facts)?;
    }
    let program = env!("CARGO_PKG_VERSION").to_owned();
    let host = HostFile { pid: std::process::id(), address: address.to_string(), program, components };
    directory.write_host(&host)?;
    Ok((live, facts, turn))
}

/// Signers of certificates for the clusters except shoots.
fn own_signers(directory: &Directory, facts: &Facts) -> OwnSigners {
    let authorities = ClusterAuthorities::of(directory, facts.start_time);
    Arc::new(move |cluster| {
        let authority = authorities.authority(cluster);
        authority.inspect_err(|failure| process::child::say(&format!("warning: {failure}"))).ok()?
    })
}

/// Authorities of the clusters except shoots. An unreadable authority counts as missing: its clients get 401.
fn own_authorities(directory: &Directory, facts: &Facts) -> OwnAuthorities {
    let authorities = ClusterAuthorities::of(directory, facts.start_time);
    let read = Mutex::<BTreeMap<String, String>>::default();
    Arc::new(move |cluster| {
        let mut read = read.lock();
        if let Some(certificate) = read.get(cluster) {
            return Some(certificate.clone());
        }
        let certificate = authorities.certificate(cluster);
        let certificate =
            certificate.inspect_err(|failure| process::child::say(&format!("warning: {failure}"))).ok()??;
        read.insert(cluster.to_owned(), certificate.clone());
        Some(certificate)
    })
}

/// Address at which this machine reaches a listener.
fn within(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        let loopback =
            if listen.is_ipv4() { IpAddr::from([127, 0, 0, 1]) } else { IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]) };
        listen.set_ip(loopback);
    }
    listen
}

/// Starts processes of pods: the binary of the component that the image names, or this program, which runs it.
struct Launcher {
    seed: u64,
    start: u64,
    authority: LandscapeAuthority,
    /// Authorities that sign the certificates of front proxies, by which servers behind the host recognize it.
    front_proxies: String,
    /// Directory of the landscape, absolute.
    directory: PathBuf,
    /// Path of the dial's file.
    dial: PathBuf,
    /// Binaries of components; None: components run as tasks of this process, except pods that request a process, which
    /// this program runs.
    binaries: Option<Binaries>,
    /// Number of processes that have been given a number.
    launched: AtomicU64,
    /// Flags of gardener-apiserver, by the landscape's creation parameters.
    apiserver_flags: Vec<String>,
    /// Authorization mode of the landscape.
    authorization: authorizer::Mode,
}

impl Launcher {
    /// Returns the assignment of a program's process, wherever it runs; `names`: names under which it serves.
    fn assignment(
        &self,
        program: Component,
        cluster: &str,
        version: &str,
        names: Option<&[&str]>,
    ) -> Result<Assignment, String> {
        let Self { seed, start, authority, front_proxies, launched, .. } = self;
        let user = user_of(program, cluster::seed(cluster).unwrap_or_default(), version);
        let badge = Badge { start: *start, component: program.name().to_owned(), version: version.to_owned() };
        // A user with a certificate is in this group in any case.
        let groups: Vec<&str> =
            user.groups.iter().map(|group| &**group).filter(|group| *group != "system:authenticated").collect();
        let serving = match names {
            Some(names) => {
                let certificate = authority.server(names).map_err(|failure| failure.to_string())?;
                Some(Serving { certificate, front_proxies: front_proxies.clone(), ..Serving::default() })
            }
            None => None,
        };
        Ok(Assignment {
            component: program.name().to_owned(),
            version: version.to_owned(),
            seed: *seed,
            authorities: authority.certificate().to_owned(),
            writer: host::live::writer(*start, launched.fetch_add(1, Ordering::Relaxed) + 1),
            serving,
            authorization: self.authorization.name().to_owned(),
            certificate: authority.component(&user.name, &groups, &badge)?,
            ..Assignment::default()
        })
    }
}

struct HostLaunch {
    launcher: Launcher,
    address: SocketAddr,
}

/// True if the annotation of a pod requests a process.
///
/// # Errors
/// The annotation has another value.
fn is_process(pod: &Pod) -> Result<bool, String> {
    match pod.metadata.annotation(annotation::COMPONENT_FORM) {
        None => Ok(false),
        Some("process") => Ok(true),
        Some(other) => {
            Err(format!("annotation {}: {other:?} is not a form: expected process", annotation::COMPONENT_FORM))
        }
    }
}

impl Launch for HostLaunch {
    fn runs(&self, cluster: &str, labels: &TextMap, image: &str) -> bool {
        Component::of(image).is_some() || Component::of_pod(cluster, labels).is_some()
    }

    fn served_release(&self, image: &str) -> Option<Release> {
        let (_, version) = Component::of(image).filter(|it| it.0 == Component::Apiserver)?;
        Some(GardenerVersion::parse(&version).map_or(Release::UNION, |version| version.served_release()))
    }

    fn lease(&self, cluster: &str, pod: &Pod) -> Option<String> {
        let image = pod.spec.containers.first().map_or("", |container| container.image.as_str());
        let (program, version) = Component::of(image)?;
        let component = program.name();
        Some(Registered { cluster, pod: &pod.metadata.name, component, version: &version, address: "" }.name())
    }

    fn heartbeat(&self, cluster: &str, pod: &Pod) -> Option<String> {
        let image = pod.spec.containers.first().map_or("", |container| container.image.as_str());
        let (program, _) = Component::of(image)?;
        (program == Component::Gardenlet).then(|| seed_of(cluster).to_owned())
    }

    fn launch(&self, cluster: &str, pod: &Pod) -> Result<Program, Refusal> {
        let image = pod.spec.containers.first().map_or("", |container| container.image.as_str());
        let (program, version) = Component::of(image).ok_or(Refusal::NoImage)?;
        let names = program.serves();
        let assignment = Assignment {
            server: self.address.to_string(),
            dial: self.launcher.dial.to_string_lossy().into_owned(),
            ..self.launcher.assignment(program, cluster, &version, names.as_ref().map(<[_; 4]>::as_slice))?
        };
        let is_process = is_process(pod)?;
        let binaries = self.launcher.binaries.as_ref();
        if binaries.is_none() && !is_process {
            // Same text as in the certificate of a process.
            let component = Some((program.name().into(), version.as_str().into()));
            let user = User { component, ..user_of(program, cluster::seed(cluster).unwrap_or_default(), &version) };
            return Ok(Program { form: Form::Inside { user, run: run_inside(program) }, assignment });
        }
        // The directory identifies the landscape of the process.
        let place = ["--data-dir".to_owned(), self.launcher.directory.to_string_lossy().into_owned()];
        if let Some(lost) = binaries.and_then(|binaries| binaries.lost(program.name())) {
            return Err(lost.into());
        }
        if let Some((path, name)) = binaries.and_then(|binaries| binaries.of(program.name())) {
            return Ok(Program { form: Form::Process { path, name, args: place.to_vec() }, assignment });
        }
        let failed = |error: std::io::Error| format!("cannot find this program: {error}");
        let (path, name) = (executable::held().map_err(failed)?, executable::file().map_err(failed)?);
        let args = ["component".to_owned(), program.name().to_owned()].into_iter().chain(place).collect();
        Ok(Program { form: Form::Process { path, name, args }, assignment })
    }

    fn assign(&self, joining: &Joining) -> Result<Assignment, String> {
        let Joining { component, instance, version, host } = joining;
        let program = Component::named(component).ok_or_else(|| format!("there is no component {component}"))?;
        if program != Component::Apiserver {
            return Err(format!("{component} runs only together with its host: a Deployment starts it there"));
        }
        if GardenerVersion::parse(version).is_none() {
            return Err(format!("{version:?} is no version of Gardener"));
        }
        let own = program.serves().unwrap_or_default();
        let names: Vec<&str> = own.into_iter().chain([host.as_str()]).collect();
        let mut assignment = self.launcher.assignment(program, cluster::RUNTIME, version, Some(&names))?;
        if let Some(serving) = &mut assignment.serving {
            serving.host.clone_from(host);
        }
        Ok(Assignment {
            instance: instance.clone(),
            cluster: cluster::RUNTIME.to_owned(),
            args: self.launcher.apiserver_flags.clone(),
            ..assignment
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_of_a_pod_selects_a_process() {
        let asked = |value: Option<&str>| {
            let mut pod = Pod::default();
            let annotations = value.map(|value| ("terrarium.dev/form".to_owned(), value.to_owned()));
            pod.metadata.annotations = annotations.into_iter().collect();
            is_process(&pod)
        };
        assert_eq!((asked(None), asked(Some("process"))), (Ok(false), Ok(true)));
        for other in ["", "inside", "Process"] {
            let expected = format!("annotation terrarium.dev/form: {other:?} is not a form: expected process");
            assert_eq!(asked(Some(other)), Err(expected));
        }
    }
}
