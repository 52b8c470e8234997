// SPDX-License-Identifier: Apache-2.0
//! Kinds of Kubernetes over a host: what is filled in, what is refused, quotas, requests for certificates.

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use crate::workloads::World;

const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn pod(name: &str, cpu: &str) -> Value {
    let container = json!({"name": "c", "image": "web", "resources": {"requests": {"cpu": cpu}}});
    json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
}

#[track_caller]
fn refused(world: &World, method: &str, path: &str, body: Value, code: u16, message: &str) {
    let (found, answer) = world.send(method, path, body);
    assert_eq!((found, answer["message"].as_str().unwrap_or_default()), (code, message));
}

#[test]
fn a_pod_is_stored_as_a_cluster_stores_it() {
    let world = World::new(Options::default());
    let stored = world.ask("POST", PODS, pod("p", "1"));
    let spec = &stored["spec"];
    assert_eq!((&spec["dnsPolicy"], &spec["serviceAccount"]), (&json!("ClusterFirst"), &json!("default")));
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(stored["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
    world.settle(60);
    let path = format!("{PODS}/p");
    let other = "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than \
                 `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                 (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                 it was previously negative)";
    refused(&world, "PATCH", &path, json!({"spec": {"dnsPolicy": "Default"}}), 422, other);
    let image = json!({"spec": {"containers": [{"name": "c", "image": "web:2"}]}});
    assert_eq!(world.ask("PATCH", &path, image)["spec"]["containers"][0]["image"], "web:2");
}

#[test]
fn what_is_wrong_is_told_by_its_path() {
    let world = World::new(Options::default());
    let template = json!({"spec": {"containers": [{"name": "c", "image": "web"}]}});
    refused(
        &world,
        "POST",
        JOBS,
        json!({"metadata": {"name": "j"}, "spec": {"template": template}}),
        422,
        "Job.batch \"j\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
    );
    world.ask("POST", MAPS, json!({"metadata": {"name": "m"}, "immutable": true, "data": {"a": "b"}}));
    refused(
        &world,
        "PATCH",
        &format!("{MAPS}/m"),
        json!({"data": {"a": "c"}}),
        422,
        "ConfigMap \"m\" is invalid: data: Forbidden: field is immutable when `immutable` is set",
    );
    refused(&world, "POST", &format!("{PODS}/nobody/exec"), Value::Null, 404, "pods \"nobody\" not found");
    world.ask("POST", PODS, pod("p", "1"));
    refused(
        &world,
        "POST",
        &format!("{PODS}/p/exec"),
        Value::Null,
        400,
        "cannot execute a command in pod p: pods are simulated here and run no containers; `kubectl logs` shows what \
         processes of the landscape print",
    );
}

#[test]
fn defaults_are_no_new_template() {
    let world = World::new(Options::default());
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "web"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployment = json!({"metadata": {"name": "web"}, "spec": spec});
    world.ask("POST", DEPLOYMENTS, deployment.clone());
    world.settle(60);
    let path = format!("{DEPLOYMENTS}/web");
    let before = world.get(&path);
    assert_eq!(before["spec"]["template"]["spec"]["restartPolicy"], "Always");
    let entries = world.entries();
    world.ask("PUT", &path, deployment.clone());
    // What an earlier release has stored says the same as what is filled in now.
    world.overwrite("apps/deployments", "web", |text| text.replace("\"restartPolicy\":\"Always\",", ""));
    world.ask("PATCH", &path, json!({"metadata": {"annotations": {"x": "y"}}}));
    world.settle(60);
    assert_eq!(world.list("/apis/apps/v1/namespaces/default/replicasets").len(), 1);
    assert!(entries > 0);
}

#[test]
fn a_quota_says_what_is_used_and_holds() {
    let world = World::new(Options::default());
    let hard = json!({"pods": "2", "requests.cpu": "1", "configmaps": "2"});
    world.ask("POST", QUOTAS, json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}));
    world.settle(1);
    let quota = format!("{QUOTAS}/q");
    // One ConfigMap is there already: `kube-root-ca.crt`.
    let used = |world: &World| world.get(&quota)["status"]["used"].clone();
    assert_eq!(used(&world), json!({"configmaps": "1", "pods": "0", "requests.cpu": "0"}));
    world.ask("POST", PODS, pod("a", "600m"));
    let text = "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: \
                requests.cpu=1";
    refused(&world, "POST", PODS, pod("b", "600m"), 403, text);
    world.ask("POST", PODS, pod("b", "400m"));
    let text = "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1m, used: \
                pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1";
    refused(&world, "POST", PODS, pod("c", "1m"), 403, text);
    world.settle(60);
    assert_eq!(used(&world), json!({"configmaps": "1", "pods": "2", "requests.cpu": "1"}));
    world.ask("DELETE", &format!("{PODS}/a?gracePeriodSeconds=0"), Value::Null);
    world.settle(60);
    assert_eq!(used(&world), json!({"configmaps": "1", "pods": "1", "requests.cpu": "400m"}));
    world.ask("POST", PODS, pod("c", "1m"));
}

#[test]
fn a_request_for_a_certificate_names_who_asks_and_is_decided_once() {
    let world = World::new(Options::default());
    let request = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
    let spec = json!({
        "request": request, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        "username": "somebody-else", "groups": ["none"],
    });
    let stored = world.ask("POST", REQUESTS, json!({"metadata": {"name": "r"}, "spec": spec}));
    assert_eq!((&stored["spec"]["username"], &stored["spec"]["groups"]), (&json!("admin"), &json!(["system:masters"])));
    assert_eq!(stored["status"], json!({}));
    let approval = format!("{REQUESTS}/r/approval");
    let mut approved = stored.clone();
    approved["spec"]["username"] = json!("somebody-else");
    approved["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "KubectlApprove"}]);
    let answer = world.ask("PUT", &approval, approved.clone());
    assert_eq!(answer["spec"]["username"], "admin");
    assert_eq!(answer["status"]["conditions"][0]["lastUpdateTime"], "2023-07-27T20:00:00Z");
    let mut denied = answer.clone();
    denied["status"]["conditions"].as_array_mut().expect("a list").push(json!({"type": "Denied", "status": "True"}));
    let text = "CertificateSigningRequest.certificates.k8s.io \"r\" is invalid: status.conditions: Invalid value: \
                \"Denied\": Approved and Denied conditions are mutually exclusive";
    refused(&world, "PUT", &approval, denied, 422, text);
}
