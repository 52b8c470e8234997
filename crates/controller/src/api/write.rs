// SPDX-License-Identifier: Apache-2.0
//! Writes of whole objects: creation, replacement, and merge patches of the difference.

use std::future::Future;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::meta::ObjectMeta;
use apimachinery::{Resource, encode};
use http::Method;
use serde_json::{Map, Value};

use super::{Api, Error, JSON};
use crate::difference;
use crate::erased::{Shared, TypedAnswer, typed};

/// Maximum number of times that a write is repeated because others have written meanwhile.
pub const CONFLICTS: usize = 5;

impl<K: Resource> Api<K> {
    /// Creates an object.
    pub fn create(&self, object: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let path = self.endpoint.collection_path_of(object.metadata());
        TypedAnswer::new(self.endpoint.request(Method::POST, path, Some((JSON, body(object)))))
    }

    /// Replaces an object; its resource version is the precondition.
    pub fn replace(&self, object: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let path = self.endpoint.path_of(object.metadata());
        TypedAnswer::new(self.endpoint.request(Method::PUT, path, Some((JSON, body(object)))))
    }

    /// Replaces a subresource, for example `status` or `binding`.
    pub fn replace_subresource(&self, subresource: &str, object: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let path = format!("{}/{subresource}", self.endpoint.path_of(object.metadata()));
        TypedAnswer::new(self.endpoint.request(Method::PUT, path, Some((JSON, body(object)))))
    }

    /// Replaces an object as [`Api::replace`], as a dry run.
    pub fn replace_dry_run(&self, object: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let path = format!("{}?dryRun=All", self.endpoint.path_of(object.metadata()));
        // The cache is bypassed: the result of a dry run has the present resource version, but was never stored.
        TypedAnswer::new(self.endpoint.request_uncached(Method::PUT, path, Some((JSON, body(object))), false))
    }

    /// Writes `status` by a merge patch of the difference between `old` and `new`, with `old`'s resource version as the
    /// precondition; without a difference it sends no request and returns `new`.
    pub fn update_status(&self, old: &K, new: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let patch = difference::of_status(old, new, old.differing_fields(new).as_deref());
        self.write_difference(old, new, patch, "/status")
    }

    /// Writes everything but `status` by a merge patch of the difference, with `old`'s resource version as the
    /// precondition; without a difference it sends no request and returns `new`.
    pub fn update(&self, old: &K, new: &K) -> impl Future<Output = Result<K, Error>> + Send {
        let patch = difference::of_rest(old, new, old.differing_fields(new).as_deref());
        self.write_difference(old, new, patch, "")
    }

    fn write_difference(&self, old: &K, new: &K, patch: Map<String, Value>, suffix: &str) -> TypedAnswer<'_, K> {
        if patch.is_empty() {
            let unchanged: Shared = Arc::new(new.clone());
            return TypedAnswer::new(Box::pin(std::future::ready(Ok(unchanged))));
        }
        TypedAnswer::new(self.endpoint.patch_difference(old.metadata(), patch, suffix))
    }

    /// Creates the object unless one of its name exists.
    pub async fn create_unless_there(&self, object: &K) -> Result<(), Error> {
        match self.create(object).await {
            Err(error) if error.is_already_exists() => Ok(()),
            other => other.map(drop),
        }
    }

    /// Creates the object, or updates the stored one to the labels, annotations, owner references and specification of
    /// `object`; if they are equal already, it only reads.
    ///
    /// Stored labels, annotations and owner references that are missing in `object` remain. Of the specification (every
    /// field but `metadata` and `status`), the fields of `K` become as in `object`, absent fields included; fields
    /// unknown to `K` remain.
    ///
    /// A client with a store of this type takes the stored object from it. If others have written meanwhile, the object
    /// is read, and written again.
    pub async fn create_or_update(&self, object: &K) -> Result<K, Error> {
        let scope = self.in_namespace_of(object);
        let scope = if object.metadata().namespace.is_empty() { self } else { &scope };
        let Some(store) = scope.endpoint.store_of_type() else { return scope.read_and_write(object).await };
        let shown = store.get(&scope.endpoint.key_in_scope(object.metadata()));
        let shown = shown.filter(|shown| !shown.meta().is_being_deleted()).map(typed);
        let mut result = scope.write_over(shown.as_deref(), object).await;
        let is_outdated = |error: &Error| {
            error.is_conflict() || error.is_already_exists() || (shown.is_some() && error.is_not_found())
        };
        for _ in 0..CONFLICTS {
            if result.as_ref().err().is_none_or(|error| !is_outdated(error)) {
                break;
            }
            result = scope.read_and_write(object).await;
        }
        result
    }

    async fn read_and_write(&self, object: &K) -> Result<K, Error> {
        let stored = self.get_shared(&object.metadata().name).await?;
        self.write_over(stored.as_deref(), object).await
    }

    async fn write_over(&self, stored: Option<&K>, object: &K) -> Result<K, Error> {
        match stored {
            Some(stored) => self.apply_to(stored, object).await,
            None => self.create(object).await,
        }
    }

    /// Applies an object as [`Api::create_or_update`], for a caller that has the stored object from a reflector.
    pub async fn apply_to(&self, stored: &K, object: &K) -> Result<K, Error> {
        self.update(stored, &merged(stored, object)).await
    }
}

/// Returns the result of replacing `stored` by `object`.
fn merged<K: Resource>(stored: &K, object: &K) -> K {
    let mut new = object.clone();
    *new.metadata_mut() = merged_metadata(stored.metadata(), object.metadata());
    new
}

fn merged_metadata(stored: &ObjectMeta, wanted: &ObjectMeta) -> ObjectMeta {
    let mut metadata = stored.clone();
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
    metadata
}

fn body<K: Resource>(object: &K) -> Vec<u8> {
    if object.metadata().annotations.contains_key(annotation::CLUSTER) {
        // The annotation of the cluster is not part of the object.
        let mut own = object.clone();
        own.metadata_mut().annotations.remove(annotation::CLUSTER);
        return encode::to_bytes(&own);
    }
    encode::to_bytes(object)
}
