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
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub handler: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<ExposureClassScheduling>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExposureClassScheduling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "key", patch_strategy = "merge")]
    pub tolerations: Vec<Toleration>,
}

impl_resource!(ExposureClass, "core.gardener.cloud", "v1beta1", "ExposureClass", "exposureclasses", false);
