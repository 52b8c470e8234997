// SPDX-License-Identifier: Apache-2.0
//! Kubernetes' own kinds on which nothing here acts: they are served so that clients find them (`kubectl apply --prune`
//! looks for most of them) and can keep objects.
//!
//! Source: kubernetes pkg/printers/internalversion/printers.go @ v1.32.

use apimachinery::catalogue::Cell::{Function, Path};
use apimachinery::catalogue::{Column, ResourceInfo};
use serde_json::{Value, json};

use super::{AGE, bare, cells, column, integer, path, wide};
use crate::kubernetes::tables;

const ALL: &[&str] = &["all"];
const STATUS: &[&str] = &["status"];

const JOB: &[Column] = &[
    column("Status", Function(job_status)),
    column("Completions", Function(completions)),
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

const AUTOSCALER: &[Column] = &[
    column("Reference", Function(scale_target)),
    integer("MinPods", ".spec.minReplicas"),
    integer("MaxPods", ".spec.maxReplicas"),
    integer("Replicas", ".status.currentReplicas"),
    AGE,
];

const REPLICATION_CONTROLLER: &[Column] = &[
    integer("Desired", ".spec.replicas"),
    integer("Current", ".status.replicas"),
    integer("Ready", ".status.readyReplicas"),
    AGE,
    wide("Containers", Function(cells::container_names)),
    wide("Images", Function(cells::container_images)),
];

fn flag(object: &Value, pointer: &str) -> Value {
    json!(if object.pointer(pointer) == Some(&Value::Bool(true)) { "True" } else { "False" })
}

/// The condition that says how a Job ended, or that it runs.
fn job_status(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let holds = |type_: &&str| conditions.iter().any(|found| found["type"] == **type_ && found["status"] == "True");
    let found = ["Complete", "Failed", "Suspended"].into_iter().find(holds);
    json!(found.unwrap_or("Running"))
}

fn completions(object: &Value) -> Value {
    let succeeded = object["status"]["succeeded"].as_i64().unwrap_or(0);
    json!(format!("{succeeded}/{}", object["spec"]["completions"].as_i64().unwrap_or(1)))
}

/// Hosts of an Ingress's rules, with commas; `*` for all.
fn hosts(object: &Value) -> Value {
    let rules = object["spec"]["rules"].as_array().map_or(&[][..], Vec::as_slice);
    let hosts: Vec<&str> =
        rules.iter().filter_map(|rule| rule["host"].as_str()).filter(|host| !host.is_empty()).collect();
    json!(if hosts.is_empty() { "*".to_owned() } else { hosts.join(",") })
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

/// A row of a kind that the table `$table` describes.
macro_rules! row {
    ($group:literal, $table:literal, $kind:literal, $plural:literal, $namespaced:literal, $short:expr, $columns:expr) => {
        bare($group, "v1", $kind, $plural, $namespaced, $short, $columns, || {
            tables::node($table, $kind).expect("the table has the kind")
        })
    };
}

pub(super) fn rows() -> Vec<ResourceInfo> {
    const SCALE: &[&str] = &["status", "scale"];
    vec![
        row!("", "core", "Endpoints", "endpoints", true, &["ep"], &[AGE]),
        ResourceInfo {
            categories: ALL,
            subresources: SCALE,
            field_selectors: &[("status.replicas", ".status.replicas")],
            ..row!("", "core", "ReplicationController", "replicationcontrollers", true, &["rc"], REPLICATION_CONTROLLER)
        },
        ResourceInfo {
            categories: ALL,
            subresources: STATUS,
            ..row!(
                "autoscaling",
                "autoscaling",
                "HorizontalPodAutoscaler",
                "horizontalpodautoscalers",
                true,
                &["hpa"],
                AUTOSCALER
            )
        },
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
        row!(
            "networking.k8s.io",
            "networking",
            "IngressClass",
            "ingressclasses",
            false,
            &[],
            const { &[path("Controller", ".spec.controller"), AGE] }
        ),
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
        assert_eq!(completions(&job(json!([]))), "1/3");
    }

    #[test]
    fn an_ingress_shows_hosts_and_addresses() {
        let rules = json!({"spec": {"rules": [{"host": "a"}, {}, {"host": "b"}]}});
        assert_eq!(hosts(&rules), "a,b");
        assert_eq!(hosts(&json!({"spec": {"rules": [{}]}})), "*");
        assert_eq!(addresses(&json!([{"ip": "1.2.3.4"}, {"hostname": "h"}])), "1.2.3.4,h");
    }
}
