// SPDX-License-Identifier: Apache-2.0
//! Protobuf bodies: those that kubectl sends, and those of every kind with field numbers, written by an encoder with
//! the behaviour of Go's generated code.

mod encoder;

use api::catalogue;
use api::kubernetes::tables;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::DeleteOptions;
use apimachinery::release::Release;
use apimachinery::schema::{Node, Schema as _};
use apimachinery::{decode, opaque};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use generic_apiserver::protobuf::{Envelope, answer, is_known};
use http_body_util::BodyExt;
use process::User;
use process::transport::full;
use proptest::prelude::*;
use serde_json::{Value, json};

use self::encoder::{Choices, body, message, put, sample, varint, without_zeros, wrapped};
use crate::support::{Answer, get, host, send};

#[track_caller]
fn check(group: &str, kind: &str, body: &str, expected: &Value) {
    let body = STANDARD.decode(body).expect("base64");
    let envelope = Envelope::open(&body).expect("an envelope");
    let node = tables::node(group, kind).expect("a kind");
    assert!(is_known(&node), "{kind} has a number for every field");
    assert_eq!(envelope.tree(&node).expect("a message"), *expected);
}

/// Bodies that kubectl 1.33 sends for `kubectl create`.
#[test]
fn bodies_of_kubectl_become_the_trees_of_their_json() {
    check(
        "apps",
        "Deployment",
        "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EsQBCiYKA3dlYhIAGgdkZWZhdWx0IgAqADIAOABCAFoKCgNhcHASA3dlYhKLAQgCEgwKCgoDYX\
         BwEgN3ZWIacQocCgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJREjMKBW5naW54EgpuZ2lueDoxLjI3KgAyCgoAEAAYUCIAKgBCAGoAcgCA\
         AQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA=",
        &json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{
                        "name": "nginx", "image": "nginx:1.27", "ports": [{"containerPort": 80}], "resources": {},
                    }]},
                },
                "strategy": {},
            },
            "status": {},
        }),
    );
    check(
        "policy",
        "PodDisruptionBudget",
        "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSPgoZCgJwMhIAGgdkZWZhdWx0IgAqADIAOABCABIVCgkIARAAGgM1MCUSCA\
         oGCgFhEgFiGgoIABgAIAAoADAAGgAiAA==",
        &json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "p2", "namespace": "default"},
            "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        }),
    );
    check(
        "core",
        "Secret",
        "azhzAAoMCgJ2MRIGU2VjcmV0EiUKGQoCczISABoHZGVmYXVsdCIAKgAyADgAQgASBgoBYRIBYhoAGgAiAA==",
        &json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s2", "namespace": "default"},
            "data": {"a": "Yg=="},
        }),
    );
    check(
        "core",
        "Service",
        "azhzAAoNCgJ2MRIHU2VydmljZRJsCiQKAm5wEgAaB2RlZmF1bHQiACoAMgA4AEIAWgkKA2FwcBICbnASQAobCgc4MC04MDgwEgNUQ1AYUCIHCA\
         AQkD8aACgAEgkKA2FwcBICbnAaACIITm9kZVBvcnQ6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
        &json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "np", "namespace": "default", "labels": {"app": "np"}},
            "spec": {
                "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
                "selector": {"app": "np"}, "type": "NodePort",
            },
            "status": {"loadBalancer": {}},
        }),
    );
    check(
        "core",
        "ResourceQuota",
        "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRJMChkKAnEyEgAaB2RlZmF1bHQiACoAMgA4AEIAEi0KDgoDY3B1EgcKBTE1MDBtCgsKBHBvZHMSAw\
         oBMhIOTm90VGVybWluYXRpbmcaABoAIgA=",
        &json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q2", "namespace": "default"},
            "spec": {"hard": {"cpu": "1500m", "pods": "2"}, "scopes": ["NotTerminating"]},
            "status": {},
        }),
    );
    check(
        "networking",
        "Ingress",
        "azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJZChgKAWkSABoHZGVmYXVsdCIAKgAyADgAQgASORIICgNhLmISAXQaKgoDYS\
         5iEiMKIQofCgIveBIRIg8KA3N2YxIICgRodHRwEAAaBlByZWZpeCIBYxoCCgAaACIA",
        &json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "i", "namespace": "default"},
            "spec": {
                "ingressClassName": "c",
                "tls": [{"hosts": ["a.b"], "secretName": "t"}],
                "rules": [{"host": "a.b", "http": {"paths": [{
                    "path": "/x", "pathType": "Prefix",
                    "backend": {"service": {"name": "svc", "port": {"name": "http"}}},
                }]}}],
            },
            "status": {"loadBalancer": {}},
        }),
    );
    check(
        "batch",
        "CronJob",
        "azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKmAQoZCgJjahIAGgdkZWZhdWx0IgAqADIAOABCABKGAQoGQGRhaWx5GgAqegoSCgJjahIAGgAiAC\
         oAMgA4AEIAEmQyYgoQCgASABoAIgAqADIAOABCABJOEicKAmNqEgdidXN5Ym94GgRkYXRlKgBCAGoAcgCAAQCIAQCQAQCiAQAaCU9uRmFpbHVy\
         ZTIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGgAaACIA",
        &json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cj", "namespace": "default"},
            "spec": {
                "schedule": "@daily",
                "jobTemplate": {
                    "metadata": {"name": "cj"},
                    "spec": {"template": {
                        "metadata": {},
                        "spec": {
                            "containers": [
                                {"name": "cj", "image": "busybox", "command": ["date"], "resources": {}},
                            ],
                            "restartPolicy": "OnFailure",
                        },
                    }},
                },
            },
            "status": {},
        }),
    );
}

/// The kinds whose bodies clients send in protobuf.
const KINDS: [(&str, &str); 33] = [
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("authentication", "SelfSubjectReview"),
    ("authentication", "TokenRequest"),
    ("authentication", "TokenReview"),
    ("authorization", "SelfSubjectAccessReview"),
    ("authorization", "SelfSubjectRulesReview"),
    ("authorization", "SubjectAccessReview"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("autoscalingv2", "HorizontalPodAutoscaler"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("certificates", "CertificateSigningRequest"),
    ("coordination", "Lease"),
    ("core", "ConfigMap"),
    ("core", "Event"),
    ("core", "Namespace"),
    ("core", "Node"),
    ("core", "Pod"),
    ("core", "ResourceQuota"),
    ("core", "Secret"),
    ("core", "Service"),
    ("core", "ServiceAccount"),
    ("events", "Event"),
    ("networking", "Ingress"),
    ("node", "RuntimeClass"),
    ("policy", "PodDisruptionBudget"),
    ("rbac", "ClusterRole"),
    ("rbac", "ClusterRoleBinding"),
    ("rbac", "Role"),
    ("scheduling", "PriorityClass"),
];

fn nodes() -> Vec<Node> {
    let kinds = KINDS.iter().map(|(group, kind)| tables::node(group, kind).expect("a kind"));
    kinds.chain(of_gardener()).chain([DeleteOptions::node()]).collect()
}

/// Kinds of gardener-apiserver, for which clients with Gardener's scheme send protobuf, in two releases: a field may
/// reuse the number of a field of an earlier release.
fn of_gardener() -> impl Iterator<Item = Node> {
    let rows = catalogue::all().iter().filter(|row| row.group.ends_with(".gardener.cloud") && !row.custom);
    let of_release = |row: &ResourceInfo| [Release(120), Release(149)].map(|release| row.at(release));
    rows.flat_map(of_release).filter(ResourceInfo::is_served).map(|row| row.node())
}

#[test]
fn every_kind_that_clients_send_has_all_its_numbers() {
    for node in nodes() {
        assert!(is_known(&node), "{node:?}");
    }
    let node = |group, kind| (catalogue::find_kind(group, "v1", kind).expect("a row").schema)();
    assert!(is_known(&node("", "Pod")));
    assert!(!is_known(&node("apiextensions.k8s.io", "CustomResourceDefinition")), "its unions have no tree");
    let garden = catalogue::find_kind("operator.gardener.cloud", "v1alpha1", "Garden").expect("a row");
    assert!(!is_known(&garden.node()), "custom resources have no messages");
    assert!(of_gardener().count() > 20);
}

/// Opaque JSON of the Shoot keeps the order of its fields; otherwise its nodes would be rolled.
#[test]
fn a_shoot_in_protobuf_is_the_one_in_json() {
    let node = catalogue::find_kind("core.gardener.cloud", "v1beta1", "Shoot").expect("a row").node();
    let config = r#"{"zones": {"b": 1, "a": 2.50}}"#;
    let mut tree = json!({
        "metadata": {"name": "local", "namespace": "garden-demo", "annotations": {"gardener.cloud/operation": "maintain"}},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "local"},
            "kubernetes": {
                "version": "1.31.1",
                "kubeAPIServer": {"enableAnonymousAuthentication": false, "runtimeConfig": {"a/v1": true}},
                "kubelet": {"maxPods": 110, "kubeReserved": {"cpu": "80m", "memory": "1Gi"}},
            },
            "maintenance": {"timeWindow": {"begin": "220000+0000", "end": "230000+0000"}},
            "provider": {"type": "local", "workers": [{
                "name": "a", "minimum": 1, "maximum": 2, "maxSurge": "50%", "maxUnavailable": 0,
                "machine": {"type": "local", "image": {"name": "local", "version": "1.0.0"}},
                "machineControllerManager": {"machineDrainTimeout": "10m0s"},
            }]},
        },
        "status": {"lastOperation": {"progress": 100, "lastUpdateTime": "2023-07-28T09:07:27Z"}},
    });
    let expected = decode::tree(tree.clone(), &node).expect("fits").tree;
    tree["spec"]["provider"]["infrastructureConfig"] = opaque::marked_json(config.as_bytes()).expect("JSON");

    let read = Envelope::open(&body(&node, &tree)).expect("an envelope").tree(&node).expect("a Shoot");
    let text = opaque::to_json(&read);
    assert!(text.contains(&format!(r#""infrastructureConfig":{config}"#)), "{text}");
    let mut read = opaque::plain(read);
    read["spec"]["provider"].as_object_mut().expect("a struct").remove("infrastructureConfig");
    for name in ["apiVersion", "kind"] {
        read.as_object_mut().expect("a struct").remove(name);
    }
    assert_eq!(without_zeros(&read), without_zeros(&expected));
}

/// Go's generator cannot repeat a map: each is field 1 of a message (`CapabilitySet`, later `MachineImageFlavor`).
#[test]
fn a_list_of_maps_is_a_list_of_messages() {
    let row = catalogue::find_kind("core.gardener.cloud", "v1beta1", "CloudProfile").expect("a row");
    let set = |key: &[u8], value: &[u8]| {
        let mut entry = Vec::new();
        put(&mut entry, 1, key);
        put(&mut entry, 2, &wrapped(value));
        wrapped(&entry)
    };
    let mut version = Vec::new();
    put(&mut version, 6, &set(b"architecture", b"amd64"));
    put(&mut version, 6, &set(b"architecture", b"arm64"));
    put(&mut version, 6, b"");
    let (mut image, mut spec, mut profile) = (Vec::new(), Vec::new(), Vec::new());
    put(&mut image, 2, &version);
    put(&mut spec, 3, &image);
    put(&mut profile, 2, &spec);
    let mut unknown = Vec::new();
    put(&mut unknown, 2, &profile);
    let body = [b"k8s\0", &unknown[..]].concat();
    for (release, name) in [(127, "capabilitySets"), (128, "capabilityFlavors")] {
        let node = row.at(Release(release)).node();
        let tree = Envelope::open(&body).expect("an envelope").tree(&node).expect("a body");
        assert_eq!(
            tree["spec"]["machineImages"][0]["versions"][0][name],
            json!([{"architecture": ["amd64"]}, {"architecture": ["arm64"]}, {}]),
            "{release}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encoded_objects_are_decoded_unchanged(seed in any::<u64>()) {
        for node in nodes() {
            let mut tree = sample(&node, 0, &mut Choices(seed));
            let body = body(&node, &tree);
            let read = Envelope::open(&body).expect("an envelope").tree(&node).map(opaque::plain);
            tree["apiVersion"] = json!("g/v1");
            tree["kind"] = json!("Thing");
            let expected = decode::tree(tree.clone(), &node).expect("fits").tree;
            prop_assert_eq!(read, Ok(expected.clone()), "{:?}", node);

            // A response has the same bytes as a request body with the object; a list has its items.
            let find = |_: &str, kind: &str| (kind == "Thing").then(|| node.clone());
            let answer = answer::body(tree.to_string().as_bytes(), &find).expect("an answer");
            let read = Envelope::open(&answer).expect("an envelope").tree(&node).map(opaque::plain);
            prop_assert_eq!(read, Ok(expected), "{:?}", node);
            let list = json!({"apiVersion": "g/v1", "kind": "ThingList", "metadata": {}, "items": [tree.clone(), tree]});
            let list = answer::body(list.to_string().as_bytes(), &find).expect("a list");
            let raw = Envelope::open(&answer).expect("an envelope").raw;
            let item = [&[0x12][..], &length(raw), raw].concat();
            prop_assert!(list.windows(2 * item.len()).any(|part| part == [&item[..], &item].concat()), "{:?}", node);
        }
    }

    #[test]
    fn damaged_bodies_are_read_or_refused(seed in any::<u64>(), at in any::<usize>(), with in any::<u8>()) {
        let nodes = nodes();
        let node = &nodes[at % nodes.len()];
        let mut body = body(node, &sample(node, 0, &mut Choices(seed)));
        let place = at % body.len();
        body[place] = with;
        let _ = Envelope::open(&body).and_then(|envelope| envelope.tree(node));
        body.truncate(place);
        let _ = Envelope::open(&body).and_then(|envelope| envelope.tree(node));
    }

    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<usize>()) {
        let nodes = nodes();
        let node = &nodes[at % nodes.len()];
        let _ = Envelope::open(&bytes);
        let _ = Envelope::open(&[b"k8s\0", &bytes[..]].concat());
        let _ = Envelope { raw: &bytes, ..Envelope::default() }.tree(node);
    }
}

fn length(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, bytes.len() as u64);
    out
}

const ALONE: [(&str, &str); 1] = [("accept", "application/vnd.kubernetes.protobuf")];

/// Kind and message of a protobuf response.
#[track_caller]
fn opened(answer: &Answer) -> Envelope<'_> {
    assert_eq!(answer.header("content-type"), "application/vnd.kubernetes.protobuf");
    Envelope::open(&answer.body).expect("an envelope")
}

#[tokio::test]
async fn clients_that_accept_only_protobuf_get_protobuf() {
    let host = host().await;
    let maps = "/clusters/garden/api/v1/namespaces/default/configmaps";
    let node = tables::node("core", "ConfigMap").expect("a kind");
    let created =
        send(&host, "POST", maps, &ALONE, json!({"metadata": {"name": "a"}, "data": {"k": "v"}}).to_string()).await;
    assert_eq!(created.code, 201);
    let envelope = opened(&created);
    assert_eq!((&*envelope.api_version, &*envelope.kind), ("v1", "ConfigMap"));
    assert_eq!(envelope.tree(&node).expect("a message")["data"], json!({"k": "v"}));

    let one = send(&host, "GET", &format!("{maps}/a"), &ALONE, "").await;
    let read = opaque::plain(opened(&one).tree(&node).expect("a message"));
    let plain = get(&host, &format!("{maps}/a")).await.json();
    assert_eq!((&read["data"], &read["metadata"]["uid"]), (&plain["data"], &plain["metadata"]["uid"]));
    assert_eq!(read["metadata"]["resourceVersion"], plain["metadata"]["resourceVersion"]);
    let list = send(&host, "GET", maps, &ALONE, "").await;
    assert_eq!(opened(&list).kind, "ConfigMapList");

    // Errors and responses to deletions are protobuf, too.
    let missing = send(&host, "GET", &format!("{maps}/b"), &ALONE, "").await;
    assert_eq!((missing.code, &*opened(&missing).kind), (404, "Status"));
    let text = String::from_utf8_lossy(&missing.body).into_owned();
    assert!(text.contains("configmaps \"b\" not found"), "{text}");
    for path in
        ["/clusters/garden/api", "/clusters/garden/apis", "/clusters/garden/api/v1", "/clusters/garden/apis/apps"]
    {
        let kind = opened(&send(&host, "GET", path, &ALONE, "").await).kind;
        assert!(kind.starts_with("API"), "{path}: {kind}");
    }

    // Other clients accept JSON as well, and tables have no messages.
    for accept in [
        "application/vnd.kubernetes.protobuf,application/json",
        "application/vnd.kubernetes.protobuf, */*",
        "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
    ] {
        let answer = send(&host, "GET", maps, &[("accept", accept)], "").await;
        assert_eq!((answer.code, answer.header("content-type")), (200, "application/json"), "{accept}");
    }
}

#[tokio::test]
async fn kinds_without_messages_are_not_acceptable_in_protobuf() {
    let host = host().await;
    let text = "only the following media types are accepted: application/json, application/yaml";
    let clusters = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
    send(&host, "GET", clusters, &ALONE, "").await.expect_failure(406, "NotAcceptable", text);
    let body = json!({"metadata": {"name": "shoot--p--z"}, "spec": {"kubernetesVersion": "1.27.1"}}).to_string();
    send(&host, "POST", clusters, &ALONE, body).await.expect_failure(406, "NotAcceptable", text);
    assert_eq!(get(&host, &format!("{clusters}/shoot--p--z")).await.code, 404, "nothing was written");

    // Metadata has a message independent of the kind.
    let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let answer = send(&host, "GET", clusters, &[("accept", partial)], "").await;
    assert_eq!(opened(&answer).kind, "PartialObjectMetadataList");
}

#[tokio::test]
async fn a_watch_in_protobuf_is_frames_with_their_length() {
    let host = host().await;
    let maps = "/clusters/garden/api/v1/namespaces/default/configmaps";
    for name in ["a", "b"] {
        send(&host, "POST", maps, &[], json!({"metadata": {"name": name}}).to_string()).await;
    }
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let request = http::Request::get(format!("{maps}?{query}"))
        .header("accept", "application/vnd.kubernetes.protobuf;stream=watch");
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    let response = host.transport(user).send(request.body(full("")).expect("a request")).await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "application/vnd.kubernetes.protobuf;stream=watch");
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
        bytes.extend_from_slice(&frame.into_data().expect("data"));
    }
    let (mut rest, mut types) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (event, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        let type_ = std::str::from_utf8(&event[2..2 + usize::from(event[1])]).expect("UTF-8").to_owned();
        let object = event.windows(4).position(|part| part == b"k8s\0").expect("an object");
        assert_eq!(Envelope::open(&event[object..]).expect("an envelope").kind, "ConfigMap");
        types.push(type_);
        rest = after;
    }
    assert_eq!(types, ["ADDED", "ADDED", "BOOKMARK"]);
}

const TYPE: [(&str, &str); 1] = [("content-type", "application/vnd.kubernetes.protobuf")];

#[tokio::test]
async fn objects_are_created_replaced_and_deleted_in_protobuf() {
    let host = host().await;
    let node = tables::node("core", "ConfigMap").expect("a kind");
    let body = |tree: &Value| {
        let mut unknown = Vec::new();
        put(&mut unknown, 1, &[b"\n\x02v1\x12\x09ConfigMap".as_slice()].concat());
        put(&mut unknown, 2, &message(node.as_object().expect("a struct"), tree));
        [b"k8s\0", &unknown[..]].concat()
    };
    let collection = "/clusters/garden/api/v1/namespaces/default/configmaps";
    let created = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let answer = send(&host, "POST", collection, &TYPE, body(&created)).await;
    assert_eq!((answer.code, &answer.json()["data"]), (201, &json!({"k": "v"})));
    let changed = json!({"metadata": {"name": "a"}, "data": {"k": "w"}});
    let object = format!("{collection}/a");
    assert_eq!(send(&host, "PUT", &object, &TYPE, body(&changed)).await.json()["data"], json!({"k": "w"}));

    // DeleteOptions with a failing precondition, then with a matching one.
    let uid = get(&host, &object).await.json()["metadata"]["uid"].as_str().expect("a uid").to_owned();
    for (uid, code) in [("other", 409), (uid.as_str(), 200)] {
        let options = DeleteOptions::node();
        let tree = json!({"preconditions": {"uid": uid}, "propagationPolicy": "Background"});
        let mut unknown = Vec::new();
        put(&mut unknown, 1, b"\n\x02v1\x12\x0dDeleteOptions");
        put(&mut unknown, 2, &message(options.as_object().expect("a struct"), &tree));
        let body = [b"k8s\0", &unknown[..]].concat();
        assert_eq!(send(&host, "DELETE", &object, &TYPE, body).await.code, code);
    }
}

#[tokio::test]
async fn unreadable_bodies_are_refused_as_upstream() {
    let host = host().await;
    let collection = "/clusters/garden/api/v1/namespaces";
    let broken = |body: &'static [u8]| send(&host, "POST", collection, &TYPE, body);
    broken(b"{}").await.expect_failure(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Namespace): provided data does not appear to be a \
         protobuf message, expected prefix [107 56 115 0] ({})",
    );
    broken(b"k8s\0").await.expect_failure(
        400,
        "BadRequest",
        "the object provided is unrecognized (must be of type Namespace): empty body (6b387300)",
    );
    broken(b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x0a\x05").await.expect_failure(
        400,
        "BadRequest",
        "Namespace in version \"v1\" cannot be handled as a Namespace: unexpected EOF",
    );
    broken(b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x08\x05").await.expect_failure(
        400,
        "BadRequest",
        "Namespace in version \"v1\" cannot be handled as a Namespace: proto: wrong wireType = 0 for field Metadata",
    );
    broken(b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x00").await.expect_failure(
        400,
        "BadRequest",
        "Secret in version \"v1\" cannot be handled as a Namespace: converting (v1.Secret) to (core.Namespace): unknown \
         conversion",
    );
    // Custom resources have no messages.
    let clusters = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
    let answer = send(&host, "POST", clusters, &TYPE, &b"k8s\0\x0a\x00"[..]).await;
    assert_eq!((answer.code, answer.json()["reason"].as_str()), (415, Some("UnsupportedMediaType")));
}
