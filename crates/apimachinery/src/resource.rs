// SPDX-License-Identifier: Apache-2.0
//! The traits of kinds, and the names of kinds and resources.

use std::fmt;

use serde::de::Error as _;
use serde_json::{Map, Value};

use crate::encode::{Body, changed_sections};
use crate::meta::ObjectMeta;
use crate::schema::{Node, Schema};
use crate::wire::{self, Fields, Wire};

/// A typed kind: metadata and the names under which it is served.
///
/// The struct has no `apiVersion` and `kind`: [`crate::encode`] writes them from these constants.
pub trait Resource: Clone + fmt::Debug + Default + PartialEq + Fields + Schema + Send + Sync + 'static {
    /// API group; empty for the core group.
    const GROUP: &'static str;
    /// API version within the group, `v1beta1`.
    const VERSION: &'static str;
    /// Kind, `Shoot`.
    const KIND: &'static str;
    /// Plural resource name, `shoots`.
    const PLURAL: &'static str;
    /// True if objects have a namespace.
    const NAMESPACED: bool;

    /// Returns `metadata` of the object.
    fn metadata(&self) -> &ObjectMeta;
    /// Returns `metadata` for changes.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Returns `group/version`, or `version` for the core group.
    fn api_version() -> String {
        group_version(Self::GROUP, Self::VERSION)
    }

    /// Decodes an object as it is served; `apiVersion` and `kind` are ignored.
    ///
    /// # Errors
    /// Bytes that were not written by a server of this kind.
    fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut object = Self::default();
        read_into(&mut object, bytes)?;
        Ok(object)
    }
}

/// Decodes bytes into a new value.
///
/// # Errors
/// Bytes that are not UTF-8 or not JSON, or hold a value of a wrong type.
pub fn read_into(value: &mut dyn Wire, bytes: &[u8]) -> Result<(), serde_json::Error> {
    // Checking the whole text once is much cheaper than checking every string of it.
    let text = std::str::from_utf8(bytes).map_err(serde_json::Error::custom)?;
    wire::read(value, text).map_err(serde_json::Error::custom)
}

/// Returns `group/version`, or `version` for the core group.
pub fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Operations of a server on an object without its type: implemented for every [`Resource`] and for [`crate::DynamicObject`].
pub trait Object: Clone + fmt::Debug + Send + Sync + 'static {
    /// True if opaque JSON keeps the client's text, as in Go's structs; otherwise keys are sorted, as in Go's maps,
    /// which hold the kinds of CustomResourceDefinitions.
    const KEEPS_OPAQUE: bool;
    /// Returns `metadata` of the object.
    fn metadata(&self) -> &ObjectMeta;
    /// Returns `metadata` for changes.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    /// Creates an object from a tree that [`crate::decode`] has pruned and checked.
    ///
    /// # Errors
    /// Only for a tree that was not checked by the type's schema.
    fn from_tree(tree: Value) -> Result<Self, serde_json::Error>;
    /// Decodes an object as it is served.
    ///
    /// # Errors
    /// Bytes that were not written by a server of this kind.
    fn from_served(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Self::from_tree(serde_json::from_slice(bytes)?)
    }
    /// Copies every top-level field from an older object, including metadata, except those with these names; `false` if
    /// the type does not support single fields, and nothing was copied.
    fn keep_fields(&mut self, old: &Self, except: &[&str]) -> bool;
    /// Merges a merge patch that [`crate::decode::merge_patch`] has pruned and checked; `apiVersion` and `kind` in it
    /// are ignored. `schema`: that of an object whose zeros are left out like Go's, if its type does not do that by
    /// itself.
    ///
    /// # Errors
    /// Only for a patch that was not checked by the type's schema.
    fn merge(&mut self, patch: Value, schema: Option<&Node>) -> Result<(), serde_json::Error>;
    /// Returns the object as a tree, with `apiVersion` and `kind`.
    fn to_tree(&self) -> Value;
    /// Returns the object as a tree, like [`Object::to_tree`], without the long `metadata.managedFields`, which few callers need.
    fn to_tree_without_entries(&self) -> Value;
    /// Returns some of the top-level fields as trees, metadata without `managedFields`.
    fn trees_of(&self, names: &[&str]) -> Map<String, Value>;
    /// Returns the top-level fields in which an object differs from an older one, as trees without anything else and
    /// without `metadata.managedFields`.
    fn differing_trees(&self, old: &Self) -> DifferingTrees;
    /// Encodes the object's sections as they are stored.
    fn encode(&self) -> crate::encode::Sections;
    /// Encodes a change of `old`, whose sections are `stored`, like [`Object::encode`]; unchanged sections are reused.
    fn encode_change(&self, old: &Self, stored: &crate::encode::Sections) -> crate::encode::Sections;
}

/// The fields in which two objects differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DifferingTrees {
    /// Fields of the older object.
    pub old: Value,
    /// Fields of the newer object.
    pub new: Value,
}

/// Group and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// API group.
    pub group: String,
    /// Kind: `Shoot`.
    pub kind: String,
}

/// Group and plural resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// API group.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
}

/// Group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind: `Shoot`.
    pub kind: String,
}

/// Group, version and plural resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    if group.is_empty() { f.write_str(name) } else { write!(f, "{name}.{group}") }
}

/// Returns metadata as a tree without `managedFields`.
pub fn metadata_tree(metadata: &ObjectMeta) -> Value {
    wire::to_tree_of(metadata, &|name| name != "managedFields")
}

impl<K: Resource> Object for K {
    const KEEPS_OPAQUE: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        Resource::metadata(self)
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        Resource::metadata_mut(self)
    }

    fn from_tree(tree: Value) -> Result<Self, serde_json::Error> {
        let mut object = Self::default();
        wire::read_tree(&mut object, tree).map_err(serde_json::Error::custom)?;
        Ok(object)
    }

    fn from_served(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Self::read(bytes)
    }

    fn keep_fields(&mut self, old: &Self, except: &[&str]) -> bool {
        Schema::keep_fields(self, old, except)
    }

    fn merge(&mut self, patch: Value, _: Option<&Node>) -> Result<(), serde_json::Error> {
        wire::merge(self, patch).map_err(serde_json::Error::custom)
    }

    fn to_tree(&self) -> Value {
        crate::encode::to_tree(self)
    }

    fn to_tree_without_entries(&self) -> Value {
        let mut tree = wire::to_tree_of(self, &|name| name != "metadata");
        tree["apiVersion"] = Value::String(K::api_version());
        tree["kind"] = Value::String(K::KIND.to_owned());
        tree["metadata"] = metadata_tree(Resource::metadata(self));
        tree
    }

    fn trees_of(&self, names: &[&str]) -> Map<String, Value> {
        let mut trees = Map::new();
        for (position, info) in self.fields().iter().enumerate().filter(|(_, info)| names.contains(&info.name)) {
            let value = self.field(position);
            if info.name == "metadata" {
                trees.insert(info.name.to_owned(), metadata_tree(Resource::metadata(self)));
            } else if info.always || !value.is_zero() {
                trees.insert(info.name.to_owned(), wire::to_tree(value));
            }
        }
        trees
    }

    fn differing_trees(&self, old: &Self) -> DifferingTrees {
        let Some(differing) = self.differing_fields(old) else {
            return DifferingTrees { old: old.to_tree_without_entries(), new: self.to_tree_without_entries() };
        };
        let tree = |object: &Self| {
            let mut tree = wire::to_tree_of(object, &|name| name != "metadata" && differing.contains(&name));
            if differing.contains(&"metadata") {
                tree["metadata"] = metadata_tree(Resource::metadata(object));
            }
            tree
        };
        DifferingTrees { old: tree(old), new: tree(self) }
    }

    fn encode(&self) -> crate::encode::Sections {
        crate::encode::sections(self)
    }

    fn encode_change(&self, old: &Self, stored: &crate::encode::Sections) -> crate::encode::Sections {
        match self.differing_fields(old) {
            Some(differing) => {
                let metadata = Resource::metadata(self);
                changed_sections(&K::api_version(), K::KIND, metadata, Body::Typed(self), &differing, stored)
            }
            None => self.encode(),
        }
    }
}
