// SPDX-License-Identifier: Apache-2.0
//! Tests that run the real binaries the way a person does.
//!
//! A script in `e2e/scripts` is what a user types and sees: lines that begin with `$ ` are commands, what follows is
//! their output (standard output, then standard error, then `exit N` unless it is 0), `#` lines tell the story. Commands
//! run in a folder of their own that holds the files of `e2e/scripts/NAME/`. What differs between two runs is redacted:
//! `[WALL]` for wall times, `[SPEED]` for what is computed from them, `[HASH]` for the hash of a log (which every change of
//! the product changes). `UPDATE_EXPECT=1` rewrites the scripts.
//!
//! **Invariants.** No fixed ports, no sleeping, no order between scripts.

pub mod client;
pub mod sandbox;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs one script; `Err` shows the first difference.
///
/// # Errors
/// A script that cannot be read, a command that cannot be run, output that differs.
pub fn run_script(script: &Path, binaries: &Path, scratch: &Path) -> Result<(), String> {
    let expected =
        std::fs::read_to_string(script).map_err(|error| format!("cannot read {}: {error}", script.display()))?;
    copy_inputs(&script.with_extension(""), scratch)?;
    let mut actual = String::new();
    for line in expected.lines().filter(|line| line.starts_with("$ ") || line.starts_with('#')) {
        actual.push_str(line);
        actual.push('\n');
        if let Some(command) = line.strip_prefix("$ ") {
            actual.push_str(&redact(&run(command, binaries, scratch)?));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(script, actual).map_err(|error| format!("cannot write {}: {error}", script.display()));
    }
    match expected.lines().zip(actual.lines()).position(|(left, right)| left != right) {
        None if expected.lines().count() == actual.lines().count() => Ok(()),
        place => {
            let line = place.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
            Err(format!(
                "{}:{}: expected\n  {}\nbut saw\n  {}\n(UPDATE_EXPECT=1 rewrites the script)\nwhole output:\n{actual}",
                script.display(),
                line + 1,
                expected.lines().nth(line).unwrap_or("(nothing)"),
                actual.lines().nth(line).unwrap_or("(nothing)"),
            ))
        }
    }
}

fn copy_inputs(folder: &Path, scratch: &Path) -> Result<(), String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let target = scratch.join(path.file_name().unwrap_or_default());
        std::fs::copy(&path, &target).map_err(|error| format!("cannot copy {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Runs one command line: words split at blanks, no quoting; the first word is one of our binaries.
fn run(command: &str, binaries: &Path, scratch: &Path) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or("an empty command")?;
    let path: PathBuf = binaries.join(program);
    let output = Command::new(&path)
        .args(words)
        .current_dir(scratch)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .output()
        .map_err(|error| format!("cannot run {}: {error}", path.display()))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(text, "exit {code}").map_err(|error| error.to_string())?,
        None => text.push_str("killed by a signal\n"),
    }
    Ok(text)
}

/// Replaces what differs between two runs.
pub fn redact(output: &str) -> String {
    let mut redacted = String::new();
    for line in output.lines() {
        redacted.push_str(&redact_line(line));
        redacted.push('\n');
    }
    redacted
}

fn redact_line(line: &str) -> String {
    if line.starts_with("hash ") {
        return "hash [HASH]".to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let previous_is_in = words.last().is_some_and(|last| last == "in");
        let seconds = word.trim_end_matches([',', ';', '.']).parse::<f64>().is_ok() && previous_is_in;
        if seconds {
            words.push("[WALL]".to_owned());
        } else if word.ends_with("×") {
            words.push("[SPEED]".to_owned());
        } else {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_times_and_what_follows_from_them_are_redacted() {
        assert_eq!(
            redact(
                "3 days of landscape time in 2.6 s (99,692× real time); 412 log entries; hash 9f3c71e2\nhash 9f3c\n"
            ),
            "3 days of landscape time in [WALL] s [SPEED] real time); 412 log entries; hash 9f3c71e2\nhash [HASH]\n"
        );
    }
}
