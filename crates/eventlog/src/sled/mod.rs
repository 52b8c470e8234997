// SPDX-License-Identifier: Apache-2.0
//! The log of a landscape on disk: a journal that is synced, a store in sled that is read, checkpoints to start from.
//!
//! ```text
//! append: judge · number · show ─► writer: journal · fdatasync ─► durable; sled gets groups of them
//!                                    │ a group shares one sync: entries that arrive while one is written are the next group
//!                                    ▼
//!                                  keeper: checkpoints, compaction, exports
//!
//! DIRECTORY/ FORMAT · LOCK · CLEAN (left cleanly) · BASE (history starts here) · facts
//!            REACHED               the end of the journal, by which a loss there is detected
//!            journal-REVISION…     commit groups in order; every acknowledged entry is here
//!            store/                sled: records by revision, by object and revision; rebuilt from the journals if
//!                                  a crash damaged it
//!            checkpoint-REVISION…  every object at a revision: the base and the last
//! ```
//!
//! **Start-up** reads the last checkpoint and the journal after it; sled is opened after the start, except that a log
//! that was not closed cleanly first compares its store with the journals. A log that ends before `REACHED` is healed
//! or refused; one whose store or checkpoint goes on after journals and `REACHED` is refused. **Heartbeats** (volatile
//! entries) are not written: they are in memory and, after a clean stop, in the checkpoint. So that their revisions are
//! not assigned again after a crash, some thousand of them are reserved with one write; a crash skips the rest.
//!
//! **Invariants.** An entry is durable when its frame of the journal is synced; the number of entries that are not
//! durable is limited, and they are lost with the process, so data leaves the process only after
//! [`EventLog::durable`] (docs/adr/0018). Only the writer's thread writes the journal. The store has no record that
//! the journal lacks. No value in sled is above 4 KiB. The log has two threads of its own (writer and keeper) and
//! sled's: it is for landscapes, never for a simulation, whose time would advance past them.
//!
//! **Tour.** [`SledLog`] the handle; `shared` the state at the head, and what is durable; `state` the data by which
//! expectations and guards are judged; `writer` and `keeper` the threads; `journal`, `reached`, `store`,
//! `checkpoint`, `record`, `directory` the files on disk; `recovery` opening; `survey` and `repair` damage; `history`
//! reading; `recent` the last entries.

mod checkpoint;
mod directory;
mod history;
mod insist;
mod journal;
mod keeper;
mod outcome;
mod reached;
mod recent;
mod record;
mod recovery;
mod repair;
mod shared;
mod state;
mod store;
mod survey;
mod trouble;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::blocking;
use crate::entry::{Entry, Key, Revision};
use crate::log::{Append, AppendError, Appended, BoxFuture, EventLog, ReadError, Snapshot, Subscription};

use directory::{Directory, name_of};
use history::{Cursor, States, Step};
use keeper::Job;
pub use outcome::{ExportError, OpenError, Recovery};
pub use repair::{Damage, Remedy};
use shared::Shared;
pub use trouble::Trouble;
use writer::{Command, Files, Keeper, Writer};

const STORE: &str = "store";
const CLEAN: &str = "CLEAN";

/// Properties of a landscape that are stored next to its log: seed, profile, start time, position of the clock. The
/// landscape defines the names; values are bytes.
pub type Facts = BTreeMap<String, Vec<u8>>;

/// Meaning of "durable".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The entry survives a power failure.
    #[default]
    Durable,
    /// Nothing is synced: the entry survives the end of the process, but not a power failure.
    Fast,
}

/// Amount of history that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// All history.
    #[default]
    All,
    /// At least this number of the last revisions, and at most twice as many.
    Entries(u64),
    /// About this number of bytes in the journals at most; always the last 512 revisions.
    Bytes(u64),
}

/// Options for opening a log.
#[derive(Clone, Debug)]
pub struct Options {
    /// Meaning of "durable".
    pub durability: Durability,
    /// Amount of history that is kept.
    pub history: History,
    /// Maximum number of entries that are visible and not durable: then appends wait.
    pub unsynced: usize,
    /// Revisions after which a checkpoint is written, if there are not more objects than that.
    pub checkpoint_after: u64,
    /// True if a log must already exist: none is created then.
    pub existing: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Durable,
            history: History::All,
            unsynced: 4096,
            checkpoint_after: 65_536,
            existing: false,
        }
    }
}

/// A log on disk. Cheap to clone; clones share it. When the last is dropped the log is left cleanly, in the background:
/// [`SledLog::close`] waits for that.
#[derive(Clone)]
pub struct SledLog(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    jobs: Mutex<std::sync::mpsc::Sender<Job>>,
    facts: Mutex<Facts>,
    recovery: Recovery,
    highest: u64,
    /// Temporary files of a log that is read only.
    scratch: Option<Scratch>,
}

/// Temporary folder for files that sled writes even when it only reads.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(format!("terrarium-log-{process}-{number}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = store::released(&self.0.join(STORE));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.scratch.is_some() {
            // The folder is removed when sled has released it.
            drop(self.shared.close());
        }
        self.shared.command(Command::Close);
    }
}

impl SledLog {
    /// Opens the log in a directory; a missing or empty one becomes a new log. Blocks: reads the last checkpoint and
    /// the journal after it.
    ///
    /// # Errors
    /// Every [`OpenError`]; nothing in the directory is changed by one, except that a store which sled damaged may have
    /// been removed.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        if options.existing && !directory::holds_log(directory.as_ref()) {
            return Err(OpenError::Missing { directory: directory.as_ref().to_owned() });
        }
        let (directory, lock) = Directory::open(directory.as_ref(), options.durability)?;
        let mut opened = recovery::open(&directory)?;
        let facts = directory.facts().or_else(|error| match error {
            // Facts that only the damaged file holds are set again by the landscape.
            OpenError::Corrupt { .. } => {
                opened.recovery.healed.push(format!("{error}: its facts are given up"));
                Ok(Facts::new())
            }
            error => Err(error),
        })?;
        let highest = opened.fold.writers.highest();
        let shared =
            Shared::new(directory, opened.fold, opened.base, opened.store.clone(), Some(options.unsynced.max(1)));
        let shared = Arc::new(shared);
        let (jobs, todo) = std::sync::mpsc::channel();
        let busy = Arc::new(AtomicBool::new(false));
        let failed = |error: io::Error| OpenError::io(shared.directory.root(), &error);
        let keeper_thread = {
            let (shared, busy) = (shared.clone(), busy.clone());
            thread("log-keeper", shared.clone(), move || keeper::run(&shared, &todo, &busy)).map_err(failed)?
        };
        let files = Files {
            journal: opened.journal,
            reached: opened.reached,
            store: opened.store,
            lock,
            checkpoint: opened.checkpoint,
        };
        let keeper = Keeper { jobs: jobs.clone(), thread: keeper_thread, busy };
        let writer = Writer::new(shared.clone(), files, options, keeper);
        thread("log-writer", shared.clone(), move || writer.run()).map_err(failed)?;
        let (jobs, facts) = (Mutex::new(jobs), Mutex::new(facts));
        Ok(Self(Arc::new(Handle { shared, jobs, facts, recovery: opened.recovery, highest, scratch: None })))
    }

    /// Opens the log in a directory for reading: appends are refused as [`AppendError::Closed`], and nothing in the
    /// directory is changed. sled's files are copied to the folder for temporary files, since sled cannot open them
    /// without writing. Blocks.
    ///
    /// # Errors
    /// Every [`OpenError`].
    pub fn open_read_only(directory: impl AsRef<Path>) -> Result<Self, OpenError> {
        let scratch = Scratch::new();
        let directory = Directory::open_read_only(directory.as_ref(), scratch.0.join(STORE))?;
        let facts = directory.facts().unwrap_or_default();
        let opened = recovery::open_read_only(&directory)?;
        let highest = opened.fold.writers.highest();
        let shared = Arc::new(Shared::new(directory, opened.fold, opened.base, opened.store, None));
        // No keeper receives these jobs.
        let (jobs, _) = std::sync::mpsc::channel();
        let (jobs, facts) = (Mutex::new(jobs), Mutex::new(facts));
        let (recovery, scratch) = (opened.recovery, Some(scratch));
        Ok(Self(Arc::new(Handle { shared, jobs, facts, recovery, highest, scratch })))
    }

    /// Examines the log in a directory for damage, and for its remedy: all of its journals and checkpoints are read.
    /// `None`: no damage. A log that is open elsewhere can be examined, too. Blocks.
    ///
    /// # Errors
    /// Files that cannot be read at all.
    pub fn examine(directory: impl AsRef<Path>) -> Result<Option<Damage>, OpenError> {
        repair::examine(directory.as_ref())
    }

    /// Repairs damage: applies a remedy that loses nothing, and with `discard` also one that loses something. Damaged
    /// files that are given up are kept in a folder `damaged` of the log. Returns what was repaired; `None`: nothing
    /// was damaged. Blocks.
    ///
    /// # Errors
    /// Every [`OpenError`]; the damage itself if its remedy loses something and `discard` is not set.
    pub fn repair(directory: impl AsRef<Path>, discard: bool) -> Result<Option<Damage>, OpenError> {
        repair::repair(directory.as_ref(), discard)
    }

    /// Reason for which a log in this directory would accept no writes: a full disk.
    pub fn no_room(directory: impl AsRef<Path>) -> Option<Trouble> {
        trouble::no_room(directory.as_ref())
    }

    /// Facts of the log in a directory, whatever else is wrong with it.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn facts_in(directory: impl AsRef<Path>) -> Result<Facts, OpenError> {
        directory::facts_in(directory.as_ref())
    }

    /// Highest number of a writer among those whose appends are remembered.
    pub fn highest_writer(&self) -> u64 {
        self.0.highest
    }

    /// Damage that a clean stop has repaired; complete when [`SledLog::close`] is done.
    pub fn healed(&self) -> Vec<String> {
        self.0.shared.healed()
    }

    /// Creates a log in a new directory that continues from an export, and opens it. Head and start of its history
    /// are the export's revision; its facts are the export's.
    ///
    /// # Errors
    /// [`OpenError::Foreign`] if the directory holds anything, a log included; [`OpenError::Corrupt`] for the export.
    pub fn create_from(directory: impl AsRef<Path>, export: &Path, options: Options) -> Result<Self, OpenError> {
        let root = directory.as_ref();
        let failed = |error: io::Error| OpenError::io(root, &error);
        if std::fs::read_dir(root).is_ok_and(|mut files| files.next().is_some()) {
            return Err(OpenError::Foreign { directory: root.to_owned() });
        }
        let contents = checkpoint::read(export, |_, _, _| {})?;
        let (directory, lock) = Directory::open(root, options.durability)?;
        let name = name_of(keeper::CHECKPOINT, contents.head.revision);
        let mut source = std::fs::File::open(export).map_err(|error| OpenError::io(export, &error))?;
        directory.replace_with(&name, |out| io::copy(&mut source, out).map(drop)).map_err(failed)?;
        directory.put_facts(&contents.facts).map_err(failed)?;
        directory.replace(keeper::BASE, contents.head.revision.to_string().as_bytes()).map_err(failed)?;
        let head = contents.head.revision;
        journal::Journal::create(&directory, head, 0, head).map_err(|error| failed(error.into()))?;
        let reach = reached::Reach { link: contents.head.link, ceiling: head };
        reached::replace(&directory, reach).map_err(failed)?;
        drop(lock);
        Self::open(root, options)
    }

    /// Returns the findings of opening.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// Revision up to which history is forgotten; 0 for none.
    pub fn compacted(&self) -> Revision {
        self.0.shared.published().base.revision()
    }

    /// Number of objects.
    pub fn objects(&self) -> usize {
        self.0.shared.published().fold.objects.size()
    }

    /// Bytes on disk: journals, store and checkpoints.
    pub fn size_on_disk(&self) -> u64 {
        let shared = &self.0.shared;
        let head = self.head();
        let store = shared.store(head).map_or(0, |(store, _)| store.size());
        store
            + directory::size_of(&shared.directory, "journal")
            + directory::size_of(&shared.directory, keeper::CHECKPOINT)
    }

    /// Returns a fact of the landscape.
    pub fn fact(&self, name: &str) -> Option<Vec<u8>> {
        self.facts().get(name).cloned()
    }

    /// Returns all facts of the landscape.
    pub fn facts(&self) -> Facts {
        self.0.facts.lock().clone()
    }

    /// Sets facts of the landscape, all of them or none; durable when it returns. Blocks for one sync.
    ///
    /// # Errors
    /// The file system's.
    pub fn set_facts(&self, facts: impl IntoIterator<Item = (String, Vec<u8>)>) -> io::Result<()> {
        let mut held = self.0.facts.lock();
        let mut new = held.clone();
        new.extend(facts);
        if new != *held {
            self.0.shared.directory.put_facts(&new)?;
            *held = new;
        }
        Ok(())
    }

    /// Writes the state at a retained revision, and the facts, to a file: the source of a fork or an export. `keep`
    /// selects the objects; heartbeats are left out.
    pub fn export(
        &self,
        at: Revision,
        path: impl Into<PathBuf>,
        keep: impl Fn(&Key) -> bool + Send + 'static,
    ) -> BoxFuture<Result<(), ExportError>> {
        let (log, path) = (self.clone(), path.into());
        Box::pin(async move {
            let (answer, done) = oneshot::channel();
            log.0.shared.published().check(at)?;
            // The store has durable entries only.
            log.0.shared.durable(at).await.map_err(|_| ReadError::Closed)?;
            log.job(Job::Export { at, path, keep: Box::new(keep), facts: log.facts(), answer });
            done.await.unwrap_or(Err(ExportError::Read(ReadError::Closed)))
        })
    }

    /// Landscape time of the last entry, heartbeats included; the beginning of 1970 if there is none.
    pub fn time(&self) -> DateTime<Utc> {
        self.0.shared.published().fold.time
    }

    /// Returns the reason for which the log accepts no writes at present.
    pub fn trouble(&self) -> Option<Trouble> {
        self.0.shared.trouble()
    }

    /// Waits until the trouble differs from `known`, possibly indefinitely.
    pub fn trouble_after(&self, known: Option<Trouble>) -> BoxFuture<Option<Trouble>> {
        let shared = self.0.shared.clone();
        Box::pin(async move { shared.trouble_after(known).await })
    }

    /// Checks whether the directory is still there and, after a full disk, whether there is room again. To be called
    /// periodically: a log without writes detects neither by itself.
    pub fn look(&self) -> BoxFuture<Option<Trouble>> {
        let shared = self.0.shared.clone();
        Box::pin(async move {
            let (answer, done) = oneshot::channel();
            if shared.command(Command::Look(answer)) {
                let _ = done.await;
            }
            shared.trouble()
        })
    }

    /// Leaves the log cleanly: accepted entries are written, and a checkpoint of the head; subscriptions end.
    /// Afterwards the directory can be opened again. Returns the message of the storage's failure, if it failed.
    pub fn close(&self) -> BoxFuture<Result<(), String>> {
        let shared = self.0.shared.clone();
        Box::pin(async move {
            shared.command(Command::Close);
            shared.ended().await;
            drop(shared.close());
            shared.failed().map_or(Ok(()), |trouble| Err(trouble.to_string()))
        })
    }

    fn job(&self, job: Job) {
        // A caller that waits for the answer of a keeper that has ended gets the result that the log is closed.
        let _ = self.0.jobs.lock().send(job);
    }
}

/// Starts a thread of this log's own: syncs block, and would delay every task of a shared thread. If it panics, which
/// sled does on some errors, the storage has failed.
fn thread(
    name: &'static str,
    shared: Arc<Shared>,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<std::thread::JoinHandle<()>> {
    let run = move || {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            shared.fail(&format!("the thread {name} ended with a panic"));
            shared.close();
        }
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

impl fmt::Debug for SledLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SledLog({}, head {})", self.0.shared.directory.root().display(), self.head())
    }
}

impl SledLog {
    /// Objects at a revision, of one resource or of all.
    fn snapshot(&self, revision: Revision, resource: Option<Arc<str>>) -> BoxFuture<Result<Snapshot, ReadError>> {
        let shared = self.0.shared.clone();
        let heartbeats = {
            let published = shared.published();
            if let Err(error) = published.check(revision) {
                return Box::pin(std::future::ready(Err(error)));
            }
            let fold = &published.fold;
            if let Some(before) = published.recent.before(revision) {
                let objects = fold.objects.clone();
                return Box::pin(async move { Ok(before.state(&objects, resource.as_deref())) });
            }
            fold.heartbeats.clone()
        };
        // The store has durable entries only.
        let log = shared.clone();
        let durable = blocking::wait(async move { log.durable(revision).await });
        Box::pin(async move {
            durable.await.map_err(|_| ReadError::Closed)?;
            let mut snapshot = Vec::new();
            let beats: BTreeMap<&Key, &Arc<Entry>> =
                heartbeats.range(..=revision).map(|(_, entry)| (&entry.key, entry)).collect();
            let (_, mut base) = shared.store(revision)?;
            let mut states = States::new(&base, revision, resource.clone());
            for step in 0_u64.. {
                // Requested each time: no caller keeps the store while the log is closed.
                let (store, now) = shared.store(revision)?;
                if now.revision() != base.revision() {
                    // Records that were compacted meanwhile may be missing in the states that were read.
                    states = States::new(&now, revision, resource.clone());
                    snapshot.clear();
                    base = now;
                }
                let stepped = states.step(&store, &base);
                if shared.store(revision)?.1.revision() != base.revision() {
                    continue;
                }
                match stepped.map_err(|error| shared.fail_read(&error))? {
                    Step::More => {}
                    Step::Object(object) => {
                        let (key, at, sections) = *object;
                        let beat = beats.get(&key).map(|entry| (entry.revision, entry.object.clone()));
                        let (at, sections) = beat.unwrap_or((at, sections));
                        snapshot.push((key, at, sections));
                    }
                    Step::End => break,
                }
                if step % 64 == 63 {
                    tokio::task::yield_now().await;
                }
            }
            Ok(snapshot)
        })
    }
}

impl EventLog for SledLog {
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>> {
        let shared = &self.0.shared;
        let mut waiting = match shared.append(Box::new(append)) {
            Ok(result) => return Box::pin(std::future::ready(result)),
            Err(append) => append,
        };
        let shared = shared.clone();
        blocking::wait(async move {
            loop {
                shared.room().await?;
                match shared.append(waiting) {
                    Ok(result) => return result,
                    Err(append) => waiting = append,
                }
            }
        })
    }

    fn durable(&self, revision: Revision) -> BoxFuture<Result<(), AppendError>> {
        let shared = self.0.shared.clone();
        if shared.published().durable >= revision {
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move { shared.durable(revision).await })
    }

    fn head(&self) -> Revision {
        self.0.shared.published().fold.head
    }

    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>> {
        let shared = self.0.shared.clone();
        let mut cursor = {
            let published = shared.published();
            if let Err(error) = published.check(from).and_then(|()| published.check(to.max(from))) {
                return Box::pin(std::future::ready(Err(error)));
            }
            Cursor::new(from, to, cluster, &published.fold.heartbeats)
        };
        // The store has durable entries only.
        let log = shared.clone();
        let durable = blocking::wait(async move { log.durable(to).await });
        Box::pin(async move {
            durable.await.map_err(|_| ReadError::Closed)?;
            let mut entries = Vec::new();
            while !cursor.is_done() {
                entries.extend(cursor.next(&shared)?);
                tokio::task::yield_now().await;
            }
            Ok(entries)
        })
    }

    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError> {
        let shared = &self.0.shared;
        let mut published = shared.published();
        published.check(from)?;
        let head = published.fold.head;
        if let Some(missed) = published.recent.entries(from, cluster) {
            return Ok(published.subscribers.subscribe(missed, head, cluster));
        }
        let past = Cursor::new(from, head, cluster, &published.fold.heartbeats);
        let live = published.subscribers.subscribe(Vec::new(), head, cluster);
        drop(published);
        Ok(history::follow(shared.clone(), past, live))
    }

    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.snapshot(revision, None)
    }

    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>> {
        self.snapshot(revision, Some(resource.into()))
    }

    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>> {
        let shared = self.0.shared.clone();
        Box::pin(async move {
            let (answer, done) = oneshot::channel();
            shared.command(Command::Compact(revision, answer));
            done.await.unwrap_or(Err(ReadError::Closed))
        })
    }
}
