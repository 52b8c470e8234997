// SPDX-License-Identifier: Apache-2.0
//! JSON as Go's `encoding/json` writes it: HTML-relevant characters are escaped, whole floats have no fraction.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Appends a value as Go's encoder writes it.
pub fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    value.serialize(&mut Serializer::with_formatter(out, Go)).expect("values have text keys and finite numbers");
}

/// Appends a text as [`write_json`] does. Few texts have characters to escape, and the others are copied.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        return write_json(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends a tree as [`write_json`] does.
pub(crate) fn write_tree(out: &mut Vec<u8>, tree: &Value) {
    match tree {
        Value::Null | Value::Bool(_) | Value::Number(_) => write_json(out, tree),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_tree(out, item);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (position, (name, value)) in fields.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_text(out, name);
                out.push(b':');
                write_tree(out, value);
            }
            out.push(b'}');
        }
    }
}

/// True if Go escapes none of these bytes; compares eight bytes at a time. 0xe2 is the first byte of U+2028 and U+2029,
/// and of other characters.
fn is_plain(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // Sets the high bit of a byte that is below `bound`, and of others only if there is one.
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let (words, tail) = bytes.as_chunks::<8>();
    let are_plain = words.iter().all(|word| {
        let word = u64::from_le_bytes(*word);
        let found =
            [b'"', b'\\', b'<', b'>', b'&', 0xe2].iter().fold(below(word, b' '), |found, byte| found | is(word, *byte));
        found & (ONES << 7) == 0
    });
    are_plain && !tail.iter().any(|byte| matches!(byte, 0..b' ' | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2))
}

/// Formatter of [`write_json`]: JSON with the escapes of Go's `encoding/json`.
struct Go;

impl Formatter for Go {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let bytes = fragment.as_bytes();
        if !bytes.iter().any(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2)) {
            return writer.write_all(bytes);
        }
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let (escape, length): (&[u8], usize) = match byte {
                b'<' => (b"\\u003c", 1),
                b'>' => (b"\\u003e", 1),
                b'&' => (b"\\u0026", 1),
                0xe2 if bytes[at..].starts_with(&[0xe2, 0x80, 0xa8]) => (b"\\u2028", 3),
                0xe2 if bytes[at..].starts_with(&[0xe2, 0x80, 0xa9]) => (b"\\u2029", 3),
                _ => continue,
            };
            writer.write_all(&bytes[start..at])?;
            writer.write_all(escape)?;
            start = at + length;
        }
        writer.write_all(&bytes[start..])
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size != 0.0 && !(1e-6..1e21).contains(&size) {
            // Rust writes `1e-7` and `1e21`, Go `1e-07` and `1e+21`, which it shortens to `1e-7` and `1e+21`.
            return writer.write_all(format!("{value:e}").replace('e', if size < 1.0 { "e" } else { "e+" }).as_bytes());
        }
        write!(writer, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &serde_json::Value, expected: &str) {
        let mut out = Vec::new();
        write_json(&mut out, value);
        assert_eq!(String::from_utf8(out).expect("JSON is UTF-8"), expected);
        let mut out = Vec::new();
        write_tree(&mut out, value);
        assert_eq!(String::from_utf8(out).expect("JSON is UTF-8"), expected, "as a tree");
    }

    fn trees() -> impl Strategy<Value = Value> {
        let text = "[a-c\"\\\\<>&\u{2028}\u{2029}\u{20ac}é\u{0}-\u{22}\u{7f}]{0,20}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::String),
        ];
        leaf.prop_recursive(3, 20, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::btree_map(text, inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn trees_are_written_as_serde_writes_them(tree in trees()) {
            let (mut by_serde, mut direct) = (Vec::new(), Vec::new());
            write_json(&mut by_serde, &tree);
            write_tree(&mut direct, &tree);
            prop_assert_eq!(String::from_utf8(direct), String::from_utf8(by_serde));
        }
    }

    #[test]
    fn text_is_escaped_like_gos() {
        check(&json!("a<b>&\u{2028}é"), r#""a\u003cb\u003e\u0026\u2028é""#);
        check(&json!("\"\\/\n\t\u{8}\u{1}"), r#""\"\\/\n\t\b\u0001""#);
        check(&json!({"a&b": 1}), r#"{"a\u0026b":1}"#);
    }

    #[test]
    fn numbers_are_written_like_gos() {
        check(&json!(1.0), "1");
        check(&json!(0.5), "0.5");
        check(&json!(1e21), "1e+21");
        check(&json!(1e-7), "1e-7");
        check(&json!(123_456_789_012_i64), "123456789012");
    }
}
