// SPDX-License-Identifier: Apache-2.0
//! Validation of LimitRanges.
//!
//! Unlike upstream, which checks the resources of an entry in random order, this sorts them by name.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go (ValidateLimitRange) @ v1.31.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;
use serde_json::{Map, Value};

use super::containers::is_container_resource;
use super::go;
use super::tree::{items, text};
use crate::validation::{Errors, meta};

const POD: &str = "Pod";
const CLAIM: &str = "PersistentVolumeClaim";
const TYPES: [&str; 3] = [POD, "Container", CLAIM];
/// Resource names without a domain prefix. A name that ends with `-` matches as a prefix.
const STANDARD: [&str; 22] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
    "requests.hugepages-",
    "hugepages-",
];

type Amounts = BTreeMap<String, Quantity>;

/// Returns all violations of a LimitRange, in upstream's order. Updates have the same rules.
pub fn limit_range(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec").child("limits");
    let mut types = BTreeSet::new();
    for (index, limit) in items(fields.get("spec").unwrap_or(&Value::Null), "limits").iter().enumerate() {
        let (path, kind) = (path.index(index), text(limit, "type"));
        type_name(&mut errors, kind, &path.child("type"));
        if !types.insert(kind) {
            errors.push(FieldError::duplicate(&path.child("type"), kind));
        }
        entry(&mut errors, limit, kind, &path);
    }
    errors
}

fn type_name(errors: &mut Errors, kind: &str, path: &Path) {
    let texts = meta::qualified_name(kind);
    if texts.is_empty() && !kind.contains('/') && !TYPES.contains(&kind) {
        errors.push(FieldError::invalid(path, kind, "must be a standard limit type or fully qualified"));
    }
    meta::invalid_each(errors, path, kind, texts);
}

fn resource_name(errors: &mut Errors, kind: &str, name: &str, path: &Path) {
    let texts = meta::qualified_name(name);
    let is_qualified = texts.is_empty();
    meta::invalid_each(errors, path, name, texts);
    if !is_qualified || name.contains('/') {
        return;
    }
    let is_standard = |known: &str| name == known || known.ends_with('-') && name.starts_with(known);
    if !STANDARD.into_iter().any(is_standard) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
    }
    if matches!(kind, POD | "Container") && !is_container_resource(name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
}

/// Returns the amounts in a field of an entry, and checks their names.
fn amounts(errors: &mut Errors, limit: &Value, kind: &str, field: &str, path: &Path) -> Amounts {
    let mut found = Amounts::new();
    for (name, value) in limit.get(field).and_then(Value::as_object).into_iter().flatten() {
        resource_name(errors, kind, name, &path.child(field).key(name));
        if let Ok(amount) = serde_json::from_value(value.clone()) {
            found.insert(name.clone(), amount);
        }
    }
    found
}

fn entry(errors: &mut Errors, limit: &Value, kind: &str, path: &Path) {
    let max = amounts(errors, limit, kind, "max", path);
    let min = amounts(errors, limit, kind, "min", path);
    let (mut default, mut request) = (Amounts::new(), Amounts::new());
    if kind == POD {
        for field in ["default", "defaultRequest"] {
            if limit.get(field).and_then(Value::as_object).is_some_and(|map| !map.is_empty()) {
                let detail = "may not be specified when `type` is 'Pod'";
                errors.push(FieldError::forbidden(&path.child(field), detail));
            }
        }
    } else {
        default = amounts(errors, limit, kind, "default", path);
        request = amounts(errors, limit, kind, "defaultRequest", path);
    }
    if kind == CLAIM && !min.contains_key("storage") && !max.contains_key("storage") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(&path.child("limits"), detail));
    }
    let ratio = amounts(errors, limit, kind, "maxLimitRequestRatio", path);
    let names: BTreeSet<&String> =
        [&max, &min, &default, &request, &ratio].into_iter().flat_map(Amounts::keys).collect();
    for name in names {
        let of = |amounts: &Amounts| amounts.get(name).copied();
        let range = Range { name, min: of(&min), max: of(&max), default: of(&default), request: of(&request) };
        range.check(errors, path);
        if let Some(ratio) = of(&ratio) {
            range.check_ratio(errors, ratio, path);
        }
        range.check_overcommitment(errors, path);
    }
}

/// Limits of one resource in an entry.
struct Range<'a> {
    name: &'a str,
    min: Option<Quantity>,
    max: Option<Quantity>,
    default: Option<Quantity>,
    request: Option<Quantity>,
}

impl Range<'_> {
    fn check(&self, errors: &mut Errors, path: &Path) {
        let (min, max) = ((self.min, "min value"), (self.max, "max value"));
        let (default, request) = (self.default, self.request);
        // Field, amount in the message, and two amounts of which the first must not exceed the second.
        let pairs = [
            ("min", self.min, min, max),
            ("defaultRequest", request, min, (request, "default request value")),
            ("defaultRequest", request, (request, "default request value"), max),
            ("defaultRequest", request, (request, "default request value"), (default, "default limit value")),
            ("default", self.min, min, (default, "default value")),
            ("default", self.max, (default, "default value"), max),
        ];
        for (field, shown, (low, low_name), (high, high_name)) in pairs {
            let (Some(shown), Some(low), Some(high)) = (shown, low, high) else { continue };
            if low > high {
                let detail = format!("{low_name} {low} is greater than {high_name} {high}");
                errors.push(go::invalid(&path.child(field).key(self.name), &go::quantity(shown), &detail));
            }
        }
    }

    fn check_ratio(&self, errors: &mut Errors, ratio: Quantity, path: &Path) {
        let at = path.child("maxLimitRequestRatio").key(self.name);
        if ratio < Quantity::from_integer(1) {
            errors.push(go::invalid(&at, &go::quantity(ratio), &format!("ratio {ratio} is less than 1")));
        }
        let (Some(min), Some(max)) = (self.min, self.max) else { return };
        #[expect(clippy::cast_precision_loss, reason = "as upstream computes it")]
        let (most, allowed) = (max.millis() as f64 / min.millis() as f64, ratio.millis() as f64 / 1000.0);
        if allowed > most {
            // Format in which Go prints the result of a division by zero.
            let most = if most.is_infinite() { "+Inf".to_owned() } else { format!("{most:.6}") };
            let detail = format!("ratio {ratio} is greater than max/min = {most}");
            errors.push(go::invalid(&at, &go::quantity(ratio), &detail));
        }
    }

    /// Checks that `default` and `defaultRequest` are equal for a resource that cannot be overcommitted.
    fn check_overcommitment(&self, errors: &mut Errors, path: &Path) {
        let is_native = !self.name.contains('/') || self.name.contains("kubernetes.io/");
        let (Some(default), Some(request)) = (self.default, self.request) else { return };
        if (!is_native || self.name.starts_with("hugepages-")) && default != request {
            let name = self.name;
            let detail = format!("default value {default} must equal to defaultRequest value {request} in {name}");
            errors.push(go::invalid(&path.child("defaultRequest").key(name), &go::quantity(request), &detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(limits: Value, expected: &[&str]) {
        let fields = Map::from_iter([("spec".to_owned(), json!({ "limits": limits }))]);
        assert_eq!(limit_range(&fields).iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn accepts_what_people_write() {
        for limits in [
            json!(null),
            json!([
                {"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "min": {"cpu": "100m", "memory": "3Mi"},
                 "default": {"cpu": "300m"}, "defaultRequest": {"cpu": "200m"}, "maxLimitRequestRatio": {"cpu": "20"}},
                {"type": "Pod", "max": {"cpu": "2", "example.com/gpu": "1"}},
                {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}},
            ]),
            json!([{"type": "example.com/thing", "max": {"pods": "1"}}]),
            json!([{"type": "Container", "default": {"hugepages-2Mi": "4Mi"}, "defaultRequest": {"hugepages-2Mi": "4Mi"}}]),
        ] {
            check(limits, &[]);
        }
    }

    #[test]
    fn rejects_unknown_types_and_names() {
        check(
            json!([{"type": "Node"}, {"type": "Pod"}, {"type": "Pod"}]),
            &[
                "spec.limits[0].type: Invalid value: \"Node\": must be a standard limit type or fully qualified",
                "spec.limits[2].type: Duplicate value: \"Pod\"",
            ],
        );
        check(
            json!([{"type": "Container", "max": {"storage": "1", "shoots": "1"}}]),
            &[
                "spec.limits[0].max[shoots]: Invalid value: \"shoots\": must be a standard resource type or fully qualified",
                "spec.limits[0].max[shoots]: Invalid value: \"shoots\": must be a standard resource for containers",
                "spec.limits[0].max[storage]: Invalid value: \"storage\": must be a standard resource for containers",
            ],
        );
        check(
            json!([{"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]),
            &[
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
            ],
        );
        check(
            json!([{"type": "PersistentVolumeClaim", "max": {"cpu": "1"}}]),
            &[
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was \
               provided",
            ],
        );
    }

    #[test]
    fn amounts_of_a_resource_are_in_order() {
        let whole = |value: i64| {
            format!(
                "resource.Quantity{{i:resource.int64Amount{{value:{value}, scale:0}}, \
                 d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:\"\", Format:\"DecimalSI\"}}"
            )
        };
        let of = |changes: Value| {
            let mut limit = json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "4"}});
            for (field, value) in changes.as_object().expect("fields") {
                limit[field] = value.clone();
            }
            json!([limit])
        };
        for (changes, field, shown, detail) in [
            (json!({"max": {"cpu": "1"}}), "min", 2, "min value 2 is greater than max value 1"),
            (
                json!({"defaultRequest": {"cpu": "1"}}),
                "defaultRequest",
                1,
                "min value 2 is greater than default request value 1",
            ),
            (
                json!({"defaultRequest": {"cpu": "5"}}),
                "defaultRequest",
                5,
                "default request value 5 is greater than max value 4",
            ),
            (
                json!({"defaultRequest": {"cpu": "4"}, "default": {"cpu": "3"}}),
                "defaultRequest",
                4,
                "default request value 4 is greater than default limit value 3",
            ),
            (json!({"default": {"cpu": "1"}}), "default", 2, "min value 2 is greater than default value 1"),
            (json!({"default": {"cpu": "5"}}), "default", 4, "default value 5 is greater than max value 4"),
            (
                json!({"maxLimitRequestRatio": {"cpu": "3"}}),
                "maxLimitRequestRatio",
                3,
                "ratio 3 is greater than max/min = 2.000000",
            ),
            (json!({"maxLimitRequestRatio": {"cpu": "0"}}), "maxLimitRequestRatio", 0, "ratio 0 is less than 1"),
        ] {
            let expected = format!("spec.limits[0].{field}[cpu]: Invalid value: {}: {detail}", whole(shown));
            check(of(changes), &[&expected]);
        }
        let gpu = json!([{"type": "Container", "default": {"example.com/gpu": "2"},
                          "defaultRequest": {"example.com/gpu": "1"}}]);
        let detail = "default value 2 must equal to defaultRequest value 1 in example.com/gpu";
        let expected = format!("spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: {}: {detail}", whole(1));
        check(gpu, &[&expected]);
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for limits in [json!(1), json!([1, null, {"type": 3, "max": [], "min": {"cpu": {}}}])] {
            limit_range(&Map::from_iter([("spec".to_owned(), json!({ "limits": limits }))]));
        }
    }
}
