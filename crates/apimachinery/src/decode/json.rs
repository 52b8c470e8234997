// SPDX-License-Identifier: Apache-2.0
//! The reader of JSON text, with Go's error texts for malformed input.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::findings::{Findings, Segment};
use super::{DecodeError, Decoded, MAX_DEPTH, find_field, is_type_meta, zero};
use crate::go::lexer::Lexer;
use crate::meta::mark;
use crate::schema::{Node, ObjectRef};

/// Handling of JSON of any shape within an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opaque {
    /// Text is parsed; the last of duplicate keys counts, without an error.
    Read,
    /// Text is kept.
    Kept,
    /// Text is parsed, and duplicate keys are reported.
    Judged,
}

/// Reads a whole text.
pub(super) fn read(text: &str, schema: &Node, opaque: Opaque) -> Result<Decoded, DecodeError> {
    let (keeps_opaque, strict_raw) = (opaque == Opaque::Kept, opaque == Opaque::Judged);
    let mut reader =
        Reader { lexer: Lexer::new(text), depth: 0, keeps_opaque, strict_raw, findings: Findings::default() };
    match reader.whole(schema) {
        Ok(tree) => reader.findings.finish(tree),
        Err(message) => Err(DecodeError { message, malformed: true }),
    }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    depth: usize,
    /// True if opaque JSON is kept as text.
    keeps_opaque: bool,
    /// True if duplicate keys are also reported within JSON of any shape, as Go reads objects without types.
    strict_raw: bool,
    findings: Findings,
}

/// A node for values that are read and dropped.
const SKIP: Node = Node::Raw;

impl<'a> Reader<'a> {
    fn whole(&mut self, schema: &Node) -> Result<Value, String> {
        let tree = self.value(schema)?.unwrap_or_else(|| zero(schema));
        if self.lexer.is_at_end() { Ok(tree) } else { Err(self.lexer.unexpected("after top-level value")) }
    }

    fn value(&mut self, node: &Node) -> Result<Option<Value>, String> {
        if self.keeps_opaque && matches!(node, Node::Raw) {
            return self.opaque();
        }
        match self.lexer.peek() {
            Some(b'{') => self.nested(|reader| reader.object(node)),
            Some(b'[') => self.nested(|reader| reader.list(node)),
            Some(b'"') => {
                let text = self.lexer.string()?;
                if let Node::Raw = node {
                    return Ok(Some(Value::String(text.into_owned())));
                }
                Ok(self.findings.text(text, node))
            }
            Some(b'-' | b'0'..=b'9') => {
                let text = self.lexer.number()?;
                if let Node::Raw = node {
                    return Ok(Some(any_number(text)));
                }
                Ok(self.findings.number(text, node))
            }
            Some(b't') => {
                self.lexer.literal("true")?;
                Ok(self.boolean(true, node))
            }
            Some(b'f') => {
                self.lexer.literal("false")?;
                Ok(self.boolean(false, node))
            }
            Some(b'n') => {
                self.lexer.literal("null")?;
                Ok(matches!(node, Node::Raw).then_some(Value::Null))
            }
            _ => Err(self.lexer.unexpected("looking for beginning of value")),
        }
    }

    /// Reads opaque JSON as a mark.
    fn opaque(&mut self) -> Result<Option<Value>, String> {
        self.lexer.blanks();
        let start = self.lexer.position();
        let is_null = self.lexer.peek() == Some(b'n');
        self.skip()?;
        Ok(Some(if is_null { Value::Null } else { mark(self.lexer.since(start)) }))
    }

    /// Skips a value of any shape.
    fn skip(&mut self) -> Result<(), String> {
        let begin = self.lexer.peek();
        if !matches!(begin, Some(b'{' | b'[')) {
            return self.skip_scalar(begin);
        }
        if self.depth == MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        self.depth += 1;
        let mut is_first = true;
        if begin == Some(b'{') {
            while self.lexer.key(&mut is_first)?.is_some() {
                self.skip()?;
            }
        } else {
            while self.lexer.item(&mut is_first)? {
                self.skip()?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn skip_scalar(&mut self, begin: Option<u8>) -> Result<(), String> {
        match begin {
            Some(b'"') => self.lexer.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.lexer.number().map(drop),
            Some(b't') => self.lexer.literal("true"),
            Some(b'f') => self.lexer.literal("false"),
            Some(b'n') => self.lexer.literal("null"),
            _ => Err(self.lexer.unexpected("looking for beginning of value")),
        }
    }

    fn boolean(&mut self, given: bool, node: &Node) -> Option<Value> {
        if let Node::Raw = node { Some(Value::Bool(given)) } else { self.findings.boolean(given, node) }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Option<Value>, String>,
    ) -> Result<Option<Value>, String> {
        if self.depth == MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self, node: &Node) -> Result<Option<Value>, String> {
        match node {
            Node::Object(reference) => self.fields(*reference).map(Some),
            Node::Map(values) => self.map(values, true).map(Some),
            Node::Raw => self.map(node, self.strict_raw).map(Some),
            _ => {
                let mismatch = self.findings.mismatch("object", node);
                self.map(&SKIP, false)?;
                Ok(mismatch)
            }
        }
    }

    fn fields(&mut self, reference: ObjectRef) -> Result<Value, String> {
        let schema = reference.get();
        let mut out = Map::new();
        let mut seen = NumberSet::default();
        let mut next = 0;
        let root = self.findings.path.is_empty();
        self.findings.structs.push(schema);
        self.entries(|reader, name| {
            let (name, node) = if let Some(at) = find_field(schema, &name, next) {
                next = at + 1;
                if seen.again(at + 2) {
                    reader.findings.duplicate(&name);
                }
                (schema.fields[at].name, &schema.fields[at].node)
            } else if let Some(name) = is_type_meta(&name).filter(|_| root) {
                if seen.again(usize::from(name == "kind")) {
                    reader.findings.duplicate(name);
                }
                (name, &Node::String)
            } else if reference.is_open() {
                if out.contains_key(name.as_ref()) {
                    reader.findings.duplicate(&name);
                }
                reader.findings.path.push(Segment::Key(name.clone().into_owned()));
                let value = reader.value(&Node::Raw)?;
                reader.findings.path.pop();
                out.extend(value.map(|value| (name.into_owned(), value)));
                return Ok(());
            } else {
                reader.findings.unknown(&name);
                let strict_raw = std::mem::take(&mut reader.strict_raw);
                reader.value(&SKIP)?;
                reader.strict_raw = strict_raw;
                return Ok(());
            };
            reader.findings.path.push(Segment::Name(name));
            let value = reader.value(node)?;
            reader.findings.path.pop();
            if let Some(value) = value {
                out.insert(name.to_owned(), value);
            }
            Ok(())
        })?;
        self.findings.structs.pop();
        Ok(Value::Object(out))
    }

    fn map(&mut self, values: &Node, strict: bool) -> Result<Value, String> {
        let mut out = Map::new();
        // Only containers have paths below them.
        let deep = strict && matches!(values, Node::Object(_) | Node::Map(_) | Node::List(_) | Node::Raw);
        self.entries(|reader, key| {
            if strict && out.contains_key(key.as_ref()) {
                reader.findings.duplicate(&key);
            }
            if deep {
                reader.findings.path.push(Segment::Key(key.clone().into_owned()));
            }
            let value = reader.value(values)?;
            if deep {
                reader.findings.path.pop();
            }
            if let Some(value) = value {
                out.insert(key.into_owned(), value);
            }
            Ok(())
        })?;
        Ok(Value::Object(out))
    }

    /// Reads the entries of an object; `each` reads the value.
    fn entries(&mut self, mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), String>) -> Result<(), String> {
        let mut is_first = true;
        while let Some(name) = self.lexer.key(&mut is_first)? {
            each(self, name)?;
        }
        Ok(())
    }

    fn list(&mut self, node: &Node) -> Result<Option<Value>, String> {
        let (item_node, mismatch) = match node {
            Node::List(items) => (items.as_ref(), false),
            Node::Raw => (&SKIP, false),
            _ => {
                self.findings.mismatch("array", node);
                (&SKIP, true)
            }
        };
        let mut out = Vec::new();
        let mut is_first = true;
        while self.lexer.item(&mut is_first)? {
            self.findings.path.push(Segment::Index(out.len()));
            let item = self.value(item_node)?;
            self.findings.path.pop();
            out.push(item.unwrap_or_else(|| zero(item_node)));
        }
        Ok((!mismatch).then_some(Value::Array(out)))
    }
}

/// A set of small numbers.
#[derive(Default)]
struct NumberSet {
    low: u64,
    high: Vec<usize>,
}

impl NumberSet {
    /// Adds a number; returns true if it was present.
    fn again(&mut self, number: usize) -> bool {
        if number < 64 {
            let bit = 1 << number;
            let was = self.low & bit != 0;
            self.low |= bit;
            return was;
        }
        let was = self.high.contains(&number);
        self.high.push(number);
        was
    }
}

fn any_number(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        Value::from(number)
    } else if let Ok(number) = text.parse::<u64>() {
        Value::from(number)
    } else {
        text.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
    }
}
