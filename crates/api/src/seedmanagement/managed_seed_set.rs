// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ManagedSeedSet` (`seedmanagement.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A set of identical ManagedSeeds and their Shoots.
#[api_type]
pub struct ManagedSeedSet {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the ManagedSeedSet.
    pub spec: ManagedSeedSetSpec,
    /// Observed state of the ManagedSeedSet.
    pub status: ManagedSeedSetStatus,
}

/// Specification of a ManagedSeedSet.
#[api_type]
pub struct ManagedSeedSetSpec {
    /// Desired number of ManagedSeeds. Default: 1.
    pub replicas: Option<i32>,
    /// Labels of the set's ManagedSeeds and Shoots.
    #[schema(required)]
    pub selector: LabelSelector,
    /// Template of the ManagedSeeds.
    #[schema(required)]
    pub template: ManagedSeedTemplate,
    /// Template of their Shoots.
    #[schema(required)]
    pub shoot_template: crate::core::ShootTemplate,
    /// Strategy for rolling out changes of the templates.
    pub update_strategy: Option<UpdateStrategy>,
    /// Number of old revisions to keep. Default: 10.
    pub revision_history_limit: Option<i32>,
}

/// Status of a ManagedSeedSet.
#[api_type]
pub struct ManagedSeedSetStatus {
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Number of ManagedSeeds.
    #[schema(required)]
    pub replicas: i32,
    /// Number of ManagedSeeds that are registered and whose Shoots are healthy.
    pub ready_replicas: i32,
    /// Number that the next ManagedSeed's name ends with.
    pub next_replica_number: i32,
    /// Number of ManagedSeeds of the current revision.
    pub current_replicas: i32,
    /// Number of ManagedSeeds of the update revision.
    pub updated_replicas: i32,
    /// Revision before the roll-out.
    pub current_revision: String,
    /// Revision that is being rolled out.
    pub update_revision: String,
    /// Number of collisions of names of revisions.
    pub collision_count: Option<i32>,
    /// Conditions of the object, one of each type.
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    /// ManagedSeed that the set waits for.
    pub pending_replica: Option<PendingReplica>,
}

/// Template of ManagedSeeds.
#[api_type]
pub struct ManagedSeedTemplate {
    /// Labels and annotations of the ManagedSeed.
    pub metadata: ObjectMeta,
    /// Desired state of the ManagedSeeds.
    pub spec: ManagedSeedSpec,
}

/// A ManagedSeed that the set waits for.
#[api_type]
pub struct PendingReplica {
    /// Name of the ManagedSeed.
    #[schema(required)]
    pub name: String,
    /// Reason for waiting: ShootReconciling, ShootReconcileFailed and so on.
    #[schema(required)]
    pub reason: String,
    /// Time since which the set waits.
    #[schema(required)]
    pub since: Time,
    /// Number of retries.
    pub retries: Option<i32>,
}

/// Roll-out of a ManagedSeedSet.
#[api_type]
pub struct RollingUpdateStrategy {
    /// Ordinal from which on ManagedSeeds are updated. Default: 0.
    pub partition: Option<i32>,
}

/// Strategy for rolling out changes of templates.
#[api_type]
pub struct UpdateStrategy {
    /// `RollingUpdate`, the only type and the default.
    pub r#type: Option<String>,
    /// Settings of RollingUpdate.
    pub rolling_update: Option<RollingUpdateStrategy>,
}

impl_resource!(ManagedSeedSet, "seedmanagement.gardener.cloud", "v1alpha1", "ManagedSeedSet", "managedseedsets", true);
