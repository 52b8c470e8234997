// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Clock` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// State and settings of landscape time.
///
/// There is one Clock, named `landscape`, in cluster `runtime`. Its status is computed on every read, and never stored: a watch
/// reports it when the spec changes, not when time advances.
#[api_type]
pub struct Clock {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Settings of landscape time.
    pub spec: ClockSpec,
    /// Current state of landscape time.
    pub status: ClockStatus,
}

/// Settings of landscape time.
#[api_type]
pub struct ClockSpec {
    /// Eager: jumps to work that is less than an hour away, else runs with the wall clock; RealTime: runs with the wall clock;
    /// Scaled: runs at a rate; Stepped: does not advance by itself; Auto: jumps from timer to timer. Defaults to Eager.
    pub mode: String,
    /// Landscape seconds per second of wall time, in mode Scaled.
    pub rate: Option<f64>,
    /// Stops time, whatever the mode, until a client advances or resumes it.
    pub paused: bool,
}

/// State of landscape time, and what it waits for.
#[api_type]
pub struct ClockStatus {
    /// Landscape time.
    pub now: Option<MicroTime>,
    /// Instant of the next timer.
    pub next: Option<MicroTime>,
    /// Instant to which time is being advanced.
    pub target: Option<MicroTime>,
    /// Client that is advancing time, and the wall time since which it does.
    pub advanced_by: String,
    /// True if all reported work that can be done now has been done.
    pub settled: bool,
    /// Participants that time waits for: components that work or lag behind, and processes that are starting.
    pub waits_for: Vec<String>,
    /// Components that were dropped from landscape time, because they had not answered for 30 seconds.
    pub dropped: Vec<String>,
    /// Live-lock for which time was stopped: the object with too many writes and its last writer. Empty if there is none.
    pub live_lock: String,
}

impl_resource!(Clock, "terrarium.dev", "v1alpha1", "Clock", "clocks", false);
