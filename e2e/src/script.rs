// SPDX-License-Identifier: Apache-2.0
//! Scripts: commands of a user and their output, in one file.
//!
//! ```text
//! # explains the next commands
//! $ terrarium up --ephemeral --preset demo --start-time 2023-07-27T20:00:00Z --clock stepped
//! Terrarium 0.1.0 · …
//! $ kubectl -n garden-demo patch shoot local --type merge -p '
//! > {"spec": {"hibernation": {"enabled": true}}}'
//! shoot.core.gardener.cloud/local patched
//! ```
//!
//! A line that begins with `$ ` is a command, `> ` continues it; its output follows: standard output, then standard error without
//! progress, which depends on wall time, then `exit N` unless it is 0. All commands of a script are run by one shell, so that
//! variables, the folder and a landscape of `up --ephemeral` last until its end. The folder has the files of `e2e/scripts/NAME/`
//! and no others, and the PATH begins with our binaries and one chosen kubectl. `UPDATE_EXPECT=1` rewrites the script.
//!
//! A page in Markdown is a script, too: blocks of `console` have commands and output, blocks of `yaml` that begin with a comment
//! of one word are the file of that name, and all else is explanation. Code that must not be run is in blocks of another
//! language.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::mask::mask;
use crate::sandbox::{Kubectl, Sandbox, without_progress};

/// Folder within a sandbox where commands run.
const WORK: &str = "work";
/// Landscape of scripts that name none.
const LANDSCAPE: &str = "example";

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A line of explanation.
    Story(String),
    /// A command as it stands in the script, one or more lines.
    Command(String),
    /// A file that exists in the folder from here on: its name, and its lines as in the page.
    File(String, String),
}

/// Parses a script or a page, without its expected output.
fn parts_of(script: &Path, text: &str) -> Vec<Part> {
    if script.extension().is_some_and(|extension| extension == "md") { parts_of_page(text) } else { parts(text) }
}

/// Parses a page in Markdown.
fn parts_of_page(page: &str) -> Vec<Part> {
    const FENCE: &str = "```";
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        found.push(Part::Story(line.to_owned()));
        let Some(language) = line.strip_prefix(FENCE) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != FENCE).collect();
        let name = block.first().and_then(|first| first.strip_prefix("# ")).filter(|name| !name.contains(' '));
        match (language, name) {
            ("console", _) => found.extend(parts(&block.join("\n"))),
            ("yaml", Some(name)) => found.push(Part::File(name.to_owned(), block.join("\n"))),
            _ => found.extend(block.iter().map(|line| Part::Story((*line).to_owned()))),
        }
        found.push(Part::Story(FENCE.to_owned()));
    }
    found
}

/// Parses a script, without its expected output.
fn parts(script: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut goes_on = false;
    for line in script.lines() {
        let is_continued = goes_on && line.starts_with("> ");
        goes_on = is_continued || line.starts_with("$ ");
        match parts.last_mut() {
            Some(Part::Command(command)) if is_continued => {
                command.push('\n');
                command.push_str(line);
            }
            _ if goes_on => parts.push(Part::Command(line.to_owned())),
            _ if line.starts_with('#') => parts.push(Part::Story(line.to_owned())),
            _ => {}
        }
    }
    parts
}

/// Runs one script in a folder, which is replaced.
///
/// # Errors
/// A script that cannot be read, a shell that ends before it, output that differs: the first difference and all output.
pub fn run(script: &Path, binaries: &Path, folder: &Path, kubectl: Kubectl) -> Result<(), String> {
    let expected =
        std::fs::read_to_string(script).map_err(|error| format!("cannot read {}: {error}", script.display()))?;
    let sandbox = Sandbox::new(binaries, folder);
    let mut shell = Shell::start(&sandbox, &script.with_extension(""), kubectl)?;
    let home = folder.to_string_lossy();
    let mut actual = String::new();
    for part in parts_of(script, &expected) {
        let (Part::Story(line) | Part::Command(line) | Part::File(_, line)) = &part;
        actual.push_str(line);
        actual.push('\n');
        match &part {
            Part::Story(_) => {}
            Part::Command(text) => {
                let command: Vec<&str> = text.lines().map(|line| &line[2..]).collect();
                let output = shell.run(&command.join("\n"))?;
                actual.push_str(&mask(&output).replace(&*home, "~"));
            }
            Part::File(name, text) => {
                let path = sandbox.folder().join(WORK).join(name);
                std::fs::write(path, format!("{text}\n")).map_err(|error| format!("cannot write {name}: {error}"))?;
            }
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(script, actual).map_err(|error| format!("cannot write {}: {error}", script.display()));
    }
    compare(script, &expected, &actual)
}

fn compare(script: &Path, expected: &str, actual: &str) -> Result<(), String> {
    let (left, right): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    if left == right {
        return Ok(());
    }
    let line = left.iter().zip(&right).position(|(left, right)| left != right);
    let line = line.unwrap_or_else(|| left.len().min(right.len()));
    let command = right[..line.min(right.len())].iter().rfind(|line| line.starts_with("$ ")).unwrap_or(&"(no command)");
    Err(format!(
        "{}:{}: after\n  {command}\nexpected\n  {}\nbut saw\n  {}\n(UPDATE_EXPECT=1 rewrites the script)\nwhole output:\n{actual}",
        script.display(),
        line + 1,
        left.get(line).unwrap_or(&"(nothing)"),
        right.get(line).unwrap_or(&"(nothing)"),
    ))
}

/// The shell that runs a script.
struct Shell {
    child: Child,
    input: ChildStdin,
    codes: BufReader<ChildStdout>,
    /// Folder for the text of a command and its output.
    exchange: PathBuf,
}

impl Shell {
    fn start(sandbox: &Sandbox, inputs: &Path, kubectl: Kubectl) -> Result<Self, String> {
        let failed = |what: &str, error: std::io::Error| format!("cannot {what}: {error}");
        let [work, exchange, tools] = [WORK, "exchange", "tools"].map(|name| sandbox.folder().join(name));
        for folder in [&work, &exchange, &tools] {
            std::fs::create_dir_all(folder).map_err(|error| failed("make a folder for a script", error))?;
        }
        copy_inputs(inputs, &work)?;
        let mut path = vec![tools.clone(), sandbox.binaries().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        // Scripts without a cluster run where there is no kubectl.
        if let Some(kubectl) = kubectl.find() {
            std::os::unix::fs::symlink(kubectl, tools.join("kubectl"))
                .map_err(|error| failed("link kubectl", error))?;
        }
        let path = std::env::join_paths(path).map_err(|error| format!("cannot make a PATH: {error}"))?;
        let mut command = sandbox.command("sh", &[]);
        command.current_dir(&work).env("PATH", path).env("COLUMNS", "120").env("TERRARIUM_LANDSCAPE", LANDSCAPE);
        command.env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed("run `sh`", error))?;
        let (input, codes) = (child.stdin.take(), child.stdout.take());
        let (input, codes) = input.zip(codes).ok_or("a child with pipes has them")?;
        Ok(Self { child, input, codes: BufReader::new(codes), exchange })
    }

    /// Runs a command; returns its output, errors and exit code.
    fn run(&mut self, command: &str) -> Result<String, String> {
        let [text, out, err] = ["command", "out", "err"].map(|name| self.exchange.join(name));
        let failed = |error: std::io::Error| format!("cannot run `{command}`: {error}");
        std::fs::write(&text, format!("{command}\n")).map_err(failed)?;
        let [text, out_file, err_file] = [&text, &out, &err].map(|path| format!("'{}'", path.display()));
        // In the shell itself, for every kind of command: `.` ends a shell if the script is not a shell script.
        writeln!(self.input, ". {text} >{out_file} 2>{err_file} </dev/null; echo $?").map_err(failed)?;
        let mut code = String::new();
        self.codes.read_line(&mut code).map_err(failed)?;
        let read = |path: &Path| {
            std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
        };
        let mut output = read(&out);
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&without_progress(&read(&err)));
        match code.trim() {
            "" => Err(format!("the shell ended with `{command}`:\n{output}")),
            "0" => Ok(output),
            code => Ok(format!("{output}exit {code}\n")),
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The shell is between two commands, or has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy_inputs(folder: &Path, target: &Path) -> Result<(), String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let target = target.join(path.file_name().unwrap_or_default());
        std::fs::copy(&path, &target).map_err(|error| format!("cannot copy {}: {error}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_continue_on_lines_and_output_is_elided() {
        let script = "# why\n$ cat <<END\n> one\n> two\n> END\none\n> is output\ntwo\n$ true\n# end\n";
        let command = |text: &str| Part::Command(text.to_owned());
        let story = |text: &str| Part::Story(text.to_owned());
        assert_eq!(
            parts(script),
            [story("# why"), command("$ cat <<END\n> one\n> two\n> END"), command("$ true"), story("# end")]
        );
    }

    #[test]
    fn a_page_has_text_files_and_commands() {
        let page =
            "# Title\n\n```yaml\n# a.yaml\na: 1\n```\n```console\n$ cat a.yaml\na: 1\n```\n```sh\n$ no\n```\nend\n";
        let story = |text: &str| Part::Story(text.to_owned());
        assert_eq!(
            parts_of(Path::new("page.md"), page),
            [
                story("# Title"),
                story(""),
                story("```yaml"),
                Part::File("a.yaml".to_owned(), "# a.yaml\na: 1".to_owned()),
                story("```"),
                story("```console"),
                Part::Command("$ cat a.yaml".to_owned()),
                story("```"),
                story("```sh"),
                story("$ no"),
                story("```"),
                story("end"),
            ]
        );
    }

    #[test]
    fn the_first_difference_is_shown_with_its_command() {
        let failure = compare(Path::new("s.txt"), "$ a\n1\n$ b\n2\n", "$ a\n1\n$ b\n3\n").unwrap_err();
        assert!(failure.starts_with("s.txt:4: after\n  $ b\nexpected\n  2\nbut saw\n  3\n"), "{failure}");
        let failure = compare(Path::new("s.txt"), "$ a\n1\n", "$ a\n").unwrap_err();
        assert!(failure.starts_with("s.txt:2: after\n  $ a\nexpected\n  1\nbut saw\n  (nothing)\n"), "{failure}");
        assert_eq!(compare(Path::new("s.txt"), "$ a\n", "$ a\n"), Ok(()));
    }
}
