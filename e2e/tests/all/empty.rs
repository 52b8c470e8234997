// SPDX-License-Identifier: Apache-2.0
//! Answers of commands to `-o json` and `-o yaml` where there is nothing to show.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::sandbox;

/// Form in which a command prints that there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    /// An object whose list, of this name, is empty.
    Object(&'static str),
    /// No line in JSON, an empty list in YAML.
    List,
    /// The answer always holds something: it is about an object, a process or the landscape.
    Never,
}

/// Every command with `--output`, its words (none: as the command), and its empty form.
const COMMANDS: [(&str, &[&str], Empty); 36] = [
    ("landscape list", &[], Empty::Object("landscapes")),
    ("get", &["get", "shoots", "-A"], Empty::Object("items")),
    ("at get", &["at", "1", "get", "shoots", "-A"], Empty::Object("items")),
    ("events", &["events", "--since", "0s"], Empty::Object("items")),
    ("fault list", &[], Empty::Object("faults")),
    ("log", &["log", "--object", "shoot"], Empty::List),
    ("forecast", &["forecast", "--until", "30d"], Empty::List),
    ("versions", &[], Empty::List),
    ("up", &[], Empty::Never),
    ("status", &[], Empty::Never),
    ("config get", &[], Empty::Never),
    ("clock", &[], Empty::Never),
    ("clock show", &[], Empty::Never),
    ("clock advance", &[], Empty::Never),
    ("clock until", &[], Empty::Never),
    ("clock stop", &[], Empty::Never),
    ("clock pause", &[], Empty::Never),
    ("clock resume", &[], Empty::Never),
    ("clock rate", &[], Empty::Never),
    ("clock mode", &[], Empty::Never),
    ("assert", &[], Empty::Never),
    ("wait", &[], Empty::Never),
    ("fault inject", &[], Empty::Never),
    ("replay", &[], Empty::Never),
    ("doctor", &[], Empty::Never),
    ("simulate", &[], Empty::Never),
    ("rollout", &[], Empty::Never),
    ("why", &[], Empty::Never),
    ("skew check", &[], Empty::Never),
    ("skew table", &[], Empty::Never),
    ("upgrade plan", &[], Empty::Never),
    ("upgrade check", &[], Empty::Never),
    ("upgrade status", &[], Empty::Never),
    ("explain", &[], Empty::Never),
    ("version", &[], Empty::Never),
    ("forecast", &["forecast", "--until", "30d", "--summary", "week"], Empty::List),
];

/// Commands that have `--output`, by the reference.
fn with_output() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/commands.md");
    let page = std::fs::read_to_string(page).expect("the reference");
    let sections = page.split("\n## terrarium ").skip(1).filter(|section| section.contains("--output <OUTPUT>"));
    sections.map(|section| section.lines().next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_command_has_an_empty_form() {
    let known: BTreeSet<String> = COMMANDS.iter().map(|(command, ..)| (*command).to_owned()).collect();
    assert_eq!(known, with_output());
}

#[test]
fn empty_results_have_the_requested_form() {
    let sandbox = sandbox("empty-forms");
    let check = |(command, words, empty): &(&str, &[&str], Empty)| {
        let own: Vec<&str> = command.split(' ').collect();
        let words = if words.is_empty() { &own } else { *words };
        for form in ["json", "yaml"] {
            let answer = sandbox.terrarium(&[words, &["-o", form]].concat());
            let read = |text: &str| -> Value { serde_yaml_ng::from_str(text).expect("YAML, or JSON") };
            match (empty, form) {
                (Empty::Never, _) => {}
                (Empty::Object(list), _) => assert_eq!(read(&answer)[list], json!([]), "{command} -o {form}: {answer}"),
                (Empty::List, "yaml") => assert_eq!(read(&answer), json!([]), "{command} -o {form}: {answer}"),
                (Empty::List, _) => assert_eq!(answer, "", "{command} -o {form}"),
            }
        }
    };
    // Before there is a landscape.
    let (first, others) = COMMANDS.split_first().expect("commands");
    check(first);
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    sandbox.terrarium(&["clock", "advance", "2h"]);
    others.iter().filter(|(_, _, empty)| *empty != Empty::Never).for_each(check);
}
