// SPDX-License-Identifier: Apache-2.0
//! Calls that are repeated while they do not return.
//!
//! sled 0.34 loses a wake-up: when a write fails that the last writer of a buffer has started (`Log::exit_reservation`), it
//! records the error and does not notify the threads that wait for the buffer. They would wait without end. Each later
//! flush finds the error and notifies all of them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time until a call is repeated for the first time; doubled with each repetition, so that a slow disk gets few
/// calls.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the result of a call in a thread of its own. The call is repeated, concurrently with the earlier ones,
/// while none of them has returned. `None` if one ended with a panic, or if there is no thread for it.
pub(super) fn insist<T: Send + 'static>(call: impl Fn() -> T + Clone + Send + 'static) -> Option<T> {
    insist_after(PATIENCE, call)
}

fn insist_after<T: Send + 'static>(mut patience: Duration, call: impl Fn() -> T + Clone + Send + 'static) -> Option<T> {
    let (done, results) = mpsc::channel::<Result<T, Box<dyn Any + Send>>>();
    loop {
        let (call, done) = (call.clone(), done.clone());
        let repeat = move || drop(done.send(catch_unwind(AssertUnwindSafe(call))));
        thread::Builder::new().name("log-flush".to_owned()).spawn(repeat).ok()?;
        match results.recv_timeout(patience) {
            Ok(result) => return result.ok(),
            Err(RecvTimeoutError::Timeout) => patience *= 2,
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::{Condvar, Mutex};

    use super::*;

    #[test]
    fn a_call_that_waits_is_woken_by_the_next_one() {
        let state = Arc::new((Mutex::new(0), Condvar::new()));
        let call = {
            let state = state.clone();
            move || {
                let (calls, woken) = &*state;
                let mut calls = calls.lock();
                *calls += 1;
                if *calls == 1 {
                    woken.wait(&mut calls);
                } else {
                    woken.notify_all();
                }
                *calls
            }
        };
        assert!(insist_after(Duration::from_millis(1), call).is_some());
        assert!(*state.0.lock() >= 2);
    }

    #[test]
    fn a_result_or_a_panic_ends_the_repetition() {
        assert_eq!(insist(|| 7), Some(7));
        assert_eq!(insist(|| -> u8 { panic!("on purpose") }), None);
    }
}
