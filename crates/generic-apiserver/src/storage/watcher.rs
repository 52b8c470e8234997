// SPDX-License-Identifier: Apache-2.0
//! Who watches: a filter and a bounded queue of what was not sent yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use eventlog::Revision;
use parking_lot::Mutex;

use super::lock;
use super::stored::{Event, EventType, Stored};
use crate::kind::Kind;
use crate::selection::Selection;

/// A watcher that has more frames than this waiting, beside its initial state, is cut; it watches again from where it
/// was.
const QUEUE: usize = 16_384;

/// What a watcher gets next.
pub(crate) enum Item {
    /// The initial state.
    Initial(Arc<Stored>),
    /// A change, and how it looks through the selection.
    Change(EventType, Arc<Event>),
    /// Everything up to the revision was delivered.
    Bookmark(Revision, Occasion),
}

/// Why a bookmark is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The initial state ends here.
    InitialStateEnds,
    /// Time has passed, or the watch is about to end.
    Position,
    /// The clock wants to know whether a participant has seen everything: the number of the barrier.
    Barrier(u64),
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    waker: Option<Waker>,
    position: Revision,
    /// Frames of the initial state, which no limit counts.
    initial: usize,
    closed: bool,
    mark: Mark,
}

/// Whether something may be on the way to a participant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    /// Something was queued behind the last bookmark of a barrier.
    #[default]
    Told,
    /// The bookmark of this barrier is the last thing that was queued.
    Barrier(u64),
    /// Nothing was queued since a barrier that everybody has seen.
    Quiet,
}

/// What a watch of a participant was sent of a barrier: number of the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// Its bookmark.
    Marked(u64),
    /// Nothing: nothing can be on the way.
    Quiet(u64),
}

/// One watch.
pub(crate) struct Watcher {
    kind: Arc<dyn Kind>,
    selection: Selection,
    bookmarks: bool,
    /// Number of the watch of a process that takes part in landscape time: barriers are sent.
    participant: Option<u64>,
    queue: Mutex<Queue>,
}

impl Watcher {
    pub(crate) fn new(kind: Arc<dyn Kind>, selection: Selection, bookmarks: bool) -> Self {
        Self { kind, selection, bookmarks, participant: None, queue: Mutex::default() }
    }

    /// As a participant's watch with this number, which is sent barriers whether it asked for bookmarks or not.
    pub(crate) fn of_participant(self, number: u64) -> Self {
        Self { participant: Some(number), ..self }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.selection.prefix
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.queue).closed
    }

    /// Ends the stream after what is queued: nothing more is queued.
    pub(crate) fn close(&self) {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    /// Ends the stream at once.
    pub(crate) fn cut(&self) {
        lock(&self.queue).items.clear();
        self.close();
    }

    pub(super) fn initial(&self, object: &Arc<Stored>) {
        if self.selection.matches(object, &*self.kind) {
            lock(&self.queue).items.push_back(Item::Initial(object.clone()));
        }
    }

    /// The initial state is complete at `position`.
    pub(super) fn synced(&self, position: Revision) {
        let mut queue = lock(&self.queue);
        queue.position = position;
        queue.initial = queue.items.len();
        if self.bookmarks {
            queue.items.push_back(Item::Bookmark(position, Occasion::InitialStateEnds));
        }
    }

    pub(super) fn reached(&self, position: Revision) {
        let mut queue = lock(&self.queue);
        queue.position = queue.position.max(position);
    }

    /// Queues a bookmark behind everything, if the client asked for bookmarks.
    pub(crate) fn bookmark(&self) {
        let mut queue = lock(&self.queue);
        if self.bookmarks && !queue.closed {
            let position = queue.position;
            Self::push(&mut queue, Item::Bookmark(position, Occasion::Position));
        }
    }

    /// Queues, for a participant, the bookmark of a barrier behind everything up to `position`, unless nothing was queued
    /// since the barrier `confirmed`, which everybody has seen. `None`: it is no participant's watch, or it has ended.
    pub(super) fn barrier(&self, number: u64, confirmed: u64, position: Revision) -> Option<Passed> {
        let watch = self.participant?;
        let mut queue = lock(&self.queue);
        if queue.closed {
            return None;
        }
        queue.position = queue.position.max(position);
        if matches!(queue.mark, Mark::Barrier(last) if last <= confirmed) {
            queue.mark = Mark::Quiet;
        }
        if queue.mark == Mark::Quiet {
            return Some(Passed::Quiet(watch));
        }
        queue.mark = Mark::Barrier(number);
        let position = queue.position;
        Self::push(&mut queue, Item::Bookmark(position, Occasion::Barrier(number)));
        Some(Passed::Marked(watch))
    }

    /// Whether the one who watches takes part in landscape time.
    pub(super) fn is_participants(&self) -> bool {
        self.participant.is_some()
    }

    /// Queues a change that it selects; answers whether it does.
    pub(super) fn offer(&self, event: &Arc<Event>) -> bool {
        if !event.path.starts_with(&*self.selection.prefix) {
            return false;
        }
        let was = event.old.as_ref().is_some_and(|old| self.selection.matches(old, &*self.kind));
        let is = event.new.as_ref().is_some_and(|new| self.selection.matches(new, &*self.kind));
        let type_ = match (was, is) {
            (false, true) => EventType::Added,
            (true, true) => EventType::Modified,
            (true, false) => EventType::Deleted,
            (false, false) => return false,
        };
        let mut queue = lock(&self.queue);
        if queue.closed {
            return false;
        }
        queue.position = queue.position.max(event.revision);
        queue.mark = Mark::Told;
        Self::push(&mut queue, Item::Change(type_, event.clone()));
        true
    }

    fn push(queue: &mut Queue, item: Item) {
        if queue.items.len() >= QUEUE + queue.initial {
            queue.items.clear();
            queue.closed = true;
        } else {
            queue.items.push_back(item);
        }
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    /// The next item, if one waits.
    pub(crate) fn waiting(&self) -> Option<Item> {
        lock(&self.queue).items.pop_front()
    }

    /// The next item; `None` at the end of the stream.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let mut queue = lock(&self.queue);
        if let Some(item) = queue.items.pop_front() {
            return Poll::Ready(Some(item));
        }
        if queue.closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::DynamicObject;
    use apimachinery::catalogue::ResourceInfo;
    use apimachinery::schema::Node;
    use eventlog::{Key, Sections};

    use super::*;
    use crate::kind::Typed;
    use crate::registry::Generic;

    fn watcher() -> Watcher {
        let info = ResourceInfo {
            group: "",
            version: "v1",
            kind: "Thing",
            plural: "things",
            singular: "thing",
            short_names: &[],
            categories: &[],
            namespaced: false,
            subresources: &[],
            columns: &[],
            field_selectors: &[],
            heartbeat_fields: &[],
            read_only: false,
            custom: false,
            schema: || Node::Raw,
            later: &[],
            release: apimachinery::catalogue::NEWEST,
        };
        Watcher::new(Arc::new(Typed::<DynamicObject, _>::new(&info, Generic)), Selection::default(), true)
    }

    fn read(watcher: &Watcher) -> (usize, bool) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut count = 0;
        loop {
            match watcher.poll(&mut cx) {
                Poll::Ready(Some(_)) => count += 1,
                Poll::Ready(None) => return (count, true),
                Poll::Pending => return (count, false),
            }
        }
    }

    #[test]
    fn a_watcher_that_does_not_read_is_cut() {
        let object = Arc::new(Stored::new(&Key::new("a", "/things", "", "t"), Revision(1), Sections::default()));
        let event = Arc::new(Event::new(Revision(1), "a//t".into(), None, Some(object.clone())));
        for (initial, changes, expected) in [
            (0, QUEUE, (QUEUE, false)),
            (0, QUEUE + 1, (0, true)),
            // However long the initial state is, it does not count; its bookmark does not either.
            (10, QUEUE - 1, (10 + QUEUE, false)),
        ] {
            let watcher = watcher();
            if initial > 0 {
                for _ in 0..initial {
                    watcher.initial(&object);
                }
                watcher.synced(Revision(1));
            }
            for _ in 0..changes {
                watcher.offer(&event);
            }
            assert_eq!(read(&watcher), expected, "{initial} and {changes}");
        }
    }

    #[test]
    fn a_watch_that_was_sent_nothing_is_vouched_for_without_a_bookmark() {
        let object = Arc::new(Stored::new(&Key::new("a", "/things", "", "t"), Revision(1), Sections::default()));
        let event = Arc::new(Event::new(Revision(1), "a//t".into(), None, Some(object)));
        assert_eq!(watcher().barrier(1, 0, Revision(1)), None, "nobody asks");
        let watcher = watcher().of_participant(7);
        for (number, confirmed, changes, expected) in [
            // What a watch begins with may be on the way.
            (1, 0, 0, Passed::Marked(7)),
            // Not everybody has seen the first.
            (2, 0, 0, Passed::Marked(7)),
            (3, 2, 0, Passed::Quiet(7)),
            (4, 3, 0, Passed::Quiet(7)),
            (5, 4, 2, Passed::Marked(7)),
            (6, 4, 0, Passed::Marked(7)),
            (7, 6, 1, Passed::Marked(7)),
            (8, 7, 0, Passed::Quiet(7)),
        ] {
            for _ in 0..changes {
                watcher.offer(&event);
            }
            let passed = watcher.barrier(number, confirmed, Revision(1));
            assert_eq!(passed, Some(expected), "barrier {number}");
            assert_eq!(read(&watcher).0, changes + usize::from(expected == Passed::Marked(7)), "barrier {number}");
        }
        watcher.close();
        assert_eq!(watcher.barrier(9, 8, Revision(1)), None, "its participant has to find out");
    }
}
