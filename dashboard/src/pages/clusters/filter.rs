// SPDX-License-Identifier: Apache-2.0
//! The filter of the list of clusters.
//!
//! ```text
//! word  "some words"  -word  key:value  key:"some words"  -key:value      all terms must hold
//! ```
//!
//! Words are searched in name, project, version, seed, status and purpose, ignoring case.

use chrono::TimeDelta;

/// Keys before a colon.
pub(crate) const KEYS: [&str; 11] =
    ["project", "seed", "version", "image", "class", "state", "condition", "provider", "purpose", "label", "forced"];

/// A term of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// True if the term must not hold.
    pub(super) excludes: bool,
    /// `None`: a word.
    pub(super) key: Option<&'static str>,
    /// Value in lower case.
    pub(super) value: String,
}

/// A filter, and its errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) terms: Vec<Term>,
    pub(super) complaints: Vec<String>,
}

impl Filter {
    /// Reads a filter; terms that cannot be read are left out, and reported.
    pub(super) fn read(text: &str) -> Self {
        let mut filter = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (excludes, after) = match rest.strip_prefix('-') {
                Some(after) => (true, after),
                None => (false, rest),
            };
            let (key, after) = match after.split_once(':') {
                Some((key, after)) if !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || c == '"') => {
                    (Some(key), after)
                }
                _ => (None, after),
            };
            let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
                match quoted.split_once('"') {
                    Some((value, after)) => (value, after),
                    None => {
                        filter.complaints.push("a quotation mark has no end".to_owned());
                        (quoted, "")
                    }
                }
            } else {
                after.split_at(after.find(char::is_whitespace).unwrap_or(after.len()))
            };
            rest = after.trim_start();
            filter.take(excludes, key, value);
        }
        filter
    }

    fn take(&mut self, excludes: bool, key: Option<&str>, value: &str) {
        let key = match key {
            None => None,
            Some(key) => match KEYS.iter().find(|known| known.eq_ignore_ascii_case(key)) {
                Some(known) => Some(*known),
                None => {
                    self.complaints.push(format!("`{key}:` is not a key: use one of {}", KEYS.join(", ")));
                    return;
                }
            },
        };
        if value.is_empty() {
            return;
        }
        if key == Some("forced") && days(value).is_none() {
            self.complaints.push(format!("`forced:{value}` needs a length of time, as in forced:30d"));
            return;
        }
        self.terms.push(Term { excludes, key, value: value.to_lowercase() });
    }

    /// Returns the longest time within which a forced update is searched, if the filter requires that.
    pub(super) fn forced_within(&self) -> Option<TimeDelta> {
        self.terms.iter().filter(|term| term.key == Some("forced")).filter_map(|term| days(&term.value)).max()
    }
}

/// Parses `30d`, `2w`, `12h`.
pub(super) fn days(text: &str) -> Option<TimeDelta> {
    let unit = text.chars().next_back()?;
    let number: i64 =
        text[..text.len() - unit.len_utf8()].parse().ok().filter(|number| (0..=100_000).contains(number))?;
    match unit {
        'h' => TimeDelta::try_hours(number),
        'd' => TimeDelta::try_days(number),
        'w' => TimeDelta::try_weeks(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (Vec<String>, usize) {
        let filter = Filter::read(text);
        let term = |term: &Term| {
            let (sign, key) = (if term.excludes { "-" } else { "" }, term.key.unwrap_or("*"));
            format!("{sign}{key}={}", term.value)
        };
        (filter.terms.iter().map(term).collect(), filter.complaints.len())
    }

    #[test]
    fn words_phrases_and_keys_are_distinguished() {
        for (text, terms, complaints) in [
            ("", &[][..], 0),
            ("  Prod  eu ", &["*=prod", "*=eu"], 0),
            ("\"not ready\" -demo", &["*=not ready", "-*=demo"], 0),
            ("project:demo -class:expired", &["project=demo", "-class=expired"], 0),
            ("STATE:Failed", &["state=failed"], 0),
            ("label:\"a=b c\"", &["label=a=b c"], 0),
            ("forced:30d", &["forced=30d"], 0),
            ("forced:soon a", &["*=a"], 1),
            ("colour:red a", &["*=a"], 1),
            ("\"open a", &["*=open a"], 1),
            ("project: a", &["*=a"], 0),
            ("a:b:c", &[], 1),
            ("- \"\"", &[], 0),
            (":x", &["*=:x"], 0),
        ] {
            let expected: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
            assert_eq!(shown(text), (expected, complaints), "{text}");
        }
    }

    #[test]
    fn lengths_of_time_are_hours_days_and_weeks() {
        assert_eq!(days("30d"), Some(TimeDelta::days(30)));
        assert_eq!(days("2w"), Some(TimeDelta::days(14)));
        assert_eq!(days("0h"), Some(TimeDelta::zero()));
        for wrong in ["", "d", "3", "-1d", "1.5d", "999999999d", "3é"] {
            assert_eq!(days(wrong), None, "{wrong}");
        }
    }
}
