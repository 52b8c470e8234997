// SPDX-License-Identifier: Apache-2.0
//! Types of kind `CredentialsBinding` (`security.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/security/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// Credentials in a Secret or WorkloadIdentity, and the Quotas that apply to their use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialsBinding {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub provider: CredentialsBindingProvider,
    #[schema(required)]
    pub credentials_ref: crate::kubernetes::core::ObjectReference,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<crate::kubernetes::core::ObjectReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialsBindingProvider {
    #[schema(required)]
    pub r#type: String,
}

impl_resource!(
    CredentialsBinding,
    "security.gardener.cloud",
    "v1alpha1",
    "CredentialsBinding",
    "credentialsbindings",
    true
);
