// SPDX-License-Identifier: Apache-2.0
//! `minReadySeconds` on wall time: the wait ends when either clock has passed it. Otherwise a roll-out whose pods are
//! processes would stand still with landscape time.
//!
//! The state is lost with the process; then wall time counts from the next start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::core::Pod;
use chrono::{DateTime, TimeDelta, Utc};
use controller::ObjectKey;
use parking_lot::{Mutex, MutexGuard};

use super::pods;

#[derive(Debug, Default)]
struct Inner {
    /// Wall time since which a pod has been seen ready, by uid.
    since: BTreeMap<String, DateTime<Utc>>,
    /// Owners for which a sleep is in progress.
    sleeps: BTreeSet<ObjectKey>,
}

/// Waits of all pods. Clones share one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallWaits(Arc<Mutex<Inner>>);

impl WallWaits {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Returns the uids of the ready pods that are available by wall time, and the time when the next one will be.
    pub(crate) fn passed(
        &self,
        pods: &[Arc<Pod>],
        min_ready: TimeDelta,
        wall: DateTime<Utc>,
    ) -> (BTreeSet<String>, Option<DateTime<Utc>>) {
        let mut inner = self.lock();
        let (mut passed, mut next) = (BTreeSet::new(), None);
        for pod in pods.iter().filter(|pod| pods::ready_since(pod).is_some()) {
            let uid = &pod.metadata.uid;
            let due = *inner.since.entry(uid.clone()).or_insert(wall) + min_ready;
            if due <= wall {
                passed.insert(uid.clone());
            } else {
                next = next.into_iter().chain([due]).min();
            }
        }
        (passed, next)
    }

    /// Restarts the wait of a pod that was deleted or is no longer ready.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().since.remove(uid);
    }

    /// Registers a sleep for this owner; true if the caller has to start it.
    pub(crate) fn begin(&self, key: &ObjectKey) -> bool {
        self.lock().sleeps.insert(key.clone())
    }

    /// Unregisters the finished sleep for this owner.
    pub(crate) fn end(&self, key: &ObjectKey) {
        self.lock().sleeps.remove(key);
    }
}
