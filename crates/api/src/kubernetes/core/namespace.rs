// SPDX-License-Identifier: Apache-2.0
//! Kind `Namespace` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Namespace {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: NamespaceSpec,
    #[schema(protobuf = 3)]
    pub status: NamespaceStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespaceCondition {
    #[schema(required, protobuf = 1)]
    pub r#type: String,
    #[schema(required, protobuf = 2)]
    pub status: String,
    #[schema(protobuf = 4)]
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 5)]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 6)]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespaceSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 1)]
    pub finalizers: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NamespaceStatus {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub phase: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 2)]
    pub conditions: Vec<NamespaceCondition>,
}

impl_resource!(Namespace, "", "v1", "Namespace", "namespaces", false);
