// SPDX-License-Identifier: Apache-2.0
//! Constraints on versions: alternatives of terms, each an operator and a version with possibly missing segments.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

use super::semver::parse_normalized;
use super::semver::{compare_prereleases, is_identifier, is_number, refuses_zeros};
use super::{Error, Version, normalize};
use crate::release::Release;

/// Operator of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// No operator, or `=`.
    Equal,
    /// Operator `!=`.
    NotEqual,
    /// Operator `>`.
    Greater,
    /// `>=` or `=>`
    GreaterOrEqual,
    /// Operator `<`.
    Less,
    /// `<=` or `=<`
    LessOrEqual,
    /// `~` or `~>`: not lower, same minor
    Tilde,
    /// `^`: not lower, same major
    Caret,
}

/// Texts of the operators, longer ones before their prefixes.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// A constraint on a version.
///
/// Shape: alternatives joined by `||`; within one, terms joined by blanks or commas must all hold; `A - B` means
/// `>= A, <= B`. A segment may be missing or `x`, `X`, `*`. A version with a pre-release satisfies no term whose own
/// version has none, except `!=` with three segments.
#[derive(Clone, Debug)]
pub struct Constraint {
    alternatives: Vec<Vec<Term>>,
}

#[derive(Clone, Debug)]
struct Term {
    operator: Operator,
    version: Version,
    /// The segments that were given.
    precision: Precision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// Segments as in `*`.
    Nothing,
    /// Segments as in `1`.
    Major,
    /// Segments as in `1.2`.
    Minor,
    /// Segments as in `1.2.3`.
    Patch,
}

impl Constraint {
    /// Parses a constraint as a release does, which may refuse numbers with leading zeros.
    ///
    /// # Errors
    /// See [`Constraint::parse`].
    pub fn parse_in(text: &str, release: Release) -> Result<Self, Error> {
        let constraint = Self::parse(text)?;
        let mut versions = text.split(|letter| is_blank(letter) || ",|<>=!~^".contains(letter));
        if versions.any(|version| refuses_zeros(version, release)) {
            return Err(Error::Constraint("constraint Parser Error".to_owned()));
        }
        Ok(constraint)
    }

    /// Parses a constraint; the error text is the library's.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = rewrite_ranges(text);
        let alternatives = text.split("||").map(parse_alternative).collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    /// True if a version satisfies the constraint.
    pub fn is_met_by(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|terms| terms.iter().all(|term| term.is_met_by(version)))
    }
}

fn rewrite_ranges(text: &str) -> String {
    const VERSION: &str = r"v?[0-9|xX*]+(?:\.[0-9|xX*]+)?(?:\.[0-9|xX*]+)?(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?";
    static RANGE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(&format!(r"[ \t\n\f\r]*({VERSION})[ \t\n\f\r]+-[ \t\n\f\r]+({VERSION})[ \t\n\f\r]*"))
            .expect("the pattern is a constant")
    });
    if text.contains('-') { RANGE.replace_all(text, ">= $1, <= $2 ").into_owned() } else { text.to_owned() }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

fn parse_alternative(text: &str) -> Result<Vec<Term>, Error> {
    let improper = || Error::Constraint(format!("improper constraint: {text}"));
    let mut terms = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    loop {
        let (operator, after) = OPERATORS
            .iter()
            .find_map(|(symbol, operator)| Some((*operator, rest.strip_prefix(symbol)?)))
            .unwrap_or((Operator::Equal, rest));
        let after = after.trim_start_matches(is_blank);
        let end = after.find(|character| is_blank(character) || character == ',').unwrap_or(after.len());
        terms.push(Term::parse(operator, &after[..end]).ok_or_else(improper)??);
        rest = after[end..].trim_start_matches(is_blank);
        if rest.is_empty() {
            return Ok(terms);
        }
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start_matches(is_blank);
    }
}

impl Term {
    /// Parses a term; `None` for a text of the wrong form.
    fn parse(operator: Operator, text: &str) -> Option<Result<Self, Error>> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, metadata) = text.split_once('+').map_or((text, None), |(text, meta)| (text, Some(meta)));
        let (core, prerelease) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        if !metadata.is_none_or(|meta| meta.split('.').all(is_identifier))
            || !prerelease.is_none_or(|pre| pre.split('.').all(is_identifier))
        {
            return None;
        }
        let parts: Vec<&str> = core.split('.').collect();
        let allowed = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|');
        if parts.len() > 3 || !parts.iter().all(|part| !part.is_empty() && part.bytes().all(allowed)) {
            return None;
        }
        let given = parts.iter().position(|part| matches!(*part, "x" | "X" | "*")).unwrap_or(parts.len());
        let precision = match given {
            0 => Precision::Nothing,
            1 => Precision::Major,
            2 => Precision::Minor,
            _ => Precision::Patch,
        };
        let mut numbers = ["0"; 3];
        for (number, part) in numbers.iter_mut().zip(&parts[..given]) {
            *number = part;
        }
        let release = Version::parse(&numbers.join("."));
        let version = match (release, prerelease) {
            (Ok(version), Some(pre))
                if !pre.split('.').any(|part| is_number(part) && part.len() > 1 && part.starts_with('0')) =>
            {
                version.with_prerelease(pre)
            }
            (Ok(version), None) => version,
            _ => return Some(Err(Error::Constraint("constraint Parser Error".to_owned()))),
        };
        Some(Ok(Self { operator, version, precision }))
    }

    fn is_met_by(&self, version: &Version) -> bool {
        let exact = self.precision == Precision::Patch;
        if self.operator == Operator::NotEqual && exact {
            return *version != self.version;
        }
        if !version.prerelease().is_empty() && self.version.prerelease().is_empty() {
            return false;
        }
        let order = version.cmp(&self.version);
        match self.operator {
            Operator::Equal if exact => order == Ordering::Equal,
            Operator::Equal | Operator::Tilde => self.tilde(version),
            Operator::NotEqual => self.differs(version),
            Operator::Greater => match self.precision {
                Precision::Major => version.major > self.version.major,
                Precision::Minor => (version.major, version.minor) > (self.version.major, self.version.minor),
                Precision::Nothing | Precision::Patch => order == Ordering::Greater,
            },
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => match self.precision {
                Precision::Patch => order != Ordering::Greater,
                Precision::Major => version.major <= self.version.major,
                Precision::Nothing | Precision::Minor => {
                    (version.major, version.minor) <= (self.version.major, self.version.minor)
                }
            },
            Operator::Caret => self.caret(version),
        }
    }

    fn tilde(&self, version: &Version) -> bool {
        let own = &self.version;
        if version < own {
            return false;
        }
        // `~0.0.0` and `~*` accept everything.
        let zero = own.release() == Version::new(0, 0, 0);
        if zero && matches!(self.precision, Precision::Nothing | Precision::Patch) {
            return true;
        }
        version.major == own.major && (version.minor == own.minor || self.precision == Precision::Major)
    }

    /// True for a version that differs from a term `!=` with a missing segment.
    fn differs(&self, version: &Version) -> bool {
        let own = &self.version;
        if version.major != own.major {
            return true;
        }
        match self.precision {
            Precision::Major => false,
            Precision::Minor => {
                version.minor != own.minor
                    || ((!version.prerelease().is_empty() || !own.prerelease().is_empty())
                        && compare_prereleases(version.prerelease(), own.prerelease()) != Ordering::Equal)
            }
            Precision::Nothing | Precision::Patch => version != own,
        }
    }

    fn caret(&self, version: &Version) -> bool {
        let own = &self.version;
        if version < own {
            return false;
        }
        if own.major > 0 || self.precision == Precision::Major {
            return version.major == own.major;
        }
        if version.major > 0 {
            return false;
        }
        if own.minor > 0 || self.precision == Precision::Minor {
            return version.minor == own.minor;
        }
        // `^*` ends here as well and accepts only 0.0.0, as the library does.
        version.minor == 0 && version.patch == own.patch
    }
}

/// Right side of comparisons, parsed once.
#[derive(Clone, Debug)]
pub struct Bound(Term);

impl Bound {
    /// Parses the right side of a comparison, without its pre-release and metadata; see [`compare_versions`].
    ///
    /// # Errors
    /// It is invalid.
    pub fn parse(operator: Operator, right: &str) -> Result<Self, Error> {
        let right = normalize(right);
        let improper = || Error::Constraint(format!("improper constraint: {} {right}", operator.symbol()));
        Ok(Self(Term::parse(operator, right.trim_matches(is_blank)).unwrap_or_else(|| Err(improper()))?))
    }

    /// True if the comparison holds for a version without its pre-release and metadata.
    ///
    /// # Errors
    /// The version is invalid.
    pub fn is_met_by(&self, left: &str) -> Result<bool, Error> {
        Ok(self.0.is_met_by(&parse_normalized(left)?))
    }
}

/// True if `left OPERATOR right` holds, both without pre-release and metadata.
///
/// `right` may lack segments, with the meaning of a [`Constraint`].
///
/// # Errors
/// One of them is invalid; the right one is checked first.
pub fn compare_versions(left: &str, operator: Operator, right: &str) -> Result<bool, Error> {
    Bound::parse(operator, right)?.is_met_by(left)
}

/// True if a version without its pre-release and metadata satisfies a constraint.
///
/// # Errors
/// One of them is invalid; the constraint is checked first.
pub fn meets_constraint(version: &str, constraint: &str) -> Result<bool, Error> {
    let constraint = Constraint::parse(constraint)?;
    Ok(constraint.is_met_by(&parse_normalized(version)?))
}

impl Operator {
    const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Tilde => "~",
            Self::Caret => "^",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Constraint, versions that satisfy it, versions that do not.
    /// Source: README and `constraints_test.go` of Masterminds/semver v3.3.1.
    const CONSTRAINTS: &str = "
1.2.3            | 1.2.3 1.2.3+b              | 1.2.4 1.2.3-rc.1
= 1.2            | 1.2.0 1.2.9                | 1.3.0 1.1.9 2.2.0
=1               | 1.0.0 1.9.9                | 2.0.0 0.9.9
!= 1.2.3         | 1.2.4 1.2.3-rc.1 2.0.0     | 1.2.3
!= 1.2           | 1.3.0 2.2.0                | 1.2.0 1.2.9 1.3.0-rc.1
!= 1             | 2.0.0 0.1.0                | 1.0.0 1.9.9
> 1.31           | 1.32.0 2.0.0               | 1.31.0 1.31.9 1.30.9
> 1              | 2.0.0                      | 1.0.0 1.99.0
> 1.2.3          | 1.2.4                      | 1.2.3 1.2.4-rc.1
> 1.2.3-rc.1     | 1.2.3-rc.2 1.2.3           | 1.2.3-rc.1 1.2.3-beta
>= 1.31          | 1.31.0 1.31.1              | 1.30.9
=> 1.31          | 1.31.0                     | 1.30.9
< 1.31           | 1.30.9                     | 1.31.0
<= 1.31          | 1.31.9 1.30.0              | 1.32.0 2.0.0
=< 1             | 1.99.0 0.1.0               | 2.0.0
~ 1.2.3          | 1.2.3 1.2.9                | 1.2.2 1.3.0 2.2.3
~> 1.2           | 1.2.0 1.2.9                | 1.3.0
~1               | 1.0.0 1.9.0                | 2.0.0
~0.0.0           | 0.0.0 3.2.1                | 0.0.1-rc.1
*                | 0.0.0 3.2.1                | 1.0.0-rc.1
1.x              | 1.0.0 1.9.9                | 2.0.0
^1.2.3           | 1.2.3 1.9.0                | 1.2.2 2.0.0
^0.2.3           | 0.2.3 0.2.9                | 0.3.0 0.2.2
^0.0.3           | 0.0.3                      | 0.0.4
^0.0             | 0.0.0 0.0.9                | 0.1.0
^0               | 0.0.0 0.9.0                | 1.0.0
>= 1.26, < 1.28  | 1.26.0 1.27.9              | 1.25.9 1.28.0
>=1.26 <1.28     | 1.26.0                     | 1.28.0
1.2 - 1.4.5      | 1.2.0 1.4.5                | 1.1.9 1.4.6
<1.2 || >= 1.4   | 1.1.0 1.4.0                | 1.2.0 1.3.9
";

    #[track_caller]
    fn check(constraint: &str, version: &str, expected: bool) {
        let parsed = Constraint::parse(constraint).expect("constraint");
        assert_eq!(parsed.is_met_by(&version.parse().expect("version")), expected, "{version} against {constraint:?}");
    }

    #[test]
    fn operators_have_the_librarys_meaning() {
        for row in CONSTRAINTS.lines().filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let [constraint, met, unmet] = cells[..] else { panic!("row has three cells: {row}") };
            for version in met.split_whitespace() {
                check(constraint.trim(), version, true);
            }
            for version in unmet.split_whitespace() {
                check(constraint.trim(), version, false);
            }
        }
    }

    #[test]
    fn unparsable_constraints_are_errors() {
        for text in ["", "foo", ">= 1.2.3.4", "1.2,", ">> 1", "1.2 ||", "1.2-"] {
            let error = Constraint::parse(text).expect_err(text).to_string();
            assert!(error.starts_with("improper constraint: "), "{text:?}: {error}");
        }
        assert_eq!(Constraint::parse("1.2-01").unwrap_err().to_string(), "constraint Parser Error");
        for text in ["01.2", ">= 1.31, < 1.034"] {
            let before = Constraint::parse_in(text, Release(122)).expect_err(text).to_string();
            assert_eq!(before, "constraint Parser Error", "{text}");
            assert!(Constraint::parse_in(text, Release(123)).is_ok(), "{text}");
        }
        assert!(Constraint::parse_in(">= 1.0, < 1.30", Release(122)).is_ok());
    }

    #[test]
    fn comparisons_ignore_prerelease_and_metadata_on_both_sides() {
        assert_eq!(compare_versions("1.31.2-rc.1", Operator::Equal, "v1.31.2+x"), Ok(true));
        assert_eq!(compare_versions("15.4.1-2", Operator::Tilde, "15.4.1-1"), Ok(true));
        assert_eq!(compare_versions("1.31.9", Operator::GreaterOrEqual, "1.31"), Ok(true));
        assert_eq!(
            compare_versions("1.2.3.4", Operator::Equal, "1.2.3"),
            Err(super::super::ParseError::Invalid.into())
        );
        assert_eq!(meets_constraint("1.31.2-rc.1", ">= 1.31.2, < 1.32"), Ok(true));
        assert_eq!(meets_constraint("1.31.2", "< 1.31.x"), Ok(false));
    }
}
