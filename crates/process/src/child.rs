// SPDX-License-Identifier: Apache-2.0
//! Contract between a process of a landscape and its parent.
//!
//! | stream | content |
//! | --- | --- |
//! | standard input | one line of JSON, the [`Assignment`]; then nothing; its end requests the end of the process |
//! | standard output | lines of JSON, [`ChildMessage`]: one when the process is ready, one for each panic that it survives, and one whenever it becomes unready or ready again |
//! | standard error | log lines and errors |
//!
//! The process ends within [`EXIT_GRACE_PERIOD`] of wall time after its standard input has ended, even if a task is still
//! running: no parent leaves processes behind, even if it was killed. Exit code 0: the process was stopped; otherwise
//! the last line has the reason.
//!
//! A process that the landscape did not start, in a container of its own, requests its assignment from the host
//! ([`Joining`], at [`JOIN_PATH`]). For such a process SIGTERM and the deletion of its Lease replace the end of
//! standard input; everything else is the same.
//!
//! **Invariants.** The environment has no effect: a process gets everything in its assignment, keys included, and
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
use crate::transport::{CUT_OFF, Cut};
use crate::{Context, Exit, Identity, Output, Transport, TransportError};

/// Wall time between the end of standard input and the end of the process.
pub const EXIT_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Path at which a process that the host did not start requests its assignment: `POST`, a [`Joining`], answered with an
/// [`Assignment`]. The user must be an administrator of cluster `runtime`, and so may start pods there, too.
pub const JOIN_PATH: &str = "/clusters/runtime/terrarium/components";

/// Header of every request of a process: [`Assignment::participant`].
pub const INSTANCE_HEADER: HeaderName = HeaderName::from_static("terrarium-instance");
/// Header of a response that simulates an unreachable server: the client fails as if there was no response.
pub const UNREACHABLE_HEADER: HeaderName = HeaderName::from_static("terrarium-unreachable");

/// Request of a process to join the landscape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Joining {
    /// Name of the component, as upstream: `gardener-apiserver`.
    pub component: String,
    /// The process's own name, used like a pod's: a later process of this name replaces the earlier one.
    pub instance: String,
    /// Emulated version, `v1.120.0`.
    pub version: String,
    /// Name or address at which the host reaches the process, without port.
    pub host: String,
}

/// Parameters of a process, read from standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Assignment {
    /// Name of the component, as upstream: `gardener-controller-manager`.
    pub component: String,
    /// Name of the pod.
    pub instance: String,
    /// Logical cluster of the pod.
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
    /// `host:port` of the landscape's server.
    pub server: String,
    /// Certificates of the server's authorities, as PEM.
    pub authorities: String,
    /// The process's own certificate.
    pub certificate: Pair,
    /// Id of the writer, for a process that appends to the log itself: distinct for each process.
    pub writer: u64,
    /// File of the landscape's dial (see [`crate::dial`]); empty: there is no dial.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dial: String,
    /// Authorization mode of the landscape; empty: every authenticated user may do everything.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub authorization: String,
    /// Parameters of a process that serves; `None`: it does not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
}

/// Parameters of a process that serves behind its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Serving {
    /// Certificate of the server.
    pub certificate: Pair,
    /// Certificates of front proxies' authorities, as PEM: headers of these proxies name the user of a request.
    pub front_proxies: String,
    /// Address to listen on; `None`: a free port of this machine's loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Name or address at which the host reaches the process, without port; empty: the address to listen on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

impl Serving {
    /// Returns the address for clients, `host:port`, given the address of the listener.
    pub fn address(&self, listens: SocketAddr) -> String {
        match self.host.as_str() {
            "" => listens.to_string(),
            host if host.contains(':') => format!("[{host}]:{}", listens.port()),
            host => format!("{host}:{}", listens.port()),
        }
    }
}

/// Report of a process that it is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ready {
    /// Version of the program itself.
    pub program: String,
    /// Address of the process's server, `host:port`; empty if it does not serve.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// Reason for which a ready process has become unready: it runs, and waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Unready {
    /// Reason in CamelCase, as in conditions; empty: the process is ready again.
    pub reason: String,
    /// Message in a sentence.
    pub message: String,
}

/// State of a component, as reported: a line on standard output of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildMessage {
    /// The process is ready.
    Ready(Ready),
    /// A task of the process panicked, and is restarted.
    Panicked(Panicked),
    /// The process reports that it is not ready; `None`: ready again.
    Unready(Option<Unready>),
}

/// Field that only a [`Panicked`] line has.
const PANICKED: &str = "panicked";
/// Field that only an [`Unready`] line has.
const UNREADY: &str = "unready";

impl ChildMessage {
    /// Formats the state as a line.
    fn to_line(&self) -> String {
        match self {
            Self::Ready(ready) => serde_json::to_string(ready).unwrap_or_default(),
            Self::Panicked(panicked) => serde_json::json!({ PANICKED: panicked }).to_string(),
            Self::Unready(unready) => serde_json::json!({ UNREADY: unready.clone().unwrap_or_default() }).to_string(),
        }
    }

    /// Parses a line; `None` for other lines.
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

/// Name of a pod's process among the participants in landscape time.
pub fn participant(cluster: &str, pod: &str) -> String {
    format!("{cluster}/{pod}")
}

impl Assignment {
    /// Identity of the process.
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

    /// True if the process may run on another machine than its host.
    fn is_elsewhere(&self) -> bool {
        self.serving.as_ref().is_some_and(|serving| !serving.host.is_empty())
    }

    /// Creates the transport to the landscape, with the process's certificate and name. A response with
    /// [`UNREACHABLE_HEADER`] becomes an error.
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

/// Returns a transport that sets the name of a process on its requests. A response with [`UNREACHABLE_HEADER`] becomes
/// an error, from a server of the same process with the end of the fault.
pub(crate) fn named(transport: Transport, name: HeaderValue) -> Transport {
    let shared = transport.shared().clone();
    let named = Transport::new(move |mut request| {
        request.headers_mut().insert(INSTANCE_HEADER, name.clone());
        let answer = transport.send(request);
        Box::pin(async move {
            let response = answer.await?;
            if !response.headers().contains_key(UNREACHABLE_HEADER) {
                return Ok(response);
            }
            Err(match response.extensions().get::<Cut>() {
                Some(cut) => TransportError::CutOff(cut.clone()),
                None => TransportError::Unreachable(CUT_OFF.to_owned()),
            })
        })
    });
    named.sharing(&shared)
}

/// Reads the assignment, and from then on watches standard input; the returned receiver resolves at its end. From now
/// on, panics are lines on standard error.
///
/// # Errors
/// The first line is not a valid assignment.
pub fn assignment() -> Result<(Assignment, oneshot::Receiver<()>), String> {
    say_panics(say);
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    if line.is_empty() {
        return Err("standard input ended before the assignment: this program is started by `terrarium up`".to_owned());
    }
    let assignment =
        serde_json::from_str(&line).map_err(|error| format!("the first line is not an assignment: {error}"))?;
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

/// Ends the process at the end of its grace period, even if the component still runs.
fn last_words() {
    end_within(
        EXIT_GRACE_PERIOD,
        "standard input was closed, because the process that started this one has ended or stops it; not everything ended in time",
    );
}

/// Gives the process this wall time to end by itself; after it, prints `why` and ends the process with exit code 0.
#[expect(clippy::disallowed_methods, clippy::exit, reason = "the end was asked for")]
pub fn end_within(time: Duration, why: &str) {
    std::thread::sleep(time);
    say(why);
    std::process::exit(0);
}

/// Output of a process: lines on standard error, states on standard output.
pub fn output() -> Output {
    Output::with_state(say, |state| write_line(&state.to_line()))
}

/// Prints a line of the contract on standard output.
fn write_line(line: &str) {
    let mut output = std::io::stdout().lock();
    // The parent may have ended already: then standard input ends, too.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Prints a line on standard error. A closed stream is ignored rather than a reason to panic.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints the last line of a component that ended; returns the exit code of its process.
pub fn end(exit: Result<Exit, String>) -> ExitCode {
    let exit = exit.unwrap_or_else(|error| failure(&error));
    if !exit.last_line.is_empty() {
        say(&exit.last_line);
    }
    ExitCode::from(exit.code)
}

/// Returns the exit of a component that cannot run, with the reason in one line: the last line of a component is the
/// reason of its end.
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
        panicked: Some(Arc::new(move |panicked| panics.state(ChildMessage::Panicked(panicked)))),
        transport: assignment.transport()?,
        // A process that cannot read the dial is granted every instant by the host.
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
    use crate::transport::full;

    #[test]
    fn serving_address_uses_the_assigned_host() {
        let listens = "0.0.0.0:8443".parse().expect("an address");
        for (host, expected) in
            [("", "0.0.0.0:8443"), ("a", "a:8443"), ("10.0.0.1", "10.0.0.1:8443"), ("::1", "[::1]:8443")]
        {
            let serving = Serving { host: host.to_owned(), ..Serving::default() };
            assert_eq!(serving.address(listens), expected);
        }
    }

    /// The end of a fault is known in the process of its server only.
    #[tokio::test]
    async fn a_refusal_by_a_fault_is_no_response() {
        let cut = Cut::new(|| Box::pin(std::future::ready(())));
        for (of_server, expected) in [
            (Some(cut.clone()), TransportError::CutOff(cut)),
            (None, TransportError::Unreachable("a fault cuts this process off".to_owned())),
        ] {
            let server = Transport::new(move |_| {
                let mut response = http::Response::new(full(""));
                response.headers_mut().insert(UNREACHABLE_HEADER, HeaderValue::from_static("fault"));
                if let Some(cut) = &of_server {
                    response.extensions_mut().insert(cut.clone());
                }
                Box::pin(async move { Ok(response) })
            });
            let component = named(server, HeaderValue::from_static("runtime/a"));
            let error = component.send(http::Request::new(full(""))).await.map(drop).expect_err("it is cut off");
            assert_eq!(error, expected);
            assert_eq!(error.to_string(), "cannot reach the API server: a fault cuts this process off");
        }
    }

    #[test]
    fn lines_of_standard_output_are_distinguished() {
        let ready = Ready { program: "0.1.0".to_owned(), address: "127.0.0.1:4".to_owned() };
        let line = serde_json::to_string(&ready).expect("JSON");
        assert_eq!(ChildMessage::read(&line), Some(ChildMessage::Ready(ready)));
        assert_eq!(ChildMessage::read("{}"), Some(ChildMessage::Ready(Ready::default())));
        let panicked = Panicked { name: "shoot-care".to_owned(), times: 2, ..Panicked::default() };
        let line = serde_json::json!({ "panicked": panicked }).to_string();
        assert_eq!(ChildMessage::read(&line), Some(ChildMessage::Panicked(panicked)));
        let unready = Unready { reason: "Alone".to_owned(), message: "no server is there".to_owned() };
        let line = serde_json::json!({ "unready": unready }).to_string();
        assert_eq!(ChildMessage::read(&line), Some(ChildMessage::Unready(Some(unready))));
        assert_eq!(ChildMessage::read("{\"unready\":{\"reason\":\"\"}}"), Some(ChildMessage::Unready(None)));
        for other in ["", "hello", "7", "\"ready\"", "{\"panicked\": 7}", "{\"unready\": 7}"] {
            assert_eq!(ChildMessage::read(other), None, "{other}");
        }
    }
}
