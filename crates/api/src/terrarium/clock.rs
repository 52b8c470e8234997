// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Clock` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Landscape time: how it goes by itself, and where it stands.
///
/// There is one, named `landscape`, in cluster `runtime`. Its status is computed when it is read, and never stored: a
/// watch shows it whenever the spec changes, not whenever time moves.
#[api_type]
pub struct Clock {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// How time goes by itself.
    pub spec: ClockSpec,
    /// Where it stands.
    pub status: ClockStatus,
}

/// How landscape time goes when nobody moves it.
#[api_type]
pub struct ClockSpec {
    /// Eager: jumps to work that is less than an hour away, else runs with the wall clock; RealTime: runs with the wall
    /// clock; Scaled: runs at a rate; Stepped: stands; Auto: jumps from timer to timer. Defaults to Eager.
    pub mode: String,
    /// Landscape seconds in a second of wall time, in mode Scaled.
    pub rate: Option<f64>,
    /// Whether time stands, whatever the mode, until somebody moves it.
    pub paused: bool,
}

/// Where landscape time stands, and what it waits for.
#[api_type]
pub struct ClockStatus {
    /// Landscape time.
    pub now: Option<MicroTime>,
    /// Instant of the next timer.
    pub next: Option<MicroTime>,
    /// Where it is being advanced to.
    pub target: Option<MicroTime>,
    /// Who advances it, and since when in wall time.
    pub advanced_by: String,
    /// Whether everything that can be done now has been done, as far as was reported.
    pub settled: bool,
    /// What time waits for: components that work or lag behind, and processes that are starting.
    pub waits_for: Vec<String>,
    /// Components that were dropped because they were silent for 30 seconds.
    pub dropped: Vec<String>,
    /// What time was stopped for: writers that answer one another without end.
    pub live_lock: String,
}

impl_resource!(Clock, "terrarium.dev", "v1alpha1", "Clock", "clocks", false);
