// SPDX-License-Identifier: Apache-2.0
//! Types of kind `BackupBucket` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::common::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A bucket for backups at an infrastructure provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupBucket {
    #[schema(required)]
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: BackupBucketSpec,
    #[schema(required)]
    pub status: BackupBucketStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupBucketProvider {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub region: String,
}

/// What a BackupBucket is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupBucketSpec {
    #[schema(required)]
    pub provider: BackupBucketProvider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<crate::kubernetes::core::ObjectReference>,
    #[schema(required, deprecated)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
}

/// What is known of a BackupBucket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct BackupBucketStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_status: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_secret_ref: Option<crate::kubernetes::core::SecretReference>,
}

impl_resource!(BackupBucket, "core.gardener.cloud", "v1beta1", "BackupBucket", "backupbuckets", false);
