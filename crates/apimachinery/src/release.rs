// SPDX-License-Identifier: Apache-2.0
//! Releases of the served software, and the ranges of releases for which a field, a resource or a rule holds.
//!
//! A row of a table has the first release and the end of its range, and only [`Releases::contain`] compares. Patch
//! versions and majors other than 1 are deliberately absent: a release is the minor of a version `1.MINOR`.

use std::fmt;

/// Minor of a release `v1.MINOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u16);

impl Release {
    /// The union of all releases: has every field and resource of any release.
    ///
    /// For readers of objects of an unknown release; no server and no rule is of this release.
    pub const UNION: Self = Self(u16::MAX);
}

/// Formats the release as `v1.120`.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}", self.0)
    }
}

/// A range of releases.
///
/// ```
/// use apimachinery::release::{Release, Releases};
///
/// const RULE: Releases = Releases::between(121, 141);
/// assert!(!RULE.contain(Release(120)) && RULE.contain(Release(121)));
/// assert!(RULE.contain(Release(140)) && !RULE.contain(Release(141)));
/// assert!(RULE.contain(Release::UNION));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    /// Minor of the first release of the range.
    pub since: u16,
    /// Minor of the first release after the range; `None`: the range has no end.
    pub until: Option<u16>,
}

impl Releases {
    /// All releases.
    pub const ALL: Self = Self::since(0);

    /// Returns the range of a minor and all later ones.
    pub const fn since(minor: u16) -> Self {
        Self { since: minor, until: None }
    }

    /// Returns the range of all minors before one.
    pub const fn until(minor: u16) -> Self {
        Self { since: 0, until: Some(minor) }
    }

    /// Returns the range of the minors from `since` on and before `until`.
    pub const fn between(since: u16, until: u16) -> Self {
        Self { since, until: Some(until) }
    }

    /// True if the range contains a release; every range contains [`Release::UNION`].
    pub const fn contain(self, release: Release) -> bool {
        let is_before_end = match self.until {
            Some(until) => release.0 < until || release.0 == Release::UNION.0,
            None => true,
        };
        self.since <= release.0 && is_before_end
    }
}

impl Default for Releases {
    fn default() -> Self {
        Self::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_their_start_and_not_their_end() {
        for (range, first, last, outside) in [
            (Releases::ALL, 0, 999, None),
            (Releases::since(137), 137, 999, Some(136)),
            (Releases::until(141), 0, 140, Some(141)),
            (Releases::between(121, 141), 121, 140, Some(120)),
            (Releases::between(121, 141), 121, 140, Some(141)),
        ] {
            assert!(range.contain(Release(first)) && range.contain(Release(last)), "{range:?}");
            assert!(outside.is_none_or(|minor| !range.contain(Release(minor))), "{range:?}");
            assert!(range.contain(Release::UNION), "{range:?}");
        }
    }
}
