// SPDX-License-Identifier: Apache-2.0
//! Defaults of kinds around pods: workload of `apps` and `batch`, pods, autoscalers, PriorityClasses, Services, Secrets,
//! storage.
//!
//! Deliberately absent: defaults of objects that are already stored, since defaults are filled in when an object is
//! written; the behavior of autoscalers.
//!
//! Source: k8s.io/kubernetes pkg/apis/{core,apps,batch,scheduling}/v1/defaults.go @ v1.31,
//! pkg/apis/autoscaling/v2/defaults.go @ v1.32.

mod pods;
mod policies;
mod secrets;
mod services;
mod storage;
mod webhooks;

use serde_json::{Map, Value, json};

use crate::admission::pods::PREEMPTS;

pub use self::pods::template;
pub use self::secrets::secret;
pub use self::storage::protection;
pub use self::webhooks::webhooks;

/// Default target utilization of CPU, in percent.
pub(crate) const DEFAULT_CPU: i64 = 80;

/// Fills in the missing fields of an object of a kind of Kubernetes; other kinds stay unchanged. Those of Secrets are
/// filled in by [`secret`].
pub fn fill(group: &str, plural: &str, fields: &mut Map<String, Value>) {
    if (group, plural) == ("", "podtemplates") {
        fields.get_mut("template").into_iter().for_each(pods::template);
        return;
    }
    if (group, plural) == ("scheduling.k8s.io", "priorityclasses") {
        put(fields, "preemptionPolicy", json!(PREEMPTS));
        return;
    }
    if policies::fill(group, plural, fields).or_else(|| storage::fill(group, plural, fields)).is_some() {
        return;
    }
    if (group, plural) == ("", "services") {
        services::service(fields);
        return;
    }
    let Some(Value::Object(spec)) = fields.get_mut("spec") else { return };
    match (group, plural) {
        ("", "pods") => pods::pod(spec),
        ("", "replicationcontrollers") => {
            spec.get_mut("template").into_iter().for_each(pods::template);
            put(spec, "replicas", json!(1));
            let labels = spec.get("template").and_then(|template| template.pointer("/metadata/labels")).cloned();
            if let Some(labels) = labels {
                put(spec, "selector", labels);
            }
        }
        ("apps", _) => {
            spec.get_mut("template").into_iter().for_each(pods::template);
            apps(plural, spec);
        }
        ("batch", "jobs") => {
            spec.get_mut("template").into_iter().for_each(pods::template);
            job(spec);
        }
        ("batch", "cronjobs") => {
            let template = spec.get_mut("jobTemplate").and_then(|job| job.get_mut("spec"));
            template.and_then(|job| job.get_mut("template")).into_iter().for_each(pods::template);
            put(spec, "concurrencyPolicy", json!("Allow"));
            put(spec, "suspend", json!(false));
            put(spec, "successfulJobsHistoryLimit", json!(3));
            put(spec, "failedJobsHistoryLimit", json!(1));
        }
        ("autoscaling", "horizontalpodautoscalers") => autoscaler(spec),
        _ => {}
    }
}

/// Fills in the defaults of a Job: completions, parallelism, retries and policies.
fn job(spec: &mut Map<String, Value>) {
    // A work queue, whose pods decide when it ends, has parallelism and no completions.
    let is_set = |spec: &Map<String, Value>, name: &str| spec.get(name).is_some_and(|value| !value.is_null());
    if !is_set(spec, "completions") && !is_set(spec, "parallelism") {
        put(spec, "completions", json!(1));
    }
    put(spec, "parallelism", json!(1));
    let is_indexed = is_set(spec, "backoffLimitPerIndex");
    put(spec, "backoffLimit", json!(if is_indexed { i32::MAX } else { 6 }));
    put(spec, "completionMode", json!("NonIndexed"));
    put(spec, "suspend", json!(false));
    let judges_failures = is_set(spec, "podFailurePolicy");
    put(spec, "podReplacementPolicy", json!(if judges_failures { "Failed" } else { "TerminatingOrFailed" }));
    put(spec, "manualSelector", json!(false));
}

/// Fills in the missing fields of `spec` of a HorizontalPodAutoscaler.
fn autoscaler(spec: &mut Map<String, Value>) {
    put(spec, "minReplicas", json!(1));
    let has_metrics = spec.get("metrics").and_then(Value::as_array).is_some_and(|metrics| !metrics.is_empty());
    if !has_metrics {
        spec.insert("metrics".to_owned(), json!([use_of_cpu(DEFAULT_CPU)]));
    }
}

/// Returns the metric of the use of CPU.
pub(crate) fn use_of_cpu(percent: i64) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// Fills in the missing fields of `spec` of an object of `apps/v1`.
fn apps(plural: &str, spec: &mut Map<String, Value>) {
    match plural {
        "deployments" => {
            put(spec, "replicas", json!(1));
            let parameters = json!({"maxUnavailable": "25%", "maxSurge": "25%"});
            fill_strategy(spec, "strategy", parameters);
            put(spec, "revisionHistoryLimit", json!(10));
            put(spec, "progressDeadlineSeconds", json!(600));
        }
        "replicasets" => put(spec, "replicas", json!(1)),
        "daemonsets" => {
            fill_strategy(spec, "updateStrategy", json!({"maxUnavailable": 1, "maxSurge": 0}));
            put(spec, "revisionHistoryLimit", json!(10));
        }
        "statefulsets" => {
            let claims = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
            for claim in claims.into_iter().flatten().filter(|claim| claim.is_object()) {
                claim["apiVersion"] = json!("v1");
                claim["kind"] = json!("PersistentVolumeClaim");
                claim.get_mut("spec").and_then(Value::as_object_mut).into_iter().for_each(storage::claim);
                claim["status"] = json!({"phase": "Pending"});
            }
            put(spec, "podManagementPolicy", json!("OrderedReady"));
            put(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
            if let Some(Value::Object(policy)) = spec.get_mut("persistentVolumeClaimRetentionPolicy") {
                put(policy, "whenDeleted", json!("Retain"));
                put(policy, "whenScaled", json!("Retain"));
            }
            fill_strategy(spec, "updateStrategy", json!({"partition": 0}));
            put(spec, "replicas", json!(1));
            put(spec, "revisionHistoryLimit", json!(10));
        }
        _ => {}
    }
}

/// Returns the initial status of a new object, as Go writes it; `None`: the kind has none, or one of its own.
///
/// Source: k8s.io/api (fields without `omitempty`), pkg/registry/*/*/strategy.go (PrepareForCreate).
pub fn status(group: &str, plural: &str) -> Option<Value> {
    Some(match (group, plural) {
        ("", "services") | ("networking.k8s.io", "ingresses") => json!({"loadBalancer": {}}),
        ("", "replicationcontrollers") | ("apps", "replicasets") => json!({"replicas": 0}),
        ("apps", "statefulsets") => json!({"availableReplicas": 0, "replicas": 0}),
        ("apps", "daemonsets") => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        ("autoscaling", "horizontalpodautoscalers") => json!({"currentMetrics": null, "desiredReplicas": 0}),
        ("policy", "poddisruptionbudgets") => json!({
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
        }),
        ("", "persistentvolumeclaims" | "persistentvolumes") => json!({"phase": "Pending"}),
        ("storage.k8s.io", "volumeattachments") => json!({"attached": false}),
        ("", "resourcequotas")
        | ("apps", "deployments")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("batch", "jobs" | "cronjobs")
        | ("certificates.k8s.io", "certificatesigningrequests")
        | ("apiregistration.k8s.io", "apiservices") => json!({}),
        _ => return None,
    })
}

/// Sets a field that is absent, null or an empty text.
pub fn put(into: &mut Map<String, Value>, name: &str, value: Value) {
    let is_set = into.get(name).is_some_and(|old| !old.is_null() && old.as_str() != Some(""));
    if !is_set {
        into.insert(name.to_owned(), value);
    }
}

fn fill_strategy(spec: &mut Map<String, Value>, name: &str, parameters: Value) {
    put(spec, name, json!({}));
    let Some(Value::Object(strategy)) = spec.get_mut(name) else { return };
    put(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") != Some(&json!("RollingUpdate")) {
        return;
    }
    put(strategy, "rollingUpdate", json!({}));
    if let (Some(Value::Object(rolling)), Value::Object(parameters)) = (strategy.get_mut("rollingUpdate"), parameters) {
        for (name, value) in parameters {
            put(rolling, &name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plural: &str, spec: Value, expected: Value) {
        let mut fields = Map::new();
        fields.insert("spec".to_owned(), spec);
        fill("apps", plural, &mut fields);
        assert_eq!(fields["spec"], expected, "{plural}");
        fill("apps", plural, &mut fields);
        assert_eq!(fields["spec"], expected, "{plural}: defaults are stable");
    }

    #[test]
    fn missing_fields_are_filled_and_present_ones_stay() {
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
        let limits = |mut spec: Value| {
            spec["revisionHistoryLimit"] = json!(10);
            spec["progressDeadlineSeconds"] = json!(600);
            spec
        };
        check("deployments", json!({}), limits(json!({"replicas": 1, "strategy": rolling})));
        let recreate = json!({"replicas": 0, "strategy": {"type": "Recreate"}});
        check("deployments", recreate.clone(), limits(recreate));
        check(
            "daemonsets",
            json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}),
            json!({
                "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}},
            }),
        );
        check(
            "statefulsets",
            json!({"updateStrategy": {"type": "OnDelete"}}),
            json!({
                "replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "OnDelete"},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            }),
        );
        check("replicasets", json!({}), json!({"replicas": 1}));
    }

    #[test]
    fn jobs_run_once_and_cron_jobs_keep_some() {
        let filled = |group: &str, plural: &str, spec: Value| {
            let mut fields = Map::from_iter([("spec".to_owned(), spec)]);
            fill(group, plural, &mut fields);
            fields["spec"].clone()
        };
        let once = json!({
            "backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "manualSelector": false,
            "parallelism": 1, "podReplacementPolicy": "TerminatingOrFailed", "suspend": false,
        });
        assert_eq!(filled("batch", "jobs", json!({})), once);
        let queue = filled("batch", "jobs", json!({"parallelism": 3}));
        assert_eq!((queue.get("completions"), &queue["parallelism"]), (None, &json!(3)));
        assert_eq!(
            filled("batch", "cronjobs", json!({"schedule": "@daily"})),
            json!({
                "concurrencyPolicy": "Allow", "failedJobsHistoryLimit": 1, "schedule": "@daily",
                "successfulJobsHistoryLimit": 3, "suspend": false,
            })
        );
        assert_eq!(filled("autoscaling", "horizontalpodautoscalers", json!({}))["minReplicas"], 1);
        assert_eq!(filled("", "configmaps", json!({})), json!({}), "others stay");
    }

    #[test]
    fn a_status_begins_as_go_writes_it() {
        assert_eq!(status("apps", "replicasets"), Some(json!({"replicas": 0})));
        assert_eq!(status("apps", "deployments"), Some(json!({})));
        assert_eq!(status("", "services"), Some(json!({"loadBalancer": {}})));
        assert_eq!(status("", "configmaps"), None);
    }

    #[test]
    fn the_default_metric_is_eighty_percent_of_cpu() {
        let mut spec = Map::from_iter([("maxReplicas".to_owned(), json!(3))]);
        autoscaler(&mut spec);
        let expected = json!({"minReplicas": 1, "maxReplicas": 3, "metrics": [use_of_cpu(80)]});
        assert_eq!(Value::Object(spec.clone()), expected);
        autoscaler(&mut spec);
        assert_eq!(Value::Object(spec), expected, "defaults are stable");
    }
}
