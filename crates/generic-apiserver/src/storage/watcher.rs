// SPDX-License-Identifier: Apache-2.0
//! A watcher: a filter and a bounded queue of items that were not sent yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use eventlog::Revision;
use parking_lot::Mutex;

use super::lock;
use super::selection::Selection;
use super::stored::{Event, EventType, Stored};
use crate::kind::Kind;

/// Maximum number of waiting frames of a watcher, not counting its initial state. A watcher with more is cut; its
/// client watches again from its last position.
const QUEUE: usize = 16_384;

/// Item in the queue of a watcher.
pub(crate) enum Item {
    /// An object of the initial state.
    Initial(Arc<Stored>),
    /// A change, and its type in the watcher's selection.
    Change(EventType, Arc<Event>),
    /// Bookmark: all changes up to the revision were delivered.
    Bookmark(Revision, Occasion),
}

/// Reason for a bookmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The initial state ends here.
    InitialStateEnds,
    /// Time has passed, or the watch is about to end.
    Position,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    waker: Option<Waker>,
    position: Revision,
    /// Number of frames of the initial state, which are not limited.
    initial: usize,
    closed: bool,
    /// Number of items that were queued so far, each of which is a line of the watch.
    lines: u64,
}

impl Queue {
    fn add(&mut self, item: Item) {
        self.items.push_back(item);
        self.lines += 1;
    }
}

/// One watch.
pub(crate) struct Watcher {
    kind: Arc<dyn Kind>,
    selection: Selection,
    bookmarks: bool,
    /// Number of the watch of a process that participates in landscape time.
    participant: Option<u64>,
    queue: Mutex<Queue>,
}

impl Watcher {
    pub(crate) fn new(kind: Arc<dyn Kind>, selection: Selection, bookmarks: bool) -> Self {
        Self { kind, selection, bookmarks, participant: None, queue: Mutex::default() }
    }

    /// Marks the watcher as a participant's watch with this number.
    pub(crate) fn of_participant(self, number: u64) -> Self {
        Self { participant: Some(number), ..self }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.selection.prefix
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.queue).closed
    }

    /// Ends the stream after the queued items: nothing more is queued.
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
            lock(&self.queue).add(Item::Initial(object.clone()));
        }
    }

    /// Marks the initial state as complete at `position`.
    pub(super) fn synced(&self, position: Revision) {
        let mut queue = lock(&self.queue);
        queue.position = position;
        queue.initial = queue.items.len();
        if self.bookmarks {
            queue.add(Item::Bookmark(position, Occasion::InitialStateEnds));
        }
    }

    pub(super) fn reached(&self, position: Revision) {
        let mut queue = lock(&self.queue);
        queue.position = queue.position.max(position);
    }

    /// Queues a bookmark after all other items, if the client requested bookmarks.
    pub(crate) fn bookmark(&self) {
        let mut queue = lock(&self.queue);
        if self.bookmarks && !queue.closed {
            let position = queue.position;
            Self::push(&mut queue, Item::Bookmark(position, Occasion::Position));
        }
    }

    /// Returns the number of a participant's watch, and the number of lines delivered to it. `None`: it is not a
    /// participant's watch, or it has ended.
    pub(super) fn line_counts(&self) -> Option<(u64, u64)> {
        let watch = self.participant?;
        let queue = lock(&self.queue);
        (!queue.closed).then_some((watch, queue.lines))
    }

    /// True if the watching client participates in landscape time.
    pub(super) fn is_participants(&self) -> bool {
        self.participant.is_some()
    }

    /// Queues a change if the watcher selects it; returns true if it does.
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
        Self::push(&mut queue, Item::Change(type_, event.clone()));
        true
    }

    fn push(queue: &mut Queue, item: Item) {
        if queue.items.len() >= QUEUE + queue.initial {
            queue.items.clear();
            queue.closed = true;
        } else {
            queue.add(item);
        }
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    /// Returns the next item, if one is queued.
    pub(crate) fn waiting(&self) -> Option<Item> {
        lock(&self.queue).items.pop_front()
    }

    /// Returns the next item; `None` at the end of the stream.
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
            ..ResourceInfo::BASE
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
            // The initial state does not count, however long it is, and neither does its bookmark.
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
    fn lines_of_a_participants_watch_are_counted_until_it_ends() {
        let object = Arc::new(Stored::new(&Key::new("a", "/things", "", "t"), Revision(1), Sections::default()));
        let event = Arc::new(Event::new(Revision(1), "a//t".into(), None, Some(object.clone())));
        assert_eq!(watcher().line_counts(), None, "not a participant's watch");
        let watcher = watcher().of_participant(7);
        assert_eq!(watcher.line_counts(), Some((7, 0)));
        watcher.initial(&object);
        watcher.synced(Revision(1));
        watcher.offer(&event);
        watcher.bookmark();
        assert_eq!(watcher.line_counts(), Some((7, 4)));
        assert_eq!(read(&watcher), (4, false), "each is a line");
        assert_eq!(watcher.line_counts(), Some((7, 4)));
        watcher.close();
        assert_eq!(watcher.line_counts(), None, "its participant has to find out");
    }
}
