// SPDX-License-Identifier: Apache-2.0
//! Processes that start and end at bad moments: killed hosts, concurrent commands, failing components.

use std::collections::BTreeSet;

use terrarium_e2e::sandbox::{Kubectl, Sandbox};

use crate::support::{in_order, manifest, sandbox};

/// Returns the number of kills of a host; `TERRARIUM_TEST_STARTS` overrides it.
fn kills() -> u32 {
    std::env::var_os("TERRARIUM_TEST_STARTS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(5)
}

/// A killed host does not count as a running one, however long the system needs to remove its process; and the next landscape is
/// complete at once.
#[test]
fn up_right_after_the_host_was_killed_starts_another() {
    let sandbox = sandbox("killed-host");
    sandbox.terrarium(&["up", "--start-time", "2023-07-27T20:00:00Z"]);
    for round in 0..kills() {
        sandbox.kubectl(Kubectl::Newest, "garden", &["create", "configmap", &format!("round-{round}")]);
        let killed = sandbox.host().expect("it runs");
        sandbox.kill_host();
        let output = sandbox.terrarium(&["up"]);
        in_order(&output, &["ready in "]);
        assert_ne!(sandbox.host(), Some(killed), "round {round}: {output}");
        let log = std::fs::read_to_string(sandbox.directory().join("host.log")).expect("the host's log");
        in_order(&log, &[&format!("the host before, process {killed}, was killed")]);
    }
    let all = sandbox.kubectl(Kubectl::Newest, "garden", &["get", "configmaps", "-o", "name"]);
    for round in 0..kills() {
        assert!(all.contains(&format!("configmap/round-{round}\n")), "{all}");
    }
}

/// A stopping host does not count as a running one, either; nor does an unresponsive one.
#[test]
fn up_while_the_host_stops_waits_for_its_end() {
    let sandbox = sandbox("stopping-host");
    sandbox.terrarium(&["up", "--log", "memory"]);
    for _ in 0..2 {
        let host = sandbox.host().expect("it runs");
        let asked = std::process::Command::new("kill").arg(host.to_string()).status();
        assert!(asked.expect("every system has kill").success());
        in_order(&sandbox.terrarium(&["up"]), &["ready in "]);
        assert_ne!(sandbox.host(), Some(host));
    }
    let host = sandbox.host().expect("it runs");
    let signal = |name: &str| {
        let sent = std::process::Command::new("kill").args([name, &host.to_string()]).status();
        assert!(sent.expect("every system has kill").success());
    };
    signal("-STOP");
    let (code, error) = sandbox.terrarium_refused(&["up", "--wait", "1s"]);
    signal("-CONT");
    assert_eq!(code, 4, "{error}");
    in_order(&error, &["is held by", &format!("process {host} (host)"), "did not become ready in time"]);
    in_order(&sandbox.terrarium(&["up"]), &["runs already"]);
}

/// Concurrent commands that create a landscape find the same one, and none removes the files of another.
#[test]
fn concurrent_commands_create_one_landscape() {
    let sandbox = sandbox("at-once");
    for round in 0..2 {
        let words = ["up", "--log", "memory", "--start-time", "2023-07-27T20:00:00Z"];
        let commands: Vec<_> = (0..3).map(|_| sandbox.start_terrarium(&words)).collect();
        let outcomes: Vec<_> = commands.into_iter().map(terrarium_e2e::sandbox::Running::wait).collect();
        assert!(outcomes.iter().all(|(code, _)| *code == Some(0)), "round {round}: {outcomes:?}");
        let url = |text: &str| text.split_whitespace().find(|word| word.starts_with("https://")).map(str::to_owned);
        let found: BTreeSet<_> = outcomes.iter().map(|(_, text)| url(text)).collect();
        assert!(found.len() == 1 && !found.contains(&None), "round {round}: one host is found by all, {outcomes:?}");
        in_order(&sandbox.terrarium(&["status"]), &["landscape default"]);
        sandbox.terrarium(&["down", "--purge"]);
        assert!(!sandbox.directory().exists());
    }
    // The landscape cannot start, since its port is in use: both commands report it, and remove nothing of each other.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let words = ["up", "--log", "memory", "--port", &port];
    let commands: Vec<_> = (0..2).map(|_| sandbox.start_terrarium(&words)).collect();
    for (code, text) in commands.into_iter().map(terrarium_e2e::sandbox::Running::wait) {
        assert!(code == Some(1) && text.contains("another process listens there"), "{code:?} {text}");
    }
    drop(taken);
    in_order(&sandbox.terrarium(&words), &["ready in "]);
    // Flags that contradict the landscape are refused for a second command, too.
    let (code, error) = sandbox.terrarium_refused(&["up", "--seeds", "2"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["--seeds contradicts"]);
}

/// Every end of a component leaves its reason: in its pod, in the status, and in the host's log.
#[test]
fn every_end_of_a_component_leaves_its_reason() {
    let sandbox = sandbox("ends").with_components("processes");
    sandbox.terrarium(&["up", "--log", "memory", "--clock", "stepped"]);
    let scheduler = || {
        let words = sandbox.processes().into_iter().find(|pid| {
            let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.contains("gardener-scheduler")
        });
        words.map(|pid| pid.to_string())
    };
    let signal = |name: &str, pid: &str| {
        let sent = std::process::Command::new("kill").args([name, pid]).status();
        assert!(sent.expect("every system has kill").success());
    };
    let until = |text: &str| loop {
        let status = sandbox.terrarium(&["status"]);
        if status.contains(text) {
            break status;
        }
        std::thread::yield_now();
    };
    let until_not = |text: &str| {
        while sandbox.terrarium(&["status"]).contains(text) {
            std::thread::yield_now();
        }
    };
    signal("-9", &scheduler().expect("it runs"));
    until(
        "with exit code 137: it was killed by signal 9 (SIGKILL): by a user, or by the system because memory ran out",
    );
    let before = sandbox.kubectl(
        Kubectl::Newest,
        "runtime",
        &["-n", "garden", "logs", "-l", "role=gardener-scheduler", "--previous"],
    );
    in_order(&before, &["it was killed by signal 9 (SIGKILL)"]);

    // The clock does not wait for an unresponsive component, which joins it again when it continues.
    let silent = loop {
        if let Some(pid) = scheduler() {
            break pid;
        }
        std::thread::yield_now();
    };
    until("gardener-scheduler");
    let ready = "--for=condition=Ready";
    let pods = ["-n", "garden", "wait", ready, "pod", "-l", "role=gardener-scheduler", "--timeout=300s"];
    sandbox.kubectl(Kubectl::Newest, "runtime", &pods);
    signal("-STOP", &silent);
    // The clock does not wait for a participant without unread changes: this write is one that it has to read.
    sandbox.kubectl(Kubectl::Newest, "garden", &["annotate", "seed", "local", "example.com/note=x"]);
    sandbox.terrarium(&["clock", "advance", "2d", "--ignore-absence"]);
    signal("-CONT", &silent);
    until_not("dropped ");
    sandbox.terrarium(&["clock", "advance", "1d"]);
    assert_eq!(scheduler().as_deref(), Some(silent.as_str()), "the same process goes on");
    let log = std::fs::read_to_string(sandbox.directory().join("host.log")).expect("the host's log");
    in_order(
        &log,
        &[
            "a process has ended",
            "\"signal\":9",
            "it takes no part in landscape time any more",
            "it takes part in landscape time again",
        ],
    );
    sandbox.terrarium(&["down"]);
    let log = std::fs::read_to_string(sandbox.directory().join("host.log")).expect("the host's log");
    in_order(&log, &["the landscape stops: SIGTERM", "a process has ended on request", "the kubelet stops"]);
}

/// Returns a landscape with stopped time and a Shoot, which has timers on every day of a hundred years.
fn with_much_to_do(sandbox: Sandbox) -> Sandbox {
    sandbox.terrarium(&["up", "--log", "memory", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "advance", "1m"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    sandbox
}

fn until(sandbox: &Sandbox, has_come: impl Fn(&str) -> bool) {
    while !has_come(&sandbox.terrarium(&["clock"])) {
        std::thread::yield_now();
    }
}

/// An advance ends with its client, for every kind of end; a detached one is shown and can be stopped.
#[test]
fn an_advance_ends_with_its_client_unless_detached() {
    let sandbox = with_much_to_do(sandbox("killed-client"));
    in_order(&sandbox.terrarium(&["clock", "stop"]), &["no command advances the clock"]);
    let moves = |clock: &str| clock.contains("on its way to");
    let client = sandbox.start_terrarium(&["clock", "advance", "5200w"]);
    until(&sandbox, moves);
    client.kill();
    until(&sandbox, |clock| !moves(clock) && !clock.contains("waits for clock-"));

    let client = sandbox.start_terrarium(&["clock", "advance", "5200w"]);
    until(&sandbox, moves);
    let (code, said) = client.signal("HUP");
    assert_eq!(code, Some(130), "{said}");
    in_order(&said, &["error: interrupted at", "resumes it"]);
    assert!(!moves(&sandbox.terrarium(&["clock"])));

    let (begun, note) = sandbox.terrarium_with_notes(&["clock", "advance", "5200w", "--detach"]);
    in_order(&begun, &["on its way to", "by `terrarium clock --detach`, process"]);
    in_order(&note, &["`terrarium clock` says how far it is", "`terrarium clock stop` ends it"]);
    in_order(
        &sandbox.terrarium(&["status"]),
        &["on its way to", "by `terrarium clock --detach`, process", "of wall time"],
    );
    let (code, error) = sandbox.terrarium_refused(&["clock", "advance", "1h"]);
    assert_eq!(code, 1, "{error}");
    in_order(
        &error,
        &["already being advanced to", " by `terrarium clock --detach`", "\nhint: `terrarium clock stop` ends it"],
    );
    let by = ["get", "clocks", "landscape", "-o", "jsonpath={.status.advancedBy}"];
    in_order(&sandbox.kubectl(Kubectl::Newest, "runtime", &by), &["`terrarium clock --detach`, process", "since"]);
    in_order(&sandbox.terrarium(&["clock", "stop"]), &["ended the advance to", "by `terrarium clock --detach`"]);
    let (code, error) = sandbox.terrarium_refused(&["clock", "until", "shoot/demo/local=Failed", "--detach"]);
    assert_eq!(code, 2, "{error}");
    let output = sandbox.terrarium(&["clock", "advance", "1h"]);
    assert!(!moves(&output), "{output}");
}

/// An unresponsive component stops the command; with `--ignore-absence` time continues; both are reported.
#[test]
fn an_advance_stops_for_a_component_that_hangs() {
    let sandbox = with_much_to_do(sandbox("hung").with_components("processes"));
    let gardenlet = sandbox.process_of("gardenlet").to_string();
    let send = |signal: &str| {
        let sent = std::process::Command::new("kill").args([signal, &gardenlet]).status();
        assert!(sent.expect("every system has kill").success(), "{signal}");
    };
    send("-STOP");
    let (code, said) = sandbox.start_terrarium(&["clock", "advance", "3d"]).wait();
    assert_eq!(code, Some(1), "{said}");
    in_order(&said, &["warning: ", "gardenlet", "has not answered for 30 s", "error: stopped at", "--ignore-absence"]);
    let (_, notes) = sandbox.terrarium_with_notes(&["clock", "advance", "3d", "--ignore-absence"]);
    assert!(!notes.contains("error"), "{notes}");
    in_order(&sandbox.terrarium(&["status"]), &["without ", "gardenlet", " from 2023-07-2", " to now", "is missing"]);
    send("-CONT");
    until(&sandbox, |clock| clock.contains("without ") && !clock.contains(" to now"));
}

/// The forecast is about the landscape's own Shoots, from its present time, whether it runs or not.
#[test]
fn a_forecast_is_made_of_a_landscape() {
    let sandbox = sandbox("forecast-of");
    sandbox.terrarium(&["up", "--clock", "stepped", "--start-time", "2023-07-27T20:00:00Z", "--seed", "7"]);
    let garden = |words: &[&str]| sandbox.kubectl(Kubectl::Newest, "garden", words);
    garden(&["apply", "-f", &manifest("garden")]);
    sandbox.terrarium(&["clock", "advance", "1m"]);
    garden(&["-n", "garden-demo", "apply", "-f", &manifest("shoot")]);
    let words = ["forecast", "--until", "7d", "-o", "json"];
    let (running, note) = sandbox.terrarium_with_notes(&words);
    in_order(&note, &["note: from 2023-07-27T20:01:", "the time of landscape default"]);
    in_order(&running, &["garden-demo/local", "1.27.1"]);
    sandbox.terrarium(&["down"]);
    let (stopped, _) = sandbox.terrarium_with_notes(&words);
    assert_eq!(stopped, running);
    let (code, error) = sandbox.terrarium_refused(&["forecast", "--until", "7d", "--landscape", "none"]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["there are no manifests", "-f", "--landscape"]);
}

/// An environment variable names a landscape in a directory of its own, which is listed while it runs.
#[test]
fn a_landscape_elsewhere_is_named_by_the_environment_and_listed() {
    let sandbox = sandbox("elsewhere");
    let place = sandbox.folder().join("mine").to_string_lossy().into_owned();
    let there = |words: &[&str]| sandbox.terrarium_with(("TERRARIUM_DATA_DIR", &place), words);
    in_order(&there(&["up", "--log", "memory", "--landscape", "away"]), &["contexts terrarium-away"]);
    assert!(!sandbox.directory().exists(), "nothing is in the usual place");
    in_order(&there(&["status"]), &["landscape away"]);
    in_order(&sandbox.terrarium(&["--data-dir", &place, "status"]), &["landscape away"]);
    let list = sandbox.terrarium(&["landscape", "list"]);
    in_order(&list, &["NAME", "DIRECTORY", "away", "running", &place]);
    sandbox.terrarium(&["up", "--log", "memory"]);
    let list = sandbox.terrarium(&["landscape", "list", "-o", "name"]);
    assert_eq!(list, "default\naway\n");
    // A directory holds one landscape: another name is refused, from any source. A flag overrides the environment.
    for words in [&["status", "--landscape", "default"][..], &["up", "--landscape", "b"], &["down", "--landscape", "b"]]
    {
        let (code, error) = sandbox.terrarium_refused_with(("TERRARIUM_DATA_DIR", &place), words);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &["TERRARIUM_DATA_DIR=", "is the directory of landscape away, not of "]);
    }
    assert_eq!(sandbox.terrarium_refused(&["status", "--landscape", "default", "--data-dir", &place]).0, 2);
    let usual = ("TERRARIUM_DATA_DIR", place.as_str());
    let flag = sandbox.directory().to_string_lossy().into_owned();
    in_order(&sandbox.terrarium_with(usual, &["status", "--data-dir", &flag]), &["landscape default"]);
    in_order(&sandbox.terrarium_with(("TERRARIUM_DATA_DIR", ""), &["status"]), &["landscape default"]);
    in_order(&there(&["down"]), &["landscape away stopped"]);
    assert_eq!(sandbox.terrarium(&["landscape", "list", "-o", "name"]), "default\n");
    assert_eq!(there(&["landscape", "list", "-o", "name"]), "default\naway\n", "it is named, though it does not run");
    in_order(&there(&["down", "--purge"]), &["removed its data"]);
    assert!(!sandbox.folder().join("mine").exists());
    in_order(&sandbox.terrarium(&["status"]), &["landscape default"]);
}

/// Landscapes of one name in two directories share one kubeconfig, and the first keeps its contexts.
#[test]
fn contexts_of_one_name_are_of_one_directory() {
    let sandbox = sandbox("one-name");
    sandbox.terrarium(&["up", "--log", "memory"]);
    let contexts = || std::fs::read_to_string(sandbox.kubeconfig()).expect("a kubeconfig");
    let before = contexts();
    let place = sandbox.folder().join("second").to_string_lossy().into_owned();
    let (code, error) = sandbox.terrarium_refused(&["up", "--log", "memory", "--data-dir", &place]);
    assert_eq!(code, 2, "{error}");
    in_order(&error, &["terrarium-default in ", "is of the landscape in ", "hint: choose another name"]);
    assert!(!sandbox.folder().join("second").exists(), "nothing was started");
    sandbox.terrarium(&["up", "--log", "memory", "--data-dir", &place, "--kubeconfig", ""]);
    assert_eq!(sandbox.terrarium_refused(&["landscape", "rm", "default"]).0, 2, "there are two");
    sandbox.terrarium(&["down", "--purge", "--data-dir", &place]);
    assert_eq!(contexts(), before);
    sandbox.terrarium(&["down", "--purge"]);
    assert!(!sandbox.kubeconfig().exists());
}

/// An invalid kubeconfig is detected before any process is started.
#[test]
fn a_bad_kubeconfig_starts_no_landscape() {
    let sandbox = sandbox("bad-kubeconfig");
    let text = sandbox.file("text", "- no\n- kubeconfig\n");
    let below_a_file = format!("{text}/config");
    for file in [&text, &below_a_file, &sandbox.folder().to_string_lossy().into_owned()] {
        let (code, error) = sandbox.terrarium_refused(&["up", "--log", "memory", "--kubeconfig", file]);
        assert_eq!(code, 2, "{error}");
        in_order(&error, &["hint: name another file with --kubeconfig"]);
    }
    assert_eq!(sandbox.terrarium(&["landscape", "list", "-o", "name"]), "");
    assert!(!sandbox.directory().exists());
}

/// Ctrl-C prints the running processes and the commands to resume or stop.
#[test]
fn an_interrupted_start_names_the_running_processes() {
    let sandbox = sandbox("interrupted");
    let up = sandbox.start_terrarium(&["up", "--demo", "--pace", "10m"]);
    let holder = || std::fs::read_to_string(sandbox.directory().join("lock")).unwrap_or_default();
    while !holder().contains("host") {
        std::thread::yield_now();
    }
    let (code, said) = up.interrupt();
    assert_eq!(code, Some(130), "{said}");
    in_order(&said, &["error: interrupted: landscape default goes on as process", "`terrarium up` waits", "stops it"]);

    let demo = sandbox.start_terrarium(&["up", "--demo", "--pace", "10m"]);
    let shoots = || sandbox.try_terrarium(&["get", "shoots", "-A", "-o", "name"]).unwrap_or_default();
    while !shoots().contains("local") {
        std::thread::yield_now();
    }
    let (code, said) = demo.interrupt();
    assert_eq!(code, Some(130), "{said}");
    in_order(&said, &["1/5", "error: interrupted: landscape default runs, with the demo half told"]);
    assert!(!sandbox.terrarium(&["clock"]).contains("on its way to"));
    let (code, said) = sandbox.start_terrarium(&["up", "--demo"]).wait();
    assert_eq!(code, Some(1), "{said}");
    in_order(&said, &["the demo was interrupted in this landscape"]);
}
