// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `rbac` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/rbac/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;

/// Who gets a role.
#[api_type]
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
