// SPDX-License-Identifier: Apache-2.0
//! Kinds of Kubernetes: served by every cluster, with schemas from the tables of field facts.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go, pkg/registry/*/*/strategy.go @ v1.32.

use apimachinery::catalogue::Cell::{Function, Path};
use apimachinery::catalogue::{Cell, Column, ResourceInfo};

use super::{PRINTED_AGE as AGE, bare, cells, column, counted, path, pod_cells, wide};
use crate::kubernetes::tables;

const ALL: &[&str] = &["all"];
const STATUS: &[&str] = &["status"];

const CONTAINERS: Column = wide("Containers", Function(cells::container_names));
const IMAGES: Column = wide("Images", Function(cells::container_images));
const SELECTOR: Column = wide("Selector", Function(|object| cells::selector(&object["spec"]["selector"])));

pub(super) const EVENT: &[Column] = &[
    Column::new("Last Seen", "age", Function(cells::event_last_seen), 0),
    path("Type", ".type"),
    path("Reason", ".reason"),
    column("Object", Function(cells::event_object)),
    wide("Subobject", Path(".involvedObject.fieldPath")),
    wide("Source", Function(cells::event_source)),
    column("Message", Function(cells::event_message)),
    Column::new("First Seen", "age", Function(cells::event_first_seen), 1),
    wide("Count", Function(cells::event_count)),
    wide("Name", Path(".metadata.name")),
];

const POD: &[Column] = &[
    column("Ready", Function(pod_cells::ready)),
    column("Status", Function(pod_cells::status)),
    column("Restarts", Cell::Ago(pod_cells::restarts)),
    AGE,
    wide("IP", Function(pod_cells::address)),
    wide("Node", Function(|object| cells::text(object, "/spec/nodeName", "<none>"))),
    wide("Nominated Node", Function(|object| cells::text(object, "/status/nominatedNodeName", "<none>"))),
    wide("Readiness Gates", Function(pod_cells::readiness_gates)),
];

const NODE: &[Column] = &[
    column("Status", Function(cells::node_status)),
    column("Roles", Function(cells::node_roles)),
    AGE,
    path("Version", ".status.nodeInfo.kubeletVersion"),
    wide("Internal-IP", Function(cells::node_internal_ip)),
    wide("External-IP", Function(cells::node_external_ip)),
    wide("OS-Image", Function(|object| cells::text(object, "/status/nodeInfo/osImage", "<unknown>"))),
    wide("Kernel-Version", Function(|object| cells::text(object, "/status/nodeInfo/kernelVersion", "<unknown>"))),
    wide(
        "Container-Runtime",
        Function(|object| cells::text(object, "/status/nodeInfo/containerRuntimeVersion", "<unknown>")),
    ),
];

const WEBHOOKS: &[Column] = &[counted("Webhooks", |object| cells::count(&object["webhooks"])), AGE];

const SERVICE: &[Column] = &[
    path("Type", ".spec.type"),
    column("Cluster-IP", Function(|object| cells::text(object, "/spec/clusterIP", "<none>"))),
    column("External-IP", Function(cells::service_external)),
    column("Port(s)", Function(cells::service_ports)),
    AGE,
    wide("Selector", Function(|object| cells::labels(&object["spec"]["selector"]))),
];

const DEPLOYMENT: &[Column] = &[
    column("Ready", Function(cells::ready_of_replicas)),
    column("Up-to-date", Function(|object| cells::number(object, "/status/updatedReplicas"))),
    column("Available", Function(|object| cells::number(object, "/status/availableReplicas"))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const REPLICA_SET: &[Column] = &[
    counted("Desired", |object| cells::number(object, "/spec/replicas")),
    counted("Current", |object| cells::number(object, "/status/replicas")),
    counted("Ready", |object| cells::number(object, "/status/readyReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const STATEFUL_SET: &[Column] = &[column("Ready", Function(cells::ready_of_replicas)), AGE, CONTAINERS, IMAGES];

const DAEMON_SET: &[Column] = &[
    counted("Desired", |object| cells::number(object, "/status/desiredNumberScheduled")),
    counted("Current", |object| cells::number(object, "/status/currentNumberScheduled")),
    counted("Ready", |object| cells::number(object, "/status/numberReady")),
    counted("Up-to-date", |object| cells::number(object, "/status/updatedNumberScheduled")),
    counted("Available", |object| cells::number(object, "/status/numberAvailable")),
    column("Node Selector", Function(|object| cells::labels(&object["spec"]["template"]["spec"]["nodeSelector"]))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const POD_DISRUPTION_BUDGET: &[Column] = &[
    column("Min Available", Function(|object| cells::or_not_applicable(&object["spec"]["minAvailable"]))),
    column("Max Unavailable", Function(|object| cells::or_not_applicable(&object["spec"]["maxUnavailable"]))),
    counted("Allowed Disruptions", |object| cells::number(object, "/status/disruptionsAllowed")),
    AGE,
];

const RESOURCE_QUOTA: &[Column] = &[
    column("Request", Function(|object| cells::quota(object, |name| !name.starts_with("limits.")))),
    column("Limit", Function(|object| cells::quota(object, |name| name.starts_with("limits.")))),
    AGE,
];

const BINDING: &[Column] = &[
    column("Role", Function(cells::binding_role)),
    AGE,
    wide("Users", Function(|binding| cells::subjects(binding, "User"))),
    wide("Groups", Function(|binding| cells::subjects(binding, "Group"))),
    wide("ServiceAccounts", Function(|binding| cells::subjects(binding, "ServiceAccount"))),
];

const SIGNING_REQUEST: &[Column] = &[
    AGE,
    column("SignerName", Function(|object| cells::text(object, "/spec/signerName", "<none>"))),
    path("Requestor", ".spec.username"),
    column("RequestedDuration", Cell::Seconds(".spec.expirationSeconds")),
    column("Condition", Function(cells::signing_request)),
];

const API_SERVICE: &[Column] =
    &[column("Service", Function(cells::service_of_group)), column("Available", Function(cells::availability)), AGE];

/// Columns that upstream shows for a kind without columns of its own.
const CREATED_AT: &[Column] = &[path("Created At", ".metadata.creationTimestamp")];

const EVENT_SELECTORS: &[(&str, &str)] = &[
    ("involvedObject.kind", ".involvedObject.kind"),
    ("involvedObject.namespace", ".involvedObject.namespace"),
    ("involvedObject.name", ".involvedObject.name"),
    ("involvedObject.uid", ".involvedObject.uid"),
    ("involvedObject.apiVersion", ".involvedObject.apiVersion"),
    ("involvedObject.resourceVersion", ".involvedObject.resourceVersion"),
    ("involvedObject.fieldPath", ".involvedObject.fieldPath"),
    ("reason", ".reason"),
    ("reportingComponent", ".reportingComponent"),
    ("source", ".source.component|.reportingComponent"),
    ("type", ".type"),
];

const POD_SELECTORS: &[(&str, &str)] = &[
    ("spec.nodeName", ".spec.nodeName"),
    ("spec.host", ".spec.nodeName"),
    ("spec.restartPolicy", ".spec.restartPolicy"),
    ("spec.schedulerName", ".spec.schedulerName"),
    ("spec.serviceAccountName", ".spec.serviceAccountName"),
    ("spec.hostNetwork", ".spec.hostNetwork|=false"),
    ("status.phase", ".status.phase"),
    ("status.podIP", ".status.podIP"),
    // Upstream accepts this selector, but finds no value for it.
    ("status.podIPs", ".status.podIPs"),
    ("status.nominatedNodeName", ".status.nominatedNodeName"),
];

/// A row of a kind that the table `$table` describes.
macro_rules! own {
    ($group:literal, $table:literal, $kind:literal, $plural:literal, $namespaced:literal, $short:expr, $columns:expr) => {
        bare($group, "v1", $kind, $plural, $namespaced, $short, const { $columns }, || {
            tables::node($table, $kind).expect("the table has the kind")
        })
    };
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn rows() -> Vec<ResourceInfo> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    vec![
        ResourceInfo {
            subresources: &["status", "finalize"],
            field_selectors: &[("status.phase", ".status.phase")],
            ..own!("", "core", "Namespace", "namespaces", false, &["ns"], &[path("Status", ".status.phase"), AGE])
        },
        ResourceInfo {
            field_selectors: &[("type", ".type")],
            ..own!(
                "",
                "core",
                "Secret",
                "secrets",
                true,
                &[],
                &[path("Type", ".type"), column("Data", Function(|object| cells::count(&object["data"]))), AGE]
            )
        },
        own!("", "core", "ConfigMap", "configmaps", true, &["cm"], &[column("Data", Function(cells::data)), AGE]),
        ResourceInfo {
            subresources: &["token"],
            ..own!(
                "",
                "core",
                "ServiceAccount",
                "serviceaccounts",
                true,
                &["sa"],
                &[column("Secrets", Function(|object| cells::count(&object["secrets"]))), AGE]
            )
        },
        ResourceInfo { field_selectors: EVENT_SELECTORS, ..own!("", "core", "Event", "events", true, &["ev"], EVENT) },
        ResourceInfo {
            subresources: STATUS,
            ..own!("", "core", "ResourceQuota", "resourcequotas", true, &["quota"], RESOURCE_QUOTA)
        },
        own!("", "core", "LimitRange", "limitranges", true, &["limits"], CREATED_AT),
        ResourceInfo {
            categories: ALL,
            subresources: &["status", "ephemeralcontainers", "eviction", "log", "attach", "exec", "portforward"],
            field_selectors: POD_SELECTORS,
            ..own!("", "core", "Pod", "pods", true, &["po"], POD)
        },
        ResourceInfo {
            subresources: STATUS,
            field_selectors: &[("spec.unschedulable", ".spec.unschedulable|=false")],
            heartbeat_fields: &[".status.conditions[].lastHeartbeatTime"],
            ..own!("", "core", "Node", "nodes", false, &["no"], NODE)
        },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[("spec.clusterIP", ".spec.clusterIP"), ("spec.type", ".spec.type")],
            ..own!("", "core", "Service", "services", true, &["svc"], SERVICE)
        },
        ResourceInfo {
            categories: ALL,
            subresources: &["status", "scale"],
            ..own!("apps", "apps", "Deployment", "deployments", true, &["deploy"], DEPLOYMENT)
        },
        ResourceInfo {
            categories: ALL,
            subresources: &["status", "scale"],
            ..own!("apps", "apps", "ReplicaSet", "replicasets", true, &["rs"], REPLICA_SET)
        },
        ResourceInfo {
            categories: ALL,
            subresources: &["status", "scale"],
            ..own!("apps", "apps", "StatefulSet", "statefulsets", true, &["sts"], STATEFUL_SET)
        },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            ..own!("apps", "apps", "DaemonSet", "daemonsets", true, &["ds"], DAEMON_SET)
        },
        ResourceInfo {
            heartbeat_fields: &[".spec.renewTime"],
            ..own!(
                "coordination.k8s.io",
                "coordination",
                "Lease",
                "leases",
                true,
                &[],
                &[path("Holder", ".spec.holderIdentity"), AGE]
            )
        },
        ResourceInfo {
            subresources: STATUS,
            ..own!(
                "policy",
                "policy",
                "PodDisruptionBudget",
                "poddisruptionbudgets",
                true,
                &["pdb"],
                POD_DISRUPTION_BUDGET
            )
        },
        ResourceInfo { group: RBAC, ..own!("", "rbac", "Role", "roles", true, &[], CREATED_AT) },
        ResourceInfo { group: RBAC, ..own!("", "rbac", "RoleBinding", "rolebindings", true, &[], BINDING) },
        ResourceInfo { group: RBAC, ..own!("", "rbac", "ClusterRole", "clusterroles", false, &[], CREATED_AT) },
        ResourceInfo {
            group: RBAC,
            ..own!("", "rbac", "ClusterRoleBinding", "clusterrolebindings", false, &[], BINDING)
        },
        ResourceInfo {
            subresources: &["status", "approval"],
            field_selectors: &[("spec.signerName", ".spec.signerName")],
            ..own!(
                "certificates.k8s.io",
                "certificates",
                "CertificateSigningRequest",
                "certificatesigningrequests",
                false,
                &["csr"],
                SIGNING_REQUEST
            )
        },
        own!(
            "admissionregistration.k8s.io",
            "admissionregistration",
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            false,
            &[],
            WEBHOOKS
        ),
        own!(
            "admissionregistration.k8s.io",
            "admissionregistration",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            false,
            &[],
            WEBHOOKS
        ),
        ResourceInfo {
            subresources: STATUS,
            ..own!(
                "apiextensions.k8s.io",
                "apiextensions",
                "CustomResourceDefinition",
                "customresourcedefinitions",
                false,
                &["crd", "crds"],
                CREATED_AT
            )
        },
        ResourceInfo {
            subresources: STATUS,
            ..own!("apiregistration.k8s.io", "apiregistration", "APIService", "apiservices", false, &[], API_SERVICE)
        },
    ]
}
