// SPDX-License-Identifier: Apache-2.0
//! Defaults of LimitRanges, NetworkPolicies and EndpointSlices that admission or `kubectl describe` reads.
//!
//! Source: k8s.io/kubernetes pkg/apis/{core,networking,discovery}/v1/defaults.go @ v1.31.

use serde_json::{Map, Value, json};

use super::put;

/// Fills in missing fields; `None`: another kind.
pub(super) fn fill(group: &str, plural: &str, fields: &mut Map<String, Value>) -> Option<()> {
    let spec = |fields| of(fields, "spec");
    match (group, plural) {
        ("", "limitranges") => each(spec(fields), "limits", limit),
        ("networking.k8s.io", "networkpolicies") => spec(fields).into_iter().for_each(network_policy),
        ("discovery.k8s.io", "endpointslices") => each(Some(fields), "ports", |port| {
            put(port, "name", json!(""));
            put(port, "protocol", json!("TCP"));
        }),
        _ => return None,
    }
    Some(())
}

fn of<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

fn each(fields: Option<&mut Map<String, Value>>, list: &str, fill: fn(&mut Map<String, Value>)) {
    let list = fields.and_then(|fields| fields.get_mut(list)).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut).for_each(fill);
}

/// Fills in an entry of type `Container`: `default` from `max`, and `defaultRequest` from `default`, then `min`.
fn limit(limit: &mut Map<String, Value>) {
    if limit.get("type") != Some(&json!("Container")) {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let Some(given) = limit.get(from).and_then(Value::as_object).filter(|given| !given.is_empty()).cloned() else {
            continue;
        };
        put(limit, to, json!({}));
        let Some(into) = of(limit, to) else { continue };
        for (name, amount) in given {
            into.entry(name).or_insert(amount);
        }
    }
}

fn network_policy(spec: &mut Map<String, Value>) {
    let is_empty =
        |spec: &Map<String, Value>, name: &str| spec.get(name).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty(spec, "policyTypes") {
        let types = if is_empty(spec, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.insert("policyTypes".to_owned(), types);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(group: &str, plural: &str, given: Value, expected: Value) {
        let mut fields = given.as_object().cloned().expect("fields");
        for said in ["once", "again"] {
            assert_eq!(fill(group, plural, &mut fields), Some(()));
            assert_eq!(Value::Object(fields.clone()), expected, "{plural}: {said}");
        }
    }

    #[test]
    fn limits_of_containers_follow_from_one_another() {
        let limits = |limit: Value| json!({"spec": {"limits": [limit]}});
        check(
            "",
            "limitranges",
            limits(json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"}})),
            limits(json!({
                "type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Gi"},
                "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Gi"},
            })),
        );
        let pod = limits(json!({"type": "Pod", "max": {"cpu": "2"}}));
        check("", "limitranges", pod.clone(), pod);
        check("", "limitranges", json!({}), json!({}));
    }

    #[test]
    fn directions_of_a_network_policy_are_filled() {
        let check = |given, expected| check("networking.k8s.io", "networkpolicies", given, expected);
        check(json!({"spec": {}}), json!({"spec": {"policyTypes": ["Ingress"]}}));
        let both = json!({"spec": {"egress": [{}], "policyTypes": ["Ingress", "Egress"]}});
        check(json!({"spec": {"egress": [{}]}}), both);
        let egress = json!({"spec": {"egress": [{}], "policyTypes": ["Egress"]}});
        check(egress.clone(), egress);
    }

    #[test]
    fn ports_of_endpoints_are_filled() {
        check(
            "discovery.k8s.io",
            "endpointslices",
            json!({"ports": [{"port": 80}, {"name": "a", "protocol": "UDP"}]}),
            json!({"ports": [{"port": 80, "name": "", "protocol": "TCP"}, {"name": "a", "protocol": "UDP"}]}),
        );
        assert_eq!(fill("", "configmaps", &mut Map::new()), None);
    }
}
