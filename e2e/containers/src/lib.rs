// SPDX-License-Identifier: Apache-2.0
//! Images of the product, and the engine that runs them.
//!
//! The tests of this crate run a landscape's host in one container and gardener-apiservers in others, on one network.
//! `cargo xtask image` makes the same image for people (docs/guides/containers.md).
//!
//! **Invariants.** Nothing is downloaded: images are made from nothing and the executables. Whatever the tests make has
//! labels, by which a later run finds what one that was killed has left.
//!
//! **Tour.** [`image`] content of an image; [`engine`] whether there is an engine, and starting one.

pub mod engine;
pub mod image;
