// SPDX-License-Identifier: Apache-2.0
//! Journals and `REACHED` of an earlier time, put back next to a newer store or checkpoint: no crash leaves that.

use std::ops::Range;

use super::restart::{close, done, files, fill, open, shown};
use super::*;
use crate::conformance::put;

/// A log after a crash of its process, of whose late entries the store has some.
struct Crashed {
    directory: Scratch,
    /// Files of the log at a clean stop before the late entries.
    earlier: Scratch,
    entries: Vec<Arc<Entry>>,
    /// Last revision at the clean stop, in the store, in the journals.
    ends: (Revision, Revision, Revision),
}

fn late(log: &SledLog, numbers: Range<u64>) -> Revision {
    block_on(async {
        for number in numbers {
            done(log, put(&format!("late-{number}"), 1)).await;
        }
    });
    log.head()
}

/// A crashed log; with `stops`, it was left cleanly once more when the store got its last entry, so that a checkpoint
/// names that one.
fn crashed(stops: bool) -> Crashed {
    let (live, earlier, directory) = (Scratch::new(), Scratch::new(), Scratch::new());
    let mut log = open(&live);
    fill(&log, 10);
    let stopped = log.head();
    close(log);
    store::released(&live.join(STORE)).expect("nobody's");
    copy(&live, &earlier);
    log = open(&live);
    let stored = late(&log, 0..40);
    if stops {
        close(log);
        store::released(&live.join(STORE)).expect("nobody's");
        copy(&live.join(STORE), &directory.join(STORE));
        log = open(&live);
    } else {
        let (store, _) = log.0.shared.store(stored).expect("open");
        store.flush(true).expect("flushed");
        copy(&live.join(STORE), &directory.join(STORE));
    }
    let last = late(&log, 40..75);
    for name in files(&live, "").iter().filter(|name| *name != STORE) {
        fs::copy(live.join(name), directory.join(name)).expect("copied");
    }
    let entries = shown(&log).1;
    close(log);
    Crashed { directory, earlier, entries, ends: (stopped, stored, last) }
}

/// A copy of the log in which files are those of the clean stop.
fn with_earlier(crashed: &Crashed, journals: bool, reached: bool) -> Scratch {
    let copied = Scratch::new();
    copy(&crashed.directory, &copied);
    if journals {
        for name in files(&copied, "journal") {
            fs::remove_file(copied.join(name)).expect("removed");
        }
        for name in files(&crashed.earlier, "journal") {
            fs::copy(crashed.earlier.join(&name), copied.join(&name)).expect("copied");
        }
    }
    if reached {
        fs::copy(crashed.earlier.join("REACHED"), copied.join("REACHED")).expect("copied");
    }
    copied
}

/// Everything in a log but its store.
fn written(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = files(directory, "").into_iter().filter(|name| name != STORE);
    names.map(|name| (name.clone(), fs::read(directory.join(name)).expect("readable"))).collect()
}

#[test]
fn the_log_as_it_was_left_is_complete() {
    for stops in [false, true] {
        let crashed = crashed(stops);
        // After a power failure `REACHED` alone may be of an earlier time.
        for reached in [false, true] {
            let copied = with_earlier(&crashed, false, reached);
            let log = open(&copied);
            assert_eq!(log.recovery().from_store, 0, "stops {stops}, earlier REACHED {reached}");
            assert_eq!(shown(&log).1, crashed.entries, "stops {stops}, earlier REACHED {reached}");
            close(log);
        }
    }
}

/// Only the store or a checkpoint shows that there was more, and neither names the last entry.
#[test]
fn journals_older_than_the_store_are_refused_until_discarded() {
    for stops in [false, true] {
        let crashed = crashed(stops);
        let (stopped, stored, last) = crashed.ends;
        for is_removed in [false, true] {
            let what = format!("stops {stops}, REACHED removed {is_removed}");
            let copied = with_earlier(&crashed, true, true);
            if is_removed {
                fs::remove_file(copied.join("REACHED")).expect("removed");
            }
            let before = written(&copied);
            for _ in 0..2 {
                let error = SledLog::open(&*copied, Options::default()).expect_err(&what).to_string();
                let missing = format!("revisions {} to {stored} are missing in it: 40 at least", stopped.0 + 1);
                assert!(error.contains(&missing), "{what}: {error}");
                let unknown =
                    format!("what came after revision {stored} is lost, and how many revisions that are is not");
                assert!(error.contains(&unknown), "{what}: {error}");
                assert_eq!(written(&copied), before, "{what}: a refusal changes nothing");
            }
            assert!(SledLog::open_read_only(&*copied).is_err(), "{what}");
            let damage = SledLog::examine(&*copied).expect("readable").map(|damage| damage.remedy);
            assert_eq!(damage, Some(Remedy::Cut(stored, stored)), "{what}");
            assert!(SledLog::repair(&*copied, false).is_err(), "{what}: no loss was requested");
            SledLog::repair(&*copied, true).expect("repaired");
            let log = SledLog::open(&*copied, Options::default()).unwrap_or_else(|error| panic!("{what}: {error}"));
            let kept = crashed.entries.iter().take_while(|entry| entry.revision <= stored);
            assert!(shown(&log).1.iter().eq(kept), "{what}: the entries of the store are kept");
            assert!(log.head() >= last, "{what}: no revision is given out again");
            block_on(done(&log, put("later", 1)));
            close(log);
            assert_eq!(SledLog::examine(&*copied), Ok(None), "{what}");
        }
    }
}

#[test]
fn older_journals_alone_are_refused_with_the_number_of_missing_revisions() {
    for stops in [false, true] {
        let crashed = crashed(stops);
        let (_, stored, last) = crashed.ends;
        let copied = with_earlier(&crashed, true, false);
        let before = written(&copied);
        let error = SledLog::open(&*copied, Options::default()).expect_err("refused").to_string();
        let missing = format!("revisions {} to {last} are missing: 35 at least", stored.0 + 1);
        assert!(error.contains(&missing), "stops {stops}: {error}");
        assert_eq!(written(&copied), before, "stops {stops}: a refusal changes nothing");
    }
}
