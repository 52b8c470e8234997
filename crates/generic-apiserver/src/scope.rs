// SPDX-License-Identifier: Apache-2.0
//! The scope of a request: its resource, cluster and namespace, and the objects that it can reach.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use eventlog::Key;
use serde_json::Value;

use crate::backend::Backend;
use crate::kind::{AnyObject, Kind, Names};
use crate::negotiation::Form;
use crate::registry::RequestContext;
use crate::request::{Call, ResourcePath};
use crate::status::{Failure, Result};
use crate::storage::CollectionId;
use crate::storage::selection::Selection;
use crate::storage::stored::{self, Stored};
use crate::views::View;

/// A request for one resource.
pub(crate) struct Scope {
    pub(crate) server: Arc<Backend>,
    pub(crate) call: Call,
    pub(crate) path: ResourcePath,
    pub(crate) id: CollectionId,
    pub(crate) kind: Arc<dyn Kind>,
    /// Views of the kind, which name fields in another way.
    pub(crate) views: Arc<[Arc<View>]>,
    /// View through which the request is made.
    pub(crate) via: Option<Arc<View>>,
    pub(crate) context: RequestContext,
    pub(crate) form: Form,
}

impl Scope {
    pub(crate) fn names(&self) -> &Names {
        self.kind.names()
    }

    /// Returns the cluster of the request; `None`: all clusters.
    pub(crate) fn cluster(&self) -> Option<&str> {
        (self.call.route.cluster != "*").then_some(self.call.route.cluster.as_str())
    }

    pub(crate) fn annotation(&self) -> Option<&'static str> {
        let annotation = self.server.cluster_annotation;
        (self.call.route.cluster == "*" && !annotation.is_empty()).then_some(annotation)
    }

    pub(crate) fn selection(&self) -> Result<Selection> {
        let query = &self.call.query;
        let (labels, fields) = (query.text("labelSelector"), query.text("fieldSelector"));
        Selection::new(self.cluster(), &self.path.namespace, labels, fields, self.names())
    }

    /// Path of an object in the request's cluster and namespace.
    pub(crate) fn object_path(&self, name: &str) -> String {
        stored::path(&self.call.route.cluster, &self.path.namespace, name)
    }

    pub(crate) fn stored(&self, name: &str) -> Result<Arc<Stored>> {
        let found = self.server.store.get(self.id, &self.object_path(name));
        found.ok_or_else(|| Failure::NotFound(self.names().group_resource.clone(), name.to_owned()))
    }

    pub(crate) fn decoded(&self, stored: &Arc<Stored>) -> Result<Arc<AnyObject>> {
        let object = self.server.store.decoded(stored, &*self.kind);
        object.ok_or_else(|| Failure::Internal("the stored object cannot be read".to_owned()))
    }

    /// Returns a stored object without the fields that its kind does not have; `None`: it has none of these.
    pub(crate) fn shown(&self, stored: &Stored) -> Option<Stored> {
        let sections = self.kind.pruned(&stored.sections)?;
        Some(Stored::new(&stored.key(&self.names().log_resource), stored.revision, sections))
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key {
            cluster: self.call.route.cluster.as_str().into(),
            resource: self.names().log_resource.clone(),
            namespace: self.path.namespace.as_str().into(),
            name: name.into(),
        }
    }

    /// Appends the object as it is served.
    pub(crate) fn write(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.annotation() {
            Some(annotation) => object.write_annotated(out, annotation),
            None => object.write(out),
        }
    }

    /// Returns the object's tree as it is served.
    pub(crate) fn tree(&self, object: &Stored) -> Value {
        let mut out = Vec::with_capacity(object.size());
        self.write(object, &mut out);
        serde_json::from_slice(&out).unwrap_or_default()
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.context.now
    }
}
