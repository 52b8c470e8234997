// SPDX-License-Identifier: Apache-2.0
//! Defaults of Shoots.

use api::core::*;
use apimachinery::meta::IntOrString;

use super::{HOUR, MINUTE, add_toleration, seconds};
use crate::profile::Profile;
use crate::window;

/// Fills the defaults of a Shoot.
///
/// `window_draw` is any random number: it chooses the maintenance time window of a Shoot without one, a full hour
/// that begins between 00:00 and 22:00 UTC inclusive.
pub fn shoot(shoot: &mut Shoot, window_draw: u64) {
    let in_garden = shoot.metadata.namespace == "garden";
    let spec = &mut shoot.spec;
    let has_workers = !spec.provider.workers.is_empty();

    kube_api_server(spec.kubernetes.kube_api_server.get_or_insert_default());
    spec.purpose.get_or_insert_with(|| "evaluation".to_owned());
    if in_garden {
        add_toleration(&mut spec.tolerations, "seed.gardener.cloud/protected");
    }
    maintenance(spec.maintenance.get_or_insert_default(), has_workers, window_draw);
    let networking = spec.networking.get_or_insert_default();
    if networking.ip_families.is_empty() {
        networking.ip_families.push("IPv4".to_owned());
    }
    if let Some(reference) = &mut spec.cloud_profile
        && reference.kind.is_empty()
    {
        "CloudProfile".clone_into(&mut reference.kind);
    }
    for each in &mut spec.provider.workers {
        worker(each);
    }
    if has_workers {
        with_workers(spec);
    }
    if let Some(autoscaler) = &mut spec.kubernetes.cluster_autoscaler {
        cluster_autoscaler(autoscaler);
    }
    if let Some(autoscaler) = &mut spec.kubernetes.vertical_pod_autoscaler {
        vertical_pod_autoscaler(autoscaler);
    }
    if let Some(ingress) = spec.addons.as_mut().and_then(|addons| addons.nginx_ingress.as_mut()) {
        ingress.external_traffic_policy.get_or_insert_with(|| "Cluster".to_owned());
    }
    spec.scheduler_name.get_or_insert_with(|| "default-scheduler".to_owned());
}

fn maintenance(maintenance: &mut Maintenance, has_workers: bool, window_draw: u64) {
    let update = maintenance
        .auto_update
        .get_or_insert(MaintenanceAutoUpdate { kubernetes_version: true, machine_image_version: None });
    if has_workers {
        update.machine_image_version.get_or_insert(true);
    }
    maintenance.time_window.get_or_insert_with(|| window::default_window(window_draw));
}

/// The defaults that make sense only for a Shoot with workers.
fn with_workers(spec: &mut ShootSpec) {
    let node_cidr_mask_size = default_node_cidr_mask_size(spec);
    let server = spec.kubernetes.kube_api_server.get_or_insert_default();
    server.default_not_ready_toleration_seconds.get_or_insert(300);
    server.default_unreachable_toleration_seconds.get_or_insert(300);

    let manager = spec.kubernetes.kube_controller_manager.get_or_insert_default();
    manager.node_cidr_mask_size = manager.node_cidr_mask_size.or(Some(node_cidr_mask_size));
    manager.node_monitor_grace_period = manager.node_monitor_grace_period.or(seconds(40));

    let scheduler = spec.kubernetes.kube_scheduler.get_or_insert_default();
    scheduler.profile.get_or_insert_with(|| "balanced".to_owned());

    let proxy = spec.kubernetes.kube_proxy.get_or_insert_default();
    proxy.mode.get_or_insert_with(|| "IPTables".to_owned());
    proxy.enabled.get_or_insert(true);

    let dashboard = spec.addons.get_or_insert_default().kubernetes_dashboard.get_or_insert_default();
    dashboard.authentication_mode.get_or_insert_with(|| "token".to_owned());

    let kubelet = spec.kubernetes.kubelet.get_or_insert_default();
    swap(kubelet);
    kubelet.image_minimum_gc_age = kubelet.image_minimum_gc_age.or(seconds(2 * MINUTE));
    kubelet.image_maximum_gc_age = kubelet.image_maximum_gc_age.or(seconds(0));
    kubelet.image_gc_high_threshold_percent.get_or_insert(50);
    kubelet.image_gc_low_threshold_percent.get_or_insert(40);
    let pulls_in_parallel = kubelet.max_parallel_image_pulls.is_some_and(|pulls| pulls >= 2);
    kubelet.serialize_image_pulls.get_or_insert(!pulls_in_parallel);

    let settings = spec.provider.workers_settings.get_or_insert_default();
    settings.ssh_access.get_or_insert(SSHAccess { enabled: true });

    let dns = spec.system_components.get_or_insert_default().core_dns.get_or_insert_default();
    let autoscaling = dns.autoscaling.get_or_insert_default();
    if autoscaling.mode != "horizontal" && autoscaling.mode != "cluster-proportional" {
        "horizontal".clone_into(&mut autoscaling.mode);
    }
}

/// Defaults of one worker pool, in upstream's order; the manual in-place strategy overwrites what the user gave.
fn worker(worker: &mut Worker) {
    worker.machine.architecture.get_or_insert_with(|| "amd64".to_owned());
    worker.cri.get_or_insert_with(|| CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() });
    if let Some(kubelet) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.kubelet.as_mut()) {
        swap(kubelet);
    }
    worker.max_surge.get_or_insert(IntOrString::Int(1));
    worker.max_unavailable.get_or_insert(IntOrString::Int(0));
    worker.system_components.get_or_insert(WorkerSystemComponents { allow: true });
    let strategy = worker.update_strategy.get_or_insert_with(|| "AutoRollingUpdate".to_owned());
    let (automatic, manual) = (strategy == "AutoInPlaceUpdate", strategy == "ManualInPlaceUpdate");
    if automatic || manual {
        worker.machine_controller_manager.get_or_insert_default().disable_health_timeout.get_or_insert(true);
    }
    if manual {
        worker.max_surge = Some(IntOrString::Int(0));
        worker.max_unavailable = Some(IntOrString::Int(1));
    }
}

fn swap(kubelet: &mut KubeletConfig) {
    let fails_on_swap = *kubelet.fail_swap_on.get_or_insert(true);
    if !fails_on_swap && kubelet.feature_gates.get("NodeSwap") == Some(&true) {
        let swap = kubelet.memory_swap.get_or_insert_default();
        swap.swap_behavior.get_or_insert_with(|| "LimitedSwap".to_owned());
    }
}

fn kube_api_server(server: &mut KubeAPIServerConfig) {
    let requests = server.requests.get_or_insert_default();
    requests.max_non_mutating_inflight.get_or_insert(400);
    requests.max_mutating_inflight.get_or_insert(200);
    server.enable_anonymous_authentication.get_or_insert(false);
    server.event_ttl = server.event_ttl.or(seconds(HOUR));
    server.logging.get_or_insert_default().verbosity.get_or_insert(2);
}

fn cluster_autoscaler(autoscaler: &mut ClusterAutoscaler) {
    autoscaler.scale_down_delay_after_add = autoscaler.scale_down_delay_after_add.or(seconds(HOUR));
    autoscaler.scale_down_delay_after_delete = autoscaler.scale_down_delay_after_delete.or(seconds(0));
    autoscaler.scale_down_delay_after_failure = autoscaler.scale_down_delay_after_failure.or(seconds(3 * MINUTE));
    autoscaler.scale_down_unneeded_time = autoscaler.scale_down_unneeded_time.or(seconds(30 * MINUTE));
    autoscaler.scale_down_utilization_threshold.get_or_insert(0.5);
    autoscaler.scan_interval = autoscaler.scan_interval.or(seconds(10));
    autoscaler.expander.get_or_insert_with(|| "least-waste".to_owned());
    autoscaler.max_node_provision_time = autoscaler.max_node_provision_time.or(seconds(20 * MINUTE));
    autoscaler.max_graceful_termination_seconds.get_or_insert(600);
    autoscaler.ignore_daemonsets_utilization.get_or_insert(false);
    autoscaler.verbosity.get_or_insert(2);
    autoscaler.new_pod_scale_up_delay = autoscaler.new_pod_scale_up_delay.or(seconds(0));
    autoscaler.max_empty_bulk_delete.get_or_insert(10);
}

fn vertical_pod_autoscaler(autoscaler: &mut VerticalPodAutoscaler) {
    autoscaler.evict_after_oom_threshold = autoscaler.evict_after_oom_threshold.or(seconds(10 * MINUTE));
    autoscaler.eviction_rate_burst.get_or_insert(1);
    autoscaler.eviction_rate_limit.get_or_insert(-1.0);
    autoscaler.eviction_tolerance.get_or_insert(0.5);
    autoscaler.recommendation_margin_fraction.get_or_insert(0.15);
    autoscaler.updater_interval = autoscaler.updater_interval.or(seconds(MINUTE));
    autoscaler.recommender_interval = autoscaler.recommender_interval.or(seconds(MINUTE));
    autoscaler.target_cpu_percentile.get_or_insert(0.9);
    autoscaler.recommendation_lower_bound_cpu_percentile.get_or_insert(0.5);
    autoscaler.recommendation_upper_bound_cpu_percentile.get_or_insert(0.95);
    autoscaler.cpu_histogram_decay_half_life = autoscaler.cpu_histogram_decay_half_life.or(seconds(24 * HOUR));
    autoscaler.target_memory_percentile.get_or_insert(0.9);
    autoscaler.recommendation_lower_bound_memory_percentile.get_or_insert(0.5);
    autoscaler.recommendation_upper_bound_memory_percentile.get_or_insert(0.95);
    autoscaler.memory_histogram_decay_half_life = autoscaler.memory_histogram_decay_half_life.or(seconds(24 * HOUR));
    autoscaler.memory_aggregation_interval = autoscaler.memory_aggregation_interval.or(seconds(24 * HOUR));
    autoscaler.memory_aggregation_interval_count.get_or_insert(8);
}

/// The size of a node's pod network that a Shoot gets by default: twice the addresses of the largest `maxPods`.
///
/// 64 for a Shoot with IPv6 only. A pool's `maxPods` counts where it is above the Shoot's (110 when unset).
pub fn default_node_cidr_mask_size(spec: &ShootSpec) -> i32 {
    if spec.networking.as_ref().is_some_and(|networking| networking.ip_families == ["IPv6"]) {
        return 64;
    }
    let shoot_wide = spec.kubernetes.kubelet.as_ref().and_then(|kubelet| kubelet.max_pods).unwrap_or(110);
    let most = spec.provider.workers.iter().filter_map(pool_max_pods).fold(shoot_wide, i32::max);
    let addresses = u64::try_from(most).unwrap_or(0).saturating_mul(2).max(1);
    let bits = addresses.next_power_of_two().trailing_zeros();
    32 - i32::try_from(bits).unwrap_or(0)
}

fn pool_max_pods(worker: &Worker) -> Option<i32> {
    worker.kubernetes.as_ref()?.kubelet.as_ref()?.max_pods
}

/// Keeps the two ways to name a CloudProfile equal.
///
/// `cloudProfile` counts; `cloudProfileName` fills it when it is absent, mirrors it for kind `CloudProfile` and is
/// empty for others. A Shoot in deletion is left alone. Source: plugin/pkg/utils/cloudprofile.go @ v1.120.0.
pub fn sync_cloud_profile_reference(shoot: &mut Shoot) {
    if shoot.metadata.is_being_deleted() {
        return;
    }
    let spec = &mut shoot.spec;
    match (&mut spec.cloud_profile, &mut spec.cloud_profile_name) {
        (Some(reference), name) => {
            *name = (reference.kind == "CloudProfile").then(|| reference.name.clone());
        }
        (reference @ None, Some(name)) => {
            *reference = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: name.clone() });
        }
        (None, None) => {}
    }
}

/// Brings a Shoot into the form in which it is stored: labels that name its seeds, and no trace of fields that have
/// no effect any more.
pub fn canonicalize_shoot(shoot: &mut Shoot) {
    const SEED_LABEL: &str = "name.seed.gardener.cloud/";
    shoot.metadata.labels.retain(|key, _| !key.starts_with(SEED_LABEL));
    for seed in [&shoot.spec.seed_name, &shoot.status.seed_name].into_iter().flatten() {
        shoot.metadata.labels.insert(format!("{SEED_LABEL}{seed}"), "true".to_owned());
    }
    shoot.spec.kubernetes.enable_static_token_kubeconfig = None;
    if let Some(rotation) = shoot.status.credentials.as_mut().and_then(|credentials| credentials.rotation.as_mut()) {
        rotation.kubeconfig = None;
    }
}

/// What the machine-controller-manager of a control plane uses for fields that a pool leaves out.
pub fn machine_controller_manager(profile: Profile) -> MachineControllerManagerSettings {
    MachineControllerManagerSettings {
        machine_drain_timeout: seconds(2 * HOUR),
        machine_health_timeout: seconds(10 * MINUTE),
        machine_creation_timeout: seconds(profile.machine_creation_timeout_minutes() * MINUTE),
        max_evict_retries: Some(profile.max_evict_retries()),
        node_conditions: profile.node_conditions().iter().map(|&condition| condition.to_owned()).collect(),
        in_place_update_timeout: seconds(20 * MINUTE),
        disable_health_timeout: Some(false),
    }
}
