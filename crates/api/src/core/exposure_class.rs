// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ExposureClass` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::impl_resource;

/// A way in which control planes of Shoots are exposed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExposureClass {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Name of the handler, which gardenlet's configuration maps to an ingress gateway. Cannot be changed.
    #[schema(required)]
    pub handler: String,
    /// Which Seeds are eligible for Shoots of this class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<ExposureClassScheduling>,
}

/// Which Seeds are eligible for Shoots of an ExposureClass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExposureClassScheduling {
    /// Labels that the Seed must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// Taints of Seeds that are tolerated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
}

impl_resource!(ExposureClass, "core.gardener.cloud", "v1beta1", "ExposureClass", "exposureclasses", false);
