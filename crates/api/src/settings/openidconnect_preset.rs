// SPDX-License-Identifier: Apache-2.0
//! Types of kind `OpenIDConnectPreset` (`settings.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/settings/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// OpenID Connect settings for new Shoots of a namespace.
#[api_type]
pub struct OpenIDConnectPreset {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Specification of the OpenIDConnectPreset.
    #[schema(required)]
    pub spec: OpenIDConnectPresetSpec,
}

impl_resource!(
    OpenIDConnectPreset,
    "settings.gardener.cloud",
    "v1alpha1",
    "OpenIDConnectPreset",
    "openidconnectpresets",
    true
);
