// SPDX-License-Identifier: Apache-2.0
//! Runs recorded vectors with the product's own functions.
//!
//! Reads every `maintenance-*.jsonl`, `rollout-*.jsonl` and `skew-*.jsonl` in `tests/all/vectors`, or in the directory of
//! the environment variable `TERRARIUM_VECTORS`. Vectors of era `head` follow a later release and are skipped. Every
//! failing vector is printed with the expected and the actual result; the last line contains the counts.

mod admission;
mod maintenance;
mod objects;
mod skew;
mod validation;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;

use crate::world;

/// Result of a vector.
pub(crate) enum Verdict {
    /// Result of the product, to be compared with the vector's expectation.
    Actual(Value),
    /// Result of a comparison by the runner: the difference, or nothing.
    Compared(Result<(), String>),
    /// The product has no function for the vector.
    Skipped,
    /// The product has no function for this part of the vector.
    Missing(&'static str),
}

fn run(family: &str, vector: &Value) -> Verdict {
    match family {
        "maintenance" => match maintenance::run(vector) {
            Verdict::Skipped => match validation::maintenance(vector) {
                Verdict::Skipped => admission::maintenance(vector),
                verdict => verdict,
            },
            verdict => verdict,
        },
        "rollout" if vector["kind"] == "rule" => {
            let rule = vector["rule"].as_str().unwrap_or_default();
            match world::apply_rule(rule, &vector["input"], &vector["expect"]) {
                Some(answer) => Verdict::Actual(answer),
                None => match validation::rollout(vector) {
                    Verdict::Skipped => admission::rollout(vector),
                    verdict => verdict,
                },
            }
        }
        "rollout" => match world::trace::missing(vector) {
            Some(what) => Verdict::Missing(what),
            None => Verdict::Compared(world::trace::play(vector)),
        },
        "skew" => skew::run(vector),
        _ => Verdict::Skipped,
    }
}

/// Returns the name of the function that a vector tests, by the keys of its family.
fn operation(vector: &Value) -> String {
    let name = |key| vector.get(key).and_then(Value::as_str);
    name("op").or_else(|| name("rule")).or_else(|| name("kind")).unwrap_or("?").to_owned()
}

#[test]
fn vectors_agree_with_the_product() {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/all/vectors");
    let directory = std::env::var_os("TERRARIUM_VECTORS").map_or(own, PathBuf::from);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .expect("the directory of vectors can be read")
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();

    let mut out = std::io::stdout();
    let (mut total, mut failed, mut skipped) = (0, 0, BTreeMap::<String, usize>::new());
    for path in files {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let Some(family) =
            ["maintenance", "rollout", "skew"].into_iter().find(|family| name.starts_with(&format!("{family}-")))
        else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a file of vectors can be read");
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let vector: Value = serde_json::from_str(line).expect("a vector is one JSON object per line");
            if vector["era"] == "head" {
                continue;
            }
            total += 1;
            let expected = vector.get("out").or_else(|| vector.get("expect")).cloned().unwrap_or_default();
            // A vector that panics does not stop the others.
            let verdict = std::panic::catch_unwind(|| run(family, &vector))
                .unwrap_or_else(|_| Verdict::Compared(Err(format!("expected {expected}\n  actual   a panic"))));
            let difference = match verdict {
                Verdict::Actual(actual) if actual == expected => None,
                Verdict::Actual(actual) => Some(format!("expected {expected}\n  actual   {actual}")),
                Verdict::Compared(Ok(())) => None,
                Verdict::Compared(Err(difference)) => Some(difference),
                Verdict::Skipped => {
                    *skipped.entry(format!("{family} {}", operation(&vector))).or_default() += 1;
                    None
                }
                Verdict::Missing(what) => {
                    *skipped.entry(format!("{family} {} ({what})", operation(&vector))).or_default() += 1;
                    None
                }
            };
            if let Some(difference) = difference {
                failed += 1;
                writeln!(out, "{} {}: {}\n  {difference}", family, vector["id"], vector["why"]).expect("stdout");
            }
        }
    }
    for (operation, count) in &skipped {
        writeln!(out, "skipped {count}: {operation}").expect("stdout");
    }
    let skipped: usize = skipped.values().sum();
    writeln!(out, "{total} vectors, {failed} failed, {skipped} skipped").expect("stdout");
    assert_eq!(failed, 0, "{failed} vectors failed");
}
