// SPDX-License-Identifier: Apache-2.0
//! Types of kind `CredentialsBinding` (`security.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/security/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Credentials in a Secret or WorkloadIdentity, and the Quotas that apply to their use.
#[api_type]
pub struct CredentialsBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Provider that the credentials are for. Cannot be changed.
    #[schema(required)]
    pub provider: CredentialsBindingProvider,
    /// The credentials: a Secret or a WorkloadIdentity. Cannot be changed.
    #[schema(required)]
    pub credentials_ref: crate::kubernetes::core::ObjectReference,
    /// Quotas that Shoots with these credentials count against.
    pub quotas: Vec<crate::kubernetes::core::ObjectReference>,
}

/// Provider that credentials are for.
#[api_type]
pub struct CredentialsBindingProvider {
    /// Type of the provider.
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
