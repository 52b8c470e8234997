// SPDX-License-Identifier: Apache-2.0
//! Acknowledged appends on disk, compared with the disk's own syncs, and a start: `cargo bench -p eventlog --bench
//! log`.

use std::path::PathBuf;

use eventlog::bench::{Rate, appends, syncs};
use eventlog::sled::{Durability, Options, SledLog};
use eventlog::{EventLog, Revision};

/// Bytes of an object, and of the part of it that changes each time.
const OBJECT: (usize, usize) = (5000, 1000);

#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn print(what: &str, rate: Rate) {
    let Rate { writers, operations, per_second, p50, p99 } = rate;
    println!("{what:24} {writers:4} writers {operations:7} {per_second:9.0}/s   p50 {p50:7.3} ms   p99 {p99:7.3} ms");
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let start = now();
    let wall = move || start.elapsed().as_secs_f64();
    let directory: PathBuf = std::env::temp_dir().join(format!("eventlog-bench-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    print("fdatasync of 1 KiB", syncs(&directory.join("file"), 2000, 1024, &wall).expect("a disk"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for durability in [Durability::Durable, Durability::Fast] {
        let path = directory.join(format!("{durability:?}"));
        let options = Options { durability, ..Options::default() };
        let log = SledLog::open(&path, options.clone()).expect("a new log");
        for (run, writers, count) in [(0, 1, 4000), (1, 16, 20_000), (2, 128, 40_000)] {
            let rate = runtime.block_on(appends(&log, run, writers, count, OBJECT, &wall)).expect("appended");
            print(&format!("append, {durability:?}"), rate);
        }
        let began = wall();
        let entries = runtime.block_on(log.read(Revision(0), log.head(), None)).expect("retained").len();
        println!("read {entries} entries in {:.3} s; {} MiB on disk", wall() - began, log.size_on_disk() >> 20);
        let copied = directory.join("copied");
        copy(&path, &copied);
        runtime.block_on(log.close()).expect("no failure");
        for (what, path) in [("clean stop", &path), ("crash", &copied)] {
            let began = wall();
            let log = SledLog::open(path, options.clone()).expect("a log");
            println!("start after a {what}: {:.3} s {:?}", wall() - began, log.recovery());
            runtime.block_on(log.close()).expect("no failure");
        }
        std::fs::remove_dir_all(&copied).expect("removed");
    }
    std::fs::remove_dir_all(&directory).expect("removed");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for file in std::fs::read_dir(from).expect("readable").map(|file| file.expect("readable")) {
        let target = to.join(file.file_name());
        if file.file_type().expect("a type").is_dir() {
            copy(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), target).expect("copied");
        }
    }
}
