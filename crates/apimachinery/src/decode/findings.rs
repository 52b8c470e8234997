// SPDX-License-Identifier: Apache-2.0
//! Findings of a walk along a schema, and its current position.

use std::fmt::Write as _;

use serde_json::Value;

use super::{DecodeError, Decoded};
use crate::schema::{Node, ObjectSchema};

/// A step of the path.
#[derive(Debug)]
pub(super) enum Segment {
    /// A field of a struct.
    Name(&'static str),
    /// A key of a map.
    Key(String),
    /// An item of a list.
    Index(usize),
}

/// The state of a walk.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Current position.
    pub(super) path: Vec<Segment>,
    /// Enclosing structs; Go names the innermost in errors.
    pub(super) structs: Vec<&'static ObjectSchema>,
    /// True where `null` deletes a value, as in a merge patch; otherwise Go ignores it.
    pub(super) keeps_null: bool,
    decoded: Decoded,
    error: Option<String>,
}

/// Maximum number of strict errors, as upstream.
const MAX_STRICT: usize = 100;

impl Findings {
    /// Records an unknown field of the current struct.
    pub(super) fn unknown(&mut self, name: &str) {
        let path = self.path_of(name);
        if self.strict("unknown", &path) {
            self.decoded.unknown.push(path);
        }
    }

    /// Records a duplicate field or key of the current struct or map.
    pub(super) fn duplicate(&mut self, name: &str) {
        let path = self.path_of(name);
        if self.strict("duplicate", &path) {
            self.decoded.duplicates.push(path);
        }
    }

    fn strict(&mut self, what: &str, path: &str) -> bool {
        let message = format!("{what} field {}", crate::go::quote(path));
        let fresh = self.decoded.strict.len() < MAX_STRICT && !self.decoded.strict.contains(&message);
        if fresh {
            self.decoded.strict.push(message);
        }
        fresh
    }

    fn path_of(&self, name: &str) -> String {
        let mut out = String::new();
        for segment in &self.path {
            match segment {
                Segment::Index(index) => {
                    let _ = write!(out, "[{index}]");
                }
                Segment::Name(name) => dotted(&mut out, name),
                Segment::Key(key) => dotted(&mut out, key),
            }
        }
        dotted(&mut out, name);
        out
    }

    /// Records a value of a wrong type: `found` is `string`, `number`, `number 1.5`, `bool`, `array` or `object`.
    pub(super) fn mismatch(&mut self, found: &str, node: &Node) -> Option<Value> {
        // Types with their own decoder first read the JSON type in which they are written.
        let wanted = match node {
            Node::Time | Node::MicroTime | Node::Duration => "string".to_owned(),
            Node::IntOrString => "int32".to_owned(),
            Node::Quantity => return self.fail(crate::meta::QUANTITY_FORMAT.to_owned()),
            other => other.go_type(),
        };
        let place = match self.structs.last() {
            None => "value".to_owned(),
            Some(schema) => {
                let names: Vec<&str> = self
                    .path
                    .iter()
                    .filter_map(|segment| match segment {
                        Segment::Name(name) => Some(*name),
                        Segment::Key(_) | Segment::Index(_) => None,
                    })
                    .collect();
                format!("struct field {}.{}", schema.name, names.join("."))
            }
        };
        self.fail(format!("json: cannot unmarshal {found} into Go {place} of type {wanted}"))
    }

    /// Records an error; the first counts.
    pub(super) fn fail(&mut self, message: String) -> Option<Value> {
        self.error.get_or_insert(message);
        None
    }

    /// Returns the result of the walk.
    pub(super) fn finish(self, tree: Value) -> Result<Decoded, DecodeError> {
        match self.error {
            Some(message) => Err(DecodeError { message, malformed: false }),
            None => Ok(Decoded { tree, ..self.decoded }),
        }
    }
}

fn dotted(out: &mut String, name: &str) {
    if !out.is_empty() {
        out.push('.');
    }
    out.push_str(name);
}
