// SPDX-License-Identifier: Apache-2.0
//! Field selectors.

use std::fmt;

/// A parsed field selector: equality and inequality terms, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Terms as `(field, value, equal)`.
    pub terms: Vec<(String, String, bool)>,
}

impl Fields {
    /// Parses `a=b,c!=d`; the resulting terms are sorted.
    ///
    /// # Errors
    /// The text of the real API's parser.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, value, equal)) = split_term(part) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            terms.push((field.to_owned(), unescape(value)?, equal));
        }
        Ok(Self { terms })
    }

    /// True if there is no term, so that every object matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// True if every term holds; `get` returns the value of a field, empty where it is missing.
    pub fn matches<S: AsRef<str>>(&self, get: impl Fn(&str) -> S) -> bool {
        self.terms.iter().all(|(field, value, equal)| (get(field).as_ref() == value) == *equal)
    }

    /// Returns the required value of a field.
    pub fn required(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.0 == field && term.2).map(|term| term.1.as_str())
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (field, value, equal)) in self.terms.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{}{field}{}{value}", if index > 0 { "," } else { "" }, if *equal { "=" } else { "!=" })?;
        }
        Ok(())
    }
}

/// Splits at commas without a preceding backslash.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Splits at the first operator.
fn split_term(term: &str) -> Option<(&str, &str, bool)> {
    for at in 0..term.len() {
        for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
            if term.is_char_boundary(at) && term[at..].starts_with(operator) {
                return Some((&term[..at], &term[at + operator.len()..], equal));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(format!("invalid field selector: invalid escape sequence: \\{other}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            // Go prints the character as a number.
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Fields::parse(text).map_or_else(|error| error, |fields| fields.to_string()), expected);
    }

    #[test]
    fn terms_are_split_at_the_first_operator() {
        check("", "");
        check("metadata.name=a", "metadata.name=a");
        check("spec.seedName==a,metadata.name!=b", "metadata.name!=b,spec.seedName=a");
        check("spec.seedName=", "spec.seedName=");
        check(r"a=b\,c\=d", r"a=b\,c\=d");
        check("a", "invalid selector: 'a'; can't understand 'a'");
        check("a=b=c", "invalid field selector: unescaped character in value: 61");
        check(r"a=\x", r"invalid field selector: invalid escape sequence: \x");
    }

    #[test]
    fn a_missing_field_compares_as_empty() {
        let fields = Fields::parse("spec.seedName=,type!=x").expect("parses");
        assert!(fields.matches(|_| ""));
        assert!(!fields.matches(|field| if field == "type" { "x" } else { "" }));
    }
}
