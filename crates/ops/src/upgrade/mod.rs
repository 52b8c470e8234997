// SPDX-License-Identifier: Apache-2.0
//! The legal upgrade order to another version of Gardener, and the check of a given order.
//!
//! **Tour.** [`fleet`] versions of a landscape's components, [`components`] progress of their Deployments, [`silence`] of
//! gardener-apiserver; [`skew`] compatibility of versions that run at the same time; [`minors`] changes of each minor, and
//! the affected objects.

pub mod components;
pub mod fleet;
pub mod minors;
pub mod silence;
pub mod skew;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::skew::notes::{self, Noted};
use domain::skew::releases::unknown_newer_release;
use domain::skew::start_up::{stays_refused, violation_text};
use domain::skew::{Component, GardenerVersion, Instance, Landscape, Rule, violations};
use domain::upgrade::{self, NoPlan, Plan, Step};
use serde_json::{Map, Value, json};

use self::components::Crash;
use self::components::gardenlets::Pin;
use self::fleet::Fleet;
use self::minors::Minor;
use crate::Error;

/// Returns the target with a patch version: one without has the highest of its minor in the fleet, else `.0`.
pub fn target(to: &GardenerVersion, fleet: &Fleet) -> GardenerVersion {
    let highest = || fleet.highest_of(to.minor()).unwrap_or_else(|| to.clone());
    let target = if to.has_patch() { to.clone() } else { highest() };
    target.completed()
}

/// A legal order, with the processes that do not start.
#[derive(Clone, Debug)]
pub struct Order {
    /// The fleet before the first step: its running instances, then those that do not start and have steps.
    pub fleet: Fleet,
    /// Steps of the order; their indices are those of `fleet`.
    pub plan: Plan,
    /// Processes that do not start before the upgrade, and may start with its steps.
    pub resolved: Vec<Crash>,
    /// Processes that do not start, and that no step of the order changes or allows to start.
    pub not_started: Vec<Crash>,
}

impl Order {
    /// Components that do not run and are not part of the order, with the reason.
    pub fn left_out(&self) -> Vec<String> {
        let others = self.fleet.absent.iter().chain(&self.fleet.pending).cloned();
        others.chain(self.not_started.iter().map(ToString::to_string)).collect()
    }
}

/// Computes the legal order.
///
/// A component that does not start, and of which no instance runs, is counted with the version of its Deployment, as long
/// as each of its steps leads to a version that starts among the instances that run by then.
///
/// # Errors
/// There is no legal order, or an instance is newer than the target.
pub fn order(fleet: &Fleet, target: &GardenerVersion, profile: Profile) -> Result<Order, Error> {
    let running = fleet.landscape.instances.len();
    let mut counted = countable(fleet, target);
    loop {
        let mut whole = fleet.clone();
        whole.landscape.instances.extend(counted.iter().cloned());
        let plan = match upgrade::plan(&whole.landscape, target, profile) {
            Ok(plan) => plan,
            // The running instances alone may have an order.
            Err(_) if !counted.is_empty() => {
                counted.clear();
                continue;
            }
            Err(error) => return Err(refused(&error)),
        };
        let stuck = stuck(&whole.landscape, running, &plan, profile);
        if !stuck.is_empty() {
            let all = counted.into_iter().enumerate();
            counted = all.filter(|(nth, _)| !stuck.contains(&(running + nth))).map(|(_, own)| own).collect();
            continue;
        }
        let end = after(&whole.landscape, &plan);
        let (resolved, not_started) =
            fleet.crashes.iter().cloned().partition(|crash| is_resolved(crash, running, &end, &plan, profile));
        return Ok(Order { fleet: whole, plan, resolved, not_started });
    }
}

fn refused(error: &NoPlan) -> Error {
    match error {
        NoPlan::Stuck { .. } => Error::Failed(error.to_string()),
        NoPlan::AboveTarget { .. } => {
            Error::input(error.to_string(), "give a version with --to that no component is above")
        }
        _ => Error::input(error.to_string(), ""),
    }
}

/// True if two instances are those of one component, seed or extension.
fn is_alike(one: &Instance, other: &Instance) -> bool {
    (one.component, &one.owner) == (other.component, &other.owner)
}

/// Instances that do not start, and that steps may lead to the target.
fn countable(fleet: &Fleet, target: &GardenerVersion) -> Vec<Instance> {
    let runs = |own: &Instance| fleet.landscape.instances.iter().any(|one| is_alike(one, own));
    let is_below = |own: &Instance| {
        GardenerVersion::parse(&own.version)
            .is_some_and(|version| version.minor().0 == target.minor().0 && version <= *target)
    };
    fleet.crashes.iter().filter_map(Crash::origin).filter(|own| !runs(own) && is_below(own)).collect()
}

/// Indices, from `running` on, of the instances that do not start in the version of a step either.
fn stuck(landscape: &Landscape, running: usize, plan: &Plan, profile: Profile) -> BTreeSet<usize> {
    let mut instances = landscape.instances.clone();
    let (mut started, mut stuck) = (BTreeSet::new(), BTreeSet::new());
    for step in &plan.steps {
        instances[step.index].version = step.to.to_string();
        if step.index < running {
            continue;
        }
        let is_up = |index: usize| index != step.index && (index < running || started.contains(&index));
        let others = instances.iter().enumerate().filter(|(index, _)| is_up(*index)).map(|(_, one)| one.clone());
        let others = Landscape { instances: others.collect(), ..Landscape::default() };
        // The steps of a plan respect recorded versions: only the rules about running instances are left.
        if stays_refused(&others, &instances[step.index], Rule::C2, profile) {
            stuck.insert(step.index);
        } else {
            started.insert(step.index);
        }
    }
    stuck
}

/// True if a process that does not start gets another version by a step, or is no longer refused after all steps.
/// `running`: number of instances that run before the first step.
fn is_resolved(crash: &Crash, running: usize, end: &Landscape, plan: &Plan, profile: Profile) -> bool {
    let Some(own) = crash.instance() else { return false };
    if plan.steps.iter().any(|step| (step.component, &step.owner) == (own.component, &own.owner)) {
        return true;
    }
    let Some(rule) = crash.rule else { return false };
    let others = end.instances.iter().enumerate().filter(|(index, one)| *index < running || !is_alike(one, &own));
    let others = Landscape { instances: others.map(|(_, one)| one.clone()).collect(), ..Landscape::default() };
    !stays_refused(&others, &own, rule, profile)
}

/// A legal order with all notes about it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Target version, with a patch.
    pub target: GardenerVersion,
    /// Fleet before the first step, [`Order::fleet`].
    pub fleet: Fleet,
    /// Steps of the order.
    pub plan: Plan,
    /// Rules that the landscape violates before the first step: `RULE: text`.
    pub violated: Vec<String>,
    /// Rules that the landscape violates after the last step: `no step resolves RULE: text`.
    pub left: Vec<String>,
    /// Processes that do not start before the upgrade, and may start with its steps.
    pub resolved: Vec<Crash>,
    /// Processes that do not start, and that no step changes or allows to start.
    pub not_started: Vec<Crash>,
    /// Components that do not run and are not part of the plan, with the reason.
    pub left_out: Vec<String>,
    /// For each Gardenlet with a pinned version: the first step to another version, which cannot be executed.
    pub pinned: Vec<String>,
    /// Notes to read before the upgrade.
    pub notes: Vec<Noted>,
    /// Note on a target that is newer than every known release, or an unknown patch of one.
    pub unknown_release: Option<String>,
    /// Changes by minor on the way; `None` if they were not requested.
    pub minors: Option<Vec<Minor>>,
}

impl Planned {
    /// Computes the legal order for a landscape; a target `to` without a patch is the highest existing one of its minor,
    /// otherwise .0.
    ///
    /// # Errors
    /// A version of the landscape is invalid, there is no legal order, or an instance is newer than the target.
    pub fn of(
        fleet: &Fleet,
        to: &GardenerVersion,
        with_minors: bool,
        profile: Profile,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        fleet.parsable()?;
        let target = target(to, fleet);
        let order = order(fleet, &target, profile)?;
        let left_out = order.left_out();
        let Order { fleet, plan, resolved, not_started } = order;
        let violated = |landscape: &Landscape| -> Vec<String> {
            let text = |violation: &_| violation_text(landscape, violation, profile);
            let found = violations(landscape, profile);
            let mut texts: Vec<String> = found.iter().map(|found| format!("{}: {}", found.rule, text(found))).collect();
            // Instances of one component may violate a rule alike.
            fleet::distinct(&mut texts);
            texts
        };
        let end = after(&fleet.landscape, &plan);
        let is_operator = |one: &&Instance| one.component == Component::Operator;
        let operators: Vec<Instance> = fleet.landscape.instances.iter().filter(is_operator).cloned().collect();
        let mut noted: Vec<Noted> = Vec::new();
        noted.extend(notes::shoots_not_reconciled(&fleet.landscape, &fleet.shoots));
        noted.extend(notes::lock_step(&operators, &fleet.gardenlets_of_runtime));
        noted.extend(notes::kubernetes_dropped(&target, &fleet.all_clusters()));
        noted.extend(notes::gates_gone(&target, &fleet.gates));
        noted.extend(notes::laggards(&end, &target, profile));
        noted.extend(notes::out_of_maintenance(&end, now));
        noted.extend(notes::first_hash_forms(&fleet.landscape, &target, &fleet.first_hash_forms));
        let minors = with_minors.then(|| minors::on_the_way(&fleet, &target));
        Ok(Self {
            violated: violated(&fleet.landscape),
            left: violated(&end).iter().map(|found| format!("no step resolves {found}")).collect(),
            pinned: pinned(&fleet, &plan),
            notes: noted,
            unknown_release: unknown_newer_release(&target),
            fleet,
            resolved,
            not_started,
            left_out,
            minors,
            target,
            plan,
        })
    }

    /// Formats the plan as JSON for scripts and `upgrade check`.
    pub fn object(&self) -> Value {
        let fleet = &self.fleet;
        let texts = self.unknown_release.iter().chain(&self.left).chain(&self.pinned).cloned();
        let notes = texts.chain(self.notes.iter().map(ToString::to_string));
        let mut object = json!({
            "start": start(fleet),
            "steps": self.plan.steps.iter().map(|step| of_step(step, fleet)).collect::<Vec<Value>>(),
            "stepsBack": self.plan.steps_back,
            "notes": notes.collect::<Vec<String>>(),
        });
        // Files have no processes.
        if fleet.name.is_some() {
            object["absent"] = json!(fleet.absent);
            object["pending"] = json!(fleet.pending);
            object["notStarted"] = self.not_started.iter().map(Crash::object).collect();
        }
        if let Some(minors) = &self.minors {
            object["minors"] = minors.iter().map(minors::object).collect();
        }
        object
    }
}

/// Returns the first step of each gardenlet that its Gardenlet does not allow, with the reason.
fn pinned(fleet: &Fleet, plan: &Plan) -> Vec<String> {
    let pins: BTreeMap<&str, &Pin> = fleet.pins.iter().map(|pin| (pin.name.as_str(), pin)).collect();
    let mut known = BTreeSet::new();
    let steps = plan.steps.iter().filter(|step| step.component == Component::Gardenlet);
    let found = steps.filter_map(|step| {
        let why = pins.get(step.owner.as_str())?.obstacle(&step.to)?;
        let (name, Step { from, to, .. }) = (upgrade::shown(step.component, &step.owner), step);
        known.insert(&step.owner).then(|| format!("{name} v{from} -> v{to}: {why}"))
    });
    found.collect()
}

/// Returns the landscape after all steps.
fn after(landscape: &Landscape, plan: &Plan) -> Landscape {
    let mut end = landscape.clone();
    for step in &plan.steps {
        end.instances[step.index].version = step.to.to_string();
    }
    end
}

/// Formats a landscape as LANDSCAPE.yaml.
fn start(fleet: &Fleet) -> Value {
    let mut components: BTreeMap<Component, Value> = BTreeMap::new();
    for instance in &fleet.landscape.instances {
        let version = json!(instance.version);
        let owned = matches!(instance.component, Component::Gardenlet | Component::Extension);
        let entry = components.entry(instance.component).or_insert_with(|| if owned { json!({}) } else { json!([]) });
        let list = if owned { &mut entry[&instance.owner] } else { entry };
        match list {
            Value::Array(versions) => versions.push(version),
            // A seed with several gardenlets has a list of versions.
            Value::String(first) => *list = json!([first, version]),
            _ => *list = version,
        }
    }
    let keyed = components.into_iter().map(|(component, versions)| (fleet::key(component).to_owned(), versions));
    let mut tree: Map<String, Value> = keyed.collect();
    if let Some(garden) = &fleet.landscape.garden {
        tree.insert("garden".to_owned(), json!(garden));
    }
    Value::Object(tree)
}

/// Formats the conditions of a step as text.
pub fn shown(step: &Step, fleet: &Fleet) -> Vec<String> {
    step.waits_for.iter().map(|wait| wait.shown(fleet.name.as_deref())).collect()
}

fn of_step(step: &Step, fleet: &Fleet) -> Value {
    let mut object = json!({ "component": step.component.name() });
    if let Some(instance) = fleet.name_of(step.index) {
        object["instance"] = json!(instance);
    }
    object["from"] = json!(step.from.to_string());
    object["to"] = json!(step.to.to_string());
    object["waitFor"] = json!(shown(step, fleet));
    object
}

/// First illegal step of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// Index of the step, counted from 0.
    pub index: usize,
    /// Rules that it violates, each with its message; at least one.
    pub found: Vec<(String, String)>,
}

impl Illegal {
    /// Finds the first illegal step of an order; `None`: all are legal.
    pub fn of(plan: &fleet::plan::Plan, profile: Profile) -> Option<Self> {
        let illegal = upgrade::check(&plan.start.landscape, &plan.steps, profile).err()?;
        let text = |violation| violation_text(&illegal.before, violation, profile);
        let found =
            illegal.refusal.violations.iter().map(|violation| (violation.rule.to_string(), text(violation))).collect();
        Some(Self { index: illegal.index, found })
    }
}

/// Notes on the landscape after all steps of an order.
pub fn notes_after(plan: &fleet::plan::Plan, profile: Profile) -> Vec<Noted> {
    let end = Landscape { instances: plan.end.clone(), ..Landscape::default() };
    let apiservers = end.instances.iter().filter(|one| one.component == Component::Apiserver);
    let newest = apiservers.filter_map(|one| GardenerVersion::parse(&one.version)).max();
    newest.map(|newest| notes::laggards(&end, &newest, profile)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crash(component: &str, version: &str, rule: Option<Rule>, line: &str) -> Crash {
        Crash {
            component: component.to_owned(),
            cluster: "runtime".to_owned(),
            version: version.to_owned(),
            rule,
            exit_code: if rule.is_some() { 3 } else { 1 },
            line: line.to_owned(),
            restarts: 4,
        }
    }

    #[test]
    fn a_target_gets_the_patch_that_it_lacks() {
        for (running, to, expected) in [
            ("v1.150", "v1.150", "1.150.0"),
            ("v1.150", "v1.151", "1.151.0"),
            ("v1.149.2", "v1.149", "1.149.2"),
            ("v1.149.2", "v1.149.0", "1.149.0"),
            ("v1.149.2", "v1.999-dev", "1.999.0-dev"),
        ] {
            let mut fleet = Fleet::default();
            fleet.landscape.instances = vec![Instance::new(Component::Apiserver, running)];
            let to = GardenerVersion::parse(to).expect("a version");
            assert_eq!(target(&to, &fleet).to_string(), expected, "{running} {to}");
        }
    }

    /// Pinned image tag, target; the step that is not executed.
    #[test]
    fn a_plan_names_the_first_step_that_a_pin_does_not_allow() {
        let instances = [
            Instance::new(Component::Apiserver, "v1.120.0"),
            Instance::owned(Component::Gardenlet, "a", "v1.120.0"),
            Instance::owned(Component::Gardenlet, "b", "v1.120.0"),
        ];
        for (tag, to, expected) in [
            ("v1.120.0", "1.122", Some("v1.120.0 -> v1.121.0")),
            ("v1.121.0", "1.122", Some("v1.121.0 -> v1.122.0")),
            ("v1.122.0", "1.122", Some("v1.120.0 -> v1.121.0")),
            ("latest", "1.121", Some("v1.120.0 -> v1.121.0")),
            ("v1.121.0", "1.121", None),
            ("v1.119.0", "1.120", None),
        ] {
            let mut fleet = Fleet::default();
            fleet.landscape.instances = instances.to_vec();
            fleet.pins = vec![Pin { name: "a".to_owned(), tag: tag.to_owned() }];
            let to = GardenerVersion::parse(to).expect("a version");
            let now = "2025-07-01T00:00:00Z".parse().expect("an instant");
            let planned = Planned::of(&fleet, &to, false, Profile::Documents, now).expect("an order");
            let expected = expected.map(|step| {
                let pin = format!("Gardenlet garden/a pins spec.deployment.image.tag to {tag}, whatever its chart is");
                format!("gardenlet of seed a {step}: {pin}")
            });
            let expected: Vec<String> = expected.into_iter().collect();
            assert_eq!(planned.pinned, expected, "{tag} {to}");
            let notes = planned.object()["notes"].to_string();
            assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
        }
    }

    /// Versions of gardener-apiserver, scheduler and a gardenlet that run (`-`: none), the process that does not start,
    /// target; its steps, and true if it is left out.
    #[test]
    fn components_that_do_not_start_have_steps_or_are_left_out() {
        let (scheduler, apiserver) = ("gardener-scheduler", "gardener-apiserver");
        let of =
            |rule: Rule, against: &str| format!("Error: no [rule={rule}, component=c, version=v, against={against}]");
        let (c1, c2) = ((Some(Rule::C1), of(Rule::C1, "1.121.0")), (Some(Rule::C2), of(Rule::C2, "1.122.0")));
        let (t1, t2) = ((Some(Rule::T1), of(Rule::T1, "1.120.0")), (Some(Rule::T2), of(Rule::T2, "1.120.0")));
        let failed = (None, "error: unknown field".to_owned());
        for ((servers, schedulers, lets), (name, version, (rule, line)), to, expected, is_out) in [
            // One minor too old: it starts in the next one.
            (("1.122.0", "-", "1.122.0"), (scheduler, "v1.120.0", c2.clone()), "1.122", "1.121.0 1.122.0", false),
            // Two minors too old: it starts in no version that it may step to.
            (("1.122.0", "-", "1.122.0"), (scheduler, "v1.119.0", c2.clone()), "1.122", "", true),
            // The older instance runs, and is replaced by a step.
            (("1.121.0", "1.121.0", "1.121.0"), (scheduler, "v1.122.0", c1.clone()), "1.122", "1.122.0", false),
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.122.0", c1.clone()), "1.122", "", false),
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.122.0", c1), "1.121", "", true),
            // The cause has ended: the next restart does not fail.
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.121.0", c2), "1.121", "", false),
            // Recorded versions: steps begin there.
            (("-", "-", "1.120.0"), (apiserver, "v1.122.0", t2), "1.122", "1.121.0 1.122.0", false),
            (("1.120.0", "1.120.0", "1.120.0"), (scheduler, "v1.118.0", t1.clone()), "1.120", "", true),
            (("1.120.0", "-", "1.120.0"), (scheduler, "v1.118.0", t1), "1.121", "1.121.0", false),
            // No rule: the next version may start, the same one does not.
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.121.0", failed.clone()), "1.122", "1.122.0", false),
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.121.0", failed.clone()), "1.121", "", true),
            (("1.121.0", "-", "1.121.0"), (scheduler, "v1.122.0", failed), "1.121", "", true),
        ] {
            let running = [
                (Component::Apiserver, "", servers),
                (Component::Scheduler, "", schedulers),
                (Component::Gardenlet, "a", lets),
            ];
            let running = running.into_iter().filter(|(_, _, version)| *version != "-");
            let instances =
                running.map(|(component, owner, version)| Instance::owned(component, owner, version)).collect();
            let mut fleet = Fleet::default();
            fleet.landscape.instances = instances;
            fleet.crashes = vec![crash(name, version, rule, &line)];
            let to = GardenerVersion::parse(to).expect("a version");
            let order = order(&fleet, &target(&to, &fleet), Profile::Documents).expect("an order");
            let own = order.plan.steps.iter().filter(|step| step.component.name() == name);
            let steps: Vec<String> = own.map(|step| step.to.to_string()).collect();
            let case = format!("{servers} {schedulers} {lets}, {name} {version} {rule:?} to {to}");
            assert_eq!(steps.join(" "), expected, "{case}");
            assert_eq!(
                (order.left_out().len(), order.resolved.len()),
                (usize::from(is_out), usize::from(!is_out)),
                "{case}"
            );
        }
    }
}
