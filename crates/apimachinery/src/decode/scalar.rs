// SPDX-License-Identifier: Apache-2.0
//! Scalars according to a schema: checked, and in canonical form.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use serde_json::{Number, Value};

use super::findings::Findings;
use crate::go::quote;
use crate::meta::{ByteString, Duration, MicroTime, Quantity, Time};
use crate::schema::Node;

impl Findings {
    /// Checks a boolean.
    pub(super) fn boolean(&mut self, given: bool, node: &Node) -> Option<Value> {
        if matches!(node, Node::Boolean) { Some(Value::Bool(given)) } else { self.mismatch("bool", node) }
    }

    /// Checks a number by its text.
    pub(super) fn number(&mut self, text: &str, node: &Node) -> Option<Value> {
        let number = match node {
            Node::Integer { bits, signed } => integer(text, *bits, *signed).map(Number::from),
            Node::IntOrString => integer(text, 32, true).map(Number::from),
            Node::Number => text.parse().ok().and_then(Number::from_f64),
            Node::Quantity => return self.quantity(text),
            _ => return self.mismatch("number", node),
        };
        match number {
            Some(number) => Some(Value::Number(number)),
            None => self.mismatch(&format!("number {text}"), node),
        }
    }

    /// Checks a text.
    pub(super) fn text(&mut self, text: Cow<'_, str>, node: &Node) -> Option<Value> {
        match node {
            Node::String | Node::IntOrString => {}
            Node::Quantity => return self.quantity(text.trim()),
            Node::Duration => match text.parse::<Duration>() {
                Ok(duration) => return Some(Value::String(duration.to_string())),
                Err(message) => return self.fail(message),
            },
            Node::Time if is_canonical(text.as_bytes()) => {}
            Node::Time => match instant(&text, "2006-01-02T15:04:05Z07:00") {
                Ok(instant) => return non_zero(Time::from_instant(instant).is_zero(), &Time::from_instant(instant)),
                Err(message) => return self.fail(message),
            },
            Node::MicroTime => match instant(&text, "2006-01-02T15:04:05.000000Z07:00") {
                Ok(instant) => return non_zero(MicroTime(instant) == MicroTime::default(), &MicroTime(instant)),
                Err(message) => return self.fail(message),
            },
            Node::Bytes => match ByteString::from_base64(&text) {
                Ok(bytes) if text.contains(['\n', '\r']) => return Some(Value::String(bytes.to_base64())),
                Ok(_) => {}
                Err(message) => return self.fail(message),
            },
            _ => return self.mismatch("string", node),
        }
        Some(Value::String(text.into_owned()))
    }

    fn quantity(&mut self, text: &str) -> Option<Value> {
        match text.parse::<Quantity>() {
            Ok(quantity) => Some(Value::String(quantity.to_string())),
            Err(message) => self.fail(message.to_owned()),
        }
    }
}

fn non_zero(zero: bool, time: &impl std::fmt::Display) -> Option<Value> {
    if zero { None } else { Some(Value::String(time.to_string())) }
}

fn integer(text: &str, bits: u8, signed: bool) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    let (low, high) = match (bits, signed) {
        (16, false) => (0, i64::from(u16::MAX)),
        (16, true) => (i64::from(i16::MIN), i64::from(i16::MAX)),
        (32, false) => (0, i64::from(u32::MAX)),
        (32, true) => (i64::from(i32::MIN), i64::from(i32::MAX)),
        (_, false) => (0, i64::MAX),
        (_, true) => (i64::MIN, i64::MAX),
    };
    (low..=high).contains(&value).then_some(value)
}

/// True if a text has the shape `2023-07-28T09:07:27Z`, which servers and most clients send.
fn is_canonical(text: &[u8]) -> bool {
    text.len() == 20
        && text.iter().zip(b"0000-00-00T00:00:00Z").all(|(given, pattern)| match pattern {
            b'0' => given.is_ascii_digit(),
            _ => given == pattern,
        })
        && &text[..4] > b"0001".as_slice()
        && (*b"01"..=*b"12").contains(&[text[5], text[6]])
        && (*b"01"..=*b"28").contains(&[text[8], text[9]])
        && &text[11..13] < b"24".as_slice()
        && &text[14..16] < b"60".as_slice()
        && &text[17..19] < b"60".as_slice()
}

/// Parses an instant like Go's `time.Parse`.
fn instant(text: &str, layout: &str) -> Result<DateTime<Utc>, String> {
    let refusal = |rest: &str, element: &str| {
        format!("parsing time {} as {}: cannot parse {} as {}", quote(text), quote(layout), quote(rest), quote(element))
    };
    let mut rest = text;
    for element in ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] {
        let length = element.len();
        let fits = match rest.get(..length) {
            Some(head) if element.as_bytes()[0].is_ascii_digit() => head.bytes().all(|byte| byte.is_ascii_digit()),
            Some(head) => head == element,
            None => false,
        };
        if !fits {
            return Err(refusal(rest, element));
        }
        rest = &rest[length..];
    }
    let exact = layout.contains(".000000");
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 || exact && length != 6 {
            return Err(refusal(rest, if exact { ".000000" } else { "Z07:00" }));
        }
        rest = &fraction[length..];
    } else if exact {
        return Err(refusal(rest, ".000000"));
    }
    let zone = rest.as_bytes();
    let offset = zone.len() >= 6
        && matches!(zone[0], b'+' | b'-')
        && zone[3] == b':'
        && [1, 2, 4, 5].iter().all(|at| zone[*at].is_ascii_digit());
    if !rest.starts_with('Z') && !offset {
        return Err(refusal(rest, "Z07:00"));
    }
    let extra = &rest[if offset { 6 } else { 1 }..];
    if !extra.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(text), quote(extra)));
    }
    DateTime::parse_from_rfc3339(&text.replace(',', ".")).map(|time| time.with_timezone(&Utc)).map_err(|_| {
        let part = |range: std::ops::Range<usize>| text[range].parse().unwrap_or(0);
        let what = match () {
            () if !(1..=12).contains(&part(5..7)) => "month",
            () if part(11..13) > 23 => "hour",
            () if part(14..16) > 59 => "minute",
            () if part(17..19) > 59 => "second",
            () => "day",
        };
        format!("parsing time {}: {what} out of range", quote(text))
    })
}
