// SPDX-License-Identifier: Apache-2.0
//! Types of kind `BackupEntry` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// The place of one Shoot's backups within a BackupBucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupEntry {
    #[schema(required)]
    pub metadata: ObjectMeta,
    pub spec: BackupEntrySpec,
    pub status: BackupEntryStatus,
}

/// What a BackupEntry is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupEntrySpec {
    #[schema(required)]
    pub bucket_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
}

/// What is known of a BackupEntry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupEntryStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration_start_time: Option<Time>,
}

impl_resource!(BackupEntry, "core.gardener.cloud", "v1beta1", "BackupEntry", "backupentries", true);
