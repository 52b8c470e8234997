// SPDX-License-Identifier: Apache-2.0
//! Defaults of Services.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/v1/defaults.go (SetDefaults_Service).

use serde_json::{Map, Value, json};

use super::put;

/// Fills in the missing fields of a Service.
pub(super) fn service(fields: &mut Map<String, Value>) {
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    let Value::Object(spec) = spec else { return };
    put(spec, "sessionAffinity", json!("None"));
    put(spec, "type", json!("ClusterIP"));
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind != "ExternalName" {
        put(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        put(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        put(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Value::Object(port) = port else { continue };
        put(port, "protocol", json!("TCP"));
        let own = port.get("port").cloned().unwrap_or_default();
        let is_missing = |target: &Value| target.is_null() || target.as_str() == Some("") || target.as_i64() == Some(0);
        if port.get("targetPort").is_none_or(is_missing) {
            port.insert("targetPort".to_owned(), own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_services_are_set() {
        let filled = |spec: Value| {
            let mut fields = Map::from_iter([("spec".to_owned(), spec)]);
            service(&mut fields);
            fields["spec"].clone()
        };
        assert_eq!(
            filled(json!({"ports": [{"port": 80}]})),
            json!({
                "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            })
        );
        assert_eq!(
            filled(json!({"type": "ExternalName", "externalName": "a.b"})),
            json!({"type": "ExternalName", "externalName": "a.b", "sessionAffinity": "None"})
        );
        let balanced = filled(json!({"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http"}]}));
        assert_eq!(
            (
                &balanced["externalTrafficPolicy"],
                &balanced["allocateLoadBalancerNodePorts"],
                &balanced["ports"][0]["targetPort"]
            ),
            (&json!("Cluster"), &json!(true), &json!("http"))
        );
    }
}
