// SPDX-License-Identifier: Apache-2.0
//! `terrarium rollout`: effect of a change of a Shoot on the nodes of each of its worker pools ([`ops::rollout`]).

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::Args;
use clock::{Clock, Random};
use domain::profile::Profile;
use domain::release::Release;
use domain::skew::GardenerVersion;
use domain::worker_pool::Effect;
use ops::inventory::Inventory;
use ops::inventory::{DecodedManifests, Reading};
use ops::manifests::Manifest;
use ops::names::name_of;
use ops::release::Chosen;
use ops::rollout::apply;
use ops::rollout::{Change, Hashing, Outcome, Pool, ask, created, nodes_of, settings_of, tree_of};
use serde_json::Value;

use crate::failure::Failure;
use crate::input::{self, AskedRelease, accept, decide, paths, tell};
use crate::live::ask::query::Form;
use crate::live::ask::table::Table;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;
use ops::names::shoots::ShootName;

/// Exit code of `--exit-code` if nodes are replaced.
const REPLACED: u8 = 10;

/// Tell what a change of a Shoot does to its worker pools: which nodes are replaced, updated in place or left, and why
///
/// Needs no landscape: the first Shoot among the manifests is the old one, the second, of the same name, the new one, and
/// CloudProfiles among them say what is offered. With --shoot the old one, its pools' hashes and nodes, and the profiles are
/// those of a landscape that runs, and its API server is asked what it would make of the change. The new state is taken as
/// `kubectl apply` takes it: what it leaves out and was never applied stays.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Manifests: the old Shoot, the new one, each in a file of its own, and CloudProfiles
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Include subfolders
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// The old Shoot, PROJECT/NAME, of the landscape
    #[arg(long, value_name = "P/N")]
    shoot: Option<ShootName>,
    #[command(flatten)]
    release: AskedRelease,
    /// A feature gate of gardener-apiserver or gardenlet: `InPlaceNodeUpdates=true` [default: the landscape's]
    #[arg(long = "feature-gate", value_name = "G=B", value_parser = input::gate)]
    feature_gates: Vec<(String, bool)>,
    /// An operation with it, `rotate-ca-start`; without a new Shoot it alone is the change
    #[arg(long, value_name = "OPERATION")]
    operation: Option<String>,
    /// Exit with code 10 if nodes are replaced or removed
    #[arg(long)]
    exit_code: bool,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let (change, hashing, chosen) = match &arguments.shoot {
        Some(shoot) => of_landscape(arguments, shoot, output)?,
        None => of_files(arguments, output)?,
    };
    let (pools, refused) = change.judge(arguments.operation.as_deref(), hashing)?;
    for note in &change.inventory.notes {
        output.note(&format!("note: {note}"));
    }
    print(&change, &pools, &chosen, arguments.output, output)?;
    if let Some(refused) = refused {
        return Err(Failure::Failed(format!("the API server refuses the change: {refused}")));
    }
    if arguments.exit_code && pools.iter().any(Pool::is_replaced) {
        return Err(Failure::ExitCode(REPLACED));
    }
    Ok(())
}

/// Returns gates and hashes of a release: the given ones, otherwise those of a landscape.
fn hashing(
    arguments: &Arguments,
    release: &GardenerVersion,
    mut gates: Vec<(String, bool)>,
) -> Result<Hashing, Failure> {
    // The release may not know all gates of the landscape.
    gates.retain(|(name, on)| Hashing::of(release, &[(name.clone(), *on)]).is_ok());
    gates.extend(arguments.feature_gates.iter().cloned());
    Ok(Hashing::of(release, &gates)?)
}

/// Remedy for missing Shoots.
const HINT: &str = "give the old Shoot and the new one with -f, each in a file of its own";

/// Reads both Shoots from manifests.
fn of_files(arguments: &Arguments, output: &mut Output) -> Result<(Change, Hashing, Chosen), Failure> {
    let now = Clock::wall().now();
    let given = given(arguments, &mut apply_to_first())?;
    let chosen = Chosen::for_shoots(arguments.release.version(), given.iter().flat_map(DecodedManifests::shoots));
    tell(&chosen, output);
    let (found, profiles): (Vec<Inventory>, Vec<Inventory>) = inventories(given, now, chosen.release, output)?
        .into_iter()
        .partition(|inventory| !inventory.shoots.is_empty());
    let mut found = found.into_iter();
    let Some(mut old) = found.next() else {
        return Err(Failure::input("there is no Shoot among the manifests", HINT));
    };
    let new = found.next();
    if found.next().is_some() || old.shoots.len() > 1 || new.as_ref().is_some_and(|new| new.shoots.len() > 1) {
        return Err(Failure::input("there are more than two Shoots among the manifests", HINT));
    }
    if new.is_none() && arguments.operation.is_none() {
        return Err(Failure::input("there is one Shoot among the manifests", HINT));
    }
    old.add_profiles(&profiles);
    if let Some(new) = &new {
        old.add_profiles(std::slice::from_ref(new));
    }
    old.complete(now);
    accept(&old, None, output)?;
    if arguments.operation.is_some() && old.shoots[0].status.last_operation.is_none() {
        old.shoots[0].status.last_operation = Some(created(now));
        old.notes.push("the old Shoot has no status: it is taken for one that has been created".to_owned());
    }
    let new = match new {
        None => old.shoots[0].clone(),
        Some(mut new) => {
            new.add_profiles(&profiles);
            new.add_profiles(std::slice::from_ref(&old));
            new.complete(now);
            // Notes that both states have in common are printed once.
            let is_told = |note: &String| old.notes.iter().any(|told| without_place(told) == without_place(note));
            new.notes.retain(|note| !is_told(note));
            old.notes.append(&mut new.notes);
            let shoot = new.shoots.remove(0);
            if name_of(&shoot) != name_of(&old.shoots[0]) {
                return Err(Failure::input(
                    format!("the Shoots are two: {} and {}", name_of(&old.shoots[0]), name_of(&shoot)),
                    "give two states of one Shoot",
                ));
            }
            shoot
        }
    };
    let old_shoot = old.shoots.remove(0);
    let nodes = BTreeMap::new();
    let change = Change { old: old_shoot, new, inventory: old, nodes, now, is_of_landscape: false, answer: None };
    Ok((change, hashing(arguments, &chosen.version, Vec::new())?, chosen))
}

/// Removes the place in a file from a note.
fn without_place(note: &str) -> &str {
    note.split(" (").next().unwrap_or_default()
}

/// Returns a function that applies all manifests of a Shoot to the first one.
fn apply_to_first() -> impl FnMut(&mut Manifest) {
    let mut first: Option<Manifest> = None;
    move |manifest| match &first {
        None => first = Some(manifest.clone()),
        Some(first) if (first.namespace(), first.name()) == (manifest.namespace(), manifest.name()) => {
            manifest.object = apply::applied(&first.object, first.is_served, &manifest.object);
        }
        Some(_) => {}
    }
}

/// Reads the objects of each file.
///
/// # Errors
/// A file cannot be read.
fn given(arguments: &Arguments, adjust: &mut dyn FnMut(&mut Manifest)) -> Result<Vec<DecodedManifests>, Failure> {
    let files = paths(&arguments.files, arguments.recursive)?;
    files.iter().map(|file| Ok(DecodedManifests::read(std::slice::from_ref(file), adjust)?)).collect()
}

/// Converts the objects of each file to a separate inventory.
///
/// # Errors
/// A file cannot be read.
fn inventories(
    given: Vec<DecodedManifests>,
    now: DateTime<Utc>,
    release: Release,
    output: &mut Output,
) -> Result<Vec<Inventory>, Failure> {
    let random = Random::new(1);
    let reading = Reading { random: &random, now, rules: Profile::default(), release };
    let mut inventories = Vec::new();
    for given in given {
        let inventory = given.inventory(reading);
        if inventory.lacks_objects() {
            accept(&inventory, None, output)?;
        }
        decide(inventory.refusals(true).errors, output)?;
        inventories.push(inventory);
    }
    Ok(inventories)
}

/// Reads the old Shoot from a running landscape, and applies a manifest to it for the new one.
fn of_landscape(
    arguments: &Arguments,
    name: &ShootName,
    output: &mut Output,
) -> Result<(Change, Hashing, Chosen), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let (old, tree, now) = block_on(async {
        let context = client.context();
        let old = client.shoot_of_flag(name).await?.find(&context).await?;
        let tree = tree_of(&context, &old).await?;
        Ok::<_, Failure>((old, tree, client.clock().await?.now))
    })?;
    let mut applied: Vec<Value> = Vec::new();
    let given = given(arguments, &mut |manifest| {
        if manifest.namespace().is_empty() {
            manifest.object["metadata"]["namespace"] = old.metadata.namespace.as_str().into();
        }
        if (manifest.namespace(), manifest.name()) == (&*old.metadata.namespace, &*old.metadata.name) {
            applied.push(manifest.object.clone());
            manifest.object = apply::applied(&tree, true, &manifest.object);
        }
    })?;
    let (mut inventory, nodes, gates, chosen) = block_on(async {
        let context = client.context();
        let nodes = nodes_of(&context, &old).await?;
        let (release, gates) = settings_of(&context, &old).await?;
        let release = match release {
            Some(release) => release.to_string(),
            None => client.gardener_version().await?,
        };
        let chosen = arguments.release.of_landscape(&client.facts.name, &release)?;
        Ok::<_, Failure>((Inventory::of_landscape(&context, chosen.release).await?, nodes, gates, chosen))
    })?;
    tell(&chosen, output);
    let mut given = inventories(given, now, chosen.release, output)?;
    let has_profiles =
        given.iter().any(|inventory| !inventory.cloud_profiles.is_empty() || !inventory.namespaced.is_empty());
    if has_profiles {
        inventory.replace_profiles(&given);
    }
    let mut shoots = Vec::new();
    for one in &mut given {
        one.add_profiles(std::slice::from_ref(&inventory));
        // Notes of the completion are about new Shoots, but this one exists.
        inventory.notes.append(&mut one.notes);
        one.complete(now);
        shoots.append(&mut one.shoots);
    }
    let mut new = match (shoots.pop(), shoots.is_empty()) {
        (Some(new), true) if name_of(&new) == name_of(&old) => new,
        (Some(new), true) => {
            let what = format!("the manifest is of Shoot {}, not of {}", name_of(&new), name_of(&old));
            return Err(Failure::input(what, "give the new state of the Shoot that --shoot names"));
        }
        (None, _) if arguments.operation.is_some() => old.clone(),
        _ => {
            return Err(Failure::input(
                "the new state of the Shoot is not given",
                "give one Shoot with -f, or an --operation",
            ));
        }
    };
    // The landscape's API server decides; for another release, other gates or other profiles the rules decide.
    let is_otherwise = has_profiles || arguments.release.version().is_some() || !arguments.feature_gates.is_empty();
    let mut answer = None;
    if !is_otherwise {
        let asked = block_on(async {
            let context = client.context();
            Ok::<_, Failure>(ask(&context, &old, &tree, applied.first(), arguments.operation.as_deref()).await?)
        })?;
        answer = Some(match asked {
            Ok(stored) => {
                new = stored;
                None
            }
            Err(refused) => Some(refused),
        });
    }
    let hashing = hashing(arguments, &chosen.version, gates)?;
    Ok((Change { old, new, inventory, nodes, now, is_of_landscape: true, answer }, hashing, chosen))
}

/// Prints the effect on each pool.
fn print(change: &Change, pools: &[Pool], chosen: &Chosen, form: Form, output: &mut Output) -> Result<(), Failure> {
    let mut object = change.object(pools);
    chosen.add_to(&mut object);
    form.print(&object, output, |output| {
        let mut table = Table::new(&["pool", "effect", "nodes", "because of"]);
        for pool in pools {
            let mut because = pool.triggers.iter();
            let first = because.next().cloned().unwrap_or_else(|| "-".to_owned());
            table.push([pool.name.clone(), pool.effect().to_owned(), pool.nodes.to_string(), first]);
            for next in because {
                table.push([String::new(), String::new(), String::new(), next.clone()]);
            }
        }
        table.print(output)?;
        for pool in pools.iter().filter(|pool| pool.outcome != Outcome::Rejected) {
            if let Some(message) = &pool.message {
                output.line(&format!("{}: {message}", pool.name))?;
            }
        }
        let is_something = |pool: &Pool| !matches!(pool.outcome, Outcome::Rejected | Outcome::Changed(Effect::None));
        if pools.iter().any(is_something) {
            output.line(&format!("It begins {}.", change.when()))?;
        }
        Ok(())
    })
}
