// SPDX-License-Identifier: Apache-2.0
//! Fake of the API servers of a landscape with all logical clusters: storage, lists, watches, discovery.
//!
//! The common behaviour of all kinds is that of the real server: resource versions and conflicts, the generation,
//! subresource `status` apart from the rest, finalizers and deletion timestamps, selectors, three kinds of patches.
//! Behaviour of single kinds (defaults, admission, validation) is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::catalogue;
use api::constants::annotation;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::meta::{TextMap, Time};
use apimachinery::selector::{Fields, Labels};
use apimachinery::{Resource, Status, encode};
use bytes::Bytes;
use clock::Clock;
use futures::StreamExt;
use futures::channel::mpsc;
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use parking_lot::{Mutex, MutexGuard};
use percent_encoding::percent_decode_str;
use process::transport::{BodyError, full};
use process::{Body, Request, Response, TransportError};
use serde_json::{Value, json};

use super::route::{self, Route, Target};
use super::verbs::without_nulls;

/// Storage key of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Group and plural name.
    pub(super) resource: (&'static str, &'static str),
    pub(super) cluster: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Clone, Debug)]
struct Change {
    revision: u64,
    key: Key,
    old: Option<Value>,
    new: Option<Value>,
}

/// Selection of a list or watch.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    target: Target,
    labels: Labels,
    fields: Fields,
}

#[derive(Debug)]
struct Watcher {
    selection: Selection,
    sender: mpsc::UnboundedSender<Bytes>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) objects: BTreeMap<Key, Value>,
    pub(super) revision: u64,
    history: Vec<Change>,
    watchers: Vec<Watcher>,
    /// Resource whose changes are withheld from watches.
    held: Option<String>,
    /// Withheld changes.
    unsent: Vec<Change>,
    refusals: Vec<(String, Status)>,
    /// Resources that clusters define themselves.
    own: Vec<(String, &'static ResourceInfo)>,
    pub(super) writes: Vec<String>,
    pub(super) events: Vec<String>,
}

/// The fake servers. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Server {
    state: Arc<Mutex<State>>,
    clock: Clock,
}

impl Server {
    pub(super) fn new(clock: Clock) -> Self {
        Self { state: Arc::default(), clock }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn now(&self) -> Value {
        json!(Time::from_instant(self.clock.now()))
    }

    pub(super) fn put<K: Resource>(&self, cluster: &str, object: &K) -> Value {
        let mut tree = encode::to_tree(object);
        tree["apiVersion"] = json!(K::api_version());
        tree["kind"] = json!(K::KIND);
        without_nulls(&mut tree);
        if tree["metadata"]["creationTimestamp"].is_null() {
            tree["metadata"]["creationTimestamp"] = self.now();
        }
        self.lock().store(&key_of::<K>(cluster, &object.metadata().namespace, &object.metadata().name), tree)
    }

    pub(super) fn remove<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) {
        self.lock().erase(&key_of::<K>(cluster, namespace, name));
    }

    pub(super) fn delete<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) {
        let now = self.now();
        self.lock().mark_deleted(&key_of::<K>(cluster, namespace, name), now, None);
    }

    pub(super) fn get<K: Resource>(&self, cluster: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock().objects.get(&key_of::<K>(cluster, namespace, name)).cloned()
    }

    pub(super) fn list<K: Resource>(&self, cluster: &str) -> Vec<Value> {
        let state = self.lock();
        let is_of = |key: &&Key| key.resource == (K::GROUP, K::PLURAL) && key.cluster == cluster;
        state.objects.keys().filter(is_of).map(|key| state.objects[key].clone()).collect()
    }

    pub(super) fn refuse(&self, request: &str, status: Status) {
        self.lock().refusals.push((request.to_owned(), status));
    }

    pub(super) fn serve(&self, cluster: &str, row: &'static ResourceInfo) {
        self.lock().own.push((cluster.to_owned(), row));
    }

    pub(super) fn stop_serving(&self, cluster: &str, row: &ResourceInfo) {
        let is_it = |(of, own): &(String, &ResourceInfo)| of == cluster && own.group_resource() == row.group_resource();
        self.lock().own.retain(|own| !is_it(own));
    }

    /// Resources of a cluster; `*`: resources of all clusters.
    fn rows(&self, cluster: &str) -> Vec<&'static ResourceInfo> {
        let of_all = catalogue::all().iter().filter(|row| catalogue::serves(cluster, row));
        let state = self.lock();
        let own = state.own.iter().filter(|(of, _)| of == cluster).map(|(_, row)| *row);
        of_all.chain(own).collect()
    }

    /// Takes the writes and Events since the last call.
    pub(super) fn take(&self) -> (Vec<String>, Vec<String>) {
        let mut state = self.lock();
        (std::mem::take(&mut state.writes), std::mem::take(&mut state.events))
    }

    pub(super) async fn answer(self, request: Request) -> Result<Response, TransportError> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.map_err(|error| TransportError::Broken(error.to_string()))?.to_bytes();
        let query: BTreeMap<String, String> = parts
            .uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect();
        let Some((cluster, route)) = route::parse(parts.uri.path(), |cluster| self.rows(cluster)) else {
            let text = format!("the server could not find the requested resource: {}", parts.uri.path());
            return Ok(failure(&Status::failure(404, "NotFound", text)));
        };
        Ok(match route {
            Route::Groups => respond(200, &json!({"kind": "APIGroupList", "groups": groups(&self.rows(&cluster))})),
            Route::Group(name) => match groups(&self.rows(&cluster)).into_iter().find(|group| group["name"] == *name) {
                Some(group) => respond(200, &group),
                None => failure(&Status::failure(404, "NotFound", "the server could not find the requested resource")),
            },
            Route::Resources(group, version) => respond(200, &resources(&self.rows(&cluster), &group, &version)),
            Route::Objects(target) if parts.method == http::Method::GET => self.read(target, &query),
            Route::Objects(target) => {
                let content_type = parts.headers.get(http::header::CONTENT_TYPE);
                let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
                let is_dry_run = query.contains_key("dryRun");
                let selection = Selection::new(&target, &query);
                match self.write(&parts.method, target, &bytes, content_type, is_dry_run, &selection) {
                    Ok((code, tree)) => respond(code, &tree),
                    Err(status) => failure(&status),
                }
            }
        })
    }

    fn read(&self, target: Target, query: &BTreeMap<String, String>) -> Response {
        let mut state = self.lock();
        if !target.name.is_empty() {
            if let Some(status) = state.refusal(&target.line("get")) {
                return failure(&status);
            }
            return match state.objects.get(&key(&target)) {
                Some(object) => respond(200, object),
                None => failure(&Status::not_found(&target.row.group_resource(), &target.name)),
            };
        }
        let selection = match Selection::new(&target, query) {
            Ok(selection) => selection,
            Err(status) => return failure(&status),
        };
        if query.contains_key("watch") {
            let from = query.get("resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default();
            return state.watch(selection, from);
        }
        if let Some(status) = state.refusal(&target.line("list")) {
            return failure(&status);
        }
        let selected = state.objects.iter().filter(|(key, object)| selection.matches(key, object));
        let items: Vec<Value> = selected.map(|(key, object)| selection.as_seen(key, object)).collect();
        let list = json!({
            "kind": format!("{}List", target.row.kind),
            "metadata": {"resourceVersion": state.revision.to_string()},
            "items": items,
        });
        respond(200, &list)
    }
}

impl State {
    /// Takes the response that a test has set for a request.
    pub(super) fn refusal(&mut self, line: &str) -> Option<Status> {
        let position = self.refusals.iter().position(|(request, _)| line.starts_with(request.as_str()))?;
        Some(self.refusals.remove(position).1)
    }

    /// Stores an object under the next revision.
    pub(super) fn store(&mut self, key: &Key, mut object: Value) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        if object["metadata"]["uid"].as_str().unwrap_or_default().is_empty() {
            object["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.revision));
        }
        let old = self.objects.insert(key.clone(), object.clone());
        self.publish(key, old, Some(object.clone()));
        object
    }

    /// Removes an object from the store.
    pub(super) fn erase(&mut self, key: &Key) {
        if let Some(mut old) = self.objects.remove(key) {
            self.revision += 1;
            old["metadata"]["resourceVersion"] = json!(self.revision.to_string());
            self.publish(key, Some(old), None);
        }
    }

    /// Deletes an object: one with finalizers gets a deletion timestamp and, if it has a generation, the next one; any
    /// other is removed.
    pub(super) fn mark_deleted(&mut self, key: &Key, now: Value, finalizer: Option<&str>) {
        let Some(mut object) = self.objects.get(key).cloned() else { return };
        if let Some(finalizer) = finalizer
            && let Some(metadata) = object["metadata"].as_object_mut()
            && let Some(finalizers) = metadata.entry("finalizers").or_insert_with(|| json!([])).as_array_mut()
            && !finalizers.contains(&json!(finalizer))
        {
            finalizers.push(json!(finalizer));
        }
        if !has_finalizers(&object) {
            self.erase(key);
        } else if object["metadata"]["deletionTimestamp"].is_null() || finalizer.is_some() {
            // A controller that compares generations must detect the deletion.
            if object["metadata"]["deletionTimestamp"].is_null()
                && let Some(generation) = object["metadata"]["generation"].as_i64().filter(|generation| *generation > 0)
            {
                object["metadata"]["generation"] = json!(generation + 1);
            }
            object["metadata"]["deletionTimestamp"] = now;
            if key.resource == ("", "namespaces") {
                object["status"]["phase"] = json!("Terminating");
            }
            self.store(key, object);
        }
    }

    fn publish(&mut self, key: &Key, old: Option<Value>, new: Option<Value>) {
        let change = Change { revision: self.revision, key: key.clone(), old, new };
        if self.held.as_deref() == Some(key.resource.1) {
            self.unsent.push(change);
        } else {
            self.send(change);
        }
    }

    fn send(&mut self, change: Change) {
        for watcher in &self.watchers {
            watcher.send(&change);
        }
        self.history.push(change);
    }

    pub(super) fn hold(&mut self, resource: Option<&str>) {
        self.held = resource.map(str::to_owned);
        for change in std::mem::take(&mut self.unsent) {
            self.send(change);
        }
    }

    fn watch(&mut self, selection: Selection, from: u64) -> Response {
        let (sender, receiver) = mpsc::unbounded();
        let watcher = Watcher { selection, sender };
        for change in self.history.iter().filter(|change| change.revision > from) {
            watcher.send(change);
        }
        self.watchers.push(watcher);
        let stream = receiver.map(|bytes| Ok::<_, BodyError>(Frame::data(bytes)));
        Response::new(Body::new(StreamBody::new(stream)))
    }
}

impl Watcher {
    /// Sends a change from the view of this watch: an object that leaves the selection is deleted, one that enters is
    /// added.
    fn send(&self, change: &Change) {
        let seen = |object: &Option<Value>| {
            object.as_ref().filter(|object| self.selection.matches(&change.key, object)).cloned()
        };
        let (type_, object) = match (seen(&change.old), seen(&change.new)) {
            (None, None) => return,
            (None, Some(new)) => ("ADDED", new),
            (Some(_), Some(new)) => ("MODIFIED", new),
            (Some(mut old), None) => {
                old["metadata"]["resourceVersion"] = json!(change.revision.to_string());
                ("DELETED", old)
            }
        };
        let object = self.selection.as_seen(&change.key, &object);
        let _ = self.sender.unbounded_send(format!("{}\n", json!({"type": type_, "object": object})).into());
    }
}

impl Selection {
    fn new(target: &Target, query: &BTreeMap<String, String>) -> Result<Self, Status> {
        let text = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
        Ok(Self {
            target: target.clone(),
            labels: Labels::parse(text("labelSelector")).map_err(Status::bad_request)?,
            fields: Fields::parse(text("fieldSelector")).map_err(Status::bad_request)?,
        })
    }

    pub(super) fn matches(&self, key: &Key, object: &Value) -> bool {
        let Target { cluster, row, namespace, .. } = &self.target;
        if key.resource != (row.group, row.plural)
            || (cluster != "*" && key.cluster != *cluster)
            || (!namespace.is_empty() && key.namespace != *namespace)
        {
            return false;
        }
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        let labels: TextMap =
            labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
        self.labels.matches(&labels) && self.fields.matches(|field| field_of(row, object, field))
    }

    /// Returns an object as read through this cluster; the wildcard cluster adds the annotation of its cluster.
    fn as_seen(&self, key: &Key, object: &Value) -> Value {
        let mut object = object.clone();
        if self.target.cluster == "*" {
            object["metadata"]["annotations"][annotation::CLUSTER] = json!(key.cluster);
        }
        object
    }
}

/// Returns the value of a field selector; a path has alternatives, and `=x` is the text x.
fn field_of(row: &ResourceInfo, object: &Value, field: &str) -> String {
    let own = row.field_selectors.iter().find(|(label, _)| *label == field).map(|(_, path)| *path);
    let general = match field {
        "metadata.name" => ".metadata.name",
        "metadata.namespace" => ".metadata.namespace",
        _ => "",
    };
    for path in own.unwrap_or(general).split('|') {
        if let Some(text) = path.strip_prefix('=') {
            return text.to_owned();
        }
        let pointer = path.replace('.', "/");
        let found = match object.pointer(&pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        if !found.is_empty() {
            return found;
        }
    }
    String::new()
}

/// True if finalizers delay the removal of a deleted object. Namespaces have finalizers of their own in `spec`.
pub(super) fn has_finalizers(object: &Value) -> bool {
    let any = |list: &Value| list.as_array().is_some_and(|finalizers| !finalizers.is_empty());
    any(&object["metadata"]["finalizers"]) || (object["kind"] == "Namespace" && any(&object["spec"]["finalizers"]))
}

fn key_of<K: Resource>(cluster: &str, namespace: &str, name: &str) -> Key {
    Key {
        resource: (K::GROUP, K::PLURAL),
        cluster: cluster.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

pub(super) fn key(target: &Target) -> Key {
    Key {
        resource: (target.row.group, target.row.plural),
        cluster: target.cluster.clone(),
        namespace: target.namespace.clone(),
        name: target.name.clone(),
    }
}

fn groups(rows: &[&ResourceInfo]) -> Vec<Value> {
    let rows = rows.iter().filter(|row| !row.group.is_empty());
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        versions.entry(row.group).or_default().insert(row.version);
    }
    let group = |(name, versions): (&str, BTreeSet<&str>)| {
        let versions: Vec<Value> = versions.into_iter().map(|version| json!({"version": version})).collect();
        json!({"name": name, "versions": versions})
    };
    versions.into_iter().map(group).collect()
}

fn resources(rows: &[&ResourceInfo], group: &str, version: &str) -> Value {
    let rows = rows.iter().filter(|row| row.group == group && row.version == version);
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let entry = |row: &&ResourceInfo| json!({"name": row.plural, "namespaced": row.namespaced, "kind": row.kind, "verbs": verbs});
    json!({"kind": "APIResourceList", "resources": rows.map(entry).collect::<Vec<_>>()})
}

/// Decodes a query value, `%28` and the like.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn respond(code: u16, tree: &Value) -> Response {
    let mut response = Response::new(full(tree.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn failure(status: &Status) -> Response {
    respond(status.code, &json!(status))
}
