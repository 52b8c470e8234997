// SPDX-License-Identifier: Apache-2.0
//! The checks that the real binaries make when they start, with their texts.
//!
//! Source: pkg/operator/bootstrappers/verify_version.go @ v1.120.0, pkg/gardenlet/bootstrappers/verify_version.go
//! @ v1.127.0.

use super::transition::against_garden;
use super::{GardenerVersion, Rule};
use crate::versions::{self, ParseError, Version};

/// The first release of gardenlet that checks anything, as its minor.
const GARDENLET_CHECKS_SINCE: (u64, u64) = (1, 127);

/// Reference to the policy in the operator's texts.
const OPERATOR_HINT: &str =
    "please consult https://github.com/gardener/gardener/blob/master/docs/deployment/version_skew_policy.md";
/// Reference to the policy in gardenlet's texts.
const GARDENLET_HINT: &str =
    "please consult https://gardener.cloud/docs/gardener/deployment/version_skew_policy/#version-skew-policy";

/// Error with which the real gardener-operator does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// The Garden's version does not parse.
    #[error("failed parsing old Garden version {raw:?}: {error}")]
    ParseOld {
        /// Text in the Garden's status.
        raw: String,
        /// The parser's error.
        error: ParseError,
    },
    /// The operator's version does not parse.
    #[error("failed comparing versions for downgrade check: {0}")]
    Compare(ParseError),
    /// The operator is older than the Garden's version.
    #[error("downgrading Gardener is not supported (old version was {old}, my version is {own}), {OPERATOR_HINT}")]
    Downgrade {
        /// The Garden's version, parsed.
        old: String,
        /// The operator's version as built.
        own: String,
    },
    /// The operator is two minors or more above the Garden's version.
    #[error("skipping Gardener versions is unsupported (old version was {old}, my version is {own}), {OPERATOR_HINT}")]
    Skip {
        /// The Garden's version, parsed.
        old: String,
        /// The operator's version as built.
        own: String,
    },
}

impl OperatorError {
    /// Rule that the error reports.
    pub const fn rule(&self) -> Rule {
        match self {
            Self::ParseOld { .. } | Self::Compare(_) => Rule::V0,
            Self::Downgrade { .. } => Rule::O3a,
            Self::Skip { .. } => Rule::O3b,
        }
    }
}

fn comparable(release: &Version, text: &str) -> GardenerVersion {
    GardenerVersion::release(release.major, release.minor, release.patch).shown_as(text)
}

/// Checks versions as gardener-operator does: its own against the one that last operated the Garden, if any.
///
/// # Errors
/// It must not start.
pub fn operator(garden: Option<&str>, own: &str) -> Result<(), OperatorError> {
    let Some(raw) = garden else { return Ok(()) };
    let old = Version::parse(raw).map_err(|error| OperatorError::ParseOld { raw: raw.to_owned(), error })?;
    let shown = old.to_string();
    let release = Version::parse(&versions::normalize(own)).map_err(OperatorError::Compare)?;
    match against_garden(&comparable(&release, own), &comparable(&old.release(), &shown)) {
        Some(Rule::O3a) => Err(OperatorError::Downgrade { old: shown, own: own.to_owned() }),
        Some(_) => Err(OperatorError::Skip { old: shown, own: own.to_owned() }),
        None => Ok(()),
    }
}

/// Error with which the real gardenlet does not start, from v1.127 on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GardenletError {
    /// The ConfigMap with the gardener-apiserver's version does not exist.
    #[error(
        "failed reading ConfigMap gardener-system-public/gardener-info from garden cluster: configmaps \
         \"gardener-info\" not found"
    )]
    ConfigMapMissing,
    /// The gardener-apiserver's version does not parse.
    #[error("failed parsing version of gardener-apiserver {raw:?}: {error}")]
    ParseApiserver {
        /// Text in the ConfigMap.
        raw: String,
        /// The parser's error.
        error: ParseError,
    },
    /// The gardenlet's version does not parse.
    #[error("failed parsing version of gardenlet {raw:?}: {error}")]
    ParseGardenlet {
        /// Text of the build.
        raw: String,
        /// The parser's error.
        error: ParseError,
    },
    /// The gardenlet is newer than the gardener-apiserver.
    #[error(
        "gardenlet version must not be newer than gardener-apiserver version (gardener-apiserver version: {apiserver}, \
         gardenlet version: {gardenlet}), {GARDENLET_HINT}"
    )]
    TooNew {
        /// The gardener-apiserver's version.
        apiserver: String,
        /// The gardenlet's version.
        gardenlet: String,
    },
    /// The gardenlet is more than two minors older than the gardener-apiserver.
    #[error(
        "gardenlet version must not be older than two minor gardener-apiserver versions (gardener-apiserver version: \
         {apiserver}, gardenlet version: {gardenlet}), {GARDENLET_HINT}"
    )]
    TooOld {
        /// The gardener-apiserver's version.
        apiserver: String,
        /// The gardenlet's version.
        gardenlet: String,
    },
}

impl GardenletError {
    /// Rule that the error reports.
    pub const fn rule(&self) -> Rule {
        match self {
            Self::ConfigMapMissing | Self::ParseApiserver { .. } | Self::ParseGardenlet { .. } => Rule::V0,
            Self::TooNew { .. } => Rule::G1,
            Self::TooOld { .. } => Rule::G2,
        }
    }
}

/// Returns true if a release of gardenlet checks versions at start by itself.
pub fn gardenlet_checks(version: &GardenerVersion) -> bool {
    version.minor() >= GARDENLET_CHECKS_SINCE
}

/// Checks versions as gardenlet does from v1.127 on: its own against the one in ConfigMap `gardener-info`.
///
/// # Errors
/// It must not start.
pub fn gardenlet(gardener_info: Option<&str>, own: &str) -> Result<(), GardenletError> {
    let raw = gardener_info.ok_or(GardenletError::ConfigMapMissing)?;
    let apiserver =
        Version::parse(raw).map_err(|error| GardenletError::ParseApiserver { raw: raw.to_owned(), error })?;
    let gardenlet =
        Version::parse(own).map_err(|error| GardenletError::ParseGardenlet { raw: own.to_owned(), error })?;
    let shown = || (apiserver.to_string(), gardenlet.to_string());
    if gardenlet.release() > apiserver.release() {
        let (apiserver, gardenlet) = shown();
        return Err(GardenletError::TooNew { apiserver, gardenlet });
    }
    if (gardenlet.major, gardenlet.minor.saturating_add(2)) < (apiserver.major, apiserver.minor) {
        let (apiserver, gardenlet) = shown();
        return Err(GardenletError::TooOld { apiserver, gardenlet });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions of gardener-apiserver and gardenlet, and the rule that keeps the gardenlet from starting.
    const GARDENLETS: &str = "
v1.130.0 v1.130.0     => starts
v1.130.1 v1.130.0     => starts
v1.130.0 v1.130.1     => G1
v1.130.0 v1.131.0     => G1
v1.130.0 v1.130.0-dev => starts
v1.130.0 v1.128.9     => starts
v1.130.0 v1.127.9     => G2
v2.0.0   v1.130.0     => G2
none     v1.130.0     => V0
odd      v1.130.0     => V0
v1.130.0 odd          => V0
";

    #[test]
    fn a_gardenlet_is_at_most_two_minors_older() {
        for row in GARDENLETS.lines().filter(|row| !row.is_empty()) {
            let (versions, expected) = row.split_once("=>").expect("an arrow");
            let mut versions = versions.split_whitespace();
            let (apiserver, own) = (versions.next().expect("two"), versions.next().expect("two"));
            let found = gardenlet((apiserver != "none").then_some(apiserver), own);
            let found = found.map_or_else(|error| error.rule().to_string(), |()| "starts".to_owned());
            assert_eq!(found, expected.trim(), "row: {row}");
        }
    }
}
