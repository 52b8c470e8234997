// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Project` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A team with its members and its namespace of Shoots.
#[api_type]
pub struct Project {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Project.
    pub spec: ProjectSpec,
    /// Observed state of the Project.
    pub status: ProjectStatus,
}

/// Objects that a second person must confirm to delete.
#[api_type]
pub struct DualApprovalForDeletion {
    /// Resource; only `shoots` can be chosen.
    #[schema(required)]
    pub resource: String,
    /// Labels of the objects.
    #[schema(required)]
    pub selector: LabelSelector,
    /// True if deletions by service accounts need a second person, too. Default: true.
    pub include_service_accounts: Option<bool>,
}

/// A member of a Project and its roles.
#[api_type]
pub struct ProjectMember {
    /// User, Group or ServiceAccount.
    #[schema(required)]
    pub kind: String,
    /// Group of the subject's kind.
    pub api_group: String,
    /// Name of the subject.
    #[schema(required)]
    pub name: String,
    /// Namespace of a service account.
    pub namespace: String,
    /// First role of the member. Older form of roles.
    #[schema(required)]
    pub role: String,
    /// Roles of the member: admin, viewer, uam, serviceaccountmanager, owner, or extension: and a name.
    pub roles: Vec<String>,
}

/// Specification of a Project.
#[api_type]
pub struct ProjectSpec {
    /// User that created the project. Set by the server; cannot be changed.
    pub created_by: Option<crate::kubernetes::rbac::Subject>,
    /// Description of the project.
    pub description: Option<String>,
    /// Owner of the project; always a member with role owner.
    pub owner: Option<crate::kubernetes::rbac::Subject>,
    /// Purpose of the project.
    pub purpose: Option<String>,
    /// Members of the project and their roles.
    pub members: Vec<ProjectMember>,
    /// Namespace of the project: `garden-` and the project's name, or one that exists and is labelled so. Cannot be
    /// changed once it is set.
    pub namespace: Option<String>,
    /// Taints of Seeds that Shoots of the project tolerate or may tolerate.
    pub tolerations: Option<ProjectTolerations>,
    /// Objects that a second person must confirm to delete.
    pub dual_approval_for_deletion: Vec<DualApprovalForDeletion>,
}

/// Status of a Project.
#[api_type]
pub struct ProjectStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Pending, Ready, Failed or Terminating.
    pub phase: String,
    /// Time since which the project has been unused.
    pub stale_since_timestamp: Option<Time>,
    /// Time at which the unused project is deleted automatically.
    pub stale_auto_delete_timestamp: Option<Time>,
    /// Time of the last activity in the project.
    pub last_activity_timestamp: Option<Time>,
    /// Conditions of the project.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
}

/// Taints of Seeds and a project's Shoots.
#[api_type]
pub struct ProjectTolerations {
    /// Tolerations that every new Shoot gets.
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub defaults: Vec<Toleration>,
    /// Tolerations that Shoots may have, in addition to those of the landscape.
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub whitelist: Vec<Toleration>,
}

impl_resource!(Project, "core.gardener.cloud", "v1beta1", "Project", "projects", false);
