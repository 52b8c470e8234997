// SPDX-License-Identifier: Apache-2.0
//! Fields that came with a release of Gardener after 1.80: an older landscape does not know them.
//!
//! **Deliberately absent**: `spec.cloudProfile` of a Shoot (1.92), and `autoEnable` and `clusterCompatibility` of a resource of a
//! ControllerRegistration (1.120), by which every component here finds the profile and the extension; kinds that came later;
//! fields that a later release no longer has; the group extensions, whose definitions come with an extension. Fields that
//! came after 1.120 are here if the schema has them.
//!
//! Source: pkg/apis/{core/v1beta1,core/v1,seedmanagement/v1alpha1,operator/v1alpha1}/types_*.go, the first of v1.81.0 to v1.149.0
//! that has the path from the kind to the field.

use apimachinery::catalogue::{LaterField, Life};

/// Path and minor; `[]` stands for each item of a list or map.
type Row = (&'static str, u16);

/// Last names of the fields below that have a default wherever there is their parent (`domain::defaulting`).
const DEFAULTED: [&str; 18] = [
    "autoRotation",
    "cpuHistogramDecayHalfLife",
    "ignoreDaemonsetsUtilization",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "maxEmptyBulkDelete",
    "memoryAggregationInterval",
    "memoryAggregationIntervalCount",
    "memoryHistogramDecayHalfLife",
    "newPodScaleUpDelay",
    "recommendationLowerBoundCPUPercentile",
    "recommendationLowerBoundMemoryPercentile",
    "recommendationUpperBoundCPUPercentile",
    "recommendationUpperBoundMemoryPercentile",
    "targetCPUPercentile",
    "targetMemoryPercentile",
    "updateStrategy",
    "verbosity",
];

/// In the status of Shoots and Gardens.
const CREDENTIALS: [Row; 3] = [
    ("status.credentials.rotation.certificateAuthorities.pendingWorkersRollouts", 112),
    ("status.credentials.rotation.etcdEncryptionKey.autoCompleteAfterPrepared", 128),
    ("status.credentials.rotation.serviceAccountKey.pendingWorkersRollouts", 112),
];

/// Below `spec` of a Shoot.
const SHOOT: [Row; 37] = [
    ("accessRestrictions", 107),
    ("credentialsBindingName", 98),
    ("kubernetes.clusterAutoscaler.ignoreDaemonsetsUtilization", 87),
    ("kubernetes.clusterAutoscaler.maxEmptyBulkDelete", 82),
    ("kubernetes.clusterAutoscaler.newPodScaleUpDelay", 82),
    ("kubernetes.clusterAutoscaler.startupTaints", 109),
    ("kubernetes.clusterAutoscaler.statusTaints", 109),
    ("kubernetes.clusterAutoscaler.verbosity", 87),
    ("kubernetes.etcd", 114),
    ("kubernetes.kubeAPIServer.autoscaling", 114),
    ("kubernetes.kubeAPIServer.encryptionConfig", 86),
    ("kubernetes.kubeAPIServer.structuredAuthentication", 102),
    ("kubernetes.kubeAPIServer.structuredAuthorization", 107),
    ("kubernetes.kubelet.imageMaximumGCAge", 120),
    ("kubernetes.kubelet.imageMinimumGCAge", 120),
    ("kubernetes.kubelet.maxParallelImagePulls", 120),
    ("kubernetes.verticalPodAutoscaler.cpuHistogramDecayHalfLife", 111),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationInterval", 112),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationIntervalCount", 112),
    ("kubernetes.verticalPodAutoscaler.memoryHistogramDecayHalfLife", 111),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundCPUPercentile", 102),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundMemoryPercentile", 102),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundCPUPercentile", 102),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundMemoryPercentile", 102),
    ("kubernetes.verticalPodAutoscaler.targetCPUPercentile", 90),
    ("kubernetes.verticalPodAutoscaler.targetMemoryPercentile", 102),
    ("maintenance.autoRotation", 135),
    ("provider.workers.[].clusterAutoscaler", 90),
    ("provider.workers.[].controlPlane", 113),
    ("provider.workers.[].controlPlane.backup", 120),
    ("provider.workers.[].kubernetes.kubelet.imageMaximumGCAge", 120),
    ("provider.workers.[].kubernetes.kubelet.imageMinimumGCAge", 120),
    ("provider.workers.[].kubernetes.kubelet.maxParallelImagePulls", 120),
    ("provider.workers.[].machineControllerManager.disableHealthTimeout", 115),
    ("provider.workers.[].machineControllerManager.inPlaceUpdateTimeout", 115),
    ("provider.workers.[].priority", 112),
    ("provider.workers.[].updateStrategy", 113),
];

/// In the status of a Shoot, beside [`CREDENTIALS`].
const SHOOT_STATUS: [Row; 4] = [
    ("status.encryptedResources", 86),
    ("status.inPlaceUpdates", 118),
    ("status.networking", 99),
    ("status.networking.egressCIDRs", 107),
];

/// Below `spec` of a CloudProfile, and of what a NamespacedCloudProfile makes of it.
const PROFILE: [Row; 8] = [
    ("bastion", 101),
    ("capabilities", 118),
    ("limits", 113),
    ("machineImages.[].updateStrategy", 83),
    ("machineImages.[].versions.[].capabilitySets", 118),
    ("machineImages.[].versions.[].inPlaceUpdates", 113),
    ("machineTypes.[].capabilities", 118),
    ("regions.[].accessRestrictions", 107),
];

/// Which releases serve a resource of Gardener; all of them serve most.
///
/// Source: pkg/apiserver/registry/*/rest/storage_*.go of each release.
pub(super) fn life(group: &str, version: &str, plural: &str) -> Life {
    let since = |since| Life { since, ..Life::default() };
    match (group, version, plural) {
        ("core.gardener.cloud", "v1beta1", "namespacedcloudprofiles") => since(92),
        ("core.gardener.cloud", "v1", _) => since(96),
        ("core.gardener.cloud", _, "shoots") => Life { subresources: &[("viewerkubeconfig", 86)], ..Life::default() },
        ("security.gardener.cloud", _, "credentialsbindings") => since(95),
        ("security.gardener.cloud", ..) | ("seedmanagement.gardener.cloud", _, "gardenlets") => since(97),
        ("settings.gardener.cloud", ..) => Life { until: Some(142), ..Life::default() },
        _ => Life::default(),
    }
}

/// Of a kind of one group and version; empty for most.
pub(super) fn fields(group: &str, version: &str, kind: &str) -> &'static [LaterField] {
    let own: &[Row] = match (group, version, kind) {
        ("core.gardener.cloud", "v1", "ControllerDeployment") => {
            &[("helm.ociRepository.pullSecretRef", 115), ("injectGardenKubeconfig", 114)]
        }
        ("core.gardener.cloud", _, "BackupBucket") => &[("spec.credentialsRef", 120)],
        ("core.gardener.cloud", "v1beta1", "ControllerDeployment") => &[("injectGardenKubeconfig", 114)],
        ("core.gardener.cloud", _, "NamespacedCloudProfile") => &[
            ("spec.limits", 115),
            ("spec.machineImages.[].versions.[].capabilitySets", 118),
            ("spec.machineImages.[].versions.[].inPlaceUpdates", 113),
            ("spec.machineTypes.[].capabilities", 118),
            ("spec.providerConfig", 108),
        ],
        ("core.gardener.cloud", _, "Project") => &[("spec.dualApprovalForDeletion", 95)],
        ("core.gardener.cloud", _, "Seed") => &[
            ("spec.accessRestrictions", 107),
            ("spec.backup.credentialsRef", 118),
            ("spec.extensions", 116),
            ("spec.resources", 116),
            ("spec.settings.loadBalancerServices.proxyProtocol", 96),
            ("spec.settings.loadBalancerServices.zones.[].proxyProtocol", 96),
        ],
        ("seedmanagement.gardener.cloud", _, "Gardenlet") => {
            &[("spec.deployment.helm.ociRepository.pullSecretRef", 115), ("spec.kubeconfigSecretRef", 101)]
        }
        _ => &[],
    };
    let shared: [(&str, &[Row]); 3] = match (group, kind) {
        ("core.gardener.cloud", "Shoot") => [("spec.", &SHOOT), ("", &SHOOT_STATUS), ("", &CREDENTIALS)],
        ("core.gardener.cloud", "CloudProfile") => [("spec.", &PROFILE), ("", &[]), ("", &[])],
        ("core.gardener.cloud", "NamespacedCloudProfile") => {
            [("status.cloudProfileSpec.", &PROFILE), ("", &[]), ("", &[])]
        }
        ("seedmanagement.gardener.cloud", "ManagedSeedSet") => {
            [("spec.shootTemplate.spec.", &SHOOT), ("", &[]), ("", &[])]
        }
        ("operator.gardener.cloud", "Garden") => [("", &CREDENTIALS), ("", &[]), ("", &[])],
        _ => return own_only(own),
    };
    let shared = shared
        .iter()
        .flat_map(|(before, rows)| rows.iter().map(move |(path, since)| (format!("{before}{path}"), *since)));
    made(own.iter().map(|(path, since)| ((*path).to_owned(), *since)).chain(shared))
}

fn own_only(rows: &[Row]) -> &'static [LaterField] {
    made(rows.iter().map(|(path, since)| ((*path).to_owned(), *since)))
}

/// Rows live as long as the process.
fn made(rows: impl Iterator<Item = (String, u16)>) -> &'static [LaterField] {
    let fields = rows.map(|(path, since)| {
        let names: Vec<&'static str> = path.leak().split('.').collect();
        let has_default = names.last().is_some_and(|name| DEFAULTED.contains(name));
        LaterField { path: names.leak(), since, has_default }
    });
    fields.collect::<Vec<_>>().leak()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apimachinery::schema::{EACH, Node};

    use super::super::{all, controller_deployments_view, find, is_aggregated};

    #[test]
    fn a_release_serves_what_it_has() {
        let served = |release: u16| {
            let rows = all().iter().chain([controller_deployments_view()]).filter(|row| is_aggregated(row));
            let rows = rows.filter(|row| row.at(release).is_served());
            rows.map(|row| format!("{}/{} {}", row.group, row.version, row.plural)).collect::<BTreeSet<_>>()
        };
        let mut before = served(80);
        assert_eq!(before.len(), 19, "{before:?}");
        for (release, came, went) in
            [(91, 0, 0), (92, 1, 0), (94, 0, 0), (95, 1, 0), (96, 1, 0), (97, 2, 0), (141, 0, 0), (142, 0, 2)]
        {
            let now = served(release);
            let changes = (now.difference(&before).count(), before.difference(&now).count());
            assert_eq!(changes, (came, went), "{release}");
            before = now;
        }
        let shoots = find("core.gardener.cloud", "v1beta1", "shoots").expect("a row");
        let has = |release: u16| ["adminkubeconfig", "viewerkubeconfig"].map(|name| shoots.at(release).serves(name));
        assert_eq!((has(85), has(86)), ([true, false], [true, true]));
    }

    #[test]
    fn every_later_field_is_one_of_its_kind() {
        let mut count = 0;
        let mut missing = Vec::new();
        for row in all().iter().chain([controller_deployments_view()]) {
            for field in row.later {
                let found = field.path.iter().try_fold((row.schema)(), |node, name| match node {
                    Node::List(inner) | Node::Map(inner) if *name == EACH => Some(*inner),
                    node => Some(node.as_object()?.field(name)?.node.clone()),
                });
                if found.is_none() {
                    missing.push(format!("{} {}", row.kind, field.path.join(".")));
                }
                count += 1;
            }
        }
        assert_eq!(missing, Vec::<String>::new());
        assert!(count > 90, "{count}");
    }
}
