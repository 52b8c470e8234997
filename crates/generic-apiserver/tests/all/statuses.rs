// SPDX-License-Identifier: Apache-2.0
//! Tests of refusals: details, warnings, and unchanged objects.

use serde_json::{Value, json};

use crate::support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";
const W: &str = "/apis/example.com/v1/namespaces/n/widgets";
const WW: &str = "/apis/example.com/v1/namespaces/n/widgets/w";

/// The router of typed kinds answers below their groups, with empty details.
#[tokio::test]
async fn unknown_resources_of_typed_groups_get_a_status() {
    let world = World::new().await;
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    let missing = "the server could not find the requested resource";
    let method = "the server does not allow this method on the requested resource";
    let accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let watched = format!(
        "406: Not Acceptable\n\nAvailable representations: {accepted}, application/json;stream=watch, \
         application/vnd.kubernetes.protobuf;stream=watch"
    );
    let one = format!("406: Not Acceptable\n\nAvailable representations: {accepted}");
    let without_body = format!("415: Unsupported Media Type\n\nAvailable representations: {accepted}");
    let patch = "415: Unsupported Media Type\n\nAvailable representations: ";
    for (verb, path, accept, code, reason, message) in [
        ("GET", "/apis/example.com/v2/widgets", "*/*", 404, "NotFound", missing),
        ("GET", "/apis/example.com/v1/things", "*/*", 404, "NotFound", missing),
        ("POST", "/apis/example.com/v1/namespaces/n/widgets/w/log", "*/*", 404, "NotFound", missing),
        ("GET", "/api/v1/namespaces/n/things/x", "*/*", 404, "NotFound", missing),
        ("GET", "/apis/example.com/v9", "*/*", 404, "NotFound", missing),
        ("POST", WW, "*/*", 405, "MethodNotAllowed", method),
        ("GET", W, "text/plain", 406, "NotAcceptable", &watched),
        ("GET", W, "application/*", 406, "NotAcceptable", &watched),
        ("GET", WW, "text/plain;q=0.5, text/html", 406, "NotAcceptable", &one),
        ("POST", W, "text/plain", 415, "UnsupportedMediaType", &without_body),
        ("PATCH", WW, "*/*", 415, "UnsupportedMediaType", patch),
    ] {
        let path = format!("/clusters/a{path}");
        let answer = world.raw(verb, &path, &[("accept", accept)], "").await;
        let status = answer.expect_failure(code, reason, message);
        assert_eq!(status["details"], json!({}), "{verb} {path}");
    }
    // The refusal of a patch that does not apply has no details.
    let patch = json!([{"op": "test", "path": "/spec/size", "value": 7}]);
    let refused = world.patch("json-patch+json", &format!("{WIDGETS}/w"), &patch).await.expect_code(422);
    assert_eq!(refused["details"], json!({}));
}

#[tokio::test]
async fn refusals_carry_warnings() {
    let world = World::new().await;
    let body = json!({"metadata": {"name": "w"}, "spec": {"size": -1, "sise": 1}});
    let answer = world.send("POST", WIDGETS, &body).await;
    assert_eq!(answer.headers["warning"], "299 - \"unknown field \\\"spec.sise\\\"\"");
    answer.expect_code(422);
    let body = json!({"metadata": {"name": "w", "namespace": "m"}, "spec": {"sise": 1}});
    let answer = world.send("POST", WIDGETS, &body).await;
    assert_eq!((answer.code, answer.headers.contains_key("warning")), (400, true));
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    let path = format!("{WIDGETS}/w");
    let answer = world.patch("merge-patch+json", &path, &json!({"spec": {"size": -1, "sise": 1}})).await;
    assert_eq!((answer.code, answer.headers.contains_key("warning")), (422, true));
}

/// A change cannot alter the marks of an object that is being deleted.
#[tokio::test]
async fn marks_of_deletion_are_the_servers() {
    let world = World::new().await;
    let path = format!("{WIDGETS}/w");
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w", "finalizers": ["a.b/c"]}})).await.expect_code(201);
    world.send("DELETE", &path, &Value::Null).await.expect_code(200);
    let before = world.get(&path).await.expect_code(200)["metadata"]["deletionTimestamp"].clone();
    for time in [json!("2033-07-27T21:00:00Z"), Value::Null] {
        let patch = json!({"metadata": {"deletionTimestamp": time, "labels": {"a": "b"}}});
        let patched = world.patch("merge-patch+json", &path, &patch).await.expect_code(200);
        assert_eq!(patched["metadata"]["deletionTimestamp"], before);
    }
    // A new object may have a resource version that is not a number.
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "v", "resourceVersion": "x"}})).await.expect_code(201);
}
