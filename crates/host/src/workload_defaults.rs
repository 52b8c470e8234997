// SPDX-License-Identifier: Apache-2.0
//! Defaults of the kinds of `apps/v1` that clients rely on: `kubectl rollout status` of a DaemonSet or StatefulSet asks
//! for the type of its update strategy.
//!
//! Deliberately absent: the defaults of pod templates, which nobody here reads.
//!
//! Source: k8s.io/kubernetes pkg/apis/apps/v1/defaults.go.

use serde_json::{Map, Value, json};

/// Fills what is missing in `spec` of an object of `apps/v1`.
pub(crate) fn fill(plural: &str, fields: &mut Map<String, Value>) {
    let Some(Value::Object(spec)) = fields.get_mut("spec") else { return };
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

/// Sets a field that is absent, null or an empty text.
pub(crate) fn put(into: &mut Map<String, Value>, name: &str, value: Value) {
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
        fill(plural, &mut fields);
        assert_eq!(fields["spec"], expected, "{plural}");
        fill(plural, &mut fields);
        assert_eq!(fields["spec"], expected, "{plural}: defaults are stable");
    }

    #[test]
    fn what_is_missing_is_filled_and_what_is_there_stays() {
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
        check("pods", json!({}), json!({}));
    }
}
