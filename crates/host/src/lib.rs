// SPDX-License-Identifier: Apache-2.0
//! Logical clusters and aggregation: one front door for everything that a landscape serves.
//!
//! The host serves the core kinds and the kinds of CustomResourceDefinitions of every logical cluster itself, and hands
//! the groups of an aggregated API of one cluster to that API's server.
//!
//! **Invariants.** No rules of Gardener. An aggregated group is never served from the host's own fold: while nobody
//! serves it, requests for it are answered with 503.
//!
//! **Tour.** [`Host`] the front door; [`Aggregation`] who serves which groups.

use std::sync::{Arc, Mutex};

use generic_apiserver::{Foundation, Server};
use process::transport::ResponseFuture;
use process::{Request, Tasks, Transport, User};

/// Cluster that says which clusters exist; always exists itself.
pub const RUNTIME_CLUSTER: &str = "runtime";
/// Cluster whose Gardener groups are aggregated.
pub const GARDEN_CLUSTER: &str = "garden";
/// Annotation in which an object listed through the wildcard cluster carries its cluster.
pub const CLUSTER_ANNOTATION: &str = "terrarium.dev/cluster";

/// Groups of cluster `garden` that gardener-apiserver serves.
pub const GARDENER_GROUPS: [&str; 6] = [
    "authentication.gardener.cloud",
    "core.gardener.cloud",
    "operations.gardener.cloud",
    "security.gardener.cloud",
    "seedmanagement.gardener.cloud",
    "settings.gardener.cloud",
];

/// The front door. Cheap to clone; clones are one host.
#[derive(Clone, Debug)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    server: Server,
    aggregated: Mutex<Option<Transport>>,
}

impl Host {
    /// A host over a log, which follows it on a task of `tasks`. [`Host::aggregate`] puts gardener-apiserver behind it.
    pub fn new(foundation: Foundation, tasks: &Tasks) -> Self {
        let _ = (foundation, tasks);
        todo!()
    }

    /// Hands [`GARDENER_GROUPS`] of cluster `garden` to a server from now on (requests go on with the user that they
    /// came with); `None`: nobody serves them.
    pub fn aggregate(&self, server: Option<Server>) {
        let _ = (&self.inner.aggregated, server);
        todo!()
    }

    /// Answers a request; see [`Server::call`].
    pub fn call(&self, request: Request) -> ResponseFuture {
        drop(request);
        todo!()
    }

    /// The host as a transport that puts `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let host = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            host.call(request)
        })
    }

    /// The host's own server.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }
}
