// SPDX-License-Identifier: Apache-2.0
//! `terrarium forecast`: forecast of maintenance for Shoots in manifests or a landscape.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use clock::{Clock, Random};
use domain::profile::Profile;
use ops::forecast::rows::Row;
use ops::forecast::summary;
use ops::forecast::what_if::{self, Auto, Classify, Expire};
use ops::forecast::{Forecast, Only};
use ops::instant::When;
use ops::inventory::Inventory;
use ops::inventory::{DecodedManifests, Reading};
use ops::names::shoots::{self, ShootName};
use ops::release::Chosen;
use ops::show;
use ops::spelling::counted;
use process::{Context, Identity, Tasks};

use super::rows::{self, Form};
use crate::failure::Failure;
use crate::input::{self, AskedRelease, accept, paths, tell};
use crate::live::client::{gardener_version, note_usual};
use crate::live::history::Past;
use crate::live::{Facts, Which, block_on};
use crate::output::Output;

/// Show what maintenance will do: which Shoots are updated, when, to what and why, and which are not
///
/// Reads CloudProfiles, NamespacedCloudProfiles and Shoots as `kubectl get -o yaml` prints them, and needs no landscape; or,
/// without `-f`, those of a landscape, running or stopped, from its time on. Runs
/// lie at the instants at which a landscape with the same --seed makes them. Manifests are read, filled in and
/// validated as by the API server of a release, which has them stored: what it refuses is an error, unless --force is given.
/// Fields that are unknown, or of other releases, are ignored with a note; one that may decide the answer is an error.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Manifests instead of the landscape: files, folders, or `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Include subfolders
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// The beginning: an instant, or so long from now (2w) [default: now, of the landscape or of this machine]
    #[arg(long, value_name = "T")]
    from: Option<When>,
    /// The end: an instant, or so long from the beginning (90d)
    #[arg(long, value_name = "T")]
    until: When,
    /// Change the expiration of versions: kubernetes/1.31=2027-01-31, or IMAGE/VERSION=DATE; of versions with a life cycle
    /// the stage expired begins then
    #[arg(long, value_name = "V=T")]
    expire: Vec<Expire>,
    /// Change the classification of versions: kubernetes/1.31.2=deprecated; of versions with a life cycle, the start of a
    /// stage: kubernetes/1.34.3=deprecated@2026-10-01
    #[arg(long, value_name = "V=C[@T]")]
    classify: Vec<Classify>,
    /// Switch automatic updates on or off: NAMESPACE=off, all=on
    #[arg(long, value_name = "NS=on|off")]
    auto: Vec<Auto>,
    /// Only rows of this kind
    #[arg(long, value_parser = only(), value_name = "WHICH")]
    only: Vec<Only>,
    /// Count rows instead of printing them
    #[arg(long, value_enum, default_value_t = GroupKey::None)]
    summary: GroupKey,
    /// Only this Shoot, and why its versions are chosen or left, as seen from the beginning
    #[arg(long, value_name = "shoot/P/N")]
    explain: Option<ShootName>,
    /// Exit with code 1 if there are rows of this kind
    #[arg(long, value_enum, value_name = "WHICH")]
    fail_on: Option<FailOn>,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
    #[command(flatten)]
    release: AskedRelease,
    /// A feature gate of gardener-controller-manager: `DisableNginxIngressInShoot=true` [default: the landscape's]
    #[arg(long = "feature-gate", value_name = "G=B", value_parser = input::gate)]
    feature_gates: Vec<(String, bool)>,
    /// Go on although the API server would refuse the manifests: each refusal becomes a warning, except an unknown field that
    /// may decide the answer
    #[arg(long)]
    force: bool,
    /// Seed of all randomness [default: the landscape's, else 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Source of the rules on which the requirements documents and upstream's code differ [default: the landscape's, else
    /// documents]
    #[arg(long, value_parser = ["documents", "upstream"])]
    profile: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Failed,
    Forced,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let landscape = if arguments.files.is_empty() { Some(OfLandscape::read(arguments)?) } else { None };
    let now = landscape.as_ref().map_or_else(|| Clock::wall().now(), |landscape| landscape.now);
    let from = arguments.from.map_or(now, |from| from.behind(now));
    let until = arguments.until.behind(from);
    match &landscape {
        Some(landscape) if arguments.from.is_none() => {
            output.note(&format!("note: from {}, the time of landscape {}", show(from), landscape.facts.name));
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
    let projects = landscape.as_ref().map(|landscape| landscape.projects.clone()).unwrap_or_default();
    let (mut inventory, chosen) = match landscape {
        None => {
            let given = DecodedManifests::read(&paths(&arguments.files, arguments.recursive)?, &mut |_| {})?;
            let chosen = Chosen::for_shoots(arguments.release.version(), given.shoots());
            (given.inventory(Reading { random: &random, now: from, rules, release: chosen.release }), chosen)
        }
        Some(OfLandscape { inventory, facts, chosen, .. })
            if inventory.shoots.is_empty() && arguments.explain.is_none() =>
        {
            // An empty result is an answer: no row in each form.
            output.note(&format!("note: landscape {} has no Shoot", facts.name));
            return print(&Forecast::of(&inventory, from, until, &random), arguments, &chosen, output);
        }
        Some(OfLandscape { inventory, chosen, .. }) => (inventory, chosen),
    };
    tell(&chosen, output);
    if !arguments.feature_gates.is_empty() {
        let gates = ops::gates::manager_gates(&chosen.version, &arguments.feature_gates)?;
        inventory.disables_nginx_ingress = ops::gates::disables_nginx_ingress(inventory.release, &gates);
    }
    if inventory.shoots.is_empty() && !arguments.files.is_empty() {
        accept(&inventory, Some(arguments.force), output)?;
        return Err(Failure::input("there is no Shoot among the manifests", "add the Shoots to be looked at"));
    }
    let refused = what_if::apply(
        &mut inventory.cloud_profiles,
        &arguments.expire,
        &arguments.classify,
        rules,
        inventory.release,
        from,
    )?;
    what_if::apply_to_shoots(&mut inventory.shoots, &arguments.auto)?;
    inventory.complete(from);
    accept(&inventory, Some(arguments.force), output)?;
    if let Some(first) = refused.iter().find(|refused| refused.is_of_stages && !arguments.force) {
        return Err(Failure::input(&first.what, first.advice));
    }
    for refused in &refused {
        output.note(&format!("warning: {refused}"));
    }
    if let Some(given) = &arguments.explain
        && let Some(usual) = given.usual_among(&projects)
    {
        note_usual(given, &usual);
    }
    let explained = arguments.explain.as_ref().map(|shoot| shoot.object_in(&inventory.shoots, &projects));
    if let Some(name) = &explained {
        inventory.only(name)?;
    }
    inventory.note_windows();
    inventory.note_unoffered();
    let forecast = Forecast::of(&inventory, from, until, &random);
    for note in &inventory.notes {
        output.note(&format!("note: {note}"));
    }
    let explained = match &explained {
        Some(name) => {
            let lines = forecast.explained(&inventory, name, from)?;
            std::iter::once(String::new()).chain(lines.iter().map(ToString::to_string)).collect()
        }
        None => Vec::new(),
    };
    print(&forecast, arguments, &chosen, output)?;
    print_lines(&explained, arguments.output, output)?;
    let is_found = |row: &Row| match arguments.fail_on {
        Some(FailOn::Failed) => row.change.failure.is_some(),
        Some(FailOn::Forced) => row.change.is_forced && row.change.failure.is_none(),
        None => false,
    };
    let found = forecast.rows.iter().filter(|row| is_found(row)).count();
    match arguments.fail_on {
        Some(what) if found > 0 => {
            let (one, several) = match what {
                FailOn::Failed => ("change fails", "changes fail"),
                FailOn::Forced => ("change is forced", "changes are forced"),
            };
            Err(Failure::Failed(counted(found, one, several)))
        }
        _ => Ok(()),
    }
}

/// Objects of a landscape, running or stopped.
struct OfLandscape {
    inventory: Inventory,
    chosen: Chosen,
    facts: Facts,
    /// Projects and their namespaces.
    projects: Vec<(String, String)>,
    /// Current landscape time.
    now: DateTime<Utc>,
}

impl OfLandscape {
    fn read(arguments: &Arguments) -> Result<Self, Failure> {
        let directory = arguments.which.directory()?;
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
            let (facts, now) = (past.facts.clone(), past.now);
            let version = gardener_version(&context, &facts).await?;
            let chosen = arguments.release.of_landscape(&facts.name, &version)?;
            let inventory = Inventory::of_landscape(&context, chosen.release).await;
            let projects = match &arguments.explain {
                Some(_) => shoots::projects(&past.transport).await,
                None => Ok(Vec::new()),
            };
            past.close().await?;
            Ok(Self { inventory: inventory?, chosen, facts, projects: projects?, now })
        })
    }
}

/// Prints lines for users: together with the table, and apart from the data in forms for scripts.
fn print_lines(lines: &[String], form: Form, output: &mut Output) -> Result<(), Failure> {
    for line in lines {
        match form {
            Form::Table => output.line(line)?,
            Form::Csv | Form::Json | Form::Yaml => output.note(line),
        }
    }
    Ok(())
}

/// Prints the selected rows or their counts, and the closing lines.
fn print(forecast: &Forecast, arguments: &Arguments, chosen: &Chosen, output: &mut Output) -> Result<(), Failure> {
    let is_shown = |row: &&Row| arguments.only.is_empty() || arguments.only.iter().any(|only| only.takes(&row.change));
    let shown: Vec<Row> = forecast.rows.iter().filter(is_shown).cloned().collect();
    let by = summary::By::from(arguments.summary);
    if by == summary::By::None {
        rows::print(&shown, chosen, arguments.output, output)?;
    } else {
        let mut columns = vec![by.key()];
        columns.extend(summary::COLUMNS);
        rows::print_objects(&summary::grouped(&shown, by), &columns, chosen, arguments.output, output)?;
    }
    print_lines(&forecast.closing(), arguments.output, output)
}

/// Key by which rows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GroupKey {
    /// Calendar week (Monday, UTC)
    Week,
    /// Namespace of the Shoots
    Project,
    /// Version that is left
    Version,
    /// Nothing: each change is a row
    None,
}

impl From<GroupKey> for summary::By {
    fn from(by: GroupKey) -> Self {
        match by {
            GroupKey::Week => Self::Week,
            GroupKey::Project => Self::Project,
            GroupKey::Version => Self::Version,
            GroupKey::None => Self::None,
        }
    }
}

/// Returns the parser of [`Only`] by its names.
fn only() -> impl TypedValueParser<Value = Only> {
    let names = Only::ALL.map(Only::as_str);
    PossibleValuesParser::new(names).map(|name| Only::named(&name).expect("a possible value"))
}
