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
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(protobuf = 2)]
    pub spec: NamespaceSpec,
    /// What is there.
    #[schema(protobuf = 3)]
    pub status: NamespaceStatus,
}

/// One aspect of a namespace's deletion.
#[api_type]
pub struct NamespaceCondition {
    /// Type.
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    /// True, False or Unknown.
    #[schema(required, protobuf = 2)]
    pub status: String,
    /// When the status changed last.
    #[schema(protobuf = 4)]
    pub last_transition_time: Time,
    /// Reason in one word.
    #[schema(protobuf = 5)]
    pub reason: String,
    /// Reason in sentences.
    #[schema(protobuf = 6)]
    pub message: String,
}

/// What a namespace is to be.
#[api_type]
pub struct NamespaceSpec {
    /// Who must agree before the namespace is removed.
    #[schema(list_type = "atomic", protobuf = 1)]
    pub finalizers: Vec<String>,
}

/// What is known of a namespace.
#[api_type]
pub struct NamespaceStatus {
    /// Active or Terminating.
    #[schema(protobuf = 1)]
    pub phase: String,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 2)]
    pub conditions: Vec<NamespaceCondition>,
}

impl_resource!(Namespace, "", "v1", "Namespace", "namespaces", false);
