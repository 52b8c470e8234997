// SPDX-License-Identifier: Apache-2.0
//! Vectors about combinations of versions of Gardener's components.

use domain::profile::Profile;
use domain::skew::releases::{feature_gate, supports_kubernetes};
use domain::skew::start_up::{self, GardenletError, OperatorError};
use domain::skew::transition::{Step, check};
use domain::skew::{Component, GardenerVersion, HighWaterMark, Instance, Landscape, Rule, rules, violations};
use serde_json::{Value, json};

use super::Verdict;
use super::objects::text;

const COMPONENTS: [(&str, Component); 7] = [
    ("api", Component::Apiserver),
    ("gcm", Component::ControllerManager),
    ("sch", Component::Scheduler),
    ("adm", Component::AdmissionController),
    ("let", Component::Gardenlet),
    ("op", Component::Operator),
    ("ext", Component::Extension),
];

/// Keys of a vector's expectations; all other keys are inputs.
const EXPECTED: [&str; 8] = ["expect", "rules", "primary", "result", "refused_at", "exists", "default", "locked"];

pub(crate) fn run(vector: &Value) -> Verdict {
    let profiles: &[Profile] = match vector["profile"].as_str() {
        Some("documents") => &[Profile::Documents],
        Some("upstream") => &[Profile::Upstream],
        _ => &[Profile::Documents, Profile::Upstream],
    };
    for profile in profiles {
        let Some(actual) = judge(vector, *profile) else { return Verdict::Skipped };
        let given = vector.as_object().expect("a vector is an object");
        let expected: Value =
            EXPECTED.iter().filter_map(|key| Some(((*key).to_owned(), given.get(*key)?.clone()))).collect();
        // A vector without a key does not compare it.
        let asked: Value = EXPECTED
            .iter()
            .filter(|key| given.contains_key(**key))
            .map(|key| ((*key).to_owned(), actual[*key].clone()))
            .collect();
        if asked != expected {
            return Verdict::Compared(Err(format!("profile {profile:?}: expected {expected}\n  actual   {asked}")));
        }
    }
    Verdict::Compared(Ok(()))
}

fn judge(vector: &Value, profile: Profile) -> Option<Value> {
    let landscape = landscape(&vector["state"]);
    Some(match vector["kind"].as_str()? {
        "state" => answer(&rules(&violations(&landscape, profile))),
        "transition" => match check(&landscape, &step(&vector["step"]), profile) {
            Ok(_) => answer(&[]),
            Err(refusal) => answer(&rules(&refusal.violations)),
        },
        "path" => path(landscape, &vector["steps"], profile),
        "operator-check" => {
            let found = start_up::operator(vector["garden"].as_str(), &text(&vector["version"]));
            let result = match &found {
                Ok(()) => "pass",
                Err(OperatorError::ParseOld { .. }) => "parse-old",
                Err(OperatorError::Compare(_)) => "compare-error",
                Err(OperatorError::Downgrade { .. }) => "downgrade",
                Err(OperatorError::Skip { .. }) => "skip",
            };
            with(
                answer(&found.err().map(|error| error.rule()).into_iter().collect::<Vec<_>>()),
                "result",
                result.into(),
            )
        }
        "gardenlet-check" => {
            let found = start_up::gardenlet(vector["gardener_info"].as_str(), &text(&vector["version"]));
            let result = match &found {
                Ok(()) => "pass",
                Err(GardenletError::ConfigMapMissing) => "configmap-missing",
                Err(GardenletError::ParseApiserver { .. }) => "parse-apiserver",
                Err(GardenletError::ParseGardenlet { .. }) => "parse-gardenlet",
                Err(GardenletError::TooNew { .. }) => "too-new",
                Err(GardenletError::TooOld { .. }) => "too-old",
            };
            with(
                answer(&found.err().map(|error| error.rule()).into_iter().collect::<Vec<_>>()),
                "result",
                result.into(),
            )
        }
        "k8s-support" => match GardenerVersion::parse(&text(&vector["gardener"])) {
            Some(gardener) => named(supports_kubernetes(&gardener, &text(&vector["kubernetes"])), "K1"),
            None => named(false, "V0"),
        },
        "feature-gate" => {
            let gardener = GardenerVersion::parse(&text(&vector["gardener"]))?;
            let gate = feature_gate(&gardener, &text(&vector["gate"]));
            let mut found = named(gate.is_some(), "F1");
            found["exists"] = json!(gate.is_some());
            found["default"] = json!(gate.map(|gate| gate.default));
            found["locked"] = json!(gate.map(|gate| gate.is_locked));
            found
        }
        _ => return None,
    })
}

fn path(mut landscape: Landscape, steps: &Value, profile: Profile) -> Value {
    for (index, one) in steps.as_array().into_iter().flatten().enumerate() {
        match check(&landscape, &step(one), profile) {
            Ok(after) => landscape = after,
            Err(refusal) => return with(answer(&rules(&refusal.violations)), "refused_at", json!(index)),
        }
    }
    with(answer(&[]), "refused_at", Value::Null)
}

fn with(mut value: Value, key: &str, entry: Value) -> Value {
    value[key] = entry;
    value
}

fn answer(rules: &[Rule]) -> Value {
    let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
    let expect = if rules.is_empty() { "allowed" } else { "refused" };
    json!({ "expect": expect, "rules": rules, "primary": rules.first() })
}

fn named(is_allowed: bool, rule: &str) -> Value {
    if is_allowed { answer(&[]) } else { json!({ "expect": "refused", "rules": [rule], "primary": rule }) }
}

fn component(name: &Value) -> Component {
    let found = COMPONENTS.iter().find(|(short, _)| name == short);
    found.unwrap_or_else(|| panic!("no such component: {name}")).1
}

fn landscape(state: &Value) -> Landscape {
    let mut landscape = Landscape { garden: state["garden"].as_str().map(str::to_owned), ..Landscape::default() };
    for (short, component) in COMPONENTS {
        for one in state[short].as_array().into_iter().flatten() {
            let owner = one.get("seed").or_else(|| one.get("name")).map(text).unwrap_or_default();
            let version = one.get("version").or_else(|| one.get("lib")).unwrap_or(one);
            landscape.instances.push(Instance::owned(component, &owner, &text(version)));
        }
    }
    for (short, version) in state["hwm"].as_object().into_iter().flatten() {
        let component = component(&json!(short));
        landscape.high_water_marks.push(HighWaterMark { component, owner: None, version: text(version) });
    }
    landscape
}

fn step(step: &Value) -> Step {
    let component = component(&step["component"]);
    let owner = match component {
        Component::Gardenlet => step["seed"].as_str().unwrap_or("s1"),
        Component::Extension => step["name"].as_str().unwrap_or_default(),
        _ => "",
    };
    let instance = |version: &Value| Instance::owned(component, owner, &text(version));
    match step["action"].as_str() {
        Some("add") => Step::Add(instance(&step["version"])),
        Some("remove") => Step::Remove(instance(&step["version"])),
        Some("replace") => Step::Replace { from: instance(&step["from"]), to: text(&step["to"]) },
        other => panic!("no such action: {other:?}"),
    }
}
