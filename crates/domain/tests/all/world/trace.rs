// SPDX-License-Identifier: Apache-2.0
//! Traces of roll-outs: replays a vector in the simulated world, state by state.

use apimachinery::meta::TextMap;
use std::collections::BTreeMap;
use std::fmt::Display;

use api::core::{Shoot, Worker};
use apimachinery::meta::IntOrString;
use chrono::TimeDelta;
use domain::rollout::deployment::Strategy;
use domain::rollout::machine::Settings;
use domain::rollout::node::{max_delay_seconds, reconciliation_delay};
use domain::rollout::{Limits, Parameter};
use domain::worker_pool::HashInputs;
use serde_json::{Value, json};

use super::{Counts, World, WorldFault, WorldFaultKind};

fn limit(value: &Value) -> IntOrString {
    match value.as_str() {
        Some(text) => IntOrString::String(text.to_owned()),
        None => IntOrString::Int(number(value)),
    }
}

fn number(value: &Value) -> i32 {
    i32::try_from(value.as_i64().expect("a number")).expect("a small number")
}

/// Fields of a pool whose change creates new MachineClasses.
const CLASS_FIELDS: [&str; 9] = [
    "machine.type",
    "machine.image",
    "machine.image.name",
    "machine.image.version",
    "volume",
    "volume.size",
    "volume.type",
    "cri.name",
    "providerConfig",
];
const HIBERNATION: &str = "hibernation.enabled";
const KUBERNETES_VERSION: &str = "kubernetes.version";

/// Returns the part of a trace for which the product has no function yet; `None` for a trace that can be replayed.
pub(crate) fn missing(vector: &Value) -> Option<&'static str> {
    let change = &vector["change"];
    if change["set"].is_null() && !change["fault"].is_null() {
        return None;
    }
    let set = change["set"].as_str().unwrap_or_default().split('=').next().unwrap_or_default();
    if set != KUBERNETES_VERSION && set != HIBERNATION && !CLASS_FIELDS.contains(&set) {
        return Some("a change of this field");
    }
    let mut actions = vector["actions"].as_array().into_iter().flatten();
    actions.find_map(|action| {
        let path = action["path"].as_str().unwrap_or_default();
        match action["do"].as_str().unwrap_or_default() {
            "scaleMachineDeployment" => None,
            "set" | "annotateAndSet" if path == HIBERNATION || CLASS_FIELDS.contains(&path) => None,
            "labelNode" => None,
            _ => Some("a change of this field"),
        }
    })
}

/// Replays a trace; the error is the difference to the recorded states.
pub(crate) fn play(vector: &Value) -> Result<(), String> {
    let timing = &vector["timing"];
    let seconds = |key: &str| timing[key].as_i64().expect("timing is in seconds");
    let mut world = World::new(seconds("join"), seconds("drain"), seconds("delete"));
    for (name, md) in vector["initial"]["mds"].as_object().expect("traces name MachineDeployments") {
        let limits = Limits { max_surge: limit(&md["maxSurge"]), max_unavailable: limit(&md["maxUnavailable"]) };
        let strategy = match md["strategy"].as_str() {
            Some("InPlaceUpdate") => Strategy::InPlace { limits, manual: md["orchestration"] == "Manual" },
            _ => Strategy::Rolling(limits),
        };
        world.add_with(name, number(&md["replicas"]), strategy);
        if !md["minimum"].is_null() {
            world.set_bounds(name, number(&md["minimum"]), number(&md["maximum"]));
        }
    }
    let optional = |key: &str, default: TimeDelta| timing[key].as_i64().map_or(default, TimeDelta::seconds);
    let usual = Settings::default();
    world.settings = Settings {
        creation_timeout: optional("creationTimeout", usual.creation_timeout),
        health_timeout: optional("healthTimeout", usual.health_timeout),
        drain_timeout: optional("drainTimeout", usual.drain_timeout),
        max_evict_retries: timing["maxEvictRetries"]
            .as_i64()
            .map_or(usual.max_evict_retries, |_| number(&timing["maxEvictRetries"])),
        in_place_update_timeout: optional("inPlaceUpdateTimeout", usual.in_place_update_timeout),
        ..usual
    };
    world.in_place = timing["inPlace"].as_i64().unwrap_or(world.in_place);
    world.faults = vector["faults"].as_array().into_iter().flatten().map(fault).collect::<Result<_, _>>()?;
    let mut kubelets = Kubelets::of(vector);
    let mut actions: Vec<(i64, Value)> = vec![(0, first_action(vector, kubelets.as_ref()))];
    for action in vector["actions"].as_array().into_iter().flatten() {
        actions.push((action["t"].as_i64().expect("actions have a time"), action.clone()));
    }
    let mut actions = actions.into_iter().peekable();
    let mut watcher = Watcher { names: world.machine_names(), ..Watcher::default() };
    let mut story: Vec<Value> = Vec::new();
    loop {
        while let Some((_, action)) = actions.next_if(|(at, _)| *at <= world.now) {
            match (action["do"].as_str(), action["path"].as_str()) {
                (Some("nothing"), _) => {}
                (Some("labelNode"), _) => {
                    let ordinals = action["machines"].as_array().into_iter().flatten();
                    world.select(&ordinals.filter_map(Value::as_i64).collect::<Vec<_>>());
                }
                // A pool that is being updated is not changed; refusals of the API server are tested in vectors/validation.
                (Some("set"), _) if action["expect"].as_str().is_some_and(|text| text.starts_with("rejected")) => {}
                (Some("set"), Some(HIBERNATION)) => world.hibernate(action["value"] != false),
                (Some("set" | "annotateAndSet"), _) => world.change_template(),
                (Some("scaleMachineDeployment"), _) => world.scale(number(&action["replicas"])),
                (other, _) => return Err(format!("unknown action {other:?}")),
            }
        }
        let mut next = world.settle();
        let mut state = json!({"t": world.now});
        for (name, counts) in world.counts() {
            watcher.check(vector, &name, &counts, &world.machine_names())?;
            state[name] = json(&counts);
        }
        if let Some(kubelets) = &mut kubelets {
            state["kubelet"] = kubelets.at(world.now);
            next = next.into_iter().chain(kubelets.next(world.now)).min();
        }
        if story.last().is_none_or(|last| differs(last, &state)) {
            story.push(state);
        }
        let action = actions.peek().map(|(at, _)| *at);
        match next.into_iter().chain(action).min() {
            Some(at) => world.now = at,
            None => break,
        }
    }
    let expected = vector["trace"].as_array().expect("traces have states");
    for (state, expected) in story.iter().zip(expected) {
        same(asked_for(state, expected), expected.clone())?;
    }
    same(story.len(), expected.len())?;
    let (last, end) = (story.last().expect("there is a state"), &vector["final"]);
    if end["state"] == "halted" {
        return halted(&world, end);
    }
    if end.is_null() { Ok(()) } else { same(asked_for(last, end), end.clone()) }
}

/// Compares a halted roll-out: phase and last operation of its first machine.
fn halted(world: &World, end: &Value) -> Result<(), String> {
    let machine = world.machine(1);
    let (expected, operation) = (&end["machine1"], &machine.operation);
    let text = |value: &Value| value.as_str().unwrap_or_default().replace("<m>", &machine.name);
    same(machine.phase.as_str().to_owned(), text(&expected["phase"]))?;
    let told = &expected["lastOperation"];
    same(operation.type_.clone(), text(&told["type"]))?;
    same(operation.state.clone(), text(&told["state"]))?;
    same(operation.description.clone(), text(&told["description"]))
}

/// Parses a fault of 7.3 in the form of the vectors.
fn fault(fault: &Value) -> Result<WorldFault, String> {
    let text = |key: &str| fault[key].as_str().unwrap_or("Unknown").to_owned();
    let kind = match fault["fault"].as_str().unwrap_or_default() {
        "createError" => WorldFaultKind::CreateError(text("code")),
        "neverJoins" => WorldFaultKind::NeverJoins,
        "joinsNotReady" => WorldFaultKind::JoinsNotReady,
        "criticalComponentsStuck" => WorldFaultKind::CriticalComponentsStuck,
        "nodeUnhealthy" => WorldFaultKind::Unhealthy,
        "nodeObjectDeleted" => WorldFaultKind::NodeDeleted,
        "drainBlockedByPDB" => {
            WorldFaultKind::Budget { misconfigured: fault["misconfigured"] == true, until: fault["until"].as_i64() }
        }
        "podTerminationHangs" => WorldFaultKind::Hangs,
        "vmDeleteError" => WorldFaultKind::VmDeleteError(text("code")),
        "osUpdateFails" => WorldFaultKind::OsUpdateFails,
        "nodeAgentSilent" => WorldFaultKind::AgentSilent,
        "inPlaceDuration" => WorldFaultKind::InPlaceDuration(fault["seconds"].as_i64().unwrap_or_default()),
        other => return Err(format!("unknown fault {other}")),
    };
    let lasts = !matches!(
        kind,
        WorldFaultKind::CreateError(_)
            | WorldFaultKind::NeverJoins
            | WorldFaultKind::JoinsNotReady
            | WorldFaultKind::CriticalComponentsStuck
            | WorldFaultKind::NodeDeleted
            | WorldFaultKind::VmDeleteError(_)
    );
    let times = fault["times"].as_u64().unwrap_or(1);
    Ok(WorldFault {
        md: fault["md"].as_str().unwrap_or_default().to_owned(),
        machine: fault["machine"].as_i64(),
        kind,
        times: (!lasts && fault["always"] != true).then(|| u32::try_from(times).expect("a small number")),
    })
}

/// Returns the change of the vector as an action at the start.
fn first_action(vector: &Value, kubelets: Option<&Kubelets>) -> Value {
    if vector["change"]["set"].is_null() {
        return json!({"do": "nothing"});
    }
    let set = vector["change"]["set"].as_str().unwrap_or_default();
    if let Some((path, value)) = set.split_once('=') {
        return json!({"do": "set", "path": path, "value": value == "true"});
    }
    let rolls = set != KUBERNETES_VERSION || kubelets.is_none_or(|kubelets| kubelets.rolls);
    json!({"do": if rolls { "set" } else { "nothing" }, "path": set})
}

/// Kubelets that change their version, each at the delay of its node agent.
struct Kubelets {
    before: Value,
    after: Value,
    /// Instants at which each node has the new version, in the order of their names.
    done: Vec<(i64, String)>,
    /// True if the versions differ in an input of the MachineClass.
    rolls: bool,
}

impl Kubelets {
    /// Reads a trace that contains kubelets: from the versions of its first state to those of its last.
    fn of(vector: &Value) -> Option<Self> {
        let states = vector["trace"].as_array()?;
        let (before, after) = (states.first()?.get("kubelet")?.clone(), states.last()?.get("kubelet")?.clone());
        let names: Vec<String> = before.as_object()?.keys().cloned().collect();
        let timing = |key: &str, default: i64| vector["timing"][key].as_i64().unwrap_or(default);
        let restart = timing("kubeletPatchRestart", Parameter::KubeletPatchRestart.default_base().num_seconds());
        let most = timing("nodeAgentMaxDelay", max_delay_seconds(&TextMap::new()));
        let delay = |index| reconciliation_delay(index, names.len(), most).num_seconds();
        let done = names.iter().enumerate().map(|(index, name)| (delay(index) + restart, name.clone())).collect();
        let class = |versions: &Value| {
            let version = versions[&names[0]].as_str().unwrap_or_default().trim_start_matches('v');
            let mut shoot = Shoot::default();
            version.clone_into(&mut shoot.spec.kubernetes.version);
            HashInputs::of_shoot(&shoot, &Worker::default()).machine_class_hash(None, domain::release::DOCUMENTED)
        };
        let rolls = class(&before) != class(&after);
        Some(Self { before, after, done, rolls })
    }

    fn at(&self, now: i64) -> Value {
        let mut versions = self.before.clone();
        for (_, name) in self.done.iter().filter(|(done, _)| *done <= now) {
            versions[name] = self.after[name].clone();
        }
        versions
    }

    fn next(&self, now: i64) -> Option<i64> {
        self.done.iter().map(|(done, _)| *done).filter(|done| *done > now).min()
    }
}

/// Returns the part of a state that a vector contains.
fn asked_for(state: &Value, expected: &Value) -> Value {
    match (state, expected) {
        (Value::Object(state), Value::Object(asked)) => {
            state.iter().filter_map(|(key, value)| Some((key.clone(), asked_for(value, asked.get(key)?)))).collect()
        }
        (state, _) => state.clone(),
    }
}

fn same<T: PartialEq + Display>(actual: T, expected: T) -> Result<(), String> {
    if actual == expected { Ok(()) } else { Err(format!("expected {expected}\n  actual   {actual}")) }
}

fn differs(a: &Value, b: &Value) -> bool {
    let without_time = |state: &Value| {
        let mut state = state.clone();
        state["t"] = Value::Null;
        state
    };
    without_time(a) != without_time(b)
}

fn json(counts: &Counts) -> Value {
    json!({
        "old": counts.old, "new": counts.new, "total": counts.total, "running": counts.running,
        "pending": counts.pending, "terminating": counts.terminating, "updated": counts.updated,
        "failed": counts.failed, "unknown": counts.unknown,
        "selected": counts.selected, "updating": counts.updating, "updateFailed": counts.update_failed,
    })
}

/// State recorded for the invariants.
#[derive(Default)]
struct Watcher {
    names: Vec<String>,
    before: BTreeMap<String, Counts>,
}

impl Watcher {
    fn check(&mut self, vector: &Value, md: &str, counts: &Counts, names: &[String]) -> Result<(), String> {
        let before = self.before.insert(md.to_owned(), counts.clone()).unwrap_or_else(|| counts.clone());
        for invariant in vector["invariants"].as_array().into_iter().flatten() {
            let mut text = invariant.as_str().expect("invariants are text");
            if let Some((zone, rest)) = text.split_once(": ") {
                if !md.ends_with(zone) {
                    continue;
                }
                text = rest;
            }
            let words: Vec<&str> = text.split(' ').collect();
            let holds = match words[..] {
                ["running", ">=", least] => counts.running >= least.parse().expect("a number"),
                ["total", "<=", most] => counts.total <= most.parse().expect("a number"),
                ["new", "nondecreasing"] => counts.new >= before.new,
                ["old", "nonincreasing"] => counts.old <= before.old,
                ["noTerminating"] => counts.terminating == 0,
                ["sameMachines"] => self.names == names,
                ["updating", "<=", most] => counts.updating <= most.parse().expect("a number"),
                ["selected", "<=", most] => counts.selected <= most.parse().expect("a number"),
                _ => return Err(format!("unknown invariant {text}")),
            };
            if !holds {
                return Err(format!("{text} does not hold: {counts:?}"));
            }
        }
        Ok(())
    }
}
