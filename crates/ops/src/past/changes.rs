// SPDX-License-Identifier: Apache-2.0
//! History of all rows by revision, from which the rows at a moment are built without reading the log.
//!
//! ```text
//! garden-a/one   r3 ── r90 ── r512 ──────          rows at R: for each name the last row at or before R
//! garden-a/two   r4 ───────── r300 ── deleted
//! ```
//!
//! A change of a Shoot takes 12 bytes if the Shoot returns to one of its recent rows ([`course`]).
//!
//! **Deliberately absent.** Reading: the owner adds the entries of the log, each once and in order.
//!
//! **Invariants.** Rows at a revision equal the result of folding the entries up to it. The memory limit is about
//! [`ROOM_BYTES`], or twice the size of the last moment alone; beyond it the oldest quarter is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use domain::skew::Instance;
use eventlog::{Entry, Revision};
use rpds::RedBlackTreeMapSync;

use super::course::{self, CHANGE_BYTES};
use super::rows::{ComponentRow, Count, Part, ProfileRow, ProjectRow, Rows, SeedRow, ShootRow, Texts};

/// Approximate limit of the bytes that are held, in addition to the rows of the last moment.
pub(super) const ROOM_BYTES: usize = 22 << 20;
/// Approximate bytes of a Shoot's row with its own list of conditions.
const ROW_BYTES: usize = 480;
/// Bytes of a change of Machines or Nodes.
const COUNT_BYTES: usize = size_of::<(Revision, Option<Count>)>();
/// Approximate bytes of a CloudProfile.
const PROFILE_BYTES: usize = 32 << 10;
/// Approximate bytes of any other row.
const OTHER_BYTES: usize = 256;

/// Values of one name, each with its first revision, in order; `None`: deleted.
type Course<V> = Vec<(Revision, Option<V>)>;

/// Values of a map of rows by revision.
#[derive(Debug)]
struct Courses<V>(BTreeMap<Arc<str>, Course<V>>);

impl<V> Default for Courses<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V: Clone + PartialEq> Courses<V> {
    /// Records the value of a name from a revision on; returns true if it differs from the last one.
    fn note(&mut self, name: &Arc<str>, from: Revision, now: Option<V>) -> bool {
        let known = self.0.get(&**name).and_then(|course| course.last()).and_then(|(_, last)| last.as_ref());
        if known == now.as_ref() {
            return false;
        }
        self.push(name, from, now);
        true
    }

    fn push(&mut self, name: &Arc<str>, from: Revision, now: Option<V>) {
        let course = match self.0.get_mut(&**name) {
            Some(course) => course,
            None => self.0.entry(name.clone()).or_default(),
        };
        // Grow in small steps: doubling would leave half of these many vectors empty.
        if course.len() == course.capacity() {
            course.reserve_exact(course.len() / 4 + 1);
        }
        course.push((from, now));
    }

    /// Values of all names at a revision, ordered by name.
    fn at(&self, revision: Revision) -> impl Iterator<Item = (&Arc<str>, Revision, &V)> {
        self.0.iter().filter_map(move |(name, course)| {
            let (from, value) = course[..course.partition_point(|(from, _)| *from <= revision)].last()?;
            Some((name, *from, value.as_ref()?))
        })
    }

    fn map(&self, revision: Revision) -> RedBlackTreeMapSync<Arc<str>, V> {
        self.at(revision).map(|(name, _, value)| (name.clone(), value.clone())).collect()
    }

    /// Drops values that were replaced before a revision.
    fn forget(&mut self, before: Revision) {
        self.0.retain(|_, course| {
            let past = course.partition_point(|(from, _)| *from <= before).saturating_sub(1);
            course.drain(..past);
            course.shrink_to_fit();
            !matches!(course[..], [] | [(_, None)])
        });
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

const fn bytes(is_new: bool, bytes: usize) -> usize {
    if is_new { bytes } else { 0 }
}

/// Rows between two revisions.
#[derive(Debug, Default)]
pub(super) struct Changes {
    from: Revision,
    upto: Revision,
    last: Rows,
    shoots: BTreeMap<Arc<str>, course::Course>,
    specs: Courses<Bytes>,
    profiles: Courses<Arc<ProfileRow>>,
    projects: Courses<Arc<ProjectRow>>,
    seeds: Courses<Arc<SeedRow>>,
    components: Courses<Arc<ComponentRow>>,
    instances: Courses<Arc<Instance>>,
    machines: Courses<Count>,
    nodes: Courses<Count>,
    /// Approximate bytes that are held. Beyond `room`, which is at least [`Self::least`], the oldest are dropped.
    bytes: usize,
    room: usize,
    least: usize,
}

impl Changes {
    /// Begins with the rows at a revision, with room for at least `least` bytes.
    pub(super) fn beginning(at: Revision, rows: Rows, least: usize) -> Self {
        let mut own = Self { from: at, upto: at, least, ..Self::default() };
        for (name, row) in &rows.shoots {
            own.shoot(name, row);
        }
        fn begin<V: Clone + PartialEq>(courses: &mut Courses<V>, at: Revision, map: &RedBlackTreeMapSync<Arc<str>, V>) {
            map.iter().for_each(|(name, value)| courses.push(name, at, Some(value.clone())));
        }
        begin(&mut own.specs, at, &rows.specs);
        begin(&mut own.profiles, at, &rows.profiles);
        begin(&mut own.projects, at, &rows.projects);
        begin(&mut own.seeds, at, &rows.seeds);
        begin(&mut own.components, at, &rows.components);
        begin(&mut own.instances, at, &rows.instances);
        begin(&mut own.machines, at, &rows.machines);
        begin(&mut own.nodes, at, &rows.nodes);
        own.last = rows;
        own.count();
        own
    }

    /// Last revision with known rows.
    pub(super) const fn upto(&self) -> Revision {
        self.upto
    }

    /// Rows at that revision.
    pub(super) const fn last(&self) -> &Rows {
        &self.last
    }

    /// Adds the entries after the last revision, up to another.
    pub(super) fn extend<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>, upto: Revision, texts: &mut Texts) {
        for entry in entries {
            self.add(entry, texts);
        }
        self.upto = upto;
        if self.bytes > self.room {
            self.forget(Revision(self.from.0 + (self.upto.0 - self.from.0).div_ceil(4)));
            self.count();
        }
    }

    fn add(&mut self, entry: &Entry, texts: &mut Texts) {
        let Some(part) = Part::of(&entry.key) else { return };
        self.last.forwards(entry, texts);
        let (name, at) = (part.name(&entry.key), entry.revision);
        let name = &name;
        let last = &self.last;
        self.bytes += match part {
            Part::Shoots => {
                let has_other = self.specs.note(name, at, last.specs.get(&**name).cloned());
                let spec = if has_other { OTHER_BYTES } else { 0 };
                spec + match last.shoots.get(&**name).cloned() {
                    Some(row) => self.shoot(name, &row),
                    None => bytes(self.shoots.get_mut(&**name).is_some_and(|course| course.goes(at)), CHANGE_BYTES),
                }
            }
            Part::CloudProfiles | Part::NamespacedCloudProfiles => {
                bytes(self.profiles.note(name, at, last.profiles.get(&**name).cloned()), PROFILE_BYTES)
            }
            Part::Projects => bytes(self.projects.note(name, at, last.projects.get(&**name).cloned()), OTHER_BYTES),
            Part::Seeds => bytes(self.seeds.note(name, at, last.seeds.get(&**name).cloned()), OTHER_BYTES),
            Part::Components => {
                bytes(self.components.note(name, at, last.components.get(&**name).cloned()), OTHER_BYTES)
            }
            Part::Instances => bytes(self.instances.note(name, at, last.instances.get(&**name).cloned()), OTHER_BYTES),
            Part::Machines => bytes(self.machines.note(name, at, last.machines.get(&**name).copied()), COUNT_BYTES),
            Part::Nodes => bytes(self.nodes.note(name, at, last.nodes.get(&**name).copied()), COUNT_BYTES),
        };
    }

    /// Records a Shoot's row from the row's revision on; returns the additional bytes.
    fn shoot(&mut self, name: &Arc<str>, row: &ShootRow) -> usize {
        let course = match self.shoots.get_mut(&**name) {
            Some(course) => course,
            None => self.shoots.entry(name.clone()).or_default(),
        };
        let (is_noted, is_another) = course.has(row);
        bytes(is_noted, CHANGE_BYTES) + bytes(is_another, ROW_BYTES)
    }

    /// Rows at a revision; `None`: they are not known.
    pub(super) fn at(&self, revision: Revision) -> Option<Rows> {
        if !(self.from..=self.upto).contains(&revision) {
            return None;
        }
        let had = self.shoots.iter().filter_map(|(name, course)| Some((name, course.at(revision)?)));
        let shoots = had.map(|(name, row)| (name.clone(), Arc::new(row)));
        Some(Rows {
            shoots: shoots.collect(),
            specs: self.specs.map(revision),
            profiles: self.profiles.map(revision),
            projects: self.projects.map(revision),
            seeds: self.seeds.map(revision),
            components: self.components.map(revision),
            instances: self.instances.map(revision),
            machines: self.machines.map(revision),
            nodes: self.nodes.map(revision),
        })
    }

    /// Drops rows that were replaced before a revision.
    pub(super) fn forget(&mut self, before: Revision) {
        if before <= self.from {
            return;
        }
        self.from = before;
        self.shoots.retain(|_, course| course.forget(before));
        self.specs.forget(before);
        self.profiles.forget(before);
        self.projects.forget(before);
        self.seeds.forget(before);
        self.components.forget(before);
        self.instances.forget(before);
        self.machines.forget(before);
        self.nodes.forget(before);
    }

    /// Recounts the bytes that are held.
    fn count(&mut self) {
        let sizes = self.shoots.values().map(course::Course::size);
        let (changes, rows) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let others =
            self.projects.len() + self.seeds.len() + self.components.len() + self.instances.len() + self.specs.len();
        self.bytes = rows * ROW_BYTES
            + changes * CHANGE_BYTES
            + self.profiles.len() * PROFILE_BYTES
            + others * OTHER_BYTES
            + (self.machines.len() + self.nodes.len()) * COUNT_BYTES;
        let last = &self.last;
        let others = last.projects.size() + last.seeds.size() + last.components.size() + last.instances.size();
        let of_last = last.shoots.size() * (ROW_BYTES + CHANGE_BYTES + OTHER_BYTES)
            + last.profiles.size() * PROFILE_BYTES
            + others * OTHER_BYTES
            + (last.machines.size() + last.nodes.size()) * COUNT_BYTES;
        self.room = self.least.max(2 * of_last);
    }
}

#[cfg(test)]
mod tests {
    use api::core::{Condition, LastOperation, Shoot};
    use apimachinery::encode;
    use apimachinery::meta::Time;
    use chrono::{DateTime, TimeDelta, Utc};
    use eventlog::{Actor, Key, Sections, Verb};

    use super::*;
    use crate::past::resource;

    /// An entry of a Shoot: its name, verb and status.
    fn entry(revision: u64, name: &str, verb: Verb, progress: i32, message: &str, time: DateTime<Utc>) -> Entry {
        let mut shoot = Shoot::default();
        (shoot.metadata.namespace, shoot.metadata.name) = ("garden-a".to_owned(), name.to_owned());
        shoot.spec.kubernetes.version = if progress < 50 { "1.30.1" } else { "1.31.2" }.to_owned();
        shoot.status.last_operation =
            Some(LastOperation { progress, last_update_time: Time::from_instant(time), ..LastOperation::default() });
        let message = message.to_owned();
        shoot.status.conditions =
            vec![Condition { r#type: "APIServerAvailable".to_owned(), message, ..Condition::default() }];
        let encode::Sections { identity, metadata, managed_fields, rest, status } = encode::sections(&shoot);
        Entry {
            revision: Revision(revision),
            key: Key::new("garden", resource::SHOOTS, "garden-a", name),
            verb,
            time,
            actor: Arc::new(Actor { user: "ann".into(), component: "".into(), version: "".into() }),
            writer: (1, revision),
            object: Sections { parts: [identity, metadata, managed_fields, rest, status] },
            previous: None,
            volatile: false,
        }
    }

    /// Entries of four Shoots, of which one is deleted and created again; `message`: message of the nth entry.
    fn entries(count: u64, message: impl Fn(u64) -> String) -> Vec<Entry> {
        let begin = DateTime::<Utc>::UNIX_EPOCH;
        (1..=count)
            .map(|number| {
                let name = ["one", "two", "three", "four"][usize::try_from(number % 4).expect("a small number")];
                let verb = if number % 16 == 8 { Verb::Delete } else { Verb::UpdateStatus };
                let progress = i32::try_from(number % 101).expect("a small number");
                // A progress or time that does not fit into a stamp stays in the row.
                let progress = if number % 21 == 0 { progress + 1000 } else { progress };
                let time =
                    begin - TimeDelta::days(200) + TimeDelta::hours(i64::try_from(number).expect("a small number"));
                entry(number, name, verb, progress, &message(number), time)
            })
            .collect()
    }

    /// Rows at each revision, by folding.
    fn folded(entries: &[Entry]) -> Vec<Rows> {
        let (mut rows, mut texts) = (Rows::default(), Texts::default());
        let mut all = vec![rows.clone()];
        for entry in entries {
            rows.forwards(entry, &mut texts);
            all.push(rows.clone());
        }
        all
    }

    #[test]
    fn rows_at_each_revision_are_those_that_are_folded() {
        let entries = entries(300, |number| format!("message {}", number / 4 % 3));
        let expected = folded(&entries);
        let (mut changes, mut texts) = (Changes::beginning(Revision(0), Rows::default(), ROOM_BYTES), Texts::default());
        for piece in entries.chunks(7) {
            changes.extend(piece.iter(), piece[piece.len() - 1].revision, &mut texts);
        }
        for (revision, rows) in (0..).zip(&expected) {
            assert_eq!(changes.at(Revision(revision)).as_ref(), Some(rows), "at {revision}");
        }
        assert_eq!(changes.at(Revision(301)), None, "it is still to come");
        // The same, started at a later revision.
        let mut changes = Changes::beginning(Revision(100), expected[100].clone(), ROOM_BYTES);
        changes.extend(entries[100..].iter(), Revision(300), &mut texts);
        assert_eq!(changes.at(Revision(99)), None, "it is before the first revision");
        for (revision, rows) in (0..).zip(&expected).skip(100) {
            assert_eq!(changes.at(Revision(revision)).as_ref(), Some(rows), "at {revision}, from 100");
        }
    }

    #[test]
    fn the_oldest_quarter_goes_when_there_is_no_room() {
        // No row occurs twice.
        let entries = entries(2000, |number| format!("message {number}"));
        let expected = folded(&entries);
        let least = 100 * ROW_BYTES;
        let (mut changes, mut texts) = (Changes::beginning(Revision(0), Rows::default(), least), Texts::default());
        for piece in entries.chunks(16) {
            changes.extend(piece.iter(), piece[piece.len() - 1].revision, &mut texts);
            assert!(changes.bytes <= changes.room, "{} of {}", changes.bytes, changes.room);
        }
        assert!(changes.room < 3 * least, "{} bytes", changes.room);
        assert!((1800..1990).contains(&changes.from.0), "from {}", changes.from);
        assert_eq!(changes.at(Revision(changes.from.0 - 1)), None, "it is forgotten");
        for revision in changes.from.0..=2000 {
            let rows = &expected[usize::try_from(revision).expect("a small number")];
            assert_eq!(changes.at(Revision(revision)).as_ref(), Some(rows), "at {revision}");
        }
    }
}
