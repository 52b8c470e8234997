// SPDX-License-Identifier: Apache-2.0
//! Counts of the events during an advance, for landscapes with too many Shoots to print every line.
//!
//! ```text
//! 46 Shoots, 2027-01-31T21:59:00Z to 2027-01-31T22:00:01Z (--verbose prints every line)
//!   maintained    40 with changes, 5 with nothing to do, 1 failed
//!   operations    45 Reconcile Succeeded, 1 Reconcile Error
//!   forced        Control Plane: Updated Kubernetes version from "1.26.4" to "1.27.1" …: garden-demo/a, garden-demo/b
//!   rolled out    40 Shoots, 120 nodes came, 120 went: garden-demo/a, garden-demo/b, …
//!   failed        garden-demo/z  Reconcile Error (71%): …
//! ```

use std::collections::{BTreeMap, BTreeSet};

use api::constants::operation_state;
use chrono::{DateTime, Utc};
use domain::maintenance::says_forced;

use crate::simulate::{Line, NodeLife, What, layout};
use ops::spelling::{first_of, plural};

/// Maximum number of names in a line.
const NAMES: usize = 40;
/// Maximum number of failures that are printed.
const FAILURES: usize = 20;

/// Counts of events.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Begin of the advance; None before it.
    begins: Option<DateTime<Utc>>,
    /// Number of Shoots; None while they cannot be read.
    shoots: Option<usize>,
    lines: usize,
    maintained: usize,
    nothing_to_do: usize,
    maintenance_failed: usize,
    /// Completed operations by result.
    operations: BTreeMap<String, usize>,
    /// Shoots by the message about a forced update.
    forced: BTreeMap<String, BTreeSet<String>>,
    rolled: BTreeMap<String, Nodes>,
    /// Last failure of each Shoot, and the number of its failures.
    failures: BTreeMap<String, (String, usize)>,
    /// Warning Events about other objects.
    warnings: BTreeMap<String, usize>,
    gone: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Nodes {
    came: usize,
    updated: usize,
    restarted: usize,
    went: usize,
}

impl Tally {
    /// Begins the advance.
    pub(super) fn begin(&mut self, at: DateTime<Utc>, shoots: Option<usize>) {
        (self.begins, self.shoots) = (Some(at), shoots);
    }

    /// Records that the Shoots can be read from now on.
    pub(super) fn follow(&mut self, shoots: usize) {
        self.shoots = Some(shoots);
    }

    /// Counts the events of one instant.
    pub(super) fn add(&mut self, happened: &[Line]) {
        self.lines += happened.len();
        for (index, line) in happened.iter().enumerate() {
            let shoot = line.object.strip_prefix("Shoot ").unwrap_or(&line.object);
            match &line.what {
                What::Operation { kind, state } => {
                    if !matches!(state.as_str(), operation_state::PROCESSING | operation_state::PENDING) {
                        *self.operations.entry(format!("{kind} {state}")).or_default() += 1;
                    }
                    if matches!(
                        state.as_str(),
                        operation_state::ERROR | operation_state::FAILED | operation_state::ABORTED
                    ) {
                        self.fail(shoot, format!("{kind} {state}: {}", line.text));
                    }
                }
                What::Maintenance { state } if state == "Failed" => {
                    self.maintenance_failed += 1;
                    // The reason follows on a separate line.
                    let reason = happened.get(index + 1).filter(|next| next.subject.is_empty());
                    self.fail(shoot, format!("maintenance failed: {}", reason.unwrap_or(line).text));
                }
                What::Maintenance { .. } => self.maintained += 1,
                What::NothingToDo => self.nothing_to_do += 1,
                What::Event { reason, is_warning } => {
                    if says_forced(&line.text) && !is_warning {
                        self.forced.entry(line.text.clone()).or_default().insert(shoot.to_owned());
                    } else if *is_warning && !line.object.starts_with("Shoot ") {
                        *self.warnings.entry(format!("{reason} of {}", line.object)).or_default() += 1;
                    }
                }
                What::Node(life) => {
                    let nodes = self.rolled.entry(shoot.to_owned()).or_default();
                    match life {
                        NodeLife::Came => nodes.came += 1,
                        NodeLife::Updated => nodes.updated += 1,
                        NodeLife::Restarted => nodes.restarted += 1,
                        NodeLife::Went => nodes.went += 1,
                        NodeLife::Recovered => {}
                    }
                }
                What::MachineFailed => self.fail(shoot, line.text.clone()),
                What::Gone => drop(self.gone.insert(shoot.to_owned())),
                What::Other => {}
            }
        }
    }

    fn fail(&mut self, shoot: &str, what: String) {
        let (last, count) = self.failures.entry(shoot.to_owned()).or_default();
        *last = what;
        *count += 1;
    }

    /// Returns the summary of an advance that ended at an instant; empty if it has not begun.
    pub(super) fn lines(&self, end: DateTime<Utc>) -> Vec<String> {
        let Some(begins) = self.begins else { return Vec::new() };
        let more = match self.lines {
            0 => "nothing happened".to_owned(),
            lines => format!(
                "--verbose prints {}",
                if lines == 1 { "the line".to_owned() } else { format!("all {lines} lines") }
            ),
        };
        let time = |instant| super::time(instant);
        let shoots = self.shoots.map_or_else(|| "Shoots not read".to_owned(), |shoots| plural(shoots, "Shoot"));
        let mut lines = vec![format!("{shoots}, {} to {} ({more})", time(begins), time(end))];
        let mut say = |head: &str, text: &str| lines.push(layout::headed(head, text));
        let counts = [
            (self.maintained, "with changes"),
            (self.nothing_to_do, "with nothing to do"),
            (self.maintenance_failed, "failed"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !counts.is_empty() {
            say("maintained", &counts.join(", "));
        }
        if !self.operations.is_empty() {
            let ended: Vec<String> = self.operations.iter().map(|(what, count)| format!("{count} {what}")).collect();
            say("operations", &ended.join(", "));
        }
        for (number, (what, shoots)) in self.forced.iter().enumerate() {
            let names = first_of(shoots.iter().map(String::as_str), NAMES);
            say(
                if number == 0 { "forced" } else { "" },
                &format!("{} {names}", what.trim_end_matches('.').to_owned() + ":"),
            );
        }
        self.say_rolled(&mut say);
        if !self.gone.is_empty() {
            let names = first_of(self.gone.iter().map(String::as_str), NAMES);
            say("gone", &format!("{}: {names}", plural(self.gone.len(), "Shoot")));
        }
        for (number, (shoot, (what, count))) in self.failures.iter().take(FAILURES).enumerate() {
            let times = if *count > 1 { format!(" ({count} times, the last one:)") } else { String::new() };
            say(if number == 0 { "failed" } else { "" }, &format!("{shoot}{times} {what}"));
        }
        if self.failures.len() > FAILURES {
            say("", &format!("and {} more", plural(self.failures.len() - FAILURES, "Shoot")));
        }
        for (number, (what, count)) in self.warnings.iter().enumerate() {
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            say(if number == 0 { "warnings" } else { "" }, &format!("{what}{times}"));
        }
        lines
    }

    fn say_rolled(&self, say: &mut impl FnMut(&str, &str)) {
        let with = |holds: fn(&Nodes) -> bool| -> BTreeMap<&str, &Nodes> {
            self.rolled.iter().filter(|(_, nodes)| holds(nodes)).map(|(shoot, nodes)| (shoot.as_str(), nodes)).collect()
        };
        let sum = |of: &BTreeMap<&str, &Nodes>, count: fn(&Nodes) -> usize| {
            of.values().map(|nodes| count(nodes)).sum::<usize>()
        };
        let names = |of: &BTreeMap<&str, &Nodes>| first_of(of.keys().copied(), NAMES);
        let rolled = with(|nodes| nodes.came + nodes.updated + nodes.went > 0);
        if !rolled.is_empty() {
            let mut counts = vec![format!("{} came", plural(sum(&rolled, |nodes| nodes.came), "node"))];
            counts.push(format!("{} went", sum(&rolled, |nodes| nodes.went)));
            let updated = sum(&rolled, |nodes| nodes.updated);
            if updated > 0 {
                counts.push(format!("{updated} updated in place"));
            }
            let counts = counts.join(", ");
            say("rolled out", &format!("{}, {counts}: {}", plural(rolled.len(), "Shoot"), names(&rolled)));
        }
        let restarted = with(|nodes| nodes.restarted > 0);
        if !restarted.is_empty() {
            let kubelets = plural(sum(&restarted, |nodes| nodes.restarted), "kubelet");
            say("restarted", &format!("{}, {kubelets}: {}", plural(restarted.len(), "Shoot"), names(&restarted)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(object: &str, text: &str, what: What) -> Line {
        let (object, text) = (object.to_owned(), text.to_owned());
        Line { time: DateTime::UNIX_EPOCH, object, subject: "s".to_owned(), text, is_quote: false, what }
    }

    fn operation(state: &str) -> What {
        What::Operation { kind: "Reconcile".to_owned(), state: state.to_owned() }
    }

    #[test]
    fn events_are_counted_and_forced_updates_and_failures_named() {
        let mut tally = Tally::default();
        tally.begin(DateTime::UNIX_EPOCH, Some(12));
        let forced = "Control Plane: Updated Kubernetes version from \"1.26.4\" to \"1.27.1\". Reason: Kubernetes version \
                      expired - force update required.";
        let event = |reason: &str, is_warning| What::Event { reason: reason.to_owned(), is_warning };
        let reason = Line { subject: String::new(), ..line("Shoot p/c", "no version follows", What::Other) };
        tally.add(&[
            line("Shoot p/a", "", operation("Processing")),
            line("Shoot p/a", "done", operation("Succeeded")),
            line("Shoot p/b", "quota", operation("Error")),
            line("Shoot p/b", "quota again", operation("Error")),
            line("Shoot p/a", forced, event("KubernetesVersionMaintenance", false)),
            line("Shoot p/b", forced, event("KubernetesVersionMaintenance", false)),
            line("Shoot p/a", "", What::Maintenance { state: "Succeeded".to_owned() }),
            line("Shoot p/c", "description", What::Maintenance { state: "Failed".to_owned() }),
            reason,
            line("Shoot p/d", "", What::NothingToDo),
            line("Shoot p/a", "", What::Node(NodeLife::Came)),
            line("Shoot p/a", "", What::Node(NodeLife::Went)),
            line("Shoot p/d", "", What::Node(NodeLife::Restarted)),
            line("Seed local", "late", event("Late", true)),
        ]);
        let lines = tally.lines(DateTime::UNIX_EPOCH);
        let shown: Vec<String> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            shown,
            [
                "12 Shoots, 1970-01-01T00:00:00Z to 1970-01-01T00:00:00Z (--verbose prints all 14 lines)",
                "maintained 1 with changes, 1 with nothing to do, 1 failed",
                "operations 2 Reconcile Error, 1 Reconcile Succeeded",
                "forced Control Plane: Updated Kubernetes version from \"1.26.4\" to \"1.27.1\". Reason: Kubernetes \
                 version expired - force update required: p/a, p/b",
                "rolled out 1 Shoot, 1 node came, 1 went: p/a",
                "restarted 1 Shoot, 1 kubelet: p/d",
                "failed p/b (2 times, the last one:) Reconcile Error: quota again",
                "p/c maintenance failed: no version follows",
                "warnings Late of Seed local",
            ]
        );
    }

    #[test]
    fn where_nothing_happens_nothing_is_counted() {
        let mut tally = Tally::default();
        assert!(tally.lines(DateTime::UNIX_EPOCH).is_empty(), "it has not begun");
        tally.begin(DateTime::UNIX_EPOCH, None);
        assert_eq!(
            tally.lines(DateTime::UNIX_EPOCH),
            ["Shoots not read, 1970-01-01T00:00:00Z to 1970-01-01T00:00:00Z (nothing happened)"]
        );
        tally.follow(11);
        assert_eq!(
            tally.lines(DateTime::UNIX_EPOCH),
            ["11 Shoots, 1970-01-01T00:00:00Z to 1970-01-01T00:00:00Z (nothing happened)"]
        );
    }
}
