// SPDX-License-Identifier: Apache-2.0
//! Types of kind `WorkloadIdentity` (`security.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/security/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// An identity with which a workload obtains tokens for an infrastructure.
#[api_type]
pub struct WorkloadIdentity {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the WorkloadIdentity.
    #[schema(required)]
    pub spec: WorkloadIdentitySpec,
    /// Observed state of the WorkloadIdentity.
    #[schema(required)]
    pub status: WorkloadIdentityStatus,
}

/// System that a workload identity is for.
#[api_type]
pub struct TargetSystem {
    /// Type of the system. Cannot be changed.
    #[schema(required)]
    pub r#type: String,
    /// Settings for the system, in its extension's format.
    pub provider_config: Option<RawExtension>,
}

/// Specification of a WorkloadIdentity.
#[api_type]
pub struct WorkloadIdentitySpec {
    /// Audiences of the tokens.
    #[schema(required)]
    pub audiences: Vec<String>,
    /// System that trusts the tokens.
    #[schema(required)]
    pub target_system: TargetSystem,
}

/// Status of a WorkloadIdentity.
#[api_type]
pub struct WorkloadIdentityStatus {
    /// Subject of the tokens; set by the server.
    #[schema(required)]
    pub sub: String,
}

impl_resource!(WorkloadIdentity, "security.gardener.cloud", "v1alpha1", "WorkloadIdentity", "workloadidentities", true);
