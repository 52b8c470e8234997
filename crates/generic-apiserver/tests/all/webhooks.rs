// SPDX-License-Identifier: Apache-2.0
//! Webhooks in the chain of a write.

use std::sync::Arc;

use apimachinery::DynamicObject;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::ByteString;
use apimachinery::schema::Node;
use bytes::Bytes;
use chrono::TimeDelta;
use futures::future::BoxFuture;
use generic_apiserver::webhooks::{ClientConfig, Endpoint, NoEndpoint, WebhookCaller};
use generic_apiserver::{Builder, Generic};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{World, row};

/// Caller that records reviews, and answers them by the path of the URL.
#[derive(Debug, Default)]
struct Oracle(Mutex<Vec<Value>>);

impl WebhookCaller for Oracle {
    fn call<'a>(
        &'a self,
        _: &'a str,
        _: &'a ClientConfig,
        endpoint: Option<&'a Result<Endpoint, NoEndpoint>>,
        url: &'a str,
        review: Bytes,
        _: TimeDelta,
    ) -> BoxFuture<'a, Result<Bytes, String>> {
        let review: Value = serde_json::from_slice(&review).expect("a review");
        let mut request = review["request"].clone();
        if let Some(endpoint) = endpoint {
            request["endpoint"] = json!(match endpoint {
                Ok(Endpoint { host, port, pod }) => format!("{host} {port} {}", pod.clone().unwrap_or_default().1),
                Err(reason) => reason.to_string(),
            });
        }
        let patch = |patch: Value| ByteString(patch.to_string().into_bytes()).to_base64();
        let uid = &request["uid"];
        let response = if url.contains("/deny") {
            let status = json!({ "message": "no gizmos", "code": 403, "reason": "Forbidden" });
            json!({ "uid": uid, "allowed": false, "status": status, "warnings": ["denied"] })
        } else if url.contains("/label") {
            let labels = json!([{ "op": "add", "path": "/metadata/labels", "value": { "by": "webhook" } }]);
            json!({
                "uid": uid, "allowed": true, "patch": patch(labels), "patchType": "JSONPatch", "warnings": ["labelled"],
            })
        } else if url.contains("/rename") {
            let name = json!([{ "op": "replace", "path": "/metadata/name", "value": "x" }]);
            json!({ "uid": uid, "allowed": true, "patch": patch(name), "patchType": "JSONPatch" })
        } else {
            json!({ "uid": uid, "allowed": true })
        };
        self.0.lock().push(request);
        let answer = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response });
        let refused = url.contains("/down").then(|| format!("Post {url:?}: connection refused"));
        Box::pin(async move {
            match refused {
                Some(refused) => Err(refused),
                None => Ok(Bytes::from(answer.to_string())),
            }
        })
    }
}

fn configurations(kind: &'static str, plural: &'static str) -> ResourceInfo {
    ResourceInfo { schema: || Node::Raw, namespaced: false, ..row("admissionregistration.k8s.io", "v1", kind, plural) }
}

fn namespaced(group: &'static str, kind: &'static str, plural: &'static str) -> ResourceInfo {
    ResourceInfo { namespaced: true, schema: || Node::Raw, ..row(group, "v1", kind, plural) }
}

async fn world() -> (World, Arc<Oracle>) {
    let oracle = Arc::new(Oracle::default());
    let caller = oracle.clone();
    let world = World::with(move |builder: Builder| {
        builder
            .resource::<DynamicObject>(&configurations("ValidatingWebhookConfiguration", VALIDATING), Generic)
            .resource::<DynamicObject>(&configurations("MutatingWebhookConfiguration", MUTATING), Generic)
            .resource::<DynamicObject>(
                &ResourceInfo { namespaced: true, ..row("example.com", "v1", "Gizmo", "gizmos") },
                Generic,
            )
            .resource::<DynamicObject>(&namespaced("", "Service", "services"), Generic)
            .resource::<DynamicObject>(&namespaced("", "Endpoints", "endpoints"), Generic)
            .resource::<DynamicObject>(&namespaced("discovery.k8s.io", "EndpointSlice", "endpointslices"), Generic)
            .webhooks(caller)
    })
    .await;
    (world, oracle)
}

const VALIDATING: &str = "validatingwebhookconfigurations";
const MUTATING: &str = "mutatingwebhookconfigurations";

/// Configures a webhook for gizmos that is named like its path.
async fn configure(world: &World, plural: &str, path: &str, more: Value) {
    let mut webhook = json!({
        "name": format!("{path}.example.com"), "clientConfig": { "url": format!("https://hooks.example.com/{path}") },
        "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5,
        "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] }],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        webhook[key] = value.clone();
    }
    let object = json!({ "metadata": { "name": path }, "webhooks": [webhook] });
    let base = format!("/clusters/a/apis/admissionregistration.k8s.io/v1/{plural}");
    world.send("POST", &base, &object).await.expect_code(201);
}

const GIZMOS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/gizmos";

fn gizmo() -> Value {
    json!({ "metadata": { "name": "g" } })
}

#[tokio::test]
async fn a_denial_names_its_webhook_and_reviews_are_complete() {
    let (world, oracle) = world().await;
    configure(&world, VALIDATING, "deny", json!({})).await;
    let answer = world.send("POST", GIZMOS, &gizmo()).await;
    assert_eq!(
        (answer.code, answer.json()["message"].as_str()),
        (403, Some("admission webhook \"deny.example.com\" denied the request: no gizmos"))
    );
    let asked = oracle.0.lock().clone();
    assert_eq!(asked.len(), 1, "configurations are not reviewed");
    let request = &asked[0];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["kind"], json!({ "group": "example.com", "version": "v1", "kind": "Gizmo" }));
    assert_eq!(request["resource"], json!({ "group": "example.com", "version": "v1", "resource": "gizmos" }));
    assert_eq!((&request["name"], &request["namespace"]), (&json!("g"), &json!("n")));
    assert_eq!(request["object"]["metadata"]["name"], "g");
    assert_eq!((&request["oldObject"], &request["dryRun"]), (&Value::Null, &json!(false)));
    assert_eq!(request["options"]["kind"], "CreateOptions");
    assert!(request["userInfo"]["username"].is_string());
}

#[tokio::test]
async fn a_webhook_may_change_the_object_but_not_its_name() {
    let (world, _) = world().await;
    configure(&world, MUTATING, "label", json!({})).await;
    let created = world.send("POST", GIZMOS, &gizmo()).await;
    assert_eq!(created.headers.get("warning").and_then(|text| text.to_str().ok()), Some("299 - \"labelled\""));
    assert_eq!(created.expect_code(201)["metadata"]["labels"], json!({ "by": "webhook" }));
    configure(&world, MUTATING, "rename", json!({})).await;
    let answer = world.send("POST", GIZMOS, &json!({ "metadata": { "name": "h" } })).await;
    assert_eq!(answer.code, 500);
    assert!(answer.json()["message"].as_str().is_some_and(|text| text.ends_with("it renames the object")));
}

#[tokio::test]
async fn webhooks_warn_also_about_refused_requests() {
    let (world, _) = world().await;
    world.send("POST", GIZMOS, &gizmo()).await.expect_code(201);
    configure(&world, MUTATING, "label", json!({})).await;
    let told = ["299 - \"labelled\"", "299 - \"denied\""];
    let h = json!({ "metadata": { "name": "h" } });
    configure(&world, VALIDATING, "deny", json!({})).await;
    let refused = world.send("POST", GIZMOS, &h).await;
    assert_eq!((refused.code, &refused.warnings()[..]), (403, &told[..]));
    let refused = world.send("DELETE", &format!("{GIZMOS}/g"), &Value::Null).await;
    assert_eq!((refused.code, &refused.warnings()[..]), (403, &told[..]));
    let refused = world.send("DELETE", GIZMOS, &Value::Null).await;
    assert_eq!((refused.code, &refused.warnings()[..]), (403, &told[..]));
    configure(&world, MUTATING, "deny-at-once", json!({})).await;
    let refused = world.send("POST", GIZMOS, &h).await;
    // Mutating webhooks are called in the order of their configurations' names.
    assert_eq!((refused.code, &refused.warnings()[..]), (403, &told[1..]));
}

#[tokio::test]
async fn deletions_are_reviewed_with_the_stored_object() {
    let (world, oracle) = world().await;
    world.send("POST", GIZMOS, &gizmo()).await.expect_code(201);
    configure(&world, VALIDATING, "allow", json!({})).await;
    world.send("DELETE", &format!("{GIZMOS}/g"), &Value::Null).await.expect_code(200);
    let asked = oracle.0.lock().clone();
    assert_eq!((&asked[0]["operation"], &asked[0]["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!(asked[0]["oldObject"]["metadata"]["name"], "g");
}

#[tokio::test]
async fn unreachable_webhooks_fail_or_are_ignored() {
    for (policy, code, message) in [
        ("Ignore", 201, None),
        (
            "Fail",
            500,
            Some(
                "Internal error occurred: failed calling webhook \"down.example.com\": failed to call webhook: Post \
                 \"https://hooks.example.com/down?timeout=5s\": connection refused",
            ),
        ),
    ] {
        let (world, _) = world().await;
        configure(&world, VALIDATING, "down", json!({ "failurePolicy": policy })).await;
        let answer = world.send("POST", GIZMOS, &gizmo()).await;
        assert_eq!((answer.code, answer.json()["message"].as_str()), (code, message), "{policy}");
    }
}

#[tokio::test]
async fn dry_runs_need_webhooks_without_effects() {
    let (world, oracle) = world().await;
    configure(&world, VALIDATING, "allow", json!({ "sideEffects": "Some" })).await;
    let answer = world.send("POST", &format!("{GIZMOS}?dryRun=All"), &gizmo()).await;
    assert_eq!(
        (answer.code, answer.json()["message"].as_str()),
        (400, Some("admission webhook \"allow.example.com\" does not support dry run"))
    );
    configure(&world, VALIDATING, "also", json!({})).await;
    world
        .send(
            "DELETE",
            "/clusters/a/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/allow",
            &Value::Null,
        )
        .await
        .expect_code(200);
    world.send("POST", &format!("{GIZMOS}?dryRun=All"), &gizmo()).await.expect_code(201);
    assert_eq!(oracle.0.lock()[0]["dryRun"], true);
}

#[tokio::test]
async fn namespaces_are_chosen_by_their_labels() {
    let (world, oracle) = world().await;
    let selector = json!({ "namespaceSelector": { "matchLabels": { "judged": "yes" } } });
    configure(&world, VALIDATING, "deny", selector).await;
    world.send("POST", GIZMOS, &gizmo()).await.expect_code(201);
    assert!(oracle.0.lock().is_empty());
}

/// Endpoints of a webhook's Service: name, spec, port of the webhook, expected result.
const SERVICES: [(&str, &str, u16, &str); 7] = [
    ("sliced", r#"{"ports":[{"name":"a","port":443},{"name":"b","port":8443}]}"#, 443, "10.0.0.2 9443 hook-1"),
    ("sliced", r#"{"ports":[{"name":"a","port":443},{"name":"b","port":8443}]}"#, 8443, "10.0.0.2 9444 hook-1"),
    ("sliced", r#"{"ports":[{"port":443}]}"#, 80, "no service port 80 found for service \"sliced\""),
    ("plain", r#"{"ports":[{"port":443,"targetPort":9443}]}"#, 443, "192.0.2.7 9443 "),
    ("named", r#"{"type":"ExternalName","externalName":"hooks.example.com"}"#, 8443, "hooks.example.com 8443 "),
    (
        "headless",
        r#"{"clusterIP":"None","ports":[{"port":443}]}"#,
        443,
        "cannot route to service with ClusterIP \"None\"",
    ),
    ("alone", r#"{"ports":[{"port":443}]}"#, 443, "no endpoints available for service \"alone\""),
];

#[tokio::test]
async fn a_service_leads_to_its_endpoints() {
    for (name, spec, port, expected) in SERVICES {
        let (world, oracle) = world().await;
        let core = "/clusters/a/api/v1/namespaces/n";
        let spec: Value = serde_json::from_str(spec).expect("JSON");
        let service = json!({ "metadata": { "name": name }, "spec": spec });
        world.send("POST", &format!("{core}/services"), &service).await.expect_code(201);
        let slice = json!({
            "metadata": { "name": "x", "labels": { "kubernetes.io/service-name": "sliced" } },
            "endpoints": [
                { "addresses": ["10.0.0.1"], "conditions": { "ready": false } },
                { "addresses": ["10.0.0.2"], "targetRef": { "kind": "Pod", "namespace": "n", "name": "hook-1" } },
            ],
            "ports": [{ "name": "a", "port": 9443 }, { "name": "b", "port": 9444 }],
        });
        let slices = "/clusters/a/apis/discovery.k8s.io/v1/namespaces/n/endpointslices";
        world.send("POST", slices, &slice).await.expect_code(201);
        let subset = json!({ "addresses": [{ "ip": "192.0.2.7" }], "ports": [{ "port": 9443 }] });
        let endpoints = json!({ "metadata": { "name": "plain" }, "subsets": [subset] });
        world.send("POST", &format!("{core}/endpoints"), &endpoints).await.expect_code(201);
        let reference = json!({ "namespace": "n", "name": name, "path": "/allow", "port": port });
        configure(&world, VALIDATING, "allow", json!({ "clientConfig": { "service": reference } })).await;
        world.send("POST", GIZMOS, &gizmo()).await.expect_code(201);
        assert_eq!(oracle.0.lock()[0]["endpoint"], expected, "{name}:{port}");
    }
    let (world, oracle) = world().await;
    let reference = json!({ "namespace": "n", "name": "gone", "path": "/allow" });
    configure(&world, VALIDATING, "allow", json!({ "clientConfig": { "service": reference } })).await;
    world.send("POST", GIZMOS, &gizmo()).await.expect_code(201);
    assert_eq!(oracle.0.lock()[0]["endpoint"], "service \"gone\" not found");
}
