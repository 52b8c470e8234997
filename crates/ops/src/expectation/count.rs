// SPDX-License-Identifier: Apache-2.0
//! Expected numbers: `3`, `">=2"`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::cursor::Cursor;
use crate::Error;

/// A comparison with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    operator: &'static str,
    number: u64,
}

/// Operators. Longer ones precede their beginnings.
const OPERATORS: [&str; 6] = [">=", "<=", "==", "!=", ">", "<"];

impl FromStr for Count {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        let (operator, number) = OPERATORS
            .iter()
            .find_map(|operator| Some((*operator, text.strip_prefix(operator)?)))
            .unwrap_or(("==", text));
        Ok(Self { operator, number: number.trim().parse().map_err(drop)? })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.operator == "==" { "" } else { self.operator };
        write!(f, "{operator}{}", self.number)
    }
}

impl Count {
    /// Reads a number or a comparison.
    pub(super) fn read(cursor: Cursor<'_>, name: &str) -> Result<Self, Error> {
        let count = match cursor.value {
            Value::Number(number) => number.as_u64().map(|number| Self { operator: "==", number }),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let hint = "use a whole number, or a comparison in quotes as \">=2\"";
        count.ok_or_else(|| cursor.refuse(format!("{name} is {}, expected a number", cursor.value), hint))
    }

    /// True if a number satisfies the comparison.
    pub(super) fn holds(self, number: u64) -> bool {
        match self.operator {
            ">=" => number >= self.number,
            "<=" => number <= self.number,
            "!=" => number != self.number,
            ">" => number > self.number,
            "<" => number < self.number,
            _ => number == self.number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_written() {
        for (text, held, shown) in [
            ("2", &[2][..], "2"),
            ("==2", &[2], "2"),
            (">=2", &[2, 3], ">=2"),
            (">= 2", &[2, 3], ">=2"),
            ("<=2", &[0, 1, 2], "<=2"),
            (">2", &[3], ">2"),
            ("<2", &[0, 1], "<2"),
            ("!=2", &[0, 1, 3], "!=2"),
        ] {
            let count: Count = text.parse().expect(text);
            assert_eq!((0..4).filter(|number| count.holds(*number)).collect::<Vec<u64>>(), held, "{text}");
            assert_eq!(count.to_string(), shown);
        }
        for text in ["", ">=", "-1", "1.5", "=>2", "two", ">=-1"] {
            assert_eq!(text.parse::<Count>(), Err(()), "{text}");
        }
    }
}
