// SPDX-License-Identifier: Apache-2.0
//! Questions before acting: the rules alone, no API server.
//!
//! The answers come from the functions of `domain` that the components use, over objects given as manifests or read from
//! a landscape that runs.
//!
//! **Tour.** [`forecast`] what maintenance will do, [`rows`] how it is told, [`summary`] counted; [`versions`] what is
//! offered and who uses it; [`why`] what one Shoot waits for; [`world`] profiles and Shoots, [`given`] those of manifests,
//! [`what_if`] other dates and classifications; [`explain`] why a version is chosen or left. [`skew`] and [`upgrade`] are
//! about the versions of Gardener's components, which [`fleet`] reads.

pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod forecast;
mod given;
pub(crate) mod rollout;
mod rows;
pub(crate) mod skew;
mod summary;
pub(crate) mod upgrade;
pub(crate) mod versions;
mod what_if;
pub(crate) mod why;
mod world;

use chrono::{DateTime, SecondsFormat, Utc};

/// An instant as it is shown.
pub(crate) fn show(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}
