// SPDX-License-Identifier: Apache-2.0
//! A component that the host did not start: in a container of its own, or on another machine.
//!
//! It requests its assignment from the host, as the administrator of its kubeconfig, and from then on behaves like a
//! process that the host started ([`process::child`]). It ends on SIGTERM or SIGINT, and removes its Lease before, so
//! that it gets no more requests; when its Lease is removed, or taken by another process of its name; and when the
//! host was restarted, which does not accept its certificate any more: then it is started again, and joins again.
//!
//! A broken connection ends nothing: the process answers 503 until the host can be reached.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::cluster;
use api::constants::namespace;
use api::kubernetes::coordination::Lease;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clap::Args;
use clap::builder::{StringValueParser, TypedValueParser as _};
use clock::{Clock, TimerClass};
use controller::{Api, Error, ListOptions, WatchEvent};
use domain::skew::GardenerVersion;
use domain::skew::releases::EMULATED;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::attempts::Attempts;
use process::child::{self, Assignment, JOIN_PATH, Joining};
use process::https::{self, Credentials, Reach};
use process::panics::say_panics;
use process::pki::Pair;
use process::transport::full;
use process::{Exit, Transport};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{Binary, block_on, registered, signals, wall_context};

/// Wall time for the last steps of a process: removing its Lease, and answering requests in progress.
const EXIT_GRACE_PERIOD: Duration = Duration::from_secs(3);
/// Wall time for attempts to remove the Lease.
const LAST_STEP: TimeDelta = TimeDelta::seconds(1);
/// Maximum length of the machine's part of an instance's name: names have at most 63 characters.
const LONGEST_MACHINE: usize = 28;
/// Wall time between two attempts to follow the Lease of this process.
const AGAIN: TimeDelta = TimeDelta::seconds(1);

/// Arguments of a component that joins a landscape.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Kubeconfig with an administrator of cluster `runtime`, as `terrarium up` writes it: joins the landscape of its
    /// current context
    #[arg(long, alias = "credentials", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Address of the landscape's host, `HOST:PORT` [default: that of the kubeconfig]
    #[arg(long, value_name = "HOST:PORT", requires = "kubeconfig")]
    join: Option<String>,
    /// Emulated version
    #[arg(long, value_name = "V", default_value = EMULATED, value_parser = StringValueParser::new().map(completed))]
    gardener_version: String,
    /// Name of this process, as that of a pod [default: the component's and the machine's]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    instance: Option<String>,
    /// Address where it listens
    #[arg(long, value_name = "ADDR:PORT", requires = "kubeconfig", default_value = "0.0.0.0:8443")]
    listen: SocketAddr,
    /// Name or address under which the host reaches it [default: the machine's name]
    #[arg(long, value_name = "HOST", requires = "kubeconfig")]
    advertise: Option<String>,
    /// Flags of the component, behind those that the landscape gives it
    #[arg(last = true, requires = "kubeconfig")]
    flags: Vec<String>,
}

impl Arguments {
    /// True if the component is to join.
    pub fn is_given(&self) -> bool {
        self.kubeconfig.is_some()
    }

    /// Emulated version.
    pub fn gardener_version(&self) -> &str {
        &self.gardener_version
    }

    /// Flags of the component.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }

    /// Adds flags of the component.
    pub fn add_flags(&mut self, flags: impl IntoIterator<Item = String>) {
        self.flags.extend(flags);
    }
}

/// Adds a missing patch to a version of Gardener; the host refuses other texts.
fn completed(text: String) -> String {
    let version = GardenerVersion::parse(&text).filter(|version| !version.has_patch());
    version.map_or(text, |version| format!("v{}", version.completed()))
}

/// Runs a component that joins, as this process.
pub fn run(binary: &Binary, arguments: &Arguments) -> ExitCode {
    say_panics(child::say);
    let watched = Watched::default();
    let (ended, end) = oneshot::channel();
    let watcher = watched.clone();
    // Before anything else: the first process of a container is not ended by a signal that it does not handle.
    let thread = std::thread::Builder::new().name("end".to_owned()).spawn(move || watcher.watch_for_the_end(ended));
    if let Err(error) = thread {
        return child::end(Err(error.to_string()));
    }
    let served = assignment(binary, arguments).and_then(|assignment| {
        let _ = watched.0.assignment.set(assignment.clone());
        binary.serve(assignment, end)
    });
    child::end(served.map(|exit| if exit.code == 0 { watched.exit().unwrap_or(exit) } else { exit }))
}

/// Requests the assignment from the host until it answers.
fn assignment(binary: &Binary, arguments: &Arguments) -> Result<Assignment, String> {
    let path = arguments.kubeconfig.as_ref().ok_or("--kubeconfig is missing")?;
    let name = binary.program.name();
    let machine = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    };
    let unknown = || "this machine has no name: use --advertise HOST".to_owned();
    let host = arguments.advertise.clone().or_else(machine).ok_or_else(unknown)?;
    let instance = arguments.instance.clone().unwrap_or_else(|| format!("{name}-{}", label(&host)));
    let joining = Joining { component: name.to_owned(), instance, version: arguments.gardener_version.clone(), host };
    let administrator = Administrator::read(path)?;
    let server = arguments.join.clone().unwrap_or_else(|| administrator.server.clone());
    let transport = administrator.transport(&server)?;
    let mut assignment = block_on(join(&transport, &joining))?;
    assignment.server = server;
    assignment.args.extend(arguments.flags.iter().cloned());
    if let Some(serving) = &mut assignment.serving {
        serving.listen = Some(arguments.listen);
    }
    Ok(assignment)
}

/// Returns a name or address of a machine as part of an instance's name.
fn label(host: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let text: String = host.to_ascii_lowercase().chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    text.trim_matches('-').chars().take(LONGEST_MACHINE).collect::<String>().trim_end_matches('-').to_owned()
}

/// Administrator of cluster `runtime` in a kubeconfig.
#[derive(Debug, PartialEq, Eq)]
struct Administrator {
    /// `host:port` of the cluster.
    server: String,
    /// Certificates, as PEM, that authenticate the server.
    authorities: String,
    certificate: Pair,
}

impl Administrator {
    fn read(path: &Path) -> Result<Self, String> {
        let unreadable = |reason: &str| format!("cannot use {}: {reason}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(&error.to_string()))?;
        let config: Value = yaml::from_str(&text).map_err(|error| unreadable(&error.to_string()))?;
        Self::of(&config).map_err(|reason| unreadable(&reason))
    }

    /// Returns the administrator of the landscape of the current context, or of the only landscape in the file.
    ///
    /// # Errors
    /// The file has no such user, or several and no current context that selects one.
    fn of(config: &Value) -> Result<Self, String> {
        let named = |list: &str, name: &Value| {
            let entry = config[list].as_array()?.iter().find(|entry| entry["name"] == *name)?;
            Some(entry.clone())
        };
        let data = |value: &Value| String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok();
        // Address of the host and path of the cluster.
        let place = |context: &Value| {
            let cluster = named("clusters", &context["context"]["cluster"])?;
            let url = cluster["cluster"]["server"].as_str()?.to_owned();
            let (server, path) = url.strip_prefix("https://").unwrap_or(&url).split_once('/')?;
            Some((server.to_owned(), path.to_owned()))
        };
        let administrator = |context: &Value| {
            let (server, _) = place(context).filter(|(_, path)| path == "clusters/runtime")?;
            let cluster = named("clusters", &context["context"]["cluster"])?;
            let user = named("users", &context["context"]["user"])?;
            let certificate = data(&user["user"]["client-certificate-data"])?;
            let key = data(&user["user"]["client-key-data"])?;
            let authorities = data(&cluster["cluster"]["certificate-authority-data"])?;
            Some(Self { server, authorities, certificate: Pair { certificate, key } })
        };
        let contexts = config["contexts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut known: Vec<Self> = Vec::new();
        for found in contexts.iter().filter_map(administrator) {
            if known.iter().all(|one| one.server != found.server) {
                known.push(found);
            }
        }
        let current = named("contexts", &config["current-context"]).and_then(|context| place(&context));
        let is_current = |one: &Self| current.as_ref().is_some_and(|(server, _)| *server == one.server);
        match (known.iter().position(is_current), known.len()) {
            (Some(at), _) => Ok(known.swap_remove(at)),
            (None, 0) => Err("it has no user of a cluster `runtime`".to_owned()),
            (None, 1) => Ok(known.swap_remove(0)),
            (None, count) => Err(format!("it has {count} landscapes, and its current context is of none of them")),
        }
    }

    /// Returns the transport to the host at an address.
    fn transport(&self, server: &str) -> Result<Transport, String> {
        let options = https::Options {
            server: server.to_owned(),
            authorities: self.authorities.clone(),
            credentials: Credentials::Certificate(self.certificate.clone()),
            reach: Reach::Network,
            user_agent: format!("terrarium/{}", env!("CARGO_PKG_VERSION")),
            ..https::Options::default()
        };
        https::transport(&options).map_err(|error| error.to_string())
    }
}

async fn join(transport: &Transport, joining: &Joining) -> Result<Assignment, String> {
    let failed = |error: String| format!("cannot join the landscape: {error}");
    let body = serde_json::to_string(joining).map_err(|error| failed(error.to_string()))?;
    let mut attempts = Attempts::on(Clock::wall());
    loop {
        let request = http::Request::post(JOIN_PATH).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(full(body.clone())).map_err(|error| failed(error.to_string()))?;
        let (status, answer) = match ask(transport, request).await {
            Ok(answered) => answered,
            Err(_) if attempts.again().await => continue,
            Err(error) => return Err(failed(error)),
        };
        if status.is_server_error() && attempts.again().await {
            continue;
        }
        if status.is_success() {
            return serde_json::from_slice(&answer).map_err(|error| failed(error.to_string()));
        }
        let said: Value = serde_json::from_slice(&answer).unwrap_or_default();
        return Err(failed(said["message"].as_str().map_or_else(|| status.to_string(), str::to_owned)));
    }
}

async fn ask(transport: &Transport, request: process::Request) -> Result<(http::StatusCode, Vec<u8>), String> {
    let response = transport.send(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok((status, body.to_vec()))
}

/// State that the thread that watches for the end shares with the component.
#[derive(Clone, Default)]
struct Watched(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Set once the landscape has accepted the process.
    assignment: OnceLock<Assignment>,
    /// Exit of the process; `None`: it continues.
    exit: Mutex<Option<Exit>>,
}

impl Watched {
    fn exit(&self) -> Option<Exit> {
        self.0.exit.lock().clone()
    }

    /// Waits until the process is to end, and then limits its remaining time.
    fn watch_for_the_end(self, ended: oneshot::Sender<()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let exit = runtime.block_on(async {
            tokio::select! {
                biased;
                signal = signals::end_signal() => {
                    child::say(&format!("the process stops: {signal}"));
                    self.leave().await;
                    Exit { code: 0, last_line: String::new() }
                }
                exit = self.removed() => exit,
            }
        });
        *self.0.exit.lock() = Some(exit);
        let _ = ended.send(());
        child::end_within(EXIT_GRACE_PERIOD, "not everything ended in time");
    }

    /// Removes the Lease.
    async fn leave(&self) {
        let Some(assignment) = self.0.assignment.get() else { return };
        let Ok(context) = wall_context(assignment) else { return };
        let name = registered(assignment, "").name();
        let leases = Api::<Lease>::namespaced(&context, cluster::GARDEN, namespace::INSTANCES);
        tokio::select! {
            biased;
            removed = leases.delete_if_there(&name) => {
                if let Err(error) = removed {
                    child::say(&format!("cannot take the Lease {name} back: {error}"));
                }
            }
            () = context.wall.sleep(LAST_STEP, TimerClass::Work) => {
                child::say(&format!("cannot take the Lease {name} back: no answer"));
            }
        }
    }

    /// Resolves when the Lease of this process has been removed after it was seen, or when the host does not know the
    /// process.
    async fn removed(&self) -> Exit {
        let wall = Clock::wall();
        let assignment = loop {
            match self.0.assignment.get() {
                Some(assignment) => break assignment,
                None => wall.sleep(AGAIN, TimerClass::Work).await,
            }
        };
        let context = match wall_context(assignment) {
            Ok(context) => context,
            Err(last_line) => return Exit { code: 1, last_line },
        };
        let leases = Api::<Lease>::namespaced(&context, cluster::GARDEN, namespace::INSTANCES);
        let mut own = OwnLease { name: registered(assignment, "").name(), uid: None };
        loop {
            match follow(&leases, &mut own).await {
                Ok(Some(last_line)) => return Exit { code: 0, last_line },
                Ok(None) => {}
                Err(error) if error.status().is_some_and(|status| status.code == 401) => {
                    let last_line = "error: the host was restarted, and has no registration of this process".to_owned();
                    return Exit { code: 1, last_line };
                }
                Err(_) => wall.sleep(AGAIN, TimerClass::Work).await,
            }
        }
    }
}

/// The Lease of this process.
struct OwnLease {
    name: String,
    /// Uid of the Lease; `None`: it was not seen yet.
    uid: Option<String>,
}

impl OwnLease {
    /// Returns true if a Lease of its name is of this process; the first one that is seen is.
    fn is(&mut self, uid: &str) -> bool {
        self.uid.get_or_insert_with(|| uid.to_owned()) == uid
    }
}

/// Follows the Leases until the watch ends, or until the Lease of this process was removed or replaced; then returns
/// the reason.
async fn follow(leases: &Api<Lease>, own: &mut OwnLease) -> Result<Option<String>, Error> {
    let gone = || Ok(Some("the Lease of this process was removed: it is to end".to_owned()));
    let taken = || Ok(Some("another process has taken the name of this one".to_owned()));
    let options = ListOptions::default();
    let (all, version) = leases.list(&options).await?;
    match all.iter().find(|lease| lease.metadata.name == own.name) {
        Some(lease) if !own.is(&lease.metadata.uid) => return taken(),
        None if own.uid.is_some() => return gone(),
        _ => {}
    }
    let mut watch = leases.watch(&options, &version).await?;
    while let Some(event) = watch.next().await {
        match event? {
            WatchEvent::Added(lease) | WatchEvent::Modified(lease)
                if lease.metadata.name == own.name && !own.is(&lease.metadata.uid) =>
            {
                return taken();
            }
            WatchEvent::Deleted(lease) if lease.metadata.name == own.name && own.uid.is_some() => return gone(),
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Kubeconfig with a context for each cluster of each landscape, `PORT/CLUSTER`.
    fn config(contexts: &[&str], current: &str) -> Value {
        let text = |text: &str| STANDARD.encode(text);
        let clusters = contexts.iter().map(|name| {
            let (port, cluster) = name.split_once('/').expect("PORT/CLUSTER");
            let server = format!("https://127.0.0.1:{port}/clusters/{cluster}");
            json!({ "name": name, "cluster": { "server": server, "certificate-authority-data": text("ca") } })
        });
        let list = contexts.iter().map(|name| json!({ "name": name, "context": { "cluster": name, "user": "u" } }));
        json!({
            "clusters": clusters.collect::<Vec<_>>(),
            "contexts": list.collect::<Vec<_>>(),
            "current-context": current,
            "users": [
                { "name": "u", "user": { "client-certificate-data": text("own"), "client-key-data": text("key") } },
            ],
        })
    }

    #[test]
    fn a_kubeconfig_must_have_a_user_of_the_runtime_cluster() {
        let pair = Pair { certificate: "own".to_owned(), key: "key".to_owned() };
        let expected =
            Administrator { server: "127.0.0.1:1".to_owned(), authorities: "ca".to_owned(), certificate: pair };
        assert_eq!(Administrator::of(&config(&["1/runtime"], "")), Ok(expected));
        let none = Err("it has no user of a cluster `runtime`".to_owned());
        assert_eq!(Administrator::of(&config(&["1/garden"], "1/garden")), none);
        assert_eq!(Administrator::of(&Value::Null), none);
    }

    #[test]
    fn the_current_context_selects_the_landscape() {
        let both = ["1/garden", "1/runtime", "2/garden", "2/runtime"];
        let several = Err("it has 2 landscapes, and its current context is of none of them".to_owned());
        for (contexts, current, expected) in [
            (&both[..], "2/garden", Ok("127.0.0.1:2")),
            (&both, "2/runtime", Ok("127.0.0.1:2")),
            (&both, "1/runtime", Ok("127.0.0.1:1")),
            (&both, "", several.clone()),
            (&both, "gone", several),
            (&["3/garden", "1/runtime", "1/runtime"], "3/garden", Ok("127.0.0.1:1")),
        ] {
            let found = Administrator::of(&config(contexts, current)).map(|one| one.server);
            assert_eq!(found, expected.map(str::to_owned), "{contexts:?} {current}");
        }
    }

    #[test]
    fn names_of_machines_become_parts_of_names() {
        let long = format!("{}.example.org", "a".repeat(27));
        let cut = "a".repeat(27);
        for (host, expected) in [
            ("a", "a"),
            ("127.0.0.1", "127-0-0-1"),
            ("My_Host.example", "my-host-example"),
            ("::1", "1"),
            (&long, &cut),
        ] {
            assert_eq!(label(host), expected);
        }
    }

    #[test]
    fn the_process_follows_the_first_lease_of_its_name() {
        let mut own = OwnLease { name: "a".to_owned(), uid: None };
        assert!(own.is("1"));
        assert!(own.is("1"));
        assert!(!own.is("2"));
    }
}
