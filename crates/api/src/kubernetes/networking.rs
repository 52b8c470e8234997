// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `networking` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/networking/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;

/// A network, but for parts of it.
#[api_type]
pub struct IPBlock {
    /// The network, in CIDR form.
    #[schema(required)]
    pub cidr: String,
    /// Parts that do not belong to it.
    #[schema(list_type = "atomic")]
    pub except: Vec<String>,
}
