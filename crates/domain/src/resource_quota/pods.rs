// SPDX-License-Identifier: Apache-2.0
//! Usage of pods, and the scopes that select them.
//!
//! Source: k8s.io/kubernetes pkg/quota/v1/evaluator/core/pods.go, pkg/api/v1/resource/helpers.go,
//! pkg/apis/core/v1/helper/qos/qos.go @ v1.31.

use std::collections::{BTreeMap, BTreeSet};

use api::kubernetes::core::ScopedResourceSelectorRequirement;
use apimachinery::meta::Quantity;
use serde_json::{Map, Value};

use super::{Amounts, add};

/// Amounts that a quota on them demands of each container.
const DEMANDED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

fn items<'a>(spec: &'a Value, list: &str) -> &'a [Value] {
    spec.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `requests` or `limits` of a container.
pub(crate) fn amounts(container: &Value, which: &str) -> Amounts {
    let map = container.get("resources").and_then(|resources| resources.get(which)).and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?))).collect()
}

/// Raises each amount to that of `other`.
fn at_least(into: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let known = into.entry(name.clone()).or_default();
        if *amount > *known {
            *known = *amount;
        }
    }
}

/// Returns the amounts of all containers of a pod together: init containers run before the others, except sidecars,
/// which stay.
pub(crate) fn of_containers(spec: &Value, which: &str) -> Amounts {
    let mut sum = Amounts::new();
    for container in items(spec, "containers") {
        add(&mut sum, &amounts(container, which));
    }
    let (mut staying, mut most) = (Amounts::new(), Amounts::new());
    for container in items(spec, "initContainers") {
        let mut own = amounts(container, which);
        if text(container, "restartPolicy") == "Always" {
            add(&mut sum, &own);
            add(&mut staying, &own);
            own.clone_from(&staying);
        } else {
            add(&mut own, &staying);
        }
        at_least(&mut most, &own);
    }
    at_least(&mut sum, &most);
    sum
}

/// Returns the amounts of a pod: those of its containers and its overhead.
fn total(spec: &Value, which: &str) -> Amounts {
    let mut sum = of_containers(spec, which);
    if let Some(Value::Object(overhead)) = spec.get("overhead") {
        for (name, value) in overhead {
            let is_counted = which == "requests" || sum.contains_key(name);
            if let (true, Ok(amount)) = (is_counted, serde_json::from_value::<Quantity>(value.clone())) {
                add(&mut sum, &BTreeMap::from([(name.clone(), amount)]));
            }
        }
    }
    sum
}

/// Returns requests and limits by the names that quotas have for them.
fn named(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut out = Amounts::from([("pods".to_owned(), Quantity::from_integer(1))]);
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            out.insert(name.to_owned(), *request);
            out.insert(format!("requests.{name}"), *request);
        }
        if let Some(limit) = limits.get(name) {
            out.insert(format!("limits.{name}"), *limit);
        }
    }
    for (name, request) in requests {
        let is_huge = name.starts_with("hugepages-");
        if is_huge {
            out.insert(name.clone(), *request);
        }
        if is_huge || is_extended(name) {
            out.insert(format!("requests.{name}"), *request);
        }
    }
    out
}

/// Returns true for a resource of a node's devices: `example.com/gpu`.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/") && !name.contains(".kubernetes.io/")
}

/// Returns the usage of a pod; a pod that has ended uses nothing.
pub(super) fn usage(fields: &Map<String, Value>) -> Amounts {
    let phase = fields.get("status").map_or("", |status| text(status, "phase"));
    if matches!(phase, "Succeeded" | "Failed") {
        return Amounts::new();
    }
    let null = Value::Null;
    let spec = fields.get("spec").unwrap_or(&null);
    named(&total(spec, "requests"), &total(spec, "limits"))
}

/// Checks that each container has the demanded amounts: `must specify cpu for: a,b; memory for: a`.
pub(super) fn constraints(fields: &Map<String, Value>, hard: &[&String]) -> Result<(), String> {
    let demanded: BTreeSet<&str> =
        hard.iter().map(|name| name.as_str()).filter(|name| DEMANDED.contains(name)).collect();
    let mut missing = BTreeMap::<&str, BTreeSet<&str>>::new();
    let null = Value::Null;
    let spec = fields.get("spec").unwrap_or(&null);
    for container in items(spec, "containers").iter().chain(items(spec, "initContainers")) {
        let own = named(&amounts(container, "requests"), &amounts(container, "limits"));
        for name in demanded.iter().filter(|name| !own.contains_key(**name)) {
            missing.entry(name).or_default().insert(text(container, "name"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(",")))
        .collect();
    Err(format!("must specify {}", texts.join("; ")))
}

/// Returns the class of service of a pod by its `spec`: Guaranteed, Burstable or BestEffort.
pub fn qos_class(spec: &Value) -> &'static str {
    let (mut is_best_effort, mut is_guaranteed) = (true, true);
    for container in items(spec, "containers").iter().chain(items(spec, "initContainers")) {
        let (requests, limits) = (amounts(container, "requests"), amounts(container, "limits"));
        for name in ["cpu", "memory"] {
            let set = |amounts: &Amounts| amounts.get(name).copied().filter(|amount| amount.sign() > 0);
            let (request, limit) = (set(&requests), set(&limits));
            is_best_effort &= request.is_none() && limit.is_none();
            is_guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (is_best_effort, is_guaranteed) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}

/// Returns true if a scope selects a pod.
pub(super) fn is_in_scope(fields: &Map<String, Value>, scope: &ScopedResourceSelectorRequirement) -> bool {
    let null = Value::Null;
    let spec = fields.get("spec").unwrap_or(&null);
    let ends_by_itself =
        || spec.get("activeDeadlineSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds >= 0);
    match scope.scope_name.as_str() {
        "Terminating" => ends_by_itself(),
        "NotTerminating" => !ends_by_itself(),
        "BestEffort" => qos_class(spec) == "BestEffort",
        "NotBestEffort" => qos_class(spec) != "BestEffort",
        "PriorityClass" => {
            let class = text(spec, "priorityClassName");
            let is_named = scope.values.iter().any(|value| value == class);
            match scope.operator.as_str() {
                "In" => !class.is_empty() && is_named,
                "NotIn" => class.is_empty() || !is_named,
                "DoesNotExist" => class.is_empty(),
                _ => !class.is_empty(),
            }
        }
        "CrossNamespacePodAffinity" => looks_elsewhere(spec),
        _ => false,
    }
}

/// Returns true if a pod has affinities to pods of other namespaces.
fn looks_elsewhere(spec: &Value) -> bool {
    let Some(affinity) = spec.get("affinity") else { return false };
    let crosses = |term: &Value| {
        !items(term, "namespaces").is_empty()
            || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
    };
    ["podAffinity", "podAntiAffinity"].iter().filter_map(|kind| affinity.get(*kind)).any(|kind| {
        items(kind, "requiredDuringSchedulingIgnoredDuringExecution").iter().any(crosses)
            || items(kind, "preferredDuringSchedulingIgnoredDuringExecution")
                .iter()
                .filter_map(|wish| wish.get("podAffinityTerm"))
                .any(crosses)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(requests: Value, limits: Value) -> Value {
        json!({"name": "c", "resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn classes_of_service_are_upstreams() {
        for (containers, class) in [
            (json!([{"name": "c"}]), "BestEffort"),
            (json!([container(json!({"cpu": "0"}), json!({}))]), "BestEffort"),
            (json!([container(json!({"cpu": "1"}), json!({}))]), "Burstable"),
            (json!([container(json!({"cpu": "1", "memory": "1"}), json!({"cpu": "1", "memory": "1"}))]), "Guaranteed"),
            (json!([container(json!({}), json!({"cpu": "1", "memory": "1"}))]), "Guaranteed"),
            (json!([container(json!({}), json!({"cpu": "1", "memory": "1"})), {"name": "d"}]), "Burstable"),
        ] {
            assert_eq!(qos_class(&json!({ "containers": containers })), class, "{containers}");
        }
    }

    #[test]
    fn containers_count_together_and_init_containers_by_the_greatest() {
        let of = |containers: Value, init: Value| {
            let spec = json!({"containers": containers, "initContainers": init});
            let used = usage(&Map::from_iter([("spec".to_owned(), spec)]));
            used.get("requests.cpu").map(ToString::to_string)
        };
        let one = |cpu: &str| container(json!({ "cpu": cpu }), json!({}));
        let stays = |cpu: &str| {
            let mut one = one(cpu);
            one["restartPolicy"] = json!("Always");
            one
        };
        assert_eq!(of(json!([one("1"), one("500m")]), json!([])).as_deref(), Some("1500m"));
        assert_eq!(of(json!([one("1")]), json!([one("2"), one("3")])).as_deref(), Some("3"));
        assert_eq!(of(json!([one("1")]), json!([stays("2"), one("3")])).as_deref(), Some("5"));
        assert_eq!(of(json!([{"name": "c"}]), json!([])), None);
    }
}
