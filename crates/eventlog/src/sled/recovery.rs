// SPDX-License-Identifier: Apache-2.0
//! Opening: the last checkpoint, the journal after it, and a store with exactly the records of the journal.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;

use crate::entry::Revision;

use super::checkpoint::{self, Base, Head};
use super::directory::{Directory, holds_more, name_of};
use super::journal::{self, Journal};
use super::keeper::{BASE, CHECKPOINT, forget};
use super::reached::{self, Reach, Reached, ReachedFile};
use super::record::Record;
use super::state::Fold;
use super::store::{self, Broken, Ready, Store, index_sum};
use super::{CLEAN, OpenError, Recovery, STORE, repair, survey};

/// Number of records that are restored to the store at once.
const GROUP: usize = 256;

/// All records.
const END: Revision = Revision(u64::MAX - 1);

/// A log, ready to be written.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fold: Fold,
    pub(super) journal: Journal,
    pub(super) reached: Reached,
    pub(super) store: Store,
    pub(super) base: Base,
    pub(super) checkpoint: Revision,
    pub(super) recovery: Recovery,
}

/// A log that is only read.
#[derive(Debug)]
pub(super) struct ReadOnly {
    pub(super) fold: Fold,
    pub(super) store: Store,
    pub(super) base: Base,
    pub(super) recovery: Recovery,
}

/// Opens a log. Damage that the store can repair is repaired.
pub(super) fn open(directory: &Directory) -> Result<Opened, OpenError> {
    let error = match attempt(directory) {
        Err(error @ OpenError::Corrupt { .. }) => error,
        other => return other,
    };
    let Some(healed) = repair::heal(directory)? else { return Err(error) };
    let mut opened = attempt(directory)?;
    opened.recovery.healed.splice(0..0, healed);
    Ok(opened)
}

fn attempt(directory: &Directory) -> Result<Opened, OpenError> {
    let mark = fs::read(directory.path(CLEAN)).ok();
    let opened = unmarked(directory);
    if let (Err(_), Some(mark)) = (&opened, mark) {
        // The mark names the revision that the next attempt must reach.
        let _ = directory.replace(CLEAN, &mark);
    }
    opened
}

fn unmarked(directory: &Directory) -> Result<Opened, OpenError> {
    let io = |error: io::Error| OpenError::io(directory.root(), &error);
    let mut recovery = Recovery::default();
    let base = base(directory, None)?;
    let (mut fold, checkpoint, end, marks) = fold(directory, &base, &mut recovery)?;
    // An incomplete log is not changed: its remaining files may be the only copy.
    marks.must_be_reached(directory, fold.link)?;
    let was_clean = marks.clean == Some(fold.link);
    let is_later = was_clean && directory.store().join("db").exists();
    let sled = (!is_later).then(|| open_sled(directory));
    if !was_clean {
        let journals = end_of_journals(directory, &base.head, checkpoint, fold.link)?;
        let store = sled.as_ref().and_then(|sled| sled.as_ref().ok());
        let shown = store.map_or(fold.link, |(store, _)| next(store, fold.link));
        marks.must_be_of_one_time(directory, journals, shown)?;
    }
    let mut journal = Journal::resume(directory, fold.head, end, fold.ceiling).map_err(io)?;
    directory.remove(CLEAN).map_err(io)?;
    directory.sync().map_err(io)?;
    let store = match sled {
        None => later(directory, base.head, fold.link),
        Some(sled) => checked(directory, sled, &base, &mut fold, &mut journal, &mut recovery)?,
    };
    let reach = Reach { link: fold.link, ceiling: fold.ceiling };
    let reached = Reached::create(directory, reach).map_err(io)?;
    // Revisions that heartbeats may have used are not used again.
    fold.head = fold.head.max(fold.ceiling);
    Ok(Opened { fold, journal, reached, store, base, checkpoint, recovery })
}

/// Store that was closed cleanly. The time in which sled opens it grows with the history, so a start does not wait for it.
fn later(directory: &Directory, base: Head, link: Revision) -> Store {
    let opened = directory.clone();
    let open = move || {
        let directory = &opened;
        let reason = match open_sled(directory) {
            Ok((store, last)) if is_as_left(last, link, &base) => return store.ready(),
            Ok((_, last)) => format!("it ends at revision {last}, and was left at {link}"),
            Err(reason) => reason.0,
        };
        // The journals are appended to meanwhile: new records are given to the store as usual.
        let rebuilt = rebuild(directory, &base, link).map_err(|error| Broken(error.to_string()))?;
        // A read flushes the gathered records to sled: only sled is passed on.
        rebuilt.last(END)?;
        Ok(Ready { rebuilt: Some(reason), ..rebuilt.ready()? })
    };
    Store::later(directory.store(), Box::new(open))
}

/// Store that was compared with the journals and has their records.
fn checked(
    directory: &Directory,
    sled: Result<(Store, Revision), Broken>,
    base: &Base,
    fold: &mut Fold,
    journal: &mut Journal,
    recovery: &mut Recovery,
) -> Result<Store, OpenError> {
    let io = |error: io::Error| OpenError::io(directory.root(), &error);
    let store = match check_store(directory, sled, fold.link, &base.head, false) {
        Ok((store, put_back)) => {
            recovery.put_back = put_back;
            store
        }
        Err(Trouble::Directory(error)) => return Err(error),
        Err(Trouble::Store(reason)) => {
            recovery.rebuilt = Some(reason.0);
            rebuild(directory, &base.head, END)?
        }
    };
    let tidied = catch_unwind(AssertUnwindSafe(|| {
        let io = surplus(&store, fold, journal, &mut recovery.from_store)?;
        forget(directory, &store, base.revision())?;
        Ok(io)
    }));
    match tidied.unwrap_or_else(|_| Err(Broken("sled gave up".to_owned()))) {
        Ok(written) => written.map(|()| store).map_err(io),
        Err(reason) => {
            recovery.rebuilt = Some(reason.0);
            drop(store);
            rebuild(directory, &base.head, END)
        }
    }
}

/// Like [`open`], but writes nothing except sled's copy.
pub(super) fn open_read_only(directory: &Directory) -> Result<ReadOnly, OpenError> {
    let mut recovery = Recovery::default();
    let base = base(directory, Some(&mut recovery))?;
    let (mut fold, checkpoint, _, marks) = fold(directory, &base, &mut recovery)?;
    let journals = end_of_journals(directory, &base.head, checkpoint, fold.link)?;
    let copied = copy(&directory.path(STORE), directory.store());
    let opened = match copied {
        Ok(()) => {
            let sled = open_sled(directory);
            check_store(directory, sled, fold.link, &base.head, marks.clean == Some(fold.link))
        }
        Err(error) => Err(Trouble::Store(Broken(error.to_string()))),
    };
    let store = match opened {
        Ok((store, _)) => store,
        Err(Trouble::Directory(error)) => return Err(error),
        Err(Trouble::Store(_)) => rebuild(directory, &base.head, END)?,
    };
    // Records that only the store has are read from there; a process that may write adds them to the journal.
    for found in store.range(fold.link, END) {
        let applied = found.and_then(|(_, bytes)| Ok(fold.replay(&Record::decode(&bytes)?)?));
        if applied.is_err() {
            break;
        }
        recovery.from_store += 1;
    }
    marks.must_be_reached(directory, fold.link)?;
    marks.must_be_of_one_time(directory, journals, fold.link)?;
    fold.head = fold.head.max(fold.ceiling);
    Ok(ReadOnly { fold, store, base, recovery })
}

/// The end of a log by files other than its journals.
#[derive(Debug)]
struct Marks {
    /// The last record at a clean stop.
    clean: Option<Revision>,
    /// The last group.
    reached: ReachedFile,
}

impl Marks {
    fn of(directory: &Directory, recovery: &mut Recovery) -> Result<Self, OpenError> {
        let clean = fs::read_to_string(directory.path(CLEAN)).ok().and_then(|link| link.parse().ok()).map(Revision);
        let found = reached::read(directory.root()).map_err(|error| OpenError::io(directory.root(), &error))?;
        let at = directory.path(reached::REACHED);
        match found {
            ReachedFile::Damaged => {
                recovery.healed.push(format!("`{}`: its checksum is wrong; it was written again", at.display()));
            }
            ReachedFile::Removed => {
                recovery.healed.push(format!("`{}` was removed; it was written again", at.display()));
            }
            ReachedFile::Reach(_) | ReachedFile::Unwritten => {}
        }
        Ok(Self { clean, reached: found })
    }

    /// Last revision that they name.
    fn known(&self) -> Revision {
        self.clean.max(self.reached.reach().map(|reach| reach.link)).unwrap_or_default()
    }

    /// Checks that a log whose `journals` end at a revision is `shown` by its store and its checkpoints to go on to no
    /// revision after it that no mark names. They get a record when the journal has it and `REACHED` names it, so after
    /// a crash the journal has every record of theirs. If it lacks some, journals and marks are of an earlier time, and
    /// the store, which may lack the last records, does not show how many others are lost. Logs of earlier versions
    /// name no end, and are completed from the store.
    fn must_be_of_one_time(&self, directory: &Directory, journals: Revision, shown: Revision) -> Result<(), OpenError> {
        if self.reached == ReachedFile::Unwritten || shown <= journals.max(self.known()) {
            return Ok(());
        }
        let what = format!("its journals end at revision {journals}, and the log went on to {shown} at least");
        Err(OpenError::corrupt(directory.root(), what))
    }

    /// Checks that a log reaches at least its clean stop and its last acknowledged group.
    fn must_be_reached(&self, directory: &Directory, link: Revision) -> Result<(), OpenError> {
        let known = self.known();
        if known <= link {
            return Ok(());
        }
        let missing = known.0 - link.0;
        Err(OpenError::corrupt(
            directory.root(),
            format!(
                "it had reached revision {known}, and nothing after {link} is found: {missing} revisions are missing"
            ),
        ))
    }
}

/// Copies sled's files.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
            // A copy of a read-only file would be read-only.
            fs::set_permissions(to.join(file.file_name()), fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Folds the last checkpoint and the journal after it; returns also the end that the log must reach.
fn fold(
    directory: &Directory,
    base: &Base,
    recovery: &mut Recovery,
) -> Result<(Fold, Revision, journal::End, Marks), OpenError> {
    let (mut fold, checkpoint) = load(directory, base.revision())?;
    let mut ceiling = fold.head;
    let end = journal::read(directory, fold.head, |frame| {
        ceiling = frame.ceiling;
        frame.records.iter().try_for_each(|bytes| replay(directory, &mut fold, checkpoint, bytes))
    })?;
    let marks = Marks::of(directory, recovery)?;
    fold.ceiling = ceiling.max(fold.head).max(marks.reached.reach().map_or(Revision(0), |reach| reach.ceiling));
    // A clean stop that names an earlier end is a damaged mark.
    let is_unknown = marks.reached.reach().is_none() && marks.clean != Some(fold.link);
    if is_unknown && marks.reached.is_lost() && end.is_cut() {
        return Err(OpenError::corrupt(directory.root(), reached::unknown_end(end.torn, marks.reached)));
    }
    if end.torn > 0 {
        (recovery.torn, recovery.ends, recovery.end_is_unknown) = (end.torn, fold.link, is_unknown);
    }
    if end.is_empty() && holds_more(directory.root()) {
        return Err(OpenError::corrupt(directory.root(), "its journals are missing"));
    }
    Ok((fold, checkpoint, end, marks))
}

/// Revision of the last record in the journals of a log that was folded from a checkpoint up to a revision: an earlier
/// one if they are older than the checkpoint.
fn end_of_journals(
    directory: &Directory,
    base: &Head,
    checkpoint: Revision,
    link: Revision,
) -> Result<Revision, OpenError> {
    // A file of the journal is begun with every checkpoint.
    let last = directory.revisions(journal::PREFIX).map_err(|error| OpenError::io(directory.root(), &error))?.pop();
    if last.is_some_and(|last| last > checkpoint) {
        return Ok(link);
    }
    Ok(survey::last_link(directory.root())?.max(base.link))
}

/// Revision of the record that a store has after the last one of the journals; that one's if there is none.
fn next(store: &Store, link: Revision) -> Revision {
    // sled panics on some unreadable files; those are judged when the store is compared.
    let found = catch_unwind(AssertUnwindSafe(|| store.range(link, END).next()));
    let Some(Ok((revision, bytes))) = found.ok().flatten() else { return link };
    let follows = |record: &Record| record.link == link && record.revision == revision;
    Record::decode(&bytes).ok().filter(follows).map_or(link, |record| record.revision)
}

/// Opens the checkpoint at which history begins. `guesses`: a reader may use the first one that fits, and loses
/// nothing by it.
fn base(directory: &Directory, guesses: Option<&mut Recovery>) -> Result<Base, OpenError> {
    let io = |error: io::Error| OpenError::io(directory.root(), &error);
    let path = directory.path(BASE);
    let error = match fs::read_to_string(&path) {
        Ok(text) => match text.parse() {
            Ok(revision) => return Base::open(&directory.path(&name_of(CHECKPOINT, Revision(revision)))),
            Err(_) => OpenError::corrupt(&path, "it holds no revision"),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenError::corrupt(&path, "it is missing"),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => OpenError::corrupt(&path, "it holds no text"),
        Err(error) => return Err(OpenError::io(&path, &error)),
    };
    let first = directory.revisions(journal::PREFIX).map_err(io)?.first().copied();
    if first.is_none_or(|first| first <= Revision(1)) {
        // The journals go back to the beginning.
        return Ok(Base::default());
    }
    let Some(recovery) = guesses else { return Err(error) };
    for revision in directory.revisions(CHECKPOINT).map_err(io)? {
        if first.is_some_and(|first| revision.0 + 1 >= first.0)
            && let Ok(base) = Base::open(&directory.path(&name_of(CHECKPOINT, revision)))
        {
            recovery.healed.push(format!("{error}: what is before revision {revision} is not read"));
            return Ok(base);
        }
    }
    Err(error)
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
    /// The store is damaged; the journal is not.
    Store(Broken),
}

/// Opens sled; returns also the revision of its last record.
fn open_sled(directory: &Directory) -> Result<(Store, Revision), Broken> {
    // sled panics on some unreadable files.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let store = Store::open(directory.store())?;
        let last = store.last(END)?;
        Ok((store, last))
    }));
    opened.unwrap_or_else(|_| Err(Broken("sled gave up".to_owned())))
}

/// True if a store ends at the revision of the clean stop.
fn is_as_left(last: Revision, link: Revision, base: &Head) -> bool {
    last == if link > base.revision { link } else { last.min(base.revision) }
}

/// Compares an opened store, unless it was left cleanly, with the journal, record by record.
fn check_store(
    directory: &Directory,
    sled: Result<(Store, Revision), Broken>,
    link: Revision,
    base: &Head,
    was_clean: bool,
) -> Result<(Store, u64), Trouble> {
    let (store, last) = sled.map_err(Trouble::Store)?;
    if was_clean && is_as_left(last, link, base) {
        return Ok((store, 0));
    }
    let checked = catch_unwind(AssertUnwindSafe(|| compare(directory, &store, base)));
    let missing = checked.unwrap_or_else(|_| Err(Trouble::Store(Broken("sled gave up".to_owned()))))?;
    let count = missing.len() as u64;
    put(&store, missing.into_iter()).map_err(Trouble::Store)?;
    Ok((store, count))
}

/// Returns the records that the store lacks at its end. Any other difference is an error: the store is damaged.
fn compare(directory: &Directory, store: &Store, head: &Head) -> Result<Vec<(Record, Vec<u8>)>, Trouble> {
    // Incomplete journals cannot be compared with the store.
    whole(directory, head).map_err(Trouble::Directory)?;
    let base = head.revision;
    let mut held = store.range(base, END);
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

/// Creates a new store in place of one that failed and may still be in use by a reader.
pub(super) fn remake(directory: &Directory, head: &Head) -> Result<Store, OpenError> {
    let (path, failed) = (directory.store(), directory.path("store-failed"));
    for step in [fs::rename(path, &failed), fs::remove_dir_all(&failed)] {
        match step {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(OpenError::io(path, &error)),
            _ => {}
        }
    }
    let made = catch_unwind(AssertUnwindSafe(|| rebuild(directory, head, END)));
    made.unwrap_or_else(|_| Err(OpenError::corrupt(path, "sled gave up")))
}

/// Checks that the journals go back to the base, and that each record follows on the one before it.
fn whole(directory: &Directory, base: &Head) -> Result<(), OpenError> {
    let mut link = base.link;
    journal::read(directory, base.revision, |frame| {
        for bytes in frame.records {
            let record = Record::decode(bytes);
            let record = record.map_err(|error| OpenError::corrupt(directory.root(), error.to_string()))?;
            if record.revision <= base.revision {
                continue;
            }
            if record.link != link {
                let what = format!("what came after revision {link} is missing in its journals");
                return Err(OpenError::corrupt(directory.root(), what));
            }
            link = record.revision;
        }
        Ok(())
    })
    .map(drop)
}

/// A new store from the journal, with its records up to a revision.
fn rebuild(directory: &Directory, head: &Head, to: Revision) -> Result<Store, OpenError> {
    whole(directory, head)?;
    let base = head.revision;
    let path = directory.store().to_owned();
    // For example a full disk; the journal was read before.
    let failed = |error: Broken| OpenError::Io { path: path.clone(), message: error.0 };
    let removed = store::released(&path).and_then(|()| match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
    removed.map_err(|error| OpenError::io(&path, &error))?;
    let store = Store::open(&path).map_err(failed)?;
    let mut group = Vec::new();
    journal::read(directory, base, |frame| {
        for bytes in frame.records {
            let record = Record::decode(bytes).map_err(|error| failed(error.into()))?;
            if record.revision > base && record.revision <= to {
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

/// Adds entries that the store has and the journal lost to the journal's end; other entries are not of this log. The
/// inner result is the journal's, the outer one the store's.
fn surplus(store: &Store, fold: &mut Fold, journal: &mut Journal, count: &mut u64) -> Result<io::Result<()>, Broken> {
    for found in store.range(fold.link, END) {
        let (_, bytes) = found?;
        fold.replay(&Record::decode(&bytes)?)?;
        fold.ceiling = fold.ceiling.max(fold.head);
        if let Err(error) = journal.append(std::iter::once(&bytes[..]), fold.ceiling) {
            return Ok(Err(error.into()));
        }
        *count += 1;
    }
    Ok(Ok(()))
}
