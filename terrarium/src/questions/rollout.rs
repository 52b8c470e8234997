// SPDX-License-Identifier: Apache-2.0
//! `terrarium rollout`: what a change of a Shoot does to the nodes of each of its worker pools.
//!
//! The effect is that of [`domain::worker_pool::effects`], by which the forecast and gardenlet's own hashes go, too; whether
//! the API takes the change at all is [`domain::forecast::refusal`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::cluster;
use api::constants::{annotation, label, operation_state, operation_type};
use api::core::{LastOperation, Shoot, Worker};
use api::kubernetes::core::Node;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use clap::Args;
use clock::{Clock, Random};
use controller::{Api, ListOptions};
use domain::annotations;
use domain::forecast::refusal;
use domain::profile::Profile;
use domain::reconcile::{is_confined, is_hibernation_enabled};
use domain::rotation;
use domain::skew::GardenerVersion;
use domain::skew::releases::{check_gate, gate_is_on};
use domain::validation::shoot::Gates;
use domain::worker_pool::{self, Effect, HashVersion, PoolEffect, PoolForms};
use process::Context;
use serde_json::{Map, Value, json};

use super::given::Reading;
use super::skew::{Form, version};
use super::world::{ProfileKey, World, name_of};
use crate::failure::Failure;
use crate::live::ask::shoots::ShootName;
use crate::live::ask::table::Table;
use crate::live::client::Client;
use crate::live::{Which, block_on};
use crate::output::Output;
use crate::spelling::counted;

/// Exit code of `--exit-code` when nodes are replaced.
const REPLACED: u8 = 10;

/// The gate whose state decides how pools are hashed.
const NEW_WORKER_POOL_HASH: &str = "NewWorkerPoolHash";

/// Tell what a change of a Shoot does to its worker pools: which nodes are replaced, updated in place or left, and why
///
/// Needs no landscape: the first Shoot among the manifests is the old one, the second, of the same name, the new one, and
/// CloudProfiles among them say what is offered. With --shoot the old one, its pools' hashes and nodes, and the profiles are
/// those of a landscape that runs.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Manifests: the old Shoot, the new one, each in a file of its own, and CloudProfiles
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The old Shoot, PROJECT/NAME, of the landscape
    #[arg(long, value_name = "P/N")]
    shoot: Option<ShootName>,
    /// Version of Gardener, for the feature gates that are on by default [default: v1.120.0]
    #[arg(long, value_name = "V", value_parser = version)]
    gardener_version: Option<GardenerVersion>,
    /// A feature gate of gardener-apiserver or gardenlet: `InPlaceNodeUpdates=true`
    #[arg(long = "feature-gate", value_name = "G=B", value_parser = gate)]
    feature_gates: Vec<(String, bool)>,
    /// An operation with it, `rotate-ca-start`; without a new Shoot it alone is the change
    #[arg(long, value_name = "OPERATION")]
    operation: Option<String>,
    /// Exit with code 10 if nodes are replaced
    #[arg(long)]
    exit_code: bool,
    /// Form of the output
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Form::Table)]
    output: Form,
}

/// `NAME=true` or `NAME=false`.
fn gate(text: &str) -> Result<(String, bool), String> {
    let read = text.split_once('=').and_then(|(name, on)| Some((name.to_owned(), on.parse().ok()?)));
    read.ok_or_else(|| format!("`{text}` is not NAME=true or NAME=false"))
}

/// Two states of a Shoot, and what is known around them.
struct Change {
    old: Shoot,
    new: Shoot,
    /// Profiles, and how the pools are hashed.
    world: World,
    /// Nodes of pools, where a landscape has them.
    nodes: BTreeMap<String, usize>,
    now: DateTime<Utc>,
    is_of_landscape: bool,
}

/// What becomes of a pool.
struct Pool {
    name: String,
    effect: Option<Effect>,
    triggers: Vec<String>,
    nodes: usize,
    message: Option<String>,
}

impl Pool {
    /// As scripts read it.
    fn effect(&self) -> &'static str {
        self.effect.map_or("rejected", Effect::as_str)
    }

    fn object(&self) -> Value {
        let mut object = json!({ "effect": self.effect(), "triggers": self.triggers, "nodes": self.nodes });
        if let Some(message) = &self.message {
            object["message"] = json!(message);
        }
        object
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let release = arguments.gardener_version.clone();
    let release = release.or_else(|| GardenerVersion::parse(landscape::GARDENER_VERSION));
    let release = release.ok_or_else(|| Failure::Failed("the emulated version cannot be read".to_owned()))?;
    let set = gates_of(&release, &arguments.feature_gates)?;
    let change = match &arguments.shoot {
        Some(shoot) => of_landscape(arguments, shoot, output)?,
        None => of_files(arguments, output)?,
    };
    let gates = Gates {
        in_place_node_updates: gate_is_on(&release, "InPlaceNodeUpdates", set("InPlaceNodeUpdates")),
        credentials_rotation_without_workers_rollout: gate_is_on(
            &release,
            "CredentialsRotationWithoutWorkersRollout",
            set("CredentialsRotationWithoutWorkersRollout"),
        ),
        ..Gates::of_release(&release)
    };
    let is_new = gate_is_on(&release, NEW_WORKER_POOL_HASH, set(NEW_WORKER_POOL_HASH));
    let latest = if is_new { HashVersion::V2 } else { HashVersion::V1 };
    let (pools, refused) = change.judge(arguments.operation.as_deref(), gates, latest)?;
    for note in &change.world.notes {
        output.note(&format!("note: {note}"));
    }
    change.print(&pools, arguments.output, output)?;
    if let Some(refused) = refused {
        return Err(Failure::Failed(format!("the API server refuses the change: {refused}")));
    }
    let is_replaced = |pool: &Pool| pool.nodes > 0 && matches!(pool.effect, Some(Effect::Rolling | Effect::Moving));
    if arguments.exit_code && pools.iter().any(is_replaced) {
        return Err(Failure::ExitCode(REPLACED));
    }
    Ok(())
}

/// What a gate is set to.
fn gates_of<'a>(
    release: &GardenerVersion,
    set: &'a [(String, bool)],
) -> Result<impl Fn(&str) -> Option<bool> + 'a, Failure> {
    for (name, on) in set {
        let errors = ["apiserver", "gardenlet"].map(|component| check_gate(release, component, name, *on).err());
        if let [Some(error), Some(_)] = errors {
            return Err(Failure::input(
                format!("--feature-gate {name}={on}: {error}"),
                "`terrarium explain F1` says more",
            ));
        }
    }
    Ok(move |name: &str| set.iter().rev().find(|(known, _)| known == name).map(|(_, on)| *on))
}

/// What to do where Shoots are missing.
const HINT: &str = "give the old Shoot and the new one with -f, each in a file of its own";

/// Both Shoots from manifests.
fn of_files(arguments: &Arguments, output: &mut Output) -> Result<Change, Failure> {
    let now = Clock::wall().now();
    let (found, profiles): (Vec<World>, Vec<World>) =
        read(arguments, now, output)?.into_iter().partition(|world| !world.shoots.is_empty());
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
    old.accept(false, output)?;
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
    Ok(Change { old: old_shoot, new, world: old, nodes: BTreeMap::new(), now, is_of_landscape: false })
}

/// The last operation of a Shoot that has been created.
fn created(now: DateTime<Utc>) -> LastOperation {
    LastOperation {
        r#type: operation_type::CREATE.to_owned(),
        state: operation_state::SUCCEEDED.to_owned(),
        progress: 100,
        last_update_time: Time::from_instant(now),
        ..LastOperation::default()
    }
}

/// Each file as a world of its own.
///
/// # Errors
/// One that cannot be read.
fn read(arguments: &Arguments, now: DateTime<Utc>, output: &mut Output) -> Result<Vec<World>, Failure> {
    let random = Random::new(1);
    let reading = Reading { random: &random, now, rules: Profile::default() };
    let mut worlds = Vec::new();
    for file in &arguments.files {
        let world = World::of_files(std::slice::from_ref(file), reading)?;
        if world.lacks_objects() {
            world.accept(false, output)?;
        }
        worlds.push(world);
    }
    Ok(worlds)
}

/// The old Shoot from a landscape that runs, the new one from a manifest.
fn of_landscape(arguments: &Arguments, name: &ShootName, output: &mut Output) -> Result<Change, Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let (old, world, nodes, now) = block_on(async {
        let context = client.context();
        let now = client.clock().await?.now;
        let shoot = name.find(&context).await?;
        let nodes = nodes_of(&context, &shoot).await?;
        Ok::<_, Failure>((shoot, World::of_landscape(&context).await?, nodes, now))
    })?;
    let mut given = read(arguments, now, output)?;
    let mut shoots = Vec::new();
    for one in &mut given {
        one.add_profiles(std::slice::from_ref(&world));
        one.complete(now);
        shoots.append(&mut one.shoots);
    }
    let new = match (shoots.pop(), shoots.is_empty()) {
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
    Ok(Change { old, new, world, nodes, now, is_of_landscape: true })
}

/// Nodes of each pool of a Shoot, as its cluster has them.
async fn nodes_of(context: &Context, shoot: &Shoot) -> Result<BTreeMap<String, usize>, Failure> {
    let failed = |error: controller::Error| Failure::Failed(error.to_string());
    let mut counts: BTreeMap<String, usize> =
        shoot.spec.provider.workers.iter().map(|worker| (worker.name.clone(), 0)).collect();
    let id = &shoot.status.technical_id;
    if !cluster::is_technical_id(id) {
        return Ok(counts);
    }
    let (nodes, _) = Api::<Node>::all(context, id).list(&ListOptions::default()).await.map_err(failed)?;
    for node in nodes {
        if let Some(pool) = node.metadata.label(label::WORKER_POOL) {
            *counts.entry(pool.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

impl Change {
    /// What becomes of each pool, and why the API server takes none of it.
    fn judge(
        &self,
        operation: Option<&str>,
        gates: Gates,
        latest: HashVersion,
    ) -> Result<(Vec<Pool>, Option<String>), Failure> {
        let mut new = self.new.clone();
        new.status.clone_from(&self.old.status);
        let mut asked = new.clone();
        // What a server keeps is no part of the change.
        for (to, from) in [(&mut new.metadata, &self.old.metadata), (&mut asked.metadata, &self.old.metadata)] {
            to.uid.clone_from(&from.uid);
            to.resource_version.clone_from(&from.resource_version);
            to.creation_timestamp = from.creation_timestamp;
            to.deletion_timestamp = from.deletion_timestamp;
            to.finalizers.clone_from(&from.finalizers);
            to.generation = from.generation;
        }
        asked.spec.seed_name.clone_from(&self.old.spec.seed_name);
        if let Some(operation) = operation {
            if !annotations::operations(operation).iter().any(|one| rotation::is_rotation(one)) {
                let what = format!("--operation {operation} rotates no credentials");
                return Err(Failure::input(what, "for example rotate-ca-start, rotate-credentials-start"));
            }
            asked.metadata.annotations.insert(annotation::OPERATION.to_owned(), operation.to_owned());
            rotation::begin(&mut new.status, &new.spec, operation, Time::from_instant(self.now));
        }
        let offers = self.world.offers();
        let key = ProfileKey::of(&self.new);
        let offered = offers.get(&key);
        let refused = match offered {
            Some(offered) => refusal::of(&asked, &self.old, offered, gates, self.now),
            None => refusal::of_validation(&asked, &self.old, gates),
        };
        let forms = if self.is_of_landscape { self.world.forms(&self.old) } else { PoolForms::from(latest) };
        let effects = worker_pool::effects(&self.old, &new, &forms);
        Ok((self.pools(&effects, refused.as_deref()), refused))
    }

    fn pools(&self, effects: &BTreeMap<String, PoolEffect>, refused: Option<&str>) -> Vec<Pool> {
        let workers = |shoot: &Shoot| shoot.spec.provider.workers.clone();
        let (old, new) = (workers(&self.old), workers(&self.new));
        let is_asleep = is_hibernation_enabled(&self.old.spec);
        let mut pools = Vec::new();
        for worker in &new {
            let known = old.iter().find(|known| known.name == worker.name);
            let effect = effects.get(&worker.name).cloned().unwrap_or_default();
            let nodes = known.map_or(0, |known| self.nodes(known));
            let message = match (known, effect.effect) {
                (None, _) => {
                    Some(format!("the pool is new: {} are made", counted(self.nodes(worker), "node", "nodes")))
                }
                (Some(_), Effect::None) => None,
                (Some(_), _) if is_asleep => Some("hibernated: nodes come with the change when it wakes up".to_owned()),
                (Some(_), Effect::ManualInPlace) => {
                    Some(format!("each node waits until it is labelled {}=true", label::SELECTED_FOR_UPDATE))
                }
                _ => None,
            };
            pools.push(Pool {
                name: worker.name.clone(),
                effect: Some(if is_asleep { Effect::None } else { effect.effect }),
                triggers: effect.triggers,
                nodes,
                message,
            });
        }
        for worker in old.iter().filter(|worker| !new.iter().any(|kept| kept.name == worker.name)) {
            pools.push(Pool {
                name: worker.name.clone(),
                effect: Some(Effect::None),
                triggers: Vec::new(),
                nodes: self.nodes(worker),
                message: Some("the pool goes: its nodes are drained and removed".to_owned()),
            });
        }
        if let Some(refused) = refused {
            for pool in &mut pools {
                pool.effect = None;
                pool.message = Some(refused.to_owned());
            }
        }
        pools
    }

    /// Nodes of a pool: those that are there, else the fewest that it has.
    fn nodes(&self, worker: &Worker) -> usize {
        if is_hibernation_enabled(&self.old.spec) {
            return 0;
        }
        let fewest = usize::try_from(worker.minimum).unwrap_or_default();
        self.nodes.get(&worker.name).copied().unwrap_or(fewest)
    }

    /// When gardenlet begins.
    fn when(&self) -> String {
        let window = self.new.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        match window.filter(|_| is_confined(&self.new.spec)) {
            Some(window) => format!("in the maintenance time window, {} to {}", window.begin, window.end),
            None => "at once".to_owned(),
        }
    }

    fn print(&self, pools: &[Pool], form: Form, output: &mut Output) -> Result<(), Failure> {
        let named: Map<String, Value> = pools.iter().map(|pool| (pool.name.clone(), pool.object())).collect();
        let object = json!({ "when": self.when(), "pools": named });
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
            for pool in pools.iter().filter(|pool| pool.effect.is_some()) {
                if let Some(message) = &pool.message {
                    output.line(&format!("{}: {message}", pool.name))?;
                }
            }
            let is_something = |pool: &Pool| pool.effect.is_some_and(|effect| effect != Effect::None);
            if pools.iter().any(is_something) {
                output.line(&format!("It begins {}.", self.when()))?;
            }
            Ok(())
        })
    }
}
