// SPDX-License-Identifier: Apache-2.0
//! Controllers against a server: the integration tests of this crate, in one binary that is linked once.

mod controllers;
mod own_writes;
mod support;
mod writes;
