// SPDX-License-Identifier: Apache-2.0
//! Rows at any retained moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eventlog::{EventLog, Revision};
use parking_lot::{Mutex, MutexGuard};

use super::aside::{Reading, aside};
use super::changes::{Changes, ROOM_BYTES};
use super::moment::{self, NoMoment};
use super::rows::{Rows, Texts, resources};

/// Maximum number of keyframes.
pub const KEYFRAMES: usize = 8;
/// Maximum number of entries between a keyframe and a moment that is folded from it.
pub const NEAR: u64 = 4096;
/// Distance in entries from which on a moment becomes a keyframe, or is read from the changes if these are known.
const APART: u64 = 512;
/// Number of revisions in one read.
const PIECE: u64 = 512;
/// Number of revisions in one background read.
const ASIDE: u64 = 512;

/// Rows at any retained moment. The log is read only on request.
#[derive(Debug)]
pub struct Index {
    log: Arc<dyn EventLog>,
    frames: Mutex<Frames>,
    changes: Mutex<Option<Changes>>,
    is_reading: AtomicBool,
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Frames {
    /// Rows by revision, with the count of uses at their last use.
    kept: BTreeMap<Revision, (Rows, u64)>,
    uses: u64,
}

impl Index {
    /// Returns an index of a log.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            log,
            frames: Mutex::default(),
            changes: Mutex::default(),
            is_reading: AtomicBool::new(false),
            texts: Mutex::default(),
        }
    }

    /// Returns the rows at a revision.
    ///
    /// # Errors
    /// The revision is not retained, or not assigned yet.
    pub async fn at(&self, revision: Revision) -> Result<Rows, NoMoment> {
        // Compacted revisions are refused even if a keyframe still has them.
        self.log.read(revision, revision, None).await?;
        let base = moment::base(&*self.log).await?;
        let Some((mut rows, mut at)) = self.nearest(revision, base) else {
            let rows = self.keyframe(revision).await?;
            self.keep(revision, &rows);
            return Ok(rows);
        };
        let distance = at.0.abs_diff(revision.0);
        while at < revision {
            let end = Revision(revision.0.min(at.0.saturating_add(PIECE)));
            let entries = self.log.read(at, end, None).await?;
            let mut texts = self.texts();
            for entry in &entries {
                rows.forwards(entry, &mut texts);
            }
            drop(texts);
            at = end;
        }
        while at > revision {
            let begin = Revision(revision.0.max(at.0.saturating_sub(PIECE)));
            let entries = self.log.read(begin, at, None).await?;
            let mut texts = self.texts();
            for entry in entries.iter().rev() {
                rows.backwards(entry, &mut texts);
            }
            drop(texts);
            at = begin;
        }
        if distance >= APART {
            self.keep(revision, &rows);
        }
        Ok(rows)
    }

    /// True if so many entries are unread that reads of recent moments are slow, and no background read is active.
    pub fn is_behind(&self) -> bool {
        let upto = self.upto();
        self.log.head().0.saturating_sub(upto.0) >= APART && !self.is_reading.load(Ordering::Acquire)
    }

    /// Last revision with known changes; 0: none are known.
    pub fn upto(&self) -> Revision {
        self.changes.lock().as_ref().map(Changes::upto).unwrap_or_default()
    }

    /// Reads all new entries in small portions, so that moments among them can be built quickly. Does nothing if another
    /// task does so already.
    ///
    /// # Errors
    /// The log is closed.
    pub async fn catch_up(&self) -> Result<(), NoMoment> {
        let Some(_reading) = Reading::begin(&self.is_reading) else { return Ok(()) };
        loop {
            match self.advance().await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // The next revision to read was compacted meanwhile.
                Err(NoMoment::Forgotten(_)) => drop(self.changes.lock().take()),
                Err(other) => return Err(other),
            }
            aside().await;
        }
    }

    /// Reads one portion; `false`: there are no more entries.
    async fn advance(&self) -> Result<bool, NoMoment> {
        let base = moment::base(&*self.log).await?;
        let known = self.changes.lock().as_ref().map(Changes::upto).filter(|upto| *upto >= base);
        let Some(at) = known else {
            let rows = if base == Revision(0) { Rows::default() } else { self.keyframe(base).await? };
            *self.changes.lock() = Some(Changes::beginning(base, rows, ROOM_BYTES));
            return Ok(true);
        };
        let end = Revision(self.log.head().0.min(at.0.saturating_add(ASIDE)));
        if end <= at {
            return Ok(false);
        }
        let entries = self.log.read(at, end, None).await?;
        if let Some(changes) = &mut *self.changes.lock() {
            changes.forget(base);
            changes.extend(entries.iter().map(|entry| &**entry), end, &mut self.texts());
        }
        Ok(true)
    }

    /// Number of keyframes.
    pub fn keyframes(&self) -> usize {
        self.frames().kept.len()
    }

    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock()
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock()
    }

    /// Nearest keyframe at any distance.
    fn any(&self, revision: Revision) -> Option<Rows> {
        let frames = self.frames();
        let nearest = frames.kept.iter().min_by_key(|(at, _)| at.0.abs_diff(revision.0));
        nearest.map(|(_, (rows, _))| rows.clone())
    }

    /// Rows at the revision, or close rows from which they can be folded. Rows before the base can no longer be folded.
    fn nearest(&self, revision: Revision, base: Revision) -> Option<(Rows, Revision)> {
        let mut frames = self.frames();
        frames.kept = frames.kept.split_off(&base);
        frames.uses += 1;
        let uses = frames.uses;
        let before = frames.kept.range(..=revision).next_back().map(|(at, _)| *at);
        let behind = frames.kept.range(revision..).next().map(|(at, _)| *at);
        let distance = |at: &Revision| at.0.abs_diff(revision.0);
        let nearest = before.into_iter().chain(behind).min_by_key(distance).filter(|at| distance(at) <= NEAR);
        if nearest.as_ref().is_none_or(|at| distance(at) >= APART)
            && let Some(changes) = self.changes.lock().as_ref().filter(|changes| changes.upto() >= base)
        {
            if let Some(rows) = changes.at(revision) {
                return Some((rows, revision));
            }
            let last = changes.upto();
            if distance(&last) <= nearest.as_ref().map_or(NEAR, distance) {
                return Some((changes.last().clone(), last));
            }
        }
        let nearest = nearest?;
        let (rows, used) = frames.kept.get_mut(&nearest)?;
        *used = uses;
        Some((rows.clone(), nearest))
    }

    /// Stores rows as a keyframe; beyond the maximum the least recently used one is removed.
    fn keep(&self, revision: Revision, rows: &Rows) {
        let mut frames = self.frames();
        let uses = frames.uses;
        frames.kept.insert(revision, (rows.clone(), uses));
        while frames.kept.len() > KEYFRAMES {
            let oldest = frames.kept.iter().min_by_key(|(_, (_, used))| *used).map(|(at, _)| *at);
            oldest.map(|at| frames.kept.remove(&at));
        }
    }

    /// Builds rows from the states of their resources.
    async fn keyframe(&self, revision: Revision) -> Result<Rows, NoMoment> {
        let (mut rows, like) = (Rows::default(), self.any(revision));
        for resource in resources() {
            let all = self.log.state_of(revision, resource).await?;
            let mut texts = self.texts();
            for (key, changed, sections) in all {
                rows.put(&key, None, Some((changed, &sections)), &mut texts, like.as_ref());
            }
        }
        Ok(rows)
    }
}
