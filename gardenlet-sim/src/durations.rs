// SPDX-License-Identifier: Apache-2.0
//! Durations of simulated work in this landscape: those of its object `Timing`, and jitter.

use std::sync::Arc;

use api::terrarium;
use chrono::TimeDelta;
use clock::Random;
use controller::Store;
use domain::rollout::{Parameter, Timing};
use parking_lot::Mutex;

/// Current durations. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Durations {
    random: Random,
    timing: Arc<Mutex<Arc<Timing>>>,
}

impl Durations {
    /// Creates durations that follow the object in `store`, which the caller keeps up to date; without an object, the
    /// defaults.
    pub(crate) fn new(random: Random, store: &Store<terrarium::Timing>) -> Self {
        let timing: Arc<Mutex<Arc<Timing>>> = Arc::default();
        let told = timing.clone();
        store.subscribe(move |change| {
            let says = change.new.as_ref().map(|object| Timing::of(&object.spec)).unwrap_or_default();
            *told.lock() = Arc::new(says);
        });
        Self { random, timing }
    }

    /// Returns the duration of a stage of an object: always the same for the same object and attempt, unless the Timing
    /// changes.
    pub(crate) fn of(&self, parameter: Parameter, uid: &str, attempt: u64) -> TimeDelta {
        let timing = self.timing.lock().clone();
        timing.duration(parameter, self.random.draw(parameter.name(), uid, attempt))
    }
}
