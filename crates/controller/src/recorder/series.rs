// SPDX-License-Identifier: Apache-2.0
//! Series of Events of `events.k8s.io/v1`: an Event that repeats soon becomes the series of the first one.
//!
//! Unlike upstream: each new count of a series is written at once, and not after 6 to 30 minutes.
//!
//! Source: client-go tools/events/{event_broadcaster,event_recorder}.go.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Action, EventType, Memory, ObjectRef};

/// Time after the last repetition at which a series of Events ends.
const FINISHED_AFTER: TimeDelta = TimeDelta::minutes(6);

/// Properties that are equal in all Events of a series. The version of the object is one of them, the note is not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) about: ObjectRef,
    pub(super) type_: EventType,
    pub(super) reason: String,
    pub(super) action: Action,
}

/// An Event to be written: the first one of its key, and the number of repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) note: String,
    pub(super) first: DateTime<Utc>,
    pub(super) last: DateTime<Utc>,
    pub(super) count: u32,
}

/// Events that can become series, without requests.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: Memory<Key, Entry>,
    last_name: i64,
}

impl Cache {
    /// Returns the Event to be written. A count above 1 is that of a series whose first Event was written before.
    pub(super) fn observe(&mut self, key: &Key, note: &str, now: DateTime<Utc>, jitter: i64) -> Entry {
        let nanoseconds = now.timestamp_nanos_opt().unwrap_or_default().saturating_add(jitter).max(self.last_name + 1);
        let new = Entry {
            name: format!("{}.{nanoseconds:x}", key.about.name),
            note: note.to_owned(),
            first: now,
            last: now,
            count: 0,
        };
        let entry = self.entries.entry(key, || new.clone());
        if now - entry.last > FINISHED_AFTER {
            *entry = new;
        }
        if entry.count == 0 {
            self.last_name = nanoseconds;
        }
        entry.count = entry.count.saturating_add(1);
        entry.last = now;
        entry.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(version: &str, action: Action) -> Key {
        let about = ObjectRef { name: "s".to_owned(), resource_version: version.to_owned(), ..ObjectRef::default() };
        Key { about, type_: EventType::Normal, reason: "R".to_owned(), action }
    }

    #[test]
    fn repeated_events_become_a_series_with_the_first_note() {
        let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("a valid instant");
        let mut cache = Cache::default();
        for (seconds, version, action, note, expected) in [
            (0, "1", Action::Reconcile, "a", ("a", 0, 1)),
            (360, "1", Action::Reconcile, "b", ("a", 0, 2)),
            (700, "1", Action::Reconcile, "b", ("a", 0, 3)),
            (700, "2", Action::Reconcile, "b", ("b", 700, 1)),
            (700, "1", Action::Delete, "c", ("c", 700, 1)),
            (1061, "1", Action::Reconcile, "d", ("d", 1061, 1)),
        ] {
            let entry = cache.observe(&key(version, action), note, at(seconds), 0);
            let (note, first, count) = expected;
            assert_eq!((entry.note.as_str(), entry.first, entry.count), (note, at(first), count), "at {seconds}");
        }
    }

    #[test]
    fn series_of_one_instant_have_different_names() {
        let now = DateTime::from_timestamp(1_690_488_000, 0).expect("a valid instant");
        let mut cache = Cache::default();
        let first = cache.observe(&key("1", Action::Reconcile), "a", now, 0);
        let other = cache.observe(&key("2", Action::Reconcile), "a", now, 0);
        assert_eq!((&*first.name, &*other.name), ("s.1775d1e1210f8000", "s.1775d1e1210f8001"));
    }
}
