// SPDX-License-Identifier: Apache-2.0
//! JSON merge patch.

use serde_json::{Map, Value};

/// Applies a patch of RFC 7386: `null` deletes, objects merge, all else replaces.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge_patch(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(target: Value, patch: &Value, expected: &Value) {
        let mut actual = target;
        merge_patch(&mut actual, patch);
        assert_eq!(actual, *expected);
    }

    /// The rows of RFC 7386's appendix that concern objects.
    #[test]
    fn null_deletes_and_lists_are_replaced() {
        check(json!({"a": "b"}), &json!({"a": "c"}), &json!({"a": "c"}));
        check(json!({"a": "b"}), &json!({"b": "c"}), &json!({"a": "b", "b": "c"}));
        check(json!({"a": "b", "b": "c"}), &json!({"a": null}), &json!({"b": "c"}));
        check(json!({"a": ["b"]}), &json!({"a": "c"}), &json!({"a": "c"}));
        check(json!({"a": {"b": "c"}}), &json!({"a": {"b": "d", "c": null}}), &json!({"a": {"b": "d"}}));
        check(json!({"a": [{"b": "c"}]}), &json!({"a": [1]}), &json!({"a": [1]}));
        check(json!({}), &json!({"a": {"bb": {"ccc": null}}}), &json!({"a": {"bb": {}}}));
    }
}
