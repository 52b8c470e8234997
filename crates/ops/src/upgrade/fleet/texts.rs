// SPDX-License-Identifier: Apache-2.0
//! YAML with every scalar kept as written text: `1.120` is not a number, and differs from 1.12.

use yaml::Content;

use crate::manifests::{ManifestError, Origin, Source};

/// Tree of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// An empty value.
    Empty,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Converts a document; the error is the line of a tag.
    fn of(node: &yaml::Node) -> Result<Self, usize> {
        if node.is_tagged {
            return Err(node.line);
        }
        Ok(match &node.content {
            Content::Null => Self::Empty,
            Content::Scalar(text) => Self::Text(text.clone()),
            Content::List(items) => Self::List(items.iter().map(Self::of).collect::<Result<_, _>>()?),
            Content::Map(entries) => {
                let entry = |entry: &yaml::Entry| Ok::<_, usize>((entry.key.clone(), Self::of(&entry.value)?));
                Self::Map(entries.iter().map(entry).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Entries of a map; an empty value has none.
    pub(super) fn entries(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Map(entries) => Some(entries),
            Self::Empty => Some(&[]),
            Self::Text(_) | Self::List(_) => None,
        }
    }

    /// True if the value is left out, or an empty list or map.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Text(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()?.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }
}

/// A named text, for errors with a line.
pub(super) struct Document<'a> {
    file: &'a str,
    text: &'a str,
    pub(super) root: Node,
}

impl<'a> Document<'a> {
    /// Reads one document of YAML or JSON.
    ///
    /// # Errors
    /// The text is not a single valid document.
    pub(super) fn read(file: &'a str, text: &'a str) -> Result<Self, ManifestError> {
        let failed = |error: yaml::Error| {
            let line = error.line().unwrap_or(1);
            ManifestError::at(&Origin { file: file.to_owned(), line }, error.text())
        };
        // Invalid YAML, duplicate keys and several documents are refused here.
        yaml::value(text).map_err(failed)?;
        let root = Node::of(&yaml::nodes(text).map_err(failed)?)
            .map_err(|line| ManifestError::at(&Origin { file: file.to_owned(), line }, "a tag has no meaning here"))?;
        Ok(Self { file, text, root })
    }

    /// Returns an error about a field, with its line.
    pub(super) fn error(&self, path: &str, what: impl Into<String>) -> ManifestError {
        ManifestError::at(&origin(self.file, self.text, path), what)
    }
}

/// Place of a field in a text.
pub(super) fn origin(file: &str, text: &str, path: &str) -> Origin {
    Origin { file: file.to_owned(), line: Source::yaml(text, 1).line_of(path).unwrap_or(1) }
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
    fn invalid_documents_are_refused_with_their_line() {
        let error = |text: &str| Document::read("f", text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error("a: 1\nb: [\n").starts_with("f:"), "{}", error("a: 1\nb: [\n"));
        assert!(error("a: 1\na: 2\n").contains("duplicate entry"), "{}", error("a: 1\na: 2\n"));
        assert!(error("a: !b 1\n").contains("a tag has no meaning here"));
    }
}
