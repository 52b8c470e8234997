// SPDX-License-Identifier: Apache-2.0
//! A version: lenient parsing, order, formatting.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::release::{Release, Releases};

/// Releases that accept numbers with leading zeros.
///
/// Source: github.com/Masterminds/semver v3.4.0, which go.mod has since v1.123.0.
const LEADING_ZEROS: Releases = Releases::since(123);

/// Error of an invalid version; the texts are the library's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text does not have the form `[v]MAJOR[.MINOR[.PATCH]][-PRE][+META]`.
    #[error("Invalid Semantic Version")]
    Invalid,
    /// A number beyond 64 bits.
    #[error("Error parsing version segment: strconv.ParseUint: parsing {0:?}: value out of range")]
    Segment(String),
}

/// A version, parsed leniently.
///
/// Shape: an optional leading `v`, one to three numbers (missing ones are 0, leading zeros are dropped), then optionally
/// `-PRERELEASE` and `+METADATA`. [`fmt::Display`] writes three numbers and no `v`.
///
/// Order: numbers first; a pre-release is lower than its release and compares identifier by identifier; build metadata
/// counts neither for order nor for equality.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    prerelease: String,
    metadata: String,
}

impl Version {
    /// Creates a release without pre-release and metadata.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, prerelease: String::new(), metadata: String::new() }
    }

    /// Parses a version as a release does: releases before v1.123 refuse numbers with leading zeros. Use it to decide
    /// whether an object is accepted; [`Version::parse`] parses accepted versions.
    pub fn parse_in(text: &str, release: Release) -> Result<Self, ParseError> {
        let version = Self::parse(text)?;
        if refuses_zeros(text, release) {
            return Err(ParseError::Invalid);
        }
        Ok(version)
    }

    /// Parses a version; the same as [`str::parse`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if let Some(release) = plain(text) {
            return Ok(release);
        }
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = rest.split_once('+').map_or((rest, None), |(rest, meta)| (rest, Some(meta)));
        let (core, prerelease) = rest.split_once('-').map_or((rest, None), |(core, pre)| (core, Some(pre)));
        let well_formed = core.split('.').count() <= 3
            && core.split('.').all(is_number)
            && metadata.is_none_or(|meta| meta.split('.').all(is_identifier))
            && prerelease.is_none_or(|pre| {
                pre.split('.').all(|part| is_identifier(part) && !(is_number(part) && has_leading_zero(part)))
            });
        if !well_formed {
            return Err(ParseError::Invalid);
        }
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(core.split('.')) {
            *number = part.parse().map_err(|_| ParseError::Segment(part.to_owned()))?;
        }
        let [major, minor, patch] = numbers;
        Ok(Self {
            major,
            minor,
            patch,
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
        })
    }

    /// Returns the pre-release without its `-`; empty for a release.
    pub fn prerelease(&self) -> &str {
        &self.prerelease
    }

    /// Returns the same version without pre-release and metadata.
    pub fn release(&self) -> Self {
        Self::new(self.major, self.minor, self.patch)
    }

    pub(super) fn with_prerelease(mut self, prerelease: &str) -> Self {
        prerelease.clone_into(&mut self.prerelease);
        self
    }
}

/// Parses a release of three short numbers, as almost all versions are; `None` for other texts, which need the whole grammar.
fn plain(text: &str) -> Option<Version> {
    let mut numbers = [0; 3];
    let mut parts = text.split('.');
    for number in &mut numbers {
        let part = parts.next().filter(|part| is_number(part) && part.len() < 19)?;
        *number = part.bytes().fold(0, |value: u64, digit| value * 10 + u64::from(digit - b'0'));
    }
    let [major, minor, patch] = numbers;
    parts.next().is_none().then(|| Version::new(major, minor, patch))
}

/// Parses a version without its pre-release and metadata: the same as parsing the result of [`normalize`].
pub(super) fn parse_normalized(text: &str) -> Result<Version, ParseError> {
    plain(text).map_or_else(|| Version::parse(&normalize(text)), Ok)
}

pub(super) fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_leading_zero(part: &str) -> bool {
    part.len() > 1 && part.starts_with('0')
}

/// True if a version has a number with a leading zero that a release refuses.
pub(super) fn refuses_zeros(version: &str, release: Release) -> bool {
    let core = version.strip_prefix('v').unwrap_or(version);
    let core = &core[..core.find(['-', '+']).unwrap_or(core.len())];
    !LEADING_ZEROS.contain(release) && core.split('.').any(has_leading_zero)
}

pub(super) fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl FromStr for Version {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if self.metadata.is_empty() { Ok(()) } else { write!(f, "+{}", self.metadata) }
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| compare_prereleases(&self.prerelease, &other.prerelease))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

pub(super) fn compare_prereleases(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => match (left.parse::<u64>(), right.parse::<u64>()) {
                (Ok(left), Ok(right)) => left.cmp(&right),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => left.cmp(right),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Removes every letter `v` from the text, and cuts it at the first `-` or `+`.
pub fn normalize(text: &str) -> String {
    let mut normalized = text.replace('v', "");
    if let Some(end) = normalized.find(['-', '+']) {
        normalized.truncate(end);
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_releases_are_read_as_the_whole_grammar_reads_them() {
        for text in
            ["1.31.2", "0.0.0", "01.2.3", "1.2", "1.2.3.4", "1..3", "v1.2.3", "1.2.3-rc.1", "1.2.99999999999999999999"]
        {
            // Metadata forces the whole grammar for the same numbers, and does not change the result.
            let whole = Version::parse(&format!("{text}+m"));
            match plain(text) {
                Some(release) => assert_eq!(Ok(release), whole, "{text}"),
                None => assert_eq!(Version::parse(text), whole, "{text}"),
            }
        }
        assert_eq!(plain("1.31.2"), Some(Version::new(1, 31, 2)));
    }

    /// Text, and the parsed version.
    const TEXTS: &str = "
1.31.2           => 1.31.2
v1.31.2          => 1.31.2
1.31             => 1.31.0
1                => 1.0.0
1.2.3-rc.1       => 1.2.3-rc.1
1.2.3-rc.1+b7    => 1.2.3-rc.1+b7
1.2+b.01         => 1.2.0+b.01
15.4.20220818    => 15.4.20220818
1.2.3-0          => 1.2.3-0
1.2.3-01a        => 1.2.3-01a
15.4.20220818.1  => Invalid Semantic Version
01.2.3           => 1.2.3
18.04.201906170  => 18.4.201906170
1.00.007-rc.1    => 1.0.7-rc.1
1.2.3-01         => Invalid Semantic Version
1..3             => Invalid Semantic Version
1.2.x            => Invalid Semantic Version
vv1.2.3          => Invalid Semantic Version
V1.2.3           => Invalid Semantic Version
1.2.3-           => Invalid Semantic Version
1.2.3-a..b       => Invalid Semantic Version
1.2.3+           => Invalid Semantic Version
1.99999999999999999999.0 => Error parsing version segment: strconv.ParseUint: parsing \"99999999999999999999\": value out of range
";

    #[test]
    fn versions_are_read_leniently() {
        assert_eq!(Version::parse("").unwrap_err().to_string(), "Invalid Semantic Version");
        for row in TEXTS.lines().filter(|row| !row.is_empty()) {
            let (text, expected) = row.split_once("=>").expect("row has an arrow");
            let actual = Version::parse(text.trim()).map_or_else(|error| error.to_string(), |read| read.to_string());
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn leading_zeros_are_read_since_a_release() {
        for (text, before) in [("18.04.201906170", false), ("v01.2", false), ("1.2.3-0", true), ("1.0.0+01", true)] {
            let is_read = |release| Version::parse_in(text, Release(release)).is_ok();
            assert_eq!((is_read(122), is_read(123)), (before, true), "{text}");
        }
        assert_eq!(Version::parse_in("1.2.3-01", Release(123)), Err(ParseError::Invalid));
    }

    #[test]
    fn order_is_numeric_then_prerelease_and_ignores_metadata() {
        let ascending = [
            "0.0.0",
            "1.2.3-1",
            "1.2.3-2",
            "1.2.3-10",
            "1.2.3-alpha",
            "1.2.3-alpha.1",
            "1.2.3-alpha.beta",
            "1.2.3-rc.1",
            "1.2.3",
            "1.2.10",
            "1.10.0",
            "2.0.0",
        ];
        let versions: Vec<Version> = ascending.iter().map(|text| text.parse().expect("version")).collect();
        assert!(versions.is_sorted_by(|left, right| left < right));
        assert_eq!(Version::parse("1.2.3+a"), Version::parse("1.2.3+b"));
    }

    #[test]
    fn normalizing_drops_every_v_and_the_suffixes() {
        assert_eq!(normalize("v1.31.2-rc.1+x"), "1.31.2");
        assert_eq!(normalize("1.2+v-1"), "1.2");
        assert_eq!(normalize("1.v2.3"), "1.2.3");
    }
}
