// SPDX-License-Identifier: Apache-2.0
//! Validation of EndpointSlices.
//!
//! Source: k8s.io/kubernetes pkg/apis/discovery/validation/validation.go @ v1.31.

use std::collections::BTreeSet;
use std::net::IpAddr;

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::{items, set, text, texts};
use crate::validation::{Errors, meta};

const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_PORTS: usize = 20_000;
const MOST_LABELS: usize = 16;
const MOST_ZONES: usize = 8;

/// Returns all violations of an EndpointSlice, in upstream's order.
pub fn endpoint_slice(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let tree = Value::Object(fields.clone());
    let (kind, path) = (text(&tree, "addressType"), Path::new("addressType"));
    if kind.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(&path, kind, &TYPES));
    }
    let (endpoints, path) = (items(&tree, "endpoints"), Path::new("endpoints"));
    if endpoints.len() > MOST_ENDPOINTS {
        errors.push(FieldError::too_many(&path, endpoints.len(), MOST_ENDPOINTS));
    } else {
        for (index, endpoint) in endpoints.iter().enumerate() {
            self::endpoint(&mut errors, endpoint, kind, &path.index(index));
        }
    }
    ports(&mut errors, items(&tree, "ports"), &Path::new("ports"));
    errors
}

/// Returns all violations of an update of an EndpointSlice, in upstream's order.
pub fn endpoint_slice_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = endpoint_slice(fields);
    let kind = |fields: &Map<String, Value>| fields.get("addressType").cloned().unwrap_or_default();
    meta::immutable(&mut errors, &kind(fields), &kind(old), &Path::new("addressType"));
    errors
}

fn endpoint(errors: &mut Errors, endpoint: &Value, kind: &str, path: &Path) {
    let (addresses, at) = (items(endpoint, "addresses"), path.child("addresses"));
    if addresses.is_empty() {
        errors.push(FieldError::required(&at, "must contain at least 1 address"));
    } else if addresses.len() > MOST_ADDRESSES {
        errors.push(FieldError::too_many(&at, addresses.len(), MOST_ADDRESSES));
    }
    for (index, address) in addresses.iter().enumerate() {
        let (address, at) = (address.as_str().unwrap_or_default(), at.index(index));
        match kind {
            "IPv4" | "IPv6" => {
                let parsed = address.parse::<IpAddr>();
                if !parsed.is_ok_and(|ip| ip.is_ipv4() == (kind == "IPv4")) {
                    errors.push(FieldError::invalid(&at, address, &format!("must be a valid {kind} address")));
                }
                for detail in special(address) {
                    errors.push(FieldError::invalid(&at, address, &detail));
                }
            }
            "FQDN" => fqdn(errors, address, &at),
            _ => {}
        }
    }
    if let Some(node) = set(endpoint, "nodeName").and_then(Value::as_str) {
        meta::invalid_each(errors, &path.child("nodeName"), node, meta::dns_subdomain(node));
    }
    let (labels, at) = (texts(endpoint, "deprecatedTopology"), path.child("deprecatedTopology"));
    if labels.len() > MOST_LABELS {
        errors.push(FieldError::too_many(&at, labels.len(), MOST_LABELS));
    }
    meta::labels(errors, &labels, &at);
    if let Some(name) = set(endpoint, "hostname").and_then(Value::as_str) {
        meta::invalid_each(errors, &path.child("hostname"), name, meta::dns_label(name));
    }
    let at = path.child("hints").child("forZones");
    let zones = set(endpoint, "hints").map_or(&[][..], |hints| items(hints, "forZones"));
    if zones.len() > MOST_ZONES {
        errors.push(FieldError::too_many(&at, zones.len(), MOST_ZONES));
        return;
    }
    let mut names = BTreeSet::new();
    for (index, name) in zones.iter().map(|zone| text(zone, "name")).enumerate() {
        let at = at.index(index).child("name");
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&at, name));
        }
        meta::invalid_each(errors, &at, name, meta::label_value(name));
    }
}

/// Returns the reasons for which an address cannot be an endpoint: other hosts cannot reach it.
///
/// Source: ValidateNonSpecialIP.
fn special(address: &str) -> Vec<String> {
    let Ok(parsed) = address.parse::<IpAddr>() else { return vec!["must be a valid IP address".to_owned()] };
    let is_link_local = match parsed {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    let is_local_group = match parsed {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    };
    let found = [
        (parsed.is_unspecified(), format!("may not be unspecified ({address})")),
        (parsed.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (is_local_group, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, detail)| detail).collect()
}

/// Source: IsFullyQualifiedDomainName.
fn fqdn(errors: &mut Errors, name: &str, path: &Path) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = meta::dns_subdomain(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path, name, &wrong.join(",")));
    } else if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    } else if let Some((label, wrong)) =
        name.split('.').map(|label| (label, meta::dns_label(label))).find(|(_, wrong)| !wrong.is_empty())
    {
        errors.push(FieldError::invalid(path, label, &wrong.join(",")));
    }
}

fn ports(errors: &mut Errors, ports: &[Value], path: &Path) {
    if ports.len() > MOST_PORTS {
        errors.push(FieldError::too_many(path, ports.len(), MOST_PORTS));
        return;
    }
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (name, path) = (text(port, "name"), path.index(index));
        if !name.is_empty() {
            meta::invalid_each(errors, &path.child("name"), name, meta::dns_label(name));
        }
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        let at = path.child("protocol");
        match set(port, "protocol").and_then(Value::as_str) {
            None => errors.push(FieldError::required(&at, "")),
            Some(protocol) if !PROTOCOLS.contains(&protocol) => {
                errors.push(FieldError::not_supported(&at, protocol, &PROTOCOLS));
            }
            Some(_) => {}
        }
        if let Some(protocol) = set(port, "appProtocol").and_then(Value::as_str) {
            meta::invalid_each(errors, &path.child("appProtocol"), protocol, meta::qualified_name(protocol));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(slice: Value, expected: &[&str]) {
        let found = endpoint_slice(slice.as_object().expect("fields"));
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    fn of(kind: &str, address: &str) -> Value {
        json!({"addressType": kind, "endpoints": [{"addresses": [address]}]})
    }

    #[test]
    fn accepts_what_people_write() {
        for slice in [
            json!({"addressType": "IPv4"}),
            json!({
                "addressType": "IPv4",
                "endpoints": [{
                    "addresses": ["10.1.2.3"], "nodeName": "n", "hostname": "h", "zone": "z",
                    "hints": {"forZones": [{"name": "z"}]},
                }],
                "ports": [{"name": "", "port": 80, "protocol": "TCP"}, {"name": "a", "protocol": "UDP", "appProtocol": "http"}],
            }),
            of("IPv6", "fd00::1"),
            of("FQDN", "web.example.com."),
        ] {
            check(slice, &[]);
        }
    }

    #[test]
    fn rejects_addresses_that_are_none() {
        let at = "endpoints[0].addresses[0]: Invalid value";
        for (kind, address, expected) in [
            ("IPv4", "x", &["\"x\": must be a valid IPv4 address", "\"x\": must be a valid IP address"][..]),
            ("IPv4", "fd00::1", &["\"fd00::1\": must be a valid IPv4 address"]),
            ("IPv6", "10.0.0.1", &["\"10.0.0.1\": must be a valid IPv6 address"]),
            ("IPv4", "0.0.0.0", &["\"0.0.0.0\": may not be unspecified (0.0.0.0)"]),
            ("IPv4", "127.0.0.1", &["\"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
            (
                "IPv4",
                "169.254.1.1",
                &["\"169.254.1.1\": may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
            ),
            (
                "IPv6",
                "ff02::1",
                &["\"ff02::1\": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
            ),
            ("FQDN", "web", &["\"web\": should be a domain with at least two segments separated by dots"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|text| format!("{at}: {text}")).collect();
            check(of(kind, address), &expected.iter().map(String::as_str).collect::<Vec<_>>());
        }
        check(of("FQDN", ""), &["endpoints[0].addresses[0]: Required value"]);
        check(
            json!({"endpoints": [{}]}),
            &["addressType: Required value", "endpoints[0].addresses: Required value: must contain at least 1 address"],
        );
        check(
            json!({"addressType": "IP"}),
            &["addressType: Unsupported value: \"IP\": supported values: \"FQDN\", \"IPv4\", \"IPv6\""],
        );
    }

    #[test]
    fn rejects_ports_and_zones_that_are_there_twice() {
        check(
            json!({"addressType": "IPv4", "ports": [{"protocol": "TCP"}, {"name": "", "protocol": "HTTP"}, {"name": "a"}]}),
            &[
                "ports[1].name: Duplicate value: \"\"",
                "ports[1].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                "ports[2].protocol: Required value",
            ],
        );
        let zones = json!([{"name": "a"}, {"name": "a"}]);
        check(
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": zones}}]}),
            &["endpoints[0].hints.forZones[1].name: Duplicate value: \"a\""],
        );
        let many: Vec<Value> = (0..1001).map(|_| json!({})).collect();
        check(
            json!({"addressType": "IPv4", "endpoints": many}),
            &["endpoints: Too many: 1001: must have at most 1000 items"],
        );
    }

    #[test]
    fn the_type_of_addresses_stays() {
        let (a, b) = (of("IPv4", "10.0.0.1"), of("IPv6", "fd00::1"));
        let (a, b) = (a.as_object().expect("fields"), b.as_object().expect("fields"));
        assert_eq!(endpoint_slice_update(a, a), Errors::new());
        let found: Vec<String> = endpoint_slice_update(b, a).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["addressType: Invalid value: \"IPv6\": field is immutable"]);
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        let slice = json!({"addressType": 1, "endpoints": [1, {"addresses": 2, "hints": 3}], "ports": [null, 4]});
        endpoint_slice(slice.as_object().expect("fields"));
    }
}
