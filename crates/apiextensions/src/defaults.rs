// SPDX-License-Identifier: Apache-2.0
//! Defaults of a schema, filled into an object.
//!
//! Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting.

use serde_json::Value;

use crate::schema::{Additional, Schema};

impl Schema {
    /// Fills what is missing, and what is `null` and must not be, where the schema has a default for it.
    pub fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, schema) in &self.properties {
                    let Some(default) = &schema.default else { continue };
                    let is_missing = match fields.get(name) {
                        None => true,
                        Some(Value::Null) => !schema.nullable,
                        Some(_) => false,
                    };
                    if is_missing {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                if let Some(Additional::Schema(schema)) = &self.additional_properties
                    && let Some(default) = schema.default.as_ref().filter(|_| !schema.nullable)
                {
                    fields.values_mut().filter(|value| value.is_null()).for_each(|value| *value = default.clone());
                }
                for (name, value) in fields.iter_mut() {
                    if let Some(schema) = self.child(name) {
                        schema.fill(value);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for item in items {
                    if let Some(default) = schema.default.as_ref().filter(|_| item.is_null() && !schema.nullable) {
                        *item = default.clone();
                    }
                    schema.fill(item);
                }
            }
            _ => {}
        }
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

    #[test]
    fn what_is_missing_is_filled_from_outside_in() {
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
