// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `rbac` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/rbac/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use serde::{Deserialize, Serialize};

/// Who gets a role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Subject {
    /// User, Group or ServiceAccount.
    #[schema(required)]
    pub kind: String,
    /// Group of the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// Name of the subject.
    #[schema(required)]
    pub name: String,
    /// Namespace of a ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
