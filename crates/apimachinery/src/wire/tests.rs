// SPDX-License-Identifier: Apache-2.0
//! Values of every form, written and read.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::meta::{ByteString, Duration, IntOrString, MicroTime, Quantity, RawExtension, TextMap, Time};

#[api_type(no_schema)]
struct Inner {
    #[schema(required)]
    name: String,
    note: String,
}

#[api_type(no_schema)]
struct Sample {
    text: String,
    #[schema(rename = "nodeCIDR", always)]
    node_cidr: String,
    flag: bool,
    count: i32,
    big: i64,
    ratio: f64,
    share: Option<IntOrString>,
    size: Option<Quantity>,
    after: Option<Duration>,
    at: Time,
    exactly: Option<MicroTime>,
    data: ByteString,
    raw: Option<RawExtension>,
    tree: Value,
    inner: Inner,
    boxed: Option<Box<Inner>>,
    inners: Vec<Inner>,
    by_name: BTreeMap<String, Inner>,
    labels: TextMap,
    #[schema(omit_empty)]
    omitted: Inner,
}

const FULL: &str = r#"{"text":"a\u003cb é\n","nodeCIDR":"10.0.0.0/8","flag":true,"count":-3,"big":9007199254740993,"ratio":0.5,"share":"25%","size":"500m","after":"1h30m0s","at":"2023-07-28T09:07:27Z","exactly":"2023-07-28T09:07:27.000001Z","data":"YWI=","raw":{"b":1.0,"a":[1e3]},"tree":{"a":[1,null]},"inner":{"name":"i"},"boxed":{"name":"","note":"n"},"inners":[{"name":"x"},{"name":"y","note":"z"}],"byName":{"a":{"name":"1"},"b":{"name":"2"}},"labels":{"k":"v"},"omitted":{"name":"o"}}"#;

fn written(value: &dyn Wire) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[track_caller]
fn sample(text: &str) -> Sample {
    let mut value = Sample::default();
    read(&mut value, text).expect("a sample");
    value
}

#[test]
fn every_form_is_written_as_it_was_read() {
    let full = sample(FULL);
    assert_eq!(written(&full), FULL);
    assert_eq!((full.count, full.big, full.inners.len()), (-3, 9_007_199_254_740_993, 2));
    assert_eq!(full.text, "a<b é\n");
    // With blanks, in another order, with fields of a later version.
    let odd = sample(
        " { \"later\" : [{\"a\":[\"]\"]}, {}] ,\"inner\":{\"later\":null,\"name\":\"i\"},\n\"text\":\"\\u0061\\ud83d\\ude00\" } ",
    );
    assert_eq!((odd.inner.name.as_str(), odd.text.as_str()), ("i", "a😀"));
}

#[test]
fn empty_fields_are_left_out_unless_required_or_structs() {
    assert_eq!(written(&Sample::default()), r#"{"nodeCIDR":"","at":null,"tree":null,"inner":{"name":""}}"#);
    assert_eq!(sample(&written(&Sample::default())), Sample::default());
    assert_eq!(
        sample(r#"{"text":null,"inner":null,"inners":null,"labels":null,"raw":null,"count":null}"#),
        Sample::default()
    );
}

#[test]
fn text_tree_and_serde_agree() {
    let full = sample(FULL);
    let tree = to_tree(&full);
    assert_eq!(tree, serde_json::from_str::<Value>(FULL).expect("JSON"));
    assert_eq!(serde_json::to_value(&full).expect("a tree"), tree);
    assert_eq!(serde_json::from_str::<Sample>(FULL).expect("a sample"), full);
    // A tree has sorted the keys of opaque JSON.
    let sorted: Sample = from_tree(tree.clone()).expect("a sample");
    assert_eq!(sorted.raw, full.raw.clone().map(|raw| RawExtension(raw.0.sorted())));
    assert_eq!(Sample { raw: None, ..sorted.clone() }, Sample { raw: None, ..full.clone() });
    assert_eq!(serde_json::from_value::<Sample>(tree).expect("a sample"), sorted);
    assert_eq!(serde_json::to_string(&full).expect("a text"), FULL.replace("\\u003c", "<"));
}

#[test]
fn a_duplicate_list_or_map_holds_the_last_value() {
    let twice = sample(r#"{"inners":[{"name":"x"}],"inners":[],"labels":{"a":"1"},"labels":{"b":"2"}}"#);
    assert!(twice.inners.is_empty());
    assert_eq!(twice.labels.keys().collect::<Vec<_>>(), ["b"]);
    let same_key = sample(r#"{"byName":{"a":{"name":"1","note":"n"},"a":{"name":"2"}}}"#);
    assert_eq!(same_key.by_name["a"], Inner { name: "2".to_owned(), note: String::new() });
}

#[test]
fn a_value_of_a_wrong_type_is_refused() {
    for (given, expected) in [
        (r#"{"flag":1}"#, "field `flag`: invalid type: number `1`, expected a boolean"),
        (r#"{"inner":{"name":true}}"#, "field `name`: invalid type: boolean `true`, expected a string"),
        (r#"{"count":1.5}"#, "field `count`: invalid number `1.5`: invalid digit found in string"),
        (
            r#"{"count":2147483648}"#,
            "field `count`: invalid number `2147483648`: number too large to fit in target type",
        ),
        (r#"{"data":"!"}"#, "field `data`: illegal base64 data at input byte 0"),
    ] {
        let mut value = Sample::default();
        assert_eq!(read(&mut value, given), Err(expected.to_owned()), "{given}");
        let tree = serde_json::from_str(given).expect("JSON");
        assert_eq!(from_tree::<Sample>(tree), Err(expected.to_owned()), "{given} as a tree");
    }
    for given in
        [r#"{"inner":[]}"#, r#"{"inners":{}}"#, r#"{"labels":1}"#, r#"{"text":{}}"#, "[]", "", "{", r#"{"a":1} x"#]
    {
        assert!(read(&mut Sample::default(), given).is_err(), "{given}");
    }
}

#[test]
fn a_text_without_end_of_depth_is_refused() {
    let nested = |depth: usize| format!(r#"{{"later":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&mut Sample::default(), &nested(100)), Ok(()));
    assert_eq!(read(&mut Sample::default(), &nested(100_000)), Err("exceeded max depth".to_owned()));
}

#[test]
fn debug_names_every_field() {
    let inner = Inner { name: "a".to_owned(), note: String::new() };
    assert_eq!(format!("{inner:?}"), r#"Inner { name: "a", note: "" }"#);
}

#[test]
fn a_patch_is_merged_as_into_the_tree() {
    // Opaque JSON in a tree: values that no patch changes keep their text, also if a tree would not.
    let full = &FULL.replace(r#"{"b":1.0,"a":[1e3]}"#, r#"{"a":[1000],"b":1}"#);
    let mut kept = sample(FULL);
    merge(&mut kept, json!({"text": "t"})).expect("it fits");
    assert_eq!(kept.raw, sample(FULL).raw);
    for start in ["{}", full] {
        for patch in [
            json!({"text": "t", "flag": null, "count": 0, "big": null, "ratio": 1.5, "share": 3, "later": 1}),
            json!({"share": null, "size": "1Gi", "after": null, "at": null, "exactly": null, "data": null}),
            json!({"share": "1%", "size": null, "at": "2024-01-01T00:00:00Z", "data": "YQ==", "nodeCIDR": null}),
            json!({"raw": {"a": {"x": null, "y": 1}, "b": null}, "tree": {"a": null, "c": {"d": null}}}),
            json!({"raw": null, "tree": 7}),
            json!({"raw": [1, null], "tree": null}),
            json!({"inner": {"note": "n"}, "boxed": {"name": null, "note": "m"}, "omitted": null}),
            json!({"inner": null, "boxed": null, "omitted": {"note": null}}),
            json!({"inners": [{"name": "z"}, {"note": null}], "byName": {"a": {"note": "n"}, "b": null, "c": {"name": null}}}),
            json!({"inners": null, "byName": null, "labels": null}),
            json!({"labels": {"k": null, "a": "b", "none": null}}),
            json!({}),
        ] {
            let mut merged = sample(start);
            merge(&mut merged, patch.clone()).expect("it fits");
            let mut tree = to_tree(&sample(start));
            crate::patch::merge_patch(&mut tree, &patch);
            assert_eq!(merged, from_tree(tree).expect("a sample"), "{patch} into {start}");
        }
    }
    let error = merge(&mut Sample::default(), json!({"inner": {"name": []}})).expect_err("no text");
    assert_eq!(error, "field `name`: invalid type: a scalar is expected");
    assert!(merge(&mut Sample::default(), json!({"labels": []})).is_err());
    assert!(merge(&mut Sample::default(), json!({"inners": {}})).is_err());
}
