// SPDX-License-Identifier: Apache-2.0
//! The append-only log that is the state of a landscape.
//!
//! One change of one object is one entry is one revision. The log assigns revisions, global and strictly rising, checks
//! an append's expectation on its key and its guards, and tells every subscriber up to which revision it is complete.
//!
//! **Invariants.** Knows bytes: no JSON, no kind, no HTTP. A revision is never used twice. What a crash leaves is a prefix
//! of the log, and holds everything up to each revision that was said to be durable. Volatile entries reach subscribers
//! and are not history.
//!
//! **Tour.** [`entry`] what is stored; [`log`] the trait; [`memory`] the log of a simulation; `sled` (a feature of that
//! name) the log of a landscape on disk; `eventlog-remote`, a crate beside this one, the log of those who are not its
//! host; [`observed`] one that tells of appends; [`livelock`] when writers answer one another for ever; [`splice`] changes
//! of bytes; [`codec`] values as bytes; [`replay`] state from entries; [`conformance`] the suite that every
//! implementation passes; [`validator`] what must hold of every subscription; [`bench`](mod@bench) what a log
//! takes.

pub mod bench;
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

pub use entry::{Actor, Entry, Key, Revision, Sections, Verb};
pub use log::{
    Append, AppendError, Appended, EventLog, Expect, Guard, Message, ReadError, Snapshot, Subscription, append_durably,
};
pub use memory::MemoryLog;
pub use replay::Replay;
pub use validator::WatchValidator;
