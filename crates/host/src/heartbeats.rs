// SPDX-License-Identifier: Apache-2.0
//! Renewals of Leases that are not written: the Leases by which gardenlets show that they run.
//!
//! ```text
//! stored without renewTime   its owner runs: a read shows that it was renewed now
//! stored with renewTime      its owner has ended, as an annotation says, too: that was its last renewal
//! ```
//!
//! So a day in which a gardenlet lives costs no entry, and its end costs one. Who starts and ends processes says when an
//! owner comes ([`crate::Host::start_renewing`]) and when it has gone ([`crate::Host::stop_renewing`]); several processes may
//! be owners of one Lease while one of them replaces another.
//!
//! Components get what is stored, and so see the end of an owner in their watches; all other clients read the renewal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::constants::{annotation, namespace};
use apimachinery::meta::MicroTime;
use clock::Instant;
use http::Method;
use http_body_util::BodyExt;
use process::transport::{Decoded, full};
use process::{Response, Transport, TransportError};
use serde_json::{Value, json};

/// What comes behind the cluster in a path of Leases.
const GROUP: &str = "/apis/coordination.k8s.io/v1/";

/// Owners of each Lease that live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeats(Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>);

impl Heartbeats {
    fn owners(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody lives.
    pub(crate) fn begin(&self, lease: &str, owner: &str) {
        self.owners().entry(lease.to_owned()).or_default().insert(owner.to_owned());
    }

    /// Somebody has gone; whether nobody is left.
    pub(crate) fn end(&self, lease: &str, owner: &str) -> bool {
        let mut all = self.owners();
        let Some(owners) = all.get_mut(lease) else { return true };
        owners.remove(owner);
        owners.is_empty()
    }
}

/// Whether an answer to a path may show such Leases.
pub(crate) fn is_shown_at(path: &str) -> bool {
    let rest = path.strip_prefix("/clusters/garden").or_else(|| path.strip_prefix("/clusters/*"));
    rest.is_some_and(|rest| rest.starts_with(GROUP))
}

/// Fills in the renewal of every Lease whose owner lives.
pub(crate) async fn show(response: Response, now: Instant) -> Response {
    let (mut parts, body) = response.into_parts();
    parts.extensions.remove::<Decoded>();
    let is_json = parts.headers.get(http::header::CONTENT_TYPE).is_some_and(|value| value == "application/json");
    if !parts.status.is_success() || !is_json {
        return Response::from_parts(parts, body);
    }
    let Ok(body) = body.collect().await else {
        let mut broken = Response::new(full(""));
        *broken.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        return broken;
    };
    let body = body.to_bytes();
    let Ok(mut tree) = serde_json::from_slice::<Value>(&body) else { return Response::from_parts(parts, full(body)) };
    let changed = match tree["kind"].as_str() {
        Some("Lease") => fill(&mut tree, now),
        Some("LeaseList") => {
            let items = tree["items"].as_array_mut().into_iter().flatten();
            items.fold(false, |changed, item| fill(item, now) | changed)
        }
        _ => false,
    };
    Response::from_parts(parts, if changed { full(format!("{tree}\n")) } else { full(body) })
}

fn fill(lease: &mut Value, now: Instant) -> bool {
    let is_renewed = lease["metadata"]["namespace"] == namespace::SEED_LEASE && lease["spec"]["renewTime"].is_null();
    if is_renewed && lease["spec"].is_object() {
        lease["spec"]["renewTime"] = json!(MicroTime(now));
        return true;
    }
    false
}

/// The Leases that are there, and whether their owner has gone.
async fn stored(transport: &Transport) -> Result<Vec<(String, bool)>, TransportError> {
    let tree = send(transport, Method::GET, "", &Value::Null).await?;
    let items = tree["items"].as_array().cloned().unwrap_or_default();
    let one =
        |item: &Value| Some((item["metadata"]["name"].as_str()?.to_owned(), !item["spec"]["renewTime"].is_null()));
    Ok(items.iter().filter_map(one).collect())
}

/// Stores the last renewal of Leases that have none: of one, or of all; `None`: their owner lives again, and so they lose
/// it.
pub(crate) async fn fix(transport: &Transport, name: Option<&str>, at: Option<Instant>) -> Result<(), TransportError> {
    for (lease, has_gone) in stored(transport).await? {
        if name.is_none_or(|name| name == lease) && has_gone != at.is_some() {
            let patch = json!({
                "metadata": { "annotations": { annotation::OWNER_HAS_GONE: at.map(|_| "true") } },
                "spec": { "renewTime": at.map(MicroTime) },
            });
            send(transport, Method::PATCH, &format!("/{lease}"), &patch).await?;
        }
    }
    Ok(())
}

/// Asks the host's own server; what is refused is no Lease any more.
async fn send(transport: &Transport, method: Method, rest: &str, body: &Value) -> Result<Value, TransportError> {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder()
        .method(method)
        .uri(format!("/clusters/garden{GROUP}namespaces/{}/leases{rest}", namespace::SEED_LEASE))
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(full(text))
        .map_err(|error| TransportError::Broken(error.to_string()))?;
    let response = transport.send(request).await?;
    let body = response.into_body().collect().await.map_err(|error| TransportError::Broken(error.to_string()))?;
    Ok(serde_json::from_slice(&body.to_bytes()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_lives_as_long_as_one_of_its_owners() {
        let heartbeats = Heartbeats::default();
        heartbeats.begin("local", "old");
        heartbeats.begin("local", "new");
        assert!(!heartbeats.end("local", "old"));
        assert!(heartbeats.end("local", "new"));
        assert!(heartbeats.end("other", "nobody"));
    }

    #[test]
    fn leases_are_renewed_as_long_as_nothing_else_is_stored() {
        let now = "2023-07-27T20:00:00Z".parse().expect("an instant");
        for (namespace, renewed, expected) in [
            ("gardener-system-seed-lease", Value::Null, json!("2023-07-27T20:00:00.000000Z")),
            ("gardener-system-seed-lease", json!("2023-07-27T19:00:00.000000Z"), json!("2023-07-27T19:00:00.000000Z")),
            ("kube-system", Value::Null, Value::Null),
        ] {
            let mut lease = json!({ "metadata": { "namespace": namespace }, "spec": { "renewTime": renewed } });
            fill(&mut lease, now);
            assert_eq!(lease["spec"]["renewTime"], expected, "{namespace}");
        }
        for (path, expected) in [
            ("/clusters/garden/apis/coordination.k8s.io/v1/leases", true),
            ("/clusters/*/apis/coordination.k8s.io/v1/leases", true),
            ("/clusters/runtime/apis/coordination.k8s.io/v1/leases", false),
            ("/clusters/garden/api/v1/pods", false),
        ] {
            assert_eq!(is_shown_at(path), expected, "{path}");
        }
    }
}
