// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ManagedSeedSet` (`seedmanagement.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/seedmanagement/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A set of like ManagedSeeds and their Shoots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedSet {
    pub metadata: ObjectMeta,
    pub spec: ManagedSeedSetSpec,
    pub status: ManagedSeedSetStatus,
}

/// What a ManagedSeedSet is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedSetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    #[schema(required)]
    pub selector: LabelSelector,
    #[schema(required)]
    pub template: ManagedSeedTemplate,
    #[schema(required)]
    pub shoot_template: crate::core::ShootTemplate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
}

/// What is known of a ManagedSeedSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedSetStatus {
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[schema(required)]
    pub replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub next_replica_number: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub current_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub updated_replicas: i32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_revision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub update_revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision_count: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_replica: Option<PendingReplica>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedSeedTemplate {
    pub metadata: ObjectMeta,
    pub spec: ManagedSeedSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct PendingReplica {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub reason: String,
    #[schema(required)]
    pub since: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdateStrategy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct UpdateStrategy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdateStrategy>,
}

impl_resource!(ManagedSeedSet, "seedmanagement.gardener.cloud", "v1alpha1", "ManagedSeedSet", "managedseedsets", true);
