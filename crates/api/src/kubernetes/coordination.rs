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
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(protobuf = 2)]
    pub spec: LeaseSpec,
}

/// Says who holds something, and until when.
#[api_type]
pub struct LeaseSpec {
    /// Who holds the lease.
    #[schema(protobuf = 1)]
    pub holder_identity: Option<String>,
    /// Seconds for which it is held without being renewed.
    #[schema(protobuf = 2)]
    pub lease_duration_seconds: Option<i32>,
    /// When it was taken.
    #[schema(protobuf = 3)]
    pub acquire_time: Option<MicroTime>,
    /// When it was renewed last.
    #[schema(protobuf = 4)]
    pub renew_time: Option<MicroTime>,
    /// How often it changed hands.
    #[schema(protobuf = 5)]
    pub lease_transitions: Option<i32>,
    /// How the holder is chosen.
    #[schema(protobuf = 6)]
    pub strategy: Option<String>,
    /// Who should take it next.
    #[schema(protobuf = 7)]
    pub preferred_holder: Option<String>,
}

impl_resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", true);
