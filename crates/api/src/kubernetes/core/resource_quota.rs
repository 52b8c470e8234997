// SPDX-License-Identifier: Apache-2.0
//! Kind `ResourceQuota` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// Bounds of what a namespace may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceQuota {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ResourceQuotaSpec,
    /// What is there.
    pub status: ResourceQuotaStatus,
}

/// Bounds of what a namespace may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceQuotaSpec {
    /// Most of each resource.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: BTreeMap<String, Quantity>,
    /// What is counted; all must fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub scopes: Vec<String>,
    /// What is counted, in more detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_selector: Option<ScopeSelector>,
}

/// What a namespace uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceQuotaStatus {
    /// Bounds that are in force.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: BTreeMap<String, Quantity>,
    /// What is used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, Quantity>,
}

/// What a quota counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScopeSelector {
    /// Requirements; all must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub match_expressions: Vec<ScopedResourceSelectorRequirement>,
}

/// One requirement on what a quota counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScopedResourceSelectorRequirement {
    /// Scope.
    #[schema(required)]
    pub scope_name: String,
    /// In, NotIn, Exists or DoesNotExist.
    #[schema(required)]
    pub operator: String,
    /// Values for the operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub values: Vec<String>,
}

impl_resource!(ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", true);
