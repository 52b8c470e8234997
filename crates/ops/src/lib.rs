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
//! **Tour.** [`world`] CloudProfiles and Shoots, [`given`] those of [`manifests`], without [`ignored`] fields; [`release`]
//! the release whose rules apply; [`forecast`] future maintenance, in [`rows`], counted by [`summary`], with the
//! [`unmoved`] Shoots, and with other dates and classifications ([`what_if`]); [`explain`] reasons for choosing or
//! rejecting a version; [`outlook`] their severity; [`versions`] offered versions and their users, [`users`] effects on
//! each user; [`why`] reasons for which a Shoot waits; [`rollout`] effects of a change on nodes, [`apply`] the patch of
//! `kubectl apply` for a manifest. [`fleet`] the versions of Gardener's components, [`components`] the progress of their
//! Deployments, [`silence`] of gardener-apiserver, [`skew`] compatibility of versions that run at the same time,
//! [`upgrade`] the order of their changes. [`faults`] rows of faults; [`history`] log entries for display; [`past`] lists
//! as of any instant; [`names`] of clusters and Shoots; [`read`] trees of the API; [`words`] terms and their explanations;
//! [`lines`] text with references to objects; [`goal`], [`instant`] and [`spelling`]: times and words as users write them.

pub mod apply;
pub mod components;
mod error;
pub mod explain;
pub mod faults;
pub mod fleet;
pub mod forecast;
pub mod given;
pub mod goal;
pub mod history;
pub mod ignored;
pub mod instant;
pub mod lines;
pub mod manifests;
pub mod names;
pub mod outlook;
pub mod past;
pub mod read;
pub mod release;
pub mod rollout;
pub mod rows;
pub mod silence;
pub mod skew;
pub mod spelling;
pub mod summary;
pub mod unmoved;
pub mod upgrade;
pub mod users;
pub mod versions;
pub mod what_if;
pub mod why;
pub mod words;
pub mod world;

use chrono::{DateTime, SecondsFormat, Utc};

pub use error::Error;

/// Formats an instant, for example `2023-07-28T09:17:09Z`.
pub fn show(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}
