// SPDX-License-Identifier: Apache-2.0
//! Walks over values by their schema: violations of a configuration, its fields, differences.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::Element;
use super::place::{Place, Shape, element_of, entries, equal, items};
use super::set::Set;
use crate::schema::Node;

/// Maximum length of a path: deeper values, which can only be opaque JSON, belong to one field. Entries nest as deep as
/// their paths, and must stay within the limit of readers ([`crate::decode::MAX_DEPTH`]).
const LONGEST: usize = 64;

/// Differences between two objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Paths that only the new object has.
    pub added: Set,
    /// Paths whose values differ.
    pub modified: Set,
    /// Paths that only the old object has.
    pub removed: Set,
}

impl Changes {
    /// True if there are no differences.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Returns the changes without the unwanted fields of the object.
    #[must_use]
    pub fn retain(&self, wanted: impl Fn(&str) -> bool) -> Self {
        Self {
            added: self.added.retain(&wanted),
            modified: self.modified.retain(&wanted),
            removed: self.removed.retain(&wanted),
        }
    }

    /// Returns the paths that are new or differ.
    pub(super) fn taken(&self) -> Set {
        self.added.union(&self.modified)
    }
}

/// Compares two objects, or the given parts of them: parts that are missing in both are equal.
pub fn compare(old: &Value, new: &Value, schema: &Node) -> Changes {
    let mut comparison = Comparison { path: Vec::new(), changes: Changes::default() };
    comparison.compare(Some(old), Some(new), Place::root(schema));
    comparison.changes
}

struct Comparison {
    path: Vec<Element>,
    changes: Changes,
}

impl Comparison {
    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, place: Place<'_>) {
        if old == new {
            return;
        }
        let (before, after) = (place.shape(old), place.shape(new));
        let differs = std::mem::discriminant(&before) != std::mem::discriminant(&after);
        let is_leaf = match (old, new) {
            // Opaque JSON of another form: old paths below are removed, new ones are added.
            (Some(_), Some(_)) if differs => {
                let was_leaf = self.walk(before, place, old, new);
                let is_leaf = self.walk(after, place, old, new);
                was_leaf || is_leaf
            }
            (_, None) => self.walk(before, place, old, new),
            _ => self.walk(after, place, old, new),
        };
        if !is_leaf {
            match (old, new) {
                (None, _) => self.changes.added.insert(&self.path),
                (_, None) => self.changes.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    /// Compares the values below; returns true if there are no paths below.
    fn walk(&mut self, shape: Shape<'_>, place: Place<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        if self.path.len() >= LONGEST {
            return self.leaf(old, new);
        }
        match shape {
            Shape::Struct | Shape::Map => {
                let (before, after) = (entries(old), entries(new));
                if before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty) {
                    return self.leaf(old, new);
                }
                let names = before.into_iter().chain(after).flat_map(Map::keys);
                let names: BTreeSet<&String> = names.collect();
                for name in names {
                    let (old, new) = (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
                    if old == new {
                        continue;
                    }
                    let Some((child, _)) = place.child(name) else { continue };
                    self.path.push(Element::field(name));
                    self.compare(old, new, child);
                    self.path.pop();
                }
                false
            }
            Shape::Keyed(_) | Shape::Set => {
                let (before, after) = (items(old), items(new));
                if before.is_none_or(Vec::is_empty) && after.is_none_or(Vec::is_empty) {
                    return self.leaf(old, new);
                }
                let Some(item) = place.item() else { return false };
                self.items(shape, item, before.map_or(&[], Vec::as_slice), after.map_or(&[], Vec::as_slice));
                false
            }
            Shape::Scalar(_) | Shape::AtomicMap | Shape::AtomicList => self.leaf(old, new),
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.changes.added.insert(&self.path),
            (_, None) => self.changes.removed.insert(&self.path),
            (Some(old), Some(new)) if !equal(old, new) => self.changes.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    /// Compares lists; duplicate items count as one.
    fn items(&mut self, shape: Shape<'_>, place: Place<'_>, old: &[Value], new: &[Value]) {
        let (before, after) = (by_element(shape, old), by_element(shape, new));
        let elements: BTreeSet<&Element> = before.keys().chain(after.keys()).collect();
        for element in elements {
            let (old, new) = (before.get(element), after.get(element));
            let (old, new) = (old.map_or(&[][..], Vec::as_slice), new.map_or(&[][..], Vec::as_slice));
            self.path.push(element.clone());
            match (old, new) {
                ([] | [_], [] | [_]) => self.compare(old.first().copied(), new.first().copied(), place),
                ([_, _, ..], [_, _, ..]) => {
                    if old != new {
                        self.changes.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], _) => {
                    if let Some(new) = new.first() {
                        self.compare(None, Some(new), place);
                    }
                    self.changes.removed.insert(&self.path);
                }
                (_, _) => {
                    if let Some(old) = old.first() {
                        self.compare(Some(old), None, place);
                    }
                    self.changes.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}

fn by_element<'a>(shape: Shape<'_>, items: &'a [Value]) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut found: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = element_of(shape, item) {
            found.entry(element).or_default().push(item);
        }
    }
    found
}

/// Returns the fields of a configuration, which its applier owns.
pub fn set_of(value: &Value, schema: &Node) -> Set {
    let mut set = Set::default();
    collect(&mut set, &mut Vec::new(), value, Place::root(schema));
    set
}

fn collect(set: &mut Set, path: &mut Vec<Element>, value: &Value, place: Place<'_>) {
    if path.len() >= LONGEST {
        set.insert(path);
        return;
    }
    let shape = place.shape(Some(value));
    match shape {
        Shape::Struct | Shape::Map => {
            for (name, value) in entries(Some(value)).into_iter().flatten() {
                let Some((child, is_named)) = place.child(name) else { continue };
                path.push(Element::field(name));
                collect(set, path, value, child);
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if is_empty || !is_named {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Shape::Keyed(_) | Shape::Set => {
            let Some(item_place) = place.item() else { return };
            for (element, found) in by_element(shape, items(Some(value)).map_or(&[], Vec::as_slice)) {
                path.push(element);
                if let [item] = found.as_slice() {
                    collect(set, path, item, item_place);
                }
                set.insert(path);
                path.pop();
            }
        }
        Shape::Scalar(_) | Shape::AtomicMap | Shape::AtomicList => set.insert(path),
    }
}

/// Returns the violations of the type in a configuration, each with its path, with upstream's text:
/// `.spec.x: field not declared in schema`. Of the unknown fields of one struct only the first is named.
pub fn violations(value: &Value, schema: &Node) -> Vec<String> {
    let mut check = Check { path: Vec::new(), found: Vec::new() };
    check.value(value, Place::root(schema));
    check.found
}

struct Check {
    path: Vec<Element>,
    found: Vec<String>,
}

impl Check {
    fn report(&mut self, message: &str) {
        let path = super::path::text_of(&self.path);
        self.found.push(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") });
    }

    fn value(&mut self, value: &Value, place: Place<'_>) {
        if value.is_null() {
            return;
        }
        match place.shape(Some(value)) {
            Shape::Struct | Shape::Map | Shape::AtomicMap => match value {
                Value::Object(fields) => {
                    for (name, value) in fields {
                        self.path.push(Element::field(name));
                        let child = place.child(name);
                        match child {
                            Some((child, _)) => self.value(value, child),
                            None => self.report("field not declared in schema"),
                        }
                        self.path.pop();
                        if child.is_none() {
                            break;
                        }
                    }
                }
                other => self.report(&format!("expected map, got &{{{}}}", shown(other))),
            },
            Shape::AtomicList => match value {
                Value::Array(items) => {
                    let Some(place) = place.item() else { return };
                    for (index, item) in items.iter().enumerate() {
                        self.path.push(Element::Index(i64::try_from(index).unwrap_or(i64::MAX)));
                        self.value(item, place);
                        self.path.pop();
                    }
                }
                other => self.report(&format!("expected list, got &{{{}}}", shown(other))),
            },
            shape @ (Shape::Keyed(_) | Shape::Set) => match value {
                Value::Array(items) => self.items(items, shape, place),
                other => self.report(&format!("expected list, got &{{{}}}", shown(other))),
            },
            Shape::Scalar(node) => self.scalar(value, node),
        }
    }

    fn items(&mut self, items: &[Value], shape: Shape<'_>, place: Place<'_>) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match element_of(shape, item) {
                Ok(element) => element,
                Err(error) => {
                    self.report(&format!("element {index}: {error}"));
                    return;
                }
            };
            if !seen.insert(element.clone()) {
                self.report(&format!("duplicate entries for key {element}"));
            }
            let Some(place) = place.item() else { return };
            self.path.push(element);
            self.value(item, place);
            self.path.pop();
        }
    }

    fn scalar(&mut self, value: &Value, node: &Node) {
        let go_value = || match value {
            Value::String(text) => crate::go::quote(text),
            other => shown(other),
        };
        match node {
            Node::Integer { .. } | Node::Number if !value.is_number() => {
                let type_ = match value {
                    Value::String(_) => "string",
                    Value::Bool(_) => "bool",
                    Value::Array(_) => "[]interface {}",
                    _ => "map[string]interface {}",
                };
                self.report(&format!("expected numeric (int or float), got {type_}"));
            }
            Node::String | Node::Bytes | Node::Duration if !value.is_string() => {
                self.report(&format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_value()));
            }
            Node::Boolean if !value.is_boolean() => {
                self.report(&format!("expected boolean, got &{{{}}}", shown(value)));
            }
            Node::Quantity | Node::IntOrString | Node::Time | Node::MicroTime
                if value.is_array() || value.is_object() =>
            {
                self.report(&format!("expected any scalar, got &{{{}}}", shown(value)));
            }
            _ => {}
        }
    }
}

/// Formats a value as Go prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => crate::patch::go_text(other),
    }
}
