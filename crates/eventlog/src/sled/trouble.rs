// SPDX-License-Identifier: Apache-2.0
//! Reasons for which a log accepts no writes: there is no room, the storage failed, or its directory was removed.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that must stay free on the disk: writes of sled and of checkpoints need room, too. sled fails permanently
/// when there is none, the journal does not.
pub(super) const ROOM: u64 = 8 << 20;

/// Reason for which a log accepts no writes. Reads go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no room on the disk, or the store must be rebuilt. Writes are accepted again when that is over;
    /// nothing that was acknowledged is lost.
    Passing(String),
    /// The storage failed: the log must be opened again.
    Failed(String),
    /// The directory was removed or replaced while the log was open: written data would be lost.
    Gone(String),
}

impl Trouble {
    /// Returns the description of the trouble.
    pub fn reason(&self) -> &str {
        match self {
            Self::Passing(reason) | Self::Failed(reason) | Self::Gone(reason) => reason,
        }
    }

    /// Returns true if it ends only with the log.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Passing(_))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// Returns true for an error that means a lack of room.
pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Checks the free room at a directory; `None` also if it is unknown.
pub(super) fn no_room(root: &Path) -> Option<Trouble> {
    let disk = rustix::fs::statvfs(root).ok().filter(|disk| disk.f_blocks > 0)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    (free < ROOM).then(|| {
        let (free, needed) = (free >> 10, ROOM >> 10);
        Trouble::Passing(format!(
            "the disk of `{}` is full: {free} KiB are free, {needed} KiB are needed",
            root.display()
        ))
    })
}

/// Identity of an open file or directory, whose inode number is not reused meanwhile.
#[derive(Debug)]
pub(super) struct Opened {
    at: (u64, u64),
}

impl Opened {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self { at: (found.dev(), found.ino()) })
    }

    /// Returns true if the path holds something else, or nothing. A path that cannot be examined is assumed to be
    /// unchanged.
    pub(super) fn is_gone(&self, path: &Path) -> bool {
        match std::fs::metadata(path) {
            Ok(found) => (found.dev(), found.ino()) != self.at,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}
