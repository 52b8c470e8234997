// SPDX-License-Identifier: Apache-2.0
//! Kinds of CustomResourceDefinitions: Gardener's in seeds and in `runtime`, machine-controller-manager's, and the landscape's
//! own.
//!
//! Source: example/seed-crds, example/operator/10-crd-*.yaml @ v1.120.0.

use apimachinery::Resource;
use apimachinery::catalogue::Cell::Path;
use apimachinery::catalogue::{Column, ResourceInfo};

use super::{AGE, integer, path, row};
use crate::{extensions, machine, operator, resources, terrarium};

const STATUS: &[&str] = &["status"];

const TYPE: Column = path("Type", ".spec.type");
const REGION: Column = path("Region", ".spec.region");
const PURPOSE: Column = path("Purpose", ".spec.purpose");
const STATE: Column = path("State", ".status.lastOperation.state");
const STATUS_STATE: Column = path("Status", ".status.lastOperation.state");

const GARDEN: &[Column] = &[
    path("K8S Version", ".spec.virtualCluster.kubernetes.version"),
    path("Gardener Version", ".status.gardener.version"),
    path("Last Operation", ".status.lastOperation.state"),
    path("Runtime", r#".status.conditions[?(@.type=="RuntimeComponentsHealthy")].status"#),
    path("Virtual", r#".status.conditions[?(@.type=="VirtualComponentsHealthy")].status"#),
    path("API Server", r#".status.conditions[?(@.type=="VirtualGardenAPIServerAvailable")].status"#),
    path("Observability", r#".status.conditions[?(@.type=="ObservabilityComponentsHealthy")].status"#),
    AGE,
];

const OPERATOR_EXTENSION: &[Column] = &[
    path("Installed", r#".status.conditions[?(@.type=="Installed")].status"#),
    path("Required Runtime", r#".status.conditions[?(@.type=="RequiredRuntime")].status"#),
    path("Required Virtual", r#".status.conditions[?(@.type=="RequiredVirtual")].status"#),
    AGE,
];

const MANAGED_RESOURCE: &[Column] = &[
    path("Class", ".spec.class"),
    path("Applied", r#".status.conditions[?(@.type=="ResourcesApplied")].status"#),
    path("Healthy", r#".status.conditions[?(@.type=="ResourcesHealthy")].status"#),
    path("Progressing", r#".status.conditions[?(@.type=="ResourcesProgressing")].status"#),
    AGE,
];

const MACHINE: &[Column] = &[
    path("Status", ".status.currentStatus.phase"),
    AGE,
    path("Node", ".metadata.labels.node"),
    Column::new("ProviderID", "string", Path(".spec.providerID"), 1),
];

const MACHINE_SET: &[Column] = &[
    integer("Desired", ".spec.replicas"),
    integer("Current", ".status.replicas"),
    integer("Ready", ".status.readyReplicas"),
    AGE,
];

const MACHINE_DEPLOYMENT: &[Column] = &[
    integer("Ready", ".status.readyReplicas"),
    integer("Desired", ".spec.replicas"),
    integer("Up-to-date", ".status.updatedReplicas"),
    integer("Available", ".status.availableReplicas"),
    AGE,
];

fn custom<K: Resource>(short_names: &'static [&'static str], columns: &'static [Column]) -> ResourceInfo {
    ResourceInfo { custom: true, subresources: STATUS, ..row::<K>(short_names, columns) }
}

pub(super) fn rows() -> Vec<ResourceInfo> {
    const SCALE: &[&str] = &["status", "scale"];
    vec![
        custom::<operator::Garden>(&["grdn"], GARDEN),
        custom::<operator::Extension>(&["extop"], OPERATOR_EXTENSION),
        custom::<extensions::BackupBucket>(&["bb"], const { &[TYPE, REGION, STATE, AGE] }),
        custom::<extensions::BackupEntry>(
            &["be"],
            const { &[TYPE, REGION, path("Bucket", ".spec.bucketName"), STATE, AGE] },
        ),
        custom::<extensions::Bastion>(
            &[],
            const { &[path("IP", ".status.ingress.ip"), path("Hostname", ".status.ingress.hostname"), AGE] },
        ),
        custom::<extensions::Cluster>(&[], &[AGE]),
        custom::<extensions::ContainerRuntime>(&["cr"], const { &[TYPE, STATUS_STATE, AGE] }),
        custom::<extensions::ControlPlane>(&["cp"], const { &[TYPE, PURPOSE, STATUS_STATE, AGE] }),
        custom::<extensions::DNSRecord>(
            &["dns"],
            const { &[TYPE, path("Domain Name", ".spec.name"), path("Record Type", ".spec.recordType"), STATUS_STATE, AGE] },
        ),
        custom::<extensions::Extension>(&["ext"], const { &[TYPE, STATUS_STATE, AGE] }),
        custom::<extensions::Infrastructure>(&["infra"], const { &[TYPE, REGION, STATUS_STATE, AGE] }),
        custom::<extensions::Network>(
            &[],
            const {
                &[TYPE, path("Pod CIDR", ".spec.podCIDR"), path("Service CIDR", ".spec.serviceCIDR"), STATUS_STATE, AGE]
            },
        ),
        custom::<extensions::OperatingSystemConfig>(&["osc"], const { &[TYPE, PURPOSE, STATUS_STATE, AGE] }),
        custom::<extensions::SelfHostedShootExposure>(
            &["exp"],
            const {
                &[
                    TYPE,
                    path("IP", ".status.ingress[0].ip"),
                    path("Hostname", ".status.ingress[0].hostname"),
                    STATUS_STATE,
                    AGE,
                ]
            },
        ),
        custom::<extensions::Worker>(&[], const { &[TYPE, REGION, STATUS_STATE, AGE] }),
        custom::<resources::ManagedResource>(&["mr"], MANAGED_RESOURCE),
        custom::<machine::Machine>(&["mc"], MACHINE),
        ResourceInfo { subresources: SCALE, ..custom::<machine::MachineSet>(&["mcs"], MACHINE_SET) },
        ResourceInfo { subresources: SCALE, ..custom::<machine::MachineDeployment>(&["mcd"], MACHINE_DEPLOYMENT) },
        ResourceInfo { subresources: &[], ..custom::<machine::MachineClass>(&["mcc"], &[]) },
        ResourceInfo {
            subresources: &[],
            ..custom::<terrarium::Clock>(
                &[],
                const { &[path("Mode", ".spec.mode"), path("Now", ".status.now"), path("Next Timer", ".status.next"), AGE] },
            )
        },
        ResourceInfo {
            subresources: &[],
            ..custom::<terrarium::Cluster>(&[], const { &[path("K8S Version", ".spec.kubernetesVersion"), AGE] })
        },
        custom::<terrarium::Fault>(
            &[],
            const {
                &[
                    path("Kind", ".spec.kind"),
                    path("Shoot", ".spec.shoot.name"),
                    integer("Times", ".spec.times"),
                    integer("Done", ".status.times"),
                    path("Last", ".status.lastTime"),
                    AGE,
                ]
            },
        ),
        ResourceInfo {
            subresources: &[],
            ..custom::<terrarium::Timing>(&[], const { &[integer("Jitter", ".spec.jitterPercent"), AGE] })
        },
    ]
}
