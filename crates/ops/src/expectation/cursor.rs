// SPDX-License-Identifier: Apache-2.0
//! Values of a text in YAML with their positions.

use serde_json::{Map, Value};
use yaml::{Content, Limits, Node};

use crate::Error;
use crate::spelling::nearest;

/// Limits of a text. The nodes of an alias are counted each time.
const LIMITS: Limits = Limits { depth: 64, nodes: 100_000, is_go: false };
/// Maximum length of a text with expectations, in bytes.
pub const LONGEST: usize = 1 << 20;

/// Origin of a text, for messages.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// A file.
    File(String),
    /// The argument of a command line with this number, of several or one. `indent`: number of characters that were added
    /// before the text.
    Argument { number: usize, is_only: bool, indent: usize },
}

impl Origin {
    /// Formats a position: `FILE:LINE:COLUMN`, or `expectation 2, column 7`. 0 is unknown.
    fn place(&self, line: usize, column: usize) -> String {
        match self {
            Self::File(name) => {
                let parts = [line, column].into_iter().take_while(|part| *part > 0);
                parts.fold(name.clone(), |place, part| format!("{place}:{part}"))
            }
            Self::Argument { indent, .. } => {
                let column = if line == 1 { column.saturating_sub(*indent) } else { column };
                let line = if line > 1 { format!(", line {line}") } else { String::new() };
                let column = if column > 0 { format!(", column {column}") } else { String::new() };
                format!("{}{line}{column}", self.name())
            }
        }
    }

    /// Returns the name of the text.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(name) => name.clone(),
            Self::Argument { is_only: true, .. } => "expectation".to_owned(),
            Self::Argument { number, .. } => format!("expectation {number}"),
        }
    }
}

/// A parsed text.
#[derive(Debug)]
pub(super) struct Text {
    origin: Origin,
    value: Value,
    nodes: Node,
}

impl Text {
    /// Parses the only document of a text.
    ///
    /// # Errors
    /// It is not YAML, too large, has duplicate keys or merge keys, or several documents.
    pub(super) fn parse(origin: Origin, text: &str) -> Result<Self, Error> {
        if text.len() > LONGEST {
            return Err(Error::input(format!("{}: longer than {LONGEST} bytes", origin.name()), ""));
        }
        let failed = |line: Option<usize>, what: &str| {
            Error::input(format!("{}: {what}", origin.place(line.unwrap_or_default(), 0)), "")
        };
        let unreadable = |error: &yaml::Error| failed(error.line(), &format!("not YAML: {}", error.text()));
        let document = yaml::read(text.as_bytes(), LIMITS).map_err(|error| unreadable(&error))?;
        let nodes = yaml::nodes(text).map_err(|error| unreadable(&error))?;
        if let Some(line) = merge_key(&nodes) {
            return Err(failed(Some(line), "merge keys (`<<`) are not supported"));
        }
        match document.duplicates.first() {
            Some(duplicate) => Err(failed(Some(duplicate.line), &format!("{} occurs twice", duplicate.key))),
            None => Ok(Self { origin, value: document.value, nodes }),
        }
    }

    /// Returns the whole value.
    pub(super) fn root(&self) -> Cursor<'_> {
        Cursor { origin: &self.origin, value: &self.value, node: &self.nodes, at: (self.nodes.line, self.nodes.column) }
    }
}

/// Line of the first merged entry.
fn merge_key(node: &Node) -> Option<usize> {
    match &node.content {
        Content::Map(entries) => {
            entries.iter().find_map(|entry| if entry.is_merged { Some(node.line) } else { merge_key(&entry.value) })
        }
        Content::List(items) => items.iter().find_map(merge_key),
        Content::Null | Content::Scalar(_) => None,
    }
}

/// A value and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    origin: &'a Origin,
    pub(super) value: &'a Value,
    /// Node of the value, or of the nearest value around it that has one.
    node: &'a Node,
    /// Line and column of the value's key, or of a value without a key.
    at: (usize, usize),
}

impl<'a> Cursor<'a> {
    /// Returns the error for this value.
    pub(super) fn refuse(&self, what: impl AsRef<str>, hint: impl Into<String>) -> Error {
        Error::input(format!("{}: {}", self.origin.place(self.at.0, self.at.1), what.as_ref()), hint)
    }

    /// `FILE:LINE`, or the number of the argument.
    pub(super) fn label(&self) -> String {
        match self.origin {
            Origin::File(_) => self.origin.place(self.at.0, 0),
            Origin::Argument { .. } => self.origin.name(),
        }
    }

    /// Text of a scalar as it was written, without quotes.
    pub(super) fn literal(&self) -> Option<&'a str> {
        match &self.node.content {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a map in the order of the text. `name`: name of the value in messages.
    pub(super) fn entries(&self, name: &str) -> Result<Vec<(&'a str, Cursor<'a>)>, Error> {
        let map = self.map(name)?;
        let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), self.child(key, value))).collect();
        entries.sort_by_key(|(_, value)| value.at);
        Ok(entries)
    }

    /// Returns a map whose keys are all known.
    pub(super) fn fields(&self, name: &str, known: &[&str]) -> Result<Fields<'a>, Error> {
        match self.entries(name)?.into_iter().find(|(key, _)| !known.contains(key)) {
            Some((key, value)) => {
                let what = format!("unknown field `{key}` of {name}");
                Err(value.refuse(what, nearest(key, known.iter().copied())))
            }
            None => Ok(Fields { whole: *self, map: self.map(name)? }),
        }
    }

    fn map(&self, name: &str) -> Result<&'a Map<String, Value>, Error> {
        self.value.as_object().ok_or_else(|| self.mismatch(name, "a map"))
    }

    fn child(&self, key: &str, value: &'a Value) -> Self {
        let entry = self.node.entries().and_then(|entries| entries.iter().find(|entry| entry.key == key));
        match entry {
            Some(entry) => Self { value, node: &entry.value, at: (entry.line, entry.column), ..*self },
            None => Self { value, ..*self },
        }
    }

    /// Returns the items of a list.
    pub(super) fn items(&self, name: &str) -> Result<Vec<Self>, Error> {
        let items = self.value.as_array().ok_or_else(|| self.mismatch(name, "a list"))?;
        let nodes = match &self.node.content {
            Content::List(nodes) => nodes.as_slice(),
            _ => &[],
        };
        let item = |(index, value): (usize, &'a Value)| match nodes.get(index) {
            Some(node) => Self { value, node, at: (node.line, node.column), ..*self },
            None => Self { value, ..*self },
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, Error> {
        self.value.as_str().filter(|text| !text.is_empty()).ok_or_else(|| self.mismatch(name, "a text"))
    }

    /// Returns the error for a value of another type.
    pub(super) fn mismatch(&self, name: &str, expected: &str) -> Error {
        let hint = match (self.value, self.literal()) {
            (Value::Number(_) | Value::Bool(_), Some(literal)) if expected == "a text" => {
                format!("with quotes it is a text: \"{literal}\"")
            }
            _ => String::new(),
        };
        self.refuse(format!("{name} is {}, expected {expected}", type_of(self.value)), hint)
    }
}

/// A map whose keys are all known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) whole: Cursor<'a>,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Returns a field; `None` if it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Cursor<'a>> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        Some(self.whole.child(key, value))
    }

    /// Returns a text that may be missing.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        self.get(key).map(|value| value.text(&format!("`{key}`"))).transpose()
    }

    /// Returns a text that must be given. `name`: name of the map in messages.
    pub(super) fn required(&self, name: &str, key: &str) -> Result<&'a str, Error> {
        self.text(key)?.ok_or_else(|| self.whole.refuse(format!("{name} has no `{key}`"), ""))
    }
}

/// Type of a value in messages.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty text",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
