// SPDX-License-Identifier: Apache-2.0
//! Check that only the vocabulary writes out keys of annotations, labels, finalizers and taints, versions of groups, and
//! patterns of clusters' names.
//!
//! The vocabulary is `api`: `api::constants`, `api::cluster`, and the kinds themselves. In the product code of all other
//! rooms, a string literal is refused if it contains `gardener.cloud/` or `sapcloud.io/`, or begins with `seed--` or
//! `shoot--`. Exempt are comments, tests (which expect literals, or a wrong constant would pass), and literals with white
//! space: there the key is part of a sentence or of a manifest, and the whole text is easier to read.

use super::Findings;

/// Substrings of keys and versions of groups.
const MARKS: [&str; 2] = ["gardener.cloud/", "sapcloud.io/"];

/// Prefixes of clusters' names.
const CLUSTERS: [&str; 2] = ["seed--", "shoot--"];

/// Folders that contain no product code, or the vocabulary itself.
const FREE: [&str; 4] = ["crates/api/", "crates/testkit/", "e2e/", "xtask/"];

pub(super) fn check(name: &str, source: &str, findings: &mut Findings) {
    if !is_product(name) {
        return;
    }
    for (line, literal) in literals(without_tests(source)) {
        if CLUSTERS.iter().any(|prefix| literal.starts_with(prefix)) {
            findings.error(format!("{name}:{line}: \"{literal}\" is the name of a cluster: use `api::cluster`"));
        }
        if is_key(literal) {
            findings.error(format!(
                "{name}:{line}: \"{literal}\" is written out: use its constant of `api::constants`, or add one"
            ));
        }
    }
}

/// True if a file belongs to the product: in a folder `src`, and not a module of tests.
fn is_product(name: &str) -> bool {
    let is_tests = name.contains("/tests/") || name.ends_with("/tests.rs");
    name.contains("/src/") && !is_tests && !FREE.iter().any(|folder| name.starts_with(folder))
}

/// True if a literal is a key or a version, alone or in a selector, a path or a pattern.
fn is_key(literal: &str) -> bool {
    MARKS.iter().any(|mark| literal.contains(mark)) && !literal.contains(char::is_whitespace)
}

/// Returns a file without its module of tests, which is at its end.
fn without_tests(source: &str) -> &str {
    let is_start = |at: usize| {
        let after = source[at..].trim_start_matches("#[cfg(test)]").trim_start();
        after.starts_with("mod ") && after.lines().next().is_some_and(|line| line.ends_with('{'))
    };
    let start = source.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(|at| is_start(*at));
    &source[..start.unwrap_or(source.len())]
}

/// Returns the string literals of code as written, without quotes, each with the number of its first line.
pub(super) fn literals(source: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(character) = source[at..].chars().next() {
        let rest = &source[at..];
        let (begin, length, end) = if rest.starts_with("//") {
            (0, rest.find('\n').unwrap_or(rest.len()), 0)
        } else if rest.starts_with("/*") {
            (0, rest.find("*/").map_or(rest.len(), |end| end + 2), 0)
        } else if character == '\'' {
            (0, quoted_character(rest), 0)
        } else if character == '"' {
            (1, text_length(&rest[1..]), 1)
        } else if let Some(hashes) = raw_hashes(source, at) {
            let close = format!("\"{}", "#".repeat(hashes));
            let body = &rest[hashes + 2..];
            (hashes + 2, body.find(&close).unwrap_or(body.len()), close.len())
        } else {
            (0, character.len_utf8(), 0)
        };
        if end > 0 {
            let line = source[..at].matches('\n').count() + 1;
            found.push((line, &rest[begin..begin + length]));
        }
        at = (at + begin + length + end).min(source.len());
    }
    found
}

/// Length in bytes of a text up to its closing quote.
fn text_length(text: &str) -> usize {
    let mut is_escaped = false;
    let close = text.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    close.unwrap_or(text.len())
}

/// Length in bytes of a character literal; for a lifetime that of the apostrophe.
fn quoted_character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((escaped, _))) => {
            rest[escaped + 1..].find('\'').map_or(1, |close| escaped + 1 + close + 1)
        }
        (Some(_), Some((close, '\''))) => close + 1,
        _ => 1,
    }
}

/// Number of `#` of the raw string that begins at a place; `None`: no raw string begins there.
fn raw_hashes(source: &str, at: usize) -> Option<usize> {
    let after = source[at..].strip_prefix('r')?;
    let is_part_of_name = source[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    let hashes = after.len() - after.trim_start_matches('#').len();
    let opens = after[hashes..].starts_with('"') && (!is_part_of_name || source[..at].ends_with('b'));
    opens.then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(name: &str, source: &str) -> Vec<String> {
        let mut findings = Findings::default();
        check(name, source, &mut findings);
        findings.errors
    }

    #[test]
    fn a_key_outside_api_is_refused_in_every_form() {
        for literal in [
            "gardener.cloud/operation",
            "shoot.gardener.cloud/tasks",
            "core.gardener.cloud/v1beta1",
            "gardener.cloud/role=shoot",
            ".metadata.annotations[gardener.cloud/operation]",
            "name.seed.gardener.cloud/{}=true",
            "/apis/core.gardener.cloud/v1beta1/shoots",
            "machine.sapcloud.io/v1alpha1",
            "node.machine.sapcloud.io/update-result",
        ] {
            for source in
                [format!("f(\"{literal}\");\n"), format!("f(r#\"{literal}\"#);\n"), format!("f(b\"{literal}\")")]
            {
                assert_eq!(
                    refused("scheduler/src/lib.rs", &source),
                    [format!(
                        "scheduler/src/lib.rs:1: \"{literal}\" is written out: use its constant of `api::constants`, or add one"
                    )],
                    "{source}"
                );
            }
        }
    }

    #[test]
    fn the_name_of_a_cluster_outside_api_is_refused() {
        for literal in ["seed--", "seed--{}", "shoot--{project}--{name}"] {
            let expected = format!("host/src/lib.rs:1: \"{literal}\" is the name of a cluster: use `api::cluster`");
            assert_eq!(refused("host/src/lib.rs", &format!("f(\"{literal}\");\n")), [expected]);
        }
        let prose = "f(\"a cluster is seed--NAME\");\n";
        assert_eq!(refused("host/src/lib.rs", prose), Vec::<String>::new());
    }

    #[test]
    fn literals_that_are_no_keys_pass() {
        for source in [
            "f(\"the annotation gardener.cloud/operation is missing\");\n",
            "f(\"apiVersion: core.gardener.cloud/v1beta1\\nkind: Shoot and more\");\n",
            "f(\"apiVersion: core.gardener.cloud/v1beta1\n\");\n",
            "f(\"core.gardener.cloud\");\n",
            "f(\"gardener.cloud:system:seeds\");\n",
            "f(\"kubernetes.io/hostname\");\n",
            "/// As `\"gardener.cloud/operation\"`.\n",
            "f(1); // \"gardener.cloud/operation\"\n",
            "/* \"gardener.cloud/operation\" */\n",
            "f(annotation::OPERATION);\n",
        ] {
            assert_eq!(refused("scheduler/src/lib.rs", source), Vec::<String>::new(), "{source}");
        }
    }

    #[test]
    fn tests_and_the_vocabulary_itself_write_keys_out() {
        let source = "f(\"gardener.cloud/operation\");\n";
        for name in [
            "crates/api/src/constants/annotation.rs",
            "crates/api/src/core/shoot.rs",
            "crates/testkit/src/lib.rs",
            "crates/domain/src/maintenance/tests.rs",
            "crates/eventlog/src/sled/tests/damage.rs",
            "crates/domain/tests/vectors/main.rs",
            "crates/domain/benches/rules.rs",
            "e2e/src/lib.rs",
            "xtask/src/tidy/vocabulary.rs",
        ] {
            assert_eq!(refused(name, source), Vec::<String>::new(), "{name}");
        }
        let module = format!("fn a() {{}}\n\n#[cfg(test)]\nmod tests {{\n    {source}}}\n");
        assert_eq!(refused("scheduler/src/lib.rs", &module), Vec::<String>::new());
    }

    #[test]
    fn helpers_of_tests_do_not_end_the_search() {
        for above in ["#[cfg(test)]\nmod tests;\n", "#[cfg(test)]\nfn helper() {}\n"] {
            let source = format!("{above}f(\"gardener.cloud/operation\");\n");
            let expected = "scheduler/src/lib.rs:3: \"gardener.cloud/operation\" is written out: use its constant of `api::constants`, or add one";
            assert_eq!(refused("scheduler/src/lib.rs", &source), [expected]);
        }
    }

    #[test]
    fn literals_are_distinguished_from_similar_code() {
        let source =
            r##"f('"', '\'', '\\', "a\"b", 'x: loop {}, r"c", r#"d"e"#, br"f", for"g", &'static str, "h\\", 'ä', "")"##;
        let found: Vec<&str> = literals(source).into_iter().map(|(_, literal)| literal).collect();
        assert_eq!(found, ["a\\\"b", "c", "d\"e", "f", "g", "h\\\\", ""]);
    }
}
