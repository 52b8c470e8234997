// SPDX-License-Identifier: Apache-2.0
//! Fields that came with a release of Gardener after 1.80: an older landscape does not know them.
//!
//! **Deliberately absent**: fields below a list or map, and of a status, but for one of rotations; `spec.cloudProfile` of a
//! Shoot (1.92), by which every component here finds the profile; kinds that came later; fields that a later release no
//! longer has. Fields that came after 1.120 are here if the schema has them.
//!
//! Source: pkg/apis/{core/v1beta1,core/v1,seedmanagement/v1alpha1}/types_*.go, the first of v1.81.0 to v1.149.0 that has the field.

use apimachinery::catalogue::LaterField;

/// Path and minor.
type Row = (&'static str, u16);

/// Fields of the automatic rotation of the encryption key of etcd, in the status of Shoots and Gardens.
const AUTO_COMPLETED_ROTATION: Row = ("status.credentials.rotation.etcdEncryptionKey.autoCompleteAfterPrepared", 128);

/// Below `spec` of a Shoot.
const SHOOT: [Row; 26] = [
    ("accessRestrictions", 107),
    ("credentialsBindingName", 98),
    ("kubernetes.clusterAutoscaler.ignoreDaemonsetsUtilization", 87),
    ("kubernetes.clusterAutoscaler.maxEmptyBulkDelete", 82),
    ("kubernetes.clusterAutoscaler.newPodScaleUpDelay", 82),
    ("kubernetes.clusterAutoscaler.startupTaints", 109),
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
];

/// Of a kind of one group and version; empty for most.
pub(super) fn fields(group: &str, version: &str, kind: &str) -> &'static [LaterField] {
    let own: &[Row] = match (group, version, kind) {
        ("core.gardener.cloud", _, "BackupBucket") => &[("spec.credentialsRef", 120)],
        ("core.gardener.cloud", _, "CloudProfile") => &[("spec.bastion", 101), ("spec.limits", 113)],
        ("core.gardener.cloud", "v1", "ControllerDeployment") => {
            &[("injectGardenKubeconfig", 114), ("helm.ociRepository.pullSecretRef", 115)]
        }
        ("core.gardener.cloud", "v1beta1", "ControllerDeployment") => &[("injectGardenKubeconfig", 114)],
        ("core.gardener.cloud", _, "NamespacedCloudProfile") => &[("spec.limits", 115), ("spec.providerConfig", 108)],
        ("core.gardener.cloud", _, "Project") => &[("spec.dualApprovalForDeletion", 95)],
        ("core.gardener.cloud", _, "Seed") => &[
            ("spec.accessRestrictions", 107),
            ("spec.backup.credentialsRef", 118),
            ("spec.extensions", 116),
            ("spec.resources", 116),
            ("spec.settings.loadBalancerServices.proxyProtocol", 96),
        ],
        ("core.gardener.cloud", _, "Shoot") => &[AUTO_COMPLETED_ROTATION],
        ("operator.gardener.cloud", _, "Garden") => &[AUTO_COMPLETED_ROTATION],
        ("seedmanagement.gardener.cloud", _, "Gardenlet") => &[("spec.kubeconfigSecretRef", 101)],
        _ => &[],
    };
    let specification = match kind {
        "Shoot" => "spec.",
        "ManagedSeedSet" => "spec.shootTemplate.spec.",
        _ => "",
    };
    let of_shoot = SHOOT.iter().filter(|_| !specification.is_empty());
    let of_shoot = of_shoot.map(|(path, since)| (format!("{specification}{path}"), *since));
    let all = own.iter().map(|(path, since)| ((*path).to_owned(), *since)).chain(of_shoot);
    // Rows live as long as the process.
    let all = all.map(|(path, since)| {
        let names: Vec<&'static str> = path.leak().split('.').collect();
        LaterField { path: names.leak(), since }
    });
    all.collect::<Vec<_>>().leak()
}

#[cfg(test)]
mod tests {
    use super::super::{all, controller_deployments_view};

    #[test]
    fn every_later_field_is_one_of_its_kind() {
        let mut count = 0;
        for row in all().iter().chain([controller_deployments_view()]) {
            for field in row.later {
                let found = field
                    .path
                    .iter()
                    .try_fold((row.schema)(), |node, name| Some(node.as_object()?.field(name)?.node.clone()));
                assert!(found.is_some(), "{} {:?}", row.kind, field.path);
                count += 1;
            }
        }
        assert!(count > 60, "{count}");
    }
}
