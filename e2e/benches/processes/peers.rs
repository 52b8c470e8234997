// SPDX-License-Identifier: Apache-2.0
//! Reference values for the figures: the disk, and etcd on it.

use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::Failure;
use crate::load::Latencies;

/// Maximum wall time until etcd's first answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Appends 4 KiB and syncs, repeatedly.
pub(crate) fn fdatasyncs(folder: &Path, lasts: Duration) -> Result<Latencies, Failure> {
    let path = folder.join("syncs");
    let mut file = File::create(&path)?;
    let (began, page) = (Instant::now(), [7_u8; 4096]);
    let mut milliseconds = Vec::new();
    while began.elapsed() < lasts {
        let asked = Instant::now();
        file.write_all(&page)?;
        file.sync_data()?;
        milliseconds.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_file(&path)?;
    Ok(Latencies::new(milliseconds, began.elapsed()))
}

/// An etcd with one member, accessed by its JSON gateway. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Etcd {
    process: Child,
    client: reqwest::Client,
    address: String,
}

impl Etcd {
    /// Starts it on the disk of `folder`; `None`: it is not installed.
    pub(crate) async fn start(folder: &Path) -> Result<Option<Self>, Failure> {
        let [client, peer] = [free_port()?, free_port()?].map(|port| format!("http://127.0.0.1:{port}"));
        let data = folder.join("etcd");
        let started = Command::new("etcd")
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}"), "--data-dir"])
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else { return Ok(None) };
        let etcd = Self { process, client: reqwest::Client::new(), address: client };
        let began = Instant::now();
        loop {
            match etcd.put("ready".to_owned(), "").await {
                Ok(()) => return Ok(Some(etcd)),
                Err(failure) if began.elapsed() > PATIENCE => {
                    return Err(format!("etcd does not answer: {failure}").into());
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Returns the URL for clients.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns its process ID.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Puts a value; returns when it is durable.
    pub(crate) async fn put(&self, key: String, value: &str) -> Result<(), Failure> {
        let body = json!({"key": STANDARD.encode(key), "value": STANDARD.encode(value)});
        let response = self.client.post(format!("{}/v3/kv/put", self.address)).body(body.to_string()).send().await?;
        response.error_for_status()?.bytes().await?;
        Ok(())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a port that is free.
pub(crate) fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
