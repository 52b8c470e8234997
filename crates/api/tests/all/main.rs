// SPDX-License-Identifier: Apache-2.0
//! The typed kinds: the integration tests of this crate, in one binary that is linked once.

mod fields;
mod released;
mod round_trip;
