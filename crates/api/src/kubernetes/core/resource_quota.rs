// SPDX-License-Identifier: Apache-2.0
//! Kind `ResourceQuota` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Bounds of what a namespace may use.
#[api_type]
pub struct ResourceQuota {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ResourceQuota.
    pub spec: ResourceQuotaSpec,
    /// Observed state of the ResourceQuota.
    pub status: ResourceQuotaStatus,
}

/// Bounds of what a namespace may use.
#[api_type]
pub struct ResourceQuotaSpec {
    /// Most of each resource.
    pub hard: BTreeMap<String, Quantity>,
    /// What is counted; all must fit.
    #[schema(list_type = "atomic")]
    pub scopes: Vec<String>,
    /// What is counted, in more detail.
    pub scope_selector: Option<ScopeSelector>,
}

/// What a namespace uses.
#[api_type]
pub struct ResourceQuotaStatus {
    /// Bounds that are in force.
    pub hard: BTreeMap<String, Quantity>,
    /// What is used.
    pub used: BTreeMap<String, Quantity>,
}

/// What a quota counts.
#[api_type]
pub struct ScopeSelector {
    /// Requirements; all must hold.
    #[schema(list_type = "atomic")]
    pub match_expressions: Vec<ScopedResourceSelectorRequirement>,
}

/// One requirement on what a quota counts.
#[api_type]
pub struct ScopedResourceSelectorRequirement {
    /// Scope that a pod must be in: `BestEffort`, `PriorityClass`, ….
    #[schema(required)]
    pub scope_name: String,
    /// In, NotIn, Exists or DoesNotExist.
    #[schema(required)]
    pub operator: String,
    /// Values for the operator.
    #[schema(list_type = "atomic")]
    pub values: Vec<String>,
}

impl_resource!(ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", true);
