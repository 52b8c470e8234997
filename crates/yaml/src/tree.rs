// SPDX-License-Identifier: Apache-2.0
//! The tree of a text, built from the parser's events.
//!
//! Behaviour of Go's library that a reader might not expect: of duplicate keys the last counts, whether it was written
//! or merged; a key is the text of its resolved value (`on: 1` is `true: 1`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Value};

use crate::document::{Document, Duplicate, Limits};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::walk;

pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Document, Error> {
    let text = text_of(bytes)?;
    if let Some(value) = walk::json(&text, limits) {
        return Ok(Document { value, duplicates: Vec::new() });
    }
    let is_control = |letter: char| {
        letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}')
            || matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    if text.chars().any(is_control) {
        return Err(Error::at(0, "control characters are not allowed"));
    }
    let mut reader = Reader {
        parser: Parser::new_from_str(&text),
        bytes: text.as_bytes(),
        limits,
        left: limits.nodes,
        anchors: BTreeMap::new(),
        duplicates: Vec::new(),
    };
    match reader.document() {
        Ok(value) => {
            let document = Document { value, duplicates: reader.duplicates };
            // The parser accepts some texts that Go's refuses.
            let refused = if limits.is_go { Error::of_text(text.as_bytes(), true) } else { None };
            refused.map_or(Ok(document), Err)
        }
        Err(Refused::Certainly(error)) => Err(error),
        // It also refuses some texts that Go's accepts.
        Err(Refused::ByParser(error)) => match Error::of_text(text.as_bytes(), limits.is_go) {
            Some(error) => Err(error),
            None => walk::yaml(&text, limits).map_err(|_| error),
        },
    }
}

/// Reason for which the parser's events do not form a document.
enum Refused {
    /// Refusal of the parser; libyaml may accept the text.
    ByParser(Error),
    Certainly(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Certainly(error)
    }
}

/// Decodes UTF-8, or UTF-16 with a byte order mark.
fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    let of_pairs = |make: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks(2).map(|pair| make([pair[0], pair.get(1).copied().unwrap_or_default()]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        text.map(Cow::Owned).map_err(|_| Error::at(0, "invalid Unicode character"))
    };
    match bytes {
        [0xff, 0xfe, ..] => of_pairs(u16::from_le_bytes),
        [0xfe, 0xff, ..] => of_pairs(u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text))),
            Err(_) => Err(Error::of_text(bytes, false).unwrap_or_else(|| Error::at(0, "invalid leading UTF-8 octet"))),
        },
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    bytes: &'a [u8],
    limits: Limits,
    /// Number of nodes that may still be created.
    left: usize,
    /// Values of anchors, and the number of nodes in each.
    anchors: BTreeMap<usize, (Value, usize)>,
    duplicates: Vec<Duplicate>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Value, Refused> {
        let mut value = Value::Null;
        let mut is_read = false;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(value),
                Event::DocumentEnd if self.limits.is_go => return Ok(value),
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                _ if is_read => return Err(Error::at(span.start.line(), "there is more than one document").into()),
                event => {
                    value = self.node(event, span, 0)?;
                    is_read = true;
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Refused> {
        match self.parser.next_event() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) if error.info() == "recursion limit exceeded" => Err(too_deep().into()),
            Some(Err(error)) => Err(Refused::ByParser(Error::at(error.marker().line(), error.info().to_owned()))),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Counts created nodes.
    fn count(&mut self, nodes: usize) -> Result<(), Refused> {
        self.left = self.left.checked_sub(nodes).ok_or_else(|| {
            Error::at(0, format!("more than {} nodes, those counted that aliases stand for", self.limits.nodes))
        })?;
        Ok(())
    }

    /// Builds the node that begins with an event.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Value, Refused> {
        let before = self.left;
        self.count(1)?;
        let (value, anchor) = match event {
            Event::Alias(anchor) => {
                let Some((_, size)) = self.anchors.get(&anchor) else {
                    let text = format!("anchor '{}' value contains itself", self.name_of(span));
                    return Err(Error::without_line(span.start.line(), text).into());
                };
                self.count(*size)?;
                return Ok(self.anchors[&anchor].0.clone());
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref()).and_then(Scalar::value);
                (value.map_err(|text| Error::without_line(span.start.line(), text))?, anchor)
            }
            Event::SequenceStart(anchor, _) => (self.sequence(depth + 1)?, anchor),
            Event::MappingStart(anchor, _) => (self.mapping(depth + 1)?, anchor),
            _ => return Ok(Value::Null),
        };
        if anchor > 0 {
            let size = before - self.left;
            self.count(size)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }

    /// Returns the name of an alias.
    fn name_of(&self, span: Span) -> String {
        let line = self.bytes.split(|byte| *byte == b'\n').nth(span.start.line() - 1).unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let name = line.chars().skip(span.start.col() + 1);
        name.take_while(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-')).collect()
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, Refused> {
        self.check_depth(depth)?;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(Value::Array(items)),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, Refused> {
        self.check_depth(depth)?;
        let mut map = Map::new();
        // Keys that were merged into the map.
        let mut merged = BTreeSet::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd | Event::StreamEnd, _) => return Ok(Value::Object(map)),
                (Event::Scalar(text, ScalarStyle::Plain, _, tag), span) if is_merge(&text, tag.as_deref()) => {
                    self.merge(&mut map, &mut merged, span, depth)?;
                    continue;
                }
                found => found,
            };
            let (key, shown) = self.key(key, span, depth)?;
            let (event, span) = self.next()?;
            let line = span.start.line();
            let value = self.node(event, span, depth)?;
            let is_merged = merged.remove(&key);
            self.set(&mut map, key, value, Duplicate { line, key: shown, is_merged });
        }
    }

    fn check_depth(&self, depth: usize) -> Result<(), Refused> {
        if depth > self.limits.depth { Err(too_deep().into()) } else { Ok(()) }
    }

    /// Returns a key, and its form in Go's messages.
    fn key(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<(String, String), Refused> {
        let failed = |text: String| Refused::from(Error::without_line(span.start.line(), text));
        if let Event::Scalar(text, style, 0, tag) = &event {
            self.count(1)?;
            return scalar(text, *style, tag.as_deref()).and_then(Scalar::key).map_err(failed);
        }
        // A key with an anchor, and an alias, are JSON already, in which whole numbers have no fraction.
        match self.node(event, span, depth)? {
            Value::String(text) => Scalar::Text(text).key(),
            Value::Null => Scalar::Null.key(),
            Value::Bool(value) => Scalar::Bool(value).key(),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Scalar::Int(value).key(),
                (None, Some(value)) => Scalar::Unsigned(value).key(),
                (None, None) => Scalar::Float(number.as_f64().unwrap_or_default()).key(),
            },
            value @ (Value::Array(_) | Value::Object(_)) => Err(format!("invalid map key: {value}")),
        }
        .map_err(failed)
    }

    /// Sets a key; records `duplicate` if the key exists.
    fn set(&mut self, map: &mut Map<String, Value>, key: String, value: Value, duplicate: Duplicate) {
        if map.insert(key, value).is_some() {
            self.duplicates.push(duplicate);
        }
    }

    /// Merges the value of `<<`: a map, or a list of maps of which the first has priority. `key`: place of `<<`.
    fn merge(
        &mut self,
        map: &mut Map<String, Value>,
        merged: &mut BTreeSet<String>,
        key: Span,
        depth: usize,
    ) -> Result<(), Refused> {
        let (event, span) = self.next()?;
        let line = span.start.line();
        let is_alias = matches!(event, Event::Alias(_));
        let value = self.node(event, span, depth)?;
        let maps = if is_alias && value.is_array() { None } else { walk::maps_of(value) };
        let maps = maps.ok_or_else(|| {
            let text = "map merge requires map or sequence of maps as the value";
            Error::without_line(key.start.line(), text)
        })?;
        for (key, value) in maps.into_iter().flatten() {
            let shown = format!("{key:?}");
            merged.insert(key.clone());
            self.set(map, key, value, Duplicate { line, key: shown, is_merged: true });
        }
        Ok(())
    }
}

pub(crate) fn too_deep() -> Error {
    Error::at(0, "exceeded max depth")
}

/// Resolves a scalar: one in quotes, or with the tag `!`, is a text.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar, String> {
    match tag.map(name_of) {
        Some(Some(name)) => Scalar::of(Some(&name), text),
        Some(None) => Ok(Scalar::Text(text.to_owned())),
        None if style == ScalarStyle::Plain => Ok(Scalar::plain(text)),
        None => Ok(Scalar::Text(text.to_owned())),
    }
}

/// Returns `int` of `!!int`; `None` for a tag that is not YAML's.
fn name_of(tag: &Tag) -> Option<String> {
    let whole = format!("{}{}", tag.handle, tag.suffix);
    whole.strip_prefix("tag:yaml.org,2002:").or_else(|| whole.strip_prefix("!!")).map(str::to_owned)
}

pub(crate) fn is_merge(text: &str, tag: Option<&Tag>) -> bool {
    text == "<<" && tag.is_none_or(|tag| name_of(tag).as_deref() == Some("merge"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        read(text.as_bytes(), Limits::BODY).map(|document| document.value).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(value(text), Ok(expected), "{text}");
    }

    #[test]
    fn words_without_quotes_are_read_by_yaml_1_1() {
        check(
            "a: [1, -2, 1.5, yes, 'yes', \"no\", off, ~, 0755, '0755', 2015-01-01, 1:30]",
            json!({"a": [1, -2, 1.5, true, "yes", "no", false, null, 493, "0755", "2015-01-01", "1:30"]}),
        );
        check("on: {y: n}\n'on': x\n", json!({"true": {"true": false}, "on": "x"}));
        check(
            "a: |-\n  yes\nb: >-\n  no\nc: !!str on\nd: ! off\ne: !!int '1'\nf: !own yes\n",
            json!({
                "a": "yes", "b": "no", "c": "on", "d": "off", "e": 1, "f": "yes",
            }),
        );
        check("a: &x yes\nb: *x\nc: &y 'yes'\nd: *y\n", json!({"a": true, "b": true, "c": "yes", "d": "yes"}));
        check("\"y\\x65s\"", json!("yes"));
    }

    #[test]
    fn an_empty_text_and_empty_values_are_null() {
        for text in ["", "# note\n", "---\n", "~", "null\n"] {
            check(text, json!(null));
        }
        check("a:\nb: ''\nc: [, ]\n".replace("[, ]", "[]").as_str(), json!({"a": null, "b": "", "c": []}));
    }

    #[test]
    fn maps_are_merged_and_later_keys_win() {
        let base = "base: &b {x: 1, y1: 2}\n";
        let of = |text: &str| {
            let mut tree = value(&format!("{base}{text}")).expect("YAML");
            tree["a"].take()
        };
        assert_eq!(of("a:\n  <<: *b\n  x: 3\n"), json!({"x": 3, "y1": 2}));
        assert_eq!(of("a:\n  x: 3\n  <<: *b\n"), json!({"x": 1, "y1": 2}), "as the library has it");
        assert_eq!(of("a:\n  <<: [{x: 7}, *b]\n"), json!({"x": 7, "y1": 2}), "the first of a list counts");
        assert_eq!(of("a:\n  <<: {x: 4}\n"), json!({"x": 4}));
        assert_eq!(of("a:\n  '<<': *b\n"), json!({"<<": {"x": 1, "y1": 2}}), "in quotes it is a key");
        // Duplicates with a flag for merged keys.
        let duplicates = |text: &str| -> Vec<(usize, bool)> {
            let document = read(format!("{base}{text}").as_bytes(), Limits::FILE).expect("YAML");
            document.duplicates.iter().map(|duplicate| (duplicate.line, duplicate.is_merged)).collect()
        };
        assert_eq!(duplicates("a:\n  <<: *b\n  x: 3\n"), [(4, true)]);
        assert_eq!(duplicates("a:\n  x: 3\n  <<: *b\n"), [(4, true)]);
        assert_eq!(duplicates("a:\n  <<: *b\n  x: 3\n  x: 4\n"), [(4, true), (5, false)]);
        for text in ["a: {<<: 1}", "a: {<<: [1]}", "l: &l [{x: 1}]\na: {<<: *l}", "a: {<<: }"] {
            assert_eq!(value(text), Err("yaml: map merge requires map or sequence of maps as the value".to_owned()));
        }
    }

    #[test]
    fn the_last_duplicate_counts_and_each_has_its_line() {
        let text = "a: 1\nb:\n  c: x\n  'c': z\na:\n  2\n1: x\n'1': z\n";
        let document = read(text.as_bytes(), Limits::BODY).expect("YAML");
        assert_eq!(document.value, json!({"a": 2, "b": {"c": "z"}, "1": "z"}));
        let told: Vec<String> = document.duplicates.iter().map(ToString::to_string).collect();
        let of = |line: usize, key: &str| format!("line {line}: key {key} already set in map");
        assert_eq!(told, [of(4, "\"c\""), of(6, "\"a\""), of(8, "\"1\"")]);
    }

    #[test]
    fn errors_have_the_texts_of_the_library() {
        for (text, expected) in [
            ("a: [1", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: 1\nb: [1,\nc: 2\nd: 3\n", "yaml: line 3: did not find expected ',' or ']'"),
            ("a: b: c", "yaml: mapping values are not allowed in this context"),
            ("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
            ("x: 1\n a: 2\n", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: 1\n- b\n", "yaml: line 1: did not find expected key"),
            ("a: \"x\nb: 1\n", "yaml: line 3: found unexpected end of stream"),
            ("a: @x", "yaml: found character that cannot start any token"),
            ("a: *x", "yaml: unknown anchor 'x' referenced"),
            ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
            ("a: \u{1}", "yaml: control characters are not allowed"),
            ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
            ("a: .nan", "json: unsupported value: NaN"),
            ("~: 1", "unsupported map key of type: %!s(<nil>), key: <nil>"),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text:?}");
        }
        // The line is known even if the text does not have it.
        for (text, line) in [
            ("a: 1\nb: *x\n", 2),
            ("a: 1\nb:\n  - c: *x\n", 3),
            ("a: 1\nb:\n  <<: 1\n", 3),
            ("a: 1\nb:\n  <<:\n  - 1\n", 3),
            ("a: 1\nb: &x\n  - *x\n", 3),
            ("a: 1\nb: !!int x\n", 2),
        ] {
            let error = read(text.as_bytes(), Limits::FILE).expect_err("it is refused");
            assert_eq!(error.line(), Some(line), "{text:?}");
            assert!(!error.to_string().contains("line"), "{error}");
        }
        let refused = |bytes: &[u8]| read(bytes, Limits::BODY).expect_err("no UTF-8").to_string();
        assert_eq!(refused(b"a: \xff"), "yaml: invalid leading UTF-8 octet");
        assert_eq!(refused(b"\xff\xfe\x00\xd8"), "yaml: invalid Unicode character");
    }

    #[test]
    fn of_several_documents_of_a_body_the_first_is_read() {
        for text in
            ["a: 1\n---\nb: 2\n", "---\na: 1\n---\nb: [\n", "# note\n---\na: 1\n...\n@", "{\"a\": 1}\n---\nb: 2\n"]
        {
            check(text, json!({"a": 1}));
        }
        check("---\n---\na: 1\n", json!(null));
        check("a:\n  b: [x,\n z]\n---\nc: 1\n", json!({"a": {"b": ["x", "z"]}}));
        let refused = read(b"a: 1\n---\nb: 2\n", Limits::FILE).expect_err("two documents are refused");
        assert_eq!(refused.to_string(), "yaml: line 3: there is more than one document");
        assert_eq!(value("a: [1\n---\nb: 2\n"), Err("yaml: line 1: did not find expected ',' or ']'".to_owned()));
    }

    #[test]
    fn brackets_may_continue_left_of_their_block() {
        check("a:\n  b: [yes,\n x, 'no', on: 1]\n", json!({"a": {"b": [true, "x", "no", {"true": 1}]}}));
        check(
            "a:\n  b: {\n\"x\": y,\n'y': 'n', <<: {n: 1}\n}\n",
            json!({"a": {"b": {"x": true, "y": "n", "false": 1}}}),
        );
    }

    #[test]
    fn json_is_yaml() {
        let text = r#"{"a": "yes", "b": [1.0, 1.5, 1e3, -1, null, true, "0755"], "on": {"c": "\u00e9"}}"#;
        check(text, json!({"a": "yes", "b": [1, 1.5, 1000, -1, null, true, "0755"], "on": {"c": "é"}}));
        let document = read(br#"{"a": 1, "a": 2}"#, Limits::BODY).expect("JSON");
        assert_eq!((document.value, document.duplicates.len()), (json!({"a": 2}), 1));
        check("{\"a\": yes}", json!({"a": true}));
    }

    #[test]
    fn utf_16_texts_begin_with_a_mark() {
        let bytes = |units: Vec<u8>| read(&units, Limits::BODY).map(|document| document.value);
        let little = [0xff, 0xfe].into_iter().chain("ñ: yes".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let big = [0xfe, 0xff].into_iter().chain("ñ: yes".encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(bytes(little), Ok(json!({"ñ": true})));
        assert_eq!(bytes(big), Ok(json!({"ñ": true})));
        assert_eq!(bytes("\u{feff}a: 1".into()), Ok(json!({"a": 1})));
    }

    #[test]
    fn texts_that_expand_without_bound_are_refused() {
        let refused = |text: &str, expected: &str| {
            let error = value(text).expect_err("too much");
            assert!(error.contains(expected), "{error}");
        };
        refused(&"[".repeat(2_900_000), "exceeded max depth");
        refused(&"- ".repeat(1_450_000), "exceeded max depth");
        refused(&"{a: ".repeat(700_000), "exceeded max depth");
        refused(&"? ".repeat(1_450_000), "exceeded max depth");
        refused(&format!("[{}]", "[],".repeat(900_000)), "more than 500000 nodes");
        refused(&"- a\n".repeat(700_000), "more than 500000 nodes");
        let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..9 {
            let before = level - 1;
            let items = vec![format!("*a{before}"); 10].join(", ");
            laughs = format!("{laughs}a{level}: &a{level} [{items}]\n");
        }
        refused(&laughs, "aliases stand for");
        // Few aliases, each of a large value.
        let much = vec!["x"; 20_000].join(", ");
        refused(&format!("a: &a [{much}]\nb: [{}]\n", vec!["*a"; 200].join(", ")), "aliases stand for");
        let nested = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        assert!(value(&nested).is_ok(), "the limit itself");
    }
}
