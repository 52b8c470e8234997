// SPDX-License-Identifier: Apache-2.0
//! The maintenance of one Shoot over a stretch of time: the functions of [`crate::maintenance`], window after window.
//!
//! [`course`] walks from run to run. Its assumptions: every reconciliation succeeds before the next window, and only
//! maintenance and hibernation schedules change the Shoot; nodes of a pool with manual in-place updates are therefore
//! never selected, and its pending updates stay pending. Runs lie at the instants that the maintenance controller
//! draws; a window that is open at the beginning counts with the instant it was drawn for. Rotations end at once, so
//! the next one may be reported for a window too early when its period ends within a window. Not in the object, and
//! so not known: the changes of a confined Shoot that the next run rolls out in addition to its own.
//!
//! Most windows change nothing, and those are skipped: after a run that found nothing to do, the next run that can
//! find something follows the expiration of a version that the Shoot itself uses, credentials that are due to be
//! rotated, or a change of the offer; after a run that failed or was refused, it follows any expiration. A run that
//! changed something is followed by the very next one.
//!
//! **Tour.** [`settled`] the Shoot between two runs; [`refusal`] refusals of the result by the API server; [`choice`]
//! reasons for and against each version.

pub mod choice;
pub mod refusal;
mod settled;
#[cfg(test)]
mod tests;

use api::constants::annotation;
use api::core::{CloudProfileSpec, Shoot};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};

use crate::maintenance::upcoming;
pub use crate::maintenance::upcoming::Draw;
use crate::maintenance::{self, Outcome, Plan, Restarters, reading};
use crate::rotation;
use crate::shoot_facts::is_hibernation_enabled;
use crate::validation::shoot::Gates;
use crate::versions::{Moment, State};
use crate::window::Span;
use crate::worker_pool::{self, Effect, PoolForms};

/// Versions that a CloudProfile offers to a Shoot over time.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The name by which the Shoot refers to it.
    pub name: String,
    /// Offer before the first change.
    pub first: CloudProfileSpec,
    /// Offers and the instants from which they hold, in the order of time.
    pub changes: Vec<(DateTime<Utc>, CloudProfileSpec)>,
}

impl Offer {
    /// Returns the offer at an instant.
    pub fn at(&self, now: DateTime<Utc>) -> &CloudProfileSpec {
        self.changes.iter().rev().find(|(from, _)| *from <= now).map_or(&self.first, |(_, spec)| spec)
    }

    /// Returns the first instant after another at which the offer changes.
    fn next_change(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.changes.iter().map(|(from, _)| *from).find(|from| *from > after)
    }
}

/// Period of the forecast, and properties of the landscape.
pub struct Settings<'a> {
    /// Start of the period.
    pub from: DateTime<Utc>,
    /// End of the period; a run at this instant still counts.
    pub until: DateTime<Utc>,
    /// The landscape's randomness.
    pub draw: &'a Draw<'a>,
    /// Feature gates of gardener-apiserver.
    pub gates: Gates,
    /// Feature gate `DisableNginxIngressInShoot` of gardener-controller-manager: maintenance turns the addon off.
    pub disables_nginx_ingress: bool,
    /// Computes the form of the hashes of a Shoot's pools.
    pub forms: &'a dyn Fn(&Shoot) -> PoolForms,
}

impl Settings<'_> {
    /// Returns an instant with the rules of the landscape's release.
    const fn at(&self, now: DateTime<Utc>) -> Moment {
        Moment::new(now, self.gates.release)
    }
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("from", &self.from).field("until", &self.until).finish_non_exhaustive()
    }
}

/// Subject of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A Kubernetes version, of the control plane or of a pool.
    Kubernetes,
    /// The machine image version of a pool.
    MachineImage,
    /// A field that a new version forbids.
    Migration,
    /// An operation that waited for maintenance.
    Operation,
    /// A run whose result the API server refuses as a whole.
    Blocked,
    /// The nodes of a pool whose hash has a form that the release does not have: its first reconciliation replaces them.
    HashForm,
}

impl Subject {
    /// All subjects.
    pub const ALL: [Self; 6] =
        [Self::Kubernetes, Self::MachineImage, Self::Migration, Self::Operation, Self::Blocked, Self::HashForm];

    /// Name of the subject for scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::MachineImage => "machineImage",
            Self::Migration => "migration",
            Self::Operation => "operation",
            Self::Blocked => "blocked",
            Self::HashForm => "hashForm",
        }
    }
}

/// Change or failed change by one run of maintenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Landscape time at which maintenance makes the change.
    pub time: DateTime<Utc>,
    /// The effective window of the run.
    pub window: Span,
    /// Subject of the change.
    pub subject: Subject,
    /// The worker pool; `None` for the Shoot as a whole.
    pub pool: Option<String>,
    /// The value before.
    pub from: Option<String>,
    /// The value after; `None` if it failed.
    pub to: Option<String>,
    /// Reason; for a migration, the change of the spec.
    pub reason: String,
    /// Difference of the requirements documents, where they read otherwise than upstream's code.
    pub reading: Option<String>,
    /// True if the change happens regardless of the owner's configuration.
    pub is_forced: bool,
    /// True if the owner has disabled automatic updates of this kind.
    pub was_opted_out: bool,
    /// Effect on the nodes.
    pub effect: Effect,
    /// True if the Shoot is hibernated at that time, and has no nodes.
    pub is_hibernated: bool,
    /// Text of the failure; `None`: the change succeeds.
    pub failure: Option<String>,
}

/// Changes of a Shoot between two instants, and the state at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// All changes, in order. A failure that repeats itself day by day is reported once.
    pub changes: Vec<Change>,
    /// The Shoot at the end.
    pub last: Shoot,
    /// The first run after the end that can find something; None: no later run finds anything.
    next: Option<(DateTime<Utc>, Span)>,
    /// Changes of the last run, so that a repeated failure is reported once.
    told: Vec<Change>,
    /// Pools that the first reconciliation replaces, since the release does not have the form of their hash.
    ended: Vec<String>,
}

/// The first change of a Shoot after the end of its [`Course`].
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// No change at any later run, given today's offer and Shoot.
    Never,
    /// No change until this instant, the end of the computation ([`AHEAD`]).
    NotBefore(DateTime<Utc>),
    /// Next change, or the next failure if no later run changes anything.
    Change(Box<Change>),
}

/// Period after the end of a course in which its next change is searched.
pub const AHEAD: TimeDelta = TimeDelta::days(3653);

/// Returns the next time and window of a Shoot's maintenance after an instant, as the controller draws it.
pub fn next_run(shoot: &Shoot, after: DateTime<Utc>, draw: &Draw<'_>) -> (DateTime<Utc>, Span) {
    upcoming::run_at_or_after(shoot, after + TimeDelta::nanoseconds(1), draw)
}

/// Returns the changes that maintenance makes to a Shoot from one instant to another. The Shoot is defaulted.
///
/// A Shoot that is being deleted, or whose version does not parse, is not maintained.
pub fn course(shoot: &Shoot, offer: &Offer, settings: &Settings<'_>) -> Course {
    let mut course =
        Course { changes: Vec::new(), last: shoot.clone(), next: None, told: Vec::new(), ended: Vec::new() };
    if shoot.metadata.is_being_deleted() {
        return course;
    }
    let forms = (settings.forms)(shoot);
    let pools = shoot.spec.provider.workers.iter().map(|pool| &pool.name);
    course.ended = pools.filter(|pool| forms.ends(pool)).cloned().collect();
    settled::begin(&mut course.last, settings.from);
    settled::settle(&mut course.last, &[], settings.from);
    let first = upcoming::run_at_or_after(shoot, settings.from, settings.draw);
    let now = Span { earliest: settings.from, end: settings.from };
    course.next = Some(if maintenance::is_requested(shoot) { (settings.from, now) } else { first });
    while let Some((now, span)) = course.next.filter(|(now, _)| *now <= settings.until) {
        course.run(now, span, offer, settings);
    }
    course
}

impl Course {
    /// Returns the first change after the end: the first that succeeds, else the first new failure.
    pub fn next_change(&self, offer: &Offer, settings: &Settings<'_>) -> Next {
        let last = settings.until + AHEAD;
        let mut course = Self { changes: Vec::new(), ..self.clone() };
        while let Some((now, span)) = course.next {
            if now > last {
                let failure = course.changes.into_iter().next();
                return failure.map_or(Next::NotBefore(last), |failure| Next::Change(Box::new(failure)));
            }
            course.run(now, span, offer, settings);
            if let Some(change) = course.changes.iter().find(|change| change.failure.is_none()) {
                return Next::Change(Box::new(change.clone()));
            }
        }
        course.changes.into_iter().next().map_or(Next::Never, |failure| Next::Change(Box::new(failure)))
    }

    /// Carries out one run of maintenance and finds the next.
    fn run(&mut self, now: DateTime<Utc>, span: Span, offer: &Offer, settings: &Settings<'_>) {
        self.next = None;
        let offered = offer.at(now);
        settled::follow_schedules(&mut self.last, now, |switched, stored| {
            refusal::of(switched, stored, offered, settings.gates, settings.at(now)).is_none()
        });
        let ended = std::mem::take(&mut self.ended);
        let run = Run { now, span, before: &self.last, offered, settings };
        self.changes.extend(ended.iter().filter_map(|pool| run.ended(pool)));
        let Ok(mut plan) = maintenance::plan(&self.last, &offer.name, offered, settings.at(now)) else { return };
        if settings.disables_nginx_ingress {
            plan.disable_nginx_ingress();
        }
        let refused = plan
            .has_findings()
            .then(|| refusal::of(&plan.shoot, run.before, offered, settings.gates, settings.at(now)));
        let changes = match refused.flatten() {
            Some(message) => vec![run.blocked(&message)],
            None => run.changes(&plan),
        };
        let is_blocked = changes.iter().any(|change| change.subject == Subject::Blocked);
        let has_failed = changes.iter().any(|change| change.failure.is_some());
        let is_new =
            |change: &Change| change.failure.is_none() || !self.told.iter().any(|known| is_same(known, change));
        let moved = !is_blocked && changes.iter().any(|change| change.failure.is_none());
        self.changes.extend(changes.iter().filter(|change| is_new(change)).cloned());
        self.told = changes;
        if is_blocked {
            // The request for maintenance is dropped with the refusal.
            self.last.metadata.annotations.remove(annotation::OPERATION);
        } else {
            let by_hand = run.updated_by_hand(&plan);
            self.last = maintenance::apply(&self.last, &plan, Restarters::default());
            settled::settle(&mut self.last, &by_hand, now);
        }
        let next = if moved {
            Some(now + TimeDelta::nanoseconds(1))
        } else {
            next_cause(&self.last, offer, settings.at(now), has_failed)
        };
        self.next = next.map(|next| upcoming::run_at_or_after(&self.last, next, settings.draw));
    }
}

fn is_same(known: &Change, change: &Change) -> bool {
    (known.subject, &known.pool, &known.from, &known.failure)
        == (change.subject, &change.pool, &change.from, &change.failure)
}

/// Next instant at which a run can find something that the last one did not: another state of a version that is used, a version
/// that becomes a target, any other state if the last run failed.
fn next_cause(shoot: &Shoot, offer: &Offer, at: Moment, has_failed: bool) -> Option<DateTime<Utc>> {
    let offered = offer.at(at.now);
    let becomes_target = |state| matches!(state, State::Supported | State::Deprecated);
    let pools = &shoot.spec.provider.workers;
    let uses_version = |version: &str| {
        let own = pools.iter().filter_map(|pool| pool.kubernetes.as_ref()?.version.as_deref());
        std::iter::once(shoot.spec.kubernetes.version.as_str()).chain(own).any(|used| used == version)
    };
    let uses_image = |name: &str, version: &str| {
        pools.iter().filter_map(|pool| pool.machine.image.as_ref()).any(|image| {
            image.name.eq_ignore_ascii_case(name) && image.version.as_deref().unwrap_or_default() == version
        })
    };
    let kubernetes = offered.kubernetes.versions.iter().filter_map(|entry| {
        let matters = has_failed || uses_version(&entry.version);
        at.next_change_to(entry, |state| matters || becomes_target(state))
    });
    let images = offered.machine_images.iter().flat_map(|image| {
        image.versions.iter().filter_map(|entry| {
            let matters = has_failed || uses_image(&image.name, &entry.version);
            at.next_change_to(entry, |state| matters || becomes_target(state))
        })
    });
    let dates = kubernetes.chain(images);
    let rotation = maintenance::credentials::next_due(shoot, at.now);
    dates.chain(offer.next_change(at.now)).chain(rotation).min()
}

/// A run of maintenance, while its changes are collected.
struct Run<'a> {
    now: DateTime<Utc>,
    span: Span,
    before: &'a Shoot,
    offered: &'a CloudProfileSpec,
    settings: &'a Settings<'a>,
}

impl Run<'_> {
    const fn at(&self) -> Moment {
        self.settings.at(self.now)
    }

    fn change(&self, subject: Subject, reason: &str) -> Change {
        Change {
            time: self.now,
            window: self.span,
            subject,
            pool: None,
            from: None,
            to: None,
            reason: reason.to_owned(),
            reading: None,
            is_forced: false,
            was_opted_out: false,
            effect: Effect::None,
            is_hibernated: is_hibernation_enabled(&self.before.spec),
            failure: None,
        }
    }

    fn blocked(&self, message: &str) -> Change {
        Change {
            failure: Some(maintenance::report::refused_reason(message)),
            ..self.change(Subject::Blocked, maintenance::report::REFUSED)
        }
    }

    /// Replacement of the nodes of a pool whose hash has a form that the release does not have; `None` without nodes.
    fn ended(&self, pool: &str) -> Option<Change> {
        if is_hibernation_enabled(&self.before.spec) {
            return None;
        }
        let reason = worker_pool::ended_form(self.settings.gates.release);
        Some(Change {
            pool: Some(pool.to_owned()),
            is_forced: true,
            effect: Effect::Rolling,
            ..self.change(Subject::HashForm, &reason)
        })
    }

    fn of_outcome(
        &self,
        subject: Subject,
        pool: Option<&str>,
        from: &str,
        outcome: &Outcome,
        opted_out: bool,
    ) -> Change {
        Change {
            pool: pool.map(str::to_owned),
            from: Some(from.to_owned()),
            to: outcome.version().map(str::to_owned),
            is_forced: outcome.is_forced,
            was_opted_out: opted_out,
            failure: outcome.result.is_err().then(|| outcome.description.clone()),
            ..self.change(subject, &outcome.reason)
        }
    }

    /// Returns the changes of a run whose result is accepted: control plane, pools, their consequences.
    fn changes(&self, plan: &Plan) -> Vec<Change> {
        let auto_update =
            self.before.spec.maintenance.as_ref().and_then(|maintenance| maintenance.auto_update.as_ref());
        let no_kubernetes = !auto_update.is_some_and(|auto_update| auto_update.kubernetes_version);
        let no_images = auto_update.and_then(|auto_update| auto_update.machine_image_version) != Some(true);
        let mut changes = Vec::new();
        if let Some(outcome) = &plan.control_plane {
            let from = &self.before.spec.kubernetes.version;
            let mut change = self.of_outcome(Subject::Kubernetes, None, from, outcome, no_kubernetes);
            change.reading = reading::of_kubernetes(from, &self.offered.kubernetes.versions, outcome, self.at());
            if let Some(version) = outcome.version() {
                change.effect = self.effect(None, |shoot| version.clone_into(&mut shoot.spec.kubernetes.version));
            }
            changes.push(change);
        }
        let pools = &self.before.spec.provider.workers;
        for entry in &plan.pool_versions {
            let Some(index) = pools.iter().position(|pool| pool.name == entry.pool) else { continue };
            let own = pools[index].kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
            let from = own.unwrap_or_default();
            let mut change =
                self.of_outcome(Subject::Kubernetes, Some(&entry.pool), from, &entry.outcome, no_kubernetes);
            change.reading = reading::of_kubernetes(from, &self.offered.kubernetes.versions, &entry.outcome, self.at());
            if let Some(version) = entry.outcome.version() {
                change.effect = self.effect(Some(&entry.pool), |shoot| {
                    let own = shoot.spec.provider.workers[index].kubernetes.get_or_insert_default();
                    own.version = Some(version.to_owned());
                });
            }
            changes.push(change);
        }
        // A round of images that was broken off is not reported, but its changes stay.
        for (index, pool) in pools.iter().enumerate() {
            let version = |shoot: &Shoot| {
                let image = shoot.spec.provider.workers.get(index).and_then(|pool| pool.machine.image.as_ref());
                image.and_then(|image| image.version.clone())
            };
            let (before, after) = (version(self.before), version(&plan.shoot));
            let from = before.clone().unwrap_or_default();
            let told = plan.pool_images.iter().find(|entry| entry.pool == pool.name);
            let mut change = match told {
                Some(entry) => {
                    let control_plane = &self.before.spec.kubernetes.version;
                    let reading =
                        reading::of_machine_image(pool, control_plane, self.offered, &entry.outcome, self.at());
                    let change =
                        self.of_outcome(Subject::MachineImage, Some(&pool.name), &from, &entry.outcome, no_images);
                    Change { reading, ..change }
                }
                None if before == after => continue,
                None => {
                    let control_plane = &self.before.spec.kubernetes.version;
                    let outcome =
                        maintenance::machine_image_update(pool, control_plane, "", self.offered, !no_images, self.at());
                    let Ok(Some(outcome)) = outcome else { continue };
                    self.of_outcome(Subject::MachineImage, Some(&pool.name), &from, &outcome, no_images)
                }
            };
            if change.failure.is_none() {
                change.effect = self.effect(Some(&pool.name), |shoot| {
                    shoot.spec.provider.workers[index].machine.image.get_or_insert_default().version.clone_from(&after);
                });
            }
            changes.push(change);
        }
        let operation = maintenance::operation::take_over(&mut self.before.clone(), &plan.rotations);
        let (operations, migrations): (Vec<&String>, Vec<&String>) =
            plan.operations.iter().partition(|text| operation.is_some() && text.starts_with("Added \""));
        for text in migrations {
            let effect = self.effect(None, |shoot| {
                // A migration changes no version; only the fields between which it moves values are left to compare.
                shoot.spec.clone_from(&plan.shoot.spec);
                shoot.spec.kubernetes.version.clone_from(&self.before.spec.kubernetes.version);
                for (pool, before) in shoot.spec.provider.workers.iter_mut().zip(pools) {
                    pool.machine.clone_from(&before.machine);
                    let own = before.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.clone());
                    if let Some(kubernetes) = &mut pool.kubernetes {
                        kubernetes.version = own;
                    }
                }
            });
            changes.push(Change { is_forced: true, effect, ..self.change(Subject::Migration, text) });
        }
        for rotation in plan.rotations.iter().filter(|rotation| !rotation.is_started) {
            let failure = Some(rotation.description.to_owned());
            changes.push(Change { failure, ..self.change(Subject::Operation, rotation.reason) });
        }
        for text in operations {
            let effect = operation.as_deref().map_or(Effect::None, |operation| self.effect_of_operation(operation));
            changes.push(Change { to: operation.clone(), effect, ..self.change(Subject::Operation, text) });
        }
        changes
    }

    /// Returns the pools whose nodes wait for a selection by the user after this run.
    fn updated_by_hand(&self, plan: &Plan) -> Vec<String> {
        if is_hibernation_enabled(&self.before.spec) {
            return Vec::new();
        }
        let mut after = plan.shoot.clone();
        if let Some(operation) = after.metadata.annotation(annotation::OPERATION).map(str::to_owned) {
            self.begin(&mut after, &operation);
        }
        let effects = worker_pool::effects(self.before, &after, &(self.settings.forms)(self.before));
        let by_hand = effects.into_iter().filter(|(_, effect)| effect.effect == Effect::ManualInPlace);
        by_hand.map(|(pool, _)| pool).collect()
    }

    /// Returns the effect of a single change on a pool; `pool` `None`: the greatest effect on any pool.
    fn effect(&self, pool: Option<&str>, change: impl FnOnce(&mut Shoot)) -> Effect {
        // Without nodes nothing is rolled: new nodes have the new state when the Shoot wakes up.
        if is_hibernation_enabled(&self.before.spec) {
            return Effect::None;
        }
        let mut changed = self.before.clone();
        change(&mut changed);
        let effects = worker_pool::effects(self.before, &changed, &(self.settings.forms)(self.before));
        let concerned = effects.iter().filter(|(name, _)| pool.is_none_or(|pool| *name == pool));
        concerned.map(|(_, effect)| effect.effect).max().unwrap_or_default()
    }

    /// Returns the greatest effect of an operation on any pool: a new certificate authority or a new key rolls nodes.
    fn effect_of_operation(&self, operation: &str) -> Effect {
        self.effect(None, |shoot| self.begin(shoot, operation))
    }

    /// Sets the status as gardenlet does when it begins an operation.
    fn begin(&self, shoot: &mut Shoot, operation: &str) {
        rotation::begin(&mut shoot.status, &shoot.spec, operation, Time::from_instant(self.now));
    }
}
