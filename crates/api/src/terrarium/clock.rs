// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Clock` (`terrarium.dev/v1alpha1`).

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// Landscape time: how it goes by itself, and where it stands.
///
/// There is one, named `landscape`, in cluster `runtime`. Its status is computed when it is read, and never stored: a
/// watch shows it whenever the spec changes, not whenever time moves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Clock {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// How time goes by itself.
    pub spec: ClockSpec,
    /// Where it stands.
    pub status: ClockStatus,
}

/// How landscape time goes when nobody moves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClockSpec {
    /// Eager: jumps to work that is less than an hour away, else runs with the wall clock; RealTime: runs with the wall
    /// clock; Scaled: runs at a rate; Stepped: stands; Auto: jumps from timer to timer. Defaults to Eager.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// Landscape seconds in a second of wall time, in mode Scaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Whether time stands, whatever the mode, until somebody moves it.
    #[serde(skip_serializing_if = "is_zero")]
    pub paused: bool,
}

/// Where landscape time stands, and what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClockStatus {
    /// Landscape time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<MicroTime>,
    /// Instant of the next timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<MicroTime>,
    /// Where it is being advanced to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<MicroTime>,
    /// Who advances it, and since when in wall time.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advanced_by: String,
    /// Whether everything that can be done now has been done, as far as was reported.
    #[serde(skip_serializing_if = "is_zero")]
    pub settled: bool,
    /// What time waits for: components that work or lag behind, and processes that are starting.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Components that were dropped because they were silent for 30 seconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// What time was stopped for: writers that answer one another without end.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub live_lock: String,
}

impl_resource!(Clock, "terrarium.dev", "v1alpha1", "Clock", "clocks", false);
