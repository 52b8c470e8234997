// SPDX-License-Identifier: Apache-2.0
//! Defaults of Secrets.
//!
//! Source: k8s.io/kubernetes pkg/apis/core/v1/{conversion,defaults}.go.

use apimachinery::meta::ByteString;
use serde_json::{Map, Value, json};

use super::put;

/// Merges `stringData` over `data`, and sets the type of a Secret without one.
pub fn secret(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(plain)) = fields.remove("stringData")
        && !plain.is_empty()
    {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        for (key, value) in plain {
            data[key] = json!(ByteString::from(value.as_str().unwrap_or_default()).to_base64());
        }
    }
    put(fields, "type", json!("Opaque"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_merged_and_the_type_is_set() {
        for (given, expected) in [
            (json!({}), json!({"type": "Opaque"})),
            (json!({"type": ""}), json!({"type": "Opaque"})),
            (json!({"type": "kubernetes.io/tls"}), json!({"type": "kubernetes.io/tls"})),
            (json!({"stringData": {}}), json!({"type": "Opaque"})),
            (json!({"stringData": {"a": "b"}}), json!({"type": "Opaque", "data": {"a": "Yg=="}})),
            (
                json!({"data": {"a": "eA==", "c": "eA=="}, "stringData": {"a": "b"}}),
                json!({"type": "Opaque", "data": {"a": "Yg==", "c": "eA=="}}),
            ),
        ] {
            let mut fields = given.as_object().cloned().expect("an object");
            secret(&mut fields);
            assert_eq!(Value::Object(fields), expected, "{given}");
        }
    }
}
