// SPDX-License-Identifier: Apache-2.0
//! Scalars.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Leaf, Slot, Token, View, Wire};
use crate::meta::{ByteString, Duration, IntOrString, MicroTime, Quantity, Raw, RawExtension, Time};

/// Error text with the type of a token and the expected type.
fn mismatch(token: &Token<'_>, wanted: &str) -> String {
    let (what, text) = match token {
        Token::Null => ("null", ""),
        Token::Boolean(true) => ("boolean", " `true`"),
        Token::Boolean(false) => ("boolean", " `false`"),
        Token::Number(text) => return format!("invalid type: number `{text}`, expected {wanted}"),
        Token::Text(text) => return format!("invalid type: string {text:?}, expected {wanted}"),
    };
    format!("invalid type: {what}{text}, expected {wanted}")
}

fn parsed<T: FromStr>(text: &str) -> Result<T, String>
where
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

macro_rules! leaf {
    ($($type:ty: $self:ident => $view:expr, $zero:expr, $token:ident => $read:expr;)*) => {
        $(
            impl Wire for $type {
                fn view(&self) -> View<'_> {
                    let $self = self;
                    $view
                }

                fn slot(&mut self) -> Slot<'_> {
                    Slot::Leaf(self)
                }

                fn is_zero(&self) -> bool {
                    let $self = self;
                    $zero
                }
            }

            impl Leaf for $type {
                fn set(&mut self, $token: Token<'_>) -> Result<(), String> {
                    *self = $read?;
                    Ok(())
                }
            }
        )*
    };
}

leaf! {
    String: value => View::Text(Cow::Borrowed(value)), value.is_empty(), token => match token {
        Token::Text(text) => Ok(text.into_owned()),
        Token::Null => Ok(Self::new()),
        other => Err(mismatch(&other, "a string")),
    };
    bool: value => View::Boolean(*value), !*value, token => match token {
        Token::Boolean(value) => Ok(value),
        Token::Null => Ok(false),
        other => Err(mismatch(&other, "a boolean")),
    };
    u16: value => View::Integer((*value).into()), *value == 0, token => number(token);
    u32: value => View::Integer((*value).into()), *value == 0, token => number(token);
    i32: value => View::Integer((*value).into()), *value == 0, token => number(token);
    i64: value => View::Integer(*value), *value == 0, token => number(token);
    f64: value => View::Number(*value), *value == 0.0, token => number(token);
    IntOrString: value => match value {
        Self::Int(number) => View::Integer((*number).into()),
        Self::String(text) => View::Text(Cow::Borrowed(text)),
    }, *value == Self::default(), token => match token {
        Token::Text(text) => Ok(Self::String(text.into_owned())),
        other => number(other).map(Self::Int),
    };
    Quantity: value => View::Text(value.to_string().into()), *value == Self::default(), token => match token {
        Token::Text(text) | Token::Number(text) => parsed(text.trim()),
        Token::Null => Ok(Self::default()),
        other @ Token::Boolean(_) => Err(mismatch(&other, "a quantity")),
    };
    Duration: value => View::Text(value.to_string().into()), *value == Self::default(), token => match token {
        Token::Text(text) => parsed(&text),
        Token::Null => Ok(Self::default()),
        other => Err(mismatch(&other, "a duration")),
    };
    Time: value => if value.is_zero() { View::Null } else { View::Text(value.to_string().into()) },
        value.is_zero(), token => instant(token).map(|at| at.map_or_else(Self::default, Self::from_instant));
    MicroTime: value => if *value == Self::default() { View::Null } else { View::Text(value.to_string().into()) },
        *value == Self::default(), token => instant(token).map(|at| at.map_or_else(Self::default, Self));
    ByteString: value => View::Text(value.to_base64().into()), value.0.is_empty(), token => match token {
        Token::Text(text) => Self::from_base64(&text),
        Token::Null => Ok(Self::default()),
        other => Err(mismatch(&other, "a string")),
    };
}

impl Wire for RawExtension {
    fn view(&self) -> View<'_> {
        View::Raw(&self.0)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::Raw(&mut self.0)
    }

    fn is_zero(&self) -> bool {
        self.0 == Raw::default()
    }
}

impl Wire for Value {
    fn view(&self) -> View<'_> {
        View::Tree(self)
    }

    fn slot(&mut self) -> Slot<'_> {
        Slot::Tree(self)
    }

    fn is_zero(&self) -> bool {
        self.is_null()
    }
}

fn number<T: FromStr + Default>(token: Token<'_>) -> Result<T, String>
where
    T::Err: Display,
{
    match token {
        Token::Number(text) => parsed(&text).map_err(|error| format!("invalid number `{text}`: {error}")),
        Token::Null => Ok(T::default()),
        other => Err(mismatch(&other, "a number")),
    }
}

fn instant(token: Token<'_>) -> Result<Option<DateTime<Utc>>, String> {
    match token {
        Token::Text(text) => Time::instant_of(&text).map(Some),
        Token::Null => Ok(None),
        other => Err(mismatch(&other, "a time")),
    }
}
