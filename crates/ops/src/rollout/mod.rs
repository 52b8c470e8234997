// SPDX-License-Identifier: Apache-2.0
//! Effect of a change of a Shoot on the nodes of each of its worker pools.
//!
//! The effect is that of [`domain::worker_pool::effects`], which the forecast and gardenlet's own hashes use as well. The
//! API server of a landscape, or else [`domain::forecast::refusal`], decides if the change is accepted.
//!
//! **Tour.** [`apply`] the patch of `kubectl apply` for a manifest.

pub mod apply;

use domain::versions::Moment;
use std::collections::BTreeMap;

use api::catalogue;
use api::cluster;
use api::constants::{annotation, label, operation_state, operation_type};
use api::core::{LastOperation, Shoot, Worker};
use api::kubernetes::core::Node;
use apimachinery::Resource;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Api, ListOptions, Patch};
use domain::annotations;
use domain::forecast::refusal;
use domain::rotation;
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::skew::notes::GateSetting;
use domain::skew::releases::{check_gate, gate_is_on};
use domain::skew::{Component, GardenerVersion};
use domain::validation::shoot::Gates;
use domain::worker_pool::{self, Effect, HashVersion, PoolEffect, PoolForms};
use process::Context;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::inventory::Inventory;
use crate::names::ProfileKey;
use crate::read;
use crate::spelling::counted;
use crate::upgrade::fleet;

/// Feature gate that decides how pools are hashed.
const NEW_WORKER_POOL_HASH: &str = "NewWorkerPoolHash";

/// Two states of a Shoot, and the circumstances of the change.
#[derive(Clone, Debug)]
pub struct Change {
    /// The Shoot before the change.
    pub old: Shoot,
    /// The Shoot after the change.
    pub new: Shoot,
    /// Profiles, and forms of the pools' hashes.
    pub inventory: Inventory,
    /// Numbers of nodes by pool, if they were read from a landscape.
    pub nodes: BTreeMap<String, usize>,
    /// Instant of the change.
    pub now: DateTime<Utc>,
    /// True if pools are hashed as recorded in the given objects; false: like new pools.
    pub is_of_landscape: bool,
    /// Answer of the landscape's API server, its refusal if any; `None`: it was not queried, and the rules decide.
    pub answer: Option<Option<String>>,
}

/// Result of a change for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The nodes get the change.
    Changed(Effect),
    /// The pool is removed, and its nodes with it.
    Removed,
    /// The API server refuses the change of the pool.
    Rejected,
}

/// Effect of a change on a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Name of the pool.
    pub name: String,
    /// Outcome for its nodes.
    pub outcome: Outcome,
    /// Fields that cause the effect.
    pub triggers: Vec<String>,
    /// Number of nodes of the pool.
    pub nodes: usize,
    /// Additional message.
    pub message: Option<String>,
}

impl Pool {
    /// Name of the outcome: that of the effect, `removed` or `rejected`.
    pub fn effect(&self) -> &'static str {
        match self.outcome {
            Outcome::Changed(effect) => effect.as_str(),
            Outcome::Removed => "removed",
            Outcome::Rejected => "rejected",
        }
    }

    /// Formats the pool as JSON for scripts.
    pub fn object(&self) -> Value {
        let mut object = json!({ "effect": self.effect(), "triggers": self.triggers, "nodes": self.nodes });
        if let Some(message) = &self.message {
            object["message"] = json!(message);
        }
        object
    }

    /// True if existing nodes are replaced or removed.
    pub fn is_replaced(&self) -> bool {
        self.nodes > 0 && matches!(self.outcome, Outcome::Removed | Outcome::Changed(Effect::Rolling | Effect::Moving))
    }
}

/// Feature gates of a release with the given settings.
#[derive(Clone, Copy, Debug)]
pub struct Hashing {
    /// Gates that validation reads.
    pub gates: Gates,
    /// Form of hash of new pools.
    pub latest: HashVersion,
}

impl Hashing {
    /// Returns the gates of a release with the named settings; for a gate that is set twice the last setting counts.
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
            disable_nginx_ingress_in_shoot: is_on("DisableNginxIngressInShoot"),
            cloud_profile_capabilities: is_on("CloudProfileCapabilities"),
            version_classification_lifecycle: is_on("VersionClassificationLifecycle"),
            ..Gates::of_release(release)
        };
        let latest = if is_on(NEW_WORKER_POOL_HASH) { HashVersion::V2 } else { HashVersion::V1 };
        Ok(Self { gates, latest })
    }
}

/// Returns the last operation of a created Shoot.
pub fn created(now: DateTime<Utc>) -> LastOperation {
    LastOperation {
        r#type: operation_type::CREATE.to_owned(),
        state: operation_state::SUCCEEDED.to_owned(),
        progress: 100,
        last_update_time: Time::from_instant(now),
        ..LastOperation::default()
    }
}

/// Returns the number of nodes of each pool, read from the Shoot's cluster; 0 before the creation of its control plane.
///
/// # Errors
/// The server's error message.
pub async fn nodes_of(context: &Context, shoot: &Shoot) -> Result<BTreeMap<String, usize>, Error> {
    let mut counts: BTreeMap<String, usize> =
        shoot.spec.provider.workers.iter().map(|worker| (worker.name.clone(), 0)).collect();
    let id = &shoot.status.technical_id;
    if !cluster::is_technical_id(id) {
        return Ok(counts);
    }
    let nodes = match Api::<Node>::all(context, id).list(&ListOptions::default()).await {
        Err(error) if error.is_not_found() => return Ok(counts),
        nodes => nodes?.0,
    };
    for node in nodes {
        if let Some(pool) = node.metadata.label(label::WORKER_POOL) {
            *counts.entry(pool.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Reads a Shoot from the API server of a landscape.
///
/// # Errors
/// The server's error message.
pub async fn tree_of(context: &Context, shoot: &Shoot) -> Result<Value, Error> {
    let row = catalogue::all().iter().find(|row| (row.group, row.kind) == (Shoot::GROUP, Shoot::KIND));
    let row = row.ok_or_else(|| Error::Failed("the catalogue has no Shoots".to_owned()))?;
    let (namespace, name) = (&shoot.metadata.namespace, &shoot.metadata.name);
    let path = read::path(cluster::GARDEN, row, Some(namespace), Some(name));
    read::tree(&context.transport, &path, "application/json").await
}

/// Requests `kubectl apply` of a manifest from the API server of a landscape as a dry run; returns the Shoot with all
/// defaults, or the server's refusal. `tree`: the stored Shoot.
///
/// # Errors
/// The server does not respond.
pub async fn ask(
    context: &Context,
    old: &Shoot,
    tree: &Value,
    manifest: Option<&Value>,
    operation: Option<&str>,
) -> Result<Result<Shoot, String>, Error> {
    let mut patch = manifest.map_or_else(|| json!({}), |manifest| apply::patch(tree, true, manifest));
    if let Some(operation) = operation {
        patch["metadata"]["annotations"][annotation::OPERATION] = json!(operation);
    }
    let api = Api::<Shoot>::namespaced(context, cluster::GARDEN, &old.metadata.namespace);
    match api.patch_dry_run(&old.metadata.name, &Patch::Merge(patch)).await {
        Ok(shoot) => Ok(Ok(shoot)),
        Err(error) => match error.status() {
            Some(status) => Ok(Err(status.message.clone())),
            None => Err(error.into()),
        },
    }
}

/// Release of a landscape's oldest gardener-apiserver, and the feature gates that are set for gardener-apiserver and for the
/// gardenlet of a Shoot's Seed.
///
/// # Errors
/// The server's error message.
pub async fn settings_of(
    context: &Context,
    shoot: &Shoot,
) -> Result<(Option<GardenerVersion>, Vec<(String, bool)>), Error> {
    let fleet = fleet::without_shoots(context).await?;
    let apiservers = fleet.landscape.instances.iter().filter(|instance| instance.component == Component::Apiserver);
    let release = apiservers.filter_map(|instance| GardenerVersion::parse(&instance.version)).min();
    let seed = shoot.status.seed_name.as_ref().or(shoot.spec.seed_name.as_ref());
    let is_meant = |gate: &&GateSetting| match gate.component {
        Component::Apiserver => true,
        Component::Gardenlet => seed.is_some_and(|seed| *seed == gate.owner),
        _ => false,
    };
    let gates = fleet.gates.iter().filter(is_meant).map(|gate| (gate.name.clone(), gate.on)).collect();
    Ok((release, gates))
}

impl Change {
    /// Returns the effect on each pool, and the reason if the API server refuses the change.
    ///
    /// # Errors
    /// The operation neither rotates credentials nor rolls pools.
    pub fn judge(
        &self,
        operation: Option<&str>,
        Hashing { gates, latest }: Hashing,
    ) -> Result<(Vec<Pool>, Option<String>), Error> {
        let mut new = self.new.clone();
        new.status.clone_from(&self.old.status);
        let mut asked = new.clone();
        // Metadata that the server keeps is not part of the change.
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
            if !annotations::operations(operation).iter().any(|one| rotation::is_begun_by_run(one)) {
                let what = format!("--operation {operation} rotates no credentials and rolls no pools");
                return Err(Error::input(
                    what,
                    "for example rotate-ca-start, rotate-credentials-start, rollout-workers=*",
                ));
            }
            asked.metadata.annotations.insert(annotation::OPERATION.to_owned(), operation.to_owned());
            rotation::begin(&mut new.status, &new.spec, operation, Time::from_instant(self.now));
        }
        let offers = self.inventory.offers();
        let key = ProfileKey::of(&self.new);
        let offered = offers.get(&key);
        let refused = match (&self.answer, offered) {
            (Some(answer), _) => answer.clone(),
            (None, Some(offered)) => {
                refusal::of(&asked, &self.old, offered, gates, Moment::new(self.now, gates.release))
            }
            (None, None) => refusal::of_validation(&asked, &self.old, gates),
        };
        let mut forms = PoolForms::all(latest, gates.release);
        if self.is_of_landscape {
            forms = PoolForms { release: gates.release, ..self.inventory.forms(&self.old) };
        }
        let mut effects = worker_pool::effects(&self.old, &new, &forms);
        for (pool, effect) in &mut effects {
            if forms.ends(pool) {
                effect.effect = effect.effect.max(Effect::Rolling);
                effect.triggers.push(worker_pool::ended_form(gates.release));
            }
        }
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
                    Some(format!("the pool is new: {} made", counted(self.nodes(worker), "node is", "nodes are")))
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
                outcome: Outcome::Changed(if is_hibernated { Effect::None } else { effect.effect }),
                triggers: effect.triggers,
                nodes,
                message,
            });
        }
        for worker in old.iter().filter(|worker| !new.iter().any(|kept| kept.name == worker.name)) {
            pools.push(Pool {
                name: worker.name.clone(),
                outcome: Outcome::Removed,
                triggers: vec!["spec.provider.workers".to_owned()],
                nodes: self.nodes(worker),
                message: Some("the pool is removed: its nodes are drained and deleted".to_owned()),
            });
        }
        if let Some(refused) = refused {
            self.reject(&mut pools, refused);
        }
        pools
    }

    /// Marks the pools that a refused change would have changed, or that the refusal names.
    fn reject(&self, pools: &mut [Pool], refused: &str) {
        for pool in pools {
            let index = self.new.spec.provider.workers.iter().position(|worker| worker.name == pool.name);
            let is_named = index.is_some_and(|index| refused.contains(&format!("spec.provider.workers[{index}]")));
            let is_new = !self.old.spec.provider.workers.iter().any(|worker| worker.name == pool.name);
            if is_named || is_new || pool.outcome != Outcome::Changed(Effect::None) {
                pool.outcome = Outcome::Rejected;
                pool.message = Some(refused.to_owned());
            } else {
                pool.message = None;
            }
        }
    }

    /// Number of nodes of a pool: the actual one if known, otherwise the pool's minimum.
    fn nodes(&self, worker: &Worker) -> usize {
        if is_hibernation_enabled(&self.old.spec) {
            return 0;
        }
        let fewest = usize::try_from(worker.minimum).unwrap_or_default();
        self.nodes.get(&worker.name).copied().unwrap_or(fewest)
    }

    /// Time at which gardenlet begins.
    pub fn when(&self) -> String {
        let window = self.new.spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        match window.filter(|_| is_confined(&self.new.spec)) {
            Some(window) => format!("in the maintenance time window, {} to {}", window.begin, window.end),
            None => "at once".to_owned(),
        }
    }

    /// Formats the result as JSON for scripts.
    pub fn object(&self, pools: &[Pool]) -> Value {
        let named: Map<String, Value> = pools.iter().map(|pool| (pool.name.clone(), pool.object())).collect();
        json!({ "when": self.when(), "pools": named })
    }
}

#[cfg(test)]
mod tests {
    use api::core::ShootSpec;

    use super::*;

    fn shoot(pools: &[(&str, &str)]) -> Shoot {
        let workers: Vec<Value> = pools
            .iter()
            .map(|(name, machine)| {
                json!({
                    "name": name, "minimum": 1, "maximum": 1,
                    "machine": { "type": machine, "image": { "name": "os", "version": "1.0.0" } },
                })
            })
            .collect();
        let spec: ShootSpec = serde_json::from_value(json!({
            "kubernetes": { "version": "1.31.1" }, "region": "r", "provider": { "type": "local", "workers": workers },
        }))
        .expect("a spec");
        let mut shoot = Shoot { spec, ..Shoot::default() };
        "s".clone_into(&mut shoot.metadata.name);
        shoot
    }

    /// Pools as `NAME EFFECT`, each with an exclamation mark if its nodes are replaced or removed.
    fn pools(old: &[(&str, &str)], new: &[(&str, &str)], answer: Option<&str>) -> Vec<String> {
        let change = Change {
            old: shoot(old),
            new: shoot(new),
            inventory: Inventory::new(domain::release::DOCUMENTED),
            nodes: BTreeMap::new(),
            now: DateTime::UNIX_EPOCH,
            is_of_landscape: false,
            answer: Some(answer.map(str::to_owned)),
        };
        let hashing = Hashing { gates: Gates::default(), latest: HashVersion::V1 };
        let (pools, refused) = change.judge(None, hashing).expect("no operation");
        assert_eq!(refused.as_deref(), answer);
        let shown = |pool: &Pool| {
            let goes = if pool.is_replaced() { "!" } else { "" };
            format!("{} {}{goes}", pool.name, pool.effect())
        };
        pools.iter().map(shown).collect()
    }

    #[test]
    fn a_removed_pool_loses_its_nodes() {
        let old = [("a", "small"), ("b", "small")];
        assert_eq!(pools(&old, &[("a", "large")], None), ["a rolling!", "b removed!"]);
        assert_eq!(
            pools(&old, &[("a", "small"), ("b", "small"), ("c", "small")], None),
            ["a none", "b none", "c none"]
        );
    }

    #[test]
    fn a_refusal_concerns_the_pools_that_were_to_change() {
        let old = [("a", "small"), ("b", "small")];
        let of = |new: &[(&str, &str)], refusal: &str| pools(&old, new, Some(refusal));
        assert_eq!(of(&[("a", "large"), ("b", "small")], "no"), ["a rejected", "b none"]);
        assert_eq!(
            of(&[("a", "small"), ("b", "small")], "spec.provider.workers[1].zones: no"),
            ["a none", "b rejected"]
        );
        assert_eq!(of(&[("a", "small"), ("c", "small")], "no"), ["a none", "c rejected", "b rejected"]);
        assert_eq!(of(&[("a", "small"), ("b", "small")], "spec.region: no"), ["a none", "b none"]);
    }

    /// A landscape of 1.120, whose pools have the first form of the hash, with the rules of a release.
    #[test]
    fn pools_of_the_first_form_roll_with_a_release_without_it() {
        for (minor, expected) in
            [(120, Effect::None), (145, Effect::None), (146, Effect::Rolling), (149, Effect::Rolling)]
        {
            let same = shoot(&[("a", "small")]);
            let change = Change {
                old: same.clone(),
                new: same,
                inventory: Inventory::new(domain::release::DOCUMENTED),
                nodes: BTreeMap::new(),
                now: DateTime::UNIX_EPOCH,
                is_of_landscape: true,
                answer: Some(None),
            };
            let gates = Gates { release: domain::release::Release(minor), ..Gates::default() };
            let (pools, _) = change.judge(None, Hashing { gates, latest: HashVersion::V2 }).expect("no operation");
            assert_eq!(pools[0].outcome, Outcome::Changed(expected), "v1.{minor}");
            let told = format!("first form of the hash, which v1.{minor} does not have");
            assert_eq!(pools[0].triggers.contains(&told), expected == Effect::Rolling, "{:?}", pools[0].triggers);
        }
    }

    /// Operations that a user may preview, the release, and the effect on pools `a` and `b`.
    #[test]
    fn operations_that_name_pools_roll_them() {
        for (operation, expected) in [
            ("rollout-workers=a", ["rolling", "none"]),
            ("rollout-workers=*", ["rolling", "rolling"]),
            ("rotate-ssh-keypair;rollout-workers=b", ["none", "rolling"]),
        ] {
            let same = shoot(&[("a", "small"), ("b", "small")]);
            let change = Change {
                old: same.clone(),
                new: same,
                inventory: Inventory::new(domain::release::NEWEST),
                nodes: BTreeMap::new(),
                now: DateTime::UNIX_EPOCH,
                is_of_landscape: false,
                answer: Some(None),
            };
            let gates = Gates { release: domain::release::NEWEST, ..Gates::default() };
            let hashing = Hashing { gates, latest: HashVersion::V2 };
            let (pools, _) = change.judge(Some(operation), hashing).expect("an operation");
            assert_eq!([pools[0].effect(), pools[1].effect()], expected, "{operation}");
        }
        let change = Change {
            old: shoot(&[]),
            new: shoot(&[]),
            inventory: Inventory::new(domain::release::NEWEST),
            nodes: BTreeMap::new(),
            now: DateTime::UNIX_EPOCH,
            is_of_landscape: false,
            answer: Some(None),
        };
        let hashing = Hashing { gates: Gates::default(), latest: HashVersion::V2 };
        assert!(change.judge(Some("nonsense"), hashing).is_err());
    }

    #[test]
    fn one_node_is_made() {
        let change = |minimum: i32| {
            let mut new = shoot(&[("a", "small")]);
            new.spec.provider.workers[0].minimum = minimum;
            let (old, inventory) = (shoot(&[]), Inventory::new(domain::release::DOCUMENTED));
            let nodes = BTreeMap::new();
            let now = DateTime::UNIX_EPOCH;
            let change = Change { old, new, inventory, nodes, now, is_of_landscape: false, answer: Some(None) };
            let hashing = Hashing { gates: Gates::default(), latest: HashVersion::V1 };
            change.judge(None, hashing).expect("no operation").0[0].message.clone()
        };
        assert_eq!(change(1).as_deref(), Some("the pool is new: 1 node is made"));
        assert_eq!(change(2).as_deref(), Some("the pool is new: 2 nodes are made"));
    }

    /// A cluster is served from the creation of its control plane on; its ID exists before.
    #[tokio::test]
    async fn pools_have_no_nodes_before_the_control_plane() {
        let count = async |status: apimachinery::status::Status| {
            let transport = process::Transport::new(move |_| {
                let (code, body) = (status.code, json!(status).to_string());
                Box::pin(async move {
                    let answer = http::Response::builder().status(code).header("content-type", "application/json");
                    Ok(answer.body(process::transport::full(body)).expect("an answer"))
                })
            });
            let context = Context {
                identity: process::Identity {
                    component: "terrarium".into(),
                    instance: "terrarium".into(),
                    version: "v1.120.0".into(),
                },
                clock: clock::Clock::wall(),
                random: clock::Random::new(1),
                wall: clock::Clock::wall(),
                transport,
                tasks: process::Tasks::new(),
                output: process::Output::new(|_| {}),
            };
            let mut shoot = shoot(&[("a", "small")]);
            "shoot--demo--shop".clone_into(&mut shoot.status.technical_id);
            nodes_of(&context, &shoot).await
        };
        let about = apimachinery::GroupResource { group: String::new(), resource: "clusters".to_owned() };
        let missing = apimachinery::status::Status::not_found(&about, "shoot--demo--shop");
        assert_eq!(count(missing).await, Ok(BTreeMap::from([("a".to_owned(), 0)])));
        let other = apimachinery::status::Status::already_exists(&about, "shoot--demo--shop");
        assert!(count(other).await.is_err());
    }
}
