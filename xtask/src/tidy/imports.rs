// SPDX-License-Identifier: Apache-2.0
//! Allowed imports between rooms: `cargo metadata`, checked against the table of `ARCHITECTURE.md`.
//!
//! ```text
//! | room                        | may import                           | must never contain |
//! | crates/api                  | apimachinery, api-derive             | …                  |
//! | scheduler, operator         | controller, process; tests: testkit  | …                  |
//! | terrarium                   | every component, host, all below them | …                 |
//! ```
//!
//! A room is a package's folder. Allowed imports are names of packages without `gardener-`; `every component` stands for
//! all rooms outside of `crates`, `e2e` and `xtask`, and for kube-controllers; `all below them` for all imports of the
//! other rooms in the cell, recursively; `third-party only` for none, `anything` for no check. Imports after `tests:` may
//! only be dev-dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::{Findings, items, members, text};

/// Third-party crates that a room must not name: its column `must never contain`.
const BANNED: &[(&str, &[&str])] = &[
    ("apimachinery", &["tokio", "http", "axum", "hyper", "reqwest", "tracing"]),
    ("api", &["tokio", "http", "axum", "tracing"]),
    ("domain", &["tokio", "futures", "tracing", "rand", "http"]),
    ("ops", &["clap", "axum", "tracing"]),
    ("clock", &["serde_json", "http"]),
    ("eventlog", &["serde_json", "http", "axum"]),
    ("eventlog-remote", &["serde_json", "axum", "hyper", "reqwest"]),
];

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    /// Allowed imports; `None`: anything.
    imports: Option<BTreeSet<String>>,
    /// Additional dev-dependencies.
    tests: BTreeSet<String>,
    /// True if the imports of the imported rooms are allowed as well.
    has_all_below: bool,
    has_every_component: bool,
}

/// The rows of the table by folder.
///
/// # Errors
/// There is no such table, or a row without three cells.
fn table(document: &str) -> Result<BTreeMap<String, Row>, String> {
    let mut lines = document.lines().skip_while(|line| !line.starts_with("| room | may import |")).skip(2).peekable();
    if lines.peek().is_none() {
        return Err("ARCHITECTURE.md has no table that begins with `| room | may import |`".to_owned());
    }
    let mut rows = BTreeMap::new();
    for line in lines.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [rooms, imports, _] = cells[..] else {
            return Err(format!("ARCHITECTURE.md: a row of the table of rooms has three cells: {line}"));
        };
        let row = row(imports);
        for room in rooms.split(", ") {
            // A note in parentheses is only for readers.
            let room = room.split(" (").next().unwrap_or_default();
            rows.insert(room.to_owned(), row.clone());
        }
    }
    Ok(rows)
}

fn row(cell: &str) -> Row {
    let (imports, tests) = cell.split_once("; tests: ").unwrap_or((cell, ""));
    let names = |text: &str| -> BTreeSet<String> {
        text.split(", ").filter(|name| !name.is_empty()).map(|name| name.replace(" (+ remote)", "")).collect()
    };
    let mut row = Row { tests: names(tests), ..Row::default() };
    if imports == "anything" {
        return row;
    }
    let mut allowed = names(imports);
    if imports.contains("(+ remote)") {
        allowed.insert("eventlog-remote".to_owned());
    }
    row.has_all_below = allowed.remove("all below them");
    row.has_every_component = allowed.remove("every component");
    allowed.remove("third-party only");
    row.imports = Some(allowed);
    row
}

/// A package's name without `gardener-`.
fn short(name: &str) -> &str {
    name.strip_prefix("gardener-").unwrap_or(name)
}

/// Returns the rows by package, with `every component` and `all below them` expanded.
fn resolved(
    rows: &BTreeMap<String, Row>,
    folders: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> BTreeMap<String, Row> {
    let mut of_packages: BTreeMap<String, Row> = BTreeMap::new();
    for (folder, name) in folders {
        match rows.get(folder) {
            Some(row) => drop(of_packages.insert(name.clone(), row.clone())),
            None => findings.error(format!("ARCHITECTURE.md: `{folder}` has no row in the table of rooms")),
        }
    }
    for room in rows.keys().filter(|room| !folders.contains_key(*room)) {
        findings.error(format!("ARCHITECTURE.md: the table of rooms has a row for `{room}`, which is no package"));
    }
    let is_component = |folder: &str| {
        folder == "crates/kube-controllers"
            || (!folder.contains('/') && !matches!(folder, "e2e" | "xtask" | "terrarium"))
    };
    let components: BTreeSet<String> =
        folders.iter().filter(|(folder, _)| is_component(folder)).map(|(_, name)| name.clone()).collect();
    let known: BTreeSet<&String> = folders.values().collect();
    let all = of_packages.clone();
    for (name, row) in &mut of_packages {
        let Some(imports) = &mut row.imports else { continue };
        if row.has_every_component {
            imports.extend(components.iter().cloned());
        }
        for unknown in imports.iter().chain(&row.tests).filter(|import| !known.contains(import)) {
            findings.error(format!("ARCHITECTURE.md: the row of `{name}` names `{unknown}`, which is no package"));
        }
        if row.has_all_below {
            let mut open: Vec<String> = imports.iter().cloned().collect();
            while let Some(next) = open.pop() {
                let below = all.get(&next).and_then(|row| row.imports.clone()).unwrap_or_default();
                open.extend(below.into_iter().filter(|import| imports.insert(import.clone())));
            }
        }
    }
    of_packages
}

pub(super) fn check(root: &Path, metadata: &Value, findings: &mut Findings) -> Result<(), String> {
    let path = root.join("ARCHITECTURE.md");
    let document =
        std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let members = members(metadata);
    let folder = |package: &Value| {
        let manifest = Path::new(text(package, "manifest_path"));
        let folder = manifest.parent().unwrap_or(manifest);
        folder.strip_prefix(root).unwrap_or(folder).display().to_string()
    };
    let folders = members.iter().map(|(name, package)| (folder(package), short(name).to_owned())).collect();
    let rows = resolved(&table(&document)?, &folders, findings);
    check_packages(&members, &rows, findings);
    Ok(())
}

fn check_packages(members: &[(&str, &Value)], rows: &BTreeMap<String, Row>, findings: &mut Findings) {
    let names: BTreeSet<&str> = members.iter().map(|(name, _)| short(name)).collect();
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, package) in members {
        let name = short(name);
        for dependency in items(package, "dependencies") {
            let target = short(text(dependency, "name"));
            let is_dev = dependency["kind"] == "dev";
            if let Some((_, banned)) = BANNED.iter().find(|(room, _)| *room == name)
                && banned.contains(&target)
                && !is_dev
            {
                findings.error(format!("`{name}` must not depend on `{target}`"));
            }
            if !names.contains(target) || target == name {
                continue;
            }
            edges.entry(name).or_default().insert(target);
            let Some(Row { imports: Some(imports), tests, .. }) = rows.get(name) else { continue };
            let is_allowed = imports.contains(target) || (is_dev && tests.contains(target));
            if !is_allowed {
                findings
                    .error(format!("`{name}` must not import `{target}`: see the table of rooms in ARCHITECTURE.md"));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DOCUMENT: &str = "\
text

| room | may import | must never contain |
| --- | --- | --- |
| crates/a | third-party only | tokio |
| crates/b (feature `x`) | a | |
| one, two | b; tests: kit | |
| crates/kit | a | |
| terrarium | every component, all below them | |
| xtask | anything | |

more text
";

    /// Checks packages, given as `folder name: dependency dev/dependency`, and compares the findings.
    #[track_caller]
    fn check(packages: &[(&str, &str, &[&str])], expected: &[&str]) {
        let metadata: Vec<(&str, Value)> = packages
            .iter()
            .map(|(_, name, dependencies)| {
                let dependency = |text: &&str| match text.strip_prefix("dev/") {
                    Some(name) => json!({"name": name, "kind": "dev"}),
                    None => json!({"name": text, "kind": null}),
                };
                (*name, json!({"dependencies": dependencies.iter().map(dependency).collect::<Vec<_>>()}))
            })
            .collect();
        let members: Vec<(&str, &Value)> = metadata.iter().map(|(name, package)| (*name, package)).collect();
        let folders = packages.iter().map(|(folder, name, _)| ((*folder).to_owned(), short(name).to_owned())).collect();
        let mut findings = Findings::default();
        let rows = resolved(&table(DOCUMENT).expect("a table"), &folders, &mut findings);
        check_packages(&members, &rows, &mut findings);
        assert_eq!(findings.errors, expected);
    }

    fn with<'a>(two: &'a [&'a str], terrarium: &'a [&'a str]) -> Vec<(&'a str, &'a str, &'a [&'a str])> {
        vec![
            ("crates/a", "a", &["serde"]),
            ("crates/b", "b", &["a"]),
            ("one", "gardener-one", &["b", "dev/kit"]),
            ("two", "gardener-two", two),
            ("crates/kit", "kit", &["a"]),
            ("terrarium", "terrarium", terrarium),
            ("xtask", "xtask", &["terrarium"]),
        ]
    }

    #[test]
    fn a_room_imports_what_its_row_allows() {
        check(&with(&["b"], &["gardener-one", "b", "a"]), &[]);
        let refused = "must not import `a`: see the table of rooms in ARCHITECTURE.md";
        check(&with(&["a"], &[]), &[&format!("`two` {refused}")]);
        let refused = "must not import `kit`: see the table of rooms in ARCHITECTURE.md";
        check(&with(&["kit"], &["kit"]), &[&format!("`two` {refused}"), &format!("`terrarium` {refused}")]);
        check(&with(&["b", "dev/kit"], &[]), &[]);
    }

    #[test]
    fn packages_and_rows_match() {
        let mut packages = with(&["b"], &[]);
        packages[4] = ("crates/new", "kit", &["a"]);
        check(
            &packages,
            &[
                "ARCHITECTURE.md: `crates/new` has no row in the table of rooms",
                "ARCHITECTURE.md: the table of rooms has a row for `crates/kit`, which is no package",
            ],
        );
    }

    #[test]
    fn a_circle_is_found() {
        let mut packages = with(&["b"], &[]);
        packages[0].2 = &["b"];
        let refused = "must not import `b`: see the table of rooms in ARCHITECTURE.md";
        check(
            &packages,
            &[&format!("`a` {refused}"), "`a` imports itself through others", "`b` imports itself through others"],
        );
    }

    #[test]
    fn a_document_without_the_table_is_an_error() {
        assert!(table("# Architecture\n").is_err());
        assert!(table("| room | may import | must never contain |\n| --- | --- | --- |\n| a | b |\n").is_err());
    }
}
