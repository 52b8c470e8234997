// SPDX-License-Identifier: Apache-2.0
//! Components with binaries of their own: their command lines, landscapes of them, unusable files, and joining by hand.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use domain::garden::components::Program;
use serde_json::Value;
use terrarium_e2e::sandbox::{Kubectl, Sandbox, binaries};

use crate::support::{in_order, sandbox};

/// Returns the binary of a component.
fn binary(program: Program) -> PathBuf {
    let path = binaries().join(program.name());
    assert!(path.is_file(), "no {}: build the workspace first, as `cargo xtask test` does", path.display());
    path
}

fn run(program: Program, words: &[&str]) -> Output {
    Command::new(binary(program)).args(words).stdin(Stdio::null()).output().expect("our own program")
}

/// Returns the file names of the programs of a landscape's components, in order.
fn programs(sandbox: &Sandbox) -> Vec<String> {
    let host = sandbox.host();
    let components = sandbox.processes().into_iter().filter(|pid| Some(*pid) != host);
    let mut names: Vec<String> = components
        .filter_map(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok())
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Creates a folder with `terrarium` and some binaries in it.
fn folder_with(name: &str, programs: &[Program]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder is writable");
    let files = programs.iter().map(|program| binary(*program)).chain([binaries().join("terrarium")]);
    for file in files {
        let target = folder.join(file.file_name().expect("a file"));
        fs::hard_link(&file, &target).or_else(|_| fs::copy(&file, &target).map(drop)).expect("a copy");
    }
    folder
}

#[test]
fn binaries_print_flags_and_version_as_in_the_field() {
    for program in Program::ALL {
        let name = program.name();
        let help = run(program, &["--help"]);
        let text = String::from_utf8_lossy(&help.stdout);
        assert!(help.status.success(), "{name}: {text}");
        let joins = program == Program::Apiserver;
        in_order(
            &text,
            &[&format!("{name} of a Terrarium landscape"), &format!("Usage: {name}"), "--gardener-version"],
        );
        assert_eq!(text.contains("--kubeconfig <FILE>"), joins, "{text}");
        assert_eq!(text.contains("--config <FILE>"), program.configuration().is_some(), "{text}");
        assert_eq!(text.contains("--feature-gates"), joins, "{text}");
        assert!(!text.contains("--data-dir"), "it is for hosts: {text}");
        let version = run(program, &["--version"]);
        assert_eq!(String::from_utf8_lossy(&version.stdout), "Gardener v1.120.0\n");
        let with_host = format!("error: {name} runs only together with its host");
        let without = if joins { "error: --kubeconfig is missing: it names the landscape to join" } else { &with_host };
        for (words, expected) in [
            (&["--etcd-servers=http://localhost:2379"][..], "error: unknown flag: --etcd-servers\nhint: "),
            (&[], without),
        ] {
            let refused = run(program, words);
            let error = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(2), "{name} {words:?}: {error}");
            assert!(error.starts_with(expected) && error.lines().count() == 2, "{name} {words:?}: {error}");
        }
    }
}

#[test]
fn a_landscape_runs_the_binaries_of_its_components() {
    let sandbox = sandbox("binaries").with_components("processes");
    let all: Vec<PathBuf> = Program::ALL.into_iter().map(binary).collect();
    assert_eq!(all.len(), 7);
    let up = sandbox.terrarium(&["up", "--log", "memory", "--apiservers", "1"]);
    let form = format!("processes, each of its own binary in {}", binaries().display());
    in_order(&up, &[&format!("Components:   {form}\n")]);
    let mut expected: Vec<&str> = Program::ALL.into_iter().map(Program::name).collect();
    expected.sort_unstable();
    assert_eq!(programs(&sandbox), expected);
    let text = sandbox.terrarium(&["status"]);
    in_order(
        &text,
        &[&format!("components {form}\n"), "process ", " (host): ", " s of processor time, ", " MiB in memory"],
    );
    assert_eq!(text.matches(" MiB in memory").count(), 8, "the host and seven components: {text}");
    assert!(!text.contains("replaced") && !text.contains("another build"), "{text}");
    let status: Value = serde_json::from_str(&sandbox.terrarium(&["status", "-o", "json"])).expect("one object");
    assert_eq!(status["components"]["binaries"].as_array().map(Vec::len), Some(7), "{status}");
    assert_eq!(status["consumption"]["pid"], status["pid"], "{status}");
    let of_components = status["processes"].as_array().expect("a list").iter().map(|it| &it["consumption"]);
    let mut pids: Vec<u64> = of_components
        .map(|it| {
            assert!(it["memoryBytes"].as_u64() > Some(1 << 20) && it["processorSeconds"].is_f64(), "{it}");
            it["pid"].as_u64().expect("a process id")
        })
        .collect();
    pids.sort_unstable();
    let mut expected: Vec<u64> = sandbox.processes().into_iter().map(u64::from).collect();
    expected.retain(|pid| status["pid"] != *pid);
    expected.sort_unstable();
    assert_eq!(pids, expected);
    sandbox.terrarium(&["clock", "advance", "1d"]);
    in_order(&sandbox.terrarium(&["doctor"]), &["ok"]);
    let processes = sandbox.processes();
    sandbox.terrarium(&["down"]);
    let left: Vec<_> = processes.iter().filter(|pid| Path::new(&format!("/proc/{pid}/exe")).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A file in the folder of `terrarium` that has the name of a component and is not its binary of this build is reported, and
/// `terrarium` runs the component.
#[test]
fn files_that_cannot_be_used_are_named_and_replaced() {
    let folder = folder_with("binaries-mixed-programs", &[Program::Scheduler]);
    let place = |program: Program| folder.join(program.name());
    // The same program from other sources: only the hash of its sources differs.
    let provider = Program::ProviderLocal;
    let identity = String::from_utf8(run(provider, &["--build"]).stdout).expect("text");
    let (name, build) = identity.trim_end().split_once(' ').expect("name and build");
    assert_eq!((name, build.len()), (provider.name(), 16));
    fs::copy(binary(provider), place(provider)).expect("a copy");
    let other = format!("s/{build}/0123456789abcdef/g");
    let edited = Command::new("sed").args(["-i", &other]).arg(place(provider)).env("LC_ALL", "C").status();
    assert!(edited.expect("every system has sed").success());
    symlink("/bin/echo", place(Program::ControllerManager)).expect("ours");
    fs::create_dir(place(Program::Operator)).expect("ours");
    let file = |program: Program, content: &str, mode: u32| {
        fs::write(place(program), content).expect("ours");
        fs::set_permissions(place(program), fs::Permissions::from_mode(mode)).expect("ours");
    };
    file(Program::Apiserver, "", 0o600);
    file(Program::Gardenlet, "#!/bin/sh\ntouch started\n", 0o700);
    let place_of_landscape = Path::new(env!("CARGO_TARGET_TMPDIR")).join("binaries-mixed");
    let sandbox = Sandbox::new(&folder, &place_of_landscape).with_components("processes");
    let (up, notes) = sandbox.terrarium_with_notes(&["up", "--log", "memory", "--apiservers", "1"]);
    let played = ", of `terrarium component NAME`: gardener-admission-controller, ";
    in_order(&up, &["Components:   processes of their own binaries in ", played]);
    for (program, reason) in [
        (Program::Apiserver, "it is not executable"),
        (Program::ControllerManager, "it is of another build"),
        (Program::ProviderLocal, "it is of another build"),
        (Program::Operator, "it is not a file"),
        (Program::Gardenlet, "it is a script"),
    ] {
        let name = program.name();
        let note = format!("note: {}: {reason}; terrarium plays {name}", place(program).display());
        assert!(notes.contains(&note), "{note} is missing in\n{notes}");
    }
    let missing = format!("there is no gardener-admission-controller in {}; terrarium plays it", folder.display());
    in_order(&notes, &[&missing]);
    let mut expected = vec!["terrarium"; 6];
    expected.insert(0, "gardener-scheduler");
    assert_eq!(programs(&sandbox), expected);
    assert!(!sandbox.folder().join("started").exists(), "a script is not run");
    let warnings = || {
        let status = sandbox.terrarium(&["status"]);
        let of_files = |line: &&str| line.starts_with("warning /");
        status.lines().filter(of_files).map(str::to_owned).collect::<Vec<_>>()
    };
    let of_builds = warnings();
    assert_eq!(of_builds.len(), 5, "{of_builds:?}");
    let provider = place(provider).display().to_string();
    let remedy = "then `terrarium down` and `terrarium up` start them";
    let is_told = |line: &&String| line.contains(&format!("{provider}: it is of another build; terrarium plays "));
    assert!(of_builds.iter().find(is_told).is_some_and(|line| line.ends_with(remedy)), "{of_builds:?}");

    // A binary that is replaced while the landscape runs is started again in its old version.
    fs::remove_file(place(Program::Scheduler)).expect("ours");
    symlink("/bin/echo", place(Program::Scheduler)).expect("ours");
    let replaced = format!(
        "warning {} was replaced: the landscape runs on with the build that it was started with; `terrarium down` and `terrarium \
         up` start the other one",
        place(Program::Scheduler).display()
    );
    assert!(warnings().contains(&replaced), "{:?}", warnings());
    let before = sandbox.process_of("gardener-scheduler");
    let killed = Command::new("kill").args(["-9", &before.to_string()]).status();
    assert!(killed.expect("every system has kill").success());
    let again = loop {
        match sandbox.processes_of("gardener-scheduler").first() {
            Some(pid) if *pid != before => break *pid,
            _ => std::thread::yield_now(),
        }
    };
    let ready =
        ["-n", "garden", "wait", "--for=condition=Ready", "pod", "-l", "role=gardener-scheduler", "--timeout=300s"];
    sandbox.kubectl(Kubectl::Newest, "runtime", &ready);
    let exe = fs::read_link(format!("/proc/{again}/exe")).expect("it runs");
    assert_eq!(exe.to_string_lossy(), format!("{} (deleted)", place(Program::Scheduler).display()));
    sandbox.terrarium(&["down"]);
}

#[test]
fn a_binary_joins_the_landscape_of_a_kubeconfig() {
    let sandbox = sandbox("binaries-joining");
    sandbox.terrarium(&["up", "--log", "memory", "--apiservers", "1"]);
    let kubeconfig = sandbox.kubeconfig().display().to_string();
    let words = |version: &str| {
        let words = ["--kubeconfig", &kubeconfig, "--listen", "127.0.0.1:0", "--advertise", "127.0.0.1"];
        let rest =
            ["--instance", "by-hand", "--gardener-version", version, "--feature-gates", "InPlaceNodeUpdates=true"];
        words.into_iter().chain(rest).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut joined = Command::new(binary(Program::Apiserver))
        .args(words("v1.121.0"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("our own program");
    let mut output = std::io::BufReader::new(joined.stdout.take().expect("it is piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).expect("it is ready");
    in_order(&line, &["\"address\":\"127.0.0.1:"]);
    let leases = || {
        let words = ["-n", "gardener-system-instances", "get", "leases", "-o", "name"];
        sandbox.kubectl(Kubectl::Newest, "garden", &words)
    };
    assert!(leases().contains("/gardener-apiserver-by-hand\n"), "{}", leases());
    in_order(&sandbox.terrarium(&["status"]), &["  gardener-apiserver-by-hand ", "v1.121.0", "Joined", "ready true"]);
    let asked = Command::new("kill").arg(joined.id().to_string()).status();
    assert!(asked.expect("every system has kill").success());
    assert_eq!(joined.wait().expect("it ends").code(), Some(0));
    assert!(!leases().contains("by-hand"), "{}", leases());

    let words = words("v1.123.0");
    let refused = run(Program::Apiserver, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{error}");
    let refused = run(Program::Scheduler, &["--kubeconfig", &kubeconfig]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    in_order(&error, &["error: ", "gardener-scheduler runs only together with its host"]);
    sandbox.terrarium(&["down"]);
}
