// SPDX-License-Identifier: Apache-2.0
//! Texts in Go's form: JSON as `encoding/json` writes and reads it, and quoted texts.

mod json;
pub(crate) mod lexer;

use std::fmt::Write as _;

pub use self::json::write_json;
pub(crate) use self::json::{write_text, write_tree};

/// Quotes a text like Go's `%q`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            other if (other as u32) < 0x80 && other.is_control() => {
                let _ = write!(out, "\\x{:02x}", other as u32);
            }
            other if other.is_control() => {
                let _ = write!(out, "\\u{:04x}", other as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
