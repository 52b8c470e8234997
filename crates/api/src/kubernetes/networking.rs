// SPDX-License-Identifier: Apache-2.0
//! Parts of Kubernetes' `networking` group that Gardener's kinds embed.
//!
//! Source: k8s.io/api/networking/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;

/// A network, with exceptions.
#[api_type]
pub struct IPBlock {
    /// The network, in CIDR form.
    #[schema(required)]
    pub cidr: String,
    /// Parts of the network that are excluded.
    #[schema(list_type = "atomic")]
    pub except: Vec<String>,
}
