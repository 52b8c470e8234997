// SPDX-License-Identifier: Apache-2.0
//! One row of a table of resources: everything that a server, a client and a command need to handle a kind.

use crate::object::Object;
use crate::release::{Release, Releases};
use crate::resource::{GroupKind, GroupResource, Resource};
use crate::schema::{self, Change, Node};

/// A served resource.
#[derive(Clone, Debug)]
pub struct ResourceInfo {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version of the group: `v1beta1`.
    pub version: &'static str,
    /// Kind of its objects: `Shoot`.
    pub kind: &'static str,
    /// Plural name.
    pub plural: &'static str,
    /// Singular name.
    pub singular: &'static str,
    /// Short names.
    pub short_names: &'static [&'static str],
    /// Categories, `all`.
    pub categories: &'static [&'static str],
    /// True if objects have a namespace.
    pub namespaced: bool,
    /// Subresources in addition to the main resource: `status`, `scale`, `binding`.
    pub subresources: &'static [&'static str],
    /// Printer columns in addition to Name; see [`Column`].
    pub columns: &'static [Column],
    /// Field selectors in addition to `metadata.name` and `metadata.namespace`: (label, path of the value). A path may
    /// have alternatives, `.a.b|.c|=x`: the first that is not empty counts, `=x` is the text x.
    pub field_selectors: &'static [(&'static str, &'static str)],
    /// Paths of heartbeat fields: an update that changes nothing else is volatile.
    pub heartbeat_fields: &'static [&'static str],
    /// True if the resource is read-only for clients.
    pub read_only: bool,
    /// True if the kind behaves like one of a CustomResourceDefinition (no strategic merge patch, pruning by schema).
    pub custom: bool,
    /// Schema of the kind with the fields of all releases.
    pub schema: fn() -> Node,
    /// Fields that only some releases have.
    pub fields: &'static [ReleasedField],
    /// Attributes of fields that only some releases have; the schema has those of the newest.
    pub attributes: &'static [ReleasedAttribute],
    /// Releases that serve the resource and its subresources.
    pub life: Life,
    /// The release whose fields are served.
    pub release: Release,
}

/// Releases that serve a resource, its subresources and its field selectors, and its renamed fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// Releases that serve the resource.
    pub releases: Releases,
    /// Subresources that only some of them serve.
    pub subresources: &'static [(&'static str, Releases)],
    /// Labels of field selectors that only some of them support.
    pub field_selectors: &'static [(&'static str, Releases)],
    /// Fields with another name since some release.
    pub renamed_fields: &'static [RenamedField],
}

/// A field whose name differs between releases; each name is a [`ReleasedField`], too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedField {
    /// JSON names from the root to the field in former releases; [`schema::EACH`] matches each item of a list or map.
    pub former: &'static [&'static str],
    /// JSON names from the root to the field in the releases with the new name. Only the last item differs from `former`.
    pub new: &'static [&'static str],
    /// Releases with the new name.
    pub releases: Releases,
}

/// A field that only some releases have; not in `metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedField {
    /// JSON names from the root to the field; [`schema::EACH`] matches each item of a list or map.
    pub path: &'static [&'static str],
    /// Releases that have the field.
    pub releases: Releases,
    /// Objects in which the field has a default.
    pub default: FieldDefault,
}

/// An attribute of a field that only some releases have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasedAttribute {
    /// JSON names from the root to the field, as in [`ReleasedField::path`].
    pub path: &'static [&'static str],
    /// The attribute.
    pub attribute: Attribute,
    /// Releases in which the field has it.
    pub releases: Releases,
}

/// An attribute of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The API requires the field.
    Required,
    /// A strategic merge patch merges the items of the list by this field.
    MergeKey(&'static str),
}

/// Objects in which a field has a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldDefault {
    /// No object.
    #[default]
    Never,
    /// Every object that has the field's parent.
    WithParent,
    /// Every object: a missing parent is created with the default.
    Always,
}

/// A printer column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Header of the column, as kubectl prints it.
    pub name: &'static str,
    /// `string`, `integer`, `date`; `age` is a `string` with the time since an instant.
    pub type_: &'static str,
    /// `name`, or nothing.
    pub format: &'static str,
    /// Description for clients; the descriptions of an object's name and age are the same for all kinds.
    pub description: &'static str,
    /// Source of the cell.
    pub cell: Cell,
    /// 0: always shown; 1: with `-o wide`.
    pub priority: u8,
}

/// Source of a cell.
#[derive(Clone, Debug)]
pub enum Cell {
    /// A JSONPath below the object, `.spec.type`.
    Path(&'static str),
    /// The status of a condition, and the text when it is absent.
    Condition(&'static str, &'static str),
    /// The length of time between two instants, each at a JSONPath: up to now without a second one, empty without a first one.
    Elapsed(&'static str, &'static str),
    /// The age of an instant at a JSONPath, and the text when it is absent.
    Age(&'static str, &'static str),
    /// A text of the object's tree and an instant; with the instant's age, `5 (3m ago)`, if there is one.
    Ago(fn(&serde_json::Value) -> (String, Option<String>)),
    /// A number of seconds at a JSONPath as a length of time; `<none>` without one.
    Seconds(&'static str),
    /// A function of the object's tree.
    Function(fn(&serde_json::Value) -> serde_json::Value),
}

impl Column {
    /// Creates a column without format and description.
    pub const fn new(name: &'static str, type_: &'static str, cell: Cell, priority: u8) -> Self {
        Self { name, type_, format: "", description: "", cell, priority }
    }
}

impl ResourceInfo {
    /// Row without names, with any JSON, in all releases: the base of rows that set few fields.
    pub const BASE: Self = Self {
        group: "",
        version: "",
        kind: "",
        plural: "",
        singular: "",
        short_names: &[],
        categories: &[],
        namespaced: false,
        subresources: &[],
        columns: &[],
        field_selectors: &[],
        heartbeat_fields: &[],
        read_only: false,
        custom: false,
        schema: || Node::Raw,
        fields: &[],
        attributes: &[],
        life: Life { releases: Releases::ALL, subresources: &[], field_selectors: &[], renamed_fields: &[] },
        release: Release::UNION,
    };

    /// Returns the row as a release serves it.
    pub fn at(&self, release: Release) -> Self {
        Self { release, ..self.clone() }
    }

    /// True if releases differ in the resource, its subresources or its fields.
    pub fn differs_by_release(&self) -> bool {
        !self.fields.is_empty() || !self.attributes.is_empty() || self.life != Life::default()
    }

    /// True if the row's release serves the resource.
    pub fn is_served(&self) -> bool {
        self.life.releases.contain(self.release)
    }

    /// True if the row's release has a subresource, provided that the resource has one of that name.
    pub fn serves(&self, subresource: &str) -> bool {
        self.has(self.life.subresources, subresource)
    }

    /// True if the row's release supports a field selector, provided that the resource has one of that label.
    pub fn selects(&self, label: &str) -> bool {
        self.has(self.life.field_selectors, label)
    }

    /// True unless the table excludes the row's release for the name.
    fn has(&self, table: &[(&str, Releases)], name: &str) -> bool {
        table.iter().all(|(known, releases)| *known != name || releases.contain(self.release))
    }

    /// Returns the paths of the fields that the row's release does not have.
    pub fn unknown_fields(&self) -> impl Iterator<Item = &'static [&'static str]> {
        self.fields.iter().filter(|field| !field.releases.contain(self.release)).map(|field| field.path)
    }

    /// Returns the paths of the renamed fields with a name that the row's release does not have, and the name that it has.
    pub fn foreign_names(&self) -> impl Iterator<Item = (&'static [&'static str], &'static str)> {
        let is_union = self.release == Release::UNION;
        self.life.renamed_fields.iter().filter(move |_| !is_union).filter_map(|field| {
            let is_new = field.releases.contain(self.release);
            let (foreign, own) = if is_new { (field.former, field.new) } else { (field.new, field.former) };
            Some((foreign, *own.last()?))
        })
    }

    /// Returns the fields with a default that only some releases have, the row's release among them.
    pub fn released_defaults(&self) -> impl Iterator<Item = &'static ReleasedField> {
        let has_default = |field: &&ReleasedField| field.default != FieldDefault::Never;
        self.fields.iter().filter(has_default).filter(|field| field.releases.contain(self.release))
    }

    /// Returns the schema of the kind as the row's release has it; that of [`Release::UNION`] has the attributes of the
    /// newest release.
    pub fn node(&self) -> Node {
        let is_of_release =
            |one: &&ReleasedAttribute| self.release != Release::UNION && one.releases.contain(self.release);
        let attributes = self.attributes.iter().filter(is_of_release).map(|one| match one.attribute {
            Attribute::Required => (one.path, Change::Required),
            Attribute::MergeKey(key) => (one.path, Change::MergeKey(key)),
        });
        let changed = attributes.fold((self.schema)(), |node, (path, change)| schema::changed(node, path, change));
        self.unknown_fields().fold(changed, schema::without)
    }

    /// Returns group and plural name.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.to_owned(), resource: self.plural.to_owned() }
    }

    /// Returns group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.to_owned(), kind: self.kind.to_owned() }
    }

    /// Returns `group/plural`: the resource part of a log key.
    pub fn log_resource(&self) -> String {
        format!("{}/{}", self.group, self.plural)
    }

    /// True if this row describes `K`.
    pub fn describes<K: Resource + Object>(&self) -> bool {
        self.group == K::GROUP && self.version == K::VERSION && self.plural == K::PLURAL
    }
}
