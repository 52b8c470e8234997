// SPDX-License-Identifier: Apache-2.0
//! Difference between two states of an object, as a JSON merge patch (RFC 7386).

use apimachinery::wire::{self, Fields, List, View, Wire};
use serde_json::{Map, Value};

/// Returns the merge patch that turns `old` into `new`; empty if they are equal.
pub fn merge_patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, value) in new {
        match (old.get(name), value) {
            (Some(old), new) if old == new => {}
            (None, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = merge_patch(old, new);
                // Empty if the only difference is a null, which JSON merge patch cannot express and servers drop
                // anyway.
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

/// Returns the merge patch of the wanted fields of a struct; other fields are not visited.
fn of_fields(old: &dyn Fields, new: &dyn Fields, wanted: &dyn Fn(&str) -> bool) -> Map<String, Value> {
    let infos = old.fields().iter().enumerate().filter(|(_, info)| wanted(info.name));
    let differing = infos.filter_map(|(position, info)| {
        let (old, new) = (old.field(position), new.field(position));
        let is_written = |value: &dyn Wire| info.always || !value.is_zero();
        let patch = match (is_written(old), is_written(new)) {
            (true, true) => of_values(old, new)?,
            (true, false) if !is_null(old) => Value::Null,
            (false, true) if !is_null(new) => wire::to_tree(new),
            _ => return None,
        };
        Some((info.name.to_owned(), patch))
    });
    differing.collect()
}

/// Returns the merge patch of a value; `None` if nothing differs. Only different parts are converted to trees.
fn of_values(old: &dyn Wire, new: &dyn Wire) -> Option<Value> {
    let of_trees = || match (wire::to_tree(old), wire::to_tree(new)) {
        (Value::Object(old), Value::Object(new)) => Some(Value::Object(merge_patch(&old, &new))).filter(is_patch),
        (old, new) => (old != new).then_some(new),
    };
    match (old.view(), new.view()) {
        (View::Struct(old), View::Struct(new)) if is_same_type(old, new) => {
            Some(Value::Object(of_fields(old, new, &|_| true))).filter(is_patch)
        }
        (View::Struct(_) | View::Map(_), View::Struct(_) | View::Map(_)) => of_trees(),
        // Different texts may encode the same value.
        (View::Raw(old), View::Raw(new)) => {
            if old == new {
                None
            } else {
                of_trees()
            }
        }
        (View::Tree(_) | View::Raw(_), _) | (_, View::Tree(_) | View::Raw(_)) => of_trees(),
        _ => (!are_equal(old, new)).then(|| wire::to_tree(new)),
    }
}

/// True if two values are encoded equally.
fn are_equal(old: &dyn Wire, new: &dyn Wire) -> bool {
    match (old.view(), new.view()) {
        (View::Null, View::Null) => true,
        (View::Boolean(old), View::Boolean(new)) => old == new,
        (View::Integer(old), View::Integer(new)) => old == new,
        (View::Text(old), View::Text(new)) => old == new,
        (View::List(old), View::List(new)) => are_equal_lists(old, new),
        (View::Struct(old), View::Struct(new)) if is_same_type(old, new) => {
            old.fields().iter().enumerate().all(|(position, info)| {
                let (old, new) = (old.field(position), new.field(position));
                let is_written = |value: &dyn Wire| info.always || !value.is_zero();
                match (is_written(old), is_written(new)) {
                    (true, true) => are_equal(old, new),
                    (old, new) => old == new,
                }
            })
        }
        _ => wire::to_tree(old) == wire::to_tree(new),
    }
}

fn are_equal_lists(old: &dyn List, new: &dyn List) -> bool {
    old.len() == new.len() && (0..old.len()).all(|position| are_equal(old.get(position), new.get(position)))
}

fn is_same_type(old: &dyn Fields, new: &dyn Fields) -> bool {
    std::ptr::eq(old.fields(), new.fields())
}

fn is_null(value: &dyn Wire) -> bool {
    match value.view() {
        View::Null => true,
        View::Number(_) | View::Raw(_) | View::Tree(_) => wire::to_tree(value).is_null(),
        _ => false,
    }
}

/// False for an empty difference of a null, which a merge patch cannot express and servers drop anyway.
fn is_patch(patch: &Value) -> bool {
    patch.as_object().is_none_or(|fields| !fields.is_empty())
}

/// Returns the merge patch of `status`; `differing`: names of the different fields, if known.
pub(crate) fn of_status(old: &dyn Fields, new: &dyn Fields, differing: Option<&[&str]>) -> Map<String, Value> {
    of_fields(old, new, &|name| name == "status" && differs(differing, name))
}

/// Returns the merge patch of everything but `status`, including the metadata that clients write.
pub(crate) fn of_rest(old: &dyn Fields, new: &dyn Fields, differing: Option<&[&str]>) -> Map<String, Value> {
    let mut patch = of_fields(old, new, &|name| name != "status" && differs(differing, name));
    if let Some(Value::Object(metadata)) = patch.get_mut("metadata") {
        metadata.retain(|name, _| is_written_by_clients(name));
        if metadata.is_empty() {
            patch.remove("metadata");
        }
    }
    patch
}

/// True if a field is among the known different ones; without this knowledge it is true for every field.
fn differs(differing: Option<&[&str]>, field: &str) -> bool {
    differing.is_none_or(|names| names.contains(&field))
}

fn is_written_by_clients(metadata_field: &str) -> bool {
    matches!(metadata_field, "labels" | "annotations" | "ownerReferences" | "finalizers")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use apimachinery::meta::{ObjectMeta, RawExtension, Time};
    use apimachinery::wire::api_type;
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(old: Value, new: Value, expected: Value) {
        let (Value::Object(old), Value::Object(new)) = (old, new) else { panic!("the rows are objects") };
        assert_eq!(Value::Object(merge_patch(&old, &new)), expected);
    }

    #[test]
    fn a_patch_has_only_the_differences() {
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

    #[api_type(no_schema)]
    struct Inner {
        #[schema(always)]
        count: i64,
        text: String,
        at: Option<Time>,
    }

    #[api_type(no_schema)]
    struct Outer {
        inner: Inner,
        optional: Option<Inner>,
        items: Vec<Inner>,
        labels: BTreeMap<String, String>,
        raw: RawExtension,
        share: f64,
    }

    #[api_type(no_schema)]
    struct Thing {
        metadata: ObjectMeta,
        spec: Outer,
        status: Outer,
    }

    fn inner() -> impl Strategy<Value = Inner> {
        let at = proptest::option::of(
            (0..2_i64).prop_map(|second| Time(DateTime::from_timestamp(second, 0).expect("time"))),
        );
        (0..2_i64, "[ab]?", at).prop_map(|(count, text, at)| Inner { count, text, at })
    }

    fn outer() -> impl Strategy<Value = Outer> {
        let raw = prop_oneof![
            Just("null"),
            Just("1"),
            Just(r#"{"a":1}"#),
            Just(r#"{"a":1.0}"#),
            Just(r#"{"b":{"c":[]},"a":null}"#)
        ];
        (
            inner(),
            proptest::option::of(inner()),
            proptest::collection::vec(inner(), 0..3),
            proptest::collection::btree_map("[ab]", "[ab]?", 0..2),
            raw.prop_map(|text| serde_json::from_str(text).expect("JSON")),
            prop_oneof![Just(0.0), Just(1.5)],
        )
            .prop_map(|(inner, optional, items, labels, raw, share)| Outer {
                inner,
                optional,
                items,
                labels,
                raw,
                share,
            })
    }

    fn thing() -> impl Strategy<Value = Thing> {
        let metadata = (proptest::collection::btree_map("[ab]", "[ab]?", 0..2), "[ab]?").prop_map(|(labels, name)| {
            ObjectMeta { labels: labels.into_iter().collect(), name, ..ObjectMeta::default() }
        });
        (metadata, outer(), outer()).prop_map(|(metadata, spec, status)| Thing { metadata, spec, status })
    }

    /// The patch of the wanted fields, computed from whole trees.
    fn by_trees(old: &Thing, new: &Thing, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
        let pick = |thing: &Thing| match wire::to_tree(thing) {
            Value::Object(mut fields) => {
                fields.retain(|name, _| wanted(name));
                if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                    metadata.retain(|name, _| is_written_by_clients(name));
                }
                fields
            }
            _ => Map::new(),
        };
        merge_patch(&pick(old), &pick(new))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn values_give_the_patch_that_their_trees_give(old in thing(), new in thing()) {
            prop_assert_eq!(of_status(&old, &new, None), by_trees(&old, &new, |name| name == "status"));
            prop_assert_eq!(of_rest(&old, &new, None), by_trees(&old, &new, |name| name != "status"));
        }
    }

    #[test]
    fn only_fields_that_are_known_to_differ_are_visited() {
        let mut new = Thing::default();
        new.status.share = 2.0;
        let patch = |differing: &[&str]| Value::Object(of_status(&Thing::default(), &new, Some(differing)));
        assert_eq!(patch(&["status"]), json!({"status": {"share": 2.0}}));
        assert_eq!(patch(&["spec"]), json!({}));
    }
}
