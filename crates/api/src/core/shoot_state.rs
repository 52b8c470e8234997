// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ShootState` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// State of a Shoot that a migration to another Seed preserves.
#[api_type]
pub struct ShootState {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Persisted data of the Shoot.
    pub spec: ShootStateSpec,
}

/// State of one resource of an extension.
#[api_type]
pub struct ExtensionResourceState {
    /// Kind of the resource.
    #[schema(required)]
    pub kind: String,
    /// Name of the resource.
    pub name: Option<String>,
    /// Purpose of the resource, for kinds that have one.
    pub purpose: Option<String>,
    /// State, in the extension's format.
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<NamedResourceReference>,
}

/// Data that gardenlet persists.
#[api_type]
pub struct GardenerResourceData {
    /// Name of the data.
    #[schema(required)]
    pub name: String,
    /// Type of the data: secret, machine-state and so on.
    #[schema(required)]
    pub r#type: String,
    /// The data.
    #[schema(required)]
    pub data: RawExtension,
    /// Labels by which the data is found.
    pub labels: TextMap,
}

/// An object that the state of an extension refers to.
#[api_type]
pub struct ResourceData {
    /// Kind of the object.
    #[schema(required)]
    pub kind: String,
    /// Name of the object.
    #[schema(required)]
    pub name: String,
    /// Version of the object's kind.
    pub api_version: String,
    /// The object's content.
    #[schema(required)]
    pub data: RawExtension,
}

/// Specification of a ShootState.
#[api_type]
pub struct ShootStateSpec {
    /// Data that gardenlet persists: secrets and so on.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub gardener: Vec<GardenerResourceData>,
    /// State of the extensions' resources.
    pub extensions: Vec<ExtensionResourceState>,
    /// Objects that these states refer to.
    pub resources: Vec<ResourceData>,
}

impl_resource!(ShootState, "core.gardener.cloud", "v1beta1", "ShootState", "shootstates", true);
