// SPDX-License-Identifier: Apache-2.0
//! Findings of opening a log, and errors of opening and exporting.

use std::io;
use std::path::{Path, PathBuf};

use crate::entry::Revision;
use crate::log::ReadError;

/// Findings of opening. All zero and none after a clean stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The last readable revision of the journal, if it was damaged; else 0.
    pub ends: Revision,
    /// Unreadable bytes after it, which were cut off.
    pub torn: u64,
    /// True if it is unknown whether they held acknowledged entries: the log is of a version without the file that
    /// names the end.
    pub end_is_unknown: bool,
    /// Entries of the journal that the store did not have yet.
    pub put_back: u64,
    /// Entries that only the store had.
    pub from_store: u64,
    /// Reason for which the store was rebuilt from the journals.
    pub rebuilt: Option<String>,
    /// Other damage that was repaired without a loss.
    pub healed: Vec<String>,
}

/// Error of opening a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("the log in `{}` is in use by another process", directory.display())]
    Locked {
        /// The log's directory.
        directory: PathBuf,
    },
    /// The directory holds no log, and none was to be created.
    #[error("there is no event log in `{}`", directory.display())]
    Missing {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory is not empty and holds no log.
    #[error("`{}` is not empty and holds no event log", directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// A log of another version.
    #[error("the log in `{}` has a format that this version does not know: {found}", directory.display())]
    Format {
        /// The log's directory.
        directory: PathBuf,
        /// The format as it is written there.
        found: String,
    },
    /// Acknowledged entries cannot be read.
    #[error("`{}` is damaged: {reason}", path.display())]
    Corrupt {
        /// File or directory.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// It may be read, but not written.
    #[error("`{}` cannot be written: {message}", path.display())]
    ReadOnly {
        /// File or directory.
        path: PathBuf,
        /// Message of the file system.
        message: String,
    },
    /// The file system refused.
    #[error("cannot use `{}`: {message}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Message of the file system.
        message: String,
    },
}

impl OpenError {
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        let (path, message) = (path.to_owned(), error.to_string());
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Self::ReadOnly { path, message },
            _ => Self::Io { path, message },
        }
    }

    pub(super) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), reason: reason.into() }
    }
}

/// Error of an export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The revision cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be written.
    #[error("cannot export to `{}`: {message}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Message of the error.
        message: String,
    },
}
