// SPDX-License-Identifier: Apache-2.0
//! `pods/eviction`: deletes a pod unless a PodDisruptionBudget forbids it.
//!
//! The disruption controller writes the numbers of expected and of required healthy pods into the status of a budget; the
//! number of healthy pods is counted with each request, so that an eviction needs no status update. A budget that the
//! controller has not processed yet allows no eviction of a healthy pod.
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
use apimachinery::{DynamicObject, GroupResource, Status};
use domain::disruption::Counts;
use futures::future::BoxFuture;
use generic_apiserver::Server;
use generic_apiserver::admission::Reads;
use generic_apiserver::subresource::{Facts, Subresource, SubresourceRequest, object};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::transport::full;
use process::{Response, TransportError};
use serde_json::{Map, Value, json};

/// Seconds after which a client may try again while a budget is not processed.
const UNPROCESSED_SECONDS: u32 = 10;
/// Maximum number of `disruptedPods` of a budget that allows evictions.
const MOST_DISRUPTED: usize = 2_000;

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
struct EvictionGuard(Arc<Inner>, Place);

impl Drop for EvictionGuard {
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
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`: pods that are not ready may always be evicted.
    gives_up_unhealthy: bool,
    /// True if the disruption controller has processed the present specification.
    is_processed: bool,
    /// `disruptionsAllowed` of the status.
    stored: i64,
    /// Number of `disruptedPods` of the status.
    disrupted: usize,
    /// Expected and required pods as in the status, and the present number of healthy pods.
    counts: Counts,
}

impl Budget {
    /// Checks the eviction of a pod that the budget selects.
    fn allows(&self, is_ready: bool) -> Result<(), Status> {
        let Counts { desired, healthy, .. } = self.counts;
        if !is_ready && (self.gives_up_unhealthy || (healthy >= desired && desired > 0)) {
            return Ok(());
        }
        if !self.is_processed {
            let text = format!("The disruption budget {} is still being processed by the server.", self.name);
            return Err(refused(text, Some(UNPROCESSED_SECONDS)));
        }
        let resource = GroupResource { group: "policy".to_owned(), resource: "poddisruptionbudget".to_owned() };
        if self.stored < 0 {
            return Err(Status::forbidden(&resource, &self.name, "pdb disruptions allowed is negative"));
        }
        if self.disrupted > MOST_DISRUPTED {
            let text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
            return Err(Status::forbidden(&resource, &self.name, text));
        }
        if self.counts.allowed() > 0 {
            return Ok(());
        }
        let text =
            format!("The disruption budget {} needs {desired} healthy pods and has {healthy} currently", self.name);
        // A client that drains a node retries later than the interval of automatic retries.
        Err(refused(text, None))
    }
}

/// Returns the refusal by a budget; `seconds`: time after which the client may try again.
fn refused(message: String, seconds: Option<u32>) -> Status {
    let mut refused = Status::too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.");
    let details = refused.details.get_or_insert_default();
    details.retry_after_seconds = seconds;
    details.causes.push(StatusCause { reason: "DisruptionBudget".to_owned(), message, field: String::new() });
    refused
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
        let policy = budget.get(&["spec", "unhealthyPodEvictionPolicy"]).and_then(Value::as_str);
        let status = |name| budget.get(&["status", name]).and_then(Value::as_i64).unwrap_or_default();
        let number = |name| i32::try_from(status(name)).unwrap_or_default();
        let disrupted = budget.get(&["status", "disruptedPods"]).and_then(Value::as_object);
        let healthy = i32::try_from(selected().filter(running).count()).unwrap_or(i32::MAX);
        Budget {
            name: budget.metadata.name.clone(),
            gives_up_unhealthy: policy == Some("AlwaysAllow"),
            is_processed: status("observedGeneration") >= budget.metadata.generation,
            stored: status("disruptionsAllowed"),
            disrupted: disrupted.map_or(0, Map::len),
            counts: Counts { expected: number("expectedPods"), desired: number("desiredHealthy"), healthy },
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
            judged.map(|()| leaving.insert(place.clone()).then(|| EvictionGuard(self.0.clone(), place)))
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

    /// A processed budget that needs two of three pods.
    fn budget(healthy: i32) -> Budget {
        Budget {
            name: "b".to_owned(),
            is_processed: true,
            stored: 1,
            counts: Counts { expected: 3, desired: 2, healthy },
            ..Budget::default()
        }
    }

    /// Code, and message of the first cause or, without one, of the refusal.
    fn refusal(budget: &Budget, is_ready: bool) -> Option<(u16, String)> {
        let refused = budget.allows(is_ready).err()?;
        let cause = refused.details.as_ref().and_then(|details| details.causes.first());
        Some((refused.code, cause.map_or_else(|| refused.message.clone(), |cause| cause.message.clone())))
    }

    #[test]
    fn an_eviction_is_refused_as_upstream_refuses_it() {
        let bare = Counts { expected: 0, desired: 0, healthy: 1 };
        let needs = |desired, healthy| {
            format!("The disruption budget b needs {desired} healthy pods and has {healthy} currently")
        };
        let forbidden = |text: &str| format!("poddisruptionbudget.policy \"b\" is forbidden: {text}");
        for (budget, expected) in [
            (budget(3), None),
            (budget(2), Some((429, needs(2, 2)))),
            // The status may be older than the pods.
            (Budget { stored: 0, ..budget(3) }, None),
            (Budget { stored: 1, ..budget(2) }, Some((429, needs(2, 2)))),
            // A pod without a controller, and `maxUnavailable`.
            (Budget { counts: bare, stored: 0, ..budget(1) }, Some((429, needs(0, 1)))),
            (
                Budget { is_processed: false, ..budget(3) },
                Some((429, "The disruption budget b is still being processed by the server.".to_owned())),
            ),
            (Budget { stored: -1, ..budget(3) }, Some((403, forbidden("pdb disruptions allowed is negative")))),
            (Budget { disrupted: 2_000, ..budget(3) }, None),
            (
                Budget { disrupted: 2_001, ..budget(3) },
                Some((
                    403,
                    forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller"),
                )),
            ),
        ] {
            assert_eq!(refusal(&budget, true), expected, "{budget:?}");
        }
        let wait = |budget: &Budget| {
            budget
                .allows(true)
                .err()
                .and_then(|refused| refused.details)
                .and_then(|details| details.retry_after_seconds)
        };
        assert_eq!(wait(&Budget { is_processed: false, ..budget(3) }), Some(10));
        assert_eq!(wait(&budget(2)), None);
    }

    #[test]
    fn unready_pods_are_evicted_by_policy_or_healthy_others() {
        for (healthy, gives_up_unhealthy, allows) in [(2, false, true), (1, false, false), (1, true, true)] {
            let budget = Budget { gives_up_unhealthy, ..budget(healthy) };
            assert_eq!(budget.allows(false).is_ok(), allows, "{budget:?}");
        }
        let nothing = Counts { expected: 3, desired: 0, healthy: 0 };
        assert!(Budget { counts: nothing, ..budget(0) }.allows(false).is_err(), "no pod is required, none may go");
    }
}
