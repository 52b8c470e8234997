// SPDX-License-Identifier: Apache-2.0
//! Commands for diagnosis: doctor, dump, explain, logs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox, binaries};

use crate::support::{in_order, manifest, sandbox};

/// Returns every text of a folder, by name.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for path in fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|file| file.path()) {
        if path.is_dir() {
            all.extend(texts(&path));
        } else {
            all.push((path.to_string_lossy().into_owned(), fs::read_to_string(&path).expect("a text")));
        }
    }
    all
}

#[test]
fn a_dump_explains_a_landscape_and_holds_no_secret() {
    let sandbox = sandbox("dump");
    sandbox.terrarium(&["up", "--seed", "5", "--start-time", "2023-07-27T20:00:00Z"]);
    let kubectl = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    kubectl(&["apply", "-f", &manifest("garden")]);
    let secret = |value: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{ name: key, namespace: default }}\nstringData: {{ pin: {value} }}\n"
        );
        sandbox.file("secret.yaml", &text)
    };
    // Applied, so that a copy is in an annotation, changed, and deleted.
    kubectl(&["apply", "-f", &secret("topsecret1")]);
    kubectl(&["apply", "-f", &secret("topsecret2")]);
    kubectl(&["create", "secret", "generic", "gone", "--from-literal=pin=topsecret3"]);
    kubectl(&["delete", "secret", "gone"]);
    let folder = sandbox.directory().with_file_name("dump-of-it");
    let path = folder.to_string_lossy().into_owned();
    in_order(&sandbox.terrarium(&["dump", &path]), &["wrote ", "values of Secrets are left out"]);
    let texts = texts(&folder);
    // `topsecret` in plain text, and the beginning of its base64.
    for (name, text) in &texts {
        assert!(!text.contains("topsecret") && !text.contains("dG9wc2VjcmV0"), "{name} holds a secret");
    }
    let file = |end: &str| {
        let found = texts.iter().find(|(name, _)| name.ends_with(end));
        found.unwrap_or_else(|| panic!("{end} is missing")).1.as_str()
    };
    let log: Vec<Value> = file("log.jsonl").lines().map(|line| serde_json::from_str(line).expect("an entry")).collect();
    let about_key = |entry: &&Value| entry["kind"] == "Secret" && entry["name"] == "key";
    assert_eq!(log.iter().filter(about_key).count(), 2);
    assert!(log.iter().any(|entry| entry["name"] == "gone" && entry["verb"] == "delete"));
    in_order(file("objects/garden.jsonl"), &["\"pin\":\"(not shown)\""]);
    in_order(file("README.txt"), &["terrarium up --landscape default", "--seed 5"]);
    let status: Value = serde_json::from_str(file("status.json")).expect("status");
    assert!(status["runs"] == true && status["head"].as_u64() >= Some(log.len() as u64), "{status}");
    assert!(texts.iter().any(|(name, _)| name.contains("outputs/gardenlet-")));

    let (code, error) = sandbox.terrarium_refused(&["dump", &path]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["it exists already"]);
    sandbox.terrarium(&["down"]);
    let archive = format!("{path}.tgz");
    sandbox.terrarium(&["dump", &archive, "--last", "1h"]);
    let list = Command::new("tar").args(["tzf", &archive]).output().expect("every system has tar");
    in_order(&String::from_utf8_lossy(&list.stdout), &["dump-of-it/README.txt", "dump-of-it/objects/garden.jsonl"]);
}

#[test]
fn the_doctor_finds_and_repairs_damage() {
    let sandbox = sandbox("doctor");
    in_order(&sandbox.terrarium(&["doctor"]), &["descriptors", "there is no landscape in"]);
    sandbox.terrarium(&["up"]);
    let well = sandbox.terrarium(&["doctor"]);
    in_order(
        &well,
        &[
            "ok       directory",
            "ok       leftovers",
            "ok       port",
            "ok       log",
            "ok       replay",
            "everything is ready",
        ],
    );
    let compacted = sandbox.terrarium(&["doctor", "--compact"]);
    in_order(
        &compacted,
        &["ok       compact      removed the history up to revision", "after revision", "the same as"],
    );
    let (code, error) = sandbox.terrarium_refused(&["at", "3", "get", "namespaces"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["does not go back that far", "hint: the oldest revision is"]);

    sandbox.kill_all();
    let directory = sandbox.directory();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("ours");
    let ill = sandbox.terrarium(&["doctor", "-o", "json"]);
    let level = |check: &str| {
        let mut findings = ill.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
        findings.find(|finding| finding["check"] == check).expect("it was checked")["level"].clone()
    };
    assert_eq!(
        (level("directory"), level("leftovers"), level("replay")),
        ("warning".into(), "warning".into(), "ok".into())
    );
    in_order(&sandbox.terrarium(&["doctor", "--fix"]), &["made readable for its owner only"]);
    in_order(&sandbox.terrarium(&["doctor"]), &["ok       directory", "ok       leftovers"]);
    // Compacted entries stay unavailable, and all others available.
    sandbox.terrarium(&["up"]);
    in_order(&sandbox.terrarium(&["replay", "--verify"]), &["the same as the API lists"]);
    sandbox.terrarium(&["down"]);
    assert_eq!(fs::metadata(&directory).expect("ours").permissions().mode() & 0o777, 0o700);

    // A damaged byte in the middle of every checkpoint; the host would start from a valid one.
    let files = fs::read_dir(directory.join("log")).expect("a log").filter_map(Result::ok).map(|file| file.path());
    for checkpoint in files.filter(|path| path.to_string_lossy().contains("/checkpoint-")) {
        let mut bytes = fs::read(&checkpoint).expect("ours");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&checkpoint, &bytes).expect("ours");
    }
    let (code, error) = sandbox.terrarium_refused(&["up"]);
    assert_eq!(code, 2, "{error}");
    in_order(
        &error,
        &["checkpoint-", "is damaged", "hint: restore the directory from a copy", "`terrarium doctor` says more"],
    );
}

/// A relative directory is resolved by the working directory of its process.
#[test]
fn the_doctor_ends_no_landscape_of_others() {
    let sandbox = sandbox("doctor-of-others");
    let mine = sandbox.folder().join("mine").to_string_lossy().into_owned();
    sandbox.terrarium(&["up", "--landscape", "mine", "--data-dir", "mine", "--kubeconfig", ""]);
    sandbox.terrarium(&["down", "--kubeconfig", "", "--data-dir", &mine]);
    // Earlier versions started it with a relative directory.
    let host = sandbox.start_terrarium(&["component", "host", "--data-dir", "mine"]);
    while sandbox.try_terrarium(&["status", "--data-dir", &mine]).is_err() {
        std::thread::yield_now();
    }
    sandbox.terrarium(&["up", "--log", "memory"]);
    let own = sandbox.directory().to_string_lossy().into_owned();
    for directory in [&own, &mine] {
        let found = sandbox.terrarium_in("another/folder", &["doctor", "--fix", "--data-dir", directory]);
        in_order(&found, &["ok       processes    none is left over"]);
    }
    in_order(&sandbox.terrarium(&["status", "--data-dir", &mine]), &["landscape mine"]);
    sandbox.terrarium(&["down", "--purge", "--data-dir", &mine]);
    assert_eq!(host.wait().0, Some(0));
    in_order(&sandbox.terrarium(&["status"]), &["landscape default"]);
}

/// A build replaces the executable while a landscape runs.
#[test]
fn a_landscape_outlives_the_file_of_its_program() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replaced");
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replaced-program");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin).expect("the target folder is writable");
    let copy = |name: &str| fs::copy(binaries().join("terrarium"), bin.join(name)).map(drop).expect("a copy");
    copy("terrarium");
    let sandbox = Sandbox::new(&bin, &folder).with_components("processes");
    sandbox.terrarium(&["up", "--log", "memory"]);
    assert!(!sandbox.terrarium(&["status"]).contains("was replaced"));
    copy("new");
    fs::rename(bin.join("new"), bin.join("terrarium")).expect("ours");
    in_order(
        &sandbox.terrarium(&["status"]),
        &["warning ", "terrarium was replaced", "build that it was started with"],
    );

    let scheduler = sandbox.process_of("gardener-scheduler").to_string();
    assert!(Command::new("kill").args(["-9", &scheduler]).status().expect("every system has kill").success());
    let is_back = |status: &Value| {
        let processes = status["processes"].as_array().into_iter().flatten();
        let mut found = processes.filter(|it| it["name"].as_str().is_some_and(|name| name.contains("scheduler")));
        found.any(|it| it["ready"] == true && it["restarts"].as_i64() >= Some(1))
    };
    loop {
        let status = sandbox.terrarium(&["status", "-o", "json"]);
        assert!(!status.contains("(deleted)"), "{status}");
        if is_back(&serde_json::from_str(&status).expect("one object")) {
            break;
        }
        std::thread::yield_now();
    }
    // The same program, found by its name.
    let again = sandbox.process_of("gardener-scheduler");
    let exe = fs::read_link(format!("/proc/{again}/exe")).expect("it runs");
    assert!(exe.to_string_lossy().ends_with("(deleted)"), "the file that was replaced runs: {}", exe.display());
    let name = fs::read(format!("/proc/{again}/cmdline")).expect("it runs");
    in_order(&String::from_utf8_lossy(&name), &["replaced-program/terrarium", "component", "gardener-scheduler"]);
}

#[test]
fn words_of_a_landscape_are_explained() {
    let sandbox = sandbox("explain");
    let explained = sandbox.terrarium(&["explain", "EveryNodeReady"]);
    in_order(&explained, &["EveryNodeReady (condition of a Shoot)", "means", "set", "to do"]);
    in_order(&sandbox.terrarium(&["explain", "c2"]), &["C2 (rule about versions)"]);
    let task = sandbox.terrarium(&["explain", "Waiting until shoot worker nodes have been reconciled"]);
    in_order(&task, &["(task 92 of 119 when a Shoot is reconciled)", "after  "]);
    let (code, error) = sandbox.terrarium_refused(&["explain", "EveryNodesReady"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["`EveryNodesReady` is not known", "hint: near it are `EveryNodeReady`"]);
}

/// Forms of a Shoot's and a component's name.
#[test]
fn one_address_of_a_shoot_is_used_everywhere() {
    let sandbox = sandbox("addresses");
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "advance", "1m"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    sandbox.terrarium(&["clock", "until", "garden-demo/local=Succeeded"]);
    let is_noted = |note: &str, given: &str| {
        assert_eq!(note.contains(&format!("note: {given} is shoot/demo/local")), given != "shoot/demo/local", "{note}");
    };
    for address in ["shoot/demo/local", "demo/local", "Shoot/garden-demo/local", "garden-demo/local"] {
        let (why, note) = sandbox.terrarium_with_notes(&["why", address]);
        in_order(&why, &["Shoot demo/local at "]);
        is_noted(&note, address);
        in_order(&sandbox.terrarium(&["events", address]), &["local"]);
    }
    for object in
        ["shoot/demo/local", "Shoot/garden-demo/local", "shoots/demo/local", "demo/local", "garden-demo/local"]
    {
        let (lines, note) = sandbox.terrarium_with_notes(&["log", "--object", object]);
        in_order(&lines, &["garden-demo/local"]);
        if object == "Shoot/garden-demo/local" {
            assert_eq!(note, "", "the form of all objects");
        } else {
            is_noted(&note, object);
        }
    }
    let (code, error) = sandbox.terrarium_refused(&["log", "--object", "shots/local"]);
    assert!(code == 2 && error.contains("no cluster has a kind `shots`"), "no Project has that name: {error}");
    for cluster in ["shoot/garden-demo/local", "demo/local", "garden-demo/local", "shoots/demo/local"] {
        is_noted(&sandbox.terrarium_with_notes(&["get", "nodes", "--cluster", cluster]).1, cluster);
        is_noted(&sandbox.terrarium_with_notes(&["at", "0s", "get", "nodes", "--cluster", cluster]).1, cluster);
        in_order(&sandbox.terrarium(&["kubectl", "--cluster", cluster, "get", "nodes"]), &["Ready"]);
    }
    for component in ["gcm", "controller-manager", "gardener-controller-manager"] {
        sandbox.terrarium(&["logs", component]);
        sandbox.terrarium(&["config", "get", component, "controllers.project"]);
    }
    in_order(&sandbox.terrarium(&["log", "--actor", "gcm"]), &["gardener-controller-manager"]);
    // The Projects of a stopped landscape are known, too.
    sandbox.terrarium(&["down"]);
    in_order(&sandbox.terrarium(&["log", "--object", "shoot/demo/local"]), &["garden-demo/local"]);
}

/// JSON has a record on each line, YAML a document for each.
#[test]
fn answers_are_records_of_json_and_yaml() {
    let sandbox = sandbox("records");
    let json = |words: &[&str]| -> Vec<Value> {
        let output = sandbox.terrarium(&[words, &["-o", "json"]].concat());
        output.lines().map(|line| serde_json::from_str(line).expect("a record on a line")).collect()
    };
    let yaml = |words: &[&str]| -> Value {
        let output = sandbox.terrarium(&[words, &["-o", "yaml"]].concat());
        serde_yaml_ng::from_str(&output).expect("one document")
    };
    assert_eq!(json(&["version"])[0]["gardener"], "v1.120.0");
    assert_eq!(json(&["explain", "EveryNodeReady"])[0]["kind"], "condition of a Shoot");
    in_order(&sandbox.terrarium(&["help", "clock", "advance"]), &["Move on by a duration", "--detach"]);
    sandbox.terrarium(&["up", "--log", "memory"]);
    // Commands whose answers may have several records print a list.
    let commands: [(&[&str], bool); 10] = [
        (&["version"], false),
        (&["explain", "C2"], true),
        (&["config", "get", "gardenlet", "controllers.shoot"], true),
        (&["fault", "inject", "seed-unreachable", "--seed-cluster", "local", "--for", "1s"], false),
        (&["replay"], false),
        (&["clock"], false),
        (&["clock", "advance", "1s"], true),
        (&["log", "--until", "3"], true),
        (&["doctor"], true),
        (&["simulate", "--days", "1", "--quiet"], true),
    ];
    for (words, is_list) in commands {
        let records = json(words);
        assert!(!records.is_empty() && records.iter().all(Value::is_object), "{words:?}: {records:?}");
        let answer = yaml(words);
        let items = answer.as_array();
        assert_eq!(items.is_some(), is_list, "{words:?}: {answer}");
        assert!(
            items.map_or_else(|| answer.is_object(), |items| items.iter().all(Value::is_object)),
            "{words:?}: {answer}"
        );
    }
    assert_eq!(json(&["config", "get", "gardenlet", "controllers.shoot"])[0]["key"], "controllers.shoot");
    assert!(json(&["replay"])[0]["hash"].is_string());
}

#[test]
fn lines_of_processes_have_both_times() {
    let sandbox = sandbox("logs");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    let patch =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"gardener-scheduler","args":["--no-such-flag"]}]}}}}"#;
    let runtime = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "runtime", &[&["-n", "garden"], words].concat());
    runtime(&["patch", "deployment", "gardener-scheduler", "-p", patch]);
    // The new process refuses its flag and reports it; the old one continues.
    let said = loop {
        let lines = sandbox.terrarium(&["logs", "scheduler"]);
        if lines.contains("unknown flag") {
            break lines;
        }
        std::thread::yield_now();
    };
    let line = said.lines().find(|line| line.contains("unknown flag")).expect("seen above");
    in_order(line, &["2023-07-27T20:0", "Z (", ":", ":", ".", ") gardener-scheduler-", "  ", "--no-such-flag"]);
    in_order(&sandbox.terrarium(&["status"]), &["gardener-scheduler"]);
    let (code, _) = sandbox.terrarium_refused(&["logs", "gardener-scheduler/nobody"]);
    assert_eq!(code, 2);
}

/// A disk of one mebibyte, in a mount namespace of the command's own. If the system allows none, the test is skipped.
#[test]
fn a_start_on_a_full_disk_names_the_disk() {
    let sandbox = sandbox("full-disk");
    let disk = sandbox.folder().join("disk");
    fs::create_dir_all(&disk).expect("a folder");
    let unshared = |text: &str| Command::new("unshare").args(["-Urm", "sh", "-c", text]).output();
    let mount = format!("mount -t tmpfs -o size=1m none {}", disk.display());
    if !unshared(&mount).is_ok_and(|output| output.status.success()) {
        return;
    }
    let program = binaries().join("terrarium");
    for place in ["", "/not/there/yet"] {
        let place = format!("{}{place}", disk.display());
        let up = format!(
            "{} up --data-dir {place} --kubeconfig ''; code=$?; ls -A {}; exit $code",
            program.display(),
            disk.display()
        );
        let output = unshared(&format!("{mount} && {up}")).expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let what = format!("error: the disk of `{}` is full: 1024 KiB are free, 8192 KiB are needed", disk.display());
        in_order(&error, &[&what, "hint: make room and try again: nothing is lost"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "nothing is left behind");
    }
}
