// SPDX-License-Identifier: Apache-2.0
//! History of one Shoot by revision: 12 bytes per change, plus the distinct rows.
//!
//! ```text
//! change   offset from the segment's first revision · index among the segment's rows · time and progress of the last operation
//! ```
//!
//! Most changes of a Shoot affect its revision, and the progress and time of its last operation: these are stored in the
//! change. A recent row is not stored twice. A change that does not fit begins another segment; values that fit no change
//! (a time with fractions of a second) stay in the row.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use eventlog::Revision;

use super::rows::{OperationRow, ShootRow};

/// Number of bits of the progress in a stamp.
const PROGRESS_BITS: u32 = 7;
/// Length of a segment in seconds: half of them lie before the time of its first change, 194 days.
const SECONDS: i64 = 1 << (u32::BITS - PROGRESS_BITS);
/// Number of recent changes whose rows are compared with a new row.
const LATELY: usize = 4;
/// Index that stands for a deleted Shoot.
const GONE: u32 = u32::MAX;
/// Time in a stored row whose actual time is in the change's stamp.
const BESIDE: DateTime<Utc> = DateTime::<Utc>::MIN_UTC;

/// A change of the Shoot.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Offset from the segment's first revision.
    behind: u32,
    /// Index of the row, or [`GONE`].
    row: u32,
    /// Offset from the segment's `seconds`, and the progress.
    stamp: u32,
}

/// Bytes of a change.
pub(super) const CHANGE_BYTES: usize = size_of::<Change>();

#[derive(Debug)]
struct Segment {
    first: Revision,
    /// Origin of the stamps, in seconds since 1970.
    seconds: i64,
    rows: Vec<Arc<ShootRow>>,
    changes: Vec<Change>,
}

/// Time in seconds since 1970, and progress, stored in the change instead of the row.
type Stamp = (i64, u32);

fn stamp(operation: &OperationRow) -> Option<Stamp> {
    let progress = u32::try_from(operation.progress).ok().filter(|progress| *progress < 1 << PROGRESS_BITS)?;
    let is_whole = operation.time.timestamp_subsec_nanos() == 0;
    is_whole.then(|| (operation.time.timestamp(), progress))
}

/// Splits a row into the row at revision 0 and the values that are stored in the change.
fn plain(row: &ShootRow) -> (ShootRow, Option<Stamp>) {
    let mut plain = ShootRow { revision: 0, ..row.clone() };
    let Some(operation) = &mut plain.operation else { return (plain, None) };
    let Some(stamp) = stamp(operation) else { return (plain, None) };
    (operation.time, operation.progress) = (BESIDE, 0);
    (plain, Some(stamp))
}

impl Segment {
    fn beginning(first: Revision, stamp: Option<Stamp>) -> Self {
        let seconds = stamp.map_or(0, |(seconds, _)| seconds.saturating_sub(SECONDS / 2));
        Self { first, seconds, rows: Vec::new(), changes: Vec::new() }
    }

    /// Stamp of a change; `None`: it does not fit into this segment.
    fn stamp(&self, stamp: Option<Stamp>) -> Option<u32> {
        let Some((seconds, progress)) = stamp else { return Some(0) };
        let behind = seconds.checked_sub(self.seconds).filter(|behind| (0..SECONDS).contains(behind))?;
        Some(u32::try_from(behind).ok()? << PROGRESS_BITS | progress)
    }

    fn push(&mut self, change: Change) {
        // Grow in small steps: doubling would leave half of these many vectors empty.
        if self.changes.len() == self.changes.capacity() {
            self.changes.reserve_exact(self.changes.len() / 8 + 1);
        }
        self.changes.push(change);
    }

    fn row(&self, change: Change) -> Option<ShootRow> {
        let known = self.rows.get(usize::try_from(change.row).ok()?)?;
        let revision = self.first.0 + u64::from(change.behind);
        let mut row = ShootRow { revision, ..(**known).clone() };
        if let Some(operation) = row.operation.as_mut().filter(|operation| operation.time == BESIDE) {
            let seconds = self.seconds + i64::from(change.stamp >> PROGRESS_BITS);
            operation.time = DateTime::from_timestamp(seconds, 0).expect("it was made of a time");
            operation.progress =
                i32::try_from(change.stamp & ((1 << PROGRESS_BITS) - 1)).expect("it is a small number");
        }
        Some(row)
    }

    /// Drops changes that were replaced before a revision, and rows without a change.
    fn forget(&mut self, before: Revision) {
        let past = self.changes.partition_point(|change| self.first.0 + u64::from(change.behind) <= before.0);
        self.changes.drain(..past.saturating_sub(1));
        self.changes.shrink_to_fit();
        let mut used: Vec<u32> = self.changes.iter().map(|change| change.row).filter(|row| *row != GONE).collect();
        used.sort_unstable();
        used.dedup();
        if used.len() == self.rows.len() {
            return;
        }
        for change in self.changes.iter_mut().filter(|change| change.row != GONE) {
            let place = used.binary_search(&change.row).expect("it was collected");
            change.row = u32::try_from(place).expect("there are no more than before");
        }
        self.rows = used.iter().map(|row| self.rows[*row as usize].clone()).collect();
    }
}

/// History of a Shoot.
#[derive(Debug, Default)]
pub(super) struct Course(Vec<Segment>);

impl Course {
    /// Records a row from its revision on. Returns whether it was added, and whether it differs from the recent rows.
    pub(super) fn has(&mut self, row: &ShootRow) -> (bool, bool) {
        let at = Revision(row.revision);
        if self.last().is_some_and(|(from, is_there)| from == at && is_there) {
            return (false, false);
        }
        let (plain, stamp) = plain(row);
        let (segment, behind, stamp) = self.segment(at, stamp);
        let lately = segment.changes.iter().rev().filter(|change| change.row != GONE).take(LATELY);
        let known = lately.map(|change| change.row).find(|row| *segment.rows[*row as usize] == plain);
        let row = known.unwrap_or_else(|| {
            segment.rows.reserve_exact(1);
            segment.rows.push(Arc::new(plain));
            u32::try_from(segment.rows.len() - 1).expect("a segment with room has fewer")
        });
        segment.push(Change { behind, row, stamp });
        (true, known.is_none())
    }

    /// Records the deletion of the Shoot at a revision; returns false if it did not exist.
    pub(super) fn goes(&mut self, at: Revision) -> bool {
        if self.last().is_none_or(|(_, is_there)| !is_there) {
            return false;
        }
        let (segment, behind, stamp) = self.segment(at, None);
        segment.push(Change { behind, row: GONE, stamp });
        true
    }

    /// Segment with room for a change, and the change's offset and stamp in it.
    fn segment(&mut self, at: Revision, stamp: Option<Stamp>) -> (&mut Segment, u32, u32) {
        let place = |segment: &Segment| {
            let behind = at.0.checked_sub(segment.first.0).and_then(|behind| u32::try_from(behind).ok())?;
            let has_room = segment.rows.len() < GONE as usize;
            Some((behind, segment.stamp(stamp)?)).filter(|_| has_room)
        };
        let (behind, own) = match self.0.last().and_then(place) {
            Some(found) => found,
            None => {
                let new = Segment::beginning(at, stamp);
                let own = new.stamp(stamp).expect("a segment begins around its first change");
                self.0.reserve_exact(1);
                self.0.push(new);
                (0, own)
            }
        };
        (self.0.last_mut().expect("there is one"), behind, own)
    }

    /// Revision of the last change, and whether the Shoot exists after it.
    fn last(&self) -> Option<(Revision, bool)> {
        let segment = self.0.last()?;
        let change = segment.changes.last()?;
        Some((Revision(segment.first.0 + u64::from(change.behind)), change.row != GONE))
    }

    /// Row at a revision; `None`: the Shoot does not exist then.
    pub(super) fn at(&self, revision: Revision) -> Option<ShootRow> {
        let segment = &self.0[..self.0.partition_point(|segment| segment.first <= revision)].last()?;
        let place = segment.changes.partition_point(|it| segment.first.0 + u64::from(it.behind) <= revision.0);
        segment.row(*segment.changes.get(place.checked_sub(1)?)?)
    }

    /// Drops changes that were replaced before a revision; returns true if rows remain.
    pub(super) fn forget(&mut self, before: Revision) -> bool {
        let past = self.0.partition_point(|segment| segment.first <= before).saturating_sub(1);
        self.0.drain(..past);
        if let Some(first) = self.0.first_mut() {
            first.forget(before);
        }
        let mut changes = self.0.iter().flat_map(|segment| &segment.changes);
        changes.any(|change| change.row != GONE)
    }

    /// Number of changes, and number of rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let sum = |of: fn(&Segment) -> usize| self.0.iter().map(of).sum();
        (sum(|segment| segment.changes.len()), sum(|segment| segment.rows.len()))
    }
}

#[cfg(test)]
mod tests {
    use api::core::{LastOperation, Shoot};
    use apimachinery::meta::Time;

    use super::*;

    fn row(revision: u64, seconds: i64, progress: i32) -> ShootRow {
        let mut shoot = Shoot::default();
        shoot.metadata.resource_version = revision.to_string();
        let time = DateTime::from_timestamp(seconds, 0).expect("a time");
        shoot.status.last_operation =
            Some(LastOperation { progress, last_update_time: Time::from_instant(time), ..LastOperation::default() });
        ShootRow::of(&shoot)
    }

    #[test]
    fn a_change_is_twelve_bytes() {
        assert_eq!(CHANGE_BYTES, 12);
    }

    #[test]
    fn values_beyond_the_range_of_a_change_are_kept() {
        let far = 200 * 86_400;
        let rows = [
            row(1, 0, 0),
            row(2, far, 100),
            row(3, -far, 127),
            row(4, far, 128),
            row(5, i64::from(u32::MAX) * 10, 1),
            row(6 + u64::from(u32::MAX), 5, -1),
            row(7 + u64::from(u32::MAX), 6, 5),
        ];
        let mut course = Course::default();
        for row in &rows {
            assert!(course.has(row).0, "{row:?}");
            assert_eq!(course.has(row), (false, false), "the same revision again");
        }
        assert!(course.goes(Revision(8 + u64::from(u32::MAX))));
        assert!(!course.goes(Revision(9 + u64::from(u32::MAX))), "it is gone");
        for pair in rows.windows(2) {
            assert_eq!(course.at(Revision(pair[0].revision)).as_ref(), Some(&pair[0]));
            assert_eq!(course.at(Revision(pair[1].revision - 1)).as_ref(), Some(&pair[0]), "up to the next change");
        }
        assert_eq!(course.at(Revision(0)), None);
        assert_eq!(course.at(Revision(8 + u64::from(u32::MAX))), None);
        assert_eq!(course.size().0, 8);
        assert!(course.forget(Revision(4)));
        assert_eq!(course.at(Revision(4)).as_ref(), Some(&rows[3]));
        assert_eq!(course.at(Revision(5)).as_ref(), Some(&rows[4]));
        assert!(!course.forget(Revision(9 + u64::from(u32::MAX))), "nothing is left of what is gone");
    }

    #[test]
    fn a_row_that_was_there_lately_is_kept_once() {
        let mut course = Course::default();
        for number in 0..100_u64 {
            course.has(&row(number + 1, i64::try_from(number).expect("a small number"), 50));
        }
        assert_eq!(course.size(), (100, 1));
        course.forget(Revision(60));
        assert_eq!(course.size(), (41, 1));
        assert_eq!(course.at(Revision(60)), Some(row(60, 59, 50)));
        assert_eq!(course.at(Revision(59)), None);
    }
}
