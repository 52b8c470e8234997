// SPDX-License-Identifier: Apache-2.0
//! Helpers of the emit rules.

/// Whether a value is its type's zero: what Go's `omitempty` leaves out.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
