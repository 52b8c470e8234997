// SPDX-License-Identifier: Apache-2.0
//! Feature gates of the known releases that have no effect in a landscape, by the table of `domain::skew::releases`.
//!
//! A gate with an effect has its own entry in `fields` or `releases`.

use domain::skew::Component;
use domain::skew::releases::{GateRow, rows_of_gate};
use serde_json::{Value, json};

/// Kind of the word.
const GATE: &str = "feature gate";
/// Action for a gate without an effect.
const TO_DO: &str = "nothing: releases that have the gate accept it, and what it guards is not emulated";

/// Meaning of a feature gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    name: &'static str,
    /// States by component, with the first minor of each.
    means: String,
    /// Components that take it.
    set: String,
}

impl Gate {
    /// Returns the gate with a name, whatever the case of its letters.
    pub(super) fn named(name: &str) -> Option<Self> {
        let rows = rows_of_gate(name);
        let first = rows.first()?;
        let registered: Vec<&GateRow> = rows.iter().filter(|row| row.components != "-").collect();
        let means = if registered.is_empty() {
            "defined, and taken by no component".to_owned()
        } else {
            let states: Vec<String> =
                registered.iter().map(|row| format!("{}: {}", takers(row), states(row))).collect();
            states.join("; ")
        };
        let set =
            if registered.is_empty() { "nowhere" } else { "by the operator, in the configuration of the component" };
        Some(Self { name: first.name, means, set: set.to_owned() })
    }

    /// Lines for people.
    pub(super) fn lines(&self) -> [String; 4] {
        let Self { name, means, set } = self;
        [
            format!("{name} ({GATE})"),
            format!("  means  {means}"),
            format!("  set    {set}"),
            format!("  to do  {TO_DO}"),
        ]
    }

    /// Record for scripts.
    pub(super) fn record(&self) -> Value {
        let Self { name, means, set } = self;
        json!({ "names": [name], "kind": GATE, "means": means, "set": set, "toDo": TO_DO })
    }
}

/// Names of the components that register a gate.
fn takers(row: &GateRow) -> String {
    let name = |folder: &str| match folder {
        "apiserver" => Component::Apiserver.name().to_owned(),
        "controllermanager" => Component::ControllerManager.name().to_owned(),
        "operator" => Component::Operator.name().to_owned(),
        other => other.to_owned(),
    };
    row.components.split(',').map(name).collect::<Vec<String>>().join(", ")
}

/// States of a gate, with the first minor of each.
fn states(row: &GateRow) -> String {
    let states = ["off since", "on by default since", "always on since", "removed in"];
    let known = states.iter().zip(row.minors).filter_map(|(state, minor)| Some(format!("{state} 1.{}", minor?)));
    known.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_have_states_by_component_and_release() {
        let lines = |name: &str| Gate::named(name).map(|gate| gate.lines().join("\n"));
        assert_eq!(
            lines("livecontrolplanemigration").as_deref(),
            Some(
                "LiveControlPlaneMigration (feature gate)\n  means  gardener-apiserver: off since 1.148\n  set    by the \
                 operator, in the configuration of the component\n  to do  nothing: releases that have the gate accept it, \
                 and what it guards is not emulated"
            )
        );
        let means = |name: &str| Gate::named(name).map(|gate| gate.means);
        assert_eq!(means("VictoriaLogsBackend").as_deref(), Some("gardenlet, gardener-operator: off since 1.137"));
        assert_eq!(
            means("VPAInPlaceUpdates").as_deref(),
            Some(
                "gardenlet, gardener-operator: off since 1.133, on by default since 1.138, always on since 1.146, removed in 1.148"
            )
        );
        assert_eq!(means("zonePinning"), None);
    }
}
