// SPDX-License-Identifier: Apache-2.0
//! Releases of Gardener, by which rules are selected.
//!
//! A rule that only some releases have names them in a constant of type [`Releases`] next to it, or in a row of its table,
//! and takes the [`Release`] of the component that applies it as an argument:
//!
//! ```
//! use domain::release::{DOCUMENTED, Release, Releases};
//!
//! /// A version without a classification counts as supported.
//! const UNCLASSIFIED_IS_SUPPORTED: Releases = Releases::since(121);
//!
//! assert!(!UNCLASSIFIED_IS_SUPPORTED.contain(DOCUMENTED));
//! assert!(UNCLASSIFIED_IS_SUPPORTED.contain(Release(149)));
//! ```
//!
//! Comparisons of versions elsewhere are deliberately absent: skew between components is in [`crate::skew`].

pub use apimachinery::release::{Release, Releases};

/// The release of the requirements documents: the default of a landscape.
pub const DOCUMENTED: Release = Release(120);

/// The oldest release whose fields and resources are known. Earlier releases are served by the same rules.
pub const OLDEST: Release = Release(80);

/// The newest release whose rules are known. Later releases are served by the same rules.
pub const NEWEST: Release = Release(149);
