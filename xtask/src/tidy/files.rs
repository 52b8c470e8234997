// SPDX-License-Identifier: Apache-2.0
//! Checks of source files: header, forbidden content, and size.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Findings, items, language, members, read, relative, text, vocabulary};

/// Number of lines from which on a file should be split.
const LONG_FILE: usize = 600;

/// Maximum length of a comment line in characters: rustfmt does not break it.
const LONG_COMMENT: usize = 132;

/// Words that are forbidden in a room's code (including tests, excluding comments), as (folder of the room, word).
const WORDS: &[(&str, &str)] = &[
    ("crates/generic-apiserver", "gardener"),
    ("crates/apimachinery", "gardener"),
    ("crates/process", "gardener"),
    ("crates/kube-controllers", "gardener"),
    ("crates/domain/src", "HashMap"),
    ("crates/domain/src", "async fn"),
];

pub(super) fn check(root: &Path, metadata: &Value, findings: &mut Findings) -> Result<(), String> {
    for (name, package) in members(metadata) {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        if !read(&manifest)?.contains("[lints]\nworkspace = true") {
            findings.error(format!("`{name}` does not take the workspace's lints"));
        }
        for target in items(package, "targets") {
            let path = PathBuf::from(text(target, "src_path"));
            let is_room =
                items(target, "kind").iter().any(|kind| kind == "lib" || kind == "bin" || kind == "proc-macro");
            if is_room && !read(&path)?.lines().nth(1).unwrap_or_default().starts_with("//! ") {
                findings.error(format!("{}: a crate opens with what it is", relative(root, &path)));
            }
        }
    }
    let files = sources(root);
    let names: BTreeSet<String> = files.iter().map(|path| relative(root, path)).collect();
    for name in with_two_forms(&names) {
        findings.error(format!("{name}: a module with modules below it is `mod.rs` in its folder"));
    }
    let (mut public, mut documented) = (0_usize, 0_usize);
    for path in files {
        let source = read(&path)?;
        let name = relative(root, &path);
        check_source(&name, &source, findings);
        vocabulary::check(&name, &source, findings);
        language::check_source(&name, &source, findings);
        let (items, with_docs) = doc_coverage(&source);
        public += items;
        documented += with_docs;
    }
    if documented < public {
        findings.warning(format!("{documented} of {public} public items and fields have a description"));
    }
    Ok(())
}

/// Files next to a folder of the same name with sources.
fn with_two_forms(names: &BTreeSet<String>) -> Vec<&str> {
    let has_folder = |name: &&String| {
        let folder = format!("{}/", name.trim_end_matches(".rs"));
        names.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    };
    names.iter().filter(has_folder).map(String::as_str).collect()
}

/// Paths of all source files, sorted.
pub(super) fn sources(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for room in ["apiserver", "controller-manager", "scheduler", "admission-controller", "operator", "gardenlet-sim"] {
        collect(&root.join(room), &mut files);
    }
    for room in ["terrarium", "dashboard", "crates", "e2e", "xtask"] {
        collect(&root.join(room), &mut files);
    }
    files.sort();
    files
}

fn check_source(name: &str, source: &str, findings: &mut Findings) {
    if !source.starts_with("// SPDX-License-Identifier: Apache-2.0\n") {
        findings.error(format!("{name}: the first line is not the licence's"));
    }
    let lines = source.lines().count();
    if lines > LONG_FILE {
        findings.warning(format!("{name}: {lines} lines; is there a second noun in it?"));
    }
    if let Some(number) = source.lines().position(|line| line.ends_with([' ', '\t'])) {
        findings.error(format!("{name}:{}: trailing white space", number + 1));
    }
    for number in long_comments(source) {
        findings.error(format!("{name}:{number}: a comment of more than {LONG_COMMENT} characters"));
    }
    let select = source.lines().position(|line| line.contains("select! {"));
    if let Some(number) = select
        && !source.lines().nth(number + 1).unwrap_or_default().contains("biased")
        && !name.starts_with("xtask/")
    {
        findings.error(format!("{name}:{}: `select!` without `biased` draws from an unseeded source", number + 1));
    }
    for (room, word) in WORDS {
        if name.starts_with(room)
            && let Some(number) = code(source).position(|line| line.to_lowercase().contains(&word.to_lowercase()))
        {
            findings.error(format!("{name}:{}: `{word}` does not belong into {room}", number + 1));
        }
    }
}

/// Numbers of the comment lines that are too long. Rows of tables and lines of code are exempt, since they cannot be
/// broken.
fn long_comments(source: &str) -> Vec<usize> {
    let (mut found, mut is_code) = (Vec::new(), false);
    for (index, line) in source.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let text = comment.trim_start_matches(['/', '!', ' ']);
        is_code ^= text.starts_with("```");
        if !is_code && !text.starts_with('|') && line.chars().count() > LONG_COMMENT {
            found.push(index + 1);
        }
    }
    found
}

/// Lines of a source file, with comment lines replaced by empty ones.
fn code(source: &str) -> impl Iterator<Item = &str> {
    source.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line })
}

/// Number of public items and fields, and number of those with a doc comment.
fn doc_coverage(source: &str) -> (usize, usize) {
    let (mut items, mut documented, mut has_doc) = (0, 0, false);
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("///") {
            has_doc = true;
        } else if line.starts_with("pub ") && !line.starts_with("pub use") && !line.starts_with("pub mod") {
            items += 1;
            documented += usize::from(has_doc);
            has_doc = false;
        } else if !line.starts_with("#[") {
            has_doc = false;
        }
    }
    (items, documented)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_broken_but_for_tables_and_code() {
        let long = "x ".repeat(70);
        let source = format!(
            "//! {long}\n//! | {long}|\n//! ```text\n//! {long}\n//! ```\nlet a = \"{long}\";\n    // {long}\n// short\n"
        );
        assert_eq!(long_comments(&source), [1, 7]);
    }

    #[test]
    fn a_module_with_modules_below_it_has_one_form() {
        let names = ["a/b.rs", "a/b/c.rs", "a/d.rs", "a/d/mod.rs", "a/e/mod.rs", "a/e/f.rs", "a/eg.rs"];
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(with_two_forms(&names), ["a/b.rs", "a/d.rs"]);
    }
}
