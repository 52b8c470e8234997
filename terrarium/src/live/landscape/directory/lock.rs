// SPDX-License-Identifier: Apache-2.0
//! Exclusive lock of a landscape's directory, on its file `lock`.
//!
//! The process that has the lock writes its ID and role into the file, so that others can name it. The content counts only
//! while the lock is held: a process leaves it behind, however it ends. A killed process holds the lock until the kernel
//! has released all of its resources, its memory first; so a held lock does not mean that the process still runs.
//!
//! **Invariants.** Only the process with the lock writes facts and removes the directory. A lock on a file that is no
//! longer in the directory, since the directory was removed meanwhile, does not count.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;

use super::{Directory, Facts, HostFile};
use crate::failure::Failure;

/// Number of attempts to take a held lock, and the wall time between two attempts: a process that only checks the lock
/// holds it for a moment.
const TRIES: (u32, Duration) = (25, Duration::from_millis(20));

/// Role of a landscape's host in [`Holder`]; other roles are names of commands.
pub(crate) const HOST: &str = "host";

/// Part of each message that another process holds a directory.
pub(crate) const IS_HELD_BY: &str = " is held by ";

/// Guard of the lock, which this process holds until the guard is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: File,
    directory: Directory,
    /// Former host of the landscape, if it was killed or the machine failed.
    pub(crate) left_by: Option<HostFile>,
}

impl Held {
    /// Returns a message if the directory was removed or replaced meanwhile. If it cannot be checked, it counts as present.
    pub(crate) fn gone(&self) -> Option<String> {
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let held = self.file.metadata().map(identity).ok()?;
        let is_gone = match fs::metadata(self.directory.join("lock")) {
            Ok(found) => identity(found) != held,
            Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        };
        is_gone.then(|| format!("{} was removed or replaced while its landscape ran", self.directory.path().display()))
    }
}

/// Process that holds a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Process id; `None`: not written yet.
    pub(crate) pid: Option<u32>,
    /// [`HOST`], or the name of a command.
    pub(crate) role: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid} ({})", self.role),
            None => f.write_str("another process"),
        }
    }
}

impl Holder {
    fn read(text: &str) -> Self {
        let (pid, role) = text.trim().split_once(' ').unwrap_or_default();
        Self { pid: pid.parse().ok(), role: role.to_owned() }
    }

    /// True if it is the process that runs the landscape, ready or not.
    pub(crate) fn is_host(&self) -> bool {
        self.role == HOST
    }
}

impl Directory {
    /// Process that holds the landscape at present.
    pub(crate) fn holder(&self) -> Result<Option<Holder>, Failure> {
        let mut file = match File::open(self.join("lock")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("open the lock of", &error)),
            Ok(file) => file,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // An unreadable file names no process.
                let _ = file.read_to_string(&mut text);
                Ok(Some(Holder::read(&text)))
            }
            Err(TryLockError::Error(error)) => Err(self.failed("lock", &error)),
        }
    }

    /// True if a process holds the landscape, ready or not.
    pub(crate) fn is_held(&self) -> Result<bool, Failure> {
        Ok(self.holder()?.is_some())
    }

    /// Takes the lock for this process; `role`: purpose of the lock.
    ///
    /// # Errors
    /// Another process holds it, or there is no directory.
    pub(crate) fn hold(&self, role: &str) -> Result<Held, Failure> {
        self.try_hold(role)?.map_err(|holder| Failure::Held(self.is_held_by(&holder)))
    }

    /// Takes the lock like [`Directory::hold`]; the inner error names the process that holds it.
    pub(crate) fn try_hold(&self, role: &str) -> Result<Result<Held, Holder>, Failure> {
        let mut tries = TRIES.0;
        loop {
            let options = File::options().create(true).truncate(false).write(true).mode(0o600).to_owned();
            let mut file = options.open(self.join("lock")).map_err(|error| self.unwritable(&error))?;
            match file.try_lock() {
                Ok(()) if self.has_as("lock", &file) => {
                    let left_by = self.read::<HostFile>("host.json").ok().flatten();
                    let _ = fs::remove_file(self.join("host.json"));
                    // If the write fails, for example on a full disk, the process is not named.
                    let text = format!("{} {role}\n", std::process::id());
                    let _ = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes()));
                    return Ok(Ok(Held { file, directory: self.clone(), left_by }));
                }
                // The directory was removed after the file was opened; it may have been created again.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries > 0 => {
                    tries -= 1;
                    pause();
                }
                Err(TryLockError::WouldBlock) => {
                    let holder = self.holder()?;
                    return Ok(Err(holder.unwrap_or(Holder { pid: None, role: String::new() })));
                }
                Err(TryLockError::Error(error)) => return Err(self.failed("lock", &error)),
            }
        }
    }

    /// Creates a landscape unless there is one; returns its facts, and true if this call created it. `None`: another
    /// process holds the directory, and may be about to create one.
    pub(crate) fn create(&self, facts: impl FnOnce() -> Facts) -> Result<Option<(Facts, bool)>, Failure> {
        self.make()?;
        let held = match self.try_hold("up") {
            Ok(Ok(held)) => held,
            Ok(Err(_)) => return Ok(None),
            // Another process removed it at the same time.
            Err(_) if !self.path().exists() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        if let Some(facts) = self.facts()? {
            return Ok(Some((facts, false)));
        }
        let facts = facts();
        self.write_facts(&facts)?;
        drop(held);
        Ok(Some((facts, true)))
    }

    /// Message that a process holds the directory.
    pub(crate) fn is_held_by(&self, holder: &Holder) -> String {
        format!("{}{IS_HELD_BY}{holder}", self.path().display())
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                let what = format!("cannot write to {}: {error}", self.path().display());
                Failure::input(what, "`terrarium log`, `at` and `replay` read it where it is; `up` needs a copy")
            }
            _ => self.failed("open the lock of", error),
        }
    }

    /// True if a file that was opened by this name is still the one in the directory.
    pub(crate) fn has_as(&self, name: &str, file: &File) -> bool {
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let there = fs::metadata(self.join(name)).map(identity);
        matches!((there, file.metadata().map(identity)), (Ok(there), Ok(opened)) if there == opened)
    }
}

#[expect(clippy::disallowed_methods, reason = "the wait for another process, in wall time")]
fn pause() {
    std::thread::sleep(TRIES.1);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::live::binaries::ComponentForms;

    fn directory(name: &str) -> Directory {
        let path: PathBuf = std::env::temp_dir().join(format!("terrarium-lock-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let directory = Directory::at(&path);
        directory.make().expect("a folder for temporary files");
        directory
    }

    fn facts(name: &str) -> Facts {
        serde_json::from_value(serde_json::json!({
            "name": name, "gardenerVersion": "v1.120.0", "profile": "documents", "seed": 1, "seeds": 1,
            "startTime": "2023-07-27T20:00:00Z", "log": "memory", "durable": true, "port": 0,
        }))
        .expect("facts")
    }

    #[test]
    fn the_holder_of_a_directory_is_named_while_it_holds() {
        let directory = directory("named");
        assert_eq!(directory.holder(), Ok(None));
        let held = directory.hold("doctor").expect("free");
        let me = Holder { pid: Some(std::process::id()), role: "doctor".to_owned() };
        assert_eq!(directory.holder(), Ok(Some(me.clone())));
        let failure = directory.hold(HOST).expect_err("held");
        assert_eq!(failure.exit_code(), 4);
        assert!(failure.to_string().ends_with(&format!(" is held by {me}")), "{failure}");
        drop(held);
        // A child process that another test starts holds a copy of the lock until it executes its program.
        for _ in 0..1_000_000 {
            if directory.holder() != Ok(Some(me.clone())) {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!(directory.holder(), Ok(None), "its words are still there, and count nothing");
        let held = directory.hold(HOST).expect("free again");
        directory.purge(&held).expect("ours");
        assert!(!directory.path().exists());
    }

    #[test]
    fn a_lock_of_a_directory_that_was_removed_is_none() {
        let directory = directory("removed");
        let first = directory.hold("up").expect("free");
        // Opened before the directory was removed, locked after it.
        let late = File::options().write(true).open(directory.join("lock")).expect("there");
        directory.purge(&first).expect("ours");
        drop(first);
        directory.make().expect("created again");
        let second = directory.hold("up").expect("another file");
        late.try_lock().expect("no other process has the old file");
        assert!(!directory.has_as("lock", &late));
        directory.purge(&second).expect("ours");
    }

    #[test]
    fn the_first_of_two_creators_determines_the_landscape() {
        let directory = directory("two");
        let (made, by_us) = directory.create(|| facts("first")).expect("free").expect("not held");
        assert_eq!((made.name.as_str(), by_us), ("first", true));
        let (found, by_us) = directory.create(|| facts("second")).expect("free").expect("not held");
        assert_eq!((found.name.as_str(), by_us), ("first", false));
        let held = directory.hold(HOST).expect("free");
        assert_eq!(directory.create(|| facts("third")), Ok(None));
        directory.purge(&held).expect("ours");
    }

    #[test]
    fn a_killed_host_is_recognized_by_its_files() {
        let directory = directory("left");
        let held = directory.hold(HOST).expect("free");
        assert_eq!(held.left_by, None);
        let host = HostFile {
            pid: std::process::id(),
            address: "127.0.0.1:1".to_owned(),
            program: "0".to_owned(),
            components: ComponentForms::default(),
        };
        directory.write_host(&host).expect("ours");
        assert_eq!(directory.host(), Ok(Some(host.clone())));
        let other = HostFile { pid: host.pid + 1, ..host.clone() };
        directory.write_host(&other).expect("ours");
        assert_eq!(directory.host(), Ok(None), "another process has the lock than wrote the file");
        directory.write_host(&host).expect("ours");
        drop(held);
        assert_eq!(directory.host(), Ok(None));
        let held = directory.hold(HOST).expect("free");
        assert_eq!(held.left_by, Some(host));
        directory.purge(&held).expect("ours");
    }
}
