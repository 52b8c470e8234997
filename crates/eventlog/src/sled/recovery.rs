// SPDX-License-Identifier: Apache-2.0
//! Opening: the last checkpoint, the journal behind it, and a store that holds exactly what the journal holds.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;

use crate::entry::Revision;

use super::checkpoint::{self, Base};
use super::directory::{Directory, name_of};
use super::journal::{self, Journal};
use super::keeper::{BASE, CHECKPOINT, forget};
use super::record::Record;
use super::state::Fold;
use super::store::{self, Broken, Store, index_sum};
use super::{CLEAN, OpenError, Recovery, STORE};

/// Records that are put back into the store at once.
const GROUP: usize = 256;

/// A log, ready to be written.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fold: Fold,
    pub(super) journal: Journal,
    pub(super) store: Store,
    pub(super) base: Base,
    pub(super) checkpoint: Revision,
    pub(super) recovery: Recovery,
}

pub(super) fn open(directory: &Directory) -> Result<Opened, OpenError> {
    let io = |error: io::Error| OpenError::io(directory.root(), &error);
    let base = base(directory)?;
    let (mut fold, checkpoint) = load(directory, base.revision())?;
    let mut ceiling = fold.head;
    let end = journal::read(directory, fold.head, |frame| {
        ceiling = frame.ceiling;
        frame.records.iter().try_for_each(|bytes| replay(directory, &mut fold, checkpoint, bytes))
    })?;
    let mut recovery = Recovery { torn: end.torn, ..Recovery::default() };
    fold.ceiling = ceiling.max(fold.head);
    let mut journal = Journal::resume(directory, fold.head, end, fold.ceiling).map_err(io)?;

    let was_clean = fs::read_to_string(directory.path(CLEAN)).is_ok_and(|link| link == fold.link.to_string());
    directory.remove(CLEAN).map_err(io)?;
    directory.sync().map_err(io)?;
    let store = match open_store(directory, fold.link, base.revision(), was_clean) {
        Ok((store, put_back)) => {
            recovery.put_back = put_back;
            store
        }
        Err(Trouble::Directory(error)) => return Err(error),
        Err(Trouble::Store(reason)) => {
            recovery.rebuilt = Some(reason.0);
            rebuild(directory, base.revision())?
        }
    };
    let tidied = catch_unwind(AssertUnwindSafe(|| {
        let io = surplus(&store, &mut fold, &mut journal, &mut recovery.from_store)?;
        forget(directory, &store, base.revision())?;
        Ok(io)
    }));
    let store = match tidied.unwrap_or_else(|_| Err(Broken("sled gave up".to_owned()))) {
        Ok(written) => {
            written.map_err(io)?;
            store
        }
        Err(reason) => {
            recovery.rebuilt = Some(reason.0);
            drop(store);
            rebuild(directory, base.revision())?
        }
    };
    // What heartbeats may have used is not used again.
    fold.head = fold.head.max(fold.ceiling);
    Ok(Opened { fold, journal, store, base, checkpoint, recovery })
}

fn base(directory: &Directory) -> Result<Base, OpenError> {
    let path = directory.path(BASE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let revision = text.parse().map_err(|_| OpenError::corrupt(&path, "it holds no revision"))?;
            Base::open(&directory.path(&name_of(CHECKPOINT, Revision(revision))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Base::default()),
        Err(error) => Err(OpenError::io(&path, &error)),
    }
}

/// The last checkpoint that can be read. Older ones serve as well: the journal goes back to the base.
fn load(directory: &Directory, base: Revision) -> Result<(Fold, Revision), OpenError> {
    let mut checkpoints = directory.revisions(CHECKPOINT).map_err(|error| OpenError::io(directory.root(), &error))?;
    let mut damaged = None;
    while let Some(revision) = checkpoints.pop().filter(|revision| *revision >= base) {
        let mut fold = Fold::default();
        match checkpoint::read(&directory.path(&name_of(CHECKPOINT, revision)), |object, _, _| fold.load(object)) {
            Ok(contents) => {
                fold.start(contents);
                return Ok((fold, revision));
            }
            Err(error) => damaged = damaged.or(Some(error)),
        }
    }
    match damaged {
        Some(error) if base > Revision(0) => Err(error),
        _ => Ok((Fold::default(), Revision(0))),
    }
}

fn replay(directory: &Directory, fold: &mut Fold, after: Revision, bytes: &[u8]) -> Result<(), OpenError> {
    let record = Record::decode(bytes);
    let record = record.map_err(|error| OpenError::corrupt(directory.root(), error.to_string()))?;
    if record.revision <= after {
        return Ok(());
    }
    let (revision, link) = (record.revision, fold.link);
    fold.replay(&record).map_err(|_| {
        OpenError::corrupt(directory.root(), format!("the journal's entry {revision} does not follow on {link}"))
    })
}

enum Trouble {
    Directory(OpenError),
    /// The store is not what it should be; the journal is.
    Store(Broken),
}

/// Opens the store and, unless it was left cleanly, compares it with the journal, record by record.
fn open_store(directory: &Directory, link: Revision, base: Revision, was_clean: bool) -> Result<(Store, u64), Trouble> {
    // sled panics on some of what it cannot read.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let store = Store::open(&directory.path(STORE))?;
        let last = store.last(Revision(u64::MAX - 1))?;
        Ok((store, last))
    }));
    let (store, last) = opened.unwrap_or_else(|_| Err(Broken("sled gave up".to_owned()))).map_err(Trouble::Store)?;
    if was_clean && last == if link > base { link } else { last.min(base) } {
        return Ok((store, 0));
    }
    let checked = catch_unwind(AssertUnwindSafe(|| compare(directory, &store, base)));
    let missing = checked.unwrap_or_else(|_| Err(Trouble::Store(Broken("sled gave up".to_owned()))))?;
    let count = missing.len() as u64;
    put(&store, missing.into_iter()).map_err(Trouble::Store)?;
    Ok((store, count))
}

/// What the store misses at its end. Anything else that differs says that it is damaged.
fn compare(directory: &Directory, store: &Store, base: Revision) -> Result<Vec<(Record, Vec<u8>)>, Trouble> {
    let mut held = store.range(base, Revision(u64::MAX - 1));
    let mut missing = Vec::new();
    let mut trouble = Ok(());
    let (mut last, mut sum) = (base, 0_u64);
    let mut one = |bytes: &[u8]| -> Result<(), Broken> {
        let record = Record::decode(bytes)?;
        if record.revision <= base {
            return Ok(());
        }
        let next: Option<(Revision, Bytes)> = if missing.is_empty() { held.next().transpose()? } else { None };
        match next {
            Some((revision, found)) if revision == record.revision && found == bytes => {
                last = revision;
                sum = sum.wrapping_add(index_sum(&record));
            }
            Some(_) => return Err(Broken(format!("revision {} is missing or damaged", record.revision))),
            None => missing.push((record, bytes.to_vec())),
        }
        Ok(())
    };
    let read = journal::read(directory, base, |frame| {
        if trouble.is_ok() {
            trouble = frame.records.iter().try_for_each(|bytes| one(bytes));
        }
        Ok(())
    });
    read.map_err(Trouble::Directory)?;
    trouble.map_err(Trouble::Store)?;
    if store.sum_of_index(base, last).map_err(Trouble::Store)? != sum {
        return Err(Trouble::Store(Broken("the index does not fit the records".to_owned())));
    }
    Ok(missing)
}

fn put(store: &Store, records: impl Iterator<Item = (Record, Vec<u8>)>) -> Result<(), Broken> {
    let mut records = records.peekable();
    while records.peek().is_some() {
        let group: VecDeque<_> = records.by_ref().take(GROUP).collect();
        store.apply(group.iter().map(|(record, bytes)| (record, &bytes[..])))?;
    }
    Ok(())
}

/// A new store from the journal.
fn rebuild(directory: &Directory, base: Revision) -> Result<Store, OpenError> {
    let path = directory.path(STORE);
    // A full disk, say; the journal was read before.
    let failed = |error: Broken| OpenError::Io { path: path.clone(), message: error.0 };
    let removed = store::released(&path).and_then(|()| fs::remove_dir_all(&path));
    removed.map_err(|error| OpenError::io(&path, &error))?;
    let store = Store::open(&path).map_err(failed)?;
    let mut group = Vec::new();
    journal::read(directory, base, |frame| {
        for bytes in frame.records {
            let record = Record::decode(bytes).map_err(|error| failed(error.into()))?;
            if record.revision > base {
                group.push((record, bytes.to_vec()));
            }
        }
        if group.len() >= GROUP {
            put(&store, group.drain(..)).map_err(failed)?;
        }
        Ok(())
    })?;
    put(&store, group.into_iter()).map_err(failed)?;
    Ok(store)
}

/// Entries that the store has and the journal lost go on where the journal ends; others are no entries of this log. The
/// inner result is the journal's, the outer one the store's.
fn surplus(store: &Store, fold: &mut Fold, journal: &mut Journal, count: &mut u64) -> Result<io::Result<()>, Broken> {
    for found in store.range(fold.link, Revision(u64::MAX - 1)) {
        let (_, bytes) = found?;
        fold.replay(&Record::decode(&bytes)?)?;
        fold.ceiling = fold.ceiling.max(fold.head);
        if let Err(error) = journal.append(std::iter::once(&bytes[..]), fold.ceiling) {
            return Ok(Err(error));
        }
        *count += 1;
    }
    Ok(Ok(()))
}
