// SPDX-License-Identifier: Apache-2.0
//! Checks of documents: tests, scripts and files that they name exist, and decisions are numbered like their files. Items
//! that newcomers implement or call first have an example in their doc comment, which runs as a test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Findings, language, read, relative};

/// Items that must have an example: file, declaration.
const EXAMPLES: &[(&str, &str)] = &[
    ("crates/controller/src/runner.rs", "pub struct Controller"),
    ("crates/generic-apiserver/src/registry.rs", "pub trait Strategy"),
    ("crates/generic-apiserver/src/admission.rs", "pub trait Plugin"),
    ("crates/eventlog/src/log.rs", "pub trait EventLog"),
    ("crates/testkit/src/world/mod.rs", "pub struct World"),
];

/// Names of the tree that a document may use.
#[derive(Debug, Default)]
struct KnownNames {
    /// Functions of any source file.
    functions: BTreeSet<String>,
    /// Packages and modules, by their last name, and files of recorded data.
    places: BTreeSet<String>,
    /// Scripts of `e2e/scripts`, with `_` for `-`.
    scripts: BTreeSet<String>,
}

/// Checks all documents. `sources` are the paths of all source files, `packages` the names of the workspace's members.
///
/// # Errors
/// A file cannot be read.
pub(super) fn check(
    root: &Path,
    sources: &[PathBuf],
    packages: &[&str],
    findings: &mut Findings,
) -> Result<(), String> {
    let mut known = KnownNames::default();
    known.places.extend(packages.iter().map(|name| (*name).to_owned()));
    for path in sources {
        known.functions.extend(functions(&read(path)?));
        known.places.extend(path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()));
    }
    for path in files_of(&root.join("e2e/scripts")) {
        known.scripts.insert(stem(&path).replace('-', "_"));
    }
    for path in files_of(&root.join("crates/domain/tests/all/vectors")) {
        known.places.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    }
    for (file, item) in EXAMPLES {
        if !has_example(&read(&root.join(file))?, item) {
            findings.error(format!("{file}: the doc comment of `{item}` has no example that runs"));
        }
    }
    let fidelity = root.join("docs/fidelity.md");
    check_names(&relative(root, &fidelity), &read(&fidelity)?, &known, findings);
    for path in documents(root) {
        let name = relative(root, &path);
        let text = read(&path)?;
        language::check_document(&relative(root, &path), &text, findings);
        check_links(&name, &text, |target| path.parent().unwrap_or(root).join(target).exists(), findings);
        if name.starts_with("docs/adr/") {
            check_number(&name, &text, findings);
        }
    }
    Ok(())
}

/// True if the doc comment of an item has a code block that runs as a test.
fn has_example(source: &str, item: &str) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let declares = |line: &&str| {
        line.strip_prefix(item)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    };
    let Some(at) = lines.iter().position(declares) else { return false };
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
    let mut comment: Vec<&str> = above.copied().collect();
    comment.reverse();
    let fences: Vec<&str> = comment.into_iter().filter(|line| line.starts_with("/// ```")).collect();
    // Every second fence closes a block.
    fences.chunks(2).any(|fence| fence[0] == "/// ```")
}

/// Names in the last column of tables whose last column is `test`: each is a function, a script, a module or a package.
fn check_names(document: &str, text: &str, known: &KnownNames, findings: &mut Findings) {
    let mut header: Option<Vec<&str>> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(row) = line.strip_prefix('|').and_then(|line| line.trim_end().strip_suffix('|')) else {
            header = None;
            continue;
        };
        // A bar in code is written `\|`.
        let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
        let Some(columns) = &header else {
            header = Some(cells);
            continue;
        };
        if columns.last() != Some(&"test") || row.trim_start().starts_with("---") {
            continue;
        }
        let place = format!("{document}:{}", number + 1);
        if cells.len() != columns.len() {
            findings.error(format!("{place}: the row has {} cells, the table {}", cells.len(), columns.len()));
            continue;
        }
        let tests = cells.last().copied().unwrap_or_default();
        for name in tests.split('`').skip(1).step_by(2).filter(|name| !is_known(name, known)) {
            findings.error(format!("{place}: there is no test, script or module `{name}`"));
        }
    }
}

fn is_known(name: &str, known: &KnownNames) -> bool {
    // `…_surge` stands for the ending of a script's name, after a script that is named in full.
    if let Some(end) = name.strip_prefix('…') {
        return known.scripts.iter().any(|script| script.ends_with(end));
    }
    let last = name.rsplit("::").next().unwrap_or(name);
    known.functions.contains(name)
        || known.scripts.contains(name)
        || known.places.contains(last)
        || known.functions.contains(last) && name.contains("::")
}

/// Checks that linked files exist. Anchors within a document are ignored.
fn check_links(document: &str, text: &str, exists: impl Fn(&str) -> bool, findings: &mut Findings) {
    for (number, line) in text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else { continue };
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !exists(file) {
                findings.error(format!("{document}:{}: the link leads nowhere: {target}", number + 1));
            }
        }
    }
}

/// Checks that the title of a decision begins with the number of its file.
fn check_number(document: &str, text: &str, findings: &mut Findings) {
    let file = document.rsplit('/').next().unwrap_or(document);
    let number = file.split('-').next().unwrap_or_default().trim_start_matches('0');
    let title = text.lines().next().unwrap_or_default();
    if !title.starts_with(&format!("# {number}. ")) {
        findings.error(format!("{document}: the title does not begin with `# {number}. `: {title}"));
    }
}

/// Names of the functions of a source file.
fn functions(source: &str) -> impl Iterator<Item = String> + '_ {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    source.split("fn ").skip(1).map(move |rest| rest.chars().take_while(|it| is_part(*it)).collect())
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)).into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cell: &str, expected: &[&str]) {
        let known = KnownNames {
            functions: functions("fn a_test_of_this() {}\nasync fn another<T>() {}").collect(),
            places: ["drain", "eventlog"].map(str::to_owned).into(),
            scripts: ["roll_out_surge"].map(str::to_owned).into(),
        };
        let text = format!("| behaviour | test |\n| --- | --- |\n| it holds, `not_looked_at` | {cell} |\n");
        let mut findings = Findings::default();
        check_names("f.md", &text, &known, &mut findings);
        assert_eq!(findings.errors, expected);
    }

    #[test]
    fn names_of_tests_scripts_and_modules_exist() {
        check("`a_test_of_this`, `another`, script `roll_out_surge`, `domain::drain`, `…_surge` of `eventlog`", &[]);
        check("`a_test_of_that`", &["f.md:3: there is no test, script or module `a_test_of_that`"]);
        check("`domain::rain`", &["f.md:3: there is no test, script or module `domain::rain`"]);
        check("one | two", &["f.md:3: the row has 3 cells, the table 2"]);
    }

    #[test]
    fn tables_without_a_column_of_tests_are_not_looked_at() {
        let mut findings = Findings::default();
        let text = "| behaviour | upstream |\n| --- | --- |\n| a | `unknown` |\n";
        check_names("f.md", text, &KnownNames::default(), &mut findings);
        assert_eq!(findings.errors, [""; 0]);
    }

    #[test]
    fn links_to_files_that_are_not_there_are_found() {
        let mut findings = Findings::default();
        let text = "[a](a.md) [b](b.md#c)\n[c](#here) [d](https://example.org/d.md)\n";
        check_links("f.md", text, |target| target == "a.md", &mut findings);
        assert_eq!(findings.errors, ["f.md:1: the link leads nowhere: b.md#c"]);
    }

    #[test]
    fn an_example_is_a_tested_code_block() {
        let with =
            |fence: &str| format!("/// A.\n///\n/// ```{fence}\n/// a();\n/// ```\n#[derive(Debug)]\npub struct A;\n");
        assert!(has_example(&with(""), "pub struct A"));
        assert!(!has_example(&with("text"), "pub struct A"));
        assert!(!has_example(&format!("/// ```text\n/// ```\n{}", with("ignore")), "pub struct A"));
        assert!(!has_example(&with(""), "pub struct B"));
        let other = format!("{}\npub struct AB {{}}\n", with(""));
        assert!(!has_example(&other, "pub struct AB"), "the example is that of another item");
    }

    #[test]
    fn the_number_of_a_decision_is_that_of_its_file() {
        for (title, errors) in [("# 6. Title", 0), ("# 5. Title", 1), ("# 61. Title", 1), ("Title", 1)] {
            let mut findings = Findings::default();
            check_number("docs/adr/0006-title.md", title, &mut findings);
            assert_eq!(findings.errors.len(), errors, "{title}");
        }
    }
}
