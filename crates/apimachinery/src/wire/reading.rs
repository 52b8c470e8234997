// SPDX-License-Identifier: Apache-2.0
//! Reading of JSON, as text or as a tree, into values.

use std::borrow::Cow;

use serde_json::Value;

use super::{Fields, Slot, Token, Wire};
use crate::go::lexer::Lexer;
use crate::meta::Raw;

/// Maximum nesting depth of a text.
const MAX_DEPTH: usize = 128;

/// Reads a JSON text into a new value.
///
/// # Errors
/// A text that is not JSON, or holds a value of a wrong type; the value is then filled in part.
pub fn read(value: &mut dyn Wire, text: &str) -> Result<(), String> {
    let mut lexer = Lexer::new(text);
    fill(value.slot(), &mut lexer, MAX_DEPTH)?;
    if lexer.is_at_end() { Ok(()) } else { Err(lexer.unexpected("after top-level value")) }
}

/// Reads a tree into a new value. Opaque JSON in it may be a mark of [`crate::opaque`].
///
/// # Errors
/// A value of a wrong type.
pub fn read_tree(value: &mut dyn Wire, tree: Value) -> Result<(), String> {
    fill_from_tree(value.slot(), tree)
}

/// Creates a value from a tree; see [`read_tree`].
///
/// # Errors
/// A value of a wrong type.
pub fn from_tree<T: Wire + Default>(tree: Value) -> Result<T, String> {
    let mut value = T::default();
    read_tree(&mut value, tree)?;
    Ok(value)
}

/// Returns the position of a field, searched from `from` on, since fields are mostly in order.
pub(super) fn position(object: &dyn Fields, name: &str, from: usize) -> Option<usize> {
    let fields = object.fields();
    let (before, behind) = fields.split_at(from.min(fields.len()));
    let is_it = |field: &super::FieldInfo| field.name == name;
    behind.iter().position(is_it).map(|at| at + before.len()).or_else(|| before.iter().position(is_it))
}

pub(super) fn within(name: &str, error: String) -> String {
    // Only the innermost field is named, as in Go.
    if error.starts_with("field ") { error } else { format!("field `{name}`: {error}") }
}

fn fill(slot: Slot<'_>, lexer: &mut Lexer<'_>, depth: usize) -> Result<(), String> {
    match slot {
        Slot::Leaf(leaf) => leaf.set(token(lexer)?),
        Slot::Raw(raw) => {
            *raw = Raw::of_json(skipped(lexer, depth)?);
            Ok(())
        }
        Slot::Tree(tree) => {
            *tree = serde_json::from_str(skipped(lexer, depth)?).map_err(|error| error.to_string())?;
            Ok(())
        }
        Slot::Optional(optional) => {
            if lexer.peek() == Some(b'n') {
                optional.clear();
                return lexer.literal("null");
            }
            fill(optional.fill().slot(), lexer, depth)
        }
        Slot::Struct(object) => {
            let Some(depth) = opened(lexer, b'{', depth)? else { return Ok(()) };
            let (mut is_first, mut next) = (true, 0);
            while let Some(name) = lexer.key(&mut is_first)? {
                match position(object, &name, next) {
                    Some(at) => {
                        next = at + 1;
                        fill(object.field_mut(at).slot(), lexer, depth).map_err(|error| within(&name, error))?;
                    }
                    None => {
                        skipped(lexer, depth)?;
                    }
                }
            }
            Ok(())
        }
        Slot::Map(map) => {
            map.clear();
            let Some(depth) = opened(lexer, b'{', depth)? else { return Ok(()) };
            let mut is_first = true;
            while let Some(name) = lexer.key(&mut is_first)? {
                fill(map.set(name.into_owned()).slot(), lexer, depth)?;
            }
            Ok(())
        }
        Slot::List(list) => {
            list.clear();
            let Some(depth) = opened(lexer, b'[', depth)? else { return Ok(()) };
            let mut is_first = true;
            while lexer.item(&mut is_first)? {
                fill(list.push().slot(), lexer, depth)?;
            }
            Ok(())
        }
    }
}

/// Reads the begin of a container and returns the remaining depth; `None` for `null`.
fn opened(lexer: &mut Lexer<'_>, begin: u8, depth: usize) -> Result<Option<usize>, String> {
    match lexer.peek() {
        Some(byte) if byte == begin => depth.checked_sub(1).map(Some).ok_or_else(|| "exceeded max depth".to_owned()),
        Some(b'n') => lexer.literal("null").map(|()| None),
        Some(b'{' | b'[') => Err(format!("invalid type: expected `{}`", char::from(begin))),
        _ => {
            let found = token(lexer)?;
            Err(format!("invalid type: {found:?}, expected `{}`", char::from(begin)))
        }
    }
}

fn token<'a>(lexer: &mut Lexer<'a>) -> Result<Token<'a>, String> {
    match lexer.peek() {
        Some(b'"') => lexer.string().map(Token::Text),
        Some(b'-' | b'0'..=b'9') => lexer.number().map(|text| Token::Number(Cow::Borrowed(text))),
        Some(b't') => lexer.literal("true").map(|()| Token::Boolean(true)),
        Some(b'f') => lexer.literal("false").map(|()| Token::Boolean(false)),
        Some(b'n') => lexer.literal("null").map(|()| Token::Null),
        Some(b'{' | b'[') => Err("invalid type: a scalar is expected".to_owned()),
        _ => Err(lexer.unexpected("looking for beginning of value")),
    }
}

/// Returns the text of the next value of any type.
fn skipped<'a>(lexer: &mut Lexer<'a>, depth: usize) -> Result<&'a str, String> {
    lexer.blanks();
    let start = lexer.position();
    skip(lexer, depth)?;
    Ok(lexer.since(start))
}

fn skip(lexer: &mut Lexer<'_>, depth: usize) -> Result<(), String> {
    let begin = lexer.peek();
    if !matches!(begin, Some(b'{' | b'[')) {
        return token(lexer).map(drop);
    }
    let depth = depth.checked_sub(1).ok_or_else(|| "exceeded max depth".to_owned())?;
    let mut is_first = true;
    if begin == Some(b'{') {
        while lexer.key(&mut is_first)?.is_some() {
            skip(lexer, depth)?;
        }
    } else {
        while lexer.item(&mut is_first)? {
            skip(lexer, depth)?;
        }
    }
    Ok(())
}

pub(super) fn fill_from_tree(slot: Slot<'_>, tree: Value) -> Result<(), String> {
    match (slot, tree) {
        (Slot::Raw(raw), tree) => *raw = tree.into(),
        (Slot::Tree(place), tree) => *place = tree,
        (Slot::Optional(optional), Value::Null) => optional.clear(),
        (Slot::Optional(optional), tree) => return fill_from_tree(optional.fill().slot(), tree),
        (Slot::Leaf(leaf), tree) => {
            return leaf.set(match tree {
                Value::Null => Token::Null,
                Value::Bool(value) => Token::Boolean(value),
                Value::Number(number) => Token::Number(number.to_string().into()),
                Value::String(text) => Token::Text(text.into()),
                Value::Array(_) | Value::Object(_) => return Err("invalid type: a scalar is expected".to_owned()),
            });
        }
        (Slot::Struct(object), Value::Object(fields)) => {
            for (name, tree) in fields {
                if let Some(at) = position(object, &name, 0) {
                    fill_from_tree(object.field_mut(at).slot(), tree).map_err(|error| within(&name, error))?;
                }
            }
        }
        (Slot::Map(map), Value::Object(entries)) => {
            map.clear();
            for (key, tree) in entries {
                fill_from_tree(map.set(key).slot(), tree)?;
            }
        }
        (Slot::List(list), Value::Array(items)) => {
            list.clear();
            for tree in items {
                fill_from_tree(list.push().slot(), tree)?;
            }
        }
        (Slot::Struct(_) | Slot::Map(_) | Slot::List(_), Value::Null) => {}
        (Slot::Struct(_) | Slot::Map(_), other) => {
            return Err(format!("invalid type: {other}, expected an object"));
        }
        (Slot::List(_), other) => return Err(format!("invalid type: {other}, expected a list")),
    }
    Ok(())
}
