// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ShootState` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// What must survive when a Shoot moves to another Seed.
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
    /// Objects that the state refers to, by names.
    pub resources: Vec<NamedResourceReference>,
}

/// Something that gardenlet must not lose.
#[api_type]
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
    /// What gardenlet must not lose: secrets and the like.
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub gardener: Vec<GardenerResourceData>,
    /// State of the extensions' resources.
    pub extensions: Vec<ExtensionResourceState>,
    /// Objects that these states refer to.
    pub resources: Vec<ResourceData>,
}

impl_resource!(ShootState, "core.gardener.cloud", "v1beta1", "ShootState", "shootstates", true);
