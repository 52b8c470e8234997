// SPDX-License-Identifier: Apache-2.0
//! Validation of PodDisruptionBudgets and Leases.
//!
//! Source: k8s.io/kubernetes pkg/apis/policy/validation/validation.go, pkg/apis/coordination/validation/validation.go
//! @ v1.31.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{label_selector, non_negative, number, one_of, set};
use super::{at_most_all, go, int_or_percent};
use crate::validation::Errors;

/// Returns all violations of a PodDisruptionBudget, in upstream's order. Updates have the same rules.
pub fn disruption_budget(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (null, path) = (Value::Null, Path::new("spec"));
    let spec = fields.get("spec").unwrap_or(&null);
    let amounts = ["minAvailable", "maxUnavailable"].map(|field| (field, set(spec, field)));
    if amounts.iter().all(|(_, amount)| amount.is_some()) {
        errors.push(go::invalid(&path, &shown(spec), "minAvailable and maxUnavailable cannot be both set"));
    }
    for (field, amount) in amounts.into_iter().filter(|(_, amount)| amount.is_some()) {
        int_or_percent(&mut errors, amount, &path.child(field));
        at_most_all(&mut errors, amount, &path.child(field));
    }
    if let Some(selector) = set(spec, "selector") {
        label_selector(&mut errors, selector, &path.child("selector"));
    }
    one_of(&mut errors, spec, "unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"], &path);
    errors
}

/// Formats a specification as Go prints it, with `…` in place of upstream's memory addresses.
fn shown(spec: &Value) -> String {
    let parts = [
        ("MinAvailable", "intstr.IntOrString", "minAvailable"),
        ("MaxUnavailable", "intstr.IntOrString", "maxUnavailable"),
        ("Selector", "v1.LabelSelector", "selector"),
        ("UnhealthyPodEvictionPolicy", "policy.UnhealthyPodEvictionPolicyType", "unhealthyPodEvictionPolicy"),
    ];
    let parts = parts.map(|(name, type_, field)| {
        format!("{name}:(*{type_})({})", if set(spec, field).is_some() { "…" } else { "nil" })
    });
    format!("policy.PodDisruptionBudgetSpec{{{}}}", parts.join(", "))
}

/// Returns all violations of a PodDisruptionBudget's status.
pub fn disruption_budget_status(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (null, path) = (Value::Null, Path::new("status"));
    let status = fields.get("status").unwrap_or(&null);
    for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        non_negative(&mut errors, status, field, &path);
    }
    errors
}

/// Returns all violations of a Lease, in upstream's order. Updates have the same rules.
pub fn lease(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (null, path) = (Value::Null, Path::new("spec"));
    let spec = fields.get("spec").unwrap_or(&null);
    if let Some(seconds) = number(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(&path.child("leaseDurationSeconds"), seconds, "must be greater than 0"));
    }
    non_negative(&mut errors, spec, "leaseTransitions", &path);
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(rule: fn(&Map<String, Value>) -> Errors, spec: Value, expected: &[&str]) {
        let fields = Map::from_iter([("spec".to_owned(), spec)]);
        assert_eq!(rule(&fields).iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn accepts_usual_forms() {
        let selector = json!({"matchLabels": {"app": "a"}});
        for spec in [
            json!({}),
            json!({"minAvailable": 1, "selector": selector}),
            json!({"maxUnavailable": "100%", "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
            json!({"minAvailable": 0, "selector": {}}),
        ] {
            check(disruption_budget, spec, &[]);
        }
        for spec in [json!({}), json!({"leaseDurationSeconds": 1, "leaseTransitions": 0, "holderIdentity": ""})] {
            check(lease, spec, &[]);
        }
    }

    #[test]
    fn rejects_invalid_forms_as_upstream() {
        check(
            disruption_budget,
            json!({"minAvailable": 1, "maxUnavailable": 1, "selector": {}}),
            &["spec: Invalid value: policy.PodDisruptionBudgetSpec{MinAvailable:(*intstr.IntOrString)(…), \
               MaxUnavailable:(*intstr.IntOrString)(…), Selector:(*v1.LabelSelector)(…), \
               UnhealthyPodEvictionPolicy:(*policy.UnhealthyPodEvictionPolicyType)(nil)}: minAvailable and maxUnavailable \
               cannot be both set"],
        );
        check(
            disruption_budget,
            json!({"minAvailable": -1}),
            &["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
        );
        check(
            disruption_budget,
            json!({"maxUnavailable": "101%", "unhealthyPodEvictionPolicy": "Never"}),
            &[
                "spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:\"101%\"}: must not be \
               greater than 100%",
                "spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: \"AlwaysAllow\", \
               \"IfHealthyBudget\"",
            ],
        );
        check(
            disruption_budget,
            json!({"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}}),
            &[
                "spec.selector.matchExpressions[0].values[0]: Invalid value: \"b c\": a valid label must be an empty string or \
               consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
               (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
               '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
        );
        check(
            lease,
            json!({"leaseDurationSeconds": 0, "leaseTransitions": -1}),
            &[
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ],
        );
        let status = |number: i64| Map::from_iter([("status".to_owned(), json!({ "currentHealthy": number }))]);
        assert_eq!(disruption_budget_status(&status(0)), Errors::new());
        assert_eq!(
            disruption_budget_status(&status(-1)).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["status.currentHealthy: Invalid value: -1: must be greater than or equal to 0"]
        );
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in [json!(1), json!({"minAvailable": [], "selector": 3, "leaseDurationSeconds": "x"})] {
            let fields = Map::from_iter([("spec".to_owned(), spec.clone()), ("status".to_owned(), spec)]);
            let _ = (disruption_budget(&fields), lease(&fields), disruption_budget_status(&fields));
        }
    }
}
