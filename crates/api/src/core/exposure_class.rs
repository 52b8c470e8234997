// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ExposureClass` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A way in which control planes of Shoots are exposed.
#[api_type]
pub struct ExposureClass {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Name of the handler, which gardenlet's configuration maps to an ingress gateway. Cannot be changed.
    #[schema(required)]
    pub handler: String,
    /// Constraints on the Seeds of Shoots of this class.
    pub scheduling: Option<ExposureClassScheduling>,
}

/// Constraints on the Seeds of Shoots of an ExposureClass.
#[api_type]
pub struct ExposureClassScheduling {
    /// Labels that the Seed must have.
    pub seed_selector: Option<SeedSelector>,
    /// Taints of Seeds that are tolerated.
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
}

impl_resource!(ExposureClass, "core.gardener.cloud", "v1beta1", "ExposureClass", "exposureclasses", false);
