// SPDX-License-Identifier: Apache-2.0
//! What tests share: the auditor of what is always true of a landscape, and a world for one component.
//!
//! Imported as a dev-dependency only, and never by what it imports itself.
//!
//! **Invariants.** Knows objects, not how they came: no log, no client, no component.
//!
//! **Tour.** [`auditor`] the invariants of a landscape, checked after each step; [`world`] objects in, one pass of a
//! component's reconcilers, out: writes, Events, and when it looks again; [`objects`] builders that say only what matters;
//! [`malformed`] requests as no client should send them.

pub mod auditor;
pub mod malformed;
pub mod objects;
pub mod world;

pub use auditor::{Auditor, Observed};
pub use world::{Pass, World, instant, object};
