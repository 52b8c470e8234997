// SPDX-License-Identifier: Apache-2.0
//! What opening a log finds, and why it or an export fails.

use std::io;
use std::path::{Path, PathBuf};

use crate::entry::Revision;
use crate::log::ReadError;

/// What opening found. All zero and none after a clean stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The last revision of the journal that can be read, as far as something was amiss.
    pub ends: Revision,
    /// Bytes behind it that cannot be read, cut off the journal's end.
    pub torn: u64,
    /// True if it is not known whether they held acknowledged entries: the log is of a version without the file that names the
    /// end.
    pub end_is_unknown: bool,
    /// Entries of the journal that the store did not have yet.
    pub put_back: u64,
    /// Entries that only the store had.
    pub from_store: u64,
    /// Why the store was made anew from the journals.
    pub rebuilt: Option<String>,
    /// What else was damaged or missing, and was made good without a loss.
    pub healed: Vec<String>,
}

/// Why a log cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("the log in `{}` is in use by another process", directory.display())]
    Locked {
        /// The log's directory.
        directory: PathBuf,
    },
    /// The directory holds no log, and none was to be made.
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
    /// What was acknowledged cannot be read.
    #[error("`{}` is damaged: {reason}", path.display())]
    Corrupt {
        /// File or directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It may be read, not written.
    #[error("`{}` cannot be written: {message}", path.display())]
    ReadOnly {
        /// File or directory.
        path: PathBuf,
        /// What the file system said.
        message: String,
    },
    /// The file system refused.
    #[error("cannot use `{}`: {message}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What it said.
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

/// Why an export failed.
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
        /// What was said.
        message: String,
    },
}
