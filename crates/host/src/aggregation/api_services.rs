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

use api::{catalogue, cluster};
use apimachinery::release::Release;
use bytes::Bytes;
use chrono::SecondsFormat;
use clock::Clock;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use process::Transport;
use process::transport::full;
use serde_json::{Value, json};

/// Path of the APIServices below a cluster.
const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
/// The Service behind them: name and namespace, as in the field.
const SERVICE: (&str, &str) = ("gardener-apiserver", "garden");

/// Aggregated groups and versions, in order; true for those that a release has.
fn group_versions(release: Release) -> BTreeMap<(&'static str, &'static str), bool> {
    let mut all = BTreeMap::new();
    for row in catalogue::all().iter().filter(|row| catalogue::is_aggregated(row)) {
        *all.entry((row.group, row.version)).or_default() |= row.at(release).is_served();
    }
    all
}

/// Creates the missing APIServices of a release.
///
/// # Errors
/// The refusal of the API server, or the reason for a missing answer.
pub fn create(transport: &Transport, release: Release) -> BoxFuture<'_, Result<(), String>> {
    Box::pin(async move {
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
    })
}

/// Replaces the APIServices by those of another release.
///
/// # Errors
/// The refusal of the API server, or the reason for a missing answer.
pub fn change(transport: &Transport, release: Release) -> BoxFuture<'_, Result<(), String>> {
    Box::pin(async move {
        create(transport, release).await?;
        let path = format!("/clusters/{}{PATH}", cluster::GARDEN);
        for ((group, version), _) in group_versions(release).into_iter().filter(|(_, is_served)| !is_served) {
            let (status, body) = send(transport, Method::DELETE, &format!("{path}/{version}.{group}"), "").await?;
            if !status.is_success() && status != StatusCode::NOT_FOUND {
                return Err(String::from_utf8_lossy(&body).into_owned());
            }
        }
        Ok(())
    })
}

/// Writes whether the aggregated groups are served into their APIServices.
///
/// # Errors
/// The reason for which the API server cannot be asked.
pub fn set_available<'a>(
    transport: &'a Transport,
    clock: &'a Clock,
    is_available: bool,
) -> BoxFuture<'a, Result<(), String>> {
    Box::pin(async move {
        let (service, namespace) = SERVICE;
        let availability =
            if is_available { Availability::passed() } else { Availability::missing_endpoints(service, namespace, "") };
        for ((group, version), _) in group_versions(Release::UNION) {
            availability.write(transport, clock, cluster::GARDEN, &format!("{version}.{group}")).await?;
        }
        Ok(())
    })
}

/// Condition `Available` of an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Availability {
    pub(super) is_available: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Availability {
    /// The server answers.
    pub(super) fn passed() -> Self {
        Self { is_available: true, reason: "Passed", message: "all checks passed".to_owned() }
    }

    /// The server does not answer.
    pub(super) const fn failed(reason: &'static str, message: String) -> Self {
        Self { is_available: false, reason, message }
    }

    /// The Service has no ready endpoint with a port of this name.
    pub(super) fn missing_endpoints(service: &str, namespace: &str, port: &str) -> Self {
        let message =
            format!("endpoints for service/{service} in {namespace:?} have no addresses with port name {port:?}");
        Self::failed("MissingEndpoints", message)
    }

    /// Writes the condition, if it has changed, into an APIService. One that does not exist is left.
    ///
    /// # Errors
    /// The reason for which the API server cannot be asked.
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
