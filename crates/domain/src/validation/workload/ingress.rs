// SPDX-License-Identifier: Apache-2.0
//! Validation of Ingresses.
//!
//! Deliberately absent: references to resources other than Services beyond their names.
//!
//! Source: k8s.io/kubernetes pkg/apis/networking/validation/validation.go @ v1.31.

use std::net::IpAddr;

use apimachinery::field::{FieldError, Path};
use apimachinery::validation::dns1035_label;
use serde_json::{Map, Value};

use super::containers::{PORT_RANGE, port_name};
use super::go;
use super::tree::{dns_subdomain, items, number, set, text};
use crate::validation::{Errors, meta};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Returns all violations of an Ingress, in upstream's order. `class`: value of the legacy annotation of a new Ingress.
pub fn ingress(class: Option<&str>, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let spec = fields.get("spec").unwrap_or(&null);
    let rules = items(spec, "rules");
    if rules.is_empty() && set(spec, "defaultBackend").is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(go::invalid(&path, "[]networking.IngressRule(nil)", detail));
    }
    if let Some(backend) = set(spec, "defaultBackend") {
        self::backend(&mut errors, backend, &path.child("defaultBackend"));
    }
    for (index, rule) in rules.iter().enumerate() {
        self::rule(&mut errors, rule, &path.child("rules").index(index));
    }
    for (index, tls) in items(spec, "tls").iter().enumerate() {
        let path = path.child("tls").index(index);
        for (index, host) in items(tls, "hosts").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            meta::invalid_each(&mut errors, &path.child("hosts").index(index), host, host_name(host));
        }
        dns_subdomain(&mut errors, tls, "secretName", &path);
    }
    let named = set(spec, "ingressClassName").and_then(Value::as_str);
    if let Some(name) = named {
        meta::invalid_each(&mut errors, &path.child("ingressClassName"), name, meta::dns_subdomain(name));
    }
    if let Some((_, annotated)) = named.zip(class).filter(|(name, annotated)| name != annotated) {
        let path = Path::new("annotations").child(CLASS_ANNOTATION);
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(FieldError::invalid(&path, annotated, detail));
    }
    errors
}

/// Returns violations of a DNS name, which may begin with `*.`.
fn host_name(host: &str) -> Vec<String> {
    match host.strip_prefix("*.") {
        Some(rest) if meta::dns_subdomain(rest).is_empty() => Vec::new(),
        _ if host.contains('*') => vec![
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
             lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', \
             regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        ],
        _ => meta::dns_subdomain(host),
    }
}

fn rule(errors: &mut Errors, rule: &Value, path: &Path) {
    let host = text(rule, "host");
    if !host.is_empty() {
        let at = path.child("host");
        if host.parse::<IpAddr>().is_ok() {
            errors.push(FieldError::invalid(&at, host, "must be a DNS name, not an IP address"));
        }
        meta::invalid_each(errors, &at, host, host_name(host));
    }
    let Some(http) = set(rule, "http") else { return };
    let path = path.child("http").child("paths");
    let paths = items(http, "paths");
    if paths.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    for (index, one) in paths.iter().enumerate() {
        http_path(errors, one, &path.index(index));
    }
}

fn http_path(errors: &mut Errors, one: &Value, path: &Path) {
    let (type_, place) = (text(one, "pathType"), text(one, "path"));
    if type_.is_empty() {
        errors.push(FieldError::required(&path.child("pathType"), "pathType must be specified"));
        return;
    }
    let at = path.child("path");
    let is_absolute = place.starts_with('/');
    match type_ {
        "Exact" | "Prefix" => {
            if !is_absolute {
                errors.push(FieldError::invalid(&at, place, "must be an absolute path"));
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|it| place.contains(it)) {
                errors.push(FieldError::invalid(&at, place, &format!("must not contain '{sequence}'")));
            }
            for end in ["/..", "/."].into_iter().filter(|it| place.ends_with(it)) {
                errors.push(FieldError::invalid(&at, place, &format!("cannot end with '{end}'")));
            }
        }
        "ImplementationSpecific" => {
            if !place.is_empty() && !is_absolute {
                errors.push(FieldError::invalid(&at, place, "must be an absolute path"));
            }
        }
        _ => {
            let supported = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push(FieldError::not_supported(&path.child("pathType"), type_, &supported));
        }
    }
    backend(errors, &one["backend"], &path.child("backend"));
}

fn backend(errors: &mut Errors, backend: &Value, path: &Path) {
    let at = path.child("service");
    let service = match (set(backend, "resource"), set(backend, "service")) {
        (Some(_), Some(_)) => {
            errors.push(FieldError::invalid(path, "", "cannot set both resource and service backends"));
            return;
        }
        (Some(resource), None) => {
            for field in ["kind", "name"] {
                if text(resource, field).is_empty() {
                    errors.push(FieldError::required(&path.child("resource").child(field), ""));
                }
            }
            return;
        }
        (None, None) => {
            errors.push(FieldError::invalid(path, "", "resource or service backend is required"));
            return;
        }
        (None, Some(service)) => service,
    };
    let name = text(service, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&at.child("name"), ""));
    } else {
        meta::invalid_each(errors, &at.child("name"), name, dns1035_label(name));
    }
    let port = &service["port"];
    let (name, own) = (text(port, "name"), number(port, "number").unwrap_or(0));
    let at = at.child("port");
    match (name.is_empty(), own == 0) {
        (false, false) => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
        (false, true) => meta::invalid_each(errors, &at.child("name"), name, port_name(name)),
        (true, false) => {
            if !(1..=65_535).contains(&own) {
                errors.push(FieldError::invalid(&at.child("number"), own, PORT_RANGE));
            }
        }
        (true, true) => errors.push(FieldError::required(path, "port name or number is required")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(class: Option<&str>, spec: Value, expected: &[&str]) {
        let found: Vec<String> =
            ingress(class, &Map::from_iter([("spec".to_owned(), spec)])).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    fn with(path: Value) -> Value {
        json!({"rules": [{"host": "a.example", "http": {"paths": [path]}}]})
    }

    fn service(number: i64) -> Value {
        json!({"service": {"name": "web", "port": {"number": number}}})
    }

    #[test]
    fn accepts_what_people_write() {
        for (class, spec) in [
            (None, with(json!({"path": "/", "pathType": "Prefix", "backend": service(80)}))),
            (Some("nginx"), json!({"ingressClassName": "nginx", "defaultBackend": service(80)})),
            (Some("nginx"), json!({"defaultBackend": service(80)})),
            (None, with(json!({"pathType": "ImplementationSpecific", "backend": service(80)}))),
            (
                None,
                json!({"rules": [{"host": "*.example.com"}], "tls": [{"hosts": ["*.example.com"], "secretName": "s"}]}),
            ),
        ] {
            check(class, spec, &[]);
        }
    }

    #[test]
    fn rejects_what_upstream_rejects() {
        check(
            None,
            json!({}),
            &[
                "spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified",
            ],
        );
        let at = "spec.rules[0].http.paths[0]";
        check(
            None,
            with(json!({"path": "/", "backend": service(80)})),
            &[&format!("{at}.pathType: Required value: pathType must be specified")],
        );
        check(
            None,
            with(json!({"path": "a//b", "pathType": "Exact", "backend": {}})),
            &[
                &format!("{at}.path: Invalid value: \"a//b\": must be an absolute path"),
                &format!("{at}.path: Invalid value: \"a//b\": must not contain '//'"),
                &format!("{at}.backend: Invalid value: \"\": resource or service backend is required"),
            ],
        );
        check(
            None,
            with(json!({"path": "/", "pathType": "Exact", "backend": {"service": {}}})),
            &[
                &format!("{at}.backend.service.name: Required value"),
                &format!("{at}.backend: Required value: port name or number is required"),
            ],
        );
        check(
            None,
            json!({"defaultBackend": service(70_000)}),
            &["spec.defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive"],
        );
        check(
            None,
            json!({"rules": [{"host": "10.0.0.1", "http": {}}]}),
            &[
                "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address",
                "spec.rules[0].http.paths: Required value",
            ],
        );
        check(
            Some("other"),
            json!({"ingressClassName": "nginx", "defaultBackend": service(80)}),
            &[
                "annotations.kubernetes.io/ingress.class: Invalid value: \"other\": must match `ingressClassName` when both \
               are specified",
            ],
        );
    }

    #[test]
    fn malformed_objects_do_not_panic() {
        for spec in [json!(1), json!({"rules": [1, {"http": 1}], "defaultBackend": [], "tls": [null]})] {
            ingress(None, &Map::from_iter([("spec".to_owned(), spec)]));
        }
    }
}
