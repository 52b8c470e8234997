// SPDX-License-Identifier: Apache-2.0
//! A typed client for one kind in one scope of one logical cluster.
//!
//! **Tour.** This file has what any kind can be asked; `write` whole objects of typed kinds; [`Error`] why a request failed.

mod error;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, ListMeta, ObjectMeta, Preconditions};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use process::{Body, Context, TransportError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use self::error::Error;
use crate::decode::{self, DecodeCache, Lines, PartialObject, Readable};
use crate::queue::ObjectKey;
use crate::request;

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

/// Names under which a kind is served.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiResource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Version.
    pub version: Cow<'static, str>,
    /// Plural name.
    pub plural: Cow<'static, str>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

impl ApiResource {
    /// The names of a typed kind.
    pub const fn of<K: Resource>() -> Self {
        Self {
            group: Cow::Borrowed(K::GROUP),
            version: Cow::Borrowed(K::VERSION),
            plural: Cow::Borrowed(K::PLURAL),
            namespaced: K::NAMESPACED,
        }
    }

    /// The path of a collection, below the server's root.
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
/// annotation [`CLUSTER_ANNOTATION`]). Methods that take an object find its namespace, and for `*` its cluster, in it.
pub struct Api<K> {
    context: Context,
    cache: Arc<DecodeCache>,
    cluster: Arc<str>,
    namespace: Option<Arc<str>>,
    resource: ApiResource,
    kind: PhantomData<fn() -> K>,
}

/// Annotation in which an object listed through the wildcard cluster carries its cluster.
pub const CLUSTER_ANNOTATION: &str = api::constants::annotation::CLUSTER;

/// How many objects a page of a list holds.
const PAGE: u32 = 500;

const JSON: &str = "application/json";

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            cache: self.cache.clone(),
            cluster: self.cluster.clone(),
            namespace: self.namespace.clone(),
            resource: self.resource.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("cluster", &self.cluster)
            .field("namespace", &self.namespace)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page<K> {
    /// The objects.
    pub items: Vec<Arc<K>>,
    /// Resource version of the snapshot that all pages come from.
    pub resource_version: String,
    /// Token for the next page; empty on the last.
    pub continue_token: String,
}

impl<K: Readable> Api<K> {
    /// A kind that is known by name only, as whatever can be read of it: [`PartialObject`] for its metadata.
    pub fn of(context: &Context, cluster: &str, resource: ApiResource) -> Self {
        Self {
            cache: context.transport.shared().get(),
            context: context.clone(),
            cluster: cluster.into(),
            namespace: None,
            resource,
            kind: PhantomData,
        }
    }

    /// The same kind in one namespace of one cluster.
    pub fn within(&self, cluster: &str, namespace: &str) -> Self {
        Self { cluster: cluster.into(), namespace: Some(namespace.into()), ..self.clone() }
    }

    /// The same kind and cluster in the namespace of an object (no change for a cluster-scoped kind); for `*`, in the
    /// object's cluster.
    pub fn in_namespace_of(&self, object: &K) -> Self {
        let metadata = object.object_meta();
        self.within(self.cluster_of(metadata), &metadata.namespace)
    }

    /// The cluster that the requests go to, `*` for all.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The component's door to the world.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The key of an object that came from here.
    pub fn key_of(&self, object: &K) -> ObjectKey {
        let metadata = object.object_meta();
        let cluster = if self.is_wildcard() { self.cluster_of(metadata).into() } else { self.cluster.clone() };
        ObjectKey { cluster, namespace: metadata.namespace.as_str().into(), name: metadata.name.as_str().into() }
    }

    fn is_wildcard(&self) -> bool {
        &*self.cluster == "*"
    }

    fn cluster_of<'a>(&'a self, metadata: &'a ObjectMeta) -> &'a str {
        metadata.annotation(CLUSTER_ANNOTATION).filter(|_| self.is_wildcard()).unwrap_or(&self.cluster)
    }

    fn collection_path(&self) -> String {
        self.resource.path(&self.cluster, self.namespace.as_deref())
    }

    fn path_of_name(&self, name: &str) -> String {
        let mut path = self.collection_path();
        path.push('/');
        path.push_str(name);
        path
    }

    fn path_of(&self, metadata: &ObjectMeta) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(&metadata.namespace);
        let mut path = self.resource.path(self.cluster_of(metadata), Some(namespace));
        path.push('/');
        path.push_str(&metadata.name);
        path
    }

    async fn request(&self, method: Method, path: String, body: Option<(&'static str, Vec<u8>)>) -> Result<K, Error> {
        let answer = request::object(&self.context, method, path, body).await?;
        self.cache.take(&answer).map(Arc::unwrap_or_clone)
    }

    /// Reads one object.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        let answer = request::object(&self.context, Method::GET, self.path_of_name(name), None).await?;
        // Not through the cache: servers compute some fields when they are read.
        answer.object().map(Arc::unwrap_or_clone)
    }

    /// Reads one object; `None` for 404.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Error> {
        match self.get(name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// As [`Api::get_opt`], but decoded only if nothing in this process has decoded this version before. Not for kinds of
    /// which servers compute fields when they are read.
    pub async fn get_shared(&self, name: &str) -> Result<Option<Arc<K>>, Error> {
        match request::object(&self.context, Method::GET, self.path_of_name(name), None).await {
            Ok(answer) => self.cache.take(&answer).map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads one page of at most `limit` objects, or everything for a limit of 0.
    pub async fn page(&self, options: &ListOptions, limit: u32, continue_token: &str) -> Result<Page<K>, Error> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(default)]
            metadata: ListMeta,
            #[serde(borrow, default)]
            items: Vec<&'a RawValue>,
        }
        let mut path = self.collection_path();
        options.push(&mut path);
        if limit > 0 {
            request::push_query(&mut path, "limit", &limit.to_string());
        }
        if !continue_token.is_empty() {
            request::push_query(&mut path, "continue", continue_token);
        }
        let bytes = request::send(&self.context, Method::GET, path, None).await?;
        let list: List<'_> = serde_json::from_slice(&bytes).map_err(|error| Error::Decode(error.to_string()))?;
        let items = list.items.iter().map(|item| self.cache.decode(item.get().as_bytes(), self.is_wildcard()));
        Ok(Page {
            items: items.collect::<Result<_, _>>()?,
            resource_version: list.metadata.resource_version,
            continue_token: list.metadata.continue_token,
        })
    }

    /// Reads all objects of the scope, page by page, and the list's resource version. If the snapshot expires between
    /// two pages, everything is read again at once, as client-go's pager does.
    pub async fn list(&self, options: &ListOptions) -> Result<(Vec<K>, String), Error> {
        let mut items = Vec::new();
        let mut page = self.page(options, PAGE, "").await?;
        loop {
            items.extend(page.items.into_iter().map(Arc::unwrap_or_clone));
            if page.continue_token.is_empty() {
                return Ok((items, page.resource_version));
            }
            page = match self.page(options, PAGE, &page.continue_token).await {
                Ok(page) => page,
                Err(error) if error.is_expired() => {
                    items.clear();
                    self.page(options, 0, "").await?
                }
                Err(error) => return Err(error),
            };
        }
    }

    /// Watches the scope from a resource version (exclusive), with bookmarks.
    pub async fn watch(&self, options: &ListOptions, resource_version: &str) -> Result<WatchStream<K>, Error> {
        let mut path = self.collection_path();
        options.push(&mut path);
        request::push_query(&mut path, "watch", "true");
        request::push_query(&mut path, "allowWatchBookmarks", "true");
        request::push_query(&mut path, "resourceVersion", resource_version);
        let body = request::stream(&self.context, path).await?;
        Ok(WatchStream {
            body,
            lines: Lines::default(),
            cache: self.cache.clone(),
            wildcard: self.is_wildcard(),
            kind: PhantomData,
        })
    }

    /// Patches an object.
    pub async fn patch(&self, name: &str, patch: &Patch) -> Result<K, Error> {
        self.request(Method::PATCH, self.path_of_name(name), Some(patch.body()?)).await
    }

    /// Patches a subresource.
    pub async fn patch_subresource(&self, name: &str, subresource: &str, patch: &Patch) -> Result<K, Error> {
        let path = format!("{}/{subresource}", self.path_of_name(name));
        self.request(Method::PATCH, path, Some(patch.body()?)).await
    }

    /// Deletes exactly this object: its uid is the precondition, its resource version too if `unchanged`. One that is
    /// gone already is no error.
    pub async fn delete_object(&self, object: &K, unchanged: bool, propagation: Option<&str>) -> Result<(), Error> {
        let metadata = object.object_meta();
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(metadata.uid.clone()),
                resource_version: unchanged.then(|| metadata.resource_version.clone()),
            }),
            propagation_policy: propagation.map(str::to_owned),
            ..DeleteOptions::default()
        };
        match request::send(&self.context, Method::DELETE, self.path_of(metadata), delete_body(&options)?).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes an object. `Ok` also when it only got a deletion timestamp; 404 is an error.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<(), Error> {
        let body = delete_body(options)?;
        request::send(&self.context, Method::DELETE, self.path_of_name(name), body).await.map(drop)
    }

    /// Deletes all objects of the scope that `selection` selects.
    pub async fn delete_collection(&self, selection: &ListOptions, options: &DeleteOptions) -> Result<(), Error> {
        let mut path = self.collection_path();
        selection.push(&mut path);
        request::send(&self.context, Method::DELETE, path, delete_body(options)?).await.map(drop)
    }
}

fn delete_body(options: &DeleteOptions) -> Result<Option<(&'static str, Vec<u8>)>, Error> {
    if *options == DeleteOptions::default() {
        return Ok(None);
    }
    Ok(Some((JSON, with_kind("v1", "DeleteOptions", options)?)))
}

/// A value as one JSON text with `kind` and `apiVersion` in front.
fn with_kind(api_version: &str, kind: &str, value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    let value = serde_json::to_vec(value).map_err(unwritable)?;
    let Some(fields) = value.strip_prefix(b"{") else {
        return Err(Error::Decode(format!("a {kind} is written as an object")));
    };
    let mut bytes = Vec::with_capacity(value.len() + 64);
    bytes.extend_from_slice(format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\"").as_bytes());
    if fields != b"}" {
        bytes.push(b',');
    }
    bytes.extend_from_slice(fields);
    Ok(bytes)
}

impl<K: Resource> Api<K> {
    /// All objects of a cluster: every namespace, or a cluster-scoped kind.
    pub fn all(context: &Context, cluster: &str) -> Self {
        Self::of(context, cluster, ApiResource::of::<K>())
    }

    /// The objects of one namespace.
    pub fn namespaced(context: &Context, cluster: &str, namespace: &str) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::all(context, cluster) }
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::Decode(error.to_string())
}

impl ListOptions {
    /// All objects with a label.
    pub fn labelled(selector: &str) -> Self {
        Self { label_selector: selector.to_owned(), ..Self::default() }
    }

    /// All objects with a field.
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
        Ok((content_type, serde_json::to_vec(patch).map_err(unwritable)?))
    }
}

/// The events of a watch.
pub struct WatchStream<K> {
    body: Body,
    lines: Lines,
    cache: Arc<DecodeCache>,
    wildcard: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for WatchStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchStream")
    }
}

impl<K: Readable> WatchStream<K> {
    /// The next event. `None`: the server ended the stream, and a new watch goes on from the last resource version.
    /// An `ERROR` frame is an [`Error::Api`]; after any error the stream has ended.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<K>, Error>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(self.event(&line));
            }
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.lines.push(chunk);
                    }
                }
                Err(error) => return Some(Err(Error::Transport(TransportError::Broken(error.to_string())))),
            }
        }
    }

    fn event(&self, line: &Bytes) -> Result<WatchEvent<K>, Error> {
        let (type_, object) = decode::split_frame(line)?;
        match type_ {
            "ADDED" => self.cache.decode(object, self.wildcard).map(WatchEvent::Added),
            "MODIFIED" => self.cache.decode(object, self.wildcard).map(WatchEvent::Modified),
            "DELETED" => K::read(object).map(Arc::new).map(WatchEvent::Deleted),
            "BOOKMARK" => {
                let bookmark = PartialObject::read(object)?;
                Ok(WatchEvent::Bookmark(bookmark.metadata.resource_version))
            }
            "ERROR" => Err(Error::Api(Box::new(decode::read(object)?))),
            other => Err(Error::Decode(format!("`{other}` is no type of a watch event"))),
        }
    }
}
