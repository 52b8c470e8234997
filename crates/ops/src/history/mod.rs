// SPDX-License-Identifier: Apache-2.0
//! Log entries for display.
//!
//! **Tour.** [`entry`] an entry on one line; [`changes`] differences between two states; [`actions`] sentences about
//! actions; [`writers`] the controller that wrote an entry; [`secrets`] values that are never shown.

pub mod actions;
pub mod changes;
pub mod entry;
pub mod secrets;
pub mod writers;
