// SPDX-License-Identifier: Apache-2.0
//! Shoot care: checks the health of a Shoot when something of it changes, at most every 30 seconds.
//!
//! Unlike upstream: there are no periodic checks. A failing condition that is tolerated until a threshold passes is
//! checked again at that time.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::constants::{annotation, condition, label, operation_state};
use api::core::{Condition, Shoot};
use api::kubernetes::apps::DaemonSet;
use api::kubernetes::core::Node;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use controller::{Controller, Error, Index, ObjectKey, Requeue};
use domain::care::conditions::{self, Finding, judge};
use domain::care::{automatic_rotation, components, constraints, nodes};
use domain::rollout::preservation::{PRESERVED, is_preserved_and_unhealthy};
use domain::shoot_components::{Component, Kind};
use domain::shoot_facts::is_hibernation_enabled;
use domain::versions::Moment;
use domain::worker_pool;
use parking_lot::Mutex;

use super::botanist::workload::Workload;
use super::shared::Gardenlet;
use super::shoot::responsible_seed;

/// Time of the last check that changed a Shoot's health, by technical ID.
type CheckTimes = Arc<Mutex<BTreeMap<Arc<str>, DateTime<Utc>>>>;

/// Runs care until the component stops. `controller` maintains the local copies of the whole gardenlet.
pub(crate) async fn run(gardenlet: Arc<Gardenlet>, controller: Controller, by_technical_id: Index<Shoot>) {
    let judged = CheckTimes::default();
    controller
        .run(5, move |key| {
            let (gardenlet, judged, shoots) = (gardenlet.clone(), judged.clone(), by_technical_id.clone());
            async move { pass(&gardenlet, &judged, &shoots, &key).await }
        })
        .await;
}

async fn pass(
    gardenlet: &Gardenlet,
    judged: &CheckTimes,
    shoots: &Index<Shoot>,
    key: &ObjectKey,
) -> Result<Requeue, Error> {
    let Some(shoot) = shoots.get(&key.name).into_iter().next() else {
        judged.lock().remove(&key.name);
        return Ok(Requeue::OnChange);
    };
    if responsible_seed(&shoot) != Some(gardenlet.options.seed_name.as_str()) || shoot.status.seed_name.is_none() {
        return Ok(Requeue::OnChange);
    }
    let now = gardenlet.context.clock.now();
    {
        // Only a check that changed the health counts: others do not delay the next one.
        let mut judged = judged.lock();
        let last = judged.get(&key.name).filter(|last| !has_succeeded_since(&shoot, **last));
        let earliest = last.map(|last| *last + gardenlet.options.config.care_period);
        if let Some(earliest) = earliest.filter(|earliest| now < *earliest) {
            return Ok(Requeue::WorkAt(earliest));
        }
        judged.remove(&key.name);
    }
    let (health, changes_at) = health(gardenlet, &shoot, now);
    let mut new = (*shoot).clone();
    new.status.conditions = health.conditions;
    new.status.constraints = health.constraints;
    if new.status != shoot.status {
        let api = gardenlet.shoots(&shoot.metadata.namespace);
        match api.update_status(&shoot, &new).await {
            // Retried after a conflict: the conflicting write may be one that does not trigger a check (a label).
            Err(error) if error.is_not_found() => {}
            result => {
                result?;
                judged.lock().insert(key.name.clone(), now);
            }
        }
    }
    Ok(changes_at.map_or(Requeue::OnChange, Requeue::WorkAt))
}

/// True if an operation succeeded after a check, or in the same second. A success leaves conditions and constraints
/// Progressing, and they are checked at once: until then a user cannot hibernate the Shoot.
///
/// Source: ShootPredicate in pkg/gardenlet/controller/shoot/care/add.go @ v1.120.0.
fn has_succeeded_since(shoot: &Shoot, judged: DateTime<Utc>) -> bool {
    let last = shoot.status.last_operation.as_ref().filter(|operation| operation.state == operation_state::SUCCEEDED);
    last.is_some_and(|operation| operation.last_update_time.0.timestamp() >= judged.timestamp())
}

/// Conditions and constraints of a Shoot.
struct Health {
    conditions: Vec<Condition>,
    constraints: Vec<Condition>,
}

/// Returns the health of a Shoot, and the instant at which time alone changes it. Conditions have whole seconds, but
/// the rules get the exact instant: otherwise one that ends within a second would request the same instant again.
fn health(gardenlet: &Gardenlet, shoot: &Shoot, instant: DateTime<Utc>) -> (Health, Option<DateTime<Utc>>) {
    let now = Time::from_instant(instant);
    let status = &shoot.status;
    let last = status.last_operation.as_ref();
    let is_workerless = shoot.spec.provider.workers.is_empty();
    let findings = Findings::of(gardenlet, shoot);
    let mut changes_at: Option<DateTime<Utc>> = None;
    let mut judged = Vec::new();
    for type_ in conditions::condition_types(is_workerless) {
        let finding = findings.of_type(type_);
        let old = status.conditions.iter().find(|condition| condition.r#type == type_);
        let old = old.cloned().unwrap_or_else(|| conditions::initial(type_, now));
        let thresholds = &gardenlet.options.config.thresholds;
        let result = judge(&old, finding, last, &status.last_errors, thresholds, now);
        changes_at = [changes_at, result.changes_at].into_iter().flatten().min();
        judged.push(result.condition);
    }
    let known = conditions::condition_types(false);
    judged.extend(status.conditions.iter().filter(|each| !known.contains(&each.r#type.as_str())).cloned());
    let pending = status
        .in_place_updates
        .as_ref()
        .and_then(|updates| updates.pending_worker_updates.as_ref())
        .map(|pending| pending.manual_in_place_update.clone())
        .unwrap_or_default();
    let rotation = automatic_rotation(shoot, Moment::new(instant, gardenlet.release()));
    changes_at = [changes_at, rotation.as_ref().and_then(|(_, changes_at)| *changes_at)].into_iter().flatten().min();
    let preserved = PRESERVED.contain(gardenlet.release()) && !is_workerless;
    let inputs = constraints::Inputs {
        preserved_failed_machines: preserved.then(|| preserved_failed_machines(gardenlet, shoot)),
        automatic_rotation: rotation.as_ref().map(|(finding, _)| finding),
        is_hibernated: status.hibernated || is_hibernation_enabled(&shoot.spec),
        is_control_plane_running: findings.api_server.status == "True",
        pending_manual_pools: &pending,
        last_operation: last,
        last_errors: &status.last_errors,
    };
    let constraints = constraints::judge(&status.constraints, &inputs, now);
    (Health { conditions: judged, constraints }, changes_at)
}

/// Results of the health checks.
struct Findings {
    api_server: Finding,
    control_plane: Finding,
    observability: Finding,
    nodes: Finding,
    system_components: Finding,
}

impl Findings {
    fn all(finding: Finding) -> Self {
        Self {
            api_server: finding.clone(),
            control_plane: finding.clone(),
            observability: finding.clone(),
            nodes: finding.clone(),
            system_components: finding,
        }
    }

    fn of_type(&self, type_: &str) -> &Finding {
        match type_ {
            condition::API_SERVER_AVAILABLE => &self.api_server,
            condition::CONTROL_PLANE_HEALTHY => &self.control_plane,
            condition::OBSERVABILITY_COMPONENTS_HEALTHY => &self.observability,
            condition::EVERY_NODE_READY => &self.nodes,
            _ => &self.system_components,
        }
    }

    fn of(gardenlet: &Gardenlet, shoot: &Shoot) -> Self {
        let stores = &gardenlet.stores;
        let technical_id = shoot.status.technical_id.as_str();
        let seed = gardenlet.seed_cluster.as_str();
        if shoot.status.hibernated && is_hibernation_enabled(&shoot.spec) {
            return Self::all(conditions::hibernated());
        }
        let deployments: Vec<_> =
            stores.deployments.list_in(seed, technical_id).iter().map(|each| each.state()).collect();
        let etcds: Vec<_> = stores.stateful_sets.list_in(seed, technical_id).iter().map(|each| each.state()).collect();
        let api_server = deployments.iter().find(|each| each.name == "kube-apiserver");
        let api_server = components::api_server(api_server);
        let control_plane = components::control_plane(
            &Component::required(Kind::ControlPlane, &shoot.spec),
            &deployments,
            &Component::required(Kind::Etcd, &shoot.spec),
            &etcds,
        );
        if api_server.status != "True" {
            // The cluster cannot be read.
            let unknown = conditions::not_running(shoot.status.last_operation.as_ref());
            return Self {
                api_server,
                control_plane,
                observability: unknown.clone(),
                nodes: unknown.clone(),
                system_components: unknown,
            };
        }
        let mut system: Vec<_> = stores
            .deployments
            .list_in(technical_id, "kube-system")
            .iter()
            .filter(|each| each.metadata.annotations.contains_key(annotation::GARDENER_VERSION))
            .map(|each| each.state())
            .collect();
        let tunnel = system.iter().find(|each| each.name == "vpn-shoot").cloned();
        let sets = stores.daemon_sets.list_in(technical_id, "kube-system");
        // Missing pods of DaemonSets on preserved nodes that are not ready are tolerated.
        let preserved = preserved_nodes(gardenlet, shoot);
        let state = |set: &DaemonSet| {
            let state = set.state();
            components::Workload {
                available_replicas: (state.available_replicas + preserved).min(state.replicas),
                ..state
            }
        };
        system.extend(
            sets.iter()
                .filter(|each| each.metadata.annotations.contains_key(annotation::GARDENER_VERSION))
                .map(|each| state(each)),
        );
        Self {
            api_server,
            control_plane,
            observability: components::observability(),
            nodes: every_node_ready(gardenlet, shoot),
            system_components: components::system_components(
                shoot.spec.provider.workers.is_empty(),
                tunnel.as_ref(),
                &system,
            ),
        }
    }
}

/// Returns the number of failed machines of a Shoot that are preserved.
fn preserved_failed_machines(gardenlet: &Gardenlet, shoot: &Shoot) -> i32 {
    let deployments = gardenlet.stores.machine_deployments.list_in(&gardenlet.seed_cluster, &shoot.status.technical_id);
    deployments.iter().map(|deployment| deployment.status.preserved_failed_replicas).sum()
}

/// Returns the number of nodes of a Shoot whose machines are preserved although the nodes are not ready.
fn preserved_nodes(gardenlet: &Gardenlet, shoot: &Shoot) -> i32 {
    if !PRESERVED.contain(gardenlet.release()) || preserved_failed_machines(gardenlet, shoot) == 0 {
        return 0;
    }
    let nodes = gardenlet.stores.nodes.list_in_cluster(&shoot.status.technical_id);
    let is_preserved = |node: &&Arc<Node>| {
        let conditions = node.status.conditions.iter();
        is_preserved_and_unhealthy(conditions.map(|condition| (condition.r#type.as_str(), condition.status.as_str())))
    };
    i32::try_from(nodes.iter().filter(is_preserved).count()).unwrap_or(i32::MAX)
}

fn every_node_ready(gardenlet: &Gardenlet, shoot: &Shoot) -> Finding {
    let stores = &gardenlet.stores;
    let technical_id = shoot.status.technical_id.as_str();
    let pools: Vec<nodes::Pool> = shoot
        .spec
        .provider
        .workers
        .iter()
        .map(|pool| nodes::Pool {
            name: pool.name.clone(),
            minimum: usize::try_from(pool.minimum).unwrap_or_default(),
            kubernetes_version: worker_pool::kubernetes_version(shoot, pool).to_owned(),
        })
        .collect();
    let all_nodes: Vec<nodes::Node> = stores
        .nodes
        .list_in_cluster(technical_id)
        .iter()
        .map(|node| nodes::Node {
            name: node.metadata.name.clone(),
            pool: node.metadata.label(label::WORKER_POOL).unwrap_or_default().to_owned(),
            is_cordoned: node.spec.unschedulable,
            kubelet_version: node.status.node_info.kubelet_version.clone(),
            conditions: node
                .status
                .conditions
                .iter()
                .map(|condition| nodes::NodeCondition {
                    type_: condition.r#type.clone(),
                    status: condition.status.clone(),
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                })
                .collect(),
        })
        .collect();
    let deployments: Vec<nodes::MachineDeployment> = stores
        .machine_deployments
        .list_in(&gardenlet.seed_cluster, technical_id)
        .iter()
        .map(|deployment| {
            let of_type = |type_: &str| deployment.status.conditions.iter().find(|each| each.r#type == type_);
            nodes::MachineDeployment {
                replicas: usize::try_from(deployment.spec.replicas).unwrap_or_default(),
                is_being_deleted: deployment.metadata.is_being_deleted(),
                has_failed_machines: !deployment.status.failed_machines.is_empty(),
                is_unavailable: of_type("Available").is_some_and(|condition| condition.status != "True"),
                is_rolling: of_type("Progressing").is_some_and(|condition| {
                    condition.status == "True" && condition.reason != "NewMachineSetAvailable"
                }),
            }
        })
        .collect();
    let machines: Vec<nodes::Machine> = stores
        .machines
        .list_in(&gardenlet.seed_cluster, technical_id)
        .iter()
        .map(|machine| nodes::Machine {
            name: machine.metadata.name.clone(),
            node: machine.metadata.label("node").unwrap_or_default().to_owned(),
            phase: machine.status.current_status.phase.clone(),
            is_being_deleted: machine.metadata.is_being_deleted(),
            is_preserved: machine.status.current_status.preserve_expiry_time.is_some(),
        })
        .collect();
    nodes::every_node_ready(&pools, &all_nodes, &deployments, &machines, gardenlet.release())
}
