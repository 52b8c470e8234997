// SPDX-License-Identifier: Apache-2.0
//! The hooks of a kind (`k8s.io/apiserver/pkg/registry/rest`): what happens to an object between decoding and storage.
//!
//! ```text
//! create  decode, default, mutating admission, prepare_for_create, validate_create, warnings, canonicalize, validating admission
//! update  decode, default, mutating admission, prepare_for_update, validate_update, warnings, canonicalize, validating admission
//! ```

use std::sync::Arc;

use apimachinery::Object;
use apimachinery::field::FieldError;
use apimachinery::schema::Node;
use chrono::{DateTime, Utc};
use process::User;

use crate::authentication::UserDetails;

/// What hooks and admission may know of a request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Logical cluster.
    pub cluster: Arc<str>,
    /// Landscape time of the request.
    pub now: DateTime<Utc>,
    /// Who asks.
    pub user: User,
    /// What is known of who asks beside name and groups.
    pub details: UserDetails,
    /// `""`, `status`, `binding`, …
    pub subresource: Arc<str>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// True if a whole collection is being deleted.
    pub collection: bool,
}

/// How the server raises `metadata.generation` for a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// 1 at creation, plus one when anything outside metadata and status changes semantically.
    #[default]
    Standard,
    /// 1 at creation; the strategy's `prepare_for_update` does the rest.
    Strategy,
    /// The kind has none.
    None,
}

/// The trees of a kind whose row has none: one that a cluster defines for itself.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What is kept of bodies.
    pub pruned: Node,
    /// What clients are told of objects.
    pub described: Node,
    /// Where `scale` reads and writes, if the kind has it.
    pub scale: Option<ScalePaths>,
}

/// Where subresource `scale` finds its numbers, as paths of names, `.spec.replicas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The wanted number.
    pub wanted: &'static str,
    /// The present number.
    pub present: &'static str,
    /// The selector as a text; empty: `spec.selector`, with labels.
    pub selector: &'static str,
}

impl Default for ScalePaths {
    fn default() -> Self {
        Self { wanted: ".spec.replicas", present: ".status.replicas", selector: "" }
    }
}

/// The strategy of kinds that need nothing but the generic behaviour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generic;

impl<O: Object> Strategy<O> for Generic {}

/// The hooks of a kind. Every method has the generic behaviour as its default.
///
/// The server itself does before `prepare_for_*`: name generation, uid, creation timestamp, namespace, reset of
/// `status` on the main resource, keeping of everything but `status` (and metadata) on `status`, immutable metadata.
///
/// ```
/// use apimachinery::DynamicObject;
/// use apimachinery::field::{FieldError, Path};
/// use generic_apiserver::{RequestContext, Strategy};
///
/// /// A kind whose objects carry at least one label.
/// struct Labelled;
///
/// impl Strategy<DynamicObject> for Labelled {
///     fn validate_create(&self, object: &DynamicObject, _request: &RequestContext) -> Vec<FieldError> {
///         let path = Path::new("metadata").child("labels");
///         let is_labelled = !object.metadata.labels.is_empty();
///         if is_labelled { Vec::new() } else { vec![FieldError::required(&path, "must have a label")] }
///     }
/// }
/// ```
pub trait Strategy<O: Object>: Send + Sync + 'static {
    /// Fills defaults. Runs after decoding, on creation and on update.
    fn default(&self, _object: &mut O) {}

    /// Changes a new object before validation.
    fn prepare_for_create(&self, _object: &mut O, _request: &RequestContext) {}

    /// All violations of a new object, in field order.
    fn validate_create(&self, _object: &O, _request: &RequestContext) -> Vec<FieldError> {
        Vec::new()
    }

    /// Changes an updated object before validation; `request.subresource` tells which door it came through.
    fn prepare_for_update(&self, _object: &mut O, _old: &O, _request: &RequestContext) {}

    /// All violations of an update, in field order.
    fn validate_update(&self, _object: &O, _old: &O, _request: &RequestContext) -> Vec<FieldError> {
        Vec::new()
    }

    /// True if validation may take longer than any body explains, since clients choose its rules.
    fn validates_long(&self) -> bool {
        false
    }

    /// Normalises an object after validation; must not add violations.
    fn canonicalize(&self, _object: &mut O) {}

    /// Texts for the `Warning` header.
    fn warnings(&self, _object: &O, _old: Option<&O>, _request: &RequestContext) -> Vec<String> {
        Vec::new()
    }

    /// How `metadata.generation` moves.
    fn generation(&self) -> Generation {
        Generation::Standard
    }

    /// Whether a PUT without resource version is taken.
    fn allows_unconditional_update(&self) -> bool {
        false
    }

    /// Whether a PUT of a missing object creates it.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Whether a new object may bring its status along.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Changes an object that is being marked as deleted, after its deletion timestamp was set.
    fn prepare_for_delete(&self, _object: &mut O, _request: &RequestContext) {}

    /// Whether something beside `metadata.finalizers` keeps an object that was deleted.
    fn holds_deletion(&self, _object: &O) -> bool {
        false
    }

    /// Seconds that the object may take to go away; 0: none. `asked` is the client's wish.
    fn deletion_grace_seconds(&self, _object: &O, _asked: Option<i64>) -> i64 {
        0
    }

    /// Whether a deletion at once answers the object instead of a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }
}
