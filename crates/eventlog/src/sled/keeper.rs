// SPDX-License-Identifier: Apache-2.0
//! The keeper: a second thread in addition to the writer's, which writes checkpoints, forgets history and exports,
//! while appends go on.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::entry::{Key, Revision};
use crate::log::ReadError;

use super::checkpoint::{Base, Head, Writer};
use super::directory::{Directory, name_of, write_aside};
use super::history::{States, Step};
use super::journal;
use super::record::Record;
use super::shared::Shared;
use super::state::{Fold, Heartbeats, Objects, Writers};
use super::store::{Broken, Store};
use super::trouble::{is_full, no_room};
use super::{ExportError, Facts};

pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const BASE: &str = "BASE";

/// Assumed number of records of an object since a whole one, where it is not counted: the next one is whole.
const UNKNOWN_CHANGES: u8 = u8::MAX;

/// The state at a commit group's end.
#[derive(Debug)]
pub(super) struct Image {
    head: Head,
    objects: Objects,
    heartbeats: Heartbeats,
    writers: Writers,
}

impl Image {
    pub(super) fn of(fold: &Fold) -> Self {
        Self {
            head: fold.checkpoint_head(),
            objects: fold.objects.clone(),
            heartbeats: fold.heartbeats.clone(),
            writers: fold.writers.clone(),
        }
    }

    /// Writes it as a checkpoint.
    pub(super) fn write(&self, directory: &Directory) -> io::Result<()> {
        directory.replace_with(&name_of(CHECKPOINT, self.head.revision), |out| {
            let mut out = Writer::new(out, self.head)?;
            for (key, live) in &self.objects {
                let (revision, sections) = live.ordinary();
                out.object(key, revision, live.changes(), sections)?;
            }
            for entry in self.heartbeats.values() {
                out.heartbeat(entry)?;
            }
            out.writers(&self.writers)?;
            out.end()
        })
    }
}

/// Selects the objects of an export.
pub(super) type Filter = Box<dyn Fn(&Key) -> bool + Send>;

/// Job of the keeper.
pub(super) enum Job {
    Checkpoint(Image),
    /// Forgets history up to a revision; the answer goes to the caller, if there is one.
    Compact(Revision, Option<oneshot::Sender<Result<(), ReadError>>>),
    Export {
        at: Revision,
        path: PathBuf,
        keep: Filter,
        facts: Facts,
        answer: oneshot::Sender<Result<(), ExportError>>,
    },
    /// No more jobs.
    End,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkpoint(_) => "Checkpoint",
            Self::Compact(..) => "Compact",
            Self::Export { .. } => "Export",
            Self::End => "End",
        })
    }
}

/// Works until the job to end.
pub(super) fn run(shared: &Shared, jobs: &mpsc::Receiver<Job>, busy: &AtomicBool) {
    open_store(shared);
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Checkpoint(image) => {
                let done = image.write(&shared.directory).and_then(|()| prune(shared, image.head.revision));
                match done {
                    Ok(()) => {}
                    // The journals hold everything that the checkpoint would have.
                    Err(error) if is_full(&error) => {}
                    Err(error) => drop(shared.fail(&format!("cannot write a checkpoint: {error}"))),
                }
                busy.store(false, Ordering::Release);
            }
            Job::Compact(to, None) => {
                let _ = compact(shared, to);
                busy.store(false, Ordering::Release);
            }
            Job::Compact(to, Some(answer)) => drop(answer.send(compact(shared, to))),
            Job::Export { at, path, keep, facts, answer } => {
                drop(answer.send(export(shared, at, &path, &keep, &facts)));
            }
            Job::End => return,
        }
    }
}

/// Opens the store in sled if the start has not done so.
fn open_store(shared: &Shared) {
    let head = shared.published().fold.head;
    let Ok((store, _)) = shared.store(head) else { return };
    // sled panics on some files that it cannot read.
    let opened = catch_unwind(AssertUnwindSafe(|| store.ready()));
    match opened.unwrap_or_else(|_| Err(Broken("sled gave up".to_owned()))) {
        Ok(_) => {}
        Err(error) => drop(shared.fail_store(&format!("cannot open the store: {error}"))),
    }
}

/// Removes checkpoints that are neither the base nor the last. The base that the file names stays, too: a replacement
/// of the file may have taken place although it failed, in the synchronisation that follows it.
pub(super) fn prune(shared: &Shared, last: Revision) -> io::Result<()> {
    let base = shared.published().base.revision();
    let named = match fs::read_to_string(shared.directory.path(BASE)) {
        Ok(text) => text.parse().map_or(base, Revision),
        Err(error) if error.kind() == io::ErrorKind::NotFound => base,
        Err(error) => return Err(error),
    };
    for revision in shared.directory.revisions(CHECKPOINT)? {
        if revision != base && revision != named && revision < last {
            shared.directory.remove(&name_of(CHECKPOINT, revision))?;
        }
    }
    shared.directory.sync()
}

fn compact(shared: &Shared, to: Revision) -> Result<(), ReadError> {
    let forgotten = shared.published().base.revision();
    shared.published().check(to.max(forgotten))?;
    let (store, base) = shared.store(forgotten)?;
    if to <= base.revision() {
        return Ok(());
    }
    // Compaction begins with a new file, and sled fails when there is no room.
    if let Some(trouble) = no_room(shared.directory.root()) {
        shared.set(trouble);
        return Err(ReadError::Closed);
    }
    let done = || -> Result<(), Broken> {
        let directory = &shared.directory;
        let io = |error: io::Error| Broken(format!("cannot forget history up to {to}: {error}"));
        let name = name_of(CHECKPOINT, to);
        if !directory.path(&name).exists() {
            let durable = directory.durability() == super::Durability::Durable;
            write_past(&store, &base, to, &directory.path(&name), durable, &|_| true, &BTreeMap::new())?;
            directory.sync().map_err(io)?;
        }
        let base = Base::open(&directory.path(&name)).map_err(|error| Broken(error.to_string()))?;
        directory.replace(BASE, to.to_string().as_bytes()).map_err(io)?;
        shared.published().base = Arc::new(base);
        // From here on the following files are not read; if their removal is cut short, the next start completes it.
        forget(directory, &store, to)?;
        let last = directory.revisions(CHECKPOINT).map_err(io)?.last().copied().unwrap_or(to);
        prune(shared, last).map_err(io)
    };
    done().map_err(|error| shared.fail_read(&error))
}

/// Drops records and journals up to the base.
pub(super) fn forget(directory: &Directory, store: &Store, base: Revision) -> Result<(), Broken> {
    store.drop_up_to(base)?;
    journal::drop_up_to(directory, base).map_err(|error| Broken(format!("cannot remove old journals: {error}")))
}

fn export(shared: &Shared, at: Revision, path: &Path, keep: &Filter, facts: &Facts) -> Result<(), ExportError> {
    shared.published().check(at)?;
    let (store, base) = shared.store(at)?;
    write_past(&store, &base, at, path, true, keep, facts)
        .map_err(|error| ExportError::Failed { path: path.to_owned(), message: error.0 })
}

/// Writes the state at a revision as a checkpoint, without heartbeats.
fn write_past(
    store: &Store,
    base: &Base,
    at: Revision,
    path: &Path,
    sync: bool,
    keep: &dyn Fn(&Key) -> bool,
    facts: &Facts,
) -> Result<(), Broken> {
    let mut head = Head { revision: at, ..base.head };
    let last = store.last(at)?;
    if last > base.revision() {
        let record: Record = store.record(last)?;
        (head.link, head.time) = (last, record.time);
    }
    let mut states = States::new(base, at, None);
    let mut broken = Ok(());
    let written = write_aside(path, sync, |out| {
        let mut out = Writer::new(out, head)?;
        for (name, value) in facts {
            out.fact(name, value)?;
        }
        loop {
            match states.step(store, base) {
                Ok(Step::More) => {}
                Ok(Step::Object(object)) => {
                    let (key, revision, sections) = *object;
                    if keep(&key) {
                        out.object(&key, revision, UNKNOWN_CHANGES, &sections)?;
                    }
                }
                Ok(Step::End) => break,
                Err(error) => {
                    broken = Err(error);
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        out.end()
    });
    broken?;
    written.map_err(|error| Broken(format!("cannot write {}: {error}", path.display())))
}
