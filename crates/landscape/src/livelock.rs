// SPDX-License-Identifier: Apache-2.0
//! The guard against controllers that answer one another for ever within one instant: a simulation fails.

use std::sync::{Arc, Mutex, PoisonError};

use clock::Clock;
use eventlog::livelock::{LiveLock, Writes};
use eventlog::observed::Observed;
use eventlog::{EventLog, MemoryLog};

use crate::runtime::Stop;

/// What the guard has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found(Arc<Mutex<Option<LiveLock>>>);

impl Found {
    pub(crate) fn live_lock(&self) -> Option<LiveLock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A log that closes itself, and stops the runtime, when an instant has too many writes.
pub(crate) fn guarded(log: MemoryLog, clock: Clock, stop: Stop) -> (Arc<dyn EventLog>, Found) {
    let found = Found::default();
    let (behind, first, writes) = (Arc::new(log.clone()), found.clone(), Mutex::new(Writes::default()));
    let guarded = Observed::new(behind, move |append| {
        let mut writes = writes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live_lock) = writes.count(clock.now(), &append.key, &append.actor) {
            first.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(live_lock);
            log.close();
            stop.stop();
        }
    });
    (Arc::new(guarded), found)
}
