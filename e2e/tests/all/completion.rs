// SPDX-License-Identifier: Apache-2.0
//! Shell completion.

use std::process::Command;

use terrarium_e2e::sandbox::{Kubectl, Sandbox, binaries};

use crate::support::{manifest, sandbox};

/// Returns the candidates for the last word of a line, requested as the script of fish does.
fn candidates(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let words: Vec<&str> = ["--"].into_iter().chain(line.split(' ')).collect();
    let answer = sandbox.terrarium_with(("TERRARIUM_COMPLETE", "fish"), &words);
    answer.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn check(sandbox: &Sandbox, line: &str, expected: &[&str]) {
    let found = candidates(sandbox, line);
    let names: Vec<&String> = found.iter().filter(|word| !word.starts_with('-')).collect();
    assert_eq!(names, expected, "{line}");
}

#[test]
fn names_of_a_landscape_are_completed() {
    let sandbox = sandbox("completion");
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "advance", "1m"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    let fault = sandbox.terrarium(&["fault", "inject", "component-crash", "--component", "gardener-scheduler"]);
    for (line, expected) in [
        ("terrarium why ", &["shoot/demo/local"][..]),
        ("terrarium why sh", &["shoot/demo/local"]),
        ("terrarium why demo/", &["demo/local"]),
        ("terrarium why x", &[]),
        ("terrarium --landscape default why ", &["shoot/demo/local"]),
        ("terrarium --landscape ", &["default"]),
        ("terrarium events --landscape ", &["default"]),
        ("terrarium landscape rm ", &["default"]),
        ("terrarium events ", &["shoot/demo/local"]),
        ("terrarium rollout --shoot ", &["shoot/demo/local"]),
        ("terrarium fault inject machine-create-fail --shoot ", &["shoot/demo/local"]),
        ("terrarium clock until w", &["window"]),
        ("terrarium clock until sh", &["shoot/demo/local="]),
        ("terrarium kubectl --cluster ", &["garden", "runtime", "seed/local", "shoot/demo/local"]),
        ("terrarium fault clear ", &[fault.trim()]),
        ("terrarium fault inject component-c", &["component-crash"]),
        ("terrarium fault inject component-crash --component gardener-s", &["gardener-scheduler"]),
        ("terrarium fault inject seed-outage --seed-cluster ", &["local"]),
        ("terrarium versions ", &["local"]),
        ("terrarium forecast --explain ", &["shoot/demo/local"]),
        ("terrarium logs ho", &["host"]),
        ("terrarium config get gardener-sc", &["gardener-scheduler"]),
        ("terrarium config get gardener-o", &[]),
        ("terrarium up --preset ", &["empty", "demo"]),
        ("terrarium up --demo=h", &[]),
        ("terrarium get sho", &["shoots", "shootstates"]),
        ("terrarium explain EveryN", &["EveryNodeReady"]),
        ("terrarium comp", &["completion"]),
    ] {
        check(&sandbox, line, expected);
    }
    assert_eq!(candidates(&sandbox, "terrarium up --demo=h"), ["--demo=hibernation"]);
    // Without candidates nothing is printed, and nothing is started.
    for line in ["terrarium why --landscape other ", "terrarium why --landscape ?? ", "terrarium version what "] {
        check(&sandbox, line, &[]);
    }
    sandbox.terrarium(&["down"]);
    for line in ["terrarium why ", "terrarium fault clear "] {
        check(&sandbox, line, &[]);
    }
    check(&sandbox, "terrarium kubectl --cluster ", &["garden", "runtime"]);
    assert!(sandbox.processes().is_empty());
}

/// A host that accepts connections and never answers causes a short delay only.
#[test]
fn a_completion_does_not_hang_on_a_landscape() {
    let sandbox = sandbox("completion-hangs");
    sandbox.terrarium(&["up", "--clock", "stepped"]);
    let host = sandbox.host().expect("it runs").to_string();
    let signal = |name: &str| Command::new("kill").args([name, &host]).status().expect("kill runs");
    signal("-STOP");
    let found = candidates(&sandbox, "terrarium why ");
    signal("-CONT");
    assert!(found.iter().all(|word| word.starts_with('-')), "{found:?}");
}

/// The generated script itself, in the shell that every system has.
#[test]
fn bash_completes_with_the_script() {
    let sandbox = sandbox("completion-bash");
    let program = binaries().join("terrarium");
    let line = |words: &str, index: usize, word: &str| {
        let text = format!(
            "source <({} completion bash); complete -p terrarium >/dev/null || exit 3; COMP_WORDS=({words}); COMP_CWORD={index}; \
             COMP_TYPE=9; _clap_complete_terrarium terrarium {word:?} x; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            program.display()
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &text])
            .current_dir(sandbox.folder())
            .env("XDG_DATA_HOME", sandbox.folder().join("data"))
            .output()
            .expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(line("terrarium fault inject component-cra", 3, "component-cra"), "component-crash");
    assert_eq!(line("terrarium why ''", 2, "").lines().find(|word| !word.starts_with('-')), None);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.terrarium(&["completion", shell]);
        assert!(script.contains("TERRARIUM_COMPLETE") && script.contains("terrarium"), "{shell}: {script}");
    }
}
