// SPDX-License-Identifier: Apache-2.0
//! Regular expressions of schemas and rules: the syntax of Go, with a limit of their compiled size.
//!
//! Source: pkg.go.dev/regexp/syntax: `\d`, `\s` and `\w` match ASCII only; classes have neither parts nor operators.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Classes of compiled sizes, in bytes.
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, LARGEST];
/// Maximum compiled size of an expression, in bytes.
pub(crate) const LARGEST: usize = 1 << 20;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    /// Upper bound of the compiled size, in bytes.
    pub(crate) size: usize,
}

impl Pattern {
    /// Compiles an expression of Go's syntax to at most `most` bytes.
    ///
    /// # Errors
    /// The text is not an expression, or its compiled size exceeds the limit.
    pub(crate) fn compile(text: &str, most: usize) -> Result<Self, regex::Error> {
        let text = of_go(text);
        let mut refused = regex::Error::CompiledTooBig(most);
        // A compiled expression is rarely smaller than its text.
        for size in SIZES.into_iter().filter(|size| *size <= most && (*size >= text.len() || *size == LARGEST)) {
            match RegexBuilder::new(&text).size_limit(size).build() {
                Ok(regex) => return Ok(Self { regex, size }),
                Err(error @ regex::Error::CompiledTooBig(_)) => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }
}

/// Converts an expression of Go's syntax to that of [`regex`].
fn of_go(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_class = false;
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('b') if !in_class => out.push_str("(?-u:\\b)"),
                Some('Q') if !in_class => {
                    let mut quoted = String::new();
                    while let Some(next) = rest.next() {
                        if next == '\\' && rest.next_if_eq(&'E').is_some() {
                            break;
                        }
                        quoted.push(next);
                    }
                    out.push_str(&regex::escape(&quoted));
                }
                // Rust's syntax uses these escapes for the ends of words.
                Some(plain @ ('<' | '>')) => out.push(plain),
                other => {
                    out.push('\\');
                    out.extend(other);
                    if matches!(other, Some('p' | 'P' | 'x')) && rest.peek() == Some(&'{') {
                        copy_through('}', &mut rest, &mut out);
                    }
                }
            },
            '{' if !in_class && !is_repetition(rest.clone()) => out.push_str("\\{"),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                out.extend(rest.next_if_eq(&'^'));
                // As the first character of a class it is a literal.
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if rest.peek() == Some(&':') => {
                out.push('[');
                copy_through(']', &mut rest, &mut out);
            }
            '[' | '&' | '~' if in_class => out.extend(['\\', character]),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

fn copy_through(end: char, rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    for next in rest {
        out.push(next);
        if next == end {
            return;
        }
    }
}

/// True if a brace is followed by `n}`, `n,}` or `n,m}`; otherwise the brace is a literal.
fn is_repetition(rest: Peekable<Chars<'_>>) -> bool {
    let inner: String = rest.take_while(|character| *character != '}').take(16).collect();
    let (least, most) = inner.split_once(',').unwrap_or((&inner, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syntax_is_that_of_go() {
        for (pattern, fits, other) in [
            (r"^\d+$", "12", "١"),
            (r"^[\d.]+$", "1.2", "١"),
            (r"^\w$", "a", "ä"),
            (r"^[\w-]+$", "a-b", "ä"),
            (r"^[^\s]$", "a", " "),
            (r"^[\S]$", "a", " "),
            (r"^\D$", "a", "1"),
            (r"^[^[\]]+$", "a", "["),
            ("^[[a]+$", "[a", "]"),
            ("^[a&&b]+$", "a&b", "c"),
            ("^[a~~b]+$", "a~b", "c"),
            ("^[]a]+$", "]a", "b"),
            ("^[^]a]+$", "b", "]"),
            ("^[[:alpha:]-]+$", "a-", ":"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"^\pL$", "ä", "1"),
            (r"\bä", "aä", "ää"),
            (r"^\<a\>$", "<a>", "a"),
            ("^{a}$", "{a}", "a"),
            ("^a{2,3}$", "aa", "a"),
            ("^a{2,}$", "aaa", "a"),
            ("^a{,2}$", "a{,2}", "aa"),
            (r"^\p{Greek}\x{61}{2}$", "αaa", "a"),
        ] {
            let regex = Pattern::compile(pattern, LARGEST).expect(pattern).regex;
            assert!(regex.is_match(fits) && !regex.is_match(other), "{pattern}");
        }
        for pattern in ["(", "[a", r"a\", "["] {
            assert!(Pattern::compile(pattern, LARGEST).is_err(), "{pattern}");
        }
    }

    #[test]
    fn the_size_is_limited() {
        let size = |text: &str| Pattern::compile(text, LARGEST).map(|pattern| pattern.size);
        assert_eq!(size("^[a-z0-9]+$").expect("small"), 1 << 10);
        assert!(size(r"^[\w-]{1,253}$").expect("a name") <= 64 << 10);
        assert!(size(r"^[\pL\pN]{1000}$").is_err());
        assert!(Pattern::compile(r"^[\pL\pN]{50}$", 64 << 10).is_err());
    }
}
