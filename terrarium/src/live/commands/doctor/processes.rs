// SPDX-License-Identifier: Apache-2.0
//! Stray processes of a landscape, which no command stops any more.
//!
//! Every process of a landscape has the landscape's directory on its command line. Paths are resolved in the process's
//! view: a relative directory is relative to the process's working directory, and a process with another root, mount
//! namespace or user is ignored, since its paths have another meaning.
//!
//! **Invariants.** Only processes of the examined landscape are signalled. A host is stray if the lock that it holds is not
//! the lock of its directory; a component is stray if no host is its parent.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use domain::garden::components::Program;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};

use super::Finding;
use crate::failure::Failure;
use crate::live::directory::Directory;
use crate::live::{block_on, owner};

/// Maximum wall time until a signalled process has ended.
const TIMEOUT: TimeDelta = TimeDelta::seconds(5);
const LOOK: TimeDelta = TimeDelta::milliseconds(20);

/// Device and inode of a file.
type Identity = (u64, u64);

/// A process of a landscape.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    /// `host`, or the component's name.
    component: String,
    /// Directory of its landscape, absolute.
    directory: PathBuf,
    parent: Option<u32>,
    /// Lock file that it has open; hosts only.
    lock: Option<Identity>,
}

/// Finds stray processes of a landscape, by process id, with a sentence about each. `lock`: lock in the landscape's
/// directory.
fn stray(all: &BTreeMap<u32, Process>, lock: Option<Identity>) -> BTreeMap<u32, String> {
    let is_host = |pid: u32| all.get(&pid).is_some_and(|parent| parent.component == "host");
    let judge = |(pid, process): (&u32, &Process)| {
        let Process { component, directory, parent, lock: held } = process;
        let place = directory.display();
        let sentence = if component == "host" {
            // A host without a lock has just been started.
            let held = (*held)?;
            (lock != Some(held))
                .then(|| format!("process {pid} runs a landscape whose directory {place} was removed or replaced"))
        } else {
            (!parent.is_some_and(is_host))
                .then(|| format!("process {pid} ({component}) of {place} has outlived its host"))
        };
        Some((*pid, sentence?))
    };
    all.iter().filter_map(judge).collect()
}

/// Finds stray processes of this landscape; with `fix`, ends them.
pub(super) fn left_over(directory: &Directory, fix: bool) -> Result<Vec<Finding>, Failure> {
    let own = directory.real();
    let all: BTreeMap<u32, Process> = processes().into_iter().filter(|(_, process)| process.directory == own).collect();
    let found = stray(&all, identity(&own.join("lock")));
    if found.is_empty() {
        return Ok(vec![Finding::ok("processes", "none is left over")]);
    }
    let mut findings = Vec::new();
    for (pid, sentence) in found {
        findings.push(if !fix {
            Finding::warning("processes", sentence, "`terrarium doctor --fix` ends it")
        } else if block_on(end(pid, &all[&pid]))? {
            Finding::ok("processes", format!("ended: {sentence}"))
        } else {
            Finding::warning("processes", sentence, format!("it does not end: kill -9 {pid}"))
        });
    }
    Ok(findings)
}

/// Signals a process to end if it is still the examined one, and waits; returns true if it has ended.
async fn end(pid: u32, judged: &Process) -> Result<bool, Failure> {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    // The descriptor identifies this process even if its id is reused.
    let Ok(descriptor) = pidfd_open(raw, PidfdFlags::empty()) else { return Ok(!owner::is_alive(pid)) };
    if process(pid).as_ref() != Some(judged) {
        return Ok(!owner::is_alive(pid));
    }
    if pidfd_send_signal(&descriptor, Signal::TERM).is_err() {
        return Ok(!owner::is_alive(pid));
    }
    let wall = Clock::wall();
    let limit = wall.now() + TIMEOUT;
    while process(pid).is_some() && wall.now() < limit {
        wall.sleep(LOOK, TimerClass::Work).await;
    }
    Ok(process(pid).is_none())
}

/// Processes of all landscapes that see the same files as this process, by process id.
fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, process(pid)?))).collect()
}

/// A process, if it belongs to a landscape and sees the same files as this process.
fn process(pid: u32) -> Option<Process> {
    process_in(&PathBuf::from(format!("/proc/{pid}")), geteuid().as_raw())
}

/// Reads a process like [`process`] from its folder in `/proc`. `user`: user of this process.
fn process_in(place: &Path, user: u32) -> Option<Process> {
    let words = fs::read(place.join("cmdline")).ok()?;
    let words: Vec<String> =
        words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let (component, directory) = named(&words)?;
    let is_alike = fs::metadata(place).ok()?.uid() == user
        && identity(&place.join("root")) == identity(Path::new("/"))
        && fs::read_link(place.join("ns/mnt")).ok()? == fs::read_link("/proc/self/ns/mnt").ok()?;
    if !is_alike {
        return None;
    }
    let working = fs::read_link(place.join("cwd")).ok()?;
    let stat = fs::read_to_string(place.join("stat")).ok()?;
    Some(Process {
        component: component.to_owned(),
        directory: Directory::at(&working.join(directory)).real(),
        // After the name, which ends with the last bracket: state, parent.
        parent: stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok()),
        lock: if component == "host" { lock_held(place) } else { None },
    })
}

/// Component and directory of a process of a landscape, by its command line.
fn named(words: &[String]) -> Option<(&str, &str)> {
    let (program, rest) = words.split_first()?;
    let program = Path::new(program).file_name()?.to_str()?;
    let (component, rest) = match (Program::named(program), rest) {
        (Some(own), rest) => (own.name(), rest),
        (None, [command, component, rest @ ..]) if program.starts_with("terrarium") && command == "component" => {
            (component.as_str(), rest)
        }
        _ => return None,
    };
    // A process that has joined is not a child of the host.
    if rest.iter().any(|word| ["--join", "--kubeconfig", "--credentials"].iter().any(|flag| word.starts_with(flag))) {
        return None;
    }
    let directory = rest.iter().skip_while(|word| *word != "--data-dir").nth(1)?;
    Some((component, directory))
}

/// Identity of the lock that a process has open, also if the file was removed.
fn lock_held(place: &Path) -> Option<Identity> {
    let descriptors = fs::read_dir(place.join("fd")).into_iter().flatten().filter_map(Result::ok);
    let is_lock = |path: &PathBuf| {
        let name = fs::read_link(path).ok().and_then(|to| Some(to.file_name()?.to_string_lossy().into_owned()));
        name.is_some_and(|name| name == "lock" || name == "lock (deleted)")
    };
    descriptors.map(|entry| entry.path()).find(is_lock).and_then(|path| identity(&path))
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).map(|file| (file.dev(), file.ino())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(component: &str, parent: u32, lock: Option<Identity>) -> Process {
        Process { component: component.to_owned(), directory: PathBuf::from("/d"), parent: Some(parent), lock }
    }

    #[test]
    fn processes_are_left_over_without_their_lock_or_host() {
        let lock = Some((1, 7));
        let all = BTreeMap::from([
            (10, of("host", 1, Some((1, 7)))),
            (11, of("gardenlet", 10, None)),
            // A container's first process is the parent of others without being a host.
            (12, of("gardenlet", 1, None)),
            (20, of("host", 1, Some((1, 8)))),
            (30, of("host", 1, None)),
        ]);
        let found: Vec<u32> = stray(&all, lock).into_keys().collect();
        assert_eq!(found, [12, 20]);
        let found: Vec<u32> = stray(&all, None).into_keys().collect();
        assert_eq!(found, [10, 12, 20], "the directory was removed");
        let first = BTreeMap::from([(1, of("host", 0, Some((1, 7)))), (2, of("gardenlet", 1, None))]);
        assert_eq!(stray(&first, lock), BTreeMap::new(), "a host may be the first process of a container");
    }

    #[test]
    fn command_lines_name_component_and_directory() {
        let named = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            named(&words).map(|(component, directory)| (component.to_owned(), directory.to_owned()))
        };
        let pair = |component: &str, directory: &str| Some((component.to_owned(), directory.to_owned()));
        assert_eq!(named("/bin/terrarium component host --data-dir d --owner 1"), pair("host", "d"));
        assert_eq!(named("terrarium component gardenlet --data-dir /d"), pair("gardenlet", "/d"));
        assert_eq!(named("/bin/gardener-scheduler --data-dir /d"), pair("gardener-scheduler", "/d"));
        assert_eq!(named("gardener-apiserver --kubeconfig k --data-dir /d"), None);
        assert_eq!(named("terrarium component gardenlet"), None);
        assert_eq!(named("terrarium component gardener-apiserver --join h:1 --data-dir /d"), None);
        assert_eq!(named("vim component host --data-dir d"), None);
        assert_eq!(named("terrarium status --data-dir d"), None);
    }

    /// A folder of a host in `/proc`: its relative directory is one of the host's working directory.
    #[test]
    fn processes_that_see_other_files_are_ignored() {
        let folder = std::env::temp_dir().join(format!("terrarium-doctor-{}", std::process::id()));
        let (place, working) = (folder.join("proc"), folder.join("working"));
        for made in [place.join("ns"), place.join("fd"), working.join("d")] {
            fs::create_dir_all(made).expect("ours");
        }
        let write = |path: &Path, text: &str| fs::write(path, text).expect("ours");
        write(&place.join("cmdline"), "terrarium\0component\0host\0--data-dir\0d\0");
        write(&place.join("stat"), "7 (terrarium (a) b) S 5 7 7 0");
        write(&working.join("d/lock"), "");
        let link = |name: &str, to: &Path| {
            let path = place.join(name);
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink(to, path).expect("ours");
        };
        let own = fs::read_link("/proc/self/ns/mnt").expect("Linux has it");
        link("root", Path::new("/"));
        link("ns/mnt", &own);
        link("cwd", &working);
        link("fd/3", &working.join("d/lock"));
        let user = fs::metadata(&place).expect("ours").uid();
        let expected = Process {
            component: "host".to_owned(),
            directory: fs::canonicalize(working.join("d")).expect("ours"),
            parent: Some(5),
            lock: identity(&working.join("d/lock")),
        };
        assert!(expected.lock.is_some());
        let seen = || process_in(&place, user);
        assert_eq!(seen(), Some(expected.clone()));
        assert_eq!(process_in(&place, user + 1), None, "of another user");
        link("ns/mnt", Path::new("mnt:[1]"));
        assert_eq!(seen(), None, "in another mount namespace");
        link("ns/mnt", &own);
        link("root", &working);
        assert_eq!(seen(), None, "with another root");
        fs::remove_file(place.join("root")).expect("ours");
        assert_eq!(seen(), None, "with an unknown root");
        link("root", Path::new("/"));
        assert_eq!(seen(), Some(expected));
        fs::remove_dir_all(folder).expect("ours");
    }

    #[test]
    fn this_process_is_of_no_landscape() {
        assert_eq!(process(std::process::id()), None);
    }
}
