// SPDX-License-Identifier: Apache-2.0
//! Failures of commands, and their exit codes.

use ops::manifests::ManifestError;

/// Failure of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// Unreadable or refused input: exit code 2.
    #[error("{what}")]
    Input {
        /// The problem and its place.
        what: String,
        /// Remedy; empty if none is known.
        hint: String,
    },
    /// A component refused to start because of its version: exit code 3.
    #[error("{0}")]
    Refused(String),
    /// The landscape or its directory is held by another process: exit code 4.
    #[error("{0}")]
    Held(String),
    /// The command failed: exit code 1.
    #[error("{0}")]
    Failed(String),
    /// Something was done in part, and can be continued: exit code 1.
    #[error("{what}")]
    Unfinished {
        /// The problem and its place, and the part that was done.
        what: String,
        /// The command that continues.
        hint: String,
    },
    /// A signal ended it: exit code 130.
    #[error("{0}")]
    Interrupted(String),
    /// The command succeeded; a flag requests this exit code in such a case: ends without a message.
    #[error("exit code {0}")]
    ExitCode(u8),
    /// The reader of the output has closed it: ends without a message.
    #[error("the output is closed")]
    OutputClosed,
}

impl Failure {
    /// Returns a failure for unreadable or refused input.
    pub(crate) fn input(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { what: what.into(), hint: hint.into() }
    }

    /// Exit code of the process.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Input { .. } => 2,
            Self::Failed(_) | Self::Unfinished { .. } => 1,
            Self::Refused(_) => 3,
            Self::Held(_) => 4,
            Self::Interrupted(_) => 130,
            Self::ExitCode(code) => *code,
            Self::OutputClosed => 0,
        }
    }

    /// Remedy; empty if none is known.
    pub(crate) fn hint(&self) -> &str {
        match self {
            Self::Input { hint, .. } | Self::Unfinished { hint, .. } => hint,
            Self::Failed(_)
            | Self::Refused(_)
            | Self::Held(_)
            | Self::Interrupted(_)
            | Self::ExitCode(_)
            | Self::OutputClosed => "",
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        Self::input(error.to_string(), "")
    }
}

impl From<ops::Error> for Failure {
    fn from(error: ops::Error) -> Self {
        match error {
            ops::Error::Input { what, hint } => Self::Input { what, hint },
            ops::Error::Failed(what) => Self::Failed(what),
        }
    }
}
