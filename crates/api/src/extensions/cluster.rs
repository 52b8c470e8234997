// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Cluster` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A copy of a Shoot with its Seed and CloudProfile, for extension controllers.
#[api_type]
pub struct Cluster {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Copies of the Shoot, its Seed and its CloudProfile.
    #[schema(required)]
    pub spec: ClusterSpec,
}

/// Specification of a Cluster.
#[api_type]
pub struct ClusterSpec {
    /// CloudProfile of the garden cluster.
    #[schema(required, preserve_unknown)]
    pub cloud_profile: RawExtension,
    /// Seed of the garden cluster.
    #[schema(preserve_unknown)]
    pub seed: Option<RawExtension>,
    /// Shoot of the garden cluster.
    #[schema(required, preserve_unknown)]
    pub shoot: RawExtension,
}

impl_resource!(Cluster, "extensions.gardener.cloud", "v1alpha1", "Cluster", "clusters", false);
