// SPDX-License-Identifier: Apache-2.0
//! Mistakes of users, and landscapes that conflict with each other: one clear message, the exit code, no loss of data.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, manifest, sandbox};

#[track_caller]
fn refused(sandbox: &Sandbox, words: &[&str], code: i32, texts: &[&str]) {
    let (actual, error) = sandbox.terrarium_refused(words);
    assert_eq!(actual, code, "terrarium {words:?}: {error}");
    in_order(&error, texts);
}

#[test]
fn a_landscape_is_not_started_where_it_cannot_be() {
    let sandbox = sandbox("not-started");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it listens").port().to_string();
    refused(&sandbox, &["up", "--port", &port], 1, &["cannot serve on 127.0.0.1:", "another process listens there"]);
    assert!(!sandbox.directory().exists(), "a start that failed leaves nothing that the next one contradicts");

    let foreign = sandbox.directory().with_file_name("foreign");
    fs::create_dir_all(&foreign).expect("the sandbox is writable");
    fs::write(foreign.join("thesis.txt"), "mine").expect("the sandbox is writable");
    let foreign_path = foreign.to_string_lossy();
    refused(&sandbox, &["up", "--data-dir", &foreign_path], 2, &["is not empty and holds no landscape", "hint: "]);
    refused(&sandbox, &["down", "--purge", "--data-dir", &foreign_path], 2, &["is not empty and holds no landscape"]);
    let file = foreign.join("thesis.txt");
    refused(&sandbox, &["up", "--data-dir", &file.to_string_lossy()], 2, &["cannot be a landscape's directory"]);
    assert_eq!(fs::read_to_string(&file).expect("untouched"), "mine");

    refused(&sandbox, &["up", "--landscape", "No Name"], 2, &["`No Name` is not a name for a landscape"]);
    refused(&sandbox, &["up", "--log", "memory", "--history", "1GiB"], 2, &["keeps a number of entries, no size"]);
    let unsupported = "Gardener v1.120.0 does not support Kubernetes version 1.20.3";
    refused(
        &sandbox,
        &["up", "--kubernetes-version", "1.20.3"],
        2,
        &[unsupported, "use a version from 1.27.0 to 1.32"],
    );
    refused(&sandbox, &["up", "--ephemeral", "--log", "sled"], 2, &["--log contradicts --ephemeral"]);
    for words in [&["status"][..], &["get", "shoots"], &["log"], &["kubectl", "get", "ns"], &["clock"]] {
        refused(&sandbox, words, 2, &["there is no landscape in", "hint: `terrarium up` starts one"]);
    }
}

#[test]
fn flags_that_contradict_a_landscape_are_refused() {
    let sandbox = sandbox("contradictions");
    sandbox.terrarium(&["up", "--history", "100000", "--start-time", "2023-07-27T20:00:00Z"]);
    for (flag, value) in [
        ("--seed", "7"),
        ("--seeds", "3"),
        ("--profile", "upstream"),
        ("--history", "all"),
        ("--bind", "0.0.0.0"),
        ("--san", "box.example.org"),
        ("--port", "1"),
        ("--log", "memory"),
        ("--durability", "fast"),
        ("--start-time", "2024-01-01T00:00:00Z"),
        ("--gardener-version", "v1.119.0"),
        ("--kubernetes-version", "1.30.0"),
    ] {
        refused(&sandbox, &["up", flag, value], 2, &[&format!("{flag} contradicts"), "hint: leave the flag out"]);
    }
    refused(&sandbox, &["up", "--ephemeral", "--landscape", "other", "--owner", "x"], 2, &["invalid value 'x'"]);
    sandbox.terrarium(&["up", "--seed", "1"]);
    refused(&sandbox, &["up", "--foreground"], 4, &["runs already, as process"]);
    refused(&sandbox, &["landscape", "rm", "default"], 4, &["is held by process"]);
    refused(&sandbox, &["landscape", "rm", "nope"], 2, &["there is no landscape nope"]);
    let unknown = ["there is no cluster seed/nope", "hint: there are garden, runtime, seed/local"];
    refused(&sandbox, &["get", "--cluster", "seed/nope", "ns"], 2, &unknown);
    refused(&sandbox, &["kubectl", "--cluster", "seed/nope", "get", "ns"], 2, &unknown);
    refused(&sandbox, &["get", "shots"], 2, &["has no kind `shots`", "hint: the nearest is `shoots`"]);
    refused(&sandbox, &["logs", "unknown"], 2, &["no component `unknown` runs", "gardener-scheduler"]);
    refused(&sandbox, &["log", "--object", "a/b/c/d"], 2, &["`a/b/c/d` is no object"]);

    // A manifest of 2 MB, an unknown field, a wrong type.
    let large = sandbox.directory().join("large.yaml");
    let object =
        |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: c, namespace: default }}\n{data}\n");
    for (data, texts) in [
        (format!("data: {{ a: {} }}", "x".repeat(2 << 20)), "Too long: may not be more than 1048576 bytes"),
        ("dta: { a: b }".to_owned(), "unknown field \"dta\""),
        ("data: [a]".to_owned(), "data"),
    ] {
        fs::write(&large, object(&data)).expect("the sandbox is writable");
        let refused = sandbox.kubectl_refused(Kubectl::Newest, "garden", &["create", "-f", &large.to_string_lossy()]);
        assert!(refused.contains(texts) && refused.len() < 2000, "{refused}");
    }
    sandbox.kubectl(Kubectl::Newest, "garden", &["apply", "-f", &manifest("garden")]);
    sandbox.kill_all();
    let journal = fs::read_dir(sandbox.directory().join("log")).expect("a log").filter_map(Result::ok);
    let last = journal.map(|file| file.path()).filter(|path| path.to_string_lossy().contains("/journal-")).max();
    let last = last.expect("a log has a journal");
    let mut file = fs::File::options().append(true).open(last).expect("it can be written");
    file.write_all(b"a write that was torn").expect("it can be written");
    let (out, notes) = sandbox.terrarium_with_notes(&["up"]);
    in_order(&out, &["ready in"]);
    in_order(&notes, &["the 21 bytes behind it cannot, and were cut off"]);
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "project/demo", "cloudprofile/local"]);
}

#[test]
fn two_landscapes_run_side_by_side() {
    let sandbox = sandbox("side-by-side");
    sandbox.terrarium(&["up", "--landscape", "east", "--seed", "5"]);
    sandbox.terrarium(&["up", "--landscape", "west", "--seeds", "2"]);
    let list = sandbox.terrarium(&["landscape", "list"]);
    in_order(&list, &["NAME", "STATE", "east", "running", "west", "running"]);
    sandbox.kubectl(Kubectl::Newest, "terrarium-east", &["create", "namespace", "only-east"]);
    let refused = sandbox.run_kubectl(Kubectl::Newest, "terrarium-west", &["get", "namespace", "only-east"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("NotFound"), "{refused:?}");
    let seeds = |name: &str| sandbox.terrarium(&["get", "seeds", "-o", "name", "--landscape", name]);
    assert_eq!(seeds("east").lines().count(), 1);
    assert_eq!(seeds("west").lines().count(), 2);
    sandbox.terrarium(&["down", "--landscape", "east"]);
    assert_eq!(seeds("west").lines().count(), 2);
    in_order(&sandbox.terrarium(&["replay", "--verify", "--landscape", "west"]), &["the same as the API lists"]);
    in_order(&sandbox.terrarium(&["landscape", "rm", "east"]), &["removed landscape east"]);
    let kubeconfig = fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    assert!(kubeconfig.contains("terrarium-west") && !kubeconfig.contains("terrarium-east"), "{kubeconfig}");

    // A command that names a directory does not have to name the landscape in it.
    let place = sandbox.kubeconfig().with_file_name("elsewhere").display().to_string();
    let up = sandbox.terrarium(&["up", "--landscape", "north", "--data-dir", &place]);
    in_order(&up, &[&format!("terrarium clock advance 24h --landscape north --data-dir {place} ")]);
    let down = sandbox.terrarium(&["down", "--purge", "--data-dir", &place]);
    in_order(&down, &["landscape north stopped", "removed its data and its contexts", &place]);
    let kubeconfig = fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    assert!(kubeconfig.contains("terrarium-west") && !kubeconfig.contains("terrarium-north"), "{kubeconfig}");
}

#[test]
fn an_ephemeral_landscape_is_removed_with_its_owner() {
    let sandbox = sandbox("ephemeral");
    let mut owner = std::process::Command::new("sleep").arg("1000").spawn().expect("every system has sleep");
    let pid = owner.id().to_string();
    let up = sandbox.terrarium(&["up", "--ephemeral", "--owner", &pid, "-o", "json"]);
    let up: serde_json::Value = serde_json::from_str(&up).expect("one object");
    let name = up["name"].as_str().expect("a name");
    let context = up["contexts"][0].as_str().expect("a context");
    assert!(name.starts_with("ephemeral-") && up["log"] == "memory", "{up}");
    sandbox.kubectl(Kubectl::Newest, context, &["create", "namespace", "a"]);
    in_order(&sandbox.terrarium(&["log", "--landscape", name, "--object", "namespace/a"]), &["create  Namespace a"]);
    let directory = sandbox.directory().with_file_name(name);
    assert!(directory.exists());
    owner.kill().and_then(|()| owner.wait()).expect("it is ours");
    // The kubeconfig had no other entries.
    while directory.exists() || sandbox.kubeconfig().exists() {
        std::thread::yield_now();
    }
    let second = sandbox.terrarium(&["up", "--ephemeral", "--owner", &std::process::id().to_string()]);
    let (_, hint) = second.split_once("terrarium clock advance 24h --landscape ").expect("a hint that names it");
    let (name, _) = hint.split_once(' ').expect("a name");
    in_order(&sandbox.terrarium(&["down", "--landscape", name]), &["stopped", "removed its data"]);
    assert!(!sandbox.kubeconfig().exists());
}
