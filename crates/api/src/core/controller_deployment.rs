// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerDeployment` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Deployment of an extension controller.
#[api_type]
pub struct ControllerDeployment {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Type of the deployment: helm.
    #[schema(required)]
    pub r#type: String,
    /// Chart and values.
    #[schema(required)]
    pub provider_config: RawExtension,
    /// Injects a kubeconfig for the garden cluster into the controller.
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
