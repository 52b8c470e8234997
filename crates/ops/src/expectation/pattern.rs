// SPDX-License-Identifier: Apache-2.0
//! Partial trees of objects: `matches`.
//!
//! | expected | found |
//! | --- | --- |
//! | `null` | the field is missing |
//! | map | has these entries, and perhaps others |
//! | list whose items have a merge key (`conditions` by `type`) | has these items, by their keys |
//! | other list | is equal |
//! | scalar | is equal after decoding by the kind's schema: quantities, instants, durations and IntOrString by value |
//!
//! A missing field that Go would omit for its zero value (`readyReplicas: 0`) has that value.

use std::str::FromStr;
use std::sync::LazyLock;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::decode;
use apimachinery::meta::{Duration, Quantity};
use apimachinery::schema::{Emit, Field, Node, ObjectRef, ObjectSchema};
use chrono::{DateTime, FixedOffset};
use serde_json::{Map, Value};

use super::cursor::{Cursor, type_of};
use crate::Error;
use crate::history::changes::short;
use crate::spelling::nearest;

/// Maximum length of a value in a difference.
const VALUE: usize = 200;

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// An expected tree.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// The value is missing or null.
    Absent,
    /// Fields or entries that the value has, too.
    Fields(Vec<Child>),
    /// Items that the list has, too, by their keys.
    Items(Vec<Item>),
    /// This value.
    Equal(Value, Node),
}

/// An expected field or entry.
#[derive(Clone, Debug)]
pub(super) struct Child {
    name: String,
    pattern: Pattern,
    /// Value of a missing field in a present object; `None`: it is absent.
    zero: Option<Value>,
}

/// An expected item of a list.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Fields that identify the item, with their values.
    keys: Vec<(&'static str, Value, Node)>,
    pattern: Pattern,
}

/// Attributes of a field for its items and unknown fields.
#[derive(Clone, Copy, Debug, Default)]
struct FieldFacts {
    /// Merge keys of the items; empty: the list is compared as a whole.
    keys: &'static [&'static str],
    merge_key: Option<&'static str>,
    /// True if unknown fields below are kept.
    is_open: bool,
}

impl FieldFacts {
    fn of(field: &Field) -> Self {
        Self { keys: field.list_map_keys, merge_key: field.merge_key, is_open: field.preserve_unknown }
    }

    fn merge_keys(&self) -> impl Iterator<Item = &'static str> {
        let other = self.merge_key.filter(|_| self.keys.is_empty());
        self.keys.iter().copied().chain(other)
    }
}

impl Pattern {
    /// Reads the expected tree of an object of a kind.
    ///
    /// # Errors
    /// The kind has no such field, or a value is of another type.
    pub(super) fn read(cursor: Cursor<'_>, row: &ResourceInfo) -> Result<Self, Error> {
        let node = row.node();
        let Node::Object(reference) = &node else { return Self::of_raw(cursor) };
        let mut children = Vec::new();
        for (name, value) in cursor.entries("`matches`")? {
            if matches!(name, "apiVersion" | "kind") {
                children.push(Child::of(name, Self::of(value, &Node::String, FieldFacts::default(), name)?));
            } else {
                children.push(Child::of_field(reference, false, name, value, "", row.kind)?);
            }
        }
        Ok(Self::Fields(children))
    }

    fn of(cursor: Cursor<'_>, node: &Node, facts: FieldFacts, path: &str) -> Result<Self, Error> {
        if cursor.value.is_null() {
            return Ok(Self::Absent);
        }
        match node {
            Node::Raw => Self::of_raw(cursor),
            Node::Object(reference) => {
                let entries = cursor.entries(&format!("`{path}`"))?.into_iter();
                let owner = reference.get().name;
                let child = |(name, value)| Child::of_field(reference, facts.is_open, name, value, path, owner);
                Ok(Self::Fields(entries.map(child).collect::<Result<_, _>>()?))
            }
            Node::Map(values) => {
                let child = |(name, value): (&str, Cursor<'_>)| {
                    let facts = FieldFacts { is_open: facts.is_open, ..FieldFacts::default() };
                    Ok(Child::of(name, Self::of(value, values, facts, &format!("{path}.{name}"))?))
                };
                let entries = cursor.entries(&format!("`{path}`"))?.into_iter();
                Ok(Self::Fields(entries.map(child).collect::<Result<_, Error>>()?))
            }
            Node::List(items) => match items.as_object().filter(|_| facts.merge_keys().next().is_some()) {
                Some(schema) => Self::of_items(cursor, items, schema, facts, path),
                None => Self::of_value(cursor, node, path),
            },
            _ => Self::of_value(cursor, node, path),
        }
    }

    /// Reads a tree without a schema.
    fn of_raw(cursor: Cursor<'_>) -> Result<Self, Error> {
        match cursor.value {
            Value::Null => Ok(Self::Absent),
            Value::Object(_) => {
                let entries = cursor.entries("")?.into_iter();
                let children = entries.map(|(name, value)| Ok(Child::of(name, Self::of_raw(value)?)));
                Ok(Self::Fields(children.collect::<Result<_, Error>>()?))
            }
            value => Ok(Self::Equal(value.clone(), Node::Raw)),
        }
    }

    fn of_items(
        cursor: Cursor<'_>,
        node: &Node,
        schema: &'static ObjectSchema,
        facts: FieldFacts,
        path: &str,
    ) -> Result<Self, Error> {
        let mut items = Vec::new();
        for (index, item) in cursor.items(&format!("`{path}`"))?.into_iter().enumerate() {
            let path = format!("{path}[{index}]");
            let pattern = Self::of(item, node, FieldFacts { is_open: facts.is_open, ..FieldFacts::default() }, &path)?;
            let key = |name: &'static str| {
                let node = schema.field(name)?.node.clone();
                Some((name, item.value.get(name).filter(|value| !value.is_null())?.clone(), node))
            };
            let keys: Vec<_> = facts.merge_keys().filter_map(key).collect();
            if keys.is_empty() {
                let names: Vec<&str> = facts.merge_keys().collect();
                let what = format!("`{path}` has no `{}`, by which it is found", names.join("` or `"));
                return Err(item.refuse(what, ""));
            }
            items.push(Item { keys, pattern });
        }
        Ok(Self::Items(items))
    }

    /// Reads a value that is compared as a whole.
    fn of_value(cursor: Cursor<'_>, node: &Node, path: &str) -> Result<Self, Error> {
        let expected = name_of(node);
        let is_list = matches!(node, Node::List(_)) && cursor.value.is_array();
        match decode::tree(cursor.value.clone(), node) {
            Err(_) if is_list => Err(cursor.refuse(format!("`{path}` is not {expected} of {}", items_of(node)), "")),
            Err(_) if type_of(cursor.value) == "a text" => {
                Err(cursor.refuse(format!("`{path}` is {}, expected {expected}", cursor.value), ""))
            }
            Err(_) => Err(cursor.mismatch(&format!("`{path}`"), expected)),
            Ok(decoded) => match decoded.strict.first() {
                Some(unknown) => Err(cursor.refuse(format!("`{path}`: {unknown}"), "")),
                None => Ok(Self::Equal(decoded.tree, node.clone())),
            },
        }
    }

    /// Adds the differences of a found value, each as `PATH: expected X, is Y`.
    pub(super) fn differences(&self, found: Option<&Value>, path: &str, into: &mut Vec<String>) {
        let found = found.filter(|found| !found.is_null());
        match self {
            Self::Absent => {
                if let Some(found) = found {
                    into.push(format!("{path}: expected none, is {}", short(found, VALUE)));
                }
            }
            Self::Fields(children) => {
                let map = match found {
                    Some(Value::Object(map)) => map,
                    Some(other) => {
                        return into.push(format!("{path}: expected a map, is {}", short(other, VALUE)));
                    }
                    None if children.is_empty() => return into.push(format!("{path}: expected {{}}, is absent")),
                    None => &NOTHING,
                };
                for Child { name, pattern, zero } in children {
                    let value = map.get(name).filter(|value| !value.is_null());
                    let value = value.or_else(|| zero.as_ref().filter(|_| found.is_some()));
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    // The zero value of a field is absent, too.
                    let value = if matches!(pattern, Self::Absent) { map.get(name) } else { value };
                    pattern.differences(value, &path, into);
                }
            }
            Self::Items(items) => {
                let list = match found {
                    Some(Value::Array(list)) => list.as_slice(),
                    Some(other) => {
                        return into.push(format!("{path}: expected a list, is {}", short(other, VALUE)));
                    }
                    None => &[],
                };
                for item in items {
                    item.differences(list, path, into);
                }
            }
            Self::Equal(expected, node) => {
                if !found.is_some_and(|found| is_equal(node, expected, found)) {
                    let is = found.map_or_else(|| "absent".to_owned(), |found| short(found, VALUE));
                    into.push(format!("{path}: expected {}, is {is}", short(expected, VALUE)));
                }
            }
        }
    }
}

impl Child {
    /// An entry of a map, or a field without a zero value.
    fn of(name: &str, pattern: Pattern) -> Self {
        Self { name: name.to_owned(), pattern, zero: None }
    }

    fn of_field(
        parent: &ObjectRef,
        is_open: bool,
        name: &str,
        value: Cursor<'_>,
        path: &str,
        owner: &str,
    ) -> Result<Self, Error> {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let schema = parent.get();
        let Some(field) = schema.field(name) else {
            if is_open || parent.is_open() {
                return Ok(Self::of(name, Pattern::of_raw(value)?));
            }
            let hint = nearest(name, schema.fields.iter().map(|field| field.name));
            return Err(value.refuse(format!("{owner} has no field `{path}`"), hint));
        };
        let facts = FieldFacts { is_open: is_open || field.preserve_unknown, ..FieldFacts::of(field) };
        let pattern = Pattern::of(value, &field.node, facts, &path)?;
        let zero = if field.emit == Emit::Pointer { None } else { zero_of(&field.node) };
        Ok(Self { name: name.to_owned(), pattern, zero })
    }
}

impl Item {
    /// Adds the differences of the best of the items with the keys.
    fn differences(&self, list: &[Value], path: &str, into: &mut Vec<String>) {
        let keys: Vec<String> = self.keys.iter().map(|(_, value, _)| short(value, VALUE)).collect();
        let path = format!("{path}[{}]", keys.join(","));
        let has_keys = |item: &&Value| {
            self.keys
                .iter()
                .all(|(name, expected, node)| item.get(*name).is_some_and(|found| is_equal(node, expected, found)))
        };
        let of = |item: &Value| {
            let mut differences = Vec::new();
            self.pattern.differences(Some(item), &path, &mut differences);
            differences
        };
        match list.iter().filter(has_keys).map(of).min_by_key(Vec::len) {
            Some(differences) => into.extend(differences),
            None => into.push(format!("{path}: expected, is absent")),
        }
    }
}

/// Value of a missing field that is not a pointer in Go; `None`: an instant, or JSON of any shape.
fn zero_of(node: &Node) -> Option<Value> {
    Some(match node {
        Node::Object(_) | Node::Map(_) => Value::Object(Map::new()),
        Node::List(_) => Value::Array(Vec::new()),
        Node::String | Node::Bytes => Value::String(String::new()),
        Node::Boolean => Value::Bool(false),
        Node::Integer { .. } | Node::Number | Node::IntOrString => Value::from(0),
        Node::Quantity => Value::String("0".to_owned()),
        Node::Duration => Value::String("0s".to_owned()),
        Node::Time | Node::MicroTime | Node::Raw => return None,
    })
}

/// True if two values of a type are equal.
fn is_equal(node: &Node, expected: &Value, found: &Value) -> bool {
    match (node, expected, found) {
        (Node::List(node), Value::Array(expected), Value::Array(found)) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(expected, found)| is_equal(node, expected, found))
        }
        (Node::Object(reference), Value::Object(expected), Value::Object(found)) => {
            let schema = reference.get();
            let names = expected.keys().chain(found.keys().filter(|name| !expected.contains_key(*name)));
            names.into_iter().all(|name| {
                let field = schema.field(name);
                let node = field.map_or(&Node::Raw, |field| &field.node);
                let zero = field.filter(|field| field.emit != Emit::Pointer).and_then(|field| zero_of(&field.node));
                let of = |map: &Map<String, Value>| {
                    map.get(name).filter(|value| !value.is_null()).cloned().or_else(|| zero.clone())
                };
                match (of(expected), of(found)) {
                    (Some(expected), Some(found)) => is_equal(node, &expected, &found),
                    (expected, found) => expected.is_none() && found.is_none(),
                }
            })
        }
        (Node::Map(node), Value::Object(expected), Value::Object(found)) => {
            let is_there = |(name, expected): (&String, &Value)| {
                found.get(name).is_some_and(|found| is_equal(node, expected, found))
            };
            expected.len() == found.len() && expected.iter().all(is_there)
        }
        (Node::Quantity, ..) => is_same(expected, found, |text| Quantity::from_str(text).ok()),
        (Node::Duration, ..) => is_same(expected, found, |text| Duration::from_str(text).ok()),
        (Node::Time | Node::MicroTime, ..) => is_same(expected, found, instant),
        (Node::IntOrString, ..) => text_of(expected) == text_of(found),
        (_, Value::Number(expected), Value::Number(found)) => {
            expected == found || expected.as_f64() == found.as_f64() && !(expected.is_i64() && found.is_i64())
        }
        (Node::Raw, Value::Array(expected), Value::Array(found)) => {
            let mut pairs = expected.iter().zip(found);
            expected.len() == found.len() && pairs.all(|(expected, found)| is_equal(node, expected, found))
        }
        (Node::Raw, Value::Object(expected), Value::Object(found)) => {
            let is_there = |(name, expected): (&String, &Value)| {
                found.get(name).is_some_and(|found| is_equal(node, expected, found))
            };
            expected.len() == found.len() && expected.iter().all(is_there)
        }
        _ => expected == found,
    }
}

/// True if two values are equal after parsing, or as they are if one cannot be parsed.
fn is_same<T: PartialEq>(expected: &Value, found: &Value, parse: impl Fn(&str) -> Option<T>) -> bool {
    match (parse(&text_of(expected)), parse(&text_of(found))) {
        (Some(expected), Some(found)) => expected == found,
        _ => expected == found,
    }
}

fn instant(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok()
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Name of a type in messages.
fn name_of(node: &Node) -> &'static str {
    match node {
        Node::Object(_) | Node::Map(_) => "a map",
        Node::List(_) => "a list",
        Node::String => "a text",
        Node::Boolean => "true or false",
        Node::Integer { .. } => "a whole number",
        Node::Number => "a number",
        Node::IntOrString => "a whole number or a text",
        Node::Quantity => "a quantity as 500m or 2Gi",
        Node::Duration => "a duration as 1h30m",
        Node::Time | Node::MicroTime => "an instant as 2025-01-31T10:00:00Z",
        Node::Bytes => "base64",
        Node::Raw => "any value",
    }
}

/// Name of the type of a list's items in messages.
fn items_of(node: &Node) -> &'static str {
    match node {
        Node::List(items) => name_of(items),
        _ => name_of(node),
    }
}
