// SPDX-License-Identifier: Apache-2.0
//! The directory of a log: names, the lock, atomic replacement of files, facts.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::{Decoder, put_bytes, put_frame, take_frame};
use crate::entry::Revision;

use super::trouble::{Opened, Trouble};
use super::{Durability, OpenError, STORE};

/// Content of `FORMAT` until `REACHED` was first written.
const FORMAT: &str = "terrarium event log 1\n";

/// Content of `FORMAT` from then on.
const FORMAT_WITH_END: &str = "terrarium event log 2\n";

/// Suffix of the name under which a file is written.
const ASIDE: &str = ".writing";

/// An open directory.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    root: PathBuf,
    durability: Durability,
    /// The directory and its lock, as they were opened.
    opened: Arc<(File, Opened, Opened)>,
    /// Path of sled's files.
    store: PathBuf,
}

/// Lock of a directory, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Directory {
    /// Opens a directory, or creates a log in an empty or missing one.
    pub(super) fn open(root: &Path, durability: Durability) -> Result<(Self, Lock), OpenError> {
        let failed = |error: io::Error| OpenError::io(root, &error);
        if !root.exists() {
            fs::create_dir_all(root).map_err(failed)?;
            // The new directory's own name must be durable, too.
            if let Some(parent) = root.parent().filter(|_| durability == Durability::Durable) {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
            }
        }
        let format = root.join("FORMAT");
        match fs::read_to_string(&format) {
            Ok(text) if is_format(&text) => {}
            Ok(text) => {
                let first = text.lines().next().unwrap_or_default().chars().take(60).collect();
                return Err(OpenError::Format { directory: root.to_owned(), found: first });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_ours = |name: &str| name == "LOCK" || name.starts_with("FORMAT");
                let mut files = fs::read_dir(root).map_err(failed)?.filter_map(Result::ok);
                // A log that has lost this file alone has lost nothing: its other files have checksums.
                if !is_log(root) && files.any(|file| !is_ours(&file.file_name().to_string_lossy())) {
                    return Err(OpenError::Foreign { directory: root.to_owned() });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(OpenError::Format { directory: root.to_owned(), found: "no text".to_owned() });
            }
            Err(error) => return Err(failed(error)),
        }
        let lock = File::options().create(true).truncate(false).write(true).open(root.join("LOCK")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { directory: root.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let handle = File::open(root).map_err(failed)?;
        let found = Opened::of(&handle).and_then(|root| Ok((root, Opened::of(&lock)?))).map_err(failed)?;
        let opened = (handle, found.0, found.1);
        let store = root.join(STORE);
        let directory = Self { root: root.to_owned(), durability, opened: Arc::new(opened), store };
        if !format.exists() {
            let text = if names_end(root) { FORMAT_WITH_END } else { FORMAT };
            directory.replace("FORMAT", text.as_bytes()).map_err(failed)?;
        }
        directory.tidy().map_err(failed)?;
        Ok((directory, Lock(lock)))
    }

    /// Removes temporary files of a process that was killed: that of a checkpoint may be as large as the whole state.
    fn tidy(&self) -> io::Result<()> {
        for file in fs::read_dir(&self.root)? {
            let name = file?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.ends_with(ASIDE)) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Opens a directory that is not written to. The caller determines the path of sled's files.
    pub(super) fn open_read_only(root: &Path, store: PathBuf) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(root, &error);
        if !holds_log(root) {
            return Err(OpenError::Missing { directory: root.to_owned() });
        }
        match fs::read_to_string(root.join("FORMAT")) {
            Ok(text) if !is_format(&text) => {
                let first = text.lines().next().unwrap_or_default().chars().take(60).collect();
                return Err(OpenError::Format { directory: root.to_owned(), found: first });
            }
            // The same cases as in [`Directory::open`].
            Ok(_) | Err(_) => {}
        }
        let handle = File::open(root).map_err(failed)?;
        let lock = match File::open(root.join("LOCK")) {
            // Held for as long as the directory is open.
            Ok(lock) => match lock.try_lock_shared() {
                Err(TryLockError::WouldBlock) => return Err(OpenError::Locked { directory: root.to_owned() }),
                Ok(()) | Err(TryLockError::Error(_)) => lock,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => handle.try_clone().map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        let found = Opened::of(&handle).and_then(|root| Ok((root, Opened::of(&lock)?))).map_err(failed)?;
        let opened = Arc::new((lock, found.0, found.1));
        Ok(Self { root: root.to_owned(), durability: Durability::Fast, opened, store })
    }

    /// Returns the path of sled's files.
    pub(super) fn store(&self) -> &Path {
        &self.store
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the trouble if the directory was removed or replaced.
    pub(super) fn gone(&self) -> Option<Trouble> {
        let (_, root, lock) = &*self.opened;
        let at = self.root.display();
        if root.is_gone(&self.root) {
            Some(Trouble::Gone(format!("the directory `{at}` was removed or replaced while its log was open")))
        } else if lock.is_gone(&self.path("LOCK")) {
            Some(Trouble::Gone(format!("what is in `{at}` was removed or replaced while its log was open")))
        } else {
            None
        }
    }

    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Makes created, renamed and removed files of the directory durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self.durability {
            Durability::Durable => File::open(&self.root)?.sync_all(),
            Durability::Fast => Ok(()),
        }
    }

    /// Writes a whole file under a temporary name, syncs it and renames it.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, |file| file.write_all(bytes))
    }

    /// Like [`Directory::replace`], with contents that a function writes.
    pub(super) fn replace_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut io::BufWriter<&File>) -> io::Result<()>,
    ) -> io::Result<()> {
        write_aside(&self.path(name), self.durability == Durability::Durable, write)?;
        self.sync()
    }

    /// Records in `FORMAT` that the log has a `REACHED`.
    pub(super) fn name_end(&self) -> io::Result<()> {
        if names_end(&self.root) { Ok(()) } else { self.replace("FORMAT", FORMAT_WITH_END.as_bytes()) }
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Revisions in the names `PREFIX-REVISION` of files, lowest first.
    pub(super) fn revisions(&self, prefix: &str) -> io::Result<Vec<Revision>> {
        revisions(&self.root, prefix)
    }

    /// The landscape's facts; none if the file is missing.
    pub(super) fn facts(&self) -> Result<BTreeMap<String, Vec<u8>>, OpenError> {
        facts_in(&self.root)
    }

    pub(super) fn put_facts(&self, facts: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
        let mut payload = Vec::new();
        for (name, value) in facts {
            put_bytes(&mut payload, name.as_bytes());
            put_bytes(&mut payload, value);
        }
        let mut out = Vec::new();
        put_frame(&mut out, 0, &payload);
        self.replace("facts", &out)
    }
}

/// Like [`Directory::facts`], for a directory that is not open.
pub(super) fn facts_in(root: &Path) -> Result<BTreeMap<String, Vec<u8>>, OpenError> {
    let path = root.join("facts");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(OpenError::io(&path, &error)),
    };
    facts_of(&bytes).ok_or_else(|| OpenError::corrupt(&path, "its checksum is wrong"))
}

fn is_format(text: &str) -> bool {
    [FORMAT, FORMAT_WITH_END].contains(&text)
}

/// True if a log has had a `REACHED`. `FORMAT` is written before the first journal: a log without it has lost it, and
/// may have had one.
pub(super) fn names_end(root: &Path) -> bool {
    match fs::read_to_string(root.join("FORMAT")) {
        Ok(text) => text == FORMAT_WITH_END,
        Err(error) => error.kind() == io::ErrorKind::NotFound && is_log(root),
    }
}

/// Returns true if the directory holds journals, which only a log has.
fn is_log(root: &Path) -> bool {
    !revisions(root, "journal").unwrap_or_default().is_empty()
}

/// Returns true if a directory holds a log, or remains of one.
pub(super) fn holds_log(root: &Path) -> bool {
    is_log(root) || holds_more(root)
}

/// Returns true if a directory holds files that a log has in addition to its journals once it was open.
pub(super) fn holds_more(root: &Path) -> bool {
    let has = |name: &str| root.join(name).exists();
    has(STORE) || has("facts") || has("BASE") || !revisions(root, "checkpoint").unwrap_or_default().is_empty()
}

fn facts_of(mut bytes: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let (_, payload) = take_frame(&mut bytes)?;
    let mut from = Decoder::new(payload);
    let mut facts = BTreeMap::new();
    while from.end().is_err() {
        facts.insert(from.text().ok()?.to_owned(), from.bytes().ok()?.to_owned());
    }
    Some(facts)
}

/// Like [`Directory::revisions`], for a directory that is not open.
pub(super) fn revisions(root: &Path, prefix: &str) -> io::Result<Vec<Revision>> {
    let mut revisions = Vec::new();
    for file in fs::read_dir(root)? {
        let name = file?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_prefix('-'));
        // Files that were written under a temporary name and never renamed have longer names.
        if let Some(number) = number.filter(|number| number.len() == 20).and_then(|number| number.parse().ok()) {
            revisions.push(Revision(number));
        }
    }
    revisions.sort_unstable();
    Ok(revisions)
}

/// Name of a file that belongs to a revision: `PREFIX-` and 20 digits.
pub(super) fn name_of(prefix: &str, revision: Revision) -> String {
    format!("{prefix}-{:020}", revision.0)
}

/// Writes a file under a temporary name, optionally syncs it, and renames it.
pub(super) fn write_aside(
    path: &Path,
    sync: bool,
    write: impl FnOnce(&mut io::BufWriter<&File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(ASIDE);
    let written = || -> io::Result<()> {
        let file = File::create(&aside)?;
        let mut out = io::BufWriter::with_capacity(1 << 16, &file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        if sync { file.sync_all() } else { Ok(()) }
    };
    if let Err(error) = written() {
        // On a full disk the incomplete file would occupy room that is needed.
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    fs::rename(&aside, path)
}

/// Bytes of the files whose names begin with `PREFIX-`.
pub(super) fn size_of(directory: &Directory, prefix: &str) -> u64 {
    let revisions = directory.revisions(prefix).unwrap_or_default();
    let size = |revision: &Revision| fs::metadata(directory.path(&name_of(prefix, *revision))).map(|file| file.len());
    revisions.iter().filter_map(|revision| size(revision).ok()).sum()
}
