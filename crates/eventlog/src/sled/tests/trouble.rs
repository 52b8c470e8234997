// SPDX-License-Identifier: Apache-2.0
//! A log that cannot write: its directory was removed, or there is no room.

use super::*;
use crate::conformance::{delete, put, update, update_status};
use crate::log::{Guard, append_durably};

fn open(directory: &Path) -> SledLog {
    SledLog::open(directory, Options::default()).expect("a log that can be opened")
}

fn append(log: &SledLog, append: Append) -> Result<Revision, AppendError> {
    block_on(append_durably(log, append)).map(|done| done.revision)
}

/// After any removal of the directory, also without a write, the next append is refused, reads go on, and the log
/// reports the reason.
#[test]
fn a_log_whose_directory_is_gone_takes_no_writes_and_says_so() {
    type Way = (&'static str, fn(&Path));
    let ways: [Way; 4] = [
        ("removed or replaced while", |directory| fs::remove_dir_all(directory).expect("removed")),
        ("removed or replaced while", |directory| {
            fs::remove_dir_all(directory).expect("removed");
            fs::create_dir(directory).expect("made");
        }),
        ("removed or replaced while", |directory| {
            fs::rename(directory, directory.with_extension("moved")).expect("renamed");
            copy(&directory.with_extension("moved"), directory);
            fs::remove_dir_all(directory.with_extension("moved")).expect("removed");
        }),
        ("the journal in", |directory| {
            for file in fs::read_dir(directory).expect("readable").map(|file| file.expect("readable")) {
                if file.file_name().to_string_lossy().starts_with("journal") {
                    fs::remove_file(file.path()).expect("removed");
                }
            }
        }),
    ];
    for (expected, remove) in ways {
        for asked in [false, true] {
            let directory = Scratch::new();
            let log = open(&directory);
            let created = append(&log, put("a", 1)).expect("a write");
            assert_eq!(block_on(log.look()), None);
            remove(&directory);
            if asked {
                assert!(matches!(block_on(log.look()), Some(Trouble::Gone(_))), "{:?}", log.trouble());
            }
            let Err(AppendError::Storage(message)) = append(&log, update("a", created, 2)) else {
                panic!("a write to a directory that is gone")
            };
            assert!(message.contains(expected), "{message}");
            assert_eq!(block_on(log.trouble_after(None)), Some(Trouble::Gone(message.clone())));
            let state = block_on(log.state_at(log.head())).expect("the head");
            // The loss of the journal alone is detected only by the writer: the entry was shown by then, and never
            // becomes durable.
            let expected = if expected == "the journal in" && !asked { Revision(created.0 + 1) } else { created };
            assert_eq!(state.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), [expected]);
            assert_eq!(append(&log, put("b", 1)), Err(AppendError::Storage(message.clone())));
            assert_eq!(block_on(log.close()), Err(message));
        }
    }
}

/// A limit to the length of files stands for a full disk: both refuse a write.
#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let directory = Scratch::new();
    let log = open(&directory);
    let a = append(&log, put("a", 1)).expect("a write");
    let b = append(&log, put("b", 1)).expect("a write");
    let gone = append(&log, put("gone", 1)).expect("a write");
    let deleted = append(&log, delete("gone", gone, 1)).expect("a write");
    let full = Trouble::Passing("no room".to_owned());
    log.0.shared.set(full.clone());
    assert_eq!(log.trouble(), Some(full));
    // The next write finds room.
    let beat = append(&log, Append { volatile: true, ..update_status("a", a, 2) }).expect("a heartbeat");
    let a = append(&log, update_status("a", beat, 3)).expect("a write");
    assert_eq!(log.trouble(), None);
    log.0.shared.set(Trouble::Passing("no room".to_owned()));
    assert_eq!(block_on(log.look()), None);
    let key = crate::Key::new("garden", "example/things", "ns", "gone");
    append(&log, Append { guards: vec![Guard::Key(key, deleted)], ..update("b", b, 2) }).expect("a guard that holds");
    append(&log, delete("a", a, 1)).expect("a write");
    block_on(log.close()).expect("no failure");
}

/// A store that cannot be used is rebuilt from the journals while the log is open.
#[test]
fn a_failed_store_is_rebuilt() {
    let directory = Scratch::new();
    let log = open(&directory);
    let created = append(&log, put("a", 1)).expect("a write");
    log.0.shared.fail_store("sled gave up");
    assert!(matches!(log.trouble(), Some(Trouble::Passing(_))), "{:?}", log.trouble());
    append(&log, update("a", created, 2)).expect("a write");
    assert_eq!(log.trouble(), None);
    log.0.shared.fail_store("sled gave up");
    assert_eq!(block_on(log.look()), None);
    let head = log.head();
    let entries = block_on(log.read(Revision(0), head, None)).expect("retained");
    assert_eq!(entries.len(), 2);
    block_on(log.close()).expect("no failure");
    let log = open(&directory);
    assert_eq!(*log.recovery(), Recovery::default());
    assert_eq!(block_on(log.read(Revision(0), head, None)).expect("retained"), entries);
    block_on(log.close()).expect("no failure");
}
