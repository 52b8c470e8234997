// SPDX-License-Identifier: Apache-2.0
//! Validation of a pod's scheduling: affinities, spread constraints, gates.
//!
//! Deliberately absent: `matchLabelKeys` and `mismatchLabelKeys`.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go @ v1.31 (validateAffinity,
//! validateTopologySpreadConstraints, validateSchedulingGates).

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::tree::{items, label_selector, number, one_of, set, text};
use crate::validation::{Errors, meta};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_OPERATOR: &str = "not a valid selector operator";
const NOT_POSITIVE: &str = "must be greater than zero";
const MUST_SPREAD: &str = "DoNotSchedule";

/// Adds violations of `affinity`.
pub(super) fn affinity(errors: &mut Errors, spec: &Value, path: &Path) {
    let Some(affinity) = set(spec, "affinity") else { return };
    let path = path.child("affinity");
    if let Some(nodes) = set(affinity, "nodeAffinity") {
        node_affinity(errors, nodes, &path.child("nodeAffinity"));
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = set(affinity, field) else { continue };
        let path = path.child(field);
        let at = path.child(REQUIRED);
        for (index, term) in items(pods, REQUIRED).iter().enumerate() {
            pod_term(errors, term, &at.index(index));
        }
        let at = path.child(PREFERRED);
        for (index, weighted) in items(pods, PREFERRED).iter().enumerate() {
            let at = at.index(index);
            weight(errors, weighted, &at);
            pod_term(errors, weighted.get("podAffinityTerm").unwrap_or(&Value::Null), &at.child("podAffinityTerm"));
        }
    }
}

fn node_affinity(errors: &mut Errors, affinity: &Value, path: &Path) {
    if let Some(selector) = set(affinity, REQUIRED) {
        let at = path.child(REQUIRED).child("nodeSelectorTerms");
        let terms = items(selector, "nodeSelectorTerms");
        if terms.is_empty() {
            errors.push(FieldError::required(&at, "must have at least one node selector term"));
        }
        for (index, term) in terms.iter().enumerate() {
            node_term(errors, term, &at.index(index));
        }
    }
    let at = path.child(PREFERRED);
    for (index, weighted) in items(affinity, PREFERRED).iter().enumerate() {
        let at = at.index(index);
        weight(errors, weighted, &at);
        node_term(errors, weighted.get("preference").unwrap_or(&Value::Null), &at.child("preference"));
    }
}

fn weight(errors: &mut Errors, weighted: &Value, path: &Path) {
    let weight = number(weighted, "weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(&path.child("weight"), weight, "must be in the range 1-100"));
    }
}

fn node_term(errors: &mut Errors, term: &Value, path: &Path) {
    let at = path.child("matchExpressions");
    for (index, requirement) in items(term, "matchExpressions").iter().enumerate() {
        of_labels(errors, requirement, &at.index(index));
    }
    let at = path.child("matchFields");
    for (index, requirement) in items(term, "matchFields").iter().enumerate() {
        of_fields(errors, requirement, &at.index(index));
    }
}

fn of_labels(errors: &mut Errors, requirement: &Value, path: &Path) {
    let (key, operator) = (text(requirement, "key"), text(requirement, "operator"));
    let (values, at) = (items(requirement, "values").len(), path.child("values"));
    match operator {
        "In" | "NotIn" if values == 0 => {
            errors.push(FieldError::required(&at, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if values > 0 => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&at, detail));
        }
        "Gt" | "Lt" if values != 1 => {
            let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(FieldError::required(&at, detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.push(FieldError::invalid(&path.child("operator"), other, NO_OPERATOR)),
    }
    meta::invalid_each(errors, &path.child("key"), key, meta::qualified_name(key));
}

fn of_fields(errors: &mut Errors, requirement: &Value, path: &Path) {
    let (key, operator) = (text(requirement, "key"), text(requirement, "operator"));
    let (values, at) = (items(requirement, "values"), path.child("values"));
    match operator {
        "In" | "NotIn" if values.len() != 1 => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(FieldError::required(&at, detail));
        }
        "In" | "NotIn" => {}
        other => errors.push(FieldError::invalid(&path.child("operator"), other, NO_OPERATOR)),
    }
    if key != "metadata.name" {
        errors.push(FieldError::invalid(&path.child("key"), key, "not a valid field selector key"));
        return;
    }
    for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
        meta::invalid_each(errors, &at.index(index), value, meta::dns_subdomain(value));
    }
}

fn pod_term(errors: &mut Errors, term: &Value, path: &Path) {
    for field in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = set(term, field) {
            label_selector(errors, selector, &path.child(field));
        }
    }
    for namespace in items(term, "namespaces").iter().filter_map(Value::as_str) {
        // The field is the one of upstream's message.
        meta::invalid_each(errors, &path.child("namespace"), namespace, meta::dns_label(namespace));
    }
    let (key, at) = (text(term, "topologyKey"), path.child("topologyKey"));
    if key.is_empty() {
        errors.push(FieldError::required(&at, "can not be empty"));
    }
    meta::invalid_each(errors, &at, key, meta::qualified_name(key));
}

/// Adds violations of `topologySpreadConstraints`.
pub(super) fn spread(errors: &mut Errors, spec: &Value, path: &Path) {
    let path = path.child("topologySpreadConstraints");
    let constraints = items(spec, "topologySpreadConstraints");
    let kind = |constraint| (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        let skew = number(constraint, "maxSkew").unwrap_or(0);
        if skew <= 0 {
            errors.push(FieldError::invalid(&path.child("maxSkew"), skew, NOT_POSITIVE));
        }
        let (key, action) = kind(constraint);
        if key.is_empty() {
            errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
        }
        let actions = [MUST_SPREAD, "ScheduleAnyway"];
        if !actions.contains(&action) {
            errors.push(FieldError::not_supported(&path.child("whenUnsatisfiable"), action, &actions));
        }
        if constraints[index + 1..].iter().any(|other| kind(other) == (key, action)) {
            let at = path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(&at, format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = number(constraint, "minDomains") {
            let at = path.child("minDomains");
            if domains <= 0 {
                errors.push(FieldError::invalid(&at, domains, NOT_POSITIVE));
            }
            if action != MUST_SPREAD {
                let detail = format!("can only use minDomains if whenUnsatisfiable={MUST_SPREAD}, not {action}");
                errors.push(FieldError::invalid(&at, domains, &detail));
            }
        }
        one_of(errors, constraint, "nodeAffinityPolicy", &["Honor", "Ignore"], &path);
        one_of(errors, constraint, "nodeTaintsPolicy", &["Honor", "Ignore"], &path);
        if let Some(selector) = set(constraint, "labelSelector") {
            label_selector(errors, selector, &path.child("labelSelector"));
        }
    }
}

/// Adds violations of `readinessGates` and `schedulingGates`.
pub(super) fn gates(errors: &mut Errors, spec: &Value, path: &Path) {
    let at = path.child("readinessGates");
    for (index, gate) in items(spec, "readinessGates").iter().enumerate() {
        let type_ = text(gate, "conditionType");
        meta::invalid_each(errors, &at.index(index).child("conditionType"), type_, meta::qualified_name(type_));
    }
    let (at, mut names) = (path.child("schedulingGates"), BTreeSet::new());
    for (index, gate) in items(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        meta::invalid_each(errors, &at.index(index), name, meta::qualified_name(name));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&at.index(index), name));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tree::check;
    use super::*;

    #[track_caller]
    fn check_affinity(field: &str, of: Value, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|text| format!("spec.affinity.{field}.{text}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(affinity, json!({"affinity": {field: of}}), &expected);
    }

    #[test]
    fn a_pod_selects_nodes_by_terms() {
        let required = |terms: Value| json!({ REQUIRED: { "nodeSelectorTerms": terms } });
        let accepts = json!([
            {"matchExpressions": [
                {"key": "a", "operator": "In", "values": ["1"]}, {"key": "b", "operator": "Gt", "values": ["1"]},
                {"key": "c", "operator": "Exists"},
            ]},
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]},
        ]);
        check_affinity("nodeAffinity", required(accepts), &[]);
        let none = format!("{REQUIRED}.nodeSelectorTerms: Required value: must have at least one node selector term");
        check_affinity("nodeAffinity", required(json!([])), &[&none]);
        let at = |place: &str| format!("{REQUIRED}.nodeSelectorTerms[0].{place}");
        for (requirement, rejects) in [
            (
                json!({"key": "a", "operator": "In"}),
                ".values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ),
            (
                json!({"key": "a", "operator": "Exists", "values": ["1"]}),
                ".values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
            (
                json!({"key": "a", "operator": "Lt", "values": ["1", "2"]}),
                ".values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
            ),
            (json!({"key": "a", "operator": "Is"}), ".operator: Invalid value: \"Is\": not a valid selector operator"),
        ] {
            let expected = at(&format!("matchExpressions[0]{rejects}"));
            check_affinity("nodeAffinity", required(json!([{"matchExpressions": [requirement]}])), &[&expected]);
        }
        for (requirement, rejects) in [
            (
                json!({"key": "metadata.name", "operator": "In"}),
                ".values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field \
                 selector",
            ),
            (
                json!({"key": "metadata.name", "operator": "Exists"}),
                ".operator: Invalid value: \"Exists\": not a valid selector operator",
            ),
            (
                json!({"key": "metadata.uid", "operator": "In", "values": ["1"]}),
                ".key: Invalid value: \"metadata.uid\": not a valid field selector key",
            ),
        ] {
            let expected = at(&format!("matchFields[0]{rejects}"));
            check_affinity("nodeAffinity", required(json!([{"matchFields": [requirement]}])), &[&expected]);
        }
        for (weight, accepts) in [(0, false), (1, true), (100, true), (101, false)] {
            let expected = format!("{PREFERRED}[0].weight: Invalid value: {weight}: must be in the range 1-100");
            let expected: &[&str] = if accepts { &[] } else { &[&expected] };
            check_affinity("nodeAffinity", json!({ PREFERRED: [{"weight": weight, "preference": {}}] }), expected);
        }
    }

    #[test]
    fn a_pod_is_near_others_or_far_from_them_in_a_topology() {
        for field in ["podAffinity", "podAntiAffinity"] {
            let term = |key: &str| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}, "namespaces": ["n"]});
            check_affinity(field, json!({ REQUIRED: [term("kubernetes.io/hostname")] }), &[]);
            let weighted =
                |weight: i64, term: Value| json!({ PREFERRED: [{"weight": weight, "podAffinityTerm": term}] });
            check_affinity(field, weighted(5, term("zone")), &[]);
            let at = format!("{PREFERRED}[0].podAffinityTerm.topologyKey");
            let (required, empty) = (
                format!("{at}: Required value: can not be empty"),
                format!("{at}: Invalid value: \"\": name part must be non-empty"),
            );
            let shape = format!(
                "{at}: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and \
                 must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
                 used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            );
            check_affinity(field, weighted(5, term("")), &[&required, &empty, &shape]);
            let selector =
                json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
            let values = format!(
                "{REQUIRED}[0].labelSelector.matchExpressions[0].values: Required value: must be specified when \
                 `operator` is 'In' or 'NotIn'"
            );
            check_affinity(field, json!({ REQUIRED: [selector] }), &[&values]);
        }
    }

    #[test]
    fn constraints_of_spread_say_how_far_where_and_what_else() {
        let of = |constraints: Value| json!({ "topologySpreadConstraints": constraints });
        let good = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2});
        check(spread, of(json!([good])), &[]);
        let at = "spec.topologySpreadConstraints[0]";
        check(
            spread,
            of(json!([{}])),
            &[
                &format!("{at}.maxSkew: Invalid value: 0: must be greater than zero"),
                &format!("{at}.topologyKey: Required value: can not be empty"),
                &format!(
                    "{at}.whenUnsatisfiable: Unsupported value: \"\": supported values: \"DoNotSchedule\", \
                     \"ScheduleAnyway\""
                ),
            ],
        );
        let twice = format!("{at}.{{topologyKey, whenUnsatisfiable}}: Duplicate value: \"{{zone, DoNotSchedule}}\"");
        check(spread, of(json!([good, good])), &[&twice]);
        let soft = json!({
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2,
            "nodeTaintsPolicy": "Some",
        });
        check(
            spread,
            of(json!([soft])),
            &[
                &format!(
                    "{at}.minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, \
                     not ScheduleAnyway"
                ),
                &format!("{at}.nodeTaintsPolicy: Unsupported value: \"Some\": supported values: \"Honor\", \"Ignore\""),
            ],
        );
    }

    #[test]
    fn gates_have_names_of_their_own() {
        let good = json!({"readinessGates": [{"conditionType": "a.b/c"}], "schedulingGates": [{"name": "a"}]});
        check(gates, good, &[]);
        let twice = json!({"schedulingGates": [{"name": "a"}, {"name": "a"}]});
        check(gates, twice, &["spec.schedulingGates[1]: Duplicate value: \"a\""]);
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in [json!({"affinity": 1}), json!({"affinity": {"nodeAffinity": [], "podAffinity": {REQUIRED: [1]}}})]
        {
            affinity(&mut Errors::new(), &spec, &Path::new("spec"));
        }
        spread(&mut Errors::new(), &json!({"topologySpreadConstraints": [1, []]}), &Path::new("spec"));
        gates(&mut Errors::new(), &json!({"schedulingGates": [1]}), &Path::new("spec"));
    }
}
