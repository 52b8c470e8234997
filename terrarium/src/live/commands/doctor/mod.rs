// SPDX-License-Identifier: Apache-2.0
//! `terrarium doctor`: checks files, ports and machine of a landscape, and suggests remedies.
//!
//! Checks of the machine and the directory only read; `--fix` applies remedies that lose nothing, and `--compact` removes
//! the history.
//!
//! **Tour.** [`damage`] damaged or missing files; [`machine`] disk, limits, kubectl; [`processes`] stray processes; here:
//! directory, contexts, log and landscape.

mod damage;
mod machine;
mod processes;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::Args;
use eventlog::Revision;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::directory::{Directory, Facts};
use crate::live::history::Past;
use crate::live::kubeconfig::FoundContext;
use crate::live::landscapes::size;
use crate::live::replay::replay;
use crate::live::{KubeconfigFile, Which, block_on, kubeconfig, up};
use crate::output::{Form, Output};
use ops::spelling::{counted, plural};
use ops::upgrade::fleet::not_started;

pub(in crate::live) use self::damage::facts_in_log;

/// Check files, ports and machine of a landscape, and say what to do
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    kubeconfig: KubeconfigFile,
    /// Do what can be done without losing anything
    #[arg(long)]
    fix: bool,
    /// With --fix: give up what is damaged and found nowhere else. Without it, the same command says what that is
    #[arg(long, requires = "fix")]
    discard_damaged: bool,
    /// Forget the history up to now: the log becomes one checkpoint
    #[arg(long)]
    compact: bool,
    /// Form of the output; a record for each check
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::live) enum Level {
    Ok,
    Warning,
    Failure,
}

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::live) struct Finding {
    check: &'static str,
    level: Level,
    what: String,
    /// Remedy; empty if none is needed.
    remedy: String,
}

impl Finding {
    pub(in crate::live) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), remedy: String::new() }
    }

    pub(in crate::live) fn warning(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, what: what.into(), remedy: remedy.into() }
    }

    pub(in crate::live) fn failure(check: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Failure, what: what.into(), remedy: remedy.into() }
    }

    fn json(&self) -> Value {
        let level = self.word().trim_end();
        json!({ "check": self.check, "level": level, "what": self.what, "remedy": self.remedy })
    }

    const fn word(&self) -> &'static str {
        match self.level {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Failure => "failure",
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let mut failures = 0;
    let mut print = |findings: Vec<Finding>| -> Result<(), Failure> {
        for finding in findings {
            failures += usize::from(finding.level == Level::Failure);
            if arguments.output != Form::Text {
                output.item(arguments.output, &finding.json())?;
                continue;
            }
            output.line(&format!("{:<8} {:<12} {}", finding.word(), finding.check, finding.what))?;
            if !finding.remedy.is_empty() {
                output.line(&format!("{:21} → {}", "", finding.remedy))?;
            }
        }
        Ok(())
    };
    let directory = arguments.which.directory()?;
    let fix = arguments.fix;
    print(vec![machine::descriptors(), machine::kubectl()])?;
    print(vec![contexts(arguments)?])?;
    print(damage::facts(&directory, fix)?.into_iter().collect())?;
    match directory.facts() {
        Err(_) if directory.join("log").exists() => {}
        Err(failure) => print(vec![Finding::failure("directory", failure.to_string(), failure.hint())])?,
        Ok(None) => {
            let ours = directory.must_be_ours();
            let none = || Finding::ok("directory", format!("there is no landscape in {}", directory.path().display()));
            print(vec![
                ours.map_or_else(|error| Finding::failure("directory", error.to_string(), error.hint()), |()| none()),
            ])?;
            print(processes::left_over(&directory, fix)?)?;
        }
        Ok(Some(facts)) => {
            print(vec![permissions(&directory, fix)?, leftovers(&directory, fix)?, machine::disk(directory.path())])?;
            print(processes::left_over(&directory, fix)?)?;
            print(vec![machine::port(&directory, &facts)?])?;
            print(vec![damage::keys(&directory, &facts, fix)?])?;
            let damage =
                if facts.log == "memory" { None } else { damage::log(&directory, fix, arguments.discard_damaged) };
            let is_damaged = damage.as_ref().is_some_and(|finding| finding.level == Level::Failure);
            print(damage.into_iter().collect())?;
            // A damaged log is not opened: that would change it.
            if !is_damaged {
                print(block_on(landscape(&directory, &facts, arguments.compact))?)?;
            }
        }
    }
    match failures {
        0 => Ok(()),
        many => Err(Failure::Failed(format!("{} failed", plural(many, "check")))),
    }
}

/// Checks that only the owner may read a landscape's keys.
fn permissions(directory: &Directory, fix: bool) -> Result<Finding, Failure> {
    let path = directory.path();
    let failed = |error: std::io::Error| Failure::Failed(format!("cannot look at {}: {error}", path.display()));
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o777;
    if mode.trailing_zeros() >= 6 {
        return Ok(Finding::ok("directory", format!("{}, for its owner only", path.display())));
    }
    if fix {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        return Ok(Finding::ok("directory", format!("{}: made readable for its owner only", path.display())));
    }
    let what = format!("{} can be read by others (mode {mode:o}), with the keys in it", path.display());
    Ok(Finding::warning("directory", what, format!("chmod 700 {}, or `terrarium doctor --fix`", path.display())))
}

/// Checks for files left behind by a killed process.
fn leftovers(directory: &Directory, fix: bool) -> Result<Finding, Failure> {
    let is_held = directory.is_held()?;
    let mut found = Vec::new();
    let names =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|file| file.path());
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !is_held {
        found.extend(names(directory.path()).filter(|path| name(path) == "host.json" || name(path).contains(".new-")));
        found.extend(names(&directory.join("log")).filter(|path| name(path).ends_with(".writing")));
    }
    if let Some(parent) = directory.path().parent() {
        found.extend(names(parent).filter(|path| name(path).starts_with(".removed-")));
    }
    if found.is_empty() {
        return Ok(Finding::ok("leftovers", "none"));
    }
    let list: Vec<String> = found.iter().map(|path| name(path)).collect();
    if !fix {
        let what = format!("a process was killed and left {}", list.join(", "));
        return Ok(Finding::warning("leftovers", what, "`terrarium doctor --fix` removes them"));
    }
    for path in &found {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.map_err(|error| Failure::Failed(format!("cannot remove {}: {error}", path.display())))?;
    }
    Ok(Finding::ok("leftovers", format!("removed {}", list.join(", "))))
}

/// Checks for contexts whose landscape does not exist.
fn contexts(arguments: &Arguments) -> Result<Finding, Failure> {
    let Some(path) = arguments.kubeconfig.path() else {
        return Ok(Finding::ok("contexts", "no kubeconfig is looked at"));
    };
    let found = match kubeconfig::contexts(&path) {
        Ok(found) => found,
        Err(failure) => return Ok(Finding::failure("contexts", failure.to_string(), failure.hint())),
    };
    // Contexts of earlier versions do not name a directory: they are checked against the known landscapes.
    let mut servers = Vec::new();
    for directory in arguments.which.all()? {
        servers.extend(directory.facts().ok().flatten().map(|facts| (facts.name, facts.port)));
    }
    // A landscape keeps its port.
    let is_at = |server: &str, port: u16| port == 0 || server.contains(&format!(":{port}/"));
    let leads_nowhere = |context: &&FoundContext| {
        let FoundContext { name, server, directory } = context;
        if let Some(directory) = directory {
            return match Directory::at(directory).facts() {
                Ok(Some(facts)) => !(kubeconfig::is_of(name, &facts.name) && is_at(server, facts.port)),
                // The directory may belong to another machine or container.
                _ => machine::is_unused_address(server),
            };
        }
        let mut known = servers.iter().filter(|(of, _)| kubeconfig::is_of(name, of)).peekable();
        if known.peek().is_none() {
            machine::is_unused_address(server)
        } else {
            !known.any(|(_, port)| is_at(server, *port))
        }
    };
    let stale: Vec<&FoundContext> = found.iter().filter(leads_nowhere).collect();
    if stale.is_empty() {
        return Ok(Finding::ok("contexts", format!("{} of landscapes in {}", found.len(), path.display())));
    }
    let list: Vec<&str> = stale.iter().map(|context| context.name.as_str()).collect();
    if !arguments.fix {
        let what = format!("{} in {} lead nowhere", list.join(", "), path.display());
        return Ok(Finding::warning(
            "contexts",
            what,
            "`terrarium doctor --fix` removes them; `terrarium up` writes new ones",
        ));
    }
    kubeconfig::remove(&path, &list)?;
    Ok(Finding::ok("contexts", format!("removed {} from {}", list.join(", "), path.display())))
}

/// Checks the log, and the state that results from it.
async fn landscape(directory: &Directory, facts: &Facts, compact: bool) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let runs = directory.host()?.is_some();
    if !runs && facts.log != "memory" && !directory.join("log").exists() {
        return Ok(vec![Finding::ok("log", "none yet: the landscape has not run")]);
    }
    if !runs && facts.log == "memory" {
        return Ok(vec![Finding::ok("log", "in memory: a stopped landscape has none")]);
    }
    if compact && !runs {
        // Free pages in sled's file are returned once no process uses it.
        let before = bytes(directory);
        let past = Past::open(directory).await?;
        let head = past.head().await?;
        let compacted = past.compact(head).await;
        past.close().await?;
        compacted?;
        let what = format!("removed the history up to revision {head}: {} → {}", size(before), size(bytes(directory)));
        findings.push(Finding::ok("compact", what));
    }
    let past = match Past::open(directory).await {
        Ok(past) => past,
        Err(failure @ Failure::Held(_)) => return Err(failure),
        Err(failure) => {
            let remedy = if failure.to_string().contains("No space left") {
                "make room on the disk: nothing is lost"
            } else {
                "restore the directory from a copy"
            };
            let remedy = if failure.hint().is_empty() { remedy } else { failure.hint() };
            return Ok(vec![Finding::failure("log", failure.to_string(), remedy)]);
        }
    };
    let checked = async {
        for note in past.recovered() {
            findings.push(Finding::warning("log", note, ""));
        }
        if compact && runs {
            let (before, head) = (bytes(directory), past.head().await?);
            past.compact(head).await?;
            let what =
                format!("removed the history up to revision {head}: {} → {}", size(before), size(bytes(directory)));
            findings.push(Finding::ok("compact", what));
        }
        let outcome = replay(&past, true).await?;
        let (base, head, entries) = (outcome.base, outcome.head, outcome.entries);
        let since = if base == Revision(0) { String::new() } else { format!(" after revision {base}") };
        let log = format!(
            "{} {}{since}, head {head}, hash {}",
            size(bytes(directory)),
            counted(entries, "entry", "entries"),
            &outcome.hash[..16]
        );
        findings.push(Finding::ok("log", log));
        findings.push(match outcome.differences.first() {
            None => {
                Finding::ok("replay", format!("{}, the same as the API lists", plural(outcome.compared.1, "object")))
            }
            Some(first) => {
                let what =
                    format!("{}: {first}", counted(outcome.differences.len(), "object differs", "objects differ"));
                Finding::failure("replay", what, "`terrarium dump` keeps what explains it; please report it")
            }
        });
        if let Some(client) = past.client() {
            findings.push(readiness(client).await);
        }
        Ok(())
    }
    .await;
    past.close().await?;
    checked.map(|()| findings)
}

async fn readiness(client: &Client) -> Finding {
    match up::missing(client, &client.context()).await {
        Ok(None) => match not_started(&client.context()).await {
            Ok(absent) if absent.is_empty() => Finding::ok("landscape", "runs, and everything is ready"),
            Ok(absent) => Finding::warning(
                "landscape",
                format!("runs, but {}", absent.join("; ")),
                "`terrarium upgrade status` shows every component",
            ),
            Err(error) => {
                Finding::failure("landscape", format!("does not answer: {error}"), "see `terrarium logs host`")
            }
        },
        Ok(Some(missing)) => {
            let first = missing.replace('\n', " ");
            Finding::failure(
                "landscape",
                format!("not ready: {first}"),
                "`terrarium status` and `terrarium logs` say more",
            )
        }
        Err(error) => Finding::failure("landscape", format!("does not answer: {error}"), "see `terrarium logs host`"),
    }
}

/// Size of the log in bytes.
fn bytes(directory: &Directory) -> u64 {
    crate::live::landscapes::bytes_in(&directory.join("log"))
}
