// SPDX-License-Identifier: Apache-2.0
//! The contract between a process of a landscape and who starts it.
//!
//! | stream | carries |
//! | --- | --- |
//! | standard input | one line of JSON, the [`Assignment`]; then nothing, until its end asks the process to stop |
//! | standard output | lines of JSON, [`Said`]: one when the process is ready, one for each panic that it goes on after, and one whenever it does not want to be asked any more, or does again |
//! | standard error | everything that it has to say |
//!
//! The process ends within [`LAST_WORDS`] of wall time after its standard input has, whatever it is doing: no parent
//! leaves processes behind, however it ended. Exit code 0: it was asked to stop; otherwise the last line says why.
//!
//! A process that the landscape did not start, in a container of its own, asks the host for its assignment
//! ([`Joining`], at [`JOIN_PATH`]). For such a process SIGTERM and the end of its Lease stand for the end of standard input;
//! everything else is as for the others.
//!
//! **Invariants.** Nothing of the environment counts: a process gets everything in its assignment, keys included, and
//! nothing of that is in a file or in its arguments.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clock::Random;
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::dial::Dial;
use crate::https::{self, Credentials, Reach, Watches};
use crate::live::{Setup, participate};
use crate::panics::{Panicked, say_panics};
use crate::pki::Pair;
use crate::reports::ReportsOver;
use crate::{Context, Exit, Identity, Output, Transport, TransportError};

/// Wall time between the end of standard input and the end of the process.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// Where a process asks for its assignment that the host did not start: `POST`, a [`Joining`], answered with an
/// [`Assignment`]. It is for administrators of cluster `runtime`, who may start pods there, too.
pub const JOIN_PATH: &str = "/clusters/runtime/terrarium/components";

/// Header of every request of a process: [`Assignment::participant`].
pub const INSTANCE_HEADER: HeaderName = HeaderName::from_static("terrarium-instance");
/// Header of an answer that stands for none: the request was to reach nobody.
pub const UNREACHABLE_HEADER: HeaderName = HeaderName::from_static("terrarium-unreachable");

/// A process that asks to join the landscape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Joining {
    /// Name in the field, `gardener-apiserver`.
    pub component: String,
    /// Its own name, as that of a pod: a later process of this name takes the place of the one before.
    pub instance: String,
    /// Emulated version, `v1.120.0`.
    pub version: String,
    /// Name or address under which the host reaches it, without port.
    pub host: String,
}

/// What a process gets on standard input when it is started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Assignment {
    /// Name in the field, `gardener-controller-manager`.
    pub component: String,
    /// The pod's name.
    pub instance: String,
    /// The logical cluster of the pod.
    pub cluster: String,
    /// Emulated version, `v1.120.0`.
    pub version: String,
    /// Seed of the landscape's randomness.
    pub seed: u64,
    /// Arguments of the container.
    pub args: Vec<String>,
    /// Environment of the container.
    pub env: BTreeMap<String, String>,
    /// Content of the files that are mounted into the container, by path.
    pub files: BTreeMap<String, String>,
    /// `host:port` of the landscape.
    pub server: String,
    /// Certificates, as PEM, by which the server is known.
    pub authorities: String,
    /// The process's own certificate.
    pub certificate: Pair,
    /// Number of the writer, for a process that writes to the log itself: different for each process.
    pub writer: u64,
    /// File of the landscape's dial (see [`crate::dial`]); empty: there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dial: String,
    /// Who may do what in the landscape: the mode of authorization; empty: every authenticated user may do everything.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub authorization: String,
    /// For a process that serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
}

/// What a process needs to serve behind its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Serving {
    /// Certificate of the server.
    pub certificate: Pair,
    /// Certificates, as PEM, by which front proxies are known: their headers name the user of a request.
    pub front_proxies: String,
    /// Where it listens; `None`: at a free port of this machine's loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Name or address under which the host reaches it, without port; empty: where it listens.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

impl Serving {
    /// The address for the others, `host:port`, from the one where it listens.
    pub fn address(&self, listens: SocketAddr) -> String {
        match self.host.as_str() {
            "" => listens.to_string(),
            host if host.contains(':') => format!("[{host}]:{}", listens.port()),
            host => format!("{host}:{}", listens.port()),
        }
    }
}

/// What a process says when it is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ready {
    /// Version of the program itself.
    pub program: String,
    /// Where it serves, if it does: `host:port`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// Why a process that was ready is not any more: it runs, and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Unready {
    /// In a word, as conditions have it; empty: it is ready again.
    pub reason: String,
    /// In a sentence.
    pub message: String,
}

/// The state of a component, as it reports it: a line on standard output of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The process is ready.
    Ready(Ready),
    /// Something in it panicked, and is begun anew.
    Panicked(Panicked),
    /// It does not want to be asked; `None`: it does again.
    Unready(Option<Unready>),
}

/// The field that only a [`Panicked`] line has.
const PANICKED: &str = "panicked";
/// The field that only an [`Unready`] line has.
const UNREADY: &str = "unready";

impl Said {
    /// The line for it.
    fn to_line(&self) -> String {
        match self {
            Self::Ready(ready) => serde_json::to_string(ready).unwrap_or_default(),
            Self::Panicked(panicked) => serde_json::json!({ PANICKED: panicked }).to_string(),
            Self::Unready(unready) => serde_json::json!({ UNREADY: unready.clone().unwrap_or_default() }).to_string(),
        }
    }

    /// Reads a line; `None`: it is something else.
    pub fn read(line: &str) -> Option<Self> {
        let mut tree: serde_json::Value = serde_json::from_str(line).ok().filter(serde_json::Value::is_object)?;
        if let Some(panicked) = tree.get_mut(PANICKED) {
            return serde_json::from_value(panicked.take()).ok().map(Self::Panicked);
        }
        if let Some(unready) = tree.get_mut(UNREADY) {
            let unready: Unready = serde_json::from_value(unready.take()).ok()?;
            return Some(Self::Unready(Some(unready).filter(|unready| !unready.reason.is_empty())));
        }
        serde_json::from_value(tree).ok().map(Self::Ready)
    }
}

/// Name among the participants in landscape time of the process of a pod.
pub fn participant(cluster: &str, pod: &str) -> String {
    format!("{cluster}/{pod}")
}

impl Assignment {
    /// Who the process is.
    pub fn identity(&self) -> Identity {
        Identity {
            component: self.component.as_str().into(),
            instance: self.instance.as_str().into(),
            version: self.version.as_str().into(),
        }
    }

    /// Name of the process among the participants in landscape time.
    pub fn participant(&self) -> String {
        participant(&self.cluster, &self.instance)
    }

    /// Whether the process may be on another machine than its host.
    fn is_elsewhere(&self) -> bool {
        self.serving.as_ref().is_some_and(|serving| !serving.host.is_empty())
    }

    /// Way to the landscape, with the process's certificate and name. An answer that stands for none is none.
    ///
    /// # Errors
    /// The assignment holds no certificates, or no address.
    pub fn transport(&self) -> Result<Transport, String> {
        let options = https::Options {
            addresses: Vec::new(),
            server: self.server.clone(),
            authorities: self.authorities.clone(),
            insecure: false,
            credentials: Credentials::Certificate(self.certificate.clone()),
            watches: Watches::Shared,
            user_agent: format!("{}/{}", self.component, self.version),
            reach: if self.is_elsewhere() { Reach::Network } else { Reach::Machine },
        };
        let name = HeaderValue::try_from(self.participant()).map_err(|error| error.to_string())?;
        Ok(named(https::transport(&options).map_err(|error| error.to_string())?, name))
    }
}

/// A transport with the name of a process on its requests. An answer that stands for none is none.
pub(crate) fn named(transport: Transport, name: HeaderValue) -> Transport {
    let shared = transport.shared().clone();
    let named = Transport::new(move |mut request| {
        request.headers_mut().insert(INSTANCE_HEADER, name.clone());
        let answer = transport.send(request);
        Box::pin(async move {
            let response = answer.await?;
            if response.headers().contains_key(UNREACHABLE_HEADER) {
                return Err(TransportError::Unreachable("a fault cuts this process off".to_owned()));
            }
            Ok(response)
        })
    });
    named.sharing(&shared)
}

/// Reads the assignment, and from then on watches for the end of standard input; what is returned resolves then. From now
/// on, panics are lines on standard error.
///
/// # Errors
/// What is wrong with the first line.
pub fn assignment() -> Result<(Assignment, oneshot::Receiver<()>), String> {
    say_panics(say);
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    if line.is_empty() {
        return Err("standard input ended before the assignment: this program is started by `terrarium up`".to_owned());
    }
    let assignment =
        serde_json::from_str(&line).map_err(|error| format!("the first line is no assignment: {error}"))?;
    let (ended, end) = oneshot::channel();
    std::thread::Builder::new()
        .name("standard-input".to_owned())
        .spawn(move || watch_for_the_end(ended))
        .map_err(|error| error.to_string())?;
    Ok((assignment, end))
}

fn watch_for_the_end(ended: oneshot::Sender<()>) {
    let mut rest = [0; 64];
    let mut input = std::io::stdin().lock();
    while std::io::Read::read(&mut input, &mut rest).is_ok_and(|count| count > 0) {}
    let _ = ended.send(());
    last_words();
}

/// Nothing that the component does may keep the process.
fn last_words() {
    end_within(
        LAST_WORDS,
        "standard input was closed, because the process that started this one has ended or stops it; not everything ended in time",
    );
}

/// Gives the process so much wall time to end by itself; then it ends with exit code 0, and says why.
#[expect(clippy::disallowed_methods, clippy::exit, reason = "the end was asked for")]
pub fn end_within(time: Duration, why: &str) {
    std::thread::sleep(time);
    say(why);
    std::process::exit(0);
}

/// Output of a process: lines to standard error, states to standard output.
pub fn output() -> Output {
    Output::with_state(say, |state| write_line(&state.to_line()))
}

/// Prints a line of the contract.
fn write_line(line: &str) {
    let mut output = std::io::stdout().lock();
    // Who started the process may have gone already: then standard input ends, too.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Prints on standard error. Who listened may have gone: that is no reason to panic.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Says how a component ended; the exit code of its process.
pub fn end(exit: Result<Exit, String>) -> ExitCode {
    let exit = exit.unwrap_or_else(|error| failure(&error));
    if !exit.last_line.is_empty() {
        say(&exit.last_line);
    }
    ExitCode::from(exit.code)
}

/// The exit of a component that cannot run, with the reason in one line: the last line of a component is the reason of its end.
pub fn failure(reason: &str) -> Exit {
    let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Exit { code: 1, last_line: format!("error: {}", lines.join(" ")) }
}

/// Runs a component that takes part in landscape time, until `end` resolves.
///
/// # Errors
/// The assignment is incomplete, or the landscape's clock cannot be joined.
pub fn run<F>(
    assignment: Assignment,
    end: oneshot::Receiver<()>,
    component: impl FnOnce(Context, Assignment) -> F,
) -> Result<Exit, String>
where
    F: Future<Output = Exit> + Send + 'static,
{
    let participant = assignment.participant();
    let name = HeaderValue::from_str(&participant).map_err(|error| error.to_string())?;
    let (output, panics) = (output(), output());
    let setup = Setup {
        identity: assignment.identity(),
        participant,
        random: Random::new(assignment.seed),
        output,
        panicked: Some(Arc::new(move |panicked| panics.state(Said::Panicked(panicked)))),
        transport: assignment.transport()?,
        // A process that cannot read the dial gets every instant from the host.
        dial: Dial::open(Path::new(&assignment.dial)).ok(),
    };
    let reports = ReportsOver::new(setup.transport.clone(), name);
    let stop = async move {
        let _ = end.await;
    };
    participate(setup, reports, stop, move |context| Ok(component(context, assignment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_serves_is_known_by_the_name_that_it_was_given() {
        let listens = "0.0.0.0:8443".parse().expect("an address");
        for (host, expected) in
            [("", "0.0.0.0:8443"), ("a", "a:8443"), ("10.0.0.1", "10.0.0.1:8443"), ("::1", "[::1]:8443")]
        {
            let serving = Serving { host: host.to_owned(), ..Serving::default() };
            assert_eq!(serving.address(listens), expected);
        }
    }

    #[test]
    fn lines_of_standard_output_are_told_apart() {
        let ready = Ready { program: "0.1.0".to_owned(), address: "127.0.0.1:4".to_owned() };
        let line = serde_json::to_string(&ready).expect("JSON");
        assert_eq!(Said::read(&line), Some(Said::Ready(ready)));
        assert_eq!(Said::read("{}"), Some(Said::Ready(Ready::default())));
        let panicked = Panicked { name: "shoot-care".to_owned(), times: 2, ..Panicked::default() };
        let line = serde_json::json!({ "panicked": panicked }).to_string();
        assert_eq!(Said::read(&line), Some(Said::Panicked(panicked)));
        let unready = Unready { reason: "Alone".to_owned(), message: "nobody is there".to_owned() };
        let line = serde_json::json!({ "unready": unready }).to_string();
        assert_eq!(Said::read(&line), Some(Said::Unready(Some(unready))));
        assert_eq!(Said::read("{\"unready\":{\"reason\":\"\"}}"), Some(Said::Unready(None)));
        for other in ["", "hello", "7", "\"ready\"", "{\"panicked\": 7}", "{\"unready\": 7}"] {
            assert_eq!(Said::read(other), None, "{other}");
        }
    }
}
