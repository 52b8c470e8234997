// SPDX-License-Identifier: Apache-2.0
//! Kubernetes' own kinds on which nothing here acts: they are served so that clients find them (`kubectl apply --prune`
//! looks for most of them) and can keep objects.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go @ v1.32.

use apimachinery::catalogue::Cell::{Function, Path};
use apimachinery::catalogue::{Cell, Column, ResourceInfo};
use serde_json::{Value, json};

use super::{AGE, bare, cells, column, integer, path, wide};
use crate::kubernetes::tables;

const ALL: &[&str] = &["all"];
const STATUS: &[&str] = &["status"];

const JOB: &[Column] = &[
    column("Status", Function(job_status)),
    column("Completions", Function(completions)),
    column("Duration", Cell::Elapsed(".status.startTime", ".status.completionTime")),
    AGE,
    wide("Containers", Function(cells::container_names)),
    wide("Images", Function(cells::container_images)),
    wide("Selector", Function(|object| cells::selector(&object["spec"]["selector"]))),
];

const CRON_JOB: &[Column] = &[
    path("Schedule", ".spec.schedule"),
    column("Timezone", Function(|object| cells::text(object, "/spec/timeZone", "<none>"))),
    column("Suspend", Function(|object| flag(object, "/spec/suspend"))),
    column("Active", Function(|object| cells::count(&object["status"]["active"]))),
    Column { name: "Last Schedule", type_: "date", cell: Path(".status.lastScheduleTime"), priority: 0 },
    AGE,
    wide("Containers", Function(|object| cells::container_names(&object["spec"]["jobTemplate"]))),
    wide("Images", Function(|object| cells::container_images(&object["spec"]["jobTemplate"]))),
    wide("Selector", Function(|object| cells::selector(&object["spec"]["jobTemplate"]["spec"]["selector"]))),
];

const INGRESS: &[Column] = &[
    column("Class", Function(|object| cells::text(object, "/spec/ingressClassName", "<none>"))),
    column("Hosts", Function(hosts)),
    column("Address", Function(|object| addresses(&object["status"]["loadBalancer"]["ingress"]))),
    column("Ports", Function(|object| json!(if object["spec"]["tls"].is_array() { "80, 443" } else { "80" }))),
    AGE,
];

const PRIORITY_CLASS: &[Column] = &[
    integer("Value", ".value"),
    column("Global-Default", Function(|object| flag(object, "/globalDefault"))),
    AGE,
    column("PreemptionPolicy", Function(|object| cells::text(object, "/preemptionPolicy", "PreemptLowerPriority"))),
];

const FLOW_SCHEMA: &[Column] = &[
    path("PriorityLevel", ".spec.priorityLevelConfiguration.name"),
    integer("MatchingPrecedence", ".spec.matchingPrecedence"),
    column("DistinguisherMethod", Function(|object| cells::text(object, "/spec/distinguisherMethod/type", "<none>"))),
    AGE,
    column("MissingPL", Function(dangling)),
];

const PRIORITY_LEVEL: &[Column] = &[
    path("Type", ".spec.type"),
    column(
        "NominalConcurrencyShares",
        Function(|object| shown(&object["spec"]["limited"]["nominalConcurrencyShares"])),
    ),
    column("Queues", Function(|object| shown(&queuing(object)["queues"]))),
    column("HandSize", Function(|object| shown(&queuing(object)["handSize"]))),
    column("QueueLengthLimit", Function(|object| shown(&queuing(object)["queueLengthLimit"]))),
    AGE,
];

/// A number, which Go leaves out where it is 0.
fn count(value: &Value) -> Value {
    value.as_i64().unwrap_or_default().into()
}

const fn counted(name: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column { name, type_: "integer", cell: Function(cell), priority: 0 }
}

const AUTOSCALER: &[Column] = &[
    column("Reference", Function(scale_target)),
    column("Targets", Function(metrics)),
    column(
        "MinPods",
        Function(|object| object["spec"].get("minReplicas").cloned().unwrap_or_else(|| "<unset>".into())),
    ),
    column("MaxPods", Function(|object| count(&object["spec"]["maxReplicas"]))),
    column("Replicas", Function(|object| count(&object["status"]["currentReplicas"]))),
    AGE,
];

const REPLICATION_CONTROLLER: &[Column] = &[
    counted("Desired", |object| count(&object["spec"]["replicas"])),
    counted("Current", |object| count(&object["status"]["replicas"])),
    counted("Ready", |object| count(&object["status"]["readyReplicas"])),
    AGE,
    wide("Containers", Function(cells::container_names)),
    wide("Images", Function(cells::container_images)),
    wide("Selector", Function(|object| cells::labels(&object["spec"]["selector"]))),
];

const ENDPOINTS: &[Column] = &[column("Endpoints", Function(endpoints)), AGE];

const INGRESS_CLASS: &[Column] =
    &[path("Controller", ".spec.controller"), column("Parameters", Function(parameters)), AGE];

const ENDPOINT_SLICE: &[Column] = &[
    path("AddressType", ".addressType"),
    column("Ports", Function(|object| some(slice_ports(object)))),
    column("Endpoints", Function(|object| some(slice_addresses(object)))),
    AGE,
];

const CONTROLLER_REVISION: &[Column] =
    &[column("Controller", Function(controller)), path("Revision", ".revision"), AGE];

const COMPONENT_STATUS: &[Column] = &[
    column("Status", Function(|object| health(object, "status"))),
    column("Message", Function(|object| health(object, "message"))),
    column("Error", Function(|object| health(object, "error"))),
];

const POD_TEMPLATE: &[Column] = &[
    column("Containers", Function(|object| cells::container_names(&json!({ "spec": object })))),
    column("Images", Function(|object| cells::container_images(&json!({ "spec": object })))),
    column("Pod Labels", Function(|object| cells::labels(&object["template"]["metadata"]["labels"]))),
];

const VOLUME_ATTACHMENT: &[Column] = &[
    path("Attacher", ".spec.attacher"),
    path("PV", ".spec.source.persistentVolumeName"),
    path("Node", ".spec.nodeName"),
    Column { name: "Attached", type_: "boolean", cell: Path(".status.attached"), priority: 0 },
    AGE,
];

const CSI_DRIVER: &[Column] = &[
    Column { name: "AttachRequired", type_: "boolean", cell: Path(".spec.attachRequired"), priority: 0 },
    Column { name: "PodInfoOnMount", type_: "boolean", cell: Path(".spec.podInfoOnMount"), priority: 0 },
    Column { name: "StorageCapacity", type_: "boolean", cell: Path(".spec.storageCapacity"), priority: 0 },
    column("TokenRequests", Function(token_requests)),
    Column { name: "RequiresRepublish", type_: "boolean", cell: Path(".spec.requiresRepublish"), priority: 0 },
    column("Modes", Function(|object| some(texts(&object["spec"]["volumeLifecycleModes"])))),
    AGE,
];

/// How many entries of a list a cell shows.
const SHOWN: usize = 3;

/// Whether the priority level of a FlowSchema is missing.
fn dangling(schema: &Value) -> Value {
    let conditions = schema["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Dangling");
    found.map_or_else(|| json!("?"), |condition| condition["status"].clone())
}

fn queuing(level: &Value) -> &Value {
    &level["spec"]["limited"]["limitResponse"]["queuing"]
}

/// A number; `<none>` without one.
fn shown(number: &Value) -> Value {
    if number.is_null() { json!("<none>") } else { number.clone() }
}

/// The first entries of a list, and how many more there are.
fn some(entries: Vec<String>) -> Value {
    first(&entries, "<unset>", entries.len())
}

/// The first of entries, or a word for none; `all` is how many there are.
fn first(entries: &[String], none: &str, all: usize) -> Value {
    let shown = entries.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    json!(match entries.len() {
        0 => none.to_owned(),
        _ if all > SHOWN => format!("{shown} + {} more...", all - SHOWN),
        _ => shown,
    })
}

/// Address and port of each endpoint that is ready.
fn endpoints(object: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for subset in list(&object["subsets"]) {
        let addresses = list(&subset["addresses"]);
        let addresses: Vec<&str> = addresses.iter().filter_map(|address| address["ip"].as_str()).collect();
        let ports = list(&subset["ports"]);
        if ports.is_empty() {
            found.extend(addresses.iter().map(|address| (*address).to_owned()));
        }
        for port in ports.iter().filter_map(|port| port["port"].as_i64()) {
            found.extend(addresses.iter().map(|address| {
                if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
            }));
        }
    }
    let none = if object["subsets"].as_array().is_some_and(|subsets| !subsets.is_empty()) { "" } else { "<none>" };
    first(&found, none, found.len())
}

/// `KIND.GROUP/NAME` of what configures an IngressClass.
fn parameters(object: &Value) -> Value {
    let parameters = &object["spec"]["parameters"];
    let text = |name: &str| parameters[name].as_str().unwrap_or_default();
    json!(match parameters["apiGroup"].as_str() {
        _ if !parameters.is_object() => "<none>".to_owned(),
        Some(group) => format!("{}.{group}/{}", text("kind"), text("name")),
        None => format!("{}/{}", text("kind"), text("name")),
    })
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

/// Ports of an EndpointSlice: numbers, else names, else any.
fn slice_ports(object: &Value) -> Vec<String> {
    let shown = |port: &Value| {
        let number = port["port"].as_i64().map(|number| number.to_string());
        number.or_else(|| Some(port["name"].as_str()?.to_owned())).unwrap_or_else(|| "*".to_owned())
    };
    object["ports"].as_array().into_iter().flatten().map(shown).collect()
}

fn slice_addresses(object: &Value) -> Vec<String> {
    object["endpoints"].as_array().into_iter().flatten().flat_map(|endpoint| texts(&endpoint["addresses"])).collect()
}

/// The object that a revision is of: `statefulset.apps/web`.
fn controller(object: &Value) -> Value {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owner = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return json!("<none>") };
    let text = |name: &str| owner[name].as_str().unwrap_or_default();
    let kind = text("kind").to_lowercase();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    json!(if group.is_empty() {
        format!("{kind}/{}", text("name"))
    } else {
        format!("{kind}.{group}/{}", text("name"))
    })
}

fn token_requests(object: &Value) -> Value {
    let requests = object["spec"]["tokenRequests"].as_array();
    let audiences = requests.into_iter().flatten().filter_map(|request| request["audience"].as_str());
    let audiences: Vec<&str> = audiences.collect();
    json!(if audiences.is_empty() { "<unset>".to_owned() } else { audiences.join(",") })
}

/// What condition `Healthy` of a component says.
fn health(object: &Value, field: &str) -> Value {
    let conditions = object["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == "Healthy");
    let text = found.and_then(|condition| condition[field].as_str()).unwrap_or_default();
    match field {
        "status" => json!(match text {
            "True" => "Healthy",
            "False" => "Unhealthy",
            _ => "Unknown",
        }),
        _ => json!(text),
    }
}

fn flag(object: &Value, pointer: &str) -> Value {
    json!(if object.pointer(pointer) == Some(&Value::Bool(true)) { "True" } else { "False" })
}

/// The condition that says how a Job ended, or that it runs.
fn job_status(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let holds = |type_: &&str| conditions.iter().any(|found| found["type"] == **type_ && found["status"] == "True");
    let is_being_deleted = object["metadata"]["deletionTimestamp"].is_string();
    let ended = ["Complete", "Failed"].into_iter().find(holds);
    let ended = ended.or_else(|| is_being_deleted.then_some("Terminating"));
    json!(ended.or_else(|| ["Suspended", "FailureTarget"].into_iter().find(holds)).unwrap_or("Running"))
}

fn completions(object: &Value) -> Value {
    let succeeded = object["status"]["succeeded"].as_i64().unwrap_or(0);
    let spec = &object["spec"];
    json!(match (spec["completions"].as_i64(), spec["parallelism"].as_i64().unwrap_or(0)) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    })
}

/// The first hosts of an Ingress's rules, with commas; `*` for all.
fn hosts(object: &Value) -> Value {
    let rules = object["spec"]["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let hosts = rules.iter().filter_map(|rule| rule["host"].as_str()).filter(|host| !host.is_empty());
    let hosts: Vec<String> = hosts.map(ToOwned::to_owned).collect();
    // Upstream counts rules, not hosts.
    let all = if hosts.len() < SHOWN { hosts.len() } else { rules.len() };
    first(&hosts, "*", all)
}

fn addresses(ingress: &Value) -> Value {
    let address = |found: &Value| found["ip"].as_str().or_else(|| found["hostname"].as_str()).map(ToOwned::to_owned);
    let found: Vec<String> = ingress.as_array().into_iter().flatten().filter_map(address).collect();
    json!(found.join(","))
}

fn scale_target(object: &Value) -> Value {
    let target = &object["spec"]["scaleTargetRef"];
    let text = |name: &str| target[name].as_str().unwrap_or_default().to_owned();
    json!(format!("{}/{}", text("kind"), text("name")))
}

/// Metrics that are shown of an autoscaler.
const SHOWN_METRICS: usize = 2;

/// What is measured and what is wanted: `cpu: <unknown>/80%`.
fn metrics(object: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (wanted, measured) = (list(&object["spec"]["metrics"]), list(&object["status"]["currentMetrics"]));
    if wanted.is_empty() {
        return json!("<none>");
    }
    let texts: Vec<String> =
        wanted.iter().enumerate().map(|(index, metric)| metric_text(metric, measured.get(index))).collect();
    let shown = texts.iter().take(SHOWN_METRICS).cloned().collect::<Vec<_>>().join(", ");
    json!(if texts.len() > SHOWN_METRICS {
        format!("{shown} + {} more...", texts.len() - SHOWN_METRICS)
    } else {
        shown
    })
}

fn metric_text(metric: &Value, measured: Option<&Value>) -> String {
    let kind = match metric["type"].as_str().unwrap_or_default() {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let target = &metric[kind]["target"];
    let current = measured.map(|measured| measured[kind]["current"].clone()).unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let known = |value: &Value| if value.is_null() { "<unknown>".to_owned() } else { text(value) };
    let percent = |value: &Value, none: &str| value.as_i64().map_or_else(|| none.to_owned(), |it| format!("{it}%"));
    let average = (!target["averageValue"].is_null())
        .then(|| format!("{}/{}", known(&current["averageValue"]), text(&target["averageValue"])));
    match (kind, average) {
        ("resource" | "containerResource", average) => {
            let (current, wanted) = (&current["averageUtilization"], &target["averageUtilization"]);
            let percent = || format!("{}/{}", percent(current, "<unknown>"), percent(wanted, "<auto>"));
            format!("{}: {}", text(&metric[kind]["name"]), average.unwrap_or_else(percent))
        }
        ("pods", Some(average)) => average,
        (_, Some(average)) => format!("{average} (avg)"),
        (_, None) => format!("{}/{}", known(&current["value"]), known(&target["value"])),
    }
}

/// A row of a kind that the table `$table` describes.
macro_rules! row {
    ($group:literal, $table:literal, $kind:literal, $plural:literal, $namespaced:literal, $short:expr, $columns:expr) => {
        bare($group, "v1", $kind, $plural, $namespaced, $short, $columns, || {
            tables::node($table, $kind).expect("the table has the kind")
        })
    };
}

/// HorizontalPodAutoscalers of `autoscaling/v2`.
pub(super) fn autoscalers() -> ResourceInfo {
    ResourceInfo {
        categories: ALL,
        subresources: STATUS,
        ..bare(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            true,
            &["hpa"],
            AUTOSCALER,
            || tables::node("autoscalingv2", "HorizontalPodAutoscaler").expect("the table has the kind"),
        )
    }
}

pub(super) fn rows() -> Vec<ResourceInfo> {
    const SCALE: &[&str] = &["status", "scale"];
    vec![
        row!("", "core", "Endpoints", "endpoints", true, &["ep"], ENDPOINTS),
        ResourceInfo {
            read_only: true,
            ..row!("", "core", "ComponentStatus", "componentstatuses", false, &["cs"], COMPONENT_STATUS)
        },
        ResourceInfo {
            categories: ALL,
            subresources: SCALE,
            field_selectors: &[("status.replicas", ".status.replicas")],
            ..row!("", "core", "ReplicationController", "replicationcontrollers", true, &["rc"], REPLICATION_CONTROLLER)
        },
        autoscalers(),
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            field_selectors: &[("status.successful", ".status.succeeded")],
            ..row!("batch", "batch", "Job", "jobs", true, &[], JOB)
        },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            ..row!("batch", "batch", "CronJob", "cronjobs", true, &["cj"], CRON_JOB)
        },
        ResourceInfo {
            subresources: STATUS,
            ..row!("networking.k8s.io", "networking", "Ingress", "ingresses", true, &["ing"], INGRESS)
        },
        row!("networking.k8s.io", "networking", "IngressClass", "ingressclasses", false, &[], INGRESS_CLASS),
        row!(
            "networking.k8s.io",
            "networking",
            "NetworkPolicy",
            "networkpolicies",
            true,
            &["netpol"],
            const { &[column("Pod-Selector", Function(|object| cells::selector(&object["spec"]["podSelector"]))), AGE] }
        ),
        row!("scheduling.k8s.io", "scheduling", "PriorityClass", "priorityclasses", false, &["pc"], PRIORITY_CLASS),
        ResourceInfo {
            subresources: STATUS,
            ..row!("flowcontrol.apiserver.k8s.io", "flowcontrol", "FlowSchema", "flowschemas", false, &[], FLOW_SCHEMA)
        },
        ResourceInfo {
            subresources: STATUS,
            ..row!(
                "flowcontrol.apiserver.k8s.io",
                "flowcontrol",
                "PriorityLevelConfiguration",
                "prioritylevelconfigurations",
                false,
                &[],
                PRIORITY_LEVEL
            )
        },
        row!(
            "node.k8s.io",
            "node",
            "RuntimeClass",
            "runtimeclasses",
            false,
            &[],
            const { &[path("Handler", ".handler"), AGE] }
        ),
        row!("", "core", "PodTemplate", "podtemplates", true, &[], POD_TEMPLATE),
        row!("apps", "apps", "ControllerRevision", "controllerrevisions", true, &[], CONTROLLER_REVISION),
        row!("discovery.k8s.io", "discovery", "EndpointSlice", "endpointslices", true, &[], ENDPOINT_SLICE),
        row!("storage.k8s.io", "storage", "CSIDriver", "csidrivers", false, &[], CSI_DRIVER),
        row!(
            "storage.k8s.io",
            "storage",
            "CSINode",
            "csinodes",
            false,
            &[],
            const { &[column("Drivers", Function(|object| cells::count(&object["spec"]["drivers"]))), AGE] }
        ),
        row!(
            "storage.k8s.io",
            "storage",
            "CSIStorageCapacity",
            "csistoragecapacities",
            true,
            &[],
            const { &[path("StorageClassName", ".storageClassName"), path("Capacity", ".capacity")] }
        ),
        ResourceInfo {
            subresources: STATUS,
            ..row!("storage.k8s.io", "storage", "VolumeAttachment", "volumeattachments", false, &[], VOLUME_ATTACHMENT)
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_how_it_ended() {
        let job = |conditions: Value| json!({"spec": {"completions": 3}, "status": {"conditions": conditions, "succeeded": 1}});
        assert_eq!(job_status(&job(json!([]))), "Running");
        assert_eq!(job_status(&job(json!([{"type": "Complete", "status": "False"}]))), "Running");
        assert_eq!(job_status(&job(json!([{"type": "Failed", "status": "True"}]))), "Failed");
        assert_eq!(job_status(&job(json!([{"type": "Suspended", "status": "True"}]))), "Suspended");
        let mut deleted = job(json!([{"type": "Suspended", "status": "True"}]));
        deleted["metadata"] = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(job_status(&deleted), "Terminating");
        assert_eq!(completions(&job(json!([]))), "1/3");
        assert_eq!(completions(&json!({"spec": {"parallelism": 4}, "status": {"succeeded": 2}})), "2/1 of 4");
        assert_eq!(completions(&json!({"spec": {"parallelism": 1}})), "0/1");
    }

    #[test]
    fn endpoints_are_addresses_with_ports() {
        let of = |subsets: Value| endpoints(&json!({ "subsets": subsets }));
        let addresses = |addresses: &[&str]| -> Value { addresses.iter().map(|ip| json!({ "ip": ip })).collect() };
        assert_eq!(of(json!(null)), "<none>");
        assert_eq!(of(json!([{"ports": [{"port": 80}]}])), "");
        assert_eq!(of(json!([{"addresses": addresses(&["10.0.0.1", "fd00::1"])}])), "10.0.0.1,fd00::1");
        let several = json!([
            {"addresses": addresses(&["10.0.0.1", "fd00::1"]), "ports": [{"port": 80}, {"port": 443}]},
            {"addresses": addresses(&["10.0.0.3"]), "ports": [{"port": 1}]},
        ]);
        assert_eq!(of(several), "10.0.0.1:80,[fd00::1]:80,10.0.0.1:443 + 2 more...");
    }

    #[test]
    fn an_ingress_class_names_its_parameters() {
        let of = |value: Value| parameters(&json!({"spec": {"parameters": value}}));
        assert_eq!(of(json!(null)), "<none>");
        assert_eq!(of(json!({"kind": "K", "name": "n"})), "K/n");
        assert_eq!(of(json!({"kind": "K", "name": "n", "apiGroup": "g.io"})), "K.g.io/n");
    }

    #[test]
    fn an_autoscaler_without_a_status_has_no_replicas() {
        let cells = |object: &Value| -> Vec<Value> {
            let cell = |column: &Column| match column.cell {
                Function(make) => make(object),
                _ => Value::Null,
            };
            AUTOSCALER.iter().filter(|column| column.name != "Age").map(cell).collect()
        };
        let object =
            json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}, "status": {}});
        assert_eq!(cells(&object), [json!("Deployment/d"), json!("<none>"), json!("<unset>"), json!(3), json!(0)]);
    }

    #[test]
    fn lists_are_cut() {
        let slice = |ports: Value| some(slice_ports(&json!({ "ports": ports })));
        assert_eq!(slice(json!(null)), "<unset>");
        assert_eq!(slice(json!([{"port": 80}, {"name": "web"}, {}])), "80,web,*");
        assert_eq!(
            slice(json!([{"port": 1}, {"port": 2}, {"port": 3}, {"port": 4}, {"port": 5}])),
            "1,2,3 + 2 more..."
        );
        let endpoints = json!({"endpoints": [{"addresses": ["10.0.0.1", "10.0.0.2"]}, {"addresses": ["10.0.0.3"]}]});
        assert_eq!(some(slice_addresses(&endpoints)), "10.0.0.1,10.0.0.2,10.0.0.3");
    }

    #[test]
    fn a_revision_names_its_controller() {
        let owned = |api_version: &str, kind: &str| {
            let owner = json!({"apiVersion": api_version, "kind": kind, "name": "web", "controller": true});
            controller(&json!({"metadata": {"ownerReferences": [owner]}}))
        };
        assert_eq!(owned("apps/v1", "StatefulSet"), "statefulset.apps/web");
        assert_eq!(owned("v1", "Pod"), "pod/web");
        assert_eq!(controller(&json!({})), "<none>");
    }

    #[test]
    fn an_autoscaler_shows_what_it_measures_and_wants() {
        let cpu = |target: Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let queue = json!({"type": "External", "external": {"target": {"averageValue": "5"}}});
        let check = |wanted: Value, measured: Value, expected: &str| {
            let tree = json!({"spec": {"metrics": wanted}, "status": {"currentMetrics": measured}});
            assert_eq!(metrics(&tree), expected);
        };
        check(json!(null), json!(null), "<none>");
        check(json!([cpu(json!({"averageUtilization": 80}))]), json!(null), "cpu: <unknown>/80%");
        let measured =
            json!([{"type": "Resource", "resource": {"current": {"averageUtilization": 7, "averageValue": "1m"}}}]);
        check(json!([cpu(json!({"averageUtilization": 80}))]), measured.clone(), "cpu: 7%/80%");
        check(json!([cpu(json!({"averageValue": "2"})), queue]), measured, "cpu: 1m/2, <unknown>/5 (avg)");
        check(json!([queue, queue, {"type": "Luck"}]), json!([]), "<unknown>/5 (avg), <unknown>/5 (avg) + 1 more...");
    }

    #[test]
    fn an_ingress_shows_hosts_and_addresses() {
        let rules = json!({"spec": {"rules": [{"host": "a"}, {}, {"host": "b"}]}});
        assert_eq!(hosts(&rules), "a,b");
        assert_eq!(hosts(&json!({"spec": {"rules": [{}]}})), "*");
        let many =
            json!({"spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}, {"host": "e"}]}});
        assert_eq!(hosts(&many), "a,b,c + 2 more...");
        assert_eq!(addresses(&json!([{"ip": "1.2.3.4"}, {"hostname": "h"}])), "1.2.3.4,h");
    }
}
