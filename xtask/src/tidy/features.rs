// SPDX-License-Identifier: Apache-2.0
//! Check of `cargo metadata` against the licences, bans and features of `deny.toml`.
//!
//! The file is cargo-deny's, which takes minutes to build, so CI has this check. It reads `licenses.allow`, `bans.deny` and
//! `bans.features`, and refuses crates from Git repositories.

use std::iter::Peekable;
use std::path::Path;
use std::str::SplitWhitespace;

use serde_json::Value;
use toml_edit::{DocumentMut, Item};

use super::{Findings, items, read, text};

/// A forbidden crate, or a forbidden feature of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ban {
    name: String,
    /// Name of the feature; `None`: the crate itself.
    feature: Option<String>,
    reason: String,
}

/// Rules in `deny.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rules {
    /// Identifiers of SPDX, with their exceptions.
    licences: Vec<String>,
    bans: Vec<Ban>,
}

impl Rules {
    /// Parses the file.
    ///
    /// # Errors
    /// The text is not TOML, or a list or a text is missing.
    fn parse(document: &str) -> Result<Self, String> {
        let document: DocumentMut =
            document.parse().map_err(|error: toml_edit::TomlError| format!("deny.toml: {error}"))?;
        let text = |item: Option<&Item>, what: &str| {
            item.and_then(Item::as_str).map(str::to_owned).ok_or_else(|| format!("deny.toml: {what} is no text"))
        };
        let texts = |item: Option<&Item>, what: &str| -> Result<Vec<String>, String> {
            let list = item.and_then(Item::as_array).ok_or_else(|| format!("deny.toml: {what} is no list"))?;
            list.iter()
                .map(|value| value.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or_else(|| format!("deny.toml: {what} holds something that is no text"))
        };
        let table =
            |name: &str| document.get(name).and_then(Item::as_table).ok_or_else(|| format!("deny.toml: no [{name}]"));
        let (licences, bans) = (table("licenses")?, table("bans")?);
        let mut rules = Self { licences: texts(licences.get("allow"), "licenses.allow")?, bans: Vec::new() };
        let denied = bans.get("deny").and_then(Item::as_array).ok_or("deny.toml: bans.deny is no list")?;
        for crate_ in denied.iter().filter_map(|value| value.as_inline_table()).map(|it| it.clone().into_table()) {
            rules.bans.push(Ban {
                name: text(crate_.get("crate"), "bans.deny.crate")?,
                feature: None,
                reason: text(crate_.get("reason"), "bans.deny.reason")?,
            });
        }
        if rules.bans.len() != denied.len() {
            return Err("deny.toml: an entry of bans.deny is no { crate, reason }".to_owned());
        }
        for features in bans.get("features").and_then(Item::as_array_of_tables).into_iter().flatten() {
            let name = text(features.get("crate"), "bans.features.crate")?;
            let reason = text(features.get("reason"), "bans.features.reason")?;
            for feature in texts(features.get("deny"), "bans.features.deny")? {
                rules.bans.push(Ban { name: name.clone(), feature: Some(feature), reason: reason.clone() });
            }
        }
        Ok(rules)
    }

    /// True if a licence expression of SPDX is compatible with the allowed licences: one side of each `OR`, both sides of
    /// each `AND`. A slash is the old form of `OR`. An exception (`WITH`) belongs to its licence.
    fn allow(&self, expression: &str) -> bool {
        let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words = expression.split_whitespace().peekable();
        let allowed = self.any(&mut words);
        allowed == Some(true) && words.peek().is_none()
    }

    /// Parses terms joined by `OR`, up to the end or a closing parenthesis; `None`: invalid expression.
    fn any(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let mut allowed = self.all(words)?;
        while words.next_if_eq(&"OR").is_some() {
            allowed |= self.all(words)?;
        }
        Some(allowed)
    }

    /// Parses terms joined by `AND`.
    fn all(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let mut allowed = self.one(words)?;
        while words.next_if_eq(&"AND").is_some() {
            allowed &= self.one(words)?;
        }
        Some(allowed)
    }

    /// Parses a licence, or an expression in parentheses.
    fn one(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let first = words.next().filter(|word| !matches!(*word, ")" | "AND" | "OR" | "WITH"))?;
        if first == "(" {
            let allowed = self.any(words)?;
            return words.next_if_eq(&")").map(|_| allowed);
        }
        let licence = match words.next_if_eq(&"WITH") {
            Some(_) => format!("{first} WITH {}", words.next()?),
            None => first.to_owned(),
        };
        Some(self.licences.contains(&licence))
    }
}

pub(super) fn check(root: &Path, metadata: &Value, findings: &mut Findings) -> Result<(), String> {
    let rules = Rules::parse(&read(&root.join("deny.toml"))?)?;
    let reachable = shipped(metadata);
    for package in items(metadata, "packages").iter().filter(|package| reachable.contains(&text(package, "id"))) {
        let name = text(package, "name");
        for ban in rules.bans.iter().filter(|ban| ban.feature.is_none() && ban.name == name) {
            findings.error(format!("`{name}` is in the tree: {}", ban.reason));
        }
        let licence = text(package, "license");
        if !rules.allow(licence) {
            findings
                .error(format!("`{name}` has licence `{licence}`, which licenses.allow of deny.toml does not cover"));
        }
        if text(package, "source").starts_with("git+") {
            findings.error(format!("`{name}` comes from a Git repository, not from a registry"));
        }
    }
    for node in items(&metadata["resolve"], "nodes") {
        let id = text(node, "id");
        for ban in &rules.bans {
            let Some(feature) = &ban.feature else { continue };
            let is_it = id.contains(&format!("#{}@", ban.name)) || id.contains(&format!("/{}#", ban.name));
            if is_it && items(node, "features").iter().any(|on| on == feature.as_str()) {
                findings.error(format!("feature `{feature}` of `{}` is on: {}", ban.name, ban.reason));
            }
        }
    }
    Ok(())
}

/// Packages that normal and build dependencies reach; packages for tests only are ignored.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_expressions_are_evaluated() {
        let licences = ["MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).to_vec();
        let rules = Rules { licences, ..Rules::default() };
        for (expression, allowed) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("Apache-2.0 AND ISC", true),
            ("Apache-2.0 AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND ISC", true),
            ("(MIT OR GPL-3.0) AND (GPL-2.0 OR GPL-3.0)", false),
            // `AND` binds more tightly.
            ("GPL-3.0 AND MIT OR ISC", true),
            ("MIT AND GPL-3.0 OR GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
            ("", false),
            ("MIT OR", false),
            ("MIT)", false),
            ("(MIT", false),
            ("MIT ISC", false),
        ] {
            assert_eq!(rules.allow(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn deny_toml_has_licences_crates_and_features() {
        let file = "[licenses]\nallow = [\"MIT\"]\n[bans]\ndeny = [{ crate = \"a\", reason = \"b\" }]\n\
                    [[bans.features]]\ncrate = \"c\"\ndeny = [\"d\"]\nreason = \"e\"\n";
        let ban = |name: &str, feature: Option<&str>, reason: &str| Ban {
            name: name.to_owned(),
            feature: feature.map(str::to_owned),
            reason: reason.to_owned(),
        };
        let bans = vec![ban("a", None, "b"), ban("c", Some("d"), "e")];
        assert_eq!(Rules::parse(file), Ok(Rules { licences: vec!["MIT".to_owned()], bans }));
        assert_eq!(Rules::parse("[bans]\n"), Err("deny.toml: no [licenses]".to_owned()));
        let wrong = file.replace("{ crate = \"a\", reason = \"b\" }", "\"a\"");
        assert_eq!(Rules::parse(&wrong), Err("deny.toml: an entry of bans.deny is no { crate, reason }".to_owned()));
    }
}
