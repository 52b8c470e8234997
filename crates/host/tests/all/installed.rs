// SPDX-License-Identifier: Apache-2.0
//! Custom resources of Gardener have the fields of the release of the component that installs their definitions.

use api::catalogue::{self, Unemulated};
use api::core::Seed;
use apimachinery::catalogue::{ReleasedField, ResourceInfo};
use apimachinery::release::Release;
use apimachinery::schema::{EACH, Node};
use generic_apiserver::{Builder, Foundation, Generic};
use host::{Host, Parts};
use http_body_util::BodyExt;
use process::{Tasks, User};
use serde_json::{Value, json};

use crate::support::{Answer, foundation, get, send};

const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");
const APPLY: (&str, &str) = ("content-type", "application/apply-patch+yaml");

/// A host of an initial version, with a cluster for Seed `a` and a server that accepts any Seed.
async fn host_of(version: &str) -> Host {
    let foundation = foundation();
    let parts = Parts { version: version.to_owned(), ..Parts::default() };
    let host = Host::with(foundation.clone(), &Tasks::new(), parts);
    for name in ["garden", "seed--a"] {
        let cluster = json!({"metadata": {"name": name}, "spec": {"kubernetesVersion": "1.27.1"}});
        post(&host, "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters", &cluster).await;
    }
    let seeds = Builder::new(Foundation { writer: 2, ..foundation })
        .clusters(generic_apiserver::clusters::FixedClusters::new(["garden"], "1.27.1"))
        .resource::<Seed>(catalogue::of::<Seed>(), Generic)
        .build();
    host.aggregate(Some(seeds));
    host
}

async fn post(host: &Host, path: &str, object: &Value) {
    let answer = send(host, "POST", path, &[], object.to_string()).await;
    assert_eq!(answer.code, 201, "{path} {:?}", answer.body);
}

/// Path of the objects of a row, in the cluster that has it; namespaced ones are in `default`.
fn path_of(row: &ResourceInfo) -> String {
    let cluster = match row.group {
        "operator.gardener.cloud" => "runtime",
        "core.gardener.cloud" => "garden",
        _ => "seed--a",
    };
    let namespace = if row.namespaced { "namespaces/default/" } else { "" };
    format!("/clusters/{cluster}/apis/{}/{}/{namespace}{}", row.group, row.version, row.plural)
}

/// A value of a node with the field at a path, or any value at the end of it.
fn value(node: &Node, path: &[&str]) -> Value {
    match (node, path.split_first()) {
        (Node::List(item), Some((&EACH, rest))) => json!([value(item, rest)]),
        (Node::Map(item), Some((&EACH, rest))) => json!({"key": value(item, rest)}),
        (node, Some((name, rest))) => {
            let field = node.as_object().and_then(|schema| schema.field(name)).expect("a field");
            json!({*name: value(&field.node, rest)})
        }
        (Node::List(_), None) => json!([]),
        (Node::Boolean, None) => json!(true),
        (Node::Integer { .. } | Node::Number | Node::IntOrString, None) => json!(1),
        (Node::String | Node::Quantity, None) => json!("1"),
        (Node::Duration, None) => json!("1h"),
        (_, None) => json!({}),
    }
}

/// True if strict field validation accepts a field.
async fn is_known(host: &Host, row: &ResourceInfo, field: &ReleasedField) -> bool {
    let mut object = value(&(row.schema)(), field.path);
    object["metadata"] = json!({"name": "any"});
    let path = format!("{}?fieldValidation=Strict&dryRun=All", path_of(row));
    let answer = send(host, "POST", &path, &[], object.to_string()).await;
    let unknown = format!("unknown field \"{}\"", field.path.join(".").replace(".[]", "[0]"));
    !String::from_utf8_lossy(&answer.body).replace('\\', "").replace("[\"key\"]", "[0]").contains(&unknown)
}

/// Schemas of the fields at a path; `*` at its end stands for all fields of a struct.
fn fields_at<'a>(schemas: &'a Value, schema: &'a Value, path: &[&str]) -> Vec<&'a Value> {
    let Some((name, rest)) = path.split_first() else { return vec![schema] };
    let schema = match schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str()) {
        Some(reference) => &schemas[reference.rsplit('/').next().unwrap_or_default()],
        None => schema,
    };
    let below = match *name {
        "*" => return schema["properties"].as_object().map(|fields| fields.values().collect()).unwrap_or_default(),
        EACH if schema["type"] == "array" => &schema["items"],
        EACH => &schema["additionalProperties"],
        name => &schema["properties"][name],
    };
    fields_at(schemas, below, rest)
}

/// Schemas of a row's group in OpenAPI v3, and the one of the row's kind.
async fn described(host: &Host, row: &ResourceInfo) -> (Value, Value) {
    let cluster = path_of(row).split('/').nth(2).unwrap_or_default().to_owned();
    let document =
        get(host, &format!("/clusters/{cluster}/openapi/v3/apis/{}/{}", row.group, row.version)).await.json();
    let schemas = document["components"]["schemas"].clone();
    let kinds = |schema: &Value| schema["x-kubernetes-group-version-kind"][0]["kind"] == row.kind;
    let own = schemas.as_object().and_then(|all| all.values().find(|schema| kinds(schema))).cloned();
    (schemas, own.unwrap_or_default())
}

#[tokio::test]
async fn definitions_have_the_fields_of_their_release() {
    let rows = || catalogue::all().iter().filter(|row| row.custom && !row.fields.is_empty());
    let mut count = 0;
    for minor in 119..=149 {
        let host = host_of(&format!("v1.{minor}.0")).await;
        for row in rows() {
            let is_near = |field: &&ReleasedField| {
                let boundaries = [Some(field.releases.since), field.releases.until];
                boundaries.into_iter().flatten().any(|boundary| minor == boundary || minor + 1 == boundary)
            };
            let near: Vec<&ReleasedField> = row.fields.iter().filter(is_near).collect();
            if near.is_empty() {
                continue;
            }
            let (schemas, schema) = described(&host, row).await;
            for field in near {
                let expected = field.releases.contain(Release(minor));
                let name = format!("{} {} at 1.{minor}", row.kind, field.path.join("."));
                assert_eq!(is_known(&host, row, field).await, expected, "{name}");
                let is_described = !fields_at(&schemas, &schema, field.path)[0].is_null();
                assert_eq!(is_described, expected, "{name} in OpenAPI");
                count += 1;
            }
        }
    }
    assert!(count > 80, "{count}");
}

#[tokio::test]
async fn openapi_marks_unemulated_fields() {
    let host = host_of("v1.149.0").await;
    let mut count = 0;
    for Unemulated { group, kind, paths, .. } in catalogue::UNEMULATED {
        let row = catalogue::all().iter().find(|row| row.group == *group && row.kind == *kind).expect("a row");
        let (schemas, schema) = described(&host, row).await;
        for path in *paths {
            let names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
            let found = fields_at(&schemas, &schema, &names);
            assert!(!found.is_empty(), "{kind} {path}");
            for field in found {
                let text = field["description"].as_str().unwrap_or_default();
                assert!(text.ends_with(catalogue::MARK), "{kind} {path}: {field}");
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[tokio::test]
async fn a_kind_is_served_from_its_release_on() {
    let path = "/clusters/seed--a/apis/extensions.gardener.cloud/v1alpha1/namespaces/default/selfhostedshootexposures";
    for (version, code) in [("v1.120.0", 404), ("v1.137.9", 404), ("v1.138.0", 200), ("v1.149.3", 200), ("", 200)] {
        let host = host_of(version).await;
        assert_eq!(get(&host, path).await.code, code, "{version}");
        let resources = get(&host, "/clusters/seed--a/apis/extensions.gardener.cloud/v1alpha1").await.json();
        let mut names = resources["resources"].as_array().into_iter().flatten();
        let listed = names.any(|resource| resource["name"] == "selfhostedshootexposures");
        assert_eq!(listed, code == 200, "{version}");
    }
}

/// Sets the version of the gardenlet that reconciled Seed `a` last.
async fn reconcile_seed(host: &Host, version: &str) {
    let status = json!({"status": {"gardener": {"id": "", "name": "gardenlet", "version": version}}});
    let path = "/clusters/garden/apis/core.gardener.cloud/v1beta1/seeds/a/status";
    assert_eq!(send(host, "PATCH", path, &[MERGE], status.to_string()).await.code, 200);
}

#[tokio::test]
async fn stored_objects_are_pruned_by_their_next_write() {
    let host = host_of("v1.120.0").await;
    let seed = json!({"metadata": {"name": "a"}, "spec": {"provider": {"type": "local", "region": "local"}}});
    post(&host, "/clusters/garden/apis/core.gardener.cloud/v1beta1/seeds", &seed).await;
    reconcile_seed(&host, "v1.140.0").await;
    let workers = "/clusters/seed--a/apis/extensions.gardener.cloud/v1alpha1/namespaces/default/workers";
    let kubelet = json!({"systemReserved": {"cpu": "1"}, "maxPods": 9});
    let pools = json!([{"name": "p", "kubeletConfig": kubelet, "maximum": 1, "minimum": 1}]);
    post(&host, workers, &json!({"metadata": {"name": "w"}, "spec": {"type": "none", "pools": pools}})).await;
    let one = format!("{workers}/w");
    let before = get(&host, &one).await.json();
    assert_eq!(before["spec"]["pools"][0]["kubeletConfig"], kubelet);

    // gardenlet 1.141 has installed a definition without the field.
    reconcile_seed(&host, "v1.141.0").await;
    let pruned = json!({"maxPods": 9});
    let of = |worker: &Value| worker["spec"]["pools"][0]["kubeletConfig"].clone();
    let got = get(&host, &one).await.json();
    assert_eq!((of(&got), &got["metadata"]), (pruned.clone(), &before["metadata"]));
    assert_eq!(of(&get(&host, workers).await.json()["items"][0]), pruned);
    let frame = first_frame(&host, &format!("{workers}?watch=true")).await;
    assert_eq!(frame, added(&get(&host, &one).await));

    // gardenlet 1.140 is back: the stored fields are visible until the object is written.
    reconcile_seed(&host, "v1.140.0").await;
    assert_eq!(of(&get(&host, &one).await.json()), kubelet);
    reconcile_seed(&host, "v1.141.0").await;
    let labels = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    let written = send(&host, "PATCH", &one, &[MERGE], labels).await;
    assert_eq!((written.code, of(&written.json())), (200, pruned.clone()));
    assert_eq!(written.json()["metadata"]["generation"], 1, "that a field is pruned is no change of the specification");
    reconcile_seed(&host, "v1.140.0").await;
    let got = get(&host, &one).await;
    assert_eq!(of(&got.json()), pruned);
    let since = before["metadata"]["resourceVersion"].as_str().expect("a version");
    let frame = first_frame(&host, &format!("{workers}?watch=true&resourceVersion={since}")).await;
    assert_eq!(frame, added(&got).replace("ADDED", "MODIFIED"));
}

/// Frame of a watch that shows an object for the first time.
fn added(object: &Answer) -> String {
    let object = String::from_utf8_lossy(&object.body);
    format!("{{\"type\":\"ADDED\",\"object\":{}}}", object.trim_end())
}

/// The first line of a watch.
async fn first_frame(host: &Host, path: &str) -> String {
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    let request = http::Request::get(path).body(process::transport::full("")).expect("a request");
    let mut body = host.transport(user).send(request).await.expect("a response").into_body();
    let frame = body.frame().await.expect("a frame").expect("no error").into_data().expect("data");
    String::from_utf8_lossy(frame.split(|byte| *byte == b'\n').next().expect("a line")).into_owned()
}

/// Deploys gardener-operator in a version, as its chart does.
async fn deploy_operator(host: &Host, version: &str) {
    let path =
        "/clusters/runtime/apis/apps/v1/namespaces/garden/deployments/gardener-operator?fieldManager=helm&force=true";
    let labels = json!({"app": "gardener-operator"});
    let container = json!({"name": "gardener-operator", "image": format!("gardener/operator:{version}")});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gardener-operator"},
        "spec": spec});
    let answer = send(host, "PATCH", path, &[APPLY], object.to_string()).await;
    assert!(matches!(answer.code, 200 | 201), "{:?}", answer.body);
}

#[tokio::test]
async fn definitions_of_the_operator_change_with_its_deployment() {
    let host = host_of("v1.120.0").await;
    post(&host, "/clusters/runtime/api/v1/namespaces", &json!({"metadata": {"name": "garden"}})).await;
    let path = "/clusters/runtime/apis/operator.gardener.cloud/v1alpha1/extensions/x?fieldManager=me&force=true";
    let resources = json!([{"kind": "SelfHostedShootExposure", "type": "x", "continuousEndpointUpdate": true}]);
    let body = json!({"apiVersion": "operator.gardener.cloud/v1alpha1", "kind": "Extension", "metadata": {"name": "x"},
        "spec": {"resources": resources, "deployment": {"extension": {"helm": {"ociRepository": {"ref": "a:b"}}}}}});
    let apply = async || send(&host, "PATCH", path, &[APPLY], body.to_string()).await;
    let refused = |answer: &Answer| {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.code != 200 && text.contains(".spec.resources[0].continuousEndpointUpdate"), "{text}");
    };
    refused(&apply().await);
    deploy_operator(&host, "v1.147.0").await;
    refused(&apply().await);
    deploy_operator(&host, "v1.148.0").await;
    let applied = apply().await;
    assert_eq!(applied.code, 201, "{:?}", applied.body);
    let applied = applied.json();
    assert_eq!(applied["spec"]["resources"][0]["continuousEndpointUpdate"], true);
    let owned = applied["metadata"]["managedFields"].to_string();
    assert!(owned.contains("f:resources"), "{owned}");
}

/// Version of gardener-operator, change of an Extension, and its errors.
#[tokio::test]
async fn extensions_are_judged_by_the_release_of_the_operator() {
    let path = "/clusters/runtime/apis/operator.gardener.cloud/v1alpha1/extensions";
    let one = format!("{path}/x");
    let host = host_of("v1.133.0").await;
    post(&host, "/clusters/runtime/api/v1/namespaces", &json!({"metadata": {"name": "garden"}})).await;
    let extension = json!({"metadata": {"name": "x"}, "spec": {"resources": [{"kind": "Worker", "type": "x"}]}});
    let wrong = json!({"metadata": {"name": "y"}, "spec": {"resources": [{"kind": "Other", "type": "x"}]}});
    let answer = send(&host, "POST", path, &[], wrong.to_string()).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert!(answer.code == 422 && text.contains("spec.resources[0].kind: Unsupported value"), "{text}");
    post(&host, path, &extension).await;
    deploy_operator(&host, "v1.134.0").await;
    let labels = json!({"metadata": {"labels": {"a": "b"}}}).to_string();
    assert_eq!(send(&host, "PATCH", &one, &[MERGE], labels).await.code, 200);
    let resources = json!({"spec": {"resources": []}}).to_string();
    let answer = send(&host, "PATCH", &one, &[MERGE], resources).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert!(
        answer.code == 422 && text.contains("spec.deployment: Required value: deployment must be specified"),
        "{text}"
    );
}

/// A Garden with a maintenance window and a deprecated setting of kube-apiserver.
fn garden_with(begin: &str) -> Value {
    json!({
        "metadata": { "name": "local" },
        "spec": {
            "runtimeCluster": {
                "ingress": { "domains": [{ "name": "ingress.example" }], "controller": { "kind": "nginx" } },
                "networking": { "nodes": ["172.18.0.0/16"], "pods": ["10.1.0.0/16"], "services": ["10.2.0.0/16"] },
                "provider": { "zones": ["0"] },
            },
            "virtualCluster": {
                "dns": { "domains": [{ "name": "virtual.example" }] },
                "gardener": { "clusterIdentity": "local" },
                "kubernetes": { "version": "1.31.1", "kubeAPIServer": { "enableAnonymousAuthentication": false } },
                "maintenance": { "timeWindow": { "begin": begin, "end": "230000+0000" } },
                "networking": { "services": ["100.64.0.0/13"] },
            },
        },
    })
}

/// Version of gardener-operator, begin of the window, status code, and true if it warns.
#[tokio::test]
async fn gardens_are_warned_of_and_their_windows_judged() {
    for (version, begin, code, warns) in [
        ("v1.135.0", "220000+0100", 201, false),
        ("v1.136.0", "220000+0100", 201, true),
        // Rejected by the definition's schema before the webhook is called.
        ("v1.148.0", "220000-0500", 422, false),
        ("v1.149.0", "220000-0500", 201, true),
    ] {
        let host = host_of(version).await;
        let path = "/clusters/runtime/apis/operator.gardener.cloud/v1alpha1/gardens";
        let answer = send(&host, "POST", path, &[], garden_with(begin).to_string()).await;
        assert_eq!(answer.code, code, "{version}: {:?}", answer.body);
        let text = "299 - \"you are setting the spec.virtualCluster.kubernetes.kubeAPIServer.enableAnonymousAuthentication field. ";
        assert_eq!(answer.header("warning").starts_with(text), warns, "{version}: {}", answer.header("warning"));
    }
}
