// SPDX-License-Identifier: Apache-2.0
//! Fields, resources, subresources and field selectors of Gardener that only some releases from v1.80 on have.
//!
//! **Deliberately absent**: `autoEnable` and `clusterCompatibility` of a resource of a ControllerRegistration (1.120), by which
//! every component here finds the extension; fields of the groups operator and extensions that are older than 1.121.
//!
//! A server without a release serves the union of all releases. Kinds of CustomResourceDefinitions have the release of the
//! component that installs them.
//!
//! Source: types_*.go of v1.80.0 to v1.149.0 in pkg/apis/{core/v1beta1,core/v1,extensions/v1alpha1,operator/v1alpha1,
//! seedmanagement/v1alpha1,settings/v1alpha1}: the first release that has the path from the kind to the field, and the first
//! later one that does not. For group machine.sapcloud.io: the definitions in
//! pkg/component/nodemanagement/machinecontrollermanager/templates.

use apimachinery::catalogue::{Attribute, FieldDefault, Life, ReleasedAttribute, ReleasedField, RenamedField};
use apimachinery::release::Releases;
use apimachinery::schema::EACH;

/// Path of a field and the releases that have it; `[]` stands for each item of a list or map.
type Row = (&'static str, Releases);

/// A path and the rows below it.
type Table = (&'static str, &'static [Row]);

/// Ends of the paths of fields whose default creates missing parents.
const ALWAYS_DEFAULTED: &[&str] = &[
    "enableHealthProbes",
    "kubernetes.kubeAPIServer.encryptionConfig.provider",
    "kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6",
    "persistentVolumeClaimAutoscaler",
    "zonalIngress",
];

const fn since(minor: u16) -> Releases {
    Releases::since(minor)
}

const fn until(minor: u16) -> Releases {
    Releases::until(minor)
}

const fn between(since: u16, until: u16) -> Releases {
    Releases::between(since, until)
}

/// Ends of the paths of fields that have a default wherever their parent exists (`domain::defaulting`).
const DEFAULTED: &[&str] = &[
    "autoRotation",
    "cpuHistogramDecayHalfLife",
    "emitPerNodeGroupMetrics",
    "ignoreDaemonsetsUtilization",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "initialNodeGroupBackoffDuration",
    "maxBinpackingTime",
    "maxDrainParallelism",
    "maxEmptyBulkDelete",
    "maxNodeGroupBackoffDuration",
    "maxScaleDownParallelism",
    "memoryAggregationInterval",
    "memoryAggregationIntervalCount",
    "memoryHistogramDecayHalfLife",
    "newPodScaleUpDelay",
    "nodeGroupBackoffResetTimeout",
    "recommendationLowerBoundCPUPercentile",
    "recommendationLowerBoundMemoryPercentile",
    "recommendationUpperBoundCPUPercentile",
    "recommendationUpperBoundMemoryPercentile",
    "recommenderUpdateWorkerCount",
    "targetCPUPercentile",
    "targetMemoryPercentile",
    "updateStrategy",
    "verbosity",
];

/// Fields below `status.credentials` of Shoots and Gardens.
const CREDENTIALS: &[Row] = &[
    ("encryptionAtRest", since(133)),
    ("encryptionAtRest.provider", since(136)),
    ("rotation.certificateAuthorities.pendingWorkersRollouts", since(112)),
    ("rotation.etcdEncryptionKey.autoCompleteAfterPrepared", since(128)),
    ("rotation.serviceAccountKey.pendingWorkersRollouts", since(112)),
];

/// Fields below the settings of a kube-apiserver, those of a Shoot or of a virtual cluster.
const KUBE_API_SERVER: &[Row] = &[
    ("autoscaling", since(114)),
    ("encryptionConfig", since(86)),
    ("encryptionConfig.provider", since(136)),
    ("oidcConfig", until(142)),
    ("oidcConfig.clientAuthentication", until(141)),
    ("structuredAuthentication", since(102)),
    ("structuredAuthorization", since(107)),
    ("tlsMinVersion", since(149)),
];

/// Fields below the settings of a kube-controller-manager.
const KUBE_CONTROLLER_MANAGER: &[Row] = &[("nodeCIDRMaskSizeIPv6", since(138))];

/// Fields below the settings of kubelets, those of a Shoot or of a worker pool.
const KUBELET: &[Row] = &[
    ("imageMaximumGCAge", since(120)),
    ("imageMinimumGCAge", since(120)),
    ("imagePullCredentialsVerificationPolicy", since(149)),
    ("maxParallelImagePulls", since(120)),
    ("preloadedImagesVerificationAllowlist", since(149)),
    ("singleProcessOOMKill", since(143)),
    ("systemReserved", until(141)),
];

/// Fields below the settings of machine-controller-manager for a worker pool.
const PRESERVATION: &[Row] = &[("autoPreserveFailedMachineMax", since(147)), ("machinePreserveTimeout", since(147))];

/// Fields below the settings of a vertical pod autoscaler.
const AUTOSCALER_LIMITS: &[Row] = &[("featureGates", since(124)), ("maxAllowed", since(125))];

/// Fields below the settings of backups.
const BACKUP: &[Row] = &[("secretRef", until(123))];

/// Fields below `spec` of a Shoot.
const SHOOT: &[Row] = &[
    ("accessRestrictions", since(107)),
    ("cloudProfile", since(92)),
    ("credentialsBindingName", since(98)),
    ("dns.providers.[].credentialsRef", since(135)),
    ("kubernetes.clusterAutoscaler.autoscaling", since(147)),
    ("kubernetes.clusterAutoscaler.emitPerNodeGroupMetrics", since(141)),
    ("kubernetes.clusterAutoscaler.ignoreDaemonsetsUtilization", since(87)),
    ("kubernetes.clusterAutoscaler.initialNodeGroupBackoffDuration", since(132)),
    ("kubernetes.clusterAutoscaler.maxBinpackingTime", since(142)),
    ("kubernetes.clusterAutoscaler.maxDrainParallelism", since(121)),
    ("kubernetes.clusterAutoscaler.maxEmptyBulkDelete", since(82)),
    ("kubernetes.clusterAutoscaler.maxNodeGroupBackoffDuration", since(132)),
    ("kubernetes.clusterAutoscaler.maxScaleDownParallelism", since(121)),
    ("kubernetes.clusterAutoscaler.newPodScaleUpDelay", since(82)),
    ("kubernetes.clusterAutoscaler.nodeGroupBackoffResetTimeout", since(132)),
    ("kubernetes.clusterAutoscaler.startupTaints", since(109)),
    ("kubernetes.clusterAutoscaler.statusTaints", since(109)),
    ("kubernetes.clusterAutoscaler.verbosity", since(87)),
    ("kubernetes.enableStaticTokenKubeconfig", until(122)),
    ("kubernetes.etcd", since(114)),
    ("kubernetes.verticalPodAutoscaler.cpuHistogramDecayHalfLife", since(111)),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationInterval", since(112)),
    ("kubernetes.verticalPodAutoscaler.memoryAggregationIntervalCount", since(112)),
    ("kubernetes.verticalPodAutoscaler.memoryHistogramDecayHalfLife", since(111)),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundCPUPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationLowerBoundMemoryPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundCPUPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommendationUpperBoundMemoryPercentile", since(102)),
    ("kubernetes.verticalPodAutoscaler.recommenderUpdateWorkerCount", since(135)),
    ("kubernetes.verticalPodAutoscaler.targetCPUPercentile", since(90)),
    ("kubernetes.verticalPodAutoscaler.targetMemoryPercentile", since(102)),
    ("maintenance.autoRotation", since(135)),
    ("provider.workers.[].clusterAutoscaler", since(90)),
    ("provider.workers.[].controlPlane", since(113)),
    ("provider.workers.[].controlPlane.backup", since(120)),
    ("provider.workers.[].controlPlane.exposure", since(136)),
    ("provider.workers.[].machineControllerManager.disableHealthTimeout", since(115)),
    ("provider.workers.[].machineControllerManager.inPlaceUpdateTimeout", since(115)),
    ("provider.workers.[].priority", since(112)),
    ("provider.workers.[].updateStrategy", since(113)),
];

/// Fields in the status of a Shoot, in addition to [`CREDENTIALS`].
const SHOOT_STATUS: &[Row] = &[
    ("advertisedAddresses.[].application", since(138)),
    ("credentials.rotation.kubeconfig", until(129)),
    ("encryptedResources", between(86, 139)),
    ("inPlaceUpdates", since(118)),
    ("liveMigration", since(142)),
    ("manualWorkerPoolRollout", since(132)),
    ("networking", since(99)),
    ("networking.egressCIDRs", since(107)),
];

/// Fields below `spec` of a CloudProfile or NamespacedCloudProfile, and of the result of both.
const OFFERS: &[Row] = &[
    ("kubernetes.versions.[].lifecycle", since(137)),
    ("machineImages.[].versions.[].capabilityFlavors", since(128)),
    ("machineImages.[].versions.[].capabilitySets", between(118, 128)),
    ("machineImages.[].versions.[].inPlaceUpdates", since(113)),
    ("machineImages.[].versions.[].lifecycle", since(137)),
    ("machineTypes.[].capabilities", since(118)),
    ("machineTypes.[].machineControllerManager", since(137)),
];

/// Fields below `spec` of a CloudProfile that a NamespacedCloudProfile's own specification does not have.
const PROFILE: &[Row] = &[
    ("bastion", since(101)),
    ("capabilities", between(118, 128)),
    ("limits", since(113)),
    ("machineCapabilities", since(128)),
    ("machineImages.[].updateStrategy", since(83)),
    ("regions.[].accessRestrictions", since(107)),
];

/// Fields below each resource of an extension.
const RESPONSIBILITY: &[Row] = &[("continuousEndpointUpdate", since(148)), ("globallyEnabled", until(123))];

/// Fields below the deployment of a gardenlet.
const GARDENLET_DEPLOYMENT: &[Row] =
    &[("enableHealthProbes", since(149)), ("image.ref", since(140)), ("tolerations", since(136))];

/// Fields below the place of a chart in a registry.
const REGISTRY: &[Row] = &[("caBundleSecretRef", since(136))];

/// Fields of a Garden, in addition to the tables that it shares.
const GARDEN: &[Row] = &[
    ("spec.resources", since(133)),
    ("spec.runtimeCluster.networking.ipFamilies", since(129)),
    ("spec.runtimeCluster.settings.loadBalancerServices.externalTrafficPolicy", since(141)),
    ("spec.runtimeCluster.settings.loadBalancerServices.proxyProtocol", since(141)),
    ("spec.virtualCluster.gardener.gardenerAPIServer.encryptionConfig.provider", since(136)),
    (
        "spec.virtualCluster.gardener.gardenerAdmissionController.resourceAdmissionConfiguration.limits.[].count",
        since(132),
    ),
    ("spec.virtualCluster.gardener.gardenerDashboard.domain", since(146)),
    ("spec.virtualCluster.gardener.gardenerDashboard.propagateCAFromSNI", since(142)),
    ("spec.virtualCluster.gardener.gardenerDashboard.tlsSecretName", since(146)),
    ("spec.virtualCluster.gardener.gardenerDiscoveryServer.domain", since(138)),
    ("spec.virtualCluster.gardener.gardenerDiscoveryServer.tlsSecretName", since(138)),
    ("spec.virtualCluster.gardener.gardenerResourceManager", since(135)),
    ("spec.virtualCluster.gardener.gardenerScheduler.strategy", since(145)),
    ("status.advertisedAddresses", since(143)),
    ("status.encryptedResources", until(139)),
];

/// Fields of a MachineDeployment or MachineSet.
const MACHINES: &[Row] = &[
    ("spec.autoPreserveFailedMachineMax", since(147)),
    ("spec.template.spec.machinePreserveTimeout", since(147)),
    ("status.preservedFailedReplicas", since(147)),
];

/// Fields of a Worker of group extensions.
const WORKER: &[Row] = &[("status.machineDeployments.[].autoPreserveFailedMachineMax", since(147))];

/// Fields of an OperatingSystemConfig.
const OPERATING_SYSTEM_CONFIG: &[Row] = &[
    ("spec.criConfig.containerd.registries.[].hosts.[].overridePath", since(129)),
    ("spec.files.[].hostName", since(137)),
    ("status.extensionFiles.[].hostName", since(137)),
];

/// Fields below `spec` of a Seed.
const SEED: &[Row] = &[
    ("accessRestrictions", since(107)),
    ("backup.credentialsRef", since(118)),
    ("dns.defaults", since(131)),
    ("dns.internal", since(127)),
    ("dns.provider.credentialsRef", since(135)),
    ("dns.provider.secretRef", until(139)),
    ("extensions", since(116)),
    ("resources", since(116)),
    ("settings.loadBalancerServices.class", since(132)),
    ("settings.loadBalancerServices.proxyProtocol", since(96)),
    ("settings.loadBalancerServices.zonalIngress", since(131)),
    ("settings.loadBalancerServices.zones.[].proxyProtocol", since(96)),
    ("settings.persistentVolumeClaimAutoscaler", since(145)),
    ("settings.zoneSelection", since(139)),
];

const CLOUD_PROFILE_SUBRESOURCES: [(&str, Releases); 1] = [("status", since(137))];

const SHOOT_SUBRESOURCES: [(&str, Releases); 1] = [("viewerkubeconfig", since(86))];

const SHOOT_SELECTORS: [(&str, Releases); 2] =
    [("spec.cloudProfile.Name", since(101)), ("spec.cloudProfile.Kind", since(101))];

const fn renamed_in_128(former: &'static [&'static str], new: &'static [&'static str]) -> RenamedField {
    RenamedField { former, new, releases: since(128) }
}

/// Source: the numbers of the fields in pkg/apis/core/v1beta1/generated.proto @ v1.127.0 and v1.128.0.
const CLOUD_PROFILE_NAMES: [RenamedField; 2] = [
    renamed_in_128(&["spec", "capabilities"], &["spec", "machineCapabilities"]),
    renamed_in_128(
        &["spec", "machineImages", EACH, "versions", EACH, "capabilitySets"],
        &["spec", "machineImages", EACH, "versions", EACH, "capabilityFlavors"],
    ),
];

const NAMESPACED_CLOUD_PROFILE_NAMES: [RenamedField; 3] = [
    CLOUD_PROFILE_NAMES[1],
    renamed_in_128(
        &["status", "cloudProfileSpec", "capabilities"],
        &["status", "cloudProfileSpec", "machineCapabilities"],
    ),
    renamed_in_128(
        &["status", "cloudProfileSpec", "machineImages", EACH, "versions", EACH, "capabilitySets"],
        &["status", "cloudProfileSpec", "machineImages", EACH, "versions", EACH, "capabilityFlavors"],
    ),
];

/// Releases that serve a resource of Gardener, [`Releases::ALL`] for most, and its renamed fields.
///
/// Source: pkg/apiserver/registry/*/rest/storage_*.go and pkg/apis/core/v1beta1/conversions.go of each release.
pub(super) fn life(group: &str, version: &str, plural: &str) -> Life {
    let of = |releases| Life { releases, ..Life::default() };
    match (group, version, plural) {
        ("core.gardener.cloud", _, "cloudprofiles") => {
            Life { subresources: &CLOUD_PROFILE_SUBRESOURCES, renamed_fields: &CLOUD_PROFILE_NAMES, ..Life::default() }
        }
        ("core.gardener.cloud", "v1beta1", "namespacedcloudprofiles") => {
            Life { releases: since(92), renamed_fields: &NAMESPACED_CLOUD_PROFILE_NAMES, ..Life::default() }
        }
        ("core.gardener.cloud", "v1", _) => of(since(96)),
        ("core.gardener.cloud", _, "shoots") => {
            Life { subresources: &SHOOT_SUBRESOURCES, field_selectors: &SHOOT_SELECTORS, ..Life::default() }
        }
        ("security.gardener.cloud", _, "credentialsbindings") => of(since(95)),
        ("security.gardener.cloud", ..) | ("seedmanagement.gardener.cloud", _, "gardenlets") => of(since(97)),
        ("extensions.gardener.cloud", _, "selfhostedshootexposures") => of(since(138)),
        ("settings.gardener.cloud", ..) => of(until(142)),
        _ => Life::default(),
    }
}

/// Tables that a Shoot shares with other kinds, below its `spec`.
const SHOOT_SPEC: &[Table] = &[
    ("", SHOOT),
    ("kubernetes.kubeAPIServer.", KUBE_API_SERVER),
    ("kubernetes.kubeControllerManager.", KUBE_CONTROLLER_MANAGER),
    ("kubernetes.kubelet.", KUBELET),
    ("kubernetes.verticalPodAutoscaler.", AUTOSCALER_LIMITS),
    ("provider.workers.[].controlPlane.backup.", BACKUP),
    ("provider.workers.[].kubernetes.kubelet.", KUBELET),
    ("provider.workers.[].machineControllerManager.", PRESERVATION),
];

/// Fields of a kind of one group and version that only some releases have; empty for most kinds.
pub(super) fn fields(group: &str, version: &str, kind: &str) -> &'static [ReleasedField] {
    let tables: &[Table] = match (group, version, kind) {
        ("core.gardener.cloud", "v1", "ControllerDeployment") => &[
            ("", const { &[("injectGardenKubeconfig", since(114)), ("resources", since(147))] }),
            ("helm.ociRepository.", const { &[("pullSecretRef", since(115))] }),
            ("helm.ociRepository.", REGISTRY),
        ],
        ("core.gardener.cloud", _, "BackupBucket") => &[(
            "spec.",
            const { &[("credentialsRef", since(120)), ("secretRef", until(124)), ("shootRef", since(135))] },
        )],
        ("core.gardener.cloud", _, "BackupEntry") => &[("spec.", const { &[("shootRef", since(135))] })],
        ("core.gardener.cloud", _, "CloudProfile") => {
            &[("spec.", OFFERS), ("spec.", PROFILE), ("", const { &[("status", since(137))] })]
        }
        ("core.gardener.cloud", "v1beta1", "ControllerDeployment") => {
            &[("", const { &[("injectGardenKubeconfig", since(114))] })]
        }
        ("core.gardener.cloud", _, "ControllerInstallation") => {
            &[("spec.", const { &[("resourceRefs", since(147)), ("shootRef", since(138))] })]
        }
        ("core.gardener.cloud", _, "ControllerRegistration") => &[("spec.resources.[].", RESPONSIBILITY)],
        ("core.gardener.cloud", _, "NamespacedCloudProfile") => &[
            ("spec.", OFFERS),
            ("spec.", const { &[("limits", since(115)), ("providerConfig", since(108))] }),
            ("status.cloudProfileSpec.", OFFERS),
            ("status.cloudProfileSpec.", PROFILE),
        ],
        ("core.gardener.cloud", _, "Project") => {
            &[("", const { &[("spec.dualApprovalForDeletion", since(95)), ("status.conditions", since(140))] })]
        }
        ("core.gardener.cloud", _, "Seed") => {
            &[("spec.", SEED), ("spec.backup.", BACKUP), ("spec.settings.verticalPodAutoscaler.", AUTOSCALER_LIMITS)]
        }
        ("core.gardener.cloud", _, "Shoot") => {
            let status: &[Table] = &[("status.", SHOOT_STATUS), ("status.credentials.", CREDENTIALS)];
            return rows_below([("spec.", SHOOT_SPEC), ("", status)]);
        }
        ("extensions.gardener.cloud", _, "ControlPlane") => &[("spec.", const { &[("purpose", until(123))] })],
        ("extensions.gardener.cloud", _, "OperatingSystemConfig") => &[("", OPERATING_SYSTEM_CONFIG)],
        ("extensions.gardener.cloud", _, "Worker") => &[
            ("", WORKER),
            ("spec.pools.[].kubeletConfig.", KUBELET),
            ("spec.pools.[].machineControllerManager.", PRESERVATION),
        ],
        ("machine.sapcloud.io", _, "Machine") => &[(
            "",
            const {
                &[
                    ("spec.machinePreserveTimeout", since(147)),
                    ("status.addresses", since(127)),
                    ("status.currentStatus.preserveExpiryTime", since(147)),
                ]
            },
        )],
        ("machine.sapcloud.io", _, "MachineClass") => {
            &[("nodeTemplate.", const { &[("virtualCapacity", since(127))] })]
        }
        ("machine.sapcloud.io", _, "MachineDeployment") => &[("", MACHINES)],
        ("machine.sapcloud.io", _, "MachineSet") => {
            &[("", MACHINES), ("status.", const { &[("autoPreserveFailedMachineCount", since(147))] })]
        }
        ("operator.gardener.cloud", _, "Extension") => &[
            ("spec.deployment.", const { &[("resources", since(147))] }),
            ("spec.deployment.admission.runtimeCluster.helm.ociRepository.", REGISTRY),
            ("spec.deployment.admission.virtualCluster.helm.ociRepository.", REGISTRY),
            ("spec.deployment.extension.helm.ociRepository.", REGISTRY),
            ("spec.resources.[].", RESPONSIBILITY),
        ],
        ("operator.gardener.cloud", _, "Garden") => &[
            ("", GARDEN),
            ("spec.runtimeCluster.settings.verticalPodAutoscaler.", AUTOSCALER_LIMITS),
            ("spec.virtualCluster.kubernetes.kubeAPIServer.", KUBE_API_SERVER),
            ("spec.virtualCluster.kubernetes.kubeControllerManager.", KUBE_CONTROLLER_MANAGER),
            ("status.credentials.", CREDENTIALS),
        ],
        ("seedmanagement.gardener.cloud", _, "Gardenlet") => &[
            ("spec.", const { &[("kubeconfigSecretRef", since(101))] }),
            ("spec.deployment.", GARDENLET_DEPLOYMENT),
            ("spec.deployment.helm.ociRepository.", const { &[("pullSecretRef", since(115))] }),
            ("spec.deployment.helm.ociRepository.", REGISTRY),
        ],
        ("seedmanagement.gardener.cloud", _, "ManagedSeed") => &[("spec.gardenlet.deployment.", GARDENLET_DEPLOYMENT)],
        ("seedmanagement.gardener.cloud", _, "ManagedSeedSet") => {
            let gardenlet: &[Table] = &[("spec.template.spec.gardenlet.deployment.", GARDENLET_DEPLOYMENT)];
            return rows_below([("spec.shootTemplate.spec.", SHOOT_SPEC), ("", gardenlet)]);
        }
        ("settings.gardener.cloud", ..) => &[("spec.", const { &[("client", until(141))] })],
        _ => &[],
    };
    rows_below([("", tables)])
}

/// Required fields of a Shoot's settings that later releases do not require.
const ENCRYPTED_RESOURCES: &str = "kubernetes.kubeAPIServer.encryptionConfig.resources";

/// Attributes of fields of a kind that only some releases have; the types have those of v1.149. Empty for most kinds.
pub(super) fn attributes(group: &str, kind: &str) -> &'static [ReleasedAttribute] {
    const REQUIRED: Attribute = Attribute::Required;
    let rows: &[(&str, &[&str], Attribute, Releases)] = match (group, kind) {
        ("core.gardener.cloud", "ControllerInstallation") => &[("spec.", &["seedRef"], REQUIRED, until(138))],
        ("core.gardener.cloud", "Shoot") => &[
            ("spec.", &["cloudProfileName"], REQUIRED, until(101)),
            ("spec.", &["dns.providers"], Attribute::MergeKey("type"), until(136)),
            ("spec.", &[ENCRYPTED_RESOURCES], REQUIRED, until(136)),
        ],
        ("seedmanagement.gardener.cloud", "ManagedSeedSet") => &[
            ("spec.shootTemplate.spec.", &["cloudProfileName"], REQUIRED, until(101)),
            ("spec.shootTemplate.spec.", &["dns.providers"], Attribute::MergeKey("type"), until(136)),
            ("spec.shootTemplate.spec.", &[ENCRYPTED_RESOURCES], REQUIRED, until(136)),
        ],
        ("extensions.gardener.cloud", "Cluster") => &[("spec.", &["seed"], REQUIRED, until(147))],
        ("extensions.gardener.cloud", "Worker") => {
            &[("", &["spec.pools.[].priority", "status.machineDeployments.[].priority"], REQUIRED, between(127, 129))]
        }
        ("operator.gardener.cloud", "Garden") => &[
            ("spec.virtualCluster.", &[ENCRYPTED_RESOURCES], REQUIRED, until(136)),
            ("spec.virtualCluster.gardener.", &["gardenerAPIServer.encryptionConfig.resources"], REQUIRED, until(136)),
            (
                "spec.virtualCluster.gardener.gardenerAdmissionController.",
                &["resourceAdmissionConfiguration.limits.[].size"],
                REQUIRED,
                until(132),
            ),
        ],
        _ => &[],
    };
    let made = rows.iter().flat_map(|(before, paths, attribute, releases)| {
        paths.iter().map(move |path| ReleasedAttribute {
            path: names(format!("{before}{path}").leak()),
            attribute: *attribute,
            releases: *releases,
        })
    });
    made.collect::<Vec<_>>().leak()
}

/// Segments of a path. They live as long as the process.
fn names(path: &'static str) -> &'static [&'static str] {
    path.split('.').collect::<Vec<_>>().leak()
}

/// Returns the rows of tables, each below the path of its group. They live as long as the process.
fn rows_below<const N: usize>(groups: [(&str, &[Table]); N]) -> &'static [ReleasedField] {
    let tables = groups.iter().flat_map(|(outer, tables)| tables.iter().map(move |table| (outer, table)));
    let fields = tables.flat_map(|(outer, (before, rows))| {
        rows.iter().map(move |(path, releases)| {
            let path: &'static str = format!("{outer}{before}{path}").leak();
            ReleasedField { path: names(path), releases: *releases, default: default(path) }
        })
    });
    fields.collect::<Vec<_>>().leak()
}

/// Condition under which the field at a path has a default.
fn default(path: &str) -> FieldDefault {
    let is_end = |end: &&str| path.strip_suffix(end).is_some_and(|before| before.ends_with('.'));
    if ALWAYS_DEFAULTED.iter().any(is_end) {
        FieldDefault::Always
    } else if DEFAULTED.iter().any(is_end) {
        FieldDefault::WithParent
    } else {
        FieldDefault::Never
    }
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

    /// Source: pkg/apis/core/v1beta1/{types_shoot,conversions}.go @ v1.80.0, v1.91.0, v1.92.0, v1.100.0, v1.101.0.
    #[test]
    fn references_to_profiles_follow_the_release() {
        let shoots = find("core.gardener.cloud", "v1beta1", "shoots").expect("a row");
        let sets = find("seedmanagement.gardener.cloud", "v1alpha1", "managedseedsets").expect("a row");
        for release in [80, 91, 92, 100, 101, 149] {
            for (row, spec) in [(shoots, "spec"), (sets, "spec.shootTemplate.spec")] {
                let row = row.at(Release(release));
                let spec = spec.split('.').fold(row.node(), |node, name| {
                    node.as_object().and_then(|schema| schema.field(name)).expect("a field").node.clone()
                });
                let spec = spec.as_object().expect("an object");
                assert_eq!(spec.field("cloudProfile").is_some(), release >= 92, "{release} {}", row.kind);
                let name = spec.field("cloudProfileName").expect("every release has it");
                assert_eq!(name.required, release < 101, "{release} {}", row.kind);
            }
            let shoots = shoots.at(Release(release));
            let labels = ["spec.cloudProfileName", "spec.cloudProfile.Name", "spec.cloudProfile.Kind"];
            assert_eq!(labels.map(|label| shoots.selects(label)), [true, release >= 101, release >= 101], "{release}");
        }
        assert!(shoots.selects("spec.cloudProfile.Name"), "the union has all");
    }

    /// A field of a kind at a release.
    fn field(group: &str, kind: &str, path: &str, release: u16) -> apimachinery::schema::Field {
        let row = all().iter().find(|row| row.group == group && row.kind == kind).expect("a row");
        let (parents, name) = path.rsplit_once('.').expect("a path");
        let parent = parents.split('.').fold(row.at(Release(release)).node(), |node, name| match node {
            Node::List(inner) | Node::Map(inner) if name == EACH => *inner,
            node => node.as_object().and_then(|schema| schema.field(name)).expect("a field").node.clone(),
        });
        parent.as_object().and_then(|schema| schema.field(name)).expect("a field").clone()
    }

    /// Source: attributes of the fields in types_*.go of each release from v1.120.0 to v1.149.0.
    #[test]
    fn attributes_of_fields_change_with_their_releases() {
        let (core, extensions, operator) =
            ("core.gardener.cloud", "extensions.gardener.cloud", "operator.gardener.cloud");
        let limits = "spec.virtualCluster.gardener.gardenerAdmissionController.resourceAdmissionConfiguration.limits";
        let api_server = "spec.virtualCluster.gardener.gardenerAPIServer.encryptionConfig.resources";
        for (group, kind, path, releases) in [
            (core, "ControllerInstallation", "spec.seedRef", 120..138),
            (core, "Shoot", "spec.kubernetes.kubeAPIServer.encryptionConfig.resources", 120..136),
            (extensions, "Cluster", "spec.seed", 120..147),
            (extensions, "Worker", "spec.pools.[].priority", 127..129),
            (extensions, "Worker", "status.machineDeployments.[].priority", 127..129),
            (operator, "Garden", api_server, 120..136),
            (operator, "Garden", &format!("{limits}.[].size"), 120..132),
        ] {
            for release in 120..=149 {
                let expected = releases.contains(&release);
                assert_eq!(field(group, kind, path, release).required, expected, "{kind} {path} {release}");
            }
        }
        for release in 120..=149 {
            let providers = field(core, "Shoot", "spec.dns.providers", release);
            let expected = (release < 136).then_some(("type", "merge"));
            assert_eq!(providers.merge_key.zip(providers.patch_strategy), expected, "{release}");
        }
    }

    #[test]
    fn every_released_field_is_one_of_its_kind() {
        let mut count = 0;
        let mut missing = Vec::new();
        for row in all().iter().chain([controller_deployments_view()]) {
            let attributes = row.attributes.iter().map(|attribute| attribute.path);
            for path in row.fields.iter().map(|field| field.path).chain(attributes) {
                let found = path.iter().try_fold((row.schema)(), |node, name| match node {
                    Node::List(inner) | Node::Map(inner) if *name == EACH => Some(*inner),
                    node => Some(node.as_object()?.field(name)?.node.clone()),
                });
                if found.is_none() {
                    missing.push(format!("{} {}", row.kind, path.join(".")));
                }
                count += 1;
            }
        }
        assert_eq!(missing, Vec::<String>::new());
        assert!(count > 90, "{count}");
    }
}
