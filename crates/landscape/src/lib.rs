// SPDX-License-Identifier: Apache-2.0
//! All components of a landscape in one process, on the simulated clock.
//!
//! **Invariants.** No rules: components do everything, through the API. One thread; this crate and its dependencies use
//! no other source of time or of randomness than the clock and the seed.
//!
//! **Tour.** [`Landscape`] the landscape, and [`Options`] its parameters; [`component`] its components, `start` their
//! start; `bootstrap` and [`extensions`] its initial objects; [`runtime`] the thread and its clock; `livelock` the
//! guard against endless cycles; [`failure`] the reasons for which it can halt; [`wait`] waiting for objects;
//! [`preset`] and [`bench`] for tests and benchmarks.

pub mod bench;
mod bootstrap;
pub mod component;
pub mod extensions;
pub mod failure;
mod landscape;
mod livelock;
pub mod options;
pub mod preset;
pub mod runtime;
mod served;
pub mod wait;

pub use bootstrap::{prepare, prepare_clusters, prepare_extensions};
pub use component::{Component, user_of};
pub use failure::Failure;
pub use landscape::{Counts, Landscape, Line, Memory};
pub use options::{DEFAULT_DOMAIN, GARDENER_VERSION, INTERNAL_DOMAIN, Options, Sync};
