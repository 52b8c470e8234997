// SPDX-License-Identifier: Apache-2.0
//! Conversion between instants and revisions.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use eventlog::{Entry, EventLog, ReadError, Revision};

use crate::instant::Place;

/// Number of revisions in the first search for an entry.
const NEAR: u64 = 64;
/// Number of revisions in one read.
const PIECE: u64 = 2048;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Revision of the last included change.
    pub revision: Revision,
    /// Landscape time of the moment.
    pub time: DateTime<Utc>,
}

/// Reason for which a place is no moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMoment {
    /// The place is before the retained history.
    #[error("history begins at revision {0}")]
    Forgotten(Revision),
    /// The revision has not been assigned yet; the value is the last assigned one.
    #[error("that revision is still to come; the last one is {0}")]
    RevisionToCome(Revision),
    /// The instant is in the future; the value is the current one.
    #[error("{} is still to come", crate::show(*.0))]
    InstantToCome(DateTime<Utc>),
    /// The log is closed.
    #[error("the log is closed")]
    Closed,
}

impl From<ReadError> for NoMoment {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted(oldest) => Self::Forgotten(oldest),
            ReadError::Future(head) => Self::RevisionToCome(head),
            ReadError::Closed => Self::Closed,
        }
    }
}

/// Revision up to which history is compacted; 0 if all of it is retained.
///
/// # Errors
/// The log is closed.
pub async fn base(log: &dyn EventLog) -> Result<Revision, NoMoment> {
    match log.read(Revision(0), Revision(0), None).await {
        Ok(_) => Ok(Revision(0)),
        Err(ReadError::Compacted(oldest)) => Ok(oldest),
        Err(error) => Err(error.into()),
    }
}

/// Finds the revision of a place between the base and `head`: for an instant that of the last entry at or before it. An
/// instant before all entries is the base. `now`: landscape time.
///
/// # Errors
/// The place is not in the retained past.
pub async fn find(log: &dyn EventLog, head: Revision, place: Place, now: DateTime<Utc>) -> Result<Revision, NoMoment> {
    let base = base(log).await?;
    let instant = match place {
        Place::Revision(revision) if revision > head.0 => return Err(NoMoment::RevisionToCome(head)),
        Place::Revision(revision) if revision < base.0 => return Err(NoMoment::Forgotten(base)),
        Place::Revision(revision) => return Ok(Revision(revision)),
        Place::At(when) => when.before(now),
    };
    if instant > now {
        return Err(NoMoment::InstantToCome(instant));
    }
    // Entries up to `low` are not after the instant, and those after `high` are.
    let (mut low, mut high) = (base, head);
    while low < high {
        let middle = Revision(low.0 + (high.0 - low.0) / 2);
        match first_after(log, middle, high).await? {
            Some(entry) if entry.time <= instant => low = entry.revision,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Instant of the last entry at or before a revision; `None`: no such entry is retained.
///
/// # Errors
/// The revision is not retained, or not assigned yet.
pub async fn time_at(log: &dyn EventLog, revision: Revision) -> Result<Option<DateTime<Utc>>, NoMoment> {
    let (base, mut to) = (base(log).await?, revision);
    while to > base {
        let from = Revision(to.0.saturating_sub(NEAR).max(base.0));
        if let Some(last) = log.read(from, to, None).await?.last() {
            return Ok(Some(last.time));
        }
        to = from;
    }
    Ok(None)
}

/// First retained moment: that of the first entry; `None`: there is no entry.
///
/// # Errors
/// The log is closed.
pub async fn first(log: &dyn EventLog, head: Revision) -> Result<Option<Moment>, NoMoment> {
    let first = first_after(log, base(log).await?, head).await?;
    Ok(first.map(|entry| Moment { revision: entry.revision, time: entry.time }))
}

/// First entry after a revision; revisions without an entry are skipped.
async fn first_after(log: &dyn EventLog, from: Revision, to: Revision) -> Result<Option<Arc<Entry>>, NoMoment> {
    let (mut at, mut length) = (from, NEAR);
    while at < to {
        let end = Revision(to.0.min(at.0.saturating_add(length)));
        if let Some(first) = log.read(at, end, None).await?.into_iter().next() {
            return Ok(Some(first));
        }
        (at, length) = (end, length.saturating_mul(4).min(PIECE));
    }
    Ok(None)
}
