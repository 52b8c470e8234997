// SPDX-License-Identifier: Apache-2.0
//! Malformed requests in large numbers: no panic, no process ends, other clients are not delayed, and no memory is kept.
//!
//! `TERRARIUM_TEST_MALFORMED` is the number of requests; with 20,000 or more, times and memory are checked, too (`cargo xtask
//! test --long`). A table of the answers and every kind of 5xx is printed.
#![expect(clippy::print_stdout, reason = "a campaign prints its table")]

mod requests;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::StreamExt;
use futures::future::{Either, select};
use http_body_util::BodyExt;
use process::Transport;
use process::https::{self, Credentials, Watches};
use process::pki::Pair;
use process::transport::full;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use terrarium_e2e::sandbox::Sandbox;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{campaign, manifest, sandbox};
use requests::{Malformed, RequestForm, Requests};

/// Number of concurrent requests.
const AT_ONCE: usize = 8;
/// Maximum wall time until an answer.
const PATIENCE: TimeDelta = TimeDelta::seconds(60);
/// Maximum wall time of an ordinary request of another client while a long campaign runs. Far more than expected: the machine
/// that runs it may stall.
const BOUND: TimeDelta = TimeDelta::seconds(20);
/// Maximum growth of a process's memory, in bytes.
const KEPT: u64 = 50 << 20;

/// Access to a landscape.
struct LandscapeAccess {
    server: String,
    authorities: String,
    pair: Pair,
}

impl LandscapeAccess {
    fn to(sandbox: &Sandbox) -> Self {
        let text = fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
        let config: Value = serde_yaml_ng::from_str(&text).expect("YAML");
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        let data = |value: &Value| {
            let bytes = STANDARD.decode(value.as_str().expect("data")).expect("base64");
            String::from_utf8(bytes).expect("PEM")
        };
        let server = cluster["server"].as_str().and_then(|url| url.strip_prefix("https://")).expect("an URL");
        Self {
            server: server.split('/').next().unwrap_or_default().to_owned(),
            authorities: data(&cluster["certificate-authority-data"]),
            pair: Pair { certificate: data(&user["client-certificate-data"]), key: data(&user["client-key-data"]) },
        }
    }

    fn transport(&self, credentials: Credentials) -> Transport {
        let options = https::Options {
            server: self.server.clone(),
            authorities: self.authorities.clone(),
            credentials,
            watches: Watches::Shared,
            ..https::Options::default()
        };
        https::transport(&options).expect("a kubeconfig that works")
    }

    fn tls(&self) -> rustls::ClientConfig {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.authorities.as_bytes()) {
            roots.add(certificate.expect("PEM")).expect("a certificate");
        }
        let chain = CertificateDer::pem_slice_iter(self.pair.certificate.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(self.pair.key.as_bytes()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(roots);
        config.with_client_auth_cert(chain, key).expect("a client certificate")
    }
}

/// Result of a request: a code and the beginning of its text, or the reason why there is none.
type Outcome = (u16, String);

struct Client {
    way: LandscapeAccess,
    tls: Arc<rustls::ClientConfig>,
    administrator: Transport,
    anonymous: Transport,
}

impl Client {
    async fn send(&self, malformed: Malformed) -> Outcome {
        let sent = async {
            match malformed.sent {
                RequestForm::Request(request) => {
                    let transport = if malformed.anonymous { &self.anonymous } else { &self.administrator };
                    answered(transport, *request).await
                }
                RequestForm::Raw(bytes) => self.raw(&bytes).await,
            }
        };
        let patience = Clock::wall().sleep(PATIENCE, TimerClass::Work);
        match select(std::pin::pin!(sent), patience).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => (0, "no answer in time".to_owned()),
        }
    }

    /// Writes bytes on a connection; returns the first answer.
    async fn raw(&self, bytes: &[u8]) -> Outcome {
        let connected = async {
            let stream = tokio::net::TcpStream::connect(&self.way.server).await?;
            let name = ServerName::try_from("localhost").expect("a name");
            let mut stream = tokio_rustls::TlsConnector::from(self.tls.clone()).connect(name, stream).await?;
            stream.write_all(bytes).await?;
            stream.flush().await?;
            // No more bytes follow, even if the head promised more.
            stream.get_mut().1.send_close_notify();
            let _ = stream.flush().await;
            let mut answer = vec![0; 4096];
            let count = stream.read(&mut answer).await.unwrap_or(0);
            std::io::Result::Ok(String::from_utf8_lossy(&answer[..count]).into_owned())
        };
        match connected.await {
            Err(error) => (0, format!("raw: {}", error.kind())),
            Ok(answer) => {
                let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
                (code.unwrap_or(0), if code.is_some() { answer } else { "raw: closed".to_owned() })
            }
        }
    }
}

async fn answered(transport: &Transport, request: process::Request) -> Outcome {
    let lasts = request.uri().query().is_some_and(|query| query.contains("watch"));
    match transport.send(request).await {
        Err(error) => (0, error.to_string()),
        Ok(response) => {
            let code = response.status().as_u16();
            if lasts {
                return (code, String::new());
            }
            let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            (code, body.map_or_else(|error| error.to_string(), |body| String::from_utf8_lossy(&body).into_owned()))
        }
    }
}

/// Returns the text of a failure without the parts that differ between two of a kind.
fn kind_of(text: &str) -> String {
    let tree: Value = serde_json::from_str(text).unwrap_or_default();
    let text = tree["message"].as_str().unwrap_or(text);
    let mut kind: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).take(160).collect();
    while kind.contains("00") {
        kind = kind.replace("00", "0");
    }
    kind
}

/// Returns the memory of a process in bytes.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn command(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").chars().take(60).collect()
}

/// Repeats ordinary requests; returns the longest time of one, and their number.
async fn ordinary(way: &LandscapeAccess, is_over: &AtomicBool) -> (TimeDelta, usize) {
    let transport = way.transport(Credentials::Certificate(way.pair.clone()));
    let (wall, mut longest, mut count) = (Clock::wall(), TimeDelta::zero(), 0);
    while !is_over.load(Ordering::SeqCst) {
        for path in [
            "/clusters/garden/api/v1/namespaces/default",
            "/clusters/garden/apis/core.gardener.cloud/v1beta1/projects",
            "/clusters/garden/api/v1/namespaces/default/configmaps",
        ] {
            let begun = wall.now();
            let request = http::Request::get(path).body(full(Bytes::new())).expect("a request");
            let (code, text) = answered(&transport, request).await;
            assert_eq!(code, 200, "{path}: {text}");
            longest = longest.max(wall.now() - begun);
            count += 1;
        }
        wall.sleep(TimeDelta::milliseconds(20), TimerClass::Work).await;
    }
    (longest, count)
}

#[test]
fn malformed_requests_disturb_no_other_client() {
    let _campaign = campaign();
    let count = std::env::var_os("TERRARIUM_TEST_MALFORMED");
    let count = count.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(2_000_u64);
    let is_long = count >= 20_000;
    let sandbox = sandbox("malformed");
    sandbox.terrarium(&["up", "--seed", "7", "--start-time", "2023-07-27T20:00:00Z"]);
    sandbox.kubectl(terrarium_e2e::sandbox::Kubectl::Newest, "garden", &["apply", "-f", &manifest("garden")]);
    let before: BTreeMap<u32, u64> = sandbox.processes().into_iter().map(|pid| (pid, memory(pid))).collect();

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (outcomes, longest, asked) = runtime.block_on(async {
        let way = LandscapeAccess::to(&sandbox);
        let client = Client {
            tls: Arc::new(way.tls()),
            administrator: way.transport(Credentials::Certificate(way.pair.clone())),
            anonymous: way.transport(Credentials::None),
            way,
        };
        let is_over = AtomicBool::new(false);
        let campaign = async {
            let mut outcomes: BTreeMap<(u16, String), usize> = BTreeMap::new();
            let mut answers = futures::stream::iter(Requests::new(7).take(usize::try_from(count).expect("a count")))
                .map(|malformed| client.send(malformed))
                .buffer_unordered(AT_ONCE);
            while let Some((code, text)) = answers.next().await {
                let kind = if code == 0 || code >= 500 { kind_of(&text) } else { String::new() };
                *outcomes.entry((code, kind)).or_default() += 1;
            }
            is_over.store(true, Ordering::SeqCst);
            outcomes
        };
        let (outcomes, (longest, asked)) = futures::join!(campaign, ordinary(&client.way, &is_over));
        (outcomes, longest, asked)
    });

    println!("{count} malformed requests; {asked} concurrent ordinary ones took at most {longest}");
    for ((code, kind), count) in &outcomes {
        println!("{count:>7}  {code:<4} {kind}");
    }
    // Memory is released after its use, when the allocator has noticed.
    let wall = Clock::wall();
    let begun = wall.now();
    let grown = |before: &BTreeMap<u32, u64>| -> Vec<(u32, u64, u64)> {
        before.iter().map(|(pid, bytes)| (*pid, *bytes, memory(*pid))).collect()
    };
    let mut after = grown(&before);
    while is_long && wall.now() - begun < PATIENCE && after.iter().any(|(_, before, after)| *after > before + KEPT) {
        runtime.block_on(wall.sleep(TimeDelta::seconds(1), TimerClass::Work));
        after = grown(&before);
    }
    for (pid, before, after) in &after {
        println!("{:>5} MiB before, {:>5} MiB after  {}", before >> 20, after >> 20, command(*pid));
    }
    assert_eq!(sandbox.processes(), before.keys().copied().collect::<Vec<_>>(), "a process has ended");
    assert_eq!(sandbox.panics(), Vec::<String>::new());
    let unanswered = outcomes.iter().filter(|((code, kind), _)| *code == 0 && kind.contains("no answer")).count();
    assert_eq!(unanswered, 0, "every request has an answer or an end");
    if is_long {
        assert!(longest < BOUND, "an ordinary request took {longest}");
        assert!(after.iter().all(|(_, before, after)| *after <= before + KEPT), "memory is kept: {after:?}");
    }
}
