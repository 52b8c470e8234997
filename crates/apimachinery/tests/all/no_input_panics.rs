// SPDX-License-Identifier: Apache-2.0
//! No input panics, and all JSON that other parsers accept is accepted here.

use apimachinery::decode;
use apimachinery::meta::ObjectMeta;
use apimachinery::patch::{json_patch, merge_patch, strategic_merge_patch};
use apimachinery::schema::Schema as _;
use apimachinery::selector::{Fields, Labels};
use apimachinery::wire;
use proptest::prelude::*;
use serde_json::{Value, json};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "(2023-07-28T09:07:27Z|5m|1Gi|YWI=|<&>\u{2028})".prop_map(Value::from),
    ];
    let key = "(name|labels|finalizers|ownerReferences|uid|\\$patch|\\$retainKeys|\\$setElementOrder/finalizers|a)";
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn texts_of_any_kind_are_read_or_refused(text in "\\PC{0,40}") {
        let _ = decode::json(text.as_bytes(), &ObjectMeta::node());
        let _ = Labels::parse(&text);
        let _ = Fields::parse(&text);
        let ours = decode::any_json(text.as_bytes());
        let theirs = serde_json::from_str::<Value>(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = decode::json(&bytes, &ObjectMeta::node());
        let _ = json_patch(&mut json!({}), &bytes);
    }

    #[test]
    fn trees_are_read_back(value in any_value()) {
        let mut bytes = Vec::new();
        apimachinery::go::write_json(&mut bytes, &value);
        prop_assert_eq!(decode::any_json(&bytes).map(|read| read == value), Ok(true));
    }

    #[test]
    fn bytes_and_trees_are_checked_alike(value in any_value()) {
        let node = ObjectMeta::node();
        let bytes = decode::json(value.to_string().as_bytes(), &node);
        let tree = decode::tree(value, &node);
        prop_assert_eq!(bytes.map(|decoded| decoded.tree).ok(), tree.map(|decoded| decoded.tree).ok());
    }

    #[test]
    fn patches_of_any_shape_apply_or_are_refused(target in any_value(), patch in any_value()) {
        let _ = strategic_merge_patch(&mut target.clone(), &patch, &ObjectMeta::node());
        let mut merged = target.clone();
        merge_patch(&mut merged, &patch);
        let once = merged.clone();
        merge_patch(&mut merged, &patch);
        prop_assert_eq!(merged, once, "a merge patch is idempotent");
        let _ = json_patch(&mut target.clone(), patch.to_string().as_bytes());
    }

    #[test]
    fn a_merge_patch_is_equivalent_to_its_result(target in any_value(), patch in any_value()) {
        let node = ObjectMeta::node();
        let Ok(target) = decode::tree(target, &node) else { return Ok(()) };
        if !patch.is_object() {
            return Ok(());
        }
        let target: ObjectMeta = wire::from_tree(target.tree).expect("it was checked");
        let mut result = wire::to_tree(&target);
        merge_patch(&mut result, &patch);
        let (result, patch) = (decode::tree(result, &node), decode::merge_patch(patch, &node));
        prop_assert_eq!(result.as_ref().err(), patch.as_ref().err());
        if let (Ok(result), Ok(patch)) = (result, patch) {
            prop_assert_eq!(&result.strict, &patch.strict);
            let mut merged = target;
            wire::merge(&mut merged, patch.tree).expect("it was checked");
            prop_assert_eq!(merged, wire::from_tree(result.tree).expect("it was checked"));
        }
    }
}
