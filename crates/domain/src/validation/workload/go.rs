// SPDX-License-Identifier: Apache-2.0
//! Values as Go prints them with `%#v`, the format of upstream's messages about maps, selectors and other structures.

use apimachinery::field::{ErrorType, FieldError, Path};
use apimachinery::go::quote;
use serde_json::{Map, Value};

/// Returns `path: Invalid value: VALUE: detail`, with the value as Go prints it.
pub(super) fn invalid(path: &Path, value: &str, detail: &str) -> FieldError {
    let mut body = format!("Invalid value: {value}");
    if !detail.is_empty() {
        body.push_str(": ");
        body.push_str(detail);
    }
    FieldError { error_type: ErrorType::Invalid, field: path.to_string(), body }
}

/// Returns `path: Duplicate value: VALUE`, with the value as Go prints it.
pub(super) fn duplicate(path: &Path, value: &str) -> FieldError {
    let body = format!("Duplicate value: {value}");
    FieldError { error_type: ErrorType::Duplicate, field: path.to_string(), body }
}

/// Returns `path: Unsupported value: VALUE: supported values: …`, with the value as Go prints it.
pub(super) fn not_supported(path: &Path, value: &str, supported: &[&str]) -> FieldError {
    let list: Vec<String> = supported.iter().map(|value| quote(value)).collect();
    let body = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
    FieldError { error_type: ErrorType::NotSupported, field: path.to_string(), body }
}

fn text(value: &Value) -> String {
    quote(value.as_str().unwrap_or_default())
}

/// Formats `map[string]string{"a":"b"}`; a missing map is `map[string]string(nil)`.
pub(super) fn string_map(value: Option<&Value>) -> String {
    let Some(Value::Object(map)) = value else { return "map[string]string(nil)".to_owned() };
    let pairs: Vec<String> = map.iter().map(|(key, value)| format!("{}:{}", quote(key), text(value))).collect();
    format!("map[string]string{{{}}}", pairs.join(", "))
}

pub(super) fn string_list(value: Option<&Value>) -> String {
    let Some(Value::Array(list)) = value else { return "[]string(nil)".to_owned() };
    format!("[]string{{{}}}", list.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// Formats `v1.LabelSelector{…}`.
pub(super) fn label_selector(selector: &Value) -> String {
    let expressions = match selector.get("matchExpressions") {
        Some(Value::Array(list)) => {
            let expression = |it: &Value| {
                let (key, operator) = (text(&it["key"]), text(&it["operator"]));
                let values = string_list(it.get("values"));
                format!("v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}")
            };
            let list: Vec<String> = list.iter().map(expression).collect();
            format!("[]v1.LabelSelectorRequirement{{{}}}", list.join(", "))
        }
        _ => "[]v1.LabelSelectorRequirement(nil)".to_owned(),
    };
    let labels = string_map(selector.get("matchLabels"));
    format!("v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{expressions}}}")
}

/// Formats `intstr.IntOrString{…}`; a missing value is the number 0.
pub(super) fn int_or_string(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => format!("intstr.IntOrString{{Type:1, IntVal:0, StrVal:{}}}", quote(text)),
        other => {
            let number = other.and_then(Value::as_i64).unwrap_or(0);
            format!("intstr.IntOrString{{Type:0, IntVal:{number}, StrVal:\"\"}}")
        }
    }
}

/// Formats a strategy, `apps.NAME{Type:"…", RollingUpdate:…}`. Upstream prints the memory address of the settings, which
/// `…` replaces.
pub(super) fn strategy(name: &str, rolling: &str, value: &Map<String, Value>) -> String {
    let type_ = value.get("type").map_or_else(|| "\"\"".to_owned(), text);
    let settings = match value.get("rollingUpdate") {
        Some(settings) if !settings.is_null() => format!("(*apps.{rolling})(…)"),
        _ => format!("(*apps.{rolling})(nil)"),
    };
    format!("apps.{name}{{Type:{type_}, RollingUpdate:{settings}}}")
}
