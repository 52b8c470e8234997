// SPDX-License-Identifier: Apache-2.0
//! Invariants of drains, for every cause: a roll-out, an in-place update, a smaller pool, a Machine that a user
//! deletes. No pod is placed on a cordoned node or ends without a grace period, and budgets hold; the auditor checks
//! this.
//!
//! Each seed determines a world: a Shoot, its pool, Deployments with budgets, and changes by users during roll-outs.
//! `TERRARIUM_TEST_DRAINS=200` runs the worlds 1 to 200, `TERRARIUM_TEST_DRAINS=17-17` one world.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use api::core::{CloudProfile, InPlaceUpdates, Shoot};
use api::kubernetes::apps::{DaemonSet, Deployment};
use api::kubernetes::core::{Node, Pod};
use api::kubernetes::policy::PodDisruptionBudget;
use api::machine::Machine;
use apimachinery::Resource;
use apimachinery::meta::{DeleteOptions, Duration};
use chrono::TimeDelta;
use clock::Random;
use controller::{Api, ListOptions, Patch};
use domain::rollout::in_place::Update;
use domain::validation::shoot::Gates;
use landscape::{Component, Options, preset, wait};
use serde_json::{Value, json};

use crate::node_drains::{cluster, deploy, machines, typed};
use crate::node_rollout::{SEED, SHOOT, all, change, until_worker_succeeds};
use crate::support::{Audited, evening, is, seeds_of};

const WORLDS: &str = "TERRARIUM_TEST_DRAINS";
const CREATED: &str = "2023-07-27T21:00:00Z";
/// Number of actions of users in a world.
const DEEDS: u64 = 8;

/// Deployment `web` of eight pods, of which seven must be healthy, on as many nodes.
fn with_budget(seed: u64, nodes: i32) -> Audited {
    let mut audited = cluster(seed, nodes);
    deploy(&mut audited, 8, &json!({}), Some(json!({"minAvailable": 7})));
    audited
}

#[track_caller]
fn assert_all_run(audited: &mut Audited) {
    let nodes: Vec<String> = all::<Node>(audited, SHOOT).into_iter().map(|node| node.metadata.name).collect();
    let pods = all::<Pod>(audited, SHOOT);
    let runs = |pod: &&Pod| nodes.contains(&pod.spec.node_name) && !pod.metadata.is_being_deleted();
    assert_eq!(pods.iter().filter(runs).count(), 8, "{nodes:?}");
}

#[test]
fn a_roll_out_keeps_a_budget_of_one_unavailable_pod() {
    for seed in 1..=3 {
        let mut audited = with_budget(seed, 2);
        change(&mut audited, |pool| pool.machine_image.version = "1096.1.0".into());
        until_worker_succeeds(&mut audited, "2023-07-27T22:00:00Z");
        assert_all_run(&mut audited);
    }
}

#[test]
fn a_pool_that_shrinks_keeps_budgets() {
    let mut audited = with_budget(4, 4);
    change(&mut audited, |pool| (pool.minimum, pool.maximum) = (2, 2));
    until_worker_succeeds(&mut audited, "2023-07-27T22:00:00Z");
    audited.until_it_holds(TimeDelta::minutes(10), "two machines are left", |audited| machines(audited).len() == 2);
    assert_all_run(&mut audited);
}

#[test]
fn a_machine_that_people_delete_keeps_budgets() {
    let mut audited = with_budget(5, 2);
    let name = machines(&mut audited).remove(0).0;
    audited.disturb();
    let admin = audited.admin.clone();
    let api = Api::<Machine>::namespaced(&admin, SEED, SHOOT);
    audited.run(api.delete(&name, &DeleteOptions::default())).expect("it is deleted");
    audited.until_it_holds(TimeDelta::minutes(20), "another machine runs", |audited| {
        let machines = machines(audited);
        machines.len() == 2 && machines.iter().all(|(other, phase)| *other != name && phase == "Running")
    });
    assert_all_run(&mut audited);
}

/// Number of occurrences of each event, so that a test without events fails.
type Counts = BTreeMap<&'static str, usize>;

struct World {
    random: Random,
    audited: Audited,
    strategy: &'static str,
    deployments: u64,
    seen: Counts,
}

#[test]
fn drains_keep_their_promises_in_every_world() {
    let worlds = seeds_of(WORLDS, "12");
    let (next, last) = (AtomicU64::new(*worlds.start()), *worlds.end());
    let share = || {
        let seeds = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed <= last));
        let lived = seeds.map(|seed| (seed, catch_unwind(AssertUnwindSafe(|| World::live(seed)))));
        lived.collect::<Vec<_>>()
    };
    let (mut seen, mut failed) = (Counts::new(), Vec::new());
    std::thread::scope(|scope| {
        let shares: Vec<_> = (0..2).map(|_| scope.spawn(share)).collect();
        for (seed, lived) in shares.into_iter().flat_map(|share| share.join().expect("panics are caught")) {
            match lived {
                Ok(counts) => counts.into_iter().for_each(|(name, count)| *seen.entry(name).or_default() += count),
                Err(_) => failed.push(seed),
            }
        }
    });
    assert!(failed.is_empty(), "worlds {failed:?} break a promise; seen: {seen:?}");
    let names = ["rolled", "scaled", "deleted by hand", "budgets", "refused", "updated in place"];
    let is_loud = names.iter().all(|name| seen.contains_key(name));
    assert!(worlds.count() < 10 || is_loud, "the worlds are too quiet: {seen:?}");
}

impl World {
    fn below(&self, bound: u64, what: &str, ordinal: u64) -> u64 {
        self.random.below(bound, "drain-test", what, ordinal)
    }

    fn pick<T: Copy>(&self, choices: &[T], what: &str, ordinal: u64) -> T {
        choices[usize::try_from(self.below(choices.len() as u64, what, ordinal)).expect("small")]
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn live(seed: u64) -> Counts {
        let gates = Gates { in_place_node_updates: true, ..Gates::default() };
        let audited = Audited::start(Options { workload: true, gates, ..Options::new(seed, evening()) });
        let random = Random::new(seed);
        let mut world = Self { random, audited, strategy: "", deployments: 0, seen: Counts::new() };
        let rolling = "AutoRollingUpdate";
        world.strategy = world.pick(&[rolling, rolling, "AutoInPlaceUpdate", "ManualInPlaceUpdate"], "strategy", 0);
        world.deployments = 1 + world.below(3, "deployments", 0);
        world.create_shoot();
        world.create_workload();
        for deed in 0..DEEDS {
            world.act(deed);
            let pause = TimeDelta::seconds(i64::try_from(world.below(900, "pause", deed)).expect("small"));
            world.pass(pause);
        }
        world.settle();
        world.seen
    }

    /// Advances time and selects the nodes that wait for a user, including those of a roll-out that has halted.
    fn pass(&mut self, time: TimeDelta) {
        let end = self.audited.landscape.now() + time;
        while self.audited.landscape.now() < end {
            let next = (self.audited.landscape.now() + TimeDelta::minutes(10)).min(end);
            self.audited.until(&next.to_rfc3339());
            if self.strategy == "ManualInPlaceUpdate" {
                self.select_nodes(usize::MAX);
            } else if self.has_lost_its_surge() {
                self.audited.disturb();
                self.select_nodes(1);
                self.saw("halted");
            }
        }
    }

    /// True if a roll-out halts, since a machine that was deleted by hand has used up the surge and none may be unavailable.
    ///
    /// Source: `reconcileOldMachineSetsInPlace` in pkg/controller/deployment_inplace.go @ machine-controller-manager v0.62.1
    /// selects no node if `allMachinesCount - minAvailable <= 0`, and only a new MachineSet is created with the surge.
    fn has_lost_its_surge(&mut self) -> bool {
        let shoot = self.audited.shoot("local");
        let pool = &shoot.spec.provider.workers[0];
        if !self.seen.contains_key("deleted by hand") || pool.max_unavailable != Some(0.into()) {
            return false;
        }
        let machines = machines(&mut self.audited);
        let updates: Vec<Update> = all::<Node>(&mut self.audited, SHOOT).iter().map(Update::of).collect();
        machines.len() == usize::try_from(pool.minimum).expect("positive")
            && machines.iter().all(|(_, phase)| phase == "Running")
            && updates.iter().any(|update| update.candidate)
            && !updates.iter().any(|update| update.selected)
    }

    fn select_nodes(&mut self, count: usize) {
        let admin = self.audited.admin.clone();
        let nodes = all::<Node>(&mut self.audited, SHOOT).into_iter();
        let waits = |node: &Node| Update::of(node).candidate && !Update::of(node).selected;
        for node in nodes.filter(waits).take(count) {
            let label = json!({"node.machine.sapcloud.io/selected-for-update": "true"});
            let patch = Patch::Merge(json!({"metadata": {"labels": label}}));
            let api = Api::<Node>::all(&admin, SHOOT);
            self.audited.run(api.patch(&node.metadata.name, &patch)).expect("the node is there");
        }
    }

    fn create_shoot(&mut self) {
        let admin = self.audited.admin.clone();
        self.audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
        let profiles = Api::<CloudProfile>::all(&admin, "garden");
        let mut profile = self.audited.run(profiles.get("local")).expect("the preset has it");
        for version in &mut profile.spec.machine_images[0].versions {
            let from = Some("934.8.0".to_owned());
            version.in_place_updates = Some(InPlaceUpdates { supported: true, min_version_for_update: from });
        }
        self.audited.run(profiles.replace(&profile)).expect("versions can be updated in place");
        let mut shoot = preset::shoot("local");
        let pool = &mut shoot.spec.provider.workers[0];
        pool.update_strategy = Some(self.strategy.to_owned());
        let nodes = 1 + i32::try_from(self.below(4, "nodes", 0)).expect("small");
        (pool.minimum, pool.maximum) = (nodes, nodes);
        let bounds = self.pick(&[(1, 0), (2, 0), (0, 1), (1, 1)], "bounds", 0);
        // A manual update has no surge.
        let (surge, unavailable) = if self.strategy == "ManualInPlaceUpdate" { (0, 1) } else { bounds };
        (pool.max_surge, pool.max_unavailable) = (Some(surge.into()), Some(unavailable.into()));
        let settings = pool.machine_controller_manager.get_or_insert_default();
        let timeout = self.pick(&[10, 20, 40], "timeout", 0);
        settings.machine_drain_timeout = Some(Duration::from_minutes(timeout));
        settings.max_evict_retries = self.pick(&[None, Some(3), Some(100)], "retries", 0);
        let api = Api::<Shoot>::namespaced(&admin, "garden", preset::NAMESPACE);
        self.audited.run(api.create(&shoot)).expect("the Shoot is valid");
        let created = wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded"));
        self.audited.until_done(CREATED, created);
    }

    fn create_workload(&mut self) {
        let admin = self.audited.admin.clone();
        let labels = json!({"app": "agent"});
        let spec = json!({"containers": [{"name": "c", "image": "agent:1"}]});
        let agent: DaemonSet = typed(json!({
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }));
        self.audited.run(Api::all(&admin, SHOOT).create(&agent)).expect("the DaemonSet is created");
        for number in 0..self.deployments {
            let name = format!("web-{number}");
            let replicas = 1 + self.below(8, "replicas", number);
            let grace = self.pick(&[0, 5, 30, 120], "grace", number);
            let end = self.pick(&[None, Some("1s"), Some("40s")], "end", number);
            let annotations = end.map_or_else(|| json!({}), |end| json!({"terrarium.dev/pod-end": end}));
            let labels = json!({"app": name});
            let deployment: Deployment = typed(json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels, "annotations": annotations},
                    "spec": {
                        "terminationGracePeriodSeconds": grace,
                        "containers": [{"name": "c", "image": "web:1"}],
                    },
                }},
            }));
            self.audited.run(Api::all(&admin, SHOOT).create(&deployment)).expect("the Deployment is created");
            let bound = match self.below(5, "budget", number) {
                0 => continue,
                1 => json!({"minAvailable": replicas.saturating_sub(1)}),
                2 => json!({"maxUnavailable": 1}),
                3 => json!({"minAvailable": "50%"}),
                // No pod may be evicted: only a forced drain empties the node.
                _ => json!({"minAvailable": replicas}),
            };
            let mut spec = bound;
            spec["selector"] = json!({"matchLabels": labels});
            let budget: PodDisruptionBudget =
                typed(json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec}));
            self.audited.run(Api::all(&admin, SHOOT).create(&budget)).expect("the budget is created");
            self.saw("budgets");
        }
        self.pass(TimeDelta::minutes(1));
    }

    /// Performs an action of a user.
    fn act(&mut self, deed: u64) {
        match self.below(8, "deed", deed) {
            0 | 1 => self.roll(),
            2 => self.scale(deed),
            3 => self.delete_a_machine(deed),
            4 => self.scale_a_deployment(deed),
            5 => self.roll_a_deployment(deed),
            6 => self.delete_a_pod(deed),
            _ => self.restart(deed),
        }
    }

    /// Changes the Shoot, unless a pending in-place update forbids it.
    fn patch_shoot(&mut self, what: &'static str, patch: Value) {
        let api = Api::<Shoot>::namespaced(&self.audited.admin, "garden", preset::NAMESPACE);
        match self.audited.run(api.patch("local", &Patch::Json(patch))) {
            Ok(_) => self.saw(what),
            Err(error) => assert!(self.strategy != "AutoRollingUpdate", "{error}"),
        }
    }

    /// Changes the image at the first call, the minor version at the second, and nothing afterwards.
    fn roll(&mut self) {
        let shoot = self.audited.shoot("local");
        let image = shoot.spec.provider.workers[0].machine.image.as_ref().and_then(|image| image.version.clone());
        let (path, value) = if image.as_deref() != Some("1096.1.0") {
            ("/spec/provider/workers/0/machine/image/version", "1096.1.0")
        } else if shoot.spec.kubernetes.version != "1.27.1" {
            ("/spec/kubernetes/version", "1.27.1")
        } else {
            return;
        };
        let what = if self.strategy == "AutoRollingUpdate" { "rolled" } else { "updated in place" };
        self.patch_shoot(what, json!([{"op": "replace", "path": path, "value": value}]));
    }

    fn scale(&mut self, deed: u64) {
        let nodes = 1 + self.below(4, "scale", deed);
        let patch =
            |field: &str| json!({"op": "replace", "path": format!("/spec/provider/workers/0/{field}"), "value": nodes});
        self.patch_shoot("scaled", json!([patch("minimum"), patch("maximum")]));
    }

    fn delete_a_machine(&mut self, deed: u64) {
        let all = machines(&mut self.audited);
        let index = usize::try_from(self.below(all.len().max(1) as u64, "machine", deed)).expect("small");
        let Some((name, _)) = all.get(index) else { return };
        self.audited.disturb();
        let api = Api::<Machine>::namespaced(&self.audited.admin.clone(), SEED, SHOOT);
        self.audited.run(api.delete(name, &DeleteOptions::default())).expect("it is there");
        self.saw("deleted by hand");
    }

    fn patch_deployment(&mut self, deed: u64, patch: Value) {
        let name = format!("web-{}", self.below(self.deployments, "deployment", deed));
        let api = Api::<Deployment>::namespaced(&self.audited.admin.clone(), SHOOT, "default");
        self.audited.run(api.patch(&name, &Patch::Merge(patch))).expect("it is there");
    }

    fn scale_a_deployment(&mut self, deed: u64) {
        let replicas = self.below(9, "deployment-replicas", deed);
        self.patch_deployment(deed, json!({"spec": {"replicas": replicas}}));
    }

    fn roll_a_deployment(&mut self, deed: u64) {
        let containers = json!([{"name": "c", "image": format!("web:{deed}-2")}]);
        self.patch_deployment(deed, json!({"spec": {"template": {"spec": {"containers": containers}}}}));
    }

    fn delete_a_pod(&mut self, deed: u64) {
        let api = Api::<Pod>::namespaced(&self.audited.admin.clone(), SHOOT, "default");
        let pods = self.audited.run(api.list(&ListOptions::default())).expect("the kind is served").0;
        let index = usize::try_from(self.below(pods.len().max(1) as u64, "pod", deed)).expect("small");
        let Some(pod) = pods.get(index) else { return };
        self.audited.run(api.delete(&pod.metadata.name, &DeleteOptions::default())).expect("it is there");
    }

    /// Crashes a component during its work and starts another process of it.
    fn restart(&mut self, deed: u64) {
        let component = if self.below(2, "component", deed) == 0 {
            Component::ProviderLocal("local".into())
        } else {
            Component::KubeControllers
        };
        self.audited.landscape.stop_component(&component).expect("it ends");
        self.pass(TimeDelta::seconds(30));
        self.audited.landscape.start_component(component);
        self.saw("restarted");
    }

    /// Waits until the desired state is reached; drains may have to be forced.
    fn settle(&mut self) {
        let mut missing = String::new();
        for _ in 0..48 * 6 {
            self.pass(TimeDelta::minutes(10));
            match self.missing() {
                Some(what) => missing = what,
                None => return self.look_back(),
            }
        }
        panic!("{missing}\n{}", self.audited.tail(60));
    }

    /// First difference from the desired state.
    fn missing(&mut self) -> Option<String> {
        let shoot = self.audited.shoot("local");
        let operation = shoot.status.last_operation.as_ref().map(|operation| operation.state.as_str());
        let is_old = shoot.status.observed_generation != shoot.metadata.generation;
        if operation != Some("Succeeded") || is_old {
            return Some(format!("the Shoot is not done: {:?}", shoot.status.last_operation));
        }
        if let Some(updates) = &shoot.status.in_place_updates {
            return Some(format!("an update in place is pending: {updates:?}"));
        }
        let machines = machines(&mut self.audited);
        let wanted = usize::try_from(shoot.spec.provider.workers[0].minimum).expect("positive");
        if machines.len() != wanted || machines.iter().any(|(_, phase)| phase != "Running") {
            return Some(format!("{wanted} machines are wanted: {machines:?}"));
        }
        let nodes: Vec<String> = all::<Node>(&mut self.audited, SHOOT).into_iter().map(|it| it.metadata.name).collect();
        for deployment in all::<Deployment>(&mut self.audited, SHOOT) {
            let (name, status) = (&deployment.metadata().name, &deployment.status);
            let wanted = deployment.spec.replicas.unwrap_or(1);
            if status.available_replicas != wanted {
                return Some(format!("Deployment {name} has {} pods of {wanted}", status.available_replicas));
            }
        }
        let lost = all::<Pod>(&mut self.audited, SHOOT).into_iter().find(|pod| !nodes.contains(&pod.spec.node_name));
        lost.map(|pod| format!("pod {} is on {:?}", pod.metadata.name, pod.spec.node_name))
    }

    /// Records whether a budget has refused a drain.
    fn look_back(&mut self) {
        let is_refused = self.audited.entries().iter().any(|entry| {
            let is_machine = &*entry.key.resource == "machine.sapcloud.io/machines";
            is_machine && String::from_utf8_lossy(&entry.object.parts.concat()).contains("Drain failed")
        });
        if is_refused {
            self.saw("refused");
        }
    }
}
