// SPDX-License-Identifier: Apache-2.0
//! The log of a landscape over HTTP: the host's server, and the [`EventLog`](eventlog::EventLog) of the other
//! processes, the instances of gardener-apiserver.
//!
//! ```text
//! POST /log/v1/append   body: an append                      the revision, or why not
//! GET  /log/v1/head                                          head
//! GET  /log/v1/entries?from=R&to=R[&cluster=C]               frames: entries, end
//! GET  /log/v1/watch?from=R[&cluster=C]                      frames: entries and positions, as they are appended
//! GET  /log/v1/state?at=R                                    frames: objects, end
//! POST /log/v1/compact?to=R                                  nothing
//!
//! forms of values and frames: `eventlog::codec`
//! frame 1 entry; its state before is left out where the reader holds it: an earlier entry of the stream left it
//!       2 position    3 object: key · revision · sections    4 end
//! ```
//!
//! Every answer of a log has the media type [`MEDIA_TYPE`]: any other answer is of a proxy, and counts as none. An
//! append without an answer is sent again and answered with the first result; a subscription that breaks off
//! continues where it stopped. Both wait in between, on wall time.
//!
//! **Invariants.** Content is bytes, as in `eventlog`. No connection is opened and no certificate is judged: the caller
//! gives the client a function that sends, and the server a function that authorizes.
//!
//! **Tour.** [`Server`] the host's half; [`Remote`] the client.

mod client;
mod server;

use bytes::Bytes;

pub use client::{Options, Remote};
pub use server::{Refusal, Server};

/// Media type of every body.
pub const MEDIA_TYPE: &str = "application/vnd.terrarium.log";

/// Prefix of the log's paths.
pub const PREFIX: &str = "/log/v1/";

/// A body of answers.
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BodyError>;

/// A body that broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body broke off: {0}")]
pub struct BodyError(pub String);

/// Kinds of frames.
mod frame {
    pub(crate) const ENTRY: u8 = 1;
    pub(crate) const POSITION: u8 = 2;
    pub(crate) const OBJECT: u8 = 3;
    pub(crate) const END: u8 = 4;
}
