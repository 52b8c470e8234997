// SPDX-License-Identifier: Apache-2.0
//! The reader of JSON text, with Go's words for what is malformed.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::findings::{Findings, Segment};
use super::{DecodeError, Decoded, MAX_DEPTH, find_field, is_type_meta, zero};
use crate::meta::mark;
use crate::schema::{Node, ObjectSchema};

/// Reads a whole text.
pub(super) fn read(text: &str, schema: &Node, keeps_opaque: bool) -> Result<Decoded, DecodeError> {
    let bytes = text.as_bytes();
    let mut reader = Reader { text, bytes, at: 0, depth: 0, keeps_opaque, findings: Findings::default() };
    match reader.whole(schema) {
        Ok(tree) => reader.findings.finish(tree),
        Err(message) => Err(DecodeError { message, malformed: true }),
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Whether opaque JSON is kept as text.
    keeps_opaque: bool,
    findings: Findings,
}

/// A node for values that are read and dropped.
const SKIP: Node = Node::Raw;

impl<'a> Reader<'a> {
    fn whole(&mut self, schema: &Node) -> Result<Value, String> {
        let tree = self.value(schema)?.unwrap_or_else(|| zero(schema));
        self.blanks();
        if self.at < self.bytes.len() { Err(self.unexpected("after top-level value")) } else { Ok(tree) }
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.bytes.get(self.at).copied()
    }

    fn unexpected(&self, context: &str) -> String {
        match self.bytes.get(self.at) {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quoted_byte(*byte)),
        }
    }

    fn value(&mut self, node: &Node) -> Result<Option<Value>, String> {
        if self.keeps_opaque && matches!(node, Node::Raw) {
            return self.opaque();
        }
        match self.peek() {
            Some(b'{') => self.nested(|reader| reader.object(node)),
            Some(b'[') => self.nested(|reader| reader.list(node)),
            Some(b'"') => {
                let text = self.string()?;
                if let Node::Raw = node {
                    return Ok(Some(Value::String(text.into_owned())));
                }
                Ok(self.findings.text(text, node))
            }
            Some(b'-' | b'0'..=b'9') => {
                let text = self.number()?;
                if let Node::Raw = node {
                    return Ok(Some(any_number(text)));
                }
                Ok(self.findings.number(text, node))
            }
            Some(b't') => {
                self.literal("true")?;
                Ok(self.boolean(true, node))
            }
            Some(b'f') => {
                self.literal("false")?;
                Ok(self.boolean(false, node))
            }
            Some(b'n') => {
                self.literal("null")?;
                Ok(matches!(node, Node::Raw).then_some(Value::Null))
            }
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    /// Opaque JSON, as a mark.
    fn opaque(&mut self) -> Result<Option<Value>, String> {
        self.blanks();
        let start = self.at;
        self.keeps_opaque = false;
        let value = self.value(&Node::Raw);
        self.keeps_opaque = true;
        Ok(value?.map(|value| if value.is_null() { value } else { mark(&self.text[start..self.at]) }))
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
            Node::Object(reference) => self.fields(reference.get()).map(Some),
            Node::Map(values) => self.map(values, true).map(Some),
            Node::Raw => self.map(node, false).map(Some),
            _ => {
                let mismatch = self.findings.mismatch("object", node);
                self.map(&SKIP, false)?;
                Ok(mismatch)
            }
        }
    }

    fn fields(&mut self, schema: &'static ObjectSchema) -> Result<Value, String> {
        let mut out = Map::new();
        let mut seen = Seen::default();
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
            } else {
                reader.findings.unknown(&name);
                reader.value(&SKIP)?;
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
        let deep = strict && matches!(values, Node::Object(_) | Node::Map(_) | Node::List(_));
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

    /// The entries of an object; `each` reads the value.
    fn entries(&mut self, mut each: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), String>) -> Result<(), String> {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let name = self.string()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            each(self, name)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
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
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                self.findings.path.push(Segment::Index(out.len()));
                let item = self.value(item_node)?;
                self.findings.path.pop();
                out.push(item.unwrap_or_else(|| zero(item_node)));
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.unexpected("after array element")),
                }
            }
        }
        Ok((!mismatch).then_some(Value::Array(out)))
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                return Err(self.unexpected(&format!("in literal {word} (expecting {})", quoted_byte(expected))));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if !self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.unexpected("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            if !self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.unexpected("in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    /// A string; borrowed unless it has escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        self.at += 1;
        let mut start = self.at;
        let mut owned = String::new();
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let tail = &self.text[start..self.at];
                    self.at += 1;
                    if owned.is_empty() {
                        return Ok(Cow::Borrowed(tail));
                    }
                    owned.push_str(tail);
                    return Ok(Cow::Owned(owned));
                }
                Some(b'\\') => {
                    owned.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    owned.push(self.escape()?);
                    start = self.at;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// The character after a backslash.
    fn escape(&mut self) -> Result<char, String> {
        let character = match self.bytes.get(self.at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.bytes.get(self.at).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// A set of small numbers.
#[derive(Default)]
struct Seen {
    low: u64,
    high: Vec<usize>,
}

impl Seen {
    /// Adds; whether it was there.
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

/// A byte as Go quotes it in syntax errors.
fn quoted_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        other => {
            let text = crate::status::quote(&char::from(other).to_string());
            format!("'{}'", &text[1..text.len() - 1])
        }
    }
}
