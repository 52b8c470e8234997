// SPDX-License-Identifier: Apache-2.0
//! The dashboard in a real browser: the tests of this crate, in one binary that is linked once.

mod figures;
mod looks;
mod stories;
mod support;
mod trouble;
mod users;
