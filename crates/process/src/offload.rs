// SPDX-License-Identifier: Apache-2.0
//! Long work beside the threads that serve.
//!
//! A server gets this with a request: what reads requests from the network gives long work to threads of its own, a few at
//! a time. A request without it, as in a simulation, is worked on by its own thread, and time waits for it.

use std::future::Future;
use std::sync::Arc;

use futures::future::{AbortHandle, Abortable};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Where long work is done; an extension of requests. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Offload(Option<Threads>);

#[derive(Clone, Debug)]
struct Threads {
    runtime: Handle,
    free: Arc<Semaphore>,
}

/// Ends the work when its result is not awaited any more.
struct OnDrop(AbortHandle);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Offload {
    /// Work is done where it stands.
    pub fn inline() -> Self {
        Self::default()
    }

    /// Work is done on threads of the present runtime that serve no requests, at most `count` at a time.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn threads(count: usize) -> Self {
        Self(Some(Threads { runtime: Handle::current(), free: Arc::new(Semaphore::new(count)) }))
    }

    /// What a future answers that computes more than it waits. It may be polled on another thread; if it panics, this
    /// does. If this is dropped, the future is dropped at its next suspension point.
    ///
    /// # Panics
    /// If the future does.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let Some(threads) = &self.0 else { return work.await };
        // Only a closed semaphore gives no permit, and this one is never closed.
        let permit = threads.free.clone().acquire_owned().await.ok();
        let (abort, registration) = AbortHandle::new_pair();
        let _end = OnDrop(abort);
        let work = Abortable::new(work, registration);
        let runtime = threads.runtime.clone();
        #[expect(clippy::disallowed_methods, reason = "this is the one door to threads that serve nobody")]
        let done = threads.runtime.spawn_blocking(move || {
            let _permit = permit;
            runtime.block_on(work)
        });
        match done.await {
            Ok(Ok(value)) => value,
            Ok(Err(_)) => unreachable!("it is aborted only when this is dropped"),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it the task that waits for this.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn inline_work_is_done_where_it_stands() {
        let here = std::thread::current().id();
        let there = Offload::inline().run(async { std::thread::current().id() }).now_or_never();
        assert_eq!(there, Some(here));
    }

    #[tokio::test]
    async fn long_work_does_not_keep_the_thread_that_serves() {
        let offload = Offload::threads(2);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let here = std::thread::current().id();
        let work = offload.run(async move {
            released.recv().expect("it is released");
            std::thread::current().id()
        });
        let mut work = std::pin::pin!(work);
        assert_eq!(futures::poll!(work.as_mut()), std::task::Poll::Pending);
        assert_eq!(offload.run(async { 7 }).await, 7, "another goes on");
        release.send(()).expect("somebody waits");
        assert_ne!(work.await, here);
    }

    #[tokio::test]
    async fn work_that_panics_panics_here() {
        let offload = Offload::threads(1);
        let work = offload.run(async { panic!("on purpose") });
        let panicked = std::panic::AssertUnwindSafe(async move {
            let () = work.await;
        });
        assert!(panicked.catch_unwind().await.is_err());
        assert_eq!(offload.run(async { 7 }).await, 7, "its place is free again");
    }
}
