// SPDX-License-Identifier: Apache-2.0
//! Validation of ConfigMaps, Secrets and ControllerRevisions.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/validation.go (ValidateSecret, ValidateConfigMap and their updates)
//! @ v1.31; of ControllerRevisions pkg/apis/apps/validation/validation.go.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::is_same;
use crate::validation::{Errors, meta};

/// Maximum number of bytes of all values in total.
const MOST_BYTES: usize = 1 << 20;
const KEPT: &str = "field is immutable when `immutable` is set";
/// Required keys of Secrets, by type.
const REQUIRED: [(&str, &[&str]); 4] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];
/// Annotation of a token Secret with the name of its ServiceAccount.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

fn map<'a>(fields: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    fields.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// Returns the number of bytes of a decoded base64 text.
fn decoded_length(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

/// Returns all violations of a ConfigMap, in upstream's order.
pub fn config_map(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (data, binary) = (Path::new("data"), Path::new("binaryData"));
    let mut bytes = 0;
    for (key, value) in map(fields, "data") {
        meta::invalid_each(&mut errors, &data.key(key), key, meta::config_map_key(key));
        if map(fields, "binaryData").any(|(other, _)| other == key) {
            errors.push(FieldError::invalid(&data.key(key), key, "duplicate of key present in binaryData"));
        }
        bytes += value.as_str().map_or(0, str::len);
    }
    for (key, value) in map(fields, "binaryData") {
        meta::invalid_each(&mut errors, &binary.key(key), key, meta::config_map_key(key));
        bytes += decoded_length(value);
    }
    if bytes > MOST_BYTES {
        // Upstream's path of the whole object is empty, and printed as `[]`.
        errors.push(FieldError { field: "[]".to_owned(), ..FieldError::too_long(&Path::new(""), MOST_BYTES) });
    }
    errors
}

/// Returns all violations of a Secret, in upstream's order. `account`: the ServiceAccount that its annotation names.
pub fn secret(account: Option<&str>, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let data = Path::new("data");
    let mut bytes = 0;
    for (key, value) in map(fields, "data") {
        meta::invalid_each(&mut errors, &data.key(key), key, meta::config_map_key(key));
        bytes += decoded_length(value);
    }
    if bytes > MOST_BYTES {
        errors.push(FieldError::too_long(&data, MOST_BYTES));
    }
    let has = |key: &str| map(fields, "data").any(|(known, _)| known == key);
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "kubernetes.io/service-account-token" if account.unwrap_or_default().is_empty() => {
            let path = Path::new("metadata").child("annotations").key(ACCOUNT);
            errors.push(FieldError::required(&path, ""));
        }
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            for key in ["username", "password"] {
                errors.push(FieldError::required(&data.key(key), ""));
            }
        }
        _ => {
            let required = REQUIRED.iter().filter(|(of, _)| *of == kind).flat_map(|(_, keys)| *keys);
            for key in required.filter(|key| !has(key)) {
                errors.push(FieldError::required(&data.key(key), ""));
            }
        }
    }
    errors
}

/// Returns all violations of a ControllerRevision, in upstream's order.
pub fn controller_revision(fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    if fields.get("data").is_none_or(Value::is_null) {
        errors.push(FieldError::required(&Path::new("data"), "data is mandatory"));
    }
    let number = fields.get("revision").and_then(Value::as_i64).unwrap_or(0);
    meta::non_negative(&mut errors, number, &Path::new("revision"));
    errors
}

/// Returns violations of a changed ControllerRevision. Upstream prints the bytes of the data, which `…` replaces.
pub fn controller_revision_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    if !is_same(fields.get("data"), old.get("data")) {
        errors.push(meta::invalid_unquoted(&Path::new("data"), "…", "field is immutable"));
    }
    errors
}

/// Returns violations of a changed Secret.
pub fn secret_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (kind, before) = (fields.get("type"), old.get("type"));
    if !is_same(kind, before) {
        let shown = kind.and_then(Value::as_str).unwrap_or_default();
        errors.push(FieldError::invalid(&Path::new("type"), shown, "field is immutable"));
    }
    kept(&mut errors, fields, old, &["data"]);
    errors
}

/// Returns violations of a changed ConfigMap.
pub fn config_map_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    kept(&mut errors, fields, old, &["data", "binaryData"]);
    errors
}

/// Adds an error for each changed field of an object that was marked `immutable`.
fn kept(errors: &mut Errors, fields: &Map<String, Value>, old: &Map<String, Value>, names: &[&str]) {
    let is_fixed = |fields: &Map<String, Value>| fields.get("immutable") == Some(&Value::Bool(true));
    if !is_fixed(old) {
        return;
    }
    if !is_fixed(fields) {
        errors.push(FieldError::forbidden(&Path::new("immutable"), KEPT));
    }
    for name in names {
        let of =
            |fields: &Map<String, Value>| fields.get(*name).and_then(Value::as_object).cloned().unwrap_or_default();
        if of(fields) != of(old) {
            errors.push(FieldError::forbidden(&Path::new(name), KEPT));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("fields")
    }

    #[track_caller]
    fn check(found: &Errors, expected: &[&str]) {
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                       'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

    #[test]
    fn keys_are_those_of_files() {
        check(&config_map(&fields(json!({"data": {"a.b_C-1": "x"}, "binaryData": {"c": "AA=="}}))), &[]);
        check(
            &config_map(&fields(json!({"data": {"a b": "x"}, "binaryData": {"..": ""}}))),
            &[
                &format!("data[a b]: Invalid value: \"a b\": {KEY}"),
                "binaryData[..]: Invalid value: \"..\": must not be '..'",
            ],
        );
        check(
            &config_map(&fields(json!({"data": {"a": "x"}, "binaryData": {"a": ""}}))),
            &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
        );
        check(
            &secret(None, &fields(json!({"data": {"a/b": "AA=="}}))),
            &[&format!("data[a/b]: Invalid value: \"a/b\": {KEY}")],
        );
        config_map(&fields(json!({"data": 1, "binaryData": [1]})));
    }

    #[test]
    fn a_mebibyte_is_the_most() {
        let of = |bytes: usize| fields(json!({"data": {"a": "x".repeat(bytes)}}));
        check(&config_map(&of(1 << 20)), &[]);
        check(&config_map(&of((1 << 20) + 1)), &["[]: Too long: may not be more than 1048576 bytes"]);
    }

    #[test]
    fn the_type_of_a_secret_requires_keys() {
        let of = |kind: &str, keys: &[&str]| {
            let data: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), json!("AA=="))).collect();
            fields(json!({"type": kind, "data": data}))
        };
        for (account, kind, keys, expected) in [
            (None, "Opaque", &[][..], &[][..]),
            (None, "example.com/own", &[], &[]),
            (None, "kubernetes.io/tls", &["tls.crt", "tls.key"], &[]),
            (None, "kubernetes.io/tls", &["tls.crt"], &["data[tls.key]: Required value"]),
            (None, "kubernetes.io/basic-auth", &["password"], &[]),
            (
                None,
                "kubernetes.io/basic-auth",
                &[],
                &["data[username]: Required value", "data[password]: Required value"],
            ),
            (None, "kubernetes.io/ssh-auth", &[], &["data[ssh-privatekey]: Required value"]),
            (None, "kubernetes.io/dockerconfigjson", &["x"], &["data[.dockerconfigjson]: Required value"]),
            (Some("sa"), "kubernetes.io/service-account-token", &[], &[]),
            (
                None,
                "kubernetes.io/service-account-token",
                &[],
                &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
        ] {
            check(&secret(account, &of(kind, keys)), expected);
        }
        let text = "type: Invalid value: \"b\": field is immutable";
        check(&secret_update(&of("b", &[]), &of("a", &[])), &[text]);
        check(&secret_update(&of("a", &["x"]), &of("a", &[])), &[]);
    }

    #[test]
    fn immutable_data_cannot_change() {
        let of = |immutable: bool, value: &str| fields(json!({"immutable": immutable, "data": {"a": value}}));
        check(&config_map_update(&of(true, "y"), &of(false, "x")), &[]);
        check(&config_map_update(&of(true, "x"), &of(true, "x")), &[]);
        check(
            &config_map_update(&of(true, "y"), &of(true, "x")),
            &["data: Forbidden: field is immutable when `immutable` is set"],
        );
        check(
            &secret_update(&of(false, "x"), &of(true, "x")),
            &["immutable: Forbidden: field is immutable when `immutable` is set"],
        );
    }

    #[test]
    fn data_of_controller_revisions_is_immutable() {
        let revision = |data: Value, revision: i64| fields(json!({"data": data, "revision": revision}));
        check(&controller_revision(&revision(json!({"spec": {}}), 1)), &[]);
        check(
            &controller_revision(&revision(Value::Null, -1)),
            &[
                "data: Required value: data is mandatory",
                "revision: Invalid value: -1: must be greater than or equal to 0",
            ],
        );
        let old = revision(json!({"spec": {"a": 1}}), 1);
        check(&controller_revision_update(&revision(json!({"spec": {"a": 1}}), 2), &old), &[]);
        check(
            &controller_revision_update(&revision(json!({"spec": {"a": 2}}), 1), &old),
            &["data: Invalid value: …: field is immutable"],
        );
    }
}
