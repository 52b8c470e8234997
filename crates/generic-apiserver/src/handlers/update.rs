// SPDX-License-Identifier: Apache-2.0
//! PUT of objects and their subresources, and the change of a stored object from any source.

use std::sync::Arc;

use apimachinery::GroupKind;
use apimachinery::field::{ErrorType, FieldError, Path};
use eventlog::{Expect, Verb};
use process::Response;
use serde_json::{Map, Value};

use super::apply::Configuration;
use super::draft::Draft;
use super::ownership::ClientEntries;
use super::patch::is_precondition;
use super::write::{Made, Passed, Tries, Write};
use super::{Scope, scale, warn};
use crate::kind::AnyObject;
use crate::registry::Generation;
use crate::request::FieldValidation;
use crate::snapshot::View;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;
use crate::{heartbeat, meta};

/// Source of the new object.
pub(super) enum Source<'a> {
    /// The body of a PUT.
    Body(Draft),
    /// A patch and its media type.
    Patch(&'a str, &'a [u8], FieldValidation),
    /// A new value for the number of replicas, and a resource version that must match.
    Replicas(i64, String),
    /// A configuration of an apply.
    Apply(Configuration),
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
            let said = draft.warnings.clone();
            let created = self.create_from(draft, &name, None).await;
            let (mut response, warnings) = created.map_err(|failure| failure.warned(said))?;
            warn(&mut response, &warnings);
            return Ok(response);
        }
        self.modify(&name, Source::Body(draft)).await
    }

    /// Reads, changes and writes an object, again after each concurrent change.
    pub(super) async fn modify(&self, name: &str, mut source: Source<'_>) -> Result<Response> {
        let resource = &self.names().group_resource;
        let mut tries = Tries::default();
        while tries.go_on() {
            let stored = self.stored(name)?;
            let old = self.decoded(&stored)?;
            let mut made = self.make(&mut source, &stored, &*old)?;
            let whole = matches!(source, Source::Body(_));
            if let Err(failure) = self.keep_identity(&mut *made.object, &stored, &*old, whole) {
                return Err(failure.warned(made.warnings));
            }
            // For a patch, owners are checked only once.
            if whole {
                made.warnings.extend(meta::dedup_owners(self.kind.metadata_mut(&mut *made.object), false));
            }
            let mut view = View::new(&self.server.store, &self.call.route.cluster);
            let Passed { mut object, managed, warnings, .. } = self.pass(name, made, Some(&*old), &mut view).await?;

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

    /// Returns the new object from the source, before any other change.
    fn make(&self, source: &mut Source<'_>, stored: &Stored, old: &AnyObject) -> Result<Made> {
        match source {
            Source::Body(draft) => {
                let tree = draft.tree.clone();
                let given = ClientEntries::of(&tree);
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
                Ok(Made::new(self.object(tree)?, Vec::new(), ClientEntries::Nothing))
            }
            Source::Apply(configuration) => self.made_by_apply(configuration, stored, old),
        }
    }

    /// Restricts the body of a PUT to the fields that its resource may change: everything except `status` on the main
    /// resource, `status` and metadata on `status`.
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
            "approval" => {
                let mut kept = self.kind.to_tree_without_entries(old);
                let decided = fields.get_mut("status").and_then(|status| status.get_mut("conditions")).map(Value::take);
                if let Some(metadata) = fields.remove("metadata") {
                    put(object_of(&mut kept)?, "metadata", Some(metadata));
                }
                if !kept["status"].is_object() {
                    kept["status"] = Value::Object(Map::new());
                }
                put(object_of(&mut kept["status"])?, "conditions", decided);
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

    /// Checks preconditions and names in the new object's metadata.
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
        match meta::resource_version(&meta.resource_version)? {
            0 => {
                if whole && !self.kind.allows_unconditional_update() && self.context.subresource.is_empty() {
                    // The resource is in the place of the kind, as in the real API.
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
                if given != stored.revision.0 {
                    return Err(Failure::Modified(names.group_resource.clone(), old.name.clone()));
                }
            }
        }
        Ok(())
    }

    /// Restores fields that only the server may change; returns the name.
    pub(super) fn keep_server_fields(&self, object: &mut AnyObject, old: &AnyObject) -> String {
        let old = self.kind.metadata(old);
        let meta = self.kind.metadata_mut(object);
        meta.self_link.clear();
        meta.uid.clone_from(&old.uid);
        meta.creation_timestamp = old.creation_timestamp;
        meta.deletion_timestamp = old.deletion_timestamp;
        meta.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
        meta.generation = old.generation;
        meta.resource_version.clone_from(&old.resource_version);
        old.name.clone()
    }

    /// Encodes the object for storage; raises its generation if the kind's specification changed.
    fn encode_update(&self, object: &mut AnyObject, old: &AnyObject, stored: &Stored) -> eventlog::Sections {
        let before = stored.defaulted_sections();
        let encoded = self.kind.encode_change(object, old, &before);
        let standard = self.kind.generation() == Generation::Standard && &*self.context.subresource != "status";
        if !standard || encoded.parts[3] == before.parts[3] {
            return encoded;
        }
        // The pruning of a field that the release does not have any more is not a change of the specification.
        if self.kind.pruned(&stored.sections).is_some_and(|pruned| encoded.parts[3] == pruned.parts[3]) {
            return encoded;
        }
        self.kind.metadata_mut(object).generation += 1;
        self.kind.encode_change(object, old, &before)
    }

    /// True if nothing keeps a deleted object any more.
    pub(super) fn is_released(&self, object: &AnyObject) -> bool {
        let meta = self.kind.metadata(object);
        meta.is_being_deleted()
            && meta.finalizers.is_empty()
            && meta.deletion_grace_period_seconds.unwrap_or(0) == 0
            && !self.kind.holds_deletion(object)
    }

    /// Deletes an object; `None`: it changed meanwhile.
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

/// Returns the stored metadata with the preconditions in the metadata of a request.
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
