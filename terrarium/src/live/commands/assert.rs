// SPDX-License-Identifier: Apache-2.0
//! `terrarium assert`: judges expectations about the present state of a landscape.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use eventlog::Revision;

use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::history::Past;
use crate::live::{Which, block_on};
use crate::output::{Form, Output};
use ops::expectation::{self, Defaults, Entries, Expectation, LogItem, Times, Values};
use ops::names::clusters::NamedCluster;

/// Check expectations about the present state of a landscape
///
/// An expectation is an item of a scenario file, as YAML. It holds (exit code 0), or it does not: then each difference is
/// a line, and the exit code is 1. An expectation that cannot be read is refused before anything is read from the
/// landscape (exit code 2), and so is a field that the kind does not have.
///
/// `object: {kind: Shoot, name: local, namespace: garden-local}, matches: {status: {lastOperation: {state: Succeeded}}}`
///
/// `objects: {kind: Node, cluster: shoot/local/local}, count: ">=2", cel: ["objects.all(n, has(n.status.nodeInfo))"]`
///
/// `absent: {kind: Shoot, name: old, namespace: garden-local}`
///
/// `event: {of: Shoot/garden-local/local, reason: KubernetesVersionMaintenance, message: force update required}`
///
/// `condition: {of: Shoot/garden-local/local, type: APIServerAvailable, status: True}`
///
/// `component: {name: gardenlet, versions: [v1.120.0], ready: ">=1", restarts: 0, output: started}`
///
/// `log: {object: Shoot/garden-local/local, actor: "!component", verb: update, since: 24h}, count: 0`
///
/// `matches` is a partial object: maps may have more entries, items of `conditions`, `workers` and other lists with a merge
/// key are found by it, other lists are equal, and `null` is absent. `cel` are expressions (CEL) over `object`, `objects` or
/// `entries`, the present instant `now`, and `start`, at which the landscape was created.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    given: ExpectationArguments,
    /// Form of the output; a record for each expectation
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Expectations of a command line.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExpectationArguments {
    /// Expectation in YAML; the braces around it may be left out
    #[arg(value_name = "EXPECTATION", required_unless_present = "files")]
    texts: Vec<String>,
    /// File with an expectation or a list of them, or `-` for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Cluster of objects that name none: garden, runtime, seed/NAME or shoot/PROJECT/NAME
    #[arg(long, value_name = "CLUSTER", default_value = "garden")]
    cluster: NamedCluster,
    /// Namespace of objects that name none
    #[arg(short, long, value_name = "NS", default_value = "default")]
    namespace: String,
}

impl ExpectationArguments {
    /// Reads all expectations: those of the command line, then those of the files.
    pub(crate) fn read(&self) -> Result<Vec<Expectation>, Failure> {
        let defaults = Defaults { cluster: self.cluster.clone(), namespace: self.namespace.clone() };
        let mut all = expectation::of_arguments(&self.texts, &defaults)?;
        for file in &self.files {
            all.extend(expectation::of_file(&file.display().to_string(), &text_of(file)?, &defaults)?);
        }
        Ok(all)
    }
}

/// Reads a file, or standard input for `-`, but not more than an expectation may have.
fn text_of(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = expectation::LONGEST as u64 + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_string(&mut text)
    } else {
        File::open(file).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::input(format!("{}: cannot be read: {error}", file.display()), "")),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let expectations = arguments.given.read()?;
    let directory = arguments.which.directory()?;
    let client = Client::of(&directory)?;
    let (times, results) = block_on(async {
        if expectations.iter().all(|expectation| expectation.log().is_none()) {
            return judge(&client, None, &expectations).await;
        }
        let past = Past::open(&directory).await?;
        let judged = judge(&client, Some(&past), &expectations).await;
        past.close().await?;
        judged
    })?;
    for (expectation, differences) in expectations.iter().zip(&results) {
        if arguments.output != Form::Text {
            output.item(arguments.output, &expectation.record(differences))?;
            continue;
        }
        lines(expectation, differences, expectations.len()).iter().try_for_each(|line| output.line(line))?;
    }
    let (broken, all) = (results.iter().filter(|differences| !differences.is_empty()).count(), results.len());
    let now = ops::show(times.now);
    let (what, verb) = match (broken, all) {
        (0, 1) => return hold(arguments.output, &format!("the expectation holds at {now}"), output),
        (0, _) => return hold(arguments.output, &format!("{all} expectations hold at {now}"), output),
        (_, 1) => ("the expectation".to_owned(), "does"),
        (1, _) => (format!("1 of {all} expectations"), "does"),
        _ => (format!("{broken} of {all} expectations"), "do"),
    };
    Err(Failure::Failed(format!("{what} {verb} not hold at {now}")))
}

fn hold(form: Form, line: &str, output: &mut Output) -> Result<(), Failure> {
    if form == Form::Text { output.line(line) } else { Ok(()) }
}

/// Lines about an expectation that does not hold; of several, each line names it.
pub(crate) fn lines(expectation: &Expectation, differences: &[String], count: usize) -> Vec<String> {
    let prefix = if count > 1 { format!("{}: ", expectation.label()) } else { String::new() };
    differences.iter().map(|line| format!("{prefix}{line}")).collect()
}

/// Judges all expectations over one state. `past`: the log, if it is needed.
async fn judge(
    client: &Client,
    past: Option<&Past>,
    expectations: &[Expectation],
) -> Result<(Times, Vec<Vec<String>>), Failure> {
    // One request reads one state; several read the same revision.
    let revision = if expectations.len() > 1 { Some(client.head().await?) } else { None };
    let times = Times { now: client.clock().await?.now, start: client.facts.start_time };
    let transport = client.transport();
    let mut results = Vec::new();
    for expectation in expectations {
        let seen = match (expectation.log(), past) {
            (Some(log), Some(past)) => entries(past, log, revision).await?,
            _ => expectation.look(&transport, revision).await?,
        };
        results.push(expectation.differences(&seen, times));
    }
    Ok((times, results))
}

/// Reads the entries of the log up to a revision that an expectation is about.
async fn entries(past: &Past, log: &LogItem, revision: Option<u64>) -> Result<Values, Failure> {
    let cluster = match &log.cluster {
        None => None,
        Some(given) => match past.cluster(given).await {
            Ok(cluster) => Some(cluster.logical()),
            Err(Failure::Input { .. }) => return Ok(Values::NoCluster(given.clone())),
            Err(failure) => return Err(failure),
        },
    };
    let (from, to) = past.range(log.since, log.until).await?;
    let to = revision.map_or(to, |revision| to.min(Revision(revision)));
    let mut found = Entries::default();
    past.each(from, to, cluster.as_deref(), |entry| {
        log.add(entry, &mut found);
        Ok(true)
    })
    .await?;
    Ok(Values::Entries(found))
}
