// SPDX-License-Identifier: Apache-2.0
//! `terrarium events`: Events of components about objects, with landscape ages.
//!
//! The server computes the rows. For a Shoot these are the Events about it in the garden, those in its control plane's
//! namespace on the seed except about workload (Pods and their controllers), and those of gardener-node-agent in its own
//! cluster; `--all` shows all Events of the namespace and of the cluster.

use api::constants::annotation;
use chrono::{DateTime, Utc};
use clap::Args;
use controller::push_query;
use futures::StreamExt;
use futures::stream::{SelectAll, unfold};
use process::Transport;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::ask::lines::Lines;
use crate::live::ask::query::{Format, print_tree};
use crate::live::ask::table::{Front, Table, Widths};
use crate::live::ask::{self, kinds};
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::instant::When;
use ops::names::clusters::{self, NamedCluster};
use ops::names::shoots::ShootName;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Kinds whose Events are about starting and ending processes rather than about actions of Gardener.
const WORKLOAD: [&str; 8] =
    ["Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler"];

/// Show Events, the last one last
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Only Events of this Shoot: shoot/PROJECT/NAME [default: Events of the garden]
    #[arg(value_name = "SHOOT")]
    about: Option<ShootName>,
    /// Events of all clusters; for a Shoot: also those about workload, on the seed and in its own cluster
    #[arg(short = 'A', long)]
    all: bool,
    /// Not before this instant of landscape time, or so long ago
    #[arg(long, value_name = "T")]
    since: Option<When>,
    /// Continue with new Events
    #[arg(short, long)]
    follow: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// Events that are requested together.
struct Source {
    /// Name of the cluster in paths.
    cluster: String,
    namespace: Option<String>,
    selector: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    block_on(arguments.show(&client, output))
}

impl Arguments {
    async fn show(&self, client: &Client, output: &mut Output) -> Result<(), Failure> {
        let transport = client.transport();
        let since = match self.since {
            Some(since) => Some(since.before(client.clock().await?.now)),
            None => None,
        };
        let sources = self.sources(client).await?;
        let (mut whole, mut versions) = (json!({ "rows": [] }), Vec::new());
        for source in &sources {
            let mut tree = ask::tree(&transport, &source.path(), TABLE).await?;
            versions.push(tree["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned());
            let rows = std::mem::take(&mut tree["rows"]);
            let rows = rows.as_array().into_iter().flatten().cloned().map(|row| source.mark(row));
            let kept = rows.filter(|row| since.is_none_or(|since| last_seen(&row["object"]) >= since));
            whole["rows"].as_array_mut().into_iter().for_each(|all| all.extend(kept.clone()));
            whole["columnDefinitions"] = tree["columnDefinitions"].take();
        }
        if let Some(rows) = whole["rows"].as_array_mut() {
            // Events of one instant are ordered by write.
            rows.sort_by_key(|row| (last_seen(&row["object"]), revision(&row["object"])));
        }
        let mut widths = self.print(&whole, output)?;
        if !self.follow {
            return Ok(());
        }
        let mut watches = SelectAll::new();
        for (source, version) in sources.into_iter().zip(versions) {
            let columns = whole["columnDefinitions"].clone();
            let watch = Watch { transport: transport.clone(), source, version, columns, lines: None, ended: false };
            watches.push(Box::pin(unfold(watch, Watch::step)));
        }
        while let Some(table) = watches.next().await {
            let table = table?;
            match self.output {
                Format::Table | Format::Wide => {
                    for line in self.table(&table).more_lines(&mut widths) {
                        output.line(&line)?;
                    }
                }
                _ => drop(self.print(&table, output)?),
            }
        }
        Ok(())
    }

    async fn sources(&self, client: &Client) -> Result<Vec<Source>, Failure> {
        let whole = |cluster: &str| Source { cluster: cluster.to_owned(), namespace: None, selector: None };
        let Some(about) = &self.about else {
            return Ok(vec![whole(if self.all { "*" } else { "garden" })]);
        };
        let about = client.shoot(about).await?;
        let shoot = about.find(&client.context()).await?;
        let mut sources = vec![Source {
            cluster: "garden".to_owned(),
            namespace: Some(shoot.metadata.namespace),
            selector: Some(format!("involvedObject.kind=Shoot,involvedObject.name={}", about.name)),
        }];
        let (known, id) = (clusters::all(&client.transport()).await?, shoot.status.technical_id);
        if let Some(seed) = shoot.spec.seed_name.filter(|_| !id.is_empty()).map(NamedCluster::Seed)
            && known.contains(&seed)
        {
            let is_not = |kind: &&str| format!("involvedObject.kind!={kind}");
            let selector = WORKLOAD.iter().map(is_not).collect::<Vec<_>>().join(",");
            let selector = (!self.all).then_some(selector);
            sources.push(Source { cluster: seed.logical(), namespace: Some(id), selector });
        }
        if known.contains(&about.cluster()) {
            let selector = (!self.all).then(|| "source=gardener-node-agent".to_owned());
            sources.push(Source { selector, ..whole(&about.cluster().logical()) });
        }
        Ok(sources)
    }

    fn table(&self, tree: &Value) -> Table {
        let cluster = |object: &Value| text(&object["metadata"]["annotations"][annotation::CLUSTER]);
        let namespace = |object: &Value| text(&object["metadata"]["namespace"]);
        let front: &[Front<'_>] = &[("cluster", &cluster), ("namespace", &namespace)];
        let skipped = usize::from(!self.all && self.about.is_none());
        Table::of_server(tree, self.output == Format::Wide, &front[skipped..])
    }

    fn print(&self, tree: &Value, output: &mut Output) -> Result<Widths, Failure> {
        let table = self.table(tree);
        let objects = || tree["rows"].as_array().into_iter().flatten().map(|row| row["object"].clone());
        match self.output {
            Format::Table | Format::Wide if table.is_empty() => output.note("No events found"),
            Format::Table | Format::Wide => table.print(output)?,
            Format::Name => {
                for object in objects() {
                    output.line(&format!("event/{}", text(&object["metadata"]["name"])))?;
                }
            }
            Format::Json | Format::Yaml => {
                let items: Vec<Value> = objects().collect();
                let list = json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items });
                print_tree(&list, self.output, output)?;
            }
        }
        Ok(table.widths())
    }
}

impl Source {
    fn path(&self) -> String {
        let row = api::catalogue::find("", "v1", "events").expect("Events have a row");
        let mut path = kinds::path(&self.cluster, row, self.namespace.as_deref(), None);
        push_query(&mut path, "includeObject", "Object");
        if let Some(selector) = &self.selector {
            push_query(&mut path, "fieldSelector", selector);
        }
        path
    }

    /// Adds the cluster to a row's object; for all clusters the server has added it.
    fn mark(&self, mut row: Value) -> Value {
        let object = &mut row["object"];
        if self.cluster != "*" {
            object["metadata"]["annotations"][annotation::CLUSTER] = json!(self.cluster);
        }
        row
    }
}

/// A watch of one source, which is reopened when the server ends it.
struct Watch {
    transport: Transport,
    source: Source,
    version: String,
    columns: Value,
    lines: Option<Lines>,
    ended: bool,
}

impl Watch {
    async fn step(mut self) -> Option<(Result<Value, Failure>, Self)> {
        if self.ended {
            return None;
        }
        match self.next().await {
            Ok(table) => Some((Ok(table), self)),
            Err(failure) => {
                self.ended = true;
                Some((Err(failure), self))
            }
        }
    }

    /// Waits for the next row, as a table.
    async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            let Some(lines) = &mut self.lines else {
                let mut path = self.source.path();
                push_query(&mut path, "watch", "true");
                push_query(&mut path, "resourceVersion", &self.version);
                self.lines = Some(Lines::of(ask::response(&self.transport, &path, TABLE).await?));
                continue;
            };
            let Some(line) = lines.next().await? else {
                self.lines = None;
                continue;
            };
            let failed = |error: serde_json::Error| Failure::Failed(format!("a watch of Events: {error}"));
            let mut frame: Value = serde_json::from_str(&line).map_err(failed)?;
            if frame_type(&frame) == "ERROR" {
                return Err(Failure::Failed(format!("a watch of Events: {}", text(&frame["object"]["message"]))));
            }
            let object = std::mem::take(&mut frame["object"]);
            if let Some(version) = object["metadata"]["resourceVersion"].as_str() {
                version.clone_into(&mut self.version);
            }
            if !matches!(frame_type(&frame), "ADDED" | "MODIFIED") {
                continue;
            }
            let rows: Vec<Value> =
                object["rows"].as_array().into_iter().flatten().cloned().map(|row| self.source.mark(row)).collect();
            return Ok(json!({ "columnDefinitions": self.columns, "rows": rows }));
        }
    }
}

fn frame_type(frame: &Value) -> &str {
    frame["type"].as_str().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn revision(event: &Value) -> u64 {
    event["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Time of the last occurrence of an Event; the minimum if it has none.
fn last_seen(event: &Value) -> DateTime<Utc> {
    let texts = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
    let mut instants = texts.into_iter().filter_map(|value| value.as_str()?.parse().ok());
    instants.next().unwrap_or(DateTime::<Utc>::MIN_UTC)
}
