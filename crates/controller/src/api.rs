// SPDX-License-Identifier: Apache-2.0
//! A typed client for one kind in one scope of one logical cluster.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use apimachinery::meta::DeleteOptions;
use apimachinery::{Resource, Status};
use process::{Context, TransportError};
use serde_json::Value;

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server refused; its `Status`.
    #[error("{0}")]
    Api(Box<Status>),
    /// No response.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The response is not what was asked for.
    #[error("cannot read the response: {0}")]
    Decode(String),
}

impl Error {
    /// The server's reason, if it refused.
    pub fn reason(&self) -> &str {
        match self {
            Self::Api(status) => &status.reason,
            Self::Transport(_) | Self::Decode(_) => "",
        }
    }

    /// The server's `Status`, if it refused.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            Self::Transport(_) | Self::Decode(_) => None,
        }
    }

    /// 404 for the object.
    pub fn is_not_found(&self) -> bool {
        self.reason() == apimachinery::status::reason::NOT_FOUND
    }

    /// 409 because the object changed meanwhile.
    pub fn is_conflict(&self) -> bool {
        self.reason() == apimachinery::status::reason::CONFLICT
    }

    /// 409 because the name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == apimachinery::status::reason::ALREADY_EXISTS
    }
}

/// Options of a list or watch.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Label selector; empty for all.
    pub label_selector: String,
    /// Field selector; empty for all.
    pub field_selector: String,
}

/// A patch body.
#[derive(Clone, Debug)]
pub enum Patch {
    /// `application/merge-patch+json`
    Merge(Value),
    /// `application/json-patch+json`
    Json(Value),
    /// `application/strategic-merge-patch+json`
    Strategic(Value),
}

/// A frame of a watch. Objects are decoded once and shared.
#[derive(Clone, Debug)]
pub enum WatchEvent<K> {
    /// The object appeared in the watched set.
    Added(Arc<K>),
    /// It changed.
    Modified(Arc<K>),
    /// It left the set; its last state.
    Deleted(Arc<K>),
    /// Everything up to this resource version has been delivered.
    Bookmark(String),
}

/// Requests for one kind. Cheap to clone.
///
/// `cluster` is a logical cluster, or `*` for all of them (list and watch only; objects carry their cluster in the
/// annotation [`CLUSTER_ANNOTATION`]).
pub struct Api<K> {
    context: Context,
    cluster: Arc<str>,
    namespace: Option<Arc<str>>,
    kind: PhantomData<fn() -> K>,
}

/// Annotation in which an object listed through the wildcard cluster carries its cluster.
pub const CLUSTER_ANNOTATION: &str = "terrarium.dev/cluster";

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("cluster", &self.cluster)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl<K: Resource> Api<K> {
    /// All objects of a cluster: every namespace, or a cluster-scoped kind.
    pub fn all(context: &Context, cluster: &str) -> Self {
        Self { context: context.clone(), cluster: cluster.into(), namespace: None, kind: PhantomData }
    }

    /// The objects of one namespace.
    pub fn namespaced(context: &Context, cluster: &str, namespace: &str) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::all(context, cluster) }
    }

    /// The same kind and cluster in the namespace of an object (no change for a cluster-scoped kind).
    pub fn in_namespace_of(&self, object: &K) -> Self {
        let _ = (object, &self.context);
        todo!()
    }

    /// Reads one object.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        let _ = name;
        todo!()
    }

    /// Reads one object; `None` for 404.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all objects of the scope, page by page, and the list's resource version.
    pub async fn list(&self, options: &ListOptions) -> Result<(Vec<K>, String), Error> {
        let _ = options;
        todo!()
    }

    /// Creates an object.
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        let _ = object;
        todo!()
    }

    /// Replaces an object; its resource version is the precondition.
    pub async fn replace(&self, object: &K) -> Result<K, Error> {
        let _ = object;
        todo!()
    }

    /// Replaces a subresource, `status` or `binding`.
    pub async fn replace_subresource(&self, subresource: &str, object: &K) -> Result<K, Error> {
        let _ = (subresource, object);
        todo!()
    }

    /// As [`Api::replace`], as a dry run.
    pub async fn replace_dry_run(&self, object: &K) -> Result<K, Error> {
        let _ = object;
        todo!()
    }

    /// Patches an object.
    pub async fn patch(&self, name: &str, patch: &Patch) -> Result<K, Error> {
        let _ = (name, patch);
        todo!()
    }

    /// Patches a subresource.
    pub async fn patch_subresource(&self, name: &str, subresource: &str, patch: &Patch) -> Result<K, Error> {
        let _ = (name, subresource, patch);
        todo!()
    }

    /// Writes `status` by a merge patch of what differs between `old` and `new`, with `old`'s resource version as the
    /// precondition; no request if nothing differs.
    pub async fn update_status(&self, old: &K, new: &K) -> Result<K, Error> {
        let _ = (old, new);
        todo!()
    }

    /// Writes everything but `status` by a merge patch of what differs; no request if nothing differs.
    pub async fn update(&self, old: &K, new: &K) -> Result<K, Error> {
        let _ = (old, new);
        todo!()
    }

    /// Creates the object, or updates the stored one so that what `object` says of labels, annotations, owner
    /// references and specification holds; no request if it holds already.
    pub async fn create_or_update(&self, object: &K) -> Result<K, Error> {
        let _ = object;
        todo!()
    }

    /// Deletes an object. `Ok` also when it only got a deletion timestamp; 404 is an error.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<(), Error> {
        let _ = (name, options);
        todo!()
    }
}
