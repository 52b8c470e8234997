// SPDX-License-Identifier: Apache-2.0
//! Server-side apply and managed fields, as clients see them.
//!
//! Source: docs of Kubernetes, reference/using-api/server-side-apply; kube-api 13.

use std::sync::LazyLock;

use apimachinery::DynamicObject;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::ObjectMeta;
use apimachinery::schema::{Emit, Field, Node, ObjectRef, ObjectSchema, Schema as _};
use generic_apiserver::Strategy;
use serde_json::{Value, json};

use crate::support::{Answer, World, row};

const WIDGET: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets/w";
const THING: &str = "/clusters/a/apis/example.com/v1/things/t";

/// A kind with lists of every topology.
fn schema() -> Node {
    static POOL: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "Pool",
        package: "example.com",
        description: "",
        fields: vec![Field::new("name", Node::String), Field::new("minimum", Node::Integer { bits: 32, signed: true })],
    });
    static SPEC: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "ThingSpec",
        package: "example.com",
        description: "",
        fields: vec![
            Field::new("purpose", Node::String),
            Field {
                merge_key: Some("name"),
                patch_strategy: Some("merge"),
                ..Field::new("pools", Node::List(Box::new(Node::Object(ObjectRef::Static(|| &POOL)))))
            },
            Field::new("zones", Node::List(Box::new(Node::String))),
            Field::new("config", Node::Raw),
        ],
    });
    static ROOT: LazyLock<ObjectSchema> = LazyLock::new(|| ObjectSchema {
        name: "Thing",
        package: "example.com",
        description: "",
        fields: vec![
            Field::new("metadata", ObjectMeta::node()),
            Field { emit: Emit::Always, ..Field::new("spec", Node::Object(ObjectRef::Static(|| &SPEC))) },
        ],
    });
    Node::Object(ObjectRef::Static(|| &ROOT))
}

struct NoHooks;

impl Strategy<DynamicObject> for NoHooks {}

async fn world() -> World {
    let things = ResourceInfo { schema, ..row("example.com", "v1", "Thing", "things") };
    World::with(|builder| builder.resource::<DynamicObject>(&things, NoHooks).own_agents(&["landscape"])).await
}

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

fn thing(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec})
}

impl World {
    async fn apply(&self, path: &str, query: &str, body: &Value) -> Answer {
        let type_ = ("content-type", "application/apply-patch+yaml");
        self.raw("PATCH", &format!("{path}?{query}"), &[type_], body.to_string()).await
    }
}

/// `manager operation subresource: fields`, one for each entry.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let owner = |entry: &Value| {
        assert_eq!(entry["fieldsType"], "FieldsV1");
        let subresource = text(entry, "subresource");
        let subresource = if subresource.is_empty() { subresource } else { format!(" {subresource}") };
        format!("{} {}{subresource}: {}", text(entry, "manager"), text(entry, "operation"), entry["fieldsV1"])
    };
    entries.iter().map(owner).collect()
}

#[track_caller]
fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().expect("a resource version").to_owned()
}

#[tokio::test]
async fn a_missing_object_is_created() {
    let world = world().await;
    let body = widget(&json!({"size": 1}));
    let created = world.apply(WIDGET, "fieldManager=one", &body).await.expect_code(201);
    assert_eq!(created["spec"], json!({"size": 1, "color": "grey"}), "defaults are set, and have no manager");
    assert_eq!(
        created["metadata"]["managedFields"],
        json!([{
            "manager": "one", "operation": "Apply", "apiVersion": "example.com/v1", "time": "2023-07-27T20:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}},
        }])
    );
    assert_eq!(created["metadata"]["generation"], 1);
    let got = world.get(WIDGET).await.expect_code(200);
    assert_eq!(got, created);
    let mut named = body.clone();
    named["metadata"] = json!({"name": "x", "uid": "u"});
    let path = WIDGET.replace("widgets/w", "widgets/x");
    world.apply(&path, "fieldManager=one", &named).await.expect_failure(
        409,
        "Conflict",
        "Operation cannot be fulfilled on widgets.example.com \"x\": uid mismatch: the provided object specified uid u, \
         and no existing object was found",
    );
    let status = format!("{path}/status");
    world.apply(&status, "fieldManager=one", &named).await.expect_failure(
        404,
        "NotFound",
        "widgets.example.com \"x\" not found",
    );
}

#[tokio::test]
async fn an_apply_that_changes_nothing_is_no_write() {
    let world = world().await;
    let body = widget(&json!({"size": 1}));
    let created = world.apply(WIDGET, "fieldManager=one", &body).await.expect_code(201);
    world.clock.advance_to("2023-07-27T21:00:00Z".parse().expect("an instant"));
    let again = world.apply(WIDGET, "fieldManager=one", &body).await.expect_code(200);
    assert_eq!(again, created);
    let yaml = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  size: 1\n";
    let type_ = ("content-type", "application/apply-patch+yaml");
    let again = world.raw("PATCH", &format!("{WIDGET}?fieldManager=one"), &[type_], yaml).await.expect_code(200);
    assert_eq!(again, created);
}

#[tokio::test]
async fn fields_of_other_managers_conflict_unless_forced() {
    let world = world().await;
    world.apply(WIDGET, "fieldManager=one", &widget(&json!({"size": 1, "color": "red"}))).await.expect_code(201);
    let edit = json!({"spec": {"parts": ["a"]}});
    world.patch("merge-patch+json", &format!("{WIDGET}?fieldManager=kubectl-edit"), &edit).await.expect_code(200);
    let body = widget(&json!({"size": 2}));
    let status = world.apply(WIDGET, "fieldManager=two", &body).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"one\": .spec.size",
    );
    assert_eq!(
        status["details"],
        json!({"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".spec.size"},
        ]})
    );
    let body = widget(&json!({"size": 2, "parts": ["b"]}));
    world.apply(WIDGET, "fieldManager=two&force=false", &body).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 2 conflicts: conflicts with \"kubectl-edit\" using example.com/v1:\n- .spec.parts\nconflicts with \
         \"one\":\n- .spec.size",
    );
    let forced = world.apply(WIDGET, "fieldManager=two&force=true", &body).await.expect_code(200);
    assert_eq!(forced["spec"], json!({"size": 2, "color": "red", "parts": ["b"]}));
    assert_eq!(
        owners(&forced),
        [r#"one Apply: {"f:spec":{"f:color":{}}}"#, r#"two Apply: {"f:spec":{"f:parts":{},"f:size":{}}}"#,]
    );
}

#[tokio::test]
async fn fields_given_up_are_removed_unless_they_are_shared() {
    let world = world().await;
    let both = json!({"purpose": "test", "zones": ["a"], "config": {"k": {"a": 1}, "l": 2}});
    world.apply(THING, "fieldManager=one", &thing(&both)).await.expect_code(201);
    world.apply(THING, "fieldManager=two", &thing(&json!({"purpose": "test"}))).await.expect_code(200);
    let body = thing(&json!({"config": {"k": {"b": 1}}}));
    let left = world.apply(THING, "fieldManager=one", &body).await.expect_code(200);
    assert_eq!(left["spec"], json!({"purpose": "test", "config": {"k": {"b": 1}}}));
    assert_eq!(
        owners(&left),
        [
            r#"two Apply: {"f:spec":{"f:purpose":{}}}"#,
            r#"one Apply: {"f:spec":{"f:config":{"f:k":{".":{},"f:b":{}}}}}"#,
        ]
    );
}

#[tokio::test]
async fn lists_merge_by_their_topology() {
    let world = world().await;
    let one = json!({"metadata": {"name": "t", "finalizers": ["example.com/a"], "labels": {"a": "1"}},
        "apiVersion": "example.com/v1", "kind": "Thing",
        "spec": {"pools": [{"name": "a", "minimum": 1}], "zones": ["z1"]}});
    world.apply(THING, "fieldManager=one", &one).await.expect_code(201);
    let two = json!({"metadata": {"name": "t", "finalizers": ["example.com/b"], "labels": {"b": "2"}},
        "apiVersion": "example.com/v1", "kind": "Thing",
        "spec": {"pools": [{"name": "b", "minimum": 2}]}});
    let both = world.apply(THING, "fieldManager=two", &two).await.expect_code(200);
    assert_eq!(both["spec"]["pools"], json!([{"name": "a", "minimum": 1}, {"name": "b", "minimum": 2}]));
    assert_eq!(both["metadata"]["finalizers"], json!(["example.com/a", "example.com/b"]));
    assert_eq!(both["metadata"]["labels"], json!({"a": "1", "b": "2"}));
    assert_eq!(
        owners(&both)[1],
        r#"two Apply: {"f:metadata":{"f:finalizers":{"v:\"example.com/b\"":{}},"f:labels":{"f:b":{}}},"f:spec":{"f:pools":{"k:{\"name\":\"b\"}":{".":{},"f:minimum":{},"f:name":{}}}}}"#
    );
    world.apply(THING, "fieldManager=two", &thing(&json!({"zones": ["z2"]}))).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"one\": .spec.zones",
    );
    world
        .apply(THING, "fieldManager=two", &thing(&json!({"pools": [{"name": "a", "minimum": 3}]})))
        .await
        .expect_failure(
            409,
            "Conflict",
            "Apply failed with 1 conflict: conflict with \"one\": .spec.pools[name=\"a\"].minimum",
        );
    let left = world.apply(THING, "fieldManager=two", &thing(&json!({}))).await.expect_code(200);
    assert_eq!(left["spec"], one["spec"]);
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/a"]));
}

#[tokio::test]
async fn the_status_is_applied_through_its_subresource() {
    let world = world().await;
    let body = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"size": 1}, "status": {"phase": "x"}});
    let created = world.apply(WIDGET, "fieldManager=one", &body).await.expect_code(201);
    assert_eq!(owners(&created), [r#"one Apply: {"f:spec":{"f:size":{}}}"#]);
    let status = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"size": 5}, "status": {"phase": "up"}});
    let path = format!("{WIDGET}/status");
    let applied = world.apply(&path, "fieldManager=one", &status).await.expect_code(200);
    assert_eq!((&applied["spec"]["size"], &applied["status"]["phase"]), (&json!(1), &json!("up")));
    let expected = [r#"one Apply: {"f:spec":{"f:size":{}}}"#, r#"one Apply status: {"f:status":{"f:phase":{}}}"#];
    assert_eq!(owners(&applied), expected);
    let other = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
        "status": {"phase": "down"}});
    world.apply(&path, "fieldManager=two", &other).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"one\" with subresource \"status\": .status.phase",
    );
    let patched = json!({"status": {"phase": "down"}});
    let patched = world.patch("merge-patch+json", &format!("{path}?fieldManager=two"), &patched).await.expect_code(200);
    let expected = [r#"one Apply: {"f:spec":{"f:size":{}}}"#, r#"two Update status: {"f:status":{"f:phase":{}}}"#];
    assert_eq!(owners(&patched), expected);
}

#[tokio::test]
async fn the_scale_is_applied_through_its_subresource() {
    let replicas = ResourceInfo { subresources: &["scale"], ..row("example.com", "v1", "Set", "sets") };
    let world = World::with(|builder| builder.resource::<DynamicObject>(&replicas, NoHooks)).await;
    let path = "/clusters/a/apis/example.com/v1/sets/s";
    let set =
        json!({"apiVersion": "example.com/v1", "kind": "Set", "metadata": {"name": "s"}, "spec": {"replicas": 1}});
    world.apply(path, "fieldManager=one", &set).await.expect_code(201);
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 3}});
    let door = format!("{path}/scale");
    world.apply(&door, "fieldManager=two", &scale).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas",
    );
    let scaled = world.apply(&door, "fieldManager=two&force=true", &scale).await.expect_code(200);
    assert_eq!((&scaled["kind"], &scaled["spec"]["replicas"]), (&json!("Scale"), &json!(3)));
    let object = world.get(path).await.expect_code(200);
    assert_eq!(owners(&object)[1], r#"two Apply scale: {"f:spec":{".":{},"f:replicas":{}}}"#, "opaque");
}

#[tokio::test]
async fn writes_that_are_no_apply_are_tracked_under_their_managers() {
    let world = world().await;
    let collection = WIDGET.trim_end_matches("/w");
    let agent = ("user-agent", "curl/8.0");
    let body = widget(&json!({"size": 1})).to_string();
    let created = world.raw("POST", collection, &[agent], body).await.expect_code(201);
    assert_eq!(owners(&created), [r#"curl Update: {"f:spec":{"f:color":{},"f:size":{}}}"#]);
    let mut changed = created.clone();
    changed["spec"]["size"] = json!(2);
    changed["metadata"]["labels"] = json!({"a": "b"});
    let path = format!("{WIDGET}?fieldManager=editor");
    let put = world.send("PUT", &path, &changed).await.expect_code(200);
    let expected = [
        r#"curl Update: {"f:spec":{"f:color":{}}}"#,
        r#"editor Update: {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:size":{}}}"#,
    ];
    assert_eq!(owners(&put), expected);
    let same = world.send("PUT", &path, &put).await.expect_code(200);
    assert_eq!(same, put);
    // A write of a status does not change the specification, and its metadata are ignored.
    let status = json!({"status": {"phase": "up"}, "metadata": {"managedFields": []}});
    let path = format!("{WIDGET}/status");
    let status = world.patch("merge-patch+json", &path, &status).await.expect_code(200);
    assert_eq!(owners(&status)[2], r#"unknown Update status: {"f:status":{"f:phase":{}}}"#);
    // Heartbeats do not refresh times.
    let beat = json!({"status": {"heartbeat": "1"}});
    let first = world.patch("merge-patch+json", &path, &beat).await.expect_code(200);
    world.clock.advance_to("2023-07-27T21:00:00Z".parse().expect("an instant"));
    let beat = json!({"status": {"heartbeat": "2"}});
    let second = world.patch("merge-patch+json", &path, &beat).await.expect_code(200);
    assert_eq!(second["status"]["heartbeat"], "2");
    assert_eq!(first["metadata"]["managedFields"], second["metadata"]["managedFields"]);
}

/// Go writes a struct also when it is empty: it is present before any client sets a field in it.
#[tokio::test]
async fn empty_structs_have_no_manager() {
    let world = world().await;
    let collection = THING.trim_end_matches("/t");
    let body = thing(&json!({"purpose": "test", "pools": [{"name": "a"}]}));
    let made = world.send("POST", &format!("{collection}?fieldManager=one"), &body).await.expect_code(201);
    let expected =
        r#"one Update: {"f:spec":{"f:pools":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}}},"f:purpose":{}}}"#;
    assert_eq!(owners(&made), [expected]);
}

#[tokio::test]
async fn component_objects_are_tracked_from_the_first_apply() {
    let world = world().await;
    let collection = WIDGET.trim_end_matches("/w");
    let agent = ("user-agent", "landscape/v1");
    let body = widget(&json!({"size": 1})).to_string();
    let created = world.raw("POST", collection, &[agent], body).await.expect_code(201);
    assert_eq!(owners(&created), Vec::<String>::new());
    let edit = json!({"spec": {"parts": ["a"]}});
    let path = format!("{WIDGET}?fieldManager=editor");
    let edited = world.patch("merge-patch+json", &path, &edit).await.expect_code(200);
    assert_eq!(owners(&edited), Vec::<String>::new());
    let body = widget(&json!({"size": 2}));
    world.apply(WIDGET, "fieldManager=one", &body).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using example.com/v1: .spec.size",
    );
    let applied = world.apply(WIDGET, "fieldManager=one", &widget(&json!({"size": 1}))).await.expect_code(200);
    assert_eq!(
        owners(&applied),
        [
            r#"one Apply: {"f:spec":{"f:size":{}}}"#,
            r#"before-first-apply Update: {"f:spec":{"f:color":{},"f:parts":{},"f:size":{}}}"#,
        ]
    );
}

#[tokio::test]
async fn clients_rewrite_and_reset_the_entries() {
    let world = world().await;
    world.apply(WIDGET, "fieldManager=one", &widget(&json!({"size": 1}))).await.expect_code(201);
    let entry = json!({"manager": "other", "operation": "Update", "apiVersion": "example.com/v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}}});
    let patch = json!({"metadata": {"managedFields": [entry]}});
    let path = format!("{WIDGET}?fieldManager=x");
    let rewritten = world.patch("merge-patch+json", &path, &patch).await.expect_code(200);
    assert_eq!(owners(&rewritten), [r#"other Update: {"f:spec":{"f:size":{}}}"#]);
    for useless in [json!([{"manager": "m"}]), Value::Null] {
        let patch = json!({"metadata": {"managedFields": useless}});
        let kept = world.patch("merge-patch+json", &path, &patch).await.expect_code(200);
        assert_eq!(kept, rewritten, "what cannot be read is as if it were not there");
    }
    for reset in [json!([]), json!([{}])] {
        let patch = json!({"metadata": {"managedFields": reset}});
        let none = world.patch("merge-patch+json", &path, &patch).await.expect_code(200);
        assert_eq!(owners(&none), Vec::<String>::new());
        world.apply(WIDGET, "fieldManager=one", &widget(&json!({"size": 1}))).await.expect_code(200);
    }
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Requests of kubectl for `apply --server-side` to an object that was managed by `apply`.
#[tokio::test]
async fn kubectl_takes_over_from_client_side_apply() {
    let world = world().await;
    let config = widget(&json!({"size": 1, "color": "red"}));
    let mut sent = config.clone();
    sent["metadata"]["annotations"] = json!({LAST_APPLIED: format!("{config}\n")});
    let collection = WIDGET.trim_end_matches("/w");
    let path = format!("{collection}?fieldManager=kubectl-client-side-apply&fieldValidation=Strict");
    world.send("POST", &path, &sent).await.expect_code(201);

    let new = widget(&json!({"size": 2, "color": "red"}));
    let query = "fieldManager=kubectl&fieldValidation=Strict&force=false";
    let first = world.apply(WIDGET, query, &new).await.expect_code(200);
    assert_eq!(first["spec"]["size"], 2, "what it last applied itself is no conflict");
    assert_eq!(first["metadata"]["annotations"][LAST_APPLIED], format!("{new}\n"), "kept for client-side apply");
    assert_eq!(
        owners(&first),
        [
            r#"kubectl Apply: {"f:spec":{"f:color":{},"f:size":{}}}"#,
            r#"kubectl-client-side-apply Update: {"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:color":{}}}"#,
        ]
    );
    // The annotation gets its own manager.
    let annotation = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "annotations": {LAST_APPLIED: format!("{new}\n")}}});
    let second = world
        .apply(WIDGET, "fieldManager=kubectl-last-applied&fieldValidation=Strict", &annotation)
        .await
        .expect_code(200);
    assert_eq!(owners(&second).len(), 3);
    // The entry of client-side apply is removed.
    let entries = second["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let kept: Vec<Value> =
        entries.into_iter().filter(|entry| entry["manager"] != "kubectl-client-side-apply").collect();
    let migration = |version: &str| {
        json!([{"op": "replace", "path": "/metadata/managedFields", "value": kept},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version}])
    };
    let path = format!("{WIDGET}?fieldManager=kubectl");
    world.patch("json-patch+json", &path, &migration("1")).await.expect_failure(
        409,
        "Conflict",
        "Operation cannot be fulfilled on widgets.example.com \"w\": the object has been modified; please apply your changes to \
         the latest version and try again",
    );
    let third = world.patch("json-patch+json", &path, &migration(&version(&second))).await.expect_code(200);
    assert_eq!(third["metadata"]["managedFields"], json!(kept));
    let fourth = world.apply(WIDGET, query, &new).await.expect_code(200);
    assert_eq!(fourth, third);
    // From now on fields that are left out are removed.
    let fifth = world.apply(WIDGET, query, &widget(&json!({"size": 2}))).await.expect_code(200);
    assert_eq!(fifth["spec"], json!({"size": 2, "color": "grey"}));
}

#[tokio::test]
async fn conflicts_that_client_side_apply_does_not_explain_remain() {
    let world = world().await;
    let config = widget(&json!({"size": 1, "color": "red"}));
    let mut sent = config.clone();
    sent["metadata"]["annotations"] = json!({LAST_APPLIED: format!("{config}\n")});
    let collection = WIDGET.trim_end_matches("/w");
    world.send("POST", &format!("{collection}?fieldManager=kubectl-client-side-apply"), &sent).await.expect_code(201);
    let edit = json!({"spec": {"size": 3}});
    world.patch("merge-patch+json", &format!("{WIDGET}?fieldManager=kubectl-edit"), &edit).await.expect_code(200);
    let new = widget(&json!({"size": 2, "color": "blue"}));
    world.apply(WIDGET, "fieldManager=kubectl", &new).await.expect_failure(
        409,
        "Conflict",
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using example.com/v1: .spec.size",
    );
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let world = world().await;
    let query = "fieldManager=one&dryRun=All";
    let made = world.apply(WIDGET, query, &widget(&json!({"size": 1}))).await.expect_code(201);
    assert_eq!(owners(&made), [r#"one Apply: {"f:spec":{"f:size":{}}}"#]);
    assert_eq!(world.get(WIDGET).await.code, 404);
    let created = world.apply(WIDGET, "fieldManager=one", &widget(&json!({"size": 1}))).await.expect_code(201);
    let changed = world.apply(WIDGET, query, &widget(&json!({"size": 2}))).await.expect_code(200);
    assert_eq!((&changed["spec"]["size"], version(&changed)), (&json!(2), version(&created)));
    assert_eq!(world.get(WIDGET).await.expect_code(200), created);
}

#[tokio::test]
async fn bad_input_is_refused_with_the_texts_of_kubernetes() {
    let world = world().await;
    let refused = async |path: &str, query: &str, body: &Value, code: u16, reason: &str, message: &str| {
        world.apply(path, query, body).await.expect_failure(code, reason, message);
    };
    let good = widget(&json!({"size": 1}));
    let required =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    refused(WIDGET, "", &good, 422, "Invalid", required).await;
    let manager = "fieldManager=one";
    let nil = "metadata.managedFields must be nil";
    let mut managed = good.clone();
    managed["metadata"]["managedFields"] = json!([]);
    refused(WIDGET, manager, &managed, 400, "BadRequest", nil).await;
    let other = json!({"apiVersion": "example.com/v2", "kind": "Widget"});
    refused(WIDGET, manager, &other, 400, "BadRequest", "invalid object type: example.com/v2, Kind=Widget").await;
    refused(WIDGET, manager, &json!({}), 400, "BadRequest", "invalid object type: /, Kind=").await;
    let unknown =
        "failed to create typed patch object (/w; example.com/v1, Kind=Widget): .spec.x: field not declared in schema";
    refused(WIDGET, manager, &widget(&json!({"x": 1})), 500, "", unknown).await;
    let twice = thing(&json!({"pools": [{"name": "w1"}, {"name": "w1"}]}));
    let duplicate = "failed to create typed patch object (/t; example.com/v1, Kind=Thing): .spec.pools: duplicate entries for \
                     key [name=\"w1\"]";
    refused(THING, manager, &twice, 500, "", duplicate).await;
    let mut named = good.clone();
    named["metadata"]["name"] = json!("v");
    let mismatch = "the name of the object (v) does not match the name on the URL (w)";
    refused(WIDGET, manager, &named, 400, "BadRequest", mismatch).await;
    let type_ = ("content-type", "application/apply-patch+yaml");
    let send = async |query: &str, body: &'static str| {
        world.raw("PATCH", &format!("{WIDGET}?fieldManager=one{query}"), &[type_], body).await
    };
    assert_eq!(send("", "[1").await.code, 400);
    assert_eq!(send("", "1").await.code, 400);
    let body = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  size: 1\n  size: 2\n";
    send("&fieldValidation=Strict", body).await.expect_failure(
        400,
        "BadRequest",
        "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key \"size\" already \
         set in map",
    );
    let warned = send("", body).await;
    assert!(warned.headers.contains_key("warning"));
    assert_eq!(warned.expect_code(201)["spec"]["size"], 2);
}
