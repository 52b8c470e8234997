// SPDX-License-Identifier: Apache-2.0
//! Merging of a configuration into an object, and removal of paths from an object.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::path::Element;
use super::place::{Place, Shape, element_of, entries, items};
use super::set::Set;
use crate::schema::Node;

/// Merges a configuration into an object: maps are merged by entry, lists by their items' keys.
///
/// Items are in the configuration's order; those that only the object has keep their place relative to their neighbours.
pub(super) fn merged(live: &Value, config: &Value, schema: &Node) -> Value {
    merge(Some(live), Some(config), Place::root(schema)).unwrap_or(Value::Null)
}

fn merge(live: Option<&Value>, config: Option<&Value>, place: Place<'_>) -> Option<Value> {
    let leaf = || config.or(live).cloned();
    let shape = match config {
        Some(_) => place.shape(config),
        None => place.shape(live),
    };
    match shape {
        Shape::Struct | Shape::Map => {
            let (before, after) = (entries(live), entries(config));
            if before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty) {
                return leaf();
            }
            let mut out = Map::new();
            let names: BTreeSet<&String> = before.into_iter().chain(after).flat_map(Map::keys).collect();
            for name in names {
                let (live, config) = (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
                let value = match place.child(name) {
                    Some((child, _)) => merge(live, config, child),
                    None => config.or(live).cloned(),
                };
                if let Some(value) = value {
                    out.insert(name.clone(), value);
                }
            }
            Some(Value::Object(out))
        }
        Shape::Keyed(_) | Shape::Set => {
            let (before, after) = (items(live), items(config));
            if before.is_none_or(Vec::is_empty) && after.is_none_or(Vec::is_empty) {
                return leaf();
            }
            let item = place.item()?;
            let (before, after) = (before.map_or(&[][..], Vec::as_slice), after.map_or(&[][..], Vec::as_slice));
            Some(Value::Array(merge_items(before, after, shape, item)))
        }
        Shape::Scalar(_) | Shape::AtomicMap | Shape::AtomicList => leaf(),
    }
}

/// Returns items with their identity; those without one are left out.
fn identified<'a>(list: &'a [Value], shape: Shape<'_>) -> Vec<(Element, &'a Value)> {
    list.iter().filter_map(|item| Some((element_of(shape, item).ok()?, item))).collect()
}

/// Walks through both lists at once, as upstream does: an item of both takes the place that the configuration's order
/// gives it among the items of both.
fn merge_items(live: &[Value], config: &[Value], shape: Shape<'_>, place: Place<'_>) -> Vec<Value> {
    let (left, right) = (identified(live, shape), identified(config, shape));
    let mut of_live: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, item) in &left {
        // Duplicate items are not merged.
        of_live.entry(element).and_modify(|known| *known = None).or_insert(Some(item));
    }
    let of_config: BTreeSet<&Element> = right.iter().map(|(element, _)| element).collect();
    let mut shared: VecDeque<&Element> =
        right.iter().map(|(element, _)| element).filter(|element| of_live.contains_key(element)).collect();
    let mut taken: BTreeSet<&Element> = BTreeSet::new();
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let take = |out: &mut Vec<Value>, element: &Element, config: &Value| {
        let live = of_live.get(element).copied().flatten();
        out.extend(merge(live, Some(config), place));
    };
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((element, _)), Some((wanted, item))) = (left.get(l), right.get(r)) {
            if element == wanted {
                taken.insert(wanted);
                take(&mut out, wanted, item);
                l += 1;
                r += 1;
                shared.pop_front();
                continue;
            }
            if of_config.contains(element) && shared.front().is_some_and(|next| *next != element) {
                l += 1;
                continue;
            }
        }
        if let Some((element, item)) = left.get(l) {
            if !of_config.contains(element) {
                out.push((*item).clone());
                l += 1;
                continue;
            }
            if taken.contains(element) {
                l += 1;
            }
        }
        if let Some((wanted, item)) = right.get(r) {
            taken.insert(wanted);
            take(&mut out, wanted, item);
            r += 1;
            if shared.front() == Some(&wanted) {
                shared.pop_front();
            }
        }
    }
    out
}

/// Returns the object without these paths and everything below them. A struct, map or list that becomes empty is `null`.
pub(super) fn without(value: &Value, paths: &Set, schema: &Node) -> Value {
    remove(value, paths, Place::root(schema))
}

fn remove(value: &Value, paths: &Set, place: Place<'_>) -> Value {
    let shape = place.shape(Some(value));
    match (shape, value) {
        (Shape::Struct | Shape::Map, Value::Object(fields)) => {
            let mut out = Map::new();
            for (name, value) in fields {
                let element = Element::field(name);
                if paths.has_element(&element) {
                    continue;
                }
                let kept = match (paths.below(&element), place.child(name)) {
                    (Some(below), Some((child, _))) => remove(value, below, child),
                    _ => value.clone(),
                };
                out.insert(name.clone(), kept);
            }
            if out.is_empty() { Value::Null } else { Value::Object(out) }
        }
        (Shape::Keyed(_) | Shape::Set, Value::Array(items)) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let Ok(element) = element_of(shape, item) else {
                    out.push(item.clone());
                    continue;
                };
                if paths.has_element(&element) {
                    continue;
                }
                out.push(match (paths.below(&element), place.item()) {
                    (Some(below), Some(place)) => remove(item, below, place),
                    _ => item.clone(),
                });
            }
            if out.is_empty() { Value::Null } else { Value::Array(out) }
        }
        (Shape::AtomicMap | Shape::AtomicList, _) if !paths.is_empty() => Value::Null,
        _ => value.clone(),
    }
}

/// Adds every struct field to the set that has paths of the set below it.
pub(super) fn with_named_parents(set: &Set, schema: &Node) -> Set {
    set.with_parents(Place::root(schema), &|place: Place<'_>, element| place.step(element))
}
