// SPDX-License-Identifier: Apache-2.0
//! Lost files of a landscape, which are not replaced silently, and files that several processes create at once.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, sandbox};

/// Returns the journals of the sandbox's landscape, in their order.
fn journals(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = fs::read_dir(sandbox.directory().join("log")).expect("a log").filter_map(Result::ok);
    let is_journal =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal-"));
    let mut journals: Vec<PathBuf> = files.map(|file| file.path()).filter(is_journal).collect();
    journals.sort();
    journals
}

#[test]
fn a_lost_journal_is_refused_until_discarded() {
    let sandbox = sandbox("lost-journal");
    sandbox.terrarium(&["up", "--seed", "5"]);
    let mut maps = String::new();
    for number in 0..75 {
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: map-{number}, namespace: default }}\n---\n");
        maps.write_str(&map).expect("a string");
    }
    let maps = sandbox.file("maps.yaml", &maps);
    sandbox.kubectl(Kubectl::Newest, "garden", &["create", "-f", &maps]);
    sandbox.kill_all();
    let journal = journals(&sandbox).pop().expect("a journal");
    let bytes = fs::read(&journal).expect("readable");
    for left in [None, Some(0), Some(bytes.len() / 2)] {
        match left {
            None => fs::remove_file(&journal).expect("there"),
            Some(length) => fs::write(&journal, &bytes[..length]).expect("written"),
        }
        let (code, error) = sandbox.terrarium_refused(&["up"]);
        assert_eq!(code, 2, "{left:?}: {error}");
        in_order(&error, &["are missing: ", " at least", "hint: ", "`terrarium up --discard-damaged`"]);
    }
    let (_, notes) = sandbox.terrarium_with_notes(&["up", "--discard-damaged"]);
    in_order(&notes, &["note: ", "are missing: ", "the damaged files are kept in log/damaged"]);
    in_order(&sandbox.terrarium(&["replay", "--verify"]), &["the same as the API lists"]);
    sandbox.kubectl(Kubectl::Newest, "garden", &["apply", "--server-side", "-f", &maps]);
}

/// `landscape.json` is written again from the log; a folder that only looks like a landscape's is foreign.
#[test]
fn lost_creation_parameters_are_read_from_the_log() {
    let sandbox = sandbox("lost-parameters");
    sandbox.terrarium(&["up", "--seed", "5"]);
    sandbox.terrarium(&["down"]);
    let path = sandbox.directory().join("landscape.json");
    fs::remove_file(&path).expect("there");
    let (code, error) = sandbox.terrarium_refused(&["up"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["landscape.json is missing", "hint: ", "`terrarium doctor --fix", " writes it again"]);
    assert!(!path.exists(), "a refusal writes nothing");
    sandbox.terrarium(&["doctor", "--fix"]);
    in_order(&sandbox.terrarium(&["up"]), &["seed 5"]);
    sandbox.terrarium(&["down"]);
    fs::remove_file(&path).expect("written by doctor");
    fs::remove_file(sandbox.directory().join("log/facts")).expect("there");
    let (code, error) = sandbox.terrarium_refused(&["up"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["is not empty and holds no landscape"]);
}

#[test]
fn lost_keys_are_an_error_until_new_ones_are_requested() {
    let sandbox = sandbox("lost-keys");
    sandbox.terrarium(&["up", "--seed", "5"]);
    sandbox.terrarium(&["down"]);
    for name in ["pki/ca.key", "pki/ca.crt", "pki/garden.json"] {
        let path = sandbox.directory().join(name);
        let bytes = fs::read(&path).expect("readable");
        fs::remove_file(&path).expect("there");
        let (code, error) = sandbox.terrarium_refused(&["up"]);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &[name, " is missing", "hint: restore it from a copy; `terrarium doctor --fix`"]);
        fs::write(&path, bytes).expect("written");
    }
    // The list of the authorities is lost, too; it is the log that has their names.
    let (made, garden) = (sandbox.directory().join("pki/made"), sandbox.directory().join("pki/garden.json"));
    let bytes = fs::read(&garden).expect("readable");
    fs::remove_file(&garden).expect("there");
    fs::remove_file(&made).expect("there");
    let (code, error) = sandbox.terrarium_refused(&["up"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["pki/garden.json is missing", "hint: restore it from a copy; `terrarium doctor --fix`"]);
    fs::write(&garden, bytes).expect("written");
    fs::write(&made, "").expect("written");
    let (_, notes) = sandbox.terrarium_with_notes(&["up"]);
    in_order(&notes, &["note: ", "pki/made lacks the landscape's authority: written again", "ca, garden, runtime"]);
    sandbox.terrarium(&["down"]);
    // A key and a certificate of different copies.
    let key = sandbox.directory().join("pki/ca.key");
    let bytes = fs::read(&key).expect("readable");
    let other = process::pki::Key::transport().expect("a key").pem();
    fs::write(&key, other).expect("written");
    let (code, error) = sandbox.terrarium_refused(&["up"]);
    assert_eq!(code, 2, "{error}");
    in_order(
        &error,
        &["pki/ca.crt and ", "pki/ca.key: the key does not belong", "hint: restore both from the same copy"],
    );
    fs::write(&key, bytes).expect("written");
    // The whole folder.
    let (folder, aside) = (sandbox.directory().join("pki"), sandbox.folder().join("pki-aside"));
    fs::rename(&folder, &aside).expect("there");
    for _ in 0..2 {
        let (code, error) = sandbox.terrarium_refused(&["up"]);
        assert_eq!(code, 2, "{error}");
        let hint = "hint: restore it from a copy; `terrarium doctor --fix`";
        in_order(&error, &["pki is missing, and ", hint]);
    }
    fs::rename(&aside, &folder).expect("nothing was written in its place");
    fs::remove_file(sandbox.directory().join("pki/ca.key")).expect("there");
    in_order(&sandbox.terrarium(&["doctor", "--fix"]), &["ok       keys", "ca.key is missing"]);
    let (_, notes) = sandbox.terrarium_with_notes(&["up"]);
    in_order(&notes, &["note: the landscape has new keys: kubeconfigs that were written before are refused"]);
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "namespaces"]);
    sandbox.terrarium(&["down"]);
    // Those of some clusters.
    for name in ["garden.json", "seed--local.json"] {
        fs::remove_file(folder.join(name)).expect("there");
    }
    in_order(&sandbox.terrarium(&["doctor", "--fix"]), &["ok       keys", "garden.json is missing"]);
    let (_, notes) = sandbox.terrarium_with_notes(&["up"]);
    in_order(&notes, &["note: the landscape has new keys for garden, seed/local: kubeconfigs that were written"]);
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "namespaces"]);
    sandbox.terrarium(&["down"]);
    let (_, notes) = sandbox.terrarium_with_notes(&["up"]);
    assert!(!notes.contains("new keys"), "{notes}");
    sandbox.terrarium(&["down"]);
    fs::remove_dir_all(&folder).expect("there");
    let fixed = sandbox.terrarium(&["doctor", "--fix"]);
    in_order(&fixed, &["ok       keys", "pki is missing", "makes new keys"]);
    assert_eq!(fixed.matches("pki is missing").count(), 1, "{fixed}");
    sandbox.terrarium(&["up"]);
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "namespaces"]);
}

#[test]
fn first_starts_at_once_write_kubeconfigs_that_work() {
    let sandbox = sandbox("first-starts");
    for round in 0..2 {
        let files: Vec<String> = (0..3)
            .map(|number| sandbox.folder().join(format!("config-{round}-{number}")).display().to_string())
            .collect();
        let starts: Vec<_> =
            files.iter().map(|file| sandbox.start_terrarium(&["up", "--seed", "5", "--kubeconfig", file])).collect();
        for start in starts {
            let (code, said) = start.wait();
            assert_eq!(code, Some(0), "{said}");
        }
        for file in &files {
            for context in ["terrarium-default", "terrarium-default-runtime", "terrarium-default-seed-local"] {
                let words = ["--context", context, "get", "namespaces"];
                let answer = sandbox.kubectl_with(Kubectl::Newest, file, &words);
                assert!(answer.is_ok(), "round {round}, {file}, {context}: {answer:?}");
            }
        }
        sandbox.terrarium(&["down", "--purge"]);
    }
}
