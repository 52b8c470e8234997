// SPDX-License-Identifier: Apache-2.0
//! Bytes to a pruned tree, directed by a schema.
//!
//! First step of two: unknown and duplicate fields are collected with their paths (`spec.workers[0].foo`), values of a
//! wrong type are refused in the words of Go's decoder. After it the typed value cannot fail.

use serde_json::Value;

use crate::schema::Node;

/// What a decoder found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The tree without unknown fields; of duplicates the last counts. `null` where Go ignores it is left out.
    pub tree: Value,
    /// Paths of unknown fields, in order of appearance.
    pub unknown: Vec<String>,
    /// Paths of duplicate fields, in order of appearance.
    pub duplicates: Vec<String>,
}

/// Why bytes are no object; the text is the one that the real API server sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// Text in Go's words.
    pub message: String,
}

/// Reads JSON.
///
/// # Errors
/// Malformed JSON, a value of a wrong type.
pub fn json(bytes: &[u8], schema: &Node) -> Result<Decoded, DecodeError> {
    let _ = (bytes, schema);
    todo!()
}

/// Prunes and checks a tree that was read or patched already; finds no duplicates.
///
/// # Errors
/// A value of a wrong type.
pub fn tree(tree: Value, schema: &Node) -> Result<Decoded, DecodeError> {
    let _ = (tree, schema);
    todo!()
}
