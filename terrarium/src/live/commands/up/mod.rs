// SPDX-License-Identifier: Apache-2.0
//! `terrarium up`: starts or resumes a landscape and waits until it is ready.
//!
//! **Tour.** [`settings`] flags that a file may have as well; [`facts`] creation parameters of a landscape; [`start`] its
//! host; [`readiness`] the conditions that it waits for. Of `-f`: [`manifests`] the objects that are applied, [`steps`]
//! their order, [`application`] requests, [`waiting`] waits in between, [`applied`] what was done.

mod application;
mod applied;
mod facts;
mod manifests;
mod readiness;
mod settings;
mod start;
mod steps;
mod waiting;

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use api::cluster;
use api::core::CloudProfile;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use clock::{Clock, Random};
use component::signals::end_signal;
use controller::Api;
use domain::skew::{GardenerVersion, releases};
use host::time::clock_service::ClockState;
use landscape::preset::Preset;
use serde_json::json;

use self::application::Application;
use self::applied::Applied;
use self::manifests::Manifests;
use self::settings::Settings;
use crate::failure::Failure;
use crate::live::client::Client;
use crate::live::demo::{Pace, Play};
use crate::live::directory::{Facts, Holder};
use crate::live::kubeconfig::Current;
use crate::live::start::Losses;
use crate::live::{Directory, KubeconfigFile, Which, block_on, demo, doctor, kubeconfig};
use crate::output::Output;
use crate::simulate;
use ops::instant::{self, duration};
use ops::spelling::plural;

pub(in crate::live) use self::readiness::missing;

/// Start or resume a landscape, and wait until it is ready
#[derive(Clone, Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) kubeconfig: KubeconfigFile,
    /// Play a story on the landscape; `list` shows all stories
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = Play::DEFAULT)]
    demo: Option<String>,
    /// Wall time between two parts of the story
    #[arg(long, value_name = "D", requires = "demo", value_parser = duration)]
    pace: Option<TimeDelta>,
    /// Wait for Enter between two parts of the story
    #[arg(long, requires = "demo", conflicts_with = "pace")]
    step: bool,
    /// Print no progress of the story
    #[arg(short, long, requires = "demo")]
    quiet: bool,
    /// Manifests to apply once the landscape is ready, in any order: files, folders, or `-` for standard input. Missing
    /// Projects, CloudProfiles, credentials, Seeds and extension registrations are added
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with = "demo")]
    files: Vec<PathBuf>,
    /// Include subfolders
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// File with flags of this command, as YAML (`seeds: 2`); a flag that is given wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Make the landscape's garden the current context
    #[arg(long)]
    switch_context: bool,
    #[command(flatten)]
    settings: Settings,
    /// Create a landscape with its log in memory and, by default, a random name; `down` or the end of its owner removes it
    #[arg(long)]
    ephemeral: bool,
    #[command(flatten)]
    losses: Losses,
    /// Owner of the ephemeral landscape: the landscape ends with this process [default: the process that runs this command]
    #[arg(long, value_name = "PID", requires = "ephemeral")]
    owner: Option<u32>,
    /// Stay in the foreground and print the host's output until the landscape or this command is stopped
    #[arg(long, conflicts_with = "demo")]
    foreground: bool,
    /// Maximum wall time until the landscape is ready; with `-f` also of each request, and until each Project and Seed is
    /// ready
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
    directory.must_be_ours().map_err(|failure| arguments.lost_facts(&directory).unwrap_or(failure))?;
    // Checked before the start, so that no landscape runs without its contexts.
    if let Some(path) = arguments.kubeconfig.path() {
        kubeconfig::check(&path, &arguments.which.name(), &directory.real())?;
    }
    let facts = directory.facts()?;
    arguments.has_time_for_demo(facts.as_ref())?;
    // Read before the start, so that nothing is started for manifests that cannot be used.
    let manifests = arguments.manifests()?;
    for note in manifests.iter().flat_map(|manifests| &manifests.notes) {
        output.note(&format!("note: {note}"));
    }
    if let Some(text) = arguments.unknown_release(facts.as_ref()) {
        output.note(&format!("note: {text}"));
    }
    let began = Clock::wall().now();
    let started = Cell::new(None);
    let (mut client, host, clock, version) = block_on(async {
        let brought_up = async {
            let limit = began.checked_add_signed(arguments.wait).unwrap_or(DateTime::<Utc>::MAX_UTC);
            let (client, host) = start::bring_up(&directory, arguments, limit, &started).await?;
            if let Err(failure) = arguments.prepare(&client).await {
                if let Some(host) = &host {
                    host.undo(&directory).await?;
                }
                return Err(failure);
            }
            let clock = client.clock().await?;
            let version = client.gardener_version().await?;
            Ok((client, host, clock, version))
        };
        tokio::select! {
            biased;
            _ = end_signal() => Err(arguments.interrupted(&directory, started.get())),
            result = brought_up => result,
        }
    })?;
    arguments.has_requested_form(&client)?;
    directory.found_gardener(&version)?;
    client.facts.gardener_found = Some(version.clone());
    let seconds = (Clock::wall().now() - began).as_seconds_f64();
    if let Some(host) = &host {
        host.notes().iter().for_each(|note| output.note(note));
    }
    let seconds = host.is_some().then_some(seconds);
    // Done before the first line: if a reader closes the output early, the contexts are merged nevertheless.
    let merged = match (arguments.merge(&client), &host) {
        (Ok(merged), _) => merged,
        (Err(failure), Some(host)) => {
            block_on(host.undo(&directory))?;
            return Err(failure);
        }
        (Err(failure), None) => return Err(failure),
    };
    let (clock, applied, result) = match manifests {
        None => (clock, None, Ok(())),
        Some(manifests) => {
            let (applied, result) = arguments.apply(&directory, manifests, version, output);
            // Waits may have moved time.
            let clock = block_on(async { Client::of(&directory)?.clock().await }).unwrap_or(clock);
            (clock, Some(applied), result)
        }
    };
    print(&client, &clock, seconds, merged, applied.as_ref(), arguments, output)?;
    result?;
    if let Some(play) = play {
        output.line("")?;
        return demo::play(&directory, &arguments.which, play, pace, arguments.quiet, output);
    }
    match host {
        Some(host) if arguments.foreground => block_on(start::stay(host, &directory)),
        _ => Ok(()),
    }
}

/// Creates the objects of the demo, unless they exist.
async fn create_preset(client: &Client) -> Result<(), Failure> {
    let preset = Preset::of_text(client.facts.gardener());
    let expiration = match simulate::expiration(&preset, client.clock().await?.now) {
        Ok(expiration) => expiration,
        Err(failure) => {
            let profiles = Api::<CloudProfile>::all(&client.context(), cluster::GARDEN);
            let found = profiles.get_opt("local").await.map_err(|error| Failure::Failed(error.to_string()))?;
            return found.map(drop).ok_or(failure);
        }
    };
    match preset.create(&client.context(), expiration).await {
        Err(error) if !error.is_already_exists() => Err(Failure::Failed(format!("cannot create the preset: {error}"))),
        _ => Ok(()),
    }
}

impl Arguments {
    /// Failure for a landscape that has lost the file of its creation parameters; `None`: its log has none either.
    fn lost_facts(&self, directory: &Directory) -> Option<Failure> {
        doctor::facts_in_log(directory)?;
        let what = format!("{} is missing", directory.join("landscape.json").display());
        let fix = self.which.hint("terrarium doctor --fix");
        let hint = format!("restore it from a copy; `{fix}` writes it again from what the log says");
        Some(Failure::input(what, hint))
    }

    /// Refuses a new landscape of the demo whose time would end before the demo.
    fn has_time_for_demo(&self, facts: Option<&Facts>) -> Result<(), Failure> {
        if facts.is_some() || (self.demo.is_none() && self.settings.preset.as_deref() != Some("demo")) {
            return Ok(());
        }
        let start = self.new_facts().start_time;
        let end = instant::after(start, TimeDelta::days(simulate::DEMO_DAYS));
        end.map(drop).ok_or_else(|| simulate::too_late(start))
    }

    /// Sets the mode of the clock and creates the preset.
    async fn prepare(&self, client: &Client) -> Result<(), Failure> {
        if let Some(mode) = self.settings.clock {
            crate::live::clock::set_mode(client, mode).await?;
        }
        if self.settings.preset.as_deref() == Some("demo") {
            create_preset(client).await?;
        }
        Ok(())
    }

    /// Reads the manifests; `None`: there is no `-f`.
    fn manifests(&self) -> Result<Option<Manifests>, Failure> {
        if self.files.is_empty() { Ok(None) } else { Manifests::read(&self.files, self.recursive).map(Some) }
    }

    /// Applies manifests to a landscape that is ready; returns what was applied.
    fn apply(
        &self,
        directory: &Directory,
        manifests: Manifests,
        version: String,
        output: &mut Output,
    ) -> (Applied, Result<(), Failure>) {
        let applied = RefCell::new(Applied { of: manifests.objects.len(), ..Applied::default() });
        let result = block_on(async {
            // Connections belong to the runtime that opened them.
            let client = Client::of(directory)?;
            let application = Application::new(&client, version, self.wait, &applied);
            let done = tokio::select! {
                biased;
                _ = end_signal() => Err(self.interrupted_application(client.host.pid, &applied.borrow())),
                done = application.run(manifests, output) => done,
            };
            done.map_err(|failure| self.unfinished(failure, &applied.borrow()))
        });
        (applied.into_inner(), result)
    }

    /// The command that applies the manifests again.
    fn again(&self) -> String {
        let files = self.files.iter().map(|file| format!(" -f {}", file.display()));
        let recursive = if self.recursive { " -R" } else { "" };
        self.which.hint(&format!("terrarium up{recursive}{}", files.collect::<String>()))
    }

    /// Failure after a signal while manifests are applied.
    fn interrupted_application(&self, pid: u32, applied: &Applied) -> Failure {
        let (name, again, down) = (self.which.name(), self.again(), self.which.hint("terrarium down"));
        let share = applied.share();
        Failure::Interrupted(if self.foreground {
            format!("interrupted: {share} were applied; landscape {name}, process {pid}, ends with this command")
        } else {
            format!(
                "interrupted: {share} were applied; landscape {name} goes on as process {pid}; `{again}` applies them all, \
                 `{down}` stops it"
            )
        })
    }

    /// Adds to the failure of an object what was applied before, and the command that continues.
    fn unfinished(&self, failure: Failure, applied: &Applied) -> Failure {
        let (what, remedy) = match failure {
            Failure::Input { what, hint } => (what, hint),
            Failure::Failed(what) => (what, String::new()),
            other => return other,
        };
        let what = format!("{what}\napplied before: {} ({})", applied.text(), applied.share());
        let name = self.which.name();
        let goes_on = if self.foreground {
            format!("landscape {name} ends with this command")
        } else {
            format!("landscape {name} goes on, and `{}` applies all of them again", self.again())
        };
        let hint = if remedy.is_empty() { goes_on } else { format!("{remedy}; {goes_on}") };
        Failure::Unfinished { what, hint }
    }

    /// Pause between two parts of a story.
    fn pace(&self) -> Result<Pace, Failure> {
        match self.pace {
            Some(time) => Ok(Pace::Wait(time)),
            None if !self.step => Ok(Pace::AtOnce),
            None if std::io::stdin().is_terminal() => Ok(Pace::Step),
            None => {
                let hint = "use --pace D, or run it in a terminal";
                Err(Failure::input("--step waits for Enter, and standard input is not a terminal", hint))
            }
        }
    }

    /// Merges the landscape's contexts into the kubeconfig; returns the file and its current context.
    fn merge(&self, client: &Client) -> Result<Option<(PathBuf, Current)>, Failure> {
        let Some(path) = self.kubeconfig.path() else { return Ok(None) };
        let admin = kubeconfig::User::admin(&client.cluster_authorities);
        let config = kubeconfig::of(client, &seed_names(client.facts.seeds), &admin)?;
        let current = kubeconfig::merge(&path, &config, self.switch_context, &self.kubeconfig.of_kubectl())?;
        Ok(Some((path, current)))
    }

    /// Failure after a signal, with the running processes and the commands that resume or stop them.
    fn interrupted(&self, directory: &Directory, started: Option<u32>) -> Failure {
        let host = directory.holder().ok().flatten().filter(Holder::is_host).and_then(|holder| holder.pid);
        let (name, up, down) = (self.which.name(), self.which.hint("terrarium up"), self.which.hint("terrarium down"));
        Failure::Interrupted(match started.or(host) {
            Some(pid) if self.foreground => {
                format!("interrupted: landscape {name}, process {pid}, ends with this command")
            }
            Some(pid) => format!(
                "interrupted: landscape {name} goes on as process {pid}; `{up}` waits until it is ready, `{down}` stops it"
            ),
            None => format!("interrupted: landscape {name} was not started; `{up}` starts it"),
        })
    }

    /// Landscape of the command. An ephemeral one without a name gets a random name.
    fn which(&self) -> Which {
        if !self.ephemeral || self.which.given().is_some() {
            return self.which.clone();
        }
        let nanoseconds = Clock::wall().now().timestamp_nanos_opt().unwrap_or_default();
        let random = Random::new(nanoseconds.unsigned_abs() ^ u64::from(std::process::id()));
        self.which.named(&format!("ephemeral-{}", random.suffix(6, "name of a landscape", "", 0)))
    }

    /// Returns the flags, with the values of `--config` for missing ones.
    fn with_settings(&self) -> Result<Self, Failure> {
        let Some(path) = &self.config else { return Ok(self.clone()) };
        Ok(Self { settings: self.settings.clone().or(Settings::read(path)?), ..self.clone() })
    }
}

/// Prints the landscape, and the next commands; `seconds`: time until it was ready, unless it ran already; `applied`:
/// objects of manifests that were applied.
fn print(
    client: &Client,
    clock: &ClockState,
    seconds: Option<f64>,
    merged: Option<(PathBuf, Current)>,
    applied: Option<&Applied>,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let Facts { name, profile, seed, seeds, apiservers, log, .. } = &client.facts;
    let gardener_version = client.facts.gardener();
    if arguments.output == "json" {
        let mut object = object(client, clock);
        if let Some(applied) = applied {
            object["applied"] = json!(applied.kinds);
        }
        return output.line(&object.to_string());
    }
    output.line(&format!(
        "Terrarium {} · Gardener {gardener_version} ({}) · profile {profile} · log {log}{} · seed {seed} · https://{}",
        env!("CARGO_PKG_VERSION"),
        emulated(gardener_version),
        if log == "memory" {
            ""
        } else if client.facts.durable {
            ", durable"
        } else {
            ", fast: nothing is synced"
        },
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
    if let Some(form) = client.host.components.line() {
        output.line(&format!("  Components:   {form}"))?;
    }
    if let Some(applied) = applied {
        output.line(&format!("  applied:  {}", applied.text()))?;
    }
    let Some((path, current)) = merged else { return Ok(()) };
    let current = match current {
        Current::OfOthers => "current context left as it is".to_owned(),
        Current::WasOurs | Current::IsOurs => format!("current context is terrarium-{name}"),
    };
    let (seeds, shown) = (seed_names(*seeds).join(", -seed-"), below_home(&path, std::env::home_dir().as_deref()));
    output.line(&format!("  contexts terrarium-{name}, -runtime, -seed-{seeds} added to {shown} ({current})"))?;
    if arguments.demo.is_none() {
        output.line(&format!("  Look around:  kubectl --context terrarium-{name} get cloudprofiles,seeds,projects"))?;
        let (hint, mode) =
            (arguments.which.hint("terrarium clock advance 24h"), crate::live::clock::mode_name(clock.mode));
        output.line(&format!("  Move time:    {hint}    (clock {mode})"))?;
        output.line(&format!("  Pages:        {}", arguments.which.hint("terrarium dashboard")))?;
    }
    let files = arguments.kubeconfig.of_kubectl();
    let way = if files.contains(&path) { String::new() } else { format!("KUBECONFIG={shown} ") };
    output.line(&format!("  kubectl:      {}", used(kubeconfig::current(&files).as_deref(), name, &way)))
}

/// Remark on an emulated version: the newest known one, if that is newer.
fn emulated(gardener: &str) -> String {
    let newest = releases::newest();
    match GardenerVersion::parse(gardener) {
        Some(version) if version.full() < newest.full() => format!("emulated; newest: v{newest}"),
        _ => "emulated".to_owned(),
    }
}

/// Formats the context that kubectl uses without a flag, and the way to the landscape if that is another context; `way`:
/// text that the user types before the command.
fn used(current: Option<&str>, landscape: &str, way: &str) -> String {
    let own = format!("terrarium-{landscape}");
    match current {
        Some(current) if current == own => format!("uses context {own}"),
        Some(current) => format!("uses context {current}; this landscape is `{way}kubectl --context {own}`"),
        None => format!("uses no context; this landscape is `{way}kubectl --context {own}`"),
    }
}

/// Shortens a path as users write it.
fn below_home(path: &Path, home: Option<&Path>) -> String {
    let below = home.filter(|home| home.components().count() > 1).and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}

/// Names of the Seeds of a landscape.
pub(crate) fn seed_names(seeds: u32) -> Vec<String> {
    (1..=seeds).map(|number| if number == 1 { "local".to_owned() } else { format!("local-{number}") }).collect()
}

/// Formats the landscape as one JSON object for scripts.
pub(crate) fn object(client: &Client, clock: &ClockState) -> serde_json::Value {
    json!({
        "name": client.facts.name,
        "version": env!("CARGO_PKG_VERSION"),
        "gardenerVersion": client.facts.gardener(),
        "profile": client.facts.profile,
        "clock": clock,
        "seed": client.facts.seed,
        "log": client.facts.log,
        "durable": client.facts.log != "memory" && client.facts.durable,
        "server": format!("https://{}", client.host.address),
        "pid": client.host.pid,
        "components": client.host.components,
        "contexts": kubeconfig::names(&client.facts.name, &seed_names(client.facts.seeds)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_release_names_the_newest() {
        for (gardener, expected) in [
            ("v1.120.0", "emulated; newest: v1.149.3"),
            ("v1.149.2", "emulated; newest: v1.149.3"),
            ("v1.149.3", "emulated"),
            ("v1.150.0", "emulated"),
            ("banana", "emulated"),
        ] {
            assert_eq!(emulated(gardener), expected);
        }
    }

    #[test]
    fn the_context_that_kubectl_uses_is_named() {
        assert_eq!(used(Some("terrarium-a"), "a", ""), "uses context terrarium-a");
        let other = "uses context prod; this landscape is `kubectl --context terrarium-a`";
        assert_eq!(used(Some("prod"), "a", ""), other);
        let none = "uses no context; this landscape is `KUBECONFIG=k kubectl --context terrarium-a`";
        assert_eq!(used(None, "a", "KUBECONFIG=k "), none);
    }

    #[test]
    fn paths_are_shown_below_the_home_of_their_user() {
        let shown = |path: &str, home: Option<&str>| below_home(Path::new(path), home.map(Path::new));
        assert_eq!(shown("/home/ann/.kube/config", Some("/home/ann")), "~/.kube/config");
        assert_eq!(shown("/home/anna/.kube/config", Some("/home/ann")), "/home/anna/.kube/config");
        assert_eq!(shown("/tmp/config", Some("/")), "/tmp/config");
        assert_eq!(shown("config", None), "config");
    }
}
