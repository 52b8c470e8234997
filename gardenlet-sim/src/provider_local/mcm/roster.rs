// SPDX-License-Identifier: Apache-2.0
//! What is remembered of the Machines of each MachineDeployment between passes: counts and instants, so that a pass looks
//! at the Machines that changed or whose instant has come, and at no others.
//!
//! All of it follows from objects. A pass that fails discards it; the next one looks at everything.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use api::machine::{MachineSpec, MachineSummary};
use chrono::{DateTime, Utc};
use controller::ObjectKey;
use domain::rollout::in_place::Update;
use domain::rollout::machine_set::{Counts, Member};
use parking_lot::{Mutex, MutexGuard};

/// The rosters of all MachineDeployments, and what changed since their last passes.
#[derive(Default)]
pub(super) struct Rosters(Mutex<BTreeMap<ObjectKey, Kept>>);

#[derive(Default)]
struct Kept {
    roster: Option<Roster>,
    marks: Marks,
}

/// The Machines that a pass has to look at.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// All of them.
    pub(super) all: bool,
    /// Names of some.
    pub(super) machines: BTreeSet<String>,
}

impl Rosters {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Kept>> {
        self.0.lock()
    }

    /// A Machine changed, or its Node, or a pod that it waits for.
    pub(super) fn mark(&self, deployment: &ObjectKey, machine: &str) {
        let mut all = self.lock();
        match all.get_mut(deployment) {
            Some(kept) => drop(kept.marks.machines.insert(machine.to_owned())),
            None => drop(all.insert(deployment.clone(), Kept::default())),
        }
    }

    /// Something changed that concerns every Machine.
    pub(super) fn mark_all(&self, deployment: &ObjectKey) {
        self.lock().entry(deployment.clone()).or_default().marks.all = true;
    }

    /// The roster for a pass, which gives it back; a new one has everything to look at.
    pub(super) fn take(&self, deployment: &ObjectKey) -> (Roster, Marks) {
        let mut all = self.lock();
        let kept = all.entry(deployment.clone()).or_default();
        let mut marks = mem::take(&mut kept.marks);
        let roster = kept.roster.take().unwrap_or_else(|| {
            marks.all = true;
            Roster { is_count_due: true, ..Roster::default() }
        });
        (roster, marks)
    }

    /// A pass is done.
    pub(super) fn give_back(&self, deployment: &ObjectKey, roster: Roster) {
        self.lock().entry(deployment.clone()).or_default().roster = Some(roster);
    }

    /// The MachineDeployment is gone.
    pub(super) fn forget(&self, deployment: &ObjectKey) {
        self.lock().remove(deployment);
    }
}

/// What is remembered of a Machine.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its MachineSet.
    pub(super) set: String,
    pub(super) member: Member,
    /// Its number in the order of creation; 0 for none.
    pub(super) ordinal: i32,
    /// What its Node says of its update in place; `None` if it has no Node.
    pub(super) update: Option<Update>,
    /// Its last operation failed.
    pub(super) failure: Option<MachineSummary>,
}

/// The Machines of one MachineDeployment.
#[derive(Default)]
pub(super) struct Roster {
    entries: BTreeMap<String, Entry>,
    counts: BTreeMap<String, Counts>,
    timers: BTreeMap<String, DateTime<Utc>>,
    by_time: BTreeSet<(DateTime<Utc>, String)>,
    failures: BTreeSet<String>,
    /// Machines that wait for others of the MachineDeployment.
    pub(super) held: BTreeSet<String>,
    /// Whether the cluster-autoscaler was kept from all Nodes, or let at them.
    pub(super) scale_down_disabled: Option<bool>,
    /// Machines are to be counted for [`super::safety`] whatever the instant.
    pub(super) is_count_due: bool,
    /// When they are counted next, if a count would change anything.
    pub(super) next_count: Option<DateTime<Utc>>,
    /// What all Machines of a MachineSet have taken over from its template.
    pub(super) followed: BTreeMap<String, MachineSpec>,
}

impl Roster {
    /// Takes note of a Machine as it is now.
    pub(super) fn set(&mut self, name: &str, entry: Entry) {
        self.uncount(name);
        self.counts.entry(entry.set.clone()).or_default().add(&entry.member);
        if entry.failure.is_some() {
            self.failures.insert(name.to_owned());
        }
        self.entries.insert(name.to_owned(), entry);
    }

    /// A Machine is gone.
    pub(super) fn remove(&mut self, name: &str) {
        self.uncount(name);
        self.entries.remove(name);
        self.held.remove(name);
        self.set_timer(name, None);
    }

    fn uncount(&mut self, name: &str) {
        self.failures.remove(name);
        let Some(entry) = self.entries.get(name) else { return };
        if let Some(counts) = self.counts.get_mut(&entry.set) {
            counts.remove(&entry.member);
            if counts.machines == 0 {
                self.counts.remove(&entry.set);
            }
        }
    }

    /// When a Machine changes by itself.
    pub(super) fn set_timer(&mut self, name: &str, at: Option<DateTime<Utc>>) {
        let old = match at {
            Some(at) => {
                self.by_time.insert((at, name.to_owned()));
                self.timers.insert(name.to_owned(), at)
            }
            None => self.timers.remove(name),
        };
        if let Some(old) = old.filter(|old| Some(*old) != at) {
            self.by_time.remove(&(old, name.to_owned()));
        }
    }

    /// The Machines whose instant has come.
    pub(super) fn due(&self, now: DateTime<Utc>) -> Vec<String> {
        self.by_time.iter().take_while(|(at, _)| *at <= now).map(|(_, name)| name.clone()).collect()
    }

    /// The next instant at which one changes by itself.
    pub(super) fn next(&self) -> Option<DateTime<Utc>> {
        let machine = self.by_time.first().map(|(at, _)| *at);
        machine.into_iter().chain(self.next_count).min()
    }

    /// Counts of a MachineSet.
    pub(super) fn counts(&self, set: &str) -> Counts {
        self.counts.get(set).copied().unwrap_or_default()
    }

    /// How many Machines are being replaced, as [`Counts::in_replacement`] counts.
    pub(super) fn in_replacement(&self) -> i32 {
        self.counts.values().map(Counts::in_replacement).sum()
    }

    /// What is remembered of the Machines of a MachineSet.
    pub(super) fn entries<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.values().filter(move |entry| entry.set == set)
    }

    /// The Machines of a MachineSet.
    pub(super) fn members<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Member> {
        self.entries(set).map(|entry| &entry.member)
    }

    /// Names of all Machines, or of those of a MachineSet.
    pub(super) fn names(&self, set: Option<&str>) -> Vec<String> {
        let of_set = self.entries.iter().filter(|(_, entry)| set.is_none_or(|set| entry.set == set));
        of_set.map(|(name, _)| name.clone()).collect()
    }

    /// The Machines whose last operation failed, with their MachineSets.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&str, &MachineSummary)> {
        let entries = self.failures.iter().filter_map(|name| self.entries.get(name));
        entries.filter_map(|entry| Some((entry.set.as_str(), entry.failure.as_ref()?)))
    }

    /// The greatest number that a Machine has in the order of their creation.
    pub(super) fn most_ordinal(&self) -> i32 {
        self.entries.values().map(|entry| entry.ordinal).max().unwrap_or_default()
    }
}
