// SPDX-License-Identifier: Apache-2.0
//! Images of the product, and the engine that runs them.
//!
//! The tests of this crate run a landscape's host in one container and gardener-apiservers in others, on one network.
//! `cargo xtask image` builds the same image for users (docs/guides/containers.md).
//!
//! **Invariants.** Nothing is downloaded: images are built from scratch and the executables. Everything that the tests create has
//! labels, by which a later run finds objects that a killed run has left behind.
//!
//! **Tour.** [`image`] content of an image; [`engine`] finding or starting an engine.

pub mod engine;
pub mod image;
