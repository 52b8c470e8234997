// SPDX-License-Identifier: Apache-2.0
//! `terrarium simulate`: a whole landscape in one process, on a simulated clock.
//!
//! **Tour.** [`run`] the command; [`given`] its manifests by their release; [`complete`] missing objects; [`apply`] applying
//! objects; [`story`] the client that watches and prints; [`layout`] format of lines.

pub(crate) mod apply;
pub(crate) mod complete;
pub(crate) mod layout;
mod manifests;
mod story;

use std::path::PathBuf;

use api::cluster;
use api::constants::api_version;
use api::core::{ExpirableVersion, Project, Seed, Shoot};
use apimachinery::Object;
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, ValueEnum};
use controller::Api;
use domain::profile::Profile;
use domain::release::Release;
use domain::skew::GardenerVersion;
use domain::skew::releases::{check_gate, rules_of, unknown_release};
use domain::validation::shoot::Gates;
use domain::versions::Moment;
use landscape::preset::{self, Preset};
use landscape::{GARDENER_VERSION, Landscape, Options, Sync, wait};
use process::Context;
use serde_json::json;

use self::complete::Plan;
use self::manifests::SimulatedManifests;
pub(crate) use self::story::{Line, NodeLife, Story, What};
use crate::failure::Failure;
use crate::input::{self, decide, paths, tell};
use crate::output::{Form, Output};
use crate::progress::{Goal, Progress};
use ops::instant::{self, When};
use ops::manifests::{Manifest, Origin};
use ops::rollout::Hashing;
use ops::show;
use ops::spelling::plural;

/// Run a whole landscape in one process on a simulated clock, and print what happens
///
/// Without manifests the built-in demo runs: a cluster on a Kubernetes version that expires at midnight, whose owner has
/// switched automatic updates off. The same seed and input give the same log, byte for byte: compare the hash of the
/// last line.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Shoots of the demo
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    shoots: u32,
    /// Days of landscape time
    #[arg(long, value_name = "D", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Manifests to run instead of the demo, in any order: files, folders, or `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Include subfolders
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// Release of Gardener of the landscape: `newest`, or a version as v1.149 [default: v1.120.0; with manifests the newest that
    /// status.gardener.version of a Shoot says, else the newest known]
    #[arg(long, value_name = "V", value_parser = ops::release::parse)]
    gardener_version: Option<GardenerVersion>,
    /// A feature gate of gardener-apiserver: `InPlaceNodeUpdates=true` [default: those of the release;
    /// VersionClassificationLifecycle is on if a manifest has a life cycle]
    #[arg(long = "feature-gate", value_name = "G=B", value_parser = input::gate)]
    feature_gates: Vec<(String, bool)>,
    /// Interval of reconciliations of unchanged Shoots: once a day in their maintenance time window, or every hour
    #[arg(long, value_enum, default_value_t = SyncMode::Window)]
    sync: SyncMode,
    /// Landscape time at the start [default: with manifests the evening before the first of their versions expires, by its
    /// expiration date or life cycle; else 2023-07-27T20:00:00Z, or the evening of the day of a newer release]
    #[arg(long, value_name = "T")]
    start_time: Option<When>,
    /// Source of the rules on which the requirements documents and upstream's code differ
    #[arg(long, value_enum, default_value_t = ProfileName::Documents)]
    profile: ProfileName,
    /// Do not replay the log at the end: to measure the simulation alone
    #[arg(long)]
    no_replay: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t)]
    output: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SyncMode {
    /// Once a day, in the maintenance time window
    Window,
    /// Every hour
    #[value(name = "1h")]
    Hourly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProfileName {
    Documents,
    Upstream,
}

/// Feature gate that gardener-apiserver requires for life cycles of versions.
const LIFE_CYCLES: &str = "VersionClassificationLifecycle";

/// Maximum number of Shoots that are printed individually.
const PRINTED_SHOOTS: usize = 8;

/// Days of landscape time that are sufficient for each demo.
pub(crate) const DEMO_DAYS: i64 = 3;

/// Maximum landscape time until the objects of operator and user are ready.
const PREPARATION: TimeDelta = TimeDelta::hours(1);

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let is_demo = arguments.files.is_empty();
    let asked = arguments.gardener_version.as_ref();
    let asked_start = arguments.start_time.map(|when| when.behind(clock::Clock::wall().now()));
    let mut gates = Vec::new();
    let (given, version, named, usual_start) = if is_demo {
        if let Some(text) = asked.and_then(unknown_release) {
            output.note(&format!("note: {text}"));
        }
        let version = asked.map_or_else(|| GARDENER_VERSION.to_owned(), |asked| full(asked, rules_of(asked)));
        let preset = Preset::of_text(&version);
        let start = asked_start.unwrap_or_else(|| preset.start());
        let named = asked.map_or_else(|| format!("{version} (emulated)"), emulated);
        (demo(&preset, expiration(&preset, start)?, arguments.shoots), version, named, None)
    } else {
        let SimulatedManifests { manifests, chosen, deciding, notes, has_life_cycles } =
            SimulatedManifests::read(&paths(&arguments.files, arguments.recursive)?, asked)?;
        tell(&chosen, output);
        decide(deciding, output)?;
        for note in &notes {
            output.note(&format!("note: {note}"));
        }
        if has_life_cycles {
            gates.push((LIFE_CYCLES.to_owned(), true));
            if !arguments.feature_gates.iter().any(|(name, _)| name == LIFE_CYCLES) {
                output.note(&format!(
                    "note: feature gate {LIFE_CYCLES} of gardener-apiserver is on: the manifests have life cycles"
                ));
            }
        }
        let start = evening_before_expiry(&manifests, chosen.release);
        (manifests, full(&chosen.version, chosen.release), emulated(&chosen.version), start)
    };
    let start = asked_start.or(usual_start).unwrap_or_else(|| Preset::of_text(&version).start());
    gates.extend(arguments.feature_gates.iter().cloned());
    let gates = api_server_gates(&version, &gates)?;
    let plan = complete::plan(given, &landscape::extensions::registered(), gates.release);
    for note in &plan.notes {
        output.note(&format!("note: {note}"));
    }
    let wall = wall();
    let end = instant::reach(start, TimeDelta::days(i64::from(arguments.days)))?;
    let progress = (!arguments.quiet).then(|| Progress::of_time(Goal::Time(end), start, wall));
    if progress.is_some() {
        output.end_at_signal("interrupted: nothing of a simulation is kept");
    }
    let landscape = Landscape::start(options(arguments, (start, version), gates, &plan)?).map_err(failed)?;
    let mut run = Run { landscape, output, form: arguments.output, start, wall_at_start: wall, progress };
    run.tell_head(arguments, &named)?;
    let story = run.begin(&plan)?;
    if is_demo && arguments.start_time.is_none() {
        run.refuse_a_late_shoot(&story, end)?;
    }
    run.until(end, &story)?;
    run.finish(arguments.days, !arguments.no_replay)
}

struct Run<'a> {
    landscape: Landscape,
    output: &'a mut Output,
    form: Form,
    start: DateTime<Utc>,
    wall_at_start: DateTime<Utc>,
    /// Progress of the simulation; None: progress is not shown.
    progress: Option<Progress>,
}

impl Run<'_> {
    /// Prints the first line; `gardener`: text of [`emulated`].
    fn tell_head(&mut self, arguments: &Arguments, gardener: &str) -> Result<(), Failure> {
        if self.form != Form::Text {
            return Ok(());
        }
        let seeds = self.landscape.options().seeds.len();
        let profile = match arguments.profile {
            ProfileName::Documents => "documents",
            ProfileName::Upstream => "upstream",
        };
        self.output.line(&format!(
            "Terrarium {} · Gardener {gardener} · profile {profile} · log memory · seed {} · {}",
            env!("CARGO_PKG_VERSION"),
            arguments.seed,
            plural(seeds, "seed"),
        ))
    }

    /// Applies the plan in the order of its author: objects of an operator, objects of the user, then Shoots.
    fn begin(&mut self, plan: &Plan) -> Result<Story, Failure> {
        let admin = self.landscape.client("admin");
        let story =
            Story::begin(&self.landscape.client("storyteller"), Some(printed_shoots(plan)), plan.shoots.len() > 1);
        self.apply_all(&admin, &plan.first)?;
        for manifest in plan.first.iter().filter(|manifest| manifest.kind() == "Project") {
            let projects = Api::<Project>::all(&admin, cluster::GARDEN);
            let ready = wait::for_object(&projects, manifest.name(), |project| project.status.phase == "Ready");
            self.wait_for(ready, &format!("{}: Project `{}` is not Ready", manifest.origin, manifest.name()))?;
        }
        self.apply_all(&admin, &plan.second)?;
        for seed in &self.landscape.options().seeds {
            let (seeds, name) = (Api::<Seed>::all(&admin, cluster::GARDEN), &seed.metadata.name);
            let ready = wait::for_object(&seeds, name, |seed| seed.status.last_operation.is_some());
            self.wait_for(ready, &format!("Seed `{name}` is not ready"))?;
        }
        self.print(&story)?;
        self.apply_all(&admin, &plan.shoots)?;
        self.apply_all(&admin, &plan.last)?;
        self.print(&story)?;
        Ok(story)
    }

    fn wait_for<T>(
        &self,
        future: impl Future<Output = Result<T, controller::Error>>,
        missing: &str,
    ) -> Result<(), Failure> {
        match self.landscape.run_until_done(self.landscape.now() + PREPARATION, future).map_err(failed)? {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(Failure::Failed(format!("{missing}: {error}"))),
            None => Err(Failure::Failed(format!("{missing} after {} minutes", PREPARATION.num_minutes()))),
        }
    }

    fn apply_all(&self, admin: &Context, manifests: &[Manifest]) -> Result<(), Failure> {
        for manifest in manifests {
            let applied = self.landscape.run(apply::apply(admin, manifest)).map_err(failed)?;
            if let Err(status) = applied {
                let subject = format!("{}: {} `{}`", manifest.origin, manifest.kind(), manifest.name());
                let what = status.message.trim_end().replace('\n', " ");
                let hint = complete::correction(manifest, &what)
                    .unwrap_or_else(|| "nothing was kept; correct it and run again".to_owned());
                return Err(Failure::input(format!("{subject} was refused: {what}"), hint));
            }
        }
        Ok(())
    }

    /// Creates a Shoot on the demo's version a second after the version has expired.
    fn refuse_a_late_shoot(&mut self, story: &Story, end: DateTime<Utc>) -> Result<(), Failure> {
        let preset = Preset::of_text(&self.landscape.options().gardener_version);
        let moment = expiration(&preset, self.start)? + TimeDelta::seconds(1);
        if moment > end {
            return Ok(());
        }
        self.until(moment, story)?;
        let admin = self.landscape.client("admin");
        let late = manifest_of(&preset.shoot("late"), "Shoot", api_version::CORE);
        let answer = self.landscape.run(apply::create(&admin, &late)).map_err(failed)?;
        let object = format!("Shoot {}/late", preset::NAMESPACE);
        let action = format!("create Shoot late ({})", preset.expiring());
        match answer {
            Ok(()) => story.add(&object, &action, "201 Created"),
            Err(status) => {
                story.add(&object, &action, &format!("{} {}", status.code, status.reason));
                story.quote(&object, &status.message);
            }
        }
        self.print(story)
    }

    /// Advances time, and prints events hour by hour.
    fn until(&mut self, end: DateTime<Utc>, story: &Story) -> Result<(), Failure> {
        while self.landscape.now() < end {
            let next = (self.landscape.now() + TimeDelta::hours(1)).min(end);
            self.landscape.run_until(next).map_err(failed)?;
            self.print(story)?;
            if let Some(progress) = &mut self.progress {
                progress.at(next, wall(), Vec::new());
                self.output.progress(progress);
            }
        }
        Ok(())
    }

    fn print(&mut self, story: &Story) -> Result<(), Failure> {
        self.landscape.settle().map_err(failed)?;
        for line in story.drain() {
            match self.form {
                Form::Text => self.output.line(&line.render())?,
                form => self.output.item(form, &line)?,
            }
        }
        Ok(())
    }

    fn finish(&mut self, days: u32, is_replayed: bool) -> Result<(), Failure> {
        if is_replayed {
            self.landscape.replay_equals_live().map_err(failed)?;
        }
        let replayed = if is_replayed { "replayed from the start: same state" } else { "not replayed" };
        let counts = self.landscape.counts();
        let landscape_seconds = (self.landscape.now() - self.start).num_seconds();
        let wall = (wall() - self.wall_at_start).as_seconds_f64().max(0.001);
        #[expect(clippy::cast_possible_truncation, reason = "a factor for a person")]
        let speedup = (landscape_seconds as f64 / wall).round() as i64;
        let hash = self.landscape.canonical_hash();
        if self.form != Form::Text {
            let figures = json!({
                "entries": counts.entries,
                "revision": counts.revision,
                "landscapeSeconds": landscape_seconds,
                "wallSeconds": (wall * 1000.0).round() / 1000.0,
                "speedup": speedup,
                "hash": hash,
            });
            return self.output.item(self.form, &figures);
        }
        self.output.line(&format!(
            "{} of landscape time in {wall:.1} s ({speedup}× real time); {} log entries; {replayed}\nhash \
             {hash}",
            plural(days, "day"),
            counts.entries,
        ))
    }
}

/// Returns the expiration of the demo's oldest Kubernetes version, in a landscape at an instant.
///
/// # Errors
/// There is no midnight left at which it could expire.
pub(crate) fn expiration(preset: &Preset, now: DateTime<Utc>) -> Result<DateTime<Utc>, Failure> {
    preset.expiration(now).ok_or_else(|| too_late(now))
}

/// Returns the refusal of the demo at an instant that is too late for it.
pub(crate) fn too_late(now: DateTime<Utc>) -> Failure {
    let end = clock::END;
    Failure::input(
        format!("the demo needs {DEMO_DAYS} days from {} on, and time ends at {}", show(now), show(end)),
        format!("use --start-time {} or an earlier one", show(end - TimeDelta::days(DEMO_DAYS))),
    )
}

/// Version of the landscape for a version and the release with its rules: `v1.149.0`.
fn full(version: &GardenerVersion, rules: Release) -> String {
    let (major, minor, patch) = version.full();
    if (major, minor) == (1, u64::from(rules.0)) { format!("v{major}.{minor}.{patch}") } else { format!("{rules}.0") }
}

/// Formats the version of the landscape as its user named it: `v1.149.0 (emulated)`, with the release whose rules apply if it
/// is not known.
fn emulated(version: &GardenerVersion) -> String {
    let rules = rules_of(version);
    match unknown_release(version) {
        None => format!("v{version} (emulated)"),
        Some(_) => format!("v{version} (emulated, by the rules of {rules})"),
    }
}

/// Returns the feature gates of gardener-apiserver: those of its version, with the named settings.
///
/// # Errors
/// gardener-apiserver does not have the gate, or it is locked.
fn api_server_gates(version: &str, set: &[(String, bool)]) -> Result<Gates, Failure> {
    let version = GardenerVersion::parse(version)
        .ok_or_else(|| Failure::Failed(format!("`{version}` is no version of Gardener")))?;
    for (name, on) in set {
        check_gate(&version, "apiserver", name, *on).map_err(|error| {
            let what = format!("--feature-gate {name}={on}: {error}");
            Failure::input(what, "the gates of gardener-apiserver count: `terrarium explain F1` says more")
        })?;
    }
    Ok(Hashing::of(&version, set)?.gates)
}

fn options(
    arguments: &Arguments,
    (start, version): (DateTime<Utc>, String),
    gates: Gates,
    plan: &Plan,
) -> Result<Options, Failure> {
    let mut options = Options::new(arguments.seed, start);
    options.gardener_version = version;
    options.gates = gates;
    options.profile = match arguments.profile {
        ProfileName::Documents => Profile::Documents,
        ProfileName::Upstream => Profile::Upstream,
    };
    options.sync = match arguments.sync {
        SyncMode::Window => Sync::Window,
        SyncMode::Hourly => Sync::Hourly,
    };
    if plan.seeds_are_given {
        options.seeds.clear();
    }
    for manifest in &plan.seeds {
        options.seeds.push(seed_template(manifest)?);
    }
    Ok(options)
}

/// Converts a Seed's manifest to the template that its gardenlet registers.
///
/// # Errors
/// It has unknown fields, or values of a wrong type.
pub(crate) fn seed_template(manifest: &Manifest) -> Result<Seed, Failure> {
    let bytes = manifest.object.to_string();
    let decoded = apimachinery::decode::json(bytes.as_bytes(), &<Seed as apimachinery::schema::Schema>::node());
    let refused = |what: String| Failure::input(format!("{}: Seed `{}`: {what}", manifest.origin, manifest.name()), "");
    let decoded = decoded.map_err(|error| refused(error.to_string()))?;
    if let Some(field) = decoded.unknown.first() {
        return Err(refused(format!("unknown field \"{field}\"")));
    }
    Seed::from_tree(decoded.tree).map_err(|error| refused(error.to_string()))
}

/// Namespaces and names of the Shoots whose events are printed.
fn printed_shoots(plan: &Plan) -> Vec<String> {
    let names = plan.shoots.iter().map(|shoot| format!("{}/{}", shoot.namespace(), shoot.name()));
    names.take(PRINTED_SHOOTS).collect()
}

/// Returns the objects of the demo; `expiration`: that of its oldest Kubernetes version.
pub(crate) fn demo(preset: &Preset, expiration: DateTime<Utc>, shoots: u32) -> Vec<Manifest> {
    let core = api_version::CORE;
    let mut manifests = vec![
        manifest_of(&preset.cloud_profile(expiration), "CloudProfile", core),
        manifest_of(&preset::project(), "Project", core),
        manifest_of(&preset::secret(), "Secret", "v1"),
        if preset.has_credentials_binding() {
            manifest_of(&preset::credentials_binding(), "CredentialsBinding", api_version::SECURITY)
        } else {
            manifest_of(&preset::secret_binding(), "SecretBinding", core)
        },
    ];
    let names = (1..=shoots).map(|number| if shoots == 1 { "local".to_owned() } else { format!("local-{number}") });
    manifests.extend(names.map(|name| manifest_of::<Shoot>(&preset.shoot(&name), "Shoot", core)));
    manifests
}

pub(crate) fn manifest_of<O: Object>(object: &O, kind: &str, api_version: &str) -> Manifest {
    let mut object = object.to_tree();
    object["kind"] = kind.into();
    object["apiVersion"] = api_version.into();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    Manifest { origin: Origin { file: "demo".to_owned(), line: 1 }, object, is_being_deleted: false, is_served: false }
}

/// Returns the evening before the first version of any CloudProfile expires for a release, so that every version can be
/// added, and one expires soon; `None`: no version expires.
fn evening_before_expiry(manifests: &[Manifest], release: Release) -> Option<DateTime<Utc>> {
    let rules = Moment::new(DateTime::UNIX_EPOCH, release);
    let mut expirations: Vec<DateTime<Utc>> = Vec::new();
    for manifest in manifests.iter().filter(|manifest| manifest.kind().ends_with("CloudProfile")) {
        let spec = &manifest.object["spec"];
        let images = spec["machineImages"].as_array().into_iter().flatten().map(|image| &image["versions"]);
        let versions = images.chain([&spec["kubernetes"]["versions"]]).filter_map(|list| list.as_array()).flatten();
        // The server refuses versions that cannot be read. Versions of images have the same fields.
        let versions = versions.filter_map(|version| serde_json::from_value::<ExpirableVersion>(version.clone()).ok());
        let dates = versions.filter_map(|version| rules.expiration(&version));
        expirations.extend(dates.filter(|date| !Time(*date).is_zero()));
    }
    let midnight = expirations.iter().min()?.date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    Some(midnight - TimeDelta::hours(4))
}

fn failed(failure: landscape::Failure) -> Failure {
    Failure::Failed(failure.to_string())
}

/// Wall time, for speed and progress of a run: the landscape does not depend on it.
fn wall() -> DateTime<Utc> {
    clock::Clock::wall().now()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_head_has_the_version_as_it_was_named() {
        for (named, head, version) in [
            ("v1.149.0", "v1.149.0 (emulated)", "v1.149.0"),
            ("v1.150", "v1.150.0 (emulated, by the rules of v1.149)", "v1.149.0"),
            ("v0.9", "v0.9.0 (emulated, by the rules of v1.80)", "v1.80.0"),
        ] {
            let named = ops::release::parse(named).expect("a version");
            assert_eq!((emulated(&named), full(&named, rules_of(&named))), (head.to_owned(), version.to_owned()));
        }
    }

    #[test]
    fn a_start_is_the_evening_before_the_first_expiry() {
        let stages = |stages: &[(&str, Option<&str>)]| -> Value {
            stages.iter().map(|(class, start)| json!({ "classification": class, "startTime": start })).collect()
        };
        let life = |expired: Option<&str>| {
            let deprecated = ("deprecated", Some("2026-09-01T00:00:00Z"));
            let all = [("supported", None), deprecated, ("expired", expired)];
            stages(if expired.is_some() { &all } else { &all[..2] })
        };
        let start = |release: u16, kubernetes: Value, image: Value| {
            let images = json!([{ "name": "a", "versions": [{ "version": "1.0.0" }, image] }]);
            let spec = json!({ "kubernetes": { "versions": [kubernetes] }, "machineImages": images });
            let object = json!({ "kind": "CloudProfile", "spec": spec });
            let origin = Origin { file: "f.yaml".to_owned(), line: 1 };
            let manifest = Manifest { origin, object, is_being_deleted: false, is_served: false };
            evening_before_expiry(&[manifest], Release(release)).map(show)
        };
        let plain = |version: &str| json!({ "version": version });
        let dated = |date: &str| json!({ "version": "1.1.0", "expirationDate": date });
        let staged = |expired: Option<&str>| json!({ "version": "1.34.2", "lifecycle": life(expired) });
        let (october, november) = ("2026-10-01T12:00:00Z", "2026-11-01T00:00:00Z");
        let (first, second) = (Some("2026-09-30T20:00:00Z".to_owned()), Some("2026-10-31T20:00:00Z".to_owned()));
        assert_eq!(start(149, staged(Some(october)), plain("1.1.0")), first);
        assert_eq!(start(149, plain("1.34.2"), staged(Some(november))), second);
        assert_eq!(start(149, staged(Some(october)), dated(november)), first);
        assert_eq!(start(149, staged(Some(november)), dated(october)), first);
        assert_eq!(start(120, plain("1.34.2"), dated(november)), second);
        assert_eq!(start(149, staged(None), plain("1.1.0")), None, "no version expires");
        assert_eq!(start(149, plain("1.34.2"), dated("0001-01-01T00:00:00Z")), None, "Go's zero time");
        assert_eq!(start(149, json!({ "version": "1.34.2", "lifecycle": 7 }), plain("1.1.0")), None);
    }
}
