// SPDX-License-Identifier: Apache-2.0
//! Guard against controllers that react to one another in an endless cycle within one instant, or create objects
//! without end: a simulation fails.

use std::sync::Arc;

use clock::Clock;
use eventlog::livelock::{Creations, LiveLock, Writes};
use eventlog::observed::Observed;
use eventlog::{Append, EventLog, MemoryLog, Verb};
use generic_apiserver::controller_of;
use parking_lot::Mutex;

use crate::runtime::Stop;

/// Live-lock that the guard has found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finding(Arc<Mutex<Option<LiveLock>>>);

impl Finding {
    pub(crate) fn live_lock(&self) -> Option<LiveLock> {
        self.0.lock().clone()
    }
}

/// Returns a log that refuses writes and stops the runtime when an instant has too many writes.
pub(crate) fn guarded(log: MemoryLog, clock: Clock, stop: Stop) -> (Arc<dyn EventLog>, Finding) {
    let found = Finding::default();
    let (behind, first, writes) =
        (Arc::new(log.clone()), found.clone(), Mutex::new((Writes::default(), Creations::default())));
    let guarded = Observed::new(behind, move |append: &Append| {
        let mut counted = writes.lock();
        let (writes, creations) = &mut *counted;
        let Append { key, verb, object, actor, .. } = append;
        let now = clock.now();
        let too_many = writes.count(now, key, actor);
        let owner = matches!(verb, Verb::Create | Verb::Delete).then(|| controller_of(object)).flatten();
        if let Some(live_lock) = too_many.or_else(|| creations.count(now, key, *verb, owner, actor)) {
            first.0.lock().get_or_insert(live_lock);
            log.close();
            stop.stop();
        }
    });
    (Arc::new(guarded), found)
}
