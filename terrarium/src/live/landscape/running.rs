// SPDX-License-Identifier: Apache-2.0
//! Running landscapes in separate directories: a folder of the user's data home has a file for each of their hosts.
//!
//! A landscape in its default place is found there. One in another directory (`--data-dir`) is found by the file of its
//! host, `.running/PID`, which contains the directory's path.
//!
//! **Invariants.** The files are hints: the holder of the directory decides. A file whose host has ended is removed by the
//! next command that reads it. A failure to write the file is ignored.

use std::fs;
use std::path::{Path, PathBuf};

use crate::live::directory::{Directory, write_private};

/// Folder of the files, next to the landscapes; its name is not a valid name of a landscape.
const FOLDER: &str = ".running";

/// File of a running host, removed on drop.
#[derive(Debug)]
pub(crate) struct Registered(PathBuf);

/// Registers this process as the host of a directory, unless that is in `parent`, the default place of landscapes.
pub(crate) fn register(parent: Option<&Path>, directory: &Directory) -> Option<Registered> {
    let parent = parent?;
    let place = absolute(directory.path())?;
    if place.parent() == absolute(parent).as_deref() {
        return None;
    }
    let folder = parent.join(FOLDER);
    let file = folder.join(std::process::id().to_string());
    let text = place.to_str()?;
    fs::create_dir_all(&folder).and_then(|()| write_private(&file, text)).ok()?;
    Some(Registered(file))
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Directories of running landscapes outside of the default place, by path.
pub(crate) fn elsewhere(parent: &Path) -> Vec<Directory> {
    let files = fs::read_dir(parent.join(FOLDER)).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files.map(|file| file.path()) {
        let Some(pid) = file.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()) else { continue };
        let place = fs::read_to_string(&file).ok().map(PathBuf::from);
        let runs = place.as_ref().is_some_and(|place| {
            let holder = Directory::at(place).holder();
            holder.is_ok_and(|holder| holder.is_some_and(|holder| holder.pid == Some(pid)))
        });
        match place.filter(|_| runs) {
            Some(place) => found.push(place),
            None => {
                let _ = fs::remove_file(&file);
            }
        }
    }
    found.sort();
    found.dedup();
    found.iter().map(|place| Directory::at(place)).collect()
}

/// Path for comparing directories.
fn absolute(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::directory::HOST;

    #[test]
    fn hosts_of_directories_elsewhere_are_found_while_they_run() {
        let folder = std::env::temp_dir().join(format!("terrarium-running-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let (parent, place) = (folder.join("home"), folder.join("mine"));
        let directory = Directory::at(&place);
        directory.make().expect("a folder for temporary files");
        let usual = Directory::at(&parent.join("default"));
        usual.make().expect("a folder for temporary files");
        assert!(register(Some(&parent), &usual).is_none(), "it is found by its place");
        assert!(register(None, &directory).is_none());

        let found = || elsewhere(&parent).iter().map(|it| it.path().to_owned()).collect::<Vec<_>>();
        let held = directory.hold(HOST).expect("free");
        let registered = register(Some(&parent), &directory).expect("the home is writable");
        let place = absolute(&place).expect("there");
        assert_eq!(found(), vec![place.clone()]);
        drop(held);
        assert!(found().is_empty(), "it does not run any more");
        assert!(!registered.0.exists(), "and its file is gone");

        // The file of a killed process whose id was reused.
        fs::write(parent.join(FOLDER).join("1"), place.to_str().expect("text")).expect("ours");
        let held = directory.hold(HOST).expect("free");
        assert!(found().is_empty());
        assert!(!parent.join(FOLDER).join("1").exists());
        let registered = register(Some(&parent), &directory).expect("the home is writable");
        drop(registered);
        assert!(found().is_empty(), "it has ended");
        drop(held);
        fs::remove_dir_all(&folder).expect("ours");
    }
}
