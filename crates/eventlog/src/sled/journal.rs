// SPDX-License-Identifier: Apache-2.0
//! The journal: every commit group as one frame at the end of a plain file, synced before it is acknowledged.
//!
//! ```text
//! journal-REVISION   its records are below the revision in the name of the next file: a new file with every checkpoint
//! frame              number of the frame (8 bytes), which rises by one · ceiling · records, each behind its length
//! ```
//!
//! A group is synced before the next one is written. So at most the last frame can be torn, and writes after an
//! acknowledged frame never touch its bytes. sled's file does not guarantee that (docs/adr/0006).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::codec::{Decoder, FRAME_OVERHEAD, put_bytes, put_frame, put_number, take_frame};
use crate::entry::Revision;

use super::directory::{Directory, name_of};
use super::record::Record;
use super::trouble::is_full;
use super::{Durability, History, OpenError};

pub(super) const PREFIX: &str = "journal";
const KIND: u8 = 1;

/// Bytes after which a file is ended, even if no checkpoint is due.
const FILE_BYTES: u64 = 64 << 20;

/// The end of the journal, for writing.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    length: u64,
    number: u64,
    durable: bool,
    scratch: Vec<u8>,
}

/// A commit group, or the first frame of a file.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// Highest revision that may be assigned without a later frame.
    pub(super) ceiling: Revision,
    /// Encoded records.
    pub(super) records: Vec<&'a [u8]>,
}

/// Position at which reading ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// Number of the last frame; 0 if there is none.
    number: u64,
    /// Bytes of frames in the last file.
    length: u64,
    /// Bytes after them, which were never acknowledged.
    pub(super) torn: u64,
}

/// Reason for which a frame was not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// There is no room; nothing of the frame is left, and the next one can be tried.
    Full(io::Error),
    /// The contents of the file are unknown.
    Broken(io::Error),
}

impl WriteError {
    fn of(error: io::Error) -> Self {
        if is_full(&error) { Self::Full(error) } else { Self::Broken(error) }
    }
}

impl From<WriteError> for io::Error {
    fn from(error: WriteError) -> Self {
        let (WriteError::Full(error) | WriteError::Broken(error)) = error;
        error
    }
}

impl End {
    /// Returns true if there is no file, or only one in which no frame can be read.
    pub(super) fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// True if the end of the last file cannot be read, or the file holds no frame although others do.
    pub(super) fn is_cut(&self) -> bool {
        self.torn > 0 || (self.length == 0 && !self.is_empty())
    }
}

impl Journal {
    /// Starts a new file for records after a revision. It begins with a frame, so that number and ceiling are known
    /// after older files were deleted.
    pub(super) fn create(
        directory: &Directory,
        after: Revision,
        number: u64,
        ceiling: Revision,
    ) -> Result<Self, WriteError> {
        let path = directory.path(&name_of(PREFIX, Revision(after.0 + 1)));
        let file = File::options().create(true).append(true).open(&path).map_err(WriteError::of)?;
        let length = file.metadata().map_err(WriteError::Broken)?.len();
        let durable = directory.durability() == Durability::Durable;
        let mut journal = Self { file, length, number, durable, scratch: Vec::new() };
        if let Err(error) = journal.append(std::iter::empty(), ceiling) {
            // A file without a frame would come after the current one.
            if length == 0 && fs::remove_file(&path).is_err() {
                return Err(WriteError::Broken(error.into()));
            }
            return Err(error);
        }
        directory.sync().map_err(WriteError::Broken)?;
        Ok(journal)
    }

    /// Continues where reading ended; a torn end is cut off.
    pub(super) fn resume(directory: &Directory, after: Revision, end: End, ceiling: Revision) -> io::Result<Self> {
        let Some(last) = directory.revisions(PREFIX)?.pop() else {
            return Ok(Self::create(directory, after, end.number, ceiling)?);
        };
        let file = File::options().append(true).open(directory.path(&name_of(PREFIX, last)))?;
        if end.torn > 0 {
            file.set_len(end.length)?;
            file.sync_all()?;
        }
        let durable = directory.durability() == Durability::Durable;
        Ok(Self { file, length: end.length, number: end.number, durable, scratch: Vec::new() })
    }

    /// Appends a group and makes it as durable as was requested.
    pub(super) fn append<'a>(
        &mut self,
        records: impl Iterator<Item = &'a [u8]>,
        ceiling: Revision,
    ) -> Result<(), WriteError> {
        self.number += 1;
        let mut payload = Vec::with_capacity(1024);
        payload.extend_from_slice(&self.number.to_le_bytes());
        put_number(&mut payload, ceiling.0);
        for record in records {
            put_bytes(&mut payload, record);
        }
        self.scratch.clear();
        put_frame(&mut self.scratch, KIND, &payload);
        if let Err(error) = self.file.write_all(&self.scratch) {
            self.number -= 1;
            // Earlier frames are synced and untouched.
            let is_undone = is_full(&error) && self.file.set_len(self.length).is_ok();
            return Err(if is_undone { WriteError::Full(error) } else { WriteError::Broken(error) });
        }
        self.length += self.scratch.len() as u64;
        self.scratch.shrink_to(1 << 20);
        if self.durable { self.file.sync_data().map_err(WriteError::Broken) } else { Ok(()) }
    }

    /// Returns true if the file was deleted.
    pub(super) fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|file| file.nlink() == 0)
    }

    /// Returns true if the file is long enough to be ended. A limit on the size of history counts too: only whole
    /// files are deleted.
    pub(super) fn is_long(&self, history: History) -> bool {
        let limit = match history {
            History::Bytes(keep) => (keep / 8).min(FILE_BYTES),
            History::All | History::Entries(_) => FILE_BYTES,
        };
        self.length > limit
    }

    /// Ends the file and starts another.
    pub(super) fn rotate(
        &mut self,
        directory: &Directory,
        head: Revision,
        ceiling: Revision,
    ) -> Result<(), WriteError> {
        *self = Self::create(directory, head, self.number, ceiling)?;
        Ok(())
    }
}

/// Reads the frames of all files that may hold revisions after `from`, in order.
///
/// # Errors
/// An error of `each`; a damaged frame that is followed by later ones, and was therefore acknowledged.
pub(super) fn read(
    directory: &Directory,
    from: Revision,
    mut each: impl FnMut(Frame<'_>) -> Result<(), OpenError>,
) -> Result<End, OpenError> {
    let files = directory.revisions(PREFIX).map_err(|error| OpenError::io(directory.root(), &error))?;
    let first = files.iter().rposition(|file| file.0 <= from.0 + 1).unwrap_or(0);
    let mut end = End::default();
    for (index, file) in files.iter().enumerate().skip(first) {
        let path = directory.path(&name_of(PREFIX, *file));
        let bytes = fs::read(&path).map_err(|error| OpenError::io(&path, &error))?;
        let mut rest = &bytes[..];
        while let Some((number, frame)) = take(&mut rest) {
            if end.number != 0 && number != end.number + 1 {
                return Err(OpenError::corrupt(&path, format!("frame {} is missing", end.number + 1)));
            }
            end.number = number;
            each(frame)?;
        }
        end.length = (bytes.len() - rest.len()) as u64;
        end.torn = rest.len() as u64;
        if !rest.is_empty() && (index + 1 < files.len() || later_frame(rest, end.number)) {
            let at = end.length;
            return Err(OpenError::corrupt(&path, format!("the frame at byte {at} is damaged, later ones are not")));
        }
    }
    Ok(end)
}

/// Position of a record in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) revision: Revision,
    pub(super) link: Revision,
}

/// Readable contents of a file, and its damage.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Number of the first frame that can be read.
    pub(super) first: Option<u64>,
    /// Number of the last one.
    pub(super) last: u64,
    /// The highest ceiling.
    pub(super) ceiling: Revision,
    /// Positions at which unreadable bytes begin, with frames after them.
    pub(super) damaged: Vec<u64>,
    /// Bytes after the last frame.
    pub(super) torn: u64,
    /// Bytes up to the end of the last frame.
    pub(super) length: u64,
}

/// Reads all readable frames of a file; `each` gets the records.
pub(super) fn scan(path: &Path, mut each: impl FnMut(Link, &[u8])) -> io::Result<Scan> {
    let bytes = fs::read(path)?;
    let (mut scan, mut at) = (Scan::default(), 0);
    while at < bytes.len() {
        let mut rest = &bytes[at..];
        let is_next = |number: u64| scan.first.is_none() || number == scan.last + 1;
        match take(&mut rest).filter(|(number, _)| is_next(*number) || *number > scan.last) {
            Some((number, frame)) => {
                if !is_next(number) {
                    scan.damaged.push(at as u64);
                }
                scan.first = scan.first.or(Some(number));
                scan.last = number;
                scan.ceiling = scan.ceiling.max(frame.ceiling);
                for bytes in frame.records {
                    if let Ok(record) = Record::decode(bytes) {
                        each(Link { revision: record.revision, link: record.link }, bytes);
                    }
                }
                at = bytes.len() - rest.len();
                scan.length = at as u64;
            }
            None => {
                let later = |from: usize| {
                    let mut rest = &bytes[from..];
                    bytes[from] == KIND && take(&mut rest).is_some_and(|(number, _)| number > scan.last)
                };
                match (at + 1..bytes.len().saturating_sub(FRAME_OVERHEAD)).find(|from| later(*from)) {
                    Some(next) => {
                        scan.damaged.push(at as u64);
                        // The numbers of the frames between are missing, too; that is the same damage.
                        let mut rest = &bytes[next..];
                        if let Some((number, _)) = take(&mut rest)
                            && scan.first.is_some()
                        {
                            scan.last = number - 1;
                        }
                        at = next;
                    }
                    None => {
                        scan.torn = (bytes.len() - at) as u64;
                        break;
                    }
                }
            }
        }
    }
    Ok(scan)
}

/// Replaces a file by one with these records, in frames with these numbers.
pub(super) fn replace(
    directory: &Path,
    file: Revision,
    sync: bool,
    numbers: std::ops::RangeInclusive<u64>,
    ceiling: Revision,
    records: &[Vec<u8>],
) -> io::Result<()> {
    let count = numbers.end().saturating_sub(*numbers.start()) + 1;
    let each = records.len().div_ceil(usize::try_from(count).unwrap_or(usize::MAX)).max(1);
    let mut groups = records.chunks(each);
    super::directory::write_aside(&directory.join(name_of(PREFIX, file)), sync, |out| {
        for number in numbers {
            let mut payload = number.to_le_bytes().to_vec();
            put_number(&mut payload, ceiling.0);
            for record in groups.next().unwrap_or_default() {
                put_bytes(&mut payload, record);
            }
            let mut frame = Vec::new();
            put_frame(&mut frame, KIND, &payload);
            out.write_all(&frame)?;
        }
        Ok(())
    })
}

/// A whole frame with its number.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Frame<'a>)> {
    let mut rest = *bytes;
    let (_, payload) = take_frame(&mut rest).filter(|(kind, _)| *kind == KIND)?;
    let mut from = Decoder::new(payload);
    let number = from.fixed().ok()?;
    let mut frame = Frame { ceiling: from.revision().ok()?, records: Vec::new() };
    while from.end().is_err() {
        frame.records.push(from.bytes().ok()?);
    }
    *bytes = rest;
    Some((number, frame))
}

/// Returns true if the bytes contain a whole frame with a later number, at any offset.
fn later_frame(bytes: &[u8], last: u64) -> bool {
    let later = |at: usize| {
        let mut rest = &bytes[at..];
        take(&mut rest).is_some_and(|(number, _)| number > last + 1)
    };
    (1..bytes.len().saturating_sub(FRAME_OVERHEAD)).any(|at| bytes[at] == KIND && later(at))
}

/// Removes the files in which every revision is at or below `to`.
pub(super) fn drop_up_to(directory: &Directory, to: Revision) -> io::Result<()> {
    let files = directory.revisions(PREFIX)?;
    for pair in files.windows(2) {
        if pair[1].0 <= to.0 + 1 {
            directory.remove(&name_of(PREFIX, pair[0]))?;
        }
    }
    directory.sync()
}
