// SPDX-License-Identifier: Apache-2.0
//! File operations that fail: every one of a start after a crash, a hundred writes, an image, a compaction and a
//! stop, including those of sled. Each fails as a full disk, as an error of the device and as a short write, and the
//! power fails after each.
//!
//! `shim.c` is preloaded into the process that writes. It names each operation by its kind, its file and a number, so
//! that a fault hits the same operation in each run, and traces writes and syncs. From this trace [`disk`] derives
//! the states that a power failure may leave.
//!
//! A bounded part runs always; `TERRARIUM_TEST_FAULTS=all` runs everything.

#![expect(clippy::print_stdout, reason = "the process says what becomes of it, and the tests print their figures")]

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clock::Random;
use eventlog::sled::{Durability, Options, SledLog};
use eventlog::{EventLog, Expect, Replay, Revision, Verb, append_durably};

use crate::kill::{append, copy, object};
use disk::{Cut, Disk};

/// Writes of a run.
const WRITES: u64 = 100;
/// Writes before it, ended by a crash.
const BEFORE: u64 = 40;
/// Pairs of faults in a full run.
const PAIRS: u64 = 500;
/// Runs of each part unless everything is run.
const BOUNDED: usize = 40;

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("eventlog-faults-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Acknowledged entries that are no heartbeats: writer and sequence by revision.
type Acknowledged = BTreeMap<u64, (u64, u64)>;

/// True if all runs are requested.
fn is_full() -> bool {
    std::env::var_os("TERRARIUM_TEST_FAULTS").is_some_and(|all| all == "all")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// Writes like a landscape: objects are created, changed and deleted, with heartbeats between. `acknowledge` gets
/// each acknowledgement.
async fn write(log: &SledLog, writer: u64, writes: u64, mut acknowledge: impl FnMut(u64, (u64, u64))) {
    for number in 0..writes {
        let name = format!("object-{}", number % 7);
        let state = log.state_at(log.head()).await.unwrap_or_default();
        let at = state.into_iter().find(|(key, _, _)| *key.name == *name).map(|(_, revision, _)| revision);
        let (verb, volatile) = match (at, number % 11) {
            (None, _) => (Verb::Create, false),
            (_, 10) => (Verb::Delete, false),
            (_, 3 | 8) => (Verb::UpdateStatus, true),
            _ => (Verb::Update, false),
        };
        let expect = at.map_or(Expect::Absent, Expect::Revision);
        for _ in 0..3 {
            match append_durably(log, append(&name, expect, verb, (writer, number), volatile)).await {
                Ok(done) if volatile => {
                    acknowledge(done.revision.0, (0, 0));
                    break;
                }
                Ok(done) => {
                    acknowledge(done.revision.0, (writer, number));
                    break;
                }
                Err(error) => println!("failed {error}"),
            }
            log.look().await;
        }
        if number == writes * 4 / 5 && writes == WRITES {
            let to = Revision(log.head().0.saturating_sub(60).max(1));
            println!("compacted {:?}", log.compact(to).await);
        }
    }
}

#[test]
#[ignore = "the process whose file operations fail; it reads from stdin where it works"]
fn works_with_failing_files() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("an order");
    let root = PathBuf::from(line.trim());
    let mut acks = fs::File::options().create(true).append(true).open(root.join("acks")).expect("a file");
    let log = match SledLog::open(root.join("log"), Options { checkpoint_after: 60, ..Options::default() }) {
        Ok(log) => log,
        Err(error) => return println!("refused {error}"),
    };
    block_on(async {
        write(&log, 2, WRITES, |revision, (writer, number)| {
            writeln!(acks, "{revision} {writer} {number}").expect("a file");
        })
        .await;
        println!("closed {:?}", log.close().await);
    });
}

/// A log after a crash of its process, and the entries that it had acknowledged.
fn crashed(name: &str) -> (Scratch, Acknowledged) {
    let (live, left) = (Scratch::new(&format!("{name}-live")), Scratch::new(&format!("{name}-left")));
    let options = Options { checkpoint_after: 25, durability: Durability::Fast, ..Options::default() };
    let log = SledLog::open(live.join("log"), options).expect("a new log");
    let mut acknowledged = Acknowledged::new();
    block_on(async {
        write(&log, 1, BEFORE, |revision, writer| {
            acknowledged.insert(revision, writer);
        })
        .await;
        // Answered once the checkpoint is written.
        log.compact(Revision(0)).await.expect("nothing to forget");
        copy(&live.join("log"), &left.join("log"));
        log.close().await.expect("no failure");
    });
    acknowledged.retain(|_, (writer, _)| *writer > 0);
    (left, acknowledged)
}

/// Builds the shim.
fn shim(folder: &Scratch) -> PathBuf {
    let (source, built) = (folder.join("shim.c"), folder.join("shim.so"));
    fs::write(&source, include_str!("shim.c")).expect("written");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&built).arg(&source).arg("-ldl");
    assert!(compiler.status().expect("a C compiler, as for every program in Rust").success());
    built
}

/// A run of the process.
struct Run {
    folder: Scratch,
    /// Output of the process.
    said: String,
    trace: Vec<u8>,
    acknowledged: Acknowledged,
}

/// Runs the process on a copy of a directory.
fn run(name: &str, shim: &Path, left: &Scratch, before: &Acknowledged, faults: &str) -> Run {
    let folder = Scratch::new(name);
    copy(&left.join("log"), &folder.join("log"));
    let trace = folder.0.with_extension("trace");
    let _ = fs::remove_file(&trace);
    // A process that hangs is killed, and counts as failed.
    let mut child = Command::new("timeout")
        .args(["-s", "KILL", "60"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--ignored", "--exact", "--nocapture", "faults::works_with_failing_files"])
        .env("LD_PRELOAD", shim)
        .env("FAULTS_ROOT", &folder.0)
        .env("FAULTS_TRACE", &trace)
        .env("FAULTS", faults)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    writeln!(child.stdin.take().expect("piped"), "{}", folder.0.display()).expect("an order");
    let output = child.wait_with_output().expect("it ended");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{faults}: {:?}\n{said}", output.status);
    let mut acknowledged = before.clone();
    take_acks(&fs::read(folder.join("acks")).unwrap_or_default(), &mut acknowledged);
    let read = fs::read(&trace).expect("a trace");
    let _ = fs::remove_file(&trace);
    Run { folder, said, trace: read, acknowledged }
}

/// Reads the acknowledgements that were written completely.
fn take_acks(bytes: &[u8], acknowledged: &mut Acknowledged) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        if numbers[1] > 0 {
            let before = acknowledged.insert(numbers[0], (numbers[1], numbers[2]));
            assert_eq!(before, None, "revision {} was given out twice", numbers[0]);
        }
    }
}

/// Opens the remaining log and asserts that each acknowledged entry is there once, and that the log is complete after a
/// clean stop.
fn check(directory: &Path, acknowledged: &Acknowledged, what: &str) {
    let options = Options { durability: Durability::Fast, existing: true, ..Options::default() };
    let log = SledLog::open(directory, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    block_on(async {
        let base = log.compacted();
        let entries = log.read(base, log.head(), None).await.expect("retained");
        let mut replay = Replay::starting_at(log.state_at(base).await.expect("the base"));
        let (mut found, mut writers) = (BTreeMap::new(), BTreeSet::new());
        for entry in &entries {
            assert_eq!(entry.object, object(entry.writer), "{what}: {} is torn", entry.revision);
            assert!(writers.insert(entry.writer), "{what}: {:?} was made twice", entry.writer);
            replay.push(entry);
            found.insert(entry.revision.0, entry.writer);
        }
        assert_eq!(replay.difference(&log.state_at(log.head()).await.expect("the head")), None, "{what}");
        for (revision, writer) in acknowledged.range(base.0 + 1..) {
            assert_eq!(found.get(revision), Some(writer), "{what}: revision {revision} was acknowledged");
        }
        assert!(Some(&log.head().0) >= acknowledged.keys().next_back(), "{what}");
        log.close().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    });
    assert_eq!(SledLog::examine(directory), Ok(None), "{what}");
}

/// Returns every operation of a run: name, file and number, as the shim names it.
fn operations(trace: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    disk::lines(trace, |line, _| {
        if let Some(operation) = line.strip_prefix("op ")
            && operation.split(' ').nth(1) != Some("acks")
        {
            all.push(operation.to_owned());
        }
    });
    all
}

/// Returns the ways in which an operation fails.
fn kinds(operation: &str) -> &'static [&'static str] {
    match operation.split(' ').next() {
        Some("write") => &["full", "error", "short"],
        Some("read") => &["error", "short"],
        Some("open" | "list") => &["error"],
        _ => &["full", "error"],
    }
}

/// The whole list in a full run; in a bounded run a limited number of items, spread over the list.
fn share<T>(all: Vec<T>) -> Vec<T> {
    let step = if is_full() { 1 } else { all.len().div_ceil(BOUNDED).max(1) };
    all.into_iter().step_by(step).collect()
}

/// True if a fault was injected in the run.
fn is_hit(run: &Run) -> bool {
    let mut hit = false;
    disk::lines(&run.trace, |line, _| hit |= line.starts_with("hit "));
    hit
}

#[test]
fn no_failing_file_operation_loses_acknowledged_entries() {
    let (tools, (left, before)) = (Scratch::new("one-tools"), crashed("one"));
    let shim = shim(&tools);
    let whole = run("one", &shim, &left, &before, "");
    assert!(whole.said.contains("closed Ok"), "{}", whole.said);
    let all = operations(&whole.trace);
    let faults: Vec<String> =
        all.iter().flat_map(|at| kinds(at).iter().map(move |kind| format!("{at} {kind}"))).collect();
    let (operations, count) = (all.len(), faults.len());
    let (mut hits, mut refused, mut failed) = (0, 0, 0);
    for fault in share(faults) {
        let run = run("one", &shim, &left, &before, &fault);
        hits += u32::from(is_hit(&run));
        refused += u32::from(run.said.contains("refused "));
        failed += u32::from(run.said.contains("failed "));
        check(&run.folder.join("log"), &run.acknowledged, &fault);
    }
    println!(
        "{operations} operations, {count} faults: {hits} hit, {refused} starts refused, {failed} runs with failed writes"
    );
    assert!(hits > 20 && failed > 0, "{hits} hit, {failed} failed");
}

#[test]
fn no_two_failing_file_operations_lose_acknowledged_entries() {
    let (tools, (left, before)) = (Scratch::new("two-tools"), crashed("two"));
    let (shim, random) = (shim(&tools), Random::new(17));
    let all = operations(&run("two", &shim, &left, &before, "").trace);
    let mut hits = 0;
    for pair in 0..if is_full() { PAIRS } else { 20 } {
        let mut faults = String::new();
        for one in 0..2 {
            let at = usize::try_from(random.below(all.len() as u64, "operation", "", pair * 2 + one)).expect("few");
            let kinds = kinds(&all[at]);
            let kind = usize::try_from(random.below(kinds.len() as u64, "kind", "", pair * 2 + one)).expect("few");
            write!(faults, "{} {};", all[at], kinds[kind]).expect("a string");
        }
        let run = run("two", &shim, &left, &before, &faults);
        hits += u32::from(is_hit(&run));
        check(&run.folder.join("log"), &run.acknowledged, &faults);
    }
    println!("{hits} pairs hit");
    assert!(hits > 10, "{hits} hit");
}

#[test]
fn no_power_failure_loses_acknowledged_entries() {
    let (tools, (left, before)) = (Scratch::new("power-tools"), crashed("power"));
    let shim = shim(&tools);
    // The files have other inode numbers in the copy.
    let run = run("power", &shim, &left, &before, "");
    let cuts = Disk::cuts(&run.trace);
    let torn = Scratch::new("torn");
    let (mut tried, count) = (0_u64, cuts);
    for cut in share((0..cuts).collect()) {
        for way in [Cut::Nothing, Cut::Everything, Cut::Mixed(1), Cut::Mixed(2)] {
            if !is_full() && cut % 4 != tried % 4 && way != Cut::Mixed(1) {
                continue;
            }
            let mut disk = Disk::of(&left.join("log"));
            let acks = disk.replay(&run.trace, cut);
            let _ = fs::remove_dir_all(torn.join("log"));
            disk.leave(&torn.0, way, cut);
            let mut acknowledged = before.clone();
            take_acks(&acks, &mut acknowledged);
            check(&torn.join("log"), &acknowledged, &format!("{way:?} of what was not synced after operation {cut}"));
            tried += 1;
        }
    }
    println!("{count} operations, {tried} power failures");
}
