// SPDX-License-Identifier: Apache-2.0
//! Elements of paths, their order and their two texts.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::go::{quote, write_json};

/// A scalar that identifies an item of a list.
///
/// Order: numbers by their value, then texts, booleans, anything else by its text.
#[derive(Clone, Debug)]
pub struct Scalar(pub Value);

impl Scalar {
    fn rank(&self) -> u8 {
        match self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::Number(one), Value::Number(two)) => match (one.as_i64(), two.as_i64()) {
                (Some(one), Some(two)) => one.cmp(&two),
                _ => one.as_f64().unwrap_or_default().total_cmp(&two.as_f64().unwrap_or_default()),
            },
            (Value::String(one), Value::String(two)) => one.cmp(two),
            (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
            (one, two) => self.rank().cmp(&other.rank()).then_with(|| one.to_string().cmp(&two.to_string())),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => f.write_str(&quote(text)),
            other => write!(f, "{other}"),
        }
    }
}

/// One step of a path.
///
/// Order: fields by name, then items by key, by value, by index. `Display` is what conflicts show: `.name`,
/// `[name="a"]`, `[="a"]`, `[0]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A field of a struct or an entry of a map.
    Field(String),
    /// An item of a list by the values of its keys, sorted by their names.
    Key(Vec<(String, Scalar)>),
    /// An item of a set.
    Value(Scalar),
    /// An item of a list by its position.
    Index(i64),
}

impl Element {
    /// Creates a field by its name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Returns the name, if this is a field.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            _ => None,
        }
    }

    /// Appends the key under which `fieldsV1` has the element: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`.
    pub(super) fn write(&self, out: &mut String) {
        let json = |value: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            value(&mut bytes);
            String::from_utf8(bytes).unwrap_or_default()
        };
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (position, (name, value)) in fields.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    out.push_str(&json(&|bytes| write_json(bytes, name)));
                    out.push(':');
                    out.push_str(&json(&|bytes| write_json(bytes, &value.0)));
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                out.push_str(&json(&|bytes| write_json(bytes, &value.0)));
            }
            Self::Index(index) => {
                out.push_str("i:");
                out.push_str(&index.to_string());
            }
        }
    }

    /// Parses the form of [`Element::write`]; `Ok(None)` for an unknown kind of element.
    pub(super) fn read(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(format!("missing colon: {text}"));
        };
        let json = || serde_json::from_str::<Value>(rest).map_err(|error| error.to_string());
        Ok(Some(match kind {
            "f" => Self::field(rest),
            "k" => match json()? {
                Value::Object(fields) => {
                    Self::Key(fields.into_iter().map(|(name, value)| (name, Scalar(value))).collect())
                }
                _ => return Err(format!("a key must be an object: {text}")),
            },
            "v" => Self::Value(Scalar(json()?)),
            "i" => Self::Index(rest.parse().map_err(|_| format!("an index must be a number: {text}"))?),
            _ => return Ok(None),
        }))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    let comma = if position > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Formats steps as one text, `.spec.workers[name="a"].minimum`.
pub fn text_of(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
