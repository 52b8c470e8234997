// SPDX-License-Identifier: Apache-2.0
//! Model of a disk, built from the shim's trace: synced data, and data that a power failure may lose.
//!
//! Bytes of a file are safe once it was synced, a name once its folder was. Any subset of the pages that were written
//! since may have reached the disk, also in place, and a file that grew may have any length in between. Changes of
//! names reach the disk in their order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clock::Random;

const PAGE: usize = 4096;

/// Changes that reached the disk without a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Nothing,
    Everything,
    /// Part of the pages, and part of the names, drawn from a seed.
    Mixed(u64),
}

#[derive(Clone, Debug, Default)]
struct File {
    safe: Vec<u8>,
    now: Vec<u8>,
}

/// Target of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// Number of a file.
    File(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Put(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl Change {
    fn folder(&self) -> &Path {
        let (Self::Put(path, _) | Self::Remove(path) | Self::Rename(path, _)) = self;
        path.parent().unwrap_or_else(|| Path::new(""))
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            Self::Put(path, node) => drop(names.insert(path.clone(), *node)),
            Self::Remove(path) => drop(names.remove(path)),
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }
}

/// A disk.
#[derive(Debug, Default)]
pub(super) struct Disk {
    files: Vec<File>,
    /// Files by inode number.
    numbers: BTreeMap<u64, usize>,
    safe: BTreeMap<PathBuf, Node>,
    now: BTreeMap<PathBuf, Node>,
    pending: Vec<Change>,
    acks: Vec<u8>,
}

/// Calls a function with each line of a trace and the bytes after it.
pub(super) fn lines(mut trace: &[u8], mut each: impl FnMut(&str, &[u8])) {
    while let Some(end) = trace.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&trace[..end]).expect("text");
        trace = &trace[end + 1..];
        let length = line.strip_prefix("bytes ").and_then(|rest| rest.split(' ').nth(2)?.parse().ok()).unwrap_or(0);
        each(line, &trace[..length]);
        trace = &trace[length..];
    }
}

/// True if a line is a change of the disk, or an acknowledgement.
fn is_change(line: &str) -> bool {
    !line.starts_with("op ") && !line.starts_with("hit ")
}

impl Disk {
    /// Number of instants at which the power may fail.
    pub(super) fn cuts(trace: &[u8]) -> u64 {
        let mut count = 0;
        lines(trace, |line, _| count += u64::from(is_change(line)));
        count
    }

    /// Creates a disk on which a directory is safe, as `log`.
    pub(super) fn of(directory: &Path) -> Self {
        let mut disk = Self::default();
        disk.add(directory, Path::new("log"));
        disk.now = disk.safe.clone();
        disk
    }

    fn add(&mut self, from: &Path, below: &Path) {
        self.safe.insert(below.to_owned(), Node::Folder);
        for file in fs::read_dir(from).expect("readable").map(|file| file.expect("readable")) {
            let path = below.join(file.file_name());
            if file.file_type().expect("a type").is_dir() {
                self.add(&file.path(), &path);
            } else {
                let bytes = fs::read(file.path()).expect("readable");
                self.files.push(File { safe: bytes.clone(), now: bytes });
                self.safe.insert(path, Node::File(self.files.len() - 1));
            }
        }
    }

    /// Returns the file with an inode number.
    fn file(&mut self, number: u64) -> Option<&mut File> {
        let at = *self.numbers.get(&number)?;
        self.files.get_mut(at)
    }

    /// Applies the first changes of a trace; returns the acknowledgements until then.
    pub(super) fn replay(&mut self, trace: &[u8], cut: u64) -> Vec<u8> {
        let mut count = 0;
        lines(trace, |line, bytes| {
            if is_change(line) && count < cut {
                count += 1;
                self.apply(line, bytes);
            }
        });
        std::mem::take(&mut self.acks)
    }

    fn apply(&mut self, line: &str, bytes: &[u8]) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("a number");
        let size = |at: usize| words[at].parse::<usize>().expect("a number");
        match words[0] {
            "create" | "found" => {
                let path = PathBuf::from(words[2]);
                let known = self.now.get(&path).copied().filter(|_| words[0] == "found");
                let at = match known {
                    Some(Node::File(at)) => at,
                    _ => {
                        self.files.push(File::default());
                        let node = Node::File(self.files.len() - 1);
                        self.change(Change::Put(path, node));
                        self.files.len() - 1
                    }
                };
                self.numbers.insert(number(1), at);
            }
            "bytes" => {
                let at = size(2);
                let file = self.file(number(1)).expect("a file that was opened");
                file.now.resize(file.now.len().max(at + bytes.len()), 0);
                file.now[at..at + bytes.len()].copy_from_slice(bytes);
                if self.now.get(Path::new("acks")) == self.numbers.get(&number(1)).map(|at| Node::File(*at)).as_ref() {
                    self.acks.extend_from_slice(bytes);
                }
            }
            "length" => {
                let length = size(2);
                self.file(number(1)).expect("a file that was opened").now.resize(length, 0);
            }
            "sync" => {
                let path = Path::new(words[2]);
                if self.now.get(path) == Some(&Node::Folder) {
                    let (mut safe, mut rest) = (std::mem::take(&mut self.safe), Vec::new());
                    for change in std::mem::take(&mut self.pending) {
                        if change.folder() == path { change.apply(&mut safe) } else { rest.push(change) }
                    }
                    (self.safe, self.pending) = (safe, rest);
                } else if let Some(file) = self.file(number(1)) {
                    file.safe.clone_from(&file.now);
                }
            }
            "rename" => self.change(Change::Rename(PathBuf::from(words[1]), PathBuf::from(words[2]))),
            "remove" => self.change(Change::Remove(PathBuf::from(words[1]))),
            "folder" => self.change(Change::Put(PathBuf::from(words[1]), Node::Folder)),
            other => panic!("{other}"),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.pending.push(change);
    }

    /// Writes the state of the disk after a power failure to a folder.
    pub(super) fn leave(&self, folder: &Path, way: Cut, cut: u64) {
        let mut draws = Draws { random: Random::new(if let Cut::Mixed(seed) = way { seed } else { 0 }), cut, count: 0 };
        let mut names = self.safe.clone();
        let mut folders: Vec<&Path> = self.pending.iter().map(Change::folder).collect();
        folders.sort_unstable();
        folders.dedup();
        for below in folders {
            let changes: Vec<&Change> = self.pending.iter().filter(|change| change.folder() == below).collect();
            let kept = match way {
                Cut::Nothing => 0,
                Cut::Everything => changes.len(),
                Cut::Mixed(_) => draws.below(changes.len() + 1),
            };
            changes[..kept].iter().for_each(|change| change.apply(&mut names));
        }
        for (path, node) in names.iter().filter(|(path, _)| path.starts_with("log")) {
            let place = folder.join(path);
            if *node == Node::Folder {
                fs::create_dir_all(&place).expect("a folder");
            }
            if let Node::File(at) = node
                && place.parent().is_some_and(Path::exists)
            {
                let file = &self.files[*at];
                let bytes = match way {
                    Cut::Nothing => file.safe.clone(),
                    Cut::Everything => file.now.clone(),
                    Cut::Mixed(_) => draws.mix(&file.safe, &file.now),
                };
                fs::write(place, bytes).expect("written");
            }
        }
    }
}

/// Random numbers from a seed, in sequence.
struct Draws {
    random: Random,
    cut: u64,
    count: u64,
}

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.count += 1;
        let drawn = self.random.below(bound as u64, "power", &self.cut.to_string(), self.count);
        usize::try_from(drawn).expect("below a usize")
    }

    /// Returns a file of which some of the changed pages were written.
    fn mix(&mut self, safe: &[u8], now: &[u8]) -> Vec<u8> {
        let share = [0, 10, 50, 90, 100][self.below(5)];
        let mut mixed = safe.to_vec();
        mixed.resize(safe.len().max(now.len()), 0);
        for (index, page) in now.chunks(PAGE).enumerate() {
            let at = index * PAGE;
            if safe.get(at..at + page.len()) != Some(page) && self.below(100) < share {
                mixed[at..at + page.len()].copy_from_slice(page);
            }
        }
        if now.len() > safe.len() {
            mixed.truncate(safe.len() + self.below(now.len() - safe.len() + 1));
        }
        mixed
    }
}
