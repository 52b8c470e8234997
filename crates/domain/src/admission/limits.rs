// SPDX-License-Identifier: Apache-2.0
//! LimitRanges: defaults for the containers of new pods, and limits of pods and claims.
//!
//! A LimitRange is passed as the list of its entries, a pod or claim as the tree of its specification, pruned by its
//! schema. Unlike upstream, which checks the resources of an entry in random order, this sorts them by name.
//!
//! Source: k8s.io/kubernetes plugin/pkg/admission/limitranger/admission.go @ v1.31.

use std::collections::BTreeMap;

use apimachinery::meta::Quantity;
use serde_json::{Map, Value, json};

use crate::resource_quota::pods::{amounts, of_containers};

/// Annotation of a pod that lists the defaults set on its containers.
pub const ANNOTATION: &str = "kubernetes.io/limit-ranger";

type Amounts = BTreeMap<String, Quantity>;

fn of_type<'a>(limits: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    limits.iter().filter(move |limit| limit["type"] == *kind)
}

fn field(limit: &Value, name: &str) -> Amounts {
    let map = limit.get(name).and_then(Value::as_object).into_iter().flatten();
    map.filter_map(|(name, value)| Some((name.clone(), serde_json::from_value(value.clone()).ok()?))).collect()
}

/// Sets missing requests and limits of a new pod's containers; returns the value of [`ANNOTATION`], which lists them.
pub fn fill(limits: &[Value], spec: &mut Value) -> Option<String> {
    let defaults = ["defaultRequest", "default"].map(|name| {
        let mut all = Map::new();
        let given = of_type(limits, "Container").filter_map(|limit| limit.get(name)?.as_object());
        given.for_each(|given| all.extend(given.clone()));
        all
    });
    let mut told = Vec::new();
    for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            for (which, defaults) in ["requests", "limits"].into_iter().zip(&defaults) {
                let set = fill_container(container, which, defaults);
                if !set.is_empty() {
                    let what = which.strip_suffix('s').unwrap_or(which);
                    told.push(format!("{} {what} for {word} {name}", set.join(", ")));
                }
            }
        }
    }
    (!told.is_empty()).then(|| format!("LimitRanger plugin set: {}", told.join("; ")))
}

/// Sets missing values of a container; returns the names of their resources.
fn fill_container(container: &mut Value, which: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let said = container.pointer(&format!("/resources/{which}")).and_then(Value::as_object);
    let missing: Vec<String> =
        defaults.keys().filter(|name| said.is_none_or(|said| !said.contains_key(*name))).cloned().collect();
    let Some(container) = container.as_object_mut().filter(|_| !missing.is_empty()) else { return Vec::new() };
    let resources = container.entry("resources").or_insert_with(|| json!({}));
    if !resources[which].is_object() {
        resources[which] = json!({});
    }
    for name in &missing {
        resources[which][name] = defaults[name].clone();
    }
    missing
}

/// Checks a new pod against the limits.
///
/// # Errors
/// Reason of the refusal: `maximum memory usage per Container is 1Gi, but limit is 2Gi`; several reasons as a list.
pub fn check_pod(limits: &[Value], spec: &Value) -> Result<(), String> {
    let mut wrong = Vec::new();
    for limit in limits {
        match limit["type"].as_str() {
            Some("Container") => {
                for list in ["containers", "initContainers"] {
                    for container in spec.get(list).and_then(Value::as_array).into_iter().flatten() {
                        let (requests, own) = (amounts(container, "requests"), amounts(container, "limits"));
                        RequestsAndLimits { kind: "Container", requests, limits: own }.check(&mut wrong, limit);
                    }
                }
            }
            Some("Pod") => {
                let (requests, own) = (of_containers(spec, "requests"), of_containers(spec, "limits"));
                RequestsAndLimits { kind: "Pod", requests, limits: own }.check(&mut wrong, limit);
            }
            _ => {}
        }
    }
    together(wrong)
}

/// Checks a claim against the limits.
///
/// # Errors
/// Reason of the refusal.
pub fn check_claim(limits: &[Value], spec: &Value) -> Result<(), String> {
    const KIND: &str = "PersistentVolumeClaim";
    let mut wrong = Vec::new();
    for limit in of_type(limits, KIND) {
        let needs = RequestsAndLimits { kind: KIND, requests: amounts(spec, "requests"), limits: Amounts::new() };
        wrong.extend(field(limit, "min").iter().filter_map(|(name, least)| needs.below(name, *least)));
        wrong.extend(field(limit, "max").iter().filter_map(|(name, most)| {
            let begin = format!("maximum {name} usage per {KIND} is {most}");
            match needs.requests.get(name) {
                None => Some(format!("{begin}.  No request is specified")),
                Some(request) if request > most => Some(format!("{begin}, but request is {request}")),
                Some(_) => None,
            }
        }));
    }
    together(wrong)
}

/// Joins errors as Go's library does: without repetitions, in brackets if there are several.
fn together(wrong: Vec<String>) -> Result<(), String> {
    let mut once: Vec<String> = Vec::new();
    for text in wrong {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    match once.len() {
        0 => Ok(()),
        1 => Err(once.remove(0)),
        _ => Err(format!("[{}]", once.join(", "))),
    }
}

/// Requests and limits of a container, a pod or a claim.
struct RequestsAndLimits {
    kind: &'static str,
    requests: Amounts,
    limits: Amounts,
}

impl RequestsAndLimits {
    fn check(&self, wrong: &mut Vec<String>, limit: &Value) {
        wrong.extend(field(limit, "min").iter().filter_map(|(name, least)| self.below(name, *least)));
        wrong.extend(field(limit, "max").iter().filter_map(|(name, most)| self.above(name, *most)));
        let ratios = field(limit, "maxLimitRequestRatio");
        wrong.extend(ratios.iter().filter_map(|(name, ratio)| self.beyond_ratio(name, *ratio)));
    }

    fn below(&self, name: &str, least: Quantity) -> Option<String> {
        let begin = format!("minimum {name} usage per {} is {least}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{begin}.  No request is specified"));
        };
        if *request < least {
            return Some(format!("{begin}, but request is {request}"));
        }
        let limit = self.limits.get(name).filter(|limit| **limit < least)?;
        Some(format!("{begin}, but limit is {limit}"))
    }

    fn above(&self, name: &str, most: Quantity) -> Option<String> {
        let begin = format!("maximum {name} usage per {} is {most}", self.kind);
        let Some(limit) = self.limits.get(name) else { return Some(format!("{begin}.  No limit is specified")) };
        if *limit > most {
            return Some(format!("{begin}, but limit is {limit}"));
        }
        let request = self.requests.get(name).filter(|request| **request > most)?;
        Some(format!("{begin}, but request is {request}"))
    }

    fn beyond_ratio(&self, name: &str, ratio: Quantity) -> Option<String> {
        let begin = format!("{name} max limit to request ratio per {} is {ratio}, but", self.kind);
        let set = |amounts: &Amounts| amounts.get(name).copied().filter(|amount| !amount.is_zero());
        let Some(request) = set(&self.requests) else {
            return Some(format!("{begin} no request is specified or request is 0"));
        };
        let Some(limit) = set(&self.limits) else {
            return Some(format!("{begin} no limit is specified or limit is 0"));
        };
        #[expect(clippy::cast_precision_loss, reason = "as upstream computes it")]
        let (found, most) = (limit.millis() as f64 / request.millis() as f64, ratio.millis() as f64 / 1000.0);
        (found > most).then(|| format!("{begin} provided ratio is {found:.6}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(requests: Value, limits: Value) -> Value {
        json!({"containers": [{"name": "c", "resources": {"requests": requests, "limits": limits}}]})
    }

    #[test]
    fn containers_get_default_requests_and_limits() {
        let limits = [
            json!({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}}),
            json!({"type": "Pod", "max": {"cpu": "1"}}),
        ];
        let mut spec = json!({
            "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}}}], "initContainers": [{"name": "i"}],
        });
        let told = "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; cpu request for \
                    container b; memory limit for container b; cpu request for init container i; cpu, memory limit for init \
                    container i";
        assert_eq!(fill(&limits, &mut spec).as_deref(), Some(told));
        let all = json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!((&spec["containers"][0]["resources"], &spec["initContainers"][0]["resources"]), (&all, &all));
        assert_eq!(spec["containers"][1]["resources"]["limits"], json!({"cpu": "2", "memory": "1Gi"}));
        assert_eq!(fill(&limits, &mut spec), None, "nothing is missing any more");
        assert_eq!(fill(&[], &mut json!({"containers": [{"name": "a"}]})), None);
    }

    #[test]
    fn a_pod_is_within_minimum_and_maximum() {
        let check = |limit: Value, spec: &Value, expected: &str| {
            let judged = check_pod(&[limit], spec);
            assert_eq!(judged.err().unwrap_or_default(), expected);
        };
        let some = container(json!({"cpu": "500m"}), json!({"cpu": "1"}));
        let of = |field: &str, amount: &str| json!({"type": "Container", field: {"cpu": amount}});
        check(of("min", "500m"), &some, "");
        check(of("min", "501m"), &some, "minimum cpu usage per Container is 501m, but request is 500m");
        check(of("max", "1"), &some, "");
        check(of("max", "999m"), &some, "maximum cpu usage per Container is 999m, but limit is 1");
        check(of("maxLimitRequestRatio", "2"), &some, "");
        check(
            of("maxLimitRequestRatio", "1500m"),
            &some,
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        );
        let none = container(json!({}), json!({}));
        check(of("min", "1"), &none, "minimum cpu usage per Container is 1.  No request is specified");
        check(of("max", "1"), &none, "maximum cpu usage per Container is 1.  No limit is specified");
        check(
            of("maxLimitRequestRatio", "2"),
            &none,
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        );
        let both = json!({"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "100m"}});
        let text = "[minimum cpu usage per Container is 2, but request is 500m, maximum cpu usage per Container is 100m, but \
                    limit is 1]";
        check(both, &some, text);
        let mut two = some.clone();
        two["containers"] = json!([some["containers"][0], some["containers"][0]]);
        check(json!({"type": "Pod", "max": {"cpu": "2"}}), &two, "");
        check(json!({"type": "Pod", "max": {"cpu": "1"}}), &two, "maximum cpu usage per Pod is 1, but limit is 2");
        check(of("max", "1"), &two, "");
    }

    #[test]
    fn a_claim_is_within_minimum_and_maximum() {
        let limits = [json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}})];
        for (amount, expected) in [
            ("1Gi", ""),
            ("2Gi", ""),
            ("1", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1"),
            ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        ] {
            let spec = json!({"resources": {"requests": {"storage": amount}}});
            assert_eq!(check_claim(&limits, &spec).err().unwrap_or_default(), expected);
        }
    }
}
