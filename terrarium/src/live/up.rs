// SPDX-License-Identifier: Apache-2.0
//! `terrarium up`: starts or resumes a landscape and waits until it is ready.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use clock::{Clock, TimerClass};
use controller::{Api, ListOptions};
use serde_json::json;

use super::client::Client;
use super::directory::{Directory, Facts};
use super::{KubeconfigFile, Which, block_on, components, demo, kubeconfig};
use crate::failure::Failure;
use crate::output::Output;

/// Wall time between two looks at a landscape that starts.
const LOOK: TimeDelta = TimeDelta::milliseconds(50);
/// Lines of the host that are shown when it does not become ready.
const LAST_LINES: usize = 5;

/// Start or resume a landscape, and wait until it is ready
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) kubeconfig: KubeconfigFile,
    /// Play the demo: a cluster on a version that expires at midnight, whose owner opted out of updates
    #[arg(long)]
    demo: bool,
    /// Make the landscape's garden the current context
    #[arg(long)]
    switch_context: bool,
    /// Emulated version of Gardener [default: v1.120.0]
    #[arg(long, value_name = "V")]
    gardener_version: Option<String>,
    /// Number of Seeds [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    seeds: Option<u32>,
    /// Number of gardener-apiservers [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    apiservers: Option<u32>,
    /// Landscape time at the beginning [default: now]
    #[arg(long, value_name = "T")]
    start_time: Option<DateTime<Utc>>,
    /// Seed of all randomness [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where the requirements documents and upstream's code differ: which of them holds [default: documents]
    #[arg(long, value_parser = ["documents", "upstream"])]
    profile: Option<String>,
    /// Where the event log is [default: sled]
    #[arg(long, value_parser = ["sled", "memory"])]
    log: Option<String>,
    /// Whether an acknowledged write survives a power failure [default: durable]
    #[arg(long, value_parser = ["durable", "fast"])]
    durability: Option<String>,
    /// Port of the landscape [default: a free one, then kept]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// How long to wait until it is ready, in seconds of wall time
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u32,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let directory = arguments.which.directory()?;
    directory.make()?;
    let facts = arguments.facts(&directory)?;
    let runs_already = directory.host()?.is_some();
    let began = Clock::wall().now();
    let mut host = if runs_already { None } else { Some(start(&directory)?) };
    let client = block_on(async {
        let limit = began + TimeDelta::seconds(i64::from(arguments.wait));
        let client = wait_for_host(&directory, host.as_mut(), limit).await?;
        wait_for_components(&client, &directory, host.as_mut(), limit).await?;
        Ok(client)
    })?;
    let seconds = (Clock::wall().now() - began).as_seconds_f64();
    tell(&client, &facts, runs_already, seconds, arguments, output)?;
    if arguments.demo {
        output.line("")?;
        return demo::play(&directory, |line| output.line(line));
    }
    Ok(())
}

impl Arguments {
    /// What the landscape is, or is to be.
    fn facts(&self, directory: &Directory) -> Result<Facts, Failure> {
        if let Some(facts) = directory.facts()? {
            self.contradiction(&facts)?;
            return Ok(facts);
        }
        let start = || if self.demo { demo::start() } else { Clock::wall().now() };
        let start_time = self.start_time.unwrap_or_else(start);
        let facts = Facts {
            name: self.which.landscape.clone(),
            gardener_version: self.gardener_version.clone().unwrap_or_else(|| landscape::GARDENER_VERSION.to_owned()),
            profile: self.profile.clone().unwrap_or_else(|| "documents".to_owned()),
            seed: self.seed.unwrap_or(1),
            seeds: self.seeds.unwrap_or(1),
            apiservers: self.apiservers.unwrap_or(2),
            start_time,
            log: self.log.clone().unwrap_or_else(|| "sled".to_owned()),
            durable: self.durability.as_deref() != Some("fast"),
            port: self.port.unwrap_or(0),
        };
        directory.write_facts(&facts)?;
        Ok(facts)
    }

    /// A flag that says something else than what the landscape was created with.
    fn contradiction(&self, facts: &Facts) -> Result<(), Failure> {
        let flags = [
            ("--gardener-version", self.gardener_version.as_ref().is_some_and(|it| *it != facts.gardener_version)),
            ("--profile", self.profile.as_ref().is_some_and(|it| *it != facts.profile)),
            ("--seed", self.seed.is_some_and(|it| it != facts.seed)),
            ("--apiservers", self.apiservers.is_some_and(|it| it != facts.apiservers)),
            ("--seeds", self.seeds.is_some_and(|it| it != facts.seeds)),
            ("--start-time", self.start_time.is_some_and(|it| it != facts.start_time)),
            ("--log", self.log.as_ref().is_some_and(|it| *it != facts.log)),
            ("--durability", self.durability.as_ref().is_some_and(|it| (it == "durable") != facts.durable)),
            ("--port", self.port.is_some_and(|it| it != facts.port)),
        ];
        match flags.into_iter().find(|(_, contradicts)| *contradicts) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(
                format!("{flag} contradicts what landscape {} was created with", facts.name),
                "leave the flag out, choose another name with --landscape, or remove it with `terrarium down --purge`",
            )),
        }
    }
}

/// Starts the host in the background.
fn start(directory: &Directory) -> Result<Child, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("cannot start the host: {error}"));
    let log = File::options().create(true).append(true).open(directory.join("host.log")).map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    Command::new(std::env::current_exe().map_err(failed)?)
        .args(["component", "host", "--data-dir"])
        .arg(directory.path())
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(failed)
}

async fn wait_for_host(
    directory: &Directory,
    mut host: Option<&mut Child>,
    limit: DateTime<Utc>,
) -> Result<Client, Failure> {
    let wall = Clock::wall();
    loop {
        if directory.host()?.is_some() {
            return Client::of(directory);
        }
        let ended = host.as_mut().is_some_and(|host| host.try_wait().is_ok_and(|ended| ended.is_some()));
        if ended || wall.now() >= limit {
            let what = if ended { "the host ended" } else { "the host is not ready" };
            let log = directory.join("host.log");
            return Err(Failure::Failed(format!("{what}; {} ends with:\n{}", log.display(), last_lines(&log))));
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

fn last_lines(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

/// Waits until every APIService and every Deployment of the components is available and every Seed is ready.
async fn wait_for_components(
    client: &Client,
    directory: &Directory,
    mut host: Option<&mut Child>,
    limit: DateTime<Utc>,
) -> Result<(), Failure> {
    let (context, wall) = (client.context(), Clock::wall());
    loop {
        let missing = match missing(client, &context).await {
            Ok(None) => return Ok(()),
            Ok(Some(missing)) => missing,
            // Clusters come into being, gardener-apiservers come and go: as long as there is time it may get better.
            Err(error) => error.to_string(),
        };
        if host.as_mut().is_some_and(|host| host.try_wait().is_ok_and(|ended| ended.is_some())) {
            let log = directory.join("host.log");
            let failure = format!("the host ended; {} ends with:\n{}", log.display(), last_lines(&log));
            return Err(Failure::Failed(failure));
        }
        if wall.now() >= limit {
            return Err(Failure::Failed(format!("not ready: {missing}")));
        }
        wall.sleep(LOOK, TimerClass::Work).await;
    }
}

/// What is not ready, with what there is to say about it.
async fn missing(client: &Client, context: &process::Context) -> Result<Option<String>, controller::Error> {
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&ListOptions::labelled("app=gardener")).await?;
    let wanted = components::Program::ALL.into_iter();
    let wanted = wanted.map(|program| if program.is_of_seed() { client.facts.seeds as usize } else { 1 });
    let is_complete = deployments.len() >= wanted.sum::<usize>();
    for deployment in deployments {
        let wanted = deployment.spec.replicas.unwrap_or(1);
        if deployment.status.available_replicas < wanted {
            let labels = ListOptions::labelled(&format!("role={}", deployment.metadata.name));
            let (pods, _) = Api::<Pod>::all(context, "*").list(&labels).await?;
            let words = pods.iter().filter_map(|pod| pod.status.container_statuses.first()).find_map(|container| {
                let last = container.last_state.terminated.as_ref();
                let waiting = container.state.waiting.as_ref();
                last.map(|last| last.message.clone())
                    .or_else(|| Some(format!("{}: {}", waiting?.reason, waiting?.message)))
            });
            let name = &deployment.metadata.name;
            return Ok(Some(words.map_or_else(|| name.clone(), |words| format!("{name}:\n{words}"))));
        }
    }
    if !is_complete {
        return Ok(Some("the landscape is not complete yet".to_owned()));
    }
    if let Some(name) = client.unavailable_api_service().await {
        return Ok(Some(format!("APIService {name} is not available")));
    }
    let (seeds, _) = Api::<Seed>::all(context, "garden").list(&ListOptions::default()).await?;
    let is_ready =
        |seed: &Seed| seed.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded");
    let ready = seeds.iter().filter(|seed| is_ready(seed)).count();
    let wanted = client.facts.seeds as usize;
    Ok((ready < wanted).then(|| format!("{ready} of {wanted} Seeds")))
}

fn tell(
    client: &Client,
    facts: &Facts,
    runs_already: bool,
    seconds: f64,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let Facts { name, gardener_version, profile, seed, seeds, apiservers, log, .. } = facts;
    output.line(&format!(
        "Terrarium {} · Gardener {gardener_version} (emulated) · profile {profile} · log {log}{} · seed {seed} · https://{}",
        env!("CARGO_PKG_VERSION"),
        if log == "memory" { "" } else if facts.durable { ", durable" } else { ", fast: nothing is synced" },
        client.host.address,
    ))?;
    let plural = if *seeds == 1 { "" } else { "s" };
    let what = format!("{apiservers} gardener-apiserver, controller-manager, scheduler, {seeds} seed{plural}");
    if runs_already {
        output.line(&format!("  {what}    runs already"))?;
    } else {
        output.line(&format!("  {what}    ready in {seconds:.1} s"))?;
    }
    if let Some(path) = arguments.kubeconfig.path() {
        let seeds = seed_names(*seeds);
        let config = kubeconfig::of(client, &seeds, &kubeconfig::User::admin(&client.cluster_authorities))?;
        kubeconfig::merge(&path, &config, arguments.switch_context)?;
        output.line(&format!(
            "  contexts terrarium-{name}, -runtime, -seed-{} in {}",
            seeds.join(", -seed-"),
            path.display()
        ))?;
        if !arguments.demo {
            output.line(&format!(
                "  Look around:  kubectl --context terrarium-{name} get cloudprofiles,seeds,projects"
            ))?;
        }
    }
    Ok(())
}

/// Names of the Seeds of a landscape.
pub(crate) fn seed_names(seeds: u32) -> Vec<String> {
    (1..=seeds).map(|number| if number == 1 { "local".to_owned() } else { format!("local-{number}") }).collect()
}

/// The landscape as one object, for scripts.
pub(crate) fn object(client: &Client) -> serde_json::Value {
    json!({
        "name": client.facts.name,
        "gardenerVersion": client.facts.gardener_version,
        "profile": client.facts.profile,
        "seed": client.facts.seed,
        "log": client.facts.log,
        "server": format!("https://{}", client.host.address),
        "pid": client.host.pid,
    })
}
