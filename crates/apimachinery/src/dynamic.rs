// SPDX-License-Identifier: Apache-2.0
//! Objects known by schema only: kinds whose inner parts nobody here reads.

use serde_json::{Map, Value};

use crate::encode::Sections;
use crate::meta::ObjectMeta;
use crate::resource::Object;

/// An object as metadata and a tree that was pruned by its schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicObject {
    /// `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Every other top-level field.
    pub fields: Map<String, Value>,
}

impl Object for DynamicObject {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn from_tree(tree: Value) -> Result<Self, serde_json::Error> {
        let _ = tree;
        todo!()
    }

    fn to_tree(&self) -> Value {
        todo!()
    }

    fn encode(&self) -> Sections {
        todo!()
    }
}
