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
    /// Feature gates to enable or disable.
    pub feature_gates: BTreeMap<String, bool>,
    /// True if limits of CPU are enforced.
    #[schema(rename = "cpuCFSQuota")]
    pub cpu_cfs_quota: Option<bool>,
    /// Policy of assigning CPUs to containers: none or static. Default: none.
    pub cpu_manager_policy: Option<String>,
    /// Thresholds below which pods are evicted at once.
    pub eviction_hard: Option<KubeletConfigEviction>,
    /// Maximum grace period in seconds of a pod that is evicted by a soft threshold. Default: 90.
    pub eviction_max_pod_grace_period: Option<i32>,
    /// Minimum amounts that an eviction frees.
    pub eviction_minimum_reclaim: Option<KubeletConfigEvictionMinimumReclaim>,
    /// Duration after the end of a pressure until the node's condition is cleared. Default: 4m.
    pub eviction_pressure_transition_period: Option<Duration>,
    /// Thresholds below which pods are evicted after a grace period.
    pub eviction_soft: Option<KubeletConfigEviction>,
    /// Grace periods of the soft thresholds.
    pub eviction_soft_grace_period: Option<KubeletConfigEvictionSoftGracePeriod>,
    /// Maximum number of pods per node. Default: 110.
    pub max_pods: Option<i32>,
    /// Maximum number of processes per pod; at least 100.
    pub pod_pids_limit: Option<i64>,
    /// True if the kubelet refuses to start on nodes with swap. Default: true.
    pub fail_swap_on: Option<bool>,
    /// Resources reserved for the kubelet and other components of Kubernetes.
    pub kube_reserved: Option<KubeletConfigReserved>,
    /// Disk usage in percent at which the removal of unused images starts. Default: 50.
    #[schema(rename = "imageGCHighThresholdPercent")]
    pub image_gc_high_threshold_percent: Option<i32>,
    /// Disk usage in percent at which the removal of unused images stops. Default: 40.
    #[schema(rename = "imageGCLowThresholdPercent")]
    pub image_gc_low_threshold_percent: Option<i32>,
    /// True if images are pulled one after the other. Default: true.
    pub serialize_image_pulls: Option<bool>,
    /// Maximum number of image pulls per second. Default: 5.
    #[schema(rename = "registryPullQPS")]
    pub registry_pull_qps: Option<i32>,
    /// Maximum burst of image pulls, beyond the rate. Default: 10.
    pub registry_burst: Option<i32>,
    /// True if containers without a seccomp profile get the runtime's default profile.
    pub seccomp_default: Option<bool>,
    /// Size at which a container's log file is rotated. Default: 100Mi.
    pub container_log_max_size: Option<Quantity>,
    /// Maximum number of log files per container. Default: 5.
    pub container_log_max_files: Option<i32>,
    /// True if the kubelet refuses to start when kernel parameters differ from its defaults.
    pub protect_kernel_defaults: Option<bool>,
    /// Duration after which an idle stream (exec, port-forward) is closed. Default: 5m.
    pub streaming_connection_idle_timeout: Option<Duration>,
    /// Use of swap by containers.
    pub memory_swap: Option<MemorySwapConfiguration>,
    /// Maximum number of parallel image pulls; needs serializeImagePulls to be false.
    pub max_parallel_image_pulls: Option<i32>,
    /// Minimum age of an unused image before it is removed. Default: 2m.
    #[schema(rename = "imageMinimumGCAge")]
    pub image_minimum_gc_age: Option<Duration>,
    /// Age from which an unused image is removed whatever the disk usage. Default: never.
    #[schema(rename = "imageMaximumGCAge")]
    pub image_maximum_gc_age: Option<Duration>,
    /// Kills only the process that is out of memory, not all of its container. Default: that of the kubelet.
    #[schema(rename = "singleProcessOOMKill")]
    pub single_process_oom_kill: Option<bool>,
    /// Verification of credentials for images that are on the node already: NeverVerify, NeverVerifyPreloadedImages,
    /// NeverVerifyAllowlistedImages or AlwaysVerify. For Kubernetes 1.35 and later.
    pub image_pull_credentials_verification_policy: Option<String>,
    /// Images that are exempted from the verification, for policy NeverVerifyAllowlistedImages; `/*` at the end stands for any
    /// path.
    pub preloaded_images_verification_allowlist: Vec<String>,
    /// Resources reserved for the operating system.
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

/// Minimum amounts that an eviction frees.
#[api_type]
pub struct KubeletConfigEvictionMinimumReclaim {
    /// Memory, as a quantity.
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

/// Duration for which a soft threshold may be exceeded before pods are evicted.
#[api_type]
pub struct KubeletConfigEvictionSoftGracePeriod {
    /// Grace period of the threshold of free memory.
    pub memory_available: Option<Duration>,
    /// Grace period of the threshold of free space in the file system with images.
    #[schema(rename = "imageFSAvailable")]
    pub image_fs_available: Option<Duration>,
    /// Grace period of the threshold of free inodes in the file system with images.
    #[schema(rename = "imageFSInodesFree")]
    pub image_fs_inodes_free: Option<Duration>,
    /// Grace period of the threshold of free space in the root file system.
    #[schema(rename = "nodeFSAvailable")]
    pub node_fs_available: Option<Duration>,
    /// Grace period of the threshold of free inodes in the root file system.
    #[schema(rename = "nodeFSInodesFree")]
    pub node_fs_inodes_free: Option<Duration>,
}

/// Resources that pods cannot use.
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
