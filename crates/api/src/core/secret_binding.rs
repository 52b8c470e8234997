// SPDX-License-Identifier: Apache-2.0
//! Types of kind `SecretBinding` (`core.gardener.cloud/v1beta1`).
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::impl_resource;

/// Credentials in a Secret, and the Quotas that apply to their use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretBinding {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Secret with the credentials. Cannot be changed.
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    /// Quotas that Shoots with these credentials count against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<crate::kubernetes::core::ObjectReference>,
    /// Provider that the credentials are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<SecretBindingProvider>,
}

/// Provider that credentials are for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretBindingProvider {
    /// Types of providers, separated by commas.
    #[schema(required)]
    pub r#type: String,
}

impl_resource!(SecretBinding, "core.gardener.cloud", "v1beta1", "SecretBinding", "secretbindings", true);
