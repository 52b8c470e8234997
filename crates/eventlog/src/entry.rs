// SPDX-License-Identifier: Apache-2.0
//! Types of the log's content.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};

/// Number that the log gives an entry: total order of the landscape. 0 is "before everything".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Key of an object: ordered by cluster, resource, namespace, name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Logical cluster, `garden`, `seed--local`.
    pub cluster: Arc<str>,
    /// `group/resource`, `core.gardener.cloud/shoots`; `/namespaces` for the core group.
    pub resource: Arc<str>,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// Name of the object within its namespace.
    pub name: Arc<str>,
}

impl Key {
    /// A key from its parts.
    pub fn new(cluster: &str, resource: &str, namespace: &str, name: &str) -> Self {
        Self { cluster: cluster.into(), resource: resource.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}/{}", self.cluster, self.resource, self.namespace, self.name)
    }
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// The object was created.
    Create,
    /// The object changed outside `status`.
    Update,
    /// Only `status` (and possibly metadata) changed; never fails a collection guard.
    UpdateStatus,
    /// The object was deleted; the entry's sections are its last state.
    Delete,
}

/// Author of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Actor {
    /// Authenticated user.
    pub user: Arc<str>,
    /// Component, `gardener-controller-manager`, or the client's user agent.
    pub component: Arc<str>,
    /// Emulated version of the component; empty for other clients.
    pub version: Arc<str>,
}

/// An object's opaque sections; see `apimachinery::encode::Sections` for the contents that generic-apiserver writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// Identity, metadata, managed fields, specification and the rest, status.
    pub parts: [Bytes; 5],
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Position in the log; it is the `resourceVersion` of the object.
    pub revision: Revision,
    /// Key of the changed object.
    pub key: Key,
    /// Kind of the change.
    pub verb: Verb,
    /// Landscape time; never decreases along the log.
    pub time: DateTime<Utc>,
    /// Author of the change.
    pub actor: Arc<Actor>,
    /// Writer and its sequence number, by which a repeated append is recognised.
    pub writer: (u64, u64),
    /// The whole object after the change (before it, for a deletion).
    pub object: Sections,
    /// The object before the change; `None` for a creation.
    pub previous: Option<(Revision, Sections)>,
    /// True for a heartbeat, which is not history.
    pub volatile: bool,
}
