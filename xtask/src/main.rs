// SPDX-License-Identifier: Apache-2.0
//! Workshop tasks: `cargo xtask test` is what CI runs, in the same order.
//!
//! **Tour.** [`tidy`] checks what the compiler does not; [`ci`] runs every check and the benchmarks, and builds the image.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool prints")]

mod ci;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  test [--long]   every check: format, clippy, tidy, tests (with vectors, determinism and end to end)
  tidy            import table, features, headers, crate docs; sizes and doc coverage as warnings
  image           build the executable and, with docker, its image `terrarium` (docs/guides/containers.md)
  compatibility   install the clients that registries have, try them on a landscape, write docs/reference/compatibility.md
  bench [simulation|rollout|processes|forecast|dashboard] [quick|full]
                  build and run the benchmarks: one table each, and JSON as the last line";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => ci::test(false),
        ["test", "--long"] => ci::test(true),
        ["tidy"] => tidy::run(),
        ["image"] => ci::image(),
        ["compatibility"] => ci::compatibility(),
        ["bench", rest @ ..] => ci::bench(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
