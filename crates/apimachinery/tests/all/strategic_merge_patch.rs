// SPDX-License-Identifier: Apache-2.0
//! Strategic merge patch on a kind that looks like a Pod template.

use std::sync::OnceLock;

use apimachinery::patch::strategic_merge_patch;
use apimachinery::schema::{Field, Node, ObjectRef, ObjectSchema};
use serde_json::{Value, json};

fn field(name: &'static str, node: Node, strategy: Option<&'static str>, key: Option<&'static str>) -> Field {
    Field { merge_key: key, patch_strategy: strategy, ..Field::new(name, node) }
}

fn container() -> &'static ObjectSchema {
    static SCHEMA: OnceLock<ObjectSchema> = OnceLock::new();
    SCHEMA.get_or_init(|| ObjectSchema {
        name: "Container",
        package: "k8s.io/api/core/v1",
        description: "",
        fields: vec![field("name", Node::String, None, None), field("image", Node::String, None, None)],
    })
}

fn object() -> &'static ObjectSchema {
    static SCHEMA: OnceLock<ObjectSchema> = OnceLock::new();
    let containers = || Node::List(Box::new(Node::Object(ObjectRef::Static(container))));
    let texts = || Node::List(Box::new(Node::String));
    SCHEMA.get_or_init(|| ObjectSchema {
        name: "Thing",
        package: "example/v1",
        description: "",
        fields: vec![
            field("containers", containers(), Some("merge"), Some("name")),
            field("atomic", containers(), None, None),
            field("finalizers", texts(), Some("merge"), None),
            field("strategy", Node::Map(Box::new(Node::String)), Some("retainKeys"), None),
            field("labels", Node::Map(Box::new(Node::String)), None, None),
            field("raw", Node::Raw, None, None),
        ],
    })
}

fn original() -> Value {
    json!({
        "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}, {"name": "c", "image": "1"}],
        "atomic": [{"name": "a"}],
        "finalizers": ["x", "y"],
        "strategy": {"type": "Rolling", "surge": "1"},
        "labels": {"k": "v"},
        "raw": {"n": {"o": 1}, "s": 1},
    })
}

#[track_caller]
fn patched(patch: &Value) -> Result<Value, String> {
    let mut target = original();
    strategic_merge_patch(&mut target, patch, &Node::Object(ObjectRef::Static(object)))
        .map(|()| target)
        .map_err(|error| error.to_string())
}

#[track_caller]
fn check(patch: &Value, field: &str, expected: &Value) {
    let mut result = patched(patch).expect("the patch applies");
    assert_eq!(result[field], *expected);
    result[field] = original()[field].clone();
    if original()[field].is_null() {
        result.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(result, original(), "nothing else changes");
}

#[track_caller]
fn refused(patch: &Value, expected: &str) {
    assert_eq!(patched(patch).expect_err("the patch is refused"), expected);
}

fn names(items: &[&str]) -> Value {
    items.iter().map(|name| json!({"name": name, "image": "1"})).collect()
}

#[test]
fn items_merge_by_key_and_new_ones_are_placed() {
    check(
        &json!({"containers": [{"name": "b", "image": "2"}]}),
        "containers",
        &json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "1"}]),
    );
    let added = patched(&json!({"containers": [{"name": "d", "image": "1"}]})).expect("applies");
    assert_eq!(added["containers"].as_array().map(Vec::len), Some(4));
}

#[test]
fn items_are_deleted_or_the_list_replaced_by_directives() {
    check(&json!({"containers": [{"name": "b", "$patch": "delete"}]}), "containers", &names(&["a", "c"]));
    check(&json!({"containers": [{"name": "z", "image": "1"}, {"$patch": "replace"}]}), "containers", &names(&["z"]));
}

#[test]
fn the_order_of_items_can_be_set() {
    check(
        &json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}),
        "containers",
        &names(&["c", "a", "b"]),
    );
    check(
        &json!({
            "$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}],
            "containers": [{"name": "d", "image": "1"}],
        }),
        "containers",
        // `b`, which the directive does not name, is placed before the first item that followed it.
        &names(&["b", "c", "d", "a"]),
    );
    refused(
        &json!({
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "d", "image": "1"}],
        }),
        "The order in patch list:\n[map[image:1 name:d]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    );
}

#[test]
fn lists_of_texts_are_united_and_subtracted() {
    check(&json!({"finalizers": ["z", "x"]}), "finalizers", &json!(["z", "x", "y"]));
    check(&json!({"$deleteFromPrimitiveList/finalizers": ["x", "q"]}), "finalizers", &json!(["y"]));
    check(&json!({"$deleteFromPrimitiveList/absent": ["x"]}), "absent", &Value::Null);
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    check(&json!({"atomic": [{"name": "q"}]}), "atomic", &json!([{"name": "q"}]));
}

#[test]
fn maps_merge_except_by_directive() {
    check(&json!({"labels": {"n": "w", "k": null}}), "labels", &json!({"n": "w"}));
    check(&json!({"labels": {"$patch": "replace", "n": "w"}}), "labels", &json!({"n": "w"}));
    check(&json!({"labels": null}), "labels", &Value::Null);
    check(
        &json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
        "strategy",
        &json!({"type": "Recreate"}),
    );
    check(&json!({"new": {"a": null, "b": {"$patch": "delete"}, "c": 1}}), "new", &json!({"c": 1}));
}

#[test]
fn contradictions_are_refused_in_the_words_of_the_library() {
    refused(&json!({"containers": [{"image": "1"}]}), "map: map[image:1] does not contain declared merge key: name");
    refused(&json!({"labels": {"$patch": "bad"}}), "unknown patch type: bad in map: map[$patch:bad]");
    refused(&json!({"strategy": {"$retainKeys": ["x"], "type": "y"}}), "invalid patch format of retainKeys");
    refused(
        &json!({"raw": {"n": {"o": 2}}}),
        "unable to find api field in struct RawExtension for the json field \"n\"",
    );
}
