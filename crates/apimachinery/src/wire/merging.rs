// SPDX-License-Identifier: Apache-2.0
//! Merge patches into values.

use serde_json::Value;

use super::reading::{fill_from_tree, position, within};
use super::{Slot, Wire};
use crate::merge::merge_patch;

/// Merges a patch into a value (RFC 7386): the result is that of the same patch of the value's tree, and values that
/// the patch does not name are not touched.
///
/// # Errors
/// A value of a wrong type; the patch is then merged in part.
pub fn merge(value: &mut dyn Wire, patch: Value) -> Result<(), String> {
    merge_into(value.slot(), patch)
}

fn merge_into(slot: Slot<'_>, patch: Value) -> Result<(), String> {
    match (slot, patch) {
        (Slot::Struct(object), Value::Object(fields)) => {
            for (name, patch) in fields {
                if let Some(at) = position(object, &name, 0) {
                    merge_into(object.field_mut(at).slot(), patch).map_err(|error| within(&name, error))?;
                }
            }
        }
        (Slot::Struct(object), Value::Null) => {
            for at in 0..object.fields().len() {
                merge_into(object.field_mut(at).slot(), Value::Null)?;
            }
        }
        (Slot::Map(map), Value::Object(entries)) => {
            for (key, patch) in entries {
                if patch.is_null() {
                    map.remove(&key);
                } else {
                    merge_into(map.get_or_set(key).slot(), patch)?;
                }
            }
        }
        (Slot::Map(map), Value::Null) => map.clear(),
        (Slot::List(list), Value::Null) => list.clear(),
        (Slot::Optional(optional), patch @ Value::Object(_)) => {
            return merge_into(optional.get_or_fill().slot(), patch);
        }
        (Slot::Raw(raw), patch @ Value::Object(_)) => {
            let mut value = raw.value();
            merge_patch(&mut value, &patch);
            *raw = value.into();
        }
        (Slot::Tree(tree), patch) => merge_patch(tree, &patch),
        (slot, patch) => return fill_from_tree(slot, patch),
    }
    Ok(())
}
