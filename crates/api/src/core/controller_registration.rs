// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerRegistration` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// An extension controller that is known, and the kinds and types it is responsible for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistration {
    pub metadata: ObjectMeta,
    pub spec: ControllerRegistrationSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistrationDeployment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deployment_refs: Vec<DeploymentRef>,
}

/// What a ControllerRegistration is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerRegistrationSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ControllerResource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ControllerRegistrationDeployment>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerResource {
    #[schema(required)]
    pub kind: String,
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconcile_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<ControllerResourceLifecycle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workerless_supported: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub auto_enable: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_compatibility: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(deprecated)]
    pub globally_enabled: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerResourceLifecycle {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconcile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrate: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeploymentRef {
    #[schema(required)]
    pub name: String,
}

impl_resource!(
    ControllerRegistration,
    "core.gardener.cloud",
    "v1beta1",
    "ControllerRegistration",
    "controllerregistrations",
    false
);
