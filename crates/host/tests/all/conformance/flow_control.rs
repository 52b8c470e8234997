// SPDX-License-Identifier: Apache-2.0
//! Priority and fairness, as far as its objects go. Source: kubernetes test/e2e/apimachinery/flowcontrol.go.

use serde_json::{Value, json};

use super::{CLUSTER, create, expect, get, host, merge, send, watch};
use super::{told, types};
use crate::support::Answer;
use host::Host;

const GROUP: &str = "/clusters/shoot--p--a/apis/flowcontrol.apiserver.k8s.io/v1";

/// Creates, gets, lists, watches, patches, replaces and deletes an object, with its status. `change` is a patch, in which
/// `field` has number `value`.
async fn support_api_operations(plural: &str, spec: Value, (field, value): (&str, i64), change: Value) {
    let host = host().await;
    let groups = expect(&get(&host, &format!("{CLUSTER}/apis")).await, 200)["groups"].clone();
    let group =
        groups.as_array().and_then(|all| all.iter().find(|group| group["name"] == "flowcontrol.apiserver.k8s.io"));
    assert_eq!(group.expect("the group")["preferredVersion"]["version"], "v1");
    let resources = expect(&get(&host, GROUP).await, 200)["resources"].clone();
    for name in [plural.to_owned(), format!("{plural}/status")] {
        assert!(resources.as_array().expect("resources").iter().any(|resource| resource["name"] == name), "{name}");
    }

    let all = format!("{GROUP}/{plural}");
    let object = |name: &str| json!({ "metadata": { "name": name, "labels": { "test": "it" } }, "spec": spec });
    let created = create(&host, &all, object("a")).await;
    assert_eq!(created["status"], json!({}));
    let path = format!("{all}/a");
    assert_eq!(expect(&get(&host, &path).await, 200)["spec"], created["spec"]);
    let listed = expect(&get(&host, &format!("{all}?labelSelector=test=it")).await, 200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let from = listed["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let mut watched = watch(&host, &format!("{all}?watch=true&resourceVersion={from}&labelSelector=test=it")).await;

    let patched = merge(&host, &path, change).await;
    assert_eq!(patched.pointer(field), Some(&json!(value)));
    let mut tree = patched.clone();
    tree["metadata"]["annotations"] = json!({ "updated": "true" });
    let replaced = expect(&send(&host, "PUT", &path, &[], tree.to_string()).await, 200);
    assert_eq!(replaced["metadata"]["annotations"]["updated"], "true");
    let condition = json!({ "type": "Dangling", "status": "True", "reason": "E2E", "message": "m",
        "lastTransitionTime": "2023-07-27T20:00:00Z" });
    let with_status = merge(&host, &format!("{path}/status"), json!({ "status": { "conditions": [condition] } })).await;
    assert_eq!(with_status["status"]["conditions"][0]["type"], "Dangling");
    let shown: Answer = get(&host, &format!("{path}/status")).await;
    assert_eq!(expect(&shown, 200)["status"], with_status["status"]);

    expect(&send(&host, "DELETE", &path, &[], "").await, 200);
    assert_eq!(get(&host, &path).await.code, 404);
    assert_eq!(types(&told(&mut watched)), ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]);
    create(&host, &all, object("b")).await;
    expect(&send(&host, "DELETE", &format!("{all}?labelSelector=test=it"), &[], "").await, 200);
    assert_eq!(count(&host, &all).await, 0);
}

async fn count(host: &Host, all: &str) -> usize {
    expect(&get(host, all).await, 200)["items"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn api_priority_and_fairness_should_support_flow_schema_api_operations() {
    let subject = json!({ "kind": "User", "user": { "name": "example-e2e-non-existent-user" } });
    let rule = json!({ "verbs": ["*"], "nonResourceURLs": ["*"] });
    let rules = json!([{ "subjects": [subject], "nonResourceRules": [rule] }]);
    let spec = json!({ "priorityLevelConfiguration": { "name": "global-default" }, "matchingPrecedence": 10000,
        "distinguisherMethod": { "type": "ByUser" }, "rules": rules });
    let change = json!({ "spec": { "matchingPrecedence": 9999 } });
    support_api_operations("flowschemas", spec, ("/spec/matchingPrecedence", 9999), change).await;
}

#[tokio::test]
async fn api_priority_and_fairness_should_support_priority_level_configuration_api_operations() {
    let spec = json!({ "type": "Limited", "limited": { "nominalConcurrencyShares": 2, "limitResponse": { "type": "Reject" } } });
    let change = json!({ "spec": { "limited": { "nominalConcurrencyShares": 4 } } });
    let field = ("/spec/limited/nominalConcurrencyShares", 4);
    support_api_operations("prioritylevelconfigurations", spec, field, change).await;
}
