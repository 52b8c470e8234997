// SPDX-License-Identifier: Apache-2.0
//! Rules by which gardener-operator reconciles a Garden.
//!
//! | module | content |
//! | --- | --- |
//! | [`components`] | names, images and configuration kinds of Gardener's components |
//! | [`control_plane`] | Deployments and configurations of the control plane, for a Garden and a version |
//! | [`flow`] | tasks of a reconciliation or deletion, their order, and their progress |
//! | [`rollout`] | progress of a Deployment's roll-out, and the reason why it will not end |
//! | [`status`] | begin of an operation, `status.lastOperation` and the conditions |
//! | [`rotation`] | effect of operations on credentials on `status.credentials` |
//! | [`extension`] | the garden's need of an operator Extension, and its objects in the virtual garden |
//! | [`gardenlet`] | version that a Gardenlet names, and the one that it gets with an update of the operator |
//! | [`seed_cluster`] | objects that turn a cluster into a Seed's, and the time at which the operator creates them
//! for a Gardenlet |
//! | [`managed_seed`] | objects that gardenlet deploys into a Shoot that is to be a Seed, and the time at which it
//! does |
//!
//! **Deliberately absent**: durations. A task that waits ends as soon as its condition holds.

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
