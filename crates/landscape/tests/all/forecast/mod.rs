// SPDX-License-Identifier: Apache-2.0
//! A forecast matches the behaviour of the landscape: the same versions, failures, migrations and operations of the
//! same Shoots at the same instants, and nodes are replaced or restarted at the predicted times.
//!
//! Each seed determines a world, with one of nine releases of Gardener, which runs for 60 days while its CloudProfiles
//! change and users edit its Shoots ([`world`], [`edits`], [`life`]). The forecast of each Shoot is computed from the
//! present object, up to its next edit, and compared with the log of that stretch ([`story`]).
//!
//! `TERRARIUM_TEST_WORLDS=200` runs the worlds 1 to 200, `TERRARIUM_TEST_WORLDS=17-17` one world.

mod edits;
mod life;
mod story;
mod world;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::forecast::{self, Change, Settings, Subject};
use domain::worker_pool::{Effect, PoolForms};

use life::Life;
use story::Story;

use crate::support::seeds_of;

const TEST: &str = "forecast::forecasts_and_landscapes_agree";
const WORLDS: &str = "TERRARIUM_TEST_WORLDS";
/// Prefix of the counts in the output of a world's process.
const SEEN: &str = "seen: ";

/// Counts of observed situations, so that agreement is not vacuous.
type Counts = BTreeMap<String, usize>;

fn counts_of(life: &Life, changes: &[Change]) -> Counts {
    let count = |holds: &dyn Fn(&Change) -> bool| changes.iter().filter(|change| holds(change)).count();
    let counts = [
        ("moved", count(&|change| change.failure.is_none() && change.to.is_some())),
        ("forced although opted out", count(&|change| change.is_forced && change.was_opted_out)),
        ("failed", count(&|change| change.failure.is_some())),
        ("blocked", count(&|change| change.subject == Subject::Blocked)),
        ("migrated", count(&|change| change.subject == Subject::Migration)),
        ("operated", count(&|change| change.subject == Subject::Operation)),
        ("rolled", count(&|change| change.effect == Effect::Rolling)),
        ("restarted", count(&|change| change.effect == Effect::KubeletRestart)),
        ("waiting windows", life.stretches.iter().filter(|stretch| stretch.has_waiting_window()).count()),
        ("asleep", life.stretches.iter().filter(|stretch| stretch.given.status.hibernated).count()),
        ("edited", life.edits),
        ("reoffered", life.reoffered),
    ];
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "so the process of a world tells what it has seen")]
fn forecasts_and_landscapes_agree() {
    let worlds = seeds_of(WORLDS, "20");
    if worlds.start() == worlds.end() {
        println!("{SEEN}{}", serde_json::json!(check(*worlds.start())));
        return;
    }
    let (next, last) = (AtomicU64::new(*worlds.start()), *worlds.end());
    let share = || {
        let seeds = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed <= last));
        seeds.map(elsewhere).collect::<Vec<_>>()
    };
    // Worlds are independent, so they run in parallel.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut seen, mut differences) = (Counts::new(), Vec::new());
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..processors).map(|_| scope.spawn(share)).collect();
        for result in shares.into_iter().flat_map(|share| share.join().expect("it only waits for processes")) {
            match result {
                Ok(counts) => counts.into_iter().for_each(|(name, count)| *seen.entry(name).or_default() += count),
                Err(difference) => differences.push(difference),
            }
        }
    });
    assert!(differences.is_empty(), "{} worlds differ\n{}", differences.len(), differences.join("\n"));
    println!("{seen:?}");
    // Changed windows of confined Shoots are only one of many kinds of edits.
    let is_loud = |(name, count): (&String, &usize)| *count > usize::from(name != "waiting windows") * 2;
    assert!(worlds.count() < 20 || seen.iter().all(is_loud), "the worlds are too quiet: {seen:?}");
}

/// Runs a world in a process of its own, which frees the memory of 60 days at its end.
fn elsewhere(seed: u64) -> Result<Counts, String> {
    let this = std::env::current_exe().expect("a test has a file");
    let mut world = Command::new(this);
    world.args([TEST, "--exact", "--nocapture"]).env(WORLDS, format!("{seed}-{seed}"));
    let output = world.output().map_err(|error| format!("seed {seed}: {error}"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    let seen = told.lines().find_map(|line| serde_json::from_str(line.split_once(SEEN)?.1).ok());
    seen.filter(|_| output.status.success())
        .ok_or_else(|| format!("seed {seed}:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs a world and compares it with its forecasts.
#[track_caller]
fn check(seed: u64) -> Counts {
    let life = Life::of(seed);
    let told = Story::of(&life.entries);
    let draw = |purpose: &str, key: &str, ordinal: u64| life.random.draw(purpose, key, ordinal);
    let (mut foretold, mut differences) = (Vec::new(), Vec::new());
    for stretch in &life.stretches {
        let settings = Settings {
            from: stretch.from,
            until: stretch.until,
            draw: &draw,
            gates: life.gates,
            disables_nginx_ingress: false,
            forms: &|_| PoolForms::all(life.form, life.gates.release),
        };
        let changes = forecast::course(&stretch.given, life.offer_of(&stretch.given), &settings).changes;
        if let Err(difference) = told.agrees(stretch, &changes) {
            let rows: Vec<String> = changes.iter().map(row).collect();
            let (name, from) = (&stretch.given.metadata.name, stretch.from);
            differences.push(format!("Shoot {name} from {from}: {difference}\n foretold:\n  {}", rows.join("\n  ")));
        }
        foretold.extend(changes);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    counts_of(&life, &foretold)
}

fn row(change: &Change) -> String {
    let Change { time, subject, pool, from, to, failure, effect, reason, .. } = change;
    let subject = subject.as_str();
    format!("{} {subject} {pool:?} {from:?} {to:?} {} {failure:?} {reason}", time.format("%m-%d %T"), effect.as_str())
}
