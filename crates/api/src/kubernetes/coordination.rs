// SPDX-License-Identifier: Apache-2.0
//! Kind `Lease` (`coordination.k8s.io/v1`).
//!
//! Source: k8s.io/api/coordination/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Lease {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: LeaseSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 1)]
    pub holder_identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 2)]
    pub lease_duration_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 3)]
    pub acquire_time: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub renew_time: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 5)]
    pub lease_transitions: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 7)]
    pub preferred_holder: Option<String>,
}

impl_resource!(Lease, "coordination.k8s.io", "v1", "Lease", "leases", true);
