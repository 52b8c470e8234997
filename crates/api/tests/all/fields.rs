// SPDX-License-Identifier: Apache-2.0
//! Compares the typed kinds with tables of facts about the public API: names, types, emit rules, merge keys, required fields.
//!
//! The numbers may only rise. Run with `--nocapture` to see what is missing.

use std::collections::{BTreeMap, BTreeSet};

use api::catalogue;
use api::kubernetes::tables;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use apimachinery::schema::{Emit, Field, Node, ObjectSchema};
use serde::Deserialize;
use serde_json::{Map, Value};

const TABLES: [(&str, &str); 10] = [
    ("authenticationv1alpha1", include_str!("fields/authentication.gardener.cloud_v1alpha1.json")),
    ("gardencorev1", include_str!("fields/core.gardener.cloud_v1.json")),
    ("gardencorev1beta1", include_str!("fields/core.gardener.cloud_v1beta1.json")),
    ("extensionsv1alpha1", include_str!("fields/extensions.gardener.cloud_v1alpha1.json")),
    ("machinev1alpha1", include_str!("fields/machine.sapcloud.io_v1alpha1.json")),
    ("operationsv1alpha1", include_str!("fields/operations.gardener.cloud_v1alpha1.json")),
    ("operatorv1alpha1", include_str!("fields/operator.gardener.cloud_v1alpha1.json")),
    ("securityv1alpha1", include_str!("fields/security.gardener.cloud_v1alpha1.json")),
    ("seedmanagementv1alpha1", include_str!("fields/seedmanagement.gardener.cloud_v1alpha1.json")),
    ("settingsv1alpha1", include_str!("fields/settings.gardener.cloud_v1alpha1.json")),
];

/// Releases that are compared, each with the value of `only` in facts that hold for it alone.
const RELEASES: [(Release, &str); 2] = [(Release(120), "v1.120.0"), (Release(149), "v1.150-dev")];

/// Fields that the tables have for v1.150-dev and that v1.149.0 does not have, by their struct.
const LATER: [(&str, &str); 3] =
    [("CloudProfileSpec", "controlPlane"), ("ControlPlane", "zones"), ("Settings", "persistentVolumeClaimAutoscaler")];

#[derive(Deserialize)]
struct Table {
    group: String,
    version: String,
    structs: BTreeMap<String, Map<String, Value>>,
    aliases: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fact {
    r#type: String,
    pointer: bool,
    omitempty: bool,
    required: bool,
    inline: bool,
    merge_key: Option<String>,
    patch_strategy: Option<String>,
}

/// Results of the comparison of one kind.
#[derive(Default)]
struct Coverage {
    facts: usize,
    failures: Vec<String>,
    seen: BTreeSet<(String, String)>,
}

impl Coverage {
    fn check(&mut self, holds: bool, complaint: impl FnOnce() -> String) {
        self.facts += 1;
        if !holds {
            self.failures.push(complaint());
        }
    }
}

/// Returns the tables with the facts of one version.
fn tables(version: &str) -> BTreeMap<&'static str, Table> {
    let of_version = |(name, text): &(&'static str, &str)| {
        let mut table: Table = serde_json::from_str(text).expect("the table is valid");
        for (owner, fields) in &mut table.structs {
            fields.retain(|field, fact| {
                let is_later = LATER.contains(&(owner.as_str(), field.as_str()));
                fact.get("only").is_none_or(|only| *only == version) && !is_later
            });
        }
        (*name, table)
    };
    TABLES.iter().map(of_version).collect()
}

/// Facts by the name of the field, each with the package that declares it.
type FactsByName = BTreeMap<String, (&'static str, Fact)>;
type Tables = BTreeMap<&'static str, Table>;

/// Returns the fields of a struct, those of embedded structs of Gardener in their place, with the package of each; and the
/// names of fields of embedded structs of Kubernetes.
fn facts(tables: &Tables, package: &'static str, name: &str) -> Option<(FactsByName, BTreeSet<String>)> {
    let (mut out, mut foreign) = (BTreeMap::new(), BTreeSet::new());
    for (field, fact) in tables[package].structs.get(name)? {
        let fact: Fact = serde_json::from_value(fact.clone()).expect("a fact");
        if !fact.inline {
            out.insert(field.clone(), (package, fact));
            continue;
        }
        let (owner, embedded) = match fact.r#type.split_once('.') {
            Some((owner, name)) => (tables.keys().find(|known| **known == owner).copied(), name),
            None => (Some(package), fact.r#type.as_str()),
        };
        if let Some((below, more)) = owner.and_then(|owner| facts(tables, owner, embedded)) {
            out.extend(below);
            foreign.extend(more);
            continue;
        }
        let names: &[&str] = match fact.r#type.as_str() {
            "metav1.LabelSelector" => &["matchLabels", "matchExpressions"],
            "rbacv1.Subject" => &["kind", "apiGroup", "name", "namespace"],
            "autoscalingv1.CrossVersionObjectReference" => &["kind", "name", "apiVersion"],
            other => panic!("{name} embeds {other}, which no table has"),
        };
        foreign.extend(names.iter().map(|name| (*name).to_owned()));
    }
    Some((out, foreign))
}

fn compare_struct(coverage: &mut Coverage, tables: &Tables, package: &'static str, name: &str, actual: &ObjectSchema) {
    if !coverage.seen.insert((package.to_owned(), name.to_owned())) {
        return;
    }
    let Some((facts, foreign)) = facts(tables, package, name) else {
        coverage.check(false, || format!("no table has {package}.{name}"));
        return;
    };
    coverage.check(actual.name == name, || format!("{name} is called {}", actual.name));
    for name_of_foreign in &foreign {
        let found = actual.field(name_of_foreign).is_some();
        coverage.check(found, || format!("{name}.{name_of_foreign} is missing"));
    }
    for (field_name, (package, fact)) in &facts {
        let field = actual.field(field_name);
        coverage.check(field.is_some(), || format!("{name}.{field_name} is missing"));
        if let Some(field) = field {
            compare_field(coverage, tables, package, &format!("{name}.{field_name}"), fact, field);
        }
    }
    for field in &actual.fields {
        coverage.check(facts.contains_key(field.name) || foreign.contains(field.name), || {
            format!("{name}.{} is no field upstream", field.name)
        });
    }
}

fn compare_field(
    coverage: &mut Coverage,
    tables: &Tables,
    package: &'static str,
    place: &str,
    fact: &Fact,
    field: &Field,
) {
    let is_struct = matches!(field.node, Node::Object(_) | Node::Time | Node::MicroTime | Node::Duration);
    let plain_struct = !fact.pointer && is_struct;
    let quantity = !fact.pointer && matches!(field.node, Node::Quantity | Node::IntOrString | Node::Raw);
    let emit = match (fact.omitempty, fact.pointer) {
        _ if plain_struct || quantity => Emit::Always,
        (false, _) => Emit::Always,
        (true, true) => Emit::Pointer,
        (true, false) => Emit::OmitEmpty,
    };
    // Zero times are written as null, and a missing list is omitted: both rules result in the same bytes.
    coverage.check(field.emit == emit, || format!("{place} is written {:?}, upstream {emit:?}", field.emit));
    coverage.check(field.merge_key == fact.merge_key.as_deref(), || {
        format!("{place} merges by {:?}, upstream {:?}", field.merge_key, fact.merge_key)
    });
    coverage.check(field.patch_strategy == fact.patch_strategy.as_deref(), || {
        format!("{place} patches by {:?}, upstream {:?}", field.patch_strategy, fact.patch_strategy)
    });
    coverage.check(field.required == fact.required, || format!("{place} is required: upstream {}", fact.required));
    compare_type(coverage, tables, package, place, &fact.r#type, &field.node);
}

fn compare_type(
    coverage: &mut Coverage,
    tables: &Tables,
    package: &'static str,
    place: &str,
    type_: &str,
    node: &Node,
) {
    if type_ != "[]byte"
        && let Some(items) = type_.strip_prefix("[]")
    {
        let Node::List(below) = node else {
            return coverage.check(false, || format!("{place} is {node:?}, upstream {type_}"));
        };
        return compare_type(coverage, tables, package, place, items, below);
    }
    if let Some((_, values)) = type_.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        let Node::Map(below) = node else {
            return coverage.check(false, || format!("{place} is {node:?}, upstream {type_}"));
        };
        return compare_type(coverage, tables, package, place, values, below);
    }
    if matches!(type_, "CapabilitySet" | "MachineImageFlavor") {
        // A struct that is encoded as the map it holds.
        return compare_type(coverage, tables, package, place, "Capabilities", node);
    }
    let (owner, name) = match type_.split_once('.') {
        Some((owner, name)) => (tables.keys().find(|known| **known == owner).copied(), name),
        None => (Some(package), type_.trim_start_matches('?')),
    };
    if let Some(owner) = owner {
        if let Some(meaning) = tables[owner].aliases.get(name) {
            return compare_type(coverage, tables, owner, place, meaning, node);
        }
        if tables[owner].structs.contains_key(name) {
            let Node::Object(reference) = node else {
                return coverage.check(false, || format!("{place} is {node:?}, upstream {type_}"));
            };
            coverage.check(true, String::new);
            return compare_struct(coverage, tables, owner, name, reference.get());
        }
    }
    let fits = match type_ {
        "string" | "types.UID" | "corev1.SecretType" | "corev1.PullPolicy" | "corev1.ServiceExternalTrafficPolicy" => {
            matches!(node, Node::String)
        }
        "bool" => matches!(node, Node::Boolean),
        "int32" => matches!(node, Node::Integer { bits: 32, signed: true }),
        "uint32" => matches!(node, Node::Integer { bits: 32, signed: false }),
        "uint16" => matches!(node, Node::Integer { bits: 16, signed: false }),
        "int" | "int64" => matches!(node, Node::Integer { bits: 64, signed: true }),
        "float64" => matches!(node, Node::Number),
        "intstr.IntOrString" => matches!(node, Node::IntOrString),
        "resource.Quantity" => matches!(node, Node::Quantity),
        "corev1.ResourceList" => matches!(node, Node::Map(values) if matches!(**values, Node::Quantity)),
        "metav1.Time" => matches!(node, Node::Time),
        "metav1.Duration" => matches!(node, Node::Duration),
        "[]byte" => matches!(node, Node::Bytes),
        "runtime.RawExtension" | "apiextensionsv1.JSON" => matches!(node, Node::Raw),
        other => {
            matches!(node, Node::Object(reference) if reference.get().name == other.rsplit('.').next().unwrap_or_default())
        }
    };
    coverage.check(fits, || format!("{place} is {node:?}, upstream {type_}"));
    if let (Some(name), Node::Object(reference)) = (type_.strip_prefix("corev1."), node) {
        compare_with_table(coverage, place, reference.get(), name);
    }
}

/// An embedded struct of the core group has all its fields.
fn compare_with_table(coverage: &mut Coverage, place: &str, actual: &ObjectSchema, name: &str) {
    if !coverage.seen.insert(("core".to_owned(), name.to_owned())) {
        return;
    }
    let Some(table) = tables::node("core", name) else {
        return coverage.check(false, || format!("no table has core {name}"));
    };
    let table = table.as_object().expect("a struct");
    for expected in &table.fields {
        let found = actual.field(expected.name);
        coverage.check(found.is_some(), || format!("{place}: {name}.{} is missing", expected.name));
        let Some(found) = found else { continue };
        let same = std::mem::discriminant(&found.node) == std::mem::discriminant(&expected.node);
        coverage.check(same && found.merge_key == expected.merge_key && found.emit == expected.emit, || {
            format!("{place}: {name}.{} is {found:?}, upstream {expected:?}", expected.name)
        });
    }
}

/// Every fact of every typed kind of Gardener and machine-controller-manager, in each release that has a table.
#[test]
#[expect(clippy::print_stdout, reason = "the coverage is read by a person")]
fn every_fact_of_every_typed_kind_holds() {
    for (release, version) in RELEASES {
        let tables = tables(version);
        let (mut facts, mut failures, mut kinds) = (0, 0, 0);
        for row in catalogue::all().iter().map(|row| row.at(release)).filter(ResourceInfo::is_served) {
            let table = tables.iter().find(|(_, table)| table.group == row.group && table.version == row.version);
            let Some((package, _)) = table else { continue };
            let mut coverage = Coverage::default();
            // The tables have the attributes of the newest release.
            let node = ResourceInfo { attributes: &[], ..row.clone() }.node();
            compare_struct(&mut coverage, &tables, package, row.kind, node.as_object().expect("a struct"));
            let right = coverage.facts - coverage.failures.len();
            println!("{release} {:28} {:24} {right:5}/{}", row.group, row.kind, coverage.facts);
            for failure in &coverage.failures {
                println!("    {failure}");
            }
            facts += coverage.facts;
            failures += coverage.failures.len();
            kinds += 1;
        }
        assert!(kinds >= 40, "{kinds} kinds have tables");
        assert!(facts > 5000, "{facts} facts were compared");
        assert_eq!(failures, 0, "of {facts} facts of {release}");
    }
}

/// The typed views of Kubernetes' own kinds, which may lack fields, agree with the tables in those they have.
#[test]
fn typed_views_of_kubernetes_kinds_agree_with_the_tables() {
    use api::kubernetes::{apps, coordination, core};
    use apimachinery::schema::Schema as _;
    let views = [
        ("core", core::Namespace::node()),
        ("core", core::Secret::node()),
        ("core", core::ConfigMap::node()),
        ("core", core::ServiceAccount::node()),
        ("core", core::Event::node()),
        ("core", core::Node::node()),
        ("core", core::Pod::node()),
        ("core", core::Service::node()),
        ("core", core::ResourceQuota::node()),
        ("apps", apps::Deployment::node()),
        ("apps", apps::ReplicaSet::node()),
        ("apps", apps::StatefulSet::node()),
        ("apps", apps::DaemonSet::node()),
        ("coordination", coordination::Lease::node()),
    ];
    let mut seen = BTreeSet::new();
    for (group, view) in views {
        let view = view.as_object().expect("a struct");
        let table = tables::node(group, view.name).expect("a table");
        agree(&mut seen, view, table.as_object().expect("a struct"));
    }
    assert!(seen.len() > 60, "{} structs were compared", seen.len());
}

fn agree(seen: &mut BTreeSet<String>, view: &'static ObjectSchema, table: &'static ObjectSchema) {
    if !seen.insert(view.go_type()) {
        return;
    }
    assert_eq!(view.go_type(), table.go_type());
    let order: Vec<usize> = view
        .fields
        .iter()
        .map(|field| {
            let found = table.fields.iter().position(|known| known.name == field.name);
            let at = found.unwrap_or_else(|| panic!("{}.{} is no field upstream", view.name, field.name));
            let known = &table.fields[at];
            assert_eq!(field.emit, known.emit, "{}.{}", view.name, field.name);
            assert_eq!(field.merge_key, known.merge_key, "{}.{}", view.name, field.name);
            assert_eq!(field.topology, known.topology, "{}.{}", view.name, field.name);
            descend(seen, &field.node, &known.node, &format!("{}.{}", view.name, field.name));
            at
        })
        .collect();
    assert!(order.is_sorted(), "{} has upstream's order", view.name);
}

fn descend(seen: &mut BTreeSet<String>, view: &Node, table: &Node, place: &str) {
    match (view, table) {
        (Node::Object(view), Node::Object(table)) => agree(seen, view.get(), table.get()),
        (Node::List(view), Node::List(table)) | (Node::Map(view), Node::Map(table)) => {
            descend(seen, view, table, place);
        }
        _ => assert_eq!(view.go_type(), table.go_type(), "{place}"),
    }
}
