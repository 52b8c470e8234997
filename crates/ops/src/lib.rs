// SPDX-License-Identifier: Apache-2.0
//! What the commands of `terrarium` compute, without printing: a web page and a command line say the same.
//!
//! A function here gets objects (of manifests, or read through a [`process::Context`]) and an instant, and returns structs,
//! or sentences where both the page and the command show the same words. How something is written down (tables, exit
//! codes, HTML) is the caller's.
//!
//! **Deliberately absent.** Rules: they are in `domain`. Anything that is printed to a terminal. How a landscape is found
//! and reached: a caller brings the context.
//!
//! **Invariants.** Nothing reads the wall clock or writes to a landscape. The same objects, instant and seed give the same answer.
//!
//! **Tour.** [`world`] CloudProfiles and Shoots, [`given`] those of [`manifests`], without what is [`ignored`]; [`release`] whose
//! rules answer; [`forecast`] what maintenance will do,
//! in [`rows`], counted by [`summary`], with the Shoots that are [`unmoved`], with other dates and classifications
//! ([`what_if`]); [`explain`] reasons for choosing or rejecting a version; [`outlook`] their severity; [`versions`] offered
//! versions and their users, [`users`] effects on each user; [`why`] reasons for which a Shoot waits; [`rollout`] effects of
//! a change on nodes, [`apply`] the patch of `kubectl apply` for a manifest.
//! [`fleet`] the versions of Gardener's components, [`components`] how far their Deployments are, [`silence`] of
//! gardener-apiserver, [`skew`]
//! whether they may run beside each other, [`upgrade`] the
//! order in which they change. [`faults`] as they are listed; [`history`] entries of the log for people; [`past`] what
//! lists show at any moment; [`names`] of
//! clusters and Shoots; [`read`] trees of the API; [`words`] and what they mean; [`lines`] that know what they are about; [`goal`],
//! [`instant`] and [`spelling`]: times and words as people write them.

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

/// An instant as it is shown: `2023-07-28T09:17:09Z`.
pub fn show(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Secs, true)
}
