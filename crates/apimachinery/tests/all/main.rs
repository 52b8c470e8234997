// SPDX-License-Identifier: Apache-2.0
//! Objects, selectors and patches from outside: the integration tests of this crate, in one binary that is linked once.

mod no_input_panics;
mod strategic_merge_patch;
