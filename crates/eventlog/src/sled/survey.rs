// SPDX-License-Identifier: Apache-2.0
//! Survey of a log's files: their damage, and the files that are to replace them.
//!
//! Every record names its predecessor. So the revisions that the journals lack are known exactly, and are looked up in
//! damaged files and in the store. A survey changes no file; `repair` writes its results.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::entry::Revision;

use super::checkpoint::{self, Head};
use super::directory::{holds_more, name_of, revisions};
use super::journal::{self, Link, PREFIX, Scan};
use super::keeper::{BASE, CHECKPOINT};
use super::reached::{self, ReachedFile as End};
use super::record::Record;
use super::repair::Remedy;
use super::store::Store;
use super::{CLEAN, OpenError};

/// Revisions that are left out after a loss, so that lost revisions are not assigned again.
pub(super) const RESERVE: u64 = 8192;

/// One file of the journal.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: Revision,
    pub(super) scan: Scan,
    pub(super) links: Vec<Link>,
    pub(super) is_bad: bool,
}

/// State of the files of a log.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) files: Vec<File>,
    /// Readable checkpoints.
    checkpoints: Vec<Head>,
    pub(super) base: Head,
    /// Revision that the records must reach.
    pub(super) known: Revision,
    /// Each damage, as a clause with its file.
    pub(super) what: Vec<String>,
    /// Checkpoints that cannot be read.
    pub(super) unreadable: Vec<Revision>,
    /// True if the base itself cannot be read.
    pub(super) base_is_lost: bool,
    /// Predecessor of the first record of the first file.
    start: Revision,
    /// True if the log was closed cleanly: the last checkpoint covers every assigned revision.
    pub(super) is_left: bool,
    /// Highest revision that heartbeats may have used.
    pub(super) ceiling: Revision,
    /// True if journals are missing or cut and no other file names their end.
    is_open_ended: bool,
    /// True if the store or a checkpoint goes on after the end of the journals, and after every end that a file names:
    /// journals and `REACHED` are of an earlier time, since the others get only what both have.
    is_put_back: bool,
    /// Content of the file that names the end.
    end: End,
}

/// Replacement of a damaged file.
pub(super) struct Mended {
    pub(super) name: Revision,
    pub(super) numbers: std::ops::RangeInclusive<u64>,
    pub(super) ceiling: Revision,
    pub(super) records: Vec<Vec<u8>>,
}

/// Ranges of lost records: after the first revision, up to the second.
pub(super) type Holes = Vec<(Revision, Revision)>;

/// Records by revision, each with its predecessor.
type RecordsByRevision = BTreeMap<Revision, (Revision, Vec<u8>)>;

pub(super) fn failed(root: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::io(root, &error)
}

impl Survey {
    /// Reads all checkpoints, and journals from the last one backwards until `limit` bytes are read. The `store` names the
    /// end of a log whose journals do not, and shows that journals are older than it.
    pub(super) fn of(root: &Path, limit: u64, store: Option<&Store>) -> Result<Self, OpenError> {
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
                // The log is open elsewhere, and its keeper has removed the file.
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
                    // The store shows that history begins at the start: journals are missing.
                    Some(Revision(0)) => Head::default(),
                    Some(link) => match self.checkpoints.iter().find(|head| head.link == link) {
                        Some(head) => *head,
                        None => {
                            self.base_is_lost = true;
                            Head::default()
                        }
                    },
                    // Journals and checkpoint fit together, and no other file shows that there was more.
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
        let end = reached::read(root).map_err(failed(root))?;
        let reach = end.reach();
        self.known = clean.max(last).max(reach.map(|reach| reach.link)).unwrap_or_default();
        self.ceiling = reach.map_or(self.known, |reach| reach.ceiling);
        let is_lost = end.reach().is_none();
        // A clean stop that names an earlier end than can be read is a damaged mark.
        let is_named = is_lost && clean.is_some_and(|clean| Some(clean) >= last) && clean >= Some(last_link(root)?);
        self.is_open_ended = is_lost && !is_named && ((end.is_lost() && ends_torn(root)?) || names_no_frame(root)?);
        self.end = end;
        if let Some(store) = store.filter(|_| self.is_open_ended) {
            self.known = self.known.max(last_of(store));
        }
        self.look_for_older_journals(root, clean.max(reach.map(|reach| reach.link)), store)?;
        self.is_left = clean.is_some() && clean == last;
        Ok(())
    }

    /// Compares the end of the journals, and the `named` one, with the end of the store and of the checkpoints.
    fn look_for_older_journals(
        &mut self,
        root: &Path,
        named: Option<Revision>,
        store: Option<&Store>,
    ) -> Result<(), OpenError> {
        // Logs of earlier versions name no end.
        if self.is_open_ended || self.base_is_lost || self.end == End::Unwritten {
            return Ok(());
        }
        let goes_on = |store: &&Store| last_of(store) > self.known;
        let store = store.filter(goes_on);
        if store.is_none() && Some(self.known) <= named {
            return Ok(());
        }
        let end = last_link(root)?.max(self.base.link);
        let to = self.known.max(store.map_or(end, |store| continued(store, end)));
        if to > end && Some(to) > named {
            (self.is_put_back, self.is_open_ended, self.known) = (true, true, to);
        }
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
        // The predecessor of the first file is unknown if older ones are not examined, or the base cannot be read.
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
            if is_last && scan.torn > 0 && self.is_open_ended && !self.is_put_back {
                why = why.or_else(|| Some(reached::unknown_end(scan.torn, self.end)));
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
                // A start that needs the record may begin to read after this file.
                why = why.or_else(|| Some(format!("revision {} in it belongs in a later file", found.revision)));
            }
            if is_last && link.is_some_and(|link| link < self.known) && !self.base_is_lost {
                let (end, known) = (link.unwrap_or_default(), self.known);
                why = why.or_else(|| {
                    let why = format!("it ends at revision {end}, and the log went on to {known}");
                    let (first, missing) = (end.0 + 1, known.0 - end.0);
                    Some(if self.is_put_back {
                        format!("{why}: revisions {first} to {known} are missing in it: {missing} at least")
                    } else {
                        why
                    })
                });
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
            // Files before it are missing: one entry represents them.
            self.files.insert(0, File { name: begins, scan: Scan::default(), links: Vec::new(), is_bad: true });
        }
        if count == 0 {
            self.what.push(format!("`{}`: its journals are missing", root.display()));
            self.start = self.base.link;
            self.files.push(File { name: begins, scan: Scan::default(), links: Vec::new(), is_bad: true });
        }
        Ok(())
    }

    /// Returns the replacements of damaged files, completed from the store, and the ranges that no source has. No file gets a
    /// record from the name of a later file on.
    pub(super) fn mend(&self, root: &Path, store: Option<&Store>) -> Result<(Vec<Mended>, Holes), OpenError> {
        let (mut mended, mut holes) = (Vec::new(), Vec::new());
        let mut link = self.start;
        let mut number: Option<u64> = None;
        // Records that are not placed yet: those of damaged files, wherever they stand, and of the store.
        let mut found = RecordsByRevision::new();
        for file in self.files.iter().filter(|file| file.is_bad) {
            self.collect(root, file, &mut found)?;
        }
        for (index, file) in self.files.iter().enumerate() {
            let later = &self.files[index + 1..];
            let next = later.iter().find_map(|later| later.scan.first);
            let does_not_follow = |number: u64| file.scan.first.is_none_or(|first| first != number + 1);
            let behind = later.first().map_or_else(RecordsByRevision::new, |later| found.split_off(&later.name));
            let mut own = std::mem::replace(&mut found, behind);
            if !file.is_bad && own.is_empty() && !number.is_some_and(does_not_follow) {
                link = file.links.last().map_or(link, |last| last.revision);
                number = file.scan.first.map(|_| file.scan.last).or(number);
                continue;
            }
            if !file.is_bad {
                self.collect(root, file, &mut own)?;
            }
            // Predecessor of the later files; the end of the log if they hold nothing.
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
                // For example a record of another log: it does not fit, and to give it up is a loss.
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
    fn collect(&self, root: &Path, file: &File, into: &mut RecordsByRevision) -> Result<(), OpenError> {
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
    pub(super) fn must_lose_nothing(&self, root: &Path, remedy: Remedy) -> Result<(), OpenError> {
        if remedy.loses() {
            return Err(OpenError::corrupt(root, format!("{}: {remedy}", self.what.join("; "))));
        }
        Ok(())
    }

    /// Remedy for a log of which these ranges are lost.
    pub(super) fn remedy(&self, holes: &[(Revision, Revision)]) -> Remedy {
        let last = holes.iter().map(|(_, to)| *to).max().unwrap_or_default();
        if self.is_open_ended && !self.base_is_lost {
            // Earlier losses are determined once the end is known. Records that can be read are kept.
            let read = self.files.iter().filter_map(|file| file.links.last()).map(|last| last.revision).max();
            let end = self.known.max(read.unwrap_or_default());
            return Remedy::Cut(end, end);
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

/// Predecessor of the first record of a store.
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

/// Revision of the last record that can be read in the journals; 0 if there is none.
pub(super) fn last_link(root: &Path) -> Result<Revision, OpenError> {
    for name in revisions(root, PREFIX).map_err(failed(root))?.into_iter().rev() {
        let (path, mut last) = (root.join(name_of(PREFIX, name)), None);
        journal::scan(&path, |found, _| last = Some(found.revision)).map_err(failed(&path))?;
        if let Some(last) = last {
            return Ok(last);
        }
    }
    Ok(Revision(0))
}

/// True if the end of the last journal cannot be read, or nothing of a last journal that has others before it.
fn ends_torn(root: &Path) -> Result<bool, OpenError> {
    let mut names = revisions(root, PREFIX).map_err(failed(root))?;
    let Some(last) = names.pop() else { return Ok(false) };
    let path = root.join(name_of(PREFIX, last));
    let scan = journal::scan(&path, |_, _| {}).map_err(failed(&path))?;
    Ok(scan.torn > 0 || (scan.first.is_none() && !names.is_empty()))
}

/// Revision of the last record of a store; 0 if it cannot be read.
fn last_of(store: &Store) -> Revision {
    let last = catch_unwind(AssertUnwindSafe(|| store.last(Revision(u64::MAX - 1))));
    last.ok().and_then(Result::ok).unwrap_or_default()
}

/// Revision up to which the records of a store follow on one; that revision if none does.
fn continued(store: &Store, after: Revision) -> Revision {
    let mut to = after;
    fill(Some(store), &mut to, Revision(u64::MAX - 1), &mut Vec::new());
    to
}

/// Adds the chain of records that the store has after `link`. Returns true if it reaches `to`.
fn fill(store: Option<&Store>, link: &mut Revision, to: Revision, records: &mut Vec<(Link, Vec<u8>)>) -> bool {
    let Some(store) = store else { return *link >= to };
    // sled panics on some unreadable files.
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
