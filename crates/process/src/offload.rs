// SPDX-License-Identifier: Apache-2.0
//! Long work on separate threads that serve no requests.
//!
//! A server gets an [`Offload`] with a request: the network listener runs long work on separate threads, with a limit for
//! each kind of [`Work`], so that one kind of work does not delay another. Work belongs to a *flow*, for example a cluster:
//! waiting flows take turns, so that a flow with much work delays another one by one work at most, and a flow has at most
//! [`WAITING`] waiting works. Work of a request without an offload, as in a simulation, runs on the request's own thread,
//! and time waits for it.
//!
//! **Invariant.** A permit is free, held, or on its way to a waiting work; a work that is dropped passes its permit on.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use futures::future::{AbortHandle, Abortable};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Maximum number of waiting works of a kind and flow.
pub const WAITING: usize = 50;

/// Threads for long work; an extension of requests. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Offload(Option<Threads>);

#[derive(Clone, Debug)]
struct Threads {
    runtime: Handle,
    /// Permits of each kind of work.
    permits: [Arc<Mutex<Permits>>; 3],
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

/// Error of a work whose flow has [`WAITING`] waiting works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWaiting;

/// Free permits, and works that wait for one; there are none while a permit is free.
#[derive(Debug)]
struct Permits {
    free: usize,
    /// Flows with waiting works; the first one is the next to get a permit.
    flows: VecDeque<(String, VecDeque<oneshot::Sender<Permit>>)>,
}

impl Permits {
    /// Returns the work whose turn it is, and moves its flow behind the others.
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        let (flow, mut waiting) = self.flows.pop_front()?;
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.flows.push_back((flow, waiting));
        }
        next
    }
}

/// A permit for one work; dropped, it goes to the next waiting work.
#[derive(Debug)]
struct Permit(Option<Arc<Mutex<Permits>>>);

impl Permit {
    /// Waits for a permit.
    async fn acquire(permits: &Arc<Mutex<Permits>>, flow: &str) -> Result<Self, TooManyWaiting> {
        let granted = {
            let mut state = permits.lock();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Self(Some(permits.clone())));
            }
            let at = state.flows.iter().position(|(name, _)| name == flow).unwrap_or_else(|| {
                state.flows.push_back((flow.to_owned(), VecDeque::new()));
                state.flows.len() - 1
            });
            let waiting = &mut state.flows[at].1;
            if waiting.len() >= WAITING {
                waiting.retain(|work| !work.is_closed());
            }
            if waiting.len() >= WAITING {
                return Err(TooManyWaiting);
            }
            let (grant, granted) = oneshot::channel();
            waiting.push_back(grant);
            granted
        };
        // A waiting work is removed only with a permit.
        Ok(granted.await.unwrap_or(Self(None)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(permits) = self.0.take() else { return };
        let mut state = permits.lock();
        while let Some(next) = state.next() {
            match next.send(Self(Some(permits.clone()))) {
                Ok(()) => return,
                // The work was dropped. This permit does not pass itself on.
                Err(mut refused) => refused.0 = None,
            }
        }
        state.free += 1;
    }
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
        let permits = || Arc::new(Mutex::new(Permits { free: count, flows: VecDeque::new() }));
        Self(Some(Threads { runtime: Handle::current(), permits: [(); 3].map(|()| permits()) }))
    }

    /// Runs a future that computes more than it waits, and returns its result. It may be polled on another thread; its
    /// panic is propagated. If this future is dropped, the work is dropped at its next suspension point.
    ///
    /// # Errors
    /// [`WAITING`] works of this kind and flow are waiting.
    ///
    /// # Panics
    /// The future panics.
    pub async fn run<T: Send + 'static>(
        &self,
        kind: Work,
        flow: &str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, TooManyWaiting> {
        let Some(threads) = &self.0 else { return Ok(work.await) };
        let permit = Permit::acquire(&threads.permits[kind as usize], flow).await?;
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
            Ok(Ok(value)) => Ok(value),
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
        let there = Offload::inline().run(Work::Body, "a", async { std::thread::current().id() }).now_or_never();
        assert_eq!(there, Some(Ok(here)));
    }

    #[tokio::test]
    async fn long_work_does_not_keep_the_thread_that_serves() {
        let offload = Offload::threads(2);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let here = std::thread::current().id();
        let work = offload.run(Work::Body, "a", async move {
            released.recv().expect("it is released");
            std::thread::current().id()
        });
        let mut work = std::pin::pin!(work);
        assert_eq!(futures::poll!(work.as_mut()), std::task::Poll::Pending);
        assert_eq!(offload.run(Work::Body, "a", async { 7 }).await, Ok(7), "another goes on");
        release.send(()).expect("the work waits");
        assert_ne!(work.await, Ok(here));
    }

    #[tokio::test]
    async fn work_that_panics_panics_here() {
        let offload = Offload::threads(1);
        let work = offload.run(Work::Body, "a", async { panic!("on purpose") });
        let panicked = std::panic::AssertUnwindSafe(async move {
            let _: Result<(), TooManyWaiting> = work.await;
        });
        assert!(panicked.catch_unwind().await.is_err());
        assert_eq!(offload.run(Work::Body, "a", async { 7 }).await, Ok(7), "its place is free again");
    }

    #[tokio::test]
    async fn work_of_one_kind_leaves_places_to_the_others() {
        let offload = Offload::threads(1);
        let (release, released) = futures::channel::oneshot::channel::<()>();
        let mut rules = std::pin::pin!(offload.run(Work::Rules, "a", released));
        assert!(futures::poll!(rules.as_mut()).is_pending());
        let mut others = std::pin::pin!(offload.run(Work::Rules, "a", async { 7 }));
        assert!(futures::poll!(others.as_mut()).is_pending());
        assert_eq!(offload.run(Work::List, "a", async { 7 }).await, Ok(7));
        assert_eq!(offload.run(Work::Body, "a", async { 7 }).await, Ok(7));
        release.send(()).expect("it waits");
        assert_eq!((rules.await, others.await), (Ok(Ok(())), Ok(7)));
    }

    /// Polls each work once, in order; then lets the running one end, and each that gets a permit by it.
    #[tokio::test]
    async fn flows_take_turns_and_dropped_work_passes_its_permit_on() {
        let offload = Offload::threads(1);
        let (release, released) = oneshot::channel::<()>();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let work = |flow: &'static str, number: usize| {
            let (offload, ended) = (offload.clone(), ended.clone());
            Box::pin(async move {
                let work = async move { ended.lock().push((flow, number)) };
                offload.run(Work::List, flow, work).await
            })
        };
        let mut first = std::pin::pin!(offload.run(Work::List, "a", released));
        assert!(futures::poll!(first.as_mut()).is_pending());
        let mut waiting: Vec<_> =
            [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5)].map(|(flow, n)| work(flow, n)).into();
        for one in &mut waiting {
            assert!(futures::poll!(one.as_mut()).is_pending());
        }
        // ("a", 1) is dropped before its turn.
        drop(waiting.remove(0));
        release.send(()).expect("it waits");
        assert_eq!(first.await, Ok(Ok(())));
        assert_eq!(futures::future::join_all(waiting).await, [Ok(()); 4]);
        assert_eq!(*ended.lock(), [("b", 4), ("a", 2), ("b", 5), ("a", 3)]);
        assert_eq!(offload.run(Work::List, "c", async { 7 }).await, Ok(7), "the permit is free again");
    }

    #[tokio::test]
    async fn a_flow_has_a_limit_of_waiting_works() {
        let offload = Offload::threads(1);
        let mut works: Vec<_> =
            (0..=WAITING).map(|_| Box::pin(offload.run(Work::Body, "a", std::future::pending::<()>()))).collect();
        for work in &mut works {
            assert!(futures::poll!(work.as_mut()).is_pending());
        }
        assert_eq!(offload.run(Work::Body, "a", async {}).await, Err(TooManyWaiting));
        let mut other = std::pin::pin!(offload.run(Work::Body, "b", async { 7 }));
        assert!(futures::poll!(other.as_mut()).is_pending(), "another flow may wait");
        works.truncate(WAITING);
        let mut next = std::pin::pin!(offload.run(Work::Body, "a", async {}));
        assert!(futures::poll!(next.as_mut()).is_pending(), "a dropped work makes room");
        drop(works);
        assert_eq!(other.await, Ok(7));
    }
}
