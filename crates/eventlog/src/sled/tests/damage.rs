// SPDX-License-Identifier: Apache-2.0
//! Files of a log that are damaged or missing: what is there is found, and nothing is lost without a word.

use super::restart::{close, done, files, fill, open, shown};
use super::*;
use crate::conformance::{delete, put};

/// What a log shows.
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

/// Whatever single file is gone: the log is found as it was, or refused; never with less in it.
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
        // The state at which history begins is nowhere else.
        let base = files(&directory, "checkpoint")[0].clone();
        assert_eq!(refused, if forgets { vec![base] } else { Vec::new() }, "{whole:?}");
    }
}

/// Pairs of files, with the store among them: journals that are gone with it are not found anywhere.
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
                // Revisions that may have been given out are not given out again.
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

/// A flipped bit in any journal, which a start need not read: a look at everything finds it, a clean stop heals it, and
/// so does a repair.
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
            // In the last file, which holds no entry, it looks like what a crash leaves.
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
                // Now only the journals know.
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

/// Without the store, a damaged journal in the middle costs history behind a checkpoint, or what came later; only who
/// asks for it loses it, and is told what.
#[test]
fn what_cannot_be_healed_is_given_up_only_when_asked_for() {
    let (directory, before) = made(false);
    let journals = files(&directory, "journal");
    remove(&directory.join(STORE));
    flip(&directory.join(&journals[1]), 300);
    let refused = SledLog::open(&*directory, Options::default());
    assert!(matches!(refused, Err(OpenError::Corrupt { .. })), "{refused:?}");
    let damage = SledLog::examine(&*directory).expect("readable").expect("damage");
    let Remedy::Forget(to) = damage.remedy else { panic!("{damage:?}") };
    assert!(SledLog::repair(&*directory, false).is_err(), "nobody asked to lose something");

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
    assert!(SledLog::repair(&*without, false).is_err(), "nobody asked to lose something");
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

/// A log after a crash of its process: two journal files, the last records in the journal only.
fn left_by_a_crash(forgets: bool) -> (Scratch, Shown) {
    let (directory, _) = made(forgets);
    let log = open(&directory);
    block_on(async {
        for number in 0..75 {
            done(&log, put(&format!("late-{number}"), 1)).await;
        }
    });
    let before = shown(&log);
    let crashed = Scratch::new();
    copy(&directory, &crashed);
    close(log);
    (crashed, before)
}

/// Journals are removed, emptied or cut in half after a crash, with and without the store and `REACHED`: the log is either
/// complete, or refused until its loss is accepted.
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
    for forgets in [false, true] {
        let (crashed, before) = left_by_a_crash(forgets);
        let last = before.1.last().expect("entries").revision;
        let journals = files(&crashed, "journal");
        let also: [&[&str]; 4] = [&[], &[STORE], &["REACHED"], &[STORE, "REACHED"]];
        let (mut refused, mut whole) = (0, 0);
        for (way, apply) in ways {
            for all in [false, true] {
                for also in also {
                    let what = format!("{way}, all {all}, and {also:?} removed, history forgotten {forgets}");
                    let knows_end = !also.contains(&"REACHED");
                    if !knows_end && (way == "halved" || !all) {
                        // Indistinguishable from a torn write.
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
                            assert_eq!(shown(&log).2, before.2, "{what}");
                            close(log);
                            whole += 1;
                            continue;
                        }
                        Err(error) => error.to_string(),
                    };
                    refused += 1;
                    assert!(error.contains(if knows_end { "missing" } else { "not known" }), "{what}: {error}");
                    let again = SledLog::open(&*copied, Options::default()).expect_err("still refused").to_string();
                    assert_eq!(again, error, "{what}: a refusal changes nothing");
                    if SledLog::repair(&*copied, true).is_err() {
                        // The state where history begins may be lost with the journals.
                        continue;
                    }
                    let log = open(&copied);
                    let found = shown(&log).1;
                    assert_eq!(found[..], before.1[..found.len()], "{what}");
                    assert!(!knows_end || log.head() >= last, "{what}: no revision is given out again");
                    block_on(done(&log, put("later", 1)));
                    close(log);
                    assert_eq!(SledLog::examine(&*copied), Ok(None), "{what}");
                }
            }
        }
        assert!(refused >= 12 && refused > whole, "{refused} refused, {whole} whole");
    }
}

/// The message names the exact range of missing revisions.
#[test]
fn a_refusal_says_how_many_revisions_are_missing() {
    let (crashed, before) = left_by_a_crash(false);
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
