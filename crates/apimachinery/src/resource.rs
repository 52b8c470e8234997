// SPDX-License-Identifier: Apache-2.0
//! The trait of typed kinds, and the names of kinds and resources.

use std::fmt;

use serde::de::Error as _;

use crate::meta::ObjectMeta;
use crate::schema::Schema;
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
    /// Returns `metadata` of the object, for changes.
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
