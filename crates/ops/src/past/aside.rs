// SPDX-License-Identifier: Apache-2.0
//! Long reading beside what is asked for: by one at a time, and others that are ready go first.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// Somebody reads; ends with this.
#[derive(Debug)]
pub(super) struct Reading<'a>(&'a AtomicBool);

impl<'a> Reading<'a> {
    /// `None`: somebody reads already.
    pub(super) fn begin(is_reading: &'a AtomicBool) -> Option<Self> {
        (!is_reading.swap(true, Ordering::AcqRel)).then_some(Self(is_reading))
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Lets others that are ready go first.
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
