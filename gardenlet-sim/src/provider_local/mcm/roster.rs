// SPDX-License-Identifier: Apache-2.0
//! State of the Machines of each MachineDeployment between passes: counts and instants, so that a pass only examines
//! Machines that changed or whose instant has been reached.
//!
//! All of it is derived from objects. A pass that fails discards it; the next one examines all Machines.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use api::machine::{MachineSpec, MachineSummary};
use chrono::{DateTime, Utc};
use controller::ObjectKey;
use domain::rollout::in_place::Update;
use domain::rollout::machine_set::{Counts, Member};
use parking_lot::{Mutex, MutexGuard};

/// The rosters of all MachineDeployments, with the changes since their last passes.
#[derive(Default)]
pub(super) struct Rosters(Mutex<BTreeMap<ObjectKey, Kept>>);

#[derive(Default)]
struct Kept {
    roster: Option<Roster>,
    marks: Marks,
}

/// Machines that a pass has to examine.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// True if all Machines have to be examined.
    pub(super) all: bool,
    /// Names of individual Machines.
    pub(super) machines: BTreeSet<String>,
}

impl Rosters {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Kept>> {
        self.0.lock()
    }

    /// Marks a Machine after a change of it, of its Node, or of a pod that it waits for.
    pub(super) fn mark(&self, deployment: &ObjectKey, machine: &str) {
        let mut all = self.lock();
        match all.get_mut(deployment) {
            Some(kept) => drop(kept.marks.machines.insert(machine.to_owned())),
            None => drop(all.insert(deployment.clone(), Kept::default())),
        }
    }

    /// Marks all Machines of a MachineDeployment.
    pub(super) fn mark_all(&self, deployment: &ObjectKey) {
        self.lock().entry(deployment.clone()).or_default().marks.all = true;
    }

    /// Takes the roster for a pass, which returns it by [`Rosters::give_back`]; with a new one, all Machines are
    /// marked.
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

    /// Stores the roster after a pass.
    pub(super) fn give_back(&self, deployment: &ObjectKey, roster: Roster) {
        self.lock().entry(deployment.clone()).or_default().roster = Some(roster);
    }

    /// Removes the roster of a deleted MachineDeployment.
    pub(super) fn forget(&self, deployment: &ObjectKey) {
        self.lock().remove(deployment);
    }
}

/// State of a Machine.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Name of its MachineSet.
    pub(super) set: String,
    pub(super) member: Member,
    /// Ordinal in the order of creation; 0: none.
    pub(super) ordinal: i32,
    /// State of its Node's in-place update; `None` if it has no Node.
    pub(super) update: Option<Update>,
    /// Summary of its failed last operation.
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
    /// Names of Machines that wait for others of the MachineDeployment.
    pub(super) held: BTreeSet<String>,
    /// True if scale-down by the cluster-autoscaler is disabled on all Nodes; `None`: not known.
    pub(super) scale_down_disabled: Option<bool>,
    /// True if the Machines have to be counted for [`super::safety`] in the next pass.
    pub(super) is_count_due: bool,
    /// Time of the next count, if a count would change anything.
    pub(super) next_count: Option<DateTime<Utc>>,
    /// Template specification that has been copied to all Machines of a MachineSet.
    pub(super) followed: BTreeMap<String, MachineSpec>,
}

impl Roster {
    /// Stores the current state of a Machine.
    pub(super) fn set(&mut self, name: &str, entry: Entry) {
        self.uncount(name);
        self.counts.entry(entry.set.clone()).or_default().add(&entry.member);
        if entry.failure.is_some() {
            self.failures.insert(name.to_owned());
        }
        self.entries.insert(name.to_owned(), entry);
    }

    /// Removes a deleted Machine.
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

    /// Sets the instant at which a Machine changes by itself.
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

    /// Returns the names of the Machines whose instant has been reached.
    pub(super) fn due(&self, now: DateTime<Utc>) -> Vec<String> {
        self.by_time.iter().take_while(|(at, _)| *at <= now).map(|(_, name)| name.clone()).collect()
    }

    /// Returns the next instant at which a pass has to run.
    pub(super) fn next(&self) -> Option<DateTime<Utc>> {
        let machine = self.by_time.first().map(|(at, _)| *at);
        machine.into_iter().chain(self.next_count).min()
    }

    /// Returns the counts of a MachineSet.
    pub(super) fn counts(&self, set: &str) -> Counts {
        self.counts.get(set).copied().unwrap_or_default()
    }

    /// Returns the number of Machines that are being replaced, as [`Counts::in_replacement`] counts.
    pub(super) fn in_replacement(&self) -> i32 {
        self.counts.values().map(Counts::in_replacement).sum()
    }

    /// Returns the states of the Machines of a MachineSet.
    pub(super) fn entries<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.values().filter(move |entry| entry.set == set)
    }

    /// Returns the Machines of a MachineSet.
    pub(super) fn members<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Member> {
        self.entries(set).map(|entry| &entry.member)
    }

    /// Returns the names of all Machines, or of those of a MachineSet.
    pub(super) fn names(&self, set: Option<&str>) -> Vec<String> {
        let of_set = self.entries.iter().filter(|(_, entry)| set.is_none_or(|set| entry.set == set));
        of_set.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the Machines whose last operation failed, with their MachineSets.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&str, &MachineSummary)> {
        let entries = self.failures.iter().filter_map(|name| self.entries.get(name));
        entries.filter_map(|entry| Some((entry.set.as_str(), entry.failure.as_ref()?)))
    }

    /// Returns the highest ordinal of a Machine.
    pub(super) fn most_ordinal(&self) -> i32 {
        self.entries.values().map(|entry| entry.ordinal).max().unwrap_or_default()
    }
}
