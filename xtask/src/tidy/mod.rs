// SPDX-License-Identifier: Apache-2.0
//! Checks in addition to the compiler's: imports between rooms, resolved features, headers, docs, sizes, and literal keys.
//!
//! **Tour.** [`imports`] the table of rooms; [`docs`] names, links and numbers in documents; [`features`] licences, bans and
//! features of `deny.toml`; [`advisories`] advisories about crates; [`files`] required headers and forbidden content of
//! source files; [`vocabulary`] keys that only `api` writes out; [`language`] riddles in comments, messages and names.

mod advisories;
mod docs;
mod features;
mod files;
mod imports;
mod language;
mod vocabulary;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::root;

/// Results of the checks: errors fail, warnings are hints.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn error(&mut self, text: impl Into<String>) {
        self.errors.push(text.into());
    }

    fn warning(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

/// Runs every check.
pub(crate) fn run() -> Result<(), String> {
    let findings = check()?;
    for warning in &findings.warnings {
        println!("warning: {warning}");
    }
    for error in &findings.errors {
        println!("error: {error}");
    }
    match findings.errors.len() {
        0 => Ok(()),
        count => Err(format!("tidy found {count} errors")),
    }
}

fn check() -> Result<Findings, String> {
    let metadata = metadata()?;
    let mut findings = Findings::default();
    imports::check(&root(), &metadata, &mut findings)?;
    features::check(&root(), &metadata, &mut findings)?;
    advisories::check(&root(), &metadata, &mut findings)?;
    files::check(&root(), &metadata, &mut findings)?;
    let packages: Vec<&str> = members(&metadata).into_iter().map(|(name, _)| name).collect();
    docs::check(&root(), &files::sources(&root()), &packages, &mut findings)?;
    Ok(findings)
}

fn metadata() -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot run `cargo metadata`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cannot read `cargo metadata`: {error}"))
}

/// Returns the members of the workspace as `(name, package)`.
fn members(metadata: &Value) -> Vec<(&str, &Value)> {
    let ids: Vec<&str> = items(metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    items(metadata, "packages")
        .iter()
        .filter(|package| ids.contains(&text(package, "id")))
        .map(|package| (text(package, "name"), package))
        .collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    /// The rules need no separate step in CI: they are an ordinary test.
    #[test]
    fn workspace_is_tidy() {
        let findings = super::check().expect("cargo metadata works");
        assert_eq!(findings.errors, Vec::<String>::new());
    }
}
