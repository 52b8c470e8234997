// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Cluster` (`terrarium.dev/v1alpha1`).

use api_derive::api_type;
use apimachinery::meta::*;

use crate::impl_resource;

/// A Kubernetes API that the landscape serves below `/clusters/NAME`.
///
/// A cluster exists exactly as long as its object exists in cluster `runtime`. Names are `garden`, `seed--NAME` and
/// `shoot--PROJECT--NAME`; `runtime` itself has no object.
#[api_type]
pub struct Cluster {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Version and networks of the cluster.
    #[schema(required)]
    pub spec: ClusterSpec,
}

/// Version, certificate authorities and networks of a cluster.
#[api_type]
pub struct ClusterSpec {
    /// Version that the cluster's API server reports, without `v`: `1.27.1`.
    #[schema(required)]
    pub kubernetes_version: String,
    /// Authorities, as PEM, whose client certificates the cluster's API server accepts; all clusters accept those of the
    /// landscape itself. Default: an authority that the landscape has created for the cluster.
    #[schema(rename = "clientCA")]
    pub client_ca: String,
    /// Network of the pods, in CIDR form. Default: that of Shoots, `100.96.0.0/11`.
    #[schema(rename = "podCIDR")]
    pub pod_cidr: String,
    /// Network of the Services, in CIDR form. Default: that of Shoots, `100.64.0.0/13`.
    #[schema(rename = "serviceCIDR")]
    pub service_cidr: String,
}

impl_resource!(Cluster, "terrarium.dev", "v1alpha1", "Cluster", "clusters", false);
