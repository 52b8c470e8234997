// SPDX-License-Identifier: Apache-2.0
//! Defaults of configurations: settings with an effect, and the feature gates of a version.
//!
//! **Invariants.** The values are those of the components' own defaults, which parse them to the same values.

use component::configuration::check_gate;
use domain::garden::components::Program;
use domain::skew::GardenerVersion;
use domain::skew::releases::{feature_gate, gate_names};
use gardenlet_sim::gardenlet;
use serde_json::{Map, Value, json};

/// Defaults of a component in an emulated version, in the form of its file or flags.
pub(in crate::live) fn of(program: Program, version: &str) -> Value {
    let mut tree = match program {
        Program::Apiserver => ::apiserver::binary::defaults(),
        Program::ControllerManager => ::controller_manager::binary::defaults(),
        Program::Scheduler => ::scheduler::binary::defaults(),
        Program::Gardenlet => gardenlet::binary::defaults(),
        Program::Operator | Program::AdmissionController | Program::ProviderLocal => json!({}),
    };
    let gates = gates(program, version);
    if !gates.is_empty() {
        tree["featureGates"] = Value::Object(gates);
    }
    tree
}

/// Adds defaults to a configuration.
pub(in crate::live) fn complete(set: &Value, default: &Value) -> Value {
    match (set, default) {
        (Value::Object(set), Value::Object(default)) => {
            let mut whole = set.clone();
            for (key, value) in default {
                let value = set.get(key).map_or_else(|| value.clone(), |own| complete(own, value));
                whole.insert(key.clone(), value);
            }
            Value::Object(whole)
        }
        (Value::Null, default) => default.clone(),
        (set, _) => set.clone(),
    }
}

/// Formats a tree as YAML; values that are missing in `set` are marked.
pub(in crate::live) fn marked(tree: &Value, set: &Value) -> Result<String, yaml::WriteError> {
    let Some(fields) = tree.as_object().filter(|fields| !fields.is_empty()) else {
        let mark = if set.is_null() && !tree.is_null() { MARK } else { "" };
        return Ok(mark_first(&yaml::to_string(tree)?, mark));
    };
    let mut text = String::new();
    for (key, value) in fields {
        let own = &set[key];
        if value.as_object().is_some_and(|below| !below.is_empty()) {
            let key = yaml::to_string(key)?;
            text.extend([key.trim_end(), ":\n"]);
            text.extend(marked(value, own)?.lines().map(|line| format!("  {line}\n")));
        } else {
            let line = yaml::to_string(&Map::from_iter([(key.clone(), value.clone())]))?;
            text += &mark_first(&line, if own.is_null() && !value.is_null() { MARK } else { "" });
        }
    }
    Ok(text)
}

const MARK: &str = "  # default";

fn mark_first(text: &str, mark: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!("{first}{mark}\n{rest}")
}

fn gates(program: Program, version: &str) -> Map<String, Value> {
    let Some(parsed) = GardenerVersion::parse(version) else { return Map::new() };
    let is_known = |name: &&str| [true, false].iter().any(|on| check_gate(program, version, name, *on).is_ok());
    let on = |name: &'static str| Some((name.to_owned(), json!(feature_gate(&parsed, name)?.default)));
    gate_names(program.short()).filter(is_known).filter_map(on).collect()
}

#[cfg(test)]
mod tests {
    use component::configuration;

    use super::*;

    const VERSION: &str = "v1.120.0";

    #[test]
    fn defaults_are_read_as_values_of_absent_fields() {
        for program in Program::ALL {
            let mut tree = of(program, VERSION);
            if let Some((api_version, kind)) = program.configuration() {
                tree["apiVersion"] = json!(api_version);
                tree["kind"] = json!(kind);
            }
            let text = yaml::to_string(&tree).expect("YAML");
            configuration::read(program, &text, VERSION).unwrap_or_else(|error| panic!("{}: {error}", program.name()));
        }
        let gates = |tree: &Value| tree["featureGates"].as_object().map_or(0, Map::len);
        let mut own = of(Program::Gardenlet, VERSION);
        assert!(gates(&own) > 3, "{own}");
        own["featureGates"] = json!({});
        assert_eq!(gardenlet::binary::configuration(&own), gardenlet::Configuration::default());
    }

    #[test]
    fn default_values_are_marked() {
        let set = json!({ "kind": "X", "a": { "b": "1h" }, "list": [1, 2] });
        let default = json!({ "a": { "b": "2h", "c": true }, "list": [3], "other": [4, 5] });
        let whole = complete(&set, &default);
        let text = marked(&whole, &set).expect("YAML");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let expected = [
            "  b: 1h",
            "  c: true  # default",
            "- 1",
            "- 2",
            "- 4",
            "- 5",
            "a:",
            "kind: X",
            "list:",
            "other:  # default",
        ];
        assert_eq!(lines, expected);
        assert_eq!(yaml::from_str::<Value>(&text).expect("YAML"), whole);
        assert_eq!(marked(&json!("2h"), &Value::Null).expect("YAML"), "2h  # default\n");
        assert_eq!(marked(&json!("2h"), &json!("2h")).expect("YAML"), "2h\n");
    }
}
