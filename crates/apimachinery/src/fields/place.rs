// SPDX-License-Identifier: Apache-2.0
//! The topology of a value at its place in the schema, which defines how it merges.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::path::{Element, Scalar};
use crate::meta::ObjectMeta;
use crate::schema::{Field, Node, Schema as _, Topology};

static STRING: Node = Node::String;
static RAW: Node = Node::Raw;
static META: LazyLock<Node> = LazyLock::new(ObjectMeta::node);

/// Structs that upstream replaces as a whole, wherever they are (`+structType=atomic`).
///
/// Source: k8s.io/api and k8s.io/apimachinery @ v0.32.
const ATOMIC: &[&str] = &[
    "ConfigMapKeySelector",
    "CrossVersionObjectReference",
    "LabelSelector",
    "LocalObjectReference",
    "NodeSelector",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "ObjectReference",
    "ResourceFieldSelector",
    "RoleRef",
    "SecretKeySelector",
    "SecretReference",
    "TopologySelectorTerm",
    "TypedLocalObjectReference",
];

/// A place in a schema.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    node: &'a Node,
    field: Option<&'a Field>,
    is_root: bool,
}

/// Merge behaviour of a value.
#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// A leaf.
    Scalar(&'a Node),
    /// A struct, field by field.
    Struct,
    /// A map, entry by entry.
    Map,
    /// A list whose items are found by their keys.
    Keyed(&'a [&'static str]),
    /// A list whose items are scalars, each at most once.
    Set,
    /// A struct or map that is replaced as a whole.
    AtomicMap,
    /// A list that is replaced as a whole.
    AtomicList,
}

impl<'a> Place<'a> {
    /// Returns the place of a whole object.
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node, field: None, is_root: true }
    }

    fn of(node: &'a Node, field: Option<&'a Field>) -> Self {
        Self { node, field, is_root: false }
    }

    /// Returns the merge behaviour of the value; opaque JSON is classified by its own form.
    pub(super) fn shape(self, value: Option<&Value>) -> Shape<'a> {
        let topology = self.field.map_or(Topology::Default, |field| field.topology);
        match self.node {
            Node::Object(reference) => {
                let schema = reference.get();
                let is_atomic = match topology {
                    Topology::Atomic => true,
                    Topology::Granular => false,
                    _ => schema.package.starts_with("k8s.io/") && ATOMIC.contains(&schema.name),
                };
                if is_atomic { Shape::AtomicMap } else { Shape::Struct }
            }
            Node::Map(_) if topology == Topology::Atomic => Shape::AtomicMap,
            Node::Map(_) => Shape::Map,
            Node::List(_) => self.list(topology),
            Node::Raw => match value {
                Some(Value::Object(_)) => Shape::Map,
                Some(Value::Array(_)) => Shape::AtomicList,
                _ => Shape::Scalar(self.node),
            },
            scalar => Shape::Scalar(scalar),
        }
    }

    fn list(self, topology: Topology) -> Shape<'a> {
        let Some(field) = self.field else { return Shape::AtomicList };
        let merges = field.patch_strategy.is_some_and(|strategy| strategy.split(',').any(|word| word == "merge"));
        match topology {
            Topology::Map if !field.list_map_keys.is_empty() => Shape::Keyed(field.list_map_keys),
            Topology::Map => Shape::Keyed(field.merge_key.as_slice()),
            Topology::Set => Shape::Set,
            Topology::Atomic | Topology::Granular => Shape::AtomicList,
            Topology::Default if merges && field.merge_key.is_some() => Shape::Keyed(field.merge_key.as_slice()),
            Topology::Default if merges => Shape::Set,
            Topology::Default => Shape::AtomicList,
        }
    }

    /// Returns the place of a field or entry, and whether the schema names it; `None`: the schema has no such field.
    pub(super) fn child(self, name: &str) -> Option<(Self, bool)> {
        match self.node {
            Node::Object(reference) => match reference.get().field(name) {
                Some(field) => Some((Self::of(&field.node, Some(field)), true)),
                None if reference.is_open() => self.type_meta(name).or_else(|| Some((Self::of(&RAW, None), false))),
                None => self.type_meta(name),
            },
            Node::Map(values) => Some((Self::of(values, None), false)),
            Node::Raw => {
                if self.is_root && name == "metadata" {
                    return Some((Self::of(&META, None), true));
                }
                self.type_meta(name).or_else(|| Some((Self::of(&RAW, None), false)))
            }
            _ => None,
        }
    }

    fn type_meta(self, name: &str) -> Option<(Self, bool)> {
        (self.is_root && matches!(name, "apiVersion" | "kind")).then_some((Self::of(&STRING, None), true))
    }

    /// Returns the place of an item.
    pub(super) fn item(self) -> Option<Self> {
        match self.node {
            Node::List(items) => Some(Self::of(items, None)),
            _ => None,
        }
    }

    /// Returns the place below an element, and whether the schema names it.
    pub(super) fn step(self, element: &Element) -> Option<(Self, bool)> {
        match element {
            Element::Field(name) => self.child(name),
            _ => self.item().map(|place| (place, false)),
        }
    }
}

/// Returns the element that identifies an item of a list.
///
/// # Errors
/// An item without identity, with upstream's text.
pub(super) fn element_of(shape: Shape<'_>, item: &Value) -> Result<Element, String> {
    let Shape::Keyed(keys) = shape else {
        return match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            scalar => Ok(Element::Value(Scalar(scalar.clone()))),
        };
    };
    let fields: &Map<String, Value> = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found: Vec<(String, Scalar)> = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(value) = value_of(key, fields) else {
            let key = crate::go::quote(key);
            return Err(format!(
                "associative list with keys has an element that omits key field {key} (and doesn't have default value)"
            ));
        };
        found.push(((*key).to_owned(), Scalar(value)));
    }
    found.sort();
    Ok(Element::Key(found))
}

/// Returns the value of a key; the protocol of a port defaults to TCP, the only default of a key.
fn value_of(key: &str, fields: &Map<String, Value>) -> Option<Value> {
    match fields.get(key) {
        Some(value) => Some(value.clone()),
        None if key == "protocol" => Some(Value::from("TCP")),
        None => None,
    }
}

/// True if two values are equal; numbers are compared by value.
pub(super) fn equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(_), Value::Number(_)) => Scalar(one.clone()) == Scalar(two.clone()),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| equal(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(name, value)| two.get(name).is_some_and(|other| equal(value, other)))
        }
        _ => one == two,
    }
}

/// Returns the entries of a map; `None` for `null` and other values.
pub(super) fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// Returns the items of a list; `None` for `null` and other values.
pub(super) fn items(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}
