// SPDX-License-Identifier: Apache-2.0
//! Power failures: possible contents of a disk for data that was written between two syncs.
//!
//! The files are recorded after each step. Any subset of the changed pages may have reached the disk, and a file that
//! grew may have any length in between. The journal only grows, so that its content at every sync is a prefix of the
//! recorded one; of sled's file any page that changed around the sync may be old or new.

use std::collections::BTreeMap;

use clock::Random;

use super::*;
use crate::codec::take_frame;
use crate::conformance::{put, update_status};
use crate::{Replay, Sections};

const PAGE: usize = 4096;

/// Files by their path below the directory.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn record(directory: &Path) -> Files {
    fn visit(root: &Path, below: &Path, files: &mut Files) {
        for file in fs::read_dir(root.join(below)).expect("readable").map(|file| file.expect("readable")) {
            let path = below.join(file.file_name());
            if file.file_type().expect("a type").is_dir() {
                visit(root, &path, files);
            } else if let Ok(bytes) = fs::read(root.join(&path)) {
                files.insert(path, bytes);
            }
        }
    }
    let mut files = Files::new();
    visit(directory, Path::new(""), &mut files);
    files
}

fn write(directory: &Path, files: &Files) {
    let _ = fs::remove_dir_all(directory);
    for (path, bytes) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("written");
    }
}

/// Random numbers from a seed, in sequence.
struct Draws {
    random: Random,
    count: u64,
}

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.count += 1;
        self.random.below(bound, "power loss", "", self.count)
    }

    /// Returns a file of which some of the changed pages were written.
    fn mix(&mut self, old: &[u8], new: &[u8]) -> Vec<u8> {
        let share = [0, 10, 50, 90, 100][usize::try_from(self.below(5)).expect("small")];
        let mut mixed = old.to_vec();
        mixed.resize(old.len().max(new.len()), 0);
        for (index, page) in new.chunks(PAGE).enumerate() {
            let at = index * PAGE;
            if old.get(at..at + page.len()) != Some(page) && self.below(100) < share {
                mixed[at..at + page.len()].copy_from_slice(page);
            }
        }
        if new.len() > old.len() {
            mixed.truncate(
                old.len() + usize::try_from(self.below((new.len() - old.len()) as u64 + 1)).expect("a length"),
            );
        }
        mixed
    }
}

/// Returns the ends of a journal's frames.
fn ends(journal: &[u8]) -> Vec<usize> {
    let mut rest = journal;
    let mut ends = Vec::new();
    while take_frame(&mut rest).is_some() {
        ends.push(journal.len() - rest.len());
    }
    ends
}

/// Makes appends that form few groups; objects of very different sizes.
fn step(log: &SledLog, draws: &mut Draws, most: u64) {
    block_on(async {
        let state = log.state_at(log.head()).await.expect("the head");
        let mut waiting = Vec::new();
        for number in 0..=draws.below(most) {
            let size = usize::try_from(if draws.below(5) == 0 { draws.below(12_000) } else { draws.below(400) });
            let noise = draws.below(u64::MAX) | 1;
            let noise =
                (0..size.expect("small") as u64).map(|at| (noise.wrapping_mul(at * at + 1) >> 40).to_le_bytes()[0]);
            let mut object = Sections::default();
            object.parts[4] = noise.collect::<Vec<_>>().into();
            let present = state.get(usize::try_from(number).expect("small")).filter(|_| draws.below(3) > 0);
            let append = match present {
                Some((key, at, _)) => update_status(&key.name, *at, 1),
                None => put(&format!("{}-{number}", log.head()), 1),
            };
            waiting.push(log.append(Append { object, ..append }));
        }
        for result in futures::future::join_all(waiting).await {
            result.expect("an append that holds");
        }
        log.durable(log.head()).await.expect("written");
    });
}

/// Opens the files after a power failure, and compares the log with the entries that had been acknowledged.
#[track_caller]
fn check(directory: &Path, acknowledged: &[Arc<Entry>], what: &str) -> Recovery {
    let log = SledLog::open(directory, Options::default());
    let log = log.unwrap_or_else(|error| panic!("{what}: {error}"));
    block_on(async {
        let base = log.compacted();
        let entries = log.read(base, log.head(), None).await.expect("retained");
        let expected: Vec<_> = acknowledged.iter().filter(|entry| entry.revision > base).cloned().collect();
        assert!(entries.len() >= expected.len(), "{what}: {} of {} entries", entries.len(), expected.len());
        assert!(entries[..expected.len()] == expected[..], "{what}: entries differ");
        let mut replay = Replay::starting_at(log.state_at(base).await.expect("the base"));
        for entry in &entries {
            replay.push(entry);
        }
        assert_eq!(replay.difference(&log.state_at(log.head()).await.expect("the head")), None, "{what}");
        let recovery = log.recovery().clone();
        log.close().await.expect("no failure");
        recovery
    })
}

/// Simulates power failures: `samples` in each of `steps` steps of up to `most` appends. Returns the number of
/// rebuilt stores.
fn explore(seed: u64, steps: u64, most: u64, samples: u64) -> u64 {
    let (directory, lost) = (Scratch::new(), Scratch::new());
    let mut draws = Draws { random: Random::new(seed), count: 0 };
    let log = SledLog::open(&*directory, Options::default()).expect("a new log");
    let mut old = record(&directory);
    let (mut torn, mut tried, mut rebuilt) = (0, 0, 0);
    for number in 0..steps {
        if number % 6 == 5 {
            // Frees segments of sled's file, which it then uses again. Files that are replaced and removed here have
            // their own order and syncs; only data that appends write is mixed.
            let to = Revision(log.compacted().0.max(log.head().0.saturating_sub(300)));
            block_on(log.compact(to)).expect("retained");
            old = record(&directory);
        }
        let before = block_on(log.read(log.compacted(), log.head(), None)).expect("retained");
        let head = log.head();
        step(&log, &mut draws, most);
        let new = record(&directory);
        let after = block_on(log.read(head, log.head(), None)).expect("retained");
        let all: Vec<_> = before.into_iter().chain(after).collect();
        let journal = new.keys().filter(|path| path.to_string_lossy().starts_with("journal"));
        let journal = journal.max().expect("a journal").clone();
        let written = ends(&new[&journal]);
        let first = written.iter().position(|end| *end == old[&journal].len()).expect("the journal only grows");
        for _ in 0..samples {
            // The power fails after this frame was synced, and while the next one is written.
            let frame = first + usize::try_from(draws.below((written.len() - first) as u64)).expect("an index");
            let synced = &new[&journal][..written[frame]];
            let next = &new[&journal][..written.get(frame + 1).copied().unwrap_or(written[frame])];
            let mut files = old.clone();
            files.insert(journal.clone(), draws.mix(synced, next));
            for (path, bytes) in new.iter().filter(|(path, _)| path.starts_with(STORE)) {
                match old.get(path) {
                    Some(before) if before != bytes => {
                        files.insert(path.clone(), draws.mix(before, bytes));
                    }
                    Some(_) => {}
                    None => drop(files.insert(path.clone(), bytes.clone())),
                }
            }
            write(&lost, &files);
            let last = last_revision(synced);
            let acknowledged: Vec<_> = all.iter().filter(|entry| entry.revision <= last).cloned().collect();
            let recovery = check(&lost, &acknowledged, &format!("seed {seed}, step {number}, sample {tried}"));
            torn += u64::from(recovery.torn > 0);
            rebuilt += u64::from(recovery.rebuilt.is_some());
            tried += 1;
        }
        old = new;
    }
    assert!(torn > tried / 20, "{torn} of {tried} tore a group");
    block_on(log.close()).expect("no failure");
    rebuilt
}

/// Revision of the last record of a journal; 0 without any.
fn last_revision(mut journal: &[u8]) -> Revision {
    let mut last = Revision(0);
    while let Some((_, payload)) = take_frame(&mut journal) {
        let mut from = crate::codec::Decoder::new(payload);
        let _ = (from.fixed(), from.revision());
        while from.end().is_err() {
            let record = from.bytes().expect("a record");
            last = record::Record::decode(record).expect("a record").revision;
        }
    }
    last
}

#[test]
fn a_power_failure_takes_nothing_that_was_acknowledged_in_small_groups() {
    explore(1, 30, 6, 2);
}

#[test]
fn a_power_failure_takes_nothing_that_was_acknowledged_in_large_groups() {
    explore(2, 20, 250, 4);
}

#[test]
#[ignore = "takes minutes: for changes of journal, store or recovery"]
fn a_power_failure_takes_nothing_that_was_acknowledged_with_many_seeds() {
    let mut rebuilt = 0;
    for seed in 10..20 {
        rebuilt += explore(seed, 25, 250, 10) + explore(seed, 40, 6, 5);
    }
    assert!(rebuilt > 0, "sled has learned to keep its word: see docs/adr/0006");
}
