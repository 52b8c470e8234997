// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerDeployment` (`core.gardener.cloud/v1`).
//!
//! Source: pkg/apis/core/v1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// How an extension controller is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerDeployment {
    pub metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmControllerDeployment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_garden_kubeconfig: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmControllerDeployment {
    #[serde(skip_serializing_if = "is_zero")]
    pub raw_chart: ByteString,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci_repository: Option<OCIRepository>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct OCIRepository {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<crate::kubernetes::core::LocalObjectReference>,
}

impl_resource!(
    ControllerDeployment,
    "core.gardener.cloud",
    "v1",
    "ControllerDeployment",
    "controllerdeployments",
    false
);
