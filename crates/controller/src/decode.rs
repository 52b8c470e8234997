// SPDX-License-Identifier: Apache-2.0
//! Decoding of responses: objects, their metadata, frames of a watch.

use std::ops::Range;

use apimachinery::Resource;
use apimachinery::meta::ObjectMeta;
use apimachinery::resource::read_into;
use apimachinery::wire::{Wire, api_type};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::Error;

/// Objects that can be read from an API server: every [`Resource`], and [`PartialObject`] of any kind.
pub trait Readable: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// `metadata` of the object.
    fn object_meta(&self) -> &ObjectMeta;

    /// Mutable `metadata` of the object.
    fn object_meta_mut(&mut self) -> &mut ObjectMeta;

    /// Decodes an object from JSON. A type that holds only metadata decodes [`metadata`] only.
    fn read(bytes: &[u8]) -> Result<Self, Error>;

    /// Creates the object from its metadata; `None` if the type holds more than metadata.
    fn of_metadata(_: &ObjectMeta) -> Option<Self> {
        None
    }
}

impl<K: Resource> Readable for K {
    fn object_meta(&self) -> &ObjectMeta {
        self.metadata()
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        self.metadata_mut()
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        Resource::read(bytes).map_err(|error| Error::Decode(error.to_string()))
    }
}

/// Metadata of an object of any kind; the other fields are skipped.
#[api_type(no_schema)]
pub struct PartialObject {
    /// `metadata` of the object.
    pub metadata: ObjectMeta,
}

impl Readable for PartialObject {
    fn object_meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn object_meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        match metadata(bytes) {
            Some(metadata) => read(&metadata).map(|metadata| Self { metadata }),
            None => read(bytes),
        }
    }

    fn of_metadata(metadata: &ObjectMeta) -> Option<Self> {
        Some(Self { metadata: ObjectMeta { managed_fields: Vec::new(), ..metadata.clone() } })
    }
}

/// Returns the metadata of an object without `managedFields`, without scanning the fields after it; `None` if the
/// object does not begin in the form of Go's encoder.
pub fn metadata(bytes: &[u8]) -> Option<Vec<u8>> {
    const METADATA: &[u8] = b"\"metadata\":{";
    const MANAGED_FIELDS: &[u8] = b"\"managedFields\":";
    let head = &bytes[..bytes.len().min(256)];
    let start = head.windows(METADATA.len()).position(|window| window == METADATA)? + METADATA.len() - 1;
    // Only the texts of kind and version may precede it; otherwise it is not the object's own.
    if head[1..start].iter().any(|byte| matches!(byte, b'{' | b'[')) {
        return None;
    }
    let object = &bytes[start..];
    let (mut depth, mut position) = (0_usize, 0);
    loop {
        match object.get(position)? {
            b'"' => {
                if depth == 1 && position > 1 && object[position..].starts_with(MANAGED_FIELDS) {
                    let mut cut = object[..position - 1].to_vec();
                    cut.push(b'}');
                    return Some(cut);
                }
                position = text_end(object, position)?;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(object[..=position].to_vec());
                }
            }
            _ => {}
        }
        position += 1;
    }
}

/// Position of the quote that ends the text whose first quote is at `position`.
fn text_end(bytes: &[u8], position: usize) -> Option<usize> {
    let mut at = position + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        // The escaped character does not end the text.
        at += 2;
    }
}

/// Decodes an object; `apiVersion` and `kind` are ignored.
pub(crate) fn read<T: Wire + Default>(bytes: &[u8]) -> Result<T, Error> {
    let mut value = T::default();
    read_into(&mut value, bytes).map_err(|error| Error::Decode(error.to_string()))?;
    Ok(value)
}

/// Decodes a value that is no API type.
pub(crate) fn read_any<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::Decode(error.to_string()))
}

/// Returns type and object of a frame, without decoding the object.
pub(crate) fn split_frame(line: &[u8]) -> Result<(&str, &[u8]), Error> {
    if let Some((type_, object)) = split_plain_frame(line) {
        return Ok((type_, &line[object]));
    }
    #[derive(Deserialize)]
    struct Frame<'a> {
        #[serde(rename = "type", borrow)]
        type_: &'a str,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let frame: Frame<'_> = serde_json::from_slice(line).map_err(|error| Error::Decode(error.to_string()))?;
    Ok((frame.type_, frame.object.get().as_bytes()))
}

fn split_plain_frame(line: &[u8]) -> Option<(&str, Range<usize>)> {
    const TYPE: &[u8] = b"{\"type\":\"";
    const OBJECT: &[u8] = b"\",\"object\":";
    let rest = line.strip_prefix(TYPE)?;
    let length = rest.iter().take(16).position(|byte| *byte == b'"')?;
    let type_ = std::str::from_utf8(&rest[..length]).ok()?;
    rest[length..].starts_with(OBJECT).then_some(())?;
    (line.last() == Some(&b'}')).then_some((type_, TYPE.len() + length + OBJECT.len()..line.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_split_in_any_order_of_its_fields() {
        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
            r#"{ "type": "ADDED", "object": {"metadata":{"name":"a"}} }"#,
            r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#,
        ] {
            let (type_, object) = split_frame(line.as_bytes()).expect("a frame");
            assert_eq!((type_, std::str::from_utf8(object)), ("ADDED", Ok(r#"{"metadata":{"name":"a"}}"#)), "{line}");
        }
        assert!(split_frame(b"{\"type\":\"ADDED\"").is_err());
        assert!(split_frame(b"null").is_err());
    }

    #[test]
    fn metadata_is_read_without_managed_fields_and_later_sections() {
        for (given, expected) in [
            (
                r#"{"kind":"X","metadata":{"name":"a","labels":{"k":"}"}},"spec":not read"#,
                Some(r#"{"name":"a","labels":{"k":"}"}}"#),
            ),
            (r#"{"metadata":{"name":"a\"}","finalizers":["{"]}}"#, Some(r#"{"name":"a\"}","finalizers":["{"]}"#)),
            (r#"{"metadata":{"name":"a","managedFields":[{"x":1}]},"spec":{}}"#, Some(r#"{"name":"a"}"#)),
            (
                r#"{"metadata":{"name":"managedFields","labels":{"managedFields":"x"}}}"#,
                Some(r#"{"name":"managedFields","labels":{"managedFields":"x"}}"#),
            ),
            (r#"{"metadata":{}}"#, Some("{}")),
            (r#"{"spec":{"metadata":{"name":"b"}},"metadata":{"name":"a"}}"#, None),
            (r#"{"metadata":{"name":"a""#, None),
            (r#"{"kind":"X"}"#, None),
            ("", None),
        ] {
            let found = metadata(given.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"));
            assert_eq!(found.as_deref(), expected, "{given}");
        }
        let whole = r#"{"spec":{"x":1},"metadata":{"name":"a"}}"#;
        assert_eq!(PartialObject::read(whole.as_bytes()).expect("an object").metadata.name, "a");
    }
}
