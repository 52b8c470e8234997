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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ProjectSpec,
    /// What is there.
    pub status: ProjectStatus,
}

/// Objects that a second person must confirm to delete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DualApprovalForDeletion {
    /// Resource; only `shoots` can be chosen.
    #[schema(required)]
    pub resource: String,
    /// Labels of the objects.
    #[schema(required)]
    pub selector: LabelSelector,
    /// Whether service accounts need a second person, too. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_service_accounts: Option<bool>,
}

/// A member of a Project and its roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectMember {
    /// User, Group or ServiceAccount.
    #[schema(required)]
    pub kind: String,
    /// Group of the subject's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Name of the subject.
    #[schema(required)]
    pub name: String,
    /// Namespace of a service account.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// First role of the member. Older form of roles.
    #[schema(required)]
    pub role: String,
    /// Roles of the member: admin, viewer, uam, serviceaccountmanager, owner, or extension: and a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// What a Project is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectSpec {
    /// Who created the project. Set by the server; cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<crate::kubernetes::rbac::Subject>,
    /// What the project is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who owns the project; always a member with role owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<crate::kubernetes::rbac::Subject>,
    /// What the project is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Who may do what in the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<ProjectMember>,
    /// Namespace of the project: `garden-` and the project's name, or one that exists and is labelled so. Cannot be
    /// changed once it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Taints of Seeds that Shoots of the project tolerate or may tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<ProjectTolerations>,
    /// Objects that a second person must confirm to delete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dual_approval_for_deletion: Vec<DualApprovalForDeletion>,
}

/// What is known of a Project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectStatus {
    /// Generation of the specification that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Pending, Ready, Failed or Terminating.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Since when the project has not been used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since_timestamp: Option<Time>,
    /// When the project is deleted for not being used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_auto_delete_timestamp: Option<Time>,
    /// When something was done in the project last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_activity_timestamp: Option<Time>,
}

/// Taints of Seeds and a project's Shoots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectTolerations {
    /// Tolerations that every new Shoot gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub defaults: Vec<Toleration>,
    /// Tolerations that Shoots may have, beside those of the landscape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub whitelist: Vec<Toleration>,
}

impl_resource!(Project, "core.gardener.cloud", "v1beta1", "Project", "projects", false);
