// SPDX-License-Identifier: Apache-2.0
//! JSON patch, JSON merge patch and strategic merge patch on trees.

mod json;
mod strategic;

pub use self::json::json_patch;
pub use self::strategic::{go_text, strategic_merge_patch};
pub use crate::merge::merge_patch;
use crate::status::{Status, StatusDetails, reason};

/// Reason for which a patch cannot be applied; [`PatchError::to_status`] returns the `Status` for clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is malformed: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object: 422.
    #[error("{0}")]
    Unprocessable(String),
    /// A strategic merge patch that contradicts itself or the schema: 500, with the text of the library.
    #[error("{0}")]
    Internal(String),
    /// The patch has more operations than allowed: 413.
    #[error("{0}")]
    TooLarge(String),
}

impl PatchError {
    /// Returns the `Status` for the client.
    pub fn to_status(&self) -> Status {
        match self {
            Self::Malformed(message) => Status::bad_request(message.as_str()),
            // The text is for the server's log.
            Self::Unprocessable(_) => {
                let text = "the server rejected our request due to an error in our request";
                let details = Some(StatusDetails::default());
                Status { details, ..Status::failure(422, reason::INVALID, text) }
            }
            Self::Internal(message) => Status::failure(500, "", message.as_str()),
            Self::TooLarge(message) => {
                let text = format!("Request entity too large: {message}");
                Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, text)
            }
        }
    }
}
