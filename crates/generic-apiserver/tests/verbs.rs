// SPDX-License-Identifier: Apache-2.0
//! Every verb through raw requests.

mod support;

use serde_json::{Value, json};

use support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";

fn widget(name: &str, size: i64) -> Value {
    json!({"metadata": {"name": name}, "spec": {"size": size}})
}

#[tokio::test]
async fn an_object_lives_through_all_verbs() {
    let world = World::new().await;
    let created = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    assert_eq!(created["kind"], "Widget");
    assert_eq!(created["apiVersion"], "example.com/v1");
    assert_eq!(created["metadata"]["namespace"], "n");
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["metadata"]["creationTimestamp"], "2023-07-27T20:00:00Z");
    assert_eq!(created["spec"], json!({"size": 1, "color": "grey"}));
    let path = format!("{WIDGETS}/w");
    assert_eq!(world.get(&path).await.expect_code(200), created);

    let mut changed = created.clone();
    changed["spec"]["size"] = json!(2);
    changed["status"] = json!({"phase": "ignored"});
    let updated = world.send("PUT", &path, &changed).await.expect_code(200);
    assert_eq!(updated["metadata"]["generation"], 2);
    assert_eq!(updated["status"], json!({}));
    assert_eq!(updated["metadata"]["uid"], created["metadata"]["uid"]);

    let status = format!("{path}/status");
    let patch = json!({"status": {"phase": "Ready"}, "spec": {"size": 9}});
    let patched = world.patch("merge-patch+json", &status, &patch).await.expect_code(200);
    assert_eq!(patched["status"]["phase"], "Ready");
    assert_eq!(patched["spec"]["size"], 2);
    assert_eq!(patched["metadata"]["generation"], 2);

    let list = world.get(WIDGETS).await.expect_code(200);
    assert_eq!(list["kind"], "WidgetList");
    assert_eq!(list["items"], json!([patched]));
    assert_eq!(list["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"]);

    let deleted = world.send("DELETE", &path, &Value::Null).await.expect_code(200);
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "w", "group": "example.com", "kind": "widgets", "uid": created["metadata"]["uid"]},
    });
    assert_eq!(deleted, expected);
    let message = "widgets.example.com \"w\" not found";
    world.get(&path).await.expect_failure(404, "NotFound", message);
}
