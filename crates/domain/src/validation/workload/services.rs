// SPDX-License-Identifier: Apache-2.0
//! Validation of Services.
//!
//! Deliberately absent: two IP families, rules for traffic policies, load balancers' addresses and classes.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go (ValidateService, ValidateServiceUpdate) @ v1.31.

use std::collections::BTreeSet;

use apimachinery::field::{FieldError, Path};
use apimachinery::validation::dns1035_label;
use serde_json::{Map, Value};

use super::containers::{PORT_RANGE, port_name};
use super::go;
use super::tree::{items, number, one_of, set, text, texts};
use crate::validation::{Errors, meta};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
/// Value of the address of a Service without an address.
const HEADLESS: &str = "None";

/// Returns all violations of a Service, in upstream's order; metadata is checked elsewhere, except the name, whose rule
/// is stricter.
pub fn service(name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    if !name.is_empty() {
        meta::invalid_each(&mut errors, &Path::new("metadata").child("name"), name, dns1035_label(name));
    }
    let path = Path::new("spec");
    let null = Value::Null;
    let spec = fields.get("spec").unwrap_or(&null);
    let ports = items(spec, "ports");
    let is_headless = text(spec, "clusterIP") == HEADLESS;
    let is_external = text(spec, "type") == "ExternalName";
    if ports.is_empty() && !is_headless && !is_external {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    if text(spec, "type") == "LoadBalancer" && is_headless {
        let detail = "may not be set to 'None' for LoadBalancer services";
        errors.push(FieldError::invalid(&path.child("clusterIPs").index(0), HEADLESS, detail));
    }
    if is_external {
        let path = path.child("externalName");
        match text(spec, "externalName").trim_end_matches('.') {
            "" => errors.push(FieldError::required(&path, "")),
            name => meta::invalid_each(&mut errors, &path, name, meta::dns_subdomain(name)),
        }
    }
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        check_port(&mut errors, port, ports.len() > 1, &mut names, &path.child("ports").index(index));
    }
    meta::labels(&mut errors, &texts(spec, "selector"), &path.child("selector"));
    one_of(&mut errors, spec, "sessionAffinity", &["ClientIP", "None"], &path);
    one_of(&mut errors, spec, "type", &TYPES, &path);
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let protocol = Some(text(port, "protocol")).filter(|it| !it.is_empty()).unwrap_or("TCP");
        let number = number(port, "port").unwrap_or(0);
        if !seen.insert((protocol, number)) {
            let value = format!(
                "core.ServicePort{{Name:\"\", Protocol:\"{protocol}\", AppProtocol:(*string)(nil), Port:{number}, \
                 TargetPort:intstr.IntOrString{{Type:0, IntVal:0, StrVal:\"\"}}, NodePort:0}}"
            );
            errors.push(go::duplicate(&path.child("ports").index(index), &value));
        }
    }
    errors
}

fn check_port<'a>(errors: &mut Errors, port: &'a Value, needs_name: bool, names: &mut BTreeSet<&'a str>, path: &Path) {
    let name = text(port, "name");
    let at = path.child("name");
    if name.is_empty() {
        if needs_name {
            errors.push(FieldError::required(&at, ""));
        }
    } else {
        meta::invalid_each(errors, &at, name, meta::dns_label(name));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&at, name));
        }
    }
    let own = number(port, "port").unwrap_or(0);
    if !(1..=65_535).contains(&own) {
        errors.push(FieldError::invalid(&path.child("port"), own, PORT_RANGE));
    }
    match text(port, "protocol") {
        "" => errors.push(FieldError::required(&path.child("protocol"), "")),
        _ => one_of(errors, port, "protocol", &PROTOCOLS, path),
    }
    match port.get("targetPort") {
        Some(Value::Number(target)) => {
            let target = target.as_i64().unwrap_or(0);
            if !(1..=65_535).contains(&target) {
                errors.push(FieldError::invalid(&path.child("targetPort"), target, PORT_RANGE));
            }
        }
        Some(Value::String(target)) => {
            meta::invalid_each(errors, &path.child("targetPort"), target, port_name(target));
        }
        _ => {}
    }
}

/// Returns violations of a changed Service in addition to those of a new one: the address is immutable, unless it is removed.
pub fn service_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let null = Value::Null;
    let (new, old) = (fields.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    let has_address = |spec: &Value| text(spec, "type") != "ExternalName";
    let (was, is) = (text(old, "clusterIP"), text(new, "clusterIP"));
    if has_address(new) && has_address(old) && !was.is_empty() && was != is {
        let path = Path::new("spec").child("clusterIPs").index(0);
        let value = go::string_list(set(new, "clusterIPs"));
        return vec![go::invalid(&path, &value, "may not change once set")];
    }
    Errors::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(value: Value) -> Map<String, Value> {
        Map::from_iter([("spec".to_owned(), value)])
    }

    #[track_caller]
    fn rejects(name: &str, value: Value, expected: &[&str]) {
        let found: Vec<String> = service(name, &spec(value)).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn accepts_usual_forms() {
        let port = |number: i64| json!({"port": number, "protocol": "TCP"});
        for value in [
            json!({"type": "ClusterIP", "ports": [port(80)], "selector": {"app": "web"}, "sessionAffinity": "None"}),
            json!({"clusterIP": "None"}),
            json!({"type": "ExternalName", "externalName": "example.com."}),
            json!({"ports": [
                {"name": "a", "port": 80, "protocol": "TCP", "targetPort": "http"},
                {"name": "b", "port": 80, "protocol": "UDP", "targetPort": 8080},
            ]}),
        ] {
            rejects("web", value, &[]);
        }
    }

    #[test]
    fn rejects_invalid_forms_as_upstream() {
        rejects("web", json!({}), &["spec.ports: Required value"]);
        let dns = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                   character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
                   validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
        let one = json!({"ports": [{"port": 80, "protocol": "TCP"}]});
        rejects("1web", one, &[&format!("metadata.name: Invalid value: \"1web\": {dns}")]);
        let bad = format!("metadata.name: Invalid value: \"Bad\": {dns}");
        rejects("Bad", json!({"ports": []}), &[&bad, "spec.ports: Required value"]);
        rejects("web", json!({"type": "ExternalName"}), &["spec.externalName: Required value"]);
        rejects(
            "web",
            json!({"type": "None", "ports": [{"port": 0, "protocol": "HTTP", "targetPort": 70_000}]}),
            &[
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                "spec.type: Unsupported value: \"None\": supported values: \"ClusterIP\", \"ExternalName\", \
                 \"LoadBalancer\", \"NodePort\"",
            ],
        );
        rejects(
            "web",
            json!({"ports": [{"port": 80, "protocol": "TCP"}, {"name": "a", "port": 80, "protocol": "TCP"}]}),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1]: Duplicate value: core.ServicePort{Name:\"\", Protocol:\"TCP\", \
                 AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}, \
                 NodePort:0}",
            ],
        );
    }

    #[test]
    fn an_address_stays_while_there_is_one() {
        let of = |kind: &str, address: &str| spec(json!({"type": kind, "clusterIP": address, "clusterIPs": [address]}));
        let (a, b) = (of("ClusterIP", "100.64.0.1"), of("ClusterIP", "100.64.0.2"));
        let found: Vec<String> = service_update(&b, &a).iter().map(ToString::to_string).collect();
        let text = "spec.clusterIPs[0]: Invalid value: []string{\"100.64.0.2\"}: may not change once set";
        assert_eq!(found, [text]);
        assert!(service_update(&a, &a).is_empty());
        assert!(service_update(&of("ExternalName", ""), &a).is_empty());
        assert!(service_update(&b, &of("ExternalName", "")).is_empty());
    }
}
