// SPDX-License-Identifier: Apache-2.0
//! Items of a long List in JSON, read one at a time: the List as a whole is never in memory as a tree.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::ManifestError;
use super::tree::Tree;

/// Minimum length in bytes of a text that is read as JSON if it is valid JSON.
pub(super) const LONG: usize = 1 << 20;

/// Callback for each item.
type EachItem<'a> = dyn FnMut(Value) -> Result<(), ManifestError> + 'a;

#[derive(Deserialize)]
struct Head {
    kind: Option<String>,
}

/// Reads the items of a List. `None` for a short text, invalid JSON, and any other object.
pub(super) fn each_item(document: &str, each: &mut EachItem<'_>) -> Option<Result<(), ManifestError>> {
    if document.len() <= LONG || !document.trim_start().starts_with('{') {
        return None;
    }
    // The kind may follow the items; this pass also validates the whole text as JSON.
    let head: Head = serde_json::from_str(document).ok()?;
    if !head.kind?.ends_with("List") {
        return None;
    }
    let mut failure = None;
    let list = List { each, failure: &mut failure };
    let read = list.deserialize(&mut serde_json::Deserializer::from_str(document));
    match (read, failure) {
        (_, Some(failure)) => Some(Err(failure)),
        (Ok(()), None) => Some(Ok(())),
        (Err(_), None) => None,
    }
}

/// A List, or the array of its items; an error of `each` ends the reading.
struct List<'a, 'b> {
    each: &'a mut EachItem<'b>,
    failure: &'a mut Option<ManifestError>,
}

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a List with items")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                map.next_value_seed(List { each: &mut *self.each, failure: &mut *self.failure })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(Tree(item)) = items.next_element()? {
            if let Err(failure) = (self.each)(item) {
                *self.failure = Some(failure);
                return Err(serde::de::Error::custom("an item is refused"));
            }
        }
        Ok(())
    }
}
