// SPDX-License-Identifier: Apache-2.0
//! Validation of Events.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/validation/events.go.

use apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use super::tree::text;
use crate::validation::Errors;

/// Returns all violations of a new Event: it must be in the namespace of its object, or in `default` if that has none.
pub fn event(namespace: &str, fields: &Map<String, Value>) -> Errors {
    let about = fields.get("involvedObject").map_or("", |object| text(object, "namespace"));
    let expected = if about.is_empty() { "default" } else { about };
    if namespace == expected {
        return Errors::new();
    }
    let path = Path::new("involvedObject").child("namespace");
    vec![FieldError::invalid(&path, about, "does not match event.namespace")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_in_the_namespace_of_their_object() {
        let refused = |about: &str| {
            vec![format!("involvedObject.namespace: Invalid value: {about:?}: does not match event.namespace")]
        };
        for (namespace, object, expected) in [
            ("n", json!({ "namespace": "n" }), vec![]),
            ("n", json!({ "namespace": "m" }), refused("m")),
            ("default", json!({ "namespace": "n" }), refused("n")),
            ("default", json!({}), vec![]),
            ("default", Value::Null, vec![]),
            ("n", json!({}), refused("")),
        ] {
            let fields = Map::from_iter([("involvedObject".to_owned(), object.clone())]);
            let found: Vec<String> = event(namespace, &fields).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{namespace} {object}");
        }
    }
}
