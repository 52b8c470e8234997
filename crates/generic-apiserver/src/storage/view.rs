// SPDX-License-Identifier: Apache-2.0
//! The log through a lens, which converts stored objects to the form that a server's kinds have.
//!
//! ```text
//! log ──entry, state──▶ lens shows ──▶ fold of the server
//! log ◀─────append───── lens restores ◀── change of an object
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use apimachinery::catalogue::ResourceInfo;
use eventlog::log::{BoxFuture, Snapshot};
use eventlog::{
    Append, AppendError, Appended, Entry, EventLog, Key, Message, ReadError, Revision, Sections, Subscription,
};
use futures::{FutureExt, StreamExt};

/// Conversion between the stored form of objects and the form that a server sees.
pub(crate) trait Lens: Send + Sync + 'static {
    /// True if the shown form of a resource's objects may differ from the stored form.
    fn concerns(&self, resource: &str) -> bool;

    /// True if a writer stores objects exactly as this lens shows them, so that its entries need no conversion.
    fn is_shown_by(&self, _writer: u64) -> bool {
        false
    }

    /// Converts a stored object to the shown form; only for resources that the lens concerns.
    fn show(&self, key: &Key, object: &mut Sections);

    /// Converts the object of an entry that is newer than all others, like [`Lens::show`]; `None`: it is shown as it is stored.
    fn show_new(&self, entry: &Entry) -> Option<Sections> {
        let mut object = entry.object.clone();
        self.show(&entry.key, &mut object);
        Some(object)
    }

    /// Converts all objects at a revision; the server continues from there if it has not read any further.
    fn show_state(&self, _revision: Revision, state: &mut Snapshot) {
        self.show_all(state);
    }

    /// Converts objects of the past.
    fn show_all(&self, state: &mut Snapshot) {
        for (key, _, object) in state {
            if self.concerns(&key.resource) {
                self.show(key, object);
            }
        }
    }

    /// Converts a change to the stored form.
    fn restore(&self, _append: &mut Append) {}
}

/// Returns the values of rows, by resource; rows without values are left out.
pub(crate) fn by_resource<'a, T>(
    rows: impl Iterator<Item = &'a ResourceInfo>,
    values: impl Fn(&ResourceInfo) -> Vec<T>,
) -> BTreeMap<Arc<str>, Vec<T>> {
    let all = rows.map(|row| (row.log_resource().into(), values(row)));
    all.filter(|(_, values)| !values.is_empty()).collect()
}

/// Returns the log as it is seen through a lens.
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

/// Returns a new entry as the server sees it. Its previous version stays in the stored form: the fold has the shown one.
fn new_entry(lens: &impl Lens, entry: Arc<Entry>) -> Arc<Entry> {
    if !lens.concerns(&entry.key.resource) || lens.is_shown_by(entry.writer.0) {
        return entry;
    }
    match lens.show_new(&entry) {
        Some(object) => Arc::new(Entry { object, ..Arc::unwrap_or_clone(entry) }),
        None => entry,
    }
}

/// Returns an entry of history as the server sees it, with its previous version.
fn past_entry(lens: &impl Lens, entry: Arc<Entry>) -> Arc<Entry> {
    if !lens.concerns(&entry.key.resource) {
        return entry;
    }
    let mut entry = Arc::unwrap_or_clone(entry);
    if !lens.is_shown_by(entry.writer.0) {
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

    fn durable(&self, revision: Revision) -> BoxFuture<Result<(), AppendError>> {
        self.log.durable(revision)
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
        async move { Ok(read.await?.into_iter().map(|one| past_entry(&*lens, one)).collect()) }.boxed()
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        let lens = self.lens.clone();
        let messages = self.log.subscribe(from, cluster)?.messages.map(move |message| match message {
            Message::Entry(one) => Message::Entry(new_entry(&*lens, one)),
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

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use eventlog::{Actor, Expect, MemoryLog, Verb};

    use super::*;

    /// Number of the writer that stores objects as they are shown.
    const OWN: u64 = 1;

    /// Lens that shows another identity of each object, so that a test sees which versions were converted.
    struct Marks;

    impl Lens for Marks {
        fn concerns(&self, resource: &str) -> bool {
            resource == "example/things"
        }

        fn is_shown_by(&self, writer: u64) -> bool {
            writer == OWN
        }

        fn show(&self, _: &Key, object: &mut Sections) {
            object.parts[0] = "shown".into();
        }
    }

    fn append(writer: u64, sequence: u64, verb: Verb, expect: Expect) -> Append {
        let mut object = Sections::default();
        object.parts[0] = "stored".into();
        Append {
            key: Key::new("garden", "example/things", "", "a"),
            expect,
            guards: Vec::new(),
            verb,
            object,
            volatile: false,
            actor: Arc::new(Actor::default()),
            time: DateTime::UNIX_EPOCH,
            writer: (writer, sequence),
        }
    }

    fn text(object: &Sections) -> &str {
        std::str::from_utf8(&object.parts[0]).expect("text")
    }

    #[tokio::test]
    async fn own_entries_are_not_converted_and_all_others_are() {
        let log = through(Arc::new(MemoryLog::new()), Marks);
        let mut subscription = log.subscribe(Revision(0), None).expect("nothing is compacted");
        let mut told = Vec::new();
        for (writer, expected) in [(OWN, "stored"), (2, "shown"), (OWN, "stored")] {
            let head = log.head();
            let (verb, expect) = match head {
                Revision(0) => (Verb::Create, Expect::Absent),
                _ => (Verb::Update, Expect::Revision(head)),
            };
            log.append(append(writer, head.0, verb, expect)).await.expect("as expected");
            let entry = loop {
                match subscription.messages.next().await.expect("the log is open") {
                    Message::Entry(entry) => break entry,
                    Message::Position(_) => {}
                }
            };
            assert_eq!(text(&entry.object), expected, "new, of writer {writer}");
            told.push(expected);
        }
        let past = log.read(Revision(0), Revision(3), None).await.expect("retained");
        let objects: Vec<&str> = past.iter().map(|entry| text(&entry.object)).collect();
        assert_eq!(objects, told);
        // The writer of a previous version is unknown.
        let previous: Vec<&str> =
            past.iter().filter_map(|entry| entry.previous.as_ref().map(|(_, object)| text(object))).collect();
        assert_eq!(previous, ["shown", "shown"]);
    }
}
