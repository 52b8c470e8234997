// SPDX-License-Identifier: Apache-2.0
//! Kind `Service` (`v1`), the parts that are read.
//!
//! Source: k8s.io/api/core/v1 (1.32); names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::encoding::is_zero;
use crate::impl_resource;

/// A name and address for a set of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerStatus {
    /// Addresses of the load balancer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 1)]
    pub ingress: Vec<LoadBalancerIngress>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    /// Name of the port.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub name: String,
    /// TCP, UDP or SCTP. Default: TCP.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub protocol: String,
    /// Protocol within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub app_protocol: Option<String>,
    /// Number of the port.
    #[schema(required, protobuf = 3)]
    pub port: i32,
    /// Number or name of the pods' port. Default: port.
    #[schema(protobuf = 4)]
    pub target_port: IntOrString,
    /// Port of the nodes.
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub node_port: i32,
}

/// What a Service is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(
        merge_key = "port",
        patch_strategy = "merge",
        list_type = "map",
        list_map_key = "port",
        list_map_key = "protocol",
        protobuf = 1
    )]
    /// Ports of the Service.
    pub ports: Vec<ServicePort>,
    /// Labels of the pods.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(atomic, protobuf = 2)]
    pub selector: BTreeMap<String, String>,
    /// Address within the cluster; None for a Service without one.
    #[serde(rename = "clusterIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub cluster_ip: String,
    /// Addresses within the cluster, at most one of each family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 18)]
    pub cluster_i_ps: Vec<String>,
    /// ClusterIP, NodePort, LoadBalancer or ExternalName. Default: ClusterIP.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub r#type: String,
}

/// What is known of a Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The load balancer.
    #[schema(protobuf = 1)]
    pub load_balancer: LoadBalancerStatus,
}

impl_resource!(Service, "", "v1", "Service", "services", true);
