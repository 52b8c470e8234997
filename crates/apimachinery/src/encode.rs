// SPDX-License-Identifier: Apache-2.0
//! A typed value as the bytes that are stored and served, the way Go's encoder would write them.
//!
//! ```text
//! identity                                            metadata                       managed      spec     status
//! {"kind":…,"apiVersion":…,"metadata":{"name":…,"uid":… ,"generation":…,"labels":{…}  ,"managedFields":[…]}  ,"spec":…  ,"status":…}
//!                                                    ^ the server inserts `,"resourceVersion":"R"` here
//! ```
//!
//! The sections are written in one pass: a serializer that understands structs only sends each field of the object,
//! and of its metadata, to the section it belongs to.

mod go;
mod split;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

pub use self::go::write_go;
use self::split::split;
use crate::meta::ObjectMeta;
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
        let length: usize = self.parts().iter().map(|part| part.len()).sum();
        let mut out = Vec::with_capacity(length + 44);
        out.extend_from_slice(&self.identity);
        out.extend_from_slice(b",\"resourceVersion\":\"");
        out.extend_from_slice(resource_version.to_string().as_bytes());
        out.push(b'"');
        for part in [&self.metadata, &self.managed_fields, &self.rest, &self.status] {
            out.extend_from_slice(part);
        }
        Bytes::from(out)
    }
}

/// The sections of a typed object.
pub fn sections<K: Resource>(object: &K) -> Sections {
    sections_of(&K::api_version(), K::KIND, object.metadata(), object)
}

/// The sections of anything that serialises as a struct or map of top-level fields.
pub(crate) fn sections_of<T: Serialize>(api_version: &str, kind: &str, metadata: &ObjectMeta, object: &T) -> Sections {
    let [identity, metadata, managed_fields] = metadata_sections(api_version, kind, metadata);
    let [rest, mut status] = split(object, |name| match name {
        "metadata" | "apiVersion" | "kind" => None,
        "status" => Some(1),
        _ => Some(0),
    });
    status.push(b'}');
    Sections { identity, metadata, managed_fields, rest: exact(rest), status: exact(status) }
}

/// As [`sections_of`], where only some top-level fields differ from the object whose sections are `stored`.
pub(crate) fn changed_sections<T: Serialize>(
    api_version: &str,
    kind: &str,
    metadata: &ObjectMeta,
    object: &T,
    differing: &[&str],
    stored: &Sections,
) -> Sections {
    let mut sections = stored.clone();
    if differing.contains(&"metadata") {
        [sections.identity, sections.metadata, sections.managed_fields] =
            metadata_sections(api_version, kind, metadata);
    }
    let has_new_status = differing.contains(&"status");
    let has_new_rest = differing.iter().any(|name| !matches!(*name, "metadata" | "status"));
    if has_new_status || has_new_rest {
        let [rest, mut status] = split(object, |name| match name {
            "metadata" | "apiVersion" | "kind" => None,
            "status" => has_new_status.then_some(1),
            _ => has_new_rest.then_some(0),
        });
        if has_new_rest {
            sections.rest = exact(rest);
        }
        if has_new_status {
            status.push(b'}');
            sections.status = exact(status);
        }
    }
    sections
}

/// Identity, metadata and managed fields, which share one buffer.
fn metadata_sections(api_version: &str, kind: &str, metadata: &ObjectMeta) -> [Bytes; 3] {
    let [identity, meta, managed] = split(metadata, |name| match name {
        "name" | "generateName" | "namespace" | "uid" => Some(0),
        "resourceVersion" | "selfLink" => None,
        "managedFields" => Some(2),
        _ => Some(1),
    });
    let mut out = Vec::with_capacity(identity.len() + meta.len() + managed.len() + 96);
    head(&mut out, kind, api_version);
    // What follows begins with a comma, so identity must not be empty.
    out.extend_from_slice(identity.strip_prefix(b",").unwrap_or(b"\"name\":\"\""));
    let identity_end = out.len();
    out.extend_from_slice(&meta);
    let metadata_end = out.len();
    out.extend_from_slice(&managed);
    out.push(b'}');
    let all = exact(out);
    [all.slice(..identity_end), all.slice(identity_end..metadata_end), all.slice(metadata_end..)]
}

/// Bytes that take no more memory than they need, since they are kept for long.
fn exact(bytes: Vec<u8>) -> Bytes {
    Bytes::from(bytes.into_boxed_slice())
}

fn head(out: &mut Vec<u8>, kind: &str, api_version: &str) {
    out.extend_from_slice(b"{\"kind\":");
    write_go(out, kind);
    out.extend_from_slice(b",\"apiVersion\":");
    write_go(out, api_version);
    out.extend_from_slice(b",\"metadata\":{");
}

/// A typed object as one JSON text with `kind` and `apiVersion` first, `resourceVersion` included when it is set:
/// what a client sends.
pub fn to_bytes<K: Resource>(object: &K) -> Vec<u8> {
    whole(&K::api_version(), K::KIND, object.metadata(), object)
}

/// One JSON text of anything that serialises as a struct or map of top-level fields.
pub(crate) fn whole<T: Serialize>(api_version: &str, kind: &str, metadata: &ObjectMeta, object: &T) -> Vec<u8> {
    let [meta] = split(metadata, |_| Some(0));
    let [rest, status] = split(object, |name| match name {
        "metadata" | "apiVersion" | "kind" => None,
        "status" => Some(1),
        _ => Some(0),
    });
    let mut out = Vec::with_capacity(meta.len() + rest.len() + status.len() + 96);
    head(&mut out, kind, api_version);
    out.extend_from_slice(meta.strip_prefix(b",").unwrap_or_default());
    out.push(b'}');
    out.extend_from_slice(&rest);
    out.extend_from_slice(&status);
    out.push(b'}');
    out
}

/// A typed object as a tree with `apiVersion` and `kind`.
pub fn to_tree<K: Resource>(object: &K) -> Value {
    let mut tree = serde_json::to_value(object).expect("a typed object has text keys and finite numbers");
    if let Some(fields) = tree.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::String(K::api_version()));
        fields.insert("kind".to_owned(), Value::String(K::KIND.to_owned()));
    }
    tree
}
