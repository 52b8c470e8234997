// SPDX-License-Identifier: Apache-2.0
//! Entries of the log for people.
//!
//! **Tour.** [`told`] an entry in a line; [`changes`] what differs between two states; [`deeds`] what was done, in sentences;
//! [`writers`] which controller did it; [`secrets`] what is never shown.

pub mod changes;
pub mod deeds;
pub mod secrets;
pub mod told;
pub mod writers;
