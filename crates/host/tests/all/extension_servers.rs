// SPDX-License-Identifier: Apache-2.0
//! APIServices of users that refer to an extension API server.

use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use generic_apiserver::authentication::{ClientAuthority, FixedAuthenticator};
use generic_apiserver::http as server_http;
use generic_apiserver::webhooks::{Dialer, Names};
use host::{Host, Parts};
use process::https::Credentials;
use process::pki::{Authority, Key, Leaf, Validity};
use process::transport::{ResponseFuture, full};
use process::{Request, Response, Tasks, User};
use serde_json::{Value, json};

use crate::support::{Answer, foundation, get, send};

const CLUSTER: &str = "/clusters/runtime";
const API_SERVICES: &str = "/clusters/runtime/apis/apiregistration.k8s.io/v1/apiservices";
const SERVICES: &str = "/clusters/runtime/api/v1/namespaces/default/services";
const ENDPOINTS: &str = "/clusters/runtime/api/v1/namespaces/default/endpoints";
const NAME: &str = "v1.toys.example.com";
const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn authority(name: &str) -> Authority {
    let now = Clock::wall().now() - chrono::TimeDelta::hours(1);
    let validity = Validity::starting(now, chrono::TimeDelta::days(1));
    Authority::new(name, Key::transport().expect("a key"), validity).expect("an authority")
}

fn issue(authority: &Authority, leaf: Leaf<'_>) -> process::pki::Pair {
    let now = Clock::wall().now() - chrono::TimeDelta::hours(1);
    let validity = Validity::starting(now, chrono::TimeDelta::days(1));
    authority.issue(leaf, &Key::transport().expect("a key"), validity).expect("a certificate")
}

/// Response of the user's server: its resources, or the received request.
fn echo(request: Request) -> ResponseFuture {
    let user = request.extensions().get::<User>().cloned().unwrap_or_default();
    let body = if request.uri().path() == "/apis/toys.example.com/v1" {
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "toys.example.com/v1",
            "resources": [{
                "name": "toys", "singularName": "toy", "namespaced": true, "kind": "Toy", "verbs": ["get", "list"],
            }],
        })
    } else {
        json!({
            "method": request.method().as_str(),
            "path": request.uri().path_and_query().map(ToString::to_string),
            "user": &*user.name,
            "authorization": request.headers().contains_key("authorization"),
        })
    };
    Box::pin(async move { Ok(Response::new(full(body.to_string()))) })
}

/// A host, and a server of a user with Service `toys`, its endpoint and its authority in base64.
struct World {
    host: Host,
    bundle: String,
    _tasks: Tasks,
    serving: server_http::Serving,
}

impl World {
    async fn new() -> Self {
        let tasks = Tasks::new();
        let (own, proxies) = (authority("toys"), authority("front-proxy"));
        let front_proxies = ClientAuthority::from_pem(&proxies.pair().certificate).expect("an authority");
        let authenticator = FixedAuthenticator {
            front_proxies: Some((front_proxies, vec!["front-proxy-client".to_owned()])),
            ..FixedAuthenticator::default()
        };
        let certificate = issue(&own, Leaf::Server(&["toys.default.svc"]));
        let options = server_http::Options::new(certificate, authenticator, Clock::wall(), Clock::wall());
        let serving = server_http::serve(&tasks, echo, options).await.expect("a port");

        let client = issue(&proxies, Leaf::Client("front-proxy-client", &[]));
        let names: Names = Arc::new(|_, _| None);
        let dialer = Dialer::new("kube-aggregator", Credentials::Certificate(client), names);
        let parts = Parts { extensions: Some(Arc::new(dialer)), ..Parts::default() };
        let foundation = generic_apiserver::Foundation { wall: Clock::wall(), ..foundation() };
        let host = Host::with(foundation, &tasks, parts);
        let bundle = apimachinery::meta::ByteString(own.pair().certificate.clone().into_bytes()).to_base64();
        let world = Self { host, bundle, _tasks: tasks, serving };
        let port = world.serving.address().port();
        let service = json!({"metadata": {"name": "toys"}, "spec": {"ports": [{"name": "https", "port": 443}]}});
        world.write("POST", SERVICES, &service, 201).await;
        let subset = json!({"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "https", "port": port}]});
        world.write("POST", ENDPOINTS, &json!({"metadata": {"name": "toys"}, "subsets": [subset]}), 201).await;
        world
    }

    async fn write(&self, method: &str, path: &str, body: &Value, code: u16) {
        let type_ = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let answer = send(&self.host, method, path, &[("content-type", type_)], body.to_string()).await;
        assert_eq!(answer.code, code, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
    }

    async fn register(&self, change: impl FnOnce(&mut Value)) {
        let mut object = json!({ "metadata": { "name": NAME }, "spec": {
            "group": "toys.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "service": { "name": "toys", "namespace": "default" }, "caBundle": self.bundle,
        } });
        change(&mut object["spec"]);
        self.write("POST", API_SERVICES, &object, 201).await;
    }

    async fn get(&self, path: &str) -> Answer {
        get(&self.host, &format!("{CLUSTER}{path}")).await
    }

    /// Returns condition `Available` once it has the expected reason.
    async fn available(&self, reason: &str) -> Value {
        let mut found = Value::Null;
        for _ in 0..6_000 {
            let object = get(&self.host, &format!("{API_SERVICES}/{NAME}")).await.json();
            found = object["status"]["conditions"][0].clone();
            if found["reason"] == reason {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not {reason} within a minute: {found}");
    }
}

#[tokio::test]
async fn a_request_reaches_an_extension_server_with_its_user() {
    let world = World::new().await;
    assert_eq!(world.get("/apis/toys.example.com/v1/toys").await.code, 404);
    world.register(|_| {}).await;
    assert_eq!(world.available("Passed").await["status"], "True");

    let path = "/apis/toys.example.com/v1/namespaces/default/toys/a?limit=3";
    let headers = [("authorization", "Bearer x"), ("x-remote-user", "liar")];
    let answer = send(&world.host, "DELETE", &format!("{CLUSTER}{path}"), &headers, "").await;
    let expected = json!({"method": "DELETE", "path": path, "user": "admin", "authorization": false});
    assert_eq!((answer.code, answer.json()), (200, expected));
    // In this cluster and no other.
    assert_eq!(get(&world.host, "/clusters/garden/apis/toys.example.com/v1").await.code, 404);

    let group = world.get("/apis/toys.example.com").await.json();
    assert_eq!((&group["kind"], &group["preferredVersion"]["version"]), (&json!("APIGroup"), &json!("v1")));
    let classic = world.get("/apis").await.json();
    let names = classic["groups"].as_array().expect("groups");
    assert!(names.iter().any(|group| group["name"] == "toys.example.com"));
    let found = world.discovered().await;
    assert_eq!(found["freshness"], "Current");
    assert_eq!(found["resources"][0]["responseKind"]["kind"], "Toy");

    world.write("DELETE", &format!("{API_SERVICES}/{NAME}"), &json!({}), 200).await;
    assert_eq!(world.get("/apis/toys.example.com/v1/toys").await.code, 404);
    assert_eq!(world.get("/apis/toys.example.com").await.code, 404);
}

impl World {
    /// Version of the group in aggregated discovery.
    async fn discovered(&self) -> Value {
        let list = send(&self.host, "GET", &format!("{CLUSTER}/apis"), &[("accept", V2)], "").await.json();
        let items = list["items"].as_array().expect("items").iter();
        let mut found = items.filter(|item| item["metadata"]["name"] == "toys.example.com");
        found.next().map(|item| item["versions"][0].clone()).unwrap_or_default()
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_unavailable_and_stale() {
    let world = World::new().await;
    world.register(|_| {}).await;
    world.available("Passed").await;
    let toys = "/apis/toys.example.com/v1/toys";
    let unavailable = |answer: Answer, text: &str| {
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.code == 503 && body.contains(text), "{}: {body}", answer.code);
    };

    world.write("PATCH", &format!("{ENDPOINTS}/toys"), &json!({"subsets": []}), 200).await;
    let condition = world.available("MissingEndpoints").await;
    let message = r#"endpoints for service/toys in "default" have no addresses with port name "https""#;
    assert_eq!((&condition["status"], &condition["message"]), (&json!("False"), &json!(message)));
    unavailable(world.get(toys).await, "service unavailable");
    assert_eq!(world.discovered().await["freshness"], "Stale");

    world.write("DELETE", &format!("{ENDPOINTS}/toys"), &json!({}), 200).await;
    world.available("EndpointsNotFound").await;
    world.write("PATCH", &format!("{SERVICES}/toys"), &json!({"spec": {"ports": [{"port": 8443}]}}), 200).await;
    assert_eq!(
        world.available("ServicePortError").await["message"],
        r#"service/toys in "default" is not listening on port 443"#
    );
    world.write("DELETE", &format!("{SERVICES}/toys"), &json!({}), 200).await;
    world.available("ServiceNotFound").await;
    unavailable(world.get(toys).await, "service unavailable");
}

#[tokio::test]
async fn another_authoritys_certificate_is_refused_unless_ignored() {
    let world = World::new().await;
    let other = apimachinery::meta::ByteString(authority("other").pair().certificate.clone().into_bytes()).to_base64();
    world.register(|spec| spec["caBundle"] = json!(other)).await;
    let condition = world.available("FailedDiscoveryCheck").await;
    let message = condition["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("failing or missing response from https://127.0.0.1:"), "{message}");
    let reason = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert!(message.ends_with(&format!(": {reason}")), "{message}");
    let answer = world.get("/apis/toys.example.com/v1/toys").await;
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!((answer.code, body.trim_end()), (503, &*format!("error trying to reach service: {reason}")));
    let insecure = json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}});
    world.write("PATCH", &format!("{API_SERVICES}/{NAME}"), &insecure, 200).await;
    world.available("Passed").await;
    assert_eq!(world.get("/apis/toys.example.com/v1/toys").await.code, 200);
}

#[tokio::test]
async fn groups_of_kubernetes_and_gardener_are_not_handed_on() {
    let world = World::new().await;
    for group in ["apps", "core.gardener.cloud"] {
        let object = json!({ "metadata": { "name": format!("v1.{group}") }, "spec": {
            "group": group, "version": "v1", "service": { "name": "toys", "namespace": "default" },
            "insecureSkipTLSVerify": true, "groupPriorityMinimum": 1, "versionPriority": 1,
        } });
        world.write("POST", API_SERVICES, &object, 201).await;
    }
    assert_eq!(world.get("/apis/apps/v1/deployments").await.json()["kind"], "DeploymentList");
    assert_eq!(world.get("/apis/core.gardener.cloud/v1/shoots").await.code, 404);
}
