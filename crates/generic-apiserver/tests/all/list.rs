// SPDX-License-Identifier: Apache-2.0
//! Lists: order, pages, past revisions, clusters.

use eventlog::{EventLog, Revision};
use serde_json::{Value, json};

use crate::support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items");
    let text = |item: &Value, name: &str| item["metadata"][name].as_str().unwrap_or_default().to_owned();
    items.iter().map(|item| format!("{}/{}", text(item, "namespace"), text(item, "name"))).collect()
}

async fn world(names: &[&str]) -> World {
    let world = World::new().await;
    for name in names {
        create(&world, "a", "n", name).await;
    }
    world
}

async fn create(world: &World, cluster: &str, namespace: &str, name: &str) {
    let path = format!("/clusters/{cluster}/apis/example.com/v1/namespaces/{namespace}/widgets");
    world.send("POST", &path, &json!({"metadata": {"name": name, "labels": {"x": name}}})).await.expect_code(201);
}

#[tokio::test]
async fn lists_are_in_key_order() {
    let world = world(&["ab", "a.b", "a-b"]).await;
    create(&world, "a", "n-b", "a").await;
    let list = world.get("/clusters/a/apis/example.com/v1/widgets").await.expect_code(200);
    assert_eq!(names(&list), ["n-b/a", "n/a-b", "n/a.b", "n/ab"]);
}

/// The server keeps only the most recently written objects decoded: of all others it reads the required parts from their bytes.
#[tokio::test]
async fn old_objects_are_selected_and_changed_like_recent_ones() {
    let world = world(&["a", "b"]).await;
    for size in 0..1100 {
        let path = format!("{WIDGETS}/b");
        world.patch("merge-patch+json", &path, &json!({"spec": {"size": size}})).await.expect_code(200);
    }
    let list = world.get(&format!("{WIDGETS}?labelSelector=x%3Da")).await.expect_code(200);
    assert_eq!(names(&list), ["n/a"]);
    let path = format!("{WIDGETS}/a");
    let patched = world.patch("merge-patch+json", &path, &json!({"metadata": {"labels": {"y": "1"}}})).await;
    assert_eq!(patched.expect_code(200)["metadata"]["labels"], json!({"x": "a", "y": "1"}));
    let list = world.get(&format!("{WIDGETS}?labelSelector=y%3D1,x%3Da")).await.expect_code(200);
    assert_eq!(names(&list), ["n/a"]);
}

#[tokio::test]
async fn pages_are_of_the_first_ones_snapshot() {
    let world = world(&["a", "b", "c", "d"]).await;
    let first = world.get(&format!("{WIDGETS}?limit=2")).await.expect_code(200);
    assert_eq!(names(&first), ["n/a", "n/b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    let token = first["metadata"]["continue"].as_str().expect("a token");
    world.send("DELETE", &format!("{WIDGETS}/d"), &Value::Null).await.expect_code(200);
    create(&world, "a", "n", "bb").await;
    let path = format!("{WIDGETS}?limit=2&continue={token}");
    let rest = world.get(&path).await.expect_code(200);
    assert_eq!(names(&rest), ["n/c", "n/d"]);
    assert_eq!(rest["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(rest["metadata"].get("continue"), None);
    assert_eq!(rest["metadata"].get("remainingItemCount"), None);
    for _ in 0..1100 {
        let path = format!("{WIDGETS}/a");
        let size = world.server.position().0;
        world.patch("merge-patch+json", &path, &json!({"spec": {"size": size}})).await.expect_code(200);
    }
    assert_eq!(world.get(&path).await.expect_code(200), rest, "from the log, once memory does not reach that far");
    world.log.compact(world.log.head()).await.expect("compaction");
    let expired = world.get(&path).await.expect_code(410);
    assert_eq!(expired["reason"], "Expired");
    let token = expired["metadata"]["continue"].as_str().expect("a token to go on");
    let rest = world.get(&format!("{WIDGETS}?continue={token}")).await.expect_code(200);
    assert_eq!(names(&rest), ["n/bb", "n/c"]);
}

#[tokio::test]
async fn the_past_is_listed_exactly() {
    let world = world(&["a"]).await;
    let then = world.server.position();
    create(&world, "a", "n", "b").await;
    let exact = format!("{WIDGETS}?resourceVersion={then}&resourceVersionMatch=Exact");
    let list = world.get(&exact).await.expect_code(200);
    assert_eq!(names(&list), ["n/a"]);
    assert_eq!(list["metadata"]["resourceVersion"], then.to_string());
    let newer = world.get(&format!("{WIDGETS}?resourceVersion={then}")).await.expect_code(200);
    assert_eq!(names(&newer), ["n/a", "n/b"]);
}

#[tokio::test]
async fn a_future_revision_is_awaited() {
    let world = world(&["a"]).await;
    let next = world.server.position().0 + 5;
    let path = format!("{WIDGETS}?resourceVersion={next}");
    let list = world.get(&path);
    let pass = async { while world.wall.fire_next(None).is_none() {} };
    let (answer, ()) = futures::future::join(list, pass).await;
    answer.expect_failure(
        504,
        "Timeout",
        &format!("Timeout: Too large resource version: {next}, current: {}", Revision(next - 5)),
    );
}

#[tokio::test]
async fn selectors_narrow_lists_and_hide_the_count() {
    let world = world(&["a", "b", "c"]).await;
    let list = world.get(&format!("{WIDGETS}?labelSelector=x+in+(a,c)&limit=1")).await.expect_code(200);
    assert_eq!(names(&list), ["n/a"]);
    assert!(list["metadata"]["continue"].is_string());
    assert_eq!(list["metadata"].get("remainingItemCount"), None);
    let list = world.get(&format!("{WIDGETS}?fieldSelector=metadata.name!%3Da,spec.color%3Dgrey")).await;
    assert_eq!(names(&list.expect_code(200)), ["n/b", "n/c"]);
}

#[tokio::test]
async fn all_clusters_are_listed_with_their_names() {
    let world = world(&["a"]).await;
    create(&world, "b", "n", "w").await;
    create(&world, "b", "n-b", "w").await;
    let list = world.get("/clusters/*/apis/example.com/v1/widgets").await.expect_code(200);
    let clusters: Vec<&Value> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["metadata"]["annotations"]["example.com/cluster"])
        .collect();
    assert_eq!(clusters, ["a", "b", "b"]);
    let list = world.get("/clusters/*/apis/example.com/v1/namespaces/n/widgets").await.expect_code(200);
    assert_eq!(names(&list), ["n/a", "n/w"]);
    let refused = world.send("POST", "/clusters/*/apis/example.com/v1/namespaces/n/widgets", &json!({})).await;
    assert_eq!(refused.code, 405);
}

#[tokio::test]
async fn an_empty_list_has_items() {
    let world = World::new().await;
    let list = world.get(WIDGETS).await.expect_code(200);
    assert_eq!((&list["kind"], &list["items"]), (&json!("WidgetList"), &json!([])));
}
