// SPDX-License-Identifier: Apache-2.0
//! The trait of objects of any kind, typed or known by schema only.

use std::fmt;

use serde::de::Error as _;
use serde_json::{Map, Value};

use crate::encode::{self, Body, Sections, changed_sections};
use crate::meta::ObjectMeta;
use crate::resource::Resource;
use crate::schema::{Node, Schema};
use crate::wire;

/// Operations of a server on an object without its type: implemented for every [`Resource`] and for [`crate::DynamicObject`].
pub trait Object: Clone + fmt::Debug + Send + Sync + 'static {
    /// True if opaque JSON keeps the client's text, as in Go's structs; otherwise keys are sorted, as in Go's maps,
    /// which hold the kinds of CustomResourceDefinitions.
    const KEEPS_OPAQUE: bool;
    /// Returns `metadata` of the object.
    fn metadata(&self) -> &ObjectMeta;
    /// Returns `metadata` of the object, for changes.
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
    /// Applies a JSON merge patch that [`crate::decode::merge_patch`] has pruned and checked; `apiVersion` and `kind` in it
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
    fn encode(&self) -> Sections;
    /// Encodes a change of `old`, whose sections are `stored`, like [`Object::encode`]; unchanged sections are reused.
    fn encode_change(&self, old: &Self, stored: &Sections) -> Sections;
}

/// The fields in which two objects differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DifferingTrees {
    /// Fields of the older object.
    pub old: Value,
    /// Fields of the newer object.
    pub new: Value,
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
        encode::to_tree(self)
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

    fn encode(&self) -> Sections {
        encode::sections(self)
    }

    fn encode_change(&self, old: &Self, stored: &Sections) -> Sections {
        match self.differing_fields(old) {
            Some(differing) => {
                let metadata = Resource::metadata(self);
                changed_sections(&K::api_version(), K::KIND, metadata, Body::Typed(self), &differing, stored)
            }
            None => self.encode(),
        }
    }
}
