// SPDX-License-Identifier: Apache-2.0
//! The file `REACHED`: the end of the journal, kept apart from it.
//!
//! A truncated journal looks like one whose last write was torn by a crash. This file distinguishes them. It is overwritten
//! in place after each group was synced, and is not synced itself: after the end of the process it names the last group,
//! after a power failure that group or an earlier one, and never a group that the journal did not have.
//!
//! ```text
//! file = revision of the last record (8 bytes) · ceiling (8) · checksum of both (8)
//! ```
//!
//! `FORMAT` records that the file was written ([`Directory::name_end`]). So a log without it is either one that was never
//! opened by a build with this file, or one from which it was removed. A file that cannot be read is treated as a removed one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::entry::Revision;
use crate::splice::checksum;

use super::directory::{self, Directory};

pub(super) const REACHED: &str = "REACHED";

/// The end of the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Revision of the last record.
    pub(super) link: Revision,
    /// Last revision that heartbeats may have used.
    pub(super) ceiling: Revision,
}

/// Content of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReachedFile {
    /// The end of the journal.
    Reach(Reach),
    /// The file was never written: the log is new or of an earlier version.
    #[default]
    Unwritten,
    /// The file was removed.
    Removed,
    /// The checksum is wrong.
    Damaged,
}

impl ReachedFile {
    /// True if the file named the end of the journal and does not any more.
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Removed | Self::Damaged)
    }

    /// Returns the end of the journal if the file is intact.
    pub(super) fn reach(self) -> Option<Reach> {
        match self {
            Self::Reach(reach) => Some(reach),
            Self::Unwritten | Self::Removed | Self::Damaged => None,
        }
    }
}

/// Reads the file of a log.
pub(super) fn read(root: &Path) -> io::Result<ReachedFile> {
    match fs::read(root.join(REACHED)) {
        Ok(bytes) => Ok(decode(&bytes).map_or(ReachedFile::Damaged, ReachedFile::Reach)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(if directory::names_end(root) { ReachedFile::Removed } else { ReachedFile::Unwritten })
        }
        Err(error) => Err(error),
    }
}

/// Clause about a journal whose end cannot be read, and which no other file names; `torn` bytes are there.
pub(super) fn unknown_end(torn: u64, found: ReachedFile) -> String {
    let why = if found == ReachedFile::Damaged { "is damaged" } else { "was removed" };
    match torn {
        0 => format!(
            "nothing in its last file can be read, and `{REACHED}`, which would tell if that held acknowledged entries, {why}"
        ),
        _ => format!(
            "{torn} bytes at its end cannot be read, and `{REACHED}`, which would tell if they held acknowledged entries, {why}"
        ),
    }
}

fn encode(reach: Reach) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&reach.link.0.to_le_bytes());
    bytes[8..16].copy_from_slice(&reach.ceiling.0.to_le_bytes());
    let sum = checksum(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Reach> {
    let bytes: &[u8; 24] = bytes.try_into().ok()?;
    let number = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let (link, ceiling, sum) = (number(0)?, number(8)?, number(16)?);
    (sum == checksum(&bytes[..16])).then_some(Reach { link: Revision(link), ceiling: Revision(ceiling) })
}

/// Replaces the file by one that names this end.
pub(super) fn replace(directory: &Directory, reach: Reach) -> io::Result<()> {
    directory.replace(REACHED, &encode(reach))
}

/// The open file.
#[derive(Debug)]
pub(super) struct Reached(File);

impl Reached {
    /// Writes the file whole, records that it exists, and opens it.
    pub(super) fn create(directory: &Directory, reach: Reach) -> io::Result<Self> {
        replace(directory, reach)?;
        directory.name_end()?;
        File::options().write(true).open(directory.path(REACHED)).map(Self)
    }

    /// Writes another end. An error does not affect the log: the file then names an earlier end, or is detected as damaged.
    pub(super) fn set(&self, reach: Reach) {
        let _ = self.0.write_all_at(&encode(reach), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_round_trips_and_flipped_bits_are_detected() {
        let reach = Reach { link: Revision(7), ceiling: Revision(4103) };
        let bytes = encode(reach);
        assert_eq!(decode(&bytes), Some(reach));
        for at in 0..bytes.len() {
            let mut flipped = bytes;
            flipped[at] ^= 16;
            assert_eq!(decode(&flipped), None, "byte {at}");
        }
        assert_eq!(decode(&bytes[..23]), None);
    }
}
