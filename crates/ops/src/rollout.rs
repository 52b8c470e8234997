// SPDX-License-Identifier: Apache-2.0
//! What a change of a Shoot does to the nodes of each of its worker pools.
//!
//! The effect is that of [`domain::worker_pool::effects`], by which the forecast and gardenlet's own hashes go, too; whether
//! the API takes the change at all is [`domain::forecast::refusal`].

use std::collections::BTreeMap;

use api::cluster;
use api::constants::{annotation, label, operation_state, operation_type};
use api::core::{LastOperation, Shoot, Worker};
use api::kubernetes::core::Node;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Api, ListOptions};
use domain::annotations;
use domain::forecast::refusal;
use domain::reconcile::{is_confined, is_hibernation_enabled};
use domain::rotation;
use domain::skew::GardenerVersion;
use domain::skew::releases::{check_gate, gate_is_on};
use domain::validation::shoot::Gates;
use domain::worker_pool::{self, Effect, HashVersion, PoolEffect, PoolForms};
use process::Context;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::spelling::counted;
use crate::world::{ProfileKey, World};

/// The gate whose state decides how pools are hashed.
const NEW_WORKER_POOL_HASH: &str = "NewWorkerPoolHash";

/// Two states of a Shoot, and what is known around them.
#[derive(Clone, Debug)]
pub struct Change {
    /// As it is.
    pub old: Shoot,
    /// As it is to be.
    pub new: Shoot,
    /// Profiles, and how the pools are hashed.
    pub world: World,
    /// Nodes of pools, where a landscape has them.
    pub nodes: BTreeMap<String, usize>,
    /// The instant of the change.
    pub now: DateTime<Utc>,
    /// Whether the pools are hashed as the given objects say, and not as new ones are.
    pub is_of_landscape: bool,
}

/// What becomes of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// What happens to its nodes; `None`: the API server refuses the change.
    pub effect: Option<Effect>,
    /// Fields by which that happens.
    pub triggers: Vec<String>,
    /// How many nodes it has.
    pub nodes: usize,
    /// What there is to say beside.
    pub message: Option<String>,
}

impl Pool {
    /// The effect by its name; `rejected` where the API server refuses the change.
    pub fn effect(&self) -> &'static str {
        self.effect.map_or("rejected", Effect::as_str)
    }

    /// As scripts read it.
    pub fn object(&self) -> Value {
        let mut object = json!({ "effect": self.effect(), "triggers": self.triggers, "nodes": self.nodes });
        if let Some(message) = &self.message {
            object["message"] = json!(message);
        }
        object
    }

    /// Whether nodes that are there are replaced.
    pub fn is_replaced(&self) -> bool {
        self.nodes > 0 && matches!(self.effect, Some(Effect::Rolling | Effect::Moving))
    }
}

/// Feature gates as they are with a release and what is set.
#[derive(Clone, Copy, Debug)]
pub struct Hashing {
    /// Gates that validation asks for.
    pub gates: Gates,
    /// How new pools are hashed.
    pub latest: HashVersion,
}

impl Hashing {
    /// Of a release, with gates that are set by name; of one that is set twice the last setting counts.
    ///
    /// # Errors
    /// Neither gardener-apiserver nor gardenlet has the gate, or it is locked.
    pub fn of(release: &GardenerVersion, set: &[(String, bool)]) -> Result<Self, Error> {
        for (name, on) in set {
            let errors = ["apiserver", "gardenlet"].map(|component| check_gate(release, component, name, *on).err());
            if let [Some(error), Some(_)] = errors {
                return Err(Error::input(
                    format!("--feature-gate {name}={on}: {error}"),
                    "`terrarium explain F1` says more",
                ));
            }
        }
        let is_on = |name: &str| {
            let own = set.iter().rev().find(|(known, _)| known == name).map(|(_, on)| *on);
            gate_is_on(release, name, own)
        };
        let gates = Gates {
            in_place_node_updates: is_on("InPlaceNodeUpdates"),
            credentials_rotation_without_workers_rollout: is_on("CredentialsRotationWithoutWorkersRollout"),
            ..Gates::of_release(release)
        };
        let latest = if is_on(NEW_WORKER_POOL_HASH) { HashVersion::V2 } else { HashVersion::V1 };
        Ok(Self { gates, latest })
    }
}

/// The last operation of a Shoot that has been created.
pub fn created(now: DateTime<Utc>) -> LastOperation {
    LastOperation {
        r#type: operation_type::CREATE.to_owned(),
        state: operation_state::SUCCEEDED.to_owned(),
        progress: 100,
        last_update_time: Time::from_instant(now),
        ..LastOperation::default()
    }
}

/// Nodes of each pool of a Shoot, as its cluster has them.
///
/// # Errors
/// The server's words.
pub async fn nodes_of(context: &Context, shoot: &Shoot) -> Result<BTreeMap<String, usize>, Error> {
    let mut counts: BTreeMap<String, usize> =
        shoot.spec.provider.workers.iter().map(|worker| (worker.name.clone(), 0)).collect();
    let id = &shoot.status.technical_id;
    if !cluster::is_technical_id(id) {
        return Ok(counts);
    }
    let (nodes, _) = Api::<Node>::all(context, id).list(&ListOptions::default()).await?;
    for node in nodes {
        if let Some(pool) = node.metadata.label(label::WORKER_POOL) {
            *counts.entry(pool.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

impl Change {
    /// What becomes of each pool, and why the API server takes none of it.
    ///
    /// # Errors
    /// The operation is none that rotates credentials.
    pub fn judge(
        &self,
        operation: Option<&str>,
        Hashing { gates, latest }: Hashing,
    ) -> Result<(Vec<Pool>, Option<String>), Error> {
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
                return Err(Error::input(what, "for example rotate-ca-start, rotate-credentials-start"));
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
        let is_hibernated = is_hibernation_enabled(&self.old.spec);
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
                (Some(_), _) if is_hibernated => {
                    Some("hibernated: nodes come with the change when it wakes up".to_owned())
                }
                (Some(_), Effect::ManualInPlace) => {
                    Some(format!("each node waits until it is labelled {}=true", label::SELECTED_FOR_UPDATE))
                }
                _ => None,
            };
            pools.push(Pool {
                name: worker.name.clone(),
                effect: Some(if is_hibernated { Effect::None } else { effect.effect }),
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
                message: Some("the pool is removed: its nodes are drained and deleted".to_owned()),
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
    pub fn when(&self) -> String {
        let window = self.new.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        match window.filter(|_| is_confined(&self.new.spec)) {
            Some(window) => format!("in the maintenance time window, {} to {}", window.begin, window.end),
            None => "at once".to_owned(),
        }
    }

    /// As scripts read it.
    pub fn object(&self, pools: &[Pool]) -> Value {
        let named: Map<String, Value> = pools.iter().map(|pool| (pool.name.clone(), pool.object())).collect();
        json!({ "when": self.when(), "pools": named })
    }
}
