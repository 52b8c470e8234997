// SPDX-License-Identifier: Apache-2.0
//! Defaults of new pods: values of their PriorityClass and RuntimeClass, and tolerations of lost nodes.
//!
//! Pods and classes are trees that their schemas have pruned; a stored class takes precedence over the table of classes
//! that every cluster has.
//!
//! Deliberately absent: `spec.overhead` counts only in ResourceQuotas; pods are not preempted.
//!
//! Source: k8s.io/kubernetes plugin/pkg/admission/{priority,defaulttolerationseconds,runtimeclass},
//! pkg/util/tolerations @ v1.32.

use serde_json::{Map, Value, json};

use crate::validation::workload::SYSTEM_CLASSES;

/// Preemption policy of classes without one.
pub const PREEMPTS: &str = "PreemptLowerPriority";
/// Seconds for which a pod stays on a node that is not ready or unreachable.
const SECONDS_ON_LOST_NODES: i64 = 300;
/// Taints of nodes that are not ready or unreachable.
const LOST: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Returns the default PriorityClass with its name; of several the one with the lowest value.
pub fn default_class<'a>(
    classes: impl IntoIterator<Item = (&'a str, &'a Map<String, Value>)>,
) -> Option<(&'a str, &'a Map<String, Value>)> {
    let defaults = classes.into_iter().filter(|(_, class)| class.get("globalDefault") == Some(&Value::Bool(true)));
    defaults.min_by_key(|(_, class)| value_of(class))
}

fn value_of(class: &Map<String, Value>) -> i64 {
    class.get("value").and_then(Value::as_i64).unwrap_or(0)
}

/// Sets priority and preemption policy in the `spec` of a new pod. `class` returns a PriorityClass by name, `default` is
/// the default one.
///
/// # Errors
/// Reason of the refusal: the class does not exist, or the pod contradicts its class.
pub fn set_priority<'a>(
    spec: &mut Map<String, Value>,
    class: impl FnOnce(&str) -> Option<Map<String, Value>>,
    default: Option<(&'a str, &'a Map<String, Value>)>,
) -> Result<(), String> {
    let name = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (priority, policy) = if name.is_empty() {
        let Some((name, class)) = default else { return put_priority(spec, 0, PREEMPTS) };
        spec.insert("priorityClassName".to_owned(), json!(name));
        (value_of(class), policy_of(class).to_owned())
    } else if let Some(class) = class(&name) {
        (value_of(&class), policy_of(&class).to_owned())
    } else if let Some(class) = SYSTEM_CLASSES.iter().find(|class| class.name == name) {
        (class.value, PREEMPTS.to_owned())
    } else {
        return Err(format!("no PriorityClass with name {name} was found"));
    };
    put_priority(spec, priority, &policy)
}

fn policy_of(class: &Map<String, Value>) -> &str {
    class.get("preemptionPolicy").and_then(Value::as_str).filter(|policy| !policy.is_empty()).unwrap_or(PREEMPTS)
}

fn put_priority(spec: &mut Map<String, Value>, priority: i64, policy: &str) -> Result<(), String> {
    if let Some(given) = spec.get("priority").and_then(Value::as_i64).filter(|given| *given != priority) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        ));
    }
    let given = spec.get("preemptionPolicy").and_then(Value::as_str).filter(|given| !given.is_empty());
    if let Some(given) = given.filter(|given| *given != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller \
             computed {policy} from the given PriorityClass name"
        ));
    }
    spec.insert("priority".to_owned(), json!(priority));
    spec.insert("preemptionPolicy".to_owned(), json!(policy));
    Ok(())
}

/// Restores the priority of a pod that is updated.
pub fn keep_priority(spec: &mut Map<String, Value>, old: &Map<String, Value>) {
    for field in ["priority", "preemptionPolicy"] {
        let is_set = spec.get(field).is_some_and(|value| !value.is_null());
        if let Some(value) = old.get(field).filter(|_| !is_set) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
}

/// Adds tolerations of lost nodes for 300 s, unless the pod has tolerations for their taints. An updated pod (`old`: its
/// previous `spec`) only receives those that it had: a pod that an earlier release stored without them stays without.
pub fn tolerate_lost_nodes(spec: &mut Map<String, Value>, old: Option<&Map<String, Value>>) {
    let missing: Vec<&str> =
        LOST.into_iter().filter(|key| !says(spec, key) && old.is_none_or(|old| says(old, key))).collect();
    if missing.is_empty() {
        return;
    }
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    if let Value::Array(tolerations) = tolerations {
        let added = missing.into_iter().map(|key| {
            json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": SECONDS_ON_LOST_NODES})
        });
        tolerations.extend(added);
    }
}

/// Adds the tolerations of DaemonSet pods to a `spec`: they stay on nodes that are lost, under pressure, or cordoned.
///
/// Source: k8s.io/kubernetes pkg/controller/daemon/util/daemonset_util.go (AddOrUpdateDaemonPodTolerations).
pub fn tolerate_as_daemon(spec: &mut Map<String, Value>) {
    const ALL: [(&str, &str); 7] = [
        (LOST[0], "NoExecute"),
        (LOST[1], "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
        ("node.kubernetes.io/network-unavailable", "NoSchedule"),
    ];
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let mut all = spec.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    for (key, effect) in ALL.into_iter().take(if is_on_host { 7 } else { 6 }) {
        let toleration = json!({"effect": effect, "key": key, "operator": "Exists"});
        let is_it = |other: &Value| {
            ["key", "effect", "operator"].iter().all(|field| text(other, field) == text(&toleration, field))
                && text(other, "value").is_empty()
        };
        match all.iter_mut().find(|other| is_it(other)) {
            Some(other) => *other = toleration,
            None => all.push(toleration),
        }
    }
    spec.insert("tolerations".to_owned(), Value::Array(all));
}

/// True if a pod has a `NoExecute` toleration for a taint's key.
fn says(spec: &Map<String, Value>, key: &str) -> bool {
    let matches = |toleration: &Value| {
        matches!(text(toleration, "key"), own if own == key || own.is_empty())
            && matches!(text(toleration, "effect"), "NoExecute" | "")
    };
    spec.get("tolerations").and_then(Value::as_array).into_iter().flatten().any(matches)
}

/// Sets overhead and placement of a new pod's `spec` from its RuntimeClass. `class` returns a RuntimeClass by name.
///
/// # Errors
/// Reason of the refusal: the class does not exist, or the pod contradicts its class.
pub fn apply_runtime_class(
    spec: &mut Map<String, Value>,
    class: impl FnOnce(&str) -> Option<Map<String, Value>>,
) -> Result<(), String> {
    const DIFFERS: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
    const ALONE: &str = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    let name = spec.get("runtimeClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = if name.is_empty() { None } else { class(&name) };
    if !name.is_empty() && found.is_none() {
        return Err(format!("pod rejected: RuntimeClass {} not found", apimachinery::go::quote(&name)));
    }
    let class = found.unwrap_or_default();
    let given = spec.get("overhead").and_then(Value::as_object).filter(|overhead| !overhead.is_empty()).cloned();
    match (class.get("overhead").filter(|overhead| !overhead.is_null()), given) {
        (Some(overhead), given) => {
            let fixed = overhead.get("podFixed").and_then(Value::as_object).cloned().unwrap_or_default();
            if given.is_some_and(|given| !is_same_amount(&given, &fixed)) {
                return Err(DIFFERS.to_owned());
            }
            if !fixed.is_empty() {
                spec.insert("overhead".to_owned(), Value::Object(fixed));
            }
        }
        (None, Some(_)) => return Err(ALONE.to_owned()),
        (None, None) => {}
    }
    let Some(scheduling) = class.get("scheduling").filter(|scheduling| scheduling.is_object()) else { return Ok(()) };
    select_nodes(spec, scheduling)?;
    let wanted = |tree: Option<&Value>| tree.and_then(Value::as_array).cloned().unwrap_or_default();
    let all = [wanted(spec.get("tolerations")), wanted(scheduling.get("tolerations"))].concat();
    if !all.is_empty() {
        spec.insert("tolerations".to_owned(), Value::Array(merge_tolerations(all)));
    }
    Ok(())
}

/// Adds the node labels that a RuntimeClass selects.
fn select_nodes(spec: &mut Map<String, Value>, scheduling: &Value) -> Result<(), String> {
    let Some(labels) = scheduling.get("nodeSelector").and_then(Value::as_object).filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    let mut selector = spec.get("nodeSelector").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in labels {
        if let Some(own) = selector.get(key).filter(|own| *own != value) {
            let (of_class, of_pod) = (value.as_str().unwrap_or_default(), own.as_str().unwrap_or_default());
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {of_class}; pod.spec.nodeSelector[{key}] = {of_pod}"
            ));
        }
        selector.insert(key.clone(), value.clone());
    }
    spec.insert("nodeSelector".to_owned(), Value::Object(selector));
    Ok(())
}

/// True if two lists of amounts are equal, regardless of their notation.
fn is_same_amount(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    use apimachinery::meta::Quantity;
    let amounts = |map: &Map<String, Value>| {
        let pairs = map.iter();
        pairs
            .map(|(name, value)| (name.clone(), serde_json::from_value::<Quantity>(value.clone()).ok()))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    amounts(a) == amounts(b)
}

/// Removes tolerations that others cover; of equal ones the first remains.
fn merge_tolerations(all: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let is_covered = merged.iter().any(|other| covers(other, one))
            || all[index + 1..].iter().any(|other| other != one && covers(other, one));
        if !is_covered {
            merged.push(one.clone());
        }
    }
    merged
}

/// True if `wide` tolerates everything that `narrow` does.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let (key, effect, operator) = (text(wide, "key"), text(wide, "effect"), text(wide, "operator"));
    let all_keys = key.is_empty() && operator == "Exists";
    if (text(narrow, "key") != key && !all_keys) || (text(narrow, "effect") != effect && !effect.is_empty()) {
        return false;
    }
    let seconds = |toleration: &Value| toleration.get("tolerationSeconds").and_then(Value::as_i64);
    if let Some(most) = seconds(wide).filter(|_| effect == "NoExecute")
        && seconds(narrow).is_none_or(|own| own > most)
    {
        return false;
    }
    match operator {
        "Exists" => true,
        "Equal" | "" => text(narrow, "operator") == operator && text(narrow, "value") == text(wide, "value"),
        _ => false,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(tree: Value) -> Map<String, Value> {
        tree.as_object().cloned().expect("an object")
    }

    fn classes() -> Vec<(&'static str, Map<String, Value>)> {
        vec![
            ("high", map(json!({"value": 1000, "preemptionPolicy": "Never"}))),
            ("usual", map(json!({"value": 10, "globalDefault": true}))),
            ("lower", map(json!({"value": 5, "globalDefault": true}))),
        ]
    }

    #[track_caller]
    fn check_priority(has_default: bool, given: Value, expected: Result<Value, &str>) {
        let classes = classes();
        let default = default_class(classes.iter().map(|(name, class)| (*name, class))).filter(|_| has_default);
        let find = |name: &str| classes.iter().find(|(own, _)| *own == name).map(|(_, class)| class.clone());
        let mut spec = map(given);
        let result = set_priority(&mut spec, find, default);
        assert_eq!(result.map(|()| Value::Object(spec)), expected.map_err(str::to_owned));
    }

    #[test]
    fn a_pod_has_the_priority_of_its_class() {
        let with = |name: &str, priority: i64, policy: &str| {
            Ok(json!({"priorityClassName": name, "priority": priority, "preemptionPolicy": policy}))
        };
        check_priority(false, json!({}), Ok(json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})));
        check_priority(true, json!({}), with("lower", 5, "PreemptLowerPriority"));
        check_priority(true, json!({"priorityClassName": "high"}), with("high", 1000, "Never"));
        check_priority(true, json!({"priorityClassName": "high", "priority": 1000}), with("high", 1000, "Never"));
        let node = "system-node-critical";
        check_priority(true, json!({"priorityClassName": node}), with(node, 2_000_001_000, "PreemptLowerPriority"));
        check_priority(true, json!({"priorityClassName": "none"}), Err("no PriorityClass with name none was found"));
        check_priority(
            false,
            json!({"priority": 7}),
            Err(
                "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed \
                 0 from the given PriorityClass name",
            ),
        );
        check_priority(
            true,
            json!({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}),
            Err(
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority \
                 admission controller computed Never from the given PriorityClass name",
            ),
        );
    }

    #[test]
    fn pods_tolerate_lost_nodes_for_five_minutes_by_default() {
        let lost =
            |key: &str| json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300});
        let [not_ready, unreachable] = LOST.map(lost);
        let own = json!({"key": LOST[0], "operator": "Exists", "effect": "NoExecute"});
        let schedule = json!({"key": LOST[0], "operator": "Exists", "effect": "NoSchedule"});
        for (given, expected) in [
            (json!([]), json!([not_ready, unreachable])),
            (json!(null), json!([not_ready, unreachable])),
            (json!([{"operator": "Exists"}]), json!([{"operator": "Exists"}])),
            (json!([own]), json!([own, unreachable])),
            (json!([schedule]), json!([schedule, not_ready, unreachable])),
        ] {
            let mut spec = map(json!({ "tolerations": given }));
            tolerate_lost_nodes(&mut spec, None);
            assert_eq!(spec["tolerations"], expected);
        }
        let (mut spec, old) = (map(json!({})), map(json!({"tolerations": [unreachable]})));
        tolerate_lost_nodes(&mut spec, Some(&old));
        assert_eq!(spec["tolerations"], json!([unreachable]), "of an updated pod, those that it had");
    }

    #[test]
    fn pods_of_daemon_sets_stay_on_lost_nodes() {
        let mut spec = map(json!({"tolerations": [
            {"key": LOST[0], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}, {"operator": "Exists"},
        ]}));
        tolerate_as_daemon(&mut spec);
        assert_eq!(spec["tolerations"][0], json!({"key": LOST[0], "operator": "Exists", "effect": "NoExecute"}));
        assert_eq!(spec["tolerations"].as_array().map(Vec::len), Some(7));
        let before = spec.clone();
        tolerate_as_daemon(&mut spec);
        tolerate_lost_nodes(&mut spec, None);
        assert_eq!(spec, before, "nothing is added twice, and no seconds");
        spec.insert("hostNetwork".to_owned(), json!(true));
        tolerate_as_daemon(&mut spec);
        assert_eq!(spec["tolerations"][7]["key"], "node.kubernetes.io/network-unavailable");
    }

    #[test]
    fn a_runtime_class_sets_scheduling_and_overhead_of_pods() {
        let class = map(json!({
            "handler": "h", "overhead": {"podFixed": {"memory": "1Gi"}},
            "scheduling": {"nodeSelector": {"os": "x"}, "tolerations": [{"key": "a", "operator": "Exists"}]},
        }));
        let apply = |given: Value| {
            let mut spec = map(given);
            let find = |name: &str| (name == "c").then(|| class.clone());
            apply_runtime_class(&mut spec, find).map(|()| Value::Object(spec))
        };
        assert_eq!(
            apply(
                json!({"runtimeClassName": "c", "tolerations": [{"key": "a", "value": "b", "effect": "NoSchedule"}]})
            ),
            Ok(json!({
                "runtimeClassName": "c", "overhead": {"memory": "1Gi"}, "nodeSelector": {"os": "x"},
                "tolerations": [{"key": "a", "operator": "Exists"}],
            }))
        );
        assert!(apply(json!({"runtimeClassName": "c", "overhead": {"memory": "1024Mi"}})).is_ok());
        assert_eq!(apply(json!({})), Ok(json!({})));
        for (given, refused) in [
            (json!({"runtimeClassName": "d"}), "pod rejected: RuntimeClass \"d\" not found"),
            (
                json!({"runtimeClassName": "c", "overhead": {"memory": "1"}}),
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            ),
            (
                json!({"overhead": {"memory": "1"}}),
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            ),
            (
                json!({"runtimeClassName": "c", "nodeSelector": {"os": "y"}}),
                "conflict: runtimeClass.scheduling.nodeSelector[os] = x; pod.spec.nodeSelector[os] = y",
            ),
        ] {
            assert_eq!(apply(given), Err(refused.to_owned()));
        }
    }

    #[test]
    fn a_toleration_that_another_covers_is_left_out() {
        let all = |key: &str, seconds: i64| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        assert_eq!(merge_tolerations(vec![all("a", 10), all("a", 20)]), vec![all("a", 20)]);
        assert_eq!(merge_tolerations(vec![all("a", 20), all("a", 10)]), vec![all("a", 20)]);
        assert_eq!(merge_tolerations(vec![all("a", 20), all("b", 10)]), vec![all("a", 20), all("b", 10)]);
        assert_eq!(merge_tolerations(vec![all("a", 20), all("a", 20)]), vec![all("a", 20)]);
        let any = json!({"operator": "Exists"});
        assert_eq!(merge_tolerations(vec![all("a", 20), any.clone()]), vec![any]);
    }
}
