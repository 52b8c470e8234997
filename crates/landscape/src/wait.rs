// SPDX-License-Identifier: Apache-2.0
//! Waiting for objects by watching the API.

use controller::api::{ListOptions, WatchStream};
use controller::{Api, Error, Readable, WatchEvent};
use std::collections::BTreeSet;

/// Returns the object as soon as it exists and fulfils a condition.
pub async fn for_object<K: Readable + apimachinery::Resource + Clone>(
    api: &Api<K>,
    name: &str,
    wanted: impl Fn(&K) -> bool,
) -> Result<K, Error> {
    let options = ListOptions::with_field(&format!("metadata.name={name}"));
    loop {
        let (objects, version) = api.list(&options).await?;
        if let Some(object) = objects.into_iter().find(&wanted) {
            return Ok(object);
        }
        let mut events: WatchStream<K> = api.watch(&options, &version).await?;
        while let Some(event) = events.next().await {
            match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) if wanted(&object) => {
                    return Ok((*object).clone());
                }
                _ => {}
            }
        }
    }
}

/// Returns as soon as this number of objects of the scope have fulfilled a condition at some time.
pub async fn for_count<K: Readable + apimachinery::Resource + Clone>(
    api: &Api<K>,
    count: usize,
    wanted: impl Fn(&K) -> bool,
) -> Result<(), Error> {
    let options = ListOptions::default();
    let (objects, version) = api.list(&options).await?;
    let id = |object: &K| (object.metadata().namespace.clone(), object.metadata().name.clone());
    let mut seen: BTreeSet<_> = objects.iter().filter(|object| wanted(object)).map(id).collect();
    let mut events: WatchStream<K> = api.watch(&options, &version).await?;
    while seen.len() < count {
        match events.next().await {
            Some(event) => {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event?
                    && wanted(&object)
                {
                    seen.insert(id(&object));
                }
            }
            None => return Box::pin(for_count(api, count, wanted)).await,
        }
    }
    Ok(())
}
