// SPDX-License-Identifier: Apache-2.0
//! Computations behind the commands of `terrarium`, without output, so that a web page and a command report the same.
//!
//! A function here takes objects (of manifests, or read through a [`process::Context`]) and an instant, and returns
//! structs, or sentences where both the page and the command show the same text. The output format (tables, exit codes,
//! HTML) is up to the caller.
//!
//! **Deliberately absent.** Rules: they are in `domain`. Output to a terminal. Lookup of and connection to a landscape: the
//! caller passes the context.
//!
//! **Invariants.** No function reads the wall clock or writes to a landscape. Equal objects, instant and seed give an equal
//! answer.
//!
//! **Tour.** [`inventory`] CloudProfiles and Shoots of a landscape or of [`manifests`]; [`release`] the release whose rules
//! apply, [`gates`] its feature gates, [`renamed_fields`] names of fields in it; [`forecast`] future maintenance, also with
//! other dates and classifications; [`explain`] reasons for choosing or rejecting a version, and terms; [`versions`] offered
//! versions and their users;
//! [`why`] reasons for which a Shoot waits; [`rollout`] effects of a change on nodes. [`upgrade`] the order in which
//! versions of Gardener's components change, and their compatibility. [`faults`] rows of faults; [`history`] log entries for
//! display; [`past`] lists as of any instant; [`expectation`] judging of expected states; [`names`] of clusters, profiles and
//! Shoots; [`read`] trees of the API; [`instant`] and [`spelling`]: times and words as users write them.

mod error;
pub mod expectation;
pub mod explain;
pub mod faults;
pub mod forecast;
pub mod gates;
pub mod history;
pub mod instant;
pub mod inventory;
pub mod manifests;
pub mod names;
pub mod past;
pub mod read;
pub mod release;
pub mod renamed_fields;
pub mod rollout;
pub mod spelling;
pub mod upgrade;
pub mod versions;
pub mod why;

use chrono::{DateTime, SecondsFormat, Utc};

pub use error::Error;

/// Formats an instant, for example `2023-07-28T09:17:09Z`.
pub fn show(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}
