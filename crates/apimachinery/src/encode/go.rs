// SPDX-License-Identifier: Apache-2.0
//! JSON as Go's `encoding/json` writes it: HTML-relevant characters are escaped, whole floats have no fraction.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Appends a value as Go's encoder writes it.
pub fn write_go<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    value.serialize(&mut Serializer::with_formatter(out, Go)).expect("values have text keys and finite numbers");
}

/// The formatter of [`write_go`].
pub(super) struct Go;

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
            // Rust writes `1e-7` and `1e21`, Go `1e-07` and `1e+21`, of which it makes `1e-7` and `1e+21`.
            return writer.write_all(format!("{value:e}").replace('e', if size < 1.0 { "e" } else { "e+" }).as_bytes());
        }
        write!(writer, "{value}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &serde_json::Value, expected: &str) {
        let mut out = Vec::new();
        write_go(&mut out, value);
        assert_eq!(String::from_utf8(out).expect("JSON is UTF-8"), expected);
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
