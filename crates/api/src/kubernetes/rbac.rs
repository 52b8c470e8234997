// SPDX-License-Identifier: Apache-2.0
//! Kinds of `rbac.authorization.k8s.io/v1`.
//!
//! Source: k8s.io/api/rbac/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::Resource;
use apimachinery::meta::{LabelSelector, ObjectMeta};
use apimachinery::schema::{Node, Schema};

use super::tables;

/// API group of the kinds in this module.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// A user, group or ServiceAccount to which a role is granted.
#[api_type]
#[derive(Eq, PartialOrd, Ord)]
pub struct Subject {
    /// User, Group or ServiceAccount.
    #[schema(required)]
    pub kind: String,
    /// Group of the kind.
    pub api_group: String,
    /// Name of the subject.
    #[schema(required)]
    pub name: String,
    /// Namespace of a ServiceAccount.
    pub namespace: String,
}

/// Allowed operations. `*` stands for everything.
#[api_type(no_schema)]
#[derive(Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// Verbs that are allowed; `*` for all.
    #[schema(always)]
    pub verbs: Vec<String>,
    /// API groups; empty string: the core group.
    pub api_groups: Vec<String>,
    /// Plural names, followed by `/subresource` if one is meant; `*/subresource` is that of all resources.
    pub resources: Vec<String>,
    /// Names of objects; empty: all.
    pub resource_names: Vec<String>,
    /// Paths that are no resource; a `*` at the end stands for any suffix.
    #[schema(rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
}

/// The role that a binding grants.
#[api_type(no_schema)]
#[derive(Eq)]
pub struct RoleRef {
    /// Group of the kind.
    #[schema(always)]
    pub api_group: String,
    /// Role or ClusterRole.
    #[schema(always)]
    pub kind: String,
    /// Name of the role.
    #[schema(always)]
    pub name: String,
}

/// Selection of the ClusterRoles whose rules a ClusterRole aggregates.
#[api_type(no_schema)]
pub struct AggregationRule {
    /// Selectors; a ClusterRole that matches one of them is included.
    pub cluster_role_selectors: Vec<LabelSelector>,
}

/// Rules in one namespace.
#[api_type(no_schema)]
pub struct Role {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Rules; a request is allowed if one of them allows it.
    #[schema(always)]
    pub rules: Vec<PolicyRule>,
}

/// Rules in the whole cluster, or in each namespace that binds the ClusterRole.
#[api_type(no_schema)]
pub struct ClusterRole {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Rules; a request is allowed if one of them allows it.
    #[schema(always)]
    pub rules: Vec<PolicyRule>,
    /// Source of the rules; a controller fills them in.
    pub aggregation_rule: Option<AggregationRule>,
}

/// Grants a role in one namespace.
#[api_type(no_schema)]
pub struct RoleBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Subjects to which the role is granted.
    pub subjects: Vec<Subject>,
    /// Role that is granted.
    #[schema(always)]
    pub role_ref: RoleRef,
}

/// Grants a ClusterRole in all namespaces and for cluster-scoped resources.
#[api_type(no_schema)]
pub struct ClusterRoleBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Subjects to which the role is granted.
    pub subjects: Vec<Subject>,
    /// Role that is granted.
    #[schema(always)]
    pub role_ref: RoleRef,
}

macro_rules! described_by_table {
    ($kind:ident, $plural:literal, $namespaced:literal) => {
        impl Schema for $kind {
            fn node() -> Node {
                tables::node("rbac", stringify!($kind)).expect("the table has the kind")
            }
        }

        impl Resource for $kind {
            const GROUP: &'static str = GROUP;
            const VERSION: &'static str = "v1";
            const KIND: &'static str = stringify!($kind);
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = $namespaced;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

described_by_table!(Role, "roles", true);
described_by_table!(ClusterRole, "clusterroles", false);
described_by_table!(RoleBinding, "rolebindings", true);
described_by_table!(ClusterRoleBinding, "clusterrolebindings", false);
