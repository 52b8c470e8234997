// SPDX-License-Identifier: Apache-2.0
//! Kind `ServiceAccount` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::impl_resource;

/// An identity for programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceAccount {
    /// Metadata of the object.
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// Secrets that pods of the account may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name", protobuf = 2)]
    pub secrets: Vec<ObjectReference>,
    /// Secrets with credentials for registries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 3)]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Whether pods get a token by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 4)]
    pub automount_service_account_token: Option<bool>,
}

impl_resource!(ServiceAccount, "", "v1", "ServiceAccount", "serviceaccounts", true);
