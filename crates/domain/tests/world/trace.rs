// SPDX-License-Identifier: Apache-2.0
//! Traces of roll-outs: a vector's story is played in the world, state by state.

use std::fmt::Display;

use apimachinery::meta::IntOrString;
use serde_json::Value;

use super::{Counts, World};

fn limit(value: &Value) -> IntOrString {
    match value.as_str() {
        Some(text) => IntOrString::String(text.to_owned()),
        None => IntOrString::Int(number(value)),
    }
}

fn number(value: &Value) -> i32 {
    i32::try_from(value.as_i64().expect("a number")).expect("a small number")
}

/// Traces that need failures, in-place updates, hibernation's forced drain, or node agents are told elsewhere.
fn is_undisturbed_rolling(vector: &Value) -> bool {
    let mds = vector["initial"]["mds"].as_object().expect("traces name MachineDeployments");
    vector.get("faults").is_none()
        && vector["change"]["set"] == "machine.image.version"
        && mds.values().all(|md| md["strategy"] == "RollingUpdate")
}

/// What differs from the recorded states; `None` for a trace that is told elsewhere.
pub(crate) fn play(vector: &Value) -> Option<Result<(), String>> {
    is_undisturbed_rolling(vector).then(|| check(vector))
}

fn check(vector: &Value) -> Result<(), String> {
    let timing = &vector["timing"];
    let seconds = |key: &str| timing[key].as_i64().expect("timing is in seconds");
    let mut world = World::new(seconds("join"), seconds("drain"), seconds("delete"));
    for (name, md) in vector["initial"]["mds"].as_object().expect("traces name MachineDeployments") {
        world.add(name, number(&md["replicas"]), limit(&md["maxSurge"]), limit(&md["maxUnavailable"]));
    }
    let mut actions: Vec<(i64, Value)> = vec![(0, serde_json::json!({"do": "set"}))];
    for action in vector["actions"].as_array().into_iter().flatten() {
        actions.push((action["t"].as_i64().expect("actions have a time"), action.clone()));
    }
    let mut actions = actions.into_iter().peekable();
    let mut story: Vec<Value> = Vec::new();
    loop {
        while let Some((_, action)) = actions.next_if(|(at, _)| *at <= world.now) {
            match action["do"].as_str() {
                Some("set") => world.change_template(),
                Some("scaleMachineDeployment") => world.scale(number(&action["replicas"])),
                other => return Err(format!("unknown action {other:?}")),
            }
        }
        let next = world.settle();
        let mut state = serde_json::json!({"t": world.now});
        for (name, counts) in world.counts() {
            check_invariants(vector, &name, &counts)?;
            state[name] = json(&counts);
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
        same(state, expected)?;
    }
    same(story.len(), expected.len())
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
    serde_json::json!({
        "old": counts.old, "new": counts.new, "total": counts.total, "running": counts.running,
        "pending": counts.pending, "terminating": counts.terminating, "updated": counts.updated,
    })
}

fn check_invariants(vector: &Value, md: &str, counts: &Counts) -> Result<(), String> {
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
            // Checked by the exhaustive test, which knows when replicas and template stay.
            ["new", "nondecreasing"] | ["old", "nonincreasing"] => true,
            _ => return Err(format!("unknown invariant {text}")),
        };
        if !holds {
            return Err(format!("{text} does not hold: {counts:?}"));
        }
    }
    Ok(())
}
