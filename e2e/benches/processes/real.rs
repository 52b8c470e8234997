// SPDX-License-Identifier: Apache-2.0
//! A real gardener-apiserver on etcd, and the same requests to it and to a landscape.
//!
//! The landscape is its Kubernetes API server, from which it requests namespaces and authorization decisions: the real binary
//! finds there everything that a garden cluster has. Requests go directly to it, but to our gardener-apiserver through the host,
//! as requests of all clients do.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use clock::Clock;
use process::pki::{Authority, Key, Leaf, Validity};
use reqwest::Certificate;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::Sandbox;

use crate::client::{Client, internal_secrets};
use crate::load::{self, Latencies};
use crate::peers::{Etcd, free_port};
use crate::{Failure, Report, VALUE, pss};

/// Environment variable with the path of the binary.
pub(crate) const PROGRAM: &str = "TERRARIUM_BENCH_GARDENER_APISERVER";
/// Clients that create at the same time.
const CLIENTS: [usize; 3] = [1, 16, 64];
/// Clients that read or patch at the same time.
const READERS: usize = 16;
/// Number of objects of a list.
const LISTED: usize = 5_600;
/// Maximum wall time until its first answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A real gardener-apiserver. Dropping it ends it.
struct GardenerApiserver {
    process: Child,
    client: Client,
}

impl GardenerApiserver {
    /// Starts it with an etcd, a landscape as its Kubernetes API server, and a folder for its files; `client` is the landscape's.
    async fn start(
        program: &Path,
        etcd: &Etcd,
        sandbox: &Sandbox,
        folder: &Path,
        client: &Client,
    ) -> Result<Self, Failure> {
        let validity = Validity::starting(Clock::wall().now() - TimeDelta::hours(1), TimeDelta::days(1));
        let authority = Authority::new("gardener-apiserver", Key::transport()?, validity)?;
        let pair = authority.issue(Leaf::Server(&["127.0.0.1"]), &Key::transport()?, validity)?;
        let (certificate, key) = (folder.join("gardener-apiserver.crt"), folder.join("gardener-apiserver.key"));
        std::fs::write(&certificate, &pair.certificate)?;
        std::fs::write(&key, &pair.key)?;

        let (port, kubeconfig) = (free_port()?, sandbox.kubeconfig());
        let log = folder.join("gardener-apiserver.log");
        let mut command = Command::new(program);
        command.args(["--bind-address", "127.0.0.1", "--secure-port", &port.to_string()]);
        command.args(["--cluster-identity", "bench", "--etcd-servers", etcd.address()]);
        command.arg("--tls-cert-file").arg(&certificate).arg("--tls-private-key-file").arg(&key);
        for flag in ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"] {
            command.arg(flag).arg(&kubeconfig);
        }
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?).spawn()?;
        let trusted = Certificate::from_pem(authority.pair().certificate.as_bytes())?;
        let client = client.of_another(trusted, format!("https://127.0.0.1:{port}"))?;
        let real = Self { process, client };
        let began = Instant::now();
        while let Err(failure) = list(&real.client, "default").await {
            if began.elapsed() > PATIENCE {
                return Err(
                    format!("the real gardener-apiserver does not answer: {failure}: see {}", log.display()).into()
                );
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(real)
    }
}

impl Drop for GardenerApiserver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends the same requests to a new landscape and to the real one, load by load in turn.
pub(crate) async fn compare(
    report: &mut Report,
    sandbox: &Sandbox,
    folder: &Path,
    program: &Path,
    lasts: Duration,
) -> Result<(), Failure> {
    let client = Client::of(&sandbox.kubeconfig())?;
    let etcd = Etcd::start(folder).await?.ok_or("no etcd on the PATH (Debian: etcd-server)")?;
    let real = GardenerApiserver::start(program, &etcd, sandbox, folder, &client).await?;
    let both = [&client, &real.client];
    let value = "x".repeat(VALUE);

    for clients in CLIENTS {
        let mut rates = Vec::new();
        for one in both {
            rates.push(load::run(clients, lasts, |name| one.create_internal_secret("garden", name, &value)).await?);
        }
        report.comparison(
            &format!("Create{clients}"),
            &format!("create of an InternalSecret, {clients} clients"),
            &rates,
        );
    }
    // An object for each client.
    let path = |name: &str| format!("{}/own-{}", internal_secrets("garden"), client_of(name));
    let (mut gets, mut patches) = (Vec::new(), Vec::new());
    for one in both {
        load::each(READERS, READERS, |name| one.create_internal_secret("garden", format!("own-{name}"), &value))
            .await?;
        let get = |name: String| async move { one.read(&path(&name), "application/json").await };
        gets.push(load::run(READERS, lasts, get).await?);
        let patch = |name: String| async move {
            one.patch(&path(&name), json!({ "metadata": { "labels": { "a": name } } })).await
        };
        patches.push(load::run(READERS, lasts, patch).await?);
    }
    report.comparison("Get16", "GET of an own object, 16 clients", &gets);
    report.comparison("Patch16", "PATCH of an own object, 16 clients", &patches);

    let mut lists = Vec::new();
    for one in both {
        load::each(16, LISTED, |name| one.create_internal_secret("default", format!("listed-{name}"), &value)).await?;
        lists.push(list(one, "default").await?);
    }
    let [ours, theirs] = lists.try_into().map_err(|_| "two lists")?;
    let what = format!("LIST of {LISTED}");
    report.line(
        "realList",
        &format!("{what:<52} {ours:>10.2} s   real {theirs:>10.2} s"),
        json!({"seconds": ours, "realSeconds": theirs}),
    );
    let ours: u64 = sandbox.processes().iter().map(|pid| pss(*pid)).sum();
    let (apiserver, etcd) = (pss(real.process.id()), pss(etcd.id()));
    let text = format!(
        "{:<52} {:>10.1} MiB   real {:>10.1} MiB, its etcd {:.1}",
        "resident memory after these",
        mebibytes(ours),
        mebibytes(apiserver),
        mebibytes(etcd)
    );
    report.line("realMemory", &text, json!({"kibibytes": ours, "realKibibytes": apiserver, "etcdKibibytes": etcd}));
    Ok(())
}

impl Report {
    /// Reports the same load on a landscape and on the real one.
    fn comparison(&mut self, key: &str, what: &str, rates: &[Latencies]) {
        let [ours, theirs] = rates else { return };
        let ratio = ours.per_second / theirs.per_second.max(f64::MIN_POSITIVE);
        let text = format!(
            "{what:<52} {:>10.0} /s   real {:>10.0} /s   {ratio:>6.2} times",
            ours.per_second, theirs.per_second
        );
        self.line(
            &format!("real{key}"),
            &text,
            json!({"perSecond": ours.per_second, "realPerSecond": theirs.per_second}),
        );
    }
}

/// Returns the number of the client that makes the request with this name ([`load::run`]).
fn client_of(name: &str) -> &str {
    name.split('-').nth(1).unwrap_or_default()
}

/// Lists all InternalSecrets of a namespace; returns wall time in seconds.
async fn list(client: &Client, namespace: &str) -> Result<f64, Failure> {
    let began = Instant::now();
    let list: Value = serde_json::from_slice(&client.read(&internal_secrets(namespace), "application/json").await?)?;
    if list["items"].is_array() { Ok(began.elapsed().as_secs_f64()) } else { Err("no list".into()) }
}

fn mebibytes(kibibytes: u64) -> f64 {
    kibibytes as f64 / 1024.0
}
