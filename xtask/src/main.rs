// SPDX-License-Identifier: Apache-2.0
//! Development tasks: CI runs `cargo xtask test`, with the same order of checks.
//!
//! **Tour.** [`tidy`] checks what the compiler does not; [`ci`] runs every check and the benchmarks, and builds the image;
//! [`kubernetes_gates`] generates tables.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod ci;
mod kubernetes_gates;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  test [--long]   every check: format, clippy, tidy, tests (with vectors, determinism and end to end)
  tidy            import table, features, headers, crate docs; sizes and doc coverage as warnings
  image           build the executable and, with docker, its image `terrarium` (docs/guides/containers.md)
  compatibility   install the clients that registries have, try them on a landscape, write docs/reference/compatibility.md
  schemas [--minutes N] [--seed N]
                  requests that schemathesis makes from the served OpenAPI documents: none gets a server error; a minute
                  unless said otherwise
  kubernetes-gates CHECKOUT
                  rewrite the tables of Kubernetes' feature gates, admission plugins and API versions from the tags of a
                  checkout of Gardener
  bench [simulation|rollout|processes|forecast|dashboard] [quick|full]
                  build and run the benchmarks: one table each, and JSON as the last line";

/// Root of the workspace.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => ci::test(false),
        ["test", "--long"] => ci::test(true),
        ["tidy"] => tidy::run(),
        ["image"] => ci::image(),
        ["compatibility"] => ci::compatibility(),
        ["schemas", rest @ ..] => match schemas_options(rest) {
            Some((minutes, seed)) => ci::schemas(minutes, seed),
            None => return usage(),
        },
        ["kubernetes-gates", checkout] => kubernetes_gates::run(checkout),
        ["bench", rest @ ..] => ci::bench(rest),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Parses minutes and seed.
fn schemas_options(mut words: &[&str]) -> Option<(u32, u64)> {
    let (mut minutes, mut seed) = (1, 1);
    while let [option, value, rest @ ..] = words {
        match *option {
            "--minutes" => minutes = value.parse().ok().filter(|minutes| *minutes > 0)?,
            "--seed" => seed = value.parse().ok()?,
            _ => return None,
        }
        words = rest;
    }
    words.is_empty().then_some((minutes, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_schemas_are_read_and_anything_else_is_refused() {
        assert_eq!(schemas_options(&[]), Some((1, 1)));
        assert_eq!(schemas_options(&["--minutes", "60", "--seed", "7"]), Some((60, 7)));
        for words in [&["--minutes"][..], &["--minutes", "0"], &["--minutes", "x"], &["--hours", "1"], &["7"]] {
            assert_eq!(schemas_options(words), None, "{words:?}");
        }
    }
}
