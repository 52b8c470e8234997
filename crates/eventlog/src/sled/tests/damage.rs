// SPDX-License-Identifier: Apache-2.0
//! Files of a log that are damaged or missing: readable entries are found, and nothing is lost without a report.

use super::restart::{close, done, files, fill, open, shown};
use super::*;
use crate::conformance::{delete, put};

/// Content of a log.
type Shown = (Revision, Vec<Arc<Entry>>, Snapshot);

/// A log with several journals and two checkpoints, left cleanly; with a base if history was forgotten.
fn made(forgets: bool) -> (Scratch, Shown) {
    let directory = Scratch::new();
    for round in 0..3 {
        let log = SledLog::open(&*directory, Options { checkpoint_after: 60, ..Options::default() }).expect("a log");
        block_on(async {
            for (key, at, _) in log.state_at(log.head()).await.expect("the head") {
                done(&log, delete(&key.name, at, 1)).await;
            }
        });
        fill(&log, 12);
        if forgets && round == 1 {
            block_on(log.compact(Revision(80))).expect("retained");
        }
        log.set_facts([("starts".to_owned(), b"3".to_vec())]).expect("written");
        close(log);
    }
    let log = open(&directory);
    let before = shown(&log);
    close(log);
    store::released(&directory.join(STORE)).expect("nobody's");
    (directory, before)
}

fn remove(path: &Path) {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.expect("removed");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("readable");
    let at = at % bytes.len();
    bytes[at] ^= 4;
    fs::write(path, bytes).expect("written");
}

/// Without any single file the log is found unchanged, or refused; never with less in it.
#[test]
fn a_file_that_is_gone_is_made_good_or_refused() {
    for forgets in [false, true] {
        let (directory, before) = made(forgets);
        let (mut whole, mut refused) = (Vec::new(), Vec::new());
        for name in files(&directory, "") {
            let copied = Scratch::new();
            copy(&directory, &copied);
            remove(&copied.join(&name));
            match SledLog::open(&*copied, Options::default()) {
                Ok(log) => {
                    assert_eq!(shown(&log), before, "{name} is gone");
                    close(log);
                    whole.push(name);
                }
                Err(_) => refused.push(name),
            }
        }
        // No other file has the state at which history begins.
        let base = files(&directory, "checkpoint")[0].clone();
        assert_eq!(refused, if forgets { vec![base] } else { Vec::new() }, "{whole:?}");
    }
}

/// Pairs of missing files, with the store among them: the records of journals that are lost with it are in no other
/// file.
#[test]
fn files_that_are_gone_together_leave_no_log_with_less_in_it() {
    let (directory, before) = made(true);
    let names = files(&directory, "");
    for (index, first) in names.iter().enumerate() {
        for second in &names[index + 1..] {
            let copied = Scratch::new();
            copy(&directory, &copied);
            remove(&copied.join(first));
            remove(&copied.join(second));
            if let Ok(log) = SledLog::open(&*copied, Options::default()) {
                let read = block_on(log.read(log.compacted(), log.head(), None)).map(|entries| entries.len());
                assert!(
                    read.is_ok(),
                    "{first} and {second} are gone: {read:?}, {:?} {:?}",
                    log.trouble(),
                    log.recovery()
                );
                // Revisions that may have been assigned are not assigned again.
                assert!(log.head() >= before.0, "{first} and {second} are gone");
                assert_eq!(shown(&log).2, before.2, "{first} and {second} are gone");
                close(log);
            }
        }
    }
    for name in &names {
        if !["FORMAT", "LOCK"].contains(&name.as_str()) {
            remove(&directory.join(name));
        }
    }
    let existing = Options { existing: true, ..Options::default() };
    let missing = SledLog::open(&*directory, existing.clone()).expect_err("nothing is left");
    assert_eq!(missing, OpenError::Missing { directory: directory.to_path_buf() });
    remove(&directory);
    assert_eq!(SledLog::open(&*directory, existing).expect_err("nothing is left"), missing);
}

/// A flipped bit in any journal, which a start need not read: an examination of all files finds it, a clean stop
/// heals it, and so does a repair.
#[test]
fn a_flipped_bit_in_a_journal_is_found_and_healed() {
    let (directory, before) = made(true);
    assert_eq!(SledLog::examine(&*directory), Ok(None));
    for name in files(&directory, "journal") {
        for at in [0, 7, 100, 999, 5000, 77_777] {
            let copied = Scratch::new();
            copy(&directory, &copied);
            flip(&copied.join(&name), at);
            let damage = SledLog::examine(&*copied).expect("readable");
            // In the last file, which holds no entry, it is indistinguishable from the effect of a crash.
            let is_last = files(&directory, "journal").last() == Some(&name);
            assert!(damage.is_some() || is_last, "{name} at {at}");
            assert!(damage.is_none_or(|damage| damage.remedy == Remedy::Heal), "{name} at {at}");
            let repaired = Scratch::new();
            copy(&copied, &repaired);
            SledLog::repair(&*repaired, false).expect("healed");
            assert_eq!(SledLog::examine(&*repaired), Ok(None), "{name} at {at}");
            for directory in [&copied, &repaired] {
                let log = open(directory);
                assert_eq!(shown(&log), before, "{name} at {at}");
                block_on(done(&log, put("more", 1)));
                close(log);
                assert_eq!(SledLog::examine(&**directory), Ok(None), "{name} at {at}, after a clean stop");
                // Now only the journals have the records.
                remove(&directory.join(STORE));
                remove(&directory.join(CLEAN));
                let log = open(directory);
                assert_eq!(shown(&log).1[..before.1.len()], before.1[..], "{name} at {at}");
                close(log);
            }
        }
    }
}

#[test]
fn a_checkpoint_that_is_damaged_is_found_and_made_again() {
    let (directory, before) = made(false);
    let name = files(&directory, "checkpoint").pop().expect("a checkpoint");
    flip(&directory.join(&name), 200);
    assert_eq!(SledLog::examine(&*directory).expect("readable").map(|damage| damage.remedy), Some(Remedy::Heal));
    let log = open(&directory);
    assert_eq!(shown(&log).2, before.2);
    close(log);
    let log = open(&directory);
    assert_eq!((log.head(), shown(&log).2), (before.0, before.2));
    close(log);
    assert_eq!(SledLog::examine(&*directory), Ok(None));
}

/// Without the store, damage in the middle of a journal costs history behind a checkpoint, or later entries; the loss
/// happens only on request, and is reported.
#[test]
fn unrecoverable_entries_are_dropped_only_on_request() {
    let (directory, before) = made(false);
    let journals = files(&directory, "journal");
    remove(&directory.join(STORE));
    flip(&directory.join(&journals[1]), 300);
    let refused = SledLog::open(&*directory, Options::default());
    assert!(matches!(refused, Err(OpenError::Corrupt { .. })), "{refused:?}");
    let damage = SledLog::examine(&*directory).expect("readable").expect("damage");
    let Remedy::Forget(to) = damage.remedy else { panic!("{damage:?}") };
    assert!(SledLog::repair(&*directory, false).is_err(), "no loss was requested");

    let without = Scratch::new();
    copy(&directory, &without);
    let done = SledLog::repair(&*directory, true).expect("repaired").expect("something to do");
    assert_eq!(done.remedy, Remedy::Forget(to));
    assert_eq!(files(&directory, "damaged"), ["damaged"]);
    let log = open(&directory);
    assert_eq!((log.compacted(), log.head(), shown(&log).2), (to, before.0, before.2));
    close(log);

    for name in files(&without, "checkpoint").iter().chain([&CLEAN.to_owned()]) {
        remove(&without.join(name));
    }
    let Some(Damage { remedy: Remedy::Cut(after, lost), .. }) = SledLog::examine(&*without).expect("readable") else {
        panic!("nothing but the journals is left")
    };
    assert!(SledLog::repair(&*without, false).is_err(), "no loss was requested");
    SledLog::repair(&*without, true).expect("repaired");
    let log = open(&without);
    let entries = shown(&log).1;
    assert_eq!(entries[..], before.1[..entries.len()]);
    assert_eq!(entries.last().map(|entry| entry.revision), Some(after));
    assert!(log.head() >= lost.max(before.1.last().expect("entries").revision), "no revision is given out again");
    close(log);
}

#[test]
fn a_log_that_is_only_read_is_left_as_it_is() {
    let (directory, before) = made(true);
    let everything = |directory: &Path| {
        let mut all = BTreeMap::new();
        for name in files(directory, "").into_iter().filter(|name| name != STORE) {
            all.insert(name.clone(), fs::read(directory.join(&name)).expect("readable"));
        }
        all.insert("db".to_owned(), fs::read(directory.join("store/db")).expect("readable"));
        all
    };
    for name in [None, Some(CLEAN), Some("LOCK"), Some("FORMAT"), Some("BASE"), Some(STORE)] {
        let copied = Scratch::new();
        copy(&directory, &copied);
        if let Some(name) = name {
            remove(&copied.join(name));
        }
        if name == Some(STORE) {
            fs::create_dir(copied.join(STORE)).expect("made");
            fs::write(copied.join("store/db"), "").expect("written");
        }
        let written = everything(&copied);
        let log = SledLog::open_read_only(&*copied).expect("readable");
        assert_eq!(shown(&log), before, "{name:?}");
        assert_eq!(log.time(), before.1.last().expect("entries").time);
        assert_eq!(block_on(log.append(put("x", 1))), Err(AppendError::Closed));
        close(log);
        assert_eq!(everything(&copied), written, "{name:?}");
    }
    let log = open(&directory);
    assert_eq!(
        SledLog::open_read_only(&*directory).expect_err("open"),
        OpenError::Locked { directory: directory.to_path_buf() }
    );
    close(log);
}

/// A log after a crash of its process, the last records in its last journal. If `is_flushed`, the store on the disk has
/// them, too: sled writes them in the background, at some time after they were read. Otherwise it is as it was before them.
fn left_by_a_crash(forgets: bool, is_flushed: bool) -> (Scratch, Shown) {
    let (directory, _) = made(forgets);
    let crashed = Scratch::new();
    copy(&directory.join(STORE), &crashed.join(STORE));
    let log = open(&directory);
    block_on(async {
        for number in 0..75 {
            done(&log, put(&format!("late-{number}"), 1)).await;
        }
    });
    let before = shown(&log);
    for name in files(&directory, "").iter().filter(|name| *name != STORE) {
        fs::copy(directory.join(name), crashed.join(name)).expect("copied");
    }
    close(log);
    store::released(&directory.join(STORE)).expect("closed");
    if is_flushed {
        remove(&crashed.join(STORE));
        copy(&directory.join(STORE), &crashed.join(STORE));
    }
    (crashed, before)
}

/// Asserts that no journal holds a record that belongs in a later one: a start begins to read at the last file that may
/// hold what it needs, and history is forgotten by whole files.
fn assert_in_place(directory: &Path, what: &str) {
    for pair in directory::revisions(directory, journal::PREFIX).expect("readable").windows(2) {
        let scanned = journal::scan(&directory.join(name_of(journal::PREFIX, pair[0])), |found, _| {
            assert!(found.revision < pair[1], "{what}: {} in the journal from {}", found.revision, pair[0]);
        });
        scanned.expect("readable");
    }
}

/// Asserts that a damaged log is opened unchanged, and that its journals then hold all of it, each its own part.
fn assert_healed(directory: &Path, before: &Shown, what: &str) {
    let damage = SledLog::examine(directory).expect("readable").map(|damage| damage.remedy);
    assert_eq!(damage, Some(Remedy::Heal), "{what}");
    let log = SledLog::open(directory, Options::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(shown(&log).1, before.1, "{what}");
    assert_in_place(directory, what);
    close(log);
    assert_eq!(SledLog::examine(directory), Ok(None), "{what}");
    remove(&directory.join(STORE));
    let log = SledLog::open(directory, Options::default()).unwrap_or_else(|error| panic!("{what}, then: {error}"));
    assert_eq!(shown(&log).1, before.1, "{what}");
    close(log);
}

/// Asserts that entries are those of a log from one revision to another, without a gap.
fn assert_run(found: &[Arc<Entry>], before: &Shown, what: &str) {
    let Some(first) = found.first() else { return };
    let whole = before.1.iter().skip_while(|entry| entry.revision < first.revision).take(found.len());
    assert!(found.iter().eq(whole), "{what}: not a run of what was written");
}

/// Neighbouring journals are lost while the store has their records: each is restored with its own part.
#[test]
fn journals_lost_together_are_made_good_from_the_store() {
    for forgets in [false, true] {
        let (crashed, before) = left_by_a_crash(forgets, true);
        let journals = files(&crashed, "journal");
        let end = journals.len();
        assert!(end > 3, "{journals:?}");
        let middle = [(0, 2), (1, 3), (1, end - 1)];
        for (first, end) in (0..end).map(|first| (first, end)).chain(middle) {
            // Number of removed files; the others are emptied.
            for removed in [0, 1] {
                let what = format!("{:?} of {journals:?} lost, {removed} removed", first..end);
                let copied = Scratch::new();
                copy(&crashed, &copied);
                for (index, name) in journals[first..end].iter().enumerate() {
                    let path = copied.join(name);
                    if index < removed { remove(&path) } else { fs::write(path, "").expect("written") }
                }
                assert_healed(&copied, &before, &what);
            }
        }
    }
}

/// Records are in a journal before or after their own: an earlier version healed that way, and files can be
/// exchanged.
#[test]
fn records_in_the_wrong_journal_are_put_in_place() {
    let (crashed, before) = left_by_a_crash(false, true);
    let journals = directory::revisions(&crashed, journal::PREFIX).expect("readable");
    let path = |name: Revision| name_of(journal::PREFIX, name);

    let gathered = Scratch::new();
    copy(&crashed, &gathered);
    let (mut records, mut ceiling) = (Vec::new(), Revision(0));
    for name in &journals {
        let scanned = journal::scan(&crashed.join(path(*name)), |_, bytes| records.push(bytes.to_vec()));
        ceiling = ceiling.max(scanned.expect("readable").ceiling);
    }
    let mut number = 50;
    journal::replace(&gathered, journals[0], false, 1..=number, ceiling, &records).expect("written");
    for name in &journals[1..] {
        number += 1;
        journal::replace(&gathered, *name, false, number..=number, ceiling, &[]).expect("written");
    }
    let flipped = Scratch::new();
    copy(&gathered, &flipped);
    let (first, last) = (journals[0], journals[journals.len() - 1]);
    let exchanged = Scratch::new();
    copy(&crashed, &exchanged);
    fs::copy(crashed.join(path(first)), exchanged.join(path(last))).expect("copied");
    fs::copy(crashed.join(path(last)), exchanged.join(path(first))).expect("copied");
    for (directory, what) in [(&gathered, "all in the first"), (&exchanged, "first and last exchanged")] {
        let without = Scratch::new();
        copy(directory, &without);
        remove(&without.join(STORE));
        assert_healed(directory, &before, what);
        assert_healed(&without, &before, &format!("{what}, without the store"));
    }

    // Only history before a checkpoint is given up, although later records stand in the same file.
    remove(&flipped.join(STORE));
    flip(&flipped.join(path(first)), 5000);
    let done = SledLog::repair(&*flipped, true).expect("repaired").expect("damage");
    assert!(matches!(done.remedy, Remedy::Forget(_)), "{done:?}");
    assert_in_place(&flipped, "a bit flipped");
    let log = open(&flipped);
    assert_eq!(shown(&log).2, before.2);
    close(log);
    let neighbours = journals.windows(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]);
    for (from, to) in neighbours.chain([(first, last), (last, first)]) {
        let copied = Scratch::new();
        copy(&crashed, &copied);
        fs::copy(crashed.join(path(from)), copied.join(path(to))).expect("copied");
        assert_healed(&copied, &before, &format!("the journal from {from} in the place of that from {to}"));
    }
}

/// Journals are removed, emptied or cut in half after a crash, with and without the store and `REACHED`: the log is either
/// complete, if the store has what is lost and the end is known, or refused until its loss is accepted.
#[test]
fn journals_lost_after_a_crash_are_refused() {
    type Way = (&'static str, fn(&Path));
    let ways: [Way; 3] = [
        ("removed", remove),
        ("emptied", |path| fs::write(path, "").expect("written")),
        ("halved", |path| {
            let bytes = fs::read(path).expect("readable");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
        }),
    ];
    for (forgets, is_flushed) in [(false, false), (false, true), (true, false), (true, true)] {
        let (crashed, before) = left_by_a_crash(forgets, is_flushed);
        let last = before.1.last().expect("entries").revision;
        let journals = files(&crashed, "journal");
        let also: [&[&str]; 4] = [&[], &[STORE], &["REACHED"], &[STORE, "REACHED"]];
        for (way, apply) in ways {
            for all in [false, true] {
                for also in also {
                    let what = format!(
                        "{way}, all {all}, and {also:?} removed, history forgotten {forgets}, store flushed {is_flushed}"
                    );
                    let knows_end = !also.contains(&"REACHED");
                    if !knows_end && way == "removed" && !all {
                        // Indistinguishable from a crash before the journal was begun.
                        continue;
                    }
                    let copied = Scratch::new();
                    copy(&crashed, &copied);
                    for name in also {
                        remove(&copied.join(name));
                    }
                    let lost = if all { &journals[..] } else { &journals[journals.len() - 1..] };
                    for name in lost {
                        apply(&copied.join(name));
                    }
                    let error = match SledLog::open(&*copied, Options::default()) {
                        Ok(log) => {
                            assert!(is_flushed && knows_end && !also.contains(&STORE), "{what}: not refused");
                            assert_eq!(shown(&log).1, before.1, "{what}");
                            assert_in_place(&copied, &what);
                            close(log);
                            continue;
                        }
                        Err(error) => error.to_string(),
                    };
                    assert!(!is_flushed || !knows_end || also.contains(&STORE), "{what}: {error}");
                    assert!(error.contains(if knows_end { "missing" } else { "not known" }), "{what}: {error}");
                    let again = SledLog::open(&*copied, Options::default()).expect_err("still refused").to_string();
                    assert_eq!(again, error, "{what}: a refusal changes nothing");
                    if SledLog::repair(&*copied, true).is_err() {
                        // The state where history begins may be lost with the journals.
                        continue;
                    }
                    assert_in_place(&copied, &what);
                    let log =
                        SledLog::open(&*copied, Options::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_run(&shown(&log).1, &before, &what);
                    assert!(!knows_end || log.head() >= last, "{what}: no revision is given out again");
                    block_on(done(&log, put("later", 1)));
                    close(log);
                    assert_eq!(SledLog::examine(&*copied), Ok(None), "{what}");
                }
            }
        }
    }
}

/// The message names the exact range of missing revisions.
#[test]
fn a_refusal_says_how_many_revisions_are_missing() {
    let (crashed, before) = left_by_a_crash(false, false);
    let last = before.1.last().expect("entries").revision;
    remove(&crashed.join(STORE));
    let journal = crashed.join(files(&crashed, "journal").pop().expect("a journal"));
    let bytes = fs::read(&journal).expect("readable");
    fs::write(&journal, &bytes[..bytes.len() / 2]).expect("written");
    let Some(Damage { remedy: Remedy::Cut(after, to), .. }) = SledLog::examine(&*crashed).expect("readable") else {
        panic!("a journal that was halved")
    };
    assert_eq!(to, last);
    assert!(before.1.iter().any(|entry| entry.revision == after));
    let missing = to.0 - after.0;
    assert!((30..=45).contains(&missing), "half of 75 records, and not {missing}");
    let error = SledLog::open(&*crashed, Options::default()).expect_err("refused").to_string();
    assert!(error.contains(&format!("revisions {} to {to} are missing: {missing} at least", after.0 + 1)), "{error}");
}

/// A kind of damage: its name, and a function that applies it to a file.
type Way = (&'static str, fn(&Path));

/// Ways in which a file is damaged or lost.
const WAYS: [Way; 5] = [
    ("removed", remove),
    ("emptied", |path| fs::write(path, "").expect("written")),
    ("halved", |path| {
        let bytes = fs::read(path).expect("readable");
        fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
    }),
    ("overwritten", |path| fs::write(path, "x".repeat(24)).expect("written")),
    ("flipped", |path| flip(path, 3)),
];

/// States of the last journal: complete, cut in its last record, cut in half, emptied.
const ENDS: [Way; 4] = [
    ("whole", |_| {}),
    ("cut", |path| {
        let bytes = fs::read(path).expect("readable");
        fs::write(path, &bytes[..bytes.len() - 20]).expect("written");
    }),
    ("halved", WAYS[2].1),
    ("emptied", WAYS[1].1),
];

/// A `REACHED` that cannot be read is treated as a removed one: a journal without its end is refused, a whole one is opened with
/// a note. Accepting the loss keeps every record that can be read.
#[test]
fn an_unreadable_end_counts_as_a_removed_one() {
    for forgets in [false, true] {
        let (crashed, before) = left_by_a_crash(forgets, false);
        let journal = files(&crashed, "journal").pop().expect("a journal");
        for (way, apply) in WAYS {
            for (end, cut) in ENDS {
                let what = format!("REACHED {way}, journal {end}, history forgotten {forgets}");
                let copied = Scratch::new();
                copy(&crashed, &copied);
                apply(&copied.join("REACHED"));
                cut(&copied.join(&journal));
                if end == "whole" {
                    let log =
                        SledLog::open(&*copied, Options::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
                    let notes = &log.recovery().healed;
                    assert!(
                        matches!(&notes[..], [note] if note.ends_with("it was written again")),
                        "{what}: {notes:?}"
                    );
                    assert_eq!(shown(&log).1, before.1, "{what}");
                    close(log);
                    continue;
                }
                let mut last = Revision(0);
                let scanned = journal::scan(&copied.join(&journal), |found, _| last = found.revision);
                scanned.expect("readable");
                for _ in 0..2 {
                    let error = SledLog::open(&*copied, Options::default()).expect_err(&what).to_string();
                    assert!(error.contains("not known"), "{what}: {error}");
                }
                assert!(SledLog::open_read_only(&*copied).is_err(), "{what}");
                assert!(SledLog::repair(&*copied, false).is_err(), "{what}: loses something");
                let damage = SledLog::repair(&*copied, true).expect("repaired").expect("damage");
                assert!(matches!(damage.remedy, Remedy::Cut(after, to) if after == to), "{what}: {damage:?}");
                let log = SledLog::open(&*copied, Options::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
                let found = shown(&log).1;
                assert_run(&found, &before, &what);
                assert!(found.last().is_some_and(|entry| entry.revision >= last), "{what}: less than can be read");
                block_on(done(&log, put("later", 1)));
                close(log);
                assert_eq!(SledLog::examine(&*copied), Ok(None), "{what}");
            }
        }
    }
}

/// Each file of a crashed log, lost or damaged in each way, with `REACHED` whole or unreadable and the journal's end whole or
/// lost: the log is opened with everything, or refused. So no damage is taken more lightly than an absence.
#[test]
fn a_damaged_file_is_not_taken_more_lightly_than_a_missing_one() {
    for forgets in [false, true] {
        let (crashed, before) = left_by_a_crash(forgets, false);
        // The mark of an earlier stop: an earlier end.
        fs::write(crashed.join(CLEAN), "7").expect("written");
        let journal = files(&crashed, "journal").pop().expect("a journal");
        let names =
            files(&crashed, "").into_iter().filter(|name| ![STORE, "LOCK", journal.as_str()].contains(&name.as_str()));
        for name in names.collect::<Vec<_>>() {
            for (way, apply) in WAYS {
                let mut opened = Vec::new();
                for knows_end in if name == "REACHED" { vec![true] } else { vec![true, false] } {
                    for (end, cut) in ENDS {
                        let what =
                            format!("{name} {way}, REACHED whole {knows_end}, journal {end}, forgotten {forgets}");
                        let copied = Scratch::new();
                        copy(&crashed, &copied);
                        if !knows_end {
                            fs::write(copied.join("REACHED"), "").expect("written");
                        }
                        apply(&copied.join(&name));
                        cut(&copied.join(&journal));
                        let Ok(log) = SledLog::open(&*copied, Options::default()) else { continue };
                        assert_eq!(shown(&log).1, before.1, "{what}");
                        close(log);
                        opened.push(end);
                    }
                }
                assert!(opened.iter().all(|end| *end == "whole"), "{name} {way}: {opened:?}");
            }
        }
    }
}
