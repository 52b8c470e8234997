// SPDX-License-Identifier: Apache-2.0
//! Subscribers to entries: one bounded queue each.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};

use crate::entry::{Entry, Revision};
use crate::log::{Message, Subscription};

/// A subscriber that is this many messages behind is cut.
const LAG: usize = 1 << 18;

#[derive(Default)]
pub(crate) struct Subscribers(Vec<Arc<Subscriber>>);

struct Subscriber {
    cluster: Option<Arc<str>>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    waker: Option<Waker>,
    /// True if no message is added any more; queued messages are still delivered.
    cut: bool,
    /// The subscription was dropped.
    gone: bool,
}

impl Subscribers {
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn subscribe(
        &mut self,
        backlog: Vec<Arc<Entry>>,
        head: Revision,
        cluster: Option<&str>,
    ) -> Subscription {
        let mut messages: VecDeque<_> = backlog.into_iter().map(Message::Entry).collect();
        messages.push_back(Message::Position(head));
        let queue = Mutex::new(Queue { messages, ..Queue::default() });
        let subscriber = Arc::new(Subscriber { cluster: cluster.map(Arc::from), queue });
        self.0.push(subscriber.clone());
        Subscription { messages: Box::pin(Messages(subscriber)) }
    }

    /// Sends an entry to the subscribers of its cluster, and its position to all subscribers.
    pub(crate) fn publish(&mut self, entry: &Arc<Entry>) {
        self.0.retain(|subscriber| {
            let matches = subscriber.cluster.as_ref().is_none_or(|cluster| *cluster == entry.key.cluster);
            let mut queue = subscriber.queue();
            if queue.gone {
                return false;
            }
            // A queued position is superseded by the next one.
            if matches!(queue.messages.back(), Some(Message::Position(_))) {
                queue.messages.pop_back();
            }
            if queue.messages.len() >= LAG {
                queue.cut = true;
            } else {
                if matches {
                    queue.messages.push_back(Message::Entry(entry.clone()));
                }
                queue.messages.push_back(Message::Position(entry.revision));
            }
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
            !queue.cut
        });
    }

    pub(crate) fn close(&mut self) {
        for subscriber in self.0.drain(..) {
            let mut queue = subscriber.queue();
            queue.cut = true;
            if let Some(waker) = queue.waker.take() {
                waker.wake();
            }
        }
    }
}

impl Subscriber {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }
}

struct Messages(Arc<Subscriber>);

impl futures::Stream for Messages {
    type Item = Message;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Message>> {
        let mut queue = self.0.queue();
        if let Some(message) = queue.messages.pop_front() {
            return Poll::Ready(Some(message));
        }
        if queue.cut {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.gone = true;
        queue.messages.clear();
        queue.waker = None;
    }
}
