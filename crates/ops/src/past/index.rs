// SPDX-License-Identifier: Apache-2.0
//! Rows at any moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eventlog::{EventLog, Revision};
use parking_lot::{Mutex, MutexGuard};

use super::aside::{Reading, aside};
use super::changes::{Changes, ROOM_BYTES};
use super::moment::{self, NoMoment};
use super::rows::{Rows, Texts, resources};

/// Keyframes that are kept at most.
pub const KEYFRAMES: usize = 8;
/// Entries between a keyframe and a moment that is folded from it, at most.
pub const NEAR: u64 = 4096;
/// Entries behind which a moment is a keyframe of its own, and from which on it is read of changes if these are known.
const APART: u64 = 512;
/// Revisions that are read at once.
const PIECE: u64 = 512;
/// Revisions that are read at once while others may wait.
const ASIDE: u64 = 512;

/// Rows at any retained moment. Nothing is read before somebody asks.
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
    /// Rows by revision, and when they were used last.
    kept: BTreeMap<Revision, (Rows, u64)>,
    uses: u64,
}

impl Index {
    /// Over a log.
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Self {
            log,
            frames: Mutex::default(),
            changes: Mutex::default(),
            is_reading: AtomicBool::new(false),
            texts: Mutex::default(),
        }
    }

    /// Rows at a revision.
    ///
    /// # Errors
    /// The revision is not retained, or still to come.
    pub async fn at(&self, revision: Revision) -> Result<Rows, NoMoment> {
        // What was compacted away is not shown, though a keyframe may still have it.
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

    /// Whether so much of the log has not been read that moments of it are slow, and nobody reads it.
    pub fn is_behind(&self) -> bool {
        let upto = self.upto();
        self.log.head().0.saturating_sub(upto.0) >= APART && !self.is_reading.load(Ordering::Acquire)
    }

    /// The revision up to which changes are known; 0: none are.
    pub fn upto(&self) -> Revision {
        self.changes.lock().as_ref().map(Changes::upto).unwrap_or_default()
    }

    /// Reads what has come, a little at a time: from then on its moments are quick. It is nothing if somebody does so already.
    ///
    /// # Errors
    /// The log is closed.
    pub async fn catch_up(&self) -> Result<(), NoMoment> {
        let Some(_reading) = Reading::begin(&self.is_reading) else { return Ok(()) };
        loop {
            match self.advance().await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // What was to be read next has been compacted away meanwhile.
                Err(NoMoment::Forgotten(_)) => drop(self.changes.lock().take()),
                Err(other) => return Err(other),
            }
            aside().await;
        }
    }

    /// Reads a little; `false`: there is nothing more.
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

    /// How many keyframes there are.
    pub fn keyframes(&self) -> usize {
        self.frames().kept.len()
    }

    fn frames(&self) -> MutexGuard<'_, Frames> {
        self.frames.lock()
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock()
    }

    /// The nearest keyframe, however far it is.
    fn any(&self, revision: Revision) -> Option<Rows> {
        let frames = self.frames();
        let nearest = frames.kept.iter().min_by_key(|(at, _)| at.0.abs_diff(revision.0));
        nearest.map(|(_, (rows, _))| rows.clone())
    }

    /// Rows at the revision, or from which they are folded, if any are near. From what is before the base nothing can be
    /// folded any more.
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

    /// Keeps rows as a keyframe; the one that was not used for longest goes.
    fn keep(&self, revision: Revision, rows: &Rows) {
        let mut frames = self.frames();
        let uses = frames.uses;
        frames.kept.insert(revision, (rows.clone(), uses));
        while frames.kept.len() > KEYFRAMES {
            let oldest = frames.kept.iter().min_by_key(|(_, (_, used))| *used).map(|(at, _)| *at);
            oldest.map(|at| frames.kept.remove(&at));
        }
    }

    /// Rows from the states of their resources.
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
