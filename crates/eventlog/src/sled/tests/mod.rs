// SPDX-License-Identifier: Apache-2.0
//! The conformance suite, and tests of properties that only a log on disk has.

mod damage;
mod power_loss;
mod put_back;
mod recent;
mod restart;
mod trouble;

use std::fs;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::conformance::block_on;
use crate::observed::Observed;

/// A directory that is removed after the test.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("eventlog-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Everything in a directory, copied to another.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for file in fs::read_dir(from).expect("readable").map(|file| file.expect("readable")) {
        let target = to.join(file.file_name());
        if file.file_type().expect("a type").is_dir() {
            copy(&file.path(), &target);
        } else if let Err(error) = fs::copy(file.path(), target) {
            // The keeper may have removed it meanwhile.
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
        }
    }
}

/// A log in a directory of its own; closed when it is dropped.
fn temporary(options: Options) -> impl EventLog {
    let directory = Scratch::new();
    let log = SledLog::open(&*directory, options).expect("a new log");
    let last = Closing { log: log.clone(), _directory: directory };
    Observed::new(Arc::new(log), move |_: &Append| {
        let _ = &last;
    })
}

struct Closing {
    log: SledLog,
    _directory: Scratch,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = block_on(self.log.close());
    }
}

mod durable {
    crate::conformance!(super::temporary(super::Options::default()));
}

mod fast_with_many_checkpoints {
    use super::*;

    crate::conformance!(temporary(Options {
        durability: Durability::Fast,
        checkpoint_after: 10,
        ..Options::default()
    }));
}
