// SPDX-License-Identifier: Apache-2.0
//! Tests that run the real binaries as a user does.
//!
//! A script in `e2e/scripts` contains commands of a user and their output ([`script`]); differences between two runs of it are
//! masked ([`mask`]). Tests with assertions of their own work in a [`sandbox`], some of them with a [`client`] by another vendor;
//! common clients are tested in [`compatibility`], requests from the served OpenAPI documents in [`schemas`].
//!
//! **Invariants.** No fixed ports, no sleeping, no order between tests.

pub mod client;
pub mod compatibility;
pub mod mask;
pub mod sandbox;
pub mod schemas;
pub mod script;
