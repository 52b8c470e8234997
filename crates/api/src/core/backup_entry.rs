// SPDX-License-Identifier: Apache-2.0
//! Types of kind `BackupEntry` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// The place of one Shoot's backups within a BackupBucket.
#[api_type]
pub struct BackupEntry {
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// Desired state of the BackupEntry.
    pub spec: BackupEntrySpec,
    /// Observed state of the BackupEntry.
    pub status: BackupEntryStatus,
}

/// Specification of a BackupEntry.
#[api_type]
pub struct BackupEntrySpec {
    /// BackupBucket that holds the entry.
    #[schema(required)]
    pub bucket_name: String,
    /// Seed whose gardenlet manages the entry.
    pub seed_name: Option<String>,
    /// Self-hosted Shoot to which the entry belongs; excludes seedName. Cannot be changed. Served; not emulated.
    pub shoot_ref: Option<crate::kubernetes::core::ObjectReference>,
}

/// Status of a BackupEntry.
#[api_type]
pub struct BackupEntryStatus {
    /// The current operation, or the last one.
    pub last_operation: Option<LastOperation>,
    /// The last error.
    pub last_error: Option<LastError>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Seed that manages the entry at present; differs from the specification during a migration.
    pub seed_name: Option<String>,
    /// Start time of the migration to another Seed.
    pub migration_start_time: Option<Time>,
}

impl_resource!(BackupEntry, "core.gardener.cloud", "v1beta1", "BackupEntry", "backupentries", true);
