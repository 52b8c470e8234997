// SPDX-License-Identifier: Apache-2.0
//! Entries of the log for people.
//!
//! **Tour.** [`entry`] an entry in a line; [`changes`] what differs between two states; [`actions`] what was done, in sentences;
//! [`writers`] which controller did it; [`secrets`] what is never shown.

pub mod actions;
pub mod changes;
pub mod entry;
pub mod secrets;
pub mod writers;
