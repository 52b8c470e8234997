// SPDX-License-Identifier: Apache-2.0
//! Finalizers: an object is removed only after all of its finalizers are.

use apimachinery::Resource;
use controller::{Api, Error};

/// Adds a finalizer to an object; sends no request if it has it.
pub(crate) async fn add<K: Resource>(api: &Api<K>, object: &K, finalizer: &str) -> Result<K, Error> {
    let mut new = object.clone();
    if !object.metadata().has_finalizer(finalizer) {
        new.metadata_mut().finalizers.push(finalizer.to_owned());
    }
    api.update(object, &new).await
}

/// Removes a finalizer from an object; sends no request if it lacks it. The object may be removed by this.
pub(crate) async fn remove<K: Resource>(api: &Api<K>, object: &K, finalizer: &str) -> Result<(), Error> {
    let mut new = object.clone();
    new.metadata_mut().finalizers.retain(|present| present != finalizer);
    match api.update(object, &new).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
