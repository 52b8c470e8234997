// SPDX-License-Identifier: Apache-2.0
//! A typed client for one kind in one scope of one logical cluster.
//!
//! **Tour.** This file has the requests for any kind; `write` writes whole objects of typed kinds; `endpoint` is the
//! untyped client.

mod endpoint;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use apimachinery::Resource;
use apimachinery::meta::DeleteOptions;
use http::Method;
use process::Context;
use serde_json::Value;

pub(crate) use self::endpoint::{Endpoint, Frame, Frames, Page};
pub use self::write::CONFLICTS;
use crate::decode::Readable;
use crate::erased::{Reader, TypedAnswer, owned, typed};
use crate::error::Error;
use crate::queue::ObjectKey;
use crate::request;
use crate::store::Store;

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
    /// Patch of media type `application/merge-patch+json`.
    Merge(Value),
    /// Patch of media type `application/json-patch+json`.
    Json(Value),
    /// Patch of media type `application/strategic-merge-patch+json`.
    Strategic(Value),
}

/// An event of a watch. Objects are decoded once and shared.
#[derive(Clone, Debug)]
pub enum WatchEvent<K> {
    /// The object entered the watched set.
    Added(Arc<K>),
    /// The object was changed.
    Modified(Arc<K>),
    /// The object left the watched set; its last state.
    Deleted(Arc<K>),
    /// Bookmark: all changes up to this resource version were sent.
    Bookmark(String),
}

/// Names under which a kind is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiResource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Version of the group: `v1beta1`.
    pub version: Cow<'static, str>,
    /// Plural name.
    pub plural: Cow<'static, str>,
    /// True if objects belong to a namespace.
    pub namespaced: bool,
}

impl ApiResource {
    /// Names of a typed kind.
    pub const fn of<K: Resource>() -> Self {
        Self {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            plural: Cow::Borrowed(K::PLURAL),
            namespaced: K::NAMESPACED,
        }
    }

    /// Path of a collection, relative to the server's root.
    fn path(&self, cluster: &str, namespace: Option<&str>) -> String {
        let mut path = String::with_capacity(128);
        path.push_str("/clusters/");
        path.push_str(cluster);
        path.push_str(if self.group.is_empty() { "/api/" } else { "/apis/" });
        if !self.group.is_empty() {
            path.push_str(&self.group);
            path.push('/');
        }
        path.push_str(&self.version);
        path.push('/');
        if let Some(namespace) = namespace.filter(|namespace| self.namespaced && !namespace.is_empty()) {
            path.push_str("namespaces/");
            path.push_str(namespace);
            path.push('/');
        }
        path.push_str(&self.plural);
        path
    }
}

/// Requests for one kind. Cheap to clone.
///
/// `cluster` is a logical cluster, or `*` for all of them (list and watch; objects carry their cluster in the
/// annotation [`CLUSTER`](::api::constants::annotation::CLUSTER)). Methods that take an object find its namespace, and
/// for `*` its cluster, in it.
pub struct Api<K> {
    pub(crate) endpoint: Endpoint,
    kind: PhantomData<fn() -> K>,
}

/// Number of objects per page of a list.
const PAGE: u32 = 500;

const JSON: &str = "application/json";

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self::at(self.endpoint.clone())
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

impl<K> Api<K> {
    fn at(endpoint: Endpoint) -> Self {
        Self { endpoint, kind: PhantomData }
    }

    /// Cluster of the requests; `*` for all.
    pub fn cluster(&self) -> &str {
        &self.endpoint.cluster
    }

    /// Context of the component.
    pub fn context(&self) -> &Context {
        &self.endpoint.context
    }

    /// Returns a client for the same kind in one namespace of a cluster.
    pub fn within(&self, cluster: &str, namespace: &str) -> Self {
        Self::at(self.endpoint.within(cluster, namespace))
    }

    /// Returns a client whose writes `store` shows as soon as they are answered, before the watch delivers them, and the
    /// objects that [`Api::get_shared`] reads. Both must be of the same kind; their types may differ.
    pub fn with_store<S>(&self, store: &Store<S>) -> Self {
        Self::at(self.endpoint.clone().with_store(store.any().clone()))
    }

    /// True if the scope has no object that `options` select.
    pub async fn is_empty(&self, options: &ListOptions) -> Result<bool, Error> {
        Ok(self.endpoint.page(options, 1, "").await?.items.is_empty())
    }

    /// Deletes an object. `Ok` also when it only got a deletion timestamp; 404 is an error.
    pub fn delete(&self, name: &str, options: &DeleteOptions) -> impl Future<Output = Result<(), Error>> + Send {
        self.endpoint.delete_name(name, options)
    }

    /// Posts a body to a subresource of an object, for example `eviction`.
    pub fn post(&self, name: &str, subresource: &str, body: &Value) -> impl Future<Output = Result<(), Error>> + Send {
        let path = format!("{}/{subresource}", self.endpoint.path_of_name(name));
        self.endpoint.post(path, body.to_string().into_bytes())
    }

    /// Deletes an object; a missing object is no error.
    pub async fn delete_if_there(&self, name: &str) -> Result<(), Error> {
        match self.delete(name, &DeleteOptions::default()).await {
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        }
    }

    /// Deletes all objects of the scope that `selection` selects.
    pub fn delete_collection(
        &self,
        selection: &ListOptions,
        options: &DeleteOptions,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.endpoint.delete_collection(selection, options)
    }
}

impl<K: Readable> Api<K> {
    /// Creates a client for a kind that is known only by name; `K` may be [`crate::PartialObject`] for its metadata.
    pub fn of(context: &Context, cluster: &str, resource: ApiResource) -> Self {
        Self::at(Endpoint::new(context, cluster, resource, Reader::of::<K>()))
    }

    /// Returns a client for the namespace of an object (unchanged for a cluster-scoped kind); for `*`, in the object's
    /// cluster.
    pub fn in_namespace_of(&self, object: &K) -> Self {
        Self::at(self.endpoint.in_namespace_of(object.object_meta()))
    }

    /// Key of an object that was read with this client.
    pub fn key_of(&self, object: &K) -> ObjectKey {
        self.endpoint.key_of(object.object_meta())
    }

    /// Reads one object.
    pub fn get(&self, name: &str) -> impl Future<Output = Result<K, Error>> + Send {
        // The cache is bypassed: servers compute some fields when they are read.
        let path = self.endpoint.path_of_name(name);
        TypedAnswer::new(self.endpoint.request_uncached(Method::GET, path, None, true))
    }

    /// Reads one object; `None` for 404.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        Ok(self.endpoint.get_opt(name, false).await?.map(owned))
    }

    /// Returns an object as [`Api::get_opt`]; it is decoded only if no other code of this process has decoded this
    /// version. Unsuitable for kinds whose fields servers compute when they are read.
    pub async fn get_shared(&self, name: &str) -> Result<Option<Arc<K>>, Error> {
        Ok(self.endpoint.get_opt(name, true).await?.map(typed))
    }

    /// Reads all objects of the scope, page by page, and the list's resource version.
    pub async fn list(&self, options: &ListOptions) -> Result<(Vec<K>, String), Error> {
        let (items, version) = self.endpoint.list(options).await?;
        Ok((items.into_iter().map(owned).collect(), version))
    }

    /// Watches the scope from a resource version (exclusive), with bookmarks.
    pub async fn watch(&self, options: &ListOptions, resource_version: &str) -> Result<WatchStream<K>, Error> {
        let frames = self.endpoint.watch(options, resource_version).await?;
        Ok(WatchStream { frames, kind: PhantomData })
    }

    /// Patches an object.
    pub fn patch(&self, name: &str, patch: &Patch) -> impl Future<Output = Result<K, Error>> + Send {
        TypedAnswer::new(self.endpoint.patch(self.endpoint.path_of_name(name), patch))
    }

    /// Patches an object as [`Api::patch`], as a dry run with strict field validation.
    pub fn patch_dry_run(&self, name: &str, patch: &Patch) -> impl Future<Output = Result<K, Error>> + Send {
        TypedAnswer::new(self.endpoint.patch_dry_run(&self.endpoint.path_of_name(name), patch))
    }

    /// Patches a subresource.
    pub fn patch_subresource(
        &self,
        name: &str,
        subresource: &str,
        patch: &Patch,
    ) -> impl Future<Output = Result<K, Error>> + Send {
        let path = format!("{}/{subresource}", self.endpoint.path_of_name(name));
        TypedAnswer::new(self.endpoint.patch(path, patch))
    }

    /// Deletes exactly this object: its uid is the precondition, and its resource version too if `unchanged`. A missing
    /// object is no error.
    pub fn delete_object(
        &self,
        object: &K,
        unchanged: bool,
        propagation: Option<&str>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.endpoint.delete_object(object.object_meta(), unchanged, propagation)
    }
}

impl<K: Resource> Api<K> {
    /// Creates a client for all objects of a cluster: every namespace, or a cluster-scoped kind.
    pub fn all(context: &Context, cluster: &str) -> Self {
        Self::of(context, cluster, ApiResource::of::<K>())
    }

    /// Creates a client for the objects of one namespace.
    pub fn namespaced(context: &Context, cluster: &str, namespace: &str) -> Self {
        Self::all(context, cluster).within(cluster, namespace)
    }
}

impl ListOptions {
    /// Options that select by a label selector.
    pub fn labelled(selector: &str) -> Self {
        Self { label_selector: selector.to_owned(), ..Self::default() }
    }

    /// Options that select by a field selector.
    pub fn with_field(selector: &str) -> Self {
        Self { field_selector: selector.to_owned(), ..Self::default() }
    }

    fn push(&self, path: &mut String) {
        for (name, value) in [("labelSelector", &self.label_selector), ("fieldSelector", &self.field_selector)] {
            if !value.is_empty() {
                request::push_query(path, name, value);
            }
        }
    }
}

impl Patch {
    fn body(&self) -> Result<(&'static str, Vec<u8>), Error> {
        let (content_type, patch) = match self {
            Self::Merge(patch) => ("application/merge-patch+json", patch),
            Self::Json(patch) => ("application/json-patch+json", patch),
            Self::Strategic(patch) => ("application/strategic-merge-patch+json", patch),
        };
        Ok((content_type, serde_json::to_vec(patch).map_err(|error| Error::Decode(error.to_string()))?))
    }
}

/// Events of a watch.
pub struct WatchStream<K> {
    frames: Frames,
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchStream")
    }
}

impl<K: Readable> WatchStream<K> {
    /// Returns the next event. `None`: the server ended the stream, and a new watch continues from the last resource
    /// version. An `ERROR` frame is an [`Error::Api`]; after any error the stream has ended.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        let frame = self.frames.next().await?;
        Some(frame.map(|frame| match frame {
            Frame::Added(object) => WatchEvent::Added(typed(object)),
            Frame::Modified(object) => WatchEvent::Modified(typed(object)),
            Frame::Deleted(object) => WatchEvent::Deleted(typed(object)),
            Frame::Bookmark(version) => WatchEvent::Bookmark(version),
        }))
    }
}
