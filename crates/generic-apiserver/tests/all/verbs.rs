// SPDX-License-Identifier: Apache-2.0
//! Successful raw requests of every verb.

use serde_json::{Value, json};

use crate::support::World;

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";
const GADGETS: &str = "/clusters/a/apis/custom.example.com/v1alpha1/namespaces/n/gadgets";

fn widget(name: &str, size: i64) -> Value {
    json!({"metadata": {"name": name}, "spec": {"size": size}})
}

#[tokio::test]
async fn an_object_passes_all_verbs() {
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
    let mut item = patched.clone();
    for field in ["apiVersion", "kind"] {
        item.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(list["items"], json!([item]), "the list says what its items are");
    world.send("POST", GADGETS, &json!({"metadata": {"name": "g"}})).await.expect_code(201);
    let gadgets = world.get(GADGETS).await.expect_code(200);
    assert_eq!(
        (&gadgets["items"][0]["kind"], &gadgets["items"][0]["apiVersion"]),
        (&json!("Gadget"), &json!("custom.example.com/v1alpha1"))
    );
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

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let world = World::new().await;
    let created = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let path = format!("{WIDGETS}/w");
    let before = world.server.position();
    assert_eq!(world.send("PUT", &path, &created).await.expect_code(200), created);
    let same = world.patch("merge-patch+json", &path, &json!({"spec": {"size": 1}})).await.expect_code(200);
    assert_eq!(same, created);
    assert_eq!(world.server.position(), before);
}

#[tokio::test]
async fn heartbeats_are_volatile() {
    let world = World::new().await;
    world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let status = format!("{WIDGETS}/w/status");
    let beat = json!({"status": {"heartbeat": "now"}});
    let beaten = world.patch("merge-patch+json", &status, &beat).await.expect_code(200);
    assert_eq!(world.get(&format!("{WIDGETS}/w")).await.expect_code(200), beaten);
    let both = json!({"status": {"heartbeat": "later", "phase": "Ready"}});
    world.patch("merge-patch+json", &status, &both).await.expect_code(200);
    let head = eventlog::EventLog::head(&world.log);
    let entries = eventlog::EventLog::read(&world.log, eventlog::Revision(0), head, None).await.expect("entries");
    let widgets: Vec<bool> = entries
        .iter()
        .filter(|entry| &*entry.key.resource == "example.com/widgets")
        .map(|entry| entry.volatile)
        .collect();
    assert_eq!(widgets, [false, false], "the creation and the real change are history");
}

#[tokio::test]
async fn a_dry_run_answers_and_stores_nothing() {
    let world = World::new().await;
    let before = world.server.position();
    let path = format!("{WIDGETS}?dryRun=All");
    let tried = world.send("POST", &path, &widget("w", 1)).await.expect_code(201);
    assert_eq!(tried["metadata"].get("resourceVersion"), None);
    assert!(tried["metadata"]["uid"].is_string());
    assert_eq!(world.get(&format!("{WIDGETS}/w")).await.code, 404);
    assert_eq!(world.server.position(), before);
    let created = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let path = format!("{WIDGETS}/w?dryRun=All");
    let tried = world.patch("merge-patch+json", &path, &json!({"spec": {"size": 5}})).await.expect_code(200);
    assert_eq!(tried["spec"]["size"], 5);
    assert_eq!(tried["metadata"]["generation"], 2);
    assert_eq!(tried["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    world.send("DELETE", &format!("{WIDGETS}/w"), &json!({"dryRun": ["All"]})).await.expect_code(200);
    assert_eq!(world.get(&format!("{WIDGETS}/w")).await.expect_code(200), created);
}

#[tokio::test]
async fn unknown_fields_are_dropped_with_a_warning() {
    let world = World::new().await;
    let body = json!({"metadata": {"name": "w"}, "spec": {"sise": 1, "color": "beige"}});
    let answer = world.send("POST", WIDGETS, &body).await;
    let warnings: Vec<&str> =
        answer.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect();
    assert_eq!(warnings, [r#"299 - "unknown field \"spec.sise\"""#, r#"299 - "beige is \"deprecated\"""#]);
    assert_eq!(answer.expect_code(201)["spec"], json!({"size": 0, "color": "beige"}));
    let body = json!({"metadata": {"name": "v"}, "x": 1});
    let answer = world.send("POST", &format!("{WIDGETS}?fieldValidation=Ignore"), &body).await;
    assert_eq!(answer.headers.get("warning"), None);
}

#[tokio::test]
async fn names_are_generated_and_never_twice() {
    let world = World::new().await;
    let body = json!({"metadata": {"generateName": "w-"}});
    let first = world.send("POST", WIDGETS, &body).await.expect_code(201);
    let second = world.send("POST", WIDGETS, &body).await.expect_code(201);
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("a name").to_owned();
    assert_ne!(name(&first), name(&second));
    for name in [name(&first), name(&second)] {
        let suffix = name.strip_prefix("w-").expect("the prefix");
        assert_eq!(suffix.len(), 5);
        assert!(suffix.chars().all(|character| "bcdfghjklmnpqrstvwxz2456789".contains(character)), "{name}");
    }
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    let again = World::new().await;
    let repeated = again.send("POST", WIDGETS, &body).await.expect_code(201);
    assert_eq!(first, repeated, "the same history gives the same names and uids");
}

#[tokio::test]
async fn an_object_that_is_created_again_has_another_uid() {
    let world = World::new().await;
    let first = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    world.send("DELETE", &format!("{WIDGETS}/w"), &Value::Null).await.expect_code(200);
    let second = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

#[tokio::test]
async fn finalizers_hold_a_deletion() {
    let world = World::new().await;
    let body = json!({"metadata": {"name": "w", "finalizers": ["example.com/f"]}});
    world.send("POST", WIDGETS, &body).await.expect_code(201);
    let path = format!("{WIDGETS}/w");
    let marked = world.send("DELETE", &path, &Value::Null).await.expect_code(200);
    assert_eq!(marked["kind"], "Widget");
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2023-07-27T20:00:00Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(world.send("DELETE", &path, &Value::Null).await.expect_code(200), marked);
    let more = json!({"metadata": {"finalizers": ["example.com/f", "example.com/g"]}});
    world.patch("merge-patch+json", &path, &more).await.expect_failure(
        422,
        "Invalid",
        "Widget.example.com \"w\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the \
         object is being deleted, found new finalizers []string{\"example.com/g\"}",
    );
    let revive = json!({"metadata": {"deletionTimestamp": null}, "spec": {"size": 3}});
    let kept = world.patch("merge-patch+json", &path, &revive).await.expect_code(200);
    assert_eq!(kept["metadata"]["deletionTimestamp"], "2023-07-27T20:00:00Z");
    let before = world.server.position().0;
    let released = json!({"metadata": {"finalizers": null}});
    world.patch("merge-patch+json", &path, &released).await.expect_code(200);
    assert_eq!(world.get(&path).await.code, 404);
    assert_eq!(world.server.position().0, before + 1, "one entry, the deletion");
}

#[tokio::test]
async fn policies_leave_their_finalizers() {
    let world = World::new().await;
    for (policy, finalizer) in [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")] {
        world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
        let path = format!("{WIDGETS}/w");
        let marked = world.send("DELETE", &path, &json!({"propagationPolicy": policy})).await.expect_code(200);
        assert_eq!(marked["metadata"]["finalizers"], json!([finalizer]));
        world.send("DELETE", &path, &json!({"propagationPolicy": "Background"})).await.expect_code(200);
        assert_eq!(world.get(&path).await.code, 404, "a later policy takes the finalizer back");
    }
}

#[tokio::test]
async fn deletions_have_preconditions() {
    let world = World::new().await;
    let created = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let path = format!("{WIDGETS}/w");
    let uid = created["metadata"]["uid"].as_str().expect("a uid");
    let version = created["metadata"]["resourceVersion"].as_str().expect("a version");
    world.send("DELETE", &path, &json!({"preconditions": {"uid": "x"}})).await.expect_failure(
        409,
        "Conflict",
        &format!(
            "Operation cannot be fulfilled on Widget.example.com \"w\": the UID in the precondition (x) does not match \
             the UID in record ({uid}). The object might have been deleted and then recreated"
        ),
    );
    world.send("DELETE", &path, &json!({"preconditions": {"resourceVersion": "1"}})).await.expect_failure(
        409,
        "Conflict",
        &format!(
            "Operation cannot be fulfilled on Widget.example.com \"w\": the ResourceVersion in the precondition (1) does \
             not match the ResourceVersion in record ({version}). The object might have been modified"
        ),
    );
    let both = json!({"preconditions": {"uid": uid, "resourceVersion": version}});
    world.send("DELETE", &path, &both).await.expect_code(200);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let world = World::new().await;
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1")] {
        let body = json!({"metadata": {"name": name, "labels": {"x": label}}});
        world.send("POST", WIDGETS, &body).await.expect_code(201);
    }
    let deleted = world.send("DELETE", &format!("{WIDGETS}?labelSelector=x%3D1"), &Value::Null).await.expect_code(200);
    assert_eq!(deleted["kind"], "WidgetList");
    assert_eq!(deleted["items"].as_array().map(Vec::len), Some(2));
    let left = world.get(WIDGETS).await.expect_code(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn status_of_a_custom_kind_keeps_metadata() {
    let world = World::new().await;
    let gadget = json!({"metadata": {"name": "g"}, "spec": {"a": 1}, "status": {"b": 1}});
    let created = world.send("POST", GADGETS, &gadget).await.expect_code(201);
    assert_eq!(created.get("status"), None);
    let path = format!("{GADGETS}/g/status");
    let patch = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"b": 2}});
    let patched = world.patch("merge-patch+json", &path, &patch).await.expect_code(200);
    assert_eq!(patched["metadata"].get("labels"), None);
    assert_eq!((&patched["spec"], &patched["status"]), (&json!({"a": 1}), &json!({"b": 2})));
    let mut whole = patched.clone();
    whole["metadata"]["labels"] = json!({"x": "y"});
    whole["status"] = json!({"b": 3});
    let updated = world.send("PUT", &path, &whole).await.expect_code(200);
    assert_eq!(updated["metadata"].get("labels"), None);
    assert_eq!(updated["status"], json!({"b": 3}));
    let stale = world.send("PUT", &path, &whole).await;
    assert_eq!(stale.code, 409);
}

#[tokio::test]
async fn scale_reads_and_writes_replicas() {
    let world = World::new().await;
    let scale = format!("{WIDGETS}/w/scale");
    world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let read = world.get(&scale).await.expect_code(200);
    assert_eq!((&read["kind"], &read["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table = world.raw("GET", &scale, &table, "").await.expect_code(200);
    assert_eq!((&table["kind"], &table["rows"][0]["cells"]), (&json!("Table"), &json!(["w", 0, 0, "0s"])));
    world.patch("merge-patch+json", &scale, &json!({"spec": {"replicas": -1}})).await.expect_failure(
        422,
        "Invalid",
        "Scale.autoscaling \"w\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    );
}

#[tokio::test]
async fn owners_named_twice_are_kept_once_with_a_warning() {
    let world = World::new().await;
    let owner = json!({ "apiVersion": "v1", "kind": "A", "name": "a", "uid": "1" });
    let other = json!({ "apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "blockOwnerDeletion": true });
    let mut object = widget("w", 1);
    object["metadata"]["ownerReferences"] = json!([owner, other, owner]);
    let text = "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, \
                and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1\"";
    let created = world.send("POST", WIDGETS, &object).await;
    assert_eq!(created.headers["warning"], text);
    assert_eq!(created.expect_code(201)["metadata"]["ownerReferences"], json!([owner, other]));
    let path = format!("{WIDGETS}/w");
    let patch = json!({ "metadata": { "ownerReferences": [other, other] } });
    let patched = world.patch("merge-patch+json", &path, &patch).await;
    let when = "contains duplicate entries after mutating admission happens; API server";
    assert!(patched.headers["warning"].to_str().expect("text").contains(when));
    assert_eq!(patched.expect_code(200)["metadata"]["ownerReferences"], json!([other]));
}

#[tokio::test]
async fn tables_and_partial_objects_are_selected_by_accept() {
    let world = World::new().await;
    world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = world.raw("GET", WIDGETS, &[("accept", accept)], "").await.expect_code(200);
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(table["rows"][0]["cells"], json!(["w", 1, "0s"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let names: Vec<&Value> =
        table["columnDefinitions"].as_array().expect("columns").iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Size", "Age"]);
    let column =
        |place: usize, field: &str| table["columnDefinitions"][place][field].as_str().expect("text").to_owned();
    assert_eq!([column(0, "type"), column(0, "format")], ["string", "name"]);
    assert!(column(0, "description").starts_with("Name must be unique within a namespace. "));
    assert_eq!([column(2, "type"), column(2, "format")], ["date", ""]);
    assert!(column(2, "description").starts_with("CreationTimestamp is a timestamp representing the server time "));
    let path = format!("{WIDGETS}/w?includeObject=None");
    let table = world.raw("GET", &path, &[("accept", accept)], "").await.expect_code(200);
    assert_eq!(table["rows"][0].get("object"), None);
    let path = format!("{WIDGETS}/w?includeObject=All");
    assert_eq!(world.raw("GET", &path, &[("accept", accept)], "").await.code, 422);
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let partial = world.raw("GET", WIDGETS, &[("accept", accept)], "").await.expect_code(200);
    assert_eq!(partial["kind"], "PartialObjectMetadataList");
    assert_eq!(partial["items"][0].get("spec"), None);
    let answer = world.raw("GET", WIDGETS, &[("accept", "application/vnd.kubernetes.protobuf")], "").await;
    assert_eq!((answer.code, answer.json()["reason"].clone()), (406, json!("NotAcceptable")));
}

#[tokio::test]
async fn discovery_health_and_version_are_per_cluster() {
    let world = World::new().await;
    assert_eq!(world.get("/clusters/a/livez").await.text, "ok");
    assert_eq!(world.get("/clusters/a/version/").await.expect_code(200)["gitVersion"], "v1.27.1");
    let groups = world.get("/clusters/a/apis").await.expect_code(200);
    assert_eq!(groups["groups"][1]["preferredVersion"], json!({"groupVersion": "example.com/v1", "version": "v1"}));
    let resources = world.get("/clusters/a/apis/example.com/v1").await.expect_code(200);
    assert_eq!(
        resources["resources"][0],
        json!({
            "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["wd"], "categories": ["all"],
        })
    );
    assert_eq!(resources["resources"][2]["name"], "widgets/status");
    assert_eq!(world.get("/clusters/a/api").await.expect_code(200)["versions"], json!(["v1"]));
}

#[tokio::test]
async fn yaml_is_accepted_and_returned() {
    let world = World::new().await;
    let headers = [("content-type", "application/yaml; charset=utf-8"), ("accept", "application/yaml")];
    let body = "metadata:\n  name: w\nspec:\n  size: 3\n";
    let answer = world.raw("POST", WIDGETS, &headers, body).await;
    assert_eq!((answer.code, answer.headers["content-type"].as_bytes()), (201, &b"application/yaml"[..]));
    assert!(answer.text.contains("\n  size: 3\n"), "{}", answer.text);
    let both = [("accept", "application/yaml;q=0.5,application/json")];
    assert_eq!(world.raw("GET", WIDGETS, &both, "").await.expect_code(200)["kind"], "WidgetList");
    let answer = world.raw("GET", &format!("{WIDGETS}/v"), &headers, "").await;
    assert_eq!(answer.code, 404);
    assert!(answer.text.contains("reason: NotFound\n"), "{}", answer.text);
    assert_eq!(world.raw("GET", &format!("{WIDGETS}?watch=true"), &headers, "").await.code, 406);
    assert_eq!(world.raw("POST", WIDGETS, &headers, "a: [").await.code, 400);
}

#[tokio::test]
async fn duplicate_keys_are_reported_for_yaml_as_for_json() {
    let world = World::new().await;
    let headers = [("content-type", "application/yaml")];
    let body = "metadata:\n  name: w\nspec:\n  size: 3\n  size: 4\n  what: 1\n";
    let strict = world.raw("POST", &format!("{WIDGETS}?fieldValidation=Strict"), &headers, body).await.expect_code(400);
    let told = "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: yaml: unmarshal errors:\n  \
                line 5: key \"size\" already set in map, unknown field \"spec.what\"";
    assert_eq!(strict["message"], told);
    let answer = world.raw("POST", WIDGETS, &headers, body).await;
    let warnings: Vec<_> = answer.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect();
    let expected = [r#"299 - "line 5: key \"size\" already set in map""#, r#"299 - "unknown field \"spec.what\"""#];
    assert_eq!(warnings, expected);
    assert_eq!(answer.expect_code(201)["spec"]["size"], 4);
}

#[tokio::test]
async fn a_get_waits_for_its_revision() {
    let world = World::new().await;
    let created = world.send("POST", WIDGETS, &widget("w", 1)).await.expect_code(201);
    let path = format!("{WIDGETS}/w?resourceVersion=");
    let version = created["metadata"]["resourceVersion"].as_str().expect("a version");
    for known in ["0", version] {
        assert_eq!(world.get(&format!("{path}{known}")).await.expect_code(200), created);
    }
    let path = format!("{path}1000");
    let (answer, ()) = futures::future::join(world.get(&path), async {
        while world.wall.fire_next(None).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(answer.headers["retry-after"], "1");
    let message = format!("Timeout: Too large resource version: 1000, current: {version}");
    answer.expect_failure(504, "Timeout", &message);
}
