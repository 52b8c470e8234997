// SPDX-License-Identifier: Apache-2.0
//! A log that is opened again: after a clean stop, without one, damaged, in another place.

use std::os::unix::fs::MetadataExt;
use std::task::Poll;

use futures::{FutureExt, StreamExt};

use super::*;
use crate::conformance::{delete, put, update, update_status};
use crate::log::{Expect, Guard, Message, append_durably};
use crate::{Replay, Sections, Verb, WatchValidator};

pub(super) fn open(directory: &Path) -> SledLog {
    SledLog::open(directory, Options::default()).expect("a log that can be opened")
}

pub(super) fn close(log: SledLog) {
    block_on(log.close()).expect("no failure of the storage");
}

pub(super) async fn done(log: &SledLog, append: Append) -> Revision {
    append_durably(log, append).await.expect("an append that holds").revision
}

pub(super) fn heartbeat(name: &str, at: Revision, status: u64) -> Append {
    Append { volatile: true, ..update_status(name, at, status) }
}

/// A history of some objects; about `rounds` times eight entries.
pub(super) fn fill(log: &SledLog, rounds: u64) {
    block_on(async {
        for round in 0..rounds {
            let name = |letter: &str| format!("{letter}-{}", round % 7);
            if round >= 7 {
                let state = log.state_at(log.head()).await.expect("the head");
                for (key, at, _) in state.iter().filter(|(key, _, _)| key.name.ends_with(&format!("-{}", round % 7))) {
                    done(log, delete(&key.name, *at, 1)).await;
                }
            }
            let mut at = done(log, put(&name("a"), round)).await;
            let b = done(log, put(&name("b"), round)).await;
            for number in 0..3 {
                at = done(log, update_status(&name("a"), at, round * 10 + number)).await;
            }
            done(log, update(&name("b"), b, round)).await;
        }
    });
}

/// Returns the content of a log: head, entries, state.
pub(super) fn shown(log: &SledLog) -> (Revision, Vec<Arc<Entry>>, Snapshot) {
    block_on(async {
        let head = log.head();
        let entries = log.read(log.compacted(), head, None).await.expect("retained");
        (head, entries, log.state_at(head).await.expect("the head"))
    })
}

pub(super) fn files(directory: &Path, prefix: &str) -> Vec<String> {
    let names = fs::read_dir(directory).expect("readable").map(|file| file.expect("readable").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names
}

#[test]
fn a_cleanly_closed_store_is_unchanged_when_reopened() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 30);
    let first = put("repeated", 1);
    let (created, beat) = block_on(async {
        let created = done(&log, first.clone()).await;
        (created, done(&log, heartbeat("repeated", created, 2)).await)
    });
    let before = shown(&log);
    close(log);
    for _ in 0..2 {
        let log = open(&directory);
        assert_eq!(*log.recovery(), Recovery::default());
        assert_eq!(shown(&log), before);
        assert_eq!(before.1.last().map(|entry| (entry.revision, entry.volatile)), Some((beat, true)));
        assert_eq!(block_on(log.append(first.clone())), Ok(Appended { revision: created }));
        close(log);
    }
    let log = open(&directory);
    let next = block_on(done(&log, update("repeated", beat, 3)));
    assert_eq!(next, Revision(before.0.0 + 1));
    close(log);
}

#[test]
fn acknowledged_entries_survive_an_unclean_stop() {
    let (directory, other) = (Scratch::new(), Scratch::new());
    let log = SledLog::open(&*directory, Options { checkpoint_after: 50, ..Options::default() }).expect("a new log");
    fill(&log, 40);
    let first = put("last", 1);
    let created = block_on(done(&log, first.clone()));
    let before = shown(&log);
    copy(&directory, &other);
    let copied = open(&other);
    assert_eq!(shown(&copied), before);
    assert_eq!(block_on(copied.append(first)), Ok(Appended { revision: created }));
    close(copied);
    assert_eq!(shown(&open(&other)), before);
    close(log);
}

#[test]
fn revisions_of_lost_heartbeats_are_not_used_again() {
    let (directory, other) = (Scratch::new(), Scratch::new());
    let log = open(&directory);
    let (created, last) = block_on(async {
        let created = done(&log, put("a", 1)).await;
        let mut last = created;
        for number in 0..10 {
            last = done(&log, heartbeat("a", last, number)).await;
        }
        (created, last)
    });
    copy(&directory, &other);
    let copied = open(&other);
    assert!(copied.head() >= last, "{last} was seen");
    let state = block_on(copied.state_at(copied.head())).expect("the head");
    assert_eq!(state.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), [created]);
    let subscribed = copied.subscribe(last, None);
    assert!(subscribed.is_ok(), "a subscriber that saw a heartbeat can go on");
    drop(subscribed);
    let next = block_on(done(&copied, update("a", created, 5)));
    assert!(next > last);
    close(copied);
    close(log);
}

#[test]
fn guards_hold_over_a_restart_for_callers_that_have_read_since() {
    let directory = Scratch::new();
    let log = open(&directory);
    let mut a = block_on(async {
        let a = done(&log, put("a", 1)).await;
        let b = done(&log, put("b", 1)).await;
        done(&log, delete("b", b, 1)).await;
        a
    });
    close(log);
    let log = open(&directory);
    let guards = |since: Revision| {
        let b = crate::Key::new("garden", "example/things", "ns", "b");
        [Guard::Key(b, since), Guard::Collection("garden".into(), "example/things".into(), since)]
    };
    for guard in guards(log.head()) {
        a = block_on(done(&log, Append { guards: vec![guard], ..update_status("a", a, 2) }));
    }
    for guard in guards(Revision(2)) {
        let append = Append { guards: vec![guard], ..update_status("a", a, 2) };
        assert_eq!(block_on(log.append(append)), Err(AppendError::GuardFailed));
    }
    let own = Guard::Key(crate::Key::new("garden", "example/things", "ns", "a"), a);
    block_on(done(&log, Append { guards: vec![own], ..put("c", 2) }));
    close(log);
}

#[test]
fn history_is_kept_up_to_twice_its_length_and_its_files_go() {
    let directory = Scratch::new();
    let options = Options { checkpoint_after: 40, history: History::Entries(100), ..Options::default() };
    let log = SledLog::open(&*directory, options.clone()).expect("a new log");
    fill(&log, 150);
    let base = log.compacted();
    assert!(base > Revision(0));
    // The answer follows the keeper's present job.
    block_on(log.compact(base)).expect("retained");
    let before = shown(&log);
    assert_eq!(before.1.first().map(|entry| entry.revision > log.compacted()), Some(true));
    close(log);
    assert!(files(&directory, "checkpoint").len() <= 2, "{:?}", files(&directory, "checkpoint"));
    let first: u64 = files(&directory, "journal")[0][8..].parse().expect("a revision");
    assert!(before.0.0 - first < 600, "journals go back to {first} of {}", before.0);
    let log = SledLog::open(&*directory, options).expect("a log");
    assert_eq!(log.head(), before.0);
    let mut replay = Replay::starting_at(block_on(log.state_at(log.compacted())).expect("the base"));
    for entry in shown(&log).1 {
        replay.push(&entry);
    }
    assert_eq!(replay.difference(&shown(&log).2), None);
    close(log);
}

#[test]
fn history_is_kept_up_to_a_size() {
    let directory = Scratch::new();
    let keep = 100_000;
    let log = SledLog::open(&*directory, Options { history: History::Bytes(keep), ..Options::default() });
    let log = log.expect("a new log");
    for _ in 0..10 {
        fill(&log, 60);
        // The answer follows the keeper's present job.
        block_on(log.compact(log.compacted())).expect("retained");
        let size = directory::size_of(&log.0.shared.directory, "journal");
        assert!(size < 2 * keep, "{size} bytes");
        block_on(async {
            let state = log.state_at(log.head()).await.expect("the head");
            for (key, at, _) in state {
                done(&log, delete(&key.name, at, 1)).await;
            }
        });
    }
    assert!(log.compacted() > Revision(0));
    close(log);
}

#[test]
fn an_export_is_where_another_log_goes_on() {
    let (directory, other, file) = (Scratch::new(), Scratch::new(), Scratch::new());
    let log = open(&directory);
    fill(&log, 20);
    block_on(log.compact(Revision(30))).expect("retained");
    log.set_facts([("seed".to_owned(), b"7".to_vec())]).expect("written");
    let at = Revision(70);
    block_on(log.export(at, &*file, |key| &*key.name != "a-1")).expect("exported");
    let fork = SledLog::create_from(&*other, &file, Options::default()).expect("a log from the export");
    let mut expected = block_on(log.state_at(at)).expect("retained");
    expected.retain(|(key, _, _)| &*key.name != "a-1");
    assert!(!expected.is_empty());
    assert_eq!((fork.head(), fork.compacted(), fork.fact("seed")), (at, at, Some(b"7".to_vec())));
    assert_eq!(block_on(fork.state_at(at)).expect("the base"), expected);
    let (key, revision, _) = expected[0].clone();
    block_on(done(&fork, update_status(&key.name, revision, 99)));
    close(fork);
    let fork = open(&other);
    let entries = shown(&fork).1;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].previous.as_ref().map(|(at, _)| *at), Some(revision));
    close(fork);
    let refused = SledLog::create_from(&*other, &file, Options::default()).err();
    assert_eq!(refused, Some(OpenError::Foreign { directory: other.to_path_buf() }));
    let future = block_on(log.export(Revision(100_000), &*file, |_| true)).err();
    assert_eq!(future, Some(ExportError::Read(ReadError::Future(log.head()))));
    close(log);
    let _ = fs::remove_file(&*file);
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_and_left_alone() {
    let directory = Scratch::new();
    let log = open(&directory);
    let refused = |directory: &Path| SledLog::open(directory, Options::default()).expect_err("refused");
    assert_eq!(refused(&directory), OpenError::Locked { directory: directory.to_path_buf() });
    let text = refused(&directory).to_string();
    assert!(text.starts_with("the log in `") && text.ends_with("` is in use by another process"), "{text}");
    close(log);

    fs::write(directory.join("FORMAT"), "terrarium event log 9\n").expect("written");
    let found = "terrarium event log 9".to_owned();
    assert_eq!(refused(&directory), OpenError::Format { directory: directory.to_path_buf(), found });

    let foreign = Scratch::new();
    fs::create_dir_all(&*foreign).expect("a directory");
    fs::write(foreign.join("photo.jpg"), "x").expect("written");
    assert_eq!(refused(&foreign), OpenError::Foreign { directory: foreign.to_path_buf() });
    assert_eq!(files(&foreign, ""), ["photo.jpg"]);
}

#[test]
fn temporary_files_of_a_killed_process_are_removed() {
    let directory = Scratch::new();
    close(open(&directory));
    let names = ["checkpoint-00000000000000000007.writing", "facts.writing", "REACHED.writing"];
    for name in names {
        fs::write(directory.join(name), "half").expect("written");
    }
    close(open(&directory));
    assert_eq!(files(&directory, "").iter().filter(|name| name.ends_with(".writing")).count(), 0);
}

#[test]
fn a_damaged_store_is_rebuilt() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 60);
    let before = shown(&log);
    close(log);
    store::released(&directory.join(STORE)).expect("nobody's");
    let original = fs::read(directory.join("store/db")).expect("sled's file");
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.fill(0),
        |bytes| bytes.iter_mut().step_by(977).for_each(|byte| *byte ^= 0x55),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        // A power failure leaves no mark of a clean stop.
        let _ = fs::remove_file(directory.join(CLEAN));
        let mut bytes = original.clone();
        damage(&mut bytes);
        fs::write(directory.join("store/db"), bytes).expect("written");
        let log = open(&directory);
        let recovery = log.recovery().clone();
        assert!(recovery.rebuilt.is_some() || recovery.put_back > 0, "damage {number}: {recovery:?}");
        assert_eq!(shown(&log), before, "damage {number}");
        close(log);
        store::released(&directory.join(STORE)).expect("nobody's");
    }
}

/// Bytes that a start after more writes reads, bytes of the newest checkpoint, and bytes of all journals.
fn a_start(directory: &Path, writes: u64, object: (usize, usize)) -> (u64, u64, u64) {
    let read_by_this_thread = || {
        let text = fs::read_to_string("/proc/thread-self/io").expect("Linux counts what a thread reads");
        let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("bytes");
        line.parse::<u64>().expect("a number")
    };
    let options = Options { durability: Durability::Fast, ..Options::default() };
    let log = SledLog::open(directory, options.clone()).expect("a log");
    block_on(crate::bench::appends(&log, writes, 16, writes, object, &|| 0.0)).expect("appended");
    let before = log.head();
    close(log);
    let started = read_by_this_thread();
    let log = SledLog::open(directory, options).expect("a log");
    let read = read_by_this_thread() - started;
    assert_eq!(log.head(), before);
    let newest = files(directory, "checkpoint").pop().expect("a checkpoint");
    let newest = fs::metadata(directory.join(newest)).expect("there").len();
    let history = directory::size_of(&log.0.shared.directory, "journal");
    assert!(read < newest + 20_000, "{read} bytes of {newest} in the checkpoint and {history} in the journals");
    let last = Revision(before.0 - 100);
    assert_eq!(block_on(log.read(last, before, None)).expect("retained").len(), 100);
    close(log);
    (read, newest, history)
}

/// A start after a clean stop reads the newest checkpoint regardless of the length of the history; sled is opened later.
#[test]
fn a_start_reads_only_the_newest_checkpoint() {
    let directory = Scratch::new();
    for writes in [2_000, 10_000] {
        let (_, _, history) = a_start(&directory, writes, (20_000, 1_000));
        assert!(history > writes * 900, "{history} bytes of history");
    }
}

#[test]
#[ignore = "takes minutes: for changes of recovery"]
#[expect(clippy::print_stdout, reason = "a measurement")]
fn a_start_after_a_million_entries_reads_only_the_checkpoint() {
    let directory = Scratch::new();
    let figures = a_start(&directory, 1_000_000, (1_000, 200));
    println!("{figures:?}");
}

/// After a clean stop sled is opened later; a store that does not end at the clean stop is rebuilt, which is reported.
#[test]
fn a_store_emptied_after_a_clean_stop_is_rebuilt() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 60);
    let before = shown(&log);
    close(log);
    store::released(&directory.join(STORE)).expect("nobody's");
    fs::write(directory.join("store/db"), "").expect("written");
    for name in files(&directory.join(STORE), "snap") {
        fs::remove_file(directory.join(STORE).join(name)).expect("removed");
    }
    let log = open(&directory);
    assert_eq!(shown(&log), before);
    let later = log.clone();
    close(log);
    let [note] = &later.healed()[..] else { panic!("{:?}", later.healed()) };
    assert!(note.starts_with("the log's store was made again from its journal: "), "{note}");
}

/// sled's threads keep the lock for a moment after the log is closed; that is no damage.
#[test]
fn a_store_that_is_still_in_use_is_waited_for() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 3);
    let before = shown(&log);
    close(log);
    store::released(&directory.join(STORE)).expect("nobody's");
    let held = fs::File::open(directory.join("store/db")).expect("sled's file");
    held.lock().expect("locked");
    let inode = held.metadata().expect("there").ino();
    let waits = || {
        let locks = fs::read_to_string("/proc/locks").expect("Linux's table of locks");
        locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&format!(":{inode} ")))
    };
    let reopened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| open(&directory));
        while !waits() && !opening.is_finished() {
            std::thread::yield_now();
        }
        drop(held);
        opening.join().expect("opened")
    });
    assert_eq!(*reopened.recovery(), Recovery::default());
    assert_eq!(shown(&reopened), before);
    close(reopened);
}

/// A power failure may bring back pages of sled's with a part of the records that compaction had dropped.
#[test]
fn stale_segments_from_before_the_base_cause_no_trouble() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 20);
    block_on(log.compact(Revision(60))).expect("retained");
    let before = shown(&log);
    let base = block_on(log.state_at(Revision(60))).expect("the base");
    let past = block_on(log.state_at(Revision(61))).expect("retained");
    close(log);
    for with_record in [true, false] {
        let _ = fs::remove_file(directory.join(CLEAN));
        store::released(&directory.join(STORE)).expect("nobody's");
        let sled = ::sled::open(directory.join(STORE)).expect("sled's directory");
        if with_record {
            sled.insert([&b"e"[..], &7_u64.to_be_bytes(), &[0, 0]].concat(), &b"\0\x03the first of three"[..])
                .expect("written");
        }
        // An object of the base, as if it had been deleted before.
        let key = [&store::ordered(&base[0].0)[..], &8_u64.to_be_bytes()].concat();
        sled.insert(key, &[3]).expect("written");
        drop(sled);
        let log = open(&directory);
        assert_eq!(log.recovery().rebuilt.is_some(), with_record);
        assert_eq!(shown(&log), before);
        assert_eq!(block_on(log.state_at(Revision(60))).expect("the base"), base);
        assert_eq!(block_on(log.state_at(Revision(61))).expect("retained"), past);
        close(log);
    }
}

#[test]
fn a_journal_that_lost_its_tail_gets_it_back_from_the_store() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 10);
    close(log);
    let log = open(&directory);
    block_on(done(&log, put("late", 1)));
    block_on(done(&log, put("later", 1)));
    let before = shown(&log);
    close(log);
    let _ = fs::remove_file(directory.join(CLEAN));
    let last = files(&directory, "checkpoint").pop().expect("a checkpoint");
    fs::remove_file(directory.join(last)).expect("removed");
    // The last but one journal holds the two entries, the last one nothing.
    let mut journals = files(&directory, "journal");
    fs::remove_file(directory.join(journals.pop().expect("a journal"))).expect("removed");
    let path = directory.join(journals.pop().expect("a journal"));
    let length = fs::metadata(&path).expect("there").len();
    fs::File::options().write(true).open(&path).and_then(|file| file.set_len(length - 20)).expect("cut");
    // A log of an earlier version has no `REACHED`.
    fs::remove_file(directory.join("REACHED")).expect("removed");
    fs::write(directory.join("FORMAT"), "terrarium event log 1\n").expect("written");
    let log = open(&directory);
    let found = log.recovery();
    assert!(found.torn > 0 && found.from_store == 1 && found.end_is_unknown, "{found:?}");
    assert_eq!(shown(&log), before);
    close(log);
    let format = fs::read_to_string(directory.join("FORMAT")).expect("readable");
    assert_eq!(format, "terrarium event log 2\n", "from now on the end is named");
}

/// Removal of `REACHED` alone loses nothing and is reported.
#[test]
fn a_removed_end_is_written_again() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 10);
    let before = shown(&log);
    let crashed = Scratch::new();
    copy(&directory, &crashed);
    close(log);
    fs::remove_file(crashed.join("REACHED")).expect("removed");
    let log = open(&crashed);
    let [note] = &log.recovery().healed[..] else { panic!("{:?}", log.recovery()) };
    assert!(note.ends_with("REACHED` was removed; it was written again"), "{note}");
    assert_eq!((shown(&log).1, shown(&log).2), (before.1, before.2));
    close(log);
}

/// The same case, with a `REACHED` that shows the missing tail.
#[test]
fn a_journal_without_its_tail_is_healed_from_the_store() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 10);
    let before = shown(&log);
    close(log);
    // Like after a crash: the store has the journal's records.
    for name in files(&directory, "checkpoint").iter().chain([&CLEAN.to_owned()]) {
        fs::remove_file(directory.join(name)).expect("removed");
    }
    let mut journals = files(&directory, "journal");
    fs::remove_file(directory.join(journals.pop().expect("a journal"))).expect("removed");
    let path = directory.join(journals.pop().expect("a journal"));
    let length = fs::metadata(&path).expect("there").len();
    fs::File::options().write(true).open(&path).and_then(|file| file.set_len(length - 20)).expect("cut");
    let log = open(&directory);
    let [note] = &log.recovery().healed[..] else { panic!("{:?}", log.recovery()) };
    assert!(note.contains("and the log went on to"), "{note}");
    assert_eq!((shown(&log).1, shown(&log).2), (before.1, before.2));
    close(log);
}

#[test]
fn a_journal_that_is_damaged_in_its_middle_is_refused() {
    let (directory, copied) = (Scratch::new(), Scratch::new());
    let log = open(&directory);
    fill(&log, 10);
    copy(&directory, &copied);
    close(log);
    let path = copied.join(&files(&copied, "journal")[0]);
    let mut bytes = fs::read(&path).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    // The store would restore the tail.
    let _ = fs::remove_dir_all(copied.join(STORE));
    match SledLog::open(&*copied, Options::default()) {
        Err(OpenError::Corrupt { reason, .. }) => {
            assert!(reason.contains(&format!("{}`: it is damaged at byte", path.display())), "{reason}");
            assert!(reason.contains(" are missing: "), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_value_is_above_four_kilobytes_and_none_gets_a_file_of_its_own() {
    let directory = Scratch::new();
    let log = open(&directory);
    block_on(async {
        for number in 0..4_u8 {
            let mut object = Sections::default();
            let noise = (0..1_500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0] ^ number);
            object.parts[3] = noise.collect::<Vec<_>>().into();
            done(&log, Append { object, ..put(&format!("large-{number}"), 1) }).await;
        }
    });
    let before = shown(&log);
    close(log);
    let blobs = fs::read_dir(directory.join("store/blobs")).map_or(0, Iterator::count);
    assert_eq!(blobs, 0);
    let log = open(&directory);
    assert_eq!(shown(&log), before);
    close(log);
}

#[test]
fn an_object_is_kept_whole_at_least_every_sixty_fourth_time() {
    let directory = Scratch::new();
    let log = open(&directory);
    block_on(async {
        let mut at = done(&log, put("a", 0)).await;
        for number in 1..300 {
            at = done(&log, update_status("a", at, number)).await;
        }
    });
    let (store, _) = log.0.shared.store(Revision(0)).expect("open");
    let mut since = 0;
    for found in store.range(Revision(0), log.head()) {
        let (_, bytes) = found.expect("readable");
        let record = record::Record::decode(&bytes).expect("a record");
        since = if matches!(record.content, record::Content::Whole(_)) { 0 } else { since + 1 };
        assert!(since < 64);
    }
    drop(store);
    close(log);
}

#[test]
fn appends_wait_while_too_much_is_not_durable() {
    let directory = Scratch::new();
    let log = SledLog::open(&*directory, Options { unsynced: 8, ..Options::default() }).expect("a new log");
    let writing = log.0.shared.gate.lock();
    let mut waiting: Vec<_> = (0..20).map(|number| log.append(put(&format!("{number}"), 1))).collect();
    assert_eq!(log.head(), Revision(8));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let ready = waiting.iter_mut().map(|append| append.as_mut().poll(&mut context).is_ready()).filter(|is| *is).count();
    assert_eq!(ready, 8);
    drop(writing);
    for append in waiting.split_off(8) {
        block_on(append).expect("an append that holds");
    }
    assert_eq!(log.head(), Revision(20));
    close(log);
}

/// On a thread that blocks, the order of tasks does not depend on the disk: each wait has ended when its call returns.
#[test]
fn waits_of_a_thread_that_blocks_end_before_their_calls() {
    let directory = Scratch::new();
    let log = SledLog::open(&*directory, Options { unsynced: 1, ..Options::default() }).expect("a new log");
    let blocks = log.clone();
    let (appended, read) = std::thread::Builder::new()
        .spawn(move || {
            crate::block_this_thread();
            let appends = (1..=20).map(|number| blocks.append(put(&format!("{number}"), 1)).now_or_never());
            let appended: Vec<_> =
                appends.map(|append| append.expect("ready").expect("an append that holds")).collect();
            let mut read = blocks.read(Revision(0), Revision(20), None);
            // The entries are read in steps, which do not wait for the disk.
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let entries = std::iter::from_fn(|| Some(read.as_mut().poll(&mut context))).take(3).find(Poll::is_ready);
            (appended.iter().map(|append| append.revision.0).collect::<Vec<_>>(), entries)
        })
        .expect("a thread")
        .join()
        .expect("no panic");
    assert_eq!(appended, (1..=20).collect::<Vec<_>>());
    assert!(matches!(read, Some(Poll::Ready(Ok(entries))) if entries.len() == 20));
    close(log);
}

/// Readers in the process see an entry at once. A copy of the files has all durable entries, and none that were not
/// shown.
#[test]
fn entries_are_shown_before_they_are_durable() {
    let (directory, copied) = (Scratch::new(), Scratch::new());
    let log = open(&directory);
    let first = block_on(append_durably(&log, put("a", 1))).expect("written").revision;
    let mut subscription = log.subscribe(first, None).expect("retained");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let writing = log.0.shared.gate.lock();
    let second = block_on(log.append(update("a", first, 2))).expect("an append that holds").revision;
    let beat = block_on(log.append(heartbeat("a", second, 3))).expect("an append that holds").revision;
    assert_eq!(log.head(), beat);
    let state = block_on(log.state_at(second)).expect("the state");
    assert_eq!(state.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), [second]);
    let next = |subscription: &mut Subscription| block_on(subscription.messages.next());
    assert!(matches!(next(&mut subscription), Some(Message::Entry(entry)) if entry.revision == second));
    // Data that leaves the process waits, and reads that the store has to answer.
    let (mut durable, mut read) = (log.durable(second), log.read(Revision(0), second, None));
    assert!(durable.as_mut().poll(&mut context).is_pending() && read.as_mut().poll(&mut context).is_pending());
    assert!(log.durable(first).as_mut().poll(&mut context).is_ready());
    copy(&directory, &copied);
    drop(writing);
    block_on(durable).expect("written");
    assert_eq!(block_on(read).expect("retained").len(), 2);
    block_on(log.durable(beat)).expect("a heartbeat is as durable as it will be");
    close(log);
    let log = open(&copied);
    assert_eq!(block_on(log.read(Revision(0), log.head(), None)).expect("retained").len(), 1);
    close(log);
}

/// A heartbeat after the last durable entry is durable at once, and wakes no thread.
#[test]
fn heartbeats_within_what_is_reserved_need_no_write() {
    let directory = Scratch::new();
    let log = open(&directory);
    let first = block_on(append_durably(&log, put("a", 1))).expect("written").revision;
    let beat = block_on(append_durably(&log, heartbeat("a", first, 2))).expect("reserved").revision;
    let writing = log.0.shared.gate.lock();
    let beat = block_on(append_durably(&log, heartbeat("a", beat, 3))).expect("no write").revision;
    drop(writing);
    assert_eq!(beat, Revision(3));
    close(log);
}

/// A checkpoint that was due while nothing could be written is made later, and so are those after it.
#[test]
fn checkpoints_go_on_after_a_write_that_failed() {
    let directory = Scratch::new();
    let log = SledLog::open(&*directory, Options { checkpoint_after: 10, ..Options::default() }).expect("a new log");
    let write = |append| block_on(done(&log, append));
    let shown = |append| block_on(log.append(append)).expect("an append that holds").revision;
    let mut at = write(put("a", 0));
    for number in 0..9 {
        at = write(update("a", at, number));
    }
    log.0.shared.full.store(true, std::sync::atomic::Ordering::Release);
    let writing = log.0.shared.gate.lock();
    let due = shown(update("a", at, 10));
    while !log.0.shared.published().work.records.is_empty() {
        std::thread::yield_now();
    }
    // Appended while the writer works on the entry before.
    at = shown(update("a", due, 11));
    drop(writing);
    block_on(log.durable(at)).expect_err("there is no room");
    log.0.shared.full.store(false, std::sync::atomic::Ordering::Release);
    for number in 12..72 {
        at = write(update("a", at, number));
        if number % 12 == 0 {
            // The keeper answers after the checkpoint; while it writes one, no other is due.
            block_on(log.compact(Revision(1))).expect("retained");
        }
    }
    let last = log.0.shared.directory.revisions("checkpoint").expect("readable").pop();
    assert!(last > Some(Revision(40)), "{last:?}");
    close(log);
}

/// Entries that a full disk has refused are written when there is room again, once and in order.
#[test]
fn entries_that_could_not_be_written_are_written_later() {
    let directory = Scratch::new();
    let log = open(&directory);
    let first = block_on(append_durably(&log, put("a", 1))).expect("written").revision;
    log.0.shared.full.store(true, std::sync::atomic::Ordering::Release);
    let second = block_on(log.append(update("a", first, 2))).expect("an append that holds").revision;
    let refused = block_on(log.durable(second)).expect_err("there is no room");
    assert!(matches!(&refused, AppendError::Storage(text) if text.contains("no room")), "{refused}");
    assert!(matches!(log.trouble(), Some(Trouble::Passing(_))), "{:?}", log.trouble());
    let again = block_on(log.append(update("a", second, 3))).expect_err("there is no room");
    assert!(matches!(&again, AppendError::Storage(_)), "{again}");
    assert_eq!(log.head(), second);
    log.0.shared.full.store(false, std::sync::atomic::Ordering::Release);
    let third = block_on(append_durably(&log, update("a", second, 3))).expect("written").revision;
    assert_eq!(log.trouble(), None);
    close(log);
    let log = open(&directory);
    let entries = block_on(log.read(Revision(0), log.head(), None)).expect("retained");
    assert_eq!(entries.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [first, second, third]);
    close(log);
}

#[test]
fn a_closed_log_refuses_everything_and_ends_subscriptions() {
    let directory = Scratch::new();
    let log = open(&directory);
    fill(&log, 2);
    let mut subscription = log.subscribe(Revision(0), None).expect("retained");
    let again = log.clone();
    close(log);
    assert_eq!(block_on(again.append(put("x", 1))), Err(AppendError::Closed));
    assert_eq!(block_on(again.read(Revision(0), Revision(1), None)), Err(ReadError::Closed));
    assert_eq!(block_on(again.state_at(Revision(1))), Err(ReadError::Closed));
    assert_eq!(block_on(again.compact(Revision(1))), Err(ReadError::Closed));
    block_on(async { while subscription.messages.next().await.is_some() {} });
    close(again);
}

#[test]
fn facts_are_kept_next_to_the_log() {
    let directory = Scratch::new();
    let log = open(&directory);
    assert_eq!(log.fact("seed"), None);
    let facts = |pairs: &[(&str, &str)]| -> Vec<(String, Vec<u8>)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    };
    log.set_facts(facts(&[("seed", "1"), ("profile", "documents")])).expect("written");
    log.set_facts(facts(&[("clock", "2023-07-27T20:00:00Z")])).expect("written");
    close(log);
    let log = open(&directory);
    assert_eq!(log.facts().keys().collect::<Vec<_>>(), ["clock", "profile", "seed"]);
    assert_eq!(log.fact("profile"), Some(b"documents".to_vec()));
    close(log);
}

/// Threads that write and delete, subscribers that start anywhere and are cut, history that is forgotten meanwhile.
#[test]
fn subscriptions_are_complete_while_many_threads_write() {
    let directory = Scratch::new();
    let options = Options { checkpoint_after: 100, durability: Durability::Fast, ..Options::default() };
    let log = SledLog::open(&*directory, options).expect("a new log");
    let mut validators = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let log = &log;
                scope.spawn(move || {
                    block_on(async {
                        for round in 0..60 {
                            let name = format!("w{writer}");
                            let mut at = done(log, put(&name, round)).await;
                            for number in 0..5 {
                                at = done(log, update_status(&name, at, number)).await;
                                at = done(log, heartbeat(&name, at, number)).await;
                            }
                            done(log, delete(&name, at, 4)).await;
                        }
                    });
                })
            })
            .collect();
        let readers: Vec<_> = [None, Some("garden"), Some("other")]
            .into_iter()
            .map(|cluster| {
                let log = &log;
                scope.spawn(move || {
                    let mut validator = WatchValidator::new(Revision(0), cluster);
                    block_on(async {
                        for cut in 1_usize.. {
                            let mut subscription = log.subscribe(validator.position(), cluster).expect("retained");
                            for _ in 0..cut * 3 {
                                let message = subscription.messages.next().await.expect("not cut by the log");
                                validator.push(&message).expect("a subscription without fault");
                                if validator.position() >= Revision(4 * 60 * 12) {
                                    return;
                                }
                            }
                        }
                    });
                    validator
                })
            })
            .collect();
        for thread in writers {
            thread.join().expect("a writer");
        }
        validators.extend(readers.into_iter().map(|thread| thread.join().expect("a reader")));
    });
    assert_eq!(log.head(), Revision(4 * 60 * 12));
    for validator in validators {
        block_on(validator.finish(&log)).expect("retained").expect("a subscription without gap");
    }
    close(log);
}

#[test]
fn an_append_says_what_it_expects_over_a_restart() {
    let directory = Scratch::new();
    let log = open(&directory);
    let at = block_on(done(&log, put("a", 1)));
    close(log);
    let log = open(&directory);
    assert_eq!(block_on(log.append(put("a", 1))), Err(AppendError::Conflict { actual: Some(at) }));
    let wrong = Append { expect: Expect::Revision(Revision(9)), verb: Verb::Update, ..put("a", 2) };
    assert_eq!(block_on(log.append(wrong)), Err(AppendError::Conflict { actual: Some(at) }));
    block_on(done(&log, update("a", at, 2)));
    close(log);
}
