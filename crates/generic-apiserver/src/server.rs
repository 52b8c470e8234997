// SPDX-License-Identifier: Apache-2.0
//! The server and its builder.

use std::fmt;
use std::sync::Arc;

use apimachinery::Object;
use apimachinery::catalogue::ResourceInfo;
use clock::{Clock, Random};
use eventlog::{EventLog, Revision};
use process::transport::ResponseFuture;
use process::{Request, Tasks, Transport, User};

use crate::admission::Plugin;
use crate::authorization::{AllowAll, Authorizer};
use crate::clusters::{Clusters, FixedClusters};
use crate::registry::Strategy;

/// What a server stands on.
#[derive(Clone, Debug)]
pub struct Foundation {
    /// The log that is the state.
    pub log: Arc<dyn EventLog>,
    /// Landscape time.
    pub clock: Clock,
    /// Wall time, for time-outs of watches.
    pub wall: Clock,
    /// Keyed randomness, for uids and generated names.
    pub random: Random,
    /// Id of the writer; two servers on one log have different ones.
    pub writer: u64,
}

/// A server under construction.
#[derive(Debug)]
pub struct Builder {
    foundation: Foundation,
    plugins: Vec<PluginEntry>,
    authorizer: Arc<dyn Authorizer>,
    clusters: Arc<dyn Clusters>,
    cluster_annotation: &'static str,
}

#[derive(Clone)]
struct PluginEntry(Arc<dyn Plugin>);

impl fmt::Debug for PluginEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Builder {
    /// A server without resources and clusters, which allows everything.
    pub fn new(foundation: Foundation) -> Self {
        Self {
            foundation,
            plugins: Vec::new(),
            authorizer: Arc::new(AllowAll),
            clusters: Arc::new(FixedClusters::default()),
            cluster_annotation: "",
        }
    }

    /// Serves a resource: `O` is a typed kind or [`apimachinery::DynamicObject`].
    pub fn resource<O: Object>(self, info: &ResourceInfo, strategy: impl Strategy<O>) -> Self {
        let _ = info;
        drop(strategy);
        self
    }

    /// Folds a resource that somebody else serves, so that admission and namespace checks can read it.
    pub fn known<O: Object>(self, info: &ResourceInfo) -> Self {
        let _ = info;
        self
    }

    /// Adds a plugin at the end of the admission chain.
    pub fn admission(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(PluginEntry(Arc::new(plugin)));
        self
    }

    /// Adds plugins at the end of the admission chain.
    pub fn admission_chain(mut self, plugins: Vec<Arc<dyn Plugin>>) -> Self {
        self.plugins.extend(plugins.into_iter().map(PluginEntry));
        self
    }

    /// Decides about requests; without this everybody may do everything.
    pub fn authorizer(mut self, authorizer: impl Authorizer) -> Self {
        self.authorizer = Arc::new(authorizer);
        self
    }

    /// Which clusters exist; without this there are none.
    pub fn clusters(mut self, clusters: impl Clusters) -> Self {
        self.clusters = Arc::new(clusters);
        self
    }

    /// Key of the annotation in which objects listed through cluster `*` carry their cluster.
    pub fn cluster_annotation(mut self, key: &'static str) -> Self {
        self.cluster_annotation = key;
        self
    }

    /// The server. It follows the log whenever it is called, and between calls once [`Server::start`] was called.
    pub fn build(self) -> Server {
        let _ = (&self.foundation, &self.plugins, &self.authorizer, &self.clusters, &self.cluster_annotation);
        todo!()
    }
}

/// An API server. Cheap to clone; clones are one server.
#[derive(Clone, Debug)]
pub struct Server {}

impl Server {
    /// Follows the log between requests, so that watchers learn of other writers' changes without delay.
    pub fn start(&self, tasks: &Tasks) {
        let _ = tasks;
        todo!()
    }

    /// Answers a request: its path starts with `/clusters/NAME`; its user is the extension [`User`]
    /// (`system:anonymous` without one).
    pub fn call(&self, request: Request) -> ResponseFuture {
        drop(request);
        todo!()
    }

    /// The server as a transport that puts `user` on every request.
    pub fn transport(&self, user: User) -> Transport {
        let server = self.clone();
        Transport::new(move |mut request| {
            request.extensions_mut().insert(user.clone());
            server.call(request)
        })
    }

    /// Up to which revision the server has followed the log.
    pub fn position(&self) -> Revision {
        todo!()
    }

    /// Sends every watcher that asked for bookmarks one at the present position, behind everything up to it; answers
    /// the position.
    pub fn barrier(&self) -> Revision {
        todo!()
    }
}
