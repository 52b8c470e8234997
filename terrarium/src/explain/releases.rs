// SPDX-License-Identifier: Apache-2.0
//! Words of releases 1.121 to 1.149: fields, conditions and operations that they add or remove.
//!
//! Each entry names the first release with it; `set` notes entries that are only served, without an effect.
//!
//! Source: pkg/apis/core/v1beta1/types_*.go, docs/usage/shoot/shoot_operations.md, docs/operations/cloudprofile_capabilities.md
//! @ v1.149.0.

use api::constants::{annotation, classification, condition, label, operation};
use api::joined;

use ops::explain::words::{Word, word};

const SHOOT: &str = "field of a Shoot";
const STATUS: &str = "field of a Shoot's status";
const PROFILE: &str = "field of a CloudProfile";
const SEED: &str = "field of a Seed";
const CONSTRAINT: &str = "constraint of a Shoot";
const OWNER: &str = "by the Shoot's owner";
const OPERATOR: &str = "by the operator, in the CloudProfile";
const SEED_OPERATOR: &str = "by the operator, in the Seed";
const GATE: &str = "feature gate";
const ONLY_SERVED: &str = "served; not emulated";

/// All words of releases.
#[rustfmt::skip]
pub(super) const RELEASES: &[Word] = &[
    word(&["versions[].lifecycle"], PROFILE, "stages of a version's life cycle, each with a classification and a start time; since 1.137, with feature gate VersionClassificationLifecycle; excludes classification and expirationDate", OPERATOR,
        "`terrarium explain unavailable`"),
    word(&["VersionClassificationLifecycle"], GATE, "versions of a CloudProfile may have stages (versions[].lifecycle); of gardener-apiserver, since 1.137, off by default", "by the operator", "`terrarium config set gardener-apiserver featureGates.VersionClassificationLifecycle=true`; `terrarium forecast --classify kubernetes/1.34.3=deprecated@2026-10-01` foretells a stage"),
    word(&["CloudProfileCapabilities"], GATE, "CloudProfiles may have machineCapabilities, and the images of worker pools must fit their machine types; of gardener-apiserver, since 1.124, on by default since 1.146", "by the operator", "`terrarium explain machineCapabilities`"),
    word(&["DisableNginxIngressInShoot"], GATE, "no Shoot gets the addon nginx ingress: gardener-apiserver refuses it, and maintenance of gardener-controller-manager turns it off; since 1.142", "by the operator, for each of the two components", "`terrarium forecast --feature-gate DisableNginxIngressInShoot=true` shows whose addon is turned off"),
    word(&["lifecycle[].classification", "lifecycle[].startTime"], PROFILE, "classification of a version from an instant on; leading stages may lack the start time", OPERATOR, "nothing"),
    word(&[classification::UNAVAILABLE], "classification of a version", "its first stage has not begun: the version cannot be used yet; since 1.137", "computed from versions[].lifecycle", "wait, or move the start time in the CloudProfile"),
    word(&["status.kubernetes.versions", "status.machineImages"], "field of a CloudProfile's status", "current classification of each version; field since 1.137, written since 1.149", "by gardener-controller-manager", "`terrarium versions` shows the same"),
    word(&["spec.machineCapabilities"], PROFILE, "capabilities that machine types and images may have, with their values in order of preference; since 1.128, before that spec.capabilities", OPERATOR, "name the capabilities in machineTypes[].capabilities and in capabilityFlavors"),
    word(&["versions[].capabilityFlavors"], PROFILE, "combinations of capabilities that a version of a machine image provides, one for each artifact; what one leaves out means all registered values; since 1.128, before that capabilitySets", OPERATOR, "nothing"),
    word(&["machineTypes[].capabilities"], PROFILE, "capabilities of a machine type; a pool is refused if its image has no flavor with a common value of each capability (since 1.124), and maintenance takes images that fit only (since 1.125)", OPERATOR, "nothing"),
    word(&["spec.capabilities", "versions[].capabilitySets"], PROFILE, "capabilities of 1.118 to 1.127", OPERATOR, "from 1.128 on: machineCapabilities and capabilityFlavors"),
    word(&["machineTypes[].machineControllerManager"], PROFILE, "default of machineCreationTimeout for pools of the machine type; since 1.137", OPERATOR, "nothing"),
    word(&["machineControllerManager.autoPreserveFailedMachineMax"], SHOOT, "maximum number of failed machines of a pool that are preserved instead of replaced, divided over its zones [default: 0]; since 1.147", OWNER, "`terrarium explain node.machine.sapcloud.io/preserve`"),
    word(&["machineControllerManager.machinePreserveTimeout"], SHOOT, "time for which a machine is preserved [default: 96h]; a change holds for later preservations; since 1.147", OWNER, "nothing"),
    word(&[annotation::NODE_PRESERVE], "annotation of a Node or Machine", "preserves the machine until status.currentStatus.preserveExpiryTime: now, when-failed, auto-preserved (by machine-controller-manager); false: it is not preserved; that of the Node wins; since 1.147", "by a user, or by machine-controller-manager", "remove it, or set false, to have the machine replaced"),
    word(&["Preserved"], "condition of a Node", "its machine is preserved (True), or was (False); the message tells until when, and if the Node was drained; since 1.147", "by machine-controller-manager", "`terrarium explain node.machine.sapcloud.io/preserve`"),
    word(&["gardener.cloud:system:admins", "gardener.cloud:project:admins", "gardener.cloud:system:viewers", "gardener.cloud:project:viewers"], "group of users of a Shoot", "group in the certificates of shoots/adminkubeconfig and viewerkubeconfig: of the system if the requesting user may read everything in the garden, else of the project; since 1.129, before that system:masters and gardener.cloud:system:viewers", "by gardener-apiserver", "`kubectl auth whoami` in the Shoot's cluster"),
    word(&["status.manualWorkerPoolRollout"], STATUS, "pools whose roll-out a user has started and that are not done; since 1.132", "by gardenlet", "`terrarium status --rollouts` shows the nodes"),
    word(&[operation::ROLLOUT_WORKERS, joined!(annotation::OPERATION, "=", operation::ROLLOUT_WORKERS)], "value of gardener.cloud/operation", "replaces the nodes of the named pools, `rollout-workers=POOL,…` or `rollout-workers=*`; since 1.132", "by a user", "`kubectl annotate shoot NAME gardener.cloud/operation=rollout-workers=*`"),
    word(&["encryptionConfig.provider"], SHOOT, "provider with which etcd's content is encrypted: aescbc (default), since 1.141 also aesgcm and secretbox; field since 1.136", OWNER, "aesgcm needs spec.maintenance.autoRotation of the etcd encryption key"),
    word(&["status.credentials.encryptionAtRest"], STATUS, "resources that are encrypted in etcd (since 1.133), and the provider (since 1.136); replaces status.encryptedResources", "by gardenlet", "nothing"),
    word(&["status.encryptedResources"], STATUS, "resources that are encrypted in etcd; until 1.138", "by gardenlet", "from 1.139 on: status.credentials.encryptionAtRest.resources"),
    word(&["spec.maintenance.autoRotation"], SHOOT, "credentials that maintenance rotates by itself, each with a rotationPeriod; since 1.135", OWNER, "a period of 0 switches it off"),
    word(&[operation::ROTATE_ETCD_ENCRYPTION_KEY, joined!(annotation::OPERATION, "=", operation::ROTATE_ETCD_ENCRYPTION_KEY)], "value of gardener.cloud/operation", "rotates the key that encrypts etcd, both halves at once; since 1.128; from Kubernetes 1.34 on rotate-etcd-encryption-key-start and -complete are refused", "by a user, or by maintenance with spec.maintenance.autoRotation", "`kubectl annotate shoot NAME gardener.cloud/operation=rotate-etcd-encryption-key`"),
    word(&["kubernetes.verticalPodAutoscaler", "verticalPodAutoscaler.featureGates", "verticalPodAutoscaler.maxAllowed"], SHOOT, "settings of the vertical pod autoscaler; featureGates since 1.124, maxAllowed since 1.125", ONLY_SERVED, "nothing"),
    word(&["settings.verticalPodAutoscaler"], "field of a Seed or Garden", "settings of the vertical pod autoscaler; featureGates since 1.124, maxAllowed since 1.125", ONLY_SERVED, "nothing"),
    word(&["kubeAPIServer.autoscaling", "main.autoscaling", "events.autoscaling", "clusterAutoscaler.autoscaling"], "field of a Shoot or Garden", "requests of a component of the control plane below which vertical scaling does not go; clusterAutoscaler.autoscaling since 1.147", ONLY_SERVED, "nothing"),
    word(&["logging.victoriaLogs", "logging"], "setting of gardenlet", "collection of logs of control planes; victoriaLogs is a key of later releases", ONLY_SERVED, "nothing"),
    word(&["clusterAutoscaler.maxScaleDownParallelism", "clusterAutoscaler.maxDrainParallelism"], SHOOT, "maximum number of nodes that are removed, and drained, at once [default: 10 and 1]; since 1.121, in place of maxEmptyBulkDelete", OWNER, "nothing"),
    word(&["clusterAutoscaler.initialNodeGroupBackoffDuration", "clusterAutoscaler.maxNodeGroupBackoffDuration", "clusterAutoscaler.nodeGroupBackoffResetTimeout"], SHOOT, "back-off after new nodes failed to start [default: 5m, 30m and 3h]; since 1.132", OWNER, "nothing"),
    word(&["spec.dns.providers[].credentialsRef"], SHOOT, "Secret or WorkloadIdentity for the DNS provider; since 1.135, in place of secretName", OWNER, "from Kubernetes 1.35 on secretName is refused (since 1.139)"),
    word(&["spec.dns.provider.credentialsRef"], SEED, "Secret or WorkloadIdentity for the DNS provider; since 1.135, in place of secretRef, which ended with 1.138", SEED_OPERATOR, "set it before the update to 1.139"),
    word(&["spec.dns.internal", "spec.dns.defaults"], SEED, "internal domain (since 1.127) and default domains (since 1.131) of the Seed", SEED_OPERATOR, "nothing"),
    word(&["loadBalancerServices.zonalIngress"], SEED, "a load balancer for the ingress of each zone [default: true]; since 1.131", SEED_OPERATOR, "nothing"),
    word(&["settings.persistentVolumeClaimAutoscaler"], SEED, "autoscaler of PersistentVolumeClaims in the Seed [default: off]; since 1.145", SEED_OPERATOR, "nothing"),
    word(&["settings.zoneSelection"], SEED, "zones of control planes follow those of the worker pools; since 1.139", ONLY_SERVED, "nothing"),
    word(&["status.liveMigration", annotation::LIVE_MIGRATE], STATUS, "progress of a live migration of the control plane; since 1.142, its annotation since 1.148", ONLY_SERVED, "nothing"),
    word(&[label::SELF_HOSTED, "SelfHostedShootExposure", "controlPlane.exposure"], "self-hosted Shoot", "a Shoot whose control plane runs on its own nodes; label since 1.132, exposure since 1.136, the kind since 1.138", ONLY_SERVED, "nothing"),
    word(&["workers[].controlPlane", "controlPlane.backup"], SHOOT, "the pool runs the control plane of the self-hosted Shoot; backup since 1.120, exposure since 1.136", ONLY_SERVED, "nothing"),
    word(&["spec.shootRef"], "field of a BackupBucket, BackupEntry or ControllerInstallation", "self-hosted Shoot that the object belongs to, in place of a Seed; since 1.135, of a ControllerInstallation since 1.138", ONLY_SERVED, "nothing"),
    word(&["resources[].continuousEndpointUpdate"], "field of a ControllerRegistration or operator Extension", "the endpoints of a SelfHostedShootExposure are updated for the life of the Shoot; since 1.148", ONLY_SERVED, "nothing"),
    word(&["image.ref"], "field of a Gardenlet or ManagedSeed", "whole reference of gardenlet's image; since 1.140", "by the operator", "nothing"),
    word(&["deployment.enableHealthProbes"], "field of a Gardenlet or ManagedSeed", "liveness and readiness probes of gardenlet's pods [default: true]; since 1.149", "by the operator", "nothing"),
    word(&[condition::DNS_SERVICE_MIGRATION_READY], CONSTRAINT, "the DNS service can be migrated; since 1.127", ONLY_SERVED, "nothing"),
    word(&[condition::USES_UNIFIED_HTTP_PROXY_PORT], CONSTRAINT, "the cluster uses the unified port of the HTTP proxy; since 1.130", ONLY_SERVED, "nothing"),
    word(&[condition::HAS_IGNORED_MANAGED_RESOURCES], CONSTRAINT, "no ManagedResource of the control plane is annotated as ignored; since 1.146", "served; not emulated: no component makes ManagedResources of control planes here", "nothing"),
    word(&[condition::PRESERVED_FAILED_MACHINES_ABSENT], CONSTRAINT, "no failed machine is preserved; since 1.147", "by gardenlet, in .status.constraints", "`terrarium explain node.machine.sapcloud.io/preserve`"),
    word(&[condition::AUTOMATIC_CREDENTIALS_ROTATION_POSSIBLE], CONSTRAINT, "False if the next window meets hibernation while a rotation of the etcd encryption key is overdue; since 1.149", "by gardenlet, in .status.constraints", "wake the Shoot up before its maintenance time window"),
];
