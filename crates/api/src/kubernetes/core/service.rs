// SPDX-License-Identifier: Apache-2.0
//! Kind `Service` (`v1`), the parts that are read.
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
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[schema(protobuf = 2)]
    pub spec: ServiceSpec,
    /// What is there.
    #[schema(protobuf = 3)]
    pub status: ServiceStatus,
}

/// A load balancer.
#[api_type]
pub struct LoadBalancerStatus {
    /// Addresses of the load balancer.
    #[schema(list_type = "atomic", protobuf = 1)]
    pub ingress: Vec<LoadBalancerIngress>,
}

/// A port of a Service.
#[api_type]
pub struct ServicePort {
    /// Name of the port.
    #[schema(protobuf = 1)]
    pub name: String,
    /// TCP, UDP or SCTP. Default: TCP.
    #[schema(protobuf = 2)]
    pub protocol: String,
    /// Protocol within it.
    #[schema(protobuf = 6)]
    pub app_protocol: Option<String>,
    /// Number of the port.
    #[schema(required, protobuf = 3)]
    pub port: i32,
    /// Number or name of the pods' port. Default: port.
    #[schema(protobuf = 4)]
    pub target_port: IntOrString,
    /// Port of the nodes.
    #[schema(protobuf = 5)]
    pub node_port: i32,
}

/// What a Service is to be.
#[api_type]
pub struct ServiceSpec {
    /// Ports of the Service.
    #[schema(
        merge_key = "port",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "port",
        list_map_key = "protocol",
        protobuf = 1
    )]
    pub ports: Vec<ServicePort>,
    /// Labels of the pods.
    #[schema(atomic, protobuf = 2)]
    pub selector: TextMap,
    /// Address within the cluster; None for a Service without one.
    #[schema(rename = "clusterIP", protobuf = 3)]
    pub cluster_ip: String,
    /// Addresses within the cluster, at most one of each family.
    #[schema(list_type = "atomic", protobuf = 18)]
    pub cluster_i_ps: Vec<String>,
    /// ClusterIP, NodePort, LoadBalancer or ExternalName. Default: ClusterIP.
    #[schema(protobuf = 4)]
    pub r#type: String,
}

/// What is known of a Service.
#[api_type]
pub struct ServiceStatus {
    /// The load balancer.
    #[schema(protobuf = 1)]
    pub load_balancer: LoadBalancerStatus,
}

impl_resource!(Service, "", "v1", "Service", "services", true);
