// SPDX-License-Identifier: Apache-2.0
//! Requests for one kind in one scope, without its type.

use std::fmt;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::Status;
use apimachinery::meta::{DeleteOptions, ListMeta, ObjectMeta, Preconditions};
use apimachinery::wire::{self, Fields as _};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use process::lines::Lines;
use process::{Body, Context, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{ApiResource, Error, JSON, ListOptions, PAGE, Patch};
use crate::cache::DecodeCache;
use crate::decode::{self, PartialObject, Readable as _};
use crate::erased::{Answering, Reader, Shared};
use crate::queue::ObjectKey;
use crate::request::{self, Answer};
use crate::store::AnyStore;

/// Content type and body of a request.
pub(crate) type Content = (&'static str, Vec<u8>);

/// Client for one kind in one scope: paths of requests, and the decoder of responses.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) context: Context,
    cache: Arc<DecodeCache>,
    pub(crate) cluster: Arc<str>,
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) resource: ApiResource,
    pub(crate) reader: Reader,
    /// Store that shows writes at once.
    store: Option<AnyStore>,
}

impl fmt::Debug for Endpoint {
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
pub(crate) struct Page {
    /// Objects of the page.
    pub(crate) items: Vec<Shared>,
    /// Resource version of the snapshot from which all pages are read.
    pub(crate) resource_version: String,
    /// Token for the next page; empty on the last.
    pub(crate) continue_token: String,
}

impl Endpoint {
    pub(crate) fn new(context: &Context, cluster: &str, resource: ApiResource, reader: Reader) -> Self {
        Self {
            cache: context.transport.shared().get(),
            context: context.clone(),
            cluster: cluster.into(),
            namespace: None,
            resource,
            reader,
            store: None,
        }
    }

    pub(crate) fn with_store(self, store: AnyStore) -> Self {
        Self { store: Some(store), ..self }
    }

    pub(crate) fn within(&self, cluster: &str, namespace: &str) -> Self {
        Self { cluster: cluster.into(), namespace: Some(namespace.into()), ..self.clone() }
    }

    /// Returns the endpoint for the namespace of an object, and for `*` in the object's cluster.
    pub(crate) fn in_namespace_of(&self, metadata: &ObjectMeta) -> Self {
        self.within(self.cluster_of(metadata), &metadata.namespace)
    }

    pub(crate) fn key_of(&self, metadata: &ObjectMeta) -> ObjectKey {
        let cluster = if self.is_wildcard() { self.cluster_of(metadata).into() } else { self.cluster.clone() };
        ObjectKey { cluster, namespace: metadata.namespace.as_str().into(), name: metadata.name.as_str().into() }
    }

    /// Key of an object to which requests about it refer.
    pub(crate) fn key_in_scope(&self, metadata: &ObjectMeta) -> ObjectKey {
        let namespace = self.namespace.as_deref().unwrap_or(&metadata.namespace);
        ObjectKey::new(self.cluster_of(metadata), namespace, &metadata.name)
    }

    fn is_wildcard(&self) -> bool {
        &*self.cluster == "*"
    }

    fn cluster_of<'a>(&'a self, metadata: &'a ObjectMeta) -> &'a str {
        metadata.annotation(annotation::CLUSTER).filter(|_| self.is_wildcard()).unwrap_or(&self.cluster)
    }

    fn collection_path(&self) -> String {
        self.resource.path(&self.cluster, self.namespace.as_deref())
    }

    /// Path of the collection of an object.
    pub(crate) fn collection_path_of(&self, metadata: &ObjectMeta) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(&metadata.namespace);
        self.resource.path(self.cluster_of(metadata), Some(namespace))
    }

    pub(crate) fn path_of_name(&self, name: &str) -> String {
        format!("{}/{name}", self.collection_path())
    }

    pub(crate) fn path_of(&self, metadata: &ObjectMeta) -> String {
        format!("{}/{}", self.collection_path_of(metadata), metadata.name)
    }

    /// Sends a write whose response is an object of the kind.
    pub(crate) fn request(&self, method: Method, path: String, body: Option<Content>) -> Answering<'_, Shared> {
        Box::pin(async move {
            let cluster = self.store.as_ref().and_then(|_| self.cluster_of_object(&path).map(str::to_owned));
            let answer = request::object(&self.context, method, path, body).await?;
            if let Some(cluster) = cluster {
                self.show(&answer, &cluster);
            }
            self.cache.take(self.reader, &answer)
        })
    }

    /// Returns the cluster in the path of an object, a collection or a status; `None` for other subresources, which are
    /// not objects of the kind.
    fn cluster_of_object<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (_, name) = path.rsplit_once(&format!("/{}/", self.resource.plural)).unwrap_or_default();
        let is_object = name.split_once('/').is_none_or(|(_, subresource)| subresource == "status");
        path.split('/').nth(2).filter(|_| is_object)
    }

    /// Shows the object of a response in the store.
    fn show(&self, answer: &Answer, cluster: &str) {
        let Some(store) = &self.store else { return };
        let selection = store.selection();
        let object = if selection.is_wildcard() {
            self.cache.take_from(selection.reader, answer, cluster)
        } else {
            self.cache.take(selection.reader, answer)
        };
        // Otherwise the watch fails to decode it as well.
        let Ok(object) = object else { return };
        let metadata = object.meta();
        if selection.includes(cluster, &metadata.namespace) {
            let key = ObjectKey::new(cluster, &metadata.namespace, &metadata.name);
            let is_selected = selection.selects(metadata, &answer.bytes);
            store.written(key, object, is_selected);
        }
    }

    /// The store, if its objects have the type of responses.
    pub(crate) fn store_of_type(&self) -> Option<&AnyStore> {
        self.store.as_ref().filter(|store| store.selection().reader.type_ == self.reader.type_)
    }

    /// Hides a deleted object in the store.
    fn hide(&self, key: ObjectKey, uid: &str) {
        let store = self.store.as_ref().filter(|store| store.selection().includes(&key.cluster, &key.namespace));
        if let Some(store) = store {
            store.deleted(key, uid);
        }
    }

    /// Sends a request as [`Endpoint::request`], whose response is decoded for this request alone: for computed
    /// objects, and for objects that were never stored.
    pub(crate) fn request_uncached(
        &self,
        method: Method,
        path: String,
        body: Option<Content>,
        is_known: bool,
    ) -> Answering<'_, Shared> {
        Box::pin(async move {
            let answer = request::object(&self.context, method, path, body).await?;
            if is_known { answer.object(self.reader) } else { (self.reader.read)(&answer.bytes) }
        })
    }

    pub(crate) fn get_opt(&self, name: &str, is_cached: bool) -> Answering<'_, Option<Shared>> {
        let path = self.path_of_name(name);
        Box::pin(async move {
            match request::object(&self.context, Method::GET, path, None).await {
                Ok(answer) if is_cached => {
                    self.show(&answer, &self.cluster);
                    self.cache.take(self.reader, &answer).map(Some)
                }
                Ok(answer) => answer.object(self.reader).map(Some),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// Reads one page of at most `limit` objects; a limit of 0 reads everything.
    pub(crate) async fn page(&self, options: &ListOptions, limit: u32, continue_token: &str) -> Result<Page, Error> {
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
        let decode = |item: &&RawValue| self.cache.decode(self.reader, item.get().as_bytes(), self.is_wildcard());
        Ok(Page {
            items: list.items.iter().map(decode).collect::<Result<_, _>>()?,
            resource_version: list.metadata.resource_version,
            continue_token: list.metadata.continue_token,
        })
    }

    /// Reads all objects of the scope, page by page, and the list's resource version. If the snapshot expires between
    /// two pages, everything is read again in one request, as in client-go's pager.
    pub(crate) fn list<'a>(&'a self, options: &'a ListOptions) -> Answering<'a, (Vec<Shared>, String)> {
        Box::pin(async move {
            let mut items = Vec::new();
            let mut page = self.page(options, PAGE, "").await?;
            loop {
                items.append(&mut page.items);
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
        })
    }

    pub(crate) fn watch(&self, options: &ListOptions, resource_version: &str) -> Answering<'_, Frames> {
        let mut path = self.collection_path();
        options.push(&mut path);
        request::push_query(&mut path, "watch", "true");
        request::push_query(&mut path, "allowWatchBookmarks", "true");
        request::push_query(&mut path, "resourceVersion", resource_version);
        Box::pin(async move {
            let body = request::stream(&self.context, path).await?;
            Ok(Frames {
                body,
                lines: Lines::default(),
                cache: self.cache.clone(),
                reader: self.reader,
                wildcard: self.is_wildcard(),
            })
        })
    }

    pub(crate) fn patch(&self, path: String, patch: &Patch) -> Answering<'_, Shared> {
        match patch.body() {
            Ok(body) => self.request(Method::PATCH, path, Some(body)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Sends a patch as [`Self::patch`], as a dry run with strict field validation.
    pub(crate) fn patch_dry_run(&self, path: &str, patch: &Patch) -> Answering<'_, Shared> {
        let path = format!("{path}?dryRun=All&fieldValidation=Strict");
        match patch.body() {
            // The cache is bypassed: the result of a dry run was never stored.
            Ok(body) => self.request_uncached(Method::PATCH, path, Some(body), false),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// Writes a merge patch against a known version: its resource version is the precondition.
    pub(crate) fn patch_difference(
        &self,
        old: &ObjectMeta,
        mut patch: Map<String, Value>,
        suffix: &str,
    ) -> Answering<'_, Shared> {
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        metadata["resourceVersion"] = Value::String(old.resource_version.clone());
        self.patch(format!("{}{suffix}", self.path_of(old)), &Patch::Merge(Value::Object(patch)))
    }

    /// Deletes exactly this object: its uid is the precondition, and its resource version too if `unchanged`. A missing
    /// object is no error.
    pub(crate) fn delete_object(
        &self,
        metadata: &ObjectMeta,
        unchanged: bool,
        propagation: Option<&str>,
    ) -> Answering<'_, ()> {
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some(metadata.uid.clone()),
                resource_version: unchanged.then(|| metadata.resource_version.clone()),
            }),
            propagation_policy: propagation.map(str::to_owned),
            ..DeleteOptions::default()
        };
        let deleted = self.delete(self.key_in_scope(metadata), &options);
        Box::pin(async move {
            match deleted.await {
                Err(error) if error.is_not_found() => Ok(()),
                result => result,
            }
        })
    }

    pub(crate) fn delete_name(&self, name: &str, options: &DeleteOptions) -> Answering<'_, ()> {
        self.delete(ObjectKey::new(&self.cluster, self.namespace.as_deref().unwrap_or_default(), name), options)
    }

    fn delete(&self, key: ObjectKey, options: &DeleteOptions) -> Answering<'_, ()> {
        let body = delete_body(options);
        let path = format!("{}/{}", self.resource.path(&key.cluster, Some(&key.namespace)), key.name);
        let expected = options.preconditions.as_ref().and_then(|preconditions| preconditions.uid.clone());
        Box::pin(async move {
            let answer = match request::object(&self.context, Method::DELETE, path, body).await {
                Err(error) => {
                    if let Some(uid) = expected.filter(|_| error.is_not_found()) {
                        self.hide(key, &uid);
                    }
                    return Err(error);
                }
                Ok(_) if self.store.is_none() => return Ok(()),
                Ok(answer) => answer,
            };
            // A status names the deleted object. Some kinds return its last state instead, as they return one that
            // waits for finalizers.
            if answer.bytes.starts_with(br#"{"kind":"Status","#) {
                let status: Status = decode::read(&answer.bytes)?;
                self.hide(key, &status.details.unwrap_or_default().uid);
                return Ok(());
            }
            let last = PartialObject::read(&answer.bytes)?.metadata;
            if last.is_being_deleted() {
                self.show(&answer, &key.cluster);
            } else {
                self.hide(key, &last.uid);
            }
            Ok(())
        })
    }

    /// Posts to a subresource, and ignores the response unless it is an error.
    pub(crate) fn post(&self, path: String, body: Vec<u8>) -> Answering<'_, ()> {
        Box::pin(async move { request::send(&self.context, Method::POST, path, Some((JSON, body))).await.map(drop) })
    }

    pub(crate) fn delete_collection(&self, selection: &ListOptions, options: &DeleteOptions) -> Answering<'_, ()> {
        let mut path = self.collection_path();
        selection.push(&mut path);
        let body = delete_body(options);
        Box::pin(async move { request::send(&self.context, Method::DELETE, path, body).await.map(drop) })
    }
}

fn delete_body(options: &DeleteOptions) -> Option<Content> {
    if *options == DeleteOptions::default() {
        return None;
    }
    let mut bytes = br#"{"kind":"DeleteOptions","apiVersion":"v1""#.to_vec();
    for position in 0..options.fields().len() {
        wire::write_field(&mut bytes, options, position);
    }
    bytes.push(b'}');
    Some((JSON, bytes))
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    /// The object entered the watched set.
    Added(Shared),
    /// The object was changed.
    Modified(Shared),
    /// The object left the watched set; its last state.
    Deleted(Shared),
    /// Bookmark: all changes up to this resource version were sent.
    Bookmark(String),
}

/// Events of a watch.
pub(crate) struct Frames {
    body: Body,
    lines: Lines,
    cache: Arc<DecodeCache>,
    reader: Reader,
    wildcard: bool,
}

impl Frames {
    pub(crate) async fn next(&mut self) -> Option<Result<Frame, Error>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Some(self.frame(&line));
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

    fn frame(&self, line: &Bytes) -> Result<Frame, Error> {
        let (type_, object) = decode::split_frame(line)?;
        match type_ {
            "ADDED" => self.cache.decode(self.reader, object, self.wildcard).map(Frame::Added),
            "MODIFIED" => self.cache.decode(self.reader, object, self.wildcard).map(Frame::Modified),
            "DELETED" => (self.reader.read)(object).map(Frame::Deleted),
            "BOOKMARK" => {
                let bookmark = PartialObject::read(object)?;
                Ok(Frame::Bookmark(bookmark.metadata.resource_version))
            }
            "ERROR" => Err(Error::Api(Box::new(decode::read(object)?))),
            other => Err(Error::Decode(format!("`{other}` is not a type of a watch event"))),
        }
    }
}
