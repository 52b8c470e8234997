// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Quota` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Limits on Shoots, by Project or by credentials.
#[api_type]
pub struct Quota {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Limits of the Quota.
    pub spec: QuotaSpec,
}

/// Specification of a Quota.
#[api_type]
pub struct QuotaSpec {
    /// Days after which Shoots are deleted.
    pub cluster_lifetime_days: Option<i32>,
    /// Limit of each resource: cpu, gpu, memory, storage.standard, storage.premium, loadbalancer.
    #[schema(required)]
    pub metrics: BTreeMap<String, Quantity>,
    /// Scope of the limits: a Project or a Secret.
    #[schema(required)]
    pub scope: crate::kubernetes::core::ObjectReference,
}

impl_resource!(Quota, "core.gardener.cloud", "v1beta1", "Quota", "quotas", true);
