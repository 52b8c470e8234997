// SPDX-License-Identifier: Apache-2.0
//! Fields, resources and subresources of Gardener that only some releases from v1.80 on have.
//!
//! **Deliberately absent**: `spec.cloudProfile` of a Shoot (1.92), and `autoEnable` and `clusterCompatibility` of a resource of a
//! ControllerRegistration (1.120), by which every component here finds the profile and the extension; the group extensions,
//! whose definitions are those of an extension.
//!
//! Source: pkg/apis/{core/v1beta1,core/v1,seedmanagement/v1alpha1,operator/v1alpha1}/types_*.go of v1.80.0 to v1.149.0: the first
//! release that has the path from the kind to the field, and the first one after it that does not.

use apimachinery::catalogue::{Life, ReleasedField};
use apimachinery::release::Releases;

/// Path of a field and the releases that have it; `[]` stands for each item of a list or map.
type Row = (&'static str, Releases);

const fn since(minor: u16) -> Releases {
    Releases::since(minor)
}

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

/// Fields in the status of Shoots and Gardens.
const CREDENTIALS: [Row; 3] = [
    ("status.credentials.rotation.certificateAuthorities.pendingWorkersRollouts", since(112)),
    ("status.credentials.rotation.etcdEncryptionKey.autoCompleteAfterPrepared", since(128)),
    ("status.credentials.rotation.serviceAccountKey.pendingWorkersRollouts", since(112)),
];

/// Fields below `spec` of a Shoot.
const SHOOT: [Row; 37] = [
    ("accessRestrictions", since(107)),
    ("credentialsBindingName", since(98)),
    ("kubernetes.clusterAutoscaler.ignoreDaemonsetsUtilization", since(87)),
    ("kubernetes.clusterAutoscaler.maxEmptyBulkDelete", since(82)),
    ("kubernetes.clusterAutoscaler.newPodScaleUpDelay", since(82)),
    ("kubernetes.clusterAutoscaler.startupTaints", since(109)),
    ("kubernetes.clusterAutoscaler.statusTaints", since(109)),
    ("kubernetes.clusterAutoscaler.verbosity", since(87)),
    ("kubernetes.etcd", since(114)),
    ("kubernetes.kubeAPIServer.autoscaling", since(114)),
    ("kubernetes.kubeAPIServer.encryptionConfig", since(86)),
    ("kubernetes.kubeAPIServer.structuredAuthentication", since(102)),
    ("kubernetes.kubeAPIServer.structuredAuthorization", since(107)),
    ("kubernetes.kubelet.imageMaximumGCAge", since(120)),
    ("kubernetes.kubelet.imageMinimumGCAge", since(120)),
    ("kubernetes.kubelet.maxParallelImagePulls", since(120)),
    ("kubernetes.verticalPodAutoscaler.cpuHistogramDecayHalfLife", since(111)),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationInterval", since(112)),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationIntervalCount", since(112)),
    ("kubernetes.verticalPodAutoscaler.memoryHistogramDecayHalfLife", since(111)),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundCPUPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundMemoryPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundCPUPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundMemoryPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.targetCPUPercentile", since(90)),
    ("kubernetes.verticalPodAutoscaler.targetMemoryPercentile", since(102)),
    ("maintenance.autoRotation", since(135)),
    ("provider.workers.[].clusterAutoscaler", since(90)),
    ("provider.workers.[].controlPlane", since(113)),
    ("provider.workers.[].controlPlane.backup", since(120)),
    ("provider.workers.[].kubernetes.kubelet.imageMaximumGCAge", since(120)),
    ("provider.workers.[].kubernetes.kubelet.imageMinimumGCAge", since(120)),
    ("provider.workers.[].kubernetes.kubelet.maxParallelImagePulls", since(120)),
    ("provider.workers.[].machineControllerManager.disableHealthTimeout", since(115)),
    ("provider.workers.[].machineControllerManager.inPlaceUpdateTimeout", since(115)),
    ("provider.workers.[].priority", since(112)),
    ("provider.workers.[].updateStrategy", since(113)),
];

/// Fields in the status of a Shoot, in addition to [`CREDENTIALS`].
const SHOOT_STATUS: [Row; 4] = [
    ("status.encryptedResources", since(86)),
    ("status.inPlaceUpdates", since(118)),
    ("status.networking", since(99)),
    ("status.networking.egressCIDRs", since(107)),
];

/// Fields below `spec` of a CloudProfile, and below the merged profile in the status of a NamespacedCloudProfile.
const PROFILE: [Row; 8] = [
    ("bastion", since(101)),
    ("capabilities", since(118)),
    ("limits", since(113)),
    ("machineImages.[].updateStrategy", since(83)),
    ("machineImages.[].versions.[].capabilitySets", since(118)),
    ("machineImages.[].versions.[].inPlaceUpdates", since(113)),
    ("machineTypes.[].capabilities", since(118)),
    ("regions.[].accessRestrictions", since(107)),
];

const SHOOT_SUBRESOURCES: [(&str, Releases); 1] = [("viewerkubeconfig", since(86))];

/// Releases that serve a resource of Gardener; [`Releases::ALL`] for most.
///
/// Source: pkg/apiserver/registry/*/rest/storage_*.go of each release.
pub(super) fn life(group: &str, version: &str, plural: &str) -> Life {
    let of = |releases| Life { releases, ..Life::default() };
    match (group, version, plural) {
        ("core.gardener.cloud", "v1beta1", "namespacedcloudprofiles") => of(since(92)),
        ("core.gardener.cloud", "v1", _) => of(since(96)),
        ("core.gardener.cloud", _, "shoots") => Life { subresources: &SHOOT_SUBRESOURCES, ..Life::default() },
        ("security.gardener.cloud", _, "credentialsbindings") => of(since(95)),
        ("security.gardener.cloud", ..) | ("seedmanagement.gardener.cloud", _, "gardenlets") => of(since(97)),
        ("settings.gardener.cloud", ..) => of(Releases::until(142)),
        _ => Life::default(),
    }
}

/// Fields of a kind of one group and version that only some releases have; empty for most kinds.
pub(super) fn fields(group: &str, version: &str, kind: &str) -> &'static [ReleasedField] {
    let own: &[Row] = match (group, version, kind) {
        ("core.gardener.cloud", "v1", "ControllerDeployment") => {
            &[("helm.ociRepository.pullSecretRef", since(115)), ("injectGardenKubeconfig", since(114))]
        }
        ("core.gardener.cloud", _, "BackupBucket") => &[("spec.credentialsRef", since(120))],
        ("core.gardener.cloud", "v1beta1", "ControllerDeployment") => &[("injectGardenKubeconfig", since(114))],
        ("core.gardener.cloud", _, "NamespacedCloudProfile") => &[
            ("spec.limits", since(115)),
            ("spec.machineImages.[].versions.[].capabilitySets", since(118)),
            ("spec.machineImages.[].versions.[].inPlaceUpdates", since(113)),
            ("spec.machineTypes.[].capabilities", since(118)),
            ("spec.providerConfig", since(108)),
        ],
        ("core.gardener.cloud", _, "Project") => &[("spec.dualApprovalForDeletion", since(95))],
        ("core.gardener.cloud", _, "Seed") => &[
            ("spec.accessRestrictions", since(107)),
            ("spec.backup.credentialsRef", since(118)),
            ("spec.extensions", since(116)),
            ("spec.resources", since(116)),
            ("spec.settings.loadBalancerServices.proxyProtocol", since(96)),
            ("spec.settings.loadBalancerServices.zones.[].proxyProtocol", since(96)),
        ],
        ("seedmanagement.gardener.cloud", _, "Gardenlet") => &[
            ("spec.deployment.helm.ociRepository.pullSecretRef", since(115)),
            ("spec.kubeconfigSecretRef", since(101)),
        ],
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
        .flat_map(|(before, rows)| rows.iter().map(move |(path, releases)| (format!("{before}{path}"), *releases)));
    made(own.iter().map(|(path, releases)| ((*path).to_owned(), *releases)).chain(shared))
}

fn own_only(rows: &[Row]) -> &'static [ReleasedField] {
    made(rows.iter().map(|(path, releases)| ((*path).to_owned(), *releases)))
}

/// Rows live as long as the process.
fn made(rows: impl Iterator<Item = (String, Releases)>) -> &'static [ReleasedField] {
    let fields = rows.map(|(path, releases)| {
        let names: Vec<&'static str> = path.leak().split('.').collect();
        let has_default = names.last().is_some_and(|name| DEFAULTED.contains(name));
        ReleasedField { path: names.leak(), releases, has_default }
    });
    fields.collect::<Vec<_>>().leak()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apimachinery::release::Release;
    use apimachinery::schema::{EACH, Node};

    use super::super::{all, controller_deployments_view, find, is_aggregated};

    #[test]
    fn a_release_serves_its_own_resources() {
        let served = |release: u16| {
            let rows = all().iter().chain([controller_deployments_view()]).filter(|row| is_aggregated(row));
            let rows = rows.filter(|row| row.at(Release(release)).is_served());
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
        let has =
            |release: u16| ["adminkubeconfig", "viewerkubeconfig"].map(|name| shoots.at(Release(release)).serves(name));
        assert_eq!((has(85), has(86)), ([true, false], [true, true]));
    }

    #[test]
    fn every_released_field_is_one_of_its_kind() {
        let mut count = 0;
        let mut missing = Vec::new();
        for row in all().iter().chain([controller_deployments_view()]) {
            for field in row.fields {
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
