// SPDX-License-Identifier: Apache-2.0
//! POST of a collection.

use std::sync::Arc;

use apimachinery::meta::{ManagedFieldsEntry, Time};
use bytes::Bytes;
use eventlog::{Expect, Verb};
use process::Response;
use serde_json::Value;

use super::draft::Draft;
use super::ownership::ClientEntries;
use super::write::{Made, Passed, Tries, Write};
use super::{Scope, warn};
use crate::kind::AnyObject;
use crate::meta;
use crate::registry::Generation;
use crate::snapshot::View;
use crate::status::{Failure, Result};
use crate::storage::stored::Stored;

/// Longest prefix of a generated name.
const PREFIX: usize = 58;

impl Scope {
    pub(super) async fn create(mut self, body: Bytes) -> Result<Response> {
        self.context.dry_run = self.call.query.dry_run("CreateOptions")?;
        let validation = self.call.query.field_validation("CreateOptions")?;
        let draft = self.draft(&body, validation)?;
        let said = draft.warnings.clone();
        let created = self.create_from(draft, "", None).await;
        let (mut response, warnings) = created.map_err(|failure| failure.warned(said))?;
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Creates an object; `name` is that of the URL, for creation by a PUT or an apply; `entries` are those of an apply.
    pub(super) async fn create_from(
        &self,
        draft: Draft,
        name: &str,
        entries: Option<Vec<ManagedFieldsEntry>>,
    ) -> Result<(Response, Vec<String>)> {
        let Draft { mut tree, warnings } = draft;
        let resource = &self.names().group_resource;
        if self.names().has_subresource("status")
            && !self.kind.keeps_status_on_create()
            && let Value::Object(fields) = &mut tree
        {
            fields.remove("status");
        }
        let said = ClientEntries::of(&tree);
        let mut tries = Tries::default();
        while tries.go_on() {
            let mut object = self.object(tree.clone())?;
            self.take_identity(&mut *object, name)?;
            let mut warnings = warnings.clone();
            warnings.extend(meta::dedup_owners(self.kind.metadata_mut(&mut *object), false));
            let given = self.kind.metadata(&*object).name.clone();
            let made = Made { object, warnings, given: said.clone(), entries: entries.clone() };
            let mut view = View::new(&self.server.store, &self.call.route.cluster);
            let Passed { name, object, warnings, .. } = self.pass(&given, made, None, &mut view).await?;

            let generated = given.is_empty();
            let path = self.object_path(&name);
            if self.server.store.get(self.id, &path).is_some() {
                let taken = if generated {
                    Failure::NoFreeName(resource.clone(), name)
                } else {
                    Failure::AlreadyExists(resource.clone(), name)
                };
                return Err(taken.warned(warnings));
            }
            let encoded = self.kind.encode(&*object);
            if self.context.dry_run {
                return Ok((self.answer_unstored(201, &*object), warnings));
            }
            let key = self.key(&name);
            // The UID counts the creations that the view has. An object of this key that was created and deleted since has
            // the same UID.
            view.guard_key_since(key.clone());
            let guards = std::mem::take(&mut view.guards);
            let write =
                Write { key, expect: Expect::Absent, guards, verb: Verb::Create, sections: encoded, volatile: false };
            if let Some(stored) = self.append(&mut tries, write, object).await? {
                return Ok((self.answer(201, &stored), warnings));
            }
        }
        Err(Failure::Modified(resource.clone(), name.to_owned()))
    }

    /// Checks the identity in the client's object, and resets fields that only the server may set.
    fn take_identity(&self, object: &mut AnyObject, name: &str) -> Result<()> {
        let names = self.names();
        let meta = self.kind.metadata_mut(object);
        // A resource version that is not a number counts as absent, as upstream.
        if meta::resource_version(&meta.resource_version).is_ok_and(|version| version > 0) {
            return Err(Failure::RevisionOnCreate);
        }
        meta.resource_version.clear();
        if !name.is_empty() && meta.name != name {
            return Err(meta::name_mismatch(&meta.name, name));
        }
        if !names.info.namespaced {
            meta.namespace.clear();
        } else if meta.namespace.is_empty() {
            meta.namespace.clone_from(&self.path.namespace);
        } else if meta.namespace != self.path.namespace {
            let text = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Failure::BadRequest(text.to_owned()));
        }
        Ok(())
    }

    /// Sets the fields that the server decides; returns the name.
    pub(super) fn fill_identity(&self, object: &mut AnyObject) -> String {
        let store = &self.server.store;
        let random = &self.server.foundation.random;
        let generation = match self.kind.generation() {
            Generation::Standard | Generation::Strategy => 1,
            Generation::None => 0,
        };
        let resource = &self.names().log_resource;
        let meta = self.kind.metadata_mut(object);
        meta.self_link.clear();
        meta.deletion_timestamp = None;
        meta.deletion_grace_period_seconds = None;
        meta.generation = generation;
        meta.creation_timestamp = Time::from_instant(self.now());
        if meta.name.is_empty() && !meta.generate_name.is_empty() {
            let prefix: String = meta.generate_name.chars().take(PREFIX).collect();
            let from = self.object_path(&prefix);
            let key = format!("{resource}/{from}");
            loop {
                let ordinal = store.next_name(self.id, &from);
                let name = format!("{prefix}{}", random.suffix(5, "generated name", &key, ordinal));
                if store.get(self.id, &self.object_path(&name)).is_none() {
                    meta.name = name;
                    break;
                }
            }
        }
        let path = self.object_path(&meta.name);
        let ordinal = store.ordinal(self.id, &path);
        meta.uid = random.uid(&format!("{resource}/{path}"), ordinal);
        meta.name.clone()
    }

    /// Returns the response of a dry run: the object as it would be, without a new resource version.
    pub(super) fn answer_unstored(&self, code: u16, object: &AnyObject) -> Response {
        let meta = self.kind.metadata(object);
        let encoded = self.kind.encode(object);
        if meta.resource_version.is_empty() {
            return crate::status::json_response(code, encoded.parts.concat());
        }
        let revision = meta.resource_version.parse().unwrap_or_default();
        let key = self.key(&meta.name);
        let stored = Arc::new(Stored::new(&key, eventlog::Revision(revision), encoded));
        self.answer(code, &stored)
    }
}
