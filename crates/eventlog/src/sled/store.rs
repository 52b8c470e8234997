// SPDX-License-Identifier: Apache-2.0
//! The store in sled: records by revision, and by object and revision.
//!
//! ```text
//! e · revision (8) · part (2)        a piece of a record, at most 4 KiB; part 0 opens with the number of parts (2)
//! i · key, ordered · revision (8)    verb (1)                                        numbers: big endian
//! key, ordered = cluster · resource · namespace · name, each with 0 written as 0 255 and ended by 0 0
//! ```
//!
//! One tree, because a batch is atomic within one tree only. No value is above 4 KiB: sled keeps larger pages in files
//! of their own, which it never syncs.
//!
//! Each batch wakes sled's threads some twenty times, regardless of its size. So records are gathered, and given to
//! sled when there are [`GATHERED`] of them or at a read. Until then only the journal has them.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use sled::{Batch, Db, IVec};

use crate::codec::{verb_byte, verb_of};
use crate::entry::{Key, Revision, Verb};
use crate::splice::checksum;

use super::insist::insist;
use super::record::Record;
use super::trouble::is_full;

/// Maximum bytes of a value.
pub(super) const MAX_VALUE: usize = 4096;

/// Maximum number of parts; no record has as many.
const MAX_PARTS: usize = u16::MAX as usize;

/// Maximum number of records, and of their bytes, that are gathered before sled gets them.
const GATHERED: (usize, usize) = (256, 1 << 20);

/// Bytes that sled may keep in memory.
const CACHE: u64 = 16 << 20;

/// Error of a store that cannot be used: sled's error, or invalid content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Broken(pub(super) String);

impl From<sled::Error> for Broken {
    fn from(error: sled::Error) -> Self {
        match error {
            // The text of a copy of sled's error is Rust's debug form.
            sled::Error::Io(error) if is_full(&error) => Self("no space is left on the disk".to_owned()),
            // The system's text; sled's has Rust's debug form.
            sled::Error::Io(error) => Self(error.to_string()),
            error => Self(error.to_string()),
        }
    }
}

impl From<crate::splice::Corrupt> for Broken {
    fn from(error: crate::splice::Corrupt) -> Self {
        Self(error.to_string())
    }
}

type Result<T> = std::result::Result<T, Broken>;

/// An object of the index: its position, and a change of it.
pub(super) type Indexed = (Vec<u8>, Option<(Revision, Verb)>);

/// The store; sled may open it later. Cheap to clone.
#[derive(Clone)]
pub(super) struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    db: OnceLock<Result<Ready>>,
    open: Box<dyn Fn() -> Result<Ready> + Send + Sync>,
    gathered: Mutex<Gathered>,
}

impl Drop for Inner {
    /// sled flushes when its last handle is dropped, and may wait without end: nothing may be left to flush then.
    fn drop(&mut self) {
        if let Some(Ok(ready)) = self.db.get() {
            let db = ready.db.clone();
            let _ = insist(move || db.flush());
        }
    }
}

/// sled, open.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) db: Db,
    /// Reason for which the store was rebuilt from the journals; None if it was not.
    pub(super) rebuilt: Option<String>,
}

/// Records that sled does not have yet.
#[derive(Default)]
struct Gathered {
    batch: Batch,
    count: usize,
    bytes: usize,
    /// Error with which sled refused earlier ones: its contents have a hole, and must not be read any more.
    failed: Option<Broken>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Gathered {
    /// Gives the gathered records to sled, as one atomic batch.
    fn settle(&mut self, db: &Db) -> Result<()> {
        if self.count > 0 && self.failed.is_none() {
            let batch = std::mem::take(self).batch;
            // sled panics on some errors.
            let applied = catch_unwind(AssertUnwindSafe(|| db.apply_batch(batch)));
            self.failed = match applied {
                Ok(applied) => applied.err().map(Broken::from),
                Err(_) => Some(Broken("sled gave up".to_owned())),
            };
        }
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl Store {
    /// Opens the store of a log whose lock the caller holds. Blocks while threads of sled's still work for a store
    /// that was open at this path before.
    pub(super) fn open(path: &Path) -> Result<Self> {
        released(path).map_err(sled::Error::Io)?;
        let db = sled::Config::new().path(path).cache_capacity(CACHE).open()?;
        let ready = Ready { db, rebuilt: None };
        let store = Self::later(path, Box::new(|| Err(Broken("it is open".to_owned()))));
        let _ = store.0.db.set(Ok(ready));
        Ok(store)
    }

    /// Store that is opened by a function at the first read or by [`Store::ready`], since the time that sled needs grows with
    /// the history; records are gathered until then.
    pub(super) fn later(path: &Path, open: Box<dyn Fn() -> Result<Ready> + Send + Sync>) -> Self {
        let (db, gathered) = (OnceLock::new(), Mutex::default());
        Self(Arc::new(Inner { path: path.to_owned(), db, open, gathered }))
    }

    /// Opens the store unless it is open. Blocks.
    pub(super) fn ready(&self) -> Result<Ready> {
        self.0.db.get_or_init(|| (self.0.open)()).clone()
    }

    /// Reason for which the store was rebuilt from the journals when it was opened after the start.
    pub(super) fn rebuilt(&self) -> Option<String> {
        self.0.db.get()?.as_ref().ok()?.rebuilt.clone()
    }

    /// Adds records. They are readable at once; sled gets them later, so that an error may be that of earlier ones.
    pub(super) fn apply<'a>(&self, records: impl Iterator<Item = (&'a Record, &'a [u8])>) -> Result<()> {
        let mut gathered = self.0.gathered.lock();
        if let Some(failed) = &gathered.failed {
            return Err(failed.clone());
        }
        for (record, bytes) in records {
            let parts = parts(bytes);
            for (number, part) in parts.into_iter().enumerate() {
                gathered.batch.insert(&entry_key(record.revision, number)[..], part);
            }
            gathered.batch.insert(index_key(&record.key, record.revision), &[verb_byte(record.verb)]);
            gathered.count += 1;
            gathered.bytes += bytes.len();
            if (gathered.count >= GATHERED.0 || gathered.bytes >= GATHERED.1)
                && let Some(ready) = self.0.db.get()
            {
                gathered.settle(&ready.clone()?.db)?;
            }
        }
        Ok(())
    }

    /// Returns sled's database with every record that was added.
    fn settled(&self) -> Result<Db> {
        let db = self.ready()?.db;
        self.0.gathered.lock().settle(&db)?;
        Ok(db)
    }

    /// Writes gathered records to sled; with `sync` down to the disk, which sled's own flush does not do.
    pub(super) fn flush(&self, sync: bool) -> Result<()> {
        if self.0.db.get().is_none() && self.0.gathered.lock().count == 0 {
            // Nothing has been written since the last flush.
            return Ok(());
        }
        let db = self.settled()?;
        insist(move || db.flush()).ok_or_else(|| Broken("sled gave up".to_owned()))??;
        if sync {
            let synced = File::open(self.0.path.join("db")).and_then(|file| file.sync_all());
            synced.map_err(|error| Broken(format!("cannot sync sled's file: {error}")))?;
        }
        Ok(())
    }

    /// Revision of the last record at or before a revision; 0 without any.
    pub(super) fn last(&self, at: Revision) -> Result<Revision> {
        let last = self.settled()?.get_lt(entry_key(Revision(at.0.saturating_add(1)), 0))?;
        Ok(last.and_then(|(key, _)| revision_of_entry(&key)).unwrap_or_default())
    }

    /// Bytes of the record at a revision.
    pub(super) fn get(&self, revision: Revision) -> Result<Option<Bytes>> {
        let db = self.settled()?;
        let Some(first) = db.get(entry_key(revision, 0))? else { return Ok(None) };
        let mut part = 0;
        join(first, || {
            part += 1;
            Ok(db.get(entry_key(revision, part))?)
        })
        .map(Some)
    }

    /// The record at a revision.
    pub(super) fn record(&self, revision: Revision) -> Result<Record> {
        let bytes = self.get(revision)?.ok_or_else(|| Broken(format!("revision {revision} is missing")))?;
        Ok(Record::decode(&bytes)?)
    }

    /// Records with `from < revision <= to`, in order.
    pub(super) fn range(&self, from: Revision, to: Revision) -> impl Iterator<Item = Result<(Revision, Bytes)>> {
        let last = entry_key(to, MAX_PARTS);
        let (mut pieces, mut refused) = match self.settled() {
            Ok(db) => (Some(db.range(entry_key(Revision(from.0 + 1), 0)..=last)), None),
            Err(error) => (None, Some(error)),
        };
        std::iter::from_fn(move || {
            let Some(pieces) = &mut pieces else { return refused.take().map(Err) };
            let (key, first) = match pieces.next()? {
                Ok(piece) => piece,
                Err(error) => return Some(Err(error.into())),
            };
            let Some(revision) = revision_of_entry(&key) else { return Some(Err(Broken("a key is malformed".into()))) };
            let joined = join(first, || match pieces.next() {
                Some(piece) => {
                    let (key, piece) = piece?;
                    Ok(Some(piece).filter(|_| revision_of_entry(&key) == Some(revision)))
                }
                None => Ok(None),
            });
            Some(joined.map(|bytes| (revision, bytes)))
        })
    }

    /// Returns the next object of the index after a position, in key order: its position, and its last change at or
    /// before a revision, if there is one.
    pub(super) fn next_object(&self, after: &[u8], at: Revision) -> Result<Option<Indexed>> {
        let from = if after.is_empty() { vec![b'i'] } else { with_revision(after, Revision(u64::MAX)) };
        let db = self.settled()?;
        let Some((found, _)) = db.get_gt(from)?.filter(|(key, _)| key.first() == Some(&b'i')) else {
            return Ok(None);
        };
        let prefix = found[..found.len().saturating_sub(8)].to_vec();
        let last = db.get_lt(with_revision(&prefix, Revision(at.0.saturating_add(1))))?;
        let last = last.filter(|(found, _)| is_change_of(&prefix, found)).map(|(found, verb)| change(&found, &verb));
        Ok(Some((prefix, last.transpose()?)))
    }

    /// A sum over the index of records with `from < revision <= to`; see [`index_sum`].
    pub(super) fn sum_of_index(&self, from: Revision, to: Revision) -> Result<u64> {
        let mut sum = 0_u64;
        for found in self.settled()?.scan_prefix([b'i']) {
            let (key, verb) = found?;
            let (revision, _) = change(&key, &verb)?;
            if from < revision && revision <= to {
                sum = sum.wrapping_add(checksum(&key));
            }
        }
        Ok(sum)
    }

    /// Forgets records up to a revision.
    pub(super) fn drop_up_to(&self, to: Revision) -> Result<()> {
        loop {
            let (mut batch, mut count) = (Batch::default(), 0);
            for found in self.range(Revision(0), to).take(256) {
                let (revision, bytes) = found?;
                for part in 0..parts(&bytes).len() {
                    batch.remove(&entry_key(revision, part)[..]);
                }
                batch.remove(index_key(&Record::decode(&bytes)?.key, revision));
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            self.ready()?.db.apply_batch(batch)?;
        }
    }

    /// Bytes on disk.
    pub(super) fn size(&self) -> u64 {
        let files = std::fs::read_dir(&self.0.path).into_iter().flatten().filter_map(io::Result::ok);
        files.filter_map(|file| file.metadata().ok()).filter(Metadata::is_file).map(|file| file.len()).sum()
    }
}

/// Waits until no thread of sled's uses the store at a path any more. Dropping sled's handle does not wait for the
/// threads that write and clean up in the background; each of them keeps sled's lock on its file.
pub(super) fn released(path: &Path) -> io::Result<()> {
    match File::open(path.join("db")) {
        Ok(file) => file.lock(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Splits a record into parts, the first with their number in front.
fn parts(record: &[u8]) -> Vec<Vec<u8>> {
    let (first, rest) = record.split_at(record.len().min(MAX_VALUE - 2));
    let rest = rest.chunks(MAX_VALUE);
    let count = u16::try_from(1 + rest.len()).expect("an object is limited to 1.5 MiB");
    let mut parts = vec![[&count.to_be_bytes()[..], first].concat()];
    parts.extend(rest.map(<[u8]>::to_vec));
    parts
}

fn join(first: IVec, mut next: impl FnMut() -> Result<Option<IVec>>) -> Result<Bytes> {
    let (count, bytes) = first.split_first_chunk::<2>().ok_or(crate::splice::Corrupt)?;
    let mut joined = bytes.to_vec();
    for _ in 1..u16::from_be_bytes(*count) {
        joined.extend_from_slice(&next()?.ok_or(crate::splice::Corrupt)?);
    }
    Ok(joined.into())
}

fn entry_key(revision: Revision, part: usize) -> [u8; 11] {
    let part = u16::try_from(part).expect("an object is limited to 1.5 MiB");
    let mut key = [b'e'; 11];
    key[1..9].copy_from_slice(&revision.0.to_be_bytes());
    key[9..].copy_from_slice(&part.to_be_bytes());
    key
}

fn revision_of_entry(key: &[u8]) -> Option<Revision> {
    let (&kind, rest) = key.split_first()?;
    let (revision, _) = rest.split_first_chunk::<8>()?;
    (kind == b'e').then(|| Revision(u64::from_be_bytes(*revision)))
}

/// Decodes the key of a prefix from [`ordered`].
pub(super) fn key_of(prefix: &[u8]) -> Result<Key> {
    let mut texts: [Vec<u8>; 4] = Default::default();
    let mut bytes = prefix.iter().skip(1);
    for text in &mut texts {
        loop {
            match *bytes.next().ok_or(crate::splice::Corrupt)? {
                0 if bytes.next() == Some(&0) => break,
                byte => text.push(byte),
            }
        }
    }
    let text = |text: &[u8]| std::str::from_utf8(text).map(str::to_owned).map_err(|_| crate::splice::Corrupt);
    let [cluster, resource, namespace, name] = &texts;
    Ok(Key::new(&text(cluster)?, &text(resource)?, &text(namespace)?, &text(name)?))
}

/// Prefix of the index's keys about an object.
pub(super) fn ordered(key: &Key) -> Vec<u8> {
    let mut out = vec![b'i'];
    for text in [&key.cluster, &key.resource, &key.namespace, &key.name] {
        for &byte in text.as_bytes() {
            out.push(byte);
            if byte == 0 {
                out.push(255);
            }
        }
        out.extend_from_slice(&[0, 0]);
    }
    out
}

fn with_revision(prefix: &[u8], revision: Revision) -> Vec<u8> {
    [prefix, &revision.0.to_be_bytes()].concat()
}

fn index_key(key: &Key, revision: Revision) -> Vec<u8> {
    with_revision(&ordered(key), revision)
}

/// Contribution of a record to the sum over the index.
pub(super) fn index_sum(record: &Record) -> u64 {
    checksum(&index_key(&record.key, record.revision))
}

fn is_change_of(prefix: &[u8], key: &[u8]) -> bool {
    key.len() == prefix.len() + 8 && key.starts_with(prefix)
}

fn change(key: &[u8], verb: &[u8]) -> Result<(Revision, Verb)> {
    let (_, revision) = key.split_last_chunk::<8>().ok_or(crate::splice::Corrupt)?;
    let &verb = verb.first().ok_or(crate::splice::Corrupt)?;
    Ok((Revision(u64::from_be_bytes(*revision)), verb_of(verb)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::Content;
    use super::super::tests::Scratch;
    use super::*;
    use crate::entry::Sections;

    #[test]
    fn records_are_read_before_sled_has_them() {
        let folder = Scratch::new();
        let store = Store::open(&folder).expect("a store");
        let record = |revision| Record {
            revision: Revision(revision),
            link: Revision(revision - 1),
            verb: Verb::Create,
            key: Key::new("garden", "shoots", "a", &revision.to_string()),
            time: chrono::DateTime::UNIX_EPOCH,
            actor: Arc::default(),
            writer: (1, revision),
            previous: Revision(0),
            content: Content::Whole(Sections::default()),
        };
        let add = |revisions: std::ops::RangeInclusive<u64>| {
            let records: Vec<_> = revisions.map(record).map(|record| (record.encode(), record)).collect();
            store.apply(records.iter().map(|(bytes, record)| (record, &bytes[..]))).expect("added");
        };
        add(1..=3);
        let length = || store.ready().expect("open").db.len();
        assert_eq!(length(), 0, "nothing was read yet");
        assert_eq!(store.last(Revision(9)), Ok(Revision(3)));
        assert_eq!(length(), 6, "a record and its place in the index each");
        add(4..=4);
        assert_eq!(store.clone().range(Revision(2), Revision(9)).count(), 2);
        add(5..=4 + GATHERED.0 as u64);
        assert_eq!(length(), 2 * (4 + GATHERED.0), "there were enough of them");
        // A failure stays: reads do not skip a hole.
        add(1_000..=1_000);
        store.0.gathered.lock().failed = Some(Broken("no".to_owned()));
        assert_eq!(store.range(Revision(0), Revision(9)).next(), Some(Err(Broken("no".to_owned()))));
        assert_eq!(store.range(Revision(0), Revision(9)).nth(1), None);
        assert!(store.record(Revision(1)).is_err() && store.sum_of_index(Revision(0), Revision(9)).is_err());
    }

    proptest! {
        #[test]
        fn keys_are_ordered_as_objects_are(
            a in proptest::array::uniform4("[\0\u{1}ab]{0,3}"), b in proptest::array::uniform4("[\0\u{1}ab]{0,3}"),
        ) {
            let key = |t: &[String; 4]| Key::new(&t[0], &t[1], &t[2], &t[3]);
            prop_assert_eq!(key(&a).cmp(&key(&b)), ordered(&key(&a)).cmp(&ordered(&key(&b))));
            prop_assert_eq!(key_of(&ordered(&key(&a))), Ok(key(&a)));
        }

        #[test]
        fn a_record_in_pieces_is_the_record(length in 0_usize..20_000) {
            let bytes: Vec<u8> = (0..length).map(|at| at.to_le_bytes()[0]).collect();
            let pieces = parts(&bytes);
            prop_assert!(pieces.iter().all(|piece| piece.len() <= MAX_VALUE));
            let mut pieces = pieces.into_iter().map(IVec::from);
            let first = pieces.next().expect("a first piece");
            prop_assert_eq!(join(first, || Ok(pieces.next())).expect("whole"), bytes);
        }
    }
}
