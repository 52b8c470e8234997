// SPDX-License-Identifier: Apache-2.0
//! Tests of refusals: details, warnings, and unchanged objects.

use apimachinery::catalogue::ResourceInfo;
use apimachinery::{DynamicObject, GroupResource, Status};
use generic_apiserver::{Attributes, Generic, Plugin, Reads};
use serde_json::{Value, json};

use crate::support::{World, row};

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
        // The method is judged before the media types.
        ("POST", WW, "text/plain", 405, "MethodNotAllowed", method),
        ("PUT", W, "text/plain", 405, "MethodNotAllowed", method),
        ("PATCH", W, "*/*", 405, "MethodNotAllowed", method),
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

/// Source: k8s.io/apiserver pkg/storage/interfaces.go, cacher/delegator.go and etcd3/store.go at v0.33 to v0.36: the error of
/// the watch cache is not translated for a get and a watch, that of a list and of the storage behind the cache is.
#[tokio::test]
async fn invalid_resource_versions_get_the_error_of_the_storage() {
    let events = ResourceInfo { namespaced: true, ..row("", "v1", "Event", "events") };
    let world = World::with(|builder| builder.resource::<DynamicObject>(&events, Generic)).await;
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    let events = "/clusters/a/api/v1/namespaces/n/events";
    for (text, why) in
        [("x", "invalid syntax"), ("+5", "invalid syntax"), ("18446744073709551616", "value out of range")]
    {
        let query = format!("resourceVersion={}", text.replace('+', "%2B"));
        let raw = format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {why}");
        let refused = format!("invalid resource version: {raw}");
        for (path, code, reason, message) in [
            (format!("{WIDGETS}/w?{query}"), 500, "", &raw),
            (format!("{WIDGETS}/missing?{query}"), 500, "", &raw),
            (format!("{WIDGETS}?{query}"), 400, "BadRequest", &refused),
            (format!("{WIDGETS}?{query}&limit=1"), 400, "BadRequest", &refused),
            (format!("{WIDGETS}?{query}&watch=true"), 500, "", &raw),
            (format!("{events}/missing?{query}"), 400, "BadRequest", &refused),
            (format!("{events}?{query}"), 400, "BadRequest", &refused),
            (format!("{events}?{query}&watch=true"), 500, "", &raw),
        ] {
            world.get(&path).await.expect_failure(code, reason, message);
        }
    }
}

/// Returns a warning for every Widget; refuses those of the same name.
struct Warner(&'static str);

impl Plugin for Warner {
    fn name(&self) -> &'static str {
        self.0
    }

    fn validate(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        if attributes.name != self.0 {
            return Ok(());
        }
        let resource = GroupResource { group: "example.com".to_owned(), resource: "widgets".to_owned() };
        Err(Status::forbidden(&resource, attributes.name, "by name"))
    }

    fn warnings(&self, _: &mut Attributes<'_>, _: &mut Reads<'_>) -> Vec<String> {
        vec![self.0.to_owned()]
    }
}

#[tokio::test]
async fn plugins_warn_also_about_refused_requests() {
    let world = World::with(|builder| builder.admission(Warner("first")).admission(Warner("second"))).await;
    let both = ["299 - \"first\"", "299 - \"second\""];
    let path = |name: &str| format!("{WIDGETS}/{name}");
    let body = |name: &str| json!({"metadata": {"name": name}});
    for (what, answer, code, expected) in [
        ("taken", world.send("POST", WIDGETS, &body("w")).await, 201, &both[..]),
        ("is there already", world.send("POST", WIDGETS, &body("w")).await, 409, &both[..]),
        ("refused by the second", world.send("POST", WIDGETS, &body("second")).await, 403, &both[..1]),
        ("refused by the first", world.send("POST", WIDGETS, &body("first")).await, 403, &[]),
        ("deleted", world.send("DELETE", &path("w"), &Value::Null).await, 200, &both[..]),
    ] {
        assert_eq!((answer.code, &answer.warnings()[..]), (code, expected), "{what}");
    }
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
