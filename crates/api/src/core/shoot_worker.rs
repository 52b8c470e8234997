// SPDX-License-Identifier: Apache-2.0
//! The infrastructure and the worker pools of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::Schema;
use apimachinery::meta::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscalerOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_utilization_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down_gpu_utilization_threshold: Option<f64>,
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

/// Type, image and architecture of the machines of a worker pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Machine {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ShootMachineImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineControllerManagerSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_drain_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_health_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_creation_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_conditions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
}

/// The infrastructure of a Shoot and its worker pools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Provider {
    #[schema(required)]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(merge_key = "name", patch_strategy = "merge")]
    pub workers: Vec<Worker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_settings: Option<WorkersSettings>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct SSHAccess {
    #[schema(required)]
    pub enabled: bool,
}

/// Name and version of a machine image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShootMachineImage {
    #[schema(required)]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
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

/// A worker pool of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct Worker {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cri: Option<CRI>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<WorkerKubernetes>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[schema(required)]
    pub name: String,
    #[schema(required)]
    pub machine: Machine,
    #[schema(required)]
    pub maximum: i32,
    #[schema(required)]
    pub minimum: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config: Option<RawExtension>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<crate::kubernetes::core::Taint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_volumes: Vec<DataVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet_data_volume_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_components: Option<WorkerSystemComponents>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_controller_manager: Option<MachineControllerManagerSettings>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<ClusterAutoscalerOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<WorkerControlPlane>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerControlPlane {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerKubernetes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkerSystemComponents {
    #[schema(required)]
    pub allow: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkersSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_access: Option<SSHAccess>,
}
