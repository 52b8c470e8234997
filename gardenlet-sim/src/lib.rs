// SPDX-License-Identifier: Apache-2.0
//! What runs on a seed: gardenlet, and the simulated provider with its machines.
//!
//! Two components share this crate because they share a seed; neither calls the other. They meet in the extension
//! objects of the seed cluster.
//!
//! **Invariants.** Rules of Gardener are in `domain`, not here. No polling in landscape time. Neither
//! component has code for an API server: both read and write through `controller`.
//!
//! **Tour.** [`gardenlet`] takes Shoots through their flows, watches their health, keeps the Seed; [`provider_local`]
//! extension controllers, machine-controller-manager, node agents; `ledger` what both know of what they wrote;
//! `durations` how long things take.

mod durations;
pub mod gardenlet;
mod ledger;
pub mod provider_local;
