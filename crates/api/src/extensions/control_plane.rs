// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControlPlane` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// The infrastructure's part of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlane {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: ControlPlaneSpec,
    pub status: ControlPlaneStatus,
}

/// What a ControlPlane is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlaneSpec {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub infrastructure_provider_status: Option<RawExtension>,
    #[schema(required)]
    pub region: String,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub purpose: Option<String>,
}

/// What is known of a ControlPlane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlaneStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<crate::core::LastError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::NamedResourceReference>,
}

impl_resource!(ControlPlane, "extensions.gardener.cloud", "v1alpha1", "ControlPlane", "controlplanes", true);
