// SPDX-License-Identifier: Apache-2.0
//! Health of a Shoot: conditions, constraints, and the label that sums them up.
//!
//! Every function here is given the present instant and says, where that matters, at which instant its answer can
//! change although no input does ([`Judged::changes_at`]).
//!
//! **Tour.** [`conditions`] how a check's outcome becomes a condition; [`nodes`] the checks behind `EveryNodeReady`;
//! [`components`] those behind the others; [`constraints`], and [`automatic_rotation`] one of them; [`label`]
//! `shoot.gardener.cloud/status`.
//!
//! Source: pkg/gardenlet/controller/shoot/care, pkg/apis/core/v1beta1/helper/condition.go @ v1.120.0.

pub mod components;
pub mod conditions;
pub mod constraints;
pub mod label;
pub mod nodes;
mod rotation;

pub use self::conditions::{Finding, Judged, Thresholds};
pub use self::rotation::automatic_rotation;
