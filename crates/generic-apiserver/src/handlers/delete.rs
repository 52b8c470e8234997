// SPDX-License-Identifier: Apache-2.0
//! DELETE of objects and collections.

use std::sync::Arc;

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::{DeleteOptions, Time};
use apimachinery::schema::Schema;
use apimachinery::{GroupResource, decode};
use eventlog::{Expect, Verb};
use process::Response;

use super::webhooks::Change;
use super::write::{Tries, Write};
use super::{LONGEST, Scope};
use crate::admission::Operation;
use crate::kind::AnyObject;
use crate::output;
use crate::request::dry_run;
use crate::snapshot::View;
use crate::status::{Failure, Result, deleted, json_response, warn};
use crate::storage::range;
use crate::storage::stored::Stored;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Outcome of the deletion of one object.
enum Deleted {
    /// The object was deleted; its last state.
    Gone(Arc<Stored>),
    /// The object waits for its finalizers or grace period.
    Marked(Arc<Stored>),
    /// The object would wait for its finalizers or grace period; in a dry run.
    WouldBeMarked(Box<AnyObject>),
}

impl Scope {
    pub(super) async fn delete(mut self, body: &[u8]) -> Result<Response> {
        let options = self.delete_options(body)?;
        let name = self.path.name.clone();
        let mut warnings = Vec::new();
        let deleted = self.delete_one(&name, &options, &mut warnings).await;
        let answered = deleted.and_then(|deleted| self.answer_deleted(&name, deleted, &options));
        let mut response = answered.map_err(|failure| failure.warned(warnings.clone()))?;
        warn(&mut response, &warnings);
        Ok(response)
    }

    fn answer_deleted(&self, name: &str, done: Deleted, options: &DeleteOptions) -> Result<Response> {
        match done {
            Deleted::Gone(last) if self.kind.returns_deleted_object() => Ok(json_response(200, last.bytes())),
            Deleted::Gone(last) => {
                let last = self.decoded(&last)?;
                Ok(deleted(&self.names().group_resource, name, &self.kind.metadata(&*last).uid))
            }
            Deleted::Marked(stored) => {
                let code = if options.orphan_dependents == Some(false) { 202 } else { 200 };
                Ok(json_response(code, stored.bytes()))
            }
            Deleted::WouldBeMarked(object) => Ok(self.answer_unstored(200, &*object)),
        }
    }

    pub(super) async fn delete_collection(mut self, body: &[u8]) -> Result<Response> {
        let options = self.delete_options(body)?;
        self.context.collection = true;
        let selection = self.selection()?;
        let (map, revision) = self.server.store.root(self.id);
        let selected: Vec<Arc<Stored>> = range(&map, &selection.prefix, "")
            .map(|(_, object)| object)
            .filter(|object| selection.matches(object, &*self.kind))
            .cloned()
            .collect();
        let mut warnings = Vec::new();
        for object in &selected {
            match self.delete_one(&object.name, &options, &mut warnings).await {
                Ok(_) | Err(Failure::NotFound(..)) => {}
                Err(failure) => return Err(failure.warned(warnings)),
            }
        }
        let mut response = json_response(200, output::plain_list(&self, &selected, revision));
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Reads options from the body or, if it is empty, from the query.
    fn delete_options(&mut self, body: &[u8]) -> Result<DeleteOptions> {
        let query = &self.call.query;
        let mut options = DeleteOptions::default();
        if body.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let refused = |error: &str| {
                let kind = "DeleteOptions";
                Failure::BadRequest(format!("{kind} in version \"v1\" cannot be handled as a {kind}: {error}"))
            };
            // Unknown fields are ignored, a value of a wrong type is refused.
            let decoded = decode::json(body, &DeleteOptions::node()).map_err(|error| refused(&error.message))?;
            options = serde_json::from_value(decoded.tree).map_err(|error| refused(&error.to_string()))?;
        } else {
            options.grace_period_seconds = query.number("gracePeriodSeconds")?;
            options.propagation_policy = query.get("propagationPolicy").map(ToOwned::to_owned);
            options.orphan_dependents = query.flag("orphanDependents");
        }
        let mut directives: Vec<&str> = options.dry_run.iter().map(String::as_str).collect();
        directives.extend(query.all("dryRun"));
        self.context.dry_run = dry_run(&directives, "DeleteOptions")?;
        let path = Path::new("propagationPolicy");
        match (&options.propagation_policy, options.orphan_dependents) {
            (Some(policy), Some(_)) => {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                return Err(Failure::options("DeleteOptions", FieldError::invalid(&path, policy, detail)));
            }
            (Some(policy), None) if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                let error = FieldError::not_supported(&path, policy, &supported);
                return Err(Failure::options("DeleteOptions", error));
            }
            _ => {}
        }
        if options.grace_period_seconds.is_some_and(|seconds| seconds < 0) {
            options.grace_period_seconds = Some(1);
        }
        Ok(options)
    }

    /// Deletes an object; `warnings` are those of admission, also of a plugin that refuses.
    async fn delete_one(&self, name: &str, options: &DeleteOptions, warnings: &mut Vec<String>) -> Result<Deleted> {
        let mut tries = Tries::default();
        while tries.go_on() {
            let stored = self.stored(name)?;
            let old = self.decoded(&stored)?;
            self.check_preconditions(&*old, options)?;
            let mut view = View::new(&self.server.store, &self.call.route.cluster);
            let mut seen = self.kind.copy(&*old);
            let change = Change { operation: Operation::Delete, name, old: Some(&*old) };
            self.admit(change, &mut *seen, &mut view)?;
            self.mutate(change, &mut seen, warnings).await?;
            self.validate(change, &mut *seen, &mut view, warnings)?;
            self.review(change, &*seen, warnings).await?;

            let mut object = self.kind.copy(&*old);
            let grace = self.kind.deletion_grace_seconds(&*old, options.grace_period_seconds);
            self.mark(&mut *object, options, grace);
            let guards = std::mem::take(&mut view.guards);
            if self.is_released(&*object) {
                if self.context.dry_run {
                    return Ok(Deleted::Gone(stored));
                }
                if let Some(last) = self.remove(&mut tries, &stored, guards).await? {
                    return Ok(Deleted::Gone(last));
                }
                continue;
            }
            let encoded = self.kind.encode(&*object);
            if encoded.parts == stored.sections.parts {
                return Ok(Deleted::Marked(stored));
            }
            if self.context.dry_run {
                return Ok(Deleted::WouldBeMarked(object));
            }
            let write = Write {
                key: self.key(name),
                expect: Expect::Revision(stored.revision),
                guards,
                verb: Verb::Update,
                sections: encoded,
                volatile: false,
            };
            if let Some(stored) = self.append(&mut tries, write, object).await? {
                return Ok(Deleted::Marked(stored));
            }
        }
        Err(Failure::Modified(self.names().group_resource.clone(), name.to_owned()))
    }

    fn check_preconditions(&self, old: &AnyObject, options: &DeleteOptions) -> Result<()> {
        let Some(preconditions) = &options.preconditions else { return Ok(()) };
        let meta = self.kind.metadata(old);
        let info = &self.names().info;
        // The kind is in the place of the resource, as in the real API.
        let kind = GroupResource { group: info.group.to_owned(), resource: info.kind.to_owned() };
        if let Some(uid) = &preconditions.uid
            && *uid != meta.uid
        {
            let why = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                meta.uid
            );
            return Err(Failure::Conflict(kind, meta.name.clone(), why));
        }
        if let Some(revision) = &preconditions.resource_version
            && *revision != meta.resource_version
        {
            let why = format!(
                "the ResourceVersion in the precondition ({revision}) does not match the ResourceVersion in record \
                 ({}). The object might have been modified",
                meta.resource_version
            );
            return Err(Failure::Conflict(kind, meta.name.clone(), why));
        }
        Ok(())
    }

    /// Sets finalizers for the garbage collector, and the marks of deletion.
    fn mark(&self, object: &mut AnyObject, options: &DeleteOptions, grace: i64) {
        let meta = self.kind.metadata_mut(object);
        let pending = meta.is_being_deleted() && meta.deletion_grace_period_seconds.unwrap_or(0) > 0;
        if !pending {
            let had = |finalizer: &str| meta.finalizers.iter().any(|present| present == finalizer);
            let policy = match (options.propagation_policy.as_deref(), options.orphan_dependents) {
                (Some(policy), _) => policy,
                (None, Some(true)) => "Orphan",
                (None, Some(false)) => "Background",
                (None, None) if had(ORPHAN) => "Orphan",
                (None, None) if had(FOREGROUND) => "Foreground",
                (None, None) => "Background",
            };
            let wanted = match policy {
                "Orphan" => Some(ORPHAN),
                "Foreground" => Some(FOREGROUND),
                _ => None,
            };
            if wanted.is_none_or(|wanted| !had(wanted)) || (had(ORPHAN) && had(FOREGROUND)) {
                meta.finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
                meta.finalizers.extend(wanted.map(ToOwned::to_owned));
            }
        }
        let grace = grace.min(LONGEST);
        let first = meta.deletion_timestamp.is_none();
        let asked = match (meta.deletion_timestamp, meta.deletion_grace_period_seconds) {
            (None, _) => Some(self.now()),
            // A grace period can be shortened, also after it has passed.
            (Some(set), Some(known)) if grace < known => Some(set.0 - chrono::TimeDelta::seconds(known)),
            _ => None,
        };
        if let Some(asked) = asked {
            meta.deletion_timestamp = Some(Time::from_instant(asked + chrono::TimeDelta::seconds(grace)));
            meta.deletion_grace_period_seconds = Some(grace);
        }
        if first {
            if meta.generation > 0 {
                meta.generation += 1;
            }
            self.kind.prepare_for_delete(object, &self.context);
        }
    }
}
