// SPDX-License-Identifier: Apache-2.0
//! Lines of text whose words refer to fields and objects: a command prints them, a page turns the words into links.

use std::fmt;

use crate::names::clusters::NamedCluster;

/// Subject of words in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A field of the Shoot, by its path: `spec.kubernetes.version`.
    Field(String),
    /// An object other than the Shoot.
    Object {
        /// Its kind in lower case.
        kind: &'static str,
        /// Cluster of the object.
        cluster: NamedCluster,
        /// Namespace; empty for an object without one.
        namespace: String,
        /// Name of the object.
        name: String,
    },
}

/// Words of a line with one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Text of the words.
    pub text: String,
    /// Subject of the words; `None`: they refer to nothing that can be opened.
    pub about: Option<About>,
}

/// A line. Each level of depth is displayed as two blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Level of indentation below the lines before it.
    pub depth: usize,
    /// Words in order.
    pub words: Vec<Words>,
}

impl Line {
    /// Returns a line that begins with a text.
    pub fn of(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    /// Returns a line that begins with a field of the Shoot.
    pub fn of_field(path: impl Into<String>) -> Self {
        let path = path.into();
        Self::default().field(path.clone(), path)
    }

    /// Returns a line that begins with an annotation of the Shoot: `annotation KEY`.
    pub fn of_annotation(key: &str) -> Self {
        Self::of("annotation ").annotation(key)
    }

    /// Appends a text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.words(text.into(), None)
    }

    /// Appends a text about a field of the Shoot.
    #[must_use]
    pub fn field(self, text: impl Into<String>, path: impl Into<String>) -> Self {
        self.words(text.into(), Some(About::Field(path.into())))
    }

    /// Appends the key of an annotation of the Shoot.
    #[must_use]
    pub fn annotation(self, key: &str) -> Self {
        self.field(key, format!("metadata.annotations.{key}"))
    }

    /// Appends a text with an optional subject.
    #[must_use]
    pub fn words(mut self, text: String, about: Option<About>) -> Self {
        self.words.push(Words { text, about });
        self
    }

    /// Increases the depth by one level.
    #[must_use]
    pub fn deeper(mut self) -> Self {
        self.depth += 1;
        self
    }

    /// Formats the line without its indentation.
    pub fn sentence(&self) -> String {
        self.words.iter().map(|words| words.text.as_str()).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.depth).try_for_each(|_| f.write_str("  "))?;
        self.words.iter().try_for_each(|words| f.write_str(&words.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printed_with_its_depth_and_says_what_its_words_are_about() {
        let line = Line::of_field("spec.region").text(": ").annotation("a/b").deeper().deeper();
        assert_eq!(line.to_string(), "    spec.region: a/b");
        assert_eq!(line.sentence(), "spec.region: a/b");
        let about: Vec<_> = line.words.into_iter().map(|words| words.about).collect();
        let field = |path: &str| Some(About::Field(path.to_owned()));
        assert_eq!(about, [field("spec.region"), None, field("metadata.annotations.a/b")]);
        assert_eq!(Line::of_annotation("k").to_string(), "annotation k");
        assert_eq!(Line::default().to_string(), "");
    }
}
