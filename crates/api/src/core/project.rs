// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Project` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A team with its members and its namespace of Shoots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Project {
    pub metadata: ObjectMeta,
    pub spec: ProjectSpec,
    pub status: ProjectStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DualApprovalForDeletion {
    #[schema(required)]
    pub resource: String,
    #[schema(required)]
    pub selector: LabelSelector,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_service_accounts: Option<bool>,
}

/// A member of a Project and its roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectMember {
    #[schema(required)]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[schema(required)]
    pub role: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// What a Project is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<crate::kubernetes::rbac::Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<crate::kubernetes::rbac::Subject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<ProjectMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<ProjectTolerations>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dual_approval_for_deletion: Vec<DualApprovalForDeletion>,
}

/// What is known of a Project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectStatus {
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_auto_delete_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_activity_timestamp: Option<Time>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectTolerations {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub defaults: Vec<Toleration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub whitelist: Vec<Toleration>,
}

impl_resource!(Project, "core.gardener.cloud", "v1beta1", "Project", "projects", false);
