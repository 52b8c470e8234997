// SPDX-License-Identifier: Apache-2.0
//! Tests that run the real binaries the way a person does.
//!
//! A script in `e2e/scripts` is what a user types and sees ([`script`]); what differs between two runs of it is masked
//! ([`mask`]). Tests with assertions of their own work in a [`sandbox`], some of them beside a [`client`] that is not
//! ours; clients that people have are tried in [`compatibility`], what the served documents allow in [`schemas`].
//!
//! **Invariants.** No fixed ports, no sleeping, no order between tests.

pub mod client;
pub mod compatibility;
pub mod mask;
pub mod sandbox;
pub mod schemas;
pub mod script;
