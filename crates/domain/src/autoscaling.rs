// SPDX-License-Identifier: Apache-2.0
//! HorizontalPodAutoscalers: `autoscaling/v1` as another form of `autoscaling/v2`.
//!
//! Properties that `v1` has no field for are annotations there, as JSON.
//!
//! Deliberately absent: validation; nothing here scales.
//!
//! Source: k8s.io/kubernetes pkg/apis/autoscaling/v1/conversion.go @ v1.32.

use serde_json::{Map, Value, json};

use crate::defaulting::workload::{DEFAULT_CPU, put, use_of_cpu};

/// Metrics that `v1` has no field for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
/// Current values of the metrics that `v1` has no field for.
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
/// Conditions of the autoscaler as JSON, which `v1` has no field for.
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// Scaling behavior.
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Fields of a metric that have one name in `v1` and another path in `v2`: type of the metric, field in `v1`, pointer
/// in `v2`.
const RENAMED: [(&str, &str, &[&str]); 19] = [
    ("resource", "targetAverageUtilization", &["target", "averageUtilization"]),
    ("resource", "targetAverageValue", &["target", "averageValue"]),
    ("resource", "currentAverageUtilization", &["current", "averageUtilization"]),
    ("resource", "currentAverageValue", &["current", "averageValue"]),
    ("containerResource", "targetAverageUtilization", &["target", "averageUtilization"]),
    ("containerResource", "targetAverageValue", &["target", "averageValue"]),
    ("containerResource", "currentAverageUtilization", &["current", "averageUtilization"]),
    ("containerResource", "currentAverageValue", &["current", "averageValue"]),
    ("pods", "metricName", &["metric", "name"]),
    ("pods", "selector", &["metric", "selector"]),
    ("pods", "targetAverageValue", &["target", "averageValue"]),
    ("pods", "currentAverageValue", &["current", "averageValue"]),
    ("external", "metricName", &["metric", "name"]),
    ("external", "metricSelector", &["metric", "selector"]),
    ("external", "targetValue", &["target", "value"]),
    ("external", "targetAverageValue", &["target", "averageValue"]),
    ("external", "currentValue", &["current", "value"]),
    ("external", "currentAverageValue", &["current", "averageValue"]),
    ("object", "metricName", &["metric", "name"]),
];

/// Fields like [`RENAMED`], for metrics of objects: what `v1` calls `target` is the object in `v2`.
const OF_OBJECTS: [(&str, &[&str]); 4] = [
    ("selector", &["metric", "selector"]),
    ("targetValue", &["target", "value"]),
    ("averageValue", &["target", "averageValue"]),
    ("currentValue", &["current", "value"]),
];

/// Returns the target utilization of CPU in percent; `None`: another metric, for which `v1` has no field.
fn percent_of_cpu(metric: &Value) -> Option<i64> {
    let is_cpu = metric["type"] == "Resource" && metric["resource"]["name"] == "cpu";
    metric["resource"]["target"]["averageUtilization"].as_i64().filter(|_| is_cpu)
}

/// Keeps the CPU target that an earlier release has stored in the form of `v1`, at the first update of the object.
pub fn keep_older(fields: &mut Map<String, Value>, old: &Map<String, Value>) {
    let percent = old.get("spec").and_then(|spec| spec.get("targetCPUUtilizationPercentage")).and_then(Value::as_i64);
    let (Some(percent), Some(spec)) = (percent, fields.get_mut("spec")) else { return };
    if spec["metrics"] == json!([use_of_cpu(DEFAULT_CPU)]) {
        spec["metrics"] = json!([use_of_cpu(percent)]);
    }
}

/// Turns the fields of an object of `v2` into those of `v1`.
pub fn to_v1(fields: &mut Map<String, Value>) {
    let mut annotations = Map::new();
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        if let Some(Value::Array(metrics)) = spec.remove("metrics") {
            let percent = metrics.iter().find_map(percent_of_cpu);
            if let Some(percent) = percent {
                spec.insert("targetCPUUtilizationPercentage".to_owned(), json!(percent));
            }
            let others: Vec<Value> =
                metrics.iter().filter(|metric| percent_of_cpu(metric).is_none()).map(metric_to_v1).collect();
            if !others.is_empty() {
                annotations.insert(METRICS.to_owned(), json!(json!(others).to_string()));
            }
        }
        if let Some(behavior) = spec.remove("behavior").filter(Value::is_object) {
            annotations.insert(BEHAVIOR.to_owned(), json!(behavior.to_string()));
        }
    }
    if let Some(Value::Object(status)) = fields.get_mut("status") {
        // `autoscaling/v2` omits zero.
        put(status, "currentReplicas", json!(0));
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics").filter(|it| *it != json!([])) {
            let of_cpu = metrics.iter().find(|metric| metric["resource"]["name"] == "cpu");
            if let Some(percent) =
                of_cpu.and_then(|metric| metric["resource"]["current"]["averageUtilization"].as_i64())
            {
                status.insert("currentCPUUtilizationPercentage".to_owned(), json!(percent));
            }
            let all: Vec<Value> = metrics.iter().map(metric_to_v1).collect();
            annotations.insert(CURRENT_METRICS.to_owned(), json!(json!(all).to_string()));
        }
        if let Some(conditions) =
            status.remove("conditions").filter(|it| it.as_array().is_some_and(|it| !it.is_empty()))
        {
            annotations.insert(CONDITIONS.to_owned(), json!(conditions.to_string()));
        }
    }
    if annotations.is_empty() {
        return;
    }
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        let own = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Value::Object(own) = own {
            own.extend(annotations);
        }
    }
}

/// Turns the fields of an object of `v1`, or of a patch of one, into those of `v2`.
pub fn to_v2(fields: &mut Map<String, Value>) {
    let mut taken = Map::new();
    if let Some(Value::Object(annotations)) =
        fields.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"))
    {
        for name in [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR] {
            let text = annotations.remove(name);
            // An annotation that cannot be read is dropped.
            let read = text.as_ref().and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
            if let Some(tree) = read {
                taken.insert(name.to_owned(), tree);
            }
        }
    }
    let metrics = |tree: Option<Value>| -> Vec<Value> {
        let list = tree.and_then(|tree| tree.as_array().cloned()).unwrap_or_default();
        list.iter().map(metric_to_v2).collect()
    };
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        let mut all = Vec::new();
        let given = spec.remove("targetCPUUtilizationPercentage");
        if let Some(percent) = given.as_ref().and_then(Value::as_i64) {
            all.push(use_of_cpu(percent));
        }
        all.extend(metrics(taken.remove(METRICS)));
        if !all.is_empty() {
            spec.insert("metrics".to_owned(), Value::Array(all));
        } else if given == Some(Value::Null) {
            // A patch that removes the target.
            spec.insert("metrics".to_owned(), Value::Null);
        }
        if let Some(behavior) = taken.remove(BEHAVIOR) {
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    if let Some(Value::Object(status)) = fields.get_mut("status") {
        let percent = status.remove("currentCPUUtilizationPercentage").and_then(|percent| percent.as_i64());
        let mut all = metrics(taken.remove(CURRENT_METRICS));
        if let Some(percent) = percent.filter(|_| all.is_empty()) {
            let current = json!({"averageUtilization": percent});
            all.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}));
        }
        if !all.is_empty() {
            status.insert("currentMetrics".to_owned(), Value::Array(all));
        }
        if let Some(conditions) = taken.remove(CONDITIONS) {
            status.insert("conditions".to_owned(), conditions);
        }
    }
}

/// Names of the fields of a metric in `v1`, and their places in `v2`.
fn names(kind: &str) -> impl Iterator<Item = (&'static str, &'static [&'static str])> + use<'_> {
    let of_objects = OF_OBJECTS.iter().filter(move |_| kind == "object").copied();
    RENAMED.iter().filter(move |(known, ..)| *known == kind).map(|(_, name, place)| (*name, *place)).chain(of_objects)
}

fn metric_to_v1(metric: &Value) -> Value {
    let mut out = metric.clone();
    let Value::Object(kinds) = &mut out else { return out };
    for (kind, source) in kinds.iter_mut().filter(|(_, source)| source.is_object()) {
        let mut new = source.clone();
        let Value::Object(fields) = &mut new else { continue };
        for outer in ["metric", "target", "current"] {
            fields.remove(outer);
        }
        if kind == "object" {
            let object = fields.remove("describedObject").unwrap_or_default();
            fields.insert("target".to_owned(), object);
        }
        for (name, place) in names(kind) {
            let value = place.iter().try_fold(&*source, |tree, name| tree.get(*name));
            if let Some(value) = value.filter(|value| !value.is_null()) {
                fields.insert(name.to_owned(), value.clone());
            }
        }
        *source = new;
    }
    out
}

fn metric_to_v2(metric: &Value) -> Value {
    let mut out = metric.clone();
    let Value::Object(kinds) = &mut out else { return out };
    for (kind, source) in kinds.iter_mut().filter(|(_, source)| source.is_object()) {
        let mut new = source.clone();
        let Value::Object(fields) = &mut new else { continue };
        if kind == "object" {
            let object = fields.remove("target").unwrap_or_default();
            fields.insert("describedObject".to_owned(), object);
        }
        for (name, _) in names(kind) {
            fields.remove(name);
        }
        for (name, place) in names(kind) {
            let [outer, inner] = place else { continue };
            if let Some(value) = source.get(name).filter(|value| !value.is_null()) {
                let into = fields.entry((*outer).to_owned()).or_insert_with(|| json!({}));
                into[*inner] = value.clone();
            }
        }
        if let Some(Value::Object(target)) = fields.get_mut("target") {
            let type_ = match (target.contains_key("averageUtilization"), target.contains_key("averageValue")) {
                (true, _) => "Utilization",
                (false, true) => "AverageValue",
                _ => "Value",
            };
            target.insert("type".to_owned(), json!(type_));
        }
        *source = new;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(tree: Value) -> Map<String, Value> {
        tree.as_object().cloned().expect("an object")
    }

    fn target() -> Value {
        json!({"kind": "Deployment", "name": "web"})
    }

    #[test]
    fn the_older_version_converts_without_loss() {
        let selector = json!({"matchLabels": {"a": "b"}});
        let metrics = json!([
            use_of_cpu(50),
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
            {"type": "Pods", "pods": {
                "metric": {"name": "m", "selector": selector}, "target": {"type": "AverageValue", "averageValue": "5"},
            }},
            {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "7"}}},
            {"type": "Object", "object": {
                "describedObject": target(), "metric": {"name": "o", "selector": selector},
                "target": {"type": "Value", "value": "9"},
            }},
            {"type": "ContainerResource", "containerResource": {
                "name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 3},
            }},
        ]);
        let newer = json!({
            "metadata": {"name": "a", "annotations": {"own": "1"}},
            "spec": {"maxReplicas": 3, "scaleTargetRef": target(), "metrics": metrics, "behavior": {"scaleDown": {}}},
            "status": {
                "desiredReplicas": 1, "currentReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True"}],
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {
                    "averageUtilization": 4, "averageValue": "1",
                }}}],
            },
        });
        let mut older = map(newer.clone());
        to_v1(&mut older);
        assert_eq!(
            (&older["spec"], &older["status"]),
            (
                &json!({"maxReplicas": 3, "scaleTargetRef": target(), "targetCPUUtilizationPercentage": 50}),
                &json!({"desiredReplicas": 1, "currentReplicas": 2, "currentCPUUtilizationPercentage": 4}),
            )
        );
        let texts = &older["metadata"]["annotations"];
        let read = |name: &str| serde_json::from_str::<Value>(texts[name].as_str().expect("a text")).expect("JSON");
        assert_eq!(
            read(METRICS)[0],
            json!({"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}})
        );
        assert_eq!(
            read(METRICS)[3],
            json!({"type": "Object", "object": {
                "target": target(), "metricName": "o", "selector": selector, "targetValue": "9",
            }})
        );
        assert_eq!(read(BEHAVIOR), json!({"scaleDown": {}}));
        to_v2(&mut older);
        assert_eq!(Value::Object(older), newer);
    }

    #[test]
    fn unreadable_annotations_are_ignored() {
        let mut fields = map(json!({"metadata": {"annotations": {METRICS: "no JSON", BEHAVIOR: "1"}}, "spec": {}}));
        to_v2(&mut fields);
        assert_eq!(fields["spec"], json!({"behavior": 1}));
        let mut patch = map(json!({"spec": {"targetCPUUtilizationPercentage": null}}));
        to_v2(&mut patch);
        assert_eq!(patch["spec"], json!({"metrics": null}));
    }
}
