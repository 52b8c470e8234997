// SPDX-License-Identifier: Apache-2.0
//! The log through a lens: what is read of it is shown as a server's kinds have it.
//!
//! ```text
//! log ──entry, state──▶ lens shows ──▶ fold of the server
//! log ◀─────append───── lens restores ◀── change of an object
//! ```

use std::fmt;
use std::sync::Arc;

use eventlog::log::{BoxFuture, Snapshot};
use eventlog::{
    Append, AppendError, Appended, Entry, EventLog, Key, Message, ReadError, Revision, Sections, Subscription,
};
use futures::{FutureExt, StreamExt};

/// How a server sees objects of the log.
pub(crate) trait Lens: Send + Sync + 'static {
    /// Whether objects of a resource may be shown otherwise than they are stored.
    fn concerns(&self, resource: &str) -> bool;

    /// Makes of a stored object what is shown; only for resources that the lens concerns.
    fn show(&self, key: &Key, object: &mut Sections);

    /// As [`Lens::show`] for what the server has not heard of before: the object of an entry that is newer than all others.
    fn show_new(&self, entry: &mut Entry) {
        let Entry { key, object, .. } = entry;
        self.show(key, object);
    }

    /// Shows all objects at a revision; the server goes on from there if it has not read any further.
    fn show_state(&self, _revision: Revision, state: &mut Snapshot) {
        self.show_all(state);
    }

    /// Shows objects of the past.
    fn show_all(&self, state: &mut Snapshot) {
        for (key, _, object) in state {
            if self.concerns(&key.resource) {
                self.show(key, object);
            }
        }
    }

    /// Makes of a change what is stored.
    fn restore(&self, _append: &mut Append) {}
}

/// The log as it is seen through a lens.
pub(crate) fn through(log: Arc<dyn EventLog>, lens: impl Lens) -> Arc<dyn EventLog> {
    Arc::new(View { log, lens: Arc::new(lens) })
}

struct View<L> {
    log: Arc<dyn EventLog>,
    lens: Arc<L>,
}

impl<L> fmt::Debug for View<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(&self.log).finish()
    }
}

/// An entry as the server sees it, of which it had not heard before if `is_new`.
fn entry(lens: &impl Lens, entry: Arc<Entry>, is_new: bool) -> Arc<Entry> {
    if !lens.concerns(&entry.key.resource) {
        return entry;
    }
    let mut entry = Arc::unwrap_or_clone(entry);
    if is_new {
        lens.show_new(&mut entry);
    } else {
        lens.show(&entry.key, &mut entry.object);
    }
    if let Some((_, previous)) = &mut entry.previous {
        lens.show(&entry.key, previous);
    }
    Arc::new(entry)
}

impl<L: Lens> EventLog for View<L> {
    fn append(&self, mut append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        self.lens.restore(&mut append);
        self.log.append(append)
    }

    fn head(&self) -> Revision {
        self.log.head()
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        let lens = self.lens.clone();
        let read = self.log.read(from, to, cluster);
        async move { Ok(read.await?.into_iter().map(|one| entry(&*lens, one, false)).collect()) }.boxed()
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        let lens = self.lens.clone();
        let messages = self.log.subscribe(from, cluster)?.messages.map(move |message| match message {
            Message::Entry(one) => Message::Entry(entry(&*lens, one, true)),
            Message::Position(position) => Message::Position(position),
        });
        Ok(Subscription { messages: Box::pin(messages) })
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        let lens = self.lens.clone();
        let state = self.log.state_at(revision);
        async move {
            let mut state = state.await?;
            lens.show_state(revision, &mut state);
            Ok(state)
        }
        .boxed()
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        let lens = self.lens.clone();
        let state = self.log.state_of(revision, resource);
        async move {
            let mut state = state.await?;
            lens.show_all(&mut state);
            Ok(state)
        }
        .boxed()
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        self.log.compact(revision)
    }
}
