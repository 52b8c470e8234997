// SPDX-License-Identifier: Apache-2.0
//! The tasks that delete a Shoot.
//!
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler_delete.go @ v1.120.0.

#![allow(clippy::enum_glob_use, reason = "a table reads by its words alone")]

use domain::shoot_components::Component::*;

use super::effect::Dns::*;
use super::effect::Effect::*;
use super::effect::Lifecycle::*;
use super::effect::Resource::*;
use super::effect::unseen::*;
use super::{Task, task};

/// Number, name, predecessors, skip condition, effect.
#[rustfmt::skip]
pub(crate) static TASKS: [Task; 83] = [
    task(1, "Deploying Shoot namespace in Seed", &[], |f| f.namespace_gone, Namespace),
    task(2, "Ensuring Shoot cluster identity", &[1], |_| false, ClusterIdentity),
    task(3, "Deploying cloud provider account secret", &[1], |f| f.workerless || f.namespace_gone, CloudProviderSecret),
    task(4, "Deploying Kubernetes API server service in the Seed cluster", &[1, 2], |f| f.no_cleanup, SERVICES),
    task(5, "Waiting until Kubernetes API LoadBalancer in the Seed cluster has reported readiness", &[4], |f| f.no_cleanup, SERVICES),
    task(6, "Ensuring advertised addresses for the Shoot", &[5], |_| false, AdvertisedAddresses),
    task(7, "Initializing secrets management", &[1], |f| f.namespace_gone, SecretsManagement),
    task(8, "Deploying referenced resources", &[1], |f| f.namespace_gone, ReferencedResources),
    task(9, "Deploying internal domain DNS record", &[8, 5], |f| f.no_cleanup, InternalDnsRecord),
    task(10, "Deploying main and events etcd", &[7, 3], |f| f.no_cleanup, DeployComponents),
    task(11, "Scaling up etcd main and event", &[10], |f| f.no_cleanup, SCALING),
    task(12, "Waiting until main and event etcd report readiness", &[11], |f| f.no_cleanup, AwaitComponents(&[EtcdMain, EtcdEvents])),
    task(13, "Deploying Shoot control plane", &[7, 3, 2], |f| f.workerless || f.no_cleanup || !f.control_plane_deployment_needed, Deploy(ControlPlane)),
    task(14, "Waiting until Shoot control plane has been reconciled", &[13], |f| f.workerless || f.no_cleanup || !f.control_plane_deployment_needed, Await(ControlPlane)),
    task(15, "Deploying Kubernetes API server", &[7, 10, 12, 5, 14], |f| f.no_cleanup, DeployKubeApiserver),
    task(16, "Scaling up Kubernetes API server", &[15], |f| f.no_cleanup || f.api_server_scaled, SCALING),
    task(17, "Waiting until Kubernetes API server reports readiness", &[15, 16], |f| f.no_cleanup, AwaitKubeApiserver),
    task(18, "Deploying Kubernetes API server service SNI settings in the Seed cluster", &[17], |f| f.no_cleanup, SNI),
    task(19, "Setting gardener-resource-manager replicas to 2", &[17], |f| f.no_cleanup, SCALING),
    task(20, "Deploying gardener-resource-manager", &[19], |f| f.no_cleanup, DeployComponents),
    task(21, "Waiting until gardener-resource-manager reports readiness", &[20], |f| f.no_cleanup, AwaitComponents(&[GardenerResourceManager])),
    task(22, "Deploying Kubernetes API server with node-agent-authorizer", &[21], |f| !f.node_agent_authorizer || f.no_cleanup || f.authorizer_ready, DeployKubeApiserverWithAuthorizer),
    task(23, "Waiting until Kubernetes API server with node-agent-authorizer rolled out", &[22], |f| !f.node_agent_authorizer || f.no_cleanup || f.authorizer_ready, AwaitKubeApiserver),
    task(24, "Deploying Gardener shoot access resources", &[7, 21, 23], |f| f.no_cleanup, TOKENS),
    task(25, "Deploying shoot control plane exposure components", &[8, 17, 23], |f| f.workerless || !f.exposure || f.no_cleanup, Deploy(ControlPlaneExposure)),
    task(26, "Waiting until Shoot control plane exposure has been reconciled", &[25], |f| f.workerless || !f.exposure || f.no_cleanup, Await(ControlPlaneExposure)),
    task(27, "Initializing connection to Shoot", &[3, 17, 9, 26, 24], |f| f.no_cleanup, ConnectToShoot),
    task(28, "Deploying Kubernetes controller manager", &[7, 3, 14, 27], |f| f.no_cleanup, DeployComponents),
    task(29, "Scaling up Kubernetes controller manager", &[28], |f| f.no_cleanup, SCALING),
    task(30, "Deleting Shoot Alertmanager", &[27], |_| false, OBSERVABILITY),
    task(31, "Deleting Shoot Prometheus", &[27], |_| false, OBSERVABILITY),
    task(32, "Destroying control plane blackbox-exporter", &[27], |_| false, OBSERVABILITY),
    task(33, "Deleting cluster autoscaler", &[27], |f| f.workerless, DestroyComponents(&[ClusterAutoscaler])),
    task(34, "Cleaning up webhooks", &[27, 20], |f| f.no_cleanup, WHOLE_CLUSTER),
    task(35, "Waiting until kube-controller-manager is active", &[27, 34, 13, 28], |f| f.no_cleanup || !f.kube_controller_manager, AwaitComponents(&[KubeControllerManager])),
    task(36, "Cleaning extended API groups", &[27, 33, 35], |f| f.no_cleanup || f.skip_cleanup, WHOLE_CLUSTER),
    task(37, "Cleaning Kubernetes resources", &[13, 27, 28, 35, 36], |f| f.no_cleanup, WHOLE_CLUSTER),
    task(38, "Deleting metrics-server", &[13, 27, 28, 35, 36], |f| f.workerless || f.no_cleanup, DestroyComponents(&[MetricsServer])),
    task(39, "Destroying shoot network plugin", &[34, 36, 37, 38], |f| f.workerless, Destroy(Network)),
    task(40, "Waiting until shoot network plugin has been destroyed", &[39], |f| f.workerless, AwaitDestroyed(Network)),
    task(41, "Deploying machine-controller-manager", &[34, 36, 37, 38], |f| f.workerless || f.namespace_gone, DeployComponents),
    task(42, "Destroying shoot workers", &[41], |f| f.workerless, Destroy(Worker)),
    task(43, "Waiting until shoot worker nodes have been terminated", &[42], |f| f.workerless, AwaitDestroyed(Worker)),
    task(44, "Deleting machine-controller-manager", &[43], |f| f.workerless, DestroyComponents(&[MachineControllerManager])),
    task(45, "Deleting operating system config resources", &[43], |f| f.workerless, Destroy(OperatingSystemConfigs)),
    task(46, "Waiting until all operating system config resources are deleted", &[45], |f| f.workerless || f.hibernated, AwaitDestroyed(OperatingSystemConfigs)),
    task(47, "Deleting managed resources", &[34, 36, 37, 38, 43], |f| f.no_cleanup, WHOLE_CLUSTER),
    task(48, "Deleting DWD managed resource and secrets", &[47], |f| f.workerless, WHOLE_CLUSTER),
    task(49, "Waiting until managed resources have been deleted", &[48], |f| f.no_cleanup, WHOLE_CLUSTER),
    task(50, "Deleting extension resources before kube-apiserver", &[37, 46, 49], |_| false, DestroyExtensions(BeforeKubeApiserver)),
    task(51, "Waiting until extension resources that should be handled before kube-apiserver have been deleted", &[50], |_| false, AwaitExtensionsDestroyed(BeforeKubeApiserver)),
    task(52, "Deleting stale extension resources", &[37, 49], |_| false, DestroyStale(Extensions)),
    task(53, "Waiting until all stale extension resources have been deleted", &[52], |_| false, AwaitDestroyedStale(Extensions)),
    task(54, "Deleting container runtime resources", &[27, 34, 36, 37, 38], |f| f.workerless, Destroy(ContainerRuntimes)),
    task(55, "Waiting until stale container runtime resources are deleted", &[54], |f| f.workerless, AwaitDestroyed(ContainerRuntimes)),
    task(56, "Destroying shoot control plane", &[34, 36, 37, 38, 39, 40, 43, 46, 49, 51, 53, 55], |f| f.workerless, Destroy(ControlPlane)),
    task(57, "Waiting until shoot control plane has been destroyed", &[56], |f| f.workerless, AwaitDestroyed(ControlPlane)),
    task(58, "Waiting until shoot managed resources have been deleted", &[57], |_| false, WHOLE_CLUSTER),
    task(59, "Deleting Kubernetes API server", &[34, 36, 37, 38, 39, 40, 43, 46, 49, 51, 53, 55, 57, 58], |_| false, DestroyComponents(&[KubeApiserver])),
    task(60, "Waiting until Kubernetes API server has been deleted", &[59], |_| false, DestroyCluster),
    task(61, "Deleting extension resources after kube-apiserver", &[60], |_| false, DestroyExtensions(AfterKubeApiserver)),
    task(62, "Waiting until extension resources that should be handled after kube-apiserver have been deleted", &[61], |_| false, AwaitExtensionsDestroyed(AfterKubeApiserver)),
    task(63, "Waiting until all extension resources have been deleted", &[60], |_| false, AwaitDestroyed(Extensions)),
    task(64, "Destroying Kubernetes API server service SNI", &[60], |_| false, SNI),
    task(65, "Destroying Kubernetes API server ingress with trusted certificate", &[60], |_| false, INGRESSES),
    task(66, "Destroying Kubernetes API server service", &[60, 64], |_| false, SERVICES),
    task(67, "Destroying gardener-resource-manager", &[60], |_| false, DestroyComponents(&[GardenerResourceManager])),
    task(68, "Delete public service account signing keys from Garden cluster", &[60], |_| false, SIGNING_KEYS),
    task(69, "Destroying shoot control plane exposure", &[60], |f| f.workerless, Destroy(ControlPlaneExposure)),
    task(70, "Waiting until shoot control plane exposure has been destroyed", &[69], |f| f.workerless, AwaitDestroyed(ControlPlaneExposure)),
    task(71, "Destroying nginx ingress DNS record", &[34, 36, 37, 38, 39, 40, 43, 46, 49, 51, 53, 55], |f| f.workerless || f.namespace_gone, DestroyDnsRecord(Ingress)),
    task(72, "Destroying shoot infrastructure", &[34, 36, 37, 38, 39, 40, 43, 46, 49, 51, 53, 55, 57], |f| f.workerless, Destroy(Infrastructure)),
    task(73, "Waiting until shoot infrastructure has been deleted", &[72], |f| f.workerless, AwaitDestroyed(Infrastructure)),
    task(74, "Destroying external domain DNS record", &[34, 36, 37, 38, 39, 40, 43, 46, 49, 51, 53, 55, 60], |f| f.namespace_gone, DestroyDnsRecord(External)),
    task(75, "Deleting Plutono in Seed", &[73], |_| false, OBSERVABILITY),
    task(76, "Deleting logging stack in Seed", &[73], |_| false, LOGGING),
    task(77, "Destroying internal domain DNS record", &[30, 31, 32, 57, 60, 62, 63, 70, 71, 73, 74, 75, 76], |f| f.namespace_gone, DestroyDnsRecord(Internal)),
    task(78, "Deleting referenced resources", &[30, 31, 32, 57, 60, 62, 63, 70, 71, 73, 74, 75, 76], |_| false, DestroyReferencedResources),
    task(79, "Destroying main and events etcd", &[30, 31, 32, 57, 60, 62, 63, 70, 71, 73, 74, 75, 76], |_| false, DestroyComponents(&[EtcdMain, EtcdEvents])),
    task(80, "Waiting until main and event etcd have been destroyed", &[30, 31, 32, 57, 60, 62, 63, 70, 71, 73, 74, 75, 76, 79], |_| false, ETCD_DELETION),
    task(81, "Deleting shoot namespace in Seed", &[30, 31, 32, 57, 60, 62, 63, 70, 71, 73, 74, 75, 76, 77, 78, 80], |_| false, DestroyNamespace),
    task(82, "Waiting until shoot namespace in Seed has been deleted", &[81], |_| false, AwaitNamespaceDestroyed),
    task(83, "Deleting Shoot State", &[81], |_| false, DestroyShootState),
];
