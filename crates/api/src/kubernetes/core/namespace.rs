// SPDX-License-Identifier: Apache-2.0
//! Kind `Namespace` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A scope for names of objects.
#[api_type]
pub struct Namespace {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Namespace.
    pub spec: NamespaceSpec,
    /// Observed state of the Namespace.
    pub status: NamespaceStatus,
}

/// One aspect of a namespace's deletion.
#[api_type]
pub struct NamespaceCondition {
    /// Type of the condition; written by the namespace controller.
    #[schema(required)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required)]
    pub status: String,
    /// Time of the last status change.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Human-readable message.
    pub message: String,
}

/// Specification of a namespace.
#[api_type]
pub struct NamespaceSpec {
    /// Finalizers that must be removed before the namespace is deleted.
    #[schema(list_type = "atomic")]
    pub finalizers: Vec<String>,
}

/// Status of a namespace.
#[api_type]
pub struct NamespaceStatus {
    /// Active or Terminating.
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<NamespaceCondition>,
}

impl_resource!(Namespace, "", "v1", "Namespace", "namespaces", false);
