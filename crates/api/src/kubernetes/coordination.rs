// SPDX-License-Identifier: Apache-2.0
//! Kind `Lease` (`coordination.k8s.io/v1`).
//!
//! Source: k8s.io/api/coordination/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Says who holds something, and until when.
#[api_type]
pub struct Lease {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Holder and duration of the lease.
    pub spec: LeaseSpec,
}

/// Says who holds something, and until when.
#[api_type]
pub struct LeaseSpec {
    /// Who holds the lease.
    pub holder_identity: Option<String>,
    /// Seconds for which it is held without being renewed.
    pub lease_duration_seconds: Option<i32>,
    /// When it was taken.
    pub acquire_time: Option<MicroTime>,
    /// When it was renewed last.
    pub renew_time: Option<MicroTime>,
    /// How often it changed hands.
    pub lease_transitions: Option<i32>,
    /// How the holder is chosen.
    pub strategy: Option<String>,
    /// Who should take it next.
    pub preferred_holder: Option<String>,
}

impl_resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", true);
