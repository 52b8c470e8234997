// SPDX-License-Identifier: Apache-2.0
//! A Garden: what gardener-operator makes of it.
//!
//! | module | answers |
//! | --- | --- |
//! | [`components`] | names, images and configuration kinds of Gardener's components |
//! | [`control_plane`] | which Deployments and configurations the control plane has, for a Garden and a version |
//! | [`flow`] | which tasks a reconciliation or deletion has, in which order, and how far it is |
//! | [`rollout`] | whether a Deployment is rolled out, or why it will not be |
//! | [`status`] | when an operation begins, what `status.lastOperation` and the conditions say |
//! | [`rotation`] | what an operation on the credentials does to `status.credentials` |
//! | [`extension`] | whether the garden needs an operator Extension, and what one becomes in the virtual garden |
//! | [`gardenlet`] | which version a Gardenlet names, and which one it is given with the operator's |
//! | [`seed_cluster`] | what a cluster is given to become a Seed, and when the operator does that for a Gardenlet |
//! | [`managed_seed`] | what gardenlet deploys into a Shoot that is to be a Seed, and when |
//!
//! **Deliberately absent**: durations. A task that waits ends when what it waits for is there.

pub mod components;
pub mod control_plane;
pub mod extension;
pub mod flow;
pub mod gardenlet;
pub mod managed_seed;
pub mod rollout;
pub mod rotation;
pub mod seed_cluster;
pub mod status;
