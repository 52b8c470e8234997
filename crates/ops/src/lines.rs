// SPDX-License-Identifier: Apache-2.0
//! Lines for people that know what their words are about: a command prints them, a page makes links of them.

use std::fmt;

use crate::names::clusters::NamedCluster;

/// What words of a line are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A field of the Shoot, by its path: `spec.kubernetes.version`.
    Field(String),
    /// An object beside the Shoot.
    Object {
        /// Its kind in lower case.
        kind: &'static str,
        /// Where it is.
        cluster: NamedCluster,
        /// Empty: in none.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// Words of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The words.
    pub text: String,
    /// What they are about, if that can be looked at.
    pub about: Option<About>,
}

/// A line. Shown, each level of depth is two blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// How deep it stands below the lines before it.
    pub depth: usize,
    /// Its words, in their order.
    pub words: Vec<Words>,
}

impl Line {
    /// A line that begins with a text.
    pub fn of(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    /// A line that begins with a field of the Shoot.
    pub fn of_field(path: impl Into<String>) -> Self {
        let path = path.into();
        Self::default().field(path.clone(), path)
    }

    /// A line about an annotation of the Shoot: `annotation KEY`.
    pub fn of_annotation(key: &str) -> Self {
        Self::of("annotation ").annotation(key)
    }

    /// With more words.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.words(text.into(), None)
    }

    /// With words about a field of the Shoot.
    #[must_use]
    pub fn field(self, text: impl Into<String>, path: impl Into<String>) -> Self {
        self.words(text.into(), Some(About::Field(path.into())))
    }

    /// With the key of an annotation of the Shoot.
    #[must_use]
    pub fn annotation(self, key: &str) -> Self {
        self.field(key, format!("metadata.annotations.{key}"))
    }

    /// With words about something.
    #[must_use]
    pub fn words(mut self, text: String, about: Option<About>) -> Self {
        self.words.push(Words { text, about });
        self
    }

    /// One level deeper.
    #[must_use]
    pub fn deeper(mut self) -> Self {
        self.depth += 1;
        self
    }

    /// Without its depth.
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
