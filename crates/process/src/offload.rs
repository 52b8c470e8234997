// SPDX-License-Identifier: Apache-2.0
//! Long work on separate threads that serve no requests.
//!
//! A server gets an [`Offload`] with a request: the network listener runs long work on separate threads, with a limit for
//! each kind of [`Work`], so that one kind of work does not delay another. Work of a request without it, as in a simulation,
//! runs on the request's own thread, and time waits for it.

use std::future::Future;
use std::sync::Arc;

use futures::future::{AbortHandle, Abortable};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Threads for long work; an extension of requests. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Offload(Option<Threads>);

#[derive(Clone, Debug)]
struct Threads {
    runtime: Handle,
    /// Permits of each kind of work.
    free: [Arc<Semaphore>; 3],
}

/// Kinds of long work, each with its own permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Work proportional to the body of the request.
    Body,
    /// Responses with many objects.
    List,
    /// Evaluation of rules and patterns that clients define in objects.
    Rules,
}

/// Aborts the work when its result is no longer awaited.
struct OnDrop(AbortHandle);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Offload {
    /// Creates an offload that runs work on the caller's thread.
    pub fn inline() -> Self {
        Self::default()
    }

    /// Creates an offload to threads of the current runtime that serve no requests, with at most `count` concurrent
    /// works of each kind.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn threads(count: usize) -> Self {
        Self(Some(Threads { runtime: Handle::current(), free: [(); 3].map(|()| Arc::new(Semaphore::new(count))) }))
    }

    /// Runs a future that computes more than it waits, and returns its result. It may be polled on another thread; its
    /// panic is propagated. If this future is dropped, the work is dropped at its next suspension point.
    ///
    /// # Panics
    /// The future panics.
    pub async fn run<T: Send + 'static>(&self, kind: Work, work: impl Future<Output = T> + Send + 'static) -> T {
        let Some(threads) = &self.0 else { return work.await };
        // Only a closed semaphore gives no permit, and this one is never closed.
        let permit = threads.free[kind as usize].clone().acquire_owned().await.ok();
        let (abort, registration) = AbortHandle::new_pair();
        let _end = OnDrop(abort);
        let work = Abortable::new(work, registration);
        let runtime = threads.runtime.clone();
        #[expect(clippy::disallowed_methods, reason = "this is the only access to threads that serve no requests")]
        let done = threads.runtime.spawn_blocking(move || {
            let _permit = permit;
            runtime.block_on(work)
        });
        match done.await {
            Ok(Ok(value)) => value,
            Ok(Err(_)) => unreachable!("it is aborted only when this is dropped"),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it the awaiting task.
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
        let there = Offload::inline().run(Work::Body, async { std::thread::current().id() }).now_or_never();
        assert_eq!(there, Some(here));
    }

    #[tokio::test]
    async fn long_work_does_not_keep_the_thread_that_serves() {
        let offload = Offload::threads(2);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let here = std::thread::current().id();
        let work = offload.run(Work::Body, async move {
            released.recv().expect("it is released");
            std::thread::current().id()
        });
        let mut work = std::pin::pin!(work);
        assert_eq!(futures::poll!(work.as_mut()), std::task::Poll::Pending);
        assert_eq!(offload.run(Work::Body, async { 7 }).await, 7, "another goes on");
        release.send(()).expect("the work waits");
        assert_ne!(work.await, here);
    }

    #[tokio::test]
    async fn work_that_panics_panics_here() {
        let offload = Offload::threads(1);
        let work = offload.run(Work::Body, async { panic!("on purpose") });
        let panicked = std::panic::AssertUnwindSafe(async move {
            let () = work.await;
        });
        assert!(panicked.catch_unwind().await.is_err());
        assert_eq!(offload.run(Work::Body, async { 7 }).await, 7, "its place is free again");
    }

    #[tokio::test]
    async fn work_of_one_kind_leaves_places_to_the_others() {
        let offload = Offload::threads(1);
        let (release, released) = futures::channel::oneshot::channel::<()>();
        let mut rules = std::pin::pin!(offload.run(Work::Rules, released));
        assert!(futures::poll!(rules.as_mut()).is_pending());
        let mut others = std::pin::pin!(offload.run(Work::Rules, async { 7 }));
        assert!(futures::poll!(others.as_mut()).is_pending());
        assert_eq!(offload.run(Work::List, async { 7 }).await, 7);
        assert_eq!(offload.run(Work::Body, async { 7 }).await, 7);
        release.send(()).expect("it waits");
        assert_eq!((rules.await, others.await), (Ok(()), 7));
    }
}
