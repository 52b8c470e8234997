// SPDX-License-Identifier: Apache-2.0
//! Validation of NetworkPolicies.
//!
//! Source: k8s.io/kubernetes pkg/apis/networking/validation/validation.go (ValidateNetworkPolicy) @ v1.31.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::containers::{PORT_RANGE, port_name};
use super::go;
use super::tree::{items, label_selector, number, set, text};
use crate::validation::network::Network;
use crate::validation::{Errors, meta};

const TYPES: [&str; 2] = ["Ingress", "Egress"];
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// Returns all violations of a NetworkPolicy, in upstream's order. Updates have the same rules.
pub fn network_policy(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (null, path) = (Value::Null, Path::new("spec"));
    let spec = fields.get("spec").unwrap_or(&null);
    if let Some(selector) = set(spec, "podSelector") {
        label_selector(&mut errors, selector, &path.child("podSelector"));
    }
    for (field, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in items(spec, field).iter().enumerate() {
            let path = path.child(field).index(index);
            for (index, port) in items(rule, "ports").iter().enumerate() {
                self::port(&mut errors, port, &path.child("ports").index(index));
            }
            for (index, peer) in items(rule, peers).iter().enumerate() {
                self::peer(&mut errors, peer, &path.child(peers).index(index));
            }
        }
    }
    let (types, at) = (items(spec, "policyTypes"), path.child("policyTypes"));
    if types.len() > TYPES.len() {
        let list = go::string_list(set(spec, "policyTypes")).replace("[]string", "[]networking.PolicyType");
        errors.push(go::invalid(&at, &list, "may not specify more than two policyTypes"));
        return errors;
    }
    for (index, type_) in types.iter().map(|type_| type_.as_str().unwrap_or_default()).enumerate() {
        if !TYPES.contains(&type_) {
            errors.push(FieldError::not_supported(&at.index(index), type_, &TYPES));
        }
    }
    errors
}

fn port(errors: &mut Errors, port: &Value, path: &Path) {
    if let Some(protocol) = set(port, "protocol").and_then(Value::as_str)
        && !PROTOCOLS.contains(&protocol)
    {
        errors.push(FieldError::not_supported(&path.child("protocol"), protocol, &PROTOCOLS));
    }
    let (end, at, at_end) = (number(port, "endPort"), path.child("port"), path.child("endPort"));
    let refused = |errors: &mut Errors, detail: &str| {
        errors.extend(end.map(|end| FieldError::invalid(&at_end, end, detail)));
    };
    match set(port, "port") {
        Some(Value::Number(first)) => {
            let first = first.as_i64().unwrap_or(0);
            let is_port = |number: i64| (1..=65_535).contains(&number);
            if !is_port(first) {
                errors.push(FieldError::invalid(&at, first, PORT_RANGE));
            }
            if end.is_some_and(|end| end < first) {
                refused(errors, "must be greater than or equal to `port`");
            }
            if end.is_some_and(|end| !is_port(end)) {
                refused(errors, PORT_RANGE);
            }
        }
        Some(name) => {
            refused(errors, "may not be specified when `port` is non-numeric");
            let name = name.as_str().unwrap_or_default();
            meta::invalid_each(errors, &at, name, port_name(name));
        }
        None => refused(errors, "may not be specified when `port` is not specified"),
    }
}

fn peer(errors: &mut Errors, peer: &Value, path: &Path) {
    let mut peers = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = set(peer, field) {
            peers += 1;
            label_selector(errors, selector, &path.child(field));
        }
    }
    let block = set(peer, "ipBlock");
    if let Some(block) = block {
        ip_block(errors, block, &path.child("ipBlock"));
    }
    match (peers, block.is_some()) {
        (0, false) => errors.push(FieldError::required(path, "must specify a peer")),
        (1.., true) => {
            errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
        }
        _ => {}
    }
}

fn ip_block(errors: &mut Errors, block: &Value, path: &Path) {
    let cidr = |errors: &mut Errors, text: &str, path: &Path| {
        let found = Network::parse(text);
        if found.is_none() {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(FieldError::invalid(path, text, detail));
        }
        found
    };
    let (whole, at) = (text(block, "cidr"), path.child("cidr"));
    if whole.is_empty() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    let Some(whole) = cidr(errors, whole, &at) else { return };
    for (index, except) in items(block, "except").iter().enumerate() {
        let (except, path) = (except.as_str().unwrap_or_default(), path.child("except").index(index));
        let Some(part) = cidr(errors, except, &path) else { continue };
        if part.prefix() <= whole.prefix() || !whole.overlaps(part) {
            errors.push(FieldError::invalid(&path, except, "must be a strict subset of `cidr`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(spec: Value, expected: &[&str]) {
        let found = network_policy(&Map::from_iter([("spec".to_owned(), spec)]));
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn from(peer: Value) -> Value {
        json!({"podSelector": {}, "ingress": [{"from": [peer]}]})
    }

    fn to_port(port: Value) -> Value {
        json!({"podSelector": {}, "egress": [{"ports": [port]}]})
    }

    #[test]
    fn accepts_what_people_write() {
        for spec in [
            json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}),
            json!({"podSelector": {"matchLabels": {"app": "db"}}, "ingress": [{}]}),
            from(json!({"podSelector": {}, "namespaceSelector": {"matchLabels": {"a": "b"}}})),
            from(json!({"ipBlock": {"cidr": "172.17.0.0/16", "except": ["172.17.1.0/24"]}})),
            from(json!({"ipBlock": {"cidr": "fd00::/8"}})),
            to_port(json!({"port": 80, "endPort": 90, "protocol": "TCP"})),
            to_port(json!({"port": "http"})),
            to_port(json!({})),
        ] {
            check(spec, &[]);
        }
    }

    #[test]
    fn rejects_ports_that_are_none() {
        let at = "spec.egress[0].ports[0]";
        for (port, expected) in [
            (
                json!({"protocol": "HTTP"}),
                &["protocol: Unsupported value: \"HTTP\": supported values: \"TCP\", \"UDP\", \"SCTP\""][..],
            ),
            (json!({"port": 0}), &["port: Invalid value: 0: must be between 1 and 65535, inclusive"]),
            (
                json!({"port": 80, "endPort": 79}),
                &["endPort: Invalid value: 79: must be greater than or equal to `port`"],
            ),
            (
                json!({"port": 80, "endPort": 65_536}),
                &["endPort: Invalid value: 65536: must be between 1 and 65535, inclusive"],
            ),
            (
                json!({"port": "http", "endPort": 90}),
                &["endPort: Invalid value: 90: may not be specified when `port` is non-numeric"],
            ),
            (
                json!({"endPort": 90}),
                &["endPort: Invalid value: 90: may not be specified when `port` is not specified"],
            ),
            (
                json!({"port": "a_b"}),
                &[
                    "port: Invalid value: \"a_b\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                ],
            ),
        ] {
            let expected: Vec<String> = expected.iter().map(|text| format!("{at}.{text}")).collect();
            check(to_port(port), &expected.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rejects_peers_without_or_with_two_fields() {
        let at = "spec.ingress[0].from[0]";
        check(from(json!({})), &[&format!("{at}: Required value: must specify a peer")]);
        check(
            from(json!({"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}})),
            &[&format!("{at}: Forbidden: may not specify both ipBlock and another peer")],
        );
        check(from(json!({"ipBlock": {}})), &[&format!("{at}.ipBlock.cidr: Required value")]);
        let text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        check(
            from(json!({"ipBlock": {"cidr": "10.0.0.0"}})),
            &[&format!("{at}.ipBlock.cidr: Invalid value: \"10.0.0.0\": {text}")],
        );
        check(
            from(
                json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["x", "10.0.0.0/8", "11.0.0.0/16", "10.1.0.0/16"]}}),
            ),
            &[
                &format!("{at}.ipBlock.except[0]: Invalid value: \"x\": {text}"),
                &format!("{at}.ipBlock.except[1]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`"),
                &format!("{at}.ipBlock.except[2]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"),
            ],
        );
        check(
            json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
            &[
                "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or \
               'NotIn'",
            ],
        );
    }

    #[test]
    fn rejects_directions_that_are_none() {
        check(
            json!({"podSelector": {}, "policyTypes": ["Ingress", "ingress"]}),
            &["spec.policyTypes[1]: Unsupported value: \"ingress\": supported values: \"Ingress\", \"Egress\""],
        );
        check(
            json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]}),
            &[
                "spec.policyTypes: Invalid value: []networking.PolicyType{\"Ingress\", \"Egress\", \"Ingress\"}: may not \
               specify more than two policyTypes",
            ],
        );
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in
            [json!(1), json!({"podSelector": 1, "ingress": [1, {"from": [null, {"ipBlock": 1}], "ports": [2]}]})]
        {
            network_policy(&Map::from_iter([("spec".to_owned(), spec)]));
        }
    }
}
