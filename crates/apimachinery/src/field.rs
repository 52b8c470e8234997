// SPDX-License-Identifier: Apache-2.0
//! Field paths and the errors of validation (`k8s.io/apimachinery/pkg/util/validation/field`).

use std::fmt;

use crate::go;

/// A path to a field, `spec.provider.workers[0].name`; keys of maps are `labels[key]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// Creates a path of one name.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Returns the path of the field `name` below.
    pub fn child(&self, name: &str) -> Self {
        // Validation creates a path of every field that it checks, and a format would take most of its time.
        let mut path = String::with_capacity(self.0.len() + 1 + name.len());
        path.push_str(&self.0);
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        Self(path)
    }

    /// Returns the path of the item `index` of a list.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// Returns the path of the entry `key` of a map.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// Kind of a [`FieldError`]; its wire name is the cause's `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// Error type `FieldValueNotFound`.
    NotFound,
    /// Error type `FieldValueRequired`.
    Required,
    /// Error type `FieldValueDuplicate`.
    Duplicate,
    /// Error type `FieldValueInvalid`.
    Invalid,
    /// Error type `FieldValueNotSupported`.
    NotSupported,
    /// Error type `FieldValueForbidden`.
    Forbidden,
    /// Error type `FieldValueTooLong`.
    TooLong,
    /// Error type `FieldValueTooMany`.
    TooMany,
    /// Error type `InternalError`.
    Internal,
    /// Error type `FieldValueTypeInvalid`.
    TypeInvalid,
}

impl ErrorType {
    /// Returns the wire name: the cause's `reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}

/// One violation found by validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Rule that the value breaks; it begins the message.
    pub error_type: ErrorType,
    /// Path of the field: `spec.provider.workers[0].name`.
    pub field: String,
    /// Text after `field: ` in the message: `Invalid value: "x": …`.
    pub body: String,
}

impl FieldError {
    /// Creates the error `path: Required value: detail`.
    pub fn required(path: &Path, detail: &str) -> Self {
        Self::detailed(ErrorType::Required, path, "Required value".to_owned(), detail)
    }

    /// `path: Invalid value: VALUE: detail`; `value` is written as JSON (Go's `%#v` for what it quotes).
    pub fn invalid(path: &Path, value: impl serde::Serialize, detail: &str) -> Self {
        Self::detailed(ErrorType::Invalid, path, format!("Invalid value: {}", render(value)), detail)
    }

    /// `path: Unsupported value: VALUE: supported values: "a", "b"`, in the given order.
    pub fn not_supported<S: AsRef<str>>(path: &Path, value: impl serde::Serialize, supported: &[S]) -> Self {
        let list: Vec<String> = supported.iter().map(|value| render(value.as_ref())).collect();
        let detail = if list.is_empty() { String::new() } else { format!("supported values: {}", list.join(", ")) };
        Self::detailed(ErrorType::NotSupported, path, format!("Unsupported value: {}", render(value)), &detail)
    }

    /// Creates the error `path: Forbidden: detail`.
    pub fn forbidden(path: &Path, detail: &str) -> Self {
        Self::detailed(ErrorType::Forbidden, path, "Forbidden".to_owned(), detail)
    }

    /// Creates the error `path: Duplicate value: VALUE`.
    pub fn duplicate(path: &Path, value: impl serde::Serialize) -> Self {
        Self::detailed(ErrorType::Duplicate, path, format!("Duplicate value: {}", render(value)), "")
    }

    /// Creates the error `path: Not found: VALUE`.
    pub fn not_found(path: &Path, value: impl serde::Serialize) -> Self {
        Self::detailed(ErrorType::NotFound, path, format!("Not found: {}", render(value)), "")
    }

    /// Creates the error `path: Too long: may not be more than N bytes`.
    pub fn too_long(path: &Path, max: usize) -> Self {
        Self::detailed(ErrorType::TooLong, path, "Too long".to_owned(), &format!("may not be more than {max} bytes"))
    }

    /// Creates the error `path: Too many: N: must have at most M items`.
    pub fn too_many(path: &Path, actual: usize, max: usize) -> Self {
        let detail = format!("must have at most {max} items");
        Self::detailed(ErrorType::TooMany, path, format!("Too many: {actual}"), &detail)
    }

    /// Creates the error `path: Internal error: detail`.
    pub fn internal(path: &Path, detail: &str) -> Self {
        Self::detailed(ErrorType::Internal, path, "Internal error".to_owned(), detail)
    }

    /// `path: Invalid value: VALUE: detail` for a value of a wrong type.
    pub fn type_invalid(path: &Path, value: impl serde::Serialize, detail: &str) -> Self {
        Self::detailed(ErrorType::TypeInvalid, path, format!("Invalid value: {}", render(value)), detail)
    }

    fn detailed(error_type: ErrorType, path: &Path, head: String, detail: &str) -> Self {
        let body = if detail.is_empty() { head } else { format!("{head}: {detail}") };
        Self { error_type, field: path.to_string(), body }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

/// Formats a value for a message: texts in Go's quotes, numbers and booleans bare, a missing value as `null`, all else
/// as compact JSON.
fn render(value: impl serde::Serialize) -> String {
    match serde_json::to_value(&value) {
        Ok(serde_json::Value::String(text)) => go::quote(&text),
        Ok(_) => {
            // Not from the tree: a struct keeps the order of its fields.
            let mut out = Vec::new();
            go::write_json(&mut out, &value);
            String::from_utf8(out).unwrap_or_default()
        }
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(error: &FieldError, expected: &str) {
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn errors_read_like_upstreams() {
        let path = Path::new("spec").child("workers").index(0).child("labels").key("a/b");
        check(&FieldError::required(&path, ""), "spec.workers[0].labels[a/b]: Required value");
        check(&FieldError::invalid(&path, "x\"", "no"), r#"spec.workers[0].labels[a/b]: Invalid value: "x\"": no"#);
        check(&FieldError::invalid(&Path::new("a"), 3, "no"), "a: Invalid value: 3: no");
        check(&FieldError::invalid(&Path::new("a"), "<1&2>", "no"), r#"a: Invalid value: "<1&2>": no"#);
        check(&FieldError::invalid(&Path::new("a"), json!({"b": [1]}), "no"), r#"a: Invalid value: {"b":[1]}: no"#);
        check(&FieldError::duplicate(&Path::new("a"), "n"), "a: Duplicate value: \"n\"");
        check(&FieldError::not_found(&Path::new("a"), "n"), "a: Not found: \"n\"");
        check(&FieldError::forbidden(&Path::new("a"), "may not"), "a: Forbidden: may not");
        check(&FieldError::too_long(&Path::new("a"), 63), "a: Too long: may not be more than 63 bytes");
        check(&FieldError::too_many(&Path::new("a"), 3, 2), "a: Too many: 3: must have at most 2 items");
        check(&FieldError::internal(&Path::default(), "x"), "<nil>: Internal error: x");
    }
}
