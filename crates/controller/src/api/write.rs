// SPDX-License-Identifier: Apache-2.0
//! Writing whole objects: creating, replacing, and merge patches of what differs.

use apimachinery::{Resource, encode};
use http::Method;
use serde_json::{Map, Value, json};

use super::{Api, CLUSTER_ANNOTATION, Error, JSON, Patch};
use crate::{decode, difference, request};

impl<K: Resource> Api<K> {
    /// Creates an object.
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        let metadata = object.metadata();
        let namespace = self.namespace.as_deref().unwrap_or(&metadata.namespace);
        let path = self.resource.path(self.cluster_of(metadata), Some(namespace));
        self.request(Method::POST, path, Some((JSON, body(object)))).await
    }

    /// Replaces an object; its resource version is the precondition.
    pub async fn replace(&self, object: &K) -> Result<K, Error> {
        self.request(Method::PUT, self.path_of(object.metadata()), Some((JSON, body(object)))).await
    }

    /// Replaces a subresource, `status` or `binding`.
    pub async fn replace_subresource(&self, subresource: &str, object: &K) -> Result<K, Error> {
        let path = format!("{}/{subresource}", self.path_of(object.metadata()));
        self.request(Method::PUT, path, Some((JSON, body(object)))).await
    }

    /// As [`Api::replace`], as a dry run.
    pub async fn replace_dry_run(&self, object: &K) -> Result<K, Error> {
        let path = format!("{}?dryRun=All", self.path_of(object.metadata()));
        let bytes = request::send(&self.context, Method::PUT, path, Some((JSON, body(object)))).await?;
        // Not through the cache: what a dry run answers under the present resource version was never stored.
        decode::read(&bytes)
    }

    /// Writes `status` by a merge patch of what differs between `old` and `new`, with `old`'s resource version as the
    /// precondition; no request if nothing differs, and `new` comes back.
    pub async fn update_status(&self, old: &K, new: &K) -> Result<K, Error> {
        let differing = old.differing_fields(new);
        let is_written = |name: &str| name == "status" && differs(differing.as_deref(), name);
        let pick = |object: &K| difference::fields(object, is_written);
        let patch = difference::merge_patch(&pick(old), &pick(new));
        self.write_difference(old, new, patch, "/status").await
    }

    /// Writes everything but `status` by a merge patch of what differs, with `old`'s resource version as the
    /// precondition; no request if nothing differs, and `new` comes back.
    pub async fn update(&self, old: &K, new: &K) -> Result<K, Error> {
        let differing = old.differing_fields(new);
        let is_written = |name: &str| name != "status" && differs(differing.as_deref(), name);
        let pick = |object: &K| {
            let mut fields = difference::fields(object, is_written);
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                metadata.retain(|name, _| is_written_by_clients(name));
            }
            fields
        };
        let patch = difference::merge_patch(&pick(old), &pick(new));
        self.write_difference(old, new, patch, "").await
    }

    async fn write_difference(
        &self,
        old: &K,
        new: &K,
        mut patch: Map<String, Value>,
        suffix: &str,
    ) -> Result<K, Error> {
        if patch.is_empty() {
            return Ok(new.clone());
        }
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        metadata["resourceVersion"] = Value::String(old.metadata().resource_version.clone());
        let path = format!("{}{suffix}", self.path_of(old.metadata()));
        self.request(Method::PATCH, path, Some(Patch::Merge(Value::Object(patch)).body()?)).await
    }

    /// Creates the object, or updates the stored one so that what `object` says of labels, annotations, owner
    /// references and specification holds; no request but the read if it holds already.
    ///
    /// Labels, annotations and owner references that are stored and not named in `object` stay. Of the specification
    /// (every field but `metadata` and `status`), what `K` knows becomes as in `object`, absent fields included; what
    /// `K` does not know stays.
    pub async fn create_or_update(&self, object: &K) -> Result<K, Error> {
        let metadata = object.metadata();
        let scope = self.in_namespace_of(object);
        let scope = if metadata.namespace.is_empty() { self } else { &scope };
        match scope.get_shared(&metadata.name).await? {
            None => scope.create(object).await,
            Some(stored) => scope.update(&stored, &merged(&stored, object)).await,
        }
    }

    /// As [`Api::create_or_update`] for who knows what is stored, from a reflector.
    pub async fn apply_to(&self, stored: &K, object: &K) -> Result<K, Error> {
        self.update(stored, &merged(stored, object)).await
    }
}

/// `object` as it would replace `stored`.
fn merged<K: Resource>(stored: &K, object: &K) -> K {
    let mut new = object.clone();
    let wanted = object.metadata();
    let mut metadata = stored.metadata().clone();
    metadata.labels.extend(wanted.labels.clone());
    metadata.annotations.extend(wanted.annotations.clone());
    for reference in &wanted.owner_references {
        match metadata.owner_references.iter_mut().find(|present| present.uid == reference.uid) {
            Some(present) => present.clone_from(reference),
            None => metadata.owner_references.push(reference.clone()),
        }
    }
    for finalizer in &wanted.finalizers {
        if !metadata.has_finalizer(finalizer) {
            metadata.finalizers.push(finalizer.clone());
        }
    }
    *new.metadata_mut() = metadata;
    new
}

/// Whether a field is among those that are known to differ; without such knowledge every field is.
fn differs(differing: Option<&[&str]>, field: &str) -> bool {
    differing.is_none_or(|names| names.contains(&field))
}

fn is_written_by_clients(metadata_field: &str) -> bool {
    matches!(metadata_field, "labels" | "annotations" | "ownerReferences" | "finalizers")
}

fn body<K: Resource>(object: &K) -> Vec<u8> {
    if object.metadata().annotations.contains_key(CLUSTER_ANNOTATION) {
        // Where an object was read is no part of it.
        let mut own = object.clone();
        own.metadata_mut().annotations.remove(CLUSTER_ANNOTATION);
        return encode::to_bytes(&own);
    }
    encode::to_bytes(object)
}
