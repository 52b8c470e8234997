// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `rbac` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/rbac/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Subject {
    #[schema(required)]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
