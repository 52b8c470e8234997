// SPDX-License-Identifier: Apache-2.0
//! Delegates: servers behind a server, each of which answers for the custom resources of one cluster.
//!
//! A custom kind has other names and another schema in each cluster, and definitions are created and deleted while the
//! server runs; so custom resources of a cluster have a server of their own, over the same log, which is replaced when
//! a definition changes. The front server authenticates and authorizes requests; discovery and OpenAPI show both
//! servers as one.
//!
//! **Invariant.** Requests for resources that the front server serves in a cluster are never delegated.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::RwLock;
use serde_json::Value;

use super::{Inner, Server};
use crate::storage::range;

/// The delegates of a server, by cluster.
#[derive(Default)]
pub(crate) struct Delegates(RwLock<BTreeMap<String, Arc<Inner>>>);

impl fmt::Debug for Delegates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.read().keys()).finish()
    }
}

impl Delegates {
    /// Returns the delegate for a cluster.
    pub(crate) fn of(&self, cluster: &str) -> Option<Arc<Inner>> {
        self.0.read().get(cluster).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Inner>> {
        self.0.read().values().cloned().collect()
    }

    fn replace(&self, cluster: &str, server: Option<Arc<Inner>>) -> Option<Arc<Inner>> {
        let mut servers = self.0.write();
        match server {
            Some(server) => servers.insert(cluster.to_owned(), server),
            None => servers.remove(cluster),
        }
    }
}

impl Server {
    /// Delegates requests for resources that this server does not serve in a cluster to another server from now on;
    /// `None`: to no server. Watches of the previous delegate end; its pending requests continue.
    pub fn delegate(&self, cluster: &str, server: Option<Self>) {
        if let Some(old) = self.0.delegates.replace(cluster, server.map(|server| server.0)) {
            old.backend.store.retire();
        }
    }

    /// Returns the delegate for a cluster.
    pub fn delegate_of(&self, cluster: &str) -> Option<Self> {
        self.0.delegates.of(cluster).map(Self)
    }

    /// Returns the trees of all objects of a resource that this server folds, as of now, in key order; none if the log
    /// cannot be reached.
    pub fn trees<'a>(&'a self, cluster: &'a str, group: &'a str, plural: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let store = &self.0.backend.store;
            let (Ok(()), Some(id)) = (store.fresh().await, store.collection(group, plural)) else { return Vec::new() };
            let (map, _) = store.root(id);
            let objects = range(&map, &format!("{cluster}/"), "").map(|(_, stored)| stored.bytes()).collect::<Vec<_>>();
            objects.iter().filter_map(|bytes| serde_json::from_slice(bytes).ok()).collect()
        })
    }
}
