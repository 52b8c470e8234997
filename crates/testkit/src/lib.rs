// SPDX-License-Identifier: Apache-2.0
//! Shared test code: the auditor of a landscape's invariants, and a world for one component.
//!
//! Imported as a dev-dependency only, and never by its own dependencies.
//!
//! **Invariants.** Depends on objects, not on their source: no log, no client, no component.
//!
//! **Tour.** [`auditor`] the invariants of a landscape, checked after each step; [`world`] one pass of a component's
//! reconcilers: objects in; writes, Events and next timer out; [`objects`] builders of objects with defaults;
//! [`malformed`] malformed requests.

pub mod auditor;
pub mod malformed;
pub mod objects;
pub mod world;

pub use auditor::{Auditor, Observed};
pub use world::{Pass, World, instant, object};
