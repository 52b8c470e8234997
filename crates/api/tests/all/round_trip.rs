// SPDX-License-Identifier: Apache-2.0
//! Round trips of objects: the bytes that are served have all the data of a client's bytes.

use api::{catalogue, core, core_v1, extensions, machine, operations, operator, security, seedmanagement, settings};
use apimachinery::object::Object;
use apimachinery::schema::{Node, Schema as _};
use apimachinery::{DynamicObject, Resource, decode, encode};
use serde_json::{Map, Value, json};

/// A value with every field below a node set once; a struct within itself stays empty.
fn full(node: &Node, around: &mut Vec<String>) -> Value {
    match node {
        Node::Object(reference) => {
            let schema = reference.get();
            if around.contains(&schema.go_type()) {
                return json!({});
            }
            around.push(schema.go_type());
            let fields = schema.fields.iter();
            let fields = fields.map(|field| (field.name.to_owned(), full(&field.node, around))).collect();
            around.pop();
            Value::Object(fields)
        }
        Node::Map(values) => json!({"a.b/c": full(values, around), "d": full(values, around)}),
        Node::List(items) => json!([full(items, around), full(items, around)]),
        Node::String => json!("a <b> & \"c\" é"),
        Node::Boolean => json!(true),
        Node::Integer { .. } => json!(7),
        Node::Number => json!(0.5),
        Node::IntOrString => json!("25%"),
        Node::Quantity => json!("1536Mi"),
        Node::Duration => json!("1h30m0s"),
        Node::Time => json!("2023-07-28T09:07:27Z"),
        Node::MicroTime => json!("2023-07-28T09:07:27.000001Z"),
        Node::Bytes => json!("YWI="),
        Node::Raw => json!({"any": [1, "b", {"c": null}], "more": 1.5}),
    }
}

/// An object with every field set once. Metadata is complete except for fields that servers drop.
fn full_object(api_version: &str, kind: &str, node: &Node) -> Value {
    let mut object = full(node, &mut Vec::new());
    let metadata = object["metadata"].as_object_mut().expect("objects have metadata");
    metadata.remove("resourceVersion");
    metadata.remove("selfLink");
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object
}

#[track_caller]
fn check_bytes<O: Object>(given: &Value, node: &Node) {
    let bytes = serde_json::to_vec(given).expect("a tree is JSON");
    let decoded = decode::json(&bytes, node).unwrap_or_else(|error| panic!("{}: {error}", given["kind"]));
    assert_eq!(decoded.strict, [] as [&str; 0], "{} is known whole", given["kind"]);
    assert_eq!(decoded.tree, *given, "{} decodes to itself", given["kind"]);
    let again = decode::tree(given.clone(), node).expect("a tree is as good as its bytes");
    assert_eq!(again.tree, *given);
    let object = O::from_tree(decoded.tree).unwrap_or_else(|error| panic!("{}: {error}", given["kind"]));
    let mut served: Value = serde_json::from_slice(&object.encode().served(42)).expect("served bytes are JSON");
    let version = served["metadata"].as_object_mut().and_then(|metadata| metadata.remove("resourceVersion"));
    assert_eq!(version, Some(json!("42")));
    assert_eq!(served, *given, "{} is served whole", given["kind"]);
    assert_eq!(object.to_tree(), *given, "{} is a tree again", given["kind"]);
}

fn check<K: Resource>() {
    let node = K::node();
    check_bytes::<K>(&full_object(&K::api_version(), K::KIND, &node), &node);
    // An empty object: the result of the rules for absent fields is stable.
    let empty = K::default();
    let bytes = encode::to_bytes(&empty);
    let decoded = decode::json(&bytes, &node).expect("own bytes decode");
    assert_eq!(decoded.strict, [] as [&str; 0]);
    let again = <K as Object>::from_tree(decoded.tree).expect("own tree is typed");
    assert_eq!(encode::to_bytes(&again), bytes, "{} is stable when empty", K::KIND);
}

#[test]
fn typed_kinds_lose_nothing() {
    check::<core::BackupBucket>();
    check::<core::BackupEntry>();
    check::<core::CloudProfile>();
    check::<core::ControllerInstallation>();
    check::<core::ControllerRegistration>();
    check::<core::ExposureClass>();
    check::<core::InternalSecret>();
    check::<core::NamespacedCloudProfile>();
    check::<core::Project>();
    check::<core::Quota>();
    check::<core::SecretBinding>();
    check::<core::Seed>();
    check::<core::Shoot>();
    check::<core::ShootState>();
    check::<core_v1::ControllerDeployment>();
    check::<extensions::BackupBucket>();
    check::<extensions::BackupEntry>();
    check::<extensions::Bastion>();
    check::<extensions::Cluster>();
    check::<extensions::ContainerRuntime>();
    check::<extensions::ControlPlane>();
    check::<extensions::DNSRecord>();
    check::<extensions::Extension>();
    check::<extensions::Infrastructure>();
    check::<extensions::Network>();
    check::<extensions::OperatingSystemConfig>();
    check::<extensions::Worker>();
    check::<machine::Machine>();
    check::<machine::MachineClass>();
    check::<machine::MachineDeployment>();
    check::<machine::MachineSet>();
    check::<operations::Bastion>();
    check::<operator::Extension>();
    check::<operator::Garden>();
    check::<security::CredentialsBinding>();
    check::<security::WorkloadIdentity>();
    check::<seedmanagement::Gardenlet>();
    check::<seedmanagement::ManagedSeed>();
    check::<seedmanagement::ManagedSeedSet>();
    check::<settings::ClusterOpenIDConnectPreset>();
    check::<settings::OpenIDConnectPreset>();
    check::<api::terrarium::Clock>();
    check::<api::terrarium::Cluster>();
    check::<api::terrarium::Fault>();
}

#[test]
fn typed_views_lose_none_of_their_fields() {
    use api::kubernetes::{apps, coordination, core, rbac};
    check::<core::ConfigMap>();
    check::<core::Event>();
    check::<core::Namespace>();
    check::<core::Node>();
    check::<core::Pod>();
    check::<core::Secret>();
    check::<core::ServiceAccount>();
    check::<apps::DaemonSet>();
    check::<apps::Deployment>();
    check::<apps::ReplicaSet>();
    check::<apps::StatefulSet>();
    check::<coordination::Lease>();
    check::<rbac::Role>();
    check::<rbac::ClusterRole>();
    check::<rbac::RoleBinding>();
    check::<rbac::ClusterRoleBinding>();
}

#[test]
fn kinds_with_a_table_lose_nothing() {
    for row in catalogue::all().iter().filter(|row| !row.group.contains("gardener")) {
        let node = (row.schema)();
        let api_version = apimachinery::resource::group_version(row.group, row.version);
        check_bytes::<DynamicObject>(&full_object(&api_version, row.kind, &node), &node);
    }
}

/// Empty structs and lists without `omitempty` are written, in Go's order.
#[test]
fn an_empty_shoot_is_served_like_upstreams() {
    let shoot = core::Shoot::default();
    let text = String::from_utf8(encode::to_bytes(&shoot)).expect("JSON is UTF-8");
    assert_eq!(
        text,
        concat!(
            r#"{"kind":"Shoot","apiVersion":"core.gardener.cloud/v1beta1","metadata":{"creationTimestamp":null},"#,
            r#""spec":{"kubernetes":{},"provider":{"type":""},"region":""},"#,
            r#""status":{"gardener":{"id":"","name":"","version":""},"hibernated":false,"technicalID":"","uid":""}}"#
        )
    );
}

#[test]
fn sections_divide_an_object_where_clients_change_it() {
    let mut shoot = core::Shoot::default();
    shoot.metadata.name = "s".to_owned();
    shoot.metadata.uid = "u".to_owned();
    let before = encode::sections(&shoot);
    shoot.status.hibernated = true;
    let after = encode::sections(&shoot);
    assert_eq!(before.parts()[..4], after.parts()[..4], "a change of the status touches one section");
    assert_ne!(before.status, after.status);
    assert!(after.status.starts_with(b",\"status\":{"));
    assert_eq!(after.managed_fields, "}");
}

#[test]
fn unordered_and_unknown_fields_are_reported_with_their_paths() {
    let text = r#"{"spec": {"region": "r", "provider": {"workers": [{"name": "a", "bogus": 1}], "type": "local",
        "type": "aws"}, "Purpose": "x"}, "kind": "Shoot"}"#;
    let decoded = decode::json(text.as_bytes(), &core::Shoot::node()).expect("decodes");
    assert_eq!(
        decoded.strict,
        [
            r#"unknown field "spec.provider.workers[0].bogus""#,
            r#"duplicate field "spec.provider.type""#,
            r#"unknown field "spec.Purpose""#,
        ]
    );
    let shoot = <core::Shoot as Object>::from_tree(decoded.tree).expect("is typed");
    assert_eq!((shoot.spec.provider.r#type.as_str(), shoot.spec.region.as_str()), ("aws", "r"));
    let refused = decode::json(br#"{"spec": {"provider": "x"}}"#, &core::Shoot::node()).expect_err("is refused");
    assert_eq!(
        refused.message,
        "json: cannot unmarshal string into Go struct field ShootSpec.spec.provider of type v1beta1.Provider"
    );
    let refused = decode::json(br#"{"spec": {"provider": {"workers": {}}}}"#, &core::Shoot::node());
    assert_eq!(
        refused.expect_err("is refused").message,
        "json: cannot unmarshal object into Go struct field Provider.spec.provider.workers of type []v1beta1.Worker"
    );
}

/// The decoder produces a `Map` with sorted keys, so that equal objects have equal trees.
#[test]
fn trees_are_alphabetical() {
    let map: Map<String, Value> = serde_json::from_str(r#"{"b": 1, "a": 2}"#).expect("JSON");
    assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b"]);
}
