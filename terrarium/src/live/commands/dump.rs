// SPDX-License-Identifier: Apache-2.0
//! `terrarium dump`: all data needed to explain a landscape, for a bug report or an artefact of a pipeline.
//!
//! | file | content |
//! | --- | --- |
//! | `README.txt` | explanation, and the command that creates such a landscape |
//! | `landscape.json`, `status.json` | creation parameters; clock, processes, head of the log |
//! | `log.jsonl` | the history, an entry per line, as `terrarium log -o json` prints it |
//! | `objects/CLUSTER.jsonl` | every object as of the end of the history |
//! | `outputs/POD.log`, `host.log` | output of processes, with both times |
//!
//! **Invariant.** It contains no value of a Secret: see [`secrets`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::failure::Failure;
use crate::live::directory::{Directory, Facts};
use crate::live::history::Past;
use crate::live::logs;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::history::entry::{ReadEntry, tree};
use ops::history::secrets;
use ops::instant::{Place, When, duration};
use ops::spelling::plural;

/// Write everything that explains a landscape, also of one that is stopped; values of Secrets are left out
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// New folder, or new archive: a name that ends with `.tgz` or `.tar.gz`
    #[arg(value_name = "DIR|FILE.tgz")]
    target: PathBuf,
    /// Only so much of the history, in landscape time
    #[arg(long, value_name = "D", value_parser = duration)]
    last: Option<TimeDelta>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    let files = block_on(async {
        let past = Past::open(&directory).await?;
        let files = collect(&past, &directory, arguments.last).await;
        past.close().await?;
        files
    })?;
    let target = &arguments.target;
    let failed = |error: io::Error| Failure::input(format!("cannot write {}: {error}", target.display()), "");
    write(target, &files).map_err(failed)?;
    let size: usize = files.values().map(Vec::len).sum();
    output.line(&format!(
        "wrote {}: {}, {}; values of Secrets are left out",
        target.display(),
        plural(files.len(), "file"),
        crate::live::landscapes::size(size as u64)
    ))
}

type Files = BTreeMap<String, Vec<u8>>;

async fn collect(past: &Past, directory: &Directory, last: Option<TimeDelta>) -> Result<Files, Failure> {
    let mut files = Files::new();
    let head = past.head().await?;
    let from = match last.and_then(|last| past.now.checked_sub_signed(last)) {
        Some(from) => past.find(Place::At(When::At(from))).await?,
        None => past.base().await?,
    };
    let mut log = Vec::new();
    past.each(from, head, None, |entry| {
        if !entry.volatile {
            log.extend_from_slice(ReadEntry::of(entry).json().to_string().as_bytes());
            log.push(b'\n');
        }
        Ok(true)
    })
    .await?;
    files.insert("log.jsonl".to_owned(), log);
    for (key, revision, sections) in past.state_at(head).await? {
        let mut object = tree(&sections, revision.0);
        secrets::hide(&mut object);
        let lines = files.entry(format!("objects/{}.jsonl", key.cluster)).or_default();
        lines.extend_from_slice(object.to_string().as_bytes());
        lines.push(b'\n');
    }
    let (mut processes, mut runs) = (Vec::new(), false);
    if let Some(client) = past.client() {
        runs = true;
        for (instance, lines) in logs::everything(client).await? {
            processes.push(instance.clone());
            files.insert(format!("outputs/{instance}.log"), lines.into_bytes());
        }
    }
    if let Some(text) = directory.text("host.log")? {
        files.insert("host.log".to_owned(), text.into_bytes());
    }
    let facts = &past.facts;
    let instant = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let clock = match past.client() {
        Some(client) => json!(client.clock().await?),
        None => json!({ "now": instant(past.now) }),
    };
    let status = json!({
        "runs": runs,
        "program": env!("CARGO_PKG_VERSION"),
        "head": head.0,
        "historyFrom": from.0,
        "clock": clock,
        "processes": processes,
    });
    files.insert("landscape.json".to_owned(), pretty(&json!(facts)));
    files.insert("status.json".to_owned(), pretty(&status));
    files.insert("README.txt".to_owned(), readme(facts).into_bytes());
    Ok(files)
}

fn pretty(tree: &serde_json::Value) -> Vec<u8> {
    format!("{tree:#}\n").into_bytes()
}

fn readme(facts: &Facts) -> String {
    let Facts { name, gardener_version, profile, seed, seeds, apiservers, log, .. } = facts;
    let operator = if facts.operator == Some(true) { "" } else { " --operator=false" };
    let start = facts.start_time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    format!(
        "Landscape {name} of Terrarium {}: history, objects, outputs. Values of Secrets are left out.\n\n\
         A landscape like it, whose controllers draw the same random numbers, is made by\n\n  \
         terrarium up --landscape {name} --gardener-version {gardener_version} --profile {profile} --seed {seed} \
         --seeds {seeds} --apiservers {apiservers} --log {log} --start-time {start}{operator}\n\n\
         and then doing what `log.jsonl` says that users did (entries without a version).\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Writes the files into a new folder or archive, whole or not at all.
fn write(target: &Path, files: &Files) -> io::Result<()> {
    if target.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists already"));
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = target.with_file_name(format!(".{name}.writing-{}", std::process::id()));
    let stem = name.strip_suffix(".tgz").or_else(|| name.strip_suffix(".tar.gz"));
    let written = match stem {
        Some(stem) => archive(&aside, stem, files),
        None => folder(&aside, files),
    };
    let written = written.and_then(|()| fs::rename(&aside, target));
    if written.is_err() {
        let _ = if aside.is_dir() { fs::remove_dir_all(&aside) } else { fs::remove_file(&aside) };
    }
    written
}

fn folder(path: &Path, files: &Files) -> io::Result<()> {
    for (name, bytes) in files {
        let file = path.join(name);
        fs::create_dir_all(file.parent().unwrap_or(path))?;
        fs::write(file, bytes)?;
    }
    Ok(())
}

fn archive(path: &Path, stem: &str, files: &Files) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(path)?, Compression::default()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{stem}/{name}"), &bytes[..])?;
    }
    archive.into_inner()?.finish()?.flush()
}
