// SPDX-License-Identifier: Apache-2.0
//! What differs between two states of an object, as a JSON merge patch (RFC 7386).

use apimachinery::wire::{self, Fields};
use serde_json::{Map, Value};

/// The merge patch that turns `old` into `new`; empty if they are equal.
pub fn merge_patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, value) in new {
        match (old.get(name), value) {
            (Some(old), new) if old == new => {}
            (None, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = merge_patch(old, new);
                // Empty when the difference is a null that JSON merge patch cannot express and servers drop anyway.
                if !inner.is_empty() {
                    patch.insert(name.clone(), Value::Object(inner));
                }
            }
            (_, new) => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    for (name, value) in old {
        if !new.contains_key(name) && !value.is_null() {
            patch.insert(name.clone(), Value::Null);
        }
    }
    patch
}

/// The top-level fields of a struct that `wanted` names, as trees; the others are not even visited.
pub(crate) fn fields(object: &dyn Fields, wanted: impl Fn(&'static str) -> bool) -> Map<String, Value> {
    let infos = object.fields().iter().enumerate().filter(|(_, info)| wanted(info.name));
    let present = infos.filter_map(|(position, info)| {
        let value = object.field(position);
        (info.always || !value.is_zero()).then(|| (info.name.to_owned(), wire::to_tree(value)))
    });
    present.collect()
}

/// The merge patch of `status`; `differing`: the fields that differ, where that is known.
pub(crate) fn of_status(old: &dyn Fields, new: &dyn Fields, differing: Option<&[&str]>) -> Map<String, Value> {
    let is_written = |name: &str| name == "status" && differs(differing, name);
    merge_patch(&fields(old, is_written), &fields(new, is_written))
}

/// The merge patch of everything but `status`, of metadata of what clients write.
pub(crate) fn of_rest(old: &dyn Fields, new: &dyn Fields, differing: Option<&[&str]>) -> Map<String, Value> {
    let is_written = |name: &str| name != "status" && differs(differing, name);
    let pick = |object| {
        let mut fields = fields(object, is_written);
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|name, _| is_written_by_clients(name));
        }
        fields
    };
    merge_patch(&pick(old), &pick(new))
}

/// Whether a field is among those that are known to differ; without such knowledge every field is.
fn differs(differing: Option<&[&str]>, field: &str) -> bool {
    differing.is_none_or(|names| names.contains(&field))
}

fn is_written_by_clients(metadata_field: &str) -> bool {
    matches!(metadata_field, "labels" | "annotations" | "ownerReferences" | "finalizers")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::PartialObject;

    #[track_caller]
    fn check(old: Value, new: Value, expected: Value) {
        let (Value::Object(old), Value::Object(new)) = (old, new) else { panic!("the rows are objects") };
        assert_eq!(Value::Object(merge_patch(&old, &new)), expected);
    }

    #[test]
    fn a_patch_names_what_differs_and_nothing_else() {
        check(json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {"c": 2}}), json!({}));
        check(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"a": 1, "b": {"c": 4, "d": 3}}), json!({"b": {"c": 4}}));
        check(json!({"a": 1, "b": {"c": 2}}), json!({"a": 1, "b": {}}), json!({"b": {"c": null}}));
        check(json!({"a": 1, "b": 2}), json!({"b": 2}), json!({"a": null}));
        check(json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"a": {"b": 1}}), json!({"a": 1}), json!({"a": 1}));
        check(json!({}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}}));
    }

    #[test]
    fn a_null_is_an_absent_field() {
        check(json!({"a": null}), json!({}), json!({}));
        check(json!({}), json!({"a": null}), json!({}));
        check(json!({"a": "t"}), json!({"a": null}), json!({"a": null}));
        check(json!({"a": null}), json!({"a": "t"}), json!({"a": "t"}));
    }

    #[test]
    fn only_wanted_fields_are_trees() {
        let mut object = PartialObject::default();
        object.metadata.name = "a".to_owned();
        let picked = |wanted: &str| Value::Object(fields(&object, |name| name == wanted));
        assert_eq!(picked("metadata"), json!({"metadata": {"name": "a", "creationTimestamp": null}}));
        assert_eq!(picked("status"), json!({}));
    }
}
