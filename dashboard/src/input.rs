// SPDX-License-Identifier: Apache-2.0
//! Queries and forms, decoded.
//!
//! Shape: `application/x-www-form-urlencoded`, UTF-8. The order of fields is kept, and a name may occur several times.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use url::form_urlencoded;

/// Maximum size of a form in bytes.
pub const LARGEST: usize = 3 << 19;
/// Maximum number of fields of a form or query.
pub const MOST_FIELDS: usize = 1_000;

/// Reason why fields cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The text is not UTF-8.
    NoText,
    /// The form has more than [`MOST_FIELDS`] fields.
    TooMany,
}

/// Fields by name, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads fields.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.split(|byte| *byte == b'&').count() > MOST_FIELDS {
            return Err(Unreadable::TooMany);
        }
        // Text that is not UTF-8 is replaced by this character, which may also be meant.
        let replaced = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        let fields: Vec<(String, String)> = form_urlencoded::parse(bytes).into_owned().collect();
        if fields.iter().any(|(name, value)| replaced(name) || replaced(value)) && !is_utf8(bytes) {
            return Err(Unreadable::NoText);
        }
        Ok(Self(fields))
    }

    /// Creates fields from pairs of name and value.
    pub fn of(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(fields.into_iter().collect())
    }

    /// Returns the first field of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first field of a name without blanks around it; empty: there is none.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default().trim()
    }

    /// Returns every field of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the query with some fields replaced; an empty value removes a field.
    pub fn with(&self, changes: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let kept = self.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        let new = changes.iter().copied().filter(|(_, value)| !value.is_empty());
        for (name, value) in kept.chain(new) {
            query.append_pair(name, value);
        }
        query.finish()
    }
}

/// True if the decoded bytes are UTF-8.
fn is_utf8(bytes: &[u8]) -> bool {
    percent_decode(bytes).decode_utf8().is_ok()
}

/// Characters that are not encoded in a segment of a path or a value of a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_');

/// Encodes a text as a segment of a path, or a value of a query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_text_in_their_order() {
        let fields = Fields::read("a=1&b=%C3%BC+x&a=2&c".as_bytes()).expect("fields");
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((fields.get("b"), fields.get("c"), fields.get("d")), (Some("ü x"), Some(""), None));
        assert_eq!(fields.with(&[("a", "3"), ("c", "")]), "b=%C3%BC+x&a=3");
        assert_eq!(Fields::read(b"a=%EF%BF%BD").expect("it is meant").text("a"), "\u{fffd}");
    }

    #[test]
    fn invalid_utf8_and_too_many_fields_are_refused() {
        for wrong in [&b"a=%ff"[..], b"%C3=1", b"a=\xff", b"a=%C3%28"] {
            assert_eq!(Fields::read(wrong), Err(Unreadable::NoText), "{wrong:?}");
        }
        let many = |count: usize| vec!["a=1"; count].join("&");
        assert!(Fields::read(many(1_000).as_bytes()).is_ok());
        assert_eq!(Fields::read(many(1_001).as_bytes()), Err(Unreadable::TooMany));
    }

    #[test]
    fn a_segment_of_a_path_has_no_marks() {
        assert_eq!(encoded("a/b c?<é~+*-._"), "a%2Fb%20c%3F%3C%C3%A9%7E%2B*-._");
    }
}
