// SPDX-License-Identifier: Apache-2.0
//! machine-controller-manager, and the simulation of its machines.
//!
//! One pass processes a MachineDeployment with all its MachineSets, Machines and Nodes as far as possible at this
//! instant: MachineDeployment, MachineSets, Machines, node agents, repeated until nothing changes. Then it writes each
//! changed object once. Changes that others must observe before the next step are written immediately: a MachineSet's
//! replicas before its Machines are created or deleted, a Machine's VM before its Node, a cordon before pods are
//! evicted.
//!
//! A pass examines Machines that changed and those whose instant has been reached; of all others it has counts.
//!
//! **Tour.** [`family`] the objects of one MachineDeployment and their steps; [`roster`] state between passes;
//! [`machines`] Machines and VMs; [`drains`] eviction of pods; [`in_place`] in-place updates; [`safety`] freezing of
//! MachineSets; [`troubles`] faults; [`nodes`] Nodes and their agents; [`tokens`] bootstrap tokens; [`classes`]
//! MachineClasses.

mod classes;
mod drains;
mod family;
mod in_place;
mod machines;
mod nodes;
mod roster;
mod safety;
mod sets;
mod tokens;
mod troubles;

use std::sync::Arc;

use controller::{Change, Controller, Error, ObjectKey, Requeue};
use domain::fault;
use domain::rollout::names;

use self::drains::Drains;
use self::family::Family;
use self::nodes::Agents;
use self::roster::Rosters;
use super::provider::Provider;

/// Starts the controllers.
pub(super) fn start(provider: &Arc<Provider>) {
    classes::start(provider);
    let mut controller = Controller::new("machine-deployment", &provider.context);
    controller.watch_store(&provider.deployments, |change| vec![change.key.clone()]);
    controller.watch_store(&provider.sets, |change: &Change<api::machine::MachineSet>| {
        let set = change.object();
        let owner =
            set.and_then(|set| set.metadata.owner_references.iter().find(|owner| owner.kind == "MachineDeployment"));
        owner.map(|owner| change.key.sibling(&owner.name)).into_iter().collect()
    });
    let (memory, seed) = (Arc::new(Memory::default()), provider.seed.clone());
    let marks = memory.clone();
    controller.watch_store(&provider.machines, move |change| {
        let owner = names::deployment_of_machine(&change.key.name);
        owner.map(|owner| marks.mark(change.key.sibling(owner), &change.key.name)).into_iter().collect()
    });
    let marks = memory.clone();
    controller.watch_store(&provider.classes, move |change| {
        let owner = names::deployment_of_class(&change.key.name);
        owner.map(|owner| marks.mark_all(change.key.sibling(owner))).into_iter().collect()
    });
    let (marks, of) = (memory.clone(), seed.clone());
    controller.watch_store(&provider.nodes, move |change| {
        // A heartbeat does not count as a change.
        let differs = change.differs(|node| {
            let conditions = node.status.conditions.iter();
            let conditions = conditions.map(|it| (it.r#type.clone(), it.status.clone(), it.last_transition_time));
            (
                node.metadata.labels.clone(),
                node.metadata.annotations.clone(),
                node.spec.clone(),
                conditions.collect::<Vec<_>>(),
            )
        });
        let owner = names::deployment_of_machine(&change.key.name).filter(|_| differs);
        let key = |owner| ObjectKey { cluster: of.clone(), namespace: change.key.cluster.clone(), name: owner };
        owner.map(|owner| marks.mark(key(owner.into()), &change.key.name)).into_iter().collect()
    });
    let (marks, of) = (memory.clone(), seed.clone());
    // Claims are only read, by drains.
    controller.watch_store(&provider.claim_store, |_| Vec::new());
    controller.watch_store(&provider.pod_store, move |change| {
        // Only a drain waits for pods.
        let node = change.object().map(|pod| pod.spec.node_name.clone()).unwrap_or_default();
        let is_awaited = change.new.is_none() && marks.drains.is_running(&change.key.cluster, &node);
        let owner = names::deployment_of_machine(&node).filter(|_| is_awaited);
        let key = |owner| ObjectKey { cluster: of.clone(), namespace: change.key.cluster.clone(), name: owner };
        owner.map(|owner| marks.mark(key(owner.into()), &node)).into_iter().collect()
    });
    let (marks, of, deployments) = (memory.clone(), seed.clone(), provider.deployments.clone());
    controller.watch_store(&provider.node_agent_secrets, move |change| {
        let in_namespace = deployments.list_in(&of, &change.key.cluster);
        in_namespace.iter().map(|deployment| marks.mark_all(ObjectKey::of(&of, &**deployment))).collect()
    });
    let (marks, deployments) = (memory.clone(), provider.deployments.clone());
    controller.watch_store(&provider.faults, move |change| {
        // Changes of a fault's status trigger no pass.
        let is_of_machines = change.object().is_some_and(|fault| {
            fault::kind(&fault.spec.kind).is_some_and(|kind| kind.target == fault::Target::Machine)
        });
        if !is_of_machines || !change.differs(|fault| fault.spec.clone()) {
            return Vec::new();
        }
        deployments.list().iter().map(|deployment| marks.mark_all(ObjectKey::of(&seed, &**deployment))).collect()
    });
    let (marks, of, deployments) = (memory.clone(), provider.seed.clone(), provider.deployments.clone());
    controller.watch_store(&provider.timing_store, move |_| {
        deployments.list().iter().map(|deployment| marks.mark_all(ObjectKey::of(&of, &**deployment))).collect()
    });
    let provider = provider.clone();
    let tasks = provider.context.tasks.clone();
    tasks.spawn(controller.run(5, move |key| {
        let (provider, memory) = (provider.clone(), memory.clone());
        async move { reconcile(&provider, &memory, &key).await }
    }));
}

/// State between passes.
#[derive(Default)]
struct Memory {
    agents: Agents,
    drains: Drains,
    rosters: Rosters,
}

impl Memory {
    /// Marks a Machine for the next pass of its MachineDeployment.
    fn mark(&self, deployment: ObjectKey, machine: &str) -> ObjectKey {
        self.rosters.mark(&deployment, machine);
        deployment
    }

    /// Marks all Machines for the next pass of the MachineDeployment.
    fn mark_all(&self, deployment: ObjectKey) -> ObjectKey {
        self.rosters.mark_all(&deployment);
        deployment
    }
}

/// Maximum number of rounds in one pass; more than any chain of steps at one instant needs.
const ROUNDS: usize = 64;

async fn reconcile(provider: &Provider, memory: &Memory, key: &ObjectKey) -> Result<Requeue, Error> {
    let known = memory.rosters.take(key);
    let Some(mut family) = Family::read(provider, (&memory.agents, &memory.drains), known, key) else {
        memory.rosters.forget(key);
        return Ok(Requeue::OnChange);
    };
    for _ in 0..ROUNDS {
        let mut changed = family.deployment_pass().await?;
        // The replicas of MachineSets are written before Machines are created or deleted.
        family.save_sets().await?;
        changed |= family.set_passes().await?;
        changed |= family.machine_steps().await?;
        changed |= family.safety_pass().await?;
        if !changed {
            break;
        }
    }
    family.observe();
    family.save().await?;
    let next = family.roster.next();
    memory.rosters.give_back(key, family.roster);
    Ok(next.map_or(Requeue::OnChange, Requeue::WorkAt))
}
