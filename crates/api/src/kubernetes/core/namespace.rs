// SPDX-License-Identifier: Apache-2.0
//! Kind `Namespace` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A space for names.
#[api_type]
pub struct Namespace {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: NamespaceSpec,
    /// What is there.
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
    /// When the status changed last.
    pub last_transition_time: Time,
    /// Reason in one word.
    pub reason: String,
    /// Reason in sentences.
    pub message: String,
}

/// What a namespace is to be.
#[api_type]
pub struct NamespaceSpec {
    /// Who must agree before the namespace is removed.
    #[schema(list_type = "atomic")]
    pub finalizers: Vec<String>,
}

/// What is known of a namespace.
#[api_type]
pub struct NamespaceStatus {
    /// Active or Terminating.
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type")]
    pub conditions: Vec<NamespaceCondition>,
}

impl_resource!(Namespace, "", "v1", "Namespace", "namespaces", false);
