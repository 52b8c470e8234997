// SPDX-License-Identifier: Apache-2.0
//! Why a question has no answer.

use crate::manifests::ManifestError;

/// Why a question has no answer; displayed as what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input cannot be used: the caller changes it.
    #[error("{what}")]
    Input {
        /// What is wrong, and where.
        what: String,
        /// What to do; empty when there is nothing to say.
        hint: String,
    },
    /// The landscape does not answer, or what was asked for is not possible.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Unusable input.
    pub fn input(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { what: what.into(), hint: hint.into() }
    }

    /// What to do; empty when there is nothing to say.
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
