// SPDX-License-Identifier: Apache-2.0
//! Defaults of Shoots.

use api::constants::{annotation, label, taint, update_strategy};
use api::core::*;
use api::kubernetes::autoscaling::CrossVersionObjectReference;
use apimachinery::meta::IntOrString;

use super::{HOUR, MINUTE, add_toleration, fill};
use crate::cloud_profile::counts_by_name;
use crate::release::{Release, Releases};
use crate::shoot_facts::has_dns_secret_names;
use crate::skew::GardenerVersion;
use crate::versions::Version;
use crate::window;

/// Releases in which `kubeAPIServer.enableAnonymousAuthentication` is `false` by default.
const ANONYMOUS_AUTHENTICATION: Releases = Releases::until(121);

/// Releases with defaults for `maxScaleDownParallelism` and `maxDrainParallelism`, by which cluster-autoscaler
/// removes nodes in parallel; before, `maxEmptyBulkDelete` has a default.
const SCALE_DOWN_PARALLELISM: Releases = Releases::since(121);

/// Releases in which pools with in-place updates have defaults of their own for `maxSurge` and `maxUnavailable`: 0
/// and 1 for `AutoInPlaceUpdate`, none for `ManualInPlaceUpdate`.
const IN_PLACE_COUNTS: Releases = Releases::since(125);

/// Releases with defaults for the back-off of cluster-autoscaler from pools whose nodes failed to start.
const AUTOSCALER_BACK_OFF: Releases = Releases::since(132);

/// Releases in which `verticalPodAutoscaler.recommenderUpdateWorkerCount` is 10 by default.
const RECOMMENDER_WORKERS: Releases = Releases::since(135);

/// Releases that write the provider that encrypts etcd into every Shoot.
const ENCRYPTION_PROVIDER: Releases = Releases::since(136);

/// Releases that add addons to every Shoot with workers.
const ADDONS_ARE_MADE_UP: Releases = Releases::until(136);

/// Releases in which `kubeControllerManager.nodeCIDRMaskSizeIPv6` of Shoots with two IP families is 64 by default.
const NODE_CIDR_MASK_SIZE_IPV6: Releases = Releases::since(138);

/// Releases in which `clusterAutoscaler.emitPerNodeGroupMetrics` is `false` by default.
const NODE_GROUP_METRICS: Releases = Releases::since(141);

/// Releases in which `clusterAutoscaler.maxBinpackingTime` is five minutes by default.
const BINPACKING_TIME: Releases = Releases::since(142);

/// Fills the defaults of a Shoot, those of a release of gardener-apiserver.
///
/// `window_draw` is any random number: it chooses the maintenance time window of a Shoot without one, a full hour
/// that begins between 00:00 and 22:00 UTC inclusive.
pub fn shoot(shoot: &mut Shoot, window_draw: u64, release: Release) {
    let in_garden = shoot.metadata.namespace == "garden";
    let spec = &mut shoot.spec;
    let has_workers = !spec.provider.workers.is_empty();

    kube_api_server(spec.kubernetes.kube_api_server.get_or_insert_default(), release);
    spec.purpose.get_or_insert_with(|| "evaluation".to_owned());
    if in_garden {
        add_toleration(&mut spec.tolerations, taint::SEED_PROTECTED);
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
        worker(each, release);
    }
    if has_workers {
        with_workers(spec, release);
    }
    if let Some(autoscaler) = &mut spec.kubernetes.cluster_autoscaler {
        cluster_autoscaler(autoscaler, release);
    }
    if let Some(autoscaler) = &mut spec.kubernetes.vertical_pod_autoscaler {
        vertical_pod_autoscaler(autoscaler, release);
    }
    if let Some(ingress) = spec.addons.as_mut().and_then(|addons| addons.nginx_ingress.as_mut()) {
        ingress.external_traffic_policy.get_or_insert_with(|| "Cluster".to_owned());
    }
    spec.scheduler_name.get_or_insert_with(|| "default-scheduler".to_owned());
}

/// Default rotation period of credentials, in seconds.
const AUTO_ROTATION: i64 = 168 * HOUR;

/// Rotation period of the key that encrypts etcd in new Shoots, in seconds.
const ETCD_ENCRYPTION_KEY_ROTATION: i64 = 672 * HOUR;

/// Releases in which new Shoots have a rotation period for the key that encrypts etcd.
const ETCD_ENCRYPTION_KEY_IS_ROTATED: Releases = Releases::since(141);

/// Fills defaults of new Shoots by the version of the gardener-apiserver that creates them, and records that version.
///
/// | since | default |
/// | --- | --- |
/// | 1.141 | `spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod: 672h` |
///
/// Source: plugin/pkg/shoot/mutator @ v1.141.0.
pub fn new_shoot(shoot: &mut Shoot, version: &GardenerVersion) {
    let annotations = &mut shoot.metadata.annotations;
    annotations.insert(annotation::CREATED_WITH_GARDENER_VERSION.to_owned(), format!("v{version}"));
    if ETCD_ENCRYPTION_KEY_IS_ROTATED.contain(version.served_release()) {
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        let credentials = maintenance.auto_rotation.get_or_insert_default().credentials.get_or_insert_default();
        let key = credentials.etcd_encryption_key.get_or_insert_default();
        fill(&mut key.rotation_period, ETCD_ENCRYPTION_KEY_ROTATION);
    }
}

/// Keeps the version that [`new_shoot`] has recorded, whatever value a client sends.
pub fn keep_version_of_creation(shoot: &mut Shoot, old: &Shoot) {
    let key = annotation::CREATED_WITH_GARDENER_VERSION;
    match old.metadata.annotations.get(key) {
        Some(version) => drop(shoot.metadata.annotations.insert(key.to_owned(), version.clone())),
        None => drop(shoot.metadata.annotations.remove(key)),
    }
}

fn maintenance(maintenance: &mut Maintenance, has_workers: bool, window_draw: u64) {
    let update = maintenance
        .auto_update
        .get_or_insert(MaintenanceAutoUpdate { kubernetes_version: true, machine_image_version: None });
    if has_workers {
        update.machine_image_version.get_or_insert(true);
    }
    maintenance.time_window.get_or_insert_with(|| window::default_window(window_draw));
    let rotated = maintenance.auto_rotation.as_mut().and_then(|rotation| rotation.credentials.as_mut());
    if let Some(credentials) = rotated {
        let configs =
            [&mut credentials.ssh_keypair, &mut credentials.observability, &mut credentials.etcd_encryption_key];
        for config in configs.into_iter().flatten() {
            fill(&mut config.rotation_period, AUTO_ROTATION);
        }
    }
}

/// Fills defaults of Shoots with workers.
fn with_workers(spec: &mut ShootSpec, release: Release) {
    let families = spec.networking.as_ref().map(|networking| networking.ip_families.as_slice()).unwrap_or_default();
    let (is_ipv6, is_dual_stack) = (families == ["IPv6"], families.len() == 2);
    let node_cidr_mask_size = default_node_cidr_mask_size(spec);
    let server = spec.kubernetes.kube_api_server.get_or_insert_default();
    server.default_not_ready_toleration_seconds.get_or_insert(300);
    server.default_unreachable_toleration_seconds.get_or_insert(300);

    let manager = spec.kubernetes.kube_controller_manager.get_or_insert_default();
    if is_dual_stack && NODE_CIDR_MASK_SIZE_IPV6.contain(release) {
        manager.node_cidr_mask_size_ipv6.get_or_insert(64);
    }
    if !is_ipv6 || manager.node_cidr_mask_size_ipv6.is_none() {
        manager.node_cidr_mask_size.get_or_insert(node_cidr_mask_size);
    }
    fill(&mut manager.node_monitor_grace_period, 40);

    let scheduler = spec.kubernetes.kube_scheduler.get_or_insert_default();
    scheduler.profile.get_or_insert_with(|| "balanced".to_owned());

    let proxy = spec.kubernetes.kube_proxy.get_or_insert_default();
    proxy.mode.get_or_insert_with(|| "IPTables".to_owned());
    proxy.enabled.get_or_insert(true);

    if ADDONS_ARE_MADE_UP.contain(release) {
        spec.addons.get_or_insert_default().kubernetes_dashboard.get_or_insert_default();
    }
    let dashboard = spec.addons.as_mut().and_then(|addons| addons.kubernetes_dashboard.as_mut());
    if let Some(dashboard) = dashboard.filter(|dashboard| dashboard.enabled || ADDONS_ARE_MADE_UP.contain(release)) {
        dashboard.authentication_mode.get_or_insert_with(|| "token".to_owned());
    }

    let kubelet = spec.kubernetes.kubelet.get_or_insert_default();
    swap(kubelet);
    fill(&mut kubelet.image_minimum_gc_age, 2 * MINUTE);
    fill(&mut kubelet.image_maximum_gc_age, 0);
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

/// Releases in which pools have CPU architecture amd64 by default; later ones fill it in by the machine type, in
/// admission.
const HAS_DEFAULT_ARCHITECTURE: Releases = Releases::until(149);

/// Fills defaults of one worker pool. Before 1.125 the manual in-place strategy overwrites given numbers.
fn worker(worker: &mut Worker, release: Release) {
    if HAS_DEFAULT_ARCHITECTURE.contain(release) {
        worker.machine.architecture.get_or_insert_with(|| "amd64".to_owned());
    }
    worker.cri.get_or_insert_with(|| CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() });
    if let Some(kubelet) = worker.kubernetes.as_mut().and_then(|kubernetes| kubernetes.kubelet.as_mut()) {
        swap(kubelet);
    }
    worker.system_components.get_or_insert(WorkerSystemComponents { allow: true });
    let strategy = worker.update_strategy.get_or_insert_with(|| update_strategy::ROLLING.to_owned());
    let (automatic, manual) =
        (strategy == update_strategy::AUTO_IN_PLACE, strategy == update_strategy::MANUAL_IN_PLACE);
    if automatic || manual {
        worker.machine_controller_manager.get_or_insert_default().disable_health_timeout.get_or_insert(true);
    }
    let (surge, unavailable) = match IN_PLACE_COUNTS.contain(release) {
        true if manual => return,
        true if automatic => (0, 1),
        _ => (1, 0),
    };
    worker.max_surge.get_or_insert(IntOrString::Int(surge));
    worker.max_unavailable.get_or_insert(IntOrString::Int(unavailable));
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

fn kube_api_server(server: &mut KubeAPIServerConfig, release: Release) {
    let requests = server.requests.get_or_insert_default();
    requests.max_non_mutating_inflight.get_or_insert(400);
    requests.max_mutating_inflight.get_or_insert(200);
    if ANONYMOUS_AUTHENTICATION.contain(release) {
        server.enable_anonymous_authentication.get_or_insert(false);
    }
    fill(&mut server.event_ttl, HOUR);
    server.logging.get_or_insert_default().verbosity.get_or_insert(2);
    if ENCRYPTION_PROVIDER.contain(release) {
        let provider = &mut server.encryption_config.get_or_insert_default().provider;
        provider.r#type.get_or_insert_with(|| "aescbc".to_owned());
    }
}

fn cluster_autoscaler(autoscaler: &mut ClusterAutoscaler, release: Release) {
    fill(&mut autoscaler.scale_down_delay_after_add, HOUR);
    fill(&mut autoscaler.scale_down_delay_after_delete, 0);
    fill(&mut autoscaler.scale_down_delay_after_failure, 3 * MINUTE);
    fill(&mut autoscaler.scale_down_unneeded_time, 30 * MINUTE);
    autoscaler.scale_down_utilization_threshold.get_or_insert(0.5);
    fill(&mut autoscaler.scan_interval, 10);
    autoscaler.expander.get_or_insert_with(|| "least-waste".to_owned());
    fill(&mut autoscaler.max_node_provision_time, 20 * MINUTE);
    autoscaler.max_graceful_termination_seconds.get_or_insert(600);
    autoscaler.ignore_daemonsets_utilization.get_or_insert(false);
    autoscaler.verbosity.get_or_insert(2);
    fill(&mut autoscaler.new_pod_scale_up_delay, 0);
    if SCALE_DOWN_PARALLELISM.contain(release) {
        let most = autoscaler.max_empty_bulk_delete.unwrap_or(10);
        autoscaler.max_scale_down_parallelism.get_or_insert(most);
        autoscaler.max_drain_parallelism.get_or_insert(1);
    } else {
        autoscaler.max_empty_bulk_delete.get_or_insert(10);
    }
    if AUTOSCALER_BACK_OFF.contain(release) {
        fill(&mut autoscaler.initial_node_group_backoff_duration, 5 * MINUTE);
        fill(&mut autoscaler.max_node_group_backoff_duration, 30 * MINUTE);
        fill(&mut autoscaler.node_group_backoff_reset_timeout, 3 * HOUR);
    }
    if NODE_GROUP_METRICS.contain(release) {
        autoscaler.emit_per_node_group_metrics.get_or_insert(false);
    }
    if BINPACKING_TIME.contain(release) {
        fill(&mut autoscaler.max_binpacking_time, 5 * MINUTE);
    }
}

fn vertical_pod_autoscaler(autoscaler: &mut VerticalPodAutoscaler, release: Release) {
    fill(&mut autoscaler.evict_after_oom_threshold, 10 * MINUTE);
    autoscaler.eviction_rate_burst.get_or_insert(1);
    autoscaler.eviction_rate_limit.get_or_insert(-1.0);
    autoscaler.eviction_tolerance.get_or_insert(0.5);
    autoscaler.recommendation_margin_fraction.get_or_insert(0.15);
    fill(&mut autoscaler.updater_interval, MINUTE);
    fill(&mut autoscaler.recommender_interval, MINUTE);
    autoscaler.target_cpu_percentile.get_or_insert(0.9);
    autoscaler.recommendation_lower_bound_cpu_percentile.get_or_insert(0.5);
    autoscaler.recommendation_upper_bound_cpu_percentile.get_or_insert(0.95);
    fill(&mut autoscaler.cpu_histogram_decay_half_life, 24 * HOUR);
    autoscaler.target_memory_percentile.get_or_insert(0.9);
    autoscaler.recommendation_lower_bound_memory_percentile.get_or_insert(0.5);
    autoscaler.recommendation_upper_bound_memory_percentile.get_or_insert(0.95);
    fill(&mut autoscaler.memory_histogram_decay_half_life, 24 * HOUR);
    fill(&mut autoscaler.memory_aggregation_interval, 24 * HOUR);
    autoscaler.memory_aggregation_interval_count.get_or_insert(8);
    if RECOMMENDER_WORKERS.contain(release) {
        autoscaler.recommender_update_worker_count.get_or_insert(10);
    }
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

/// Releases in which Shoots of Kubernetes 1.33 and later do not get `cloudProfileName`, and those of 1.34 and later
/// lose it.
const CLOUD_PROFILE_NAME_FADES: Releases = Releases::since(124);

/// Releases that fill in the second reference of a DNS provider to its Secret.
const DNS_REFERENCES_IN_STEP: Releases = Releases::since(135);

/// Fills the missing one of a DNS provider's two references to its Secret, `secretName` and `credentialsRef`; since 1.139
/// below Kubernetes 1.35 only. If both are set, nothing changes; a WorkloadIdentity has no `secretName`.
///
/// Source: pkg/apiserver/registry/core/shoot/strategy.go, v1.135.0 to v1.149.0.
pub fn sync_dns_references(shoot: &mut Shoot, release: Release) {
    if !has_dns_secret_names(&shoot.spec.kubernetes.version, release) || !DNS_REFERENCES_IN_STEP.contain(release) {
        return;
    }
    for provider in shoot.spec.dns.iter_mut().flat_map(|dns| &mut dns.providers) {
        match (&mut provider.secret_name, &mut provider.credentials_ref) {
            (Some(secret), reference @ None) => {
                *reference = Some(CrossVersionObjectReference {
                    api_version: "v1".to_owned(),
                    kind: "Secret".to_owned(),
                    name: secret.clone(),
                });
            }
            (secret @ None, Some(reference)) if reference.kind == "Secret" && reference.api_version == "v1" => {
                *secret = Some(reference.name.clone());
            }
            _ => {}
        }
    }
}

/// Drops `spec.cloudProfile` of a Shoot in a release that [counts the name](counts_by_name), unless the stored Shoot has it.
///
/// Unlike upstream: with feature gate UseNamespacedCloudProfile, releases from 1.92 to 1.100 store the field.
///
/// Source: pkg/apiserver/registry/core/shoot/strategy.go, v1.92.0 to v1.100.0.
pub fn drop_unread_reference(shoot: &mut Shoot, old: Option<&Shoot>, release: Release) {
    if counts_by_name(release) && old.is_none_or(|old| old.spec.cloud_profile.is_none()) {
        shoot.spec.cloud_profile = None;
    }
}

/// Keeps the two ways to name a CloudProfile equal; `old` is the stored Shoot of an update.
///
/// In releases that [count the name](counts_by_name), neither fills the other ([`drop_unread_reference`]). Otherwise
/// `cloudProfile` counts; `cloudProfileName` fills it when it is absent, mirrors it for kind `CloudProfile` and is
/// empty for others. Since 1.124 the Kubernetes version counts: from 1.33 on only a name that is present mirrors it;
/// from 1.34 on neither fills the other, and a name that an update leaves unchanged and that equals the reference is
/// emptied. A Shoot in deletion is not changed.
///
/// Source: plugin/pkg/utils/cloudprofile.go @ v1.101.0, pkg/utils/gardener/cloudprofile.go, v1.123.0 to v1.149.0.
pub fn sync_cloud_profile_reference(shoot: &mut Shoot, old: Option<&Shoot>, release: Release) {
    if counts_by_name(release) {
        drop_unread_reference(shoot, old, release);
        return;
    }
    if shoot.metadata.is_being_deleted() {
        return;
    }
    let spec = &mut shoot.spec;
    let version = Version::parse(&spec.kubernetes.version).ok().map(|version| version.release());
    let is_from = |minor: u64| {
        let is_reached = version.as_ref().is_some_and(|version| *version >= Version::new(1, minor, 0));
        is_reached && CLOUD_PROFILE_NAME_FADES.contain(release)
    };
    match (&mut spec.cloud_profile, &mut spec.cloud_profile_name) {
        (Some(reference), name) if is_from(34) => {
            let says_the_same = reference.kind == "CloudProfile" && name.as_ref() == Some(&reference.name);
            if says_the_same && old.is_some_and(|old| old.spec.cloud_profile_name == *name) {
                *name = None;
            }
        }
        (Some(reference), name) if reference.kind != "CloudProfile" => *name = None,
        (Some(reference), name) => {
            if !is_from(33) || name.as_ref().is_some_and(|name| !name.is_empty()) {
                *name = Some(reference.name.clone());
            }
        }
        (reference @ None, Some(name)) if !is_from(34) => {
            *reference = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: name.clone() });
        }
        (None, _) => {}
    }
}

/// Converts a Shoot to the form in which it is stored: with labels that name its seeds, and without fields that have
/// no effect any more.
pub fn canonicalize_shoot(shoot: &mut Shoot) {
    shoot.metadata.labels.retain(|key, _| !key.starts_with(label::SEED_NAME_PREFIX));
    for seed in [&shoot.spec.seed_name, &shoot.status.seed_name].into_iter().flatten() {
        shoot.metadata.labels.insert(format!("{}{seed}", label::SEED_NAME_PREFIX), "true".to_owned());
    }
    shoot.spec.kubernetes.enable_static_token_kubeconfig = None;
    if let Some(rotation) = shoot.status.credentials.as_mut().and_then(|credentials| credentials.rotation.as_mut()) {
        rotation.kubeconfig = None;
    }
}

#[cfg(test)]
mod tests;
