// SPDX-License-Identifier: Apache-2.0
//! Kind `Lease` (`coordination.k8s.io/v1`).
//!
//! Source: k8s.io/api/coordination/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A lock with a holder and a duration.
#[api_type]
pub struct Lease {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Holder and duration of the lease.
    pub spec: LeaseSpec,
}

/// Specification of a Lease.
#[api_type]
pub struct LeaseSpec {
    /// Identity of the lease's holder.
    pub holder_identity: Option<String>,
    /// Seconds after the last renewal for which the lease is held.
    pub lease_duration_seconds: Option<i32>,
    /// Time at which the holder acquired the lease.
    pub acquire_time: Option<MicroTime>,
    /// Time of the last renewal.
    pub renew_time: Option<MicroTime>,
    /// Number of changes of the holder.
    pub lease_transitions: Option<i32>,
    /// Strategy of choosing the holder.
    pub strategy: Option<String>,
    /// Identity of the preferred next holder.
    pub preferred_holder: Option<String>,
}

impl_resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", true);
