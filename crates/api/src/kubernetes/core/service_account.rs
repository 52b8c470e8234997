// SPDX-License-Identifier: Apache-2.0
//! Kind `ServiceAccount` (`v1`).
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// An identity for programs.
#[api_type]
pub struct ServiceAccount {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Secrets that pods of the account may use.
    #[schema(merge_key = "name", patch_strategy = "merge", list_type = "map", list_map_key = "name")]
    pub secrets: Vec<ObjectReference>,
    /// Secrets with credentials for registries.
    #[schema(list_type = "atomic")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// True if pods get a token automatically.
    pub automount_service_account_token: Option<bool>,
}

impl_resource!(ServiceAccount, "", "v1", "ServiceAccount", "serviceaccounts", true);
