// SPDX-License-Identifier: Apache-2.0
//! The hooks of a kind (`k8s.io/apiserver/pkg/registry/rest`), which process an object between decoding and storage.
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

/// Context of a request for hooks and admission.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Logical cluster.
    pub cluster: Arc<str>,
    /// Landscape time of the request.
    pub now: DateTime<Utc>,
    /// User that makes the request.
    pub user: User,
    /// Uid and extra fields of the user.
    pub details: UserDetails,
    /// `""`, `status`, `binding`, …
    pub subresource: Arc<str>,
    /// True if the request is a dry run: nothing is stored.
    pub dry_run: bool,
    /// True if a whole collection is being deleted.
    pub collection: bool,
}

/// Rule by which the server raises `metadata.generation` of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// 1 at creation, incremented when anything outside metadata and status changes semantically.
    #[default]
    Standard,
    /// 1 at creation; the strategy's `prepare_for_update` raises it.
    Strategy,
    /// The kind has none.
    None,
}

/// The schemas of a kind whose row has none: a custom kind of a cluster.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Schema by which bodies are pruned.
    pub pruned: Node,
    /// Schema of objects in OpenAPI documents.
    pub described: Node,
    /// Paths of the fields that `scale` reads and writes; `None`: the kind has no `scale`.
    pub scale: Option<ScalePaths>,
}

/// Paths of the fields of subresource `scale`, as names, `.spec.replicas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Path of the desired number of replicas.
    pub wanted: &'static str,
    /// Path of the actual number of replicas.
    pub present: &'static str,
    /// Path of the selector as a text; empty: `spec.selector`, with labels.
    pub selector: &'static str,
}

impl Default for ScalePaths {
    fn default() -> Self {
        Self { wanted: ".spec.replicas", present: ".status.replicas", selector: "" }
    }
}

/// Strategy with only the generic behaviour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generic;

impl<O: Object> Strategy<O> for Generic {}

/// The hooks of a kind. Every method has the generic behaviour as its default.
///
/// Before `prepare_for_*` the server itself generates the name, sets uid, creation timestamp and namespace, resets
/// `status` on the main resource, keeps everything except `status` (and metadata) on subresource `status`, and keeps
/// immutable metadata.
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
pub trait Strategy<O: ?Sized>: Send + Sync + 'static {
    /// Fills defaults. Runs after decoding, on creation and on update.
    fn default(&self, _object: &mut O) {}

    /// Changes a new object before validation.
    fn prepare_for_create(&self, _object: &mut O, _request: &RequestContext) {}

    /// Returns all violations of a new object, in field order.
    fn validate_create(&self, _object: &O, _request: &RequestContext) -> Vec<FieldError> {
        Vec::new()
    }

    /// Changes an updated object before validation; `request.subresource` names the subresource of the request.
    fn prepare_for_update(&self, _object: &mut O, _old: &O, _request: &RequestContext) {}

    /// Returns all violations of an update, in field order.
    fn validate_update(&self, _object: &O, _old: &O, _request: &RequestContext) -> Vec<FieldError> {
        Vec::new()
    }

    /// True if validation may take longer than the size of the body suggests, since clients choose its rules.
    fn validates_long(&self) -> bool {
        false
    }

    /// Normalises an object after validation; must not add violations.
    fn canonicalize(&self, _object: &mut O) {}

    /// Returns texts for the `Warning` header.
    fn warnings(&self, _object: &O, _old: Option<&O>, _request: &RequestContext) -> Vec<String> {
        Vec::new()
    }

    /// Rule for `metadata.generation`.
    fn generation(&self) -> Generation {
        Generation::Standard
    }

    /// True if a PUT without resource version is accepted.
    fn allows_unconditional_update(&self) -> bool {
        false
    }

    /// True if a PUT of a missing object creates it.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// True if a new object may have a status in its body.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Changes an object that is being marked as deleted, after its deletion timestamp was set.
    fn prepare_for_delete(&self, _object: &mut O, _request: &RequestContext) {}

    /// True if something other than `metadata.finalizers` keeps an object that was deleted.
    fn holds_deletion(&self, _object: &O) -> bool {
        false
    }

    /// Grace period of a deletion in seconds; 0: none. `asked` is the client's value.
    fn deletion_grace_seconds(&self, _object: &O, _asked: Option<i64>) -> i64 {
        0
    }

    /// True if an immediate deletion returns the object instead of a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }
}
