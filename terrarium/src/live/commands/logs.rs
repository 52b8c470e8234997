// SPDX-License-Identifier: Apache-2.0
//! `terrarium logs`: output of a landscape's components, with landscape time and wall time.
//!
//! The output is read through `pods/log` of the clusters in which the components run; lines of the host come from a file in
//! the landscape's directory.

use apimachinery::meta::TextMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::pin::Pin;

use api::cluster;
use api::constants::annotation;
use api::kubernetes::core::Pod;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::Args;
use clock::{Clock, TimerClass};
use controller::{Api, ListOptions, push_query};
use futures::StreamExt;
use futures::stream::{SelectAll, Stream, unfold};

use crate::failure::Failure;
use crate::live::ask::{self, kinds, lines::Lines};
use crate::live::client::Client;
use crate::live::directory::Directory;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::names::components;

/// Name that stands for the host's process.
const HOST: &str = "host";
/// Wall time between two reads of the host's file.
const LOOK: TimeDelta = TimeDelta::milliseconds(200);

/// Show what the components of a landscape print
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Component, or one instance of it: its pod, or its seed; `host`: the landscape's own process [default: all
    /// components]
    #[arg(value_name = "COMPONENT[/INSTANCE]")]
    component: Option<String>,
    /// Output of the previous processes
    #[arg(short, long)]
    previous: bool,
    /// Continue with new lines until the processes end
    #[arg(short, long, conflicts_with = "previous")]
    follow: bool,
}

/// A process with output.
#[derive(Clone, Debug)]
struct Instance {
    component: String,
    cluster: String,
    namespace: String,
    pod: String,
}

/// A line of output.
struct Line {
    landscape: DateTime<Utc>,
    wall: DateTime<Utc>,
    pod: String,
    text: String,
}

/// Stream of one process's lines.
type Printed = Pin<Box<dyn Stream<Item = Line>>>;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    if arguments.component.as_deref() == Some(HOST) {
        return block_on(host(&directory, arguments, output));
    }
    let client = Client::of(&directory)?;
    block_on(arguments.show(&client, output))
}

impl Arguments {
    async fn show(&self, client: &Client, output: &mut Output) -> Result<(), Failure> {
        let instances = self.instances(client).await?;
        if !self.follow {
            let mut all = Vec::new();
            for instance in &instances {
                match self.open(client, instance).await {
                    Ok(mut lines) => {
                        while let Some(line) = lines.next().await? {
                            all.extend(Line::read(instance, &line));
                        }
                    }
                    // A process that was not restarted has no previous output, which is no failure if several are read.
                    Err(failure) if self.previous && instances.len() > 1 => {
                        output.note(&format!("{}: {failure}", instance.pod));
                    }
                    Err(failure) => return Err(failure),
                }
            }
            all.sort_by_key(|line| line.wall);
            return all.iter().try_for_each(|line| output.line(&line.to_string()));
        }
        let mut streams: SelectAll<Printed> = SelectAll::new();
        for instance in instances {
            let lines = self.open(client, &instance).await?;
            streams.push(Box::pin(unfold((lines, instance), |(mut lines, instance)| async move {
                loop {
                    match lines.next().await {
                        Ok(None) => return None,
                        Ok(Some(text)) => {
                            if let Some(line) = Line::read(&instance, &text) {
                                return Some((line, (lines, instance)));
                            }
                        }
                        // The landscape stopped, or the process ended.
                        Err(_) => return None,
                    }
                }
            })));
        }
        while let Some(line) = streams.next().await {
            output.line(&line.to_string())?;
        }
        Ok(())
    }

    /// Returns the processes selected on the command line.
    async fn instances(&self, client: &Client) -> Result<Vec<Instance>, Failure> {
        let mut all = instances(client).await?;
        let Some(wanted) = &self.component else { return Ok(all) };
        let mut names: Vec<String> = all.iter().map(|instance| instance.component.clone()).collect();
        names.sort();
        names.dedup();
        let (component, which) = match wanted.split_once('/') {
            Some((component, which)) => (component, Some(which)),
            None => (wanted.as_str(), None),
        };
        all.retain(|instance| components::is_meant(component, &instance.component));
        if all.is_empty() {
            let hint = format!("there are {}, {HOST}", names.join(", "));
            return Err(Failure::input(format!("no component `{component}` runs"), hint));
        }
        let Some(which) = which else { return Ok(all) };
        let pods: Vec<String> = all.iter().map(|instance| instance.pod.clone()).collect();
        all.retain(|instance| {
            instance.pod == which
                || instance.pod.strip_suffix(which).is_some_and(|rest| rest.ends_with('-'))
                || instance.cluster == cluster::of_seed(which)
        });
        if all.is_empty() {
            let hint = format!("there are {}", pods.join(", "));
            return Err(Failure::input(format!("{component} has no instance `{which}`"), hint));
        }
        Ok(all)
    }

    async fn open(&self, client: &Client, instance: &Instance) -> Result<Lines, Failure> {
        let wanted = [("previous", self.previous), ("follow", self.follow)];
        let wanted: Vec<&str> = wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name).collect();
        open(client, instance, &wanted).await
    }
}

/// Returns all processes of components.
async fn instances(client: &Client) -> Result<Vec<Instance>, Failure> {
    let pods = Api::<Pod>::all(&client.context(), "*").list(&ListOptions::labelled("app=gardener")).await;
    let (pods, _) = pods.map_err(|error| Failure::Failed(error.to_string()))?;
    let label = |name: &str, map: &TextMap| map.get(name).cloned().unwrap_or_default();
    let instance = |pod: Pod| Instance {
        component: label("role", &pod.metadata.labels),
        cluster: label(annotation::CLUSTER, &pod.metadata.annotations),
        namespace: pod.metadata.namespace,
        pod: pod.metadata.name,
    };
    Ok(pods.into_iter().map(instance).collect())
}

/// Opens the output of a process, each line with both times in front; `flags`: those of `pods/log`.
async fn open(client: &Client, instance: &Instance, flags: &[&str]) -> Result<Lines, Failure> {
    let Instance { cluster, namespace, pod, .. } = instance;
    let row = api::catalogue::find("", "v1", "pods").expect("Pods have a row");
    let mut path = format!("{}/log", kinds::path(cluster, row, Some(namespace), Some(pod)));
    for flag in ["timestamps", "wallTimestamps"].iter().chain(flags) {
        push_query(&mut path, flag, "true");
    }
    Ok(Lines::of(ask::response(&client.transport(), &path, "*/*").await?))
}

/// Output of all processes, by pod name.
pub(in crate::live) async fn everything(client: &Client) -> Result<Vec<(String, String)>, Failure> {
    let mut outputs = Vec::new();
    for instance in instances(client).await? {
        let (mut lines, mut text) = (open(client, &instance, &[]).await?, String::new());
        while let Some(line) = lines.next().await? {
            text.push_str(&line);
            text.push('\n');
        }
        outputs.push((instance.pod, text));
    }
    Ok(outputs)
}

impl Line {
    /// Parses a line with both times in front.
    fn read(instance: &Instance, line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        let (landscape, wall) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { landscape, wall, pod: instance.pod.clone(), text: words.next().unwrap_or_default().to_owned() })
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let landscape = self.landscape.to_rfc3339_opts(SecondsFormat::Secs, true);
        write!(f, "{landscape} ({}) {}  {}", self.wall.format("%H:%M:%S%.3f"), self.pod, self.text)
    }
}

/// Prints the output of the host's process.
async fn host(directory: &Directory, arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    if arguments.previous {
        let hint = "the file holds those of all starts: leave --previous out";
        return Err(Failure::input("the lines of the host are not kept apart by start", hint));
    }
    let path = directory.join("host.log");
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::input(format!("{} does not exist", path.display()), "`terrarium up` makes it"),
        _ => Failure::Failed(format!("cannot read {}: {error}", path.display())),
    };
    let mut file = File::open(&path).map_err(failed)?;
    let (wall, mut rest, mut at) = (Clock::wall(), String::new(), 0);
    loop {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_to_end(&mut bytes)).map_err(failed)?;
        at += bytes.len() as u64;
        rest.push_str(&String::from_utf8_lossy(&bytes));
        while let Some((line, behind)) = rest.split_once('\n') {
            output.line(line)?;
            rest = behind.to_owned();
        }
        if !arguments.follow || !directory.is_held()? {
            return if rest.is_empty() { Ok(()) } else { output.line(&rest) };
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}
