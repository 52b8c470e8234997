// SPDX-License-Identifier: Apache-2.0
//! Settings of the kubelets of a Shoot.
//!
//! Source: pkg/apis/core/v1beta1 @ v1.120.0; names, types and order of the fields are the public API's.

use std::collections::BTreeMap;

use api_derive::api_type;
use apimachinery::meta::*;

/// Settings of kubelets.
#[api_type]
pub struct KubeletConfig {
    /// Feature gates to switch on or off.
    pub feature_gates: BTreeMap<String, bool>,
    /// Whether limits of CPU are enforced.
    #[schema(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    /// How CPUs are given to containers: none or static. Default: none.
    pub cpu_manager_policy: Option<String>,
    /// Thresholds below which pods are evicted at once.
    pub eviction_hard: Option<KubeletConfigEviction>,
    /// Most seconds that an evicted pod may take when a soft threshold was passed. Default: 90.
    pub eviction_max_pod_grace_period: Option<i32>,
    /// Least amounts that are freed by an eviction.
    pub eviction_minimum_reclaim: Option<KubeletConfigEvictionMinimumReclaim>,
    /// How long a pressure must be over before the node's condition says so. Default: 4m.
    pub eviction_pressure_transition_period: Option<Duration>,
    /// Thresholds below which pods are evicted after a grace period.
    pub eviction_soft: Option<KubeletConfigEviction>,
    /// Grace periods of the soft thresholds.
    pub eviction_soft_grace_period: Option<KubeletConfigEvictionSoftGracePeriod>,
    /// Most pods per node. Default: 110.
    pub max_pods: Option<i32>,
    /// Most processes per pod; at least 100.
    pub pod_pids_limit: Option<i64>,
    /// Whether the kubelet refuses to start on nodes with swap. Default: true.
    pub fail_swap_on: Option<bool>,
    /// Resources set aside for the kubelet and its like.
    pub kube_reserved: Option<KubeletConfigReserved>,
    /// Share of the disk in use, in percent, from which unused images are removed. Default: 50.
    #[schema(rename = "imageGCHighThresholdPercent")]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// Share of the disk in use, in percent, down to which unused images are removed. Default: 40.
    #[schema(rename = "imageGCLowThresholdPercent")]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// Whether images are pulled one after the other. Default: true.
    pub serialize_image_pulls: Option<bool>,
    /// Most pulls of images per second. Default: 5.
    #[schema(rename = "registryPullQPS")]
    pub registry_pull_qps: Option<i32>,
    /// Most pulls of images at once, beyond the rate. Default: 10.
    pub registry_burst: Option<i32>,
    /// Whether containers without a seccomp profile get the runtime's.
    pub seccomp_default: Option<bool>,
    /// Size at which a container's log file is rotated. Default: 100Mi.
    pub container_log_max_size: Option<Quantity>,
    /// How many log files are kept per container. Default: 5.
    pub container_log_max_files: Option<i32>,
    /// Whether the kubelet refuses to start when kernel parameters differ from what it expects.
    pub protect_kernel_defaults: Option<bool>,
    /// How long a silent stream (exec, port-forward) is kept. Default: 5m.
    pub streaming_connection_idle_timeout: Option<Duration>,
    /// How containers may use swap.
    pub memory_swap: Option<MemorySwapConfiguration>,
    /// Most images that are pulled at once; needs serializeImagePulls to be false.
    pub max_parallel_image_pulls: Option<i32>,
    /// How old an unused image must be to be removed. Default: 2m.
    #[schema(rename = "imageMinimumGCAge")]
    pub image_minimum_gc_age: Option<Duration>,
    /// Age from which an unused image is removed whatever the disk says. Default: never.
    #[schema(rename = "imageMaximumGCAge")]
    pub image_maximum_gc_age: Option<Duration>,
    /// Kills processes that are out of memory one by one, not all of a container. Default: that of the kubelet.
    #[schema(rename = "singleProcessOOMKill")]
    pub single_process_oom_kill: Option<bool>,
    /// Verification of credentials for images that are on the node already: NeverVerify, NeverVerifyPreloadedImages,
    /// NeverVerifyAllowlistedImages or AlwaysVerify. For Kubernetes 1.35 and later.
    pub image_pull_credentials_verification_policy: Option<String>,
    /// Images that are exempted from the verification, for policy NeverVerifyAllowlistedImages; `/*` at the end stands for any
    /// path.
    pub preloaded_images_verification_allowlist: Vec<String>,
    /// Resources set aside for the operating system.
    #[schema(deprecated)]
    pub system_reserved: Option<KubeletConfigReserved>,
}

/// Thresholds of eviction, as quantities or percentages.
#[api_type]
pub struct KubeletConfigEviction {
    /// Free memory.
    pub memory_available: Option<String>,
    /// Free space of the file system with images.
    #[schema(rename = "imageFSAvailable")]
    pub image_fs_available: Option<String>,
    /// Free inodes of the file system with images.
    #[schema(rename = "imageFSInodesFree")]
    pub image_fs_inodes_free: Option<String>,
    /// Free space of the root file system.
    #[schema(rename = "nodeFSAvailable")]
    pub node_fs_available: Option<String>,
    /// Free inodes of the root file system.
    #[schema(rename = "nodeFSInodesFree")]
    pub node_fs_inodes_free: Option<String>,
}

/// Amounts that an eviction frees at least.
#[api_type]
pub struct KubeletConfigEvictionMinimumReclaim {
    /// `memory.available`: a quantity.
    pub memory_available: Option<Quantity>,
    /// Space of the file system with images.
    #[schema(rename = "imageFSAvailable")]
    pub image_fs_available: Option<Quantity>,
    /// Inodes of the file system with images.
    #[schema(rename = "imageFSInodesFree")]
    pub image_fs_inodes_free: Option<Quantity>,
    /// Space of the root file system.
    #[schema(rename = "nodeFSAvailable")]
    pub node_fs_available: Option<Quantity>,
    /// Inodes of the root file system.
    #[schema(rename = "nodeFSInodesFree")]
    pub node_fs_inodes_free: Option<Quantity>,
}

/// How long a soft threshold may be passed before pods are evicted.
#[api_type]
pub struct KubeletConfigEvictionSoftGracePeriod {
    /// For free memory.
    pub memory_available: Option<Duration>,
    /// For free space of the file system with images.
    #[schema(rename = "imageFSAvailable")]
    pub image_fs_available: Option<Duration>,
    /// For free inodes of the file system with images.
    #[schema(rename = "imageFSInodesFree")]
    pub image_fs_inodes_free: Option<Duration>,
    /// For free space of the root file system.
    #[schema(rename = "nodeFSAvailable")]
    pub node_fs_available: Option<Duration>,
    /// For free inodes of the root file system.
    #[schema(rename = "nodeFSInodesFree")]
    pub node_fs_inodes_free: Option<Duration>,
}

/// Resources that pods do not get.
#[api_type]
pub struct KubeletConfigReserved {
    /// CPU in cores.
    pub cpu: Option<Quantity>,
    /// Memory in bytes.
    pub memory: Option<Quantity>,
    /// Local disk.
    pub ephemeral_storage: Option<Quantity>,
    /// Number of processes.
    pub pid: Option<Quantity>,
}

/// Use of swap.
#[api_type]
pub struct MemorySwapConfiguration {
    /// NoSwap, LimitedSwap or UnlimitedSwap.
    pub swap_behavior: Option<String>,
}
