// SPDX-License-Identifier: Apache-2.0
//! Versions of Gardener, as its components compare them.

use std::cmp::Ordering;
use std::fmt;

use crate::release::{self, Release};
use crate::versions;

/// A version of Gardener: three numbers for comparison, and the text that is shown.
#[derive(Clone, Debug)]
pub struct GardenerVersion {
    major: u64,
    minor: u64,
    patch: u64,
    text: String,
}

impl GardenerVersion {
    /// Reads `[v]MAJOR.MINOR[.PATCH]` with an optional suffix after `-`, `+` or `~`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let shown = text.strip_prefix('v').unwrap_or(text);
        let suffix = shown.find(['-', '+', '~']).unwrap_or(shown.len());
        let (release, rest) = shown.split_at(suffix);
        if !release.contains('.') || release.starts_with('v') {
            return None;
        }
        // The suffix must be well-formed, too; `~` begins one like `-`.
        let text = format!("{release}{}", rest.replacen('~', "-", 1));
        let read = versions::Version::parse_in(&text, crate::release::DOCUMENTED).ok()?;
        Some(Self { major: read.major, minor: read.minor, patch: read.patch, text: shown.to_owned() })
    }

    /// Returns major and minor, by which distances between versions are counted.
    pub const fn minor(&self) -> (u64, u64) {
        (self.major, self.minor)
    }

    /// Creates the version of a release.
    pub fn release(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, text: format!("{major}.{minor}.{patch}") }
    }

    /// True if the text has a patch.
    pub fn has_patch(&self) -> bool {
        self.numbers().matches('.').count() > 1
    }

    /// Returns the version with a patch in its text: `1.150` becomes `1.150.0`, `1.150-dev` becomes `1.150.0-dev`.
    #[must_use]
    pub fn completed(self) -> Self {
        if self.has_patch() {
            return self;
        }
        let numbers = self.numbers();
        let text = format!("{numbers}.{}{}", self.patch, &self.text[numbers.len()..]);
        Self { text, ..self }
    }

    /// Text of the numbers, without suffix.
    fn numbers(&self) -> &str {
        self.text.split(['-', '+', '~']).next().unwrap_or_default()
    }

    /// Returns the same version with another text.
    pub(crate) fn shown_as(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// Returns the release whose rules and fields the version has. Versions before 1.0 are older than every release, later
    /// majors have those of the newest known one.
    pub fn served_release(&self) -> Release {
        match self.major {
            0 => Release(0),
            1 => u16::try_from(self.minor).map_or(release::NEWEST, Release),
            _ => release::NEWEST,
        }
    }

    /// Returns all three numbers, by which a downgrade is detected.
    pub const fn full(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch)
    }
}

/// Formats the version without `v`, with the pre-release.
impl fmt::Display for GardenerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Versions are equal if their three numbers are.
impl PartialEq for GardenerVersion {
    fn eq(&self, other: &Self) -> bool {
        self.full() == other.full()
    }
}

impl Eq for GardenerVersion {}

impl PartialOrd for GardenerVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GardenerVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.full().cmp(&other.full())
    }
}
