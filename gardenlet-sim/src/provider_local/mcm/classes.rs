// SPDX-License-Identifier: Apache-2.0
//! Deletion of MachineClasses: they remain while a Machine or a MachineDeployment uses them.

use std::sync::Arc;

use api::constants::finalizer;
use controller::{Controller, Error, ObjectKey, Requeue};

use super::super::provider::Provider;
use crate::draft::Draft;

pub(super) fn start(provider: &Arc<Provider>) {
    let mut controller = Controller::new("machine-class", &provider.context);
    controller.watch_store(&provider.classes, |change| {
        let leaves = change.new.as_ref().filter(|class| class.metadata.is_being_deleted());
        leaves.map(|_| change.key.clone()).into_iter().collect()
    });
    controller.watch_store(&provider.machines, |change| {
        let gone = change.old.as_ref().filter(|_| change.new.is_none());
        gone.map(|machine| change.key.sibling(&machine.spec.class.name)).into_iter().collect()
    });
    controller.watch_store(&provider.deployments, |change| {
        let class =
            |deployment: &Arc<api::machine::MachineDeployment>| deployment.spec.template.spec.class.name.clone();
        let (old, new) = (change.old.as_ref().map(class), change.new.as_ref().map(class));
        let left = old.filter(|old| Some(old) != new.as_ref());
        left.map(|left| change.key.sibling(&left)).into_iter().collect()
    });
    let provider = provider.clone();
    let tasks = provider.context.tasks.clone();
    tasks.spawn(controller.run(5, move |key| {
        let provider = provider.clone();
        async move { reconcile(&provider, &key).await }
    }));
}

async fn reconcile(provider: &Provider, key: &ObjectKey) -> Result<Requeue, Error> {
    let Some(class) = provider.classes.get(key) else { return Ok(Requeue::OnChange) };
    let metadata = &class.metadata;
    if !metadata.is_being_deleted()
        || !metadata.has_finalizer(finalizer::MACHINE_CONTROLLER_MANAGER)
        || is_used(provider, key)
    {
        return Ok(Requeue::OnChange);
    }
    let mut draft = Draft::new(class);
    draft.edit().metadata.finalizers.retain(|finalizer| finalizer != finalizer::MACHINE_CONTROLLER_MANAGER);
    draft.save(&provider.api_of(&provider.classes)).await?;
    Ok(Requeue::OnChange)
}

fn is_used(provider: &Provider, key: &ObjectKey) -> bool {
    let machines = provider.machines.list_in(&key.cluster, &key.namespace);
    let deployments = provider.deployments.list_in(&key.cluster, &key.namespace);
    machines.iter().any(|machine| machine.spec.class.name == *key.name)
        || deployments.iter().any(|deployment| deployment.spec.template.spec.class.name == *key.name)
}
