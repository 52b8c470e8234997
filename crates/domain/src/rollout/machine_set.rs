// SPDX-License-Identifier: Apache-2.0
//! One pass of a MachineSet over its Machines.

use apimachinery::meta::Time;

use super::machine::Phase;
use super::preservation::Standing;

/// Inputs of a pass: one Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Name of the Machine.
    pub name: String,
    /// Phase; a Machine whose deletion was requested counts as `Terminating`.
    pub phase: Phase,
    /// `creationTimestamp` of the Machine.
    pub created: Time,
    /// Deletion priority; lower is deleted first. Default: 3.
    pub priority: i32,
    /// True if its node was just updated in place and the Machine waits for its new MachineSet.
    pub is_updated_in_place: bool,
    /// State of the Machine's preservation.
    pub standing: Standing,
}

/// Inputs of a pass: the MachineSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// Value of `spec.replicas`.
    pub replicas: i32,
    /// True if too many machines exist; none is created.
    pub frozen: bool,
    /// True for an old set of an in-place roll-out; none is created.
    pub scale_up_disabled: bool,
    /// True if deletion was requested.
    pub deleting: bool,
    /// `spec.autoPreserveFailedMachineMax`; 0 for a machine-controller-manager without preservation.
    pub auto_preserve_max: i32,
}

/// Result of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Number of Machines to create.
    pub create: i32,
    /// Names of Machines to delete, in order.
    pub delete: Vec<String>,
    /// Names of failed Machines to preserve; a further pass decides on other changes.
    pub preserve: Vec<String>,
    /// Names of Machines whose preservation ends because there are too many; a further pass decides on other changes.
    pub release: Vec<String>,
}

/// Counts of a MachineSet's Machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of all Machines, including failed and terminating ones.
    pub machines: i32,
    /// Number of Machines in phase `Running` or `Available`.
    pub available: i32,
    /// Number of Machines in phase `Running`.
    pub ready: i32,
    /// Number of Machines in phase `Unknown`.
    pub unknown: i32,
    /// Number of Machines in phase `Terminating`.
    pub terminating: i32,
    /// Number of Machines deleted regardless of the replicas: failed ones, and those of priority 1.
    pub stale: i32,
    /// Number of Machines that count as replicas: not stale, not terminating, not just updated in place.
    pub active: i32,
    /// Number of Machines that were updated in place and wait for their new MachineSet.
    pub updated_in_place: i32,
    /// Number of failed Machines with an expiry.
    pub preserved_failed: i32,
    /// Number of Machines preserved without a user's request.
    pub auto_preserved: i32,
    /// Number of failed Machines without an annotation for preservation.
    pub candidates: i32,
    /// Number of Machines with an expiry that are neither `Running` nor `Unknown`: they are not being replaced.
    pub held_back: i32,
}

impl Counts {
    /// Adds a Machine.
    pub fn add(&mut self, member: &Member) {
        self.count(member, 1);
    }

    /// Removes a Machine.
    pub fn remove(&mut self, member: &Member) {
        self.count(member, -1);
    }

    fn count(&mut self, member: &Member, one: i32) {
        let part = |counts: bool| if counts { one } else { 0 };
        let phase = member.phase;
        self.machines += one;
        self.available += part(matches!(phase, Phase::Running | Phase::Available));
        self.ready += part(phase == Phase::Running);
        self.unknown += part(phase == Phase::Unknown);
        self.terminating += part(phase == Phase::Terminating);
        self.stale += part(!member.is_updated_in_place && member.is_stale());
        let is_active = !member.is_updated_in_place && !member.is_stale() && phase != Phase::Terminating;
        self.active += part(is_active);
        self.updated_in_place += part(member.is_updated_in_place);
        let has_expiry = member.standing.expiry.is_some();
        self.preserved_failed += part(has_expiry && phase == Phase::Failed);
        self.auto_preserved += part(member.standing.is_automatic);
        self.candidates += part(member.standing.is_candidate);
        self.held_back += part(has_expiry && !matches!(phase, Phase::Running | Phase::Unknown));
    }

    /// Returns the number of Machines that are being replaced; terminating ones count twice. If it is not 0, no Machine
    /// of the MachineDeployment changes from `Unknown` to `Failed`.
    ///
    /// Source: `canMarkMachineFailed`.
    pub fn in_replacement(&self) -> i32 {
        self.machines - self.ready - self.unknown + self.terminating - self.held_back
    }
}

/// Maximum number of Machines that one pass creates or deletes.
const BURST: i32 = 100;
/// Priority of a Machine without the annotation.
pub const DEFAULT_PRIORITY: i32 = 3;

impl Member {
    fn is_stale(&self) -> bool {
        (self.phase == Phase::Failed && !self.standing.is_kept)
            || (self.priority == 1 && self.phase != Phase::Terminating)
    }
}

/// Returns the counts of the given Machines.
pub fn counts<'a>(members: impl IntoIterator<Item = &'a Member>) -> Counts {
    let mut counts = Counts::default();
    members.into_iter().for_each(|member| counts.add(member));
    counts
}

/// Runs one pass: deletes failed Machines that are not preserved and those of priority 1; then creates missing Machines
/// or deletes surplus ones. Before that, as many failed Machines as the MachineSet may preserve by itself are chosen, the
/// newest first; if too many are preserved, the oldest are released.
///
/// `members` is called only if some of them are chosen: a pass that changes none costs the same for any number.
/// Source: pkg/controller/machineset.go of machine-controller-manager v0.58.0, v0.62.1.
pub fn pass<'a, M>(desired: Desired, counts: &Counts, members: impl Fn() -> M) -> Pass
where
    M: IntoIterator<Item = &'a Member>,
{
    let names = |members: &[&Member]| members.iter().map(|member| member.name.clone()).collect::<Vec<_>>();
    if desired.deleting {
        if counts.machines == counts.terminating {
            return Pass::default();
        }
        let left: Vec<&Member> = members().into_iter().filter(|member| member.phase != Phase::Terminating).collect();
        return Pass { delete: names(&left), ..Pass::default() };
    }
    let capacity = desired.auto_preserve_max - counts.auto_preserved;
    if capacity > 0 && counts.candidates > 0 {
        let candidates = members().into_iter().filter(|member| member.standing.is_candidate);
        let newest = by_creation(candidates.collect()).into_iter().rev().take(capacity.unsigned_abs() as usize);
        return Pass { preserve: names(&newest.collect::<Vec<_>>()), ..Pass::default() };
    }
    if capacity < 0 {
        let preserved = members().into_iter().filter(|member| member.standing.is_automatic);
        let oldest = by_creation(preserved.collect()).into_iter().take(capacity.unsigned_abs() as usize);
        return Pass { release: names(&oldest.collect::<Vec<_>>()), ..Pass::default() };
    }
    let ignored = counts.updated_in_place;
    let difference = counts.active - desired.replicas;
    let create = if difference < 0 {
        let is_blocked = desired.frozen || desired.scale_up_disabled || difference + ignored >= 0;
        if is_blocked { 0 } else { (-difference).min(BURST) }
    } else {
        0
    };
    if counts.stale == 0 && difference <= 0 {
        return Pass { create, ..Pass::default() };
    }
    let counted = members().into_iter().filter(|member| !member.is_updated_in_place);
    let (stale, fresh): (Vec<&Member>, Vec<&Member>) = counted.partition(|member| member.is_stale());
    let mut delete = names(&stale);
    if difference > 0 {
        let mut active: Vec<&Member> = fresh.into_iter().filter(|member| member.phase != Phase::Terminating).collect();
        let excess = usize::try_from(difference.min(BURST)).unwrap_or_default();
        delete.extend(names(first_to_delete(&mut active, excess)));
    }
    Pass { create, delete, ..Pass::default() }
}

/// Returns Machines by age, then name.
fn by_creation(mut members: Vec<&Member>) -> Vec<&Member> {
    members.sort_by_key(|member| (member.created, &member.name));
    members
}

/// Returns the `count` Machines that are deleted first, in order: Machines that are not preserved, then those preserved
/// without a user's request, then those that expire first; then lower priority, then the least useful phase, then age,
/// then name.
pub fn first_to_delete<'m, 'a>(members: &'m mut [&'a Member], count: usize) -> &'m [&'a Member] {
    fn key(member: &Member) -> impl Ord + '_ {
        let standing = &member.standing;
        let preserved = standing.expiry.map(|expiry| (!standing.is_automatic, expiry));
        (preserved, member.priority, rank(member.phase), member.created, &member.name)
    }
    let order = |a: &&Member, b: &&Member| key(a).cmp(&key(b));
    let count = count.min(members.len());
    if count > 0 && count < members.len() {
        // All are compared, few are sorted.
        members.select_nth_unstable_by(count - 1, order);
    }
    let first = &mut members[..count];
    first.sort_by(order);
    first
}

/// Returns the rank of a phase; unlisted phases rank like `Terminating`, including those of in-place updates.
const fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::Failed => 1,
        Phase::CrashLoopBackOff => 2,
        Phase::Unknown => 3,
        Phase::Pending => 4,
        Phase::Available => 5,
        Phase::Running => 6,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(phases: &[Phase]) -> Vec<Member> {
        let member = |(index, phase): (usize, &Phase)| Member {
            name: format!("m{index}"),
            phase: *phase,
            priority: DEFAULT_PRIORITY,
            ..Member::default()
        };
        phases.iter().enumerate().map(member).collect()
    }

    #[track_caller]
    fn check(replicas: i32, phases: &[Phase], create: i32, delete: &[&str]) {
        let members = members(phases);
        let pass = pass(Desired { replicas, ..Desired::default() }, &counts(&members), || &members);
        assert_eq!((pass.create, pass.delete), (create, delete.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn terminating_machines_are_replaced_and_failed_ones_deleted() {
        use Phase::{Failed, Pending, Running, Terminating};
        check(2, &[], 2, &[]);
        check(2, &[Running, Running], 0, &[]);
        check(2, &[Running, Terminating], 1, &[]);
        check(2, &[Running, Failed], 1, &["m1"]);
        check(1, &[Running, Pending], 0, &["m1"]);
        check(0, &[Running, Terminating], 0, &["m0"]);
        check(1, &[Running, Running, Failed, Pending], 0, &["m2", "m3", "m0"]);
    }

    /// Parses members as `phase` or `phase/annotation`; members with an annotation other than `false` have an expiry.
    fn preserved(text: &str) -> Vec<Member> {
        let member = |(index, word): (i64, &str)| {
            let (phase, annotation) = word.split_once('/').unwrap_or((word, ""));
            let is_kept = !matches!(annotation, "" | "false");
            let expiry = Time::from_instant(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::hours(100 - index));
            Member {
                name: format!("m{index}"),
                phase: Phase::of(phase),
                created: Time::from_instant(chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::hours(index)),
                priority: DEFAULT_PRIORITY,
                standing: Standing {
                    is_kept,
                    expiry: is_kept.then_some(expiry),
                    is_automatic: annotation == "auto",
                    is_candidate: phase == "Failed" && annotation.is_empty(),
                },
                ..Member::default()
            }
        };
        (0..).zip(text.split_whitespace()).map(member).collect()
    }

    #[test]
    fn failed_machines_are_preserved_up_to_the_maximum() {
        for (replicas, max, text, expected) in [
            // Preserved Machines count as replicas.
            (2, 0, "Running Failed/now", "create 0 delete []"),
            (2, 0, "Running Failed/false", "create 1 delete [m1]"),
            (3, 0, "Running Failed/now", "create 1 delete []"),
            // The newest first.
            (3, 1, "Failed Running Failed", "preserve [m2]"),
            (3, 2, "Failed Running Failed", "preserve [m2 m0]"),
            (3, 1, "Failed Running Failed/auto", "create 1 delete [m0]"),
            // Preservations requested by users do not count towards the maximum.
            (3, 1, "Failed Running Failed/when-failed", "preserve [m0]"),
            (3, 2, "Failed/false Running Failed/auto", "create 1 delete [m0]"),
            // The maximum was lowered: the oldest first.
            (3, 1, "Failed/auto Failed/auto Failed/auto", "release [m0 m1]"),
            (3, 0, "Failed/now Failed/auto", "release [m1]"),
            // Too many: preserved ones last, those that a user requested after the others, and those that expire first
            // before others.
            (1, 2, "Failed/auto Running Unknown", "create 0 delete [m2 m1]"),
            (1, 2, "Failed/auto Running/now Failed/auto", "create 0 delete [m2 m0]"),
            (0, 2, "Failed/auto Running/now Failed/auto", "create 0 delete [m2 m0 m1]"),
        ] {
            let members = preserved(text);
            let desired = Desired { replicas, auto_preserve_max: max, ..Desired::default() };
            let pass = pass(desired, &counts(&members), || &members);
            let list = |names: &[String]| format!("[{}]", names.join(" "));
            let found = if !pass.preserve.is_empty() {
                format!("preserve {}", list(&pass.preserve))
            } else if !pass.release.is_empty() {
                format!("release {}", list(&pass.release))
            } else {
                format!("create {} delete {}", pass.create, list(&pass.delete))
            };
            assert_eq!(found, expected, "{replicas} {max} {text}");
        }
    }

    #[test]
    fn machines_that_are_preserved_are_not_being_replaced() {
        for (text, expected) in [
            ("Running Failed", 1),
            ("Running Failed/now", 0),
            ("Running/now Unknown/now Unknown", 0),
            ("Pending/now Terminating", 2),
        ] {
            assert_eq!(counts(&preserved(text)).in_replacement(), expected, "{text}");
        }
    }

    #[test]
    fn a_frozen_set_creates_nothing() {
        let desired = Desired { replicas: 2, frozen: true, ..Desired::default() };
        assert_eq!(pass(desired, &Counts::default(), || &[]), Pass::default());
    }

    #[test]
    fn a_deleted_set_deletes_its_machines() {
        let desired = Desired { replicas: 2, deleting: true, ..Desired::default() };
        let members = members(&[Phase::Running, Phase::Terminating]);
        let pass = pass(desired, &counts(&members), || &members);
        assert_eq!(pass.delete, ["m0"]);
    }
}
