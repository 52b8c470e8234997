// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Timing` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// How long things take that a real landscape waits for: machines, drains, updates in place, extensions, components.
///
/// There is one, named `landscape`, in cluster `runtime`. Without it everything takes the default. A machine goes by a
/// change at once; other work that has begun ends when it would have.
#[api_type]
pub struct Timing {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// How long.
    #[schema(required)]
    pub spec: TimingSpec,
}

/// Durations, and how much they vary.
#[api_type]
pub struct TimingSpec {
    /// How much a duration may deviate to either side, in percent of it, from 0 to 100. Defaults to 20.
    pub jitter_percent: Option<i32>,
    /// Durations by the names of their parameters, `machine.boot`, as Go writes them: `1m30s`. What is absent gets its
    /// default.
    pub durations: TextMap,
}

impl_resource!(Timing, "terrarium.dev", "v1alpha1", "Timing", "timings", false);
