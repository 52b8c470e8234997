// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `autoscaling` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/autoscaling/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;

/// Reference to an object in the same namespace.
#[api_type]
pub struct CrossVersionObjectReference {
    /// Kind of the object.
    #[schema(required)]
    pub kind: String,
    /// Name of the object.
    #[schema(required)]
    pub name: String,
    /// Version of the object's kind.
    pub api_version: String,
}
