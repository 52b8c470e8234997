// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::release::{DOCUMENTED, NEWEST};

/// Gate, minor of Gardener, Kubernetes version, state there.
/// Source: pkg/utils/validation/features/featuregates.go @ v1.120.0 to v1.149.0.
const GATES: &str = "
AllAlpha                             120 1.27.0 supported
APIPriorityAndFairness               120 1.28.9 supported
APIPriorityAndFairness               120 1.29.0 locked on
APIPriorityAndFairness               120 1.31.0 unsupported
AllowDNSOnlyNodeCSR                  120 1.30.9 unsupported
AllowDNSOnlyNodeCSR                  120 1.31.0 supported
AllowServiceLBStatusOnNonLB          120 1.32.1 locked off
Foo                                  120 1.31.0 unknown
Foo                                  149 1.31.0 unknown
MutablePodResourcesForSuspendedJobs  120 1.32.0 unknown
MutablePodResourcesForSuspendedJobs  135 1.34.0 unknown
MutablePodResourcesForSuspendedJobs  136 1.34.0 unsupported
MutablePodResourcesForSuspendedJobs  149 1.35.0 supported
DRAConsumableCapacity                131 1.33.0 unknown
DRAConsumableCapacity                132 1.34.0 supported
DRAConsumableCapacity                149 1.36.0 supported
AnyVolumeDataSource                  121 1.33.0 supported
AnyVolumeDataSource                  122 1.32.9 supported
AnyVolumeDataSource                  122 1.33.0 locked on
VolumeCapacityPriority               122 1.33.0 unsupported
ComponentSLIs                        136 1.35.0 unsupported
SeparateCacheWatchRPC                145 1.36.0 locked off
GitRepoVolumeDriver                  149 1.36.1 locked off
SecurityContextDeny                  120 1.29.0 supported
SecurityContextDeny                  149 1.32.0 unknown
ValidatingAdmissionPolicy            124 1.32.0 locked on
ValidatingAdmissionPolicy            125 1.32.0 unsupported
";

#[test]
fn gates_are_added_locked_and_removed() {
    for row in GATES.lines().filter(|row| !row.is_empty()) {
        let mut words = row.split_whitespace();
        let name = words.next().expect("gate");
        let release = Release(words.next().expect("release").parse().expect("a minor"));
        let version = words.next().expect("version").parse().expect("semver");
        let actual = match feature_gate(name, release) {
            None => "unknown",
            Some(gate) if !gate.is_supported(&version) => "unsupported",
            Some(gate) if gate.is_locked(&version) => {
                if gate.default {
                    "locked on"
                } else {
                    "locked off"
                }
            }
            Some(_) => "supported",
        };
        assert_eq!(actual, words.collect::<Vec<_>>().join(" "), "row: {row}");
    }
}

/// Names of the gates that a release knows.
fn known(release: Release) -> Vec<(&'static str, FeatureGate)> {
    let names = include_str!("gates.txt").lines().filter(|line| !line.starts_with('#'));
    let mut names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name, feature_gate(name, release)?))).collect()
}

/// 305 gates of v1.149.0; of them 98 that v1.120.0 does not know and 95 that have other minors there; 42 of v1.120.0 that
/// v1.149.0 does not know.
#[test]
fn tables_have_the_gates_of_the_outer_releases() {
    let (first, last) = (known(DOCUMENTED), known(NEWEST));
    assert_eq!((first.len(), last.len()), (249, 305));
    let before = |name: &str| feature_gate(name, DOCUMENTED);
    assert_eq!(last.iter().filter(|(name, _)| before(name).is_none()).count(), 98);
    let differs = |(name, gate): &&(&str, FeatureGate)| {
        before(name).is_some_and(|old| (old.range, old.locked) != (gate.range, gate.locked))
    };
    assert_eq!(last.iter().filter(differs).count(), 95);
    assert_eq!(first.iter().filter(|(name, _)| feature_gate(name, NEWEST).is_none()).count(), 42);
}

/// Minor of Kubernetes, first release that knows a gate which that minor adds.
#[test]
fn a_release_has_the_gates_of_its_kubernetes_versions() {
    for (kubernetes, since) in [(33, 122), (34, 132), (35, 136), (36, 145)] {
        let added = |release: u16| {
            known(Release(release)).iter().filter(|(_, gate)| gate.range.added == Some(kubernetes)).count()
        };
        assert_eq!(added(since - 1), 0, "1.{kubernetes}");
        assert!(added(since) > 10, "1.{kubernetes}");
    }
}

#[test]
fn admission_plugins_are_added_and_removed() {
    for (name, release, version, expected) in [
        ("MutatingAdmissionPolicy", 120, "1.31.9", Some(false)),
        ("MutatingAdmissionPolicy", 120, "1.32.0", Some(true)),
        ("PersistentVolumeLabel", 120, "1.30.9", Some(true)),
        ("PersistentVolumeLabel", 120, "1.31.0", Some(false)),
        ("Foo", 120, "1.31.0", None),
        ("PodTopologyLabels", 120, "1.32.0", None),
        ("PodTopologyLabels", 122, "1.32.0", Some(false)),
        ("PodTopologyLabels", 149, "1.33.0", Some(true)),
        ("NodeDeclaredFeatureValidator", 149, "1.35.0", Some(true)),
        ("JobValidation", 149, "1.35.9", Some(false)),
        ("PodGroupProtection", 149, "1.36.0", Some(true)),
        ("PodGroupWorkloadExists", 149, "1.36.0", Some(true)),
        ("PodResizeValidator", 149, "1.36.0", Some(true)),
        ("SecurityContextDeny", 132, "1.29.0", Some(true)),
        ("SecurityContextDeny", 133, "1.30.0", None),
    ] {
        let supported = admission_plugin(name, Release(release))
            .map(|plugin| plugin.is_supported(&version.parse().expect("semver")));
        assert_eq!(supported, expected, "{name} in 1.{release} on {version}");
    }
    let priority = admission_plugin("Priority", DOCUMENTED).expect("a plugin");
    assert!(priority.required && !priority.forbidden);
    let names = include_str!("plugins.txt").lines().filter(|line| !line.starts_with('#'));
    let mut names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    names.dedup();
    let allowed = names.iter().filter(|name| admission_plugin(name, NEWEST).is_some_and(|plugin| plugin.allows_config));
    assert_eq!(
        allowed.copied().collect::<Vec<_>>(),
        [
            "EventRateLimit",
            "ImagePolicyWebhook",
            "MutatingAdmissionWebhook",
            "PodNodeSelector",
            "PodSecurity",
            "PodTolerationRestriction",
            "ResourceQuota",
            "ValidatingAdmissionWebhook",
        ]
    );
    let forbidden =
        names.iter().filter(|name| admission_plugin(name, DOCUMENTED).is_some_and(|plugin| plugin.forbidden));
    assert!(forbidden.copied().eq(FORBIDDEN_ADMISSION_PLUGINS));
}
