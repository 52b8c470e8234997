// SPDX-License-Identifier: Apache-2.0
//! Errors of invalid YAML, with the texts of the library that Kubernetes' programs use.
//!
//! The parser of this crate has other texts. If it refuses a text, the reason is determined by libyaml, from which Go's
//! library was derived.

use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Beginnings of the errors of Go's parser; all others are of its scanner.
const OF_PARSER: [&str; 9] = [
    "did not find expected <stream-start>",
    "did not find expected <document start>",
    "did not find expected node content",
    "did not find expected '-' indicator",
    "did not find expected key",
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
    "found undefined tag handle",
    "found duplicate %",
];

/// Reason for which a text cannot be read; displayed as Go's library does, `yaml: line 2: did not find expected key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line, from 1; 0 if the error has none.
    line: usize,
    /// True if Go's message has the line.
    shows_line: bool,
    text: String,
    is_counted_from_0: bool,
}

impl Error {
    pub(crate) fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line, shows_line: true, text: text.into(), is_counted_from_0: false }
    }

    /// An error at a line that Go's message does not have.
    pub(crate) fn without_line(line: usize, text: impl Into<String>) -> Self {
        Self { shows_line: false, ..Self::at(line, text) }
    }

    /// Returns libyaml's error for a text or, if `is_first_only`, for its first document; `None`: there is none.
    pub(crate) fn of_text(text: &[u8], is_first_only: bool) -> Option<Self> {
        let documents = if is_first_only { 1 } else { usize::MAX };
        for document in serde_yaml_ng::Deserializer::from_slice(text).take(documents) {
            let Err(error) = IgnoredAny::deserialize(document) else { continue };
            let words = error.to_string();
            let what = words.split(" at line ").next().and_then(|what| what.split(", while ").next());
            let what = what.and_then(|what| what.split(" at position ").next()).unwrap_or(&words);
            let (line, column) = error.location().map_or((1, 1), |place| (place.line().max(1), place.column().max(1)));
            if what == "unknown anchor" {
                let content = text.split(|byte| *byte == b'\n').nth(line - 1).unwrap_or_default();
                let name = content.get(column..).unwrap_or_default();
                let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
                let name: Vec<u8> = name.iter().take_while(is_of_name).copied().collect();
                let name = String::from_utf8_lossy(&name);
                return Some(Self::without_line(line, format!("unknown anchor '{name}' referenced")));
            }
            let is_counted_from_0 = OF_PARSER.iter().any(|known| what.starts_with(known));
            return Some(Self { is_counted_from_0, ..Self::at(line, what) });
        }
        None
    }

    /// Returns the line, from 1; `None` if the error has none. The displayed message may have no line, as in Go.
    pub fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }

    /// Returns the message without the line.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Go's library prints the parser's lines counted from 0 and the scanner's from 1, and neither for the first line.
        let line = if self.is_counted_from_0 || self.line == 1 { self.line.saturating_sub(1) } else { self.line };
        let line = if self.shows_line { line } else { 0 };
        // A document that cannot be written as JSON is nevertheless valid YAML.
        if !self.text.starts_with("json: ") && !self.text.starts_with("unsupported map key") {
            f.write_str("yaml: ")?;
        }
        if line > 0 {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
