// SPDX-License-Identifier: Apache-2.0
//! Background reading: one reader at a time, which yields to other tasks.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Guard of the only reader; dropping it ends the reading.
#[derive(Debug)]
pub(super) struct Reading<'a>(&'a AtomicBool);

impl<'a> Reading<'a> {
    /// Begins to read; `None`: another reader is active.
    pub(super) fn begin(is_reading: &'a AtomicBool) -> Option<Self> {
        (!is_reading.swap(true, Ordering::AcqRel)).then_some(Self(is_reading))
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Yields to tasks that are ready.
pub(super) async fn aside() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
