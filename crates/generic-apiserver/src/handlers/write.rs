// SPDX-License-Identifier: Apache-2.0
//! The path of one object to the log, which creations, updates, patches and applies share.
//!
//! ```text
//! create        body ──────────────────────────┐
//! update        body, restricted by resource ──┤             ┌─▶ nothing changed: no write
//! patch         stored object ⊕ patch ─────────┼─▶ [`pass`] ─┼─▶ nothing keeps it any more: delete
//! apply         stored object ⊕ configuration ─┘             └─▶ [`append`] ─▶ the log, or decide again
//! ```
//!
//! [`pass`] reads from top to bottom: defaults, managed fields, mutating admission, fields that only the server may
//! set, the kind's strategy, validation, warnings, validating admission with its warnings. The reads that the decision
//! depends on are in the [`View`], and become guards of the append: if one of them has changed meanwhile, the verb
//! decides again ([`Tries`]).
//!
//! [`pass`]: Scope::pass
//! [`append`]: Scope::append

use std::sync::Arc;

use apimachinery::field::FieldError;
use apimachinery::meta::ManagedFieldsEntry;
use eventlog::{AppendError, Expect, Guard, Key, Verb};

use super::Scope;
use super::ownership::ClientEntries;
use super::webhooks::Change as ReviewedChange;
use crate::admission::{Attributes, Operation, Reads};
use crate::kind::AnyObject;
use crate::meta;
use crate::snapshot::View;
use crate::status::{Failure, Result};
use crate::storage::Change;
use crate::storage::stored::Stored;

/// Maximum number of repeated decisions because a guard failed: each failure is a success of a concurrent write, as
/// when many objects are created at once where a ResourceQuota counts.
const GUARD_FAILURES: usize = 200;
/// Maximum number of repeated changes because the same object changed concurrently.
const CONFLICTS: usize = 200;

/// Numbers of failed attempts of a change. Unlike upstream, whose storage repeats a change as long as the request
/// lasts, since each conflict is the success of another write; here the number of attempts is limited.
#[derive(Debug, Default)]
pub(super) struct Tries {
    guard_failures: usize,
    conflicts: usize,
}

impl Tries {
    /// True if another attempt is allowed.
    pub(super) fn go_on(&self) -> bool {
        self.guard_failures <= GUARD_FAILURES && self.conflicts <= CONFLICTS
    }
}

/// The new object of a client and its warnings.
pub(super) struct Made {
    pub(super) object: Box<AnyObject>,
    pub(super) warnings: Vec<String>,
    /// Managed fields in the client's object.
    pub(super) given: ClientEntries,
    /// The managed fields, if an apply has computed them already.
    pub(super) entries: Option<Vec<ManagedFieldsEntry>>,
}

impl Made {
    pub(super) fn new(object: Box<AnyObject>, warnings: Vec<String>, given: ClientEntries) -> Self {
        Self { object, warnings, given, entries: None }
    }
}

/// An object that has passed admission and validation.
pub(super) struct Passed {
    /// Name of the object, which may have been generated.
    pub(super) name: String,
    pub(super) object: Box<AnyObject>,
    /// Managed fields of the object.
    pub(super) managed: Vec<ManagedFieldsEntry>,
    pub(super) warnings: Vec<String>,
}

/// A change to append.
pub(super) struct Write {
    pub(super) key: Key,
    pub(super) expect: Expect,
    pub(super) guards: Vec<Guard>,
    pub(super) verb: Verb,
    pub(super) sections: eventlog::Sections,
    pub(super) volatile: bool,
}

impl Scope {
    /// Runs admission, strategy and validation for a new object; `name` is empty while the server has not generated
    /// one, `old` is the stored object, `None` for a creation. The caller has checked the identity in the client's
    /// object.
    ///
    /// # Errors
    /// The first refusal.
    pub(super) async fn pass(
        &self,
        name: &str,
        made: Made,
        old: Option<&AnyObject>,
        view: &mut View<'_>,
    ) -> Result<Passed> {
        let Made { object, mut warnings, given, entries } = made;
        match self.pass_warning(name, object, (given, entries), old, view, &mut warnings).await {
            Ok((name, object, managed)) => Ok(Passed { name, object, managed, warnings }),
            // A refusal includes the warnings.
            Err(failure) => Err(failure.warned(warnings)),
        }
    }

    /// Does the work of [`Scope::pass`] and collects warnings; returns name, object and managed fields.
    async fn pass_warning(
        &self,
        name: &str,
        mut object: Box<AnyObject>,
        (given, entries): (ClientEntries, Option<Vec<ManagedFieldsEntry>>),
        old: Option<&AnyObject>,
        view: &mut View<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(String, Box<AnyObject>, Vec<ManagedFieldsEntry>)> {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        self.kind.default(&mut *object);
        let managed = self.track(&mut *object, old, given, entries);

        if old.is_none() {
            self.check_namespace(name, view)?;
        }
        let change = ReviewedChange { operation, name, old };
        self.admit(change, &mut *object, view)?;
        self.mutate(change, &mut object, warnings).await?;
        warnings.extend(meta::dedup_owners(self.kind.metadata_mut(&mut *object), true));

        let (name, marks) = match old {
            None => (self.fill_identity(&mut *object), Vec::new()),
            Some(old) => {
                let marks = meta::changed_marks(self.kind.metadata(&*object), self.kind.metadata(old));
                (self.keep_server_fields(&mut *object, old), marks)
            }
        };
        self.kind.metadata_mut(&mut *object).managed_fields.clone_from(&managed);
        warnings.extend(self.check(&name, &mut *object, old, marks)?);

        let change = ReviewedChange { operation, name: &name, old };
        self.validate(change, &mut *object, view, warnings)?;
        self.review(change, &*object, warnings).await?;
        Ok((name, object, managed))
    }

    /// Sets the managed fields of a new object, and returns them: those of an apply, or those that follow from the
    /// change and from the managed fields in the client's object.
    fn track(
        &self,
        object: &mut AnyObject,
        old: Option<&AnyObject>,
        given: ClientEntries,
        entries: Option<Vec<ManagedFieldsEntry>>,
    ) -> Vec<ManagedFieldsEntry> {
        let given = given.with(std::mem::take(&mut self.kind.metadata_mut(object).managed_fields));
        let managed = entries.unwrap_or_else(|| match old {
            None => self.entries_of_new(object, &given),
            Some(old) => self.entries_of_changed(object, old, &given),
        });
        self.kind.metadata_mut(object).managed_fields.clone_from(&managed);
        managed
    }

    /// Applies the kind's strategy and static validation; `marks`: violations of marks of deletion. The warnings are
    /// for the object before it is normalised.
    fn check(
        &self,
        name: &str,
        object: &mut AnyObject,
        old: Option<&AnyObject>,
        marks: Vec<FieldError>,
    ) -> Result<Vec<String>> {
        let (kind, context) = (&self.kind, &self.context);
        let (mut errors, of_kind) = match old {
            None => {
                kind.prepare_for_create(object, context);
                let of_metadata = meta::validate_create(kind.metadata(object), self.names());
                (of_metadata, kind.validate_create(object, context))
            }
            Some(old) => {
                kind.prepare_for_update(object, old, context);
                let of_metadata = meta::validate_update(kind.metadata(object), kind.metadata(old), marks, self.names());
                (of_metadata, kind.validate_update(object, old, context))
            }
        };
        // Upstream's strategies validate metadata first, and report all violations at once. Where a kind has its own
        // rule for a field of metadata, only that rule's violation is reported.
        errors.retain(|error| of_kind.iter().all(|own| own.field != error.field));
        errors.extend(of_kind);
        self.invalid(name, &errors)?;
        let warnings = kind.warnings(object, old, context);
        kind.canonicalize(object);
        Ok(warnings)
    }

    /// Checks that the namespace exists and, for a creation, is not being deleted.
    fn check_namespace(&self, name: &str, view: &mut View<'_>) -> Result<()> {
        let Some(id) = self.server.namespaces else { return Ok(()) };
        if !self.names().info.namespaced {
            return Ok(());
        }
        let namespace = &self.path.namespace;
        let kind = self.server.store.kind(id);
        let Some(stored) = view.stored(id, "", namespace) else {
            return Err(Failure::NotFound(kind.names().group_resource.clone(), namespace.clone()));
        };
        if let Some(object) = self.server.store.decoded(&stored, &*kind)
            && kind.metadata(&*object).is_being_deleted()
        {
            let resource = self.names().group_resource.clone();
            return Err(Failure::NamespaceTerminating(resource, name.to_owned(), namespace.clone()));
        }
        // Status changes of the namespace do not matter, but a guard of a key cannot distinguish them.
        view.guard(Guard::Key(stored.key(&kind.names().log_resource), stored.revision));
        Ok(())
    }

    fn attributes<'a>(
        &'a self,
        ReviewedChange { operation, name, old }: ReviewedChange<'a>,
        object: &'a mut AnyObject,
    ) -> Attributes<'a> {
        Attributes {
            operation,
            resource: &self.names().gvr,
            namespace: &self.path.namespace,
            name,
            request: &self.context,
            object,
            old,
        }
    }

    /// The mutating phase of the admission chain.
    pub(super) fn admit(&self, change: ReviewedChange<'_>, object: &mut AnyObject, view: &mut View<'_>) -> Result<()> {
        let mut attributes = self.attributes(change, object);
        for plugin in &self.server.plugins {
            plugin.admit(&mut attributes, &mut Reads(view))?;
        }
        Ok(())
    }

    /// The validating phase of the admission chain, with the warnings of every plugin up to the first refusal.
    pub(super) fn validate(
        &self,
        change: ReviewedChange<'_>,
        object: &mut AnyObject,
        view: &mut View<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let mut attributes = self.attributes(change, object);
        for plugin in &self.server.plugins {
            plugin.validate(&mut attributes, &mut Reads(view))?;
            warnings.extend(plugin.warnings(&mut attributes, &mut Reads(view)));
        }
        Ok(())
    }

    /// Appends a change; `None`: a read that it depends on has changed, and the verb must decide again.
    pub(super) async fn append(
        &self,
        tries: &mut Tries,
        write: Write,
        decoded: Box<AnyObject>,
    ) -> Result<Option<Arc<Stored>>> {
        let name = write.key.name.clone();
        let change = Change {
            key: write.key,
            expect: write.expect,
            guards: write.guards,
            verb: write.verb,
            object: write.sections,
            volatile: write.volatile,
            actor: self.actor(),
            time: self.context.now,
        };
        match self.server.store.append(change, decoded).await {
            Ok(stored) => Ok(Some(stored)),
            Err(failure @ (AppendError::Conflict { .. } | AppendError::GuardFailed)) => {
                match failure {
                    AppendError::GuardFailed => tries.guard_failures += 1,
                    _ => tries.conflicts += 1,
                }
                self.server.store.fresh().await?;
                Ok(None)
            }
            Err(error) => Err(Failure::append(&error, &self.names().group_resource, &name)),
        }
    }
}
