// SPDX-License-Identifier: Apache-2.0
//! Rows of changes, by minor.
//!
//! Source: imagevector/containers.yaml, pkg/gardenlet/controller/shoot/shoot, pkg/component/kubernetes/apiserver,
//! pkg/apis/core/v1beta1/{types,defaults}_*.go, pkg/apis/core/validation (since 1.137 pkg/api/core/validation),
//! plugin/pkg/shoot, extensions/pkg/controller/worker/machines.go at v1.120.0 to v1.149.0.

use super::Kind::{Added, Check, Configured, Default, Field, FieldRemoved, NewShootsOnly, Nodes, Removed};
use super::Scope::{All, Created, Kubernetes, Other, Seeds, Users, WithoutDns};
use super::{Change, EXPOSURE, Kind, Scope};

const fn row(since: u64, kind: Kind, what: &'static str, how: &'static str, scope: Scope) -> Change {
    Change { since, kind, what, how, scope, restarts_kube_apiserver: false }
}

const fn image(since: u64, what: &'static str, tag: &'static str, scope: Scope) -> Change {
    row(since, Kind::Image, what, tag, scope)
}

const fn autoscaler(since: u64, scope: Scope, tag: &'static str) -> Change {
    image(since, "cluster-autoscaler", tag, scope)
}

const fn removed(since: u64, what: &'static str, how: &'static str) -> Change {
    row(since, FieldRemoved, what, how, Users)
}

/// Returns the row of a field that is refused since a Kubernetes minor.
const fn refused(since: u64, what: &'static str, how: &'static str, kubernetes: u64) -> Change {
    row(since, Check, what, how, Scope::kubernetes_from(kubernetes))
}

/// Returns the row of a field that the release adds.
const fn field(since: u64, what: &'static str, how: &'static str) -> Change {
    row(since, Field, what, how, Created)
}

/// Shoots with a cluster-autoscaler.
const AUTOSCALED: Scope = Other("Shoots with spec.kubernetes.clusterAutoscaler");

/// State of a field that maintenance removes.
const MOVED: &str = "refused; maintenance removes it when it crosses that version";

/// Images before the first change of the table.
pub(super) const FIRST_IMAGES: [(&str, &str); 2] = [("coredns", "v1.12.1"), ("metrics-server", "v0.7.2")];

/// Every change with a known release, by minor.
pub(super) const ROWS: &[Change] = &[
    row(121, Removed, EXPOSURE, "and its two tasks of the flow", WithoutDns),
    Change {
        restarts_kube_apiserver: true,
        ..row(
            121,
            Configured,
            "kube-apiserver",
            "anonymous access moves from flag --anonymous-auth to the structured authentication file",
            Scope::kubernetes_from(32),
        )
    },
    row(121, Default, "spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication", "none (before: false)", Created),
    row(
        121,
        Default,
        "spec.kubernetes.clusterAutoscaler",
        "maxScaleDownParallelism: maxEmptyBulkDelete, else 10; maxDrainParallelism: 1; maxEmptyBulkDelete has none any more",
        AUTOSCALED,
    ),
    row(
        121,
        Default,
        "a Kubernetes version that is given in part",
        "the highest whose state is supported: one without a classification counts, a deprecated one does not",
        Created,
    ),
    refused(
        121,
        "spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete",
        "refused; maxScaleDownParallelism replaces it",
        33,
    ),
    image(122, "coredns", "v1.12.2", All),
    removed(122, "Shoot spec.kubernetes.enableStaticTokenKubeconfig", "an unknown field"),
    refused(122, "spec.kubernetes.kubeControllerManager.podEvictionTimeout", MOVED, 33),
    image(123, "metrics-server", "v0.8.0", Scope::kubernetes_from(31)),
    removed(
        123,
        "Seed spec.backup.secretRef, Shoot spec.provider.workers[].controlPlane.backup.secretRef",
        "credentialsRef replaces it",
    ),
    removed(123, "ControllerRegistration and Extension spec.resources[].globallyEnabled", "autoEnable replaces it"),
    removed(123, "ControlPlane spec.purpose", "an unknown field"),
    row(123, Configured, "maintenance to Kubernetes 1.33", "removes maxEmptyBulkDelete and says so", Created),
    image(124, "etcd-druid", "v0.31.0", Seeds),
    image(124, "machine-controller-manager", "v0.59.2", All),
    removed(124, "BackupBucket spec.secretRef", "credentialsRef replaces it"),
    refused(
        124,
        "spec.cloudProfileName",
        "refused, an equal name is emptied; spec.cloudProfile replaces it; not filled from Kubernetes 1.33 on",
        34,
    ),
    row(
        124,
        Check,
        "machine types and images of CloudProfiles with capabilities",
        "refused unless they fit, by gate CloudProfileCapabilities",
        Created,
    ),
    row(
        125,
        Default,
        "maxSurge and maxUnavailable of pools with AutoInPlaceUpdate",
        "0 and 1 (before: 1 and 0)",
        Created,
    ),
    row(
        125,
        Default,
        "maxSurge and maxUnavailable of pools with ManualInPlaceUpdate",
        "none (before: forced to 0 and 1)",
        Created,
    ),
    row(
        125,
        Check,
        "machine type of a pool in maintenance",
        "maintenance of images fails unless the CloudProfile has it",
        Other("pools whose machine type the CloudProfile lacks"),
    ),
    autoscaler(126, Scope::kubernetes_from(32), "v1.32.1"),
    row(
        126,
        Configured,
        "node-local DNS",
        "counts for the hash of a pool below Kubernetes 1.34 or with kube-proxy in mode IPVS only",
        Scope::kubernetes_from(34),
    ),
    row(
        126,
        Check,
        "machineControllerManager.inPlaceUpdateTimeout",
        "refused unless the pool is updated in place",
        Other("pools that set it and are not updated in place"),
    ),
    row(
        126,
        Added,
        "annotation shoot.gardener.cloud/emergency-stop-reconciliations of a Seed",
        "stops the reconciliation of its Shoots",
        Seeds,
    ),
    image(127, "coredns", "v1.12.3", All),
    image(127, "node-local-dns", "1.26.5", All),
    image(127, "machine-controller-manager", "v0.60.0", All),
    autoscaler(127, Scope::kubernetes_from(33), "v1.33.0"),
    row(
        127,
        Check,
        "gardenlet",
        "compares its version with ConfigMap gardener-system-public/gardener-info when it starts",
        Seeds,
    ),
    refused(127, "spec.secretBindingName", "refused; maintenance to Kubernetes 1.34 moves to a CredentialsBinding", 34),
    field(127, "Seed spec.dns.internal", "older gardener-apiservers do not know it"),
    image(128, "coredns", "v1.12.4", All),
    image(128, "etcd-druid", "v0.32.0", Seeds),
    removed(
        128,
        "CloudProfile spec.capabilities, spec.machineImages[].versions[].capabilitySets",
        "machineCapabilities and capabilityFlavors replace them",
    ),
    row(128, Added, "operation rotate-etcd-encryption-key", "completes itself", Created),
    row(128, Check, "operations rotate-etcd-encryption-key-start and -complete", "refused", Scope::kubernetes_from(34)),
    removed(129, "Shoot status.credentials.rotation.kubeconfig", "an unknown field"),
    row(
        129,
        Check,
        "maxSurge and maxUnavailable of pools with ManualInPlaceUpdate",
        "refused",
        Other("Shoots with such pools that set them"),
    ),
    row(
        129,
        Configured,
        "groups of admin and viewer kubeconfigs",
        "gardener.cloud:system:admins or gardener.cloud:project:admins (before: system:masters), viewers likewise",
        All,
    ),
    row(
        129,
        Default,
        "Garden spec.runtimeCluster.networking.ipFamilies",
        "IPv4; cannot be changed",
        Other("the Garden"),
    ),
    image(130, "etcd-druid", "v0.33.0", Seeds),
    row(130, Added, "constraint UsesUnifiedHTTPProxyPort", "in the status of a Shoot", All),
    image(131, "coredns", "v1.13.1", All),
    image(131, "machine-controller-manager", "v0.60.2", All),
    autoscaler(131, Kubernetes(32, 32), "v1.32.2"),
    row(131, Default, "Seed spec.settings.loadBalancerServices.zonalIngress.enabled", "true", Seeds),
    row(
        132,
        Default,
        "spec.kubernetes.clusterAutoscaler",
        "initialNodeGroupBackoffDuration 5m, maxNodeGroupBackoffDuration 30m, nodeGroupBackoffResetTimeout 3h",
        AUTOSCALED,
    ),
    row(
        132,
        Added,
        "operation rollout-workers",
        "replaces the nodes of pools by name; status.manualWorkerPoolRollout",
        Created,
    ),
    image(133, "node-local-dns", "1.26.7", All),
    row(133, Added, "several operations in one annotation", "joined by `;`", Created),
    row(
        133,
        Configured,
        "admission of Shoots",
        "ShootMutator sets defaults, ShootValidator checks: an invalid Shoot is answered with 422 before 403",
        Created,
    ),
    field(133, "Shoot and Garden status.credentials.encryptionAtRest", "replaces status.encryptedResources"),
    row(133, Configured, "maintenance to Kubernetes 1.30", "does not migrate the swap behaviour any more", Created),
    image(134, "etcd-druid", "v0.34.0", Seeds),
    autoscaler(134, Scope::kubernetes_from(34), "v1.34.0"),
    image(135, "coredns", "v1.13.2", All),
    row(
        135,
        Check,
        "Seed spec.dns.internal, spec.dns.provider.credentialsRef",
        "both are required: set spec.dns.internal before the upgrade",
        Seeds,
    ),
    row(135, Field, "spec.maintenance.autoRotation", "older gardener-apiservers do not know it", Created),
    field(
        135,
        "Seed spec.dns.provider.credentialsRef, Shoot spec.dns.providers[].credentialsRef",
        "replaces secretRef and secretName",
    ),
    row(
        135,
        Default,
        "spec.kubernetes.verticalPodAutoscaler.recommenderUpdateWorkerCount",
        "10",
        Other("Shoots with spec.kubernetes.verticalPodAutoscaler"),
    ),
    row(135, Added, "mode NFTables of kube-proxy", "older gardener-apiservers refuse it", Created),
    image(136, "coredns", "v1.14.1", All),
    image(136, "metrics-server", "v0.8.1", Scope::kubernetes_from(31)),
    image(136, "etcd-druid", "v0.35.0", Seeds),
    image(136, "machine-controller-manager", "v0.61.1", All),
    row(
        136,
        Added,
        "opentelemetry-collector",
        "a Deployment in the control plane, by gate OpenTelemetryCollector",
        All,
    ),
    row(136, Default, "spec.kubernetes.kubeAPIServer.encryptionConfig.provider.type", "aescbc", All),
    row(136, Default, "spec.addons", "none (before: both addons, off)", Created),
    refused(136, "spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication", MOVED, 35),
    refused(136, "spec.addons", MOVED, 35),
    refused(136, "spec.kubernetes.kubeScheduler.kubeMaxPDVols", MOVED, 35),
    refused(136, "spec.kubernetes.kubeAPIServer.watchCacheSizes.default", MOVED, 35),
    row(
        136,
        Check,
        "spec.kubernetes.kubeAPIServer.eventTTL",
        "at most 24h (before: 7d)",
        Other("Shoots that set more"),
    ),
    row(
        136,
        Check,
        "machine image version of pools that are updated in place",
        "must not go down",
        Other("Shoots with such pools"),
    ),
    image(137, "etcd-druid", "v0.35.1", Seeds),
    image(137, "machine-controller-manager", "v0.61.2", All),
    field(
        137,
        "CloudProfile and NamespacedCloudProfile lifecycle of versions",
        "stages of a version, by gate VersionClassificationLifecycle",
    ),
    field(137, "CloudProfile status", "and subresource cloudprofiles/status"),
    row(
        137,
        Configured,
        "a version with an expirationDate",
        "is expired strictly after the date (before: from it on)",
        Other("versions at the instant of their date"),
    ),
    row(137, Configured, "Events", "are of group events.k8s.io, with an action", All),
    field(
        137,
        "gardenlet configuration logging.victoriaLogs, tokenExpirationDuration",
        "older gardenlets do not know them",
    ),
    row(
        138,
        Default,
        "spec.kubernetes.kubeControllerManager.nodeCIDRMaskSizeIPv6",
        "64",
        Other("Shoots with both IP families"),
    ),
    image(139, "coredns", "v1.14.2", All),
    image(139, "etcd-druid", "v0.36.1", Seeds),
    removed(139, "Seed spec.dns.provider.secretRef", "credentialsRef replaces it; set it before the upgrade"),
    removed(
        139,
        "Shoot and Garden status.encryptedResources",
        "status.credentials.encryptionAtRest.resources replaces it",
    ),
    refused(139, "spec.dns.providers[].secretName", "refused; credentialsRef replaces it", 35),
    autoscaler(140, Kubernetes(30, 30), "v1.30.3"),
    autoscaler(140, Kubernetes(31, 31), "v1.31.1"),
    autoscaler(140, Kubernetes(32, 32), "v1.32.3"),
    autoscaler(140, Kubernetes(33, 33), "v1.33.1"),
    autoscaler(140, Scope::kubernetes_from(34), "v1.34.1"),
    image(140, "machine-controller-manager", "v0.61.3", All),
    field(140, "Gardenlet and ManagedSeed deployment.image.ref", "a whole reference of the image"),
    row(
        141,
        NewShootsOnly,
        "spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod",
        "672h",
        Created,
    ),
    row(141, Added, "istio-basic-auth-server", "a Deployment in the control plane", All),
    image(141, "etcd-druid", "v0.36.3", Seeds),
    removed(
        141,
        "Shoot spec.kubernetes.kubelet.systemReserved, spec.provider.workers[].kubernetes.kubelet.systemReserved",
        "kubeReserved replaces it",
    ),
    row(141, Default, "spec.kubernetes.clusterAutoscaler.emitPerNodeGroupMetrics", "false", AUTOSCALED),
    row(
        141,
        Added,
        "encryption providers aesgcm and secretbox",
        "aesgcm needs automatic rotation of the key that encrypts etcd",
        Created,
    ),
    image(142, "node-local-dns", "1.26.8", All),
    removed(142, "Shoot and Garden kubeAPIServer.oidcConfig", "structuredAuthentication replaces it"),
    row(
        142,
        Removed,
        "API group settings.gardener.cloud",
        "with OpenIDConnectPresets, ClusterOpenIDConnectPresets and their admission plugins",
        Users,
    ),
    row(142, Default, "spec.kubernetes.clusterAutoscaler.maxBinpackingTime", "5m", AUTOSCALED),
    autoscaler(143, Kubernetes(34, 34), "v1.34.2"),
    autoscaler(143, Scope::kubernetes_from(35), "v1.35.0"),
    row(
        143,
        Check,
        "gardenlet of a Seed that is a self-hosted Shoot",
        "not newer than the Shoot's gardenlet, and at most three minors older",
        Other("such Seeds"),
    ),
    removed(143, "gardenlet configuration gardenClientConnection.gardenClusterCACert", "an unknown field"),
    image(145, "etcd-druid", "v0.36.4", Seeds),
    autoscaler(145, Kubernetes(34, 34), "v1.34.3"),
    autoscaler(145, Scope::kubernetes_from(35), "v1.35.1"),
    row(145, Default, "Seed spec.settings.persistentVolumeClaimAutoscaler.enabled", "false", Seeds),
    image(146, "coredns", "v1.14.4", All),
    row(
        146,
        Nodes,
        "pools whose hash has the first form",
        "the first form is removed: they are hashed again by the first reconciliation",
        Other("pools that were made before 1.126 and have not been rolled since (W7)"),
    ),
    row(146, Removed, "Secret worker-pools-operatingsystemconfig-hashes", "of each control plane", All),
    row(146, Added, "constraint HasIgnoredManagedResources", "in the status of a Shoot", All),
    image(147, "metrics-server", "v0.9.0", Scope::kubernetes_from(34)),
    image(147, "etcd-druid", "v0.37.0", Seeds),
    image(147, "machine-controller-manager", "v0.62.1", All),
    row(
        147,
        Added,
        "preservation of failed machines",
        "machineControllerManager.autoPreserveFailedMachineMax and machinePreserveTimeout",
        Created,
    ),
    field(
        147,
        "configuration controllers.cacheSyncTimeout, controllers.controllerDeploymentReference",
        "older components do not know them",
    ),
    image(148, "coredns", "v1.14.6", All),
    image(148, "etcd-druid", "v0.37.1", Seeds),
    row(
        148,
        Configured,
        "wait for MachineDeployments",
        "fails while a rolling update is under way and replicas are missing",
        All,
    ),
    row(149, Default, "architecture of a pool", "that of its machine type (before: amd64)", Created),
    row(149, Default, "Gardenlet and ManagedSeed deployment.enableHealthProbes", "true", Seeds),
    row(
        149,
        Added,
        "status of CloudProfiles",
        "gardener-controller-manager writes the state of each version",
        Other("every CloudProfile"),
    ),
    row(
        149,
        Added,
        "constraint AutomaticCredentialsRotationPossible",
        "False if hibernation keeps the key that encrypts etcd from its rotation",
        All,
    ),
];
