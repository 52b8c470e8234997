// SPDX-License-Identifier: Apache-2.0
//! YAML as Kubernetes' programs read and write it: as a tree of JSON, by the rules of sigs.k8s.io/yaml.
//!
//! Those rules are YAML 1.1's with exceptions: `yes`, `no`, `on`, `off`, `y` and `n` without quotes are booleans,
//! `0755` is octal, `1_000` is a number, `1:30` and times are texts, `<<` merges (`scalar` and `tree` hold the rules;
//! the source is goyaml.v2 of sigs.k8s.io/yaml v1.4.0). Another library would read some of these differently, so bodies
//! of requests, manifests and configurations are all read here.
//!
//! **Deliberately absent**: documents after the first one of a text (readers of files split them first), typed reading
//! (the tree of JSON is decoded), comments. [`nodes`] are for messages that name a line, and for versions, which are
//! not numbers.
//!
//! **Invariants.** A tree never exceeds the [`Limits`], whatever the aliases of its text. The output of [`to_string`]
//! is read back as the same tree. No text makes a function panic.

mod document;
mod error;
mod nodes;
mod scalar;
mod tree;
mod walk;
mod write;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::document::{Document, Duplicate, Limits};
pub use self::error::Error;
pub use self::nodes::{Content, Entry, Node};
pub use self::write::{WriteError, to_string};

/// Reads the document of a text, for [`Limits::BODY`] the first; an empty text is null.
///
/// # Errors
/// It is not YAML, cannot be written as JSON, exceeds the limits, or holds several documents without
/// [`Limits::is_go`].
pub fn read(text: &[u8], limits: Limits) -> Result<Document, Error> {
    tree::read(text, limits)
}

/// Reads the tree of a configuration or of one manifest without duplicate keys; a merged key (`<<`) may be overridden, as in
/// kubectl.
///
/// # Errors
/// Those of [`read`], and a duplicate.
pub fn value(text: &str) -> Result<Value, Error> {
    let document = read(text.as_bytes(), Limits::FILE)?;
    match document.duplicates.iter().find(|duplicate| !duplicate.is_merged) {
        Some(duplicate) => Err(Error::at(duplicate.line, format!("duplicate entry with key {}", duplicate.key))),
        None => Ok(document.value),
    }
}

/// Reads the first document of a text as nodes with lines and literal scalars.
///
/// # Errors
/// The text is not YAML, or exceeds the limits of a file.
pub fn nodes(text: &str) -> Result<Node, Error> {
    nodes::read(text, Limits::FILE)
}

/// Reads a value, like [`value`], and decodes it.
///
/// # Errors
/// Those of [`value`], and a value that does not match the type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_value(value(text)?).map_err(|error| Error::at(0, error.to_string()))
}

/// Reads and decodes a value, like [`from_str`], from bytes.
///
/// # Errors
/// Those of [`from_str`], and bytes that are not UTF-8.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    from_str(std::str::from_utf8(bytes).map_err(|error| Error::at(0, error.to_string()))?)
}
