// SPDX-License-Identifier: Apache-2.0
//! Landscape time: [`timekeeper`] decides when it moves, [`clock_service`] reports it to components and obeys clients.
//!
//! [`heartbeats`] shows Leases as if they were renewed, and `event_expiry` deletes expired Events, both without an entry
//! of the log for each instant.

pub mod clock_service;
pub(crate) mod event_expiry;
#[cfg(test)]
pub(crate) mod gated_log;
pub(crate) mod heartbeats;
pub mod timekeeper;
