// SPDX-License-Identifier: Apache-2.0
//! Clients by other vendors: installed kubectls, and clients from registries.
//!
//! If a registry cannot be reached its clients are skipped with a message; with `TERRARIUM_TEST_CLIENTS=required` that is a
//! failure.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "what is left out is said, and what was tried")]

use std::path::Path;
use std::time::Duration;

use terrarium_e2e::compatibility::{World, build_rust, install_node, install_python, kubectls};
use terrarium_e2e::sandbox::is_required;
use terrarium_e2e::schemas;

use crate::support::{campaign, sandbox};

/// Returns the installed client; `None`: its installation failed and is not required, or the installing program is missing.
#[track_caller]
fn installed<T>(client: &str, outcome: Result<T, String>) -> Option<T> {
    match outcome {
        Ok(installed) => Some(installed),
        Err(why) if why.starts_with("cannot run ") || !is_required("TERRARIUM_TEST_CLIENTS") => {
            eprintln!("left out: {client}: {why}");
            None
        }
        Err(why) => panic!("{client} cannot be installed: {why}"),
    }
}

/// The oldest and the newest kubectl; with `TERRARIUM_TEST_KUBECTLS=all` every one, a minute each.
#[test]
fn every_kubectl_that_is_found_does_all_it_can() {
    let world = World::new(sandbox("compatibility-kubectl"));
    let mut kubectls = kubectls();
    assert!(!kubectls.is_empty(), "no kubectl on the PATH");
    if kubectls.len() > 2 && std::env::var_os("TERRARIUM_TEST_KUBECTLS").is_none_or(|which| which != "all") {
        kubectls.drain(1..kubectls.len() - 1);
    }
    // One after the other: they taint and cordon the same nodes.
    for kubectl in kubectls {
        let outcome = world.kubectl(&kubectl).unwrap_or_else(|error| panic!("{}: {error}", kubectl.display()));
        assert!(outcome.cases.len() > 100, "{}: {}", outcome.client, outcome.cases.len());
        let surprises = outcome.surprises();
        assert!(surprises.is_empty(), "{surprises:#?}\n{}", world.description(&outcome));
    }
}

#[test]
fn clients_of_registries_do_all_they_can() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let python = installed("clients in Python", install_python(&folder.join("python")));
    let node = installed("the client in JavaScript", install_node(&folder.join("node")));
    let rust = installed("the client in Rust", build_rust(&folder.join("rust")));
    if python.is_none() && node.is_none() && rust.is_none() {
        return;
    }
    let world = World::new(sandbox("compatibility-clients"));
    let python = python.map(|python| world.python(&python).expect("results")).unwrap_or_default();
    let node = node.map(|modules| world.node(&modules).expect("results"));
    let rust = rust.map(|program| world.rust(&program).expect("results"));
    for outcome in python.iter().chain(&node).chain(&rust) {
        assert_eq!(outcome.surprises(), Vec::<String>::new());
    }
}

#[test]
fn requests_by_the_served_documents_get_no_server_error() {
    let _campaign = campaign();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients/schemas");
    let Some(schemathesis) = installed("schemathesis", schemas::install(&folder)) else { return };
    let tried = schemas::run(&sandbox("schemas"), &schemathesis, Duration::from_secs(30), 1);
    let tried = tried.unwrap_or_else(|error| panic!("{error}"));
    print!("{}", schemas::table(&tried));
    schemas::judged(&tried).unwrap_or_else(|error| panic!("{error}"));
}
