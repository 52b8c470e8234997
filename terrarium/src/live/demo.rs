// SPDX-License-Identifier: Apache-2.0
//! `terrarium up --demo`: the requirements' story, played on a landscape of processes.
//!
//! What is told is what a client sees that watches the API, and takes part in landscape time: time waits until it has
//! seen everything. Only headings are known beforehand.

use std::sync::mpsc::Sender;

use api::core::{Project, Shoot};
use apimachinery::Status;
use chrono::{DateTime, TimeDelta, Utc};
use clock::{Clock, Random, TimerClass};
use controller::Api;
use landscape::{preset, wait};
use process::live::{Setup, participate};
use process::participant::ReportsOver;
use process::{Context, Exit, Identity, Output};

use super::client::Client;
use super::directory::Directory;
use crate::failure::Failure;
use crate::simulate::{self, Story, apply};

/// Wall time within which each step must happen.
const PATIENCE: TimeDelta = TimeDelta::seconds(30);
const LOOK: TimeDelta = TimeDelta::milliseconds(10);
/// The Shoot's name.
const SHOOT: &str = "local";

/// Landscape time at which the demo begins.
pub(crate) fn start() -> DateTime<Utc> {
    simulate::demo_start()
}

/// Plays the demo and hands every line to `output` as it comes.
pub(crate) fn play(directory: &Directory, mut output: impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    let (lines, told) = std::sync::mpsc::channel();
    let directory = directory.clone();
    let player = std::thread::Builder::new()
        .name("demo".to_owned())
        .spawn(move || take_part(&directory, lines))
        .map_err(|error| Failure::Failed(format!("cannot start a thread: {error}")))?;
    for line in told {
        output(&line)?;
    }
    player.join().unwrap_or_else(|_| Err(Failure::Failed("the demo panicked".to_owned())))
}

fn take_part(directory: &Directory, lines: Sender<String>) -> Result<(), Failure> {
    let client = Client::of(directory)?;
    let participant = format!("demo-{}", std::process::id());
    let name = http::HeaderValue::from_str(&participant).map_err(|error| Failure::Failed(error.to_string()))?;
    let setup = Setup {
        identity: Identity { component: "demo".into(), instance: "demo".into(), version: "".into() },
        participant: participant.clone(),
        random: Random::new(client.facts.seed),
        transport: client.transport(),
        dial: None,
        output: Output::new(process::child::say),
    };
    let reports = ReportsOver { transport: client.transport(), participant: name };
    let exit = participate(setup, reports, std::future::pending(), |context| {
        Ok(async move {
            let demo = Demo { client, lines, wall: Clock::wall(), context };
            let last_line = demo.play().await.err().map_or_else(String::new, |failure| failure.to_string());
            // Time must not wait for who has left.
            let _ = demo.client.leave(&participant).await;
            Exit { code: u8::from(!last_line.is_empty()), last_line }
        })
    });
    match exit {
        Ok(Exit { code: 0, .. }) => Ok(()),
        Ok(exit) => Err(Failure::Failed(exit.last_line)),
        Err(error) => Err(Failure::Failed(error)),
    }
}

struct Demo {
    /// Requests that take no part in landscape time.
    client: Client,
    lines: Sender<String>,
    wall: Clock,
    /// Requests that do.
    context: Context,
}

impl Demo {
    async fn play(&self) -> Result<(), Failure> {
        let began = self.wall.now();
        let shoots = Api::<Shoot>::namespaced(&self.context, "garden", preset::NAMESPACE);
        if shoots.get_opt(SHOOT).await.map_err(failed)?.is_some() {
            self.say("The demo has been played in this landscape: `terrarium down --purge` makes room for another.");
            return Ok(());
        }
        let story = Story::begin(&self.context, Some(vec![format!("{}/{SHOOT}", preset::NAMESPACE)]), false);
        self.say("1/5  Thursday evening: a cluster on an old version");
        let manifests = simulate::demo(1);
        let (first, second) = manifests.split_at(2);
        self.apply(first).await?;
        let projects = Api::<Project>::all(&self.context, "garden");
        let ready = wait::for_object(&projects, "demo", |project| project.status.phase == "Ready");
        self.within("Project demo is Ready", ready).await?;
        self.apply(second).await?;
        let created = wait::for_object(&shoots, SHOOT, |shoot| {
            shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == "Succeeded")
        });
        self.telling(&story, self.within("Create Succeeded (100%)", created)).await?;
        // What was waited for was seen by a watch of its own: the story's may be behind.
        let now = self.client.clock().await?.now;
        self.until(&story, now + TimeDelta::seconds(1)).await?;

        self.say("2/5  Midnight: 1.26.4 expires. The cluster runs on, but nobody gets a new one");
        self.until(&story, simulate::demo_expiration() + TimeDelta::seconds(1)).await?;
        self.refuse_a_late_shoot(&story).await;
        self.tell(&story);

        self.say("3/5  The maintenance window opens: owner opted out, version expired, so it is forced");
        let window_ends = simulate::demo_expiration() + TimeDelta::hours(10);
        self.until(&story, window_ends).await?;
        let shoot = shoots.get(SHOOT).await.map_err(failed)?;
        let version = shoot.spec.kubernetes.version.as_str();
        if version != "1.27.1" {
            return Err(Failure::Failed(format!("expected Kubernetes 1.27.1 after the window, saw {version}")));
        }

        let state = self.client.clock().await?;
        let passed = state.now - start();
        let entries = self.client.head().await?;
        self.say(&format!(
            "5/5  {} h {} min of landscape time in {:.1} s; {entries} log entries",
            passed.num_hours(),
            passed.num_minutes() % 60,
            (self.wall.now() - began).as_seconds_f64(),
        ));
        let name = &self.client.facts.name;
        self.say(&format!(
            "  Look around:  kubectl --context terrarium-{name} -n garden-demo get shoot local -o wide   ·   … describe \
             shoot local"
        ));
        self.say("                terrarium status   ·   terrarium clock advance 24h   ·   terrarium down --purge");
        Ok(())
    }

    async fn apply(&self, manifests: &[crate::manifests::Manifest]) -> Result<(), Failure> {
        for manifest in manifests {
            let refused = |status: Status| {
                Failure::Failed(format!("{} {} was refused: {}", manifest.kind(), manifest.name(), status.message))
            };
            apply::apply(&self.context, manifest).await.map_err(refused)?;
        }
        Ok(())
    }

    async fn refuse_a_late_shoot(&self, story: &Story) {
        let late = simulate::manifest_of(&preset::shoot("late"), "Shoot", "core.gardener.cloud/v1beta1");
        let object = format!("Shoot {}/late", preset::NAMESPACE);
        match apply::create(&self.context, &late).await {
            Ok(()) => story.tell(&object, "create Shoot late (1.26.4)", "201 Created"),
            Err(status) => {
                story.tell(&object, "create Shoot late (1.26.4)", &format!("{} {}", status.code, status.reason));
                story.quote(&object, &status.message);
            }
        }
    }

    /// Moves time, telling what happens on the way.
    async fn until(&self, story: &Story, to: DateTime<Utc>) -> Result<(), Failure> {
        let limit = self.wall.now() + PATIENCE;
        let mut state = self.client.advance(to, TimeDelta::zero()).await?;
        while state.target.is_some() {
            self.tell(story);
            if self.wall.now() > limit {
                let waits = state.waits_for.participants.join(", ");
                return Err(Failure::Failed(format!(
                    "time stands at {} on its way to {}; it waits for {waits}",
                    state.now.to_rfc3339(),
                    to.to_rfc3339()
                )));
            }
            self.wall.sleep(LOOK, TimerClass::Work).await;
            state = self.client.clock().await?;
        }
        self.tell(story);
        Ok(())
    }

    /// Tells what happens until something is done.
    async fn telling<T>(&self, story: &Story, done: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let mut done = std::pin::pin!(done);
        loop {
            tokio::select! {
                biased;
                result = &mut done => {
                    self.tell(story);
                    return result;
                }
                () = self.wall.sleep(LOOK, TimerClass::Work) => self.tell(story),
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
            () = self.wall.sleep(PATIENCE, TimerClass::Work) => {
                Err(Failure::Failed(format!("this did not happen within {} s: {what}", PATIENCE.num_seconds())))
            }
        }
    }

    fn tell(&self, story: &Story) {
        for line in story.drain() {
            if line.subject.starts_with("nodes") || line.subject.trim_start().starts_with("nodes ") {
                self.say("4/5  Both changes roll the nodes once (maxSurge 1, maxUnavailable 0)");
            }
            self.say(&line.render());
        }
    }

    fn say(&self, line: &str) {
        // Without a reader the command has ended.
        let _ = self.lines.send(line.to_owned());
    }
}

fn failed(error: controller::Error) -> Failure {
    Failure::Failed(error.to_string())
}
