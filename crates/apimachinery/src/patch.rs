// SPDX-License-Identifier: Apache-2.0
//! JSON patch, JSON merge patch and strategic merge patch on trees.

use serde_json::Value;

use crate::schema::Node;

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object: 422.
    #[error("{0}")]
    Unprocessable(String),
}

/// RFC 6902, with the library texts of the real API and at most 10,000 operations.
///
/// # Errors
/// See [`PatchError`].
pub fn json_patch(target: &mut Value, patch: &[u8]) -> Result<(), PatchError> {
    let _ = (target, patch);
    todo!()
}

/// RFC 7386.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let _ = (target, patch);
    todo!()
}

/// Strategic merge patch, by the merge keys and strategies of the schema and the patch's own directives.
///
/// # Errors
/// See [`PatchError`].
pub fn strategic_merge_patch(target: &mut Value, patch: &Value, schema: &Node) -> Result<(), PatchError> {
    let _ = (target, patch, schema);
    todo!()
}
