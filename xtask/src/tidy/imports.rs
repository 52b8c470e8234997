// SPDX-License-Identifier: Apache-2.0
//! Who may import whom: the table of `ARCHITECTURE.md`, checked against `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Findings, items, members, text};

/// Room and the rooms it may import. Rooms that may import anything are not listed.
const TABLE: &[(&str, &[&str])] = &[
    ("apimachinery", &["api-derive"]),
    ("api-derive", &[]),
    ("api", &["apimachinery", "api-derive"]),
    ("domain", &["api", "apimachinery"]),
    ("clock", &[]),
    ("eventlog", &["clock"]),
    ("apiextensions", &["apimachinery"]),
    ("eventlog-remote", &["eventlog", "clock"]),
    ("process", &["apimachinery", "clock"]),
    ("generic-apiserver", &["apimachinery", "eventlog", "clock", "process"]),
    ("authorizer", &["generic-apiserver", "process", "domain", "api", "apimachinery"]),
    ("controller", &["process", "apimachinery", "api", "clock"]),
    ("kube-controllers", &["controller", "process", "domain", "api", "apimachinery", "clock"]),
    ("ops", &["controller", "process", "domain", "api", "apimachinery", "clock", "eventlog"]),
    (
        "gardener-apiserver",
        &[
            "authorizer",
            "generic-apiserver",
            "process",
            "domain",
            "api",
            "apimachinery",
            "clock",
            "eventlog",
            "eventlog-remote",
        ],
    ),
    ("gardener-controller-manager", COMPONENT),
    ("gardener-scheduler", COMPONENT),
    ("gardener-admission-controller", COMPONENT),
    ("gardener-admission-controller", COMPONENT),
    ("gardenlet-sim", COMPONENT),
    ("gardener-operator", COMPONENT),
    (
        "host",
        &[
            "apiextensions",
            "authorizer",
            "generic-apiserver",
            "kube-controllers",
            "controller",
            "process",
            "domain",
            "api",
            "apimachinery",
            "eventlog",
            "eventlog-remote",
            "clock",
        ],
    ),
    ("dashboard", &["ops", "controller", "process", "domain", "api", "apimachinery", "eventlog", "clock"]),
    ("testkit", &["domain", "api", "apimachinery", "clock"]),
];

const COMPONENT: &[&str] = &["controller", "process", "domain", "api", "apimachinery", "clock"];

/// Rooms that only dev-dependencies may name, and who may.
const DEV_ONLY: &[(&str, &[&str])] = &[(
    "testkit",
    &[
        "landscape",
        "gardener-controller-manager",
        "gardener-scheduler",
        "gardener-admission-controller",
        "gardenlet-sim",
        "gardener-operator",
    ],
)];

/// Third-party crates that a room must not name: what it must never contain.
const BANNED: &[(&str, &[&str])] = &[
    ("apimachinery", &["tokio", "http", "axum", "hyper", "reqwest", "tracing"]),
    ("api", &["tokio", "http", "axum", "tracing"]),
    ("domain", &["tokio", "futures", "tracing", "rand", "http"]),
    ("ops", &["clap", "axum", "tracing"]),
    ("clock", &["serde_json", "http"]),
    ("eventlog", &["serde_json", "http", "axum"]),
    ("eventlog-remote", &["serde_json", "axum", "hyper", "reqwest"]),
];

pub(super) fn check(metadata: &Value, findings: &mut Findings) {
    let members = members(metadata);
    let names: BTreeSet<&str> = members.iter().map(|(name, _)| *name).collect();
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, package) in &members {
        let allowed = TABLE.iter().find(|(room, _)| room == name).map(|(_, allowed)| *allowed);
        for dependency in items(package, "dependencies") {
            let target = text(dependency, "name");
            let is_dev = dependency["kind"] == "dev";
            if let Some((_, banned)) = BANNED.iter().find(|(room, _)| room == name)
                && banned.contains(&target)
                && !is_dev
            {
                findings.error(format!("`{name}` must not depend on `{target}`"));
            }
            if !names.contains(target) || target == *name {
                continue;
            }
            edges.entry(name).or_default().insert(target);
            if let Some((_, users)) = DEV_ONLY.iter().find(|(room, _)| *room == target) {
                if !(is_dev && users.contains(name)) && *name != "terrarium-e2e" {
                    findings.error(format!("`{name}` must not import `{target}`: it is for tests of its users"));
                }
                continue;
            }
            if let Some(allowed) = allowed
                && !allowed.contains(&target)
            {
                findings.error(format!("`{name}` must not import `{target}`"));
            }
        }
    }
    for name in &names {
        if reaches(&edges, name, name) {
            findings.error(format!("`{name}` imports itself through others"));
        }
    }
}

fn reaches(edges: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            open.extend(edges.get(next).into_iter().flatten());
        }
    }
    false
}
