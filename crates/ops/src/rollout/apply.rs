// SPDX-License-Identifier: Apache-2.0
//! JSON merge patch of a manifest and a stored object, made from three states as `kubectl apply` does.
//!
//! ```text
//! last applied ─► manifest   fields that are missing now are deleted
//! stored       ─► manifest   fields that are new or different are set; those that the manifest leaves out stay
//! ```
//!
//! Gardener's kinds are not compiled into kubectl, so their lists are replaced as a whole.
//! Source: k8s.io/apimachinery pkg/util/jsonmergepatch (`CreateThreeWayJSONMergePatch`).

use api::constants::annotation;
use serde_json::{Map, Value, json};

/// Returns the merge patch that `kubectl apply` sends for a manifest. An object from a server (`is_served`) has an
/// annotation with the manifest that was applied last; any other object is itself that manifest.
pub fn patch(stored: &Value, is_served: bool, manifest: &Value) -> Value {
    let annotations = &stored["metadata"]["annotations"];
    let last = annotations[annotation::KUBECTL_LAST_APPLIED].as_str();
    let last = last.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let last = last.or_else(|| (!is_served).then(|| stored.clone())).unwrap_or_default();
    let mut patch = changed(stored, manifest).unwrap_or_else(|| json!({}));
    delete(&mut patch, &last, manifest);
    patch
}

/// Returns the stored object with a manifest applied.
pub fn applied(stored: &Value, is_served: bool, manifest: &Value) -> Value {
    let mut object = stored.clone();
    apimachinery::patch::merge_patch(&mut object, &patch(stored, is_served, manifest));
    object
}

/// Fields of `new` that are missing or different in `old`; None if there are none.
fn changed(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        // A null in a manifest deletes the field.
        (Value::Object(before), Value::Object(after)) => {
            let fields = after.iter().filter_map(|(key, value)| match before.get(key) {
                Some(known) => Some((key.clone(), changed(known, value)?)),
                None if value.is_null() => None,
                None => Some((key.clone(), value.clone())),
            });
            let fields: Map<String, Value> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        _ => (old != new).then(|| new.clone()),
    }
}

/// Adds a null to a patch for each field of `old` that `new` does not have.
fn delete(patch: &mut Value, old: &Value, new: &Value) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else { return };
    for (key, value) in before {
        match after.get(key) {
            None => patch[key] = Value::Null,
            Some(kept @ Value::Object(_)) if value.is_object() => {
                let mut below = patch.get(key).cloned().unwrap_or_else(|| json!({}));
                if below.is_object() {
                    delete(&mut below, value, kept);
                }
                if below.as_object().is_none_or(|below| !below.is_empty()) {
                    patch[key] = below;
                }
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_sets_fields_and_deletes_previously_applied_ones() {
        let last = json!({ "spec": { "a": 1, "b": { "c": 1, "d": 2 }, "list": [{ "x": 1 }] } });
        let stored = json!({
            "metadata": { "annotations": { annotation::KUBECTL_LAST_APPLIED: last.to_string() } },
            "spec": { "a": 1, "b": { "c": 1, "d": 2, "defaulted": true }, "list": [{ "x": 1, "defaulted": 2 }], "own": "server" },
        });
        for (manifest, expected) in [
            (json!({ "spec": { "a": 1, "b": { "c": 1, "d": 2 } } }), json!({ "spec": { "list": null } })),
            (
                json!({ "spec": { "a": 2, "b": { "c": 1 }, "list": [{ "x": 2 }] } }),
                json!({ "spec": { "a": 2, "b": { "d": null }, "list": [{ "x": 2 }] } }),
            ),
            (
                json!({ "spec": { "a": 1, "list": [{ "x": 1, "defaulted": 2 }], "new": { "e": 1 } } }),
                json!({ "spec": { "b": null, "new": { "e": 1 } } }),
            ),
            (
                json!({ "spec": { "a": null, "b": 1, "list": [{ "x": 1, "defaulted": 2 }] } }),
                json!({ "spec": { "a": null, "b": 1 } }),
            ),
        ] {
            assert_eq!(patch(&stored, true, &manifest), expected, "{manifest}");
        }
        let kept = applied(&stored, true, &json!({ "spec": { "a": 1, "b": { "c": 1 }, "list": [] } }));
        assert_eq!(kept["spec"], json!({ "a": 1, "b": { "c": 1, "defaulted": true }, "list": [], "own": "server" }));
    }

    #[test]
    fn without_last_applied_state_only_manifests_lose_fields() {
        let manifest = json!({ "spec": { "a": 2 } });
        let served = json!({ "metadata": { "name": "n" }, "spec": { "a": 1, "b": 1 } });
        assert_eq!(applied(&served, true, &manifest)["spec"], json!({ "a": 2, "b": 1 }));
        let file = json!({ "metadata": { "name": "n" }, "spec": { "a": 1, "b": 1 } });
        assert_eq!(applied(&file, false, &manifest)["spec"], manifest["spec"]);
    }
}
