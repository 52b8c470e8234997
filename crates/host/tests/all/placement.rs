// SPDX-License-Identifier: Apache-2.0
//! Pods with affinities for nodes or pods: they wait until these can be fulfilled, and no longer.

use std::sync::Arc;

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use crate::workloads::World;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn world_with(nodes: &[&str]) -> World {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    for node in nodes {
        world.add_node(node);
    }
    world.settle(0);
    world
}

impl World {
    fn add_node(&self, name: &str) {
        let labels = json!({"kubernetes.io/hostname": name});
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        self.ask("POST", "/api/v1/nodes", json!({"metadata": {"name": name, "labels": labels}, "status": status}));
    }

    /// Nodes of the pods, sorted; empty for pods without a node.
    fn nodes_of_pods(&self) -> Vec<String> {
        let mut nodes: Vec<String> = self.list(PODS).iter().map(|pod| text(&pod["spec"]["nodeName"])).collect();
        nodes.sort();
        nodes
    }

    /// Scheduler messages of the waiting pods.
    fn why(&self) -> Vec<String> {
        let pods = self.list(PODS);
        let waiting = pods.iter().filter(|pod| text(&pod["spec"]["nodeName"]).is_empty());
        waiting.map(|pod| text(&pod["status"]["conditions"][0]["message"])).collect()
    }
}

fn web(replicas: i32, spec: Value) -> Value {
    let mut spec = spec;
    spec["containers"] = json!([{"name": "c", "image": "web:1"}]);
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
        },
    })
}

fn by_host(kind: &str, app: &str) -> Value {
    let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}});
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

#[test]
fn pods_that_keep_apart_wait_for_another_node() {
    let world = world_with(&["a", "b"]);
    world.ask("POST", DEPLOYMENTS, web(3, by_host("podAntiAffinity", "web")));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["", "a", "b"]);
    let message = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. preemption: 0/2 nodes are \
                   available: 2 No preemption victims found for incoming pod.";
    assert_eq!(world.why(), [message]);
    let entries = world.entries();
    world.settle(300);
    assert_eq!(world.entries(), entries, "waiting pods cost no entries");
    world.add_node("c");
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["a", "b", "c"]);

    // A pod is deleted: its replacement is placed on the same node.
    let on_b = world.list(PODS).into_iter().find(|pod| pod["spec"]["nodeName"] == "b").expect("it is there");
    world.ask("DELETE", &format!("{PODS}/{}", text(&on_b["metadata"]["name"])), Value::Null);
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["a", "b", "c"]);
    assert_eq!(world.timers(), 0);
}

#[test]
fn a_pod_waits_for_a_node_with_required_labels() {
    let world = world_with(&["a", "b"]);
    let expression = json!({"key": "disk", "operator": "In", "values": ["ssd", "nvme"]});
    let required = json!({"nodeSelectorTerms": [{"matchExpressions": [expression]}]});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    world.ask("POST", DEPLOYMENTS, web(1, json!({ "affinity": affinity })));
    world.settle(60);
    let message = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are \
                   available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(world.why(), [message]);
    world.ask("PATCH", "/api/v1/nodes/b", json!({"metadata": {"labels": {"disk": "nvme"}}}));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["b"]);
}

#[test]
fn a_pod_waits_for_pods_of_its_affinity() {
    let world = world_with(&["a", "b"]);
    world.ask("POST", DEPLOYMENTS, web(1, by_host("podAffinity", "db")));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), [""]);
    let spec = json!({"nodeName": "b", "containers": [{"name": "c", "image": "db:1"}]});
    world.ask("POST", PODS, json!({"metadata": {"name": "db", "labels": {"app": "db"}}, "spec": spec}));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["b", "b"]);
}

/// A pod without affinities waits until the one with the anti-affinity is deleted or has other labels.
#[test]
fn a_pod_is_placed_after_the_conflicting_pods_deletion() {
    for change in [Value::Null, json!({"metadata": {"labels": {"app": "cache"}}})] {
        let world = world_with(&["a"]);
        let mut shy = by_host("podAntiAffinity", "web");
        shy["containers"] = json!([{"name": "c", "image": "db:1"}]);
        shy["nodeName"] = json!("a");
        world.ask("POST", PODS, json!({"metadata": {"name": "db", "labels": {"app": "db"}}, "spec": shy}));
        world.ask("POST", DEPLOYMENTS, web(1, json!({})));
        world.settle(60);
        assert_eq!(world.nodes_of_pods(), ["", "a"]);
        let expected = "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.";
        assert!(world.why()[0].starts_with(expected), "{:?}", world.why());
        if change.is_null() {
            world.ask("DELETE", &format!("{PODS}/db"), Value::Null);
        } else {
            // The name of the pod itself is no conflict; that of the other one is.
            let name = world.list(PODS).iter().map(|pod| text(&pod["metadata"]["name"])).find(|name| name != "db");
            world.ask("PATCH", &format!("{PODS}/{}", name.expect("it is there")), change);
        }
        world.settle(60);
        assert!(world.nodes_of_pods().contains(&"a".to_owned()));
        let expected = if world.list(PODS).len() == 1 { vec!["a"] } else { vec!["", "a", "a"] };
        assert_eq!(world.nodes_of_pods(), expected);
    }
}

#[test]
fn pods_spread_over_nodes_and_wait_where_they_cannot() {
    let world = world_with(&["a", "b"]);
    let constraint = json!({
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    });
    world.ask("PATCH", "/api/v1/nodes/b", json!({"spec": {"unschedulable": true}}));
    world.ask("POST", DEPLOYMENTS, web(2, json!({"topologySpreadConstraints": [constraint]})));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["", "a"]);
    let expected = "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were \
                    unschedulable.";
    assert!(world.why()[0].starts_with(expected), "{:?}", world.why());
    world.ask("PATCH", "/api/v1/nodes/b", json!({"spec": {"unschedulable": false}}));
    world.settle(60);
    assert_eq!(world.nodes_of_pods(), ["a", "b"]);
}
