// SPDX-License-Identifier: Apache-2.0
//! Kind `Node` (`v1`).
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
pub struct Node {
    #[schema(protobuf = 1)]
    pub metadata: ObjectMeta,
    #[schema(protobuf = 2)]
    pub spec: NodeSpec,
    #[schema(protobuf = 3)]
    pub status: NodeStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct AttachedVolume {
    #[schema(required, protobuf = 1)]
    pub name: String,
    #[schema(required, protobuf = 2)]
    pub device_path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapNodeConfigSource {
    #[schema(required)]
    pub namespace: String,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    #[schema(required)]
    pub kubelet_config_key: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerImage {
    #[schema(list_type = "atomic", protobuf = 1)]
    pub names: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schema(protobuf = 2)]
    pub size_bytes: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonEndpoint {
    #[serde(rename = "Port")]
    #[schema(required, protobuf = 1)]
    pub port: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAddress {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub address: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeCondition {
    #[schema(required)]
    pub r#type: String,
    #[schema(required)]
    pub status: String,
    pub last_heartbeat_time: Time,
    pub last_transition_time: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeConfigSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapNodeConfigSource>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeDaemonEndpoints {
    #[schema(protobuf = 1)]
    pub kubelet_endpoint: DaemonEndpoint,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSpec {
    #[serde(rename = "podCIDR", skip_serializing_if = "String::is_empty")]
    pub pod_cidr: String,
    #[serde(rename = "podCIDRs", skip_serializing_if = "Vec::is_empty")]
    #[schema(patch_strategy = "merge", list_type = "set")]
    pub pod_cid_rs: Vec<String>,
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub unschedulable: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic")]
    pub taints: Vec<Taint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_source: Option<NodeConfigSource>,
    #[serde(rename = "externalID", skip_serializing_if = "String::is_empty")]
    pub external_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 1)]
    pub capacity: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(protobuf = 2)]
    pub allocatable: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(protobuf = 3)]
    pub phase: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 4)]
    pub conditions: Vec<NodeCondition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "type", patch_strategy = "merge", list_type = "map", list_map_key = "type", protobuf = 5)]
    pub addresses: Vec<NodeAddress>,
    #[schema(protobuf = 6)]
    pub daemon_endpoints: NodeDaemonEndpoints,
    #[schema(protobuf = 7)]
    pub node_info: NodeSystemInfo,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 8)]
    pub images: Vec<ContainerImage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 9)]
    pub volumes_in_use: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "atomic", protobuf = 10)]
    pub volumes_attached: Vec<AttachedVolume>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSystemInfo {
    #[serde(rename = "machineID")]
    #[schema(required, protobuf = 1)]
    pub machine_id: String,
    #[serde(rename = "systemUUID")]
    #[schema(required, protobuf = 2)]
    pub system_uuid: String,
    #[serde(rename = "bootID")]
    #[schema(required, protobuf = 3)]
    pub boot_id: String,
    #[schema(required, protobuf = 4)]
    pub kernel_version: String,
    #[schema(required, protobuf = 5)]
    pub os_image: String,
    #[schema(required, protobuf = 6)]
    pub container_runtime_version: String,
    #[schema(required, protobuf = 7)]
    pub kubelet_version: String,
    #[schema(required, protobuf = 8)]
    pub kube_proxy_version: String,
    #[schema(required, protobuf = 9)]
    pub operating_system: String,
    #[schema(required, protobuf = 10)]
    pub architecture: String,
}

impl_resource!(Node, "", "v1", "Node", "nodes", false);
