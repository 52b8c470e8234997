// SPDX-License-Identifier: Apache-2.0
//! Server-side apply. Source: kubernetes test/e2e/apimachinery/apply.go.

use host::Host;
use serde_json::{Value, json};

use super::super::support::{Answer, get, host, send};
use super::{APPLY, CLUSTER, MAPS, SPACE, THINGS, create, define, deployment, expect, merge};

async fn apply(host: &Host, path: &str, query: &str, tree: Value) -> Answer {
    send(host, "PATCH", &format!("{path}?{query}"), &APPLY, tree.to_string()).await
}

fn configuration(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

fn path() -> String {
    format!("{MAPS}/a")
}

/// Manager and operation of each entry.
fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
    entries
        .iter()
        .map(|entry| (entry["manager"].as_str().unwrap_or_default(), entry["operation"].as_str().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn server_side_apply_should_create_an_applied_object_if_it_does_not_already_exist() {
    let host = host().await;
    assert_eq!(get(&host, &path()).await.code, 404);
    let applied =
        expect(&apply(&host, &path(), "fieldManager=apply_test", configuration(json!({ "k": "v" }))).await, 201);
    assert_eq!(managers(&applied), [("apply_test", "Apply")]);
    let stored = expect(&get(&host, &path()).await, 200);
    assert_eq!(stored["data"], json!({ "k": "v" }));
}

#[tokio::test]
async fn server_side_apply_should_work_for_subresources() {
    let host = host().await;
    let path = format!("{CLUSTER}/apis/apps/v1/namespaces/default/deployments/d");
    let mut tree = deployment("d");
    tree["apiVersion"] = json!("apps/v1");
    tree["kind"] = json!("Deployment");
    expect(&apply(&host, &path, "fieldManager=apply_test", tree).await, 201);
    let status = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": { "replicas": 77 }, "status": { "replicas": 3, "observedGeneration": 1 } });
    let through = format!("{path}/status");
    let shown = expect(&apply(&host, &through, "fieldManager=apply_status_test", status).await, 200);
    assert_eq!((&shown["status"]["replicas"], &shown["spec"]["replicas"]), (&json!(3), &json!(2)));
    let entry = shown["metadata"]["managedFields"]
        .as_array()
        .and_then(|entries| entries.iter().find(|entry| entry["manager"] == "apply_status_test").cloned());
    let entry = entry.expect("an entry of its own");
    assert_eq!((&entry["subresource"], entry["fieldsV1"].get("f:spec")), (&json!("status"), None));
    let scaled = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "d" }, "spec": { "replicas": 5 } });
    let conflict = apply(&host, &format!("{path}/scale"), "fieldManager=scale_test", scaled.clone()).await;
    let message = expect(&conflict, 409)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("conflict with \"apply_test\"") && message.contains(".spec.replicas"), "{message}");
    let forced = apply(&host, &format!("{path}/scale"), "fieldManager=scale_test&force=true", scaled).await;
    assert_eq!(expect(&forced, 200)["spec"]["replicas"], 5);
}

#[tokio::test]
async fn server_side_apply_should_remove_a_field_if_it_is_owned_but_removed_in_the_apply_request() {
    let host = host().await;
    expect(&apply(&host, &path(), "fieldManager=m", configuration(json!({ "a": "1", "b": "2" }))).await, 201);
    let shown = expect(&apply(&host, &path(), "fieldManager=m", configuration(json!({ "a": "1" }))).await, 200);
    assert_eq!(shown["data"], json!({ "a": "1" }));
}

#[tokio::test]
async fn server_side_apply_should_not_remove_a_field_if_an_owner_unsets_the_field_but_other_managers_still_have_ownership_of_the_field()
 {
    let host = host().await;
    for manager in ["one", "two"] {
        let query = format!("fieldManager={manager}");
        let answer = apply(&host, &path(), &query, configuration(json!({ "shared": "1" }))).await;
        assert!(matches!(answer.code, 200 | 201), "{}", answer.code);
    }
    let shown = expect(&apply(&host, &path(), "fieldManager=one", configuration(json!({}))).await, 200);
    assert_eq!(shown["data"], json!({ "shared": "1" }));
    let shown = expect(&apply(&host, &path(), "fieldManager=two", configuration(json!({}))).await, 200);
    assert_eq!(shown.get("data"), None);
}

#[tokio::test]
async fn server_side_apply_should_ignore_conflict_errors_if_force_apply_is_used() {
    let host = host().await;
    expect(&apply(&host, &path(), "fieldManager=one", configuration(json!({ "k": "1" }))).await, 201);
    let changed = configuration(json!({ "k": "2" }));
    let refused = apply(&host, &path(), "fieldManager=two", changed.clone()).await;
    let status = expect(&refused, 409);
    assert_eq!(status["message"], "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    let forced = expect(&apply(&host, &path(), "fieldManager=two&force=true", changed).await, 200);
    assert_eq!((&forced["data"]["k"], managers(&forced)), (&json!("2"), vec![("two", "Apply")]));
}

#[tokio::test]
async fn server_side_apply_should_work_for_crds() {
    let host = host().await;
    let item = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string" }, "size": { "type": "integer" } } });
    let list = json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item });
    let spec = json!({ "type": "object", "properties": { "items": list } });
    define(&host, json!({ "type": "object", "properties": { "spec": spec } })).await;
    let thing = |items: Value| json!({ "apiVersion": "conformance.example.com/v1", "kind": "Thing", "metadata": { "name": "t" }, "spec": { "items": items } });
    let path = format!("{THINGS}/t");
    expect(&apply(&host, &path, "fieldManager=one", thing(json!([{ "name": "a", "size": 1 }]))).await, 201);
    let shown = apply(&host, &path, "fieldManager=two", thing(json!([{ "name": "b", "size": 2 }]))).await;
    assert_eq!(expect(&shown, 200)["spec"]["items"], json!([{ "name": "a", "size": 1 }, { "name": "b", "size": 2 }]));
    let conflict = apply(&host, &path, "fieldManager=two", thing(json!([{ "name": "a", "size": 9 }]))).await;
    let message = expect(&conflict, 409)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.ends_with(".spec.items[name=\"a\"].size"), "{message}");
    let gone = apply(&host, &path, "fieldManager=one", thing(json!([]))).await;
    assert_eq!(expect(&gone, 200)["spec"]["items"], json!([{ "name": "b", "size": 2 }]));
}

#[tokio::test]
async fn server_side_apply_should_give_up_ownership_of_a_field_if_forced_applied_by_a_controller() {
    let host = host().await;
    let applier = "fieldManager=applier";
    expect(&apply(&host, &path(), applier, configuration(json!({ "k": "1", "other": "x" }))).await, 201);
    let taken = apply(&host, &path(), "fieldManager=controller&force=true", configuration(json!({ "k": "2" }))).await;
    expect(&taken, 200);
    // The applier no longer has the field: the controller's value remains, and there is no conflict.
    let shown = expect(&apply(&host, &path(), applier, configuration(json!({ "other": "x" }))).await, 200);
    assert_eq!(shown["data"], json!({ "k": "2", "other": "x" }));
    assert_eq!(managers(&shown), [("applier", "Apply"), ("controller", "Apply")]);
}

#[tokio::test]
async fn an_update_owns_changed_fields() {
    let host = host().await;
    let space = format!("{CLUSTER}{SPACE}/configmaps?fieldManager=creator");
    create(&host, &space, json!({ "metadata": { "name": "a" }, "data": { "k": "1", "l": "1" } })).await;
    let shown = merge(&host, &format!("{}?fieldManager=changer", path()), json!({ "data": { "k": "2" } })).await;
    assert_eq!(managers(&shown), [("changer", "Update"), ("creator", "Update")]);
    let conflict = apply(&host, &path(), "fieldManager=m", configuration(json!({ "k": "3", "l": "2" }))).await;
    let message = expect(&conflict, 409)["message"].as_str().unwrap_or_default().to_owned();
    let expected = "Apply failed with 2 conflicts: conflicts with \"changer\" using v1:\n- .data.k\nconflicts with \"creator\" using v1:\n- .data.l";
    assert_eq!(message, expected);
}

const OLDER: &str = "/clusters/shoot--p--a/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/a";
const NEWER: &str = "/clusters/shoot--p--a/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/a";

fn autoscaler(version: &str, spec: Value) -> Value {
    let mut tree = json!({ "apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": "a" }, "spec": spec });
    tree["spec"]["scaleTargetRef"] = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
    tree
}

fn metric(name: &str, percent: i64) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent });
    json!([{ "type": "Resource", "resource": { "name": name, "target": target } }])
}

/// Returns the entry of a manager: version and fields of the specification.
fn entry(object: &Value, manager: &str) -> (String, Value) {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let found = entries.into_iter().find(|entry| entry["manager"] == manager).unwrap_or_default();
    (found["apiVersion"].as_str().unwrap_or_default().to_owned(), found["fieldsV1"]["f:spec"].clone())
}

/// Source: k8s.io/apimachinery pkg/util/managedfields and structured-merge-diff merge/update.go: managers own fields of
/// the version that they apply, and a write of another manager in another version takes them over.
#[tokio::test]
async fn managers_own_fields_of_the_version_that_they_apply() {
    let host = host().await;
    let older = autoscaler("v1", json!({ "maxReplicas": 3, "targetCPUUtilizationPercentage": 50 }));
    let applied = expect(&apply(&host, OLDER, "fieldManager=one", older.clone()).await, 201);
    assert_eq!(
        (&applied["apiVersion"], &applied["spec"]["targetCPUUtilizationPercentage"]),
        (&json!("autoscaling/v1"), &json!(50))
    );
    let target = json!({ "f:maxReplicas": {}, "f:scaleTargetRef": {}, "f:targetCPUUtilizationPercentage": {} });
    let own = entry(&applied, "one");
    assert_eq!(own.0, "autoscaling/v1");
    for field in target.as_object().expect("fields").keys() {
        assert!(own.1.get(field).is_some(), "{field}: {}", own.1);
    }
    let stored = expect(&get(&host, NEWER).await, 200);
    assert_eq!((&stored["spec"]["metrics"], entry(&stored, "one")), (&metric("cpu", 50), own.clone()));
    // Nothing changes, and nothing is stored.
    let again = expect(&apply(&host, OLDER, "fieldManager=one", older.clone()).await, 200);
    assert_eq!(again["metadata"]["resourceVersion"], applied["metadata"]["resourceVersion"]);
    // The same value in the newer version conflicts with the field of the older one,
    let newer = autoscaler("v2", json!({ "maxReplicas": 3, "metrics": metric("cpu", 60) }));
    let refused = expect(&apply(&host, NEWER, "fieldManager=two", newer.clone()).await, 409);
    let message = "Apply failed with 1 conflict: conflict with \"one\": .spec.targetCPUUtilizationPercentage";
    assert_eq!(refused["message"], message);
    // and `force` takes it over.
    let forced = expect(&apply(&host, NEWER, "fieldManager=two&force=true", newer).await, 200);
    assert_eq!(
        (&forced["spec"]["metrics"], entry(&forced, "two").0),
        (&metric("cpu", 60), "autoscaling/v2".to_owned())
    );
    assert_eq!(entry(&forced, "one").1.get("f:targetCPUUtilizationPercentage"), None);
    assert!(entry(&forced, "one").1.get("f:maxReplicas").is_some(), "{forced:#}");
    // A change in the older version takes the field over from the newer one.
    let patch = json!({ "spec": { "targetCPUUtilizationPercentage": 70 } });
    let shown = merge(&host, &format!("{OLDER}?fieldManager=three"), patch).await;
    assert_eq!(
        entry(&shown, "three"),
        ("autoscaling/v1".to_owned(), json!({ "f:targetCPUUtilizationPercentage": {} }))
    );
    assert_eq!(entry(&shown, "two").1.get("f:metrics"), None, "{shown:#}");
}

#[tokio::test]
async fn fields_no_longer_applied_in_another_version_are_removed() {
    let host = host().await;
    let most = autoscaler("v1", json!({ "maxReplicas": 3, "minReplicas": 2 }));
    expect(&apply(&host, OLDER, "fieldManager=one", most).await, 201);
    // The same manager continues in the newer version without the minimum: it has its default again.
    let newer = autoscaler("v2", json!({ "maxReplicas": 4 }));
    let shown = expect(&apply(&host, NEWER, "fieldManager=one", newer).await, 200);
    assert_eq!((&shown["spec"]["maxReplicas"], &shown["spec"]["minReplicas"]), (&json!(4), &json!(1)));
    assert_eq!(managers(&shown), [("one", "Apply")]);
    assert_eq!(entry(&shown, "one").0, "autoscaling/v2");
    let unknown = autoscaler("v1", json!({ "metrics": metric("cpu", 1), "maxReplicas": 4 }));
    let refused = apply(&host, OLDER, "fieldManager=one", unknown).await;
    let message = "failed to create typed patch object (/a; autoscaling/v1, Kind=HorizontalPodAutoscaler): .spec.metrics: field \
                   not declared in schema";
    assert_eq!(expect(&refused, 500)["message"], message);
}

#[tokio::test]
async fn events_are_applied_in_both_groups() {
    let host = host().await;
    let path = "/clusters/shoot--p--a/apis/events.k8s.io/v1/namespaces/default/events/e";
    let event = |note: &str| {
        json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e", "namespace": "default" },
            "eventTime": "2023-07-27T20:00:00.000000Z", "reportingController": "c", "reportingInstance": "i", "action": "A",
            "reason": "R", "type": "Normal", "note": note, "regarding": { "kind": "Pod", "name": "p", "namespace": "default" } })
    };
    expect(&apply(&host, path, "fieldManager=one", event("first")).await, 201);
    let shown = expect(&apply(&host, path, "fieldManager=one", event("second")).await, 200);
    assert_eq!((&shown["note"], managers(&shown)), (&json!("second"), vec![("one", "Apply")]));
    let core = expect(&get(&host, "/clusters/shoot--p--a/api/v1/namespaces/default/events/e").await, 200);
    assert_eq!(core["message"], "second");
    let entries = core["metadata"]["managedFields"].as_array().expect("entries");
    assert_eq!(
        (&entries[0]["apiVersion"], entries[0]["fieldsV1"].get("f:message")),
        (&json!("events.k8s.io/v1"), None)
    );
    assert!(entries[0]["fieldsV1"].get("f:note").is_some(), "{entries:?}");
}
