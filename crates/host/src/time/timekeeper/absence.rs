// SPDX-License-Identifier: Apache-2.0
//! Absences of components, and outages of all API servers, which become absences.

use clock::Instant;

use super::{Absence, Anchor, Mode, REPORT_LIMIT, Timekeeper};

/// Maximum number of stored absences.
const ABSENCES: usize = 32;

/// Period in which no server answers.
#[derive(Debug)]
pub(super) struct Outage {
    /// Name of an unresponsive server.
    pub(super) name: String,
    /// End, by [`Timekeeper::patience`], of the time for which landscape time stands.
    pub(super) until: Instant,
    /// True once it is stored as an absence.
    is_absence: bool,
}

impl Timekeeper {
    /// Ends the absence of a component that is back or has ended.
    pub(super) fn end_absence(&mut self, name: &str, wall: Instant) {
        if self.awaited.contains(name) {
            // As long as time stands for it.
            self.now = self.now(wall);
            self.anchor = Anchor { landscape: self.now, wall };
            self.awaited.remove(name);
        }
        let now = self.now;
        self.absences.iter_mut().filter(|absence| absence.name == name).for_each(|absence| {
            absence.until.get_or_insert(now);
        });
    }

    /// Latest absences of components, oldest first.
    pub fn absences(&self) -> impl Iterator<Item = &Absence> {
        self.absences.iter()
    }

    /// Begins an outage, with the name of an unresponsive server, when none is left that answers; `None` ends it.
    /// Time stands for [`REPORT_LIMIT`]; an outage that lasts longer is an absence.
    pub fn set_outage(&mut self, name: Option<&str>, wall: Instant) {
        self.now = self.now(wall);
        if let Some(ended) = self.outage.take() {
            self.end_absence(&ended.name, wall);
            self.anchor = Anchor { landscape: self.now, wall };
        }
        let until = self.patience.at(wall) + REPORT_LIMIT;
        self.outage = name.map(|name| Outage { name: name.to_owned(), until, is_absence: false });
    }

    /// Name of an unresponsive server whose outage is an absence.
    pub fn absent_server(&self) -> Option<&str> {
        self.outage.as_ref().filter(|outage| outage.is_absence).map(|outage| outage.name.as_str())
    }

    /// Outage for whose end time waits.
    pub(super) fn awaited_outage(&self) -> Option<&Outage> {
        self.outage.as_ref().filter(|outage| !outage.is_absence)
    }

    /// Stores an outage that has lasted for [`REPORT_LIMIT`] as an absence.
    pub(super) fn expire_outage(&mut self, wall: Instant) {
        let now = self.patience.at(wall);
        let Some(outage) = self.outage.as_mut().filter(|outage| !outage.is_absence && outage.until <= now) else {
            return;
        };
        outage.is_absence = true;
        let name = outage.name.clone();
        self.anchor = Anchor { landscape: self.now, wall };
        self.begin_absence(name, wall);
    }

    /// Stores an absence. Unless the command ignores absences it ends, and `Eager` and `Auto` do not move time until the
    /// component is back, [`Timekeeper::resume`] or another mode.
    pub(super) fn begin_absence(&mut self, name: String, wall: Instant) {
        self.absences.push_back(Absence { name: name.clone(), since: self.now, until: None });
        if self.absences.len() > ABSENCES {
            self.absences.pop_front();
        }
        // The component's effects would be missing from now on.
        if self.command.is_none_or(|command| !command.ignores_absence) {
            self.cancel(wall);
            self.now = self.now(wall);
            self.awaited.insert(name);
        }
    }

    /// Absent components that keep `Eager` and `Auto` from moving time; none while a command runs or time is paused.
    pub(super) fn awaited(&self) -> impl Iterator<Item = &str> {
        let stands = self.command.is_none() && !self.paused && matches!(self.mode, Mode::Eager | Mode::Auto);
        self.awaited.iter().filter(move |_| stands).map(String::as_str)
    }
}
