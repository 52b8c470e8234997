// SPDX-License-Identifier: Apache-2.0
//! Responses other than stored resources: discovery, reviews, views, hooks of subresources.

use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::Node;
use apimachinery::{DynamicObject, Status};
use futures::future::BoxFuture;
use generic_apiserver::admission::Reads;
use generic_apiserver::authentication::FixedAuthenticator;
use generic_apiserver::authorization::Question;
use generic_apiserver::discovery::{ExtensionGroup, ExtensionVersion, merge};
use generic_apiserver::http::{Health, Metrics};
use generic_apiserver::subresource::{self, Facts, Subresource, SubresourceRequest};
use generic_apiserver::{Authorizer, Builder, Generic, views};
use http::HeaderMap;
use http_body_util::BodyExt;
use process::{Response, User};
use serde_json::{Value, json};

use crate::support::{World, row};

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn core_events() -> ResourceInfo {
    ResourceInfo {
        namespaced: true,
        field_selectors: &[("involvedObject.name", ".involvedObject.name"), ("reason", ".reason")],
        ..row("", "v1", "Event", "events")
    }
}

fn viewed_events() -> ResourceInfo {
    ResourceInfo { namespaced: true, ..row("events.k8s.io", "v1", "Event", "events") }
}

const OLD_GIZMOS: views::Renamed = views::Renamed {
    fields: &[("settings", "spec")],
    inner: &[("settings", &[("color", "paint")])],
    fixed: &[("type", "gizmo")],
    required: &["type"],
    converted: None,
};

fn old_gizmos() -> ResourceInfo {
    ResourceInfo { namespaced: true, ..row("example.com", "v1beta1", "Gizmo", "gizmos") }
}

/// Registers all resources that are served without being stored.
fn rich(builder: Builder) -> Builder {
    let authentication = ["v1", "v1beta1"]
        .map(|version| row("authentication.k8s.io", version, "SelfSubjectReview", "selfsubjectreviews"));
    let local = ResourceInfo {
        namespaced: true,
        ..row("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews")
    };
    let others = [
        row("authentication.k8s.io", "v1", "TokenReview", "tokenreviews"),
        row("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
        row("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
        row("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews"),
        local,
    ];
    let robot = User { name: "robot".into(), groups: vec!["machines".into()], component: None };
    let authenticator =
        FixedAuthenticator { tokens: [("secret".to_owned(), robot)].into(), ..FixedAuthenticator::default() };
    let gizmos = ResourceInfo {
        subresources: &["polish", "paint"],
        namespaced: true,
        ..row("example.com", "v1", "Gizmo", "gizmos")
    };
    authentication
        .iter()
        .chain(&others)
        .fold(builder, Builder::review)
        .resource::<DynamicObject>(&core_events(), Generic)
        .view(&viewed_events(), &core_events(), views::EVENTS)
        .resource::<DynamicObject>(&gizmos, Generic)
        .view(&old_gizmos(), &gizmos, OLD_GIZMOS)
        .subresource(&gizmos, "polish", Polish)
        .authenticator(Arc::new(authenticator))
        .health(Health::default().check("log", || true))
        .metrics(Metrics::default())
}

struct Polish;

impl Subresource for Polish {
    fn facts(&self) -> Facts {
        Facts { group: "shine.example.com", version: "v1", kind: "Polish", verbs: &["create"], schema: || Node::Raw }
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, _: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        Box::pin(async move {
            if request.body["with"] == "sand" {
                return Err(Status::bad_request("sand scratches"));
            }
            let shown = json!({
                "object": request.object["metadata"]["name"], "namespace": request.namespace, "with": request.body["with"],
                "query": request.query, "user": &*request.context.user.name,
            });
            Ok(subresource::object(201, &shown))
        })
    }
}

async fn body(response: Response) -> (u16, HeaderMap, Value) {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    (parts.status.as_u16(), parts.headers, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn discovery_is_one_document_on_request() {
    let world = World::with(rich).await;
    let answer = world.raw("GET", "/clusters/a/apis", &[("accept", V2)], "").await;
    let header =
        |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    assert_eq!(header("content-type"), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_eq!((header("vary"), header("cache-control")), ("Accept".to_owned(), "public".to_owned()));
    let etag = header("etag");
    let list = answer.expect_code(200);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
    );
    let names: Vec<&Value> =
        list["items"].as_array().expect("items").iter().map(|item| &item["metadata"]["name"]).collect();
    let expected =
        ["events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "custom.example.com", "example.com"];
    assert_eq!(names, expected);
    let versions = &list["items"][1]["versions"];
    assert_eq!((&versions[0]["version"], &versions[1]["version"]), (&json!("v1"), &json!("v1beta1")));
    assert_eq!(versions[0]["resources"][0]["verbs"], json!(["create"]));
    assert_eq!(
        list["items"][4]["versions"][0]["resources"],
        json!([
            {
                "resource": "gizmos", "singularResource": "", "scope": "Namespaced",
                "responseKind": {"group": "example.com", "version": "v1", "kind": "Gizmo"},
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "subresources": [{
                    "subresource": "polish", "verbs": ["create"],
                    "responseKind": {"group": "shine.example.com", "version": "v1", "kind": "Polish"},
                }],
            },
            {
                "resource": "widgets", "singularResource": "widget", "scope": "Namespaced",
                "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "shortNames": ["wd"], "categories": ["all"],
                "subresources": [
                    {
                        "subresource": "scale", "verbs": ["get", "patch", "update"],
                        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                    },
                    {
                        "subresource": "status", "verbs": ["get", "patch", "update"],
                        "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
                    },
                ],
            },
        ])
    );
    let known = world.raw("GET", "/clusters/a/apis/", &[("accept", V2), ("if-none-match", &etag)], "").await;
    assert_eq!((known.code, known.text.as_str()), (304, ""));
    let other = world.raw("GET", "/clusters/a/apis/", &[("accept", V2), ("if-none-match", "\"x\"")], "").await;
    assert_eq!(other.code, 200);
    let beta = V2.replace("v=v2", "v=v2beta1");
    let core = world.raw("GET", "/clusters/a/api", &[("accept", &beta)], "").await.expect_code(200);
    assert_eq!(core["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    assert_eq!(core["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(core["items"][0]["metadata"], json!({"creationTimestamp": null}));
}

#[tokio::test]
async fn lists_of_groups_of_several_servers_become_one() {
    let (front, behind) = (World::with(rich).await, World::new().await);
    for accept in [V2, "application/json"] {
        let ask = |world: &World| {
            let server = world.server.clone();
            async move {
                let request = http::Request::get("/clusters/a/apis").header("accept", accept);
                server.call(request.body(process::transport::full("")).expect("a request")).await.expect("an answer")
            }
        };
        let mut headers = HeaderMap::new();
        headers.insert("accept", accept.parse().expect("a value"));
        let extension = |name: &str, resources: Option<Value>| {
            let versions = vec![ExtensionVersion { name: "v1".to_owned(), resources }];
            ExtensionGroup { name: name.to_owned(), versions }
        };
        let list = json!({"resources": [
            {"name": "toys", "singularName": "toy", "namespaced": true, "kind": "Toy", "verbs": ["get"], "shortNames": ["ty"]},
            {"name": "toys/status", "namespaced": true, "kind": "Toy", "verbs": ["update"]},
            {"name": "lost/status", "kind": "Lost", "verbs": ["get"]},
            {"kind": "Nameless"},
        ]});
        let extensions =
            [extension("apps", None), extension("example.com", None), extension("toys.example.com", Some(list))];
        let merged = merge(&headers, vec![ask(&front).await, ask(&behind).await], &extensions).await;
        let (code, answered, list) = body(merged).await;
        assert_eq!(code, 200);
        let groups = list["items"].as_array().or_else(|| list["groups"].as_array()).expect("groups");
        let name = |group: &Value| {
            group["name"].as_str().or_else(|| group["metadata"]["name"].as_str()).map(ToOwned::to_owned)
        };
        let names: Vec<String> = groups.iter().filter_map(name).collect();
        let expected = [
            "apps",
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "custom.example.com",
            "example.com",
            "toys.example.com",
        ];
        assert_eq!(names, expected);
        if accept == V2 {
            let kind = json!({"group": "toys.example.com", "version": "v1", "kind": "Toy"});
            let toys = json!({
                "resource": "toys", "responseKind": kind, "scope": "Namespaced", "singularResource": "toy",
                "verbs": ["get"], "shortNames": ["ty"],
                "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["update"]}],
            });
            assert_eq!(groups[6]["versions"][0]["resources"], json!([toys]));
            assert_eq!(groups[0]["versions"], json!([{"version": "v1", "freshness": "Stale", "resources": []}]));
            headers.insert("if-none-match", answered["etag"].clone());
            let again = merge(&headers, vec![ask(&front).await, ask(&behind).await], &extensions).await;
            assert_eq!(again.status(), 304);
        }
    }
}

#[tokio::test]
async fn reviews_return_the_identity_of_a_user() {
    let world = World::with(rich).await;
    for version in ["v1", "v1beta1"] {
        let path = format!("/clusters/a/apis/authentication.k8s.io/{version}/selfsubjectreviews");
        let review = world.send("POST", &path, &json!({})).await.expect_code(201);
        assert_eq!(review["apiVersion"], format!("authentication.k8s.io/{version}"));
        assert_eq!(review["status"], json!({"userInfo": {"username": "admin", "groups": ["system:masters"]}}));
    }
    let path = "/clusters/a/apis/authentication.k8s.io/v1/tokenreviews";
    let review = world.send("POST", path, &json!({"spec": {"token": "secret"}})).await.expect_code(201);
    let expected =
        json!({"authenticated": true, "user": {"username": "robot", "groups": ["machines", "system:authenticated"]}});
    assert_eq!(review["status"], expected);
    let review = world.send("POST", path, &json!({"spec": {"token": "guess"}})).await.expect_code(201);
    assert_eq!(review["status"], json!({"user": {}, "error": "invalid bearer token"}));
    world.get(path).await.expect_failure(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    );
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    world.raw("POST", path, &table, "{}").await.expect_failure(
        406,
        "NotAcceptable",
        "the resource tokenreviews.authentication.k8s.io does not support being converted to a Table",
    );
}

/// Allows reading only.
#[derive(Debug)]
struct ReadOnly;

impl Authorizer for ReadOnly {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        let review = question.group.ends_with(".k8s.io") || question.resource == "namespaces";
        let read = matches!(question.verb, "get" | "list" | "watch");
        if review || read || &*question.user.name == "root" { Ok(()) } else { Err("read only".to_owned()) }
    }
}

#[tokio::test]
async fn reviews_return_the_permissions_of_a_user() {
    let world = World::with(|builder| rich(builder).authorizer(ReadOnly)).await;
    let path = |plural: &str| format!("/clusters/a/apis/authorization.k8s.io/v1/{plural}");
    let own = path("selfsubjectaccessreviews");
    for (verb, expected) in
        [("get", json!({"allowed": true})), ("delete", json!({"allowed": false, "reason": "read only"}))]
    {
        let attributes = json!({"verb": verb, "group": "example.com", "resource": "widgets", "namespace": "n"});
        let review =
            world.send("POST", &own, &json!({"spec": {"resourceAttributes": attributes}})).await.expect_code(201);
        assert_eq!(review["status"], expected);
    }
    world.send("POST", &own, &json!({"spec": {}})).await.expect_failure(
        422,
        "Invalid",
        "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: \
         exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
    let attributes = json!({"verb": "delete", "resource": "widgets", "namespace": "n"});
    let spec = json!({"spec": {"user": "root", "resourceAttributes": attributes}});
    let review = world.send("POST", &path("subjectaccessreviews"), &spec).await.expect_code(201);
    assert_eq!(review["status"], json!({"allowed": true}));
    let local = path("namespaces/n/localsubjectaccessreviews");
    assert_eq!(world.send("POST", &local, &spec).await.expect_code(201)["status"]["allowed"], true);
    let local = path("namespaces/other/localsubjectaccessreviews");
    assert_eq!(world.send("POST", &local, &spec).await.code, 422);
    let rules = path("selfsubjectrulesreviews");
    let review = world.send("POST", &rules, &json!({"spec": {"namespace": "n"}})).await.expect_code(201);
    assert_eq!(review["status"], json!({"resourceRules": [], "nonResourceRules": [], "incomplete": true}));
    world.send("POST", &rules, &json!({})).await.expect_failure(400, "BadRequest", "no namespace on request");
    let everything = World::with(rich).await;
    let review = everything.send("POST", &rules, &json!({"spec": {"namespace": "n"}})).await.expect_code(201);
    assert_eq!(review["status"]["resourceRules"], json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]));
}

#[tokio::test]
async fn events_of_both_groups_are_one_storage() {
    let world = World::with(rich).await;
    let core = "/clusters/a/api/v1/namespaces/n/events";
    let viewed = "/clusters/a/apis/events.k8s.io/v1/namespaces/n/events";
    let (_, mut stream) = world.open("GET", &format!("{viewed}?watch=true"), &[], "").await;
    let old = json!({
        "metadata": {"name": "old"}, "involvedObject": {"name": "w", "kind": "Widget"}, "reason": "Made",
        "message": "it is there", "count": 2, "source": {"component": "maker"},
    });
    world.send("POST", core, &old).await.expect_code(201);
    let shown = world.get(&format!("{viewed}/old")).await.expect_code(200);
    assert_eq!((&shown["apiVersion"], &shown["kind"]), (&json!("events.k8s.io/v1"), &json!("Event")));
    assert_eq!(shown["regarding"], json!({"name": "w", "kind": "Widget"}));
    assert_eq!((&shown["note"], &shown["deprecatedCount"]), (&json!("it is there"), &json!(2)));
    assert_eq!(shown.get("message"), None);
    let frame = stream.frame().await.expect("a frame").expect("data").into_data().expect("data");
    let frame: Value = serde_json::from_slice(&frame).expect("JSON");
    assert_eq!((&frame["type"], &frame["object"]), (&json!("ADDED"), &shown));

    let new = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new"},
        "eventTime": "2023-07-27T20:00:00.000000Z", "reportingController": "maker", "reportingInstance": "maker-0",
        "action": "Make", "reason": "Made", "type": "Normal", "regarding": {"name": "v"}, "note": "again",
    });
    world.send("POST", viewed, &new).await.expect_code(201);
    let stored = world.get(&format!("{core}/new")).await.expect_code(200);
    assert_eq!((&stored["involvedObject"]["name"], &stored["reportingComponent"]), (&json!("v"), &json!("maker")));
    let series = json!({"series": {"count": 2}, "note": "once more", "metadata": {"labels": {"regarding": "x"}}});
    let patched = world.patch("merge-patch+json", &format!("{viewed}/new"), &series).await.expect_code(200);
    assert_eq!((&patched["series"]["count"], &patched["note"]), (&json!(2), &json!("once more")));
    assert_eq!(patched["metadata"]["labels"]["regarding"], "x", "only fields at the top are renamed");
    let pointed = json!([{"op": "replace", "path": "/note", "value": "x"}]);
    world.patch("json-patch+json", &format!("{viewed}/new"), &pointed).await.expect_code(200);
    assert_eq!(world.get(&format!("{core}/new")).await.expect_code(200)["message"], "x");

    let selected =
        world.get(&format!("{viewed}?fieldSelector=regarding.name%3Dv,reason%3DMade")).await.expect_code(200);
    assert_eq!((&selected["kind"], &selected["apiVersion"]), (&json!("EventList"), &json!("events.k8s.io/v1")));
    assert_eq!(selected["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(selected["items"][0]["note"], "x");
    let status = world.get(&format!("{viewed}/none")).await;
    let status = status.expect_failure(404, "NotFound", "events.events.k8s.io \"none\" not found");
    assert_eq!(status["details"]["group"], "events.k8s.io");
    world.send("POST", viewed, &json!({"metadata": {"name": "e"}, "type": "Normal"})).await.expect_failure(
        422,
        "Invalid",
        "Event.events.k8s.io \"e\" is invalid: [eventTime: Required value, reportingController: Required value, \
         reportingInstance: Required value, action: Required value, reason: Required value]",
    );
}

#[tokio::test]
async fn a_subresource_may_have_a_hook() {
    let world = World::with(rich).await;
    let gizmos = "/clusters/a/apis/example.com/v1/namespaces/n/gizmos";
    let polish = format!("{gizmos}/g/polish?x=1");
    let message = "gizmos.example.com \"g\" not found";
    world.send("POST", &polish, &json!({"with": "wax"})).await.expect_failure(404, "NotFound", message);
    world.send("POST", gizmos, &json!({"metadata": {"name": "g"}})).await.expect_code(201);
    let shown = world.send("POST", &polish, &json!({"with": "wax"})).await.expect_code(201);
    let expected = json!({"object": "g", "namespace": "n", "with": "wax", "query": [["x", "1"]], "user": "admin"});
    assert_eq!(shown, expected);
    let refused = world.send("POST", &polish, &json!({"with": "sand"})).await;
    refused.expect_failure(400, "BadRequest", "sand scratches");
    assert_eq!(world.get(&polish).await.code, 405);
    assert_eq!(world.get(&format!("{gizmos}/g/paint")).await.code, 404, "no hook answers for it");
}

#[tokio::test]
async fn health_and_metrics_are_those_of_the_builder() {
    let world = World::with(rich).await;
    assert_eq!(world.get("/clusters/a/readyz?verbose").await.text, "[+]ping ok\n[+]log ok\nreadyz check passed\n");
    assert_eq!(world.get("/clusters/a/livez/log").await.text, "ok");
    assert_eq!(world.get("/clusters/a/livez/other").await.code, 404);
    assert!(world.get("/clusters/a/metrics").await.text.ends_with("# EOF\n"));
    let poor = World::new().await;
    assert_eq!(poor.get("/clusters/a/metrics").await.code, 404);
}

#[tokio::test]
async fn two_versions_of_a_kind_show_one_object() {
    let world = World::with(rich).await;
    let (old, new) =
        ("/clusters/a/apis/example.com/v1beta1/namespaces/n", "/clusters/a/apis/example.com/v1/namespaces/n");
    let gizmo = |type_: &str| {
        let metadata = json!({"name": "g", "namespace": "n"});
        json!({"metadata": metadata, "type": type_, "settings": {"color": "red", "size": 1}}).to_string()
    };
    let refused = world.raw("POST", &format!("{old}/gizmos"), &[], gizmo("gadget")).await.expect_code(422);
    let message = refused["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.ends_with("type: Unsupported value: \"gadget\": supported values: \"gizmo\""), "{message}");
    let created = world.raw("POST", &format!("{old}/gizmos"), &[], gizmo("gizmo")).await.expect_code(201);
    assert_eq!((&created["apiVersion"], &created["settings"]["color"]), (&json!("example.com/v1beta1"), &json!("red")));
    let seen = world.raw("GET", &format!("{new}/gizmos/g"), &[], "").await.expect_code(200);
    assert_eq!((&seen["spec"], &seen["type"]), (&json!({"paint": "red", "size": 1}), &Value::Null));
    for (type_, patch) in [
        ("application/merge-patch+json", json!({"settings": {"color": "blue"}})),
        ("application/json-patch+json", json!([{"op": "replace", "path": "/settings/color", "value": "blue"}])),
    ] {
        let content = [("content-type", type_)];
        world.raw("PATCH", &format!("{old}/gizmos/g"), &content, patch.to_string()).await.expect_code(200);
        let seen = world.raw("GET", &format!("{new}/gizmos/g"), &[], "").await.expect_code(200);
        assert_eq!(seen["spec"], json!({"paint": "blue", "size": 1}), "{type_}");
        let back = json!({"spec": {"paint": "red"}}).to_string();
        let content = [("content-type", "application/merge-patch+json")];
        world.raw("PATCH", &format!("{new}/gizmos/g"), &content, back).await.expect_code(200);
    }
}

#[tokio::test]
async fn discovery_is_only_read() {
    let world = World::new().await;
    for path in ["/version", "/api", "/apis", "/apis/example.com", "/apis/example.com/v1"] {
        world.get(&format!("/clusters/a{path}")).await.expect_code(200);
        for method in ["POST", "PUT", "DELETE"] {
            let answer = world.raw(method, &format!("/clusters/a{path}"), &[], String::new()).await;
            let message = "the server does not allow this method on the requested resource";
            answer.expect_failure(405, "MethodNotAllowed", message);
        }
    }
    let health = world.raw("POST", "/clusters/a/livez", &[], String::new()).await;
    assert_eq!(health.code, 200, "the method is ignored");
}
