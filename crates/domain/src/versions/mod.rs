// SPDX-License-Identifier: Apache-2.0
//! Versions: parsing, comparison, expiration, and selection.
//!
//! The comparison follows Masterminds/semver v3.3.1, which Gardener v1.120.0 uses, with its lenient texts; a [`Moment`]
//! determines a version's state at an instant.
//!
//! Source: pkg/utils/version/version.go, pkg/apis/core/v1beta1/helper/cloudprofile.go @ v1.120.0.

mod ahead;
mod constraint;
mod lifecycle;
mod selection;
mod semver;
mod strategy;

pub use self::ahead::{Gap, gap};
pub use self::constraint::{Bound, Constraint, Operator, compare_versions, meets_constraint};
pub use self::lifecycle::{Expirable, Moment, State, place, set_stage};
pub use self::selection::*;
pub use self::semver::{ParseError, Version, normalize};
pub use self::strategy::{Broken, Choice, Reason, Selection, Strategy, choose};

/// Error of a comparison of versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A version is invalid.
    #[error(transparent)]
    Version(#[from] ParseError),
    /// A constraint is invalid; the library's text, `improper constraint: TEXT`.
    #[error("{0}")]
    Constraint(String),
}
