// SPDX-License-Identifier: Apache-2.0
//! Write requests: create, update, patch, delete, and subresources.

use apimachinery::patch::{json_patch, merge_patch, strategic_merge_patch};
use apimachinery::{Status, status};
use http::Method;
use serde_json::{Map, Value, json};

use super::route::Target;
use super::server::{Server, State, has_finalizers, key};

/// Code and body of a response, or an error.
type Answer = Result<(u16, Value), Status>;

/// Message of a conflict.
const CONFLICT: &str = "the object has been modified; please apply your changes to the latest version and try again";

impl Server {
    /// Performs a write request, and records it.
    pub(super) fn write(
        &self,
        method: &Method,
        mut target: Target,
        body: &[u8],
        content_type: &str,
        is_dry_run: bool,
        selection: &Result<super::server::Selection, Status>,
    ) -> Answer {
        let mut state = self.lock();
        let tree: Value =
            if body.is_empty() { Value::Null } else { serde_json::from_slice(body).map_err(malformed)? };
        if *method == Method::POST && target.name.is_empty() {
            target.name = name_of_new(&tree, &state);
        }
        let verb = match *method {
            Method::POST if target.subresource.is_empty() => "create",
            Method::DELETE => "delete",
            Method::POST => "post",
            _ => "update",
        };
        let verb = if is_dry_run { format!("dry-run {verb}") } else { verb.to_owned() };
        let line = target.line(&verb);
        let is_event = target.row.plural == "events" && target.row.group.is_empty();
        let before = state.objects.get(&key(&target)).cloned();
        let answer = match state.refusal(&line) {
            Some(status) => Err(status),
            None => match *method {
                Method::POST if target.subresource.is_empty() => state.create(&target, tree, &self.now(), is_dry_run),
                Method::POST => state.post(&target, &tree, self.now()),
                Method::PUT => state.replace(&target, tree, is_dry_run),
                Method::PATCH => state.patch(&target, body, content_type, is_dry_run),
                Method::DELETE if target.name.is_empty() => {
                    let selection = selection.as_ref().map_err(Clone::clone)?;
                    let found: Vec<_> = state
                        .objects
                        .iter()
                        .filter(|(key, object)| selection.matches(key, object))
                        .map(|(key, _)| key.clone())
                        .collect();
                    for key in found {
                        state.mark_deleted(&key, self.now(), None);
                    }
                    Ok((200, json!({"kind": "Status", "status": "Success", "code": 200})))
                }
                Method::DELETE => state.delete(&target, &tree, self.now()),
                _ => Err(Status::failure(405, status::reason::METHOD_NOT_ALLOWED, "method not allowed")),
            },
        };
        match &answer {
            Ok((_, written)) if is_event => {
                let text = |field: &str| written[field].as_str().unwrap_or_default().to_owned();
                state.events.push(format!("{} {} {}", text("type"), text("reason"), text("message")));
            }
            Ok((_, written)) if verb.ends_with("update") => {
                let difference = difference(&before.unwrap_or_default(), written);
                state.writes.push(format!("{line} {difference}"));
            }
            Ok(_) => state.writes.push(line),
            Err(status) => state.writes.push(format!("{line} refused {}", status.code)),
        }
        answer
    }
}

impl State {
    fn create(&mut self, target: &Target, mut tree: Value, now: &Value, is_dry_run: bool) -> Answer {
        let key = key(target);
        if self.objects.contains_key(&key) {
            return Err(Status::already_exists(&target.row.group_resource(), &target.name));
        }
        let metadata = &mut tree["metadata"];
        metadata["name"] = json!(target.name);
        if !target.namespace.is_empty() {
            metadata["namespace"] = json!(target.namespace);
        }
        metadata["creationTimestamp"] = now.clone();
        metadata["generation"] = json!(1);
        without_nulls(&mut tree);
        let is_shoot_like = target.row.subresources.contains(&"status");
        if is_shoot_like && let Some(object) = tree.as_object_mut() {
            object.remove("status");
        }
        if is_dry_run {
            return Ok((201, tree));
        }
        Ok((201, self.store(&key, tree)))
    }

    fn replace(&mut self, target: &Target, tree: Value, is_dry_run: bool) -> Answer {
        let stored = self.stored(target)?;
        let given = &tree["metadata"]["resourceVersion"];
        if given.as_str().is_some_and(|given| !given.is_empty()) && *given != stored["metadata"]["resourceVersion"] {
            return Err(Status::conflict(&target.row.group_resource(), &target.name, CONFLICT));
        }
        Ok(self.update(target, &stored, tree, is_dry_run))
    }

    fn patch(&mut self, target: &Target, body: &[u8], content_type: &str, is_dry_run: bool) -> Answer {
        let stored = self.stored(target)?;
        let mut tree = stored.clone();
        if content_type.starts_with("application/json-patch") {
            json_patch(&mut tree, body).map_err(|error| error.to_status())?;
        } else {
            let patch: Value = serde_json::from_slice(body).map_err(malformed)?;
            let given = &patch["metadata"]["resourceVersion"];
            if !given.is_null() && *given != stored["metadata"]["resourceVersion"] {
                return Err(Status::conflict(&target.row.group_resource(), &target.name, CONFLICT));
            }
            if content_type.starts_with("application/strategic-merge-patch") {
                let schema = target.row.node();
                strategic_merge_patch(&mut tree, &patch, &schema).map_err(|error| error.to_status())?;
            } else {
                merge_patch(&mut tree, &patch);
            }
        }
        Ok(self.update(target, &stored, tree, is_dry_run))
    }

    /// Stores the permitted part of `new` in an update: the object without its status, or a subresource and the
    /// metadata.
    fn update(&mut self, target: &Target, stored: &Value, new: Value, is_dry_run: bool) -> (u16, Value) {
        let key = key(target);
        let has_status = target.row.subresources.contains(&"status");
        let mut object = match &*target.subresource {
            "status" => {
                let mut object = stored.clone();
                object["metadata"] = new["metadata"].clone();
                object["status"] = new["status"].clone();
                object
            }
            _ => {
                let mut object = new;
                if has_status {
                    object["status"] = stored["status"].clone();
                }
                object
            }
        };
        for field in ["uid", "creationTimestamp", "deletionTimestamp", "generation", "namespace", "name"] {
            object["metadata"][field] = stored["metadata"][field].clone();
        }
        object["apiVersion"] = stored["apiVersion"].clone();
        object["kind"] = stored["kind"].clone();
        without_nulls(&mut object);
        if object["spec"] != stored["spec"] {
            let generation = stored["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = json!(generation + 1);
        }
        without_nulls(&mut object);
        if is_dry_run {
            return (200, object);
        }
        if object == *stored {
            return (200, object);
        }
        let is_leaving = !stored["metadata"]["deletionTimestamp"].is_null();
        if is_leaving && !has_finalizers(&object) {
            self.erase(&key);
            return (200, object);
        }
        (200, self.store(&key, object))
    }

    fn delete(&mut self, target: &Target, options: &Value, now: Value) -> Answer {
        let stored = self.stored(target)?;
        for (field, in_options) in [("uid", "uid"), ("resourceVersion", "resourceVersion")] {
            let wanted = &options["preconditions"][in_options];
            if wanted.is_string() && *wanted != stored["metadata"][field] {
                let text = format!("Precondition failed: {field} in precondition: {wanted}");
                return Err(Status::conflict(&target.row.group_resource(), &target.name, &text));
            }
        }
        let finalizer = match options["propagationPolicy"].as_str() {
            Some("Foreground") => Some("foregroundDeletion"),
            Some("Orphan") => Some("orphan"),
            _ => None,
        };
        self.mark_deleted(&key(target), now, finalizer);
        Ok((200, self.objects.get(&key(target)).cloned().unwrap_or(stored)))
    }

    /// Posts to a subresource. Only pods have some that change objects; others are recorded and answered with the body.
    fn post(&mut self, target: &Target, tree: &Value, now: Value) -> Answer {
        let mut stored = self.stored(target)?;
        match (target.row.plural, &*target.subresource) {
            ("pods", "eviction") => self.mark_deleted(&key(target), now, None),
            ("pods", "binding") => {
                stored["spec"]["nodeName"] = tree["target"]["name"].clone();
                self.store(&key(target), stored);
            }
            _ => {}
        }
        Ok((201, tree.clone()))
    }

    fn stored(&self, target: &Target) -> Result<Value, Status> {
        let stored = self.objects.get(&key(target)).cloned();
        stored.ok_or_else(|| Status::not_found(&target.row.group_resource(), &target.name))
    }
}

/// Returns the name of a new object; a generated one ends in the number of the next revision.
fn name_of_new(tree: &Value, state: &State) -> String {
    let text = |field: &str| tree["metadata"][field].as_str().unwrap_or_default();
    match text("name") {
        "" => format!("{}{:05}", text("generateName"), state.revision + 1),
        name => name.to_owned(),
    }
}

fn malformed(error: serde_json::Error) -> Status {
    Status::bad_request(format!("the body is no JSON: {error}"))
}

/// Removes null fields, as no server stores them.
pub(super) fn without_nulls(tree: &mut Value) {
    match tree {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Returns the difference as a merge patch, without the fields that the server itself increments.
fn difference(old: &Value, new: &Value) -> Value {
    let mut patch = changed(old, new).unwrap_or_else(|| json!({}));
    if let Some(metadata) = patch["metadata"].as_object_mut() {
        for field in ["resourceVersion", "generation", "managedFields"] {
            metadata.remove(field);
        }
        if metadata.is_empty()
            && let Some(patch) = patch.as_object_mut()
        {
            patch.remove("metadata");
        }
    }
    if patch["metadata"].is_null()
        && let Some(patch) = patch.as_object_mut()
    {
        patch.remove("metadata");
    }
    patch
}

fn changed(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for (name, value) in after {
        if let Some(value) = changed(before.get(name).unwrap_or(&Value::Null), value) {
            patch.insert(name.clone(), value);
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}
