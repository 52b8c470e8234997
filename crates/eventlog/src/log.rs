// SPDX-License-Identifier: Apache-2.0
//! The trait that every log implements.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::entry::{Actor, Entry, Key, Revision, Sections, Verb};

/// Maximum number of guards of an append.
pub const MAX_GUARDS: usize = 16;

/// Maximum number of bytes of an object, all sections together: 1.5 MiB, etcd's default.
pub const MAX_OBJECT_BYTES: usize = 3 * 512 * 1024;

/// Expectation on the key that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The object does not exist.
    Absent,
    /// The object at this revision.
    Revision(Revision),
}

/// Expectation on other keys: "unchanged since" of what admission read. At most [`MAX_GUARDS`] per append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The object's last change is not after the revision (and it still exists or not, as it was then). Volatile
    /// entries do not count as changes.
    Key(Key, Revision),
    /// No creation, deletion or change outside `status` in (cluster, resource) after the revision.
    Collection(Arc<str>, Arc<str>, Revision),
}

/// One change to append.
#[derive(Clone, Debug)]
pub struct Append {
    /// Key of the object to change.
    pub key: Key,
    /// Expectation on it.
    pub expect: Expect,
    /// Expectations on others.
    pub guards: Vec<Guard>,
    /// Kind of the change.
    pub verb: Verb,
    /// The object after the change; for a deletion its last state.
    pub object: Sections,
    /// True for a heartbeat.
    pub volatile: bool,
    /// Author of the change.
    pub actor: Arc<Actor>,
    /// Landscape time of the writer; the log raises it to the last entry's if it is earlier.
    pub time: DateTime<Utc>,
    /// Writer and sequence: an append that repeats both is answered with the first result.
    pub writer: (u64, u64),
}

/// Result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Revision of the entry.
    pub revision: Revision,
}

/// Reason for which an append was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The key is not as expected; its present revision, if it exists.
    #[error("the object is at another revision")]
    Conflict {
        /// Present revision.
        actual: Option<Revision>,
    },
    /// A guard does not hold: run admission again.
    #[error("what the decision rests on has changed")]
    GuardFailed,
    /// The append has more than [`MAX_GUARDS`] guards, or an object above the limit.
    #[error("the change is too large")]
    TooLarge,
    /// The log is closed.
    #[error("the log is closed")]
    Closed,
    /// The queue of appends is full: another attempt may succeed.
    #[error("the log has too much to do")]
    Busy,
    /// No answer after all attempts: the change may have been made or not. Read the object.
    #[error("whether the change was made is not known: {0}")]
    Unknown(String),
    /// Objects are created without end within one instant, as [`crate::livelock::LiveLock`] reports it: this one was
    /// not created.
    #[error("{0}")]
    LiveLock(String),
    /// The storage failed; fatal.
    #[error("the storage failed: {0}")]
    Storage(String),
}

/// Reason for which a read was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The revision was compacted away; the oldest that is retained.
    #[error("revision is compacted; the oldest retained one is {0}")]
    Compacted(Revision),
    /// The revision has not been assigned yet; the head.
    #[error("revision is in the future; the head is {0}")]
    Future(Revision),
    /// The log is closed.
    #[error("the log is closed")]
    Closed,
}

/// Message to a subscriber.
#[derive(Clone, Debug)]
pub enum Message {
    /// An entry, in revision order.
    Entry(Arc<Entry>),
    /// All entries up to this revision were delivered.
    Position(Revision),
}

/// A running subscription; dropping it ends it.
pub struct Subscription {
    /// Messages, in order. Ends when the subscriber lags or the log closes: subscribe again.
    pub messages: Pin<Box<dyn futures::Stream<Item = Message> + Send>>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription")
    }
}

/// Objects, each with the revision of its last change, in key order.
pub type Snapshot = Vec<(Key, Revision, Sections)>;

/// A boxed future, so that logs can be trait objects.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The log of a landscape.
///
/// ```
/// use std::sync::Arc;
///
/// use chrono::DateTime;
/// use eventlog::{Actor, Append, AppendError, EventLog, Expect, Key, MemoryLog, Revision, Sections, Verb};
///
/// # tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(async {
/// let log = MemoryLog::new();
/// let create = Append {
///     key: Key::new("garden", "core.gardener.cloud/shoots", "garden-demo", "local"),
///     expect: Expect::Absent,
///     guards: Vec::new(),
///     verb: Verb::Create,
///     object: Sections::default(),
///     volatile: false,
///     actor: Arc::new(Actor { user: "ann".into(), component: "kubectl".into(), version: "".into() }),
///     time: DateTime::UNIX_EPOCH,
///     writer: (1, 1),
/// };
/// assert_eq!(log.append(create.clone()).await.map(|it| it.revision), Ok(Revision(1)));
/// // The same append again gets the first answer; another one finds that the object is there.
/// assert_eq!(log.append(create.clone()).await.map(|it| it.revision), Ok(Revision(1)));
/// let again = Append { writer: (1, 2), ..create };
/// assert_eq!(log.append(again).await, Err(AppendError::Conflict { actual: Some(Revision(1)) }));
/// assert_eq!(log.head(), Revision(1));
/// # });
/// ```
pub trait EventLog: Send + Sync + fmt::Debug + 'static {
    /// Appends one change: it has its place in the order, and readers see it. Data that leaves the process must wait
    /// for [`EventLog::durable`].
    fn append(&self, append: Append) -> BoxFuture<Result<Appended, AppendError>>;
    /// Waits until everything up to a revision is as durable as the implementation promises.
    ///
    /// # Errors
    /// [`AppendError::Storage`]: it is not durable, and may or may not become so.
    fn durable(&self, revision: Revision) -> BoxFuture<Result<(), AppendError>>;
    /// Revision of the last entry.
    fn head(&self) -> Revision;
    /// Entries with `from < revision <= to`, in order; `cluster` limits them. Volatile entries that another entry of
    /// their object followed may be missing.
    fn read(
        &self,
        from: Revision,
        to: Revision,
        cluster: Option<&str>,
    ) -> BoxFuture<Result<Vec<Arc<Entry>>, ReadError>>;
    /// Subscribes to entries after `from`, with positions.
    fn subscribe(&self, from: Revision, cluster: Option<&str>) -> Result<Subscription, ReadError>;
    /// All objects at a retained revision, with the revision of their last change, in key order.
    fn state_at(&self, revision: Revision) -> BoxFuture<Result<Snapshot, ReadError>>;
    /// Returns a past state as [`EventLog::state_at`], of one resource, `core.gardener.cloud/shoots`: the contents of
    /// others are not read.
    fn state_of(&self, revision: Revision, resource: &str) -> BoxFuture<Result<Snapshot, ReadError>>;
    /// Forgets history up to `revision`.
    fn compact(&self, revision: Revision) -> BoxFuture<Result<(), ReadError>>;
}

/// Appends one change and waits until it is durable.
///
/// # Errors
/// Those of [`EventLog::append`] and [`EventLog::durable`].
pub async fn append_durably(log: &(impl EventLog + ?Sized), append: Append) -> Result<Appended, AppendError> {
    let done = log.append(append).await?;
    log.durable(done.revision).await?;
    Ok(done)
}
