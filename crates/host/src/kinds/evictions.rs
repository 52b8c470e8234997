// SPDX-License-Identifier: Apache-2.0
//! `pods/eviction`: deletes a pod unless a PodDisruptionBudget forbids it.
//!
//! The disruption controller writes the number of required healthy pods into the status of a budget; the number of
//! healthy pods is counted with each request, so that an eviction needs no status update. A budget that the controller
//! has not processed yet, or in a cluster without the controller, applies to the pods that it selects.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go, pkg/controller/disruption/disruption.go.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use api::kubernetes::tables;
use apimachinery::meta::LabelSelector;
use apimachinery::schema::Node;
use apimachinery::selector::Labels;
use apimachinery::status::StatusCause;
use apimachinery::{DynamicObject, Status};
use futures::future::BoxFuture;
use generic_apiserver::Server;
use generic_apiserver::admission::Reads;
use generic_apiserver::subresource::{Facts, Subresource, SubresourceRequest, object};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::transport::full;
use process::{Response, TransportError};
use serde_json::{Value, json};

/// Subresource `pods/eviction`. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Evictions(Arc<Inner>);

#[derive(Default)]
struct Inner {
    server: OnceLock<Server>,
    /// Pods whose eviction was allowed and that are not deleted yet: they no longer count as healthy.
    leaving: Mutex<BTreeSet<Place>>,
}

/// Cluster, namespace and name of a pod.
type Place = (String, String, String);

/// An allowed eviction in progress; dropped when the pod was deleted or the deletion failed.
struct Leaving(Arc<Inner>, Place);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leaving.lock().remove(&self.1);
    }
}

impl fmt::Debug for Evictions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Evictions")
    }
}

impl Evictions {
    /// Sets the server that stores the pods; only the first call has an effect.
    pub(crate) fn look_at(&self, server: Server) {
        let _ = self.0.server.set(server);
    }
}

/// A budget, and the pods that it selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Budget {
    name: String,
    /// `minAvailable` and `maxUnavailable`, as written in the specification.
    least: Value,
    missing: Value,
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`: pods that are not ready may always be evicted.
    gives_up_unhealthy: bool,
    expected: i64,
    healthy: i64,
    /// Required number of healthy pods from the status, written by the disruption controller; `None`: not observed yet.
    desired: Option<i64>,
}

impl Budget {
    /// Returns the required number of healthy pods. Percentages refer to the expected number of pods, rounded up.
    fn needed(&self) -> i64 {
        if let Some(desired) = self.desired {
            return desired;
        }
        let count = |value: &Value| {
            let percent = || value.as_str()?.strip_suffix('%')?.parse::<i64>().ok();
            value.as_i64().or_else(|| Some(percent()?.saturating_mul(self.expected).saturating_add(99) / 100))
        };
        match (count(&self.least), count(&self.missing)) {
            (Some(least), _) => least,
            (None, Some(missing)) => self.expected.saturating_sub(missing).max(0),
            (None, None) => 0,
        }
    }

    /// Checks the eviction of a pod that the budget selects.
    fn allows(&self, is_ready: bool) -> Result<(), Status> {
        let (needed, healthy) = (self.needed(), self.healthy);
        let is_missed = is_ready || (!self.gives_up_unhealthy && (healthy < needed || needed <= 0));
        if !is_missed || healthy > needed {
            return Ok(());
        }
        let mut refused =
            Status::too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.");
        let details = refused.details.get_or_insert_default();
        // A client that drains a node retries later than the interval of automatic retries.
        details.retry_after_seconds = None;
        details.causes.push(StatusCause {
            reason: "DisruptionBudget".to_owned(),
            message: format!(
                "The disruption budget {} needs {needed} healthy pods and has {healthy} currently",
                self.name
            ),
            field: String::new(),
        });
        Err(refused)
    }
}

fn is_ready(pod: &DynamicObject) -> bool {
    let conditions = pod.get(&["status", "conditions"]).and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

/// Returns the budgets that select a pod.
fn budgets(pod: &DynamicObject, namespace: &str, reads: &Reads<'_>, is_leaving: &dyn Fn(&str) -> bool) -> Vec<Budget> {
    let all = reads.0.list_any("policy", "poddisruptionbudgets", Some(namespace));
    let selects = |budget: &DynamicObject| {
        let selector: LabelSelector = serde_json::from_value(budget.get(&["spec", "selector"])?.clone()).ok()?;
        Labels::from_selector(&selector).ok().filter(|it| it.matches(&pod.metadata.labels))
    };
    let mine: Vec<(&DynamicObject, Labels)> = all
        .iter()
        .filter_map(|object| object.downcast_ref::<DynamicObject>())
        .filter_map(|budget| Some((budget, selects(budget)?)))
        .collect();
    if mine.is_empty() {
        return Vec::new();
    }
    let pods = reads.0.list_any("", "pods", Some(namespace));
    let running =
        |pod: &&DynamicObject| is_ready(pod) && !pod.metadata.is_being_deleted() && !is_leaving(&pod.metadata.name);
    let budget = |(budget, selector): &(&DynamicObject, Labels)| {
        let selected = || {
            let pods = pods.iter().filter_map(|object| object.downcast_ref::<DynamicObject>());
            pods.filter(|pod| selector.matches(&pod.metadata.labels))
        };
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let field = |name| budget.get(&["spec", name]).cloned().unwrap_or_default();
        let status = |name| budget.get(&["status", name]).and_then(Value::as_i64);
        let is_observed = status("observedGeneration") == Some(budget.metadata.generation);
        Budget {
            name: budget.metadata.name.clone(),
            least: field("minAvailable"),
            missing: field("maxUnavailable"),
            gives_up_unhealthy: field("unhealthyPodEvictionPolicy") == "AlwaysAllow",
            expected: count(selected().count()),
            healthy: count(selected().filter(running).count()),
            desired: status("desiredHealthy").filter(|_| is_observed),
        }
    };
    mine.iter().map(budget).collect()
}

/// Checks the eviction of a pod.
fn judge(namespace: &str, name: &str, reads: &Reads<'_>, is_leaving: &dyn Fn(&str) -> bool) -> Result<(), Status> {
    let pod = reads.0.get_any("", "pods", namespace, name);
    let Some(pod) = pod.as_ref().and_then(|pod| pod.downcast_ref::<DynamicObject>()) else { return Ok(()) };
    let phase = pod.get(&["status", "phase"]).and_then(Value::as_str).unwrap_or_default();
    // A pod that is not running or is already being deleted may always be evicted.
    if matches!(phase, "Pending" | "Succeeded" | "Failed") || pod.metadata.is_being_deleted() {
        return Ok(());
    }
    match &budgets(pod, namespace, reads, is_leaving)[..] {
        [] => Ok(()),
        [budget] => budget.allows(is_ready(pod)),
        _ => Err(Status::internal_error(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )),
    }
}

impl Subresource for Evictions {
    fn facts(&self) -> Facts {
        Facts {
            group: "policy",
            version: "v1",
            kind: "Eviction",
            verbs: &["create"],
            schema: || tables::node("policy", "Eviction").unwrap_or(Node::Raw),
        }
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, reads: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        let place: Place = (request.context.cluster.to_string(), request.namespace.clone(), request.name.clone());
        let judged = {
            // The lock serializes concurrent evictions.
            let mut leaving = self.0.leaving.lock();
            let is_leaving = |name: &str| leaving.contains(&(place.0.clone(), place.1.clone(), name.to_owned()));
            let judged = judge(&request.namespace, &request.name, reads, &is_leaving);
            judged.map(|()| leaving.insert(place.clone()).then(|| Leaving(self.0.clone(), place)))
        };
        Box::pin(async move {
            let _leaving = judged?;
            let given = request.body["metadata"]["name"].as_str().unwrap_or_default();
            if !given.is_empty() && given != request.name {
                return Err(Status::bad_request("name in URL does not match name in Eviction object"));
            }
            let failed = |error: &dyn fmt::Display| Status::internal_error(&error.to_string());
            let server = self.0.server.get().ok_or_else(|| failed(&"there is no server yet"))?;
            let mut options = request.body["deleteOptions"].clone();
            if request.context.dry_run {
                options["dryRun"] = json!(["All"]);
            }
            let SubresourceRequest { context, namespace, name, .. } = request;
            let path = format!("/clusters/{}/api/v1/namespaces/{namespace}/pods/{name}", context.cluster);
            let body = if options.is_null() { String::new() } else { options.to_string() };
            let mut delete = http::Request::delete(path).body(full(body)).map_err(|error| failed(&error))?;
            delete.extensions_mut().insert(context.user);
            let response = server.call(delete).await.map_err(|error: TransportError| failed(&error))?;
            if response.status().is_success() {
                return Ok(object(
                    201,
                    &json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                    }),
                ));
            }
            let body = response.into_body().collect().await.map_err(|error| failed(&error))?.to_bytes();
            Err(serde_json::from_slice(&body).map_err(|error| failed(&error))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_count_pods_and_percentages() {
        let budget = |least: Value, missing: Value, expected, healthy| Budget {
            name: "b".to_owned(),
            least,
            missing,
            gives_up_unhealthy: false,
            expected,
            healthy,
            desired: None,
        };
        for (least, missing, expected, healthy, needed, allows) in [
            (json!(2), Value::Null, 3, 3, 2, true),
            (json!(3), Value::Null, 3, 3, 3, false),
            (json!("50%"), Value::Null, 3, 3, 2, true),
            (json!("50%"), Value::Null, 3, 2, 2, false),
            (Value::Null, json!(1), 3, 3, 2, true),
            (Value::Null, json!(0), 3, 3, 3, false),
            (Value::Null, json!("100%"), 3, 1, 0, true),
            (Value::Null, Value::Null, 3, 1, 0, true),
            (json!("9223372036854775807%"), Value::Null, 3, 3, i64::MAX / 100, false),
            (Value::Null, json!(i64::MIN), 3, 3, i64::MAX, false),
        ] {
            let budget = budget(least, missing, expected, healthy);
            assert_eq!((budget.needed(), budget.allows(true).is_ok()), (needed, allows), "{budget:?}");
        }
        // Pods that are not ready: enough other pods are healthy, too few are, too few with `AlwaysAllow`.
        for (healthy, gives_up_unhealthy, allows) in [(2, false, true), (1, false, false), (1, true, true)] {
            let budget = Budget { gives_up_unhealthy, ..budget(json!(2), Value::Null, 3, healthy) };
            assert_eq!(budget.allows(false).is_ok(), allows, "{budget:?}");
        }
        let known = Budget { desired: Some(2), ..budget(json!(3), Value::Null, 3, 3) };
        assert!(known.allows(true).is_ok(), "what the disruption controller says counts");
        let refused = budget(json!(3), Value::Null, 3, 3).allows(true).expect_err("all three are needed");
        let details = refused.details.expect("why");
        assert_eq!(refused.code, 429);
        assert_eq!(details.causes[0].message, "The disruption budget b needs 3 healthy pods and has 3 currently");
    }
}
