// SPDX-License-Identifier: Apache-2.0
//! Ownership as documented for server-side apply, and properties of every sequence of writes.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::meta::{ManagedFieldsEntry, ObjectMeta, Time};
use crate::schema::{Field, Node, ObjectRef, ObjectSchema, Schema as _, Topology};

fn list(items: Node) -> Node {
    Node::List(Box::new(items))
}

/// A kind with every topology.
fn schema() -> Node {
    static POOL: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "Pool",
        package: "example.com",
        description: "",
        fields: vec![
            Field::new("name", Node::String),
            Field::new("minimum", Node::Integer { bits: 32, signed: true }),
            Field::new("zones", list(Node::String)),
        ],
    });
    static SPEC: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "Spec",
        package: "example.com",
        description: "",
        fields: vec![
            Field::new("purpose", Node::String),
            Field::new("size", Node::Integer { bits: 32, signed: true }),
            Field {
                merge_key: Some("name"),
                patch_strategy: Some("merge"),
                ..Field::new("pools", list(Node::Object(ObjectRef::Static(|| &POOL))))
            },
            Field {
                topology: Topology::Map,
                list_map_keys: &["name"],
                ..Field::new("keyed", list(Node::Object(ObjectRef::Static(|| &POOL))))
            },
            Field { topology: Topology::Set, ..Field::new("set", list(Node::String)) },
            Field::new("atomic", list(Node::String)),
            Field { topology: Topology::Atomic, ..Field::new("whole", Node::Map(Box::new(Node::String))) },
            Field::new("map", Node::Map(Box::new(Node::String))),
            Field::new("raw", Node::Raw),
        ],
    });
    static ROOT: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "Thing",
        package: "example.com",
        description: "",
        fields: vec![
            Field::new("metadata", ObjectMeta::node()),
            Field::new("spec", Node::Object(ObjectRef::Static(|| &SPEC))),
            Field::new("status", Node::Map(Box::new(Node::String))),
        ],
    });
    Node::Object(ObjectRef::Static(|| &ROOT))
}

fn at(second: i64) -> Time {
    Time(chrono::DateTime::from_timestamp(second, 0).unwrap_or_default())
}

fn writer(manager: &str, second: i64) -> Writer<'_> {
    Writer { manager, api_version: "v1", subresource: "", now: at(second), owns: |name| name != "status" }
}

/// An object with its entries, and the writes to it.
#[derive(Clone, Debug, Default, PartialEq)]
struct World {
    object: Value,
    entries: Vec<ManagedFieldsEntry>,
    second: i64,
}

impl World {
    fn new() -> Self {
        Self { object: json!({"metadata": {}}), entries: Vec::new(), second: 0 }
    }

    fn apply_with(&mut self, manager: &str, spec: &Value, force: bool) -> Result<(), String> {
        self.second += 1;
        let config = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});
        let empty = json!({"metadata": {}});
        let writer = writer(manager, self.second);
        match apply(&empty, &self.object, &config, &self.entries, &schema(), &writer, force) {
            Ok(applied) => {
                if let Some(object) = applied.object {
                    self.object = object;
                }
                self.entries = applied.entries;
                Ok(())
            }
            Err(ApplyError::Conflicts(conflicts)) => Err(conflict_status(&conflicts).message),
            Err(ApplyError::Typed(violations)) => Err(violations.join("\n")),
            Err(ApplyError::Entries(error)) => Err(error),
        }
    }

    #[track_caller]
    fn apply(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.apply_with(manager, &spec, false).expect("no conflict");
        self
    }

    fn update(&mut self, manager: &str, spec: Value) -> &mut Self {
        self.second += 1;
        let mut new = self.object.clone();
        new["spec"] = spec;
        let changes = compare(&self.object, &new, &schema());
        self.entries = update(&self.entries, &changes, &writer(manager, self.second));
        self.object = new;
        self
    }

    /// `manager operation fields`, one for each entry.
    fn owners(&self) -> Vec<String> {
        let fields = |entry: &ManagedFieldsEntry| {
            entry.fields_v1.as_ref().map(|raw| raw.0.text().to_owned()).unwrap_or_default()
        };
        self.entries.iter().map(|entry| format!("{} {} {}", entry.manager, entry.operation, fields(entry))).collect()
    }

    #[track_caller]
    fn expect(&self, spec: &Value, owners: &[&str]) {
        assert_eq!(self.object["spec"], *spec);
        assert_eq!(self.owners(), owners);
    }
}

#[test]
fn an_applier_owns_applied_fields() {
    World::new()
        .apply("one", json!({"purpose": "test", "map": {"a": "b"}, "atomic": ["x"], "whole": {"k": "v"}}))
        .expect(
            &json!({"purpose": "test", "map": {"a": "b"}, "atomic": ["x"], "whole": {"k": "v"}}),
            &[r#"one Apply {"f:spec":{"f:atomic":{},"f:map":{"f:a":{}},"f:purpose":{},"f:whole":{}}}"#],
        );
    World::new().apply("one", json!({"map": {}, "size": null, "raw": {"a": {"b": 1}, "l": [1]}})).expect(
        &json!({"map": {}, "size": null, "raw": {"a": {"b": 1}, "l": [1]}}),
        &[r#"one Apply {"f:spec":{"f:map":{},"f:raw":{"f:a":{".":{},"f:b":{}},"f:l":{}},"f:size":{}}}"#],
    );
}

#[test]
fn items_of_lists_are_found_by_their_keys() {
    let mut world = World::new();
    world.apply("one", json!({"pools": [{"name": "a", "minimum": 1}], "set": ["x"]}));
    world.apply("two", json!({"pools": [{"name": "b", "zones": ["z"]}], "set": ["y"], "keyed": [{"name": "k"}]}));
    world.expect(
        &json!({
            "pools": [{"name": "a", "minimum": 1}, {"name": "b", "zones": ["z"]}], "set": ["x", "y"],
            "keyed": [{"name": "k"}],
        }),
        &[
            r#"one Apply {"f:spec":{"f:pools":{"k:{\"name\":\"a\"}":{".":{},"f:minimum":{},"f:name":{}}},"f:set":{"v:\"x\"":{}}}}"#,
            r#"two Apply {"f:spec":{"f:keyed":{"k:{\"name\":\"k\"}":{".":{},"f:name":{}}},"f:pools":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:zones":{}}},"f:set":{"v:\"y\"":{}}}}"#,
        ],
    );
    // Fields that an applier gives up are removed, unless another manager owns something in them.
    world.apply("two", json!({"pools": [{"name": "a", "minimum": 1}]}));
    world.expect(
        &json!({"pools": [{"name": "a", "minimum": 1}], "set": ["x"]}),
        &[
            r#"one Apply {"f:spec":{"f:pools":{"k:{\"name\":\"a\"}":{".":{},"f:minimum":{},"f:name":{}}},"f:set":{"v:\"x\"":{}}}}"#,
            r#"two Apply {"f:spec":{"f:pools":{"k:{\"name\":\"a\"}":{".":{},"f:minimum":{},"f:name":{}}}}}"#,
        ],
    );
}

#[test]
fn items_are_in_the_order_of_the_configuration() {
    let check = |live: &[&str], config: &[&str], expected: &[&str]| {
        let mut world = World::new();
        world.update("user", json!({"set": live}));
        assert_eq!(world.apply_with("one", &json!({"set": config}), true), Ok(()));
        assert_eq!(world.object["spec"]["set"], json!(expected), "{live:?} and {config:?}");
    };
    check(&["a", "b", "c"], &["d"], &["a", "b", "c", "d"]);
    check(&["a", "b", "c"], &["c", "a"], &["b", "c", "a"]);
    check(&["a", "b", "c"], &["a", "d", "c"], &["a", "b", "d", "c"]);
    check(&["b", "a"], &["a", "b"], &["a", "b"]);
    check(&[], &["a"], &["a"]);
    check(&["a"], &[], &["a"]);
}

#[test]
fn changing_the_field_of_another_manager_is_a_conflict() {
    let mut world = World::new();
    world.apply("one", json!({"purpose": "test", "size": 1, "atomic": ["a"]}));
    let error = world.apply_with("two", &json!({"purpose": "prod"}), false);
    assert_eq!(error, Err("Apply failed with 1 conflict: conflict with \"one\": .spec.purpose".to_owned()));
    world.update("three", json!({"purpose": "test", "size": 2, "atomic": ["a"]}));
    let error = world.apply_with("two", &json!({"purpose": "prod", "size": 3, "atomic": ["a", "b"]}), false);
    let expected = "Apply failed with 3 conflicts: conflicts with \"one\":\n- .spec.atomic\n- .spec.purpose\n\
                    conflicts with \"three\" using v1:\n- .spec.size";
    assert_eq!(error, Err(expected.to_owned()));
    // The same value is shared.
    world.apply("two", json!({"purpose": "test"}));
    assert_eq!(
        world.owners(),
        [
            r#"two Apply {"f:spec":{"f:purpose":{}}}"#,
            r#"one Apply {"f:spec":{"f:atomic":{},"f:purpose":{}}}"#,
            r#"three Update {"f:spec":{"f:size":{}}}"#,
        ]
    );
    // A sharing manager can give the field up without removing it.
    world.apply("two", json!({"map": {"a": "b"}}));
    assert_eq!(world.object["spec"]["purpose"], "test");
}

#[test]
fn force_moves_fields() {
    let mut world = World::new();
    world.apply("one", json!({"purpose": "test", "size": 1}));
    assert_eq!(world.apply_with("two", &json!({"purpose": "prod"}), true), Ok(()));
    world.expect(
        &json!({"purpose": "prod", "size": 1}),
        &[r#"one Apply {"f:spec":{"f:size":{}}}"#, r#"two Apply {"f:spec":{"f:purpose":{}}}"#],
    );
}

#[test]
fn updates_take_over_and_the_oldest_become_one() {
    let mut world = World::new();
    world.apply("one", json!({"map": {"a": "1"}}));
    for number in 0..12 {
        let mut spec = world.object["spec"].clone();
        spec["map"][format!("k{number:02}")] = json!("v");
        world.update(&format!("m{number:02}"), spec);
    }
    let owners = world.owners();
    assert_eq!(owners.len(), 11, "{owners:#?}");
    assert_eq!(owners[0], r#"one Apply {"f:spec":{"f:map":{"f:a":{}}}}"#);
    assert_eq!(owners[1], r#"ancient-changes Update {"f:spec":{"f:map":{"f:k00":{},"f:k01":{},"f:k02":{}}}}"#);
    world.update("last", json!({"map": {"a": "2"}}));
    assert_eq!(world.owners(), [r#"last Update {"f:spec":{"f:map":{"f:a":{}}}}"#]);
}

#[test]
fn fields_before_the_first_apply_get_a_manager() {
    let mut world = World { object: json!({"metadata": {}, "spec": {"purpose": "test", "size": 1}}), ..World::new() };
    let error = world.apply_with("one", &json!({"purpose": "prod"}), false);
    let expected = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .spec.purpose";
    assert_eq!(error, Err(expected.to_owned()));
    world.apply("one", json!({"size": 1}));
    assert_eq!(
        world.owners(),
        [
            r#"one Apply {"f:spec":{"f:size":{}}}"#,
            r#"before-first-apply Update {"f:spec":{".":{},"f:purpose":{},"f:size":{}}}"#,
        ]
    );
}

#[test]
fn a_configuration_must_be_of_the_type() {
    let check = |spec: Value, expected: &str| {
        assert_eq!(World::new().apply_with("one", &spec, false), Err(expected.to_owned()));
    };
    check(json!({"bogus": 1}), ".spec.bogus: field not declared in schema");
    check(json!({"pools": [{"name": "w", "x": 1}]}), ".spec.pools[name=\"w\"].x: field not declared in schema");
    check(json!({"pools": [{"name": "w"}, {"name": "w"}]}), ".spec.pools: duplicate entries for key [name=\"w\"]");
    check(
        json!({"pools": [{"minimum": 1}]}),
        ".spec.pools: element 0: associative list with keys has an element that omits key field \"name\" (and doesn't have \
         default value)",
    );
    check(json!({"set": ["a", "a"]}), ".spec.set: duplicate entries for key [=\"a\"]");
    check(json!({"size": "1"}), ".spec.size: expected numeric (int or float), got string");
    check(json!({"purpose": 1}), ".spec.purpose: expected string, got &value.valueUnstructured{Value:1}");
    check(json!({"map": [1]}), ".spec.map: expected map, got &{[1]}");
    check(json!({"atomic": "a"}), ".spec.atomic: expected list, got &{a}");
}

#[test]
fn very_deep_values_are_one_field() {
    let nested = |depth: usize, end: Value| (0..depth).fold(end, |inner, _| json!({"a": inner}));
    let mut world = World::new();
    world.apply("one", json!({"raw": nested(90, json!(1))}));
    let text = world.owners().concat();
    assert_eq!(text.matches("f:a").count(), 62, "the rest of the path is `spec.raw`");
    world.update("two", json!({"raw": nested(90, json!(2))}));
    assert_eq!(world.owners().len(), 2);
    assert_eq!(world.apply_with("one", &json!({"raw": nested(90, json!(3))}), true), Ok(()));
    assert_eq!(world.apply_with("one", &json!({"size": 1}), false), Ok(()));
    assert_eq!(world.object["spec"], json!({"size": 1}));
}

#[test]
fn invalid_entries_are_refused() {
    let entry = ManagedFieldsEntry {
        manager: "m".to_owned(),
        operation: "Update".to_owned(),
        api_version: "v1".to_owned(),
        fields_type: "FieldsV1".to_owned(),
        fields_v1: Some(json!({"f:a": {}}).into()),
        ..ManagedFieldsEntry::default()
    };
    assert_eq!(decode(std::slice::from_ref(&entry)), Ok(vec![entry.clone()]));
    let refused = |change: fn(&mut ManagedFieldsEntry)| {
        let mut changed = entry.clone();
        change(&mut changed);
        assert!(decode(&[changed]).is_err());
    };
    refused(|entry| "Patch".clone_into(&mut entry.operation));
    refused(|entry| entry.api_version.clear());
    refused(|entry| entry.fields_type.clear());
    refused(|entry| "FieldsV2".clone_into(&mut entry.fields_type));
    refused(|entry| entry.fields_v1 = Some(json!({"a": 1}).into()));
    let other = ManagedFieldsEntry { time: Some(at(5)), ..entry.clone() };
    assert!(differ_in_time_only(std::slice::from_ref(&entry), std::slice::from_ref(&other)));
    assert!(!differ_in_time_only(std::slice::from_ref(&entry), std::slice::from_ref(&entry)));
}

/// Configurations, small enough that managers share fields. Nothing in them is empty: an empty list or map is not a
/// field of its own once an object was converted to its type.
fn spec() -> impl Strategy<Value = Value> {
    let text = || prop::sample::select(vec!["x", "y"]);
    let some = |name: &'static str, value: BoxedStrategy<Value>| prop::option::of(value).prop_map(move |it| (name, it));
    let pools = prop::collection::btree_map(text(), prop::option::of(0..2_i32), 1..3).prop_map(|pools| {
        let pool = |(name, minimum): (&str, Option<i32>)| match minimum {
            Some(minimum) => json!({"name": name, "minimum": minimum}),
            None => json!({"name": name}),
        };
        Value::Array(pools.into_iter().map(pool).collect())
    });
    let fields = (
        some("purpose", text().prop_map(Value::from).boxed()),
        some("size", (0..2_i32).prop_map(Value::from).boxed()),
        some("pools", pools.boxed()),
        some("set", prop::collection::btree_set(text(), 1..3).prop_map(|set| json!(set)).boxed()),
        some("map", prop::collection::btree_map(text(), text(), 1..3).prop_map(|map| json!(map)).boxed()),
        some("atomic", prop::collection::vec(text(), 1..3).prop_map(|list| json!(list)).boxed()),
    );
    let specs = fields.prop_map(|(a, b, c, d, e, f)| {
        let present = [a, b, c, d, e, f].into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(present.collect())
    });
    specs.prop_filter("nothing in it", |spec| spec.as_object().is_some_and(|fields| !fields.is_empty()))
}

/// One write: manager, operation, specification.
fn write() -> impl Strategy<Value = (usize, bool, Value)> {
    (0..3_usize, any::<bool>(), spec())
}

const NAMES: [&str; 3] = ["one", "two", "three"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn an_apply_is_idempotent(writes in prop::collection::vec(write(), 0..5), last in spec()) {
        let mut world = World::new();
        for (manager, is_apply, spec) in writes {
            if is_apply {
                world.apply_with(NAMES[manager], &spec, true).expect("force");
            } else {
                world.update(NAMES[manager], spec);
            }
        }
        world.apply_with("one", &last, true).expect("force");
        let once = world.clone();
        world.apply_with("one", &last, false).expect("no conflict after a forced apply");
        prop_assert_eq!((&once.object, &once.entries), (&world.object, &world.entries));
    }

    #[test]
    fn every_field_of_the_last_configuration_is_the_appliers(writes in prop::collection::vec(write(), 1..6)) {
        let mut world = World::new();
        for (manager, _, spec) in writes {
            world.apply_with(NAMES[manager], &spec, true).expect("force");
            let config = json!({"spec": spec});
            let expected = set_of(&config, &schema());
            let entry = world.entries.iter().find(|entry| entry.manager == NAMES[manager]);
            let owned = entry.and_then(|entry| entry.fields_v1.as_ref()).map_or_else(Set::default, |raw| {
                Set::from_fields_v1(raw.0.text()).expect("a set")
            });
            prop_assert_eq!(&owned, &expected);
            // No manager owns missing fields.
            let all = set_of(&world.object, &schema());
            for path in owned.paths() {
                prop_assert!(all.has(&path) || !expected.has(&path), "{}", text_of(&path));
            }
        }
    }

    #[test]
    fn appliers_of_different_fields_commute(one in spec(), two in spec()) {
        let (one, mut two) = (one, two);
        if let Some(fields) = two.as_object_mut() {
            fields.retain(|name, _| one.get(name).is_none());
        }
        prop_assume!(two.as_object().is_some_and(|fields| !fields.is_empty()));
        let mut first = World::new();
        first.apply("one", one.clone()).apply("two", two.clone());
        let mut second = World::new();
        second.apply("two", two).apply("one", one);
        prop_assert_eq!(&first.object, &second.object);
        let sorted = |world: &World| {
            let mut owners = world.owners();
            owners.sort();
            owners
        };
        prop_assert_eq!(sorted(&first), sorted(&second));
    }

    #[test]
    fn the_last_writer_of_a_field_owns_it(writes in prop::collection::vec((0..3_usize, spec()), 1..6)) {
        let mut world = World::new();
        for (manager, spec) in writes {
            let before = world.object.clone();
            world.update(NAMES[manager], spec);
            let changes = compare(&before, &world.object, &schema());
            for entry in &world.entries {
                let text = entry.fields_v1.as_ref().map_or("{}", |raw| raw.0.text());
                let set = Set::from_fields_v1(text).expect("a set");
                let is_own = entry.manager == NAMES[manager];
                for path in changes.added.union(&changes.modified).paths() {
                    prop_assert_eq!(set.has(&path), is_own, "{}", text_of(&path));
                }
                prop_assert!(set.intersection(&changes.removed).is_empty());
            }
        }
    }

    #[test]
    fn fields_v1_round_trips(spec in spec()) {
        let set = set_of(&json!({"spec": spec}), &schema());
        prop_assert_eq!(Set::from_fields_v1(&set.to_fields_v1()), Ok(set));
    }
}
