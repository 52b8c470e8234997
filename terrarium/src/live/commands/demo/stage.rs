// SPDX-License-Identifier: Apache-2.0
//! Steps of stories: objects are applied, time is moved, and the events that a watching client sees are printed.

use std::sync::mpsc::Sender;

use api::cluster;
use api::constants::api_version;
use api::core::{Project, Shoot};
use api::kubernetes::core::Node;
use api::terrarium::Timing;
use apimachinery::Status;
use apimachinery::meta::TextMap;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, TimerClass};
use controller::{Api, ListOptions, Patch};
use domain::rollout::timing;
use landscape::preset::{self, Preset};
use landscape::wait;
use parking_lot::Mutex;
use process::Context;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Pace, Shown, participant};
use crate::failure::Failure;
use crate::live::client::{Advance, Client};
use crate::live::history::Past;
use crate::live::replay::{Outcome, replay};
use crate::live::{Directory, Which};
use crate::progress::{Goal, Progress};
use crate::simulate::{self, Story, apply};
use ops::manifests::Manifest;

/// Wall time within which each step must happen.
const TIMEOUT: TimeDelta = TimeDelta::seconds(30);
const LOOK: TimeDelta = TimeDelta::milliseconds(10);
/// File of the landscape's directory that exists while a story runs.
const HALF_TOLD: &str = "demo";

/// Environment of a running story.
pub(super) struct Stage {
    /// Client whose requests take no part in landscape time.
    pub(super) client: Client,
    /// Context whose requests take part in landscape time.
    pub(super) context: Context,
    directory: Directory,
    which: Which,
    lines: Sender<Shown>,
    wall: Clock,
    began: DateTime<Utc>,
    pace: Pace,
    keys: tokio::sync::Mutex<mpsc::UnboundedReceiver<()>>,
    /// The last printed line.
    last: Mutex<String>,
    /// Heading of a part that begins automatically when the first node is created or deleted.
    nodes_heading: Mutex<Option<&'static str>>,
}

impl Stage {
    pub(super) fn new(
        client: Client,
        context: Context,
        directory: Directory,
        which: Which,
        lines: Sender<Shown>,
        pace: Pace,
        keys: mpsc::UnboundedReceiver<()>,
    ) -> Self {
        let wall = Clock::wall();
        Self {
            client,
            context,
            directory,
            which,
            lines,
            began: wall.now(),
            wall,
            pace,
            keys: tokio::sync::Mutex::new(keys),
            last: Mutex::default(),
            nodes_heading: Mutex::default(),
        }
    }

    /// Begins to watch the events of these Shoots of the demo's Project.
    pub(super) fn watch(&self, shoots: &[&str]) -> Story {
        let names = shoots.iter().map(|name| format!("{}/{name}", preset::NAMESPACE)).collect();
        Story::begin(&self.context, Some(names), shoots.len() > 1)
    }

    pub(super) fn shoots(&self) -> Api<Shoot> {
        Api::namespaced(&self.context, cluster::GARDEN, preset::NAMESPACE)
    }

    /// Returns true, and prints so, if the story was already run in this landscape.
    ///
    /// # Errors
    /// The story was begun and not completed.
    pub(super) async fn has_been_played(&self, shoot: &str) -> Result<bool, Failure> {
        let is_there = self.shoots().get_opt(shoot).await.map_err(failed)?.is_some();
        let purge = self.which.hint("terrarium down --purge");
        if is_there && self.directory.join(HALF_TOLD).exists() {
            let up = self.which.hint("terrarium up --demo");
            return Err(Failure::Failed(format!(
                "the demo was interrupted in this landscape: `{purge}` and `{up}` play it from its beginning"
            )));
        }
        if is_there {
            self.say(&format!("The demo has been played in this landscape: `{purge}` makes room for another."));
        } else {
            self.directory.write(HALF_TOLD, "")?;
        }
        Ok(is_there)
    }

    /// Preset of the landscape's release.
    pub(super) fn preset(&self) -> Preset {
        Preset::of_text(self.client.facts.gardener())
    }

    /// Expiration of the oldest Kubernetes version of a preset that is created now.
    pub(super) async fn expiration(&self) -> Result<DateTime<Utc>, Failure> {
        simulate::expiration(&self.preset(), self.now().await?)
    }

    /// Creates CloudProfile, Project and credentials of the demo, whose provider is as quick as provider-local. Returns the
    /// expiration of the oldest Kubernetes version.
    pub(super) async fn create_preset(&self) -> Result<DateTime<Utc>, Failure> {
        let preset = self.preset();
        let expiration = self.expiration().await?;
        let durations: TextMap = timing::of_provider_local().into_iter().collect();
        let timings = Api::<Timing>::all(&self.context, cluster::RUNTIME);
        let patch = Patch::Merge(json!({ "spec": { "durations": durations } }));
        timings.patch(timing::NAME, &patch).await.map_err(failed)?;
        let manifests = simulate::demo(&preset, expiration, 0);
        let (first, second) = manifests.split_at(2);
        self.apply(first).await?;
        let projects = Api::<Project>::all(&self.context, cluster::GARDEN);
        let ready = wait::for_object(&projects, "demo", |project| project.status.phase == "Ready");
        self.within("Project demo is Ready", ready).await?;
        self.apply(second).await?;
        Ok(expiration)
    }

    /// Creates Shoots, and prints events until all of them are created.
    pub(super) async fn create(&self, story: &Story, shoots: &[Shoot]) -> Result<(), Failure> {
        let manifests: Vec<Manifest> =
            shoots.iter().map(|it| simulate::manifest_of(it, "Shoot", api_version::CORE)).collect();
        self.apply(&manifests).await?;
        let api = self.shoots();
        for shoot in shoots {
            let name = &shoot.metadata.name;
            let created = wait::for_object(&api, name, |shoot| {
                shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded")
            });
            let expected = format!("Create Succeeded (100%) of Shoot {name}");
            self.printing(story, self.within(&expected, created)).await?;
        }
        // The condition was seen by a separate watch: that of the story may be behind.
        let now = self.now().await?;
        self.until(story, now + TimeDelta::seconds(1)).await
    }

    /// Reads the current state of a Shoot.
    pub(super) async fn shoot(&self, name: &str) -> Result<Shoot, Failure> {
        self.shoots().get(name).await.map_err(failed)
    }

    /// Changes a Shoot with a merge patch.
    pub(super) async fn patch(&self, name: &str, patch: Value) -> Result<(), Failure> {
        self.shoots().patch(name, &Patch::Merge(patch)).await.map(drop).map_err(failed)
    }

    /// Reads the current nodes of a Shoot.
    pub(super) async fn nodes(&self, name: &str) -> Result<Vec<Node>, Failure> {
        let nodes = Api::<Node>::all(&self.context, &cluster::technical_id("demo", name));
        nodes.list(&ListOptions::default()).await.map(|(nodes, _)| nodes).map_err(failed)
    }

    pub(super) async fn apply(&self, manifests: &[Manifest]) -> Result<(), Failure> {
        for manifest in manifests {
            let refused = |status: Status| {
                Failure::Failed(format!("{} {} was refused: {}", manifest.kind(), manifest.name(), status.message))
            };
            apply::apply(&self.context, manifest).await.map_err(refused)?;
        }
        Ok(())
    }

    /// Reads landscape time.
    pub(super) async fn now(&self) -> Result<DateTime<Utc>, Failure> {
        Ok(self.client.clock().await?.now)
    }

    /// Moves time, and prints the events on the way.
    pub(super) async fn until(&self, story: &Story, to: DateTime<Utc>) -> Result<(), Failure> {
        let limit = self.wall.now() + TIMEOUT;
        let own = participant(std::process::id());
        let participant = Some(own.clone());
        let advance = Advance { to, settle: TimeDelta::zero(), participant, ignore_absence: false };
        let mut state = self.client.advance(&advance).await?;
        let mut progress = Progress::of_time(Goal::Time(to), state.now, self.wall.now());
        while state.target.is_some() {
            self.print(story);
            progress.at(state.now, self.wall.now(), crate::live::clock::obstacles(&state, &own));
            self.show(Shown::Progress(progress.clone()));
            if self.wall.now() > limit {
                let waits = state.waits_for.participants.join(", ");
                return Err(Failure::Failed(format!(
                    "time is at {}, on the way to {}, and waits for {waits}",
                    state.now.to_rfc3339(),
                    to.to_rfc3339()
                )));
            }
            self.wall.sleep(LOOK, TimerClass::Work).await;
            state = self.client.clock().await?;
        }
        self.print(story);
        // Before that instant the step is incomplete.
        if state.now < to {
            let why = state.live_lock.or_else(|| Some(format!("{} does not answer", state.absences.last()?.name)));
            let why = why.unwrap_or_else(|| "another client ended the advance".to_owned());
            return Err(Failure::Failed(format!("time stopped at {}: {why}", state.now.to_rfc3339())));
        }
        Ok(())
    }

    /// Prints events until a future completes.
    async fn printing<T>(&self, story: &Story, done: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let mut done = std::pin::pin!(done);
        loop {
            tokio::select! {
                biased;
                result = &mut done => {
                    self.print(story);
                    return result;
                }
                () = self.wall.sleep(LOOK, TimerClass::Work) => self.print(story),
            }
        }
    }

    async fn within<T>(
        &self,
        what: &str,
        done: impl Future<Output = Result<T, controller::Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            result = done => result.map_err(failed),
            () = self.wall.sleep(TIMEOUT, TimerClass::Work) => {
                let seconds = TIMEOUT.num_seconds();
                let last = self.last.lock().trim().to_owned();
                Err(Failure::Failed(format!("expected within {seconds} s: {what}\nseen instead: {last}")))
            }
        }
    }

    /// Begins a part; pauses before all parts except the first.
    pub(super) async fn part(&self, story: &Story, heading: &str) {
        self.print(story);
        let is_first = self.last.lock().is_empty();
        match if is_first { Pace::AtOnce } else { self.pace } {
            Pace::AtOnce => {}
            Pace::Wait(time) => self.wall.sleep(time, TimerClass::Work).await,
            Pace::Step => {
                self.show(Shown::Note("(Enter goes on)"));
                // When standard input is closed, the rest is shown without pauses.
                let _ = self.keys.lock().await.recv().await;
            }
        }
        self.print(story);
        self.say(heading);
    }

    /// Sets the heading of a part that begins when the next node is created or deleted.
    pub(super) fn part_of_nodes(&self, heading: &'static str) {
        *self.nodes_heading.lock() = Some(heading);
    }

    /// Prints the events since the last call.
    pub(super) fn print(&self, story: &Story) {
        for line in story.drain() {
            if line.subject.starts_with("nodes") || line.subject.trim_start().starts_with("nodes ") {
                let heading = self.nodes_heading.lock().take();
                if let Some(heading) = heading {
                    self.say(heading);
                }
            }
            self.say(&line.render());
        }
    }

    /// Prints the last part: duration, proof that the log alone results in the same state, and suggested commands of
    /// kubectl and terrarium.
    pub(super) async fn end(
        &self,
        story: &Story,
        part: &str,
        from: DateTime<Utc>,
        hints: &[&[&str]],
    ) -> Result<(), Failure> {
        let (now, entries) = (self.now().await?, self.client.head().await?);
        let (passed, wall) = (now - from, (self.wall.now() - self.began).as_seconds_f64());
        let minutes = (passed + TimeDelta::seconds(30)).num_minutes();
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let past = Past::open(&self.directory).await?;
        let Outcome { hash, differences, .. } = replay(&past, true).await?;
        past.close().await?;
        if let Some(difference) = differences.first() {
            return Err(Failure::Failed(format!("a replay of the log gives another state: {difference}")));
        }
        let summary = format!(
            "{part}  {hours} h {minutes} min of landscape time in {wall:.1} s; {entries} log entries; \
             replayed from the start: same state (hash {})",
            &hash[..8]
        );
        self.part(story, &summary).await;
        for (number, line) in hints.iter().enumerate() {
            let indent = if number == 0 { "  Look around:  " } else { "                " };
            let ours =
                |hint: &&str| if hint.starts_with("terrarium ") { self.which.hint(hint) } else { (*hint).to_owned() };
            self.say(&format!("{indent}{}", line.iter().map(ours).collect::<Vec<_>>().join("   ·   ")));
        }
        self.directory.remove_file(HALF_TOLD)
    }

    /// Ends the story after a signal: time stops where it is.
    pub(super) async fn interrupted(&self) -> Failure {
        if let Err(failure) = self.client.command("cancel").await {
            return failure;
        }
        let (name, hint) = (&self.client.facts.name, |command: &str| self.which.hint(command));
        Failure::Interrupted(format!(
            "interrupted: landscape {name} runs, with the demo half told; `{}` and `{}` play it from its beginning, `{}` \
             stops it",
            hint("terrarium down --purge"),
            hint("terrarium up --demo"),
            hint("terrarium down"),
        ))
    }

    pub(super) fn say(&self, line: &str) {
        line.clone_into(&mut self.last.lock());
        self.show(Shown::Line(line.to_owned()));
    }

    fn show(&self, shown: Shown) {
        // If the receiver is closed, the command has ended.
        let _ = self.lines.send(shown);
    }
}

/// Ends the story with an error if an expectation is not met.
pub(super) fn expect(expected: &str, seen: &str) -> Result<(), Failure> {
    if seen == expected {
        return Ok(());
    }
    Err(Failure::Failed(format!("expected: {expected}\nseen instead: {seen}")))
}

fn failed(error: controller::Error) -> Failure {
    Failure::Failed(error.to_string())
}
