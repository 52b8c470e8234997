// SPDX-License-Identifier: Apache-2.0
//! Core kinds over a host: defaults, validation, quotas, certificate signing requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
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
fn violations_name_the_path_of_the_field() {
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
    refused(&world, "POST", &format!("{PODS}/missing/exec"), Value::Null, 404, "pods \"missing\" not found");
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
fn budgets_and_leases_are_validated_and_other_kinds_stored() {
    let world = World::new(Options::default());
    let named = |more: Value| {
        let mut object = json!({"metadata": {"name": "x"}});
        for (field, value) in more.as_object().expect("fields") {
            object[field] = value.clone();
        }
        object
    };
    let default = |path: &str| format!("{path}/x");
    let (limits, budgets) =
        ("/api/v1/namespaces/default/limitranges", "/apis/policy/v1/namespaces/default/poddisruptionbudgets");
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    let policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    for (path, body, message) in [
        (
            budgets,
            json!({"spec": {"minAvailable": -1}}),
            "PodDisruptionBudget.policy \"x\" is invalid: spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            leases,
            json!({"spec": {"leaseDurationSeconds": 0}}),
            "Lease.coordination.k8s.io \"x\" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
    ] {
        refused(&world, "POST", path, named(body), 422, message);
    }
    let limit = json!({"type": "Container", "max": {"cpu": "1"}});
    let stored = world.ask("POST", limits, named(json!({"spec": {"limits": [limit]}})));
    assert_eq!(stored["spec"]["limits"][0]["defaultRequest"], json!({"cpu": "1"}));
    // Their rules are not emulated, but names are checked, and unknown fields removed.
    let stored =
        world.ask("POST", policies, named(json!({"spec": {"podSelector": {}, "ingress": [{"from": [{}]}], "x": 1}})));
    assert_eq!(stored["spec"], json!({"podSelector": {}, "ingress": [{"from": [{}]}], "policyTypes": ["Ingress"]}));
    let (code, _) = world.send("POST", policies, json!({"metadata": {"name": "X"}, "spec": {}}));
    assert_eq!(code, 422);
    world.ask("POST", classes, named(json!({"provisioner": "a"})));
    assert_eq!(
        world.ask("PATCH", &default(classes), json!({"allowVolumeExpansion": true}))["allowVolumeExpansion"],
        true
    );
    let stored =
        world.ask("POST", slices, named(json!({"addressType": "IPv4", "endpoints": [], "ports": [{"port": 80}]})));
    assert_eq!(stored["ports"], json!([{"name": "", "port": 80, "protocol": "TCP"}]));
    assert_eq!(stored["metadata"]["generation"], 1);
    let given = json!([{"addresses": ["10.0.0.1"]}]);
    assert_eq!(world.ask("PATCH", &default(slices), json!({"endpoints": given}))["metadata"]["generation"], 2);
    world.ask("POST", leases, named(json!({"spec": {"leaseDurationSeconds": 1}})));
    world.ask("POST", budgets, named(json!({"spec": {"maxUnavailable": "50%"}})));
}

#[test]
fn a_limit_range_sets_defaults_and_maxima() {
    let world = World::new(Options::default());
    let entry = json!({"type": "Container", "max": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}});
    let claims = json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}});
    world.ask(
        "POST",
        "/api/v1/namespaces/default/limitranges",
        json!({"metadata": {"name": "l"}, "spec": {"limits": [entry, claims]}}),
    );
    let container = |resources: Value| {
        let containers = json!([{"name": "c", "image": "web", "resources": resources}]);
        json!({"metadata": {"name": "p"}, "spec": {"containers": containers}})
    };
    refused(
        &world,
        "POST",
        PODS,
        container(json!({"limits": {"cpu": "2"}})),
        403,
        "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2",
    );
    let stored = world.ask("POST", PODS, container(json!({})));
    let resources = &stored["spec"]["containers"][0]["resources"];
    assert_eq!(resources, &json!({"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}));
    assert_eq!(
        stored["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    );
    assert_eq!(stored["status"]["qosClass"], "Burstable");
    let size = json!({"requests": {"storage": "2Gi"}});
    refused(
        &world,
        "POST",
        "/api/v1/namespaces/default/persistentvolumeclaims",
        json!({"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}}),
        403,
        "persistentvolumeclaims \"d\" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
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
    // An object of an earlier release without the default is equal to the defaulted object.
    world.overwrite("apps/deployments", "web", |text| text.replace("\"restartPolicy\":\"Always\",", ""));
    world.ask("PATCH", &path, json!({"metadata": {"annotations": {"x": "y"}}}));
    world.settle(60);
    assert_eq!(world.list("/apis/apps/v1/namespaces/default/replicasets").len(), 1);
    assert!(entries > 0);
}

#[test]
fn a_pod_has_any_grace_period() {
    let world = World::new(Options::default());
    world.ask(
        "POST",
        PODS,
        json!({ "metadata": { "name": "p" }, "spec": { "terminationGracePeriodSeconds": i64::MAX,
        "containers": [{ "name": "c", "image": "i" }] } }),
    );
    world.settle(10);
    let going = world.ask("DELETE", &format!("{PODS}/p?gracePeriodSeconds={}", i64::MAX), Value::Null);
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 1_u64 << 32);
    world.settle(60);
    assert_eq!(world.send("GET", &format!("{PODS}/p"), Value::Null).0, 404);
}

#[test]
fn a_quota_has_the_used_amounts_and_limits() {
    let world = World::new(Options::default());
    let hard = json!({"pods": "2", "requests.cpu": "1", "configmaps": "2"});
    world.ask("POST", QUOTAS, json!({"metadata": {"name": "q"}, "spec": {"hard": hard}}));
    world.settle(1);
    let quota = format!("{QUOTAS}/q");
    // ConfigMap `kube-root-ca.crt` exists already.
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
fn a_signing_request_names_its_user_and_is_decided_once() {
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

/// A request of user `root` in group `system:masters`.
const MASTER: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHjMIGKAgEAMCgxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ0wCwYDVQQDDARy\n\
b290MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeGy3AnDXOHEJhJRFbS1t/5FT\n\
pjgvxZJdNrkXZJrZmTR5StLO0awRwylzYYKaH2w1adem6p7pny3OkqOuXsKVPKAA\n\
MAoGCCqGSM49BAMCA0gAMEUCIQDZnoJwFkdHJOcRa+P+ZpC6lGMy1/al7mGrWGlb\n\
j5013gIgJ+NCBgDweQrqAZ19fRP7YNFZpqXn2WlzzDhlbv2LvRk=\n\
-----END CERTIFICATE REQUEST-----\n\
";

/// Output of `openssl req -new -subj /CN=jane/O=system:masters/O=dev`.
const MASTER_AND_DEV: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHyMIGYAgEAMDYxDTALBgNVBAMMBGphbmUxFzAVBgNVBAoMDnN5c3RlbTptYXN0\n\
ZXJzMQwwCgYDVQQKDANkZXYwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQW+emb\n\
7lW1TavT/3h9aZ78iOP5g8zAYh1SLgRPTjvqLlm7EEWBXMHQG+haDvwir4nyEZ6G\n\
lCOd1AawUxFRPYT+oAAwCgYIKoZIzj0EAwIDSQAwRgIhAIAhW/Y8WCnR/jFejHbd\n\
La380ICrtNimRxqeEqgw2LUBAiEAhezwi1fUUmV09nbIsPcyOzBAwqGyD/gUrYr+\n\
4hGz85Q=\n\
-----END CERTIFICATE REQUEST-----\n\
";
/// Output of `openssl req -new -subj /O=system:masters+O=dev/CN=jane`.
const MASTER_WITH_DEV: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHvMIGWAgEAMDQxIzAKBgNVBAoMA2RldjAVBgNVBAoMDnN5c3RlbTptYXN0ZXJz\n\
MQ0wCwYDVQQDDARqYW5lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFvnpm+5V\n\
tU2r0/94fWme/Ijj+YPMwGIdUi4ET0476i5ZuxBFgVzB0BvoWg78Iq+J8hGehpQj\n\
ndQGsFMRUT2E/qAAMAoGCCqGSM49BAMCA0gAMEUCIHJCCIjf1Ts3pImQP5m/o5ti\n\
qtljTkAVTwSJ3trtupWBAiEApVLoO5F4+PT6JiXoMHbiPn06Y7Kt/guwCUJUncEj\n\
pGI=\n\
-----END CERTIFICATE REQUEST-----\n\
";

#[test]
fn a_request_for_masters_is_refused_at_its_creation() {
    let world = World::new(Options::default());
    let of = |request: &str, name: &str, signer: &str, usage: &str| {
        let request = BASE64.encode(request);
        let spec = json!({ "request": request, "signerName": signer, "usages": [usage] });
        json!({ "metadata": { "name": name }, "spec": spec })
    };
    let text = "certificatesigningrequests.certificates.k8s.io \"root\" is forbidden: use of \
                kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    for request in [MASTER, MASTER_AND_DEV, MASTER_WITH_DEV] {
        let object = of(request, "root", "kubernetes.io/kube-apiserver-client", "client auth");
        refused(&world, "POST", REQUESTS, object, 403, text);
    }
    world.ask("POST", REQUESTS, of(MASTER, "other", "example.org/own", "client auth"));
}

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

#[test]
fn a_pod_gets_priority_and_tolerations() {
    let world = World::new(Options::default());
    let spec = world.ask("POST", PODS, pod("plain", "1"))["spec"].clone();
    assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(0), &json!("PreemptLowerPriority")));
    let keys: Vec<&str> =
        spec["tolerations"].as_array().into_iter().flatten().filter_map(|it| it["key"].as_str()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    let of_class = |name: &str, class: &str| {
        let mut pod = pod(name, "1");
        pod["spec"]["priorityClassName"] = json!(class);
        pod
    };
    let text = "pods \"p\" is forbidden: no PriorityClass with name high was found";
    refused(&world, "POST", PODS, of_class("p", "high"), 403, text);
    let critical = world.ask("POST", PODS, of_class("critical", "system-cluster-critical"));
    assert_eq!(critical["spec"]["priority"], 2_000_000_000);
    world.ask("POST", CLASSES, json!({"metadata": {"name": "high"}, "value": 7, "globalDefault": true}));
    assert_eq!(world.ask("POST", PODS, of_class("p", "high"))["spec"]["priority"], 7);
    let by_default = world.ask("POST", PODS, pod("q", "1"));
    assert_eq!(
        (&by_default["spec"]["priorityClassName"], &by_default["spec"]["priority"]),
        (&json!("high"), &json!(7))
    );
    let text = "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass high is already marked as default. Only \
                one default can exist";
    refused(
        &world,
        "POST",
        CLASSES,
        json!({"metadata": {"name": "other"}, "value": 1, "globalDefault": true}),
        403,
        text,
    );
    let text =
        "PriorityClass.scheduling.k8s.io \"high\" is invalid: value: Forbidden: may not be changed in an update.";
    refused(&world, "PATCH", &format!("{CLASSES}/high"), json!({"value": 8}), 422, text);
    world.ask("PATCH", &format!("{CLASSES}/high"), json!({"description": "new"}));
    // The first request for the kind creates the two system classes.
    let names: Vec<Value> = world.list(CLASSES).iter().map(|class| class["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["high", "system-cluster-critical", "system-node-critical"]);
    // The initially sent manifest may be sent again.
    let again = world.ask("PATCH", &format!("{PODS}/plain"), json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(again["spec"]["tolerations"], spec["tolerations"]);
}

#[test]
fn a_runtime_class_shapes_its_pods() {
    const RUNTIMES: &str = "/apis/node.k8s.io/v1/runtimeclasses";
    let world = World::new(Options::default());
    let of_class = |name: &str| {
        let mut pod = pod(name, "1");
        pod["spec"]["runtimeClassName"] = json!("gvisor");
        pod
    };
    let text = "pods \"p\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found";
    refused(&world, "POST", PODS, of_class("p"), 403, text);
    let class = json!({
        "metadata": {"name": "gvisor"}, "handler": "runsc", "overhead": {"podFixed": {"memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"sandbox": "yes"}},
    });
    world.ask("POST", RUNTIMES, class);
    let spec = world.ask("POST", PODS, of_class("p"))["spec"].clone();
    assert_eq!((&spec["overhead"], &spec["nodeSelector"]), (&json!({"memory": "64Mi"}), &json!({"sandbox": "yes"})));
    let text = "RuntimeClass.node.k8s.io \"gvisor\" is invalid: handler: Invalid value: \"other\": field is immutable";
    refused(&world, "PATCH", &format!("{RUNTIMES}/gvisor"), json!({"handler": "other"}), 422, text);
}

#[test]
fn debug_containers_are_added_through_their_subresource() {
    let world = World::new(Options::default());
    world.ask("POST", PODS, pod("p", "1"));
    world.settle(60);
    let path = format!("{PODS}/p/ephemeralcontainers");
    let one = |image: &str| json!({"name": "debug", "image": image, "targetContainerName": "c"});
    let body = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"ephemeralContainers": [one("busybox")], "dnsPolicy": "None"}});
    let answer = world.ask("PATCH", &path, body);
    assert_eq!(answer["spec"]["ephemeralContainers"][0]["terminationMessagePolicy"], "File");
    assert_eq!((&answer["spec"]["dnsPolicy"], &answer["metadata"]["labels"]), (&json!("ClusterFirst"), &Value::Null));
    assert_eq!(world.get(&path)["kind"], "Pod");
    let text = "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"debug\" may not be \
                changed\n";
    refused(&world, "PATCH", &path, json!({"spec": {"ephemeralContainers": [one("other")]}}), 422, text);
    let mut bad = one("busybox");
    bad["name"] = json!("second");
    bad["targetContainerName"] = json!("missing");
    let text = "Pod \"p\" is invalid: spec.ephemeralContainers[1].targetContainerName: Not found: \"missing\"";
    let path_of = |body: &Value| body["spec"]["ephemeralContainers"].as_array().map(Vec::len);
    let (code, found) = world.send("PATCH", &path, json!({"spec": {"ephemeralContainers": [bad]}}));
    let message = found["message"].as_str().unwrap_or_default().replace("[0]", "[1]");
    assert_eq!((code, message.as_str()), (422, text));
    assert_eq!(path_of(&world.get(&format!("{PODS}/p"))), Some(1));
}

#[test]
fn an_autoscaler_is_read_and_written_in_both_versions() {
    const NEWER: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    const OLDER: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    let world = World::new(Options::default());
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let spec = json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target});
    let older = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec,
    });
    let stored = world.ask("POST", OLDER, older);
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]["targetCPUUtilizationPercentage"]),
        (&json!("autoscaling/v1"), &json!(50))
    );
    let newer = world.get(&format!("{NEWER}/a"));
    assert_eq!(newer["apiVersion"], "autoscaling/v2");
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    assert_eq!(newer["spec"]["metrics"], json!([cpu]));
    assert_eq!(newer["status"], json!({"currentMetrics": null, "desiredReplicas": 0}));
    let patched = world.ask("PATCH", &format!("{OLDER}/a"), json!({"spec": {"targetCPUUtilizationPercentage": 60}}));
    assert_eq!(patched["spec"]["targetCPUUtilizationPercentage"], 60);
    assert_eq!(patched["status"], json!({"currentReplicas": 0, "desiredReplicas": 0}));
}

#[test]
fn components_are_healthy_and_only_read() {
    const COMPONENTS: &str = "/api/v1/componentstatuses";
    let world = World::new(Options::default());
    let names: Vec<Value> = world.list(COMPONENTS).iter().map(|each| each["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["controller-manager", "etcd-0", "scheduler"]);
    let one = world.get(&format!("{COMPONENTS}/etcd-0"));
    assert_eq!(one["conditions"], json!([{"type": "Healthy", "status": "True", "message": "ok"}]));
    let text = "the server does not allow this method on the requested resource";
    refused(&world, "POST", COMPONENTS, json!({"metadata": {"name": "x"}}), 405, text);
    let resources = world.get("/api/v1")["resources"].clone();
    let found = resources.as_array().into_iter().flatten().find(|each| each["name"] == "componentstatuses");
    assert_eq!(found.map(|each| each["verbs"].clone()), Some(json!(["get", "list"])));
}

#[test]
fn initial_objects_are_created_with_the_first_request() {
    const SYSTEM: &str = "/api/v1/namespaces/kube-system/configmaps";
    let world = World::new(Options::default());
    world.settle(1);
    let before = world.entries();
    world.settle(3600);
    assert_eq!(world.entries(), before, "no request was sent");
    let names: Vec<Value> = world.list(SYSTEM).iter().map(|map| map["metadata"]["name"].clone()).collect();
    // Cluster `runtime` has no identity, and this host was configured without trusted authorities.
    assert_eq!(names, ["kube-root-ca.crt"]);
    world.list(CLASSES);
    assert_eq!(world.entries(), before + 2);
    world.list(CLASSES);
    assert_eq!(world.entries(), before + 2, "once");
}
