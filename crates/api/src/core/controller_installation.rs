// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ControllerInstallation` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// An extension controller installed in a Seed.
#[api_type]
pub struct ControllerInstallation {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ControllerInstallation.
    pub spec: ControllerInstallationSpec,
    /// Observed state of the ControllerInstallation.
    pub status: ControllerInstallationStatus,
}

/// Specification of a ControllerInstallation.
#[api_type]
pub struct ControllerInstallationSpec {
    /// ControllerRegistration that is installed.
    #[schema(required)]
    pub registration_ref: crate::kubernetes::core::ObjectReference,
    /// Seed in which it is installed.
    pub seed_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Self-hosted Shoot in which it is installed. Name and namespace cannot be changed. Served; not emulated.
    pub shoot_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// ControllerDeployment with the chart.
    pub deployment_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Secrets and ConfigMaps of the ControllerDeployment.
    pub resource_refs: Vec<crate::kubernetes::core::ObjectReference>,
}

/// Status of a ControllerInstallation.
#[api_type]
pub struct ControllerInstallationStatus {
    /// Valid, Installed, Healthy and Progressing.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<Condition>,
    /// Status that the deployment reports, in its own format.
    pub provider_status: Option<RawExtension>,
}

impl_resource!(
    ControllerInstallation,
    "core.gardener.cloud",
    "v1beta1",
    "ControllerInstallation",
    "controllerinstallations",
    false
);
