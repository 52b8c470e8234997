// SPDX-License-Identifier: Apache-2.0
//! Schema trees as the named schemas of a document, in both dialects.
//!
//! A struct becomes one definition, named after its Go package read backwards and its own name; everything else is
//! written inline. Kinds of CustomResourceDefinitions are named after their group, as clients see it upstream, and
//! their structs are written inline, too: such a definition names none.
//!
//! **Invariant.** Every name in a reference is defined.
//!
//! Source: kube-openapi pkg/util (names), pkg/common; apiextensions-apiserver pkg/controller/openapi/builder.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::{DeleteOptions, ListMeta};
use apimachinery::schema::{Field, Node, ObjectSchema, Schema, Topology};
use serde_json::{Map, Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const APIMACHINERY: &str = "k8s.io/apimachinery";
const UNIONS: &str = "k8s.io/apiextensions-apiserver";

const API_VERSION: &str = "Group and version of the schema that this object follows, as in GROUP/VERSION.";
const KIND: &str = "Kind of the object, in CamelCase. Cannot be changed.";

/// Version of the OpenAPI specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAPI 2.0.
    V2,
    /// OpenAPI 3.0.
    V3,
}

impl Dialect {
    fn prefix(self) -> &'static str {
        match self {
            Self::V2 => "#/definitions/",
            Self::V3 => "#/components/schemas/",
        }
    }

    /// A reference to a definition.
    pub(super) fn reference(self, name: &str) -> Value {
        json!({ "$ref": format!("{}{name}", self.prefix()) })
    }
}

/// Names of the definitions that the operations of a kind need.
#[derive(Clone, Debug)]
pub(super) struct KindNames {
    pub(super) object: String,
    pub(super) list: String,
}

/// The schemas of a document.
#[derive(Debug)]
pub(super) struct Definitions {
    pub(super) dialect: Dialect,
    schemas: BTreeMap<String, Value>,
    /// Addresses of structs that are written already.
    structs: BTreeSet<usize>,
    /// Definitions that are kinds: the same struct elsewhere does not replace them.
    kinds: BTreeSet<String>,
    /// Groups and versions of the document.
    versions: BTreeSet<(&'static str, &'static str)>,
    /// Addresses of the enclosing structs, inside of a kind of a CustomResourceDefinition.
    around: Option<Vec<usize>>,
}

impl Definitions {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            schemas: BTreeMap::new(),
            structs: BTreeSet::new(),
            kinds: BTreeSet::new(),
            versions: BTreeSet::new(),
            around: None,
        }
    }

    /// Adds a kind and its list.
    ///
    /// `node`: its tree, if that differs from the row's.
    pub(super) fn kind(&mut self, info: &ResourceInfo, node: Option<&Node>) -> KindNames {
        self.versions.insert((info.group, info.version));
        let node = node.cloned().unwrap_or_else(|| info.node());
        let (name, mut schema) = match node.as_object() {
            Some(object) if info.custom => {
                self.around = Some(vec![ptr::from_ref(object).addr()]);
                let schema = self.object_schema(object);
                self.around = None;
                (custom_name(info), schema)
            }
            Some(object) => (name_of(object), self.object_schema(object)),
            // Nothing is known about the fields of the kind.
            None => {
                let metadata = self.node(&apimachinery::meta::ObjectMeta::node(), false);
                (custom_name(info), json!({ "type": "object", "properties": { "metadata": metadata } }))
            }
        };
        type_meta(&mut schema);
        schema["x-kubernetes-group-version-kind"] = json!([gvk(info.group, info.version, info.kind)]);
        self.schemas.insert(name.clone(), schema);
        self.kinds.insert(name.clone());

        let list = format!("{name}List");
        let metadata = self.described(&ListMeta::node(), "Metadata of the list.", false);
        let mut schema = json!({
            "type": "object",
            "description": format!("A list of {}.", info.plural),
            "properties": {
                "metadata": metadata,
                "items": {
                    "type": "array",
                    "description": "The objects.",
                    "items": self.dialect.reference(&name),
                },
            },
            "required": ["items"],
        });
        type_meta(&mut schema);
        let kind = format!("{}List", info.kind);
        schema["x-kubernetes-group-version-kind"] = json!([gvk(info.group, info.version, &kind)]);
        self.schemas.insert(list.clone(), schema);
        self.kinds.insert(list.clone());
        KindNames { object: name, list }
    }

    /// Returns the name of the options of a deletion.
    pub(super) fn delete_options(&mut self) -> String {
        let node = DeleteOptions::node();
        let object = node.as_object().expect("options are a struct");
        let name = name_of(object);
        let mut schema = self.object_schema(object);
        type_meta(&mut schema);
        schema["x-kubernetes-group-version-kind"] = self.everywhere("DeleteOptions");
        self.kinds.insert(name.clone());
        self.schemas.insert(name.clone(), schema);
        name
    }

    /// Returns the name of `Status`.
    pub(super) fn status(&mut self) -> String {
        let name = format!("{META}.Status");
        if self.kinds.insert(name.clone()) {
            let metadata = self.described(&ListMeta::node(), "Metadata, as of a list.", false);
            let mut schema = status(&metadata);
            type_meta(&mut schema);
            schema["x-kubernetes-group-version-kind"] = self.everywhere("Status");
            self.schemas.insert(name.clone(), schema);
        }
        name
    }

    /// Returns the name of a patch.
    pub(super) fn patch(&mut self) -> String {
        let name = format!("{META}.Patch");
        let schema = json!({ "type": "object", "description": "A patch in the form of its media type." });
        self.schemas.insert(name.clone(), schema);
        name
    }

    /// Returns the name of `autoscaling/v1` Scale.
    pub(super) fn scale(&mut self) -> String {
        let name = "io.k8s.api.autoscaling.v1.Scale".to_owned();
        if self.kinds.insert(name.clone()) {
            let metadata = self.node(&apimachinery::meta::ObjectMeta::node(), false);
            let mut schema = scale(&metadata);
            type_meta(&mut schema);
            schema["x-kubernetes-group-version-kind"] = json!([gvk("autoscaling", "v1", "Scale")]);
            self.schemas.insert(name.clone(), schema);
        }
        name
    }

    /// Returns the schemas by their names.
    pub(super) fn finish(self) -> Map<String, Value> {
        self.schemas.into_iter().collect()
    }

    /// Adds a kind that belongs to every group: in the core group, and in each group of the document.
    fn everywhere(&self, kind: &str) -> Value {
        let mut versions = self.versions.clone();
        versions.insert(("", "v1"));
        versions.iter().map(|(group, version)| gvk(group, version, kind)).collect()
    }

    /// Returns the schema of a field's value, an item or a map's value.
    fn node(&mut self, node: &Node, union: bool) -> Value {
        match node {
            Node::Object(reference) => {
                if let Some(schema) = self.in_place(reference.get()) {
                    return schema;
                }
                let name = self.object(reference.get());
                self.dialect.reference(&name)
            }
            Node::Map(values) => json!({ "type": "object", "additionalProperties": self.node(values, union) }),
            Node::List(items) => json!({ "type": "array", "items": self.node(items, union) }),
            Node::String => json!({ "type": "string" }),
            Node::Boolean => json!({ "type": "boolean" }),
            Node::Integer { bits, signed } => {
                let wide = *bits > 32 || (*bits == 32 && !signed);
                json!({ "type": "integer", "format": if wide { "int64" } else { "int32" } })
            }
            Node::Number => json!({ "type": "number", "format": "double" }),
            Node::Bytes => json!({ "type": "string", "format": "byte" }),
            // JSON of several shapes: no single type is correct.
            Node::Raw if union => json!({ "x-kubernetes-preserve-unknown-fields": true }),
            Node::Raw => self.named("io.k8s.apimachinery.pkg.runtime.RawExtension", || {
                json!({
                    "type": "object",
                    "description": "Any JSON object; its reader defines the fields.",
                    "x-kubernetes-preserve-unknown-fields": true,
                })
            }),
            Node::IntOrString => {
                let dialect = self.dialect;
                self.named("io.k8s.apimachinery.pkg.util.intstr.IntOrString", || {
                    let text = "A number, or a text with a number and a percent sign.";
                    either(dialect, "integer", json!({ "description": text, "format": "int-or-string" }))
                })
            }
            Node::Quantity => {
                let dialect = self.dialect;
                self.named("io.k8s.apimachinery.pkg.api.resource.Quantity", || {
                    let text = "An amount with a decimal (k, M, G, ...) or binary (Ki, Mi, Gi, ...) suffix, or with \
                                m for thousandths: 500m, 2, 4Gi.";
                    either(dialect, "number", json!({ "description": text }))
                })
            }
            Node::Duration => self.named(
                &format!("{META}.Duration"),
                || json!({ "type": "string", "description": "A length of time in Go's form: 1h30m, 500ms." }),
            ),
            Node::Time => self.named(
                &format!("{META}.Time"),
                || json!({ "type": "string", "format": "date-time", "description": "An instant in whole seconds." }),
            ),
            Node::MicroTime => self.named(
                &format!("{META}.MicroTime"),
                || json!({ "type": "string", "format": "date-time", "description": "An instant in microseconds." }),
            ),
        }
    }

    /// Returns the inline schema of a struct in a kind of a CustomResourceDefinition. Metadata is a definition there,
    /// too, and a recursive struct must be one.
    fn in_place(&mut self, object: &'static ObjectSchema) -> Option<Value> {
        let address = ptr::from_ref(object).addr();
        let around = self.around.as_mut()?;
        if object.package.starts_with(APIMACHINERY) || around.contains(&address) {
            return None;
        }
        around.push(address);
        let schema = self.object_schema(object);
        self.around.as_mut()?.pop();
        Some(schema)
    }

    fn named(&mut self, name: &str, schema: impl FnOnce() -> Value) -> Value {
        if !self.schemas.contains_key(name) {
            self.schemas.insert(name.to_owned(), schema());
        }
        self.dialect.reference(name)
    }

    /// Returns the name of a struct, which is defined if it was not.
    fn object(&mut self, object: &'static ObjectSchema) -> String {
        let name = name_of(object);
        if self.structs.insert(ptr::from_ref(object).addr()) {
            let schema = self.object_schema(object);
            // Two structs may represent one of upstream's, where one of them holds only the fields that are read: the
            // more complete one counts.
            let fuller = self.schemas.get(&name).is_none_or(|known| weight(&schema) > weight(known));
            if fuller && !self.kinds.contains(&name) {
                self.schemas.insert(name.clone(), schema);
            }
        }
        name
    }

    fn object_schema(&mut self, object: &'static ObjectSchema) -> Value {
        let union = object.package.starts_with(UNIONS);
        let properties: Map<String, Value> =
            object.fields.iter().map(|field| (field.name.to_owned(), self.property(field, union))).collect();
        let required: Vec<&str> = object.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut schema = json!({ "type": "object" });
        if !object.description.is_empty() {
            schema["description"] = json!(object.description);
        }
        if !properties.is_empty() {
            schema["properties"] = Value::Object(properties);
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn property(&mut self, field: &Field, union: bool) -> Value {
        let mut text = field.description.to_owned();
        if field.deprecated && !text.to_lowercase().contains("deprecated") {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str("Deprecated.");
        }
        let mut schema = self.described(&field.node, &text, union);
        let dialect = self.dialect;
        let mut extend = |name: &str, value: Value| {
            wrap_reference(dialect, &mut schema);
            schema[format!("x-kubernetes-{name}")] = value;
        };
        match (&field.node, field.topology) {
            (Node::List(_), Topology::Atomic) => extend("list-type", json!("atomic")),
            (Node::List(_), Topology::Set) => extend("list-type", json!("set")),
            (Node::List(_), Topology::Map) => extend("list-type", json!("map")),
            (Node::Map(_) | Node::Object(_), Topology::Atomic) => extend("map-type", json!("atomic")),
            (Node::Map(_) | Node::Object(_), Topology::Granular) => extend("map-type", json!("granular")),
            _ => {}
        }
        if !field.list_map_keys.is_empty() {
            extend("list-map-keys", json!(field.list_map_keys));
        }
        if let Some(key) = field.merge_key {
            extend("patch-merge-key", json!(key));
        }
        if let Some(strategy) = field.patch_strategy {
            extend("patch-strategy", json!(strategy));
        }
        if field.preserve_unknown && !matches!(field.node, Node::Raw) {
            extend("preserve-unknown-fields", json!(true));
        }
        schema
    }

    /// Returns the schema of a value with its description.
    fn described(&mut self, node: &Node, text: &str, union: bool) -> Value {
        let mut schema = self.node(node, union);
        if text.is_empty() {
            return schema;
        }
        wrap_reference(self.dialect, &mut schema);
        schema["description"] = json!(text);
        schema
    }
}

/// Wraps a reference in `allOf`: in OpenAPI 3.0 no other keys are allowed next to `$ref`.
fn wrap_reference(dialect: Dialect, schema: &mut Value) {
    if dialect == Dialect::V3 && schema.get("$ref").is_some() {
        *schema = json!({ "allOf": [schema.take()] });
    }
}

/// Rank of a schema by completeness: number of fields first, then number of descriptions.
fn weight(schema: &Value) -> (usize, usize) {
    let properties = schema["properties"].as_object();
    let described = properties.into_iter().flatten().filter(|(_, property)| property.get("description").is_some());
    (properties.map_or(0, Map::len), described.count() + usize::from(schema.get("description").is_some()))
}

/// Returns the schema of a text or another type.
fn either(dialect: Dialect, other: &str, mut schema: Value) -> Value {
    match dialect {
        // OpenAPI 2.0 has one type only; validators know the format.
        Dialect::V2 => schema["type"] = json!("string"),
        Dialect::V3 => schema["oneOf"] = json!([{ "type": other }, { "type": "string" }]),
    }
    schema
}

/// Returns the name of a struct's definition: `io.k8s.api.core.v1.Pod`.
fn name_of(object: &ObjectSchema) -> String {
    let (host, path) = object.package.split_once('/').unwrap_or((object.package, ""));
    let mut segments: Vec<&str> = host.split('.').rev().collect();
    segments.extend(path.split('/').filter(|segment| !segment.is_empty()));
    segments.push(object.name);
    segments.join(".")
}

/// Returns the name of a kind of a CustomResourceDefinition: its group read backwards, version and kind.
fn custom_name(info: &ResourceInfo) -> String {
    let mut segments: Vec<&str> = info.group.split('.').rev().collect();
    segments.extend([info.version, info.kind]);
    segments.join(".")
}

pub(super) fn gvk(group: &str, version: &str, kind: &str) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}

/// Adds the fields `apiVersion` and `kind`.
fn type_meta(schema: &mut Value) {
    schema["properties"]["apiVersion"] = json!({ "type": "string", "description": API_VERSION });
    schema["properties"]["kind"] = json!({ "type": "string", "description": KIND });
}

fn status(metadata: &Value) -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "description": "Outcome of a request whose response is not an object.",
        "properties": {
            "metadata": metadata,
            "status": text("Success or Failure."),
            "message": text("Text for a person."),
            "reason": text("Reason of a failure, for programs."),
            "code": { "type": "integer", "format": "int32", "description": "HTTP code." },
            "details": {
                "type": "object",
                "description": "More about the reason.",
                "properties": {
                    "name": text("Name of the object."),
                    "group": text("Group of the object."),
                    "kind": text("Kind of the object, or its resource."),
                    "uid": text("Uid of the object."),
                    "retryAfterSeconds": {
                        "type": "integer", "format": "int32", "description": "When to try again.",
                    },
                    "causes": {
                        "type": "array",
                        "description": "Single causes.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "reason": text("Reason, for programs."),
                                "message": text("Text for a person."),
                                "field": text("Path of the field."),
                            },
                        },
                    },
                },
            },
        },
    })
}

fn scale(metadata: &Value) -> Value {
    let number = |text: &str| json!({ "type": "integer", "format": "int32", "description": text });
    json!({
        "type": "object",
        "description": "Present and desired number of a resource's replicas.",
        "properties": {
            "metadata": metadata,
            "spec": {
                "type": "object",
                "description": "Desired state.",
                "properties": { "replicas": number("Desired number of replicas.") },
            },
            "status": {
                "type": "object",
                "description": "What is there.",
                "properties": {
                    "replicas": number("Present number of replicas."),
                    "selector": { "type": "string", "description": "Labels of the replicas, as a selector." },
                },
                "required": ["replicas"],
            },
        },
    })
}
