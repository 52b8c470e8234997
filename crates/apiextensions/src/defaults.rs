// SPDX-License-Identifier: Apache-2.0
//! Filling of an object with the defaults of a schema.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting.

use serde_json::Value;

use crate::schema::{Additional, Schema};

/// Maximum size of the defaults in one object, in bytes: twice the maximum size of a stored object.
const MOST: usize = 3 << 20;

impl Schema {
    /// Sets missing fields, and `null` fields that are not nullable, to their defaults in the schema. The total size of
    /// the defaults is limited.
    pub fn fill(&self, value: &mut Value) {
        self.fill_within(value, &mut MOST.clone());
    }

    fn fill_within(&self, value: &mut Value, left: &mut usize) {
        match value {
            Value::Object(fields) => {
                for (name, schema) in &self.properties {
                    let Some(default) = &schema.default else { continue };
                    let is_missing = match fields.get(name) {
                        None => true,
                        Some(Value::Null) => !schema.nullable,
                        Some(_) => false,
                    };
                    if is_missing && is_paid(default, left) {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                if let Some(Additional::Schema(schema)) = &self.additional_properties
                    && let Some(default) = schema.default.as_ref().filter(|_| !schema.nullable)
                {
                    for value in fields.values_mut().filter(|value| value.is_null()) {
                        if is_paid(default, left) {
                            *value = default.clone();
                        }
                    }
                }
                for (name, value) in fields.iter_mut() {
                    if let Some(schema) = self.child(name) {
                        schema.fill_within(value, left);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for item in items {
                    if let Some(default) = schema.default.as_ref().filter(|_| item.is_null() && !schema.nullable)
                        && is_paid(default, left)
                    {
                        *item = default.clone();
                    }
                    schema.fill_within(item, left);
                }
            }
            _ => {}
        }
    }
}

/// True if the limit allows one more copy of a default.
fn is_paid(default: &Value, left: &mut usize) -> bool {
    let size = size(default);
    let is_paid = size <= *left;
    *left = if is_paid { *left - size } else { 0 };
    is_paid
}

/// Approximate size of a value's text, in bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(fields) => 2 + fields.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, mut value: Value, expected: &Value) {
        Schema::of(schema).expect("a schema").fill(&mut value);
        assert_eq!(value, *expected);
    }

    /// 3 MB of empty items, each of which lacks 100 KB, would be 100 GB.
    #[test]
    fn defaults_have_a_limit() {
        let schema = json!({ "items": { "properties": { "text": { "default": "x".repeat(100_000) } } } });
        let mut value = Value::Array(vec![json!({}); 1_000_000]);
        Schema::of(&schema).expect("a schema").fill(&mut value);
        let filled = value.as_array().into_iter().flatten().filter(|item| item["text"].is_string()).count();
        assert_eq!(filled, MOST / 100_002);
        let mut few = Value::Array(vec![json!({}); 10]);
        Schema::of(&schema).expect("a schema").fill(&mut few);
        assert!(few.as_array().into_iter().flatten().all(|item| item["text"].is_string()));
    }

    #[test]
    fn missing_values_are_filled_from_outside_in() {
        let spec = json!({ "properties": { "spec": { "default": {}, "properties": {
            "replicas": { "type": "integer", "default": 1 },
            "mode": { "type": "string" },
            "owner": { "type": "string", "nullable": true, "default": "nobody" },
            "ports": { "items": { "properties": { "protocol": { "default": "TCP" } } } },
            "limits": { "additionalProperties": { "default": "1", "type": "string" } },
        } } } });
        check(&spec, json!({}), &json!({ "spec": { "replicas": 1, "owner": "nobody" } }));
        check(
            &spec,
            json!({ "spec": { "replicas": 0, "owner": null, "ports": [{ "port": 1 }], "limits": { "cpu": null } } }),
            &json!({ "spec": {
                "replicas": 0, "owner": null, "ports": [{ "port": 1, "protocol": "TCP" }], "limits": { "cpu": "1" },
            } }),
        );
        check(&spec, json!({ "spec": { "replicas": null } }), &json!({ "spec": { "replicas": 1, "owner": "nobody" } }));
        check(&spec, json!({ "spec": "no object" }), &json!({ "spec": "no object" }));
    }
}
