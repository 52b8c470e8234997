// SPDX-License-Identifier: Apache-2.0
//! Damage to journals and checkpoints: what it is, what can be done, and doing it.
//!
//! Every record names the one before it. So what the journals lack is known to the revision, and the store has it or not;
//! what comes from there is checked in the same way. A file that lacks something is written anew, with the numbers that
//! its frames had, and takes the place of the old one at once.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::entry::Revision;

use super::checkpoint::{self, Head};
use super::directory::{Directory, holds_more, name_of, revisions};
use super::journal::{self, Link, PREFIX, Scan};
use super::keeper::{BASE, CHECKPOINT};
use super::reached::{self, Reach};
use super::record::Record;
use super::store::{Store, released};
use super::{CLEAN, Durability, OpenError, STORE};

/// Revisions that are left out behind a loss: what was given out there is not given out again.
const RESERVE: u64 = 8192;

/// Bytes of journals that a clean stop looks at; `doctor` looks at all.
const LOOKED_AT: u64 = 1 << 30;

/// Where damaged files are kept that were given up.
const KEPT: &str = "damaged";

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Each file, and what is wrong with it.
    pub what: Vec<String>,
    /// What can be done.
    pub remedy: Remedy,
}

/// What can be done about damage.
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
    /// Whether something is lost by it.
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

/// A file of the journal, and what it lacks.
#[derive(Debug)]
struct File {
    name: Revision,
    scan: Scan,
    links: Vec<Link>,
    is_bad: bool,
}

/// All that is known without the store.
#[derive(Debug, Default)]
struct Survey {
    files: Vec<File>,
    /// Readable checkpoints.
    checkpoints: Vec<Head>,
    base: Head,
    /// Up to where there must be records.
    known: Revision,
    what: Vec<String>,
    /// Checkpoints that cannot be read.
    unreadable: Vec<Revision>,
    /// Whether the base itself cannot be read.
    base_is_lost: bool,
    /// The record on which the first file goes on.
    start: Revision,
    /// Whether the log was left cleanly: the last checkpoint knows of every revision that was given out.
    is_left: bool,
    /// The highest revision that heartbeats may have used.
    ceiling: Revision,
    /// True if journals are missing and no other file names their end.
    is_open_ended: bool,
}

/// A file that is to be written anew, or was.
struct Mended {
    name: Revision,
    numbers: std::ops::RangeInclusive<u64>,
    ceiling: Revision,
    records: Vec<Vec<u8>>,
}

/// Revisions behind the first of which, up to the second, something is missing for good.
type Holes = Vec<(Revision, Revision)>;

/// Records by revision, each with the one that it follows on.
type Found = BTreeMap<Revision, (Revision, Vec<u8>)>;

fn failed(root: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::io(root, &error)
}

impl Survey {
    fn of(root: &Path, limit: u64, store: Option<&Store>) -> Result<Self, OpenError> {
        let mut survey = Self::default();
        survey.look_at_checkpoints(root, store)?;
        survey.look_at_journals(root, limit)?;
        Ok(survey)
    }

    fn look_at_checkpoints(&mut self, root: &Path, store: Option<&Store>) -> Result<(), OpenError> {
        for revision in revisions(root, CHECKPOINT).map_err(failed(root))? {
            let path = root.join(name_of(CHECKPOINT, revision));
            match checkpoint::read(&path, |_, _, _| {}) {
                Ok(contents) => self.checkpoints.push(contents.head),
                // The log is open elsewhere, and has removed it.
                Err(OpenError::Io { .. }) if !path.exists() => {}
                Err(error @ OpenError::Corrupt { .. }) => {
                    self.unreadable.push(revision);
                    self.what.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        let first = revisions(root, PREFIX).map_err(failed(root))?.first().copied();
        let text = fs::read_to_string(root.join(BASE)).ok();
        let said = text.as_ref().and_then(|text| text.parse().ok()).map(Revision);
        let goes_back = first.is_none_or(|first| first <= Revision(1));
        self.base = match said {
            Some(said) => match self.checkpoints.iter().find(|head| head.revision == said) {
                Some(head) => *head,
                None => {
                    self.base_is_lost = true;
                    self.what.push(format!("the checkpoint of revision {said}, where history begins, cannot be read"));
                    Head::default()
                }
            },
            None if goes_back => Head::default(),
            None => {
                let at = root.join(BASE).display().to_string();
                self.what.push(format!("`{at}`: it does not say where history begins, and the journals go not back"));
                match store.and_then(first_link) {
                    // The store does: it is journals that are missing.
                    Some(Revision(0)) => Head::default(),
                    Some(link) => match self.checkpoints.iter().find(|head| head.link == link) {
                        Some(head) => *head,
                        None => {
                            self.base_is_lost = true;
                            Head::default()
                        }
                    },
                    // Journals and checkpoint fit, and nothing else is there to tell of more.
                    None => match self.checkpoints.iter().find(|head| first == Some(Revision(head.revision.0 + 1))) {
                        Some(head) => *head,
                        None => {
                            self.base_is_lost = true;
                            Head::default()
                        }
                    },
                }
            }
        };
        let clean = fs::read_to_string(root.join(CLEAN)).ok().and_then(|link| link.parse().ok()).map(Revision);
        let last = self.checkpoints.iter().map(|head| head.link).max();
        let reach = reached::read(root).map_err(failed(root))?.reach();
        self.known = clean.max(last).max(reach.map(|reach| reach.link)).unwrap_or_default();
        self.ceiling = reach.map_or(self.known, |reach| reach.ceiling);
        self.is_open_ended = clean.is_none() && reach.is_none() && names_no_frame(root)?;
        if let Some(store) = store.filter(|_| self.is_open_ended) {
            self.known = self.known.max(last_of(store));
        }
        self.is_left = clean.is_some() && clean == last;
        Ok(())
    }

    fn look_at_journals(&mut self, root: &Path, limit: u64) -> Result<(), OpenError> {
        let names = revisions(root, PREFIX).map_err(failed(root))?;
        let size = |name: &Revision| fs::metadata(root.join(name_of(PREFIX, *name))).map_or(0, |file| file.len());
        let (mut skipped, mut bytes) = (names.len(), 0);
        while skipped > 0 && bytes <= limit {
            skipped -= 1;
            bytes += size(&names[skipped]);
        }
        // Where the first file goes on from is not known if older ones are not looked at, or the base cannot be read.
        let mut link = (skipped == 0 && !self.base_is_lost).then_some(self.base.link);
        let mut number = None;
        let count = names.len();
        for (index, name) in names.iter().copied().enumerate().skip(skipped) {
            let path = root.join(name_of(PREFIX, name));
            let mut links = Vec::new();
            let scan = match journal::scan(&path, |link, _| links.push(link)) {
                Ok(scan) => scan,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(OpenError::io(&path, &error)),
            };
            links.retain(|link| link.revision > self.base.revision);
            let is_last = index + 1 == count;
            let mut why = scan.damaged.first().map(|at| format!("it is damaged at byte {at}"));
            if scan.first.is_none() && (index > 0 || holds_more(root)) {
                why = why.or_else(|| Some("nothing in it can be read".to_owned()));
            }
            if !is_last && scan.torn > 0 {
                why = why.or_else(|| Some(format!("it is damaged at byte {}", scan.length)));
            }
            if let (Some(number), Some(first)) = (number, scan.first)
                && first != number + 1
            {
                why = why.or_else(|| Some(format!("frame {} before it is missing", number + 1)));
            }
            for found in &links {
                if link.is_some_and(|link| link != found.link) {
                    let after = link.unwrap_or_default();
                    why = why.or_else(|| Some(format!("what came after revision {after} is missing")));
                }
                link = Some(found.revision);
            }
            let next = names.get(index + 1);
            if let Some(found) = links.iter().find(|found| next.is_some_and(|next| found.revision >= *next)) {
                // A start that needs it may begin to read behind this file.
                why = why.or_else(|| Some(format!("revision {} in it belongs in a later file", found.revision)));
            }
            if is_last && link.is_some_and(|link| link < self.known) && !self.base_is_lost {
                let (end, known) = (link.unwrap_or_default(), self.known);
                why = why.or_else(|| Some(format!("it ends at revision {end}, and the log went on to {known}")));
            }
            if scan.first.is_some() {
                number = Some(scan.last);
            }
            if self.files.is_empty() {
                let is_known = skipped == 0 && !self.base_is_lost;
                self.start = links.first().filter(|_| !is_known).map_or(self.base.link, |first| first.link);
            }
            let is_bad = why.is_some();
            self.what.extend(why.map(|why| format!("`{}`: {why}", path.display())));
            self.files.push(File { name, scan, links, is_bad });
        }
        let begins = Revision(self.base.revision.0 + 1);
        if let Some(first) = self.files.first()
            && skipped == 0
            && !self.base_is_lost
            && first.name > begins
            && first.links.first().is_none_or(|first| first.link != self.base.link)
        {
            // Files before it are missing: one stands for them.
            self.files.insert(0, File { name: begins, scan: Scan::default(), links: Vec::new(), is_bad: true });
        }
        if count == 0 {
            self.what.push(format!("`{}`: its journals are missing", root.display()));
            self.start = self.base.link;
            self.files.push(File { name: begins, scan: Scan::default(), links: Vec::new(), is_bad: true });
        }
        Ok(())
    }

    /// Fills what the files lack from the store: the files as they are to be, and the revisions between which something is
    /// missing for good. No file gets a record that the name of a later one claims.
    fn mend(&self, root: &Path, store: Option<&Store>) -> Result<(Vec<Mended>, Holes), OpenError> {
        let (mut mended, mut holes) = (Vec::new(), Vec::new());
        let mut link = self.start;
        let mut number: Option<u64> = None;
        // Records that are not placed yet: those of damaged files, wherever they stand, and of the store.
        let mut found = Found::new();
        for file in self.files.iter().filter(|file| file.is_bad) {
            self.collect(root, file, &mut found)?;
        }
        for (index, file) in self.files.iter().enumerate() {
            let later = &self.files[index + 1..];
            let next = later.iter().find_map(|later| later.scan.first);
            let does_not_follow = |number: u64| file.scan.first.is_none_or(|first| first != number + 1);
            let behind = later.first().map_or_else(Found::new, |later| found.split_off(&later.name));
            let mut own = std::mem::replace(&mut found, behind);
            if !file.is_bad && own.is_empty() && !number.is_some_and(does_not_follow) {
                link = file.links.last().map_or(link, |last| last.revision);
                number = file.scan.first.map(|_| file.scan.last).or(number);
                continue;
            }
            if !file.is_bad {
                self.collect(root, file, &mut own)?;
            }
            // What later files go on from; the end of the log if they hold nothing.
            let whole = later.iter().filter(|later| !later.is_bad).find_map(|later| later.links.first());
            let behind = whole.map(|first| first.link).into_iter().chain(found.values().next().map(|(link, _)| *link));
            let end = behind.min().unwrap_or(self.known).max(own.keys().next_back().copied().unwrap_or_default());
            let mut records = Vec::new();
            let mut rest = own.into_iter().peekable();
            loop {
                if let Some((revision, (_, bytes))) = rest.next_if(|(_, (before, _))| *before == link) {
                    records.push((Link { revision, link }, bytes));
                    link = revision;
                    continue;
                }
                // A record of another log, say: it does not fit, and to give it up is a loss.
                if let Some((revision, (before, _))) = rest.next_if(|(_, (before, _))| *before < link) {
                    holes.push((before, revision));
                    continue;
                }
                let to = rest.peek().map_or(end, |(_, (before, _))| *before);
                if rest.peek().is_none() && link >= to {
                    break;
                }
                let filled = fill(store, &mut link, to, &mut records);
                if !filled {
                    holes.push((link, to));
                    link = to;
                    if rest.peek().is_none() {
                        break;
                    }
                }
            }
            if let Some(next) = later.first() {
                let at = records.partition_point(|(at, _)| at.revision < next.name);
                let behind = records.split_off(at);
                link = behind.first().map_or(link, |(first, _)| first.link);
                found.extend(behind.into_iter().map(|(at, bytes)| (at.revision, (at.link, bytes))));
            }
            let records: Vec<_> = records.into_iter().map(|(_, bytes)| bytes).collect();
            let first = number.map(|number| number + 1).or(file.scan.first);
            let first = first.or_else(|| Some(next?.saturating_sub(1))).unwrap_or(1).max(1);
            let last = match next {
                Some(next) => next.saturating_sub(1).max(first),
                None => file.scan.last.max(first + records.len() as u64 / 64),
            };
            let mut ceiling = file.scan.ceiling.max(link);
            if later.is_empty() {
                ceiling = ceiling.max(self.ceiling);
                let head = self.checkpoints.iter().map(|head| head.revision).max().unwrap_or_default();
                ceiling = if self.is_left { ceiling.max(head) } else { Revision(ceiling.0 + RESERVE) };
            }
            number = Some(last);
            mended.push(Mended { name: file.name, numbers: first..=last, ceiling, records });
        }
        Ok((mended, holes))
    }

    /// Reads the records of a file.
    fn collect(&self, root: &Path, file: &File, into: &mut Found) -> Result<(), OpenError> {
        let path = root.join(name_of(PREFIX, file.name));
        let read = journal::scan(&path, |found, bytes| {
            if found.revision > self.base.revision {
                into.insert(found.revision, (found.link, bytes.to_vec()));
            }
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(OpenError::io(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Returns an error that names the losses of a remedy, if it has any.
    fn must_lose_nothing(&self, root: &Path, remedy: Remedy) -> Result<(), OpenError> {
        if remedy.loses() {
            return Err(OpenError::corrupt(root, format!("{}: {remedy}", self.what.join("; "))));
        }
        Ok(())
    }

    /// What can be done, given what cannot be found anywhere.
    fn remedy(&self, holes: &[(Revision, Revision)]) -> Remedy {
        let last = holes.iter().map(|(_, to)| *to).max().unwrap_or_default();
        if self.is_open_ended && !self.base_is_lost {
            // Earlier losses are determined once the end is known.
            return Remedy::Cut(self.known, self.known);
        }
        if holes.is_empty() && !self.base_is_lost {
            return Remedy::Heal;
        }
        let behind = self.checkpoints.iter().find(|head| head.link >= last && head.revision > self.base.revision);
        if let Some(head) = behind {
            return Remedy::Forget(head.revision);
        }
        let after = holes.iter().map(|(after, _)| *after).min().unwrap_or_default();
        let found = self.files.iter().filter_map(|file| file.links.last()).map(|last| last.revision).max();
        Remedy::Cut(after, last.max(found.unwrap_or_default()))
    }
}

/// On what the first record of a store follows.
fn first_link(store: &Store) -> Option<Revision> {
    let first = catch_unwind(AssertUnwindSafe(|| store.range(Revision(0), Revision(u64::MAX - 1)).next()));
    let (_, bytes) = first.ok()??.ok()?;
    Record::decode(&bytes).ok().map(|record| record.link)
}

/// True if no frame of a journal can be read, and the log holds something else.
fn names_no_frame(root: &Path) -> Result<bool, OpenError> {
    for name in revisions(root, PREFIX).map_err(failed(root))? {
        let path = root.join(name_of(PREFIX, name));
        if journal::scan(&path, |_, _| {}).map_err(failed(&path))?.first.is_some() {
            return Ok(false);
        }
    }
    Ok(holds_more(root))
}

/// Revision of the last record of a store; 0 if it cannot be read.
fn last_of(store: &Store) -> Revision {
    let last = catch_unwind(AssertUnwindSafe(|| store.last(Revision(u64::MAX - 1))));
    last.ok().and_then(Result::ok).unwrap_or_default()
}

/// Takes records from the store that follow one another. True if they reach `to`.
fn fill(store: Option<&Store>, link: &mut Revision, to: Revision, records: &mut Vec<(Link, Vec<u8>)>) -> bool {
    let Some(store) = store else { return *link >= to };
    // sled panics on some of what it cannot read.
    let filled = catch_unwind(AssertUnwindSafe(|| {
        let (mut at, mut found) = (*link, Vec::new());
        for next in store.range(*link, to) {
            let Ok((revision, bytes)) = next else { break };
            match Record::decode(&bytes) {
                Ok(record) if record.link == at && record.revision == revision => {
                    found.push((Link { revision, link: at }, bytes.to_vec()));
                    at = revision;
                }
                _ => break,
            }
        }
        (at, found)
    }));
    let Ok((at, found)) = filled else { return *link >= to };
    *link = at;
    records.extend(found);
    *link >= to
}

/// Opens the store of a log that nobody has open; one that cannot be opened has nothing.
fn store_of(root: &Path) -> Option<Store> {
    let path = root.join(STORE);
    if !path.join("db").exists() {
        return None;
    }
    catch_unwind(AssertUnwindSafe(|| Store::open(&path).ok())).ok().flatten()
}

/// What is wrong with a log. Where somebody has it open, the store cannot be asked: what a clean stop heals is said to be
/// healed.
pub(super) fn examine(root: &Path) -> Result<Option<Damage>, OpenError> {
    let is_open = fs::File::open(root.join("LOCK")).is_ok_and(|lock| lock.try_lock_shared().is_err());
    let scratch = super::Scratch::new();
    let mut store = None;
    if !is_open && !Survey::of(root, u64::MAX, None)?.what.is_empty() {
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

/// As [`heal`], with the store that is open, before a log is left; what cannot be healed is an error.
pub(super) fn heal_open(directory: &Directory, store: &Store) -> Result<Vec<String>, OpenError> {
    let survey = Survey { is_left: true, ..Survey::of(directory.root(), LOOKED_AT, Some(store))? };
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

/// Repairs a log that nobody has open.
pub(super) fn repair(root: &Path, discard: bool) -> Result<Option<Damage>, OpenError> {
    let (directory, _lock) = Directory::open(root, Durability::Durable)?;
    let mut done: Option<Damage> = None;
    // Forgetting may leave something that can be healed then.
    loop {
        if Survey::of(root, u64::MAX, None)?.what.is_empty() {
            return Ok(done);
        }
        let store = store_of(root);
        let survey = Survey::of(root, u64::MAX, store.as_ref())?;
        let (mended, holes) = survey.mend(root, store.as_ref())?;
        drop(store);
        released(&root.join(STORE)).map_err(failed(root))?;
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

/// Copies what is given up to a folder of its own.
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

/// Ends the log after a revision. What comes later is kept aside.
fn cut(directory: &Directory, survey: &Survey, mended: &[Mended], after: Revision) -> Result<(), OpenError> {
    let root = directory.root();
    let (mut kept, mut ceiling, mut number) = (None, survey.known.max(survey.ceiling), 0);
    for file in &survey.files {
        ceiling = ceiling.max(file.scan.ceiling).max(file.links.last().map_or(Revision(0), |last| last.revision));
        // The file in which the end is, or the last one before it.
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
    // The store's records of it are here, too.
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
    // It may hold what is given up now.
    match fs::remove_dir_all(root.join(STORE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(root)(error)),
        _ => {}
    }
    reached::replace(directory, Reach { link: after, ceiling }).map_err(failed(root))
}
