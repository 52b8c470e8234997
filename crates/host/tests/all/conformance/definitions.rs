// SPDX-License-Identifier: Apache-2.0
//! CustomResourceDefinitions. Source: kubernetes test/e2e/apimachinery/{custom_resource_definition,crd_watch,
//! crd_publish_openapi,crd_validation_rules,field_validation,discovery}.go.

use serde_json::{Value, json};

use super::super::support::{get, host, send};
use super::{APPLY, CLUSTER, THINGS, create, define, expect, merge, thing, told, types, watch};

const DEFINITIONS: &str = "/clusters/shoot--p--a/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAME: &str = "things.conformance.example.com";

fn anything() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn typed(spec: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": spec, "status": anything() } })
}

#[tokio::test]
async fn custom_resource_definition_creating_deleting_custom_resource_definition_objects_works() {
    let host = host().await;
    define(&host, anything()).await;
    expect(&get(&host, THINGS).await, 200);
    let path = format!("{DEFINITIONS}/{NAME}");
    expect(&send(&host, "DELETE", &path, &[], "").await, 200);
    assert_eq!(get(&host, &path).await.code, 404);
    assert_eq!(get(&host, THINGS).await.code, 404);
}

#[tokio::test]
async fn custom_resource_definition_listing_custom_resource_definition_objects_works() {
    let host = host().await;
    let before = expect(&get(&host, DEFINITIONS).await, 200)["items"].as_array().map_or(0, Vec::len);
    define(&host, anything()).await;
    merge(&host, &format!("{DEFINITIONS}/{NAME}"), json!({ "metadata": { "labels": { "e2e": "list" } } })).await;
    let all = expect(&get(&host, DEFINITIONS).await, 200);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(before + 1));
    let labelled = format!("{DEFINITIONS}?labelSelector=e2e%3Dlist");
    assert_eq!(expect(&get(&host, &labelled).await, 200)["items"][0]["metadata"]["name"], NAME);
    expect(&send(&host, "DELETE", &labelled, &[], "").await, 200);
    assert_eq!(expect(&get(&host, &labelled).await, 200)["items"], json!([]));
}

#[tokio::test]
async fn custom_resource_definition_getting_updating_patching_custom_resource_definition_status_sub_resource_works() {
    let host = host().await;
    define(&host, anything()).await;
    let path = format!("{DEFINITIONS}/{NAME}/status");
    let mut tree = expect(&get(&host, &path).await, 200);
    let conditions = tree["status"]["conditions"].as_array_mut().expect("conditions");
    conditions
        .push(json!({ "type": "StatusUpdate", "status": "True", "reason": "E2E", "message": "Set from an e2e test" }));
    let has = |tree: &Value, type_: &str| {
        tree["status"]["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|condition| condition["type"] == type_))
    };
    let updated = expect(&send(&host, "PUT", &path, &[], tree.to_string()).await, 200);
    assert!(has(&updated, "StatusUpdate") && has(&updated, "Established"), "{:#}", updated["status"]);
    let mut conditions = updated["status"]["conditions"].clone();
    conditions.as_array_mut().expect("conditions").push(
        json!({ "type": "StatusPatched", "status": "True", "reason": "E2E", "message": "Patched from an e2e test" }),
    );
    let patched = merge(&host, &path, json!({ "status": { "conditions": conditions } })).await;
    assert!(has(&patched, "StatusPatched"), "{:#}", patched["status"]);
}

#[tokio::test]
async fn custom_resource_definition_should_include_custom_resource_definition_resources_in_discovery_documents() {
    let host = host().await;
    let groups = expect(&get(&host, &format!("{CLUSTER}/apis")).await, 200)["groups"].clone();
    let group = groups.as_array().and_then(|all| all.iter().find(|group| group["name"] == "apiextensions.k8s.io"));
    let group = group.expect("the group");
    assert_eq!(group["versions"], json!([{ "groupVersion": "apiextensions.k8s.io/v1", "version": "v1" }]));
    let one = expect(&get(&host, &format!("{CLUSTER}/apis/apiextensions.k8s.io")).await, 200);
    assert_eq!(one["versions"], group["versions"]);
    let version = expect(&get(&host, &format!("{CLUSTER}/apis/apiextensions.k8s.io/v1")).await, 200);
    let resources = version["resources"].as_array().expect("resources");
    assert!(resources.iter().any(|resource| resource["name"] == "customresourcedefinitions"), "{resources:?}");
}

#[tokio::test]
async fn custom_resource_definition_custom_resource_defaulting_for_requests_and_from_storage_works() {
    let host = host().await;
    let spec = |default: Option<&str>| {
        let mut field = json!({ "type": "string" });
        if let Some(default) = default {
            field["default"] = json!(default);
        }
        typed(json!({ "type": "object", "default": {}, "properties": { "a": field, "b": { "type": "string" } } }))
    };
    define(&host, spec(None)).await;
    let stored = expect(&send(&host, "POST", THINGS, &[], thing(r#""spec":{"b":"x"}"#)).await, 201);
    assert_eq!(stored["spec"], json!({ "b": "x" }));
    let path = format!("{DEFINITIONS}/{NAME}");
    let mut tree = expect(&get(&host, &path).await, 200);
    tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = spec(Some("A"));
    expect(&send(&host, "PUT", &path, &[], tree.to_string()).await, 200);
    let whole = json!({ "a": "A", "b": "x" });
    let shown = expect(&get(&host, &format!("{THINGS}/t")).await, 200);
    assert_eq!((&shown["spec"], &shown["metadata"]["generation"]), (&whole, &json!(1)));
    let listed = expect(&get(&host, THINGS).await, 200);
    assert_eq!(listed["items"][0]["spec"], whole);
    let shown = merge(&host, &format!("{THINGS}/t"), json!({ "metadata": { "labels": { "a": "b" } } })).await;
    assert_eq!((&shown["spec"], &shown["metadata"]["generation"]), (&whole, &json!(1)));
    let body = r#"{"apiVersion":"conformance.example.com/v1","kind":"Thing","metadata":{"name":"u"}}"#;
    assert_eq!(expect(&send(&host, "POST", THINGS, &[], body).await, 201)["spec"], json!({ "a": "A" }));
}

#[tokio::test]
async fn custom_resource_definition_watch_watch_on_custom_resource_definition_objects() {
    let host = host().await;
    define(&host, anything()).await;
    let mut watched = watch(&host, &format!("{THINGS}?watch=true&resourceVersion=0")).await;
    expect(&send(&host, "POST", THINGS, &[], thing(r#""spec":{}"#)).await, 201);
    merge(&host, &format!("{THINGS}/t"), json!({ "spec": { "a": 1 } })).await;
    expect(&send(&host, "DELETE", &format!("{THINGS}/t"), &[], "").await, 200);
    assert_eq!(types(&told(&mut watched)), ["ADDED", "MODIFIED", "DELETED"]);
}

#[tokio::test]
async fn custom_resource_publish_open_api_works_for_crd_with_validation_schema() {
    let host = host().await;
    let spec = json!({ "type": "object", "required": ["bar"], "description": "What it should be.", "properties": {
        "bar": { "type": "string", "description": "One bar." } } });
    define(&host, typed(spec)).await;
    let document = format!("{CLUSTER}/openapi/v3/apis/conformance.example.com/v1");
    let document = expect(&get(&host, &document).await, 200);
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut specifications = schemas.values().map(|schema| &schema["properties"]["spec"]);
    let described = specifications.find(|spec| spec["properties"]["bar"]["description"] == "One bar.");
    assert_eq!(described.expect("the specification")["required"], json!(["bar"]));
    expect(&send(&host, "DELETE", &format!("{DEFINITIONS}/{NAME}"), &[], "").await, 200);
    assert_eq!(get(&host, &format!("{CLUSTER}/openapi/v3/apis/conformance.example.com/v1")).await.code, 404);
}

#[tokio::test]
async fn custom_resource_validation_rules_must_fail_validation_for_create_of_a_custom_resource_that_does_not_satisfy_the_x_kubernetes_validations_rules()
 {
    let host = host().await;
    let rules = json!([{ "rule": "self.x + self.y > 0" }]);
    let number = json!({ "type": "integer", "default": 0 });
    let spec =
        json!({ "type": "object", "properties": { "x": number, "y": number }, "x-kubernetes-validations": rules });
    define(&host, typed(spec)).await;
    let refused = send(&host, "POST", THINGS, &[], thing(r#""spec":{"x":-1,"y":0}"#)).await;
    let message = expect(&refused, 422)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("failed rule: self.x + self.y > 0"), "{message}");
    expect(&send(&host, "POST", THINGS, &[], thing(r#""spec":{"x":1,"y":0}"#)).await, 201);
}

#[tokio::test]
async fn custom_resource_validation_rules_must_fail_update_of_a_custom_resource_that_does_not_satisfy_a_x_kubernetes_validations_transition_rule()
 {
    let host = host().await;
    let rules = json!([{ "rule": "self.num >= oldSelf.num", "message": "num may not be less" }]);
    let spec =
        json!({ "type": "object", "properties": { "num": { "type": "integer" } }, "x-kubernetes-validations": rules });
    define(&host, typed(spec)).await;
    expect(&send(&host, "POST", THINGS, &[], thing(r#""spec":{"num":5}"#)).await, 201);
    merge(&host, &format!("{THINGS}/t"), json!({ "spec": { "num": 6 } })).await;
    let patch = json!({ "spec": { "num": 4 } }).to_string();
    let refused = send(&host, "PATCH", &format!("{THINGS}/t"), &super::MERGE, patch).await;
    let message = expect(&refused, 422)["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("num may not be less"), "{message}");
}

#[tokio::test]
async fn custom_resource_validation_rules_must_fail_create_of_a_custom_resource_definition_that_contains_a_x_kubernetes_validations_rule_with_a_syntax_error()
 {
    let host = host().await;
    let rules = json!([{ "rule": "self = 42" }]);
    let spec = json!({ "type": "object", "x-kubernetes-validations": rules });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": typed(spec) } });
    let names = json!({ "plural": "things", "singular": "thing", "kind": "Thing" });
    let spec =
        json!({ "group": "conformance.example.com", "scope": "Namespaced", "names": names, "versions": [version] });
    let refused =
        send(&host, "POST", DEFINITIONS, &[], json!({ "metadata": { "name": NAME }, "spec": spec }).to_string()).await;
    let status = expect(&refused, 422);
    let field = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule";
    assert_eq!(status["details"]["causes"][0]["field"], field, "{status:#}");
}

#[tokio::test]
async fn field_validation_should_create_apply_a_valid_cr_for_crd_with_validation_schema() {
    let host = host().await;
    let spec = json!({ "type": "object", "properties": { "foo": { "type": "string" } } });
    define(&host, json!({ "type": "object", "properties": { "spec": spec } })).await;
    let path = format!("{THINGS}/t?fieldManager=m&fieldValidation=Strict");
    let applied = send(&host, "PATCH", &path, &APPLY, thing(r#""spec":{"foo":"a"}"#)).await;
    assert_eq!(expect(&applied, 201)["spec"], json!({ "foo": "a" }));
    let created = thing(r#""spec":{"foo":"b"}"#).replace(r#""name":"t""#, r#""name":"u""#);
    let created = send(&host, "POST", &format!("{THINGS}?fieldValidation=Strict"), &[], created).await;
    assert_eq!(created.header("warning"), "");
    expect(&created, 201);
}

#[tokio::test]
async fn aggregated_discovery_should_support_raw_aggregated_discovery_request_for_crds() {
    let host = host().await;
    define(&host, anything()).await;
    for version in ["v2", "v2beta1"] {
        let accept = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
        let list = expect(&send(&host, "GET", &format!("{CLUSTER}/apis"), &[("accept", &accept)], "").await, 200);
        let items = list["items"].as_array().expect("items");
        let group = items.iter().find(|item| item["metadata"]["name"] == "conformance.example.com").expect("the group");
        let kind = &group["versions"][0]["resources"][0]["responseKind"];
        assert_eq!(*kind, json!({ "group": "conformance.example.com", "version": "v1", "kind": "Thing" }));
    }
    create(&host, THINGS, serde_json::from_str(&thing(r#""spec":{}"#)).expect("JSON")).await;
}
