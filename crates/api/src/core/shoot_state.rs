// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ShootState` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::impl_resource;

/// What must survive when a Shoot moves to another Seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootState {
    pub metadata: ObjectMeta,
    pub spec: ShootStateSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionResourceState {
    #[schema(required)]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerResourceData {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub data: RawExtension,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceData {
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[schema(required)]
    pub data: RawExtension,
}

/// What a ShootState is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootStateSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub gardener: Vec<GardenerResourceData>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ExtensionResourceState>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceData>,
}

impl_resource!(ShootState, "core.gardener.cloud", "v1beta1", "ShootState", "shootstates", true);
