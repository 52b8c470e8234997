// SPDX-License-Identifier: Apache-2.0
//! `terrarium forecast`: what maintenance will do to Shoots given as manifests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::core::Shoot;
use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use clock::{Clock, Random};
use domain::forecast::{self, Change, Course, Offer, Settings, Subject};
use domain::profile::Profile;
use domain::skew::GardenerVersion;
use domain::skew::releases::feature_gate;
use domain::validation::shoot::Gates;
use domain::worker_pool::{Effect, HashVersion};
use process::{Context, Identity, Tasks};

use super::given::Reading;
use super::rows::{self, Form, Row};
use super::summary::{self, By};
use super::what_if::{self, Classify, Expire};
use super::world::{ProfileKey, World, name_of};
use super::{explain, show};
use crate::failure::Failure;
use crate::live::ask::instant::When;
use crate::live::history::Past;
use crate::live::{Facts, Which, block_on};
use crate::output::Output;
use crate::spelling::{counted, nearest};

/// Tell what maintenance will do: who is updated when, to what, why, and who is not
///
/// Reads CloudProfiles, NamespacedCloudProfiles and Shoots as `kubectl get -o yaml` prints them, and needs no landscape; or,
/// without `-f`, those of a landscape, running or stopped, from where its time stands.
/// Runs lie at the instants at which a landscape with the same --seed makes them. Manifests are read, filled in and
/// validated as by the API server, which has them stored: what it refuses is an error, unless --force is given.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Manifests instead of the landscape: files, folders, or `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The beginning: an instant, or so long from now (2w) [default: now, of the landscape or of this machine]
    #[arg(long, value_name = "T")]
    from: Option<When>,
    /// The end: an instant, or so long from the beginning (90d)
    #[arg(long, value_name = "T")]
    until: When,
    /// What if versions expired at another time: kubernetes/1.31=2027-01-31, or IMAGE/VERSION=DATE
    #[arg(long, value_name = "V=T")]
    expire: Vec<Expire>,
    /// What if versions were classified otherwise: kubernetes/1.31.2=deprecated
    #[arg(long, value_name = "V=C")]
    classify: Vec<Classify>,
    /// Only such rows
    #[arg(long, value_enum, value_name = "WHICH")]
    only: Vec<Only>,
    /// Count rows instead of printing them
    #[arg(long, value_enum, default_value_t = By::None)]
    summary: By,
    /// Why versions of this Shoot are chosen or left, as seen from the beginning
    #[arg(long, value_name = "NS/NAME")]
    explain: Option<String>,
    /// Exit with code 1 if there are such rows
    #[arg(long, value_enum, value_name = "WHICH")]
    fail_on: Option<FailOn>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
    /// Go on although the API server would refuse the manifests: each refusal becomes a warning
    #[arg(long)]
    force: bool,
    /// Seed of all randomness [default: the landscape's, else 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Where the requirements documents and upstream's code differ: which of them holds [default: the landscape's, else
    /// documents]
    #[arg(long, value_parser = ["documents", "upstream"])]
    profile: Option<String>,
}

/// Which rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
enum Only {
    Forced,
    Failed,
    Rolling,
    Kubernetes,
    MachineImage,
    Migration,
    Operation,
    Blocked,
}

impl Only {
    fn takes(self, change: &Change) -> bool {
        match self {
            Self::Forced => change.is_forced,
            Self::Failed => change.failure.is_some(),
            Self::Rolling => change.effect == Effect::Rolling,
            Self::Kubernetes => change.subject == Subject::Kubernetes,
            Self::MachineImage => change.subject == Subject::MachineImage,
            Self::Migration => change.subject == Subject::Migration,
            Self::Operation => change.subject == Subject::Operation,
            Self::Blocked => change.subject == Subject::Blocked,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Failed,
    Forced,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let landscape = if arguments.files.is_empty() { Some(OfLandscape::read(&arguments.which)?) } else { None };
    let now = landscape.as_ref().map_or_else(|| Clock::wall().now(), |landscape| landscape.now);
    let from = arguments.from.map_or(now, |from| from.behind(now));
    let until = arguments.until.behind(from);
    match &landscape {
        Some(landscape) if arguments.from.is_none() => {
            output.note(&format!("note: from {}, where landscape {} stands", show(from), landscape.facts.name));
        }
        None if arguments.from.is_none() => {
            output.note(&format!("note: from {}, which is now; --from T begins at another instant", show(from)));
        }
        _ => {}
    }
    if until < from {
        return Err(Failure::input(
            format!("--until {} is before --from {}", show(until), show(from)),
            "choose a later end",
        ));
    }
    let facts = landscape.as_ref().map(|landscape| &landscape.facts);
    let random = Random::new(arguments.seed.or_else(|| facts.map(|facts| facts.seed)).unwrap_or(1));
    let rules = arguments.profile.as_ref().or_else(|| facts.map(|facts| &facts.profile));
    let rules = rules.and_then(|name| Profile::named(name)).unwrap_or_default();
    let mut world = match landscape {
        None => World::of_files(&arguments.files, Reading { random: &random, now: from, rules })?,
        Some(OfLandscape { world, facts, .. }) if world.shoots.is_empty() => {
            return Err(Failure::input(
                format!("landscape {} has no Shoot", facts.name),
                "create one, or give manifests with -f",
            ));
        }
        Some(landscape) => landscape.world,
    };
    if world.shoots.is_empty() {
        world.accept(arguments.force, output)?;
        return Err(Failure::input("there is no Shoot among the manifests", "add the Shoots to be looked at"));
    }
    let refused = what_if::apply(&mut world.cloud_profiles, &arguments.expire, &arguments.classify, rules, from)?;
    world.complete(from);
    world.accept(arguments.force, output)?;
    for text in &refused {
        output.note(&format!("warning: {text}"));
    }
    world.note_windows();
    world.note_unoffered();
    let forecast = Forecast::of(&world, from, until, &random);
    for note in &world.notes {
        output.note(&format!("note: {note}"));
    }
    let explained = match &arguments.explain {
        Some(name) => explained(&world, &forecast, name, from)?,
        None => Vec::new(),
    };
    forecast.print(arguments, output)?;
    tell(&explained, arguments.output, output)?;
    let is_found = |row: &Row| match arguments.fail_on {
        Some(FailOn::Failed) => row.change.failure.is_some(),
        Some(FailOn::Forced) => row.change.is_forced && row.change.failure.is_none(),
        None => false,
    };
    let found = forecast.rows.iter().filter(|row| is_found(row)).count();
    match arguments.fail_on {
        Some(what) if found > 0 => {
            let changes = counted(found, "change is", "changes are");
            let what = if what == FailOn::Failed { "to fail" } else { "forced" };
            Err(Failure::Failed(format!("{changes} {what}")))
        }
        _ => Ok(()),
    }
}

/// What a landscape has, running or stopped.
struct OfLandscape {
    world: World,
    facts: Facts,
    /// Where its time stands.
    now: DateTime<Utc>,
}

impl OfLandscape {
    fn read(which: &Which) -> Result<Self, Failure> {
        let directory = which.directory()?;
        if directory.facts()?.is_none() {
            let what = format!("there are no manifests, and there is no landscape in {}", directory.path().display());
            return Err(Failure::input(what, "give manifests with -f, or name a landscape with --landscape"));
        }
        block_on(async {
            let past = Past::open(&directory).await?;
            let context = Context {
                identity: Identity { component: "terrarium".into(), instance: "terrarium".into(), version: "".into() },
                clock: Clock::wall(),
                random: Random::new(past.facts.seed),
                wall: Clock::wall(),
                transport: past.transport.clone(),
                tasks: Tasks::new(),
                output: process::Output::new(process::child::say),
            };
            let world = World::of_landscape(&context).await;
            let (facts, now) = (past.facts.clone(), past.now);
            past.close().await?;
            Ok(Self { world: world?, facts, now })
        })
    }
}

/// Lines for a person: with the data in a table, beside it in forms for scripts.
fn tell(lines: &[String], form: Form, output: &mut Output) -> Result<(), Failure> {
    for line in lines {
        match form {
            Form::Table => output.line(line)?,
            Form::Csv | Form::Json | Form::Yaml => output.note(line),
        }
    }
    Ok(())
}

/// What comes of all Shoots.
struct Forecast {
    /// In the order of time, then of Shoots.
    rows: Vec<Row>,
    /// Shoots to which nothing happens, by the reason.
    unmoved: BTreeMap<String, Vec<String>>,
    shoots: usize,
}

impl Forecast {
    fn of(world: &World, from: DateTime<Utc>, until: DateTime<Utc>, random: &Random) -> Self {
        let offers: BTreeMap<ProfileKey, Offer> = world
            .offers()
            .into_iter()
            .map(|(key, first)| (key.clone(), Offer { name: key.name, first, changes: Vec::new() }))
            .collect();
        let mut forecast = Self { rows: Vec::new(), unmoved: BTreeMap::new(), shoots: world.shoots.len() };
        // A Shoot's course depends on no other Shoot, so the processors share them; the parts come back in order.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = world.shoots.len().div_ceil(processors).max(1);
        let offers = &offers;
        std::thread::scope(|scope| {
            let parts = world.shoots.chunks(share);
            let parts: Vec<_> = parts
                .map(|shoots| scope.spawn(move || Self::of_shoots(world, shoots, offers, from, until, random)))
                .collect();
            for part in parts {
                let part = part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                forecast.rows.extend(part.rows);
                for (reason, names) in part.unmoved {
                    forecast.unmoved.entry(reason).or_default().extend(names);
                }
            }
        });
        forecast.rows.sort_by(|left, right| (left.change.time, &left.shoot).cmp(&(right.change.time, &right.shoot)));
        forecast
    }

    fn of_shoots(
        world: &World,
        shoots: &[Shoot],
        offers: &BTreeMap<ProfileKey, Offer>,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        random: &Random,
    ) -> Self {
        let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
        let mut forecast = Self { rows: Vec::new(), unmoved: BTreeMap::new(), shoots: shoots.len() };
        for shoot in shoots {
            let name = name_of(shoot);
            let key = ProfileKey::of(shoot);
            let Some(offer) = offers.get(&key) else {
                forecast.unmoved.entry(format!("since what {key} offers is not given")).or_default().push(name);
                continue;
            };
            let settings =
                Settings { from, until, draw: &draw, gates: gates_for(shoot), forms: &|shoot| world.forms(shoot) };
            let course = forecast::course(shoot, offer, &settings);
            if !course.changes.iter().any(|change| change.failure.is_none()) {
                forecast.unmoved.entry(standing(shoot, offer, &course, until)).or_default().push(name.clone());
            }
            forecast.rows.extend(course.changes.into_iter().map(|change| Row { shoot: name.clone(), change }));
        }
        forecast
    }

    fn print(&self, arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
        let is_shown =
            |row: &&Row| arguments.only.is_empty() || arguments.only.iter().any(|only| only.takes(&row.change));
        let shown: Vec<Row> = self.rows.iter().filter(is_shown).cloned().collect();
        if arguments.summary == By::None {
            rows::print(&shown, arguments.output, output)?;
        } else {
            let mut columns = vec![arguments.summary.key()];
            columns.extend(summary::COLUMNS);
            rows::print_objects(&summary::grouped(&shown, arguments.summary), &columns, arguments.output, output)?;
        }
        tell(&summary::closing(&self.rows, &self.unmoved, self.shoots), arguments.output, output)
    }
}

/// A landscape whose Shoots have pools that are updated in place has the gates for that, and one whose Shoots have
/// automatic rotations the operations.
pub(crate) fn gates_for(shoot: &Shoot) -> Gates {
    let rotates = shoot.spec.maintenance.as_ref().is_some_and(|maintenance| maintenance.auto_rotation.is_some());
    Gates {
        in_place_node_updates: true,
        credentials_rotation_without_workers_rollout: true,
        etcd_encryption_key_rotates_as_a_whole: rotates,
        several_operations: rotates,
    }
}

/// The form of hash that the emulated gardenlet uses by default.
pub(crate) fn hash_version() -> HashVersion {
    let version = GardenerVersion::parse(landscape::GARDENER_VERSION);
    let is_on =
        version.and_then(|version| feature_gate(&version, "NewWorkerPoolHash")).is_some_and(|gate| gate.default);
    if is_on { HashVersion::V2 } else { HashVersion::V1 }
}

/// Why nothing happens to a Shoot.
fn standing(shoot: &Shoot, offer: &Offer, course: &Course, until: DateTime<Utc>) -> String {
    if shoot.metadata.is_being_deleted() {
        return "being deleted".to_owned();
    }
    if let Some(failure) = course.changes.iter().find_map(|change| change.failure.as_ref()) {
        let text: String = failure.chars().take(120).collect();
        return format!("since maintenance fails ({text}{})", if text.len() < failure.len() { "…" } else { "" });
    }
    if domain::versions::Version::parse(&shoot.spec.kubernetes.version).is_err() {
        return format!("since `{}` is no version", shoot.spec.kubernetes.version);
    }
    let choices = forecast::choice::choices(&course.last, &offer.name, offer.at(until), until);
    if choices.iter().all(|choice| !choice.auto_update) {
        "since automatic updates are off and nothing they use expires".to_owned()
    } else {
        "since they are on the highest versions that they may take".to_owned()
    }
}

fn explained(world: &World, forecast: &Forecast, name: &str, from: DateTime<Utc>) -> Result<Vec<String>, Failure> {
    let Some(shoot) = world.shoots.iter().find(|shoot| name_of(shoot) == name) else {
        let names = world.shoots.iter().map(name_of);
        let names: Vec<String> = names.collect();
        let hint = nearest(name, names.iter().map(String::as_str));
        return Err(Failure::input(format!("there is no Shoot {name} among the manifests"), hint));
    };
    let key = ProfileKey::of(shoot);
    let mut lines = vec![String::new(), format!("Shoot {name}, {key}, as seen from {}:", show(from))];
    match world.offers().get(&key) {
        Some(offered) => {
            lines.extend(explain::lines(shoot, &key.name, offered, from).into_iter().map(|line| format!("  {line}")));
        }
        None => lines.push(format!("  what {key} offers is not among the manifests")),
    }
    let own: Vec<&Row> = forecast.rows.iter().filter(|row| row.shoot == name).collect();
    if own.is_empty() {
        let reason = forecast.unmoved.iter().find(|(_, names)| names.iter().any(|known| known == name));
        lines.push(format!("  nothing happens, {}", reason.map(|(reason, _)| reason.as_str()).unwrap_or_default()));
    }
    for row in own {
        let change = &row.change;
        let pool = change.pool.as_ref().map_or_else(String::new, |pool| format!(" of worker pool {pool}"));
        let what = match (&change.from, &change.to, &change.failure) {
            (_, _, Some(failure)) => format!("fails: {failure}"),
            (Some(from), Some(to), None) => format!("{from} to {to}: {}", change.reason),
            _ => change.reason.clone(),
        };
        lines.push(format!(
            "  {} {}{pool} {what}; nodes: {}",
            show(change.time),
            change.subject.as_str(),
            rows::nodes(change)
        ));
    }
    Ok(lines)
}
