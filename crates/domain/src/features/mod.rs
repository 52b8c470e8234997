// SPDX-License-Identifier: Apache-2.0
//! Which feature gates and admission plugins a Kubernetes version knows.
//!
//! Source: pkg/utils/validation/{features,admissionplugins} @ v1.120.0.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::versions::Version;

/// The minors of Kubernetes 1.x that have something: from the first, up to and without the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinorRange {
    added: Option<u64>,
    removed: Option<u64>,
}

impl MinorRange {
    fn contains(self, version: &Version) -> bool {
        self.added.is_none_or(|minor| is_at_least(version, minor))
            && self.removed.is_none_or(|minor| !is_at_least(version, minor))
    }
}

fn is_at_least(version: &Version, minor: u64) -> bool {
    (version.major, version.minor) >= (1, minor)
}

/// A feature gate of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    range: MinorRange,
    locked: Option<u64>,
    /// The value that it is locked to.
    pub default: bool,
}

impl FeatureGate {
    /// Whether a Kubernetes version has the gate.
    pub fn is_supported(&self, version: &Version) -> bool {
        self.range.contains(version)
    }

    /// Whether a Kubernetes version refuses another value than the default.
    pub fn is_locked(&self, version: &Version) -> bool {
        self.locked.is_some_and(|minor| is_at_least(version, minor))
    }
}

/// A feature gate by name; `None` if no Kubernetes version has it.
pub fn feature_gate(name: &str) -> Option<FeatureGate> {
    static GATES: LazyLock<BTreeMap<&str, FeatureGate>> =
        LazyLock::new(|| include_str!("gates.txt").lines().filter_map(read_gate).collect());
    GATES.get(name).copied()
}

/// A line `NAME ADDED LOCKED REMOVED DEFAULT`; `None` for a comment.
fn read_gate(line: &'static str) -> Option<(&'static str, FeatureGate)> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| *name != "#")?;
    let mut minor = || words.next().and_then(|word| word.parse().ok());
    let (added, locked, removed) = (minor(), minor(), minor());
    let default = words.next() == Some("on");
    Some((name, FeatureGate { range: MinorRange { added, removed }, locked, default }))
}

/// An admission plugin of the kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionPlugin {
    range: MinorRange,
    /// Whether it cannot be disabled.
    pub required: bool,
    /// Whether it must not be given at all.
    pub forbidden: bool,
}

impl AdmissionPlugin {
    /// Whether a Kubernetes version has the plugin.
    pub fn is_supported(&self, version: &Version) -> bool {
        self.range.contains(version)
    }
}

/// Names of the admission plugins that must not be given, in order.
pub const FORBIDDEN_ADMISSION_PLUGINS: [&str; 1] = ["SecurityContextDeny"];

/// An admission plugin by name; `None` if no Kubernetes version has it.
pub fn admission_plugin(name: &str) -> Option<AdmissionPlugin> {
    let required = match name {
        "MutatingAdmissionWebhook"
        | "NamespaceLifecycle"
        | "NodeRestriction"
        | "PodSecurity"
        | "Priority"
        | "StorageObjectInUseProtection"
        | "ValidatingAdmissionWebhook" => true,
        "AlwaysAdmit"
        | "AlwaysDeny"
        | "AlwaysPullImages"
        | "CertificateApproval"
        | "CertificateSigning"
        | "CertificateSubjectRestriction"
        | "ClusterTrustBundleAttest"
        | "DefaultIngressClass"
        | "DefaultStorageClass"
        | "DefaultTolerationSeconds"
        | "DenyServiceExternalIPs"
        | "EventRateLimit"
        | "ExtendedResourceToleration"
        | "ImagePolicyWebhook"
        | "LimitPodHardAntiAffinityTopology"
        | "LimitRanger"
        | "MutatingAdmissionPolicy"
        | "NamespaceAutoProvision"
        | "NamespaceExists"
        | "OwnerReferencesPermissionEnforcement"
        | "PersistentVolumeClaimResize"
        | "PersistentVolumeLabel"
        | "PodNodeSelector"
        | "PodTolerationRestriction"
        | "ResourceQuota"
        | "RuntimeClass"
        | "SecurityContextDeny"
        | "ServiceAccount"
        | "TaintNodesByCondition"
        | "ValidatingAdmissionPolicy" => false,
        _ => return None,
    };
    let (added, removed) = match name {
        "MutatingAdmissionPolicy" => (Some(32), None),
        "PersistentVolumeLabel" => (None, Some(31)),
        "SecurityContextDeny" => (None, Some(30)),
        _ => (None, None),
    };
    let forbidden = FORBIDDEN_ADMISSION_PLUGINS.contains(&name);
    Some(AdmissionPlugin { range: MinorRange { added, removed }, required, forbidden })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gate, Kubernetes version, what holds of it there.
    /// Source: pkg/utils/validation/features/featuregates.go @ v1.120.0.
    const GATES: &str = "
AllAlpha                      1.27.0 supported
APIPriorityAndFairness        1.28.9 supported
APIPriorityAndFairness        1.29.0 locked on
APIPriorityAndFairness        1.31.0 unsupported
AllowDNSOnlyNodeCSR           1.30.9 unsupported
AllowDNSOnlyNodeCSR           1.31.0 supported
AllowServiceLBStatusOnNonLB   1.32.1 locked off
Foo                           1.31.0 unknown
";

    #[test]
    fn gates_come_get_locked_and_go() {
        for row in GATES.lines().filter(|row| !row.is_empty()) {
            let mut words = row.split_whitespace();
            let name = words.next().expect("gate");
            let version = words.next().expect("version").parse().expect("semver");
            let actual = match feature_gate(name) {
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

    #[test]
    fn every_line_of_the_table_is_a_gate() {
        let gates = include_str!("gates.txt").lines().filter_map(read_gate).count();
        assert_eq!(gates, 249);
    }

    #[test]
    fn admission_plugins_come_and_go() {
        let supported = |name, version: &str| {
            admission_plugin(name).map(|plugin| plugin.is_supported(&version.parse().expect("semver")))
        };
        assert_eq!(supported("MutatingAdmissionPolicy", "1.31.9"), Some(false));
        assert_eq!(supported("MutatingAdmissionPolicy", "1.32.0"), Some(true));
        assert_eq!(supported("PersistentVolumeLabel", "1.30.9"), Some(true));
        assert_eq!(supported("PersistentVolumeLabel", "1.31.0"), Some(false));
        assert_eq!(supported("Foo", "1.31.0"), None);
        assert!(admission_plugin("Priority").is_some_and(|plugin| plugin.required && !plugin.forbidden));
    }
}
