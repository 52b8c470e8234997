// SPDX-License-Identifier: Apache-2.0
//! YAML in which every scalar is the text that is written: `1.120` is no number here, and not 1.12.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml_ng::Value;

use crate::manifests::{ManifestError, Origin, Source};

/// A tree of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// Nothing is written.
    Empty,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Entries of a map; none of what is empty.
    pub(super) fn entries(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Map(entries) => Some(entries),
            Self::Empty => Some(&[]),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

/// A text with its name, to say where something in it is.
pub(super) struct Document<'a> {
    file: &'a str,
    text: &'a str,
    pub(super) root: Node,
}

impl<'a> Document<'a> {
    /// Reads one document of YAML or JSON.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn read(file: &'a str, text: &'a str) -> Result<Self, ManifestError> {
        let failed = |error: serde_yaml_ng::Error| {
            let line = error.location().map_or(1, |place| place.line().max(1));
            let words = error.to_string();
            let what = words.split(" at line ").next().unwrap_or(&words).to_owned();
            ManifestError::at(&Origin { file: file.to_owned(), line }, what)
        };
        let shape = Value::deserialize(serde_yaml_ng::Deserializer::from_str(text)).map_err(failed)?;
        let root = Shape(&shape).deserialize(serde_yaml_ng::Deserializer::from_str(text)).map_err(failed)?;
        Ok(Self { file, text, root })
    }

    /// Something is wrong with a field.
    pub(super) fn error(&self, path: &str, what: impl Into<String>) -> ManifestError {
        ManifestError::at(&origin(self.file, self.text, path), what)
    }
}

/// Where a field of a text is.
pub(super) fn origin(file: &str, text: &str, path: &str) -> Origin {
    Origin { file: file.to_owned(), line: Source::yaml(text, 1).line_of(path).unwrap_or(1) }
}

/// Reads a tree of texts by a tree of values, which says what is a list and what a map.
struct Shape<'a>(&'a Value);

impl<'de> DeserializeSeed<'de> for Shape<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match self.0 {
            Value::Null => deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Node::Empty),
            Value::Sequence(_) => deserializer.deserialize_seq(self),
            Value::Mapping(_) => deserializer.deserialize_map(self),
            Value::Tagged(_) => Err(serde::de::Error::custom("a tag has no meaning here")),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => String::deserialize(deserializer).map(Node::Text),
        }
    }
}

impl<'de> Visitor<'de> for Shape<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        for shape in self.0.as_sequence().into_iter().flatten() {
            let Some(item) = items.next_element_seed(Shape(shape))? else { break };
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        for (_, shape) in self.0.as_mapping().into_iter().flatten() {
            let Some(key) = map.next_key::<String>()? else { break };
            entries.push((key, map.next_value_seed(Shape(shape))?));
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are_written() {
        let text = "a: 1.120\nb: [1.10, v1.37.0, 1]\nc:\nd: {e: true, 1.30: x}\n";
        let document = Document::read("f", text).expect("YAML");
        let word = |text: &str| Node::Text(text.to_owned());
        assert_eq!(document.root.get("a"), Some(&word("1.120")));
        assert_eq!(document.root.get("b"), Some(&Node::List(vec![word("1.10"), word("v1.37.0"), word("1")])));
        assert_eq!(document.root.get("c"), Some(&Node::Empty));
        let below = vec![("e".to_owned(), word("true")), ("1.30".to_owned(), word("x"))];
        assert_eq!(document.root.get("d"), Some(&Node::Map(below)));
        assert_eq!(origin("f", text, "d.e").to_string(), "f:4");
    }

    #[test]
    fn what_is_no_document_is_told_with_its_line() {
        let error = |text: &str| Document::read("f", text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error("a: 1\nb: [\n").starts_with("f:"), "{}", error("a: 1\nb: [\n"));
        assert!(error("a: 1\na: 2\n").contains("duplicate entry"), "{}", error("a: 1\na: 2\n"));
        assert!(error("a: !b 1\n").contains("a tag has no meaning here"));
    }
}
