// SPDX-License-Identifier: Apache-2.0
//! Gardener's rules as functions: values in, decisions out.
//!
//! A Gardener expert reads the product's behaviour here. Strings are upstream's; where the requirements documents and
//! upstream's code differ, the [`profile::Profile`] decides.
//!
//! **Invariants.** No async, no clock, no randomness, no logging, no maps with random order. Time is an argument.
//!
//! **Tour.**
//! - [`care`] health of a Shoot: conditions, constraints, the label that sums them up.
//! - [`cloud_profile`] what a CloudProfile offers, and the merge of a NamespacedCloudProfile with its parent.
//! - [`defaulting`] what the API server fills in.
//! - [`last_operation`] what a Shoot's last operation says.
//! - [`profile`] documents or upstream.
//! - [`versions`] semantic versions, expiry, selections.

pub mod care;
pub mod cloud_profile;
pub mod defaulting;
pub mod last_operation;
pub mod profile;
pub mod versions;
