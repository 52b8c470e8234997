// SPDX-License-Identifier: Apache-2.0
//! Check of the tree's crates against the advisories in `docs/development/advisories.toml`, without network access.
//!
//! An advisory for a version in the tree without a decision is an error, and so is a decision without such an advisory. A
//! crate that is missing in the table is a warning. `advisories.ignore` of `deny.toml`, which cargo-deny reads, names
//! exactly the advisories with a decision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use semver::{Version, VersionReq};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike};

use super::{Findings, items, read, text};

const FILE: &str = "docs/development/advisories.toml";

/// An advisory.
#[derive(Clone, Debug)]
struct Advisory {
    crate_: String,
    kind: String,
    /// Unaffected versions.
    fixed: Vec<VersionReq>,
}

/// Content of the table.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    as_of: String,
    /// Advisories by id.
    advisories: BTreeMap<String, Advisory>,
    /// Ids of accepted advisories.
    decided: BTreeSet<String>,
    /// Crates whose advisories are all in the table.
    looked_up: BTreeSet<String>,
}

impl Snapshot {
    /// Reads the table.
    ///
    /// # Errors
    /// The document is not TOML, a field is missing, or a version is invalid.
    fn parse(document: &str) -> Result<Self, String> {
        let document: DocumentMut =
            document.parse().map_err(|error: toml_edit::TomlError| format!("{FILE}: {error}"))?;
        let table =
            |name: &str| document.get(name).and_then(Item::as_table).ok_or_else(|| format!("{FILE}: no [{name}]"));
        let text = |table: &dyn TableLike, field: &str, of: &str| {
            let found = table.get(field).and_then(Item::as_str).map(str::to_owned);
            found.ok_or_else(|| format!("{FILE}: {field} of {of} is no text"))
        };
        let mut snapshot = Self { as_of: text(document.as_table(), "as_of", "the file")?, ..Self::default() };
        for (id, entry) in table("advisories")? {
            let entry = entry.as_table_like().ok_or_else(|| format!("{FILE}: {id} is no table"))?;
            let fixed =
                texts(entry.get("fixed")).ok_or_else(|| format!("{FILE}: fixed of {id} is no list of texts"))?;
            let fixed: Result<Vec<VersionReq>, String> = fixed
                .iter()
                .map(|text| text.parse().map_err(|error| format!("{FILE}: {id}: {text:?}: {error}")))
                .collect();
            let (crate_, kind) = (text(entry, "crate", id)?, text(entry, "kind", id)?);
            snapshot.advisories.insert(id.to_owned(), Advisory { crate_, kind, fixed: fixed? });
        }
        for (id, _) in table("decisions")? {
            text(table("decisions")?, id, "decisions")?;
            snapshot.decided.insert(id.to_owned());
        }
        let looked_up = texts(table("looked_up")?.get("crates"));
        snapshot.looked_up =
            looked_up.ok_or_else(|| format!("{FILE}: looked_up.crates is no list of texts"))?.into_iter().collect();
        Ok(snapshot)
    }

    /// Checks crates of the tree, each with its version.
    fn judge(&self, crates: &[(&str, Version)], findings: &mut Findings) {
        let mut met = BTreeSet::new();
        for (name, version) in crates {
            if !self.looked_up.contains(*name) {
                let as_of = &self.as_of;
                findings.warning(format!(
                    "{FILE} is of {as_of} and does not know `{name}`: look its advisories up, and add it to looked_up"
                ));
            }
            for (id, advisory) in self.advisories.iter().filter(|(_, advisory)| advisory.crate_ == *name) {
                if advisory.fixed.iter().any(|fixed| fixed.matches(version)) {
                    continue;
                }
                met.insert(id.clone());
                if !self.decided.contains(id) {
                    let kind = &advisory.kind;
                    findings.error(format!(
                        "{id} ({kind}) concerns `{name}` {version}: take another version, or say in `decisions` of {FILE} why it \
                         is lived with"
                    ));
                }
            }
        }
        for id in self.decided.difference(&met) {
            findings.error(format!(
                "{FILE} decides about {id}, which concerns no crate of Cargo.lock: remove the decision"
            ));
        }
    }
}

/// A list of texts.
fn texts(item: Option<&Item>) -> Option<Vec<String>> {
    item?.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

pub(super) fn check(root: &Path, metadata: &Value, findings: &mut Findings) -> Result<(), String> {
    let snapshot = Snapshot::parse(&read(&root.join(FILE))?)?;
    let ignored = ignored(&read(&root.join("deny.toml"))?)?;
    if ignored != snapshot.decided {
        let decided: Vec<&str> = snapshot.decided.iter().map(String::as_str).collect();
        let decided = decided.join(", ");
        findings.error(format!("advisories.ignore of deny.toml names others than `decisions` of {FILE}: {decided}"));
    }
    let registered = items(metadata, "packages").iter().filter(|package| !text(package, "source").is_empty());
    let crates: Result<Vec<(&str, Version)>, String> = registered
        .map(|package| {
            let (name, version) = (text(package, "name"), text(package, "version"));
            version.parse().map(|version| (name, version)).map_err(|error| format!("{name} {version}: {error}"))
        })
        .collect();
    snapshot.judge(&crates?, findings);
    Ok(())
}

/// Ids that cargo-deny ignores.
fn ignored(deny: &str) -> Result<BTreeSet<String>, String> {
    let document: DocumentMut = deny.parse().map_err(|error: toml_edit::TomlError| format!("deny.toml: {error}"))?;
    let list = document.get("advisories").and_then(|table| table.get("ignore")).and_then(Item::as_array);
    let list = list.ok_or("deny.toml: advisories.ignore is no list")?;
    let id = |value: &toml_edit::Value| value.as_inline_table()?.get("id")?.as_str().map(str::to_owned);
    list.iter()
        .map(|value| id(value).ok_or_else(|| "deny.toml: an entry of advisories.ignore has no id".to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "as_of = \"2026-01-01\"\n[advisories]\nA-1 = { crate = \"a\", kind = \"unsound\", fixed = [\">=1.2\", \
                         \"^0.9.4\"] }\nA-2 = { crate = \"b\", kind = \"unmaintained\", fixed = [] }\n[decisions]\nA-2 = \"why\"\n\
                         [looked_up]\ncrates = [\"a\", \"b\"]\n";

    /// Number of errors, number of warnings and first text for crates of a tree.
    fn judged(table: &str, crates: &[(&str, &str)]) -> (usize, usize, String) {
        let crates: Vec<(&str, Version)> =
            crates.iter().map(|(name, version)| (*name, version.parse().expect("a version"))).collect();
        let mut findings = Findings::default();
        Snapshot::parse(table).expect("a table").judge(&crates, &mut findings);
        let first = findings.errors.iter().chain(&findings.warnings).next().cloned().unwrap_or_default();
        (findings.errors.len(), findings.warnings.len(), first)
    }

    #[test]
    fn an_advisory_without_a_decision_fails() {
        for (a, errors) in [("1.2.0", 0), ("0.9.5", 0), ("1.1.9", 1), ("0.9.3", 1)] {
            let (found, warnings, first) = judged(TABLE, &[("a", a), ("b", "0.1.0")]);
            assert_eq!((found, warnings), (errors, 0), "{a}: {first}");
            assert!(errors == 0 || first.starts_with(&format!("A-1 (unsound) concerns `a` {a}: ")), "{first}");
        }
    }

    #[test]
    fn superfluous_decisions_fail_and_unknown_crates_are_reported() {
        let (errors, warnings, first) = judged(TABLE, &[("a", "1.2.0")]);
        assert_eq!((errors, warnings), (1, 0));
        assert!(first.contains("decides about A-2"), "{first}");
        let (errors, warnings, first) = judged(TABLE, &[("b", "1.0.0"), ("c", "1.0.0")]);
        assert_eq!((errors, warnings), (0, 1));
        assert!(first.contains("does not know `c`"), "{first}");
    }

    #[test]
    fn a_table_without_its_parts_is_refused() {
        for (part, without) in [
            ("[decisions]\nA-2 = \"why\"\n", "no [decisions]"),
            ("as_of = \"2026-01-01\"\n", "as_of of the file is no text"),
            ("kind = \"unsound\", ", "kind of A-1 is no text"),
        ] {
            let error = Snapshot::parse(&TABLE.replace(part, "")).expect_err("it lacks a part");
            assert!(error.ends_with(without), "{error}");
        }
        assert!(Snapshot::parse(&TABLE.replace(">=1.2", "new")).is_err());
    }

    #[test]
    fn ignored_ids_are_read() {
        let ids = ignored("[advisories]\nignore = [{ id = \"A-1\", reason = \"b\" }]\n").expect("a list");
        assert_eq!(ids, BTreeSet::from(["A-1".to_owned()]));
        assert!(ignored("[advisories]\n").is_err());
    }
}
