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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Service {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: ServiceSpec,
    #[schema(protobuf = 3)]
    pub status: ServiceStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerStatus {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 1)]
    pub ingress: Vec<LoadBalancerIngress>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 1)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 2)]
    pub protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(protobuf = 6)]
    pub app_protocol: Option<String>,
    #[schema(required, protobuf = 3)]
    pub port: i32,
    #[schema(protobuf = 4)]
    pub target_port: IntOrString,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 5)]
    pub node_port: i32,
}

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
    pub ports: Vec<ServicePort>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(atomic, protobuf = 2)]
    pub selector: BTreeMap<String, String>,
    #[serde(rename = "clusterIP", skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub cluster_ip: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 18)]
    pub cluster_i_ps: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 4)]
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    #[schema(protobuf = 1)]
    pub load_balancer: LoadBalancerStatus,
}

impl_resource!(Service, "", "v1", "Service", "services", true);
