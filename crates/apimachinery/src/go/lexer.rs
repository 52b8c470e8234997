// SPDX-License-Identifier: Apache-2.0
//! The tokens of a JSON text, with Go's error texts for malformed input.

use std::borrow::Cow;

/// A position in a text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0 }
    }

    /// Returns the position in bytes.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the text from a position to the present one.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// True if only blanks are left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.blanks();
        self.at >= self.bytes.len()
    }

    pub(crate) fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Returns the next byte that is not a blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn unexpected(&self, context: &str) -> String {
        match self.bytes.get(self.at) {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quoted_byte(*byte)),
        }
    }

    /// Returns the next key of an object after its brace, and reads the colon; `None` at the end of the object.
    pub(crate) fn key(&mut self, is_first: &mut bool) -> Result<Option<Cow<'a, str>>, String> {
        if std::mem::take(is_first) {
            self.at += 1;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(None);
            }
        } else {
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(None);
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        let name = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// True if another item follows in a list after its bracket.
    pub(crate) fn item(&mut self, is_first: &mut bool) -> Result<bool, String> {
        if std::mem::take(is_first) {
            self.at += 1;
            if self.peek() != Some(b']') {
                return Ok(true);
            }
        } else {
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(b']') => {}
                _ => return Err(self.unexpected("after array element")),
            }
        }
        self.at += 1;
        Ok(false)
    }

    pub(crate) fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                return Err(self.unexpected(&format!("in literal {word} (expecting {})", quoted_byte(expected))));
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(crate) fn number(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if !self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.unexpected("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            if !self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                return Err(self.unexpected("in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    /// Returns a string; borrowed unless it has escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, String> {
        self.at += 1;
        let mut start = self.at;
        let mut owned = String::new();
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let tail = &self.text[start..self.at];
                    self.at += 1;
                    if owned.is_empty() {
                        return Ok(Cow::Borrowed(tail));
                    }
                    owned.push_str(tail);
                    return Ok(Cow::Owned(owned));
                }
                Some(b'\\') => {
                    owned.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    owned.push(self.escape()?);
                    start = self.at;
                }
                Some(0x20..) => self.at += plain(&self.bytes[self.at..]),
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    /// Returns the character after a backslash.
    fn escape(&mut self) -> Result<char, String> {
        let character = match self.bytes.get(self.at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.bytes.get(self.at).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// Number of bytes before the first quote, backslash or control character; compares eight bytes at a time.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // The lowest byte with its high bit set is the first one that is below `bound`; those above it may be wrong.
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = (is(word, b'"') | is(word, b'\\') | below(word, b' ')) & (ONES << 7);
        if found != 0 {
            return number * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// Quotes a byte as Go does in syntax errors.
fn quoted_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        other => {
            let text = super::quote(&char::from(other).to_string());
            format!("'{}'", &text[1..text.len() - 1])
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plain;

    proptest! {
        #[test]
        fn plain_bytes_end_at_the_first_special_one(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'"'), Just(b'\\'), Just(b' '), 0x1e_u8..0x24], 0..40),
            front in 0..40_usize,
        ) {
            let bytes: Vec<u8> = std::iter::repeat_n(b'a', front).chain(bytes).collect();
            let expected = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(bytes.len());
            prop_assert_eq!(plain(&bytes), expected);
        }
    }
}
