// SPDX-License-Identifier: Apache-2.0
//! Follows the log: by a task between requests, and by every request that needs the newest state.
//!
//! Polling the subscription registers the task's waker, so that the task never misses a message that a request was the
//! first to see.
//!
//! If the runtime of the task has one thread, requests of other threads wait for the task instead of following the log. So
//! when nothing is runnable on that thread, the log has nothing left that would wake a task there.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use eventlog::log::BoxFuture;
use eventlog::{Key, Message, ReadError, Revision, Sections, Subscription};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::{REPLAYED, Store, StoreError, lock};

#[derive(Default)]
pub(super) struct Feed {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    source: Source,
    /// Waker of the task that follows the log, once there is one.
    task: Option<Waker>,
    /// Thread of that task, if its runtime has no other.
    thread: Option<ThreadId>,
    /// Requests that wait for a revision.
    waiting: Vec<(Revision, Waker)>,
    /// True if the task has ended permanently; requests still follow the log.
    is_retired: bool,
}

/// Task that follows the log; requests follow it themselves once the task has ended or is dropped.
struct Following<'a>(&'a Feed);

impl Drop for Following<'_> {
    fn drop(&mut self) {
        let mut feed = lock(&self.0.inner);
        (feed.task, feed.thread) = (None, None);
        feed.waiting.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

type State = Vec<(Key, Revision, Sections)>;

#[derive(Default)]
enum Source {
    #[default]
    Start,
    Following(Subscription),
    /// The log has discarded the next entries: loads a whole state at a revision.
    Loading(Revision, BoxFuture<Result<State, ReadError>>),
    Closed,
}

impl Store {
    /// Ends the task that follows the log, and all watches, also those that are opened later. Requests are still answered.
    pub(crate) fn retire(&self) {
        let mut feed = lock(&self.feed.inner);
        feed.is_retired = true;
        if let Some(task) = feed.task.take() {
            task.wake();
        }
        // From now on the waiting requests follow the log themselves.
        feed.waiting.drain(..).for_each(|(_, waker)| waker.wake());
        drop(feed);
        let mut state = lock(&self.state);
        state.is_retired = true;
        for collection in &mut state.collections {
            for watcher in std::mem::take(&mut collection.watchers) {
                watcher.cut();
            }
        }
    }

    /// Follows the log until the log closes, or [`Store::retire`] is called.
    pub(crate) async fn follow(self: Arc<Self>) {
        let _following = Following(&self.feed);
        let runtime = Handle::try_current().ok().map(|runtime| runtime.runtime_flavor());
        let thread = (runtime == Some(RuntimeFlavor::CurrentThread)).then(|| thread::current().id());
        std::future::poll_fn(|cx| {
            let mut feed = lock(&self.feed.inner);
            if feed.is_retired {
                return Poll::Ready(());
            }
            feed.thread = thread;
            feed.task = Some(cx.waker().clone());
            if self.drain(&mut feed, cx) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    pub(super) fn poll_reach(&self, revision: Revision, cx: &mut Context<'_>) -> Poll<Result<(), StoreError>> {
        let mut feed = lock(&self.feed.inner);
        let task = feed.task.clone();
        let closed = match &task {
            Some(waker) if feed.thread.is_some_and(|own| own != thread::current().id()) => {
                if self.position() < revision {
                    waker.wake_by_ref();
                }
                false
            }
            Some(waker) => self.drain(&mut feed, &mut Context::from_waker(waker)),
            None => self.drain(&mut feed, cx),
        };
        if self.position() >= revision {
            return Poll::Ready(Ok(()));
        }
        if closed {
            return Poll::Ready(Err(StoreError::Closed));
        }
        feed.waiting.push((revision, cx.waker().clone()));
        Poll::Pending
    }

    /// Folds the available entries; returns true if the log is closed.
    fn drain(&self, feed: &mut Inner, cx: &mut Context<'_>) -> bool {
        let closed = loop {
            match &mut feed.source {
                Source::Start => feed.source = self.subscribe(),
                Source::Following(subscription) => match subscription.messages.poll_next_unpin(cx) {
                    Poll::Ready(Some(Message::Entry(entry))) => self.apply(&entry),
                    Poll::Ready(Some(Message::Position(position))) => {
                        let mut state = lock(&self.state);
                        state.position = state.position.max(position);
                    }
                    Poll::Ready(None) => feed.source = self.subscribe(),
                    Poll::Pending => break false,
                },
                Source::Loading(revision, load) => match load.as_mut().poll(cx) {
                    Poll::Ready(Ok(objects)) => {
                        self.load(*revision, objects);
                        feed.source = Source::Start;
                    }
                    Poll::Ready(Err(ReadError::Closed)) => feed.source = Source::Closed,
                    Poll::Ready(Err(_)) => feed.source = Source::Start,
                    Poll::Pending => break false,
                },
                Source::Closed => break true,
            }
        };
        let position = self.position();
        feed.waiting.retain(|(revision, waker)| {
            let wait = !closed && *revision > position;
            if !wait {
                waker.wake_by_ref();
            }
            wait
        });
        closed
    }

    fn subscribe(&self) -> Source {
        let (position, head) = (self.position(), self.log.head());
        if position == Revision(0) && head.0 > REPLAYED {
            // A start must not read the whole history. There are no watches yet; later watches of the past read the log.
            return Source::Loading(head, self.log.state_at(head));
        }
        match self.log.subscribe(self.position(), self.cluster) {
            Ok(subscription) => Source::Following(subscription),
            // From the oldest retained revision, not from the head: the entries after it are delivered to watches, and
            // count for uids.
            Err(ReadError::Compacted(oldest)) => Source::Loading(oldest, self.log.state_at(oldest)),
            Err(ReadError::Future(_) | ReadError::Closed) => Source::Closed,
        }
    }
}
