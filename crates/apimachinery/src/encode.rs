// SPDX-License-Identifier: Apache-2.0
//! A typed value as the bytes that are stored and served, the way Go's encoder would write them.
//!
//! ```text
//! identity                                            metadata                       managed      spec     status
//! {"kind":…,"apiVersion":…,"metadata":{"name":…,"uid":… ,"generation":…,"labels":{…}  ,"managedFields":[…]}  ,"spec":…  ,"status":…}
//!                                                    ^ the server inserts `,"resourceVersion":"R"` here
//! ```

use bytes::Bytes;
use serde_json::Value;

use crate::resource::Resource;

/// An object's sections: their concatenation, with `,"resourceVersion":"R"` after the first, is the served object.
///
/// `metadata` starts with the comma that separates it from `identity`; `managed_fields` is `}` or
/// `,"managedFields":[…]}`; `rest` holds every top-level field but `status`; `status` closes the object (`}` or
/// `,"status":…}`). No section holds a resource version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// `{"kind":…` up to and including `metadata.uid`.
    pub identity: Bytes,
    /// The rest of `metadata` without `managedFields`.
    pub metadata: Bytes,
    /// `managedFields` and the brace that closes `metadata`.
    pub managed_fields: Bytes,
    /// All top-level fields but `status`.
    pub rest: Bytes,
    /// `status` and the brace that closes the object.
    pub status: Bytes,
}

impl Sections {
    /// The sections in order.
    pub fn parts(&self) -> [&Bytes; 5] {
        [&self.identity, &self.metadata, &self.managed_fields, &self.rest, &self.status]
    }

    /// The served object at a revision.
    pub fn served(&self, resource_version: u64) -> Bytes {
        let _ = resource_version;
        todo!()
    }
}

/// The sections of a typed object.
pub fn sections<K: Resource>(object: &K) -> Sections {
    let _ = object;
    todo!()
}

/// A typed object as one JSON text with `kind` and `apiVersion` first, `resourceVersion` included when it is set:
/// what a client sends.
pub fn to_bytes<K: Resource>(object: &K) -> Vec<u8> {
    let _ = object;
    todo!()
}

/// A typed object as a tree with `apiVersion` and `kind`.
pub fn to_tree<K: Resource>(object: &K) -> Value {
    let _ = object;
    todo!()
}
