// SPDX-License-Identifier: Apache-2.0
//! The append-only log that is the state of a landscape.
//!
//! One change of one object is one entry is one revision. The log assigns revisions, global and strictly rising,
//! checks an append's expectation on its key and its guards, and sends every subscriber the revision up to which it
//! is complete.
//!
//! **Invariants.** Content is bytes: no JSON, no kind, no HTTP. A revision is never used twice. After a crash the log is a
//! prefix of what was written, and holds everything up to each revision that was reported as durable. Volatile
//! entries reach subscribers and are not history.
//!
//! **Tour.** [`entry`] what is stored; [`log`] the trait; [`memory`] the log of a simulation; `sled` (a feature of
//! that name) the log of a landscape on disk; `eventlog-remote`, a crate of its own, the client for processes other
//! than the log's host; [`observed`] a log that reports appends; [`livelock`] detection of writers that react to one
//! another without end; [`splice`] changes of bytes; [`codec`] values as bytes; [`replay`] state from entries;
//! [`conformance`] the suite that every implementation passes; [`validator`] requirements on every subscription;
//! [`bench`](mod@bench) throughput of a log.

pub mod bench;
mod blocking;
pub mod codec;
pub mod conformance;
pub mod entry;
pub mod livelock;
pub mod log;
pub mod memory;
pub mod observed;
pub mod replay;
#[cfg(feature = "sled")]
pub mod sled;
pub mod splice;
mod subscribers;
pub mod validator;

pub use blocking::block_this_thread;
pub use entry::{Actor, Entry, Key, Revision, Sections, Verb};
pub use log::{
    Append, AppendError, Appended, EventLog, Expect, Guard, Message, ReadError, Snapshot, Subscription, append_durably,
};
pub use memory::MemoryLog;
pub use replay::Replay;
pub use validator::WatchValidator;
