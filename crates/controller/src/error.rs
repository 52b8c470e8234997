// SPDX-License-Identifier: Apache-2.0
//! Errors of requests, and their effect on a work queue.

use apimachinery::Status;
use process::TransportError;

use crate::queue::Failure;

/// Reason for which a request or pass failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server returned an error; its `Status`.
    #[error("{0}")]
    Api(Box<Status>),
    /// The request has no response.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The response cannot be decoded.
    #[error("cannot read the response: {0}")]
    Decode(String),
    /// A pass failed for a reason of its own, which users see elsewhere: the key backs off.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Reason of the server's `Status`; empty for other errors.
    pub fn reason(&self) -> &str {
        match self {
            Self::Api(status) => &status.reason,
            Self::Transport(_) | Self::Decode(_) | Self::Failed(_) => "",
        }
    }

    /// The server's `Status`; `None` for other errors.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            Self::Transport(_) | Self::Decode(_) | Self::Failed(_) => None,
        }
    }

    /// 404 for the object.
    pub fn is_not_found(&self) -> bool {
        self.reason() == apimachinery::status::reason::NOT_FOUND
    }

    /// 410: the requested resource version is no longer retained.
    pub fn is_expired(&self) -> bool {
        matches!(self.reason(), apimachinery::status::reason::EXPIRED | apimachinery::status::reason::GONE)
    }

    /// Class of the failure for the work queue.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Transport(TransportError::CutOff(_)) => Failure::CutOff,
            Self::Transport(_) => Failure::Unreachable,
            Self::Api(_) | Self::Decode(_) | Self::Failed(_) => Failure::Refused,
        }
    }

    /// True for 409 with reason `Conflict`: the object was changed meanwhile.
    pub fn is_conflict(&self) -> bool {
        self.reason() == apimachinery::status::reason::CONFLICT
    }

    /// True if a retry may soon succeed: the object was changed, or the server is unreachable, overloaded or failing. A
    /// fault inside the process ends with landscape time or by a user, so that retries on wall time are of no use.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Transport(error) => !matches!(error, TransportError::CutOff(_)),
            Self::Api(status) => matches!(status.code, 409 | 429 | 500..=599),
            Self::Decode(_) | Self::Failed(_) => false,
        }
    }

    /// True for 409 with reason `AlreadyExists`: the name is in use.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == apimachinery::status::reason::ALREADY_EXISTS
    }
}

#[cfg(test)]
mod tests {
    use process::transport::Cut;

    use super::*;

    #[test]
    fn transient_errors_differ_from_permanent_ones() {
        let refused = |code: u16| Error::Api(Box::new(Status { code, ..Status::default() }));
        for (code, passes) in [(409, true), (429, true), (500, true), (503, true), (504, true)] {
            assert_eq!(refused(code).is_passing(), passes, "{code}");
        }
        for code in [400, 401, 403, 404, 405, 410, 422] {
            assert!(!refused(code).is_passing(), "{code}");
        }
        assert!(Error::Transport(TransportError::Unreachable("no server is there".to_owned())).is_passing());
        let cut = Cut::new(|| Box::pin(std::future::pending()));
        assert!(!Error::Transport(TransportError::CutOff(cut)).is_passing());
        assert!(!Error::Decode("no JSON".to_owned()).is_passing());
    }
}
