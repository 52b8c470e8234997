// SPDX-License-Identifier: Apache-2.0
//! The program's own file, which may be replaced or removed while processes of it run.
//!
//! A running landscape starts processes at any time: they must be of the same build as the host, also after the file was
//! replaced by another build.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Suffix that Linux appends to the path of a removed or replaced file.
const DELETED: &str = " (deleted)";

/// Link to the file of the process that reads it.
const LINK: &str = "/proc/self/exe";

/// Path by which this program can be started now, even if its file was removed or replaced.
///
/// # Errors
/// The system does not provide the path.
pub(crate) fn running() -> io::Result<PathBuf> {
    let file = std::env::current_exe()?;
    Ok(if is_same(Path::new(LINK), &file) { file } else { held()? })
}

/// Path by which children of this process can start this program at any time.
///
/// # Errors
/// The system does not provide the path.
pub(crate) fn held() -> io::Result<PathBuf> {
    let link = PathBuf::from(LINK);
    if link.exists() { Ok(link) } else { std::env::current_exe() }
}

/// Path of this program's file; after a replacement there is another build.
///
/// # Errors
/// The system does not provide the path.
pub(crate) fn file() -> io::Result<PathBuf> {
    std::env::current_exe().map(|path| if path.exists() { path } else { without_mark(&path) })
}

/// Path of a process's program if its file was replaced or removed. None for processes of other users.
pub(crate) fn replaced(pid: u32) -> Option<PathBuf> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    let path = fs::read_link(&link).ok()?;
    (link.exists() && !is_same(&link, &path)).then(|| without_mark(&path))
}

/// A file as it was at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FileState {
    /// Path of the file.
    pub(crate) path: PathBuf,
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of its last modification.
    modified: (i64, i64),
}

impl FileState {
    fn of(path: &Path, file: &fs::Metadata) -> Self {
        let modified = (file.mtime(), file.mtime_nsec());
        Self { path: path.to_owned(), device: file.dev(), inode: file.ino(), modified }
    }

    /// True if the file was replaced, changed or removed since.
    pub(crate) fn has_changed(&self) -> bool {
        fs::metadata(&self.path).map_or(true, |file| Self::of(&self.path, &file) != *self)
    }

    /// True if the content of the file was overwritten since: the former one is lost.
    pub(crate) fn is_overwritten(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|file| self.was_overwritten(&file))
    }

    fn was_overwritten(&self, file: &fs::Metadata) -> bool {
        let found = Self::of(&self.path, file);
        (found.device, found.inode) == (self.device, self.inode) && found.modified != self.modified
    }
}

/// A program's file that is held open: it can be started also after it was replaced or removed.
#[derive(Debug)]
pub(crate) struct Held {
    file: fs::File,
    state: FileState,
}

impl Held {
    /// Opens a program's file.
    ///
    /// # Errors
    /// The file cannot be read, or is a folder, a script, or without permission to execute it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if metadata.mode() & EXECUTABLE == 0 {
            return Err(io::Error::other("it is not executable"));
        }
        let mut file = fs::File::open(path)?;
        let mut head = Vec::new();
        io::Read::by_ref(&mut file).take(SCRIPT.len() as u64).read_to_end(&mut head)?;
        if head == SCRIPT {
            return Err(io::Error::other("it is a script"));
        }
        let state = FileState::of(path, &file.metadata()?);
        Ok(Self { file, state })
    }

    /// Path of the file when it was opened: the name of its processes.
    pub(crate) fn name(&self) -> &Path {
        &self.state.path
    }

    /// The file as it was opened.
    pub(crate) fn state(&self) -> &FileState {
        &self.state
    }

    /// True if the content of the file was overwritten since it was opened.
    pub(crate) fn is_overwritten(&self) -> bool {
        self.file.metadata().is_ok_and(|file| self.state.was_overwritten(&file))
    }

    /// Path by which children of this process can start the file at any time, unless its content is overwritten.
    pub(crate) fn path(&self) -> PathBuf {
        let own = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if own.exists() { own } else { self.state.path.clone() }
    }
}

/// Permission bits of which a program has at least one.
const EXECUTABLE: u32 = 0o111;
/// First bytes of a script.
const SCRIPT: &[u8] = b"#!";

fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    identity(a).is_some_and(|found| identity(b) == Some(found))
}

fn without_mark(path: &Path) -> PathBuf {
    path.to_str().and_then(|text| text.strip_suffix(DELETED)).map_or_else(|| path.to_owned(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A copy of `cat` that runs until its input is closed.
    fn start(path: &Path) -> Child {
        loop {
            match Command::new(path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn() {
                // A child of another test has the copy open for writing until it executes its own program.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                started => return started.expect("a copy of a program"),
            }
        }
    }

    #[test]
    fn a_replaced_file_is_noticed() {
        let folder = std::env::temp_dir().join(format!("terrarium-executable-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let (path, other) = (folder.join("program"), folder.join("other"));
        for file in [&path, &other] {
            fs::copy("/bin/cat", file).expect("every system has cat");
            fs::set_permissions(file, fs::Permissions::from_mode(0o700)).expect("ours");
        }
        let mut child = start(&path);
        assert_eq!(replaced(child.id()), None);
        fs::rename(&other, &path).expect("ours");
        assert_eq!(replaced(child.id()).as_deref(), Some(fs::canonicalize(&path).expect("there").as_path()));
        fs::remove_file(&path).expect("ours");
        assert_eq!(
            replaced(child.id()).as_deref(),
            Some(fs::canonicalize(&folder).expect("there").join("program").as_path())
        );
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert_eq!(replaced(child.id()), None, "it has ended");
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn a_held_program_is_started_also_after_a_replacement() {
        let folder = std::env::temp_dir().join(format!("terrarium-held-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let path = folder.join("program");
        fs::copy("/bin/cat", &path).expect("every system has cat");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("ours");
        let held = Held::open(&path).expect("a program");
        assert_eq!(held.name(), path);
        assert!(!held.state().has_changed());
        fs::remove_file(&path).expect("ours");
        assert!(held.state().has_changed());
        for content in [None, Some("another")] {
            if let Some(content) = content {
                fs::write(&path, content).expect("ours");
            }
            let mut child = start(&held.path());
            drop(child.stdin.take());
            assert!(child.wait().expect("it ends").success(), "{content:?}");
        }
        assert!(held.state().has_changed() && !held.is_overwritten() && !held.state().is_overwritten());
        let restored = serde_json::from_str::<FileState>(&serde_json::to_string(held.state()).expect("JSON"));
        assert_eq!(restored.expect("the same"), *held.state());
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn a_program_that_is_overwritten_in_place_is_noticed() {
        let folder = std::env::temp_dir().join(format!("terrarium-overwritten-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        let path = folder.join("program");
        fs::copy("/bin/cat", &path).expect("every system has cat");
        let old = fs::File::open(&path).and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH));
        old.expect("ours");
        let held = Held::open(&path).expect("a program");
        assert!(!held.is_overwritten() && !held.state().is_overwritten());
        fs::write(&path, "another").expect("ours");
        assert!(held.is_overwritten() && held.state().is_overwritten());
        fs::rename(&path, folder.join("aside")).expect("ours");
        assert!(held.is_overwritten() && !held.state().is_overwritten(), "the path tells nothing any more");
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn files_that_are_not_programs_are_refused() {
        let folder = std::env::temp_dir().join(format!("terrarium-no-program-{}", std::process::id()));
        fs::create_dir_all(folder.join("folder")).expect("a folder for temporary files");
        let file = |name: &str, content: &str, mode: u32| {
            fs::write(folder.join(name), content).expect("ours");
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("ours");
        };
        file("plain", "text", 0o600);
        file("script", "#!/bin/sh\nsleep 100\n", 0o700);
        for (name, expected) in [
            ("folder", "it is not a file"),
            ("plain", "it is not executable"),
            ("script", "it is a script"),
            ("missing", "No such file or directory (os error 2)"),
        ] {
            assert_eq!(Held::open(&folder.join(name)).expect_err(name).to_string(), expected);
        }
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn this_program_can_be_started() {
        let path = running().expect("a path");
        assert!(path.exists() && file().expect("a path").exists());
    }
}
