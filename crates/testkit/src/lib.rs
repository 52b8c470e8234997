// SPDX-License-Identifier: Apache-2.0
//! What tests of the whole share: the auditor of what is always true.
//!
//! Imported as a dev-dependency only, and never by what it imports itself.
//!
//! **Invariants.** Knows objects, not how they came: no log, no client, no component.
//!
//! **Tour.** [`auditor`] the invariants of a landscape, checked after each step.

pub mod auditor;

pub use auditor::{Auditor, Observed};
