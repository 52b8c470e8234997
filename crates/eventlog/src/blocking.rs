// SPDX-License-Identifier: Apache-2.0
//! Waits for the disk that block their thread.
//!
//! A wait for the disk takes an unpredictable time. Where it suspends a task, the other tasks of the thread run first, and
//! their order in the log depends on the disk. A thread whose order must not depend on it calls [`block_this_thread`].

use std::cell::Cell;

#[cfg(feature = "sled")]
use crate::log::BoxFuture;

thread_local! {
    static BLOCKS: Cell<bool> = const { Cell::new(false) };
}

/// Makes the current thread block while an append or a read that was begun on it waits for the disk.
pub fn block_this_thread() {
    BLOCKS.set(true);
}

/// Returns the future, or its result if the current thread blocks.
///
/// On a thread that blocks, the future must not need the runtime of the thread.
#[cfg(feature = "sled")]
pub(crate) fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> BoxFuture<T> {
    if BLOCKS.get() { Box::pin(std::future::ready(futures::executor::block_on(future))) } else { Box::pin(future) }
}
