// SPDX-License-Identifier: Apache-2.0
//! Shoots: created and awaited, listed, and objects watched.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use reqwest::{Method, Response};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::Failure;
use crate::client::Client;
use crate::load::Latencies;

const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Number of concurrent creations.
const AT_ONCE: usize = 16;
/// Maximum wall time of a step.
const PATIENCE: Duration = Duration::from_mins(15);
/// Wall time without an event after which missing events count as lost.
const SILENCE: Duration = Duration::from_secs(20);
/// Number of watches on one connection.
const PER_CONNECTION: usize = 50;
const LOOK: Duration = Duration::from_millis(20);
const PARTIAL: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Applies the objects that Shoots require: CloudProfile, Project, credentials; the manifests of the end-to-end tests.
pub(crate) async fn prepare(client: &Client) -> Result<(), Failure> {
    for (file, waits) in [("garden", true), ("shoot", false)] {
        let path = format!("{}/landscape/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        for object in documents(&path)? {
            let collection = match object["kind"].as_str().unwrap_or_default() {
                "CloudProfile" => {
                    client.create("/apis/core.gardener.cloud/v1beta1/cloudprofiles", undated(object)).await?;
                    continue;
                }
                "Project" => "/apis/core.gardener.cloud/v1beta1/projects",
                "Secret" => "/api/v1/namespaces/garden-demo/secrets",
                "SecretBinding" => "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/secretbindings",
                _ => continue,
            };
            client.create(collection, object).await?;
        }
        if waits {
            let ready = |project: &Value| project["status"]["phase"] == "Ready";
            until(client, "/apis/core.gardener.cloud/v1beta1/projects/demo", ready).await?;
        }
    }
    Ok(())
}

/// Returns a CloudProfile whose versions do not expire: this landscape runs at the present time.
fn undated(mut profile: Value) -> Value {
    for version in profile["spec"]["kubernetes"]["versions"].as_array_mut().into_iter().flatten() {
        if let Some(fields) = version.as_object_mut() {
            fields.remove("expirationDate");
        }
    }
    profile
}

async fn until(client: &Client, path: &str, is_there: impl Fn(&Value) -> bool) -> Result<(), Failure> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let object: Value = serde_json::from_slice(&client.read(path, "application/json").await?)?;
        if is_there(&object) {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(format!("{path} did not become what it should within {PATIENCE:?}").into())
}

fn documents(path: &str) -> Result<Vec<Value>, Failure> {
    let text = std::fs::read_to_string(path)?;
    serde_yaml_ng::Deserializer::from_str(&text).map(|document| Ok(Value::deserialize(document)?)).collect()
}

fn shoot(name: &str) -> Result<Value, Failure> {
    let documents = documents(&format!("{}/landscape/shoot.yaml", env!("CARGO_MANIFEST_DIR")))?;
    let mut shoot = documents.into_iter().find(|object| object["kind"] == "Shoot").ok_or("no Shoot in the manifest")?;
    shoot["metadata"]["name"] = name.into();
    Ok(shoot)
}

/// Shoots that were created.
pub(crate) struct Created {
    /// Wall time, in seconds.
    pub(crate) seconds: f64,
    /// Number of Shoots that are `Succeeded`.
    pub(crate) done: usize,
}

/// Returns the present revision of the log.
pub(crate) async fn revision(client: &Client) -> Result<String, Failure> {
    let list = client.read(&format!("{SHOOTS}?limit=1"), "application/json").await?;
    let list: Value = serde_json::from_slice(&list)?;
    Ok(list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned())
}

/// Creates Shoots and waits until the last of them is `Succeeded`, or for a span of wall time.
pub(crate) async fn create_and_await(client: &Client, count: usize, lasts: Duration) -> Result<Created, Failure> {
    let names: BTreeSet<String> = (0..count).map(|number| format!("b{count}-{number}")).collect();
    let began = Instant::now();
    let version = revision(client).await?;
    let watch =
        Lines::of(client.send(Method::GET, &format!("{SHOOTS}?watch=true&resourceVersion={version}"), None).await?);
    let mut left = names.clone();
    let both = futures::future::try_join(create_all(client, &names, |_| {}), succeeded(watch, &mut left));
    // A Shoot that is not ready in time is counted as such.
    if let Ok(ended) = tokio::time::timeout(lasts, both).await {
        ended?;
    }
    Ok(Created { seconds: began.elapsed().as_secs_f64(), done: count - left.len() })
}

/// Creates Shoots, as [`create_and_await`] does.
pub(crate) async fn create_all_of(client: &Client, count: usize) -> Result<(), Failure> {
    let names: BTreeSet<String> = (0..count).map(|number| format!("w{number}")).collect();
    create_all(client, &names, |_| {}).await
}

async fn create_all(client: &Client, names: &BTreeSet<String>, change: impl Fn(&mut Value)) -> Result<(), Failure> {
    let (template, change) = (shoot("template")?, &change);
    let mut creations = futures::stream::iter(names)
        .map(|name| {
            let mut shoot = template.clone();
            shoot["metadata"]["name"] = name.as_str().into();
            change(&mut shoot);
            client.create(SHOOTS, shoot)
        })
        .buffer_unordered(AT_ONCE);
    while let Some(created) = creations.next().await {
        created?;
    }
    Ok(())
}

/// Removes Shoots that are `Succeeded` from `left` until it is empty.
async fn succeeded(mut watch: Lines, left: &mut BTreeSet<String>) -> Result<(), Failure> {
    while !left.is_empty() {
        let event = watch.next().await?.ok_or("the watch ended")?;
        let object = &event["object"];
        let operation = &object["status"]["lastOperation"];
        if operation["state"] == "Succeeded" {
            left.remove(object["metadata"]["name"].as_str().unwrap_or_default());
        }
    }
    Ok(())
}

/// Creates Shoots that no scheduler handles: they cause no work.
pub(crate) async fn create_without_seed(client: &Client, numbers: Range<usize>) -> Result<(), Failure> {
    let names = numbers.map(|number| format!("idle-{number}")).collect();
    create_all(client, &names, |shoot| shoot["spec"]["schedulerName"] = "nobody".into()).await
}

/// Kinds of lists: key, description, media type, objects a page (0: all).
pub(crate) const LISTS: [(&str, &str, &str, usize); 3] = [
    ("listFull", "in one", "application/json", 0),
    ("listPaged", "500 a page", "application/json", 500),
    ("listMetadata", "metadata only", PARTIAL, 0),
];

/// Lists all Shoots; returns wall time in seconds, and bytes.
pub(crate) async fn list(client: &Client, accept: &str, limit: usize) -> Result<(f64, usize), Failure> {
    let began = Instant::now();
    let (mut bytes, mut token) = (0, String::new());
    loop {
        let path = format!("{SHOOTS}?limit={limit}&continue={token}");
        let page = client.read(&path, accept).await?;
        bytes += page.len();
        if limit == 0 {
            break;
        }
        let page: Value = serde_json::from_slice(&page)?;
        match page["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            _ => break,
        }
    }
    Ok((began.elapsed().as_secs_f64(), bytes))
}

/// Measurements of watchers.
pub(crate) struct Watched {
    /// Time from the request to each delivery.
    pub(crate) latencies: Latencies,
    /// Actual rate of events.
    pub(crate) events_per_second: f64,
    /// Number of events that some watcher did not get.
    pub(crate) lost: usize,
}

/// Changes one object repeatedly while many clients watch it.
pub(crate) async fn watch(
    client: &Client,
    watchers: usize,
    per_second: u32,
    lasts: Duration,
) -> Result<Watched, Failure> {
    client.create_config_map("watched", "").await?;
    let began = Instant::now();
    let mut watches = Vec::new();
    let mut connection = client.apart()?;
    for number in 0..watchers {
        if number > 0 && number % PER_CONNECTION == 0 {
            connection = client.apart()?;
        }
        let path = format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Dwatched");
        let response = connection.send(Method::GET, &path, None).await?;
        watches.push(Lines::of(response));
    }
    let started = Instant::now();
    let total = per_second * u32::try_from(lasts.as_secs())?;
    let writer = async {
        // A write is acknowledged when it is durable: sequential writes would wait for the disk.
        let mut writes = futures::stream::iter(1..=total)
            .map(|number| async move {
                let due = started + Duration::from_secs(1) / per_second * number;
                tokio::time::sleep_until(due.into()).await;
                let asked = began.elapsed().as_micros().to_string();
                let path = format!("{MAPS}/watched");
                client.patch(&path, json!({"data": {"value": asked, "number": number.to_string()}})).await
            })
            .buffer_unordered(AT_ONCE);
        while let Some(written) = writes.next().await {
            written?;
        }
        Ok::<_, Failure>(started.elapsed())
    };
    let readers = watches.into_iter().map(|watch| deliveries(watch, began, total as usize));
    let readers = futures::future::try_join_all(readers);
    let (wrote, read) = futures::future::join(writer, readers).await;
    let (wrote, read) = (wrote?, read?);
    let got: usize = read.iter().map(Vec::len).sum();
    let milliseconds = read.into_iter().flatten().collect();
    Ok(Watched {
        latencies: Latencies::new(milliseconds, started.elapsed()),
        events_per_second: f64::from(total) / wrote.as_secs_f64(),
        lost: watchers * total as usize - got,
    })
}

/// Returns the latencies of one watcher, in milliseconds, when all events were received, or none for [`SILENCE`].
async fn deliveries(mut watch: Lines, began: Instant, total: usize) -> Result<Vec<f64>, Failure> {
    let mut milliseconds = Vec::new();
    while milliseconds.len() < total {
        let Ok(event) = tokio::time::timeout(SILENCE, watch.next()).await else { break };
        let event = event?.ok_or("a watch ended")?;
        let Some(asked) = event["object"]["data"]["value"].as_str().and_then(|text| text.parse::<f64>().ok()) else {
            continue;
        };
        milliseconds.push(began.elapsed().as_secs_f64() * 1e3 - asked / 1e3);
    }
    Ok(milliseconds)
}

/// The events of a watch.
struct Lines {
    response: Response,
    rest: Vec<u8>,
}

impl Lines {
    fn of(response: Response) -> Self {
        Self { response, rest: Vec::new() }
    }

    async fn next(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.response.chunk().await? {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}
