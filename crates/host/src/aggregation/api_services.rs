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
//! **Deliberately absent.** An APIService does not make a group: which groups are handed on is
//! [`AGGREGATED_GROUPS`](api::catalogue::AGGREGATED_GROUPS), and deleting one changes nothing.

use std::collections::BTreeMap;

use api::catalogue;
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

/// Where they are.
const PATH: &str = "/clusters/garden/apis/apiregistration.k8s.io/v1/apiservices";
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
            let (status, body) = send(transport, Method::POST, PATH, &object.to_string()).await?;
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
        for ((group, version), _) in group_versions(release).into_iter().filter(|(_, is_served)| !is_served) {
            let (status, body) = send(transport, Method::DELETE, &format!("{PATH}/{version}.{group}"), "").await?;
            if !status.is_success() && status != StatusCode::NOT_FOUND {
                return Err(String::from_utf8_lossy(&body).into_owned());
            }
        }
        Ok(())
    })
}

/// Says whether anybody serves them: writes the condition where it is another.
///
/// # Errors
/// Why the API server cannot be asked.
pub fn set_available<'a>(
    transport: &'a Transport,
    clock: &'a Clock,
    is_available: bool,
) -> BoxFuture<'a, Result<(), String>> {
    Box::pin(async move {
        for ((group, version), _) in group_versions(Release::UNION) {
            let path = format!("{PATH}/{version}.{group}");
            loop {
                let (status, body) = send(transport, Method::GET, &path, "").await?;
                let tree = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                // An APIService that is none, or that is gone.
                if !status.is_success() || has_condition(&tree, is_available) {
                    break;
                }
                let changed = with_condition(tree, is_available, clock);
                let (status, _) = send(transport, Method::PUT, &format!("{path}/status"), &changed.to_string()).await?;
                if status != StatusCode::CONFLICT {
                    break;
                }
            }
        }
        Ok(())
    })
}

const fn text(is_available: bool) -> &'static str {
    if is_available { "True" } else { "False" }
}

fn conditions(tree: &Value) -> Vec<Value> {
    tree["status"]["conditions"].as_array().cloned().unwrap_or_default()
}

fn has_condition(tree: &Value, is_available: bool) -> bool {
    conditions(tree)
        .iter()
        .any(|condition| condition["type"] == "Available" && condition["status"] == text(is_available))
}

fn with_condition(mut tree: Value, is_available: bool, clock: &Clock) -> Value {
    let (name, namespace) = SERVICE;
    let (reason, message) = if is_available {
        ("Passed", "all checks passed".to_owned())
    } else {
        let message = format!("endpoints for service/{name} in {namespace:?} have no addresses with port name \"\"");
        ("MissingEndpoints", message)
    };
    let mut all = conditions(&tree);
    all.retain(|condition| condition["type"] != "Available");
    all.push(json!({
        "type": "Available",
        "status": text(is_available),
        "lastTransitionTime": clock.now().to_rfc3339_opts(SecondsFormat::Secs, true),
        "reason": reason,
        "message": message,
    }));
    tree["status"] = json!({ "conditions": all });
    tree
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
