// SPDX-License-Identifier: Apache-2.0
//! Kind `Lease` (`coordination.k8s.io/v1`).
//!
//! Source: k8s.io/api/coordination/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// Says who holds something, and until when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Lease {
    /// Metadata of the object.
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(protobuf = 2)]
    pub spec: LeaseSpec,
}

/// Says who holds something, and until when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    /// Who holds the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub holder_identity: Option<String>,
    /// Seconds for which it is held without being renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub lease_duration_seconds: Option<i32>,
    /// When it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 3)]
    pub acquire_time: Option<MicroTime>,
    /// When it was renewed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub renew_time: Option<MicroTime>,
    /// How often it changed hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 5)]
    pub lease_transitions: Option<i32>,
    /// How the holder is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub strategy: Option<String>,
    /// Who should take it next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 7)]
    pub preferred_holder: Option<String>,
}

impl_resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", true);
