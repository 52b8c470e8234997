// SPDX-License-Identifier: Apache-2.0
//! Defaults of Shoots.

use api::constants::{annotation, label, taint, update_strategy};
use api::core::*;
use apimachinery::meta::IntOrString;

use super::{HOUR, MINUTE, add_toleration, fill};
use crate::release::{Release, Releases};
use crate::skew::GardenerVersion;
use crate::versions::Version;
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

/// After how many seconds credentials are rotated for which no period is given.
const AUTO_ROTATION: i64 = 168 * HOUR;

/// After how many seconds the key that encrypts etcd is rotated, in new Shoots.
const ETCD_ENCRYPTION_KEY_ROTATION: i64 = 672 * HOUR;

/// Fills what only new Shoots get, by the version of the gardener-apiserver that creates them, and notes that version.
///
/// | since | default |
/// | --- | --- |
/// | 1.141 | `spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod: 672h` |
///
/// Source: plugin/pkg/shoot/mutator @ v1.141.0.
pub fn new_shoot(shoot: &mut Shoot, version: &GardenerVersion) {
    let annotations = &mut shoot.metadata.annotations;
    annotations.insert(annotation::CREATED_WITH_GARDENER_VERSION.to_owned(), format!("v{version}"));
    if version.minor() >= (1, 141) {
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        let credentials = maintenance.auto_rotation.get_or_insert_default().credentials.get_or_insert_default();
        let key = credentials.etcd_encryption_key.get_or_insert_default();
        fill(&mut key.rotation_period, ETCD_ENCRYPTION_KEY_ROTATION);
    }
}

/// Keeps what [`new_shoot`] has noted, whatever a client makes of it.
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

/// The defaults that make sense only for a Shoot with workers.
fn with_workers(spec: &mut ShootSpec) {
    let node_cidr_mask_size = default_node_cidr_mask_size(spec);
    let server = spec.kubernetes.kube_api_server.get_or_insert_default();
    server.default_not_ready_toleration_seconds.get_or_insert(300);
    server.default_unreachable_toleration_seconds.get_or_insert(300);

    let manager = spec.kubernetes.kube_controller_manager.get_or_insert_default();
    manager.node_cidr_mask_size = manager.node_cidr_mask_size.or(Some(node_cidr_mask_size));
    fill(&mut manager.node_monitor_grace_period, 40);

    let scheduler = spec.kubernetes.kube_scheduler.get_or_insert_default();
    scheduler.profile.get_or_insert_with(|| "balanced".to_owned());

    let proxy = spec.kubernetes.kube_proxy.get_or_insert_default();
    proxy.mode.get_or_insert_with(|| "IPTables".to_owned());
    proxy.enabled.get_or_insert(true);

    let dashboard = spec.addons.get_or_insert_default().kubernetes_dashboard.get_or_insert_default();
    dashboard.authentication_mode.get_or_insert_with(|| "token".to_owned());

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
    let strategy = worker.update_strategy.get_or_insert_with(|| update_strategy::ROLLING.to_owned());
    let (automatic, manual) =
        (strategy == update_strategy::AUTO_IN_PLACE, strategy == update_strategy::MANUAL_IN_PLACE);
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
    fill(&mut server.event_ttl, HOUR);
    server.logging.get_or_insert_default().verbosity.get_or_insert(2);
}

fn cluster_autoscaler(autoscaler: &mut ClusterAutoscaler) {
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
    autoscaler.max_empty_bulk_delete.get_or_insert(10);
}

fn vertical_pod_autoscaler(autoscaler: &mut VerticalPodAutoscaler) {
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

/// Shoots of Kubernetes 1.33 and later do not get `cloudProfileName`, and those of 1.34 and later lose it.
const CLOUD_PROFILE_NAME_FADES: Releases = Releases::since(124);

/// Keeps the two ways to name a CloudProfile equal; `old` is the stored Shoot of an update.
///
/// `cloudProfile` counts; `cloudProfileName` fills it when it is absent, mirrors it for kind `CloudProfile` and is
/// empty for others. Since 1.124 the Kubernetes version counts: from 1.33 on only a name that is there mirrors it; from
/// 1.34 on neither fills the other, and a name that an update leaves as it was and that says the same is emptied. A Shoot in
/// deletion is left alone.
///
/// Source: pkg/utils/gardener/cloudprofile.go, v1.123.0 to v1.149.0.
pub fn sync_cloud_profile_reference(shoot: &mut Shoot, old: Option<&Shoot>, release: Release) {
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

/// Brings a Shoot into the form in which it is stored: labels that name its seeds, and no trace of fields that have
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
mod tests {
    use super::*;

    fn with_pool(change: impl FnOnce(&mut Shoot, &mut Worker)) -> Shoot {
        let mut shoot = Shoot::default();
        shoot.metadata.namespace = "garden-dev".to_owned();
        let mut pool = Worker { name: "pool".to_owned(), ..Worker::default() };
        change(&mut shoot, &mut pool);
        shoot.spec.provider.workers.push(pool);
        super::shoot(&mut shoot, 0);
        shoot
    }

    /// What a Shoot says, and what it then has; `-` stands for nothing.
    #[track_caller]
    fn check(shoot: &Shoot, expected: &[(&str, &str)]) {
        let tree = serde_json::to_value(&shoot.spec).unwrap();
        for (pointer, value) in expected {
            let found = tree.pointer(pointer).map_or_else(|| "-".to_owned(), ToString::to_string);
            assert_eq!(found, *value, "{pointer}");
        }
    }

    #[test]
    fn a_shoot_with_workers_gets_everything() {
        check(
            &with_pool(|_, _| {}),
            &[
                ("/purpose", "\"evaluation\""),
                ("/schedulerName", "\"default-scheduler\""),
                ("/tolerations", "-"),
                ("/networking/ipFamilies", "[\"IPv4\"]"),
                ("/maintenance/autoUpdate", "{\"kubernetesVersion\":true,\"machineImageVersion\":true}"),
                ("/maintenance/timeWindow", "{\"begin\":\"000000+0000\",\"end\":\"010000+0000\"}"),
                ("/maintenance/confineSpecUpdateRollout", "-"),
                ("/kubernetes/kubeAPIServer/requests", "{\"maxMutatingInflight\":200,\"maxNonMutatingInflight\":400}"),
                ("/kubernetes/kubeAPIServer/eventTTL", "\"1h0m0s\""),
                ("/kubernetes/kubeAPIServer/enableAnonymousAuthentication", "false"),
                ("/kubernetes/kubeAPIServer/defaultNotReadyTolerationSeconds", "300"),
                ("/kubernetes/kubeControllerManager/nodeCIDRMaskSize", "24"),
                ("/kubernetes/kubeControllerManager/nodeMonitorGracePeriod", "\"40s\""),
                ("/kubernetes/kubeScheduler/profile", "\"balanced\""),
                ("/kubernetes/kubeProxy", "{\"enabled\":true,\"mode\":\"IPTables\"}"),
                ("/kubernetes/kubelet/failSwapOn", "true"),
                ("/kubernetes/kubelet/imageGCHighThresholdPercent", "50"),
                ("/kubernetes/kubelet/serializeImagePulls", "true"),
                ("/kubernetes/clusterAutoscaler", "-"),
                ("/provider/workersSettings/sshAccess/enabled", "true"),
                ("/systemComponents/coreDNS/autoscaling/mode", "\"horizontal\""),
                ("/addons/kubernetesDashboard/authenticationMode", "\"token\""),
            ],
        );
    }

    #[test]
    fn a_workerless_shoot_gets_little() {
        let mut workerless = Shoot::default();
        shoot(&mut workerless, 22);
        check(
            &workerless,
            &[
                ("/kubernetes/kubeAPIServer/eventTTL", "\"1h0m0s\""),
                ("/kubernetes/kubeAPIServer/defaultNotReadyTolerationSeconds", "-"),
                ("/kubernetes/kubelet", "-"),
                ("/kubernetes/kubeProxy", "-"),
                ("/addons", "-"),
                ("/systemComponents", "-"),
                ("/provider/workersSettings", "-"),
                ("/maintenance/autoUpdate", "{\"kubernetesVersion\":true}"),
                ("/maintenance/timeWindow", "{\"begin\":\"220000+0000\",\"end\":\"230000+0000\"}"),
            ],
        );
    }

    #[test]
    fn an_auto_update_without_kubernetes_version_means_no() {
        let shoot = with_pool(|shoot, _| {
            let update = MaintenanceAutoUpdate::default();
            shoot.spec.maintenance = Some(Maintenance { auto_update: Some(update), ..Maintenance::default() });
        });
        check(&shoot, &[("/maintenance/autoUpdate", "{\"kubernetesVersion\":false,\"machineImageVersion\":true}")]);
    }

    #[test]
    fn shoots_of_the_garden_may_use_protected_seeds() {
        let shoot = with_pool(|shoot, _| shoot.metadata.namespace = "garden".to_owned());
        check(&shoot, &[("/tolerations", "[{\"key\":\"seed.gardener.cloud/protected\"}]")]);
    }

    /// node-rollout 1.2: the manual strategy overwrites what the user gave, the automatic one does not.
    #[test]
    fn surge_and_unavailable_depend_on_the_update_strategy() {
        let pool = |strategy: &str, surge: Option<i32>| {
            let shoot = with_pool(|_, pool| {
                pool.update_strategy = (!strategy.is_empty()).then(|| strategy.to_owned());
                pool.max_surge = surge.map(IntOrString::Int);
            });
            let pool = &shoot.spec.provider.workers[0];
            let number = |value: &Option<IntOrString>| match value {
                Some(IntOrString::Int(number)) => *number,
                other => panic!("{other:?}"),
            };
            let settings = pool.machine_controller_manager.as_ref();
            let disabled = settings.and_then(|settings| settings.disable_health_timeout);
            (number(&pool.max_surge), number(&pool.max_unavailable), disabled)
        };
        assert_eq!(pool("", None), (1, 0, None));
        assert_eq!(pool("AutoRollingUpdate", Some(3)), (3, 0, None));
        assert_eq!(pool("AutoInPlaceUpdate", None), (1, 0, Some(true)));
        assert_eq!(pool("ManualInPlaceUpdate", Some(3)), (0, 1, Some(true)));
    }

    #[test]
    fn node_networks_hold_twice_the_pods() {
        let size = |shoot_wide: Option<i32>, of_pool: Option<i32>, families: &[&str]| {
            let kubelet = |pods| Some(KubeletConfig { max_pods: pods, ..KubeletConfig::default() });
            let shoot = with_pool(|shoot, pool| {
                shoot.spec.kubernetes.kubelet = kubelet(shoot_wide);
                pool.kubernetes = Some(WorkerKubernetes { kubelet: kubelet(of_pool), version: None });
                let ip_families = families.iter().map(|family| (*family).to_owned()).collect();
                shoot.spec.networking = Some(Networking { ip_families, ..Networking::default() });
            });
            shoot.spec.kubernetes.kube_controller_manager.unwrap().node_cidr_mask_size
        };
        assert_eq!(size(None, None, &[]), Some(24));
        assert_eq!(size(Some(32), None, &[]), Some(26));
        assert_eq!(size(Some(33), None, &[]), Some(25));
        assert_eq!(size(Some(32), Some(250), &[]), Some(23));
        assert_eq!(size(None, None, &["IPv6"]), Some(64));
    }

    #[test]
    fn defaulting_twice_changes_nothing() {
        let once = with_pool(|shoot, pool| {
            shoot.spec.kubernetes.cluster_autoscaler = Some(ClusterAutoscaler::default());
            shoot.spec.kubernetes.vertical_pod_autoscaler = Some(VerticalPodAutoscaler::default());
            pool.update_strategy = Some("ManualInPlaceUpdate".to_owned());
        });
        let mut twice = once.clone();
        super::shoot(&mut twice, 7);
        assert_eq!(once, twice);
    }

    /// Release, Kubernetes version, `cloudProfile` (`n:` for a NamespacedCloudProfile) and `cloudProfileName` of a Shoot,
    /// then both of them as a new Shoot has them, and after an update that leaves them as they were; `-` stands for nothing.
    /// Source: pkg/utils/gardener/cloudprofile.go @ v1.123.0 and v1.124.0.
    const CLOUD_PROFILES: &str = "
120 1.32.1 -   a => a a     a a
120 1.32.1 a   - => a a     a a
120 1.32.1 a   b => a a     a a
120 1.32.1 n:a b => n:a -   n:a -
120 1.32.1 -   - => - -     - -
123 1.34.0 a   - => a a     a a
123 1.34.0 a   a => a a     a a
123 1.34.0 -   a => a a     a a
124 1.32.9 a   - => a a     a a
124 1.32.9 -   a => a a     a a
124 1.33.0 a   - => a -     a -
124 1.33.0 a   a => a a     a a
124 1.33.0 a   b => a a     a a
124 1.33.0 -   a => a a     a a
124 1.33.0 n:a b => n:a -   n:a -
124 1.34.0 a   - => a -     a -
124 1.34.0 a   a => a a     a -
124 1.34.0 a   b => a b     a b
124 1.34.0 -   a => - a     - a
124 1.34.0 n:a a => n:a a   n:a a
149 1.35.4 a   a => a a     a -
124 broken a   - => a a     a a
";

    #[test]
    fn a_cloud_profile_is_named_twice_or_once() {
        let reference = |word: &str| {
            let (kind, name) = match word.split_once(':') {
                Some((_, name)) => ("NamespacedCloudProfile", name),
                None => ("CloudProfile", word),
            };
            (word != "-").then(|| CloudProfileReference { kind: kind.to_owned(), name: name.to_owned() })
        };
        let named = |word: &str| (word != "-").then(|| word.to_owned());
        for row in CLOUD_PROFILES.lines().filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().filter(|word| *word != "=>").collect();
            let [release, version, profile, name, new_profile, new_name, profile_after, name_after] = words[..] else {
                panic!("eight words: {row}");
            };
            let mut shoot = Shoot::default();
            version.clone_into(&mut shoot.spec.kubernetes.version);
            shoot.spec.cloud_profile = reference(profile);
            shoot.spec.cloud_profile_name = named(name);
            let release = Release(release.parse().expect("a minor"));
            for (old, profile, name) in [(None, new_profile, new_name), (Some(&shoot), profile_after, name_after)] {
                let mut synced = shoot.clone();
                sync_cloud_profile_reference(&mut synced, old, release);
                let actual = (synced.spec.cloud_profile, synced.spec.cloud_profile_name);
                assert_eq!(actual, (reference(profile), named(name)), "{row}, update: {}", old.is_some());
            }
        }
    }

    #[test]
    fn a_name_that_an_update_changes_is_not_emptied() {
        let mut old = Shoot::default();
        "1.34.0".clone_into(&mut old.spec.kubernetes.version);
        old.spec.cloud_profile = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: "a".to_owned() });
        let mut new = old.clone();
        new.spec.cloud_profile_name = Some("a".to_owned());
        sync_cloud_profile_reference(&mut new, Some(&old), Release(149));
        assert_eq!(new.spec.cloud_profile_name.as_deref(), Some("a"));
    }

    #[test]
    fn images_are_pulled_one_by_one_unless_two_may_be_pulled_at_once() {
        for (most, expected) in [(None, "true"), (Some(1), "true"), (Some(2), "false")] {
            let shoot = with_pool(|shoot, _| {
                shoot.spec.kubernetes.kubelet.get_or_insert_default().max_parallel_image_pulls = most;
            });
            check(&shoot, &[("/kubernetes/kubelet/serializeImagePulls", expected)]);
        }
    }
}
