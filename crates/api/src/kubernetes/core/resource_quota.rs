// SPDX-License-Identifier: Apache-2.0
//! Kind `ResourceQuota` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Limits of the resources of a namespace.
#[api_type]
pub struct ResourceQuota {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ResourceQuota.
    pub spec: ResourceQuotaSpec,
    /// Observed state of the ResourceQuota.
    pub status: ResourceQuotaStatus,
}

/// Limits of the resources of a namespace.
#[api_type]
pub struct ResourceQuotaSpec {
    /// Limit of each resource.
    pub hard: BTreeMap<String, Quantity>,
    /// Scopes of the counted objects; an object must be in all of them.
    #[schema(list_type = "atomic")]
    pub scopes: Vec<String>,
    /// Scopes of the counted objects, as requirements.
    pub scope_selector: Option<ScopeSelector>,
}

/// Usage of a namespace.
#[api_type]
pub struct ResourceQuotaStatus {
    /// Limits that are enforced.
    pub hard: BTreeMap<String, Quantity>,
    /// Current usage of each resource.
    pub used: BTreeMap<String, Quantity>,
}

/// Selects the objects that a quota counts.
#[api_type]
pub struct ScopeSelector {
    /// Requirements; all must hold.
    #[schema(list_type = "atomic")]
    pub match_expressions: Vec<ScopedResourceSelectorRequirement>,
}

/// One requirement on the objects that a quota counts.
#[api_type]
pub struct ScopedResourceSelectorRequirement {
    /// Scope that a pod must be in: `BestEffort`, `PriorityClass`, ….
    #[schema(required)]
    pub scope_name: String,
    /// Operator: In, NotIn, Exists or DoesNotExist.
    #[schema(required)]
    pub operator: String,
    /// Values for the operator.
    #[schema(list_type = "atomic")]
    pub values: Vec<String>,
}

impl_resource!(ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", true);
