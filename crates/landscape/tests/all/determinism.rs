// SPDX-License-Identifier: Apache-2.0
//! Tests of determinism: same seed, same log; any seed and any schedule, same outcome.

use eventlog::Entry;
use landscape::Options;

use crate::support::{Audited, evening, force_update};

/// Number of schedules to explore, from `TERRARIUM_TEST_SCHEDULES`.
fn schedules() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long a test runs is decided outside of it")]
    let count = std::env::var("TERRARIUM_TEST_SCHEDULES");
    count.ok().and_then(|count| count.parse().ok()).unwrap_or(10)
}

#[test]
fn the_same_seed_gives_the_same_canonical_log() {
    let (first, story) = force_update(Options::new(7, evening()));
    let (second, again) = force_update(Options::new(7, evening()));
    let log = first.landscape.canonical_log().expect("retained");
    assert!(log.len() > 10_000, "{} bytes", log.len());
    let other = second.landscape.canonical_log().expect("retained");
    assert!(log == other, "the canonical logs differ: {}", first_difference(&first, &second));
    assert_eq!(story, again);
}

#[test]
fn another_seed_gives_other_instants_of_the_same_events() {
    let (_, one) = force_update(Options::new(1, evening()));
    let (_, two) = force_update(Options::new(2, evening()));
    assert_ne!(one.maintained, two.maintained);
    assert_ne!(one.hash, two.hash);
    assert_eq!((one.nodes, sorted(one.events)), (two.nodes, sorted(two.events)));
}

#[test]
fn replay_equals_the_live_state() {
    let (audited, _) = force_update(Options::new(3, evening()));
    audited.landscape.replay_equals_live().expect("the log leads to the live state");
}

#[test]
fn every_schedule_has_the_same_outcome() {
    let (_, expected) = force_update(Options::new(1, evening()));
    for schedule in 0..schedules() {
        let mut options = Options::new(1, evening());
        options.schedule = Some(schedule);
        let (audited, story) = force_update(options);
        audited.landscape.replay_equals_live().expect("the log leads to the live state");
        assert_eq!(story.maintained, expected.maintained, "schedule {schedule}");
        assert_eq!(story.nodes, expected.nodes, "schedule {schedule}");
        assert_eq!(sorted(story.events), sorted(expected.events.clone()), "schedule {schedule}");
    }
}

fn first_difference(first: &Audited, second: &Audited) -> String {
    let pairs = first.entries().into_iter().zip(second.entries());
    let mut different =
        pairs.filter(|(a, b)| (&a.key, a.verb, &a.object, a.time) != (&b.key, b.verb, &b.object, b.time));
    let Some((a, b)) = different.next() else { return "one is longer".to_owned() };
    let text = |entry: &Entry| {
        let object = String::from_utf8_lossy(&entry.object.parts.concat()).into_owned();
        format!("{} {} {:?} {}\n{object}", entry.revision, entry.time, entry.verb, entry.key)
    };
    format!("{}\n{}", text(&a), text(&b))
}

fn sorted(mut events: Vec<(String, String)>) -> Vec<(String, String)> {
    events.sort();
    events
}
