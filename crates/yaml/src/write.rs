// SPDX-License-Identifier: Apache-2.0
//! Writes a value as YAML that is read back as the same value.
//!
//! The underlying library quotes texts that YAML 1.2 would not read as texts. Those that only YAML 1.1 resolves (`yes`,
//! `1_000`, `<<`) are quoted here, afterwards.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde::Serialize;

use crate::scalar::Scalar;

const BREAKS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// Reason for which a value cannot be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WriteError(#[from] serde_yaml_ng::Error);

/// Formats a value as YAML, in block style, maps in the value's own order.
///
/// # Errors
/// The value cannot be written.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, WriteError> {
    let text = serde_yaml_ng::to_string(value)?;
    // Characters that are line breaks for some readers, and letters for others. JSON is YAML, and escapes them.
    if text.contains(BREAKS)
        && let Ok(text) = serde_json::to_string_pretty(value)
    {
        return Ok(text.replace(BREAKS[0], "\\u2028").replace(BREAKS[1], "\\u2029") + "\n");
    }
    Ok(quoted(text))
}

/// Adds quotes around scalars that would not be read as texts.
fn quoted(text: String) -> String {
    let mut spans = Vec::new();
    for event in Parser::new_from_str(&text) {
        let Ok((event, span)) = event else { return text };
        if let Event::Scalar(scalar, ScalarStyle::Plain, _, None) = event
            && is_only_text_in_1_2(&scalar)
        {
            spans.push((span.start.index(), span.start.index() + scalar.chars().count()));
        }
    }
    if spans.is_empty() {
        return text;
    }
    let mut written = String::with_capacity(text.len() + 2 * spans.len());
    let mut spans = spans.into_iter().peekable();
    for (at, letter) in text.chars().enumerate() {
        if spans.peek().is_some_and(|(start, _)| *start == at) {
            written.push('"');
        }
        written.push(letter);
        if spans.next_if(|(_, end)| *end == at + 1).is_some() {
            written.push('"');
        }
    }
    written
}

/// True if a scalar is a text in YAML 1.2, and has another type in YAML 1.1.
fn is_only_text_in_1_2(scalar: &str) -> bool {
    let differs = scalar == "<<" || is_time(scalar) || !matches!(Scalar::plain(scalar), Scalar::Text(_));
    differs && serde_yaml_ng::from_str::<serde_yaml_ng::Value>(scalar).is_ok_and(|value| value.is_string())
}

/// True if a text looks like a date, a time or a number of base 60, which Go's library quotes although it reads them as texts.
fn is_time(scalar: &str) -> bool {
    let digits =
        |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        matches!(parts[..], [year, month, day] if year.len() == 4 && digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    let (date, rest) = scalar.split_at(scalar.find(['T', 't', ' ']).unwrap_or(scalar.len()));
    let is_clock =
        |text: &str| text.contains(':') && text.bytes().all(|it| it.is_ascii_digit() || b":.Z+-".contains(&it));
    if is_date(date) {
        return rest.is_empty() || is_clock(&rest[1..]);
    }
    let mut parts = scalar.trim_start_matches(['+', '-']).split(':');
    let first = parts.next().is_some_and(|first| digits(first, usize::MAX));
    let rest: Vec<&str> = parts.collect();
    let is_part = |part: &&str| digits(part.split('.').next().unwrap_or_default(), 2);
    first && !rest.is_empty() && rest.iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn written_values_are_read_back_unchanged() {
        let words = [
            "y",
            "N",
            "yes",
            "No",
            "on",
            "OFF",
            "~",
            "null",
            "true",
            "0777",
            "08",
            "1_000",
            "0x1F",
            "0x_1F",
            "0b1",
            "0o17",
            "1e3",
            ".5",
            "1.",
            "-.inf",
            ".nan",
            "<<",
            "=",
            "2001-01-01",
            "12:30",
            "+1",
            "0b-1",
            "1__0",
            "",
            "a: b",
            "- a",
            "*x",
            "a #b",
            " a",
            "a\nb\n",
            "\n",
            "yes\nno",
            "a\tb",
            "é",
            "-",
            "?",
            "é yes",
            "18446744073709551616",
            "TRUE",
            "\u{1}",
            "\u{85}",
            "\u{feff}x",
            "|",
            "trailing ",
            "'",
            "\"",
        ];
        let texts = json!(words.as_slice());
        let keys: serde_json::Map<String, Value> = words.iter().map(|word| ((*word).to_owned(), json!(word))).collect();
        for tree in [
            json!({"texts": texts, "keys": keys}),
            json!([[["yes"], {"a": ["no", {"b": "on\nyes"}]}], true, false, null, 1, 1.5, -3, {}, [], u64::MAX]),
            json!("yes"),
            json!({"a": "b\u{2028}c", "d": "\u{2029}", "e": "yes"}),
            json!({"text": "- yes\n  no\n", "é": {"on": "é: yes"}, "last": "y"}),
        ] {
            let text = to_string(&tree).expect("YAML");
            assert_eq!(crate::value(&text), Ok(tree), "{text}");
        }
    }

    #[test]
    fn quotes_are_added_only_where_needed_or_as_in_go() {
        let text = to_string(&json!({"a": "yes", "b": "maybe", "on": true, "c": 1000, "d": "1_000"})).expect("YAML");
        assert_eq!(text, "a: \"yes\"\nb: maybe\nc: 1000\nd: \"1_000\"\n\"on\": true\n");
        for (word, is_quoted) in [
            ("2023-07-27T20:00:08Z", true),
            ("2023-07-27T20:00:08.5+02:00", true),
            ("2023-7-2 1:2:3", true),
            ("2023-07-27", true),
            ("1:30", true),
            ("-190:20:30.15", true),
            ("2023-07-27-x", false),
            ("2023-07-27Tea", false),
            ("10.0.0.1:80", false),
            ("fd00::1", false),
            ("12:345", false),
            ("a:1", false),
        ] {
            let text = to_string(&json!({ "a": word })).expect("YAML");
            let expected = if is_quoted { format!("a: \"{word}\"\n") } else { format!("a: {word}\n") };
            assert_eq!(text.replace('\'', "\""), expected);
        }
    }
}
