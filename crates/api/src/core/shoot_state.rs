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
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: ShootStateSpec,
}

/// State of one resource of an extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtensionResourceState {
    /// Kind of the resource.
    #[schema(required)]
    pub kind: String,
    /// Name of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose of the resource, for kinds that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// State, in the extension's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RawExtension>,
    /// Objects that the state refers to, by names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<NamedResourceReference>,
}

/// Something that gardenlet must not lose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct GardenerResourceData {
    /// Name of it.
    #[schema(required)]
    pub name: String,
    /// Type of it: secret, machine-state and the like.
    #[schema(required)]
    pub r#type: String,
    /// The data.
    #[schema(required)]
    pub data: RawExtension,
    /// Labels by which it is found.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// An object that the state of an extension refers to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceData {
    /// Kind of the object.
    #[schema(required)]
    pub kind: String,
    /// Name of the object.
    #[schema(required)]
    pub name: String,
    /// Version of the object's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The object's content.
    #[schema(required)]
    pub data: RawExtension,
}

/// What a ShootState is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootStateSpec {
    /// What gardenlet must not lose: secrets and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub gardener: Vec<GardenerResourceData>,
    /// State of the extensions' resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ExtensionResourceState>,
    /// Objects that these states refer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceData>,
}

impl_resource!(ShootState, "core.gardener.cloud", "v1beta1", "ShootState", "shootstates", true);
