// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerDeployment` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// How an extension controller is deployed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ControllerDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// How the controller is deployed: helm.
    #[schema(required)]
    pub r#type: String,
    /// Chart and values.
    #[schema(required)]
    pub provider_config: RawExtension,
    /// Whether the controller gets a kubeconfig for the garden cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_garden_kubeconfig: Option<bool>,
}

impl_resource!(
    ControllerDeployment,
    "core.gardener.cloud",
    "v1beta1",
    "ControllerDeployment",
    "controllerdeployments",
    false
);
