// SPDX-License-Identifier: Apache-2.0
//! Types of kind `BackupEntry` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// The place of one Shoot's backups within a BackupBucket.
#[api_type]
pub struct BackupEntry {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the BackupEntry.
    #[schema(required)]
    pub spec: BackupEntrySpec,
    /// Observed state of the BackupEntry.
    pub status: BackupEntryStatus,
}

/// Specification of a BackupEntry.
#[api_type]
pub struct BackupEntrySpec {
    /// Type of the resource; determines the responsible extension.
    #[schema(required)]
    pub r#type: String,
    /// Class of the extension: shoot, seed or garden.
    pub class: Option<String>,
    /// Settings in the format of the provider's extension.
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    /// Status that the extension reports for the bucket, in its own format.
    #[schema(preserve_unknown)]
    pub backup_bucket_provider_status: Option<RawExtension>,
    /// Region of the infrastructure.
    #[schema(required)]
    pub region: String,
    /// Bucket that holds the entry.
    #[schema(required)]
    pub bucket_name: String,
    /// Secret with the credentials for the bucket.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Status of a BackupEntry.
#[api_type]
pub struct BackupEntryStatus {
    /// Status that the extension reports for the object, in its own format.
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    /// Conditions of the object, one of each type.
    pub conditions: Vec<crate::core::Condition>,
    /// The last error.
    pub last_error: Option<crate::core::LastError>,
    /// The current operation, or the last one.
    pub last_operation: Option<crate::core::LastOperation>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// State to persist, in the extension's format.
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    /// Named references to objects that the state uses.
    pub resources: Vec<crate::core::NamedResourceReference>,
}

impl_resource!(BackupEntry, "extensions.gardener.cloud", "v1alpha1", "BackupEntry", "backupentries", false);
