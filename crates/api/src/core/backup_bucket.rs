// SPDX-License-Identifier: Apache-2.0
//! Types of kind `BackupBucket` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::common::*;
use crate::impl_resource;

/// A bucket for backups at an infrastructure provider.
#[api_type]
pub struct BackupBucket {
    /// Metadata of the object.
    #[schema(required)]
    pub metadata: ObjectMeta,
    /// Desired state of the BackupBucket.
    #[schema(required)]
    pub spec: BackupBucketSpec,
    /// Observed state of the BackupBucket.
    #[schema(required)]
    pub status: BackupBucketStatus,
}

/// Provider and region of a bucket.
#[api_type]
pub struct BackupBucketProvider {
    /// Provider of the bucket.
    #[schema(required)]
    pub r#type: String,
    /// Region of the bucket.
    #[schema(required)]
    pub region: String,
}

/// Specification of a BackupBucket.
#[api_type]
pub struct BackupBucketSpec {
    /// Provider and region of the bucket.
    #[schema(required)]
    pub provider: BackupBucketProvider,
    /// Settings for the bucket, in the provider's format.
    pub provider_config: Option<RawExtension>,
    /// Seed whose gardenlet manages the bucket.
    pub seed_name: Option<String>,
    /// Credentials for the bucket.
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Self-hosted Shoot to which the bucket belongs; excludes seedName. Cannot be changed. Served; not emulated.
    pub shoot_ref: Option<crate::kubernetes::core::ObjectReference>,
    /// Secret with the credentials for the bucket.
    #[schema(required, deprecated)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// Status of a BackupBucket.
#[api_type]
pub struct BackupBucketStatus {
    /// Status that the provider's extension reports for the bucket, in its own format.
    pub provider_status: Option<RawExtension>,
    /// The current operation, or the last one.
    pub last_operation: Option<LastOperation>,
    /// The last error.
    pub last_error: Option<LastError>,
    /// Generation of the specification that the controller observed last.
    pub observed_generation: i64,
    /// Secret with credentials that the provider's extension created.
    pub generated_secret_ref: Option<crate::kubernetes::core::SecretReference>,
}

impl_resource!(BackupBucket, "core.gardener.cloud", "v1beta1", "BackupBucket", "backupbuckets", false);
