// SPDX-License-Identifier: Apache-2.0
//! Custom resources from the view of clients.

use futures::StreamExt;
use host::Host;
use http_body_util::BodyExt;
use process::User;
use process::transport::full;
use serde_json::{Value, json};

use crate::support::{Answer, foundation, get, host, host_on, send};
use crate::workloads::World;

const SHOOT: &str = "/clusters/shoot--p--a";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRONTABS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
const JSON: (&str, &str) = ("content-type", "application/json");
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");

fn definition(change: impl FnOnce(&mut Value)) -> Value {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "required": ["cronSpec"], "properties": {
            "cronSpec": { "type": "string", "pattern": r"^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$", "description": "When it runs." },
            "image": { "type": "string", "default": "cron:1" },
            "replicas": { "type": "integer", "minimum": 1, "maximum": 10, "default": 1 },
        }, "x-kubernetes-validations": [
            { "rule": "!has(oldSelf.image) || self.image == oldSelf.image", "message": "image is immutable" },
        ] },
        "status": { "type": "object", "properties": { "replicas": { "type": "integer" }, "selector": { "type": "string" } } },
    } });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
        } },
        "selectableFields": [{ "jsonPath": ".spec.image" }],
        "additionalPrinterColumns": [
            { "name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec" },
            { "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas" },
            { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
        ],
    });
    let mut tree = json!({ "metadata": { "name": "crontabs.stable.example.com" }, "spec": {
        "group": "stable.example.com", "scope": "Namespaced", "versions": [version],
        "names": { "plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"], "categories": ["all"] },
    } });
    change(&mut tree);
    tree
}

fn crontab(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": { "name": name }, "spec": spec })
}

async fn ask(host: &Host, method: &str, path: &str, body: Value) -> Answer {
    let type_ = if method == "PATCH" { MERGE } else { JSON };
    send(host, method, &format!("{SHOOT}{path}"), &[type_], body.to_string()).await
}

#[track_caller]
fn expect(answer: &Answer, code: u16) -> Value {
    assert_eq!(answer.code, code, "{}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

async fn defined(host: &Host) {
    expect(&ask(host, "POST", DEFINITIONS, definition(|_| {})).await, 201);
}

async fn condition(host: &Host, name: &str, type_: &str) -> Value {
    let tree = expect(&get(host, &format!("{SHOOT}{DEFINITIONS}/{name}")).await, 200);
    let conditions = tree["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default()
}

#[tokio::test]
async fn a_kind_is_served_as_soon_as_it_is_defined() {
    let host = host().await;
    assert_eq!(get(&host, &format!("{SHOOT}{CRONTABS}")).await.code, 404);
    defined(&host).await;
    let established = condition(&host, "crontabs.stable.example.com", "Established").await;
    assert_eq!((&established["status"], &established["reason"]), (&json!("True"), &json!("InitialNamesAccepted")));

    let resources = expect(&get(&host, &format!("{SHOOT}/apis/stable.example.com/v1")).await, 200);
    let names: Vec<&str> =
        resources["resources"].as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["crontabs", "crontabs/scale", "crontabs/status"]);
    assert_eq!(resources["resources"][0]["shortNames"], json!(["ct"]));
    let groups = expect(&get(&host, &format!("{SHOOT}/apis")).await, 200);
    assert!(groups["groups"].as_array().expect("a list").iter().any(|group| group["name"] == "stable.example.com"));
    let document = expect(&get(&host, &format!("{SHOOT}/openapi/v3/apis/stable.example.com/v1")).await, 200);
    let schemas = &document["components"]["schemas"];
    let spec = &schemas["com.example.stable.v1.CronTab"]["properties"]["spec"];
    assert_eq!(spec["properties"]["cronSpec"]["description"], "When it runs.", "in place, as upstream publishes it");
    assert!(schemas.get("com.example.stable.v1.CronTabSpec").is_none());
    let all = expect(&get(&host, &format!("{SHOOT}/openapi/v2")).await, 200);
    assert!(all["definitions"].get("com.example.stable.v1.CronTab").is_some());
    assert!(all["definitions"].get("io.k8s.api.core.v1.Pod").is_some());

    // In this cluster and no other.
    assert_eq!(get(&host, "/clusters/shoot--p--b/apis/stable.example.com/v1").await.code, 404);
    assert_eq!(get(&host, "/clusters/shoot--p--b/apis/stable.example.com/v1/crontabs").await.code, 404);
}

#[tokio::test]
async fn objects_are_pruned_filled_and_judged() {
    let host = host().await;
    defined(&host).await;
    let given = crontab("a", json!({ "cronSpec": "* * * * */5", "bogus": 1 }));
    let answer = ask(&host, "POST", CRONTABS, given.clone()).await;
    let created = expect(&answer, 201);
    assert_eq!(created["spec"], json!({ "cronSpec": "* * * * */5", "image": "cron:1", "replicas": 1 }));
    assert_eq!(created["metadata"]["generation"], 1);
    assert!(answer.header("warning").contains(r#"unknown field \"spec.bogus\""#), "{}", answer.header("warning"));
    let strict = ask(&host, "POST", &format!("{CRONTABS}?fieldValidation=Strict"), given).await;
    assert!(strict.code == 400 && String::from_utf8_lossy(&strict.body).contains("strict decoding error"));

    let invalid = |message: &str| format!("CronTab.stable.example.com \"b\" is invalid: {message}");
    for (spec, message) in [
        (
            json!({ "cronSpec": "* * * * *", "replicas": 11 }),
            "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
        ),
        (
            json!({ "cronSpec": "x" }),
            r#"spec.cronSpec: Invalid value: "x": spec.cronSpec in body should match '^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'"#,
        ),
        (
            json!({ "cronSpec": 5 }),
            r#"[spec.cronSpec: Invalid value: "integer": spec.cronSpec in body must be of type string: "integer", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
        ),
        (
            json!(["x"]),
            r#"[spec: Invalid value: "array": spec in body must be of type object: "array", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"#,
        ),
    ] {
        ask(&host, "POST", CRONTABS, crontab("b", spec)).await.expect_failure(422, "Invalid", &invalid(message));
    }
    let broken = send(&host, "POST", &format!("{SHOOT}{CRONTABS}"), &[JSON], "{").await;
    assert_eq!(broken.code, 400);
    let named = ask(&host, "POST", CRONTABS, json!({ "metadata": { "name": 5 } })).await;
    assert_eq!(named.code, 400, "metadata is the server's own");
    let patched = ask(&host, "PATCH", &format!("{CRONTABS}/a"), json!({ "spec": 5 })).await;
    assert!(patched.code == 422 && String::from_utf8_lossy(&patched.body).contains("must be of type object"));
    let path = format!("{CRONTABS}/a");
    let refused = ask(&host, "PATCH", &path, json!({ "spec": { "image": "other" } })).await;
    let text = "CronTab.stable.example.com \"a\" is invalid: spec: Invalid value: \"object\": image is immutable";
    refused.expect_failure(422, "Invalid", text);
    let changed = expect(
        &ask(&host, "PATCH", &path, json!({ "spec": { "replicas": 3 }, "status": { "replicas": 9 } })).await,
        200,
    );
    assert_eq!((&changed["metadata"]["generation"], changed.get("status")), (&json!(2), None));
    let strategic = send(
        &host,
        "PATCH",
        &format!("{SHOOT}{path}"),
        &[("content-type", "application/strategic-merge-patch+json")],
        "{}",
    )
    .await;
    assert_eq!(strategic.code, 415);

    let told = expect(
        &ask(&host, "PATCH", &format!("{path}/status"), json!({ "status": { "replicas": 2, "selector": "a=b" } }))
            .await,
        200,
    );
    assert_eq!((&told["status"]["replicas"], &told["metadata"]["generation"]), (&json!(2), &json!(2)));
    let scale = expect(&get(&host, &format!("{SHOOT}{path}/scale")).await, 200);
    assert_eq!(
        (&scale["spec"], &scale["status"]),
        (&json!({ "replicas": 3 }), &json!({ "replicas": 2, "selector": "a=b" }))
    );
    expect(&ask(&host, "PATCH", &format!("{path}/scale"), json!({ "spec": { "replicas": 5 } })).await, 200);
    assert_eq!(expect(&get(&host, &format!("{SHOOT}{path}")).await, 200)["spec"]["replicas"], 5);

    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table = expect(&send(&host, "GET", &format!("{SHOOT}{CRONTABS}"), &table, "").await, 200);
    let columns: Vec<&str> =
        table["columnDefinitions"].as_array().expect("columns").iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(columns, ["Name", "Spec", "Replicas", "Age"]);
    assert_eq!(table["rows"][0]["cells"][2], 5);
    for (selector, count) in [("spec.image=cron:1", 1), ("spec.image=other", 0)] {
        let list = expect(&get(&host, &format!("{SHOOT}{CRONTABS}?fieldSelector={selector}")).await, 200);
        assert_eq!((list["items"].as_array().map(Vec::len), &list["kind"]), (Some(count), &json!("CronTabList")));
    }
}

#[tokio::test]
async fn unservable_definitions_are_refused_or_have_a_reason() {
    let host = host().await;
    let refused = ask(
        &host,
        "POST",
        DEFINITIONS,
        definition(|tree| {
            tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({});
        }),
    );
    refused.await.expect_failure(
        422,
        "Invalid",
        "CustomResourceDefinition.apiextensions.k8s.io \"crontabs.stable.example.com\" is invalid: \
         spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified \
         object fields",
    );
    defined(&host).await;
    let other = definition(|tree| {
        tree["metadata"]["name"] = json!("cats.stable.example.com");
        tree["spec"]["names"] = json!({ "plural": "cats", "singular": "cat", "kind": "Cat", "shortNames": ["ct"] });
    });
    expect(&ask(&host, "POST", DEFINITIONS, other).await, 201);
    let accepted = condition(&host, "cats.stable.example.com", "NamesAccepted").await;
    assert_eq!(
        (&accepted["reason"], &accepted["message"]),
        (&json!("ShortNamesConflict"), &json!("\"ct\" is already in use"))
    );
    assert_eq!(get(&host, &format!("{SHOOT}/apis/stable.example.com/v1/cats")).await.code, 404);
    // Once the name is free the definition is served.
    expect(&ask(&host, "DELETE", &format!("{DEFINITIONS}/crontabs.stable.example.com"), Value::Null).await, 200);
    assert_eq!(condition(&host, "cats.stable.example.com", "Established").await["status"], "True");
    assert_eq!(get(&host, &format!("{SHOOT}/apis/stable.example.com/v1/cats")).await.code, 200);
    assert_eq!(get(&host, &format!("{SHOOT}/apis/stable.example.com/v1/crontabs")).await.code, 404);
}

#[tokio::test]
async fn a_definition_is_deleted_with_its_objects() {
    let host = host().await;
    defined(&host).await;
    let held = |mut tree: Value| {
        tree["metadata"]["finalizers"] = json!(["example.com/mine"]);
        tree
    };
    expect(&ask(&host, "POST", CRONTABS, crontab("a", json!({ "cronSpec": "* * * * *" }))).await, 201);
    expect(&ask(&host, "POST", CRONTABS, held(crontab("b", json!({ "cronSpec": "* * * * *" })))).await, 201);
    let path = format!("{DEFINITIONS}/crontabs.stable.example.com");
    expect(&ask(&host, "DELETE", &path, Value::Null).await, 200);
    let list = expect(&get(&host, &format!("{SHOOT}{CRONTABS}")).await, 200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "one is held by its finalizer");
    let terminating = condition(&host, "crontabs.stable.example.com", "Terminating").await;
    assert!(terminating["message"].as_str().is_some_and(|text| text.ends_with("1 left: b")), "{terminating}");
    expect(&ask(&host, "PATCH", &format!("{CRONTABS}/b"), json!({ "metadata": { "finalizers": null } })).await, 200);
    assert_eq!(get(&host, &format!("{SHOOT}{path}")).await.code, 404);
    assert_eq!(get(&host, &format!("{SHOOT}{CRONTABS}")).await.code, 404);
    // A new definition has no objects.
    defined(&host).await;
    let list = expect(&get(&host, &format!("{SHOOT}{CRONTABS}")).await, 200);
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn versions_are_names_of_one_object() {
    let host = host().await;
    let two = |stored: usize| {
        definition(move |tree| {
            let mut newer = tree["spec"]["versions"][0].clone();
            newer["name"] = json!("v2");
            tree["spec"]["versions"].as_array_mut().expect("versions").push(newer);
            for index in 0..2 {
                tree["spec"]["versions"][index]["storage"] = json!(index == stored);
            }
        })
    };
    expect(&ask(&host, "POST", DEFINITIONS, two(0)).await, 201);
    expect(&ask(&host, "POST", CRONTABS, crontab("a", json!({ "cronSpec": "* * * * *" }))).await, 201);
    let newer = CRONTABS.replace("/v1/", "/v2/");
    let seen = expect(&get(&host, &format!("{SHOOT}{newer}/a")).await, 200);
    assert_eq!(seen["apiVersion"], "stable.example.com/v2");
    let applied = json!({ "apiVersion": "stable.example.com/v2", "kind": "CronTab", "metadata": { "name": "a" },
        "spec": { "cronSpec": "* * * * *", "replicas": 3 } });
    let apply = ("content-type", "application/apply-patch+yaml");
    let path = format!("{SHOOT}{newer}/a?fieldManager=m&force=true");
    let applied = expect(&send(&host, "PATCH", &path, &[apply], applied.to_string()).await, 200);
    let entries = applied["metadata"]["managedFields"].as_array().expect("entries");
    assert_eq!(
        (&applied["spec"]["replicas"], &entries[0]["apiVersion"]),
        (&json!(3), &json!("stable.example.com/v2")),
        "a version that is not stored is applied to"
    );
    let mut moved = expect(&get(&host, &format!("{SHOOT}{DEFINITIONS}/crontabs.stable.example.com")).await, 200);
    moved["spec"] = two(1)["spec"].clone();
    let moved = expect(&ask(&host, "PUT", &format!("{DEFINITIONS}/crontabs.stable.example.com"), moved).await, 200);
    assert_eq!(moved["metadata"]["generation"], 2);
    for (path, version) in [(CRONTABS, "stable.example.com/v1"), (newer.as_str(), "stable.example.com/v2")] {
        let list = expect(&get(&host, &format!("{SHOOT}{path}")).await, 200);
        assert_eq!(
            (&list["items"][0]["apiVersion"], &list["items"][0]["metadata"]["uid"]),
            (&json!(version), &seen["metadata"]["uid"])
        );
    }
    let stored = expect(&get(&host, &format!("{SHOOT}{DEFINITIONS}/crontabs.stable.example.com")).await, 200);
    assert_eq!(stored["status"]["storedVersions"], json!(["v1", "v2"]));
    let groups = expect(&get(&host, &format!("{SHOOT}/apis/stable.example.com")).await, 200);
    assert_eq!(groups["preferredVersion"]["version"], "v2");
}

/// A watch ends when its definition changes, as upstream replaces the storage then, and continues in a new watch.
#[tokio::test]
async fn a_watch_ends_with_the_definition_it_was_opened_under() {
    let host = host().await;
    defined(&host).await;
    let watch = || async {
        let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
        let request = http::Request::get(format!("{SHOOT}{CRONTABS}?watch=true")).body(full("")).expect("a request");
        host.transport(user).send(request).await.expect("an answer").into_body().into_data_stream()
    };
    let mut first = watch().await;
    expect(&ask(&host, "POST", CRONTABS, crontab("a", json!({ "cronSpec": "* * * * *" }))).await, 201);
    let frame = first.next().await.expect("a frame").expect("bytes");
    assert!(frame.starts_with(br#"{"type":"ADDED""#), "{frame:?}");
    let patch = json!({ "spec": { "names": { "categories": [] } } });
    expect(&ask(&host, "PATCH", &format!("{DEFINITIONS}/crontabs.stable.example.com"), patch).await, 200);
    assert!(first.next().await.is_none(), "it ends");
    let mut second = watch().await;
    let frame = second.next().await.expect("a frame").expect("bytes");
    assert!(frame.starts_with(br#"{"type":"ADDED""#), "{frame:?}");
}

#[tokio::test]
async fn definitions_outlive_the_host() {
    let foundation = foundation();
    {
        let host = host_on(foundation.clone()).await;
        defined(&host).await;
        expect(&ask(&host, "POST", CRONTABS, crontab("a", json!({ "cronSpec": "* * * * *" }))).await, 201);
    }
    let later = host_on(generic_apiserver::Foundation { writer: 1 << 40, ..foundation }).await;
    let list = expect(&get(&later, &format!("{SHOOT}{CRONTABS}")).await, 200);
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    expect(&ask(&later, "POST", CRONTABS, crontab("b", json!({ "cronSpec": "* * * * *" }))).await, 201);
}

/// Upstream applies defaults and prunes at every read from etcd: pkg/apiserver/customresource_handler.go,
/// `schemaCoercingDecoder`, k8s.io/apiextensions-apiserver.
#[tokio::test]
async fn stored_objects_show_the_schema_of_a_changed_definition() {
    let foundation = foundation();
    let host = host_on(foundation.clone()).await;
    defined(&host).await;
    for name in ["a", "b"] {
        expect(&ask(&host, "POST", CRONTABS, crontab(name, json!({ "cronSpec": "* * * * *" }))).await, 201);
    }
    let replicas = json!({ "status": { "replicas": 1 } });
    expect(&ask(&host, "PATCH", &format!("{CRONTABS}/a/status"), replicas).await, 200);
    let path = format!("{DEFINITIONS}/crontabs.stable.example.com");
    let mut changed = expect(&get(&host, &format!("{SHOOT}{path}")).await, 200);
    let properties =
        &mut changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties["suspend"] = json!({ "type": "boolean", "default": false });
    properties.as_object_mut().expect("an object").remove("replicas");
    changed["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    expect(&ask(&host, "PUT", &path, changed).await, 200);

    let shown = json!({ "cronSpec": "* * * * *", "image": "cron:1", "suspend": false });
    let stored = async |name: &str| {
        let state = foundation.log.state_of(foundation.log.head(), "stable.example.com/crontabs").await;
        let object = state.expect("a state").into_iter().find(|(key, ..)| &*key.name == name).expect("an object").2;
        String::from_utf8(object.parts[3].to_vec()).expect("text")
    };
    let restarted = host_on(generic_apiserver::Foundation { writer: 1 << 40, ..foundation.clone() }).await;
    for host in [&host, &restarted] {
        for name in ["a", "b"] {
            let object = expect(&get(host, &format!("{SHOOT}{CRONTABS}/{name}")).await, 200);
            assert_eq!(object["spec"], shown, "{name}");
        }
        let list = expect(&get(host, &format!("{SHOOT}{CRONTABS}")).await, 200);
        assert_eq!((&list["items"][0]["spec"], &list["items"][1]["spec"]), (&shown, &shown));
    }
    assert!(stored("a").await.contains("replicas"), "to read is no write");
    // A write stores the defaulted object; the other host reads it from the log.
    let label = json!({ "metadata": { "labels": { "l": "v" } } });
    expect(&ask(&restarted, "PATCH", &format!("{CRONTABS}/a"), label).await, 200);
    assert_eq!(stored("a").await, r#","spec":{"cronSpec":"* * * * *","image":"cron:1","suspend":false}"#);
    assert!(!stored("b").await.contains("suspend"));
    let object = expect(&get(&host, &format!("{SHOOT}{CRONTABS}/a")).await, 200);
    assert_eq!((&object["spec"], &object["metadata"]["labels"]["l"]), (&shown, &json!("v")));
}

/// A server applies its own log entries unchanged: they must equal the result of other servers.
#[tokio::test]
async fn own_writes_are_stored_as_other_servers_show_them() {
    let foundation = foundation();
    let host = host_on(foundation.clone()).await;
    defined(&host).await;
    let other = host_on(generic_apiserver::Foundation { writer: 1 << 40, ..foundation }).await;
    let given = crontab("a", json!({ "cronSpec": "* * * * *", "bogus": { "x": [1] } }));
    let put = json!({ "cronSpec": "1 * * * *", "image": "cron:1", "replicas": null, "bogus": 1 });
    let (merge, json_patch, apply) = (MERGE, "application/json-patch+json", "application/apply-patch+yaml");
    let applied = crontab("a", json!({ "cronSpec": "2 * * * *", "replicas": 3 }));
    for (method, path, type_, body) in [
        ("POST", CRONTABS.to_owned(), JSON.1, given),
        ("PUT", format!("{CRONTABS}/a"), JSON.1, crontab("a", put)),
        ("PATCH", format!("{CRONTABS}/a"), merge.1, json!({ "spec": { "replicas": null, "bogus": 2 }, "more": {} })),
        ("PATCH", format!("{CRONTABS}/a"), json_patch, json!([{ "op": "remove", "path": "/spec/replicas" }])),
        ("PATCH", format!("{CRONTABS}/a?fieldManager=m&force=true"), apply, applied),
        ("PATCH", format!("{CRONTABS}/a/status"), merge.1, json!({ "status": { "replicas": 2, "bogus": 3 } })),
        (
            "PUT",
            format!("{CRONTABS}/a/scale"),
            JSON.1,
            json!({ "metadata": { "name": "a" }, "spec": { "replicas": 4 } }),
        ),
    ] {
        let content = ("content-type", type_);
        let mut body = body;
        if method == "PUT" {
            let known = expect(&get(&host, &format!("{SHOOT}{CRONTABS}/a")).await, 200);
            body["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"].clone();
        }
        let answer = send(&host, method, &format!("{SHOOT}{path}"), &[content], body.to_string()).await;
        expect(&answer, if method == "POST" { 201 } else { 200 });
        let own = expect(&get(&host, &format!("{SHOOT}{CRONTABS}/a")).await, 200);
        assert_eq!(own, expect(&get(&other, &format!("{SHOOT}{CRONTABS}/a")).await, 200), "{method} {path}");
        assert_eq!((&own["spec"]["image"], &own["spec"]["bogus"]), (&json!("cron:1"), &Value::Null), "{method} {path}");
    }
}

/// Custom resources hold no opaque JSON: the values of a JSON patch are typed.
#[tokio::test]
async fn json_patches_change_custom_resources() {
    let host = host().await;
    defined(&host).await;
    let path = format!("{CRONTABS}/a");
    expect(&ask(&host, "POST", CRONTABS, crontab("a", json!({ "cronSpec": "* * * * *" }))).await, 201);
    let json_patch = ("content-type", "application/json-patch+json");
    for (operation, expected) in [
        (json!({ "op": "replace", "path": "/spec/replicas", "value": 4 }), json!({ "replicas": 4 })),
        (json!({ "op": "add", "path": "/spec/cronSpec", "value": "1 * * * *" }), json!({ "cronSpec": "1 * * * *" })),
        (
            json!({ "op": "replace", "path": "/spec", "value": { "cronSpec": "2 * * * *", "image": "cron:1" } }),
            json!({ "cronSpec": "2 * * * *", "replicas": 1 }),
        ),
    ] {
        let body = json!([operation]).to_string();
        let object = expect(&send(&host, "PATCH", &format!("{SHOOT}{path}"), &[json_patch], body).await, 200);
        for (name, value) in expected.as_object().expect("fields") {
            assert_eq!(&object["spec"][name], value, "{operation}");
        }
    }
}

/// A JSON patch that makes an object deeper than readers allow is refused, and loses nothing.
#[tokio::test]
async fn json_patches_are_no_deeper_than_objects() {
    let host = host().await;
    let map = json!({ "metadata": { "name": "a", "namespace": "default" }, "data": { "k": "v" } });
    let maps = "/api/v1/namespaces/default/configmaps";
    expect(&ask(&host, "POST", maps, map).await, 201);
    for depth in [100, 127, 128, 2000] {
        let value = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let body = format!(r#"[{{"op":"add","path":"/data","value":{value}}}]"#);
        let json_patch = ("content-type", "application/json-patch+json");
        let answer = send(&host, "PATCH", &format!("{SHOOT}{maps}/a"), &[json_patch], body).await;
        expect(&answer, 400);
    }
    let kept = expect(&get(&host, &format!("{SHOOT}{maps}/a")).await, 200);
    assert_eq!(kept["data"], json!({ "k": "v" }));
}

/// A definition of a kind that the cluster serves itself is accepted, and has no effect.
#[tokio::test]
async fn definitions_do_not_replace_resources_of_the_cluster() {
    let host = host().await;
    let definition = definition(|tree| {
        tree["metadata"]["name"] = json!("workers.extensions.gardener.cloud");
        tree["spec"]["group"] = json!("extensions.gardener.cloud");
        tree["spec"]["names"] = json!({ "plural": "workers", "singular": "worker", "kind": "Worker" });
        tree["spec"]["versions"][0]["name"] = json!("v1alpha1");
    });
    let seed = "/clusters/seed--a";
    let created = send(&host, "POST", &format!("{seed}{DEFINITIONS}"), &[JSON], definition.to_string()).await;
    assert_eq!(created.code, 201);
    let resources = expect(&get(&host, &format!("{seed}/apis/extensions.gardener.cloud/v1alpha1")).await, 200);
    let workers = resources["resources"].as_array().expect("a list").iter().filter(|it| it["name"] == "workers");
    assert_eq!(workers.count(), 1);
    let gone = send(&host, "DELETE", &format!("{seed}{DEFINITIONS}/workers.extensions.gardener.cloud"), &[], "").await;
    assert_eq!(gone.code, 200);
    assert_eq!(get(&host, &format!("{seed}{DEFINITIONS}/workers.extensions.gardener.cloud")).await.code, 404);
}

/// The garbage collector handles custom resources, as owners and as dependents, once their definition exists.
#[test]
fn objects_are_deleted_with_their_owners() {
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let world = World::new(kube_controllers::workload::Options::default());
    let names = |path: &str| {
        let names =
            world.list(path).into_iter().map(|it| it["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        names.filter(|name| name != "kube-root-ca.crt").collect::<Vec<_>>()
    };
    let owned = |mut tree: Value, owner: &Value| {
        tree["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "stable.example.com/v1", "kind": "CronTab", "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
        }]);
        tree
    };
    let map = |name: &str| json!({ "metadata": { "name": name } });
    let spec = || json!({ "cronSpec": "* * * * *" });
    for round in ["first", "second"] {
        world.ask("POST", DEFINITIONS, definition(|_| {}));
        world.settle(1);
        let first = world.ask("POST", CRONTABS, crontab("first", spec()));
        world.ask("POST", MAPS, owned(map("of-first"), &first));
        world.ask("POST", CRONTABS, owned(crontab("child", spec()), &first));
        let kept = world.ask("POST", CRONTABS, crontab("kept", spec()));
        world.ask("POST", MAPS, owned(map("of-kept"), &kept));
        world.settle(1);
        assert_eq!(
            (names(CRONTABS).len(), names(MAPS)),
            (3, vec!["of-first".to_owned(), "of-kept".to_owned()]),
            "{round}"
        );
        world.ask("DELETE", &format!("{CRONTABS}/first"), json!({ "propagationPolicy": "Foreground" }));
        world.settle(60);
        assert_eq!((names(CRONTABS), names(MAPS)), (vec!["kept".to_owned()], vec!["of-kept".to_owned()]), "{round}");
        // The deletion of the definition deletes the owner, and with it the dependents.
        world.ask("DELETE", &format!("{DEFINITIONS}/crontabs.stable.example.com"), Value::Null);
        world.settle(60);
        assert_eq!(names(MAPS), [""; 0], "{round}");
        assert_eq!(names(DEFINITIONS), [""; 0], "{round}");
    }
    let timers = world.timers();
    world.settle(3600);
    assert_eq!(world.timers(), timers, "no timer is set for deleted objects");
}

/// Three nested loops over one list once stopped a whole landscape.
#[tokio::test]
async fn definitions_with_too_expensive_rules_are_refused() {
    let host = host().await;
    let ruled = |most: Option<u32>, rule: &str| {
        definition(|tree| {
            let spec = &mut tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let mut list = json!({ "type": "array", "items": { "type": "integer" }, "x-kubernetes-validations": [{ "rule": rule }] });
            if let Some(most) = most {
                list["maxItems"] = json!(most);
            }
            spec["properties"]["list"] = list;
        })
    };
    let cubic = "self.all(x, self.all(y, self.all(z, true)))";
    let refused = expect(&ask(&host, "POST", DEFINITIONS, ruled(None, cubic)).await, 422);
    let message = refused["message"].as_str().unwrap_or_default();
    let place =
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[list].x-kubernetes-validations[0].rule";
    let text = format!(
        "{place}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or \
         adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    );
    assert!(message.contains(&text), "{message}");

    // The estimated cost of this rule is below the limit, its cost at run time above it.
    let square = "self.all(x, self.all(y, true))";
    expect(&ask(&host, "POST", DEFINITIONS, ruled(Some(1_500), square)).await, 201);
    let list: Vec<u32> = (0..1_500).collect();
    let spec = json!({ "cronSpec": "* * * * */5", "list": list });
    let refused = expect(&ask(&host, "POST", CRONTABS, crontab("a", spec)).await, 422);
    let text = format!(
        "spec.list: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules \
         will be run due to call cost exceeds limit for rule: {square}"
    );
    assert!(refused["message"].as_str().is_some_and(|message| message.contains(&text)), "{refused}");
    let spec = json!({ "cronSpec": "* * * * */5", "list": [1, 2, 3] });
    expect(&ask(&host, "POST", CRONTABS, crontab("a", spec)).await, 201);

    // A changed schema is validated again.
    let name = format!("{DEFINITIONS}/crontabs.stable.example.com");
    expect(&ask(&host, "PATCH", &name, json!({ "spec": { "names": { "shortNames": ["c"] } } })).await, 200);
    let mut changed = expect(&get(&host, &format!("{SHOOT}{name}")).await, 200);
    changed["spec"]["versions"] = ruled(None, square)["spec"]["versions"].clone();
    expect(&ask(&host, "PUT", &name, changed).await, 422);
}
