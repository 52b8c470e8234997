// SPDX-License-Identifier: Apache-2.0
//! `minReadySeconds` on wall time: they end when either clock has passed them, or a roll-out whose pods are processes
//! would stand still with landscape time.
//!
//! What is known here is lost with the process; then wall time counts from its start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::kubernetes::core::Pod;
use chrono::{DateTime, TimeDelta, Utc};
use controller::ObjectKey;
use parking_lot::{Mutex, MutexGuard};

use super::pods;

#[derive(Debug, Default)]
struct Inner {
    /// Since when on wall time a pod has been seen ready, by uid.
    since: BTreeMap<String, DateTime<Utc>>,
    /// For whom somebody sleeps.
    sleeps: BTreeSet<ObjectKey>,
}

/// Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct WallWaits(Arc<Mutex<Inner>>);

impl WallWaits {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// The uids of the ready pods that wall time makes available, and when it will make the next one so.
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

    /// A pod that is gone, or not ready any more, starts anew.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().since.remove(uid);
    }

    /// Whether somebody must go to sleep for this owner, who does so now.
    pub(crate) fn begin(&self, key: &ObjectKey) -> bool {
        self.lock().sleeps.insert(key.clone())
    }

    /// The sleep for this owner is over.
    pub(crate) fn end(&self, key: &ObjectKey) {
        self.lock().sleeps.remove(key);
    }
}
