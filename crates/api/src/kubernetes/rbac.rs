// SPDX-License-Identifier: Apache-2.0
//! Kinds of `rbac.authorization.k8s.io/v1`.
//!
//! Source: k8s.io/api/rbac/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::Resource;
use apimachinery::meta::{LabelSelector, ObjectMeta};
use apimachinery::schema::{Node, Schema};

use super::tables;

/// The group.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// Who gets a role.
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

/// What may be done. `*` stands for everything.
#[api_type(no_schema)]
#[derive(Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// Verbs that are allowed; `*` for all.
    #[schema(always)]
    pub verbs: Vec<String>,
    /// Groups; empty text: the core group.
    pub api_groups: Vec<String>,
    /// Plural names, with `/subresource` where one is meant; `*/subresource` is that of all.
    pub resources: Vec<String>,
    /// Names; empty: all.
    pub resource_names: Vec<String>,
    /// Paths that are no resource; a `*` at the end stands for anything.
    #[schema(rename = "nonResourceURLs")]
    pub non_resource_urls: Vec<String>,
}

/// The role that a binding gives.
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

/// Which ClusterRoles a ClusterRole takes its rules from.
#[api_type(no_schema)]
pub struct AggregationRule {
    /// Selectors; a role that one of them selects counts.
    pub cluster_role_selectors: Vec<LabelSelector>,
}

/// Rules of a namespace.
#[api_type(no_schema)]
pub struct Role {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Rules; one that allows is enough.
    #[schema(always)]
    pub rules: Vec<PolicyRule>,
}

/// Rules of the cluster, or of each namespace that binds it.
#[api_type(no_schema)]
pub struct ClusterRole {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Rules; one that allows is enough.
    #[schema(always)]
    pub rules: Vec<PolicyRule>,
    /// Where the rules come from; a controller fills them in.
    pub aggregation_rule: Option<AggregationRule>,
}

/// Gives a role in one namespace.
#[api_type(no_schema)]
pub struct RoleBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// To whom.
    pub subjects: Vec<Subject>,
    /// Which role.
    #[schema(always)]
    pub role_ref: RoleRef,
}

/// Gives a role in all namespaces and beyond.
#[api_type(no_schema)]
pub struct ClusterRoleBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// To whom.
    pub subjects: Vec<Subject>,
    /// Which role.
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
