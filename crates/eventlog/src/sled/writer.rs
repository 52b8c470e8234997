// SPDX-License-Identifier: Apache-2.0
//! The writer: the one thread that gives out revisions, and writes, syncs, shows and answers them group by group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as jobs;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use crate::entry::{Entry, Revision};
use crate::log::{Append, AppendError, Appended, ReadError};

use super::directory::Lock;
use super::journal::{Journal, WriteError};
use super::keeper::{Image, Job, prune};
use super::reached::{Reach, Reached};
use super::record::Record;
use super::shared::Shared;
use super::state::{Decision, Fold};
use super::store::{Broken, Store, released};
use super::trouble::{Trouble, no_room};
use super::{CLEAN, Durability, History, Options};

/// Appends that one group takes, at most.
const GROUP: usize = 256;

/// Bytes of objects that one group takes; the append that goes over it still belongs to it.
const GROUP_BYTES: usize = 1 << 20;

/// Revisions that are kept however much they take.
const KEPT: u64 = 512;

/// How often a store that failed is made anew.
const REMADE: u32 = 8;

/// Revisions between two looks at how much history takes.
const MEASURED: u64 = 128;

pub(super) type Answer = oneshot::Sender<Result<Appended, AppendError>>;

/// What the writer is asked to do.
#[derive(Debug)]
pub(super) enum Command {
    Append(Box<Append>, Answer),
    /// Looks whether the directory is still there, and whether there is room again.
    Look(oneshot::Sender<()>),
    /// Forgets history up to a revision.
    Compact(Revision, oneshot::Sender<Result<(), ReadError>>),
    /// Ends the log, and tells when everything is on the disk and the lock is free.
    Close(oneshot::Sender<()>),
}

/// Everything that the writer's thread owns.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) fold: Fold,
    pub(super) journal: Journal,
    pub(super) reached: Reached,
    pub(super) store: Store,
    pub(super) options: Options,
    pub(super) lock: Lock,
    /// The last checkpoint, and the one before it.
    pub(super) checkpoint: Revision,
    /// When the journals were measured.
    pub(super) measured: Revision,
    /// How often the store was made anew.
    pub(super) remade: u32,
    pub(super) keeper: jobs::Sender<Job>,
    pub(super) keeper_thread: Option<JoinHandle<()>>,
    /// Whether the keeper works on a job that the writer gave it.
    pub(super) keeper_busy: Arc<AtomicBool>,
}

impl Writer {
    /// Works until the log is closed or every handle is dropped.
    pub(super) fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut closing = None;
        while closing.is_none()
            && let Some(first) = commands.blocking_recv()
        {
            let (mut group, mut looks, mut compacts) = (Vec::new(), Vec::new(), Vec::new());
            let mut bytes = 0;
            let mut next = Some(first);
            while let Some(command) = next {
                match command {
                    Command::Append(append, answer) => {
                        bytes += append.object.parts.iter().map(bytes::Bytes::len).sum::<usize>();
                        group.push((append, answer));
                    }
                    Command::Look(answer) => looks.push(answer),
                    Command::Compact(to, answer) => compacts.push((to, answer)),
                    Command::Close(done) => {
                        closing = Some(done);
                        break;
                    }
                }
                next = if group.len() < GROUP && bytes < GROUP_BYTES { commands.try_recv().ok() } else { None };
            }
            self.group(group);
            for answer in looks {
                self.look();
                let _ = answer.send(());
            }
            for (to, answer) in compacts {
                self.compact(to, answer);
            }
            self.maintain();
        }
        self.stop();
        if let Some(done) = closing {
            let _ = done.send(());
        }
        // Who still waits in the queue finds the log closed.
        drop(commands);
    }

    /// Judges, writes, shows and answers one group.
    fn group(&mut self, group: Vec<(Box<Append>, Answer)>) {
        if group.is_empty() {
            return;
        }
        let obstacle = self.obstacle().map_or_else(|| self.mend(), Err);
        if let Err(trouble) = obstacle {
            let refused = self.shared.set(trouble);
            for (_, answer) in group {
                let _ = answer.send(Err(refused.clone()));
            }
            return;
        }
        let mut answers = Vec::with_capacity(group.len());
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        let mut records: Vec<(Record, Vec<u8>)> = Vec::new();
        self.fold.begin();
        for (append, answer) in group {
            let decided = self.fold.decide(*append).map(|decision| match decision {
                Decision::Repeated(revision) => revision,
                Decision::Entry(entry, record) => {
                    let revision = entry.revision;
                    entries.push(entry);
                    records.extend(record.map(|record| *record));
                    revision
                }
            });
            answers.push((answer, decided.map(|revision| Appended { revision })));
        }
        let written = if entries.is_empty() { Ok(()) } else { self.write(&records) };
        match written {
            Ok(()) => {
                self.fold.keep();
                self.shared.publish(&self.fold, &entries);
            }
            Err(refused) => {
                // Also what was refused, and what was repeated, was judged by what is not there.
                self.fold.take_back();
                for (_, result) in &mut answers {
                    *result = Err(refused.clone());
                }
            }
        }
        for (answer, result) in answers {
            let _ = answer.send(result);
        }
    }

    /// Why nothing can be written.
    fn obstacle(&self) -> Option<Trouble> {
        let directory = &self.shared.directory;
        let is_removed = || {
            let at = directory.root().display();
            self.journal.is_removed().then(|| Trouble::Gone(format!("the journal in `{at}` was removed")))
        };
        let failed = || self.shared.failed();
        failed().or_else(|| directory.gone()).or_else(is_removed).or_else(|| no_room(directory.root()))
    }

    /// Makes a store that failed anew.
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
            Err(error) => Err(Trouble::Passing(format!("cannot make the store anew: {error}"))),
        }
    }

    /// Writes a group; the error is what its appends are answered with.
    fn write(&mut self, records: &[(Record, Vec<u8>)]) -> Result<(), AppendError> {
        let reserved = self.fold.reserve(!records.is_empty());
        if !records.is_empty() || reserved.is_some() {
            let bytes = records.iter().map(|(_, bytes)| &bytes[..]);
            if let Err(error) = self.journal.append(bytes, self.fold.ceiling) {
                return Err(self.refuse("cannot write the journal", error));
            }
            self.reached.set(Reach { link: self.fold.link, ceiling: self.fold.ceiling });
        }
        // What the journal holds is acknowledged: a store that failed is made anew from it.
        let applied = self.store.apply(records.iter().map(|(record, bytes)| (record, &bytes[..])));
        match applied {
            Ok(()) => self.shared.clear(),
            Err(error) => drop(self.shared.fail_store(&format!("cannot write the store: {error}"))),
        }
        Ok(())
    }

    fn refuse(&self, what: &str, error: WriteError) -> AppendError {
        match error {
            WriteError::Full(error) => self.shared.set(Trouble::Passing(format!("{what}: {error}"))),
            // After a failed sync nobody knows what is on the disk.
            WriteError::Broken(error) => self.shared.fail(&format!("{what}: {error}")),
        }
    }

    /// Whether the directory is still there; whether there is room again.
    fn look(&mut self) {
        if let Err(trouble) = self.obstacle().map_or_else(|| self.mend(), Err) {
            self.shared.set(trouble);
        } else if self.shared.trouble().is_some() {
            match self.journal.append(std::iter::empty(), self.fold.ceiling) {
                Ok(()) => self.shared.clear(),
                Err(error) => drop(self.refuse("cannot write the journal", error)),
            }
        }
    }

    /// Has history forgotten. The file that is written on holds the end of it.
    fn compact(&mut self, to: Revision, answer: oneshot::Sender<Result<(), ReadError>>) {
        if self.shared.failed().is_none() && to >= self.fold.head {
            self.rotate();
        }
        // Who waits for the answer of a keeper that has ended learns that the log is closed.
        let _ = self.keeper.send(Job::Compact(to, Some(answer)));
    }

    /// Asks the keeper for what is due.
    fn maintain(&mut self) {
        if self.shared.trouble().is_some() {
            return;
        }
        let head = self.fold.head;
        let due = self.options.checkpoint_after.max(self.fold.objects.size() as u64);
        if head.0 - self.checkpoint.0 > due && !self.keeper_busy.swap(true, Ordering::Acquire) {
            if !self.rotate() {
                self.keeper_busy.store(false, Ordering::Release);
                return;
            }
            self.fold.raise_floor(self.checkpoint);
            self.checkpoint = head;
            let _ = self.keeper.send(Job::Checkpoint(Image::of(&self.fold)));
        } else if self.journal.is_long(self.options.history) && !self.rotate() {
            return;
        }
        // Asked first: who is told to wait is not to be measured against the next revisions only.
        if !self.keeper_busy.load(Ordering::Acquire)
            && let Some(to) = self.retained()
            && !self.keeper_busy.swap(true, Ordering::Acquire)
        {
            let _ = self.keeper.send(Job::Compact(to, None));
        }
    }

    /// Up to where history is to be forgotten, if there is too much of it.
    fn retained(&mut self) -> Option<Revision> {
        let head = self.fold.head;
        let base = self.shared.published().base.revision();
        let length = head.0 - base.0;
        match self.options.history {
            History::All => None,
            History::Entries(keep) => (length > keep.saturating_mul(2)).then(|| Revision(head.0 - keep)),
            History::Bytes(keep) => {
                // Old journals are the measure: sled's file never shrinks, what is freed in it is used again.
                if length <= KEPT || head.0 - self.measured.0 < MEASURED {
                    return None;
                }
                self.measured = head;
                let size = super::directory::size_of(&self.shared.directory, "journal");
                (size > keep).then(|| Revision(head.0 - (length / 2).max(KEPT)))
            }
        }
    }

    /// Starts another file of the journal; whether that was possible.
    fn rotate(&mut self) -> bool {
        let rotated = self.journal.rotate(&self.shared.directory, self.fold.head, self.fold.ceiling);
        rotated.map_err(|error| self.refuse("cannot start a journal", error)).is_ok()
    }

    /// A clean stop: the checkpoint of the head, everything on the disk, and the mark that says so.
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
        let stopped = if self.shared.failed().is_some() { Ok(()) } else { self.leave() };
        if let Err(error) = stopped {
            self.shared.fail(&error.0);
        }
        drop(self.shared.close());
        drop(self.store);
        let directory = &self.shared.directory;
        let is_empty = self.fold.link <= self.shared.published().base.revision();
        if is_empty && self.shared.failed().is_none() && released(directory.store()).is_ok() {
            // All of history is forgotten. sled's file never gets smaller; the next start makes a new one.
            let _ = std::fs::remove_dir_all(directory.store());
        }
        drop(self.lock);
    }

    fn leave(&mut self) -> Result<(), Broken> {
        let io = |error: std::io::Error| Broken(format!("cannot stop cleanly: {error}"));
        self.mend().map_err(|trouble| Broken(trouble.to_string()))?;
        let directory = &self.shared.directory;
        let head = self.fold.head;
        if head > self.checkpoint {
            self.fold.ceiling = head;
            self.journal.rotate(directory, head, head).map_err(|error| io(error.into()))?;
            Image::of(&self.fold).write(directory).map_err(io)?;
            prune(&self.shared, head).map_err(io)?;
        }
        // The last checkpoint has the revisions that heartbeats used.
        self.reached.set(Reach { link: self.fold.link, ceiling: head });
        // While the store still has what a journal may have lost.
        let healed = super::repair::heal_open(directory, &self.store);
        self.store.flush(directory.durability() == Durability::Durable)?;
        directory.replace(CLEAN, self.fold.link.to_string().as_bytes()).map_err(io)?;
        self.shared.heal(healed.map_err(|error| Broken(error.to_string()))?);
        let rebuilt = self.store.rebuilt();
        let note = |reason: String| format!("the log's store was made again from its journal: {reason}");
        self.shared.heal(rebuilt.into_iter().map(note).collect());
        Ok(())
    }
}
