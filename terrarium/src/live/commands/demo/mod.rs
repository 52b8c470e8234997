// SPDX-License-Identifier: Apache-2.0
//! `terrarium up --demo`: stories that run on a landscape of processes.
//!
//! The lines are the events seen by a client that watches the API and takes part in landscape time: time waits until it has
//! seen everything. Only headings are fixed in advance.
//!
//! **Tour.** [`Play`] list of stories; [`stage`] their steps; [`stories`] content of each.

mod stage;
mod stories;

use std::io::BufRead;
use std::sync::mpsc::Sender;

use chrono::TimeDelta;
use clock::Random;
use process::live::{Setup, participate};
use process::reports::ReportsOver;
use process::{Exit, Identity};
use tokio::sync::mpsc;

use self::stage::Stage;
use crate::failure::Failure;
use crate::live::Which;
use crate::live::client::Client;
use crate::live::directory::Directory;
use crate::output::Output;
use crate::progress::Progress;
use component::signals::end_signal;
use ops::spelling::distance;

/// Exit code of a story that a signal ended.
const INTERRUPTED: u8 = 130;

/// A story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Play {
    Expiry,
    Hibernation,
    Images,
    Confined,
}

impl Play {
    /// Name of the default story.
    pub(crate) const DEFAULT: &str = "expiry";
    /// Name that stands for the list of all stories.
    pub(crate) const LIST: &str = "list";

    /// All stories.
    const ALL: [Self; 4] = [Self::Expiry, Self::Hibernation, Self::Images, Self::Confined];

    const fn name(self) -> &'static str {
        match self {
            Self::Expiry => Self::DEFAULT,
            Self::Hibernation => "hibernation",
            Self::Images => "images",
            Self::Confined => "confined",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Expiry => "a Kubernetes version expires at midnight, and the owner opted out of updates",
            Self::Hibernation => "a schedule hibernates a cluster in the evening and wakes it up in the morning",
            Self::Images => "three update strategies of machine images, side by side in one maintenance",
            Self::Confined => "two owners change their clusters; one confines the roll-out to the maintenance window",
        }
    }

    /// Returns a story by name.
    ///
    /// # Errors
    /// There is no story of this name.
    pub(crate) fn named(name: &str) -> Result<Self, Failure> {
        let nearest = || Self::ALL.into_iter().map(Self::name).min_by_key(|known| distance(name, known));
        Self::ALL.into_iter().find(|play| play.name() == name).ok_or_else(|| {
            let hint = format!("the nearest is `{}`; --demo=list shows all", nearest().unwrap_or_default());
            Failure::input(format!("there is no demo `{name}`"), hint)
        })
    }

    /// Names of all stories, and of the list.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name).chain([Self::LIST])
    }

    /// Returns a line for each story.
    pub(crate) fn list() -> impl Iterator<Item = String> {
        Self::ALL.into_iter().map(|play| format!("{:<13}{}", play.name(), play.about()))
    }
}

/// Pause between two parts of a story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The story continues without a pause.
    AtOnce,
    /// Duration of wall time.
    Wait(TimeDelta),
    /// The story continues when a line is read from standard input.
    Step,
}

/// Output of a story.
#[derive(Clone, Debug)]
enum Shown {
    Line(String),
    /// A line that is not data.
    Note(&'static str),
    /// Progress of an advance.
    Progress(Progress),
}

/// Runs a story and prints every line at once; `is_quiet`: without progress.
pub(crate) fn play(
    directory: &Directory,
    which: &Which,
    play: Play,
    pace: Pace,
    is_quiet: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let (lines, printed) = std::sync::mpsc::channel();
    let (directory, which) = (directory.clone(), which.clone());
    let no_thread = |error: std::io::Error| Failure::Failed(format!("cannot start a thread: {error}"));
    let (key, keys) = mpsc::unbounded_channel();
    if pace == Pace::Step {
        // The thread ends with the process: reading from a terminal cannot be interrupted.
        let read = move || std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|_| key.send(()));
        std::thread::Builder::new().name("keys".to_owned()).spawn(read).map_err(no_thread)?;
    }
    let player = std::thread::Builder::new()
        .name("demo".to_owned())
        .spawn(move || take_part(&directory, which, play, pace, keys, lines))
        .map_err(no_thread)?;
    for shown in printed {
        match shown {
            Shown::Line(line) => output.line(&line)?,
            Shown::Note(note) => output.note(note),
            Shown::Progress(progress) if !is_quiet => output.progress(&progress),
            Shown::Progress(_) => {}
        }
    }
    player.join().unwrap_or_else(|_| Err(Failure::Failed("the demo panicked".to_owned())))
}

/// Name of a demo as a participant in landscape time.
fn participant(pid: u32) -> String {
    format!("demo-{pid}")
}

fn take_part(
    directory: &Directory,
    which: Which,
    play: Play,
    pace: Pace,
    keys: mpsc::UnboundedReceiver<()>,
    lines: Sender<Shown>,
) -> Result<(), Failure> {
    let (client, directory) = (Client::of(directory)?, directory.clone());
    let participant = participant(std::process::id());
    let name = http::HeaderValue::from_str(&participant).map_err(|error| Failure::Failed(error.to_string()))?;
    let setup = Setup {
        identity: Identity { component: "demo".into(), instance: "demo".into(), version: "".into() },
        participant,
        random: Random::new(client.facts.seed),
        transport: client.transport(),
        dial: None,
        output: process::Output::new(process::child::say),
        panicked: None,
    };
    let reports = ReportsOver::new(client.transport(), name);
    let exit = participate(setup, reports, std::future::pending(), |context| {
        Ok(async move {
            let stage = Stage::new(client, context, directory, which, lines, pace, keys);
            let played = tokio::select! {
                biased;
                _ = end_signal() => Err(stage.interrupted().await),
                played = stories::play(&stage, play) => played,
            };
            let (code, last_line) = played.err().map_or_else(Default::default, |it| (it.exit_code(), it.to_string()));
            Exit { code, last_line }
        })
    });
    match exit {
        Ok(Exit { code: 0, .. }) => Ok(()),
        Ok(Exit { code: INTERRUPTED, last_line }) => Err(Failure::Interrupted(last_line)),
        Ok(exit) => Err(Failure::Failed(exit.last_line)),
        Err(error) => Err(Failure::Failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_have_names() {
        for play in Play::ALL {
            assert_eq!(Play::named(play.name()), Ok(play));
        }
        let refused = Play::named("hibernate").expect_err("there is none");
        assert_eq!(refused.to_string(), "there is no demo `hibernate`");
        assert_eq!(refused.hint(), "the nearest is `hibernation`; --demo=list shows all");
        assert_eq!(Play::list().count(), 4);
    }
}
