// SPDX-License-Identifier: Apache-2.0
//! Schema trees of Kubernetes' own kinds, from tables of field facts.
//!
//! The tables hold names, types, emit rules, merge keys and protobuf numbers of the public API, one struct a line; descriptions
//! of structs and fields are in a file of their own. A table is parsed when one of its structs is requested first, a struct is
//! resolved when it is first traversed.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use apimachinery::meta;
use apimachinery::schema::{Emit, Field, Node, ObjectRef, ObjectSchema, Protobuf, Schema, Topology};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

/// The files, by the name that Go code gives their package.
const FILES: [(&str, &str); 21] = [
    ("admissionregistration", include_str!("fields/admissionregistration.json")),
    ("apiextensions", include_str!("fields/apiextensions.json")),
    ("apiregistration", include_str!("fields/apiregistration.json")),
    ("apps", include_str!("fields/apps.json")),
    ("authentication", include_str!("fields/authentication.json")),
    ("authorization", include_str!("fields/authorization.json")),
    ("autoscaling", include_str!("fields/autoscaling.json")),
    ("autoscalingv2", include_str!("fields/autoscalingv2.json")),
    ("batch", include_str!("fields/batch.json")),
    ("certificates", include_str!("fields/certificates.json")),
    ("coordination", include_str!("fields/coordination.json")),
    ("core", include_str!("fields/core.json")),
    ("discovery", include_str!("fields/discovery.json")),
    ("events", include_str!("fields/events.json")),
    ("flowcontrol", include_str!("fields/flowcontrol.json")),
    ("networking", include_str!("fields/networking.json")),
    ("node", include_str!("fields/node.json")),
    ("policy", include_str!("fields/policy.json")),
    ("rbac", include_str!("fields/rbac.json")),
    ("scheduling", include_str!("fields/scheduling.json")),
    ("storage", include_str!("fields/storage.json")),
];

/// Descriptions of structs and fields; the head of the file describes its format.
const DESCRIPTIONS: &str = include_str!("fields/descriptions.txt");

/// Descriptions of the fields of each `GROUP/STRUCT`; that of the struct itself is under the empty name.
static TEXTS: LazyLock<BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>> = LazyLock::new(|| {
    let mut texts = BTreeMap::<_, BTreeMap<_, _>>::new();
    let mut current = "";
    for line in DESCRIPTIONS.lines().filter(|line| !line.starts_with('#')) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let field = match word.strip_prefix('@') {
            Some(name) => {
                current = name;
                ""
            }
            None => word,
        };
        texts.entry(current).or_default().insert(field, text);
    }
    texts
});

/// Returns the description of a field of a struct; the empty name stands for the struct itself.
pub(crate) fn description_of(group: &str, name: &str, field: &str) -> &'static str {
    let own = TEXTS.get(format!("{group}/{name}").as_str()).and_then(|texts| texts.get(field));
    let common = || TEXTS.get("*").and_then(|texts| texts.get(field)).filter(|_| !field.is_empty());
    own.or_else(common).copied().unwrap_or_default()
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables::new(&FILES, named));

type Make<T> = Box<dyn FnOnce() -> T + Send>;
type Lazy<T> = LazyLock<T, Make<T>>;

/// Function that returns the tree of a type that Go does not predeclare, from the package that uses it and the name of the
/// type; `None` if no table has the type.
type Named = fn(&'static str, &'static str) -> Option<Node>;

/// Returns the tree of a struct of a group's `v1` package; `None` if no table has it.
pub fn node(group: &str, name: &str) -> Option<Node> {
    TABLES.node(group, name)
}

/// Resolves a type of the tables, `Pod` or `v1.Pod`.
pub(crate) fn named(group: &'static str, type_: &'static str) -> Option<Node> {
    match type_.split_once('.') {
        Some(("v1" | "corev1" | "apiv1", name)) => TABLES.named("core", name),
        Some(("rbacv1", name)) => TABLES.named("rbac", name),
        _ => TABLES.named(group, type_),
    }
}

/// Tables by the name of their package.
pub(crate) struct Tables {
    tables: Vec<(&'static str, Lazy<Table>)>,
    /// Resolves types that the tables use.
    named: Named,
}

impl Tables {
    /// Creates tables of files, which are parsed when they are used first.
    pub(crate) fn new(files: &[(&'static str, &'static str)], named: Named) -> Self {
        let make = |name, text| Box::new(move || Table::read(name, text, named)) as Make<_>;
        let tables = files.iter().map(|(name, text)| (*name, LazyLock::new(make(*name, *text)))).collect();
        Self { tables, named }
    }

    fn table(&self, group: &str) -> Option<&Table> {
        self.tables.iter().find(|(known, _)| *known == group).map(|(_, table)| &**table)
    }

    /// Returns the tree of a struct of a package; `None` if no table has it.
    pub(crate) fn node(&self, group: &str, name: &str) -> Option<Node> {
        self.table(group)?.structs.get(name).map(|lazy| Node::Object(ObjectRef::Table(lazy)))
    }

    /// Returns the node of a struct or an alias of a package; `None` if no table has it.
    pub(crate) fn named(&self, group: &'static str, name: &str) -> Option<Node> {
        match self.table(group)?.aliases.get(name) {
            Some(meaning) => Some(resolve(group, meaning, self.named)),
            None => self.node(group, name),
        }
    }

    /// Returns all structs.
    #[cfg(test)]
    pub(crate) fn structs(&self) -> impl Iterator<Item = &'static ObjectSchema> {
        self.tables.iter().flat_map(|(_, table)| table.structs.values()).map(|lazy| &***lazy)
    }
}

/// Parsed table of one package.
struct Table {
    structs: BTreeMap<&'static str, &'static Lazy<ObjectSchema>>,
    aliases: BTreeMap<&'static str, &'static str>,
}

#[derive(Deserialize)]
struct File<'a> {
    package: &'a str,
    #[serde(borrow)]
    structs: Ordered<'a, Ordered<'a, Fact<'a>>>,
    aliases: BTreeMap<&'a str, &'a str>,
}

/// Facts about a field.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fact<'a> {
    r#type: &'a str,
    pointer: bool,
    omitempty: bool,
    required: bool,
    deprecated: bool,
    inline: bool,
    preserve_unknown: bool,
    merge_key: Option<&'a str>,
    patch_strategy: Option<&'a str>,
    list_type: Option<&'a str>,
    list_map_keys: Vec<&'a str>,
    protobuf: Option<u32>,
}

/// Structs and the facts of their fields.
type Facts = BTreeMap<&'static str, Vec<(&'static str, Fact<'static>)>>;

/// A JSON object in its original order.
struct Ordered<'a, T>(Vec<(&'a str, T)>);

impl<'de: 'a, 'a, T: Deserialize<'de> + 'a> Deserialize<'de> for Ordered<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<'a, T>(PhantomData<&'a T>);
        impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for Entries<'a, T> {
            type Value = Ordered<'a, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl Table {
    fn read(group: &'static str, text: &'static str, named: Named) -> Self {
        let file: File<'static> = serde_json::from_str(text).expect("the table is valid");
        let package = file.package;
        let facts: &'static Facts =
            Box::leak(Box::new(file.structs.0.into_iter().map(|(name, fields)| (name, fields.0)).collect()));
        let structs = facts
            .keys()
            .map(|name| {
                let name: &'static str = name;
                let make: Make<ObjectSchema> = Box::new(move || ObjectSchema {
                    name,
                    package,
                    description: description_of(group, name, ""),
                    fields: fields(group, facts, name, named),
                });
                let lazy: &'static Lazy<ObjectSchema> = Box::leak(Box::new(LazyLock::new(make)));
                (name, lazy)
            })
            .collect();
        Self { structs, aliases: file.aliases }
    }
}

fn fields(group: &'static str, facts: &'static Facts, object: &str, named: Named) -> Vec<Field> {
    let mut out = Vec::new();
    for (name, fact) in facts.get(object).into_iter().flatten() {
        if fact.inline {
            // The fields of an embedded struct are served in its place; in protobuf the struct is a message.
            let embedded = fields(group, facts, fact.r#type, named).into_iter().map(|field| {
                let inner = field.protobuf.filter(|inner| inner.embedded_in.is_none()).zip(fact.protobuf);
                let protobuf = inner.map(|(inner, outer)| Protobuf { embedded_in: Some(outer), ..inner });
                Field { protobuf, ..field }
            });
            out.extend(embedded);
        } else {
            out.push(Field { description: description_of(group, object, name), ..field(group, name, fact, named) });
        }
    }
    out
}

fn field(group: &'static str, name: &'static str, fact: &'static Fact<'static>, named: Named) -> Field {
    let node = resolve(group, fact.r#type, named);
    let emit = match (fact.omitempty, fact.pointer) {
        (false, _) => Emit::Always,
        (true, true) => Emit::Pointer,
        // Go never omits a struct.
        (true, false)
            if matches!(
                node,
                Node::Object(_) | Node::Time | Node::MicroTime | Node::Quantity | Node::IntOrString | Node::Duration
            ) =>
        {
            Emit::Always
        }
        (true, false) => Emit::OmitEmpty,
    };
    let topology = match (fact.list_type, &node) {
        (Some("atomic"), _) => Topology::Atomic,
        (Some("set"), _) => Topology::Set,
        (Some("map"), _) => Topology::Map,
        _ => Topology::Default,
    };
    Field {
        name,
        description: "",
        node,
        required: fact.required,
        emit,
        merge_key: fact.merge_key,
        patch_strategy: fact.patch_strategy,
        topology,
        list_map_keys: &fact.list_map_keys,
        preserve_unknown: fact.preserve_unknown,
        deprecated: fact.deprecated,
        // Messages that no tree describes have no usable field numbers.
        protobuf: fact.protobuf.filter(|_| !is_union(fact.r#type)).map(Protobuf::of),
    }
}

/// True if a type has several representations in JSON, and a message of its own in protobuf.
fn is_union(type_: &str) -> bool {
    type_.ends_with("OrArray")
        || type_.ends_with("OrBool")
        || type_.ends_with("OrStringArray")
        || type_ == "CustomResourceSubresourceStatus"
}

/// Returns the node of a Go type by its name in a package.
fn resolve(group: &'static str, type_: &'static str, named: Named) -> Node {
    if type_ == "[]byte" {
        return Node::Bytes;
    }
    if let Some(items) = type_.strip_prefix("[]") {
        return Node::List(Box::new(resolve(group, items, named)));
    }
    if let Some((_, values)) = type_.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return Node::Map(Box::new(resolve(group, values, named)));
    }
    match type_ {
        "string" | "types.UID" => Node::String,
        "bool" => Node::Boolean,
        "int32" => Node::Integer { bits: 32, signed: true },
        "int" | "int64" => Node::Integer { bits: 64, signed: true },
        "float64" => Node::Number,
        "intstr.IntOrString" => Node::IntOrString,
        "resource.Quantity" => Node::Quantity,
        "metav1.Duration" => Node::Duration,
        "metav1.Time" => Node::Time,
        "metav1.MicroTime" => Node::MicroTime,
        "metav1.ObjectMeta" => meta::ObjectMeta::node(),
        "metav1.LabelSelector" => meta::LabelSelector::node(),
        "metav1.LabelSelectorRequirement" => meta::LabelSelectorRequirement::node(),
        "metav1.Condition" => meta::MetaCondition::node(),
        "metav1.DeleteOptions" => meta::DeleteOptions::node(),
        "metav1.OwnerReference" => meta::OwnerReference::node(),
        "runtime.RawExtension"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray"
        | "CustomResourceSubresourceStatus" => Node::Raw,
        other => named(group, other).unwrap_or_else(|| panic!("no table has type {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Traverses every reachable type, so that a type without a table fails here.
    #[test]
    fn every_type_of_every_table_resolves() {
        let mut structs = 0;
        for object in TABLES.structs() {
            structs += 1;
            assert!(object.fields.iter().all(|field| !field.name.is_empty()), "{}", object.name);
        }
        assert!(structs > 350, "{structs}");
    }

    /// A text without a field means that its name is misspelt.
    #[test]
    fn every_description_belongs_to_a_field() {
        for (object, texts) in TEXTS.iter().filter(|(object, _)| **object != "*") {
            let (group, name) = object.split_once('/').expect("group and struct");
            let node = node(group, name).unwrap_or_else(|| panic!("no table has {object}"));
            let object = node.as_object().expect("a struct");
            for field in texts.keys().filter(|field| !field.is_empty()) {
                assert!(object.field(field).is_some(), "{group}/{name} has no {field}");
            }
        }
        let pod = node("core", "Pod").expect("there is a table");
        assert_eq!(
            pod.as_object().expect("a struct").description,
            "A group of containers that run together on a node."
        );
    }

    #[test]
    fn the_tree_has_the_facts_of_the_tables() {
        let pod = node("core", "PodSpec").expect("there is a table");
        let spec = pod.as_object().expect("a struct");
        let containers = spec.field("containers").expect("a field");
        assert_eq!((containers.merge_key, containers.patch_strategy), (Some("name"), Some("merge")));
        assert_eq!(
            (containers.topology, containers.list_map_keys, containers.protobuf),
            (Topology::Map, &["name"][..], Some(Protobuf::of(2)))
        );
        let volume = node("core", "Volume").expect("there is a table");
        assert!(volume.as_object().expect("a struct").field("emptyDir").is_some(), "embedded structs are flat");
        assert_eq!(spec.go_type(), "v1.PodSpec");
    }
}
