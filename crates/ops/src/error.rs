// SPDX-License-Identifier: Apache-2.0
//! Errors of questions.

use crate::manifests::ManifestError;

/// Reason for which a question has no answer; displays the problem without the hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input cannot be used: the caller changes it.
    #[error("{what}")]
    Input {
        /// The problem and its place.
        what: String,
        /// Remedy; empty if none is known.
        hint: String,
    },
    /// The landscape does not respond, or the request cannot be fulfilled.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Returns an error for unusable input.
    pub fn input(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { what: what.into(), hint: hint.into() }
    }

    /// Remedy; empty if none is known.
    pub fn hint(&self) -> &str {
        match self {
            Self::Input { hint, .. } => hint,
            Self::Failed(_) => "",
        }
    }
}

impl From<ManifestError> for Error {
    fn from(error: ManifestError) -> Self {
        Self::input(error.to_string(), "")
    }
}

impl From<controller::Error> for Error {
    fn from(error: controller::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
