// SPDX-License-Identifier: Apache-2.0
//! Health of a Shoot: conditions, constraints, and the label that summarizes them.
//!
//! Every function receives the present instant and returns, if applicable, the instant at which its result changes
//! without a change of the inputs ([`Judged::changes_at`]).
//!
//! **Overview.** [`conditions`]: conversion of a check's finding to a condition; [`nodes`]: checks of `EveryNodeReady`;
//! [`components`]: checks of the other conditions; [`constraints`], and [`automatic_rotation`], one of them; [`label`]:
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
