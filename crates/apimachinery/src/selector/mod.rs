// SPDX-License-Identifier: Apache-2.0
//! Label and field selectors: grammar, matching, canonical text.
//!
//! Source: apimachinery pkg/labels/selector.go, pkg/fields/selector.go @ v0.32.

mod demand;
mod fields;
mod labels;

pub use self::fields::Fields;
pub use self::labels::{Labels, Operator, Requirement};
