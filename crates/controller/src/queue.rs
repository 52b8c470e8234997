// SPDX-License-Identifier: Apache-2.0
//! A work queue with client-go's semantics on landscape time: dirty set, processing set, delays, back-off by key.

use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Which object a pass is for. Ordered: cluster, namespace, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Logical cluster.
    pub cluster: Arc<str>,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// What a pass asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Wait for the world to change.
    OnChange,
    /// Come back at an instant, as calendar work (a window, a schedule), unless something changes before.
    At(DateTime<Utc>),
    /// Come back at an instant, as work in progress (a machine boots, a drain waits).
    WorkAt(DateTime<Utc>),
}

impl Requeue {
    /// The earlier of two.
    pub fn earliest(self, other: Self) -> Self {
        let _ = other;
        todo!()
    }
}
