// SPDX-License-Identifier: Apache-2.0
//! machine-controller-manager, and what happens on the machines that it makes.
//!
//! One pass takes a MachineDeployment with all its MachineSets, Machines and Nodes as far as it gets at this instant:
//! MachineDeployment, MachineSets, Machines, node agents, and again until nothing changes. Then it writes what changed,
//! an object once.
//!
//! **Tour.** [`family`] the objects of one MachineDeployment and their steps; [`machines`] Machines and VMs; [`nodes`]
//! Nodes and their agents; [`tokens`] what kubelets join with; [`classes`] MachineClasses.

mod classes;
mod family;
mod machines;
mod nodes;
mod sets;
mod tokens;

use std::sync::Arc;

use controller::{Change, Controller, Error, ObjectKey, Requeue};
use domain::rollout::names;

use self::family::Family;
use self::nodes::Agents;
use super::provider::Provider;

/// Starts the controllers.
pub(super) fn start(provider: &Arc<Provider>) {
    classes::start(provider);
    let mut controller = Controller::new("machine-deployment", &provider.context);
    controller.watch_store(&provider.deployment_store, |change| vec![change.key.clone()]);
    controller.watch_store(&provider.set_store, |change: &Change<api::machine::MachineSet>| {
        let set = change.object();
        let owner =
            set.and_then(|set| set.metadata.owner_references.iter().find(|owner| owner.kind == "MachineDeployment"));
        owner.map(|owner| change.key.sibling(&owner.name)).into_iter().collect()
    });
    controller.watch_store(&provider.machine_store, |change| {
        let owner = names::deployment_of_machine(&change.key.name);
        owner.map(|owner| change.key.sibling(owner)).into_iter().collect()
    });
    controller.watch_store(&provider.class_store, |change| {
        let owner = names::deployment_of_class(&change.key.name);
        owner.map(|owner| change.key.sibling(owner)).into_iter().collect()
    });
    let seed = provider.seed.clone();
    controller.watch_store(&provider.node_store, move |change| {
        let owner = names::deployment_of_machine(&change.key.name);
        let key = |owner| ObjectKey { cluster: seed.clone(), namespace: change.key.cluster.clone(), name: owner };
        owner.map(|owner| key(owner.into())).into_iter().collect()
    });
    let (seed, deployments) = (provider.seed.clone(), provider.deployment_store.clone());
    controller.watch_store(&provider.node_agent_secrets, move |change| {
        let in_namespace = deployments.list_in(&seed, &change.key.cluster);
        in_namespace.iter().map(|deployment| ObjectKey::of(&seed, &**deployment)).collect()
    });
    let agents = Arc::new(Agents::default());
    let provider = provider.clone();
    let tasks = provider.context.tasks.clone();
    tasks.spawn(controller.run(5, move |key| {
        let (provider, agents) = (provider.clone(), agents.clone());
        async move { reconcile(&provider, &agents, &key).await }
    }));
}

/// More rounds than any chain of steps at one instant has.
const ROUNDS: usize = 64;

async fn reconcile(provider: &Provider, agents: &Agents, key: &ObjectKey) -> Result<Requeue, Error> {
    let Some(mut family) = Family::read(provider, agents, key) else { return Ok(Requeue::OnChange) };
    let mut next = None;
    for _ in 0..ROUNDS {
        let mut changed = family.deployment_pass().await?;
        changed |= family.set_passes().await?;
        let (machines_changed, until) = family.machine_steps().await?;
        next = until;
        if !changed && !machines_changed {
            break;
        }
    }
    family.observe();
    family.save().await?;
    Ok(next.map_or(Requeue::OnChange, Requeue::WorkAt))
}
