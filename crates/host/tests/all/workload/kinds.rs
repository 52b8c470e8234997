// SPDX-License-Identifier: Apache-2.0
//! StatefulSets and DaemonSets, and the common behaviour of all kinds with a pod template.

use std::sync::Arc;

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use super::{DEPLOYMENTS, PODS, SETS, WEB, text, web};
use crate::workloads::World;

/// A workload of another kind than Deployment, with the same template.
fn of_kind(spec: Value) -> Value {
    let mut object = web(3);
    object["spec"].as_object_mut().expect("a map").extend(spec.as_object().expect("a map").clone());
    object
}

#[test]
fn a_stateful_set_updates_pods_from_the_last() {
    let world = World::new(Options::default());
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    world.ask("POST", sets, of_kind(json!({"serviceName": "web"})));
    world.settle(0);
    assert_eq!(world.list(PODS).len(), 1, "one after the other");
    world.settle(60);
    let names = |world: &World| world.list(PODS).iter().map(|pod| text(&pod["metadata"]["name"])).collect::<Vec<_>>();
    assert_eq!(names(&world), ["web-0", "web-1", "web-2"]);
    let path = format!("{sets}/web");
    let status = world.get(&path)["status"].clone();
    for field in ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"] {
        assert_eq!(status[field], 3, "{field}");
    }
    assert_eq!(status["currentRevision"], status["updateRevision"]);
    assert_eq!(world.events("SuccessfulCreate")[0], "create Pod web-0 in StatefulSet web successful");
    assert_eq!(world.events("SuccessfulDelete").len(), 0, "the first status is no reason for an update");
    assert_eq!(world.timers(), 0);

    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}});
    world.ask("PATCH", &path, image);
    world.settle(0);
    let images = |world: &World| -> Vec<String> {
        world.list(PODS).iter().map(|pod| text(&pod["spec"]["containers"][0]["image"])).collect()
    };
    assert_eq!(images(&world), ["web:1", "web:1", "web:2"]);
    world.settle(60);
    assert_eq!(images(&world), ["web:2"; 3]);
    let new = world.get(&path)["status"].clone();
    assert_eq!((&new["currentRevision"], &new["updatedReplicas"]), (&new["updateRevision"], &json!(3)));
    assert_ne!(new["currentRevision"], status["currentRevision"]);
    world.ask("PATCH", &format!("{path}/scale"), json!({"spec": {"replicas": 1}}));
    world.settle(60);
    assert_eq!(names(&world), ["web-0"]);
    assert_eq!(world.timers(), 0);
}

const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

/// Numbers and images of the revisions, in the order of their numbers.
fn revisions(world: &World) -> Vec<(i64, String)> {
    let mut found: Vec<(i64, String)> = world
        .list(REVISIONS)
        .iter()
        .map(|it| {
            let image = &it["data"]["spec"]["template"]["spec"]["containers"][0]["image"];
            (it["revision"].as_i64().expect("a number"), text(image))
        })
        .collect();
    found.sort();
    found
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn images(world: &World) -> Vec<String> {
    world.list(PODS).iter().map(|pod| text(&pod["spec"]["containers"][0]["image"])).collect()
}

#[test]
fn a_stateful_set_returns_to_an_older_template() {
    let world = World::new(Options::default());
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    world.ask("POST", sets, of_kind(json!({"serviceName": "web", "replicas": 1, "revisionHistoryLimit": 1})));
    world.settle(60);
    let path = format!("{sets}/web");
    let first = world.list(REVISIONS)[0].clone();
    assert_eq!(first["metadata"]["name"], world.get(&path)["status"]["currentRevision"]);
    assert_eq!(first["metadata"]["ownerReferences"][0]["name"], "web");
    assert_eq!(first["metadata"]["labels"]["app"], "web", "selected as kubectl selects it");

    world.ask("PATCH", &path, image("web:2"));
    world.settle(60);
    assert_eq!(revisions(&world), [(1, "web:1".to_owned()), (2, "web:2".to_owned())]);
    // The patch that `kubectl rollout undo` sends.
    world.ask("PATCH", &path, first["data"].clone());
    world.settle(60);
    assert_eq!(images(&world), ["web:1"]);
    assert_eq!(revisions(&world), [(2, "web:2".to_owned()), (3, "web:1".to_owned())]);

    world.ask("PATCH", &path, image("web:3"));
    world.settle(60);
    assert_eq!(
        revisions(&world),
        [(3, "web:1".to_owned()), (4, "web:3".to_owned())],
        "one is kept in addition to those in use"
    );
    assert_eq!(world.timers(), 0);
    let (code, _) =
        world.send("PATCH", &format!("{REVISIONS}/{}", text(&first["metadata"]["name"])), json!({"data": {"more": 1}}));
    assert_eq!(code, 422, "what a revision says stays");

    // Orphans are adopted by a set of the same name.
    world.ask("DELETE", &path, json!({"propagationPolicy": "Orphan"}));
    world.settle(60);
    assert_eq!(revisions(&world).len(), 2);
    world.ask("POST", sets, of_kind(json!({"serviceName": "web", "replicas": 1})));
    world.settle(60);
    assert_eq!(revisions(&world), [(4, "web:3".to_owned()), (5, "web:1".to_owned())]);
    let owner = |it: &Value| it["metadata"]["ownerReferences"][0]["uid"].clone();
    let uid = world.get(&path)["metadata"]["uid"].clone();
    assert!(world.list(REVISIONS).iter().all(|it| owner(it) == uid));

    world.ask("DELETE", &path, json!({}));
    world.settle(60);
    assert_eq!(revisions(&world), []);
}

#[test]
fn a_pod_below_the_partition_keeps_the_older_template() {
    let world = World::new(Options::default());
    let sets = "/apis/apps/v1/namespaces/default/statefulsets";
    world.ask("POST", sets, of_kind(json!({"serviceName": "web"})));
    world.settle(60);
    let mut change = image("web:2");
    change["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": 2}});
    world.ask("PATCH", &format!("{sets}/web"), change);
    world.settle(60);
    assert_eq!(images(&world), ["web:1", "web:1", "web:2"]);
    for lost in [0, 2] {
        world.ask("DELETE", &format!("{PODS}/web-{lost}"), json!({}));
        world.settle(60);
        assert_eq!(images(&world), ["web:1", "web:1", "web:2"]);
    }
    let status = world.get(&format!("{sets}/web"))["status"].clone();
    assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(2), &json!(1)));
}

#[test]
fn a_daemon_set_keeps_its_templates() {
    let world = World::new(Options::default());
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    world.ask("POST", sets, of_kind(json!({"replicas": null, "strategy": null, "revisionHistoryLimit": 1})));
    world.settle(60);
    for next in ["web:2", "web:3"] {
        world.ask("PATCH", &format!("{sets}/web"), image(next));
        world.settle(60);
    }
    assert_eq!(revisions(&world), [(2, "web:2".to_owned()), (3, "web:3".to_owned())]);
    assert_eq!(images(&world), ["web:3"], "in a cluster without Nodes, too");
    let hash = |object: &Value| text(&object["metadata"]["labels"]["controller-revision-hash"]);
    let newest = world.list(REVISIONS).into_iter().find(|it| it["revision"] == 3).expect("the newest");
    assert_eq!(hash(&newest), hash(&world.list(PODS)[0]));
    assert_eq!(text(&newest["metadata"]["name"]), format!("web-{}", hash(&newest)));
    assert_eq!(world.timers(), 0);
}

#[test]
fn a_daemon_set_has_a_pod_on_each_node() {
    let world = World::new(Options { node_of: Arc::new(|_| None), ..Options::default() });
    let node = |name: &str, pool: &str| {
        let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        json!({"metadata": {"name": name, "labels": {"pool": pool}}, "status": ready})
    };
    world.ask("POST", "/api/v1/nodes", node("a", "x"));
    world.ask("POST", "/api/v1/nodes", node("b", "y"));
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    let mut set = of_kind(json!({}));
    set["spec"]["template"]["spec"]["nodeSelector"] = json!({"pool": "x"});
    set["spec"].as_object_mut().expect("a map").remove("replicas");
    world.ask("POST", sets, set);
    world.settle(60);
    let nodes = |world: &World| world.list(PODS).iter().map(|pod| text(&pod["spec"]["nodeName"])).collect::<Vec<_>>();
    assert_eq!(nodes(&world), ["a"]);
    world.ask("POST", "/api/v1/nodes", node("c", "x"));
    world.settle(60);
    let mut found = nodes(&world);
    found.sort();
    assert_eq!(found, ["a", "c"]);
    let path = format!("{sets}/web");
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}});
    world.ask("PATCH", &path, image);
    world.settle(60);
    assert!(world.list(PODS).iter().all(|pod| pod["spec"]["containers"][0]["image"] == "web:2"));
    let status = world.get(&path)["status"].clone();
    for field in
        ["desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"]
    {
        assert_eq!(status[field], 2, "{field}");
    }
    world.ask("DELETE", "/api/v1/nodes/c", Value::Null);
    world.settle(60);
    assert_eq!(nodes(&world), ["a"]);
    assert_eq!(world.get(&path)["status"]["desiredNumberScheduled"], 1);
    assert_eq!(world.timers(), 0);
}

/// An object whose selector does not match its pod template is rejected.
#[test]
fn a_selector_that_does_not_match_the_template_is_refused() {
    let world = World::new(Options::default());
    let template = json!({
        "metadata": {"labels": {"app": "other"}},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    });
    let detail = "spec.template.metadata.labels: Invalid value: map[string]string{\"app\":\"other\"}: `selector` does not \
                  match template `labels`";
    for (kind, path) in [
        ("Deployment", DEPLOYMENTS),
        ("ReplicaSet", SETS),
        ("StatefulSet", "/apis/apps/v1/namespaces/default/statefulsets"),
        ("DaemonSet", "/apis/apps/v1/namespaces/default/daemonsets"),
    ] {
        let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": template});
        let (code, answer) = world.send("POST", path, json!({"metadata": {"name": "web"}, "spec": spec}));
        let message = format!("{kind}.apps \"web\" is invalid: {detail}");
        assert_eq!((code, text(&answer["message"])), (422, message));
        assert_eq!(answer["details"]["causes"][0]["field"], "spec.template.metadata.labels");
    }
    world.settle(600);
    assert_eq!(world.list(PODS).len(), 0);

    world.ask("POST", DEPLOYMENTS, web(1));
    world.settle(60);
    let (code, answer) =
        world.send("PATCH", WEB, json!({"spec": {"template": {"metadata": {"labels": {"app": null}}}}}));
    assert_eq!(code, 422, "{answer}");
    let (code, answer) = world.send("PATCH", WEB, json!({"spec": {"selector": {"matchLabels": {"more": "b"}}}}));
    assert_eq!(code, 422);
    assert!(text(&answer["message"]).contains("field is immutable"), "{answer}");
    let (code, _) = world.send("POST", PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": []}}));
    assert_eq!(code, 422);
}

/// A stored object that would be rejected today creates no pods, and its status has the reason.
#[test]
fn a_set_with_a_mismatched_template_creates_no_pods() {
    for (resource, plural) in [(SETS, "replicasets"), ("/apis/apps/v1/namespaces/default/statefulsets", "statefulsets")]
    {
        let world = World::new(Options::default());
        let name = if plural == "replicasets" { "set" } else { "stateful" };
        let good = json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "updateStrategy": {"type": "OnDelete"},
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "web:1"}]},
                },
            },
        });
        world.ask("POST", resource, good);
        world.settle(60);
        world.overwrite(&format!("apps/{plural}"), name, |text| {
            text.replace(r#""replicas":0"#, r#""replicas":3"#)
                .replace(r#""labels":{"app":"web"}"#, r#""labels":{"app":"other"}"#)
        });
        world.settle(600);
        assert_eq!(world.list(PODS).len(), 0, "{plural}");
        let entries = world.entries();
        world.settle(3600);
        assert_eq!(world.entries(), entries, "it rests");
        // The stored specification is the overwritten one.
        let path = format!("{resource}/{name}");
        assert_eq!(world.get(&path)["spec"]["replicas"], 3);
        if plural == "replicasets" {
            let condition = &world.get(&path)["status"]["conditions"][0];
            assert_eq!((&condition["type"], &condition["reason"]), (&json!("ReplicaFailure"), &json!("FailedCreate")));
        }
        world.ask("DELETE", &path, Value::Null);
    }
}
