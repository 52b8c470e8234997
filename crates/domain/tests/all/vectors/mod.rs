// SPDX-License-Identifier: Apache-2.0
//! Runs recorded vectors through the product's own functions.
//!
//! Reads every `maintenance-*.jsonl`, `rollout-*.jsonl` and `skew-*.jsonl` of `tests/all/vectors`, or of the directory
//! that the environment variable `TERRARIUM_VECTORS` names. A vector of era `head` follows a later release and is left
//! out. Every failing vector is printed with what was expected and what came; the last line counts.

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

/// What came of a vector.
pub(crate) enum Verdict {
    /// What the product says, to be compared with the vector's expectation.
    Actual(Value),
    /// The runner compared by itself: what differs, or nothing.
    Compared(Result<(), String>),
    /// The product has no function for it.
    Skipped,
    /// The product has no function for this part of it.
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

/// Which function a vector is about, as its family names it.
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
            // A vector that panics fails alone.
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
