// SPDX-License-Identifier: Apache-2.0
//! Kind `Service` (`v1`), as far as it is read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use api_derive::api_type;
use apimachinery::meta::*;

use super::*;
use crate::impl_resource;

/// A name and address for a set of pods.
#[api_type]
pub struct Service {
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Desired state of the Service.
    pub spec: ServiceSpec,
    /// Observed state of the Service.
    pub status: ServiceStatus,
}

/// A load balancer.
#[api_type]
pub struct LoadBalancerStatus {
    /// Addresses of the load balancer.
    #[schema(list_type = "atomic")]
    pub ingress: Vec<LoadBalancerIngress>,
}

/// A port of a Service.
#[api_type]
pub struct ServicePort {
    /// Name of the port.
    pub name: String,
    /// TCP, UDP or SCTP. Default: TCP.
    pub protocol: String,
    /// Application protocol of the port.
    pub app_protocol: Option<String>,
    /// Number of the port.
    #[schema(required)]
    pub port: i32,
    /// Number or name of the pods' port. Default: port.
    pub target_port: IntOrString,
    /// Port of the nodes.
    pub node_port: i32,
}

/// Specification of a Service.
#[api_type]
pub struct ServiceSpec {
    /// Ports of the Service.
    #[schema(
        merge_key = "port",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "port",
        list_map_key = "protocol"
    )]
    pub ports: Vec<ServicePort>,
    /// Labels of the pods.
    #[schema(atomic)]
    pub selector: TextMap,
    /// Address within the cluster; `None` for a headless Service.
    #[schema(rename = "clusterIP")]
    pub cluster_ip: String,
    /// Addresses within the cluster, at most one of each family.
    #[schema(list_type = "atomic")]
    pub cluster_i_ps: Vec<String>,
    /// ClusterIP, NodePort, LoadBalancer or ExternalName. Default: ClusterIP.
    pub r#type: String,
}

/// Status of a Service.
#[api_type]
pub struct ServiceStatus {
    /// The load balancer.
    pub load_balancer: LoadBalancerStatus,
}

impl_resource!(Service, "", "v1", "Service", "services", true);
