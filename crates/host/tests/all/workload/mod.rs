// SPDX-License-Identifier: Apache-2.0
//! Deployments, ReplicaSets and simulated pods over a host, from the view of kubectl.

mod kinds;

use std::sync::Arc;

use eventlog::Verb;
use kube_controllers::workload::Options;
use serde_json::{Value, json};

use crate::workloads::World;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn web(replicas: i32) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "c", "image": "web:1",
                    "livenessProbe": {"httpGet": {"path": "/healthz", "port": 80}},
                }]},
            },
        },
    })
}

/// A world with Deployment `web`, whose roll-out is complete.
fn world_with(deployment: Value) -> World {
    let world = World::new(Options::default());
    world.ask("POST", DEPLOYMENTS, deployment);
    world.settle(60);
    world
}

impl World {
    fn set_image(&self, image: &str) {
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}});
        self.ask("PATCH", WEB, patch);
    }

    /// `replicas updated ready available` of the Deployment's status.
    fn counts(&self) -> [i64; 4] {
        let status = &self.get(WEB)["status"];
        ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
            .map(|field| status[field].as_i64().unwrap_or(0))
    }

    /// `type=status reason` of the Deployment's conditions, sorted.
    fn conditions(&self) -> Vec<String> {
        let deployment = self.get(WEB);
        let conditions = deployment["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        let mut all: Vec<String> = conditions
            .iter()
            .map(|it| format!("{}={} {}", text(it, "type"), text(it, "status"), text(it, "reason")))
            .collect();
        all.sort();
        all
    }

    /// Revision, image and size of each ReplicaSet, by revision.
    fn sets(&self) -> Vec<(String, String, i64)> {
        let mut sets: Vec<_> = self
            .list(SETS)
            .iter()
            .map(|set| {
                let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
                let image = &set["spec"]["template"]["spec"]["containers"][0]["image"];
                (text(revision), text(image), set["spec"]["replicas"].as_i64().unwrap_or(-1))
            })
            .collect();
        sets.sort();
        sets
    }

    fn events(&self, reason: &str) -> Vec<String> {
        let events = self.list("/api/v1/namespaces/default/events");
        events.iter().filter(|event| event["reason"] == reason).map(|event| text(&event["message"])).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn set(revision: &str, image: &str, replicas: i64) -> (String, String, i64) {
    (revision.to_owned(), image.to_owned(), replicas)
}

const DONE: [&str; 2] = ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"];

#[test]
fn a_deployment_gets_running_pods_and_is_complete() {
    let world = world_with(web(3));
    assert_eq!(world.counts(), [3, 3, 3, 3]);
    assert_eq!(world.conditions(), DONE);
    let deployment = world.get(WEB);
    assert_eq!(deployment["status"]["observedGeneration"], 1);
    assert_eq!(deployment["metadata"]["generation"], 1);
    assert_eq!(deployment["metadata"]["annotations"], json!({"deployment.kubernetes.io/revision": "1"}));
    let replica_set = &world.list(SETS)[0];
    let name = text(&replica_set["metadata"]["name"]);
    let hash = text(&replica_set["metadata"]["labels"]["pod-template-hash"]);
    assert_eq!(name, format!("web-{hash}"));
    assert_eq!(replica_set["spec"]["selector"]["matchLabels"], json!({"app": "web", "pod-template-hash": hash}));
    assert_eq!(
        replica_set["status"],
        json!({"replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1})
    );
    let pods = world.list(PODS);
    assert_eq!(pods.len(), 3);
    for pod in &pods {
        assert!(text(&pod["metadata"]["name"]).starts_with(&format!("{name}-")));
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web", "pod-template-hash": hash}));
        assert_eq!(pod["metadata"]["ownerReferences"][0]["name"], name.as_str());
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz", "a pod gets all of the template");
        let status = &pod["status"];
        assert_eq!((text(&status["phase"]), text(&pod["spec"]["nodeName"])), ("Running".into(), "terrarium".into()));
        assert!(!text(&status["podIP"]).is_empty() && !text(&status["hostIP"]).is_empty());
        let container = &status["containerStatuses"][0];
        assert_eq!(
            (&container["image"], &container["ready"], &container["restartCount"]),
            (&json!("web:1"), &json!(true), &json!(0))
        );
        assert_eq!(container["state"]["running"]["startedAt"], "2023-07-27T20:00:02Z");
    }
    assert_eq!(world.events("ScalingReplicaSet"), [format!("Scaled up replica set {name} from 0 to 3")]);
    assert_eq!(world.events("SuccessfulCreate").len(), 3);

    assert_eq!(world.timers(), 0, "an idle controller has no timer");
    let entries = world.entries();
    world.settle(86_400);
    assert_eq!(world.entries(), entries);
}

#[test]
fn an_undo_is_a_revision() {
    let world = world_with(web(3));
    world.set_image("web:2");
    world.settle(0);
    assert_eq!(world.sets(), [set("1", "web:1", 3), set("2", "web:2", 1)], "25% of 3: one more, none less");
    assert_eq!(world.counts(), [4, 1, 3, 3]);
    assert_eq!(world.get(WEB)["status"]["observedGeneration"], 2);
    world.settle(60);
    assert_eq!(world.sets(), [set("1", "web:1", 0), set("2", "web:2", 3)]);
    assert_eq!(world.counts(), [3, 3, 3, 3]);
    assert_eq!(world.conditions(), DONE);
    assert_eq!(world.get(WEB)["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");

    world.set_image("web:1");
    world.settle(60);
    assert_eq!(world.sets(), [set("2", "web:2", 0), set("3", "web:1", 3)]);
    let history = |set: &Value| text(&set["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"]);
    assert_eq!(world.list(SETS).iter().map(history).max().as_deref(), Some("1"));
    assert_eq!(world.timers(), 0);
}

#[test]
fn a_lost_pod_is_replaced_for_four_entries() {
    let world = world_with(web(2));
    let before = world.entries();
    let name = text(&world.list(PODS)[0]["metadata"]["name"]);
    let deleted = world.ask("DELETE", &format!("{PODS}/{name}"), Value::Null);
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 30);
    world.settle(60);
    let pods = world.list(PODS);
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running" && pod["metadata"]["name"] != name.as_str()));
    assert_eq!(world.counts(), [2, 2, 2, 2]);
    // Deletion timestamp, removal, new pod, Event.
    assert_eq!(world.entries() - before, 4);
}

#[test]
fn scaling_takes_pods_away_and_brings_them_back() {
    let world = world_with(web(2));
    world.ask("PATCH", &format!("{WEB}/scale"), json!({"spec": {"replicas": 0}}));
    world.settle(60);
    assert_eq!((world.counts(), world.list(PODS).len()), ([0; 4], 0));
    assert_eq!(world.conditions(), DONE);
    assert_eq!(world.events("SuccessfulDelete").len(), 2);
    world.ask("PATCH", &format!("{WEB}/scale"), json!({"spec": {"replicas": 5}}));
    world.settle(60);
    assert_eq!((world.counts(), world.list(PODS).len()), ([5; 4], 5));
    assert_eq!(world.sets(), [set("1", "web:1", 5)]);
}

#[test]
fn recreate_ends_all_old_pods_before_the_first_new_one() {
    let mut deployment = web(2);
    deployment["spec"]["strategy"] = json!({"type": "Recreate"});
    let world = world_with(deployment);
    world.set_image("web:2");
    world.settle(0);
    let images = |world: &World| -> Vec<String> {
        world.list(PODS).iter().map(|pod| text(&pod["spec"]["containers"][0]["image"])).collect()
    };
    assert_eq!(images(&world), ["web:2", "web:2"], "old pods are gone at once");
    assert_eq!(world.counts(), [2, 2, 0, 0]);
    world.settle(60);
    assert_eq!(world.counts(), [2; 4]);
    assert_eq!(world.sets(), [set("1", "web:1", 0), set("2", "web:2", 2)]);
}

#[test]
fn a_paused_deployment_keeps_its_pods_until_resumed() {
    let world = world_with(web(2));
    world.ask("PATCH", WEB, json!({"spec": {"paused": true}}));
    world.set_image("web:2");
    world.settle(60);
    assert_eq!(world.sets(), [set("1", "web:1", 2)]);
    assert_eq!(world.conditions()[1], "Progressing=Unknown DeploymentPaused");
    world.ask("PATCH", WEB, json!({"spec": {"paused": false}}));
    world.settle(60);
    assert_eq!(world.sets(), [set("1", "web:1", 0), set("2", "web:2", 2)]);
    assert_eq!(world.conditions(), DONE);
}

#[test]
fn history_is_limited() {
    let mut deployment = web(1);
    deployment["spec"]["revisionHistoryLimit"] = json!(1);
    let world = world_with(deployment);
    for image in ["web:2", "web:3"] {
        world.set_image(image);
        world.settle(60);
    }
    assert_eq!(world.sets(), [set("2", "web:2", 0), set("3", "web:3", 1)]);
}

#[test]
fn a_stuck_roll_out_is_reported_at_its_deadline() {
    let mut deployment = web(1);
    deployment["spec"]["progressDeadlineSeconds"] = json!(100);
    deployment["spec"]["template"]["metadata"]["annotations"] = json!({"terrarium.dev/pod-fault": "ImagePullBackOff"});
    let world = world_with(deployment);
    assert_eq!(
        world.conditions(),
        ["Available=False MinimumReplicasUnavailable", "Progressing=True ReplicaSetUpdated"]
    );
    let pod = &world.list(PODS)[0];
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_eq!(pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"], "ImagePullBackOff");
    world.settle(200);
    assert_eq!(world.conditions()[1], "Progressing=False ProgressDeadlineExceeded");
    assert_eq!(world.timers(), 0);
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {"terrarium.dev/pod-fault": null}}}}});
    world.ask("PATCH", WEB, patch);
    world.settle(60);
    assert_eq!(world.conditions(), DONE);
}

#[test]
fn pods_are_released_and_adopted_by_their_labels() {
    let world = world_with(web(1));
    let name = text(&world.list(PODS)[0]["metadata"]["name"]);
    let path = format!("{PODS}/{name}");
    world.ask("PATCH", &path, json!({"metadata": {"labels": {"app": "debug"}}}));
    world.settle(60);
    assert_eq!(world.list(PODS).len(), 2);
    assert_eq!(world.get(&path)["metadata"].get("ownerReferences"), None);
    world.ask("PATCH", &path, json!({"metadata": {"labels": {"app": "web"}}}));
    world.settle(60);
    let pods = world.list(PODS);
    assert_eq!(pods.len(), 1);
    assert_eq!(pods[0]["metadata"]["ownerReferences"][0]["controller"], true);

    // Orphaned ReplicaSets are adopted by the next Deployment.
    world.ask("DELETE", WEB, json!({"propagationPolicy": "Orphan"}));
    world.settle(60);
    let sets = world.list(SETS);
    assert_eq!((sets.len(), sets[0]["metadata"].get("ownerReferences")), (1, None));
    world.ask("POST", DEPLOYMENTS, web(1));
    world.settle(60);
    assert_eq!(world.sets(), [set("1", "web:1", 1)]);
    assert_eq!(world.list(PODS)[0]["metadata"]["uid"], pods[0]["metadata"]["uid"]);
    world.ask("DELETE", WEB, Value::Null);
    world.settle(60);
    assert_eq!((world.list(SETS).len(), world.list(PODS).len()), (0, 0));
}

#[test]
fn pods_become_available_when_they_have_been_ready_long_enough() {
    let mut deployment = web(1);
    deployment["spec"]["minReadySeconds"] = json!(10);
    let world = World::new(Options::default());
    world.ask("POST", DEPLOYMENTS, deployment);
    world.settle(5);
    assert_eq!(world.counts(), [1, 1, 1, 0]);
    world.settle(60);
    assert_eq!(world.counts(), [1; 4]);
}

#[test]
fn wall_time_makes_pods_available_too() {
    let mut deployment = web(1);
    deployment["spec"]["minReadySeconds"] = json!(10);
    let world = World::new(Options::default());
    world.ask("POST", DEPLOYMENTS, deployment);
    world.settle(5);
    world.pass_wall_time(9);
    assert_eq!(world.counts(), [1, 1, 1, 0]);
    world.pass_wall_time(1);
    assert_eq!(world.counts(), [1; 4]);
    assert_eq!(world.timers(), 0);
}

#[test]
fn pods_of_processes_are_left_to_the_kubelet() {
    let options = Options { is_process: Arc::new(|_, _, image| image.starts_with("web:")), ..Options::default() };
    let world = World::new(options);
    world.ask("POST", DEPLOYMENTS, web(1));
    world.settle(60);
    let pod = &world.list(PODS)[0];
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    let path = format!("{PODS}/{}", text(&pod["metadata"]["name"]));
    world.ask("DELETE", &path, Value::Null);
    world.settle(60);
    assert_eq!(world.get(&path)["metadata"]["deletionGracePeriodSeconds"], 30, "a process may take its time to end");
    assert_eq!(world.list(PODS).len(), 2);
}

#[test]
fn recreate_waits_for_processes_to_end() {
    let options = Options { is_process: Arc::new(|_, _, image| image.starts_with("web:")), ..Options::default() };
    let world = World::new(options);
    let mut deployment = web(1);
    deployment["spec"]["strategy"] = json!({"type": "Recreate"});
    world.ask("POST", DEPLOYMENTS, deployment);
    world.settle(0);
    let old = text(&world.list(PODS)[0]["metadata"]["name"]);
    world.set_image("web:2");
    world.settle(0);
    assert_eq!(world.sets(), [set("1", "web:1", 0)]);
    world.ask("DELETE", &format!("{PODS}/{old}"), json!({"gracePeriodSeconds": 0}));
    world.settle(0);
    assert_eq!(world.sets(), [set("1", "web:1", 0), set("2", "web:2", 1)]);
    let pods = world.list(PODS);
    assert_eq!((pods.len(), &pods[0]["spec"]["containers"][0]["image"]), (1, &json!("web:2")));
}

#[test]
fn a_name_that_is_taken_makes_another_hash() {
    let world = world_with(web(1));
    let name = text(&world.list(SETS)[0]["metadata"]["name"]);
    world.ask("DELETE", WEB, Value::Null);
    world.settle(60);
    let mut other = web(0);
    other["metadata"]["name"] = json!(name);
    for labels in ["/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
        *other.pointer_mut(labels).expect("a map") = json!({"app": "other"});
    }
    world.ask("POST", SETS, other);
    world.ask("POST", DEPLOYMENTS, web(1));
    world.settle(60);
    assert_eq!(world.counts(), [1; 4]);
    assert_eq!(world.get(WEB)["status"]["collisionCount"], 1);
    let names: Vec<String> = world.list(SETS).iter().map(|set| text(&set["metadata"]["name"])).collect();
    assert!(names.len() == 2 && names.contains(&name), "{names:?}");
}

#[test]
fn a_pod_without_a_node_waits_for_one() {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    world.ask("POST", PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}));
    world.settle(60);
    let path = format!("{PODS}/p");
    let pod = world.get(&path);
    assert_eq!(pod["status"]["conditions"][0]["reason"], "Unschedulable");
    let node = json!({
        "metadata": {"name": "n"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
        },
    });
    world.ask("POST", "/api/v1/nodes", node);
    world.settle(60);
    let pod = world.get(&path);
    assert_eq!((text(&pod["spec"]["nodeName"]), text(&pod["status"]["hostIP"])), ("n".into(), "10.1.2.3".into()));
    assert_eq!(pod["status"]["phase"], "Running");
}

#[test]
fn a_client_cannot_create_a_running_pod() {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    let spec = json!({"containers": [{"name": "c", "image": "web:1"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Running"}});
    assert_eq!(world.ask("POST", PODS, pod)["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    let gone = world.ask("DELETE", &format!("{PODS}/p"), Value::Null);
    assert_eq!(gone["metadata"]["name"], "p");
    assert_eq!(world.send("GET", &format!("{PODS}/p"), Value::Null).0, 404, "without a node nothing has to stop");
}

#[test]
fn pods_of_a_removed_node_move_to_another() {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    let node = |name: &str| {
        let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        json!({"metadata": {"name": name}, "status": ready})
    };
    for name in ["a", "b"] {
        world.ask("POST", "/api/v1/nodes", node(name));
    }
    world.settle(0);
    world.ask("POST", DEPLOYMENTS, web(4));
    world.settle(60);
    let nodes = |world: &World| {
        let mut nodes: Vec<String> = world.list(PODS).iter().map(|pod| text(&pod["spec"]["nodeName"])).collect();
        nodes.sort();
        nodes
    };
    assert_eq!(nodes(&world).iter().filter(|node| *node == "a").count(), 2, "{:?}", nodes(&world));
    world.ask("PATCH", "/api/v1/nodes/a", json!({"spec": {"unschedulable": true}}));
    world.ask("DELETE", "/api/v1/nodes/a", Value::Null);
    world.settle(60);
    assert_eq!(nodes(&world), ["b"; 4]);
    assert_eq!(world.counts(), [4; 4]);
    world.ask("DELETE", "/api/v1/nodes/b", Value::Null);
    world.settle(60);
    assert_eq!(nodes(&world), [""; 4]);
    assert_eq!(world.counts(), [4, 4, 0, 0]);
    assert_eq!(world.timers(), 0);
}

#[test]
fn nothing_is_created_in_a_terminating_namespace() {
    let world = World::new(Options::default());
    world.ask("POST", "/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    world.ask("POST", "/apis/apps/v1/namespaces/n/deployments", web(2));
    world.settle(60);
    assert_eq!(world.list("/api/v1/namespaces/n/pods").len(), 2);
    world.ask("DELETE", "/api/v1/namespaces/n", Value::Null);
    world.settle(60);
    assert_eq!(world.send("GET", "/api/v1/namespaces/n", Value::Null).0, 404);
    assert_eq!(world.timers(), 0);
}

/// The bounds `maxUnavailable` and `maxSurge` hold in any order of events. Source: kubernetes.io, Deployments.
#[test]
fn in_every_schedule_a_rollout_keeps_its_promises() {
    for seed in 0..20 {
        let world = World::scheduled(Options::default(), Some(seed));
        world.ask("POST", DEPLOYMENTS, web(5));
        world.settle(60);
        assert_eq!((world.counts(), world.list(PODS).len()), ([5; 4], 5), "seed {seed}");
        let before = world.entries();
        world.set_image("web:2");
        world.settle(60);
        assert_eq!(world.sets(), [set("1", "web:1", 0), set("2", "web:2", 5)], "seed {seed}");
        assert_eq!((world.counts(), world.list(PODS).len()), ([5; 4], 5), "seed {seed}");
        let mut pods = 5;
        let mut ready = 5;
        for (verb, name) in world.pod_entries(before) {
            match verb {
                Verb::Create => pods += 1,
                Verb::UpdateStatus => ready += 1,
                Verb::Delete => (pods, ready) = (pods - 1, ready - 1),
                Verb::Update => panic!("seed {seed}: {name} was changed"),
            }
            assert!(pods <= 7, "seed {seed}: {pods} pods at {name}");
            assert!(ready >= 4, "seed {seed}: {ready} pods ready at {name}");
        }
        assert_eq!((pods, ready, world.timers()), (5, 5, 0), "seed {seed}");
    }
}
