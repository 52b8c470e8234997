// SPDX-License-Identifier: Apache-2.0
//! Logical clusters, their namespaces, and aggregated groups.

use apimachinery::DynamicObject;
use generic_apiserver::{Builder, FixedClusters, Foundation, Generic};
use host::Host;
use http_body_util::BodyExt;
use process::transport::full;
use process::{Tasks, User};
use serde_json::{Value, json};

use crate::support::foundation;

fn host() -> Host {
    Host::new(foundation(), &Tasks::new())
}

async fn send(host: &Host, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder().method(method).uri(path).body(full(body)).expect("a request");
    let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
    let response = host.transport(user).send(request).await.expect("a response");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(body.to_vec()).expect("text");
    (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

const CLUSTERS: &str = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";

async fn garden(host: &Host) {
    let garden = json!({"metadata": {"name": "garden"}, "spec": {"kubernetesVersion": "1.27.1"}});
    assert_eq!(send(host, "POST", CLUSTERS, garden).await.0, 201);
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}

#[tokio::test]
async fn a_cluster_exists_as_long_as_its_object() {
    let host = host();
    let (code, status) = send(&host, "GET", "/clusters/garden/version", Value::Null).await;
    assert_eq!((code, status["reason"].as_str()), (404, Some("NotFound")));
    garden(&host).await;
    let (code, version) = send(&host, "GET", "/clusters/garden/version", Value::Null).await;
    assert_eq!((code, version["gitVersion"].as_str()), (200, Some("v1.27.1")));
    let (_, list) = send(&host, "GET", "/clusters/garden/api/v1/namespaces", Value::Null).await;
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let path = format!("{CLUSTERS}/garden");
    assert_eq!(send(&host, "DELETE", &path, Value::Null).await.0, 200);
    assert_eq!(send(&host, "GET", "/clusters/garden/version", Value::Null).await.0, 404);
    let (_, list) = send(&host, "GET", "/clusters/*/api/v1/namespaces", Value::Null).await;
    let clusters: Vec<&Value> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["metadata"]["annotations"]["terrarium.dev/cluster"])
        .collect();
    assert_eq!(clusters, ["runtime"; 4]);
}

#[tokio::test]
async fn namespaces_end_with_their_finalizers() {
    let host = host();
    garden(&host).await;
    let namespaces = "/clusters/garden/api/v1/namespaces";
    let path = format!("{namespaces}/n");
    let (code, namespace) = send(&host, "POST", namespaces, json!({"metadata": {"name": "n"}})).await;
    assert_eq!(code, 201, "{namespace}");
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(namespace["status"]["phase"], "Active");
    assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "n"}));
    let (code, namespace) = send(&host, "DELETE", &path, Value::Null).await;
    assert_eq!((code, namespace["status"]["phase"].as_str()), (200, Some("Terminating")));
    let secret = json!({"metadata": {"name": "s"}});
    let (code, status) = send(&host, "POST", &format!("{path}/secrets"), secret).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "secrets \"s\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
    let finalized = json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}});
    let (code, _) = send(&host, "PUT", &format!("{path}/finalize"), finalized).await;
    assert_eq!(code, 200);
    assert_eq!(send(&host, "GET", &path, Value::Null).await.0, 404);
    let (code, status) = send(&host, "DELETE", &format!("{namespaces}/default"), Value::Null).await;
    assert_eq!(code, 403);
    assert_eq!(status["message"], "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

#[tokio::test]
async fn secrets_take_plain_texts_and_never_return_them() {
    let host = host();
    let path = "/clusters/runtime/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}});
    let (code, secret) = send(&host, "POST", path, secret).await;
    assert_eq!(code, 201, "{secret}");
    assert_eq!(secret["data"], json!({"a": "Yg=="}));
    assert_eq!(secret["type"], "Opaque");
    assert_eq!(secret.get("stringData"), None);
}

#[tokio::test]
async fn gardeners_groups_are_unavailable_without_a_server() {
    let host = host();
    garden(&host).await;
    let path = "/clusters/garden/apis/core.gardener.cloud/v1beta1/projects";
    let (code, body) = send(&host, "GET", path, Value::Null).await;
    assert_eq!((code, body), (503, json!("service unavailable")));
    let (code, groups) = send(&host, "GET", "/clusters/garden/apis", Value::Null).await;
    assert_eq!((code, groups["kind"].as_str()), (200, Some("APIGroupList")));
}

#[tokio::test]
async fn an_aggregated_server_answers_behind_the_host() {
    // One log, two writers.
    let common = foundation();
    let foundation = |writer| Foundation { writer, ..common.clone() };
    let host = Host::new(foundation(1), &Tasks::new());
    garden(&host).await;
    let find = |plural| api::catalogue::find("core.gardener.cloud", "v1beta1", plural).expect("a row");
    let namespaces = api::catalogue::find("", "v1", "namespaces").expect("a row");
    let server = Builder::new(foundation(2))
        .clusters(FixedClusters::new(["garden"], "1.27.1"))
        .cluster_annotation("terrarium.dev/cluster")
        .resource::<DynamicObject>(find("quotas"), Generic)
        .known::<DynamicObject>(namespaces)
        .build();
    host.aggregate(Some(server));
    let (_, groups) = send(&host, "GET", "/clusters/garden/apis", Value::Null).await;
    let groups: Vec<&Value> = groups["groups"].as_array().expect("groups").iter().map(|group| &group["name"]).collect();
    assert!(groups.contains(&&json!("apps")) && groups.contains(&&json!("core.gardener.cloud")), "{groups:?}");

    // A namespace of the host is visible to the other server's admission at once, and so is its deletion.
    let quotas = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/n/quotas";
    let quota = json!({"metadata": {"name": "q"}});
    let (code, status) = send(&host, "POST", quotas, quota.clone()).await;
    assert_eq!((code, status["message"].as_str()), (404, Some("namespaces \"n\" not found")));
    assert_eq!(
        send(&host, "POST", "/clusters/garden/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await.0,
        201
    );
    let (code, created) = send(&host, "POST", quotas, quota.clone()).await;
    assert_eq!(code, 201, "{created}");
    let across = "/clusters/*/apis/core.gardener.cloud/v1beta1/quotas";
    let (_, list) = send(&host, "GET", across, Value::Null).await;
    assert_eq!(list["items"][0]["metadata"]["annotations"], json!({"terrarium.dev/cluster": "garden"}));
    assert_eq!(send(&host, "DELETE", "/clusters/garden/api/v1/namespaces/n", Value::Null).await.0, 200);
    let (code, status) = send(&host, "POST", quotas, json!({"metadata": {"name": "r"}})).await;
    assert_eq!((code, status["reason"].as_str()), (403, Some("Forbidden")), "{status}");
    host.aggregate(None);
    assert_eq!(send(&host, "GET", quotas, Value::Null).await.0, 503);
}

#[tokio::test]
async fn events_are_where_their_object_is_in_both_groups() {
    let host = host();
    let core = |namespace: &str| format!("/clusters/runtime/api/v1/namespaces/{namespace}/events");
    let event = |name: &str, about: &str| json!({"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": about}});
    for (namespace, about, code) in
        [("kube-system", "kube-system", 201), ("default", "", 201), ("kube-system", "", 422), ("default", "x", 422)]
    {
        let (answered, status) = send(&host, "POST", &core(namespace), event("e", about)).await;
        assert_eq!(answered, code, "{namespace} {about}");
        if code == 422 {
            let message = format!(
                "Event \"e\" is invalid: involvedObject.namespace: Invalid value: {about:?}: does not match event.namespace"
            );
            assert_eq!(status["message"], message);
        }
    }
    let path = "/clusters/runtime/apis/events.k8s.io/v1/namespaces/kube-system/events/e";
    let (code, event) = send(&host, "GET", path, Value::Null).await;
    assert_eq!((code, &event["regarding"]["namespace"]), (200, &json!("kube-system")));
}

#[tokio::test]
async fn every_cluster_answers_reviews() {
    let host = host();
    let path = "/clusters/runtime/apis/authentication.k8s.io/v1beta1/selfsubjectreviews";
    let (code, review) = send(&host, "POST", path, json!({})).await;
    assert_eq!((code, &review["status"]["userInfo"]["username"]), (201, &json!("admin")));
    let (_, groups) = send(&host, "GET", "/clusters/runtime/apis", Value::Null).await;
    let names: Vec<&str> =
        groups["groups"].as_array().expect("groups").iter().filter_map(|group| group["name"].as_str()).collect();
    assert_eq!(&names[..4], ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"]);
}

#[tokio::test]
async fn anonymous_users_may_read_version_and_health_only() {
    let host = host();
    garden(&host).await;
    let nobody = generic_apiserver::authentication::anonymous();
    for (path, expected) in [
        ("version", 200),
        ("readyz", 200),
        ("api", 403),
        ("api/v1/namespaces", 403),
        ("apis/core.gardener.cloud/v1beta1/projects", 503),
    ] {
        let request = http::Request::get(format!("/clusters/garden/{path}")).body(full("")).expect("a request");
        let answer = host.transport(nobody.clone()).send(request).await.expect("a response");
        assert_eq!(answer.status(), expected, "{path}");
    }
}

/// A user without read permission gets the same response for existing and missing clusters; a user with permission gets
/// a 404.
#[tokio::test]
async fn existence_of_clusters_is_hidden_from_unauthorized_users() {
    let host = host();
    garden(&host).await;
    let cluster = json!({"metadata": {"name": "shoot--p--s"}, "spec": {"kubernetesVersion": "1.30.1"}});
    let (code, _) = send(&host, "POST", "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters", cluster).await;
    assert_eq!(code, 201);
    let nobody = host.transport(generic_apiserver::authentication::anonymous());
    for path in [
        "version",
        "livez",
        "readyz?verbose",
        "healthz/ping",
        "api",
        "apis",
        "api/v1",
        "openapi/v2",
        "metrics",
        "x",
        "api/v1/namespaces",
        "api/v1/namespaces/default/secrets/x",
        "api/v1/nothing",
        "apis/x.example.com/v1/y",
    ] {
        let ask = async |cluster: &str| {
            let request = http::Request::get(format!("/clusters/{cluster}/{path}")).body(full("")).expect("a request");
            let (parts, body) = nobody.send(request).await.expect("a response").into_parts();
            let body = http_body_util::BodyExt::collect(body).await.expect("a body").to_bytes();
            (parts.status, parts.headers, body)
        };
        assert_eq!(ask("shoot--p--s").await, ask("shoot--p--other").await, "{path}");
    }
    assert_eq!(send(&host, "GET", "/clusters/shoot--p--s/version", Value::Null).await.0, 200);
    assert_eq!(send(&host, "GET", "/clusters/shoot--p--other/version", Value::Null).await.0, 404);
}
