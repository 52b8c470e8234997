// SPDX-License-Identifier: Apache-2.0
//! The data with which a server serves a version of a custom resource.
//!
//! Rows of a catalogue and their schema trees live as long as the process, so each specification gets only one row,
//! however often it is requested: a landscape has few.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::catalogue::{Cell, Column, ResourceInfo};
use apimachinery::meta::ObjectMeta;
use apimachinery::release::Release;
use apimachinery::schema::{Field, Node, ObjectRef, ObjectSchema, Schema as _, Topology};
use parking_lot::Mutex;
use serde_json::Value;

use crate::definition::{Definition, Version};
use crate::intern::intern;
use crate::schema::{Additional, Schema};

/// A served version of a custom resource.
#[derive(Clone, Debug)]
pub struct CustomVersion {
    /// Names, columns, selectors.
    pub info: ResourceInfo,
    /// Schema by which objects are pruned: values are validated later, so their types are not restricted here.
    pub pruned: Node,
    /// Schema of objects in OpenAPI documents.
    pub described: Node,
    /// Schema for the validation of objects.
    pub schema: Arc<Schema>,
    /// True if objects are stored in this version.
    pub is_storage: bool,
    /// True if the version is served.
    pub is_served: bool,
    /// Warning for clients.
    pub warning: Option<String>,
    /// Paths of `scale`: the desired number, the actual one, the selector.
    pub scale: Option<[&'static str; 3]>,
}

/// Returns the version in which objects are stored: the definition's, or the first served one if that one is not served.
pub fn home(versions: &[CustomVersion]) -> Option<&CustomVersion> {
    let served = || versions.iter().filter(|version| version.is_served);
    served().find(|version| version.is_storage).or_else(|| served().next())
}

type VersionsBySpec = BTreeMap<String, Arc<[CustomVersion]>>;

/// Versions by their specification.
static KNOWN: Mutex<VersionsBySpec> = Mutex::new(BTreeMap::new());

impl CustomVersion {
    /// Returns the versions that a definition serves, and the one in which it stores; `spec` is its source.
    pub fn all(definition: &Definition, spec: &Value) -> Arc<[Self]> {
        let mut known = KNOWN.lock();
        let make = || {
            let needed = definition.versions.iter().filter(|version| version.served || version.storage);
            needed.map(|version| Self::of(definition, version)).collect()
        };
        known.entry(spec.to_string()).or_insert_with(make).clone()
    }

    fn of(definition: &Definition, version: &Version) -> Self {
        let names = &definition.names;
        let schema = version.schema().cloned().unwrap_or_default();
        let mut subresources = Vec::new();
        if version.subresources.status.is_some() {
            subresources.push("status");
        }
        if version.subresources.scale.is_some() {
            subresources.push("scale");
        }
        let columns = version.additional_printer_columns.iter().map(|column| Column {
            name: intern(&column.name),
            type_: intern(&column.r#type),
            format: intern(&column.format),
            description: match column.description.as_str() {
                "" => {
                    let path = &column.json_path;
                    intern(&format!("Custom resource definition column (in JSONPath format): {path}"))
                }
                text => intern(text),
            },
            cell: Cell::Path(intern(&column.json_path)),
            priority: u8::try_from(column.priority).unwrap_or(u8::MAX),
        });
        let selectors = version.selectable_fields.iter().map(|field| {
            let path = intern(&field.json_path);
            (path.trim_start_matches('.'), path)
        });
        let list = |texts: &[String]| texts.iter().map(|text| intern(text)).collect::<Vec<_>>().leak();
        let package = intern(&format!("{}/{}", definition.group, version.name));
        let tree = |form| root(&schema, &names.kind, TreeBuilder { package, form });
        let paths = |scale: &crate::definition::Scale| {
            [&scale.spec_replicas_path, &scale.status_replicas_path, &scale.label_selector_path]
                .map(|path| intern(path))
        };
        Self {
            info: ResourceInfo {
                group: intern(&definition.group),
                version: intern(&version.name),
                kind: intern(&names.kind),
                plural: intern(&names.plural),
                singular: intern(&names.singular),
                short_names: list(&names.short_names),
                categories: list(&names.categories),
                namespaced: definition.is_namespaced(),
                subresources: subresources.leak(),
                columns: columns.collect::<Vec<_>>().leak(),
                field_selectors: selectors.collect::<Vec<_>>().leak(),
                heartbeat_fields: &[],
                read_only: false,
                custom: true,
                schema: || Node::Raw,
                fields: &[],
                attributes: &[],
                life: apimachinery::catalogue::Life::default(),
                release: Release::UNION,
            },
            pruned: tree(Form::Pruned),
            described: tree(Form::Described),
            is_storage: version.storage,
            is_served: version.served,
            warning: version.warning(&definition.group, &names.kind),
            scale: version.subresources.scale.as_ref().map(paths),
            schema: Arc::new(schema),
        }
    }
}

/// Purpose of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Tree that prunes objects: scalars are any JSON.
    Pruned,
    /// Tree that describes objects in OpenAPI.
    Described,
}

#[derive(Clone, Copy)]
struct TreeBuilder {
    package: &'static str,
    form: Form,
}

/// Returns the tree of a kind.
fn root(schema: &Schema, kind: &str, maker: TreeBuilder) -> Node {
    let mut fields = maker.fields(schema, kind);
    fields.retain(|field| !matches!(field.name, "apiVersion" | "kind" | "metadata"));
    fields.insert(0, field("metadata", "Metadata.", ObjectMeta::node()));
    maker.object(kind, &schema.description, fields, schema.preserve_unknown && maker.form == Form::Pruned)
}

impl TreeBuilder {
    fn node(self, schema: &Schema, name: &str) -> Node {
        let is_named = schema.embedded_resource || !schema.properties.is_empty();
        let is_open = schema.preserve_unknown;
        if is_open && (self.form == Form::Described || schema.r#type == "object" && !is_named) {
            return Node::Raw;
        }
        if self.form == Form::Pruned && (schema.int_or_string || !matches!(schema.r#type.as_str(), "object" | "array"))
        {
            return Node::Raw;
        }
        if schema.int_or_string {
            return Node::IntOrString;
        }
        match (schema.r#type.as_str(), &schema.additional_properties) {
            ("object", Some(Additional::Schema(values))) => Node::Map(Box::new(self.node(values, name))),
            ("object", Some(Additional::Any(true))) => Node::Raw,
            ("object", _) => {
                let mut fields = self.fields(schema, name);
                if schema.embedded_resource {
                    fields.retain(|field| !matches!(field.name, "apiVersion" | "kind" | "metadata"));
                    fields.push(field("apiVersion", "", Node::String));
                    fields.push(field("kind", "", Node::String));
                    fields.push(field("metadata", "", ObjectMeta::node()));
                }
                self.object(name, &schema.description, fields, is_open)
            }
            ("array", _) => {
                let item = schema.items.as_ref().map_or(Node::Raw, |items| self.node(items, name));
                Node::List(Box::new(item))
            }
            ("string", _) => Node::String,
            ("integer", _) => Node::Integer { bits: if schema.format == "int32" { 32 } else { 64 }, signed: true },
            ("number", _) => Node::Number,
            ("boolean", _) => Node::Boolean,
            _ => Node::Raw,
        }
    }

    fn object(self, name: &str, description: &str, fields: Vec<Field>, is_open: bool) -> Node {
        let object =
            ObjectSchema { name: intern(name), package: self.package, description: intern(description), fields };
        let object = Box::leak(Box::new(object));
        Node::Object(if is_open { ObjectRef::Open(object) } else { ObjectRef::Partial(object) })
    }

    fn fields(self, schema: &Schema, outer: &str) -> Vec<Field> {
        let of = |(name, schema): (&String, &Schema)| {
            let inner = format!("{outer}{}", capitalized(name));
            let keys = schema.list_map_keys.iter().map(|key| intern(key)).collect::<Vec<_>>();
            Field {
                required: false,
                topology: topology(schema),
                list_map_keys: keys.leak(),
                preserve_unknown: schema.preserve_unknown,
                ..field(intern(name), intern(&schema.description), self.node(schema, &inner))
            }
        };
        let mut fields: Vec<Field> = schema.properties.iter().map(of).collect();
        for field in &mut fields {
            field.required = schema.required.iter().any(|name| name == field.name);
        }
        fields
    }
}

fn topology(schema: &Schema) -> Topology {
    match (schema.r#type.as_str(), schema.list_type.as_str(), schema.map_type.as_str()) {
        ("array", "map", _) => Topology::Map,
        ("array", "set", _) => Topology::Set,
        ("array", ..) | (_, _, "atomic") => Topology::Atomic,
        _ => Topology::Default,
    }
}

fn field(name: &'static str, description: &'static str, node: Node) -> Field {
    Field { description, ..Field::new(name, node) }
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use apimachinery::decode;
    use serde_json::json;

    use super::*;

    fn versions() -> Arc<[CustomVersion]> {
        let spec = json!({
            "group": "stable.example.com", "scope": "Namespaced",
            "names": { "plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                  "additionalPrinterColumns": [{ "name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec" }],
                  "selectableFields": [{ "jsonPath": ".spec.cronSpec" }],
                  "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "required": ["cronSpec"], "properties": {
                        "cronSpec": { "type": "string", "description": "When." },
                        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                        "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                        "ports": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                            "items": { "type": "object", "properties": { "port": { "type": "integer" } } } },
                    } },
                    "status": { "type": "object" },
                } } } },
                { "name": "v0", "served": false, "storage": false },
            ],
        });
        let definition = Definition::of(json!({ "spec": spec }).as_object().expect("fields")).expect("a definition");
        let all = CustomVersion::all(&definition, &spec);
        assert!(Arc::ptr_eq(&all, &CustomVersion::all(&definition, &spec)), "one row for one specification");
        all
    }

    #[test]
    fn rows_follow_the_definition() {
        let versions = versions();
        let [version] = &*versions else { panic!("one version is served") };
        assert!(version.is_storage && version.info.namespaced && version.info.custom);
        assert_eq!(version.info.subresources, ["status"]);
        assert_eq!(version.info.field_selectors, [("spec.cronSpec", ".spec.cronSpec")]);
        assert_eq!(version.info.columns[0].name, "Spec");
    }

    #[test]
    fn unknown_fields_are_dropped_and_values_kept() {
        let given = json!({
            "metadata": { "name": "a" }, "other": 1,
            "spec": { "cronSpec": 5, "bogus": 1, "free": { "any": [1] }, "labels": { "a": 1 }, "ports": [{ "port": "x", "y": 1 }] },
        });
        let decoded = decode::json(given.to_string().as_bytes(), &versions()[0].pruned).expect("JSON");
        assert_eq!(
            decoded.tree,
            json!({
                "metadata": { "name": "a" },
                "spec": { "cronSpec": 5, "free": { "any": [1] }, "labels": { "a": 1 }, "ports": [{ "port": "x" }] },
            })
        );
        assert_eq!(
            decoded.strict,
            [r#"unknown field "other""#, r#"unknown field "spec.bogus""#, r#"unknown field "spec.ports[0].y""#]
        );
    }

    #[test]
    fn named_fields_of_open_objects_keep_their_schema() {
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "named": { "type": "object", "properties": { "a": { "type": "integer" } } },
            "embedded": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true },
        } });
        let schema: Schema = serde_json::from_value(open).expect("a schema");
        let node = root(&schema, "Thing", TreeBuilder { package: "x/v1", form: Form::Pruned });
        let text = r#"{ "apiVersion": "v1", "metadata": { "name": "a", "x": 1 }, "other": { "b": 1, "b": 2 },
            "named": { "a": 1, "c": 1 },
            "embedded": { "apiVersion": "v1", "kind": "Pod", "spec": {}, "metadata": { "labels": { "l": "m" }, "y": 1 } } }"#;
        let kept = json!({
            "apiVersion": "v1", "metadata": { "name": "a" }, "other": { "b": 2 }, "named": { "a": 1 },
            "embedded": { "apiVersion": "v1", "kind": "Pod", "spec": {}, "metadata": { "labels": { "l": "m" } } },
        });
        let decoded = decode::json_without_types(text.as_bytes(), &node).expect("JSON");
        assert_eq!(decoded.tree, kept);
        let unknown = ["metadata.x", "named.c", "embedded.metadata.y"].map(|path| format!("unknown field {path:?}"));
        let [x, c, y] = unknown;
        assert_eq!(decoded.strict, [x, r#"duplicate field "other.b""#.to_owned(), c, y]);
        assert_eq!(decode::tree(serde_json::from_str(text).expect("JSON"), &node).expect("a tree").tree, kept);
    }

    #[test]
    fn described_trees_have_types_and_descriptions() {
        let node = versions()[0].described.clone();
        let spec = node.as_object().and_then(|kind| kind.field("spec")?.node.as_object()).expect("a struct");
        assert_eq!(spec.go_type(), "v1.CronTabSpec");
        let field = spec.field("cronSpec").expect("a field");
        assert!(field.required && field.description == "When." && matches!(field.node, Node::String));
        assert_eq!(
            spec.field("ports").map(|field| (field.topology, field.list_map_keys)),
            Some((Topology::Map, &["port"][..]))
        );
    }
}
