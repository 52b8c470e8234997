// SPDX-License-Identifier: Apache-2.0
//! What must not slip in through feature unification, and which licences come with a dependency.

use serde_json::Value;

use super::{Findings, items, text};

/// Crate, feature, why it must stay off.
const OFF: &[(&str, &str, &str)] = &[
    ("serde_json", "preserve_order", "maps must print sorted, as Go's do"),
    ("serde_json", "arbitrary_precision", "Go's decoder tells integers from floats"),
];

/// Crates that must not be in the tree.
const ABSENT: &[(&str, &str)] = &[
    ("aws-lc-sys", "one TLS provider: ring"),
    ("openssl-sys", "one TLS provider: ring"),
    ("rand", "randomness is keyed, see `clock`"),
    ("jiff", "times are chrono"),
];

/// Licences that may come with a dependency.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Zlib",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "MPL-2.0",
    // The root certificates that come with reqwest, and are not used.
    "CDLA-Permissive-2.0",
];

pub(super) fn check(metadata: &Value, findings: &mut Findings) {
    let reachable = shipped(metadata);
    for package in items(metadata, "packages").iter().filter(|package| reachable.contains(&text(package, "id"))) {
        let name = text(package, "name");
        if let Some((_, reason)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
            findings.error(format!("`{name}` is in the tree: {reason}"));
        }
        let licence = text(package, "license");
        let allowed = |part: &str| LICENCES.contains(&part.trim_matches(['(', ')', ' ']));
        let fits = licence.split([' ', '/']).filter(|word| !matches!(*word, "OR" | "AND" | "WITH" | "")).any(allowed);
        if !fits {
            findings.error(format!("`{name}` has licence `{licence}`, which is not among the allowed ones"));
        }
    }
    for node in items(&metadata["resolve"], "nodes") {
        let id = text(node, "id");
        for (name, feature, reason) in OFF {
            let is_it = id.contains(&format!("#{name}@")) || id.contains(&format!("/{name}#"));
            if is_it && items(node, "features").iter().any(|on| on == feature) {
                findings.error(format!("feature `{feature}` of `{name}` is on: {reason}"));
            }
        }
    }
}

/// Packages that normal and build dependencies reach; what only tests use is the tests' affair.
fn shipped(metadata: &Value) -> Vec<&str> {
    let nodes = items(&metadata["resolve"], "nodes");
    let mut open: Vec<&str> = items(metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    let mut seen: Vec<&str> = Vec::new();
    while let Some(id) = open.pop() {
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let Some(node) = nodes.iter().find(|node| text(node, "id") == id) else { continue };
        for dependency in items(node, "deps") {
            if items(dependency, "dep_kinds").iter().any(|kind| kind["kind"] != "dev") {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    seen
}
