// SPDX-License-Identifier: Apache-2.0
//! A served kind without its type: operations that handlers need of `O` and its strategy.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use apimachinery::decode;
use apimachinery::dynamic::leave_out_zeros;
use apimachinery::encode;
use apimachinery::field::FieldError;
use apimachinery::meta::ObjectMeta;
use apimachinery::object::DifferingTrees;
use apimachinery::release::Release;
use apimachinery::schema::{EACH, Emit, Field, Node};
use apimachinery::{GroupKind, GroupResource, GroupVersionResource, Object};
use bytes::Bytes;
use eventlog::Sections;
use serde_json::{Map, Value};

use crate::registry::{Generation, RequestContext, ScalePaths, Shape, Strategy};
use crate::sections::fields::{UnknownField, lacks};

/// An object whose type only its [`Kind`] knows.
pub(crate) type AnyObject = dyn Any + Send + Sync;

/// True if a subresource is a part of its object or another way to change the whole object. Other subresources exist
/// only where a hook answers them.
pub(crate) fn is_part(subresource: &str) -> bool {
    matches!(subresource, "approval" | "binding" | "ephemeralcontainers" | "finalize" | "scale" | "status")
}

/// Names of a kind, computed once.
pub(crate) struct Names {
    pub(crate) info: ResourceInfo,
    /// Schema by which bodies are pruned.
    pub(crate) node: Node,
    /// Schema of objects in OpenAPI documents; `None`: the row's tree.
    pub(crate) described: Option<Node>,
    pub(crate) scale: ScalePaths,
    pub(crate) api_version: String,
    pub(crate) log_resource: Arc<str>,
    pub(crate) group_resource: GroupResource,
    pub(crate) group_kind: GroupKind,
    pub(crate) gvr: GroupVersionResource,
}

impl Names {
    fn new(info: &ResourceInfo, shape: Option<Shape>) -> Self {
        let scale = shape.as_ref().and_then(|shape| shape.scale).unwrap_or_default();
        let (node, described) = match shape {
            Some(shape) => (shape.pruned, Some(shape.described)),
            None => (info.node(), None),
        };
        Self {
            node,
            described,
            scale,
            api_version: apimachinery::resource::group_version(info.group, info.version),
            log_resource: info.log_resource().into(),
            group_resource: info.group_resource(),
            group_kind: info.group_kind(),
            gvr: GroupVersionResource {
                group: info.group.to_owned(),
                version: info.version.to_owned(),
                resource: info.plural.to_owned(),
            },
            info: info.clone(),
        }
    }

    /// True if the resource has a subresource that is read and written like its object.
    pub(crate) fn has_part(&self, name: &str) -> bool {
        self.has_subresource(name) && is_part(name) && self.info.serves(name)
    }

    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        self.info.subresources.contains(&name)
    }
}

/// The operations of a kind, among them the hooks of its strategy.
///
/// Objects that are passed in have the kind's own type: they result from [`Kind::read_tree`], [`Kind::copy`] or the store.
pub(crate) trait Kind: Strategy<AnyObject> {
    fn names(&self) -> &Names;
    /// Returns the kind in the form of a release.
    fn at(&self, release: Release) -> Arc<dyn Kind>;
    /// True if [`Kind::pruned`] may return something.
    fn prunes(&self) -> bool;
    /// Returns a stored object without the fields that the release of a custom kind does not have; `None`: it has none of these.
    fn pruned(&self, stored: &Sections) -> Option<Sections>;
    fn read_tree(&self, tree: Value) -> Result<Box<AnyObject>, String>;
    /// Returns a stored object with a merge patch that [`decode::merge_patch`] has pruned.
    fn merged(&self, old: &AnyObject, patch: Value) -> Result<Box<AnyObject>, String>;
    /// Decodes an object from bytes that this or another server has stored.
    fn read_served(&self, bytes: &[u8]) -> Result<Box<AnyObject>, String>;
    /// Sets defaults of fields that an object lacks because it was stored by a release that did not know them. Returns
    /// the encoded section of everything except metadata and status, if it differs from that of `stored`.
    fn default_served(&self, object: &mut AnyObject, stored: &Sections) -> Option<Bytes>;
    /// Returns the served form of an object that was stored under another schema of the kind; `None`: as stored.
    fn present(&self, stored: &Sections) -> Option<Sections>;
    fn to_tree(&self, object: &AnyObject) -> Value;
    /// [`Object::to_tree_without_entries`].
    fn to_tree_without_entries(&self, object: &AnyObject) -> Value;
    /// [`Object::KEEPS_OPAQUE`].
    fn keeps_opaque(&self) -> bool;
    /// [`Object::trees_of`].
    fn trees_of(&self, object: &AnyObject, names: &[&str]) -> Map<String, Value>;
    /// [`Object::keep_fields`].
    fn keep_fields(&self, object: &mut AnyObject, old: &AnyObject, except: &[&str]) -> bool;
    fn encode(&self, object: &AnyObject) -> Sections;
    /// Encodes a change of `old`, whose sections are `stored`, like [`Kind::encode`]; unchanged sections are reused.
    fn encode_change(&self, object: &AnyObject, old: &AnyObject, stored: &Sections) -> Sections;
    /// Returns the tree of a new object in which no field was set: Go never leaves out a struct.
    fn empty_tree(&self) -> Value;
    /// [`Object::differing_trees`].
    fn differing_trees(&self, object: &AnyObject, old: &AnyObject) -> DifferingTrees;
    fn copy(&self, object: &AnyObject) -> Box<AnyObject>;
    fn metadata<'a>(&self, object: &'a AnyObject) -> &'a ObjectMeta;
    fn metadata_mut<'a>(&self, object: &'a mut AnyObject) -> &'a mut ObjectMeta;
}

/// A kind whose objects have type `O`.
///
/// Defaulting is that of the newest release: a typed object may have defaults in fields that the row's release does not
/// know. These are left out of every tree and of stored objects; an object that is read from the log has them again
/// ([`Kind::default_served`]), so that they do not count as a difference between two versions of it.
pub(crate) struct Typed<O, S> {
    names: Names,
    /// Fields that the row's release does not know.
    unknown: Vec<UnknownField>,
    strategy: Arc<S>,
    kind: PhantomData<fn() -> O>,
}

impl<O, S> Typed<O, S> {
    /// Returns the tree of an object without fields that the row's release does not know.
    fn known(&self, mut tree: Value) -> Value {
        for path in self.names.info.unknown_fields() {
            remove(&mut tree, path);
        }
        tree
    }

    /// Returns the sections of an object without fields that the row's release does not know. Sections that are shared
    /// with `stored` lack them already, except those of a custom kind: its stored objects are pruned when they are
    /// written.
    fn known_sections(&self, encoded: encode::Sections, stored: Option<&Sections>) -> Sections {
        let mut sections = log_sections(encoded);
        for field in &self.unknown {
            let part = field.part();
            let is_shared = |stored: &Sections| stored.parts[part].as_ptr() == sections.parts[part].as_ptr();
            if !self.names.info.custom && stored.is_some_and(is_shared) {
                continue;
            }
            if let Some((without, _)) = field.cut(&sections.parts[part]) {
                sections.parts[part] = without.into();
            }
        }
        sections
    }
}

/// Converts the encoder's sections to the log's.
fn log_sections(encoded: encode::Sections) -> Sections {
    let encode::Sections { identity, metadata, managed_fields, rest, status } = encoded;
    Sections { parts: [identity, metadata, managed_fields, rest, status] }
}

/// Converts the log's sections to the encoder's.
fn encoder_sections(stored: &Sections) -> encode::Sections {
    let [identity, metadata, managed_fields, rest, status] = stored.parts.clone();
    encode::Sections { identity, metadata, managed_fields, rest, status }
}

/// Removes the field at a path.
fn remove(tree: &mut Value, path: &[&str]) {
    match (tree, path) {
        (Value::Array(items), [EACH, rest @ ..]) => items.iter_mut().for_each(|item| remove(item, rest)),
        (Value::Object(values), [EACH, rest @ ..]) => values.values_mut().for_each(|value| remove(value, rest)),
        (Value::Object(fields), [name]) => {
            fields.remove(*name);
        }
        (Value::Object(fields), [name, rest @ ..]) => {
            if let Some(value) = fields.get_mut(*name) {
                remove(value, rest);
            }
        }
        _ => {}
    }
}

impl<O: Object, S: Strategy<O>> Typed<O, S> {
    pub(crate) fn new(info: &ResourceInfo, strategy: S) -> Self {
        Self::named(Names::new(info, None), Arc::new(strategy))
    }

    fn named(names: Names, strategy: Arc<S>) -> Self {
        let unknown = UnknownField::of(&names.info);
        Self { names, unknown, strategy, kind: PhantomData }
    }

    /// True if trees of the kind leave out the zero values that Go leaves out. Typed objects do so by themselves;
    /// custom kinds have no Go type.
    fn leaves_out_zeros(&self) -> bool {
        !O::KEEPS_OPAQUE && !self.names.info.custom
    }

    /// Returns a stored object with the defaults of fields that were added later, if it lacks any.
    fn with_released_defaults(&self, stored: &Sections) -> Option<Sections> {
        self.names.info.released_defaults().find(|field| lacks(stored, field))?;
        let mut object = O::from_served(&stored.parts.concat()).ok()?;
        let rest = self.default_served(&mut object, stored)?;
        let mut shown = stored.clone();
        shown.parts[3] = rest;
        Some(shown)
    }

    pub(crate) fn shaped(info: &ResourceInfo, shape: Shape, strategy: S) -> Self {
        Self::named(Names::new(info, Some(shape)), Arc::new(strategy))
    }
}

/// A tree with an empty struct wherever Go writes one, and `null` for lists and maps that it writes.
fn with_structs(mut tree: Value, node: &Node) -> Value {
    let fields = node.as_object().map(|schema| schema.fields.as_slice()).unwrap_or_default();
    for field in fields.iter().filter(|field| field.emit == Emit::Always) {
        if tree.get(field.name).is_some() {
            continue;
        }
        match field.node {
            Node::Object(_) => tree[field.name] = with_structs(Value::Object(Map::new()), &field.node),
            Node::List(_) | Node::Map(_) => tree[field.name] = Value::Null,
            _ => {}
        }
    }
    tree
}

/// True if a field is a struct that Go never leaves out.
fn is_struct(field: &Field) -> bool {
    field.emit == Emit::Always && field.node.as_object().is_some()
}

const OWN: &str = "a kind is only given objects of its own type";

fn own<O: 'static>(object: &AnyObject) -> &O {
    object.downcast_ref().expect(OWN)
}

fn own_mut<O: 'static>(object: &mut AnyObject) -> &mut O {
    object.downcast_mut().expect(OWN)
}

impl<O: Object, S: Strategy<O>> Kind for Typed<O, S> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn at(&self, release: Release) -> Arc<dyn Kind> {
        Arc::new(Self::named(Names::new(&self.names.info.at(release), None), self.strategy.clone()))
    }

    fn prunes(&self) -> bool {
        self.names.info.custom && !self.unknown.is_empty()
    }

    fn pruned(&self, stored: &Sections) -> Option<Sections> {
        // Fields of other kinds that the release does not have are cut when the log is read.
        if !self.names.info.custom {
            return None;
        }
        let mut shown: Option<Sections> = None;
        for field in &self.unknown {
            let part = field.part();
            let section = &shown.as_ref().unwrap_or(stored).parts[part];
            if let Some((without, _)) = field.cut(section) {
                shown.get_or_insert_with(|| stored.clone()).parts[part] = without.into();
            }
        }
        shown
    }

    fn read_tree(&self, mut tree: Value) -> Result<Box<AnyObject>, String> {
        if self.leaves_out_zeros() {
            leave_out_zeros(&mut tree, &self.names.node);
        }
        match O::from_tree(tree) {
            Ok(object) => Ok(Box::new(object)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn merged(&self, old: &AnyObject, patch: Value) -> Result<Box<AnyObject>, String> {
        let mut object = own::<O>(old).clone();
        let schema = self.leaves_out_zeros().then_some(&self.names.node);
        match object.merge(patch, schema) {
            Ok(()) => Ok(Box::new(object)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn read_served(&self, bytes: &[u8]) -> Result<Box<AnyObject>, String> {
        match O::from_served(bytes) {
            Ok(object) => Ok(Box::new(object)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn default_served(&self, object: &mut AnyObject, stored: &Sections) -> Option<Bytes> {
        if self.names.info.fields.is_empty() {
            return None;
        }
        let object = own_mut::<O>(object);
        let before = object.clone();
        self.strategy.default(object);
        let encoded = object.encode_change(&before, &encoder_sections(stored));
        let [.., rest, _] = self.known_sections(encoded, Some(stored)).parts;
        (rest != stored.parts[3]).then_some(rest)
    }

    fn present(&self, stored: &Sections) -> Option<Sections> {
        if !self.names.info.custom {
            return self.with_released_defaults(stored);
        }
        let bytes = stored.parts.concat();
        let read = || serde_json::from_slice::<Value>(&bytes).ok();
        // An object that does not fit the schema any more is shown as it is.
        let tree = decode::tree(read()?, &self.names.node).map_or_else(|_| read(), |decoded| Some(decoded.tree))?;
        let mut object = O::from_tree(tree).ok()?;
        self.strategy.default(&mut object);
        let shown = log_sections(object.encode());
        (shown.parts != stored.parts).then_some(shown)
    }

    fn trees_of(&self, object: &AnyObject, names: &[&str]) -> Map<String, Value> {
        let trees = own::<O>(object).trees_of(names);
        match self.known(Value::Object(trees)) {
            Value::Object(trees) => trees,
            _ => Map::new(),
        }
    }

    fn keep_fields(&self, object: &mut AnyObject, old: &AnyObject, except: &[&str]) -> bool {
        own_mut::<O>(object).keep_fields(own::<O>(old), except)
    }

    fn to_tree(&self, object: &AnyObject) -> Value {
        self.known(own::<O>(object).to_tree())
    }

    fn to_tree_without_entries(&self, object: &AnyObject) -> Value {
        self.known(own::<O>(object).to_tree_without_entries())
    }

    fn keeps_opaque(&self) -> bool {
        O::KEEPS_OPAQUE
    }

    fn encode(&self, object: &AnyObject) -> Sections {
        self.known_sections(own::<O>(object).encode(), None)
    }

    fn encode_change(&self, object: &AnyObject, old: &AnyObject, stored: &Sections) -> Sections {
        let encoded = own::<O>(object).encode_change(own::<O>(old), &encoder_sections(stored));
        self.known_sections(encoded, Some(stored))
    }

    fn empty_tree(&self) -> Value {
        let empty = O::from_tree(Value::Object(Map::new())).map(|object| object.to_tree()).unwrap_or_default();
        if O::KEEPS_OPAQUE { empty } else { with_structs(empty, &self.names.node) }
    }

    fn differing_trees(&self, object: &AnyObject, old: &AnyObject) -> DifferingTrees {
        let mut trees = own::<O>(object).differing_trees(own::<O>(old));
        if !O::KEEPS_OPAQUE {
            for field in self.names.node.as_object().into_iter().flat_map(|schema| &schema.fields) {
                if is_struct(field) && trees.old.get(field.name).is_none() && trees.new.get(field.name).is_some() {
                    trees.old[field.name] = Value::Object(Map::new());
                }
            }
        }
        DifferingTrees { old: self.known(trees.old), new: self.known(trees.new) }
    }

    fn copy(&self, object: &AnyObject) -> Box<AnyObject> {
        Box::new(own::<O>(object).clone())
    }

    fn metadata<'a>(&self, object: &'a AnyObject) -> &'a ObjectMeta {
        own::<O>(object).metadata()
    }

    fn metadata_mut<'a>(&self, object: &'a mut AnyObject) -> &'a mut ObjectMeta {
        own_mut::<O>(object).metadata_mut()
    }
}

// A hook that is not forwarded would have the generic behaviour.
#[warn(clippy::missing_trait_methods)]
impl<O: Object, S: Strategy<O>> Strategy<AnyObject> for Typed<O, S> {
    fn default(&self, object: &mut AnyObject) {
        self.strategy.default(own_mut(object));
    }

    fn prepare_for_create(&self, object: &mut AnyObject, request: &RequestContext) {
        self.strategy.prepare_for_create(own_mut(object), request);
    }

    fn validate_create(&self, object: &AnyObject, request: &RequestContext) -> Vec<FieldError> {
        self.strategy.validate_create(own(object), request)
    }

    fn prepare_for_update(&self, object: &mut AnyObject, old: &AnyObject, request: &RequestContext) {
        self.strategy.prepare_for_update(own_mut(object), own(old), request);
    }

    fn validate_update(&self, object: &AnyObject, old: &AnyObject, request: &RequestContext) -> Vec<FieldError> {
        self.strategy.validate_update(own(object), own(old), request)
    }

    fn canonicalize(&self, object: &mut AnyObject) {
        self.strategy.canonicalize(own_mut(object));
    }

    fn warnings(&self, object: &AnyObject, old: Option<&AnyObject>, request: &RequestContext) -> Vec<String> {
        self.strategy.warnings(own(object), old.map(own), request)
    }

    fn generation(&self) -> Generation {
        self.strategy.generation()
    }

    fn validates_long(&self) -> bool {
        self.strategy.validates_long()
    }

    fn allows_unconditional_update(&self) -> bool {
        self.strategy.allows_unconditional_update()
    }

    fn allows_create_on_update(&self) -> bool {
        self.strategy.allows_create_on_update()
    }

    fn keeps_status_on_create(&self) -> bool {
        self.strategy.keeps_status_on_create()
    }

    fn prepare_for_delete(&self, object: &mut AnyObject, request: &RequestContext) {
        self.strategy.prepare_for_delete(own_mut(object), request);
    }

    fn holds_deletion(&self, object: &AnyObject) -> bool {
        self.strategy.holds_deletion(own(object))
    }

    fn deletion_grace_seconds(&self, object: &AnyObject, asked: Option<i64>) -> i64 {
        self.strategy.deletion_grace_seconds(own(object), asked)
    }

    fn returns_deleted_object(&self) -> bool {
        self.strategy.returns_deleted_object()
    }
}
