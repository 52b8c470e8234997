// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Timing` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Durations of simulated work that would take real time: machines, drains, in-place updates, extensions, components.
///
/// There is one Timing, named `landscape`, in cluster `runtime`. Without it all durations have their defaults. A change applies
/// to machines at once; other work that has begun ends at the instant that was set before.
#[api_type]
pub struct Timing {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Durations and their variation.
    #[schema(required)]
    pub spec: TimingSpec,
}

/// Durations and their variation.
#[api_type]
pub struct TimingSpec {
    /// Maximum deviation of a duration to either side, in percent, from 0 to 100. Defaults to 20.
    pub jitter_percent: Option<i32>,
    /// Durations by the names of their parameters, `machine.boot`, in Go's format: `1m30s`. Missing ones have their defaults.
    pub durations: TextMap,
}

impl_resource!(Timing, "terrarium.dev", "v1alpha1", "Timing", "timings", false);
