// SPDX-License-Identifier: Apache-2.0
//! Kinds of Kubernetes that no component here, or hardly one, acts on: they are served so that clients find them (`kubectl
//! apply --prune` looks for most of them) and can store objects.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go @ v1.32.

use apimachinery::catalogue::Cell::Function;
use apimachinery::catalogue::{Cell, Column, ResourceInfo};
use serde_json::{Value, json};

use super::cells::{items, str_at};
use super::{PRINTED_AGE as AGE, bare, cells, column, counted, metric_cells, path, wide};
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
    column("Suspend", Function(suspended)),
    counted("Active", |object| cells::count(&object["status"]["active"])),
    column("Last Schedule", Cell::Age(".status.lastScheduleTime", "<none>")),
    AGE,
    wide("Containers", Function(|object| cells::container_names(&object["spec"]["jobTemplate"]))),
    wide("Images", Function(|object| cells::container_images(&object["spec"]["jobTemplate"]))),
    wide("Selector", Function(|object| cells::selector(&object["spec"]["jobTemplate"]["spec"]["selector"]))),
];

const INGRESS: &[Column] = &[
    column("Class", Function(|object| cells::text(object, "/spec/ingressClassName", "<none>"))),
    column("Hosts", Function(hosts)),
    column("Address", Function(|object| json!(cells::load_balancer(object)))),
    column("Ports", Function(|object| json!(if cells::count(&object["spec"]["tls"]) == 0 { "80" } else { "80, 443" }))),
    AGE,
];

const PRIORITY_CLASS: &[Column] = &[
    counted("Value", |object| cells::number(object, "/value")),
    flag("Global-Default", |object| cells::flag(object, "/globalDefault", false)),
    AGE,
    column("PreemptionPolicy", Function(|object| cells::text(object, "/preemptionPolicy", ""))),
];

const FLOW_SCHEMA: &[Column] = &[
    path("PriorityLevel", ".spec.priorityLevelConfiguration.name"),
    column("MatchingPrecedence", Function(|object| cells::number(object, "/spec/matchingPrecedence"))),
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

/// A boolean column.
const fn flag(name: &'static str, cell: fn(&Value) -> Value) -> Column {
    Column::new(name, "boolean", Function(cell), 0)
}

const AUTOSCALER: &[Column] = &[
    column("Reference", Function(scale_target)),
    column("Targets", Function(metric_cells::metrics)),
    column("MinPods", Function(least_pods)),
    column("MaxPods", Function(|object| cells::number(object, "/spec/maxReplicas"))),
    column("Replicas", Function(|object| cells::number(object, "/status/currentReplicas"))),
    AGE,
];

const REPLICATION_CONTROLLER: &[Column] = &[
    counted("Desired", |object| cells::number(object, "/spec/replicas")),
    counted("Current", |object| cells::number(object, "/status/replicas")),
    counted("Ready", |object| cells::number(object, "/status/readyReplicas")),
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

const CONTROLLER_REVISION: &[Column] = &[
    column("Controller", Function(controller)),
    column("Revision", Function(|object| cells::number(object, "/revision"))),
    AGE,
];

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
    flag("Attached", |object| cells::flag(object, "/status/attached", false)),
    AGE,
];

const CSI_DRIVER: &[Column] = &[
    flag("AttachRequired", |object| cells::flag(object, "/spec/attachRequired", true)),
    flag("PodInfoOnMount", |object| cells::flag(object, "/spec/podInfoOnMount", false)),
    flag("StorageCapacity", |object| cells::flag(object, "/spec/storageCapacity", false)),
    column("TokenRequests", Function(token_requests)),
    flag("RequiresRepublish", |object| cells::flag(object, "/spec/requiresRepublish", false)),
    column("Modes", Function(modes)),
    AGE,
];

/// Maximum number of list entries in a cell.
const SHOWN: usize = 3;

/// Status of condition `Dangling` of a FlowSchema: `True` if its priority level does not exist; `?` if unknown.
fn dangling(schema: &Value) -> Value {
    let conditions = schema["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Dangling");
    found.map_or_else(|| json!("?"), |condition| condition["status"].clone())
}

fn queuing(level: &Value) -> &Value {
    &level["spec"]["limited"]["limitResponse"]["queuing"]
}

/// A number, or `<none>`.
fn shown(number: &Value) -> Value {
    if number.is_null() { json!("<none>") } else { number.clone() }
}

/// The first entries of a list, and the number of further ones.
fn some(entries: Vec<String>) -> Value {
    first(&entries, "<unset>", entries.len())
}

/// The first entries, or `none`; `all` is their total number.
fn first(entries: &[String], none: &str, all: usize) -> Value {
    let shown = entries.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    json!(match entries.len() {
        0 => none.to_owned(),
        _ if all > SHOWN => format!("{shown} + {} more...", all - SHOWN),
        _ => shown,
    })
}

/// Address and port of each ready endpoint.
fn endpoints(object: &Value) -> Value {
    let mut found = Vec::new();
    for subset in items(&object["subsets"]) {
        let addresses = || items(&subset["addresses"]).filter_map(|address| address["ip"].as_str());
        if items(&subset["ports"]).len() == 0 {
            found.extend(addresses().map(str::to_owned));
        }
        for port in items(&subset["ports"]).filter_map(|port| port["port"].as_i64()) {
            found.extend(addresses().map(|address| {
                if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
            }));
        }
    }
    let none = if items(&object["subsets"]).len() == 0 { "<none>" } else { "" };
    first(&found, none, found.len())
}

/// Parameters of an IngressClass: `KIND.GROUP/NAME`.
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

/// Owner of a ControllerRevision: `statefulset.apps/web`.
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
    let audiences = |requests: &Vec<Value>| {
        let audiences: Vec<&str> = requests.iter().map(|request| str_at(request, "/audience")).collect();
        audiences.join(",")
    };
    json!(object["spec"]["tokenRequests"].as_array().map_or_else(|| "<unset>".to_owned(), audiences))
}

fn modes(object: &Value) -> Value {
    let modes = texts(&object["spec"]["volumeLifecycleModes"]).join(",");
    json!(if modes.is_empty() { "<none>".to_owned() } else { modes })
}

fn least_pods(object: &Value) -> Value {
    json!(object["spec"]["minReplicas"].as_i64().map_or_else(|| "<unset>".to_owned(), |least| least.to_string()))
}

fn suspended(object: &Value) -> Value {
    json!(match object["spec"]["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    })
}

/// A field of condition `Healthy` of a ComponentStatus.
fn health(object: &Value, field: &str) -> Value {
    let conditions = object["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == "Healthy");
    let text = found.and_then(|condition| condition[field].as_str()).unwrap_or_default();
    match field {
        "status" => json!(match text {
            "True" => "Healthy",
            _ if found.is_some() => "Unhealthy",
            _ => "Unknown",
        }),
        _ => json!(text),
    }
}

/// Status of a Job: the condition with which it ended, else `Running` or a condition in between.
fn job_status(object: &Value) -> Value {
    let holds = |type_: &&str| cells::condition(object, type_) == Some("True");
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

/// The first hosts of an Ingress's rules, separated by commas; `*` for all.
fn hosts(object: &Value) -> Value {
    let rules = object["spec"]["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let hosts = rules.iter().filter_map(|rule| rule["host"].as_str()).filter(|host| !host.is_empty());
    let hosts: Vec<String> = hosts.map(ToOwned::to_owned).collect();
    // Upstream counts rules, not hosts.
    let all = if hosts.len() < SHOWN { hosts.len() } else { rules.len() };
    first(&hosts, "*", all)
}

fn scale_target(object: &Value) -> Value {
    let target = &object["spec"]["scaleTargetRef"];
    let text = |name: &str| target[name].as_str().unwrap_or_default().to_owned();
    json!(format!("{}/{}", text("kind"), text("name")))
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
            const { &[counted("Drivers", |object| cells::count(&object["spec"]["drivers"])), AGE] }
        ),
        row!(
            "storage.k8s.io",
            "storage",
            "CSIStorageCapacity",
            "csistoragecapacities",
            true,
            &[],
            const {
                &[
                    path("StorageClassName", ".storageClassName"),
                    column("Capacity", Function(|object| cells::text(object, "/capacity", "<unset>"))),
                ]
            }
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
    fn a_job_shows_its_result() {
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
    fn absent_fields_of_drivers_and_cron_jobs_have_defaults() {
        let cells = |columns: &[Column], object: &Value| -> Vec<Value> {
            columns
                .iter()
                .filter_map(|column| match column.cell {
                    Function(make) => Some(make(object)),
                    _ => None,
                })
                .collect()
        };
        let none = json!({"spec": {}});
        assert_eq!(
            cells(CSI_DRIVER, &none),
            [json!(true), json!(false), json!(false), json!("<unset>"), json!(false), json!("<none>")]
        );
        let some = json!({"spec": {
            "attachRequired": false, "tokenRequests": [{"audience": "a"}, {}], "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        }});
        assert_eq!(cells(CSI_DRIVER, &some)[0], json!(false));
        assert_eq!(cells(CSI_DRIVER, &some)[3..], [json!("a,"), json!(false), json!("Persistent,Ephemeral")]);
        assert_eq!(
            (suspended(&none), suspended(&json!({"spec": {"suspend": true}}))),
            (json!("<unset>"), json!("True"))
        );
        assert_eq!(cells(PRIORITY_CLASS, &json!({"value": 7})), [json!(7), json!(false), json!("")]);
        let sick = |status: &str| json!({"conditions": [{"type": "Healthy", "status": status, "message": "m"}]});
        assert_eq!(health(&sick("Unknown"), "status"), "Unhealthy");
        assert_eq!((health(&none, "status"), health(&sick("True"), "message")), (json!("Unknown"), json!("m")));
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
    fn an_ingress_shows_hosts() {
        let rules = json!({"spec": {"rules": [{"host": "a"}, {}, {"host": "b"}]}});
        assert_eq!(hosts(&rules), "a,b");
        assert_eq!(hosts(&json!({"spec": {"rules": [{}]}})), "*");
        let many =
            json!({"spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}, {"host": "e"}]}});
        assert_eq!(hosts(&many), "a,b,c + 2 more...");
    }
}
