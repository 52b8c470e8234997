// SPDX-License-Identifier: Apache-2.0
//! Types of kind `Worker` (`extensions.gardener.cloud/v1alpha1`).
//!
//! Source: pkg/apis/extensions/v1alpha1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use crate::encoding::is_zero;
use crate::impl_resource;

/// The worker pools of a Shoot, as an extension controller is to make them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Worker {
    pub metadata: ObjectMeta,
    #[schema(required)]
    pub spec: WorkerSpec,
    pub status: WorkerStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscalerOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_utilization_threshold: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_gpu_utilization_threshold: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unneeded_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_unready_time: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_node_provision_time: Option<Duration>,
}

/// A further volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct DataVolume {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[schema(required)]
    pub size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct InPlaceUpdatesWorkerStatus {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worker_pool_to_hash_map: BTreeMap<String, String>,
}

/// A number of like Machines, and how changes are rolled out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeployment {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub minimum: i32,
    #[schema(required)]
    pub maximum: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// A machine image and its versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineImage {
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub version: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTemplate {
    #[schema(required)]
    pub capacity: BTreeMap<String, Quantity>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub virtual_capacity: BTreeMap<String, Quantity>,
}

/// A volume of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    #[schema(required)]
    pub size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerPool {
    #[schema(required)]
    pub machine_type: String,
    #[schema(required)]
    pub maximum: i32,
    #[schema(required)]
    pub max_surge: IntOrString,
    #[schema(required)]
    pub max_unavailable: IntOrString,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<crate::kubernetes::core::Taint>,
    pub machine_image: MachineImage,
    #[schema(required)]
    pub minimum: i32,
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_agent_secret_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[schema(required)]
    pub user_data_secret_ref: crate::kubernetes::core::SecretKeySelector,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_volumes: Vec<DataVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_data_volume_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_controller_manager: Option<crate::core::MachineControllerManagerSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_config: Option<crate::core::KubeletConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_template: Option<NodeTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<String>,
}

/// What a Worker is to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerSpec {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub infrastructure_provider_status: Option<RawExtension>,
    #[schema(required)]
    pub region: String,
    #[schema(required)]
    pub secret_ref: crate::kubernetes::core::SecretReference,
    #[serde(skip_serializing_if = "is_zero")]
    pub ssh_public_key: ByteString,
    #[schema(required, merge_key = "name", patch_strategy = "merge")]
    pub pools: Vec<WorkerPool>,
}

/// What is known of a Worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub provider_status: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<crate::core::Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<crate::core::LastError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<crate::core::LastOperation>,
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(preserve_unknown)]
    pub state: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<crate::core::NamedResourceReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub machine_deployments: Vec<MachineDeployment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_deployments_last_update_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_updates: Option<InPlaceUpdatesWorkerStatus>,
}

impl_resource!(Worker, "extensions.gardener.cloud", "v1alpha1", "Worker", "workers", true);
