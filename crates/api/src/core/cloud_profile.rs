// SPDX-License-Identifier: Apache-2.0
//! Types of kind `CloudProfile` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// Versions, machine types, images and regions that an infrastructure offers.
#[api_type]
pub struct CloudProfile {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the profile.
    pub spec: CloudProfileSpec,
    /// Status of the profile.
    pub status: CloudProfileStatus,
}

impl_resource!(CloudProfile, "core.gardener.cloud", "v1beta1", "CloudProfile", "cloudprofiles", false);
