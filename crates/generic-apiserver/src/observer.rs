// SPDX-License-Identifier: Apache-2.0
//! Who is told what a server folds, in the order of the log: an index of its own, of kinds that the server need not serve.

use std::fmt;

use bytes::Bytes;

/// One object as it is now, or that is gone.
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
    /// Head, metadata, managed fields, the rest, status: one after the other they are the object as it is served, without
    /// its resource version. `None`: it is gone.
    pub parts: Option<&'a [Bytes; 5]>,
}

/// Place of an object's rest, which is mostly its `spec`, among [`Observed::parts`].
pub const REST: usize = 3;

impl Observed<'_> {
    /// The object as it is served, but for its resource version; `None`: it is gone, or cannot be read.
    pub fn tree(&self) -> Option<serde_json::Value> {
        let [identity, rest @ ..] = self.parts?;
        let mut text = identity.to_vec();
        for part in rest {
            text.extend_from_slice(part);
        }
        serde_json::from_slice(&text).ok()
    }
}

/// Is told of changes.
///
/// It is called while the server is locked, so it must not ask the server anything.
pub trait Observer: Send + Sync + fmt::Debug + 'static {
    /// Forget everything: the whole state follows.
    fn reset(&self);

    /// An object was written or is gone.
    fn changed(&self, object: &Observed<'_>);
}
