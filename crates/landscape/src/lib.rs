// SPDX-License-Identifier: Apache-2.0
//! All components of a landscape in one process, on the simulated clock.
//!
//! **Invariants.** No rules: everything that happens is done by components, through the API. One thread; nothing here
//! or below it knows another source of time or of randomness than the clock and the seed.
//!
//! **Tour.** [`runtime`] the thread and its clock; [`livelock`] the guard against endless answers.

pub mod livelock;
pub mod runtime;
