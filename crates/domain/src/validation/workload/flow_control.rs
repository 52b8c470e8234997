// SPDX-License-Identifier: Apache-2.0
//! Validation of FlowSchemas and PriorityLevelConfigurations.
//!
//! Deliberately absent: that the spec of `exempt` and `catch-all` is a fixed value.
//!
//! Source: k8s.io/kubernetes pkg/apis/flowcontrol/validation/validation.go, v1/defaults.go.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{items, number, set, text};
use crate::validation::{Errors, meta};

const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// Name of the only FlowSchema and the only priority level for requests that are never limited.
const EXEMPT: &str = "exempt";
const MOST_QUEUES: i64 = 10_000_000;
/// Bits of the hash from which the queues of a flow are selected.
const HASH_BITS: f64 = 60.0;

/// Returns violations of a FlowSchema.
pub fn flow_schema(name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (spec, path) = (fields.get("spec").unwrap_or(&Value::Null), Path::new("spec"));
    let (precedence, at) = (number(spec, "matchingPrecedence").unwrap_or(0), path.child("matchingPrecedence"));
    if precedence <= 0 {
        errors.push(FieldError::invalid(&at, precedence, "must be a positive value"));
    }
    if precedence > 10_000 {
        errors.push(FieldError::invalid(&at, precedence, "must not be greater than 10000"));
    }
    if precedence == 1 && name != EXEMPT {
        let text = "only the schema named 'exempt' may have matchingPrecedence 1";
        errors.push(FieldError::invalid(&at, precedence, text));
    }
    if let Some(method) = set(spec, "distinguisherMethod") {
        let method = text(method, "type");
        if !matches!(method, "ByNamespace" | "ByUser") {
            let at = path.child("distinguisherMethod").child("type");
            errors.push(FieldError::not_supported(&at, method, &["ByNamespace", "ByUser"]));
        }
    }
    let level = spec.get("priorityLevelConfiguration").map(|level| text(level, "name")).unwrap_or_default();
    let at = path.child("priorityLevelConfiguration").child("name");
    if level.is_empty() {
        errors.push(FieldError::required(&at, "must reference a priority level"));
    } else {
        meta::invalid_each(&mut errors, &at, level, meta::dns_subdomain(level));
    }
    for (index, found) in items(spec, "rules").iter().enumerate() {
        rule(&mut errors, found, &path.child("rules").index(index));
    }
    errors
}

fn rule(errors: &mut Errors, rule: &Value, path: &Path) {
    let subjects = items(rule, "subjects");
    if subjects.is_empty() {
        errors.push(FieldError::required(&path.child("subjects"), "subjects must contain at least one value"));
    }
    for (index, found) in subjects.iter().enumerate() {
        subject(errors, found, &path.child("subjects").index(index));
    }
    let (resources, others) = (items(rule, "resourceRules"), items(rule, "nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        let text = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(FieldError::required(path, text));
    }
    for (index, found) in resources.iter().enumerate() {
        resource_rule(errors, found, &path.child("resourceRules").index(index));
    }
    for (index, found) in others.iter().enumerate() {
        let path = path.child("nonResourceRules").index(index);
        verbs(errors, found, &path);
        let required = "nonResourceURLs must contain at least one value";
        for (index, url) in list(errors, found, "nonResourceURLs", required, "non-resource URLs", &path) {
            if let Some(text) = url_violation(url) {
                errors.push(FieldError::invalid(&path.child("nonResourceURLs").index(index), url, text));
            }
        }
    }
}

/// The three fields of a subject, each of a kind: field, kind.
const SUBJECTS: [(&str, &str); 3] = [("group", "Group"), ("serviceAccount", "ServiceAccount"), ("user", "User")];

fn subject(errors: &mut Errors, subject: &Value, path: &Path) {
    let kind = text(subject, "kind");
    let Some((field, _)) = SUBJECTS.into_iter().find(|(_, of)| *of == kind) else {
        errors.push(FieldError::not_supported(&path.child("kind"), kind, &SUBJECTS.map(|(_, of)| of)));
        return;
    };
    let at = path.child(field);
    match set(subject, field) {
        None => errors.push(FieldError::required(&at, &format!("{field} is required when subject kind is '{kind}'"))),
        Some(who) => named(errors, who, kind, &at),
    }
    for (field, of) in SUBJECTS.into_iter().filter(|(_, of)| *of != kind) {
        if set(subject, field).is_some() {
            let text = format!("{field} is forbidden when subject kind is not '{of}'");
            errors.push(FieldError::forbidden(&path.child(field), &text));
        }
    }
}

fn named(errors: &mut Errors, who: &Value, kind: &str, path: &Path) {
    let (name, at) = (text(who, "name"), path.child("name"));
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    if kind != "ServiceAccount" {
        return;
    }
    if !matches!(name, "" | "*") {
        meta::invalid_each(errors, &at, name, meta::dns_subdomain(name));
    }
    let (namespace, at) = (text(who, "namespace"), path.child("namespace"));
    if namespace.is_empty() {
        errors.push(FieldError::required(&at, "must specify namespace for service account"));
    } else {
        meta::invalid_each(errors, &at, namespace, meta::dns_label(namespace));
    }
}

fn resource_rule(errors: &mut Errors, rule: &Value, path: &Path) {
    verbs(errors, rule, path);
    list(errors, rule, "apiGroups", "resource rules must supply at least one api group", "api groups", path);
    list(errors, rule, "resources", "resource rules must supply at least one resource", "resources", path);
    if rule["clusterScope"] == true && items(rule, "namespaces").is_empty() {
        return;
    }
    let required = "resource rules that are not cluster scoped must supply at least one namespace";
    for (index, namespace) in list(errors, rule, "namespaces", required, "namespaces", path) {
        let intro = "each member of this list must be '*' or a DNS-1123 label; ";
        for text in meta::dns_label(namespace) {
            let at = path.child("namespaces").index(index);
            errors.push(FieldError::invalid(&at, namespace, &format!("{intro}{text}")));
        }
    }
}

fn verbs(errors: &mut Errors, rule: &Value, path: &Path) {
    let given = list(errors, rule, "verbs", "verbs must contain at least one value", "verbs", path);
    if given.iter().any(|(_, verb)| !VERBS.contains(verb)) {
        errors.push(FieldError::not_supported(&path.child("verbs"), &rule["verbs"], &VERBS));
    }
}

/// Returns the entries of a required list, with their indices; none if the list contains `*`, which must be the only entry.
fn list<'a>(
    errors: &mut Errors,
    rule: &'a Value,
    name: &str,
    required: &str,
    what: &str,
    path: &Path,
) -> Vec<(usize, &'a str)> {
    let entries: Vec<&str> = items(rule, name).iter().filter_map(Value::as_str).collect();
    if entries.is_empty() {
        errors.push(FieldError::required(&path.child(name), required));
    }
    if !entries.contains(&"*") {
        return entries.into_iter().enumerate().collect();
    }
    if entries.len() > 1 {
        let text = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(&path.child(name), &rule[name], &text));
    }
    Vec::new()
}

fn url_violation(url: &str) -> Option<&'static str> {
    let stars = url.matches('*').count();
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !url.starts_with('/') => Some("must start with slash"),
        _ if url.contains(' ') => Some("must not contain white-space"),
        _ if url.contains("//") => Some("must not contain double slash"),
        _ if stars > 1 || stars == 1 && !url.ends_with("/*") => Some("wildcard can only do suffix matching"),
        _ => None,
    }
}

/// Returns violations of a PriorityLevelConfiguration.
pub fn priority_level(name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (spec, path) = (fields.get("spec").unwrap_or(&Value::Null), Path::new("spec"));
    let kind = text(spec, "type");
    if (name == EXEMPT) != (kind == "Exempt") {
        let text = "type must be 'Exempt' if and only if name is 'exempt'";
        errors.push(FieldError::invalid(&path.child("type"), kind, text));
    }
    let at = path.child("limited");
    match (kind, set(spec, "limited"), set(spec, "exempt")) {
        ("Exempt", Some(_), _) => errors.push(FieldError::forbidden(&at, "must be nil if the type is not Limited")),
        ("Exempt", None, Some(exempt)) => shares(&mut errors, exempt, &path.child("exempt")),
        ("Exempt", None, None) => {}
        ("Limited", limited, exempt) => {
            if exempt.is_some() {
                errors.push(FieldError::forbidden(&path.child("exempt"), "must be nil if the type is Limited"));
            }
            match limited {
                Some(given) => self::limited(&mut errors, given, &at),
                None => errors.push(FieldError::required(&at, "must not be empty when type is Limited")),
            }
        }
        _ => errors.push(FieldError::not_supported(&path.child("type"), kind, &["Exempt", "Limited"])),
    }
    errors
}

fn shares(errors: &mut Errors, level: &Value, path: &Path) {
    if let Some(shares) = number(level, "nominalConcurrencyShares").filter(|shares| *shares < 0) {
        let at = path.child("nominalConcurrencyShares");
        errors.push(FieldError::invalid(&at, shares, "must be a non-negative integer"));
    }
    if let Some(percent) = number(level, "lendablePercent").filter(|percent| !(0..=100).contains(percent)) {
        let at = path.child("lendablePercent");
        errors.push(FieldError::invalid(&at, percent, "must be between 0 and 100, inclusive"));
    }
}

fn limited(errors: &mut Errors, level: &Value, path: &Path) {
    shares(errors, level, path);
    if let Some(percent) = number(level, "borrowingLimitPercent").filter(|percent| *percent < 0) {
        let at = path.child("borrowingLimitPercent");
        errors.push(FieldError::invalid(&at, percent, "if specified, must be a non-negative integer"));
    }
    let (response, path) = (&level["limitResponse"], path.child("limitResponse"));
    let at = path.child("queuing");
    match (text(response, "type"), set(response, "queuing")) {
        ("Reject", Some(_)) => {
            errors.push(FieldError::forbidden(&at, "must be nil if limited.limitResponse.type is not Limited"));
        }
        ("Queue", None) => {
            errors.push(FieldError::required(&at, "must not be empty if limited.limitResponse.type is Limited"));
        }
        ("Queue", Some(given)) => queuing(errors, given, &at),
        ("Reject", None) => {}
        (kind, _) => errors.push(FieldError::not_supported(&path.child("type"), kind, &["Queue", "Reject"])),
    }
}

fn queuing(errors: &mut Errors, queuing: &Value, path: &Path) {
    let of = |name: &str| number(queuing, name).unwrap_or(0);
    let (queues, hand) = (of("queues"), of("handSize"));
    let mut invalid = |name: &str, text: &str| errors.push(FieldError::invalid(&path.child(name), of(name), text));
    if of("queueLengthLimit") <= 0 {
        invalid("queueLengthLimit", "must be positive");
    }
    if queues <= 0 {
        invalid("queues", "must be positive");
    } else if queues > MOST_QUEUES {
        invalid("queues", &format!("must not be greater than {MOST_QUEUES}"));
    }
    if hand <= 0 {
        invalid("handSize", "must be positive");
    } else if hand > queues {
        invalid("handSize", &format!("should not be greater than queues ({queues})"));
    } else if entropy(queues, hand) > HASH_BITS {
        let text = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        invalid("handSize", &text);
    }
}

/// Returns the bits needed to select `hand` of `queues`.
fn entropy(queues: i64, hand: i64) -> f64 {
    let wide = |number: i64| f64::from(i32::try_from(number).unwrap_or(i32::MAX));
    (wide(queues).log2() * wide(hand)).ceil()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Rule = fn(&str, &Map<String, Value>) -> Errors;

    #[track_caller]
    fn check(rule: Rule, name: &str, spec: &Value, expected: &[&str]) {
        let tree = json!({ "spec": spec });
        let errors = rule(name, tree.as_object().expect("fields"));
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn schema(rule: &Value) -> Value {
        json!({ "matchingPrecedence": 1000, "priorityLevelConfiguration": { "name": "system" }, "rules": [rule] })
    }

    #[test]
    fn a_flow_schema_refers_to_a_level_and_has_a_precedence() {
        let refused = |name: &str, spec: Value, expected: &[&str]| check(flow_schema, name, &spec, expected);
        let level = json!({ "name": "system" });
        refused("a", json!({ "matchingPrecedence": 1000, "priorityLevelConfiguration": level }), &[]);
        refused("exempt", json!({ "matchingPrecedence": 1, "priorityLevelConfiguration": level }), &[]);
        let only =
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1";
        refused("a", json!({ "matchingPrecedence": 1, "priorityLevelConfiguration": level }), &[only]);
        let most = "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000";
        refused("a", json!({ "matchingPrecedence": 10001, "priorityLevelConfiguration": level }), &[most]);
        refused(
            "a",
            json!({ "matchingPrecedence": -1, "distinguisherMethod": { "type": "ByTeam" } }),
            &[
                "spec.matchingPrecedence: Invalid value: -1: must be a positive value",
                "spec.distinguisherMethod.type: Unsupported value: \"ByTeam\": supported values: \"ByNamespace\", \"ByUser\"",
                "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
            ],
        );
    }

    #[test]
    fn flow_schema_rules_require_subjects_and_resources() {
        let refused = |rule: Value, expected: &[&str]| check(flow_schema, "a", &schema(&rule), expected);
        let user = json!({ "kind": "User", "user": { "name": "*" } });
        let all = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"] });
        refused(json!({ "subjects": [user], "resourceRules": [all] }), &[]);
        refused(
            json!({}),
            &[
                "spec.rules[0].subjects: Required value: subjects must contain at least one value",
                "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ],
        );
        let subjects = json!([
            { "kind": "Robot" },
            { "kind": "Group", "user": { "name": "a" } },
            { "kind": "ServiceAccount", "serviceAccount": { "name": "*" } },
        ]);
        refused(
            json!({ "subjects": subjects, "resourceRules": [all] }),
            &[
                "spec.rules[0].subjects[0].kind: Unsupported value: \"Robot\": supported values: \"Group\", \
                 \"ServiceAccount\", \"User\"",
                "spec.rules[0].subjects[1].group: Required value: group is required when subject kind is 'Group'",
                "spec.rules[0].subjects[1].user: Forbidden: user is forbidden when subject kind is not 'User'",
                "spec.rules[0].subjects[2].serviceAccount.namespace: Required value: must specify namespace for service \
                 account",
            ],
        );
        let (given, others) = (
            json!({ "verbs": ["fly"], "apiGroups": ["*", "apps"], "resources": ["pods"], "clusterScope": true }),
            json!({ "verbs": ["get"], "nonResourceURLs": ["x", "/a/*/b", "/ok/*"] }),
        );
        refused(
            json!({ "subjects": [user], "resourceRules": [given], "nonResourceRules": [others] }),
            &[
                "spec.rules[0].resourceRules[0].verbs: Unsupported value: [\"fly\"]: supported values: \"create\", \"delete\", \
                 \"deletecollection\", \"get\", \"list\", \"patch\", \"proxy\", \"update\", \"watch\"",
                "spec.rules[0].resourceRules[0].apiGroups: Invalid value: [\"*\",\"apps\"]: if '*' is present, must not specify \
                 other api groups",
                "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"x\": must start with slash",
                "spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: \"/a/*/b\": wildcard can only do suffix \
                 matching",
            ],
        );
    }

    #[test]
    fn a_priority_level_is_limited_by_shares_and_queues() {
        let refused = |name: &str, spec: Value, expected: &[&str]| check(priority_level, name, &spec, expected);
        let limited = |response: Value| json!({ "type": "Limited", "limited": { "nominalConcurrencyShares": 1, "limitResponse": response } });
        let queue = |queues: i64, hand: i64| {
            limited(
                json!({ "type": "Queue", "queuing": { "queues": queues, "handSize": hand, "queueLengthLimit": 50 } }),
            )
        };
        refused("exempt", json!({ "type": "Exempt", "exempt": { "lendablePercent": 0 } }), &[]);
        refused("a", limited(json!({ "type": "Reject" })), &[]);
        refused("a", queue(64, 8), &[]);
        let path = "spec.limited.limitResponse.queuing.handSize: Invalid value:";
        refused("a", queue(4, 5), &[&format!("{path} 5: should not be greater than queues (4)")]);
        let entropy = "required entropy bits of deckSize 64 and handSize 11 should not be greater than 60";
        refused("a", queue(64, 11), &[&format!("{path} 11: {entropy}")]);
        let kind = "spec.type: Invalid value: \"Limited\": type must be 'Exempt' if and only if name is 'exempt'";
        let needed = "spec.limited: Required value: must not be empty when type is Limited";
        refused("exempt", json!({ "type": "Limited" }), &[kind, needed]);
        let mut lends = limited(json!({ "type": "Drop" }));
        lends["limited"]["lendablePercent"] = json!(101);
        refused(
            "a",
            lends,
            &[
                "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
                "spec.limited.limitResponse.type: Unsupported value: \"Drop\": supported values: \"Queue\", \"Reject\"",
            ],
        );
    }
}
