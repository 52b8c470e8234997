// SPDX-License-Identifier: Apache-2.0
//! A writing process is killed with SIGKILL, many times, or its disk is full: its acknowledged entries are found,
//! whole, and no revision was assigned twice.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use chrono::DateTime;
use clock::Random;
use eventlog::sled::{Durability, History, Options, SledLog};
use eventlog::{Actor, Append, AppendError, EventLog, Expect, Key, Replay, Sections, Verb, append_durably};

/// Number of times that the process is killed.
const KILLS: u64 = 40;

/// Writers of the process.
const WRITERS: u64 = 12;

/// Returns the sections of an append's object, which follow from writer and sequence.
pub(crate) fn object(writer: (u64, u64)) -> Sections {
    let random = Random::new(writer.0 * 1_000_003 + writer.1);
    let long = random.below(6, "long", "", 0) == 0;
    let size = random.below(if long { 20_000 } else { 300 }, "size", "", 0);
    let mut parts: [Bytes; 5] = Default::default();
    parts[3] = Bytes::from_static(b"the same in every object of this test, so that changes are small");
    let noise = random.draw("noise", "", 0) | 1;
    parts[4] = (0..size).map(|at| (noise.wrapping_mul(at * at + 1) >> 40).to_le_bytes()[0]).collect::<Vec<_>>().into();
    Sections { parts }
}

pub(crate) fn append(name: &str, expect: Expect, verb: Verb, writer: (u64, u64), volatile: bool) -> Append {
    Append {
        key: Key::new("garden", "example/things", "ns", name),
        expect,
        guards: Vec::new(),
        verb,
        object: object(writer),
        volatile,
        actor: Arc::new(Actor::default()),
        time: DateTime::from_timestamp(1_690_488_000, 0).expect("in range"),
        writer,
    }
}

/// Runs one writer: it creates, changes, renews and deletes its object, and prints acknowledgements.
async fn write(log: &SledLog, process: u64, number: u64) {
    let name = format!("object-{number}");
    let state = log.state_at(log.head()).await.expect("the head");
    let mut at = state.into_iter().find(|(key, _, _)| *key.name == *name).map(|(_, revision, _)| revision);
    for sequence in 0.. {
        let writer = (process * 100 + number, sequence);
        let (verb, volatile) = match (at, sequence % 20) {
            (None, _) => (Verb::Create, false),
            (_, 19) => (Verb::Delete, false),
            (_, 3 | 8) => (Verb::UpdateStatus, true),
            (_, 5) => (Verb::Update, false),
            _ => (Verb::UpdateStatus, false),
        };
        let expect = at.map_or(Expect::Absent, Expect::Revision);
        let revision = match append_durably(log, append(&name, expect, verb, writer, volatile)).await {
            Ok(done) => done.revision,
            Err(AppendError::Storage(message)) => return say(&format!("failed {message}\n")),
            Err(error) => panic!("{error}"),
        };
        let line = format!("ack {revision} {} {} {}\n", writer.0, writer.1, u8::from(volatile));
        say(&line);
        at = (verb != Verb::Delete).then_some(revision);
    }
}

/// Prints a line in one write: a line that was not written whole does not count.
fn say(line: &str) {
    std::io::stdout().write_all(line.as_bytes()).expect("a reader");
    std::io::stdout().flush().expect("a reader");
}

#[test]
#[ignore = "the process that the test below kills; it reads from stdin what it is to do"]
fn writes_until_it_is_killed() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("an order");
    let mut words = line.trim().splitn(3, ' ');
    let mut word = || words.next().expect("a word");
    let (process, durability): (u64, _) = (word().parse().expect("a number"), word().to_owned());
    let options = Options {
        durability: if durability == "fast" { Durability::Fast } else { Durability::Durable },
        checkpoint_after: 300,
        history: History::Entries(3000),
        ..Options::default()
    };
    let log = SledLog::open(word(), options).expect("a log that can be opened");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(futures::future::join_all((0..WRITERS).map(|number| write(&log, process, number))));
}

/// Starts the process below a shell command, which is to end with `"$@"`.
fn start(directory: &Path, process: u64, durability: &str, shell: &str) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", shell, "sh"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "--nocapture", "kill::writes_until_it_is_killed"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut stdin = child.stdin.take().expect("piped");
    writeln!(stdin, "{process} {durability} {}", directory.display()).expect("an order");
    child
}

/// Acknowledged appends, by revision: writer and sequence, and true for a heartbeat.
type Acknowledged = BTreeMap<u64, ((u64, u64), bool)>;

/// Records the acknowledgement in a line; returns false if it was not written whole.
fn note(line: &str, acknowledged: &mut Acknowledged) -> bool {
    let Some(words) = line.strip_prefix("ack ") else { return false };
    let numbers: Option<Vec<u64>> = words.split(' ').map(|word| word.parse().ok()).collect();
    let Some([revision, writer, sequence, volatile]) = numbers.as_deref() else { return false };
    let before = acknowledged.insert(*revision, ((*writer, *sequence), *volatile == 1));
    assert_eq!(before, None, "revision {revision} was given out twice");
    true
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for file in fs::read_dir(from).expect("readable").map(|file| file.expect("readable")) {
        let target = to.join(file.file_name());
        if file.file_type().expect("a type").is_dir() {
            copy(&file.path(), &target);
        } else {
            fs::copy(file.path(), target).expect("copied");
        }
    }
}

/// Checks a copy of the directory, so that the next process starts from the state that the kill left.
fn check(directory: &Path, acknowledged: &Acknowledged, kill: u64) {
    let copied = directory.with_extension("copy");
    let _ = fs::remove_dir_all(&copied);
    copy(directory, &copied);
    let log = SledLog::open(&copied, Options::default()).expect("a log that can be opened");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        assert_eq!(log.recovery().rebuilt, None, "kill {kill}: a killed process damages nothing");
        let base = log.compacted();
        assert!(Some(&log.head().0) >= acknowledged.keys().next_back(), "kill {kill}");
        let entries = log.read(base, log.head(), None).await.expect("retained");
        let mut replay = Replay::starting_at(log.state_at(base).await.expect("the base"));
        let mut found = BTreeMap::new();
        for entry in &entries {
            assert_eq!(entry.object, object(entry.writer), "kill {kill}: {} is torn", entry.revision);
            replay.push(entry);
            found.insert(entry.revision.0, entry.writer);
        }
        assert_eq!(replay.difference(&log.state_at(log.head()).await.expect("the head")), None, "kill {kill}");
        for (revision, (writer, volatile)) in acknowledged.range(base.0 + 1..) {
            match found.get(revision) {
                Some(held) => assert_eq!(held, writer, "kill {kill}: revision {revision} was used twice"),
                None => assert!(volatile, "kill {kill}: revision {revision} was acknowledged and is gone"),
            }
        }
        log.close().await.expect("no failure");
    });
    let _ = fs::remove_dir_all(&copied);
}

#[test]
fn a_killed_process_takes_nothing_that_it_acknowledged() {
    let directory: PathBuf = std::env::temp_dir().join(format!("eventlog-kill-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    let random = Random::new(3);
    let mut acknowledged = Acknowledged::new();
    for kill in 0..KILLS {
        let mut child = start(&directory, kill, if kill % 4 == 3 { "fast" } else { "durable" }, "exec \"$@\"");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        // A random number of acknowledgements determines the instant of the kill, so that no clock is needed.
        let mut left = 1 + random.below(400, "kill", "", kill);
        while let Some(Ok(line)) = lines.next() {
            if !note(&line, &mut acknowledged) {
                continue;
            }
            left = left.saturating_sub(1);
            if left == 0 {
                // Repeated for each further line: the process is already dead then.
                let _ = child.kill();
            }
        }
        child.wait().expect("it ended");
        check(&directory, &acknowledged, kill);
    }
    assert!(acknowledged.len() as u64 > KILLS * 50, "{} entries in all", acknowledged.len());
    let _ = fs::remove_dir_all(&directory);
}

#[test]
fn a_full_disk_takes_nothing_that_was_acknowledged() {
    let directory: PathBuf = std::env::temp_dir().join(format!("eventlog-full-{}", std::process::id()));
    for (round, blocks) in [300, 1100, 2000, 3000].into_iter().enumerate() {
        let _ = fs::remove_dir_all(&directory);
        let mut acknowledged = Acknowledged::new();
        // Limits the length of files: the error of a full disk is that of a write, too.
        let shell = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut child = start(&directory, 1, "durable", &shell);
        let mut failed = Vec::new();
        for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
            let line = line.expect("text");
            if !note(&line, &mut acknowledged) && line.starts_with("failed ") {
                failed.push(line);
            }
        }
        child.wait().expect("it ended");
        assert_eq!(failed.len() as u64, WRITERS, "{blocks} blocks: {failed:?}");
        check(&directory, &acknowledged, round as u64);
    }
    let _ = fs::remove_dir_all(&directory);
}
