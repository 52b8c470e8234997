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

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::profile::Profile;
use domain::skew::notes::{self, Noted};
use domain::skew::releases::unknown_release;
use domain::skew::start_up::violation_text;
use domain::skew::{Component, GardenerVersion, Instance, Landscape, violations};
use domain::upgrade::{self, NoPlan, Plan, Step};
use serde_json::{Map, Value, json};

use self::fleet::Fleet;
use self::minors::Minor;
use crate::Error;

/// Returns the target with a patch version.
pub fn target(to: &GardenerVersion, fleet: &Fleet) -> GardenerVersion {
    let (major, minor, patch) = to.full();
    let says_patch = to.to_string().split(['-', '+', '~']).next().is_some_and(|text| text.split('.').count() == 3);
    if says_patch {
        return to.clone();
    }
    fleet.highest_of((major, minor)).unwrap_or_else(|| GardenerVersion::release(major, minor, patch))
}

/// Computes the legal order.
///
/// # Errors
/// There is no legal order, or an instance is newer than the target.
pub fn order(fleet: &Fleet, target: &GardenerVersion, profile: Profile) -> Result<Plan, Error> {
    upgrade::plan(&fleet.landscape, target, profile).map_err(|error| match error {
        NoPlan::Stuck { .. } => Error::Failed(error.to_string()),
        NoPlan::AboveTarget { .. } => {
            Error::input(error.to_string(), "give a version with --to that no component is above")
        }
        _ => Error::input(error.to_string(), ""),
    })
}

/// A legal order with all notes about it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Target version, with a patch.
    pub target: GardenerVersion,
    /// Steps of the order.
    pub plan: Plan,
    /// Rules that the landscape violates before the first step: `RULE: text`.
    pub violated: Vec<String>,
    /// Rules that the landscape violates after the last step: `no step resolves RULE: text`.
    pub left: Vec<String>,
    /// Notes to read before the upgrade.
    pub notes: Vec<Noted>,
    /// Note on a target that is newer than every known release.
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
        let plan = order(fleet, &target, profile)?;
        let violated = |landscape: &Landscape| -> Vec<String> {
            let text = |violation: &_| violation_text(landscape, violation, profile);
            violations(landscape, profile).iter().map(|found| format!("{}: {}", found.rule, text(found))).collect()
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
        Ok(Self {
            violated: violated(&fleet.landscape),
            left: violated(&end).iter().map(|found| format!("no step resolves {found}")).collect(),
            notes: noted,
            unknown_release: unknown_release(&target),
            minors: with_minors.then(|| minors::on_the_way(fleet, &target)),
            target,
            plan,
        })
    }

    /// Formats the plan as JSON for scripts and `upgrade check`.
    pub fn object(&self, fleet: &Fleet) -> Value {
        let notes = self.notes.iter().map(ToString::to_string);
        let mut object = json!({
            "start": start(fleet),
            "steps": self.plan.steps.iter().map(|step| of_step(step, fleet)).collect::<Vec<Value>>(),
            "stepsBack": self.plan.steps_back,
            "notes": self.unknown_release.iter().chain(&self.left).cloned().chain(notes).collect::<Vec<String>>(),
        });
        if let Some(minors) = &self.minors {
            object["minors"] = minors.iter().map(minors::object).collect();
        }
        object
    }
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
