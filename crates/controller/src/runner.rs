// SPDX-License-Identifier: Apache-2.0
//! Reflectors, a queue and workers in one: what a reconciler is plugged into.
//!
//! ```ignore
//! let mut controller = Controller::new("shoot-maintenance", &context);
//! let shoots = controller.watch(Api::<Shoot>::all(&context, "garden"), ListOptions::default(), |change| vec![change.key.clone()]);
//! controller.run(5, move |key| { … }).await;
//! ```

use std::future::Future;

use apimachinery::Resource;
use process::Context;

use crate::api::{Api, Error, ListOptions};
use crate::queue::{ObjectKey, Requeue};
use crate::reflector::{Change, Store};

/// A controller under construction.
#[derive(Debug)]
pub struct Controller {
    context: Context,
    name: &'static str,
}

impl Controller {
    /// A controller without watches.
    pub fn new(name: &'static str, context: &Context) -> Self {
        Self { context: context.clone(), name }
    }

    /// Watches a kind; `map` says which keys a change makes dirty.
    pub fn watch<K: Resource>(
        &mut self,
        api: Api<K>,
        options: ListOptions,
        map: impl Fn(&Change<K>) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Store<K> {
        let _ = (api, options, &self.context, self.name);
        drop(map);
        todo!()
    }

    /// As [`Controller::watch`], for a store that only passes read: changes make nothing dirty.
    pub fn store<K: Resource>(&mut self, api: Api<K>, options: ListOptions) -> Store<K> {
        self.watch(api, options, |_| Vec::new())
    }

    /// Waits until every store is synced, then runs passes, at most `concurrency` at once and never two for one key,
    /// until the component stops. An error backs off exponentially by key (5 ms to 1000 s, as client-go does) on
    /// landscape time; `Ok` forgets the back-off.
    pub async fn run<F, Fut>(self, concurrency: usize, reconcile: F)
    where
        F: Fn(ObjectKey) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Requeue, Error>> + Send + 'static,
    {
        let _ = concurrency;
        drop(reconcile);
        todo!()
    }
}
