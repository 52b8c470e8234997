// SPDX-License-Identifier: Apache-2.0
//! The writer: the only thread that writes appended entries, and syncs them, group by group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as jobs;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::entry::Revision;
use crate::log::{AppendError, ReadError};

use super::directory::Lock;
use super::journal::{Journal, WriteError};
use super::keeper::{Image, Job, prune};
use super::reached::{Reach, Reached};
use super::record::Record;
use super::shared::Shared;
use super::state::Fold;
use super::store::{Broken, Store, released};
use super::trouble::{Trouble, no_room};
use super::{CLEAN, Durability, History, Options};

/// Number of revisions that are kept regardless of their size.
const KEPT: u64 = 512;

/// Maximum number of times that a failed store is rebuilt.
const REMADE: u32 = 8;

/// Revisions between two measurements of the size of history.
const MEASURED: u64 = 128;

/// Command to the writer's thread.
#[derive(Debug)]
pub(super) enum Command {
    /// Checks that the directory is still there, and that there is room again.
    Look(oneshot::Sender<()>),
    /// Forgets history up to a revision.
    Compact(Revision, oneshot::Sender<Result<(), ReadError>>),
    /// Ends the log.
    Close,
}

/// Entries that were shown and are not written: the next frame of the journal.
#[derive(Debug, Default)]
struct Group {
    records: Vec<(Record, Vec<u8>)>,
    /// Revision of the last entry.
    head: Revision,
    reach: Reach,
    /// True if the group needs a frame: heartbeats within the reserved revisions do not.
    has_frame: bool,
    /// The state after the group, if a checkpoint is due.
    image: Option<Image>,
}

/// State of the writer's thread.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    journal: Journal,
    reached: Reached,
    store: Store,
    options: Options,
    lock: Lock,
    /// Revision up to which everything is written.
    written: Revision,
    reach: Reach,
    /// Entries that were taken and are not written.
    group: Group,
    /// Revision of the last checkpoint.
    checkpoint: Revision,
    /// Revision at which the journals were last measured.
    measured: Revision,
    /// Number of times that the store was rebuilt.
    remade: u32,
    keeper: jobs::Sender<Job>,
    keeper_thread: Option<JoinHandle<()>>,
    /// True while the keeper works on a job of the writer.
    keeper_busy: Arc<AtomicBool>,
}

/// The files of a log that was opened.
pub(super) struct Files {
    pub(super) journal: Journal,
    pub(super) reached: Reached,
    pub(super) store: Store,
    pub(super) lock: Lock,
    pub(super) checkpoint: Revision,
}

/// The keeper's thread.
pub(super) struct Keeper {
    pub(super) jobs: jobs::Sender<Job>,
    pub(super) thread: JoinHandle<()>,
    pub(super) busy: Arc<AtomicBool>,
}

/// Reports, when it is dropped, that the writer has ended, also after a panic.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, files: Files, options: Options, keeper: Keeper) -> Self {
        let (written, reach) = {
            let published = shared.published();
            (published.fold.head, reach_of(&published.fold))
        };
        let Files { journal, reached, store, lock, checkpoint } = files;
        Self {
            shared,
            journal,
            reached,
            store,
            options,
            lock,
            written,
            reach,
            group: Group::default(),
            checkpoint,
            measured: checkpoint,
            remade: 0,
            keeper: keeper.jobs,
            keeper_thread: Some(keeper.thread),
            keeper_busy: keeper.busy,
        }
    }

    /// Works until the log is closed or every handle is dropped.
    pub(super) fn run(mut self) {
        let _ended = Ended(self.shared.clone());
        let mut is_closing = false;
        while !is_closing {
            let commands = self.take();
            self.attempt();
            for command in commands {
                match command {
                    Command::Look(answer) => {
                        self.look();
                        let _ = answer.send(());
                    }
                    Command::Compact(to, answer) => self.compact(to, answer),
                    Command::Close => is_closing = true,
                }
            }
            self.maintain();
        }
        self.stop();
    }

    /// Waits for work, and takes all of it.
    fn take(&mut self) -> Vec<Command> {
        let mut published = self.shared.worked(self.written.max(self.group.head));
        let published = &mut *published;
        let commands = std::mem::take(&mut published.work.commands);
        published.work.is_closing |= commands.iter().any(|command| matches!(command, Command::Close));
        let fold = &mut published.fold;
        if fold.head > self.written.max(self.group.head) {
            let group = &mut self.group;
            group.records.append(&mut published.work.records);
            group.has_frame |= !group.records.is_empty() || fold.is_beyond_reserved();
            fold.reserve(!group.records.is_empty());
            (group.head, group.reach) = (fold.head, reach_of(fold));
            let due = self.options.checkpoint_after.max(fold.objects.size() as u64);
            let is_due = fold.head.0 - self.checkpoint.0 > due && self.shared.trouble().is_none();
            // The image of a failed attempt has reserved the keeper.
            let has_keeper = group.image.take().is_some();
            if is_due && (has_keeper || !self.keeper_busy.swap(true, Ordering::Acquire)) {
                group.image = Some(Image::of(fold));
            } else if has_keeper {
                self.keeper_busy.store(false, Ordering::Release);
            }
        }
        commands
    }

    /// Tries to write the group.
    fn attempt(&mut self) {
        if self.group.head <= self.written {
            return;
        }
        #[cfg(test)]
        drop(self.shared.gate.lock());
        let written = self.ends().map_or_else(|| self.mend(), Err).map_err(|trouble| drop(self.shared.set(trouble)));
        let written = written.and_then(|()| self.write().map_err(drop));
        self.shared.attempted(written.is_ok().then(|| {
            let bytes = self.group.records.iter().map(|(_, bytes)| bytes.len()).sum();
            (self.group.head, bytes)
        }));
        if written.is_err() {
            return;
        }
        let group = std::mem::take(&mut self.group);
        (self.written, self.reach) = (group.head, group.reach);
        let Some(image) = group.image else { return };
        if !self.rotate() {
            self.keeper_busy.store(false, Ordering::Release);
            return;
        }
        self.shared.published().fold.raise_floor(self.checkpoint);
        self.checkpoint = self.written;
        let _ = self.keeper.send(Job::Checkpoint(image));
    }

    /// Returns the reason for which nothing can be written any more.
    fn ends(&self) -> Option<Trouble> {
        let directory = &self.shared.directory;
        let is_removed = || {
            let at = directory.root().display();
            self.journal.is_removed().then(|| Trouble::Gone(format!("the journal in `{at}` was removed")))
        };
        self.shared.failed().or_else(|| directory.gone()).or_else(is_removed)
    }

    /// Rebuilds a store that failed.
    fn mend(&mut self) -> Result<(), Trouble> {
        if !self.shared.store_failed() {
            return Ok(());
        }
        if self.remade >= REMADE {
            return Err(Trouble::Failed("the store fails again and again; the log must be opened again".to_owned()));
        }
        self.remade += 1;
        let base = self.shared.published().base.clone();
        match super::recovery::remake(&self.shared.directory, &base.head) {
            Ok(store) => {
                self.store = store.clone();
                self.shared.replace_store(store);
                Ok(())
            }
            Err(error) => Err(Trouble::Passing(format!("cannot rebuild the store: {error}"))),
        }
    }

    /// Writes the group.
    fn write(&mut self) -> Result<(), AppendError> {
        #[cfg(test)]
        if self.shared.full.load(Ordering::Acquire) {
            return Err(self.shared.set(Trouble::Passing("there is no room".to_owned())));
        }
        let group = &self.group;
        if group.has_frame {
            let bytes = group.records.iter().map(|(_, bytes)| &bytes[..]);
            if let Err(error) = self.journal.append(bytes, group.reach.ceiling) {
                return Err(self.refuse("cannot write the journal", error));
            }
            self.reached.set(group.reach);
        }
        // Records in the journal are durable: a store that failed is rebuilt from it.
        let applied = self.store.apply(group.records.iter().map(|(record, bytes)| (record, &bytes[..])));
        match applied {
            Ok(()) => self.shared.clear(),
            Err(error) => drop(self.shared.fail_store(&format!("cannot write the store: {error}"))),
        }
        Ok(())
    }

    fn refuse(&self, what: &str, error: WriteError) -> AppendError {
        match error {
            WriteError::Full(error) => self.shared.set(Trouble::Passing(format!("{what}: {error}"))),
            // After a failed sync the contents of the disk are unknown.
            WriteError::Broken(error) => self.shared.fail(&format!("{what}: {error}")),
        }
    }

    /// Checks that the directory is still there, and that there is room again.
    fn look(&mut self) {
        let no_room = || no_room(self.shared.directory.root());
        if let Err(trouble) = self.ends().or_else(no_room).map_or_else(|| self.mend(), Err) {
            self.shared.set(trouble);
        } else if self.shared.trouble().is_some() && self.group.head <= self.written {
            match self.journal.append(std::iter::empty(), self.reach.ceiling) {
                Ok(()) => self.shared.clear(),
                Err(error) => drop(self.refuse("cannot write the journal", error)),
            }
        }
    }

    /// Lets the keeper forget history. The current file is ended first if history ends in it.
    fn compact(&mut self, to: Revision, answer: oneshot::Sender<Result<(), ReadError>>) {
        if self.group.head > self.written {
            let _ = answer.send(Err(ReadError::Closed));
            return;
        }
        if self.shared.failed().is_none() && to >= self.written {
            self.rotate();
        }
        // A caller that waits for the answer of a keeper that has ended gets the result that the log is closed.
        let _ = self.keeper.send(Job::Compact(to, Some(answer)));
    }

    /// Sends due jobs to the keeper.
    fn maintain(&mut self) {
        if self.shared.trouble().is_some() {
            return;
        }
        if self.journal.is_long(self.options.history) && !self.rotate() {
            return;
        }
        // The keeper is checked first: `retained` measures only once per interval, and a busy keeper would lose the
        // result.
        if !self.keeper_busy.load(Ordering::Acquire)
            && let Some(to) = self.retained()
            && !self.keeper_busy.swap(true, Ordering::Acquire)
        {
            let _ = self.keeper.send(Job::Compact(to, None));
        }
    }

    /// Returns the revision up to which history is to be forgotten, if there is too much of it.
    fn retained(&mut self) -> Option<Revision> {
        let head = self.written;
        let base = self.shared.published().base.revision();
        let length = head.0 - base.0;
        match self.options.history {
            History::All => None,
            History::Entries(keep) => (length > keep.saturating_mul(2)).then(|| Revision(head.0 - keep)),
            History::Bytes(keep) => {
                // The size of the journals counts: sled's file never shrinks, freed parts of it are used again.
                if length <= KEPT || head.0 - self.measured.0 < MEASURED {
                    return None;
                }
                self.measured = head;
                let size = super::directory::size_of(&self.shared.directory, "journal");
                (size > keep).then(|| Revision(head.0 - (length / 2).max(KEPT)))
            }
        }
    }

    /// Starts another file of the journal; returns true if that was possible.
    fn rotate(&mut self) -> bool {
        let rotated = self.journal.rotate(&self.shared.directory, self.written, self.reach.ceiling);
        rotated.map_err(|error| self.refuse("cannot start a journal", error)).is_ok()
    }

    /// Stops cleanly: writes the checkpoint of the head, syncs everything, and leaves the mark of a clean stop.
    fn stop(mut self) {
        let _ = self.keeper.send(Job::End);
        if let Some(thread) = self.keeper_thread.take()
            && thread.join().is_err()
        {
            self.shared.fail("the keeper of the log ended with a panic");
        }
        if let Some(gone) = self.shared.directory.gone() {
            self.shared.set(gone);
        }
        if self.group.head > self.written {
            self.shared.fail("the last entries could not be written");
        }
        let stopped = if self.shared.failed().is_some() { Ok(()) } else { self.leave() };
        if let Err(error) = stopped {
            self.shared.fail(&error.0);
        }
        drop(self.shared.close());
        drop(self.store);
        let directory = &self.shared.directory;
        let is_empty = self.reach.link <= self.shared.published().base.revision();
        if is_empty && self.shared.failed().is_none() && released(directory.store()).is_ok() {
            // All history is forgotten. sled's file never shrinks; the next start creates a new one.
            let _ = std::fs::remove_dir_all(directory.store());
        }
        drop(self.lock);
    }

    fn leave(&mut self) -> Result<(), Broken> {
        let io = |error: std::io::Error| Broken(format!("cannot stop cleanly: {error}"));
        self.mend().map_err(|trouble| Broken(trouble.to_string()))?;
        let directory = &self.shared.directory;
        let head = self.written;
        if head > self.checkpoint {
            self.journal.rotate(directory, head, head).map_err(|error| io(error.into()))?;
            let image = Image::of(&self.shared.published().fold);
            image.write(directory).map_err(io)?;
            prune(&self.shared, head).map_err(io)?;
        }
        // The last checkpoint covers the revisions that heartbeats used.
        self.reached.set(Reach { link: self.reach.link, ceiling: head });
        // Healing needs the store, which still has records that a journal may have lost.
        let healed = super::repair::heal_open(directory, &self.store);
        self.store.flush(directory.durability() == Durability::Durable)?;
        directory.replace(CLEAN, self.reach.link.to_string().as_bytes()).map_err(io)?;
        self.shared.heal(healed.map_err(|error| Broken(error.to_string()))?);
        let rebuilt = self.store.rebuilt();
        let note = |reason: String| format!("the log's store was made again from its journal: {reason}");
        self.shared.heal(rebuilt.into_iter().map(note).collect());
        Ok(())
    }
}

fn reach_of(fold: &Fold) -> Reach {
    Reach { link: fold.link, ceiling: fold.ceiling }
}
