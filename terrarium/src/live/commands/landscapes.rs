// SPDX-License-Identifier: Apache-2.0
//! `terrarium landscape`: lists all landscapes of this user, and removes them.

use std::fs;
use std::path::Path;

use chrono::SecondsFormat;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::ask::query::{Format, print_tree};
use crate::live::ask::table::Table;
use crate::live::client::Client;
use crate::live::directory::{Directory, Facts};
use crate::live::{KubeconfigFile, Which, block_on, clock_file, kubeconfig};
use crate::output::Output;

/// Show or remove landscapes
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show all landscapes: state, clock, size, port
    List {
        /// Form of the output
        #[arg(short, long, value_enum, default_value_t)]
        output: Format,
    },
    /// Remove landscapes that do not run, with their data and contexts
    Rm {
        /// Names of the landscapes
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
        #[command(flatten)]
        kubeconfig: KubeconfigFile,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    match &arguments.command {
        Command::List { output: format } => list(&arguments.which, *format, output),
        Command::Rm { names, kubeconfig } => remove(&arguments.which, names, kubeconfig, output),
    }
}

fn list(which: &Which, format: Format, output: &mut Output) -> Result<(), Failure> {
    let mut all = Vec::new();
    for directory in which.all()? {
        match directory.facts() {
            Ok(Some(facts)) => all.push(describe(&directory, &facts)?),
            Ok(None) => {}
            Err(failure) => output.note(&format!("warning: {failure}")),
        }
    }
    match format {
        Format::Table | Format::Wide => {
            let mut columns = vec!["name", "state", "clock", "size", "port", "version"];
            if format == Format::Wide {
                columns.extend(["profile", "log", "seed"]);
            }
            let parent = which.parent();
            let is_elsewhere = |landscape: &Value| {
                let place = landscape["directory"].as_str().map(Path::new).and_then(Path::parent);
                place != parent.as_deref()
            };
            if format == Format::Wide || all.iter().any(is_elsewhere) {
                columns.push("directory");
            }
            let mut table = Table::new(&columns);
            for landscape in &all {
                table.push(columns.iter().map(|column| match &landscape[*column] {
                    Value::String(text) => text.clone(),
                    Value::Number(bytes) if *column == "size" => size(bytes.as_u64().unwrap_or_default()),
                    other => other.to_string(),
                }));
            }
            if table.is_empty() {
                output.note("there are no landscapes: `terrarium up` starts one");
                return Ok(());
            }
            table.print(output)
        }
        Format::Name => all.iter().try_for_each(|one| output.line(one["name"].as_str().unwrap_or_default())),
        Format::Json | Format::Yaml => print_tree(&json!({ "landscapes": all }), format, output),
    }
}

fn describe(directory: &Directory, facts: &Facts) -> Result<Value, Failure> {
    let asked = |client: Client| {
        block_on(async {
            let version = client.gardener_version().await.unwrap_or_else(|_| facts.gardener().to_owned());
            Ok((client.clock().await?, version))
        })
    };
    let mut version = facts.gardener().to_owned();
    let (state, now) = match directory.host()? {
        Some(_) => match Client::of(directory).and_then(asked) {
            Ok((clock, found)) => {
                version = found;
                ("running", Some(clock.now))
            }
            Err(_) => ("not answering", None),
        },
        None if directory.holder()?.is_some_and(|holder| holder.is_host()) => ("starting or stopping", None),
        None => ("stopped", None),
    };
    let now = match now {
        Some(now) => now,
        None => clock_file::time(directory)?.unwrap_or(facts.start_time),
    };
    Ok(json!({
        "name": facts.name,
        "state": state,
        "clock": now.to_rfc3339_opts(SecondsFormat::Secs, true),
        "size": bytes_in(directory.path()),
        "port": facts.port,
        "version": version,
        "profile": facts.profile,
        "log": facts.log,
        "seed": facts.seed,
        "directory": directory.path().display().to_string(),
    }))
}

/// Bytes of all files below a folder. Files that are removed meanwhile count as empty.
pub(in crate::live) fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(of).sum()
}

/// Formats a number of bytes.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

fn remove(which: &Which, names: &[String], file: &KubeconfigFile, output: &mut Output) -> Result<(), Failure> {
    let mut found = Vec::new();
    // Either all or none are removed.
    let all = which.all()?;
    for name in names {
        let is_it = |directory: &&Directory| directory.facts().ok().flatten().is_some_and(|facts| facts.name == *name);
        let mut of_name: Vec<Directory> = all.iter().filter(is_it).cloned().collect();
        let directory = match of_name.pop() {
            Some(directory) if of_name.is_empty() => directory,
            Some(directory) => {
                let places = of_name.iter().chain([&directory]).map(|it| it.path().display().to_string());
                let places = places.collect::<Vec<_>>().join(" and ");
                let hint = "`terrarium down --purge --data-dir DIR` removes one of them";
                return Err(Failure::input(format!("there are landscapes {name} in {places}"), hint));
            }
            None => {
                let hint = "`terrarium landscape list` shows those that there are";
                return Err(Failure::input(format!("there is no landscape {name}"), hint));
            }
        };
        let held = directory.hold("landscape rm")?;
        found.push((name, directory, held));
    }
    for (name, directory, held) in found {
        let place = directory.real();
        directory.purge(&held)?;
        drop(held);
        if let Some(path) = file.path() {
            kubeconfig::unmerge(&path, name, &place)?;
        }
        output.line(&format!("removed landscape {name}: {}", directory.path().display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3.0 TiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
