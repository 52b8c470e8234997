// SPDX-License-Identifier: Apache-2.0
//! PUT and PATCH of objects and their subresources.

use std::borrow::Cow;
use std::sync::Arc;

use apimachinery::field::{ErrorType, FieldError, Path};
use apimachinery::meta::ManagedFieldsEntry;
use apimachinery::{GroupKind, decode, opaque, patch};
use eventlog::{Expect, Verb};
use http::header::CONTENT_TYPE;
use process::Response;
use serde_json::{Map, Value};

use super::apply::Configuration;
use super::draft::Draft;
use super::ownership::{Given, concerns_entries};
use super::webhooks::Change;
use super::{Scope, Tries, Write, scale, sections, warn};
use crate::admission::Operation;
use crate::kind::AnyObject;
use crate::negotiation::media;
use crate::registry::Generation;
use crate::request::FieldValidation;
use crate::snapshot::View;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;
use crate::{heartbeat, meta};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// How the new object comes from the stored one.
pub(super) enum Source<'a> {
    /// The body of a PUT.
    Body(Draft),
    /// A patch and its media type.
    Patch(&'a str, &'a [u8], FieldValidation),
    /// A new value for the number of replicas, and a resource version that must hold.
    Replicas(i64, String),
    /// A configuration.
    Apply(Configuration),
}

/// A new object, and what there is to warn of.
pub(super) struct Made {
    pub(super) object: Box<AnyObject>,
    pub(super) warnings: Vec<String>,
    /// What the client says of managed fields.
    pub(super) given: Given,
    /// The managed fields, if they are known already.
    pub(super) entries: Option<Vec<ManagedFieldsEntry>>,
}

impl Made {
    fn new(object: Box<AnyObject>, warnings: Vec<String>, given: Given) -> Self {
        Self { object, warnings, given, entries: None }
    }
}

impl Scope {
    pub(super) async fn update(mut self, body: &[u8]) -> Result<Response> {
        self.context.dry_run = self.call.query.dry_run("UpdateOptions")?;
        let validation = self.call.query.field_validation("UpdateOptions")?;
        let draft = self.draft(body, validation)?;
        let name = self.path.name.clone();
        let given = draft.tree["metadata"]["name"].as_str().unwrap_or_default();
        if given.is_empty() {
            return Err(Failure::BadRequest(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != name {
            return Err(meta::name_mismatch(given, &name));
        }
        if self.kind.allows_create_on_update()
            && self.path.subresource.is_empty()
            && self.server.store.get(self.id, &self.object_path(&name)).is_none()
        {
            let (mut response, warnings) = self.create_from(draft, &name, None).await?;
            warn(&mut response, &warnings);
            return Ok(response);
        }
        self.modify(&name, Source::Body(draft)).await
    }

    pub(super) async fn patch(mut self, body: &[u8]) -> Result<Response> {
        self.context.dry_run = self.call.query.dry_run("PatchOptions")?;
        let validation = self.call.query.field_validation("PatchOptions")?;
        let type_ = self.patch_type()?;
        if self.call.query.flag("force").is_some() && type_ != APPLY_PATCH {
            let error = FieldError::forbidden(&Path::new("force"), "may not be specified for non-apply patch");
            return Err(Failure::options("PatchOptions", error));
        }
        if type_ == APPLY_PATCH {
            return self.apply(body, validation).await;
        }
        let name = self.path.name.clone();
        self.modify(&name, Source::Patch(type_, body, validation)).await
    }

    /// The patch's media type.
    pub(super) fn patch_type(&self) -> Result<&'static str> {
        let type_ = media(self.call.header(CONTENT_TYPE));
        let accepted: &[&'static str] = if self.names().info.custom {
            &[JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        } else {
            &[JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]
        };
        let found = accepted.iter().find(|accepted| **accepted == type_).copied();
        found.ok_or_else(|| Failure::UnsupportedMediaType(accepted.to_vec()))
    }

    /// Reads, changes and writes an object until nobody came in between.
    pub(super) async fn modify(&self, name: &str, mut source: Source<'_>) -> Result<Response> {
        let resource = &self.names().group_resource;
        let mut tries = Tries::default();
        while tries.go_on() {
            let stored = self.stored(name)?;
            let old = self.decoded(&stored)?;
            let Made { mut object, mut warnings, given, entries } = self.make(&mut source, &stored, &*old)?;
            let whole = matches!(source, Source::Body(_));
            self.keep_identity(&mut *object, &stored, &*old, whole)?;
            // Of a patch owners are looked at only once.
            if whole {
                warnings.extend(meta::dedup_owners(self.kind.metadata_mut(&mut *object), false));
            }
            self.kind.default(&mut *object);
            let sent = std::mem::take(&mut self.kind.metadata_mut(&mut *object).managed_fields);
            let managed = entries.unwrap_or_else(|| self.entries_of_changed(&*object, &*old, &given.with(sent)));
            self.kind.metadata_mut(&mut *object).managed_fields.clone_from(&managed);

            let mut view = View::new(&self.server.store, &self.call.route.cluster);
            self.admit(Operation::Update, name, &mut *object, Some(&*old), &mut view)?;
            let change = Change { operation: Operation::Update, name, old: Some(&*old) };
            self.mutate(change, &mut object, &mut warnings).await?;
            warnings.extend(meta::dedup_owners(self.kind.metadata_mut(&mut *object), true));
            self.keep_server_fields(&mut *object, &*old);
            self.kind.metadata_mut(&mut *object).managed_fields.clone_from(&managed);
            self.kind.prepare_for_update(&mut *object, &*old, &self.context);
            let errors = self.kind.validate_update(&*object, &*old, &self.context);
            self.invalid(name, &errors)?;
            let errors = meta::validate_update(self.kind.metadata(&*object), self.kind.metadata(&*old), self.names());
            self.invalid(name, &errors)?;
            self.kind.canonicalize(&mut *object);
            self.validate(Operation::Update, name, &mut *object, Some(&*old), &mut view)?;
            self.review(change, &*object, &mut warnings).await?;
            warnings.extend(self.kind.warnings(&*object, Some(&*old), &self.context));
            warnings.extend(self.admission_warnings(Operation::Update, name, &mut *object, Some(&*old), &mut view));

            let mut encoded = self.encode_update(&mut *object, &*old, &stored);
            if self.is_of_times_only(&managed, &*old, &stored, &encoded) {
                self.kind
                    .metadata_mut(&mut *object)
                    .managed_fields
                    .clone_from(&self.kind.metadata(&*old).managed_fields);
                encoded = self.encode_update(&mut *object, &*old, &stored);
            }
            let finish = |mut response: Response| {
                warn(&mut response, &warnings);
                response
            };
            if self.is_released(&*object) {
                let guards = std::mem::take(&mut view.guards);
                if self.context.dry_run {
                    return Ok(finish(self.answer_unstored(200, &*object)));
                }
                if self.remove(&mut tries, &stored, guards).await?.is_some() {
                    return Ok(finish(self.answer_unstored(200, &*object)));
                }
                continue;
            }
            if encoded.parts == stored.sections.parts {
                return Ok(finish(self.answer(200, &stored)));
            }
            if self.context.dry_run {
                return Ok(finish(self.answer_unstored(200, &*object)));
            }
            let same = |part: usize| encoded.parts[part] == stored.sections.parts[part];
            let verb = if same(0) && same(1) && same(3) { Verb::UpdateStatus } else { Verb::Update };
            let volatile = heartbeat::is_only(self.names(), &stored.sections, &encoded);
            let write = Write {
                key: self.key(name),
                expect: Expect::Revision(stored.revision),
                guards: std::mem::take(&mut view.guards),
                verb,
                sections: encoded,
                volatile,
            };
            if let Some(stored) = self.append(&mut tries, write, object).await? {
                return Ok(finish(self.answer(200, &stored)));
            }
        }
        Err(Failure::Modified(resource.clone(), name.to_owned()))
    }

    /// The new object, before anything but the client has touched it.
    fn make(&self, source: &mut Source<'_>, stored: &Stored, old: &AnyObject) -> Result<Made> {
        match source {
            Source::Body(draft) => {
                let tree = draft.tree.clone();
                let given = Given::of(&tree);
                let tree = self.through_door(tree, stored, old)?;
                Ok(Made::new(self.object(tree)?, draft.warnings.clone(), given))
            }
            Source::Patch(type_, body, validation) => self.patched(type_, body, *validation, stored, old),
            Source::Replicas(replicas, revision) => {
                let mut tree = self.kind.to_tree_without_entries(old);
                scale::set(&mut tree, self.names().scale.wanted, (*replicas).into());
                if !revision.is_empty() {
                    tree["metadata"]["resourceVersion"] = Value::String(revision.clone());
                }
                Ok(Made::new(self.object(tree)?, Vec::new(), Given::Nothing))
            }
            Source::Apply(configuration) => self.made_by_apply(configuration, stored, old),
        }
    }

    /// Keeps of a PUT's body what its door lets through: everything but `status` on the main resource, `status` and
    /// metadata on `status`.
    pub(super) fn through_door(&self, mut tree: Value, stored: &Stored, old: &AnyObject) -> Result<Value> {
        let fields = object_of(&mut tree)?;
        match &*self.context.subresource {
            "status" => {
                let mut kept = self.kind.to_tree_without_entries(old);
                let into = object_of(&mut kept)?;
                put(into, "status", fields.remove("status"));
                if let Some(metadata) = fields.remove("metadata") {
                    let metadata = if self.names().info.custom { preconditions_of(into, metadata) } else { metadata };
                    put(into, "metadata", Some(metadata));
                }
                Ok(kept)
            }
            "finalize" => {
                let mut kept = self.kind.to_tree_without_entries(old);
                let finalizers = fields.get_mut("spec").and_then(|spec| spec.get_mut("finalizers")).map(Value::take);
                if let Some(metadata) = fields.remove("metadata") {
                    put(object_of(&mut kept)?, "metadata", Some(metadata));
                }
                kept["spec"]["finalizers"] = finalizers.unwrap_or(Value::Array(Vec::new()));
                Ok(kept)
            }
            _ => {
                if self.names().has_subresource("status") {
                    put(fields, "status", stored.status());
                }
                Ok(tree)
            }
        }
    }

    /// Applies a patch to the stored object.
    fn patched(
        &self,
        type_: &str,
        body: &[u8],
        validation: FieldValidation,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Made> {
        if type_ == JSON_PATCH {
            let entries = concerns_entries(body);
            let make = || {
                let mut tree = self.opaque_tree(old, &stored.sections, entries)?;
                let body = opaque::open_for_json_patch(&mut tree, body, &self.names().node);
                patch::json_patch(&mut tree, &body)?;
                Ok(tree)
            };
            let draft = self.pruned(make, None, validation)?;
            let given = Given::of(&draft.tree);
            let tree = self.through_door(draft.tree, stored, old)?;
            return Ok(Made::new(self.object(tree)?, draft.warnings, given));
        }
        let merge = self.merge_patch(body)?;
        let entries = concerns_entries(body);
        if !entries && let Some(made) = self.patched_part(type_, &merge, validation, stored, old)? {
            return Ok(made);
        }
        let strategic = (type_ == STRATEGIC_PATCH).then_some(&merge);
        let make = || self.merged_whole(type_, &merge, entries, stored, old);
        let Draft { tree, warnings } = self.pruned(make, strategic, validation)?;
        let given = Given::of(&tree);
        Ok(Made::new(self.object(tree)?, warnings, given))
    }

    /// Applies a patch only to the top-level fields that it names, since most of an object is what a patch does not touch;
    /// `None` if that cannot be told, or the kind's fields cannot be told apart.
    fn patched_part(
        &self,
        type_: &str,
        merge: &Value,
        validation: FieldValidation,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Option<Made>> {
        let Value::Object(fields) = merge else { return Ok(None) };
        // A directive is about its siblings. What clusters define for themselves may have another schema by now. A strategic
        // patch of the whole sorts all opaque JSON.
        let is_strategic = type_ == STRATEGIC_PATCH;
        let sorts = is_strategic && self.kind.keeps_opaque() && &*self.context.subresource != "status";
        if sorts || self.names().described.is_some() || fields.keys().any(|name| name.starts_with('$')) {
            return Ok(None);
        }
        let given = fields.get("metadata").and_then(preconditions);
        let mut touched: Vec<&str> = fields.keys().map(String::as_str).collect();
        let mut part = Cow::Borrowed(merge);
        if given.is_some() {
            touched.retain(|name| *name != "metadata");
            let others = fields.iter().filter(|(name, _)| *name != "metadata");
            part = Cow::Owned(Value::Object(others.map(|(name, value)| (name.clone(), value.clone())).collect()));
        }
        let make = || {
            let trees = self.kind.trees_of(old, &touched, !is_strategic);
            self.merged(type_, Value::Object(trees), &part)
        };
        let whole = || self.merged_whole(type_, merge, false, stored, old);
        let Draft { tree, warnings } = self.pruned_part(make, whole, is_strategic.then_some(merge), validation)?;
        let mut object = self.object(tree)?;
        if !self.kind.keep_fields(&mut *object, old, &touched) {
            return Ok(None);
        }
        let meta = self.kind.metadata_mut(&mut *object);
        for (name, value) in given.into_iter().flatten() {
            match name {
                "name" => value.clone_into(&mut meta.name),
                "namespace" => value.clone_into(&mut meta.namespace),
                "uid" => value.clone_into(&mut meta.uid),
                _ => value.clone_into(&mut meta.resource_version),
            }
        }
        Ok(Some(Made::new(object, warnings, Given::Nothing)))
    }

    /// The whole object with a merge patch applied.
    fn merged_whole(
        &self,
        type_: &str,
        merge: &Value,
        entries: bool,
        stored: &Stored,
        old: &AnyObject,
    ) -> Result<Value> {
        let tree = match type_ {
            STRATEGIC_PATCH if !entries => self.kind.to_tree_without_entries(old),
            STRATEGIC_PATCH => self.kind.to_tree(old),
            _ => self.opaque_tree(old, &stored.sections, entries)?,
        };
        self.merged(type_, tree, merge)
    }

    fn merged(&self, type_: &str, mut tree: Value, merge: &Value) -> Result<Value> {
        if type_ == STRATEGIC_PATCH {
            patch::strategic_merge_patch(&mut tree, merge, &self.names().node)?;
        } else {
            opaque::open_for_merge(&mut tree, merge);
            patch::merge_patch(&mut tree, merge);
        }
        Ok(tree)
    }

    /// An object as a tree in which opaque JSON has the text that it has in the object's sections; without its managed fields
    /// unless `entries` says so.
    pub(super) fn opaque_tree(
        &self,
        object: &AnyObject,
        sections: &eventlog::Sections,
        entries: bool,
    ) -> Result<Value> {
        if !self.kind.keeps_opaque() {
            return Ok(if entries { self.kind.to_tree(object) } else { self.kind.to_tree_without_entries(object) });
        }
        let [identity, metadata, managed, rest, status] = &sections.parts;
        let managed: &[u8] = if entries { managed } else { b"}" };
        let text = [identity, metadata, managed, rest, status].concat();
        let decoded = decode::json_with_opaque(&text, &self.names().node);
        let mut tree = decoded.map_err(|error| Failure::Internal(error.message))?.tree;
        // The sections hold no resource version.
        let version = &self.kind.metadata(object).resource_version;
        if !version.is_empty() {
            tree["metadata"]["resourceVersion"] = Value::String(version.clone());
        }
        Ok(tree)
    }

    /// Reads a merge patch, and leaves out what the door does not let through, so that nothing has to be put back.
    fn merge_patch(&self, body: &[u8]) -> Result<Value> {
        let mut merge = read_patch(body)?;
        let Value::Object(fields) = &mut merge else {
            return Err(Failure::BadRequest("error decoding patch: the patch is not a JSON object".to_owned()));
        };
        if &*self.context.subresource == "status" {
            fields.retain(|name, _| matches!(name.as_str(), "status" | "metadata" | "apiVersion" | "kind"));
            if self.names().info.custom
                && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
            {
                metadata.retain(|name, _| is_precondition(name));
            }
        } else if self.names().has_subresource("status") {
            fields.remove("status");
        }
        Ok(merge)
    }

    /// Preconditions and names of the new object's metadata.
    fn keep_identity(&self, object: &mut AnyObject, stored: &Stored, old: &AnyObject, whole: bool) -> Result<()> {
        let names = self.names();
        let old = self.kind.metadata(old);
        let meta = self.kind.metadata_mut(object);
        if meta.name != old.name {
            return Err(meta::name_mismatch(&meta.name, &old.name));
        }
        if !names.info.namespaced || meta.namespace.is_empty() {
            meta.namespace.clone_from(&old.namespace);
        } else if meta.namespace != old.namespace {
            return Err(Failure::BadRequest(format!(
                "the namespace of the object ({}) does not match the namespace on the request ({})",
                meta.namespace, old.namespace
            )));
        }
        if !meta.uid.is_empty() && meta.uid != old.uid {
            if whole {
                let key = format!("/{}/{}/{}", names.log_resource, old.namespace, old.name);
                let why = format!(
                    "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                     Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    meta.uid, old.uid
                );
                return Err(Failure::Conflict(names.group_resource.clone(), old.name.clone(), why));
            }
            let error = FieldError::invalid(&Path::new("metadata.uid"), &meta.uid, "field is immutable");
            return Err(Failure::field(&names.group_kind, &old.name, error));
        }
        match meta.resource_version.as_str() {
            "" | "0" => {
                if whole && !self.kind.allows_unconditional_update() && self.context.subresource.is_empty() {
                    // The resource stands where the kind belongs, as in the real API.
                    let kind = GroupKind { group: names.info.group.to_owned(), kind: names.info.plural.to_owned() };
                    let error = FieldError {
                        error_type: ErrorType::Invalid,
                        field: "metadata.resourceVersion".to_owned(),
                        body: "Invalid value: 0x0: must be specified for an update".to_owned(),
                    };
                    return Err(Failure::field(&kind, &old.name, error));
                }
            }
            given => {
                if given != stored.revision.to_string() {
                    return Err(Failure::Modified(names.group_resource.clone(), old.name.clone()));
                }
            }
        }
        Ok(())
    }

    /// Puts back what only the server may change.
    fn keep_server_fields(&self, object: &mut AnyObject, old: &AnyObject) {
        let old = self.kind.metadata(old);
        let meta = self.kind.metadata_mut(object);
        meta.self_link.clear();
        meta.uid.clone_from(&old.uid);
        meta.creation_timestamp = old.creation_timestamp;
        meta.deletion_timestamp = old.deletion_timestamp;
        meta.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
        meta.generation = old.generation;
        meta.resource_version.clone_from(&old.resource_version);
    }

    /// The object as it is stored, its generation raised if the kind's specification changed.
    fn encode_update(&self, object: &mut AnyObject, old: &AnyObject, stored: &Stored) -> eventlog::Sections {
        let before = stored_sections(&stored.sections);
        let encoded = sections(self.kind.encode_change(object, old, &before));
        let standard = self.kind.generation() == Generation::Standard && &*self.context.subresource != "status";
        if !standard || encoded.parts[3] == stored.sections.parts[3] {
            return encoded;
        }
        self.kind.metadata_mut(object).generation += 1;
        sections(self.kind.encode_change(object, old, &before))
    }

    /// Whether nothing keeps a deleted object any more.
    pub(super) fn is_released(&self, object: &AnyObject) -> bool {
        let meta = self.kind.metadata(object);
        meta.is_being_deleted()
            && meta.finalizers.is_empty()
            && meta.deletion_grace_period_seconds.unwrap_or(0) == 0
            && !self.kind.holds_deletion(object)
    }

    /// Removes an object; `None`: it changed meanwhile.
    pub(super) async fn remove(
        &self,
        tries: &mut Tries,
        stored: &Arc<Stored>,
        guards: Vec<eventlog::Guard>,
    ) -> Result<Option<Arc<Stored>>> {
        let last = self.kind.copy(&*self.decoded(stored)?);
        let write = Write {
            key: stored.key(&self.names().log_resource),
            expect: Expect::Revision(stored.revision),
            guards,
            verb: Verb::Delete,
            sections: stored.sections.clone(),
            volatile: false,
        };
        self.append(tries, write, last).await
    }
}

/// Reads a patch of any shape.
pub(super) fn read_patch(body: &[u8]) -> Result<Value> {
    decode::any_json(body).map_err(|error| Failure::BadRequest(format!("error decoding patch: {}", error.message)))
}

/// The log's sections as the encoder's.
fn stored_sections(stored: &eventlog::Sections) -> apimachinery::encode::Sections {
    let [identity, metadata, managed_fields, rest, status] = stored.parts.clone();
    apimachinery::encode::Sections { identity, metadata, managed_fields, rest, status }
}

fn object_of(tree: &mut Value) -> Result<&mut Map<String, Value>> {
    tree.as_object_mut().ok_or_else(|| Failure::BadRequest("the object is not a JSON object".to_owned()))
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            fields.insert(name.to_owned(), value);
        }
        None => {
            fields.remove(name);
        }
    }
}

/// What a patch says of metadata, if these are preconditions and nothing else.
fn preconditions(metadata: &Value) -> Option<Vec<(&str, &str)>> {
    let given = metadata.as_object()?.iter();
    given.map(|(name, value)| Some((name.as_str(), value.as_str().filter(|_| is_precondition(name))?))).collect()
}

fn is_precondition(name: &str) -> bool {
    matches!(name, "name" | "namespace" | "uid" | "resourceVersion")
}

/// The stored metadata with the preconditions of a request's.
fn preconditions_of(stored: &mut Map<String, Value>, metadata: Value) -> Value {
    let mut kept = stored.remove("metadata").unwrap_or_default();
    if let (Value::Object(kept), Value::Object(given)) = (&mut kept, metadata) {
        kept.remove("resourceVersion");
        for (name, value) in given {
            if is_precondition(&name) {
                kept.insert(name, value);
            }
        }
    }
    kept
}
