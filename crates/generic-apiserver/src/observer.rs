// SPDX-License-Identifier: Apache-2.0
//! Observers of the changes that a server folds, in the order of the log: for indexes of their own, also of kinds that
//! the server does not serve.

use std::fmt;

use bytes::Bytes;

/// Present state of one object, or its deletion.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// API group.
    pub group: &'a str,
    /// Plural name.
    pub plural: &'a str,
    /// Logical cluster.
    pub cluster: &'a str,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// Head, metadata, managed fields, the rest, status: concatenated they are the object as it is served, without its
    /// resource version. `None`: the object was deleted.
    pub parts: Option<&'a [Bytes; 5]>,
}

/// Index of an object's rest, which is mostly its `spec`, in [`Observed::parts`].
pub const REST: usize = 3;

impl Observed<'_> {
    /// Returns the object as it is served, except for its resource version; `None`: it was deleted, or cannot be read.
    pub fn tree(&self) -> Option<serde_json::Value> {
        let [identity, rest @ ..] = self.parts?;
        let mut text = identity.to_vec();
        for part in rest {
            text.extend_from_slice(part);
        }
        serde_json::from_slice(&text).ok()
    }
}

/// Receives changes.
///
/// Its methods are called while the server is locked, so they must not call the server.
pub trait Observer: Send + Sync + fmt::Debug + 'static {
    /// Discards all state: the whole state follows.
    fn reset(&self);

    /// Handles an object that was written or deleted.
    fn changed(&self, object: &Observed<'_>);
}
