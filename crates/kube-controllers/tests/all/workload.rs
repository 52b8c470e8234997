// SPDX-License-Identifier: Apache-2.0
//! Cases of k8s.io/kubernetes pkg/controller/{deployment,replicaset,statefulset,disruption}: writes to objects. The
//! number of pods in each step of a roll-out is covered by a table in `workload::sizes`.

use api::kubernetes::apps::{Deployment, ReplicaSet, StatefulSet};
use api::kubernetes::core::{Node, Pod};
use kube_controllers::{Options, workload};
use serde_json::{Value, json};
use testkit::{World, object};

use super::{CLUSTER, start, world};

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn deployment(replicas: i32, image: &str) -> Deployment {
    object(json!({
        "metadata": {"name": "web", "namespace": "n", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": template(image),
        },
    }))
}

fn started(world: World) -> World {
    let mut world = world;
    start(&mut world, Options { workload: Some(workload::Options::default()), ..Options::default() });
    world
}

fn pods(world: &World) -> Vec<Pod> {
    world.list_in(CLUSTER)
}

fn ready(world: &World) -> usize {
    let is_ready = |pod: &&Pod| pod.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True");
    pods(world).iter().filter(is_ready).count()
}

#[test]
fn a_deployment_gets_a_replica_set_and_ready_pods() {
    let mut world = started(world().with_in(CLUSTER, deployment(3, "web:v1")));
    assert_eq!((world.list_in::<ReplicaSet>(CLUSTER).len(), pods(&world).len(), ready(&world)), (1, 3, 0));
    world.advance_to("2025-06-02T12:00:02Z");
    assert_eq!(ready(&world), 3, "two seconds after they were made");
    let status = world.get_in::<Deployment>(CLUSTER, "n", "web").expect("there").status;
    assert_eq!((status.replicas, status.ready_replicas, status.available_replicas), (3, 3, 3));
}

#[test]
fn a_new_template_is_rolled_out_within_surge() {
    let mut world = started(world().with_in(CLUSTER, deployment(3, "web:v1")));
    world.advance_to("2025-06-02T12:01:00Z");
    world.change_in::<Deployment>(CLUSTER, "n", "web", |web| {
        *web = Deployment { metadata: web.metadata.clone(), status: web.status.clone(), ..deployment(3, "web:v2") };
        web.metadata.generation = 2;
    });
    world.pass();
    for second in 0..30 {
        world.advance_to(&format!("2025-06-02T12:01:{second:02}Z"));
        assert!(pods(&world).len() <= 4 && ready(&world) >= 3, "second {second}");
    }
    assert!(pods(&world).iter().all(|pod| pod.spec.containers[0].image == "web:v2"));
    assert_eq!(world.list_in::<ReplicaSet>(CLUSTER).len(), 2, "the old one stays for a roll-back");
}

#[test]
fn lost_pods_are_replaced_and_surplus_pods_deleted() {
    let mut world = started(world().with_in(CLUSTER, deployment(2, "web:v1")));
    world.advance_to("2025-06-02T12:01:00Z");
    let name = pods(&world)[0].metadata.name.clone();
    world.remove_in::<Pod>(CLUSTER, "n", &name);
    world.advance_to("2025-06-02T12:02:00Z");
    assert_eq!(ready(&world), 2);
    world.change_in::<Deployment>(CLUSTER, "n", "web", |web| {
        web.spec.replicas = Some(1);
        web.metadata.generation = 2;
    });
    world.advance_to("2025-06-02T12:03:00Z");
    assert_eq!(pods(&world).len(), 1);
}

#[test]
fn a_complete_workload_has_no_timer_and_gets_no_write() {
    let mut world = started(world().with_in(CLUSTER, deployment(2, "web:v1")));
    world.advance_to("2025-06-02T12:01:00Z");
    let pass = world.advance_to("2025-06-03T12:00:00Z");
    assert_eq!((pass.writes, pass.next), (vec![], None));
}

#[test]
fn a_stateful_set_makes_its_pods_one_after_the_other() {
    let set: StatefulSet = object(json!({
        "metadata": {"name": "db", "namespace": "n", "generation": 1},
        "spec": {"replicas": 2, "serviceName": "db", "podManagementPolicy": "OrderedReady",
            "selector": {"matchLabels": {"app": "web"}}, "template": template("db:v1")},
    }));
    let mut world = started(world().with_in(CLUSTER, set));
    let names = |world: &World| pods(world).into_iter().map(|pod| pod.metadata.name).collect::<Vec<_>>();
    assert_eq!(names(&world), ["db-0"]);
    world.advance_to("2025-06-02T12:01:00Z");
    assert_eq!(names(&world), ["db-0", "db-1"]);
}

#[test]
fn a_pod_that_fits_no_node_waits_and_reports_why() {
    let node: Node = object(json!({"metadata": {"name": "node"}, "spec": {"unschedulable": true,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}}));
    let world = started(world().with_in(CLUSTER, node).with_in(CLUSTER, deployment(1, "web:v1")));
    let pod = &pods(&world)[0];
    assert_eq!(pod.spec.node_name, "");
    let scheduled = pod.status.conditions.iter().find(|condition| condition.r#type == "PodScheduled");
    assert!(scheduled.is_some_and(|it| it.status == "False" && it.message.starts_with("0/1 nodes are available")));
}
