// SPDX-License-Identifier: Apache-2.0
//! Encoding of a typed value as the bytes that are stored and served, as Go's encoder would write them.
//!
//! ```text
//! identity                                            metadata                       managed      spec     status
//! {"kind":…,"apiVersion":…,"metadata":{"name":…,"uid":… ,"generation":…,"labels":{…}  ,"managedFields":[…]}  ,"spec":…  ,"status":…}
//!                                                    ^ the server inserts `,"resourceVersion":"R"` here
//! ```
//!
//! No function here has a type parameter for a kind: fields are written as [`crate::wire`] does it.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::go::{write_text, write_tree};
use crate::meta::ObjectMeta;
use crate::resource::Resource;
use crate::wire::{self, Fields};

/// An object's sections: their concatenation, with `,"resourceVersion":"R"` after the first, is the served object.
///
/// `metadata` starts with the comma that separates it from `identity`; `managed_fields` is `}` or
/// `,"managedFields":[…]}`; `rest` holds every top-level field except `status`; `status` closes the object (`}` or
/// `,"status":…}`). No section holds a resource version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// `{"kind":…` up to and including `metadata.uid`.
    pub identity: Bytes,
    /// Fields of `metadata` after `uid`, without `managedFields`.
    pub metadata: Bytes,
    /// `managedFields` and the brace that closes `metadata`.
    pub managed_fields: Bytes,
    /// All top-level fields except `status`.
    pub rest: Bytes,
    /// `status` and the brace that closes the object.
    pub status: Bytes,
}

impl Sections {
    /// Returns the sections in order.
    pub fn parts(&self) -> [&Bytes; 5] {
        [&self.identity, &self.metadata, &self.managed_fields, &self.rest, &self.status]
    }

    /// Returns the served object at a revision.
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

/// An object's top-level fields.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    /// Fields of a typed kind.
    Typed(&'a dyn Fields),
    /// Fields of an object whose kind is known by its schema only.
    Tree(&'a Map<String, Value>),
}

impl Body<'_> {
    /// Appends `,"name":value` for every wanted field.
    fn write(self, out: &mut Vec<u8>, wanted: impl Fn(&str) -> bool) {
        match self {
            Self::Typed(object) => {
                for (position, _) in object.fields().iter().enumerate().filter(|(_, info)| wanted(info.name)) {
                    wire::write_field(out, object, position);
                }
            }
            Self::Tree(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| wanted(name)) {
                    out.push(b',');
                    write_text(out, name);
                    out.push(b':');
                    write_tree(out, value);
                }
            }
        }
    }

    fn rest(self) -> Bytes {
        let mut out = Vec::with_capacity(256);
        self.write(&mut out, is_of_rest);
        exact(out)
    }

    fn status(self) -> Bytes {
        let mut out = Vec::with_capacity(256);
        self.write(&mut out, is_status);
        out.push(b'}');
        exact(out)
    }
}

fn is_status(name: &str) -> bool {
    name == "status"
}

fn is_of_rest(name: &str) -> bool {
    !matches!(name, "metadata" | "status" | "apiVersion" | "kind")
}

/// Encodes the sections of a typed object.
pub fn sections<K: Resource>(object: &K) -> Sections {
    sections_of(&K::api_version(), K::KIND, object.metadata(), Body::Typed(object))
}

pub(crate) fn sections_of(api_version: &str, kind: &str, metadata: &ObjectMeta, body: Body<'_>) -> Sections {
    let [identity, metadata, managed_fields] = metadata_sections(api_version, kind, metadata);
    Sections { identity, metadata, managed_fields, rest: body.rest(), status: body.status() }
}

/// Encodes sections like [`sections_of`], where only some top-level fields differ from the object whose sections are `stored`.
pub(crate) fn changed_sections(
    api_version: &str,
    kind: &str,
    metadata: &ObjectMeta,
    body: Body<'_>,
    differing: &[&str],
    stored: &Sections,
) -> Sections {
    let mut sections = stored.clone();
    if differing.contains(&"metadata") {
        [sections.identity, sections.metadata, sections.managed_fields] =
            metadata_sections(api_version, kind, metadata);
    }
    if differing.iter().any(|name| is_of_rest(name)) {
        sections.rest = body.rest();
    }
    if differing.contains(&"status") {
        sections.status = body.status();
    }
    sections
}

/// Encodes identity, metadata and managed fields, which share one buffer.
fn metadata_sections(api_version: &str, kind: &str, metadata: &ObjectMeta) -> [Bytes; 3] {
    let is_identity = |name: &str| matches!(name, "name" | "generateName" | "namespace" | "uid");
    let is_managed = |name: &str| name == "managedFields";
    let is_dropped = |name: &str| matches!(name, "resourceVersion" | "selfLink");
    let body = Body::Typed(metadata);
    let mut out = Vec::with_capacity(512);
    head(&mut out, kind, api_version);
    let start = out.len();
    body.write(&mut out, is_identity);
    // The comma of the first field is replaced by the brace. The next section begins with a comma, so identity must not be empty.
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.extend_from_slice(b"{\"name\":\"\""),
    }
    let identity_end = out.len();
    body.write(&mut out, |name| !is_identity(name) && !is_managed(name) && !is_dropped(name));
    let metadata_end = out.len();
    body.write(&mut out, is_managed);
    out.push(b'}');
    let all = exact(out);
    [all.slice(..identity_end), all.slice(identity_end..metadata_end), all.slice(metadata_end..)]
}

/// Returns bytes without unused capacity, since they are kept for long.
fn exact(bytes: Vec<u8>) -> Bytes {
    Bytes::from(bytes.into_boxed_slice())
}

fn head(out: &mut Vec<u8>, kind: &str, api_version: &str) {
    out.extend_from_slice(b"{\"kind\":");
    write_text(out, kind);
    out.extend_from_slice(b",\"apiVersion\":");
    write_text(out, api_version);
    out.extend_from_slice(b",\"metadata\":");
}

/// Encodes a typed object as one JSON text for a request, with `kind` and `apiVersion` first, including
/// `resourceVersion` if it is set.
pub fn to_bytes<K: Resource>(object: &K) -> Vec<u8> {
    whole(&K::api_version(), K::KIND, object.metadata(), Body::Typed(object))
}

/// Encodes an object as one JSON text.
pub(crate) fn whole(api_version: &str, kind: &str, metadata: &ObjectMeta, body: Body<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    head(&mut out, kind, api_version);
    wire::write(&mut out, metadata);
    body.write(&mut out, is_of_rest);
    body.write(&mut out, is_status);
    out.push(b'}');
    out
}

/// Returns a typed object as a tree with `apiVersion` and `kind`.
pub fn to_tree<K: Resource>(object: &K) -> Value {
    let mut tree = wire::to_tree(object);
    if let Some(fields) = tree.as_object_mut() {
        fields.insert("apiVersion".to_owned(), Value::String(K::api_version()));
        fields.insert("kind".to_owned(), Value::String(K::KIND.to_owned()));
    }
    tree
}
