// SPDX-License-Identifier: Apache-2.0
//! Repair of damaged journals and checkpoints.
//!
//! A `survey` finds the damage and the replacements. Here the remedy is chosen and applied: each damaged file is replaced
//! by a whole one, with the numbers of its frames, in one rename. A remedy that loses something is applied only on demand.

use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::entry::Revision;

use super::directory::{Directory, name_of, revisions};
use super::journal::{self, PREFIX};
use super::keeper::{BASE, CHECKPOINT};
use super::reached::{self, Reach};
use super::record::Record;
use super::store::{Store, released};
use super::survey::{Mended, RESERVE, Survey, failed};
use super::{CLEAN, Durability, OpenError, STORE};

/// Bytes of journals that a clean stop examines; `doctor` examines all.
const LOOKED_AT: u64 = 1 << 30;

/// Folder for damaged files that were given up.
const KEPT: &str = "damaged";

/// Damage of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Description of each file's damage.
    pub what: Vec<String>,
    /// The remedy.
    pub remedy: Remedy,
}

/// Remedy for damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Everything is still there, in the store or in another file.
    Heal,
    /// Every object is there; the history up to the revision is given up.
    Forget(Revision),
    /// Everything after the first revision is given up, at least up to the second. If both are equal, the log may have had
    /// more revisions, and their number is unknown.
    Cut(Revision, Revision),
}

impl Remedy {
    /// Returns true if the remedy loses something.
    pub fn loses(self) -> bool {
        self != Self::Heal
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heal => f.write_str("what it held is still there, and can be written again"),
            Self::Forget(to) => {
                write!(f, "the history up to revision {to} is lost; every object is there, and what came later")
            }
            Self::Cut(after, to) if after == to => {
                write!(f, "what came after revision {after} is lost, and how many revisions that are is not known")
            }
            Self::Cut(after, to) => {
                let (first, missing) = (after.0 + 1, to.0 - after.0);
                write!(f, "revisions {first} to {to} are missing: {missing} at least")
            }
        }
    }
}

/// Opens the store of a log that is not open; a store that cannot be opened has nothing.
fn store_of(root: &Path) -> Option<Store> {
    let path = root.join(STORE);
    if !path.join("db").exists() {
        return None;
    }
    catch_unwind(AssertUnwindSafe(|| Store::open(&path).ok())).ok().flatten()
}

/// True if the files of a log other than its store are damaged, or if it was not left cleanly: then the store may show
/// that journals are missing.
fn may_be_damaged(root: &Path) -> Result<bool, OpenError> {
    let survey = Survey::of(root, u64::MAX, None)?;
    Ok(!survey.what.is_empty() || !survey.is_left)
}

/// Examines a log for damage. While the log is open the store cannot be read: damage that a clean stop heals is then
/// reported as healable.
pub(super) fn examine(root: &Path) -> Result<Option<Damage>, OpenError> {
    let is_open = fs::File::open(root.join("LOCK")).is_ok_and(|lock| lock.try_lock_shared().is_err());
    let scratch = super::Scratch::new();
    let mut store = None;
    if !is_open && may_be_damaged(root)? {
        let copied = super::recovery::copy(&root.join(STORE), &scratch.0.join(STORE));
        store = copied.ok().and_then(|()| store_of(&scratch.0));
    }
    let survey = Survey::of(root, u64::MAX, store.as_ref())?;
    if survey.what.is_empty() {
        return Ok(None);
    }
    let remedy = if is_open { Remedy::Heal } else { survey.remedy(&survey.mend(root, store.as_ref())?.1) };
    drop(store);
    Ok(Some(Damage { what: survey.what, remedy }))
}

/// Repairs, without a loss, a log that is being opened; `None`: nothing is damaged.
///
/// # Errors
/// A repair would lose something.
pub(super) fn heal(directory: &Directory) -> Result<Option<Vec<String>>, OpenError> {
    let root = directory.root();
    let store = store_of(root);
    let survey = Survey::of(root, u64::MAX, store.as_ref())?;
    let (mended, holes) = survey.mend(root, store.as_ref())?;
    drop(store);
    released(&root.join(STORE)).map_err(failed(root))?;
    if survey.what.is_empty() {
        return Ok(None);
    }
    survey.must_lose_nothing(root, survey.remedy(&holes))?;
    write(directory, &survey, &mended)?;
    Ok(Some(healed(&survey.what)))
}

/// Like [`heal`], with the open store, before a log is left; damage that cannot be healed is an error.
pub(super) fn heal_open(directory: &Directory, store: &Store) -> Result<Vec<String>, OpenError> {
    let mut survey = Survey::of(directory.root(), LOOKED_AT, Some(store))?;
    survey.is_left = true;
    if survey.what.is_empty() {
        return Ok(Vec::new());
    }
    let (mended, holes) = survey.mend(directory.root(), Some(store))?;
    survey.must_lose_nothing(directory.root(), survey.remedy(&holes))?;
    write(directory, &survey, &mended)?;
    Ok(healed(&survey.what))
}

fn healed(what: &[String]) -> Vec<String> {
    what.iter().map(|what| format!("{what}; it was written again from what else there is")).collect()
}

fn write(directory: &Directory, survey: &Survey, mended: &[Mended]) -> Result<(), OpenError> {
    let root = directory.root();
    for Mended { name, numbers, ceiling, records } in mended {
        journal::replace(root, *name, true, numbers.clone(), *ceiling, records).map_err(failed(root))?;
    }
    // The journals go back to the base: the next checkpoint takes the place of one that cannot be read.
    for revision in &survey.unreadable {
        if *revision != survey.base.revision {
            directory.remove(&name_of(CHECKPOINT, *revision)).map_err(failed(root))?;
        }
    }
    if survey.base.revision > Revision(0) {
        directory.replace(BASE, survey.base.revision.to_string().as_bytes()).map_err(failed(root))?;
    }
    directory.sync().map_err(failed(root))
}

/// Repairs a log that is not open.
pub(super) fn repair(root: &Path, discard: bool) -> Result<Option<Damage>, OpenError> {
    let (directory, _lock) = Directory::open(root, Durability::Durable)?;
    let mut done: Option<Damage> = None;
    // Forgetting may leave damage that can then be healed.
    loop {
        if !may_be_damaged(root)? {
            return Ok(done);
        }
        let store = store_of(root);
        let survey = Survey::of(root, u64::MAX, store.as_ref())?;
        let (mended, holes) = survey.mend(root, store.as_ref())?;
        drop(store);
        released(&root.join(STORE)).map_err(failed(root))?;
        if survey.what.is_empty() {
            return Ok(done);
        }
        let remedy = survey.remedy(&holes);
        if !discard || done.as_ref().is_some_and(|done| done.remedy == remedy) {
            survey.must_lose_nothing(root, remedy)?;
        }
        match remedy {
            Remedy::Heal => write(&directory, &survey, &mended)?,
            Remedy::Forget(to) => {
                keep(&directory, &survey)?;
                if !survey.base_is_lost {
                    // Later records may stand in files that are removed.
                    write(&directory, &survey, &mended)?;
                }
                directory.replace(BASE, to.to_string().as_bytes()).map_err(failed(root))?;
                for revision in revisions(root, CHECKPOINT).map_err(failed(root))? {
                    if revision < to {
                        directory.remove(&name_of(CHECKPOINT, revision)).map_err(failed(root))?;
                    }
                }
                journal::drop_up_to(&directory, to).map_err(failed(root))?;
            }
            Remedy::Cut(after, _) => {
                keep(&directory, &survey)?;
                cut(&directory, &survey, &mended, after)?;
            }
        }
        let first = done.is_none();
        if first || remedy.loses() {
            done = Some(Damage { what: survey.what, remedy });
        }
        if remedy == Remedy::Heal {
            return Ok(done);
        }
    }
}

/// Copies the files that are given up to a folder of their own.
fn keep(directory: &Directory, survey: &Survey) -> Result<(), OpenError> {
    let root = directory.root();
    let folder = root.join(KEPT);
    fs::create_dir_all(&folder).map_err(failed(root))?;
    let bad = survey.files.iter().filter(|file| file.is_bad).map(|file| name_of(PREFIX, file.name));
    for name in bad.chain(survey.unreadable.iter().map(|revision| name_of(CHECKPOINT, *revision))) {
        match fs::copy(root.join(&name), folder.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(root)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Ends the log after a revision. Later files are kept aside.
fn cut(directory: &Directory, survey: &Survey, mended: &[Mended], after: Revision) -> Result<(), OpenError> {
    let root = directory.root();
    let (mut kept, mut ceiling, mut number) = (None, survey.known.max(survey.ceiling), 0);
    for file in &survey.files {
        ceiling = ceiling.max(file.scan.ceiling).max(file.links.last().map_or(Revision(0), |last| last.revision));
        // The file that holds the end, or the last one before it.
        if kept.is_none() || file.name <= Revision(after.0 + 1) {
            (kept, number) = (Some(file.name), file.scan.first.unwrap_or(number + 1));
        }
    }
    for revision in revisions(root, CHECKPOINT).map_err(failed(root))? {
        ceiling = ceiling.max(revision);
        if revision > after && revision != survey.base.revision {
            directory.remove(&name_of(CHECKPOINT, revision)).map_err(failed(root))?;
        }
    }
    directory.remove(CLEAN).map_err(failed(root))?;
    let Some(kept) = kept else { return Ok(()) };
    for file in survey.files.iter().filter(|file| file.name > kept) {
        let name = name_of(PREFIX, file.name);
        fs::rename(root.join(&name), root.join(KEPT).join(&name)).map_err(failed(root))?;
    }
    for Mended { name, numbers, ceiling, records } in mended.iter().filter(|file| file.name < kept) {
        journal::replace(root, *name, true, numbers.clone(), *ceiling, records).map_err(failed(root))?;
    }
    let mut records = Vec::new();
    // The replacement also has the records of the store.
    if let Some(found) = mended.iter().find(|file| file.name == kept) {
        number = *found.numbers.start();
        let revision = |bytes: &[u8]| Record::decode(bytes).map(|record| record.revision);
        let is_kept = |bytes: &&Vec<u8>| revision(bytes).is_ok_and(|revision| revision <= after);
        records.extend(found.records.iter().filter(is_kept).cloned());
    } else {
        let read = journal::scan(&root.join(name_of(PREFIX, kept)), |found, bytes| {
            if found.revision <= after && found.revision > survey.base.revision {
                records.push(bytes.to_vec());
            }
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(root)(error)),
            _ => {}
        }
    }
    let ceiling = Revision(ceiling.0 + RESERVE);
    let numbers = number..=number + records.len() as u64 / 64;
    journal::replace(root, kept, true, numbers, ceiling, &records).map_err(failed(root))?;
    // The store may hold records that are given up.
    match fs::remove_dir_all(root.join(STORE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(root)(error)),
        _ => {}
    }
    reached::replace(directory, Reach { link: after, ceiling }).map_err(failed(root))
}
