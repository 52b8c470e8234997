// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `autoscaling` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/autoscaling/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use serde::{Deserialize, Serialize};

/// Reference to an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CrossVersionObjectReference {
    /// Kind of the object.
    #[schema(required)]
    pub kind: String,
    /// Name of the object.
    #[schema(required)]
    pub name: String,
    /// Version of the object's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
}
