// SPDX-License-Identifier: Apache-2.0
//! Defaults of policies and of network resources: LimitRanges, NetworkPolicies, IngressClasses, EndpointSlices,
//! CSIDrivers.
//!
//! Source: k8s.io/kubernetes pkg/apis/{core,networking,discovery,storage}/v1/defaults.go @ v1.31.

use serde_json::{Map, Value, json};

use super::put;

/// Fills in missing fields; `None`: the kind is none of these.
pub(super) fn fill(group: &str, plural: &str, fields: &mut Map<String, Value>) -> Option<()> {
    let spec = |fields| of(fields, "spec");
    match (group, plural) {
        ("", "limitranges") => each(spec(fields), "limits", limit),
        ("networking.k8s.io", "networkpolicies") => spec(fields).into_iter().for_each(network_policy),
        ("networking.k8s.io", "ingressclasses") => {
            if let Some(parameters) = spec(fields).and_then(|spec| of(spec, "parameters")) {
                put(parameters, "scope", json!("Cluster"));
            }
        }
        ("discovery.k8s.io", "endpointslices") => each(Some(fields), "ports", |port| {
            put(port, "name", json!(""));
            put(port, "protocol", json!("TCP"));
        }),
        ("storage.k8s.io", "csidrivers") => spec(fields).into_iter().for_each(driver),
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
    for rules in ["ingress", "egress"] {
        each(Some(spec), rules, |rule| each(Some(rule), "ports", |port| put(port, "protocol", json!("TCP"))));
    }
    let is_empty =
        |spec: &Map<String, Value>, name: &str| spec.get(name).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty(spec, "policyTypes") {
        let types = if is_empty(spec, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.insert("policyTypes".to_owned(), types);
    }
}

fn driver(spec: &mut Map<String, Value>) {
    put(spec, "attachRequired", json!(true));
    for name in ["podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"] {
        put(spec, name, json!(false));
    }
    put(spec, "fsGroupPolicy", json!("ReadWriteOnceWithFSType"));
    if spec.get("volumeLifecycleModes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        spec.insert("volumeLifecycleModes".to_owned(), json!(["Persistent"]));
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
    fn a_network_policy_is_about_what_it_has_rules_for() {
        let group = "networking.k8s.io";
        check(group, "networkpolicies", json!({"spec": {}}), json!({"spec": {"policyTypes": ["Ingress"]}}));
        check(
            group,
            "networkpolicies",
            json!({"spec": {"egress": [{"ports": [{"port": 80}]}]}}),
            json!({"spec": {"egress": [{"ports": [{"port": 80, "protocol": "TCP"}]}], "policyTypes": ["Ingress", "Egress"]}}),
        );
        let egress = json!({"spec": {"egress": [{}], "policyTypes": ["Egress"]}});
        check(group, "networkpolicies", egress.clone(), egress);
        check(
            group,
            "ingressclasses",
            json!({"spec": {"parameters": {"kind": "K"}}}),
            json!({"spec": {"parameters": {"kind": "K", "scope": "Cluster"}}}),
        );
    }

    #[test]
    fn ports_of_endpoints_and_drivers_of_storage_are_filled() {
        check(
            "discovery.k8s.io",
            "endpointslices",
            json!({"ports": [{"port": 80}, {"name": "a", "protocol": "UDP"}]}),
            json!({"ports": [{"port": 80, "name": "", "protocol": "TCP"}, {"name": "a", "protocol": "UDP"}]}),
        );
        check(
            "storage.k8s.io",
            "csidrivers",
            json!({"spec": {"attachRequired": false}}),
            json!({"spec": {
                "attachRequired": false, "podInfoOnMount": false, "requiresRepublish": false, "seLinuxMount": false,
                "storageCapacity": false, "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"],
            }}),
        );
        assert_eq!(fill("", "configmaps", &mut Map::new()), None);
    }
}
