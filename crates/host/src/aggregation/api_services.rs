// SPDX-License-Identifier: Apache-2.0
//! The APIServices of the aggregated groups, and their condition `Available`.
//!
//! | instances that run | Available | reason | message |
//! | --- | --- | --- | --- |
//! | some | True | Passed | all checks passed |
//! | none | False | MissingEndpoints | endpoints for service/NAME in "NAMESPACE" have no addresses with port name "" |
//!
//! Source: k8s.io/kube-aggregator pkg/controllers/status/remote; charts/gardener/controlplane.
//!
//! APIServices of users are in [`extensions`](super::extensions).
//!
//! **Deliberately absent.** An APIService of an aggregated group changes nothing: these groups are
//! [`AGGREGATED_GROUPS`](api::catalogue::AGGREGATED_GROUPS).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::{catalogue, cluster};
use apimachinery::release::Release;
use bytes::Bytes;
use chrono::SecondsFormat;
use clock::Clock;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::Transport;
use process::transport::full;
use serde_json::{Value, json};

use super::Instances;

/// Path of the APIServices below a cluster.
const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
/// Name and namespace of the Service behind them; the names of a real landscape.
const SERVICE: (&str, &str) = ("gardener-apiserver", "garden");

/// Aggregated groups and versions, in order; true for those that a release has.
fn group_versions(release: Release) -> BTreeMap<(&'static str, &'static str), bool> {
    let mut all = BTreeMap::new();
    for row in catalogue::all().iter().filter(|row| catalogue::is_aggregated(row)) {
        *all.entry((row.group, row.version)).or_default() |= row.at(release).is_served();
    }
    all
}

/// Writes the APIServices of the aggregated groups and their condition. Cheap to clone; clones write one after another,
/// each the state at the time of its write, so the last write is correct.
#[derive(Clone)]
pub struct ApiServices(Arc<Inner>);

struct Inner {
    transport: Transport,
    clock: Clock,
    instances: Instances,
    turn: tokio::sync::Mutex<()>,
}

impl fmt::Debug for ApiServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiServices")
    }
}

impl ApiServices {
    /// Creates a keeper for the instances behind the groups that writes through `transport`.
    pub fn new(transport: Transport, clock: Clock, instances: Instances) -> Self {
        Self(Arc::new(Inner { transport, clock, instances, turn: tokio::sync::Mutex::default() }))
    }

    /// Creates the missing APIServices of the served release, or of `other` before the first instance, with their
    /// condition.
    ///
    /// # Errors
    /// The error response of the API server, or the reason why there was no response.
    pub async fn create(&self, other: Release) -> Result<(), String> {
        let _turn = self.0.turn.lock().await;
        create(&self.0.transport, self.0.instances.release().unwrap_or(other)).await?;
        self.write_condition().await
    }

    /// Updates the APIServices and their condition until `instances` is dropped.
    pub async fn follow(self) {
        let mut count = self.0.instances.count();
        let mut known = None;
        loop {
            let now = (*count.borrow() > 0, self.0.instances.release());
            if known != Some(now) {
                known = Some(now);
                if let Err(error) = self.keep_once().await {
                    tracing::warn!(%error, "cannot write the availability of the aggregated groups");
                    known = None;
                }
            }
            if count.changed().await.is_err() {
                return;
            }
        }
    }

    /// Updates the APIServices to the served release, and their condition.
    async fn keep_once(&self) -> Result<(), String> {
        let _turn = self.0.turn.lock().await;
        if let Some(release) = self.0.instances.release() {
            change(&self.0.transport, release).await?;
        }
        self.write_condition().await
    }

    /// Writes the condition into all APIServices of the groups.
    async fn write_condition(&self) -> Result<(), String> {
        let (service, namespace) = SERVICE;
        let is_available = *self.0.instances.count().borrow() > 0;
        let availability =
            if is_available { Availability::passed() } else { Availability::missing_endpoints(service, namespace, "") };
        for ((group, version), _) in group_versions(Release::UNION) {
            let name = format!("{version}.{group}");
            availability.write(&self.0.transport, &self.0.clock, cluster::GARDEN, &name).await?;
        }
        Ok(())
    }
}

/// Creates the missing APIServices of a release.
async fn create(transport: &Transport, release: Release) -> Result<(), String> {
    let path = format!("/clusters/{}{PATH}", cluster::GARDEN);
    for ((group, version), _) in group_versions(release).into_iter().filter(|(_, is_served)| *is_served) {
        let object = json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": { "name": format!("{version}.{group}"), "labels": { "app": "gardener", "role": "apiserver" } },
            "spec": {
                "service": { "name": SERVICE.0, "namespace": SERVICE.1, "port": 443 },
                "group": group,
                "version": version,
                "insecureSkipTLSVerify": true,
                "groupPriorityMinimum": 9999,
                "versionPriority": 19,
            },
        });
        let (status, body) = send(transport, Method::POST, &path, &object.to_string()).await?;
        if !status.is_success() && status != StatusCode::CONFLICT {
            return Err(String::from_utf8_lossy(&body).into_owned());
        }
    }
    Ok(())
}

/// Replaces the APIServices by those of another release.
async fn change(transport: &Transport, release: Release) -> Result<(), String> {
    create(transport, release).await?;
    let path = format!("/clusters/{}{PATH}", cluster::GARDEN);
    for ((group, version), _) in group_versions(release).into_iter().filter(|(_, is_served)| !is_served) {
        let (status, body) = send(transport, Method::DELETE, &format!("{path}/{version}.{group}"), "").await?;
        if !status.is_success() && status != StatusCode::NOT_FOUND {
            return Err(String::from_utf8_lossy(&body).into_owned());
        }
    }
    Ok(())
}

/// Condition `Available` of an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Availability {
    pub(super) is_available: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Availability {
    /// Condition of a server that answers.
    pub(super) fn passed() -> Self {
        Self { is_available: true, reason: "Passed", message: "all checks passed".to_owned() }
    }

    /// Condition of a server that does not answer.
    pub(super) const fn failed(reason: &'static str, message: String) -> Self {
        Self { is_available: false, reason, message }
    }

    /// Condition of a Service that has no ready endpoint with a port of this name.
    pub(super) fn missing_endpoints(service: &str, namespace: &str, port: &str) -> Self {
        let message =
            format!("endpoints for service/{service} in {namespace:?} have no addresses with port name {port:?}");
        Self::failed("MissingEndpoints", message)
    }

    /// Writes the condition into an APIService if it has changed. A missing APIService is ignored.
    ///
    /// # Errors
    /// The reason why the API server could not be reached.
    pub(super) async fn write(
        &self,
        transport: &Transport,
        clock: &Clock,
        cluster: &str,
        name: &str,
    ) -> Result<(), String> {
        let path = format!("/clusters/{cluster}{PATH}/{name}");
        loop {
            let (status, body) = send(transport, Method::GET, &path, "").await?;
            let tree = serde_json::from_slice::<Value>(&body).unwrap_or_default();
            if !status.is_success() || self.is_in(&tree) {
                return Ok(());
            }
            let changed = self.put_into(tree, clock);
            let (status, _) = send(transport, Method::PUT, &format!("{path}/status"), &changed.to_string()).await?;
            if status != StatusCode::CONFLICT {
                return Ok(());
            }
        }
    }

    const fn status(&self) -> &'static str {
        if self.is_available { "True" } else { "False" }
    }

    fn is_in(&self, tree: &Value) -> bool {
        available(tree).is_some_and(|condition| {
            condition["status"] == self.status()
                && condition["reason"] == self.reason
                && condition["message"] == *self.message
        })
    }

    fn put_into(&self, mut tree: Value, clock: &Clock) -> Value {
        let same = available(&tree).filter(|condition| condition["status"] == self.status());
        let since = same.map_or_else(
            || json!(clock.now().to_rfc3339_opts(SecondsFormat::Secs, true)),
            |condition| condition["lastTransitionTime"].clone(),
        );
        let mut all = tree["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.retain(|condition| condition["type"] != "Available");
        all.push(json!({
            "type": "Available",
            "status": self.status(),
            "lastTransitionTime": since,
            "reason": self.reason,
            "message": self.message,
        }));
        tree["status"] = json!({ "conditions": all });
        tree
    }
}

fn available(tree: &Value) -> Option<&Value> {
    tree["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Available")
}

async fn send(transport: &Transport, method: Method, path: &str, body: &str) -> Result<(StatusCode, Bytes), String> {
    let mut request = http::Request::new(full(body.to_owned()));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let response = transport.send(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use eventlog::MemoryLog;
    use futures::FutureExt;
    use parking_lot::Mutex;
    use process::{Tasks, watch};

    use super::super::AnswerLimit;
    use super::*;

    /// Serves one APIService; its updates wait while the gate is shut.
    fn server(stored: Arc<Mutex<Value>>, gate: watch::Receiver<bool>) -> Transport {
        Transport::new(move |request| {
            let (stored, mut gate) = (stored.clone(), gate.clone());
            Box::pin(async move {
                let (parts, body) = request.into_parts();
                if !parts.uri.path().contains("v1beta1.core.gardener.cloud") {
                    let mut answer = http::Response::new(full("{}"));
                    *answer.status_mut() =
                        if parts.method == Method::POST { StatusCode::CONFLICT } else { StatusCode::NOT_FOUND };
                    return Ok(answer);
                }
                if parts.method == Method::PUT {
                    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                    let _ = gate.wait_for(|is_open| *is_open).await;
                    *stored.lock() = serde_json::from_slice(&body).unwrap_or_default();
                }
                Ok(http::Response::new(full(stored.lock().to_string())))
            })
        })
    }

    /// The landscape starts: one task writes that no instance is available while the first instance becomes ready.
    #[tokio::test]
    async fn the_last_write_counts_despite_slow_earlier_ones() {
        let limit = AnswerLimit { wall: Clock::wall(), time: TimeDelta::days(1), report: Arc::new(|_, _| {}) };
        let instances = Instances::new(Tasks::new(), Arc::new(MemoryLog::new()), Clock::wall(), limit);
        let (open, gate) = watch::channel(false);
        let stored = Arc::new(Mutex::new(json!({"metadata": {"name": "v1beta1.core.gardener.cloud"}})));
        let nobody = Transport::new(|_| Box::pin(async { Err(process::TransportError::Broken(String::new())) }));
        let services = ApiServices::new(server(stored.clone(), gate), Clock::wall(), instances.clone());
        let mut created = Box::pin(services.create(Release::UNION));
        assert!(created.as_mut().now_or_never().is_none(), "the write that nothing is available waits");
        instances.insert("a", Release::UNION, nobody);
        let mut kept = Box::pin(services.keep_once());
        assert!(kept.as_mut().now_or_never().is_none());
        open.send_replace(true);
        let (kept, created) = futures::join!(kept, created);
        assert_eq!((kept, created), (Ok(()), Ok(())));
        let stored = stored.lock().clone();
        assert_eq!(available(&stored).map(|condition| condition["status"].clone()), Some(json!("True")), "{stored}");
    }
}
