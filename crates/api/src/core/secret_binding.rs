// SPDX-License-Identifier: Apache-2.0
//! Types of kind `SecretBinding` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// Credentials in a Secret, and the Quotas that apply to their use.
#[api_type]
pub struct SecretBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Secret with the credentials. Cannot be changed.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Quotas that Shoots with these credentials count against.
    pub quotas: Vec<crate::kubernetes::core::ObjectReference>,
    /// Provider that the credentials are for.
    pub provider: Option<SecretBindingProvider>,
}

/// Provider that credentials are for.
#[api_type]
pub struct SecretBindingProvider {
    /// Types of providers, separated by commas.
    #[schema(required)]
    pub r#type: String,
}

impl_resource!(SecretBinding, "core.gardener.cloud", "v1beta1", "SecretBinding", "secretbindings", true);
