// SPDX-License-Identifier: Apache-2.0
//! Components of a seed: gardenlet, and the simulated provider with its machines.
//!
//! Two components share this crate because they share a seed; neither calls the other. They communicate through the
//! extension objects of the seed cluster.
//!
//! **Invariants.** Rules of Gardener are in `domain`, not here. No polling in landscape time. Neither
//! component has code for an API server: both read and write through `controller`.
//!
//! **Tour.** [`gardenlet`] runs the flows of Shoots, watches their health, maintains the Seed; [`provider_local`]
//! extension controllers, machine-controller-manager, node agents; `draft` objects under change;
//! `durations` durations of simulated work.

mod draft;
mod durations;
pub mod gardenlet;
pub mod provider_local;
