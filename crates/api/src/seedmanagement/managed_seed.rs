// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ManagedSeed` (`seedmanagement.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A Shoot that is used as a Seed.
#[api_type]
pub struct ManagedSeed {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ManagedSeed.
    pub spec: ManagedSeedSpec,
    /// Observed state of the ManagedSeed.
    pub status: ManagedSeedStatus,
}

/// Status of a ManagedSeed.
#[api_type]
pub struct ManagedSeedStatus {
    /// ShootReconciled, SeedRegistered.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
}

impl_resource!(ManagedSeed, "seedmanagement.gardener.cloud", "v1alpha1", "ManagedSeed", "managedseeds", true);
