// SPDX-License-Identifier: Apache-2.0
//! Defaults of Shoots, as tables.

use super::*;
use crate::release::{DOCUMENTED, NEWEST};

fn with_pool(change: impl FnOnce(&mut Shoot, &mut Worker)) -> Shoot {
    with_pool_at(DOCUMENTED, change)
}

fn with_pool_at(release: Release, change: impl FnOnce(&mut Shoot, &mut Worker)) -> Shoot {
    let mut shoot = Shoot::default();
    shoot.metadata.namespace = "garden-dev".to_owned();
    let mut pool = Worker { name: "pool".to_owned(), ..Worker::default() };
    change(&mut shoot, &mut pool);
    shoot.spec.provider.workers.push(pool);
    super::shoot(&mut shoot, 0, release);
    shoot
}

/// Checks fields of the spec by their JSON pointers; `-` stands for none.
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
    shoot(&mut workerless, 22, DOCUMENTED);
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

/// node-rollout 1.2: before 1.125 the manual strategy overwrites given numbers, the automatic one does not; since then
/// both have defaults of their own.
#[test]
fn surge_and_unavailable_depend_on_the_update_strategy() {
    let pool = |release: u16, strategy: &str, surge: Option<i32>| {
        let shoot = with_pool_at(Release(release), |_, pool| {
            pool.update_strategy = (!strategy.is_empty()).then(|| strategy.to_owned());
            pool.max_surge = surge.map(IntOrString::Int);
        });
        let pool = &shoot.spec.provider.workers[0];
        let number = |value: &Option<IntOrString>| match value {
            Some(IntOrString::Int(number)) => Some(*number),
            None => None,
            other => panic!("{other:?}"),
        };
        let settings = pool.machine_controller_manager.as_ref();
        let disabled = settings.and_then(|settings| settings.disable_health_timeout);
        (number(&pool.max_surge), number(&pool.max_unavailable), disabled)
    };
    for release in [120, 124, 125, 149] {
        let pool = |strategy: &str, surge: Option<i32>| pool(release, strategy, surge);
        assert_eq!(pool("", None), (Some(1), Some(0), None));
        assert_eq!(pool("AutoRollingUpdate", Some(3)), (Some(3), Some(0), None));
        let (automatic, manual) = if release < 125 {
            ((Some(1), Some(0), Some(true)), (Some(0), Some(1), Some(true)))
        } else {
            ((Some(0), Some(1), Some(true)), (None, None, Some(true)))
        };
        assert_eq!(pool("AutoInPlaceUpdate", None), automatic, "1.{release}");
        assert_eq!(pool("ManualInPlaceUpdate", None), manual, "1.{release}");
        let given = if release < 125 { manual } else { (Some(3), None, Some(true)) };
        assert_eq!(pool("ManualInPlaceUpdate", Some(3)), given, "1.{release}");
    }
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
    for release in [DOCUMENTED, NEWEST] {
        let once = with_pool_at(release, |shoot, pool| {
            shoot.spec.kubernetes.cluster_autoscaler = Some(ClusterAutoscaler::default());
            shoot.spec.kubernetes.vertical_pod_autoscaler = Some(VerticalPodAutoscaler::default());
            pool.update_strategy = Some("ManualInPlaceUpdate".to_owned());
        });
        let mut twice = once.clone();
        super::shoot(&mut twice, 7, release);
        assert_eq!(once, twice, "{release}");
    }
}

/// Manifest as JSON, field of the defaulted spec, releases with its value: the last row before a release counts.
type Default = (&'static str, &'static str, &'static [(u16, &'static str)]);

const AUTOSCALERS: &str = r#"{"kubernetes": {"clusterAutoscaler": {}, "verticalPodAutoscaler": {}}}"#;

const DEFAULTS: &[Default] = &[
    ("{}", "/kubernetes/kubeAPIServer/enableAnonymousAuthentication", &[(120, "false"), (121, "-")]),
    (
        r#"{"kubernetes": {"kubeAPIServer": {"enableAnonymousAuthentication": true}}}"#,
        "/kubernetes/kubeAPIServer/enableAnonymousAuthentication",
        &[(120, "true"), (121, "true")],
    ),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/maxEmptyBulkDelete", &[(120, "10"), (121, "-")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/maxScaleDownParallelism", &[(120, "-"), (121, "10")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/maxDrainParallelism", &[(120, "-"), (121, "1")]),
    (
        r#"{"kubernetes": {"clusterAutoscaler": {"maxEmptyBulkDelete": 4}}}"#,
        "/kubernetes/clusterAutoscaler/maxScaleDownParallelism",
        &[(120, "-"), (121, "4")],
    ),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/initialNodeGroupBackoffDuration", &[(131, "-"), (132, "\"5m0s\"")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/maxNodeGroupBackoffDuration", &[(131, "-"), (132, "\"30m0s\"")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/nodeGroupBackoffResetTimeout", &[(131, "-"), (132, "\"3h0m0s\"")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/emitPerNodeGroupMetrics", &[(140, "-"), (141, "false")]),
    (AUTOSCALERS, "/kubernetes/clusterAutoscaler/maxBinpackingTime", &[(141, "-"), (142, "\"5m0s\"")]),
    (AUTOSCALERS, "/kubernetes/verticalPodAutoscaler/recommenderUpdateWorkerCount", &[(134, "-"), (135, "10")]),
    ("{}", "/kubernetes/kubeAPIServer/encryptionConfig", &[(135, "-"), (136, "{\"provider\":{\"type\":\"aescbc\"}}")]),
    ("{}", "/addons/kubernetesDashboard/authenticationMode", &[(135, "\"token\""), (136, "-")]),
    ("{}", "/addons", &[(136, "-")]),
    (
        r#"{"addons": {"kubernetesDashboard": {"enabled": true}}}"#,
        "/addons/kubernetesDashboard/authenticationMode",
        &[(135, "\"token\""), (136, "\"token\"")],
    ),
    (
        r#"{"addons": {"kubernetesDashboard": {"enabled": false}}}"#,
        "/addons/kubernetesDashboard/authenticationMode",
        &[(135, "\"token\""), (136, "-")],
    ),
    ("{}", "/kubernetes/kubeControllerManager/nodeCIDRMaskSizeIPv6", &[(137, "-"), (138, "-")]),
    (
        r#"{"networking": {"ipFamilies": ["IPv4", "IPv6"]}}"#,
        "/kubernetes/kubeControllerManager/nodeCIDRMaskSizeIPv6",
        &[(137, "-"), (138, "64")],
    ),
    (
        r#"{"networking": {"ipFamilies": ["IPv6"]},
            "kubernetes": {"kubeControllerManager": {"nodeCIDRMaskSizeIPv6": 72}}}"#,
        "/kubernetes/kubeControllerManager/nodeCIDRMaskSize",
        &[(138, "-")],
    ),
];

#[test]
fn defaults_are_those_of_the_release() {
    for (manifest, pointer, values) in DEFAULTS {
        for (index, (since, value)) in values.iter().enumerate() {
            let last = values.get(index + 1).map_or(NEWEST.0, |(next, _)| next - 1);
            for release in [*since, last].map(Release) {
                let shoot = with_pool_at(release, |shoot, _| {
                    shoot.spec = serde_json::from_str(manifest).expect("a spec");
                });
                let tree = serde_json::to_value(&shoot.spec).expect("a tree");
                let found = tree.pointer(pointer).map_or_else(|| "-".to_owned(), ToString::to_string);
                assert_eq!(found, *value, "{release} {pointer} {manifest}");
            }
        }
    }
}

#[test]
fn a_workerless_shoot_is_encrypted_since_1_136() {
    for (release, expected) in [(135, "-"), (136, "\"aescbc\"")] {
        let mut workerless = Shoot::default();
        shoot(&mut workerless, 0, Release(release));
        check(&workerless, &[("/kubernetes/kubeAPIServer/encryptionConfig/provider/type", expected), ("/addons", "-")]);
    }
}

/// Release, Kubernetes version, `cloudProfile` (`n:` for a NamespacedCloudProfile) and `cloudProfileName` of a Shoot,
/// then both of them as a new Shoot has them, and after an update that leaves them as they were; `-` stands for nothing.
/// Source: pkg/apiserver/registry/core/shoot/strategy.go @ v1.91.0, v1.92.0 and v1.100.0, plugin/pkg/utils/cloudprofile.go @
/// v1.101.0, pkg/utils/gardener/cloudprofile.go @ v1.123.0 and v1.124.0.
const CLOUD_PROFILES: &str = "
80  1.26.4 -   a => - a     - a
91  1.26.4 -   a => - a     - a
92  1.26.4 -   a => - a     - a
92  1.26.4 a   - => - -     a -
92  1.26.4 a   b => - b     a b
92  1.26.4 n:a b => - b     n:a b
100 1.26.4 a   a => - a     a a
101 1.26.4 -   a => a a     a a
101 1.26.4 a   - => a a     a a
101 1.26.4 n:a b => n:a -   n:a -
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

/// Columns: release of Gardener, version of Kubernetes, references before and after. References are `secretName`, then
/// `KIND/NAME` of `credentialsRef`; `-` is an absent one.
const DNS_REFERENCES: &str = "
134 | 1.34.3 | a, -                  | a, -
135 | 1.34.3 | a, -                  | a, Secret/a
135 | 1.34.3 | -, Secret/a           | a, Secret/a
149 | 1.34.3 | a, Secret/b           | a, Secret/b
149 | 1.34.3 | -, WorkloadIdentity/a | -, WorkloadIdentity/a
149 | 1.34.3 | -, -                  | -, -
138 | 1.35.0 | a, -                  | a, Secret/a
138 | 1.35.0 | -, Secret/a           | a, Secret/a
139 | 1.35.0 | a, -                  | a, -
139 | 1.35.0 | -, Secret/a           | -, Secret/a
149 | 1.35.0 | a, -                  | a, -
149 | 1.35.0 | -, Secret/a           | -, Secret/a
";

#[test]
fn references_of_dns_providers_are_kept_in_step() {
    for row in DNS_REFERENCES.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [release, version, before, after] = cells[..] else { panic!("four cells: {row}") };
        let provider = |references: &str| {
            let (secret, reference) = references.split_once(", ").expect("two references");
            let reference = reference.split_once('/').map(|(kind, name)| CrossVersionObjectReference {
                kind: kind.to_owned(),
                name: name.to_owned(),
                api_version: if kind == "Secret" { "v1" } else { "security.gardener.cloud/v1alpha1" }.to_owned(),
            });
            let secret_name = (secret != "-").then(|| secret.to_owned());
            DNSProvider { secret_name, credentials_ref: reference, ..DNSProvider::default() }
        };
        let mut shoot = Shoot::default();
        version.clone_into(&mut shoot.spec.kubernetes.version);
        shoot.spec.dns = Some(DNS { providers: vec![provider(before)], ..DNS::default() });
        sync_dns_references(&mut shoot, Release(release.parse().expect("a minor")));
        assert_eq!(shoot.spec.dns.expect("it stays").providers, [provider(after)], "{row}");
    }
}

#[test]
fn images_are_pulled_serially_unless_two_are_allowed() {
    for (most, expected) in [(None, "true"), (Some(1), "true"), (Some(2), "false")] {
        let shoot = with_pool(|shoot, _| {
            shoot.spec.kubernetes.kubelet.get_or_insert_default().max_parallel_image_pulls = most;
        });
        check(&shoot, &[("/kubernetes/kubelet/serializeImagePulls", expected)]);
    }
}
