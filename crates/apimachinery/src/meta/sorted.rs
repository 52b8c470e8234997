// SPDX-License-Identifier: Apache-2.0
//! Check whether a JSON text is in the form in which a tree of its values would be written, without building the tree.

use crate::go::lexer::Lexer;

/// Maximum nesting depth of a text that is checked.
const MAX_DEPTH: usize = 100;
/// Maximum number of digits of a number that every reader parses to the same whole number.
const DIGITS: usize = 15;

/// True if the keys of a compact JSON text are sorted and unique, and its scalars are in the form of
/// [`crate::go::write_json`]. `false` also where this is not easily decided.
pub(crate) fn is_sorted(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    value(&mut lexer, MAX_DEPTH) && lexer.is_at_end()
}

fn value(lexer: &mut Lexer<'_>, depth: usize) -> bool {
    let mut is_first = true;
    match lexer.peek() {
        Some(b'{') => {
            let mut last: Option<&str> = None;
            loop {
                let start = lexer.position();
                let is_begin = is_first;
                match lexer.key(&mut is_first) {
                    Ok(Some(_)) => {}
                    Ok(None) => return true,
                    Err(_) => return false,
                }
                // `{"key":` or `,"key":`
                let key = lexer.since(start);
                let Some(key) =
                    key.strip_prefix(if is_begin { '{' } else { ',' }).and_then(|key| key.strip_suffix(':'))
                else {
                    return false;
                };
                if key.contains('\\') || last.is_some_and(|last| unquoted(last) >= unquoted(key)) {
                    return false;
                }
                last = Some(key);
                if depth == 0 || !value(lexer, depth - 1) {
                    return false;
                }
            }
        }
        Some(b'[') => loop {
            match lexer.item(&mut is_first) {
                Ok(true) if depth > 0 && value(lexer, depth - 1) => {}
                Ok(false) => return true,
                _ => return false,
            }
        },
        Some(b'"') => {
            let start = lexer.position();
            lexer.string().is_ok() && has_usual_escapes(lexer.since(start))
        }
        Some(b'-' | b'0'..=b'9') => {
            let number = lexer.number();
            number.is_ok_and(|text| text.len() <= DIGITS && text != "-0" && !text.contains(['.', 'e', 'E']))
        }
        Some(b't') => lexer.literal("true").is_ok(),
        Some(b'f') => lexer.literal("false").is_ok(),
        _ => lexer.literal("null").is_ok(),
    }
}

/// Removes the quotes: they would sort a key after another that continues with a space.
fn unquoted(key: &str) -> &str {
    key.trim_matches('"')
}

/// True if the only escapes in a quoted text are those that Go's encoder writes.
fn has_usual_escapes(text: &str) -> bool {
    const USUAL: &[&str] = &["\"", "\\", "n", "r", "t", "u003c", "u003e", "u0026"];
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at + 1..];
        let Some(usual) = USUAL.iter().find(|usual| rest.starts_with(**usual)) else { return false };
        rest = &rest[usual.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::meta::Raw;

    #[test]
    fn a_sorted_text_equals_its_written_tree() {
        for (text, expected) in [
            (r#"{"a":1,"b":{"c":[1,{"d":null}],"e":true},"f":"x"}"#, true),
            (r#"{"a b":1,"a!":1}"#, true),
            (r#"{"a":1,"a!":1}"#, true),
            (r#"{"b":1,"a":1}"#, false),
            (r#"{"a":1,"a":1}"#, false),
            (r#"{"a":{"z":1,"y":1}}"#, false),
            (r#"[{"z":1,"y":1}]"#, false),
            (r#"{"a":1.0}"#, false),
            (r#"{"a":1e3}"#, false),
            (r#"{"a":-0}"#, false),
            (r#"{"a":-12}"#, true),
            (r#"{"a":12345678901234567890}"#, false),
            (r#""\u0041""#, false),
            (r#""\/""#, false),
            (r#""\"\\\n\u003c""#, true),
            (r#"{"\u0041":1}"#, false),
            ("{}", true),
            ("[]", true),
            ("null", true),
            (r#"{"a":1}x"#, false),
            (r#"{"a":1"#, false),
        ] {
            assert_eq!(is_sorted(text), expected, "{text}");
            if expected {
                let value: Value = serde_json::from_str(text).expect("JSON");
                assert_eq!(Raw::from(value).text(), text);
            }
        }
    }
}
