// SPDX-License-Identifier: Apache-2.0
//! Types of kind `ViewerKubeconfigRequest` (`authentication.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/authentication/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A request for a kubeconfig with read-only access.
#[api_type]
pub struct ViewerKubeconfigRequest {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Parameters of the request.
    #[schema(required)]
    pub spec: ViewerKubeconfigRequestSpec,
    /// Response to the request; set by the server.
    #[schema(required)]
    pub status: ViewerKubeconfigRequestStatus,
}

/// Specification of a ViewerKubeconfigRequest.
#[api_type]
pub struct ViewerKubeconfigRequestSpec {
    /// Seconds for which the kubeconfig is valid; at least 10 minutes. Default: 1 hour.
    pub expiration_seconds: Option<i64>,
}

/// Status of a ViewerKubeconfigRequest.
#[api_type]
pub struct ViewerKubeconfigRequestStatus {
    /// The kubeconfig.
    #[schema(required)]
    pub kubeconfig: ByteString,
    /// Time at which the kubeconfig expires.
    #[schema(required)]
    pub expiration_timestamp: Time,
}

impl_resource!(
    ViewerKubeconfigRequest,
    "authentication.gardener.cloud",
    "v1alpha1",
    "ViewerKubeconfigRequest",
    "viewerkubeconfigrequests",
    true
);
