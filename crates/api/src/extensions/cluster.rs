// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Cluster` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// A copy of a Shoot with its Seed and CloudProfile, for extension controllers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Cluster {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(required)]
    pub spec: ClusterSpec,
}

/// What a Cluster is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The CloudProfile, as it is in the garden cluster.
    #[schema(required, preserve_unknown)]
    pub cloud_profile: RawExtension,
    /// The Seed, as it is in the garden cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub seed: Option<RawExtension>,
    /// The Shoot, as it is in the garden cluster.
    #[schema(required, preserve_unknown)]
    pub shoot: RawExtension,
}

impl_resource!(Cluster, "extensions.gardener.cloud", "v1alpha1", "Cluster", "clusters", false);
