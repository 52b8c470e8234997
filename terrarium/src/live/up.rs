// SPDX-License-Identifier: Apache-2.0
//! `terrarium up`: starts or resumes a landscape and waits until it is ready.

mod start;

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use api::cluster;
use api::constants::condition;
use api::core::Seed;
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Pod;
use api::operator::Garden;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use clock::{Clock, Random};
use controller::{Api, ListOptions};
use domain::skew::{GardenerVersion, releases};
use host::clock_service::ClockState;
use host::timekeeper::Mode;
use landscape::preset;
use serde_json::json;

use super::client::Client;
use super::demo::{Pace, Play};
use super::directory::{Directory, Ephemeral, Facts, loopback};
use super::kubeconfig::Current;
use super::retention::Retention;
use super::settings::Settings;
use super::{DEFAULT, KubeconfigFile, Which, block_on, bootstrap, components, demo, kubeconfig};
use crate::failure::Failure;
use crate::output::Output;
use ops::instant::{When, duration};
use ops::spelling::plural;

/// Exit code of a component whose version must not run beside those that do.
const REFUSED: i32 = 3;

/// Start or resume a landscape, and wait until it is ready
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) kubeconfig: KubeconfigFile,
    /// Play a story on the landscape; `list` shows which there are
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = Play::DEFAULT)]
    demo: Option<String>,
    /// Wall time between two parts of the story
    #[arg(long, value_name = "D", requires = "demo", value_parser = duration)]
    pace: Option<TimeDelta>,
    /// Wait for Enter between two parts of the story
    #[arg(long, requires = "demo", conflicts_with = "pace")]
    step: bool,
    /// What a new landscape holds: nothing of its own, or CloudProfile, Project and credentials of the demo, with Shoots
    /// that are reconciled in their maintenance windows only
    /// [default: empty]
    #[arg(long, value_parser = ["empty", "demo"])]
    preset: Option<String>,
    /// File with flags of this command, as YAML (`seeds: 2`); a flag that is given wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Make the landscape's garden the current context
    #[arg(long)]
    switch_context: bool,
    /// Emulated version of Gardener [default: v1.120.0]
    #[arg(long, value_name = "V")]
    gardener_version: Option<String>,
    /// Kubernetes version of the clusters runtime, garden and of Seeds: one that the emulated Gardener supports. The
    /// cluster of a Shoot has the Shoot's [default: 1.31.1, or the oldest that is supported]
    #[arg(long, value_name = "V")]
    kubernetes_version: Option<String>,
    /// Number of Seeds [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    seeds: Option<u32>,
    /// Number of gardener-apiservers [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    apiservers: Option<u32>,
    /// Whether gardener-operator makes gardener-apiserver and the rest of the control plane from an object Garden, and
    /// updates them with itself; otherwise they are Deployments without an owner [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    operator: Option<bool>,
    /// What becomes of a component whose version must not run beside the others: `enforce`, it does not start, or waits;
    /// `warn`, an Event says so; `off`, nothing is checked. A landscape that is stopped may be given another one
    /// [default: enforce; warn with profile upstream]
    #[arg(long, value_name = "MODE", value_parser = ["enforce", "warn", "off"])]
    skew_enforcement: Option<String>,
    /// Whether components may go back to older versions, with a Warning Event each time, for an exercise. A landscape that
    /// is stopped may be given another value [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_downgrade: Option<bool>,
    /// Who may do what: `rbac`, what the roles of each cluster allow; `always-allow`, every user
    /// who is authenticated may do everything. A landscape that is stopped may be given another one [default: rbac]
    #[arg(long, env = "TERRARIUM_AUTHORIZATION", hide_env = true, value_name = "MODE")]
    #[arg(value_parser = ["always-allow", "rbac"])]
    authorization: Option<String>,
    /// How long Events are kept behind their last write, in landscape time. A landscape that is stopped may be given another
    /// time [default: 1h; 365d in a landscape of the demo, in which days go by quickly]
    #[arg(long, value_name = "D", value_parser = duration)]
    event_ttl: Option<TimeDelta>,
    /// Landscape time at the beginning: an instant, `now`, or so long from now (90d) [default: now]
    #[arg(long, value_name = "T")]
    start_time: Option<When>,
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
    /// How much of the past is kept: `all`, a number of entries, or a size (512MiB) [default: all]
    #[arg(long, value_name = "HISTORY")]
    history: Option<Retention>,
    /// How time passes by itself once the landscape is ready: `eager` jumps to work that is near; `realtime`;
    /// `scaled=R`; `stepped` does not move; `auto` jumps from timer to timer [default: as it did; eager in a new one]
    #[arg(long, value_name = "M", value_parser = super::clock::mode)]
    clock: Option<Mode>,
    /// Port of the landscape [default: a free one, then kept]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Address where it listens [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    bind: Option<IpAddr>,
    /// Names and addresses under which it is reached from elsewhere, for its certificate
    #[arg(long, value_name = "NAME", num_args = 1..)]
    san: Vec<String>,
    /// A landscape with its log in memory, of a random name, that is gone with `down` or when its owner ends
    #[arg(long)]
    ephemeral: bool,
    /// Begin again with an empty landscape where the log of one is gone
    #[arg(long)]
    start_empty: bool,
    /// The process that it ends with [default: the one that runs this command]
    #[arg(long, value_name = "PID", requires = "ephemeral")]
    owner: Option<u32>,
    /// Stay, with what the host says, until the landscape or this command is stopped
    #[arg(long, conflicts_with = "demo")]
    foreground: bool,
    /// How long to wait until it is ready, in wall time
    #[arg(long, value_name = "D", default_value = "60s", value_parser = duration)]
    wait: TimeDelta,
    /// `json`: one object
    #[arg(short, long, value_parser = ["text", "json"], default_value = "text", conflicts_with = "demo")]
    output: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    if arguments.demo.as_deref() == Some(Play::LIST) {
        return Play::list().try_for_each(|line| output.line(&line));
    }
    let play = arguments.demo.as_deref().map(Play::named).transpose()?;
    let pace = arguments.pace()?;
    let mut arguments = arguments.with_settings()?;
    arguments.which = arguments.which();
    let arguments = &arguments;
    let directory = arguments.which.directory()?;
    directory.must_be_ours()?;
    let began = Clock::wall().now();
    let (client, host, clock) = block_on(async {
        let limit = began.checked_add_signed(arguments.wait).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let (client, host) = start::bring_up(&directory, arguments, limit).await?;
        if let Some(mode) = arguments.clock {
            super::clock::set_mode(&client, mode).await?;
        }
        if arguments.preset.as_deref() == Some("demo") {
            furnish(&client).await?;
        }
        let clock = client.clock().await?;
        Ok((client, host, clock))
    })?;
    let seconds = (Clock::wall().now() - began).as_seconds_f64();
    if let Some(host) = &host {
        host.notes(&directory).iter().for_each(|note| output.note(note));
    }
    let seconds = host.is_some().then_some(seconds);
    tell(&client, &clock, seconds, arguments, output)?;
    if let Some(play) = play {
        output.line("")?;
        return demo::play(&directory, &arguments.which, play, pace, |line| output.line(line));
    }
    match host {
        Some(host) if arguments.foreground => block_on(start::stay(host, &directory)),
        _ => Ok(()),
    }
}

/// Creates what the demo starts from, unless it is there.
async fn furnish(client: &Client) -> Result<(), Failure> {
    let expiration = preset::expiration(client.clock().await?.now);
    match preset::create_until(&client.context(), expiration).await {
        Err(error) if !error.is_already_exists() => Err(Failure::Failed(format!("cannot create the preset: {error}"))),
        _ => Ok(()),
    }
}

impl Arguments {
    /// What comes between two parts of a story.
    fn pace(&self) -> Result<Pace, Failure> {
        match self.pace {
            Some(time) => Ok(Pace::Wait(time)),
            None if !self.step => Ok(Pace::AtOnce),
            None if std::io::stdin().is_terminal() => Ok(Pace::Step),
            None => {
                let hint = "use --pace D, or run it in a terminal";
                Err(Failure::input("--step waits for Enter, and standard input is no terminal", hint))
            }
        }
    }

    /// Which landscape it is, or is to be. An ephemeral one without a name gets a random one.
    fn which(&self) -> Which {
        if !self.ephemeral || self.which.landscape != DEFAULT || self.which.data_dir.is_some() {
            return self.which.clone();
        }
        let nanoseconds = Clock::wall().now().timestamp_nanos_opt().unwrap_or_default();
        let random = Random::new(nanoseconds.unsigned_abs() ^ u64::from(std::process::id()));
        self.which.named(&format!("ephemeral-{}", random.suffix(6, "name of a landscape", "", 0)))
    }

    /// The flags, and the values of `--config` where no flag is given.
    fn with_settings(&self) -> Result<Self, Failure> {
        let Some(path) = &self.config else { return Ok(self.clone()) };
        let settings = Settings::read(path)?;
        Ok(Self {
            gardener_version: self.gardener_version.clone().or(settings.gardener_version),
            kubernetes_version: self.kubernetes_version.clone().or(settings.kubernetes_version),
            seeds: self.seeds.or(settings.seeds),
            apiservers: self.apiservers.or(settings.apiservers),
            operator: self.operator.or(settings.operator),
            skew_enforcement: self.skew_enforcement.clone().or(settings.skew_enforcement),
            allow_downgrade: self.allow_downgrade.or(settings.allow_downgrade),
            authorization: self.authorization.clone().or(settings.authorization),
            event_ttl: self.event_ttl.or(settings.event_ttl),
            start_time: self.start_time.or(settings.start_time),
            seed: self.seed.or(settings.seed),
            profile: self.profile.clone().or(settings.profile),
            log: self.log.clone().or(settings.log),
            durability: self.durability.clone().or(settings.durability),
            history: self.history.or(settings.history),
            clock: self.clock.or(settings.clock),
            port: self.port.or(settings.port),
            bind: self.bind.or(settings.bind),
            san: if self.san.is_empty() { settings.san } else { self.san.clone() },
            preset: self.preset.clone().or(settings.preset),
            ..self.clone()
        })
    }

    /// What the landscape is, and whether this command made it. `None`: another process is about to make it.
    fn facts(&self, directory: &Directory) -> Result<Option<(Facts, bool)>, Failure> {
        let found = match directory.facts()? {
            Some(facts) => Some((facts, false)),
            None => {
                if self.ephemeral && self.log.as_ref().is_some_and(|log| log != "memory") {
                    return Err(Failure::input(
                        "--log contradicts --ephemeral, whose log is in memory",
                        "leave one of them out",
                    ));
                }
                self.check_kubernetes_version()?;
                directory.create(|| self.new_facts())?
            }
        };
        if let Some((facts, false)) = &found {
            self.contradiction(facts)?;
        }
        Ok(found)
    }

    /// Whether a landscape of which it is not known yet gets a gardener-operator.
    fn has_operator(&self) -> bool {
        self.operator.unwrap_or(true)
    }

    /// What a landscape that is about to be started may be told otherwise than when it was made. One that was made before
    /// there was an operator gets one, unless it is not to.
    fn adopt(&self, directory: &Directory) -> Result<(), Failure> {
        let Some(facts) = directory.facts()? else { return Ok(()) };
        let told = Facts {
            operator: facts.operator.or_else(|| Some(self.has_operator())),
            skew_enforcement: self.skew_enforcement.clone().or_else(|| facts.skew_enforcement.clone()),
            allow_downgrade: self.allow_downgrade.unwrap_or(facts.allow_downgrade),
            authorization: self.authorization.clone().or_else(|| facts.authorization.clone()),
            event_ttl: self.event_ttl.map(|ttl| ttl.num_seconds()).or(facts.event_ttl),
            ..facts.clone()
        };
        if told == facts { Ok(()) } else { directory.write_facts(&told) }
    }

    /// What a landscape that runs cannot be told.
    fn needs_stop(&self, facts: &Facts) -> Result<(), Failure> {
        let flags = [
            ("--skew-enforcement", self.skew_enforcement.is_some() && self.skew_enforcement != facts.skew_enforcement),
            ("--event-ttl", self.event_ttl.is_some_and(|it| it != bootstrap::event_ttl(facts))),
            ("--allow-downgrade", self.allow_downgrade.is_some_and(|it| it != facts.allow_downgrade)),
            (
                "--authorization",
                self.authorization.as_deref().is_some_and(|it| it != bootstrap::authorization(facts).name()),
            ),
        ];
        match flags.into_iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(
                format!("{flag} cannot be changed while landscape {} runs", facts.name),
                format!("stop it with `{}`, and start it again with the flag", self.which.hint("terrarium down")),
            )),
        }
    }

    /// The emulated version of a new landscape.
    fn new_gardener_version(&self) -> String {
        self.gardener_version.clone().unwrap_or_else(|| landscape::GARDENER_VERSION.to_owned())
    }

    /// The Kubernetes version of a new landscape, without `v`.
    fn new_kubernetes_version(&self) -> String {
        match &self.kubernetes_version {
            Some(version) => version.trim_start_matches('v').to_owned(),
            None => bootstrap::usual_kubernetes(&self.new_gardener_version()),
        }
    }

    /// Whether the emulated Gardener supports the Kubernetes version that was asked for.
    fn check_kubernetes_version(&self) -> Result<(), Failure> {
        let Some(version) = &self.kubernetes_version else { return Ok(()) };
        let gardener = self.new_gardener_version();
        // What is no version of Gardener is told by whoever needs one.
        let Some(known) = GardenerVersion::parse(&gardener) else { return Ok(()) };
        if releases::supports_kubernetes(&known, version) {
            return Ok(());
        }
        let (oldest, newest) = releases::kubernetes_minors(&known);
        Err(Failure::input(
            format!("Gardener {gardener} does not support Kubernetes version {version}"),
            format!("use a version from 1.{oldest}.0 to 1.{newest}"),
        ))
    }

    /// What a new landscape is to be.
    fn new_facts(&self) -> Facts {
        let is_demo = self.demo.is_some() || self.preset.as_deref() == Some("demo");
        let now = Clock::wall().now();
        let start = || if is_demo { demo::start() } else { now };
        let start_time = self.start_time.map_or_else(start, |when| when.behind(now));
        Facts {
            name: self.which.landscape.clone(),
            kubernetes_version: Some(self.new_kubernetes_version()),
            gardener_version: self.new_gardener_version(),
            profile: self.profile.clone().unwrap_or_else(|| "documents".to_owned()),
            seed: self.seed.unwrap_or(1),
            seeds: self.seeds.unwrap_or(1),
            apiservers: self.apiservers.unwrap_or(2),
            operator: Some(self.has_operator()),
            skew_enforcement: self.skew_enforcement.clone(),
            allow_downgrade: self.allow_downgrade.unwrap_or_default(),
            authorization: self.authorization.clone(),
            event_ttl: self.event_ttl.map(|ttl| ttl.num_seconds()),
            start_time,
            log: self.log.clone().unwrap_or_else(|| if self.ephemeral { "memory" } else { "sled" }.to_owned()),
            durable: self.durability.as_deref() != Some("fast"),
            port: self.port.unwrap_or(0),
            bind: self.bind.unwrap_or(loopback()),
            san: self.san.clone(),
            history: self.history.unwrap_or_default(),
            dashboard: None,
            demo: is_demo,
            ephemeral: self.ephemeral.then(|| Ephemeral { kubeconfig: self.kubeconfig.path() }),
        }
    }

    /// A landscape that has run has a log. Without it, it would be another one under the same name.
    fn must_have_log(&self, directory: &Directory) -> Result<(), Failure> {
        if !directory.has_run() || directory.join("log").exists() {
            return Ok(());
        }
        if !self.start_empty {
            let hint = self.which.hint("terrarium up --start-empty");
            return Err(Failure::input(
                format!(
                    "the log of landscape {} is gone: there is no {}",
                    self.which.name(),
                    directory.join("log").display()
                ),
                format!("restore it from a copy; `{hint}` begins with an empty landscape"),
            ));
        }
        // Time begins anew, too.
        match std::fs::remove_file(directory.join("clock")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::Failed(format!("cannot remove {}: {error}", directory.join("clock").display())))
            }
            _ => Ok(()),
        }
    }

    /// A flag that says something else than what the landscape was created with.
    fn contradiction(&self, facts: &Facts) -> Result<(), Failure> {
        let flags = [
            ("--gardener-version", self.gardener_version.as_ref().is_some_and(|it| *it != facts.gardener_version)),
            (
                "--kubernetes-version",
                self.kubernetes_version
                    .as_ref()
                    .is_some_and(|it| it.trim_start_matches('v') != bootstrap::kubernetes_version(facts)),
            ),
            ("--profile", self.profile.as_ref().is_some_and(|it| *it != facts.profile)),
            ("--seed", self.seed.is_some_and(|it| it != facts.seed)),
            ("--apiservers", self.apiservers.is_some_and(|it| it != facts.apiservers)),
            ("--operator", self.operator.is_some_and(|it| facts.operator.is_some_and(|was| it != was))),
            ("--seeds", self.seeds.is_some_and(|it| it != facts.seeds)),
            ("--start-time", self.start_time.is_some_and(|it| matches!(it, When::At(at) if at != facts.start_time))),
            ("--log", self.log.as_ref().is_some_and(|it| *it != facts.log)),
            ("--durability", self.durability.as_ref().is_some_and(|it| (it == "durable") != facts.durable)),
            ("--port", self.port.is_some_and(|it| it != facts.port)),
            ("--bind", self.bind.is_some_and(|it| it != facts.bind)),
            ("--san", !self.san.is_empty() && self.san != facts.san),
            ("--history", self.history.is_some_and(|it| it != facts.history)),
            ("--ephemeral", self.ephemeral && facts.ephemeral.is_none()),
        ];
        match flags.into_iter().find(|(_, contradicts)| *contradicts) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::input(
                format!("{flag} contradicts what landscape {} was created with", facts.name),
                format!(
                    "leave the flag out, choose another name with --landscape, or remove it with `{}`",
                    self.which.hint("terrarium down --purge")
                ),
            )),
        }
    }
}

/// What is not ready, with what there is to say about it.
pub(super) async fn missing(client: &Client, context: &process::Context) -> Result<Option<String>, controller::Error> {
    Ok(look(client, context).await?.map(|missing| match missing {
        Missing::Yet(what) | Missing::Refused(what) => what,
    }))
}

/// What a landscape lacks.
enum Missing {
    /// It may come.
    Yet(String),
    /// A component's version must not run beside the others: it will not come.
    Refused(String),
}

async fn look(client: &Client, context: &process::Context) -> Result<Option<Missing>, controller::Error> {
    let yet = |what: String| Ok(Some(Missing::Yet(what)));
    let (deployments, _) = Api::<Deployment>::all(context, "*").list(&ListOptions::labelled("app=gardener")).await?;
    let wanted = components::Program::ALL.into_iter();
    let has_operator = client.facts.operator == Some(true);
    let wanted = wanted.filter(|program| has_operator || *program != components::Program::Operator);
    let wanted = wanted.map(|program| if program.is_of_seed() { client.facts.seeds as usize } else { 1 });
    let is_complete = deployments.len() >= wanted.sum::<usize>();
    for deployment in deployments {
        let wanted = deployment.spec.replicas.unwrap_or(1);
        if deployment.status.available_replicas < wanted {
            let labels = ListOptions::labelled(&format!("role={}", deployment.metadata.name));
            let (pods, _) = Api::<Pod>::all(context, "*").list(&labels).await?;
            let containers = || pods.iter().filter_map(|pod| pod.status.container_statuses.first());
            let ends = || containers().filter_map(|container| container.last_state.terminated.as_ref());
            if let Some(refused) = ends().find(|end| end.exit_code == REFUSED) {
                let line = refused.message.lines().last().unwrap_or_default().trim_start_matches("Error: ");
                return Ok(Some(Missing::Refused(format!("{} did not start: {line}", deployment.metadata.name))));
            }
            let words = containers().find_map(|container| {
                let last = container.last_state.terminated.as_ref();
                let waiting = container.state.waiting.as_ref();
                last.map(|last| last.message.clone())
                    .or_else(|| Some(format!("{}: {}", waiting?.reason, waiting?.message)))
            });
            let name = &deployment.metadata.name;
            return yet(words.map_or_else(|| name.clone(), |words| format!("{name}:\n{words}")));
        }
    }
    if has_operator && let Some(what) = garden_lacks(context).await? {
        return yet(what);
    }
    if !is_complete {
        return yet("the landscape is not complete yet".to_owned());
    }
    if let Some(name) = client.unavailable_api_service().await {
        return yet(format!("APIService {name} is not available"));
    }
    let (seeds, _) = Api::<Seed>::all(context, cluster::GARDEN).list(&ListOptions::default()).await?;
    // As column STATUS says it: extensions may still be on their way.
    let is_ready = |seed: &Seed| {
        let status = |type_: &str| {
            let condition = seed.status.conditions.iter().find(|it| it.r#type == type_);
            condition.map_or("", |condition| condition.status.as_str())
        };
        seed.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded")
            && status(condition::SEED_GARDENLET_READY) == "True"
            && matches!(status(condition::SEED_EXTENSIONS_READY), "True" | "Progressing")
    };
    let ready = seeds.iter().filter(|seed| is_ready(seed)).count();
    let wanted = client.facts.seeds as usize;
    if ready < wanted { yet(format!("{ready} of {wanted} Seeds")) } else { Ok(None) }
}

/// What the Garden lacks; `None`: it is reconciled.
async fn garden_lacks(context: &process::Context) -> Result<Option<String>, controller::Error> {
    let (gardens, _) = Api::<Garden>::all(context, cluster::RUNTIME).list(&ListOptions::default()).await?;
    let Some(garden) = gardens.first() else { return Ok(Some("there is no Garden".to_owned())) };
    let name = &garden.metadata.name;
    Ok(match &garden.status.last_operation {
        Some(operation) if operation.state == "Succeeded" => None,
        Some(operation) => Some(format!("Garden {name}: {}", operation.description)),
        None => Some(format!("Garden {name}: no gardener-operator reconciles it")),
    })
}

/// What there is, and what to do next; `seconds` until it was ready, unless it ran already.
fn tell(
    client: &Client,
    clock: &ClockState,
    seconds: Option<f64>,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let Facts { name, gardener_version, profile, seed, seeds, apiservers, log, .. } = &client.facts;
    // Before the first line: who reads no further has the contexts, too.
    let merged = match arguments.kubeconfig.path() {
        None => None,
        Some(path) => {
            let admin = kubeconfig::User::admin(&client.cluster_authorities);
            let config = kubeconfig::of(client, &seed_names(*seeds), &admin)?;
            let current = kubeconfig::merge(&path, &config, arguments.switch_context)?;
            Some((path, current))
        }
    };
    if arguments.output == "json" {
        return output.line(&object(client, clock).to_string());
    }
    output.line(&format!(
        "Terrarium {} · Gardener {gardener_version} (emulated) · profile {profile} · log {log}{} · seed {seed} · https://{}",
        env!("CARGO_PKG_VERSION"),
        if log == "memory" { "" } else if client.facts.durable { ", durable" } else { ", fast: nothing is synced" },
        client.host.address,
    ))?;
    let what = format!(
        "{apiservers} gardener-apiserver, controller-manager, scheduler, admission-controller, {}",
        plural(*seeds, "seed")
    );
    match seconds {
        None => output.line(&format!("  {what}    runs already"))?,
        Some(seconds) => output.line(&format!("  {what}    ready in {seconds:.1} s"))?,
    }
    let Some((path, current)) = merged else { return Ok(()) };
    let current = match current {
        Current::OfOthers => "current context left as it is".to_owned(),
        Current::WasOurs | Current::IsOurs => format!("current context is terrarium-{name}"),
    };
    let (seeds, path) = (seed_names(*seeds).join(", -seed-"), below_home(&path, std::env::home_dir().as_deref()));
    output.line(&format!("  contexts terrarium-{name}, -runtime, -seed-{seeds} added to {path} ({current})"))?;
    if arguments.demo.is_none() {
        output.line(&format!("  Look around:  kubectl --context terrarium-{name} get cloudprofiles,seeds,projects"))?;
        let (hint, mode) = (arguments.which.hint("terrarium clock advance 24h"), super::clock::mode_name(clock.mode));
        output.line(&format!("  Move time:    {hint}    (clock {mode})"))?;
        output.line(&format!("  Pages:        {}", arguments.which.hint("terrarium dashboard")))?;
    }
    Ok(())
}

/// A path as its user writes it.
fn below_home(path: &Path, home: Option<&Path>) -> String {
    let below = home.filter(|home| home.components().count() > 1).and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}

/// Names of the Seeds of a landscape.
pub(crate) fn seed_names(seeds: u32) -> Vec<String> {
    (1..=seeds).map(|number| if number == 1 { "local".to_owned() } else { format!("local-{number}") }).collect()
}

/// The landscape as one object, for scripts.
pub(crate) fn object(client: &Client, clock: &ClockState) -> serde_json::Value {
    json!({
        "name": client.facts.name,
        "version": env!("CARGO_PKG_VERSION"),
        "gardenerVersion": client.facts.gardener_version,
        "profile": client.facts.profile,
        "clock": clock,
        "seed": client.facts.seed,
        "log": client.facts.log,
        "durable": client.facts.log != "memory" && client.facts.durable,
        "server": format!("https://{}", client.host.address),
        "pid": client.host.pid,
        "contexts": kubeconfig::names(&client.facts.name, &seed_names(client.facts.seeds)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_below_the_home_of_their_user() {
        let shown = |path: &str, home: Option<&str>| below_home(Path::new(path), home.map(Path::new));
        assert_eq!(shown("/home/ann/.kube/config", Some("/home/ann")), "~/.kube/config");
        assert_eq!(shown("/home/anna/.kube/config", Some("/home/ann")), "/home/anna/.kube/config");
        assert_eq!(shown("/tmp/config", Some("/")), "/tmp/config");
        assert_eq!(shown("config", None), "config");
    }
}
