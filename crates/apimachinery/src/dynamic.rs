// SPDX-License-Identifier: Apache-2.0
//! Objects known by schema only: kinds whose other fields are not read here.

use serde::de::Error as _;
use serde_json::{Map, Value};

use crate::encode::{self, Body, Sections};
use crate::merge::merge_patch;
use crate::meta::ObjectMeta;
use crate::object::{DifferingTrees, Object, metadata_tree};
use crate::schema::{Emit, Field, Node};
use crate::wire;

/// An object as metadata and a tree that was pruned by its schema.
///
/// Fields are served in alphabetical order, metadata in Go's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicObject {
    /// API version, `group/version`.
    pub api_version: String,
    /// `kind` of the object, as its definition names it.
    pub kind: String,
    /// Names, labels, finalizers and the rest of `metadata`.
    pub metadata: ObjectMeta,
    /// Every other top-level field.
    pub fields: Map<String, Value>,
}

impl DynamicObject {
    /// Returns a field by its path of names, `["spec", "nodeName"]`.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.fields.get(*first)?, |value, name| value.get(name))
    }

    fn tree(&self, metadata: Value) -> Value {
        let mut tree = self.fields.clone();
        tree.insert("apiVersion".to_owned(), Value::String(self.api_version.clone()));
        tree.insert("kind".to_owned(), Value::String(self.kind.clone()));
        tree.insert("metadata".to_owned(), metadata);
        Value::Object(tree)
    }

    /// Encodes the object as one JSON text for a request, including `resourceVersion` if it is set.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode::whole(&self.api_version, &self.kind, &self.metadata, Body::Tree(&self.fields))
    }
}

impl Object for DynamicObject {
    const KEEPS_OPAQUE: bool = false;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn from_tree(tree: Value) -> Result<Self, serde_json::Error> {
        let Value::Object(mut fields) = tree else {
            return Err(serde_json::Error::custom("an object is a JSON object"));
        };
        let mut text = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let metadata = match fields.remove("metadata") {
            Some(value) => {
                let mut metadata = ObjectMeta::default();
                wire::read_tree(&mut metadata, value).map_err(serde_json::Error::custom)?;
                metadata
            }
            None => ObjectMeta::default(),
        };
        Ok(Self { api_version, kind, metadata, fields })
    }

    fn keep_fields(&mut self, old: &Self, except: &[&str]) -> bool {
        self.fields.retain(|name, _| except.contains(&name.as_str()));
        let kept = old.fields.iter().filter(|(name, _)| !except.contains(&name.as_str()));
        self.fields.extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        if !except.contains(&"metadata") {
            self.metadata.clone_from(&old.metadata);
        }
        true
    }

    fn merge(&mut self, patch: Value, schema: Option<&Node>) -> Result<(), serde_json::Error> {
        let Value::Object(patch) = patch else {
            return Err(serde_json::Error::custom("a patch is a JSON object"));
        };
        for (name, patch) in patch {
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => wire::merge(&mut self.metadata, patch).map_err(serde_json::Error::custom)?,
                _ if patch.is_null() => {
                    self.fields.remove(&name);
                }
                _ => {
                    let field = self.fields.entry(name.as_str()).or_insert(Value::Null);
                    merge_patch(field, &patch);
                    if let Some(schema) = schema {
                        leave_out_zero(&mut self.fields, &name, schema);
                    }
                }
            }
        }
        Ok(())
    }

    fn to_tree(&self) -> Value {
        self.tree(wire::to_tree(&self.metadata))
    }

    fn to_tree_without_entries(&self) -> Value {
        self.tree(metadata_tree(&self.metadata))
    }

    fn trees_of(&self, names: &[&str]) -> Map<String, Value> {
        let wanted = self.fields.iter().filter(|(name, _)| names.contains(&name.as_str()));
        let mut trees: Map<String, Value> = wanted.map(|(name, value)| (name.clone(), value.clone())).collect();
        if names.contains(&"metadata") {
            trees.insert("metadata".to_owned(), metadata_tree(&self.metadata));
        }
        trees
    }

    fn differing_trees(&self, old: &Self) -> DifferingTrees {
        let tree = |object: &Self, other: &Self| {
            let differs = |(name, value): &(&String, &Value)| other.fields.get(*name) != Some(*value);
            let fields = object.fields.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone()));
            let mut tree: Map<String, Value> = fields.collect();
            if object.metadata != other.metadata {
                tree.insert("metadata".to_owned(), metadata_tree(&object.metadata));
            }
            Value::Object(tree)
        };
        DifferingTrees { old: tree(old, self), new: tree(self, old) }
    }

    fn encode(&self) -> Sections {
        encode::sections_of(&self.api_version, &self.kind, &self.metadata, Body::Tree(&self.fields))
    }

    fn encode_change(&self, old: &Self, stored: &Sections) -> Sections {
        let changed = self.fields.iter().filter(|(name, value)| old.fields.get(*name) != Some(*value));
        let removed = old.fields.keys().filter(|name| !self.fields.contains_key(*name));
        let mut differing: Vec<&str> = changed.map(|(name, _)| name).chain(removed).map(String::as_str).collect();
        if self.metadata != old.metadata || self.kind != old.kind || self.api_version != old.api_version {
            differing.push("metadata");
        }
        encode::changed_sections(
            &self.api_version,
            &self.kind,
            &self.metadata,
            Body::Tree(&self.fields),
            &differing,
            stored,
        )
    }
}

/// Removes the fields that Go omits (`omitempty`): those with their zero value.
pub fn leave_out_zeros(tree: &mut Value, node: &Node) {
    match (node, tree) {
        (Node::Object(reference), Value::Object(fields)) => {
            reference.get().fields.iter().for_each(|field| leave_out_zero_of(fields, field));
        }
        (Node::Map(values), Value::Object(fields)) => {
            fields.values_mut().for_each(|value| leave_out_zeros(value, values));
        }
        (Node::List(items), Value::Array(list)) => list.iter_mut().for_each(|item| leave_out_zeros(item, items)),
        _ => {}
    }
}

/// Removes one field of an object if Go omits it, like [`leave_out_zeros`].
fn leave_out_zero(fields: &mut Map<String, Value>, name: &str, node: &Node) {
    let schema = node.as_object();
    if let Some(field) = schema.and_then(|schema| schema.fields.iter().find(|field| field.name == name)) {
        leave_out_zero_of(fields, field);
    }
}

fn leave_out_zero_of(fields: &mut Map<String, Value>, field: &Field) {
    let Some(value) = fields.get_mut(field.name) else { return };
    leave_out_zeros(value, &field.node);
    if field.emit == Emit::OmitEmpty && is_zero(value) {
        fields.remove(field.name);
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::meta::ManagedFieldsEntry;
    use crate::schema::Schema as _;

    #[test]
    fn empty_fields_are_left_out_as_in_go() {
        let check = |node: Node, mut tree: Value, expected: Value| {
            leave_out_zeros(&mut tree, &node);
            assert_eq!(tree, expected);
        };
        check(
            ObjectMeta::node(),
            json!({
                "name": "a", "namespace": "", "generation": 0, "labels": {}, "annotations": {"a": ""}, "finalizers": [],
                "creationTimestamp": null, "deletionGracePeriodSeconds": 0,
                "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": "", "controller": false}],
            }),
            json!({
                "name": "a", "annotations": {"a": ""}, "creationTimestamp": null, "deletionGracePeriodSeconds": 0,
                "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": "", "controller": false}],
            }),
        );
        check(
            ManagedFieldsEntry::node(),
            json!({"manager": "", "fieldsV1": {"f:data": {}}}),
            json!({"fieldsV1": {"f:data": {}}}),
        );
    }

    #[test]
    fn sections_concatenate_to_the_served_object() {
        let tree = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "7", "labels": {"x": "y"}},
            "data": {"k": "<v>"}, "status": {"phase": "p"},
        });
        let object = DynamicObject::from_tree(tree).expect("an object");
        let sections = object.encode();
        assert_eq!(
            sections.identity,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"c""#
        );
        assert_eq!(sections.metadata, r#","creationTimestamp":null,"labels":{"x":"y"}"#);
        assert_eq!(sections.managed_fields, "}");
        assert_eq!(sections.rest, r#","data":{"k":"\u003cv\u003e"}"#);
        assert_eq!(sections.status, r#","status":{"phase":"p"}}"#);
        let mut expected = object.to_tree();
        expected["metadata"]["resourceVersion"] = json!("42");
        let served: Value = serde_json::from_slice(&sections.served(42)).expect("served bytes are JSON");
        assert_eq!(served, expected);
    }

    #[test]
    fn a_merged_patch_omits_fields_as_in_go() {
        let tree = json!({
            "metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}, "spec": {"a": 1}, "status": {"phase": "p"},
        });
        let patched = |schema: Option<&Node>| {
            let mut object = DynamicObject::from_tree(tree.clone()).expect("an object");
            let patch = json!({
                "kind": "Other", "metadata": {"labels": {"x": null, "z": "w"}}, "labels": {"k": null}, "status": null,
                "spec": {"b": {"c": null}}, "name": "",
            });
            object.merge(patch, schema).expect("a patch");
            assert_eq!((object.kind.as_str(), object.metadata.name.as_str()), ("", "a"));
            assert_eq!(object.metadata.labels.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z"]);
            Value::Object(object.fields)
        };
        assert_eq!(patched(None), json!({"data": {"k": "v"}, "spec": {"a": 1, "b": {}}, "labels": {}, "name": ""}));
        // By this schema `name` and `labels` are left out when they are empty.
        let schema = ObjectMeta::node();
        assert_eq!(patched(Some(&schema)), json!({"data": {"k": "v"}, "spec": {"a": 1, "b": {}}}));
    }

    #[test]
    fn an_object_keeps_untouched_fields() {
        let object = |tree| DynamicObject::from_tree(tree).expect("an object");
        let old = object(json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"a": 1}, "data": {"k": "v"}, "status": {"phase": "p"},
        }));
        assert_eq!(Value::Object(old.trees_of(&["spec", "other"])), json!({"spec": {"a": 1}}));
        let labels = &old.trees_of(&["metadata"])["metadata"]["labels"];
        assert_eq!(*labels, json!({"x": "y"}));
        let mut new = object(json!({"apiVersion": "v1", "kind": "Thing", "spec": {"a": 2}, "data": {"other": "w"}}));
        assert!(new.keep_fields(&old, &["spec", "status"]));
        assert_eq!(new.metadata, old.metadata);
        assert_eq!(Value::Object(new.fields), json!({"spec": {"a": 2}, "data": {"k": "v"}}));
        let mut touched = object(json!({"metadata": {"name": "b"}, "apiVersion": "v1", "kind": "Thing"}));
        assert!(touched.keep_fields(&old, &["metadata"]));
        assert_eq!(touched.metadata.name, "b");
        assert_eq!(touched.fields, old.fields);
    }

    #[test]
    fn an_object_without_a_name_still_makes_valid_sections() {
        let object = DynamicObject { kind: "Pod".to_owned(), api_version: "v1".to_owned(), ..DynamicObject::default() };
        let served: Value = serde_json::from_slice(&object.encode().served(1)).expect("served bytes are JSON");
        assert_eq!(served["metadata"]["resourceVersion"], "1");
    }
}
